//! Means over draws of the data.

use remanent_math::statistics::Summary;
use remanent_perceptron::observables::generalisation_error;
use remanent_perceptron::tempering::{Averages, BINS, Shortcoming, TemperingRecord};
use serde::Serialize;

use crate::tempering::config::TemperingStudy;

/// A bin of the overlap distribution.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bin {
    /// The centre.
    pub q: f64,
    /// P(q): the mean over draws of a density that integrates to 1.
    pub density: f64,
    /// Its standard error over draws; none for a single draw.
    pub standard_error: Option<f64>,
}

/// Averages over draws of the replicas that started in one way.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StartSummary {
    /// q_d.
    pub q_d: Summary,
    /// Overlap of two replicas; none if there is one of this start.
    pub q: Option<Summary>,
    /// r.
    pub r: Summary,
    /// p.
    pub p: Summary,
    /// ⟨L⟩ per weight.
    pub energy: Summary,
}

/// How far two numbers that must agree differ, over draws.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Agreement {
    /// The difference.
    pub difference: Summary,
    /// Over its standard error; none for a single draw.
    pub z: Option<f64>,
}

/// A case, summarised over draws of the data.
#[derive(Clone, Debug, Serialize)]
pub struct TemperingSummary {
    /// N.
    pub n: usize,
    /// α of the run: the number of patterns over N.
    pub alpha: f64,
    /// β.
    pub beta: f64,
    /// Over all replicas.
    #[serde(flatten)]
    pub all: StartSummary,
    /// ε of the mean p.
    pub eps: Summary,
    /// Variance of q over replicas and draws: ⟨q²⟩ − ⟨q⟩² of the mean over draws.
    pub q_variance: f64,
    /// The part of it within a draw; none below four replicas.
    pub q_variance_within: Option<f64>,
    /// ⟨L⟩ per pattern.
    pub energy_per_pattern: Summary,
    /// φ(β) − φ(β_low) per weight: −∫⟨L⟩dβ along the ladder.
    pub phi_difference: Summary,
    /// β at the hot end.
    pub beta_low: f64,
    /// Replicas that started at random.
    pub random: StartSummary,
    /// Replicas that started at the teacher.
    pub planted: StartSummary,
    /// Random minus planted start: q_d, r, energy per weight.
    pub starts: [Agreement; 3],
    /// ∫ Var L dβ over the fall of ⟨L⟩ along the ladder, minus 1.
    pub fluctuations: Agreement,
    /// P(q).
    pub overlaps: Vec<Bin>,
    /// Mean number of temperatures.
    pub temperatures: f64,
    /// The smallest acceptance of exchanges of any pair and draw, and the mean.
    pub exchange: [f64; 2],
    /// Mean acceptance of the trajectories.
    pub acceptance: f64,
    /// Round trips of a replica: the fewest of any draw, and the mean.
    pub round_trips: [f64; 2],
    /// The worst R̂ of any quantity and draw.
    pub r_hat: f64,
    /// The longest autocorrelation time of any quantity and draw, in sweeps.
    pub autocorrelation_time: f64,
    /// The longest at the hot end.
    pub hot_autocorrelation_time: f64,
    /// The fewest effective samples of any quantity and draw.
    pub effective_samples: f64,
    /// Mean over draws of the fewest effective samples of any quantity.
    pub mean_effective_samples: f64,
    /// Draws that do not count as equilibrated.
    pub not_equilibrated: usize,
    /// Why, with the number of draws.
    pub shortcomings: Vec<(Shortcoming, usize)>,
    /// Draws.
    pub draws: usize,
}

impl TemperingSummary {
    /// `equilibrated`, or how many draws are not.
    pub fn status(&self) -> String {
        match self.not_equilibrated {
            0 => "equilibrated".into(),
            some => format!("{some} of {} not equilibrated", self.draws),
        }
    }
}

