//! What is kept of a trial: the network after each epoch and after each task.

use std::collections::BTreeMap;

use remanent_network::metrics::Scores;
use remanent_network::network::{Network, Weights};
use remanent_network::predictor::Predictor;
use serde::{Deserialize, Serialize};

/// Classes of σ² in which divergences are summed: tenths.
pub const VARIANCE_BINS: usize = 10;

/// The network after an epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpochRow {
    /// The epoch, from 1, of the whole stream.
    pub epoch: usize,
    /// The task that was learned, from 1.
    pub task: usize,
    /// β of field networks.
    pub beta: f64,
    /// Cross entropy a training image, averaged over the epoch.
    pub loss: f64,
    /// Factor of the logits.
    pub output_scale: f64,
    /// ⟨σ²⟩ of each layer.
    pub uncertainty: Vec<f64>,
    /// Share of the weights whose sign changed in this epoch, of each layer.
    pub flip_ratio: Vec<f64>,
    /// KL(q after ‖ q before) of the last step, summed over all weights.
    pub divergence: f64,
    /// The same a weight, for weights with σ² in each tenth; none where there is no weight.
    pub divergence_by_variance: Vec<Option<f64>>,
    /// Accuracy of every task learned so far; empty if it was not measured.
    pub accuracy: BTreeMap<Predictor, Vec<f64>>,
}

/// The network after a task, or before the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseEnd {
    /// The tasks that were measured, from 0; none for all tasks, also those still to come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<usize>,
    /// Scores of every task that was measured; no predictor if none was.
    pub scores: BTreeMap<Predictor, Vec<Scores>>,
    /// Area under the receiver operating characteristic, for the images of the tasks learned
    /// against images that no task has; none if there are no such images.
    pub ood_auc: BTreeMap<Predictor, f64>,
}

impl PhaseEnd {
    /// The tasks that were measured with their scores, in the order of the tasks.
    pub fn measured(&self, predictor: Predictor) -> impl Iterator<Item = (usize, &Scores)> {
        let scores = self.scores.get(&predictor).map_or(&[][..], Vec::as_slice);
        let task = |place: usize| self.tasks.get(place).copied().unwrap_or(place);
        scores.iter().enumerate().map(move |(place, scores)| (task(place), scores))
    }
}

/// What a trial leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Before anything was learned.
    pub initial: PhaseEnd,
    /// Epoch by epoch.
    pub epochs: Vec<EpochRow>,
    /// Task by task.
    pub ends: Vec<PhaseEnd>,
    /// Steps made.
    pub steps: u64,
    /// Instruction set of the machine, on which the last digits depend.
    pub instructions: String,
}

impl TrialRecord {
    /// Whether only some tasks were measured.
    pub fn is_sparse(&self) -> bool {
        !self.initial.tasks.is_empty()
    }
}

/// Signs of all weights, layer by layer, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs(Vec<Vec<u8>>);

impl Signs {
    /// Those of a network.
    pub fn of(network: &Network) -> Self {
        let pack = |eight: &[f32]| {
            eight.iter().rev().fold(0, |byte, theta| byte << 1 | u8::from(*theta < 0.0))
        };
        let layer = |theta: &[f32]| theta.chunks(8).map(pack).collect();
        Self(network.layers().iter().map(|l| layer(l.theta())).collect())
    }

    /// Share of the weights of each layer that differ.
    pub fn differences(&self, other: &Self, network: &Network) -> Vec<f64> {
        let layers = self.0.iter().zip(&other.0).zip(network.layers());
        layers
            .map(|((a, b), layer)| {
                let flips: u32 = a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum();
                f64::from(flips) / layer.theta().len() as f64
            })
            .collect()
    }

    /// As text.
    pub fn to_hex(&self) -> Vec<String> {
        let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.iter().map(hex).collect()
    }

    /// From text.
    pub fn from_hex(texts: &[String]) -> Option<Self> {
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let layer = |text: &String| text.as_bytes().chunks(2).map(byte).collect();
        texts.iter().map(layer).collect::<Option<_>>().map(Self)
    }
}

/// KL(q after ‖ q before) of all weights, and a weight by tenths of σ² before.
pub fn divergence(network: &Network, before: &[Vec<f32>]) -> (f64, Vec<Option<f64>>) {
    if network.weights() != Weights::Field {
        return (0.0, Vec::new());
    }
    let mut bins = [(0.0, 0_u64); VARIANCE_BINS];
    let beta = f64::from(network.beta());
    for (layer, before) in network.layers().iter().zip(before) {
        for (&after, &before) in layer.theta().iter().zip(before) {
            let (a, b) = (beta * f64::from(after), beta * f64::from(before));
            let m = b.tanh();
            let bin = (((1.0 - m * m) * VARIANCE_BINS as f64) as usize).min(VARIANCE_BINS - 1);
            bins[bin].0 += product_divergence(a, b);
            bins[bin].1 += 1;
        }
    }
    let total = bins.iter().map(|bin| bin.0).sum();
    (total, bins.iter().map(|&(sum, n)| (n > 0).then(|| sum / n as f64)).collect())
}

/// KL of two measures of ±1 with fields a and b: (a − b) tanh a − ln cosh a + ln cosh b.
fn product_divergence(a: f64, b: f64) -> f64 {
    let d = a - b;
    if d.abs() < 1e-4 {
        // The terms cancel to rounding; ½ σ² d² is exact to the next order.
        let m = b.tanh();
        return 0.5 * (1.0 - m * m) * d * d;
    }
    let ln_two_cosh = |x: f64| x.abs() + (-2.0 * x.abs()).exp().ln_1p();
    d * a.tanh() - ln_two_cosh(a) + ln_two_cosh(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_survive_as_text_and_count_their_differences() {
        use remanent_network::architecture::{Activation, Architecture, Normalisation};
        let architecture = Architecture {
            widths: vec![3, 4, 1],
            activation: Activation::Relu,
            normalisation: Normalisation::None,
        };
        let mut network = Network::random(&architecture, Weights::Field, 1.0, 1, 0).unwrap();
        let before = Signs::of(&network);
        assert_eq!(Signs::from_hex(&before.to_hex()), Some(before.clone()));
        network.update_theta(|l, theta| {
            if l == 0 {
                [0, 5, 11].iter().for_each(|&i| theta[i] *= -1.0);
            }
        });
        let flips = Signs::of(&network).differences(&before, &network);
        assert_eq!(flips, [0.25, 0.0]);
    }

    #[test]
    fn the_divergence_is_that_of_the_definition() {
        for (a, b) in [(0.3, -0.2), (1.0, 1.0 + 1e-5), (-2.0, 0.5), (0.7, 0.7002)] {
            let q = |h: f64, w: f64| (h * w).exp() / (2.0 * h.cosh());
            let exact: f64 = [-1.0, 1.0].map(|w| q(a, w) * (q(a, w) / q(b, w)).ln()).iter().sum();
            let found = product_divergence(a, b);
            assert!((found - exact).abs() < 1e-4 * exact + 1e-15, "{a} {b}: {found} {exact}");
        }
    }
}
