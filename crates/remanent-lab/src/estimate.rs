//! A number with its uncertainty.

use remanent_math::philox::Stream;
use remanent_math::statistics::Summary;
use serde::{Deserialize, Serialize};

/// The fewest trials that decide anything: with two, the standard error itself is hardly known.
pub const MIN_TRIALS: usize = 3;

/// Resamplings of a bootstrap: the standard error is then known to about 3 %.
const RESAMPLINGS: u32 = 500;
/// What random numbers of a bootstrap are for, apart from all others.
const PURPOSE: u32 = 0x626f_6f74;

/// A number with its uncertainty over trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error; none for a single trial, zero for an exact number.
    pub standard_error: Option<f64>,
    /// The number of independent trials; none for an exact number.
    pub trials: Option<usize>,
}

impl Estimate {
    /// A number without noise, such as a solution of the theory.
    pub fn exact(value: f64) -> Self {
        Self { value, standard_error: Some(0.0), trials: None }
    }

    /// The mean over trials; none if there are no trials.
    pub fn of(trials: impl IntoIterator<Item = f64>) -> Option<Self> {
        Summary::of(trials).map(Self::from)
    }

    /// The mean difference of two quantities that were measured in the same trials. What trials have in
    /// common, such as teachers and data, cancels.
    pub fn paired(first: &[f64], second: &[f64]) -> Option<Self> {
        (first.len() == second.len())
            .then(|| Self::of(first.iter().zip(second).map(|(a, b)| a - b)))?
    }

    /// A statistic of all trials together, such as the place of a maximum, with the standard error of its
    /// bootstrap. `statistic` gets the indices of the trials, repeated or left out; resamplings for
    /// which it is none are left out.
    pub fn bootstrap(trials: usize, statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<Self> {
        let all: Vec<usize> = (0..trials).collect();
        let value = statistic(&all)?;
        let resampled = (0..RESAMPLINGS).filter_map(|resampling| {
            let stream = Stream::new(0, PURPOSE, resampling, 0);
            let drawn: Vec<usize> = (0..trials)
                .map(|i| (stream.uniform(i as u32) * trials as f64) as usize)
                .map(|index| index.min(trials - 1))
                .collect();
            statistic(&drawn)
        });
        let spread =
            Summary::of(resampled).and_then(|s| Some(s.standard_error? * (s.count as f64).sqrt()));
        Some(Self { value, standard_error: spread.filter(|_| trials > 1), trials: Some(trials) })
    }

    /// Whether it has no noise.
    pub fn is_exact(&self) -> bool {
        self.trials.is_none()
    }

    /// The difference of two independent estimates.
    pub fn minus(&self, other: &Self) -> Self {
        let both = |a: f64, b: f64| (a * a + b * b).sqrt();
        Self {
            value: self.value - other.value,
            standard_error: self.standard_error.zip(other.standard_error).map(|(a, b)| both(a, b)),
            trials: fewer(self.trials, other.trials),
        }
    }

    /// The mean of several independent estimates; none if there are none.
    pub fn mean_of(estimates: &[Self]) -> Option<Self> {
        let n = estimates.len() as f64;
        let first = estimates.first()?;
        let squares: Option<f64> =
            estimates.iter().map(|e| e.standard_error.map(|error| error * error)).sum();
        Some(Self {
            value: estimates.iter().map(|e| e.value).sum::<f64>() / n,
            standard_error: squares.map(|sum| sum.sqrt() / n),
            trials: estimates.iter().fold(first.trials, |trials, e| fewer(trials, e.trials)),
        })
    }

    /// `0.191 ± 0.004`, `0.191` if it is exact.
    pub fn text(&self) -> String {
        match self.standard_error {
            Some(error) if error > 0.0 => {
                // Two digits of the error, and the value as far as these.
                let digits = (1.0 - error.log10().floor()).clamp(0.0, 12.0) as usize;
                format!("{:.digits$} ± {error:.digits$}", self.value)
            }
            _ => number(self.value),
        }
    }
}

/// A number without noise: four digits, or in powers of ten if it is small.
pub fn number(value: f64) -> String {
    if value != 0.0 && value.abs() < 5e-4 {
        format!("{value:.2e}")
    } else if value.fract() == 0.0 {
        format!("{value}")
    } else {
        format!("{value:.4}")
    }
}

fn fewer(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

impl From<Summary> for Estimate {
    fn from(summary: Summary) -> Self {
        Self {
            value: summary.mean,
            standard_error: summary.standard_error,
            trials: Some(summary.count),
        }
    }
}

/// How many standard errors make an outcome: two, widened for few trials by Student's distribution to the
/// same probability on one side, 97.7 %. None if the trials are too few to decide anything.
pub fn confidence(trials: Option<usize>) -> Option<f64> {
    // Quantiles of Student's distribution, by degrees of freedom.
    const QUANTILES: [(usize, f64); 15] = [
        (2, 4.5266),
        (3, 3.3068),
        (4, 2.8693),
        (5, 2.6487),
        (6, 2.5165),
        (7, 2.4288),
        (8, 2.3664),
        (9, 2.3198),
        (10, 2.2837),
        (12, 2.2314),
        (15, 2.1812),
        (19, 2.1405),
        (30, 2.0866),
        (60, 2.0422),
        (120, 2.0208),
    ];
    let Some(trials) = trials else { return Some(2.0) };
    if trials < MIN_TRIALS {
        return None;
    }
    let freedom = trials - 1;
    // Between tabulated values the wider one.
    let wider = QUANTILES.iter().rev().find(|(tabulated, _)| *tabulated <= freedom);
    Some(wider.map_or(QUANTILES[0].1, |(_, quantile)| *quantile))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paired_trials_cancel_what_they_share() {
        let (a, b) = ([1.0, 2.0, 3.0], [0.9, 1.9, 2.9]);
        let paired = Estimate::paired(&a, &b).unwrap();
        assert!((paired.value - 0.1).abs() < 1e-12 && paired.standard_error.unwrap() < 1e-12);
        let apart = Estimate::of(a).unwrap().minus(&Estimate::of(b).unwrap());
        assert!((apart.value - 0.1).abs() < 1e-12 && apart.standard_error.unwrap() > 0.5);
        assert_eq!(Estimate::paired(&a, &b[..2]), None);
    }

    #[test]
    fn a_bootstrap_of_the_mean_has_its_standard_error() {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i * 37 % 40)).collect();
        let mean =
            |of: &[usize]| Some(of.iter().map(|&i| values[i]).sum::<f64>() / of.len() as f64);
        let found = Estimate::bootstrap(40, mean).unwrap();
        let known = Estimate::of(values.iter().copied()).unwrap();
        assert_eq!((found.value, found.trials), (known.value, known.trials));
        let ratio = found.standard_error.unwrap() / known.standard_error.unwrap();
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
        assert_eq!(Estimate::bootstrap(1, |_| Some(1.0)).unwrap().standard_error, None);
    }

