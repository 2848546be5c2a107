//! Predictions of a trained network, in four ways.
//!
//! A distribution over binary weights gives several predictors, and they are different claims: only
//! a sampled and a hard network have binary weights.

mod sampled;

use remanent_data::dataset::View;
use remanent_math::philox::Stream;
use serde::{Deserialize, Serialize};

use crate::binary::ensemble::FEWEST_OUTPUTS;
use crate::network::{Network, Weights};
use crate::pass::{Pass, normal_noise};
use crate::purposes;
use crate::softmax::Softmax;

/// How predictions are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Predictor {
    /// One pass with Gaussian preactivations, as in the paper.
    Stochastic,
    /// Probabilities averaged over several such passes.
    MeanField,
    /// Probabilities averaged over several binary networks drawn from the distribution.
    Sampled,
    /// The binary network of the most probable weights, sign θ.
    Hard,
}

impl Predictor {
    /// All predictors.
    pub const ALL: [Self; 4] = [Self::Stochastic, Self::MeanField, Self::Sampled, Self::Hard];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stochastic => "stochastic",
            Self::MeanField => "mean_field",
            Self::Sampled => "sampled",
            Self::Hard => "hard",
        }
    }
}

/// Class probabilities, image by image.
#[derive(Clone, Debug, PartialEq)]
pub struct Probabilities {
    /// Number of classes.
    pub classes: usize,
    /// Images × classes.
    pub values: Vec<f32>,
}

/// Images processed together.
const BATCH: usize = 256;

/// Predicts the classes of the images of each view. `draws` is the number of passes or of sampled
/// networks (at least 1). `stream` gives the random numbers of each batch or draw.
///
/// # Panics
///
/// If the images do not have as many pixels as the network has inputs.
pub fn predict(
    network: &Network,
    views: &[View<'_>],
    predictor: Predictor,
    draws: usize,
    stream: impl Fn(u32) -> Stream,
) -> Vec<Probabilities> {
    let (classes, draws) = (network.architecture.outputs(), draws.max(1));
    let empty =
        |view: &View<'_>| Probabilities { classes, values: vec![0.0; view.len() * classes] };
    let mut out: Vec<Probabilities> = views.iter().map(empty).collect();
    match (predictor, network.weights) {
        // A sign or float network is a single network.
        (_, Weights::Sign | Weights::Float) | (Predictor::Hard, _) => {
            let hard = network.hard();
            add_all(&hard, views, 1, &stream, &mut out);
        }
        (Predictor::Stochastic, _) => add_all(network, views, 1, &stream, &mut out),
        (Predictor::MeanField, _) => add_all(network, views, draws, &stream, &mut out),
        // Binary networks, from integers: as the general case below, to rounding.
        (Predictor::Sampled, Weights::Field) if sums_integers(network.architecture.hidden()) => {
            sampled::add_all(network, views, draws, &stream, &mut out);
            average(draws, &mut out);
        }
        (Predictor::Sampled, _) => {
            for draw in 0..draws {
                let sampled = network.sampled(&stream(u32::MAX - draw as u32));
                add_all(&sampled, views, 1, &stream, &mut out);
            }
            average(draws, &mut out);
        }
    }
    out
}

/// Whether the predictor `sampled` sums integers for hidden layers of these widths. Narrow networks gain
/// nothing by it and multiply real numbers.
fn sums_integers(hidden: &[usize]) -> bool {
    hidden.iter().any(|&width| width >= FEWEST_OUTPUTS)
}

/// From the sum over networks to the mean.
fn average(draws: usize, out: &mut [Probabilities]) {
    let share = (draws as f32).recip();
    out.iter_mut().flat_map(|p| &mut p.values).for_each(|p| *p *= share);
}

/// The random numbers of predictions after `after` epochs.
pub fn test_stream(seed: u64, trial: u32, after: usize) -> impl Fn(u32) -> Stream {
    // The epoch is mixed into the seed, because trial and step are in use.
    let seed = seed ^ (after as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    move |step| Stream::new(seed, purposes::TEST, trial, step)
}

/// Adds the probabilities, averaged over passes.
fn add_all(
    network: &Network,
    views: &[View<'_>],
    draws: usize,
    stream: &impl Fn(u32) -> Stream,
    out: &mut [Probabilities],
) {
    let (mut pass, mut images, mut logits) = (Pass::default(), Vec::new(), Vec::new());
    let share = (draws as f32).recip();
    let mut batch_number = 0;
    for (view, out) in views.iter().zip(out) {
        let batches = out.values.chunks_mut(BATCH * out.classes);
        for (start, values) in (0..view.len()).step_by(BATCH).zip(batches) {
            let chosen: Vec<u32> =
                (start..view.len().min(start + BATCH)).map(|i| i as u32).collect();
            images.resize(chosen.len() * view.inputs(), 0.0);
            view.batch(&chosen, &mut images);
            pass.load(network, &images);
            let mut noise = normal_noise(stream(batch_number));
            batch_number += 1;
            for draw in 0..draws {
                pass.test(network, draw == 0, &mut noise);
                pass.logits(network, &mut logits);
                add_softmax(&logits, chosen.len(), share, values);
            }
        }
    }
}

/// Adds a share of the softmax of logits, stored class by class, to values stored image by image.
fn add_softmax(logits: &[f32], batch: usize, share: f32, values: &mut [f32]) {
    let classes = logits.len() / batch;
    for (b, values) in values.chunks_exact_mut(classes).enumerate() {
        let logit = |j: usize| logits[j * batch + b];
        let softmax = Softmax::of(classes, logit);
        for (j, value) in values.iter_mut().enumerate() {
            *value += share * softmax.exponential(logit(j)) / softmax.total;
        }
    }
}