/// Summarises the draws of a case; none if there are none.
pub fn summarise(study: &TemperingStudy, draws: &[TemperingRecord]) -> Option<TemperingSummary> {
    let n = study.setting.n as f64;
    let of = |value: &dyn Fn(&TemperingRecord) -> f64| Summary::of(draws.iter().map(value));
    let all = start(draws, n, |draw| &draw.all)?;
    let q_mean = all.q.map_or(f64::NAN, |q| q.mean);
    let q_squared = of(&|draw| draw.q_squared)?.mean;
    let product = Summary::of(draws.iter().filter_map(|draw| draw.q_product));
    let difference = |value: fn(&Averages) -> f64| {
        let differences = draws.iter().map(|draw| value(&draw.random) - value(&draw.planted));
        Some(agreement(Summary::of(differences)?))
    };
    let ratio = |draw: &TemperingRecord| {
        draw.energy_difference_from_fluctuations() / draw.energy_difference() - 1.0
    };
    let exchanges: Vec<f64> =
        draws.iter().flat_map(|d| d.rungs.iter().filter_map(|rung| rung.exchange)).collect();
    let exchanges = Summary::of(exchanges)?;
    let trips = Summary::of(draws.iter().flat_map(|d| d.round_trips.iter().map(|&t| t as f64)))?;
    let acceptance = |draw: &TemperingRecord| {
        draw.rungs.iter().map(|rung| rung.acceptance).sum::<f64>() / draw.rungs.len() as f64
    };
    let energy = |value: &Averages| value.energy;
    let mut energies = difference(energy)?;
    energies.difference = scaled(energies.difference, 1.0 / n);
    Some(TemperingSummary {
        n: study.setting.n,
        alpha: study.alpha(),
        beta: study.learner.beta,
        eps: error_of_mean(&all.p),
        q_variance: q_squared - q_mean * q_mean,
        q_variance_within: product.map(|product| q_squared - product.mean),
        energy_per_pattern: of(&|draw| draw.all.energy / study.patterns() as f64)?,
        phi_difference: of(&|draw| draw.log_partition_difference() / n)?,
        beta_low: study.learner.beta_low,
        random: start(draws, n, |draw| &draw.random)?,
        planted: start(draws, n, |draw| &draw.planted)?,
        starts: [difference(|a| a.q_d)?, difference(|a| a.r)?, energies],
        fluctuations: agreement(of(&ratio)?),
        overlaps: overlaps(draws),
        temperatures: of(&|draw| draw.rungs.len() as f64)?.mean,
        exchange: [exchanges.min, exchanges.mean],
        acceptance: of(&acceptance)?.mean,
        round_trips: [trips.min, trips.mean],
        r_hat: of(&|draw| draw.diagnostics.r_hat())?.max,
        autocorrelation_time: of(&|draw| draw.diagnostics.autocorrelation_time())?.max,
        hot_autocorrelation_time: of(&|draw| draw.diagnostics.hot.autocorrelation_time)?.max,
        effective_samples: of(&|draw| draw.diagnostics.effective_samples())?.min,
        mean_effective_samples: of(&|draw| draw.diagnostics.effective_samples())?.mean,
        not_equilibrated: draws.iter().filter(|d| !d.shortcomings().is_empty()).count(),
        shortcomings: counted(draws.iter().flat_map(TemperingRecord::shortcomings)),
        draws: draws.len(),
        all,
    })
}

fn start(
    draws: &[TemperingRecord],
    n: f64,
    averages: fn(&TemperingRecord) -> &Averages,
) -> Option<StartSummary> {
    let of = |value: &dyn Fn(&Averages) -> f64| {
        Summary::of(draws.iter().map(|draw| value(averages(draw))))
    };
    Some(StartSummary {
        q_d: of(&|a| a.q_d)?,
        q: Summary::of(draws.iter().filter_map(|draw| averages(draw).q)),
        r: of(&|a| a.r)?,
        p: of(&|a| a.p)?,
        energy: of(&|a| a.energy / n)?,
    })
}

fn agreement(difference: Summary) -> Agreement {
    let error = difference.standard_error.filter(|error| *error > 0.0);
    Agreement { difference, z: error.map(|error| difference.mean / error) }
}

fn scaled(summary: Summary, factor: f64) -> Summary {
    Summary {
        mean: factor * summary.mean,
        standard_error: summary.standard_error.map(|error| factor * error),
        min: factor * summary.min,
        max: factor * summary.max,
        count: summary.count,
    }
}

/// ε of the mean overlap: the theory's ε is that of a p which does not fluctuate.
fn error_of_mean(p: &Summary) -> Summary {
    let slope = 1.0 / (std::f64::consts::PI * (1.0 - p.mean * p.mean).max(1e-300).sqrt());
    Summary {
        mean: generalisation_error(p.mean),
        standard_error: p.standard_error.map(|error| slope * error),
        min: generalisation_error(p.max),
        max: generalisation_error(p.min),
        count: p.count,
    }
}

/// P(q) from the first bin that is not empty to the last.
fn overlaps(draws: &[TemperingRecord]) -> Vec<Bin> {
    let width = 2.0 / BINS as f64;
    let density = |bin: usize| {
        let share = |draw: &TemperingRecord| {
            draw.histogram[bin] as f64 / draw.histogram.iter().sum::<u64>() as f64 / width
        };
        Summary::of(draws.iter().map(share))
    };
    let bins: Vec<Bin> = (0..BINS)
        .filter_map(|bin| {
            let found = density(bin)?;
            Some(Bin {
                q: -1.0 + (bin as f64 + 0.5) * width,
                density: found.mean,
                standard_error: found.standard_error,
            })
        })
        .collect();
    let filled = |bin: &Bin| bin.density > 0.0;
    let first = bins.iter().position(filled).unwrap_or(0);
    let last = bins.iter().rposition(filled).unwrap_or(0);
    bins[first..=last].to_vec()
}

fn counted(all: impl Iterator<Item = Shortcoming>) -> Vec<(Shortcoming, usize)> {
    let mut counts: Vec<(Shortcoming, usize)> = Vec::new();
    for one in all {
        match counts.iter_mut().find(|(other, _)| *other == one) {
            Some((_, count)) => *count += 1,
            None => counts.push((one, 1)),
        }
    }
    counts
}