    #[test]
    fn means_of_estimates_combine_their_errors() {
        let one = Estimate { value: 1.0, standard_error: Some(0.3), trials: Some(20) };
        let other = Estimate { value: 2.0, standard_error: Some(0.4), trials: Some(5) };
        let mean = Estimate::mean_of(&[one, other]).unwrap();
        assert_eq!((mean.value, mean.trials), (1.5, Some(5)));
        assert!((mean.standard_error.unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(Estimate::mean_of(&[]), None);
        let unknown = Estimate { standard_error: None, ..one };
        assert_eq!(Estimate::mean_of(&[one, unknown]).unwrap().standard_error, None);
    }

    #[test]
    fn texts_show_what_is_known() {
        let of = |value, error| Estimate { value, standard_error: error, trials: Some(5) }.text();
        assert_eq!(of(0.191_34, Some(0.0042)), "0.1913 ± 0.0042");
        assert_eq!(of(1837.3, Some(70.06)), "1837 ± 70");
        assert_eq!(of(0.5, None), "0.5000");
        assert_eq!(Estimate::exact(3e-7).text(), "3.00e-7");
        assert_eq!(Estimate::exact(2.0).text(), "2");
    }

    /// The density of Student's distribution integrated to a quantile.
    fn probability(freedom: usize, to: f64) -> f64 {
        let nu = freedom as f64;
        let density = |t: f64| (1.0 + t * t / nu).powf(-0.5 * (nu + 1.0));
        let (steps, far) = (200_000, 1.0);
        // t = s/(1 − s²) maps the half line to [0, 1).
        let integral = |end: f64| -> f64 {
            (0..steps)
                .map(|i| (i as f64 + 0.5) * end / steps as f64)
                .map(|s| density(s / (1.0 - s * s)) * (1.0 + s * s) / (1.0 - s * s).powi(2))
                .sum::<f64>()
                * end
                / steps as f64
        };
        let end = ((1.0 + 4.0 * to * to).sqrt() - 1.0) / (2.0 * to);
        0.5 + 0.5 * integral(end) / integral(far)
    }

    #[test]
    fn few_trials_need_more_standard_errors() {
        for (trials, freedom) in [(3, 2), (5, 4), (11, 10), (20, 19), (61, 60)] {
            let quantile = confidence(Some(trials)).unwrap();
            assert!((probability(freedom, quantile) - 0.977_25).abs() < 1e-4, "{trials}");
        }
        assert_eq!(confidence(Some(2)), None);
        assert_eq!(confidence(None), Some(2.0));
        assert!(confidence(Some(14)).unwrap() > confidence(Some(16)).unwrap());
        assert!(confidence(Some(100_000)).unwrap() < 2.03);
    }
}
