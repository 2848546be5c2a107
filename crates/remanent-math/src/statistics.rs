//! Means over trials, and convergence diagnostics of Markov chains.

use serde::{Deserialize, Serialize};

/// Mean, standard error and range of independent values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The standard error of the mean; none for a single value.
    pub standard_error: Option<f64>,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Number of values.
    pub count: usize,
}

impl Summary {
    /// Summarises values; none if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let standard_error =
            (count > 1).then(|| (squares / (count - 1) as f64 / count as f64).sqrt());
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { mean, standard_error, min, max, count })
    }
}

/// A finite stand-in for infinity, which JSON cannot represent.
const BEYOND: f64 = 1e6;

/// How well several chains have sampled one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixing {
    /// Integrated autocorrelation time, in sweeps (1 for independent samples).
    pub autocorrelation_time: f64,
    /// Number of independent samples, of all chains together.
    pub effective_samples: f64,
    /// Potential scale reduction over the halves of all chains: 1 when they agree.
    pub r_hat: f64,
}

impl Mixing {
    /// Diagnoses the traces of one quantity, one for each chain, all of the same length.
    ///
    /// The autocorrelation is averaged over chains as in Gelman et al., *Bayesian
    /// Data Analysis* (3rd ed., 11.5): chains that disagree count as correlated. It is summed by Geyer's
    /// rule (Stat. Sci. 7, 473 (1992)): pairs of lags, while their sum is positive, made monotone.
    /// R̂ is that of the split chains. A constant quantity counts as perfectly sampled if all chains
    /// agree, and as not sampled otherwise.
    pub fn of(traces: &[&[f64]]) -> Self {
        let length = traces.iter().map(|t| t.len()).min().unwrap_or(0);
        let samples = (length * traces.len()) as f64;
        if length < 4 {
            return Self { autocorrelation_time: BEYOND, effective_samples: 0.0, r_hat: BEYOND };
        }
        let halves: Vec<&[f64]> =
            traces.iter().flat_map(|t| [&t[..length / 2], &t[length - length / 2..]]).collect();
        let (within, total) = variances(&halves);
        let scale = halves[0][0].abs().max(1e-300);
        if total <= (1e-14 * scale).powi(2) {
            return Self { autocorrelation_time: 1.0, effective_samples: samples, r_hat: 1.0 };
        }
        let r_hat = (total / within).sqrt().min(BEYOND);
        let whole: Vec<&[f64]> = traces.iter().map(|t| &t[..length]).collect();
        let (within, total) = variances(&whole);
        let correlation = |lag: usize| {
            let mean: f64 =
                whole.iter().map(|t| autocovariance(t, lag)).sum::<f64>() / whole.len() as f64;
            1.0 - (within - mean) / total
        };
        let (mut time, mut lag, mut last) = (-1.0, 0, f64::INFINITY);
        while lag + 1 < length {
            let pair = (correlation(lag) + correlation(lag + 1)).min(last);
            if pair <= 0.0 {
                break;
            }
            time += 2.0 * pair;
            last = pair;
            lag += 2;
        }
        let time = time.max(1.0 / samples.log10().max(1.0));
        Self { autocorrelation_time: time, effective_samples: samples / time, r_hat }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn autocovariance(trace: &[f64], lag: usize) -> f64 {
    let mean = mean(trace);
    let products = trace.iter().zip(&trace[lag..]).map(|(a, b)| (a - mean) * (b - mean));
    products.sum::<f64>() / trace.len() as f64
}

/// The mean variance within chains, and the estimate of the total variance.
fn variances(chains: &[&[f64]]) -> (f64, f64) {
    let length = chains[0].len() as f64;
    let within = chains.iter().map(|c| autocovariance(c, 0) * length / (length - 1.0)).sum::<f64>()
        / chains.len() as f64;
    let means: Vec<f64> = chains.iter().map(|c| mean(c)).collect();
    let between = if means.len() > 1 {
        autocovariance(&means, 0) * means.len() as f64 / (means.len() - 1) as f64
    } else {
        0.0
    };
    (within, within * (length - 1.0) / length + between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::philox::Stream;

    #[test]
    fn a_summary_of_known_values() {
        let summary = Summary::of([1.0, 2.0, 3.0, 6.0]).unwrap();
        assert_eq!((summary.mean, summary.min, summary.max, summary.count), (3.0, 1.0, 6.0, 4));
        assert!((summary.standard_error.unwrap() - (14.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-15);
        assert_eq!(Summary::of([5.0]).unwrap().standard_error, None);
        assert_eq!(Summary::of([]), None);
    }

    /// x' = ρ x + noise has the autocorrelation time (1 + ρ)/(1 − ρ).
    fn autoregressive(rho: f64, length: u32, trial: u32, shift: f64) -> Vec<f64> {
        let stream = Stream::new(11, 0, trial, 0);
        let mut x = 0.0;
        (0..length)
            .map(|i| {
                x = rho * x + (1.0 - rho * rho).sqrt() * stream.normal(i);
                x + shift
            })
            .collect()
    }

    #[test]
    fn autocorrelation_times_of_an_autoregression() {
        for (rho, tolerance) in [(0.0, 0.1), (0.5, 0.3), (0.9, 3.0)] {
            let traces: Vec<Vec<f64>> =
                (0..4).map(|c| autoregressive(rho, 10_000, c, 0.0)).collect();
            let mixing = Mixing::of(&traces.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let exact = (1.0 + rho) / (1.0 - rho);
            assert!((mixing.autocorrelation_time - exact).abs() < tolerance, "{rho} {mixing:?}");
            assert!((mixing.r_hat - 1.0).abs() < 0.01, "{rho} {mixing:?}");
        }
    }

    #[test]
    fn chains_that_disagree_are_found_out() {
        let traces = [autoregressive(0.5, 500, 0, 0.0), autoregressive(0.5, 500, 1, 3.0)];
        let mixing = Mixing::of(&[&traces[0], &traces[1]]);
        assert!(mixing.r_hat > 1.5 && mixing.effective_samples < 20.0, "{mixing:?}");
        let stuck = Mixing::of(&[&[1.0; 100], &[0.9; 100]]);
        assert!(stuck.r_hat > 1e3 && stuck.effective_samples < 10.0, "{stuck:?}");
        let constant = Mixing::of(&[&[1.0; 100], &[1.0; 100]]);
        assert_eq!((constant.r_hat, constant.autocorrelation_time), (1.0, 1.0));
        let drifting: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(Mixing::of(&[&drifting, &drifting]).r_hat > 1.5);
    }
}
