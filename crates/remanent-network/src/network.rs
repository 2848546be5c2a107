//! The parameters of a network, and the moments of its weights.
//!
//! Every weight has one latent number θ. A *field* network takes it as the
//! measure q(w) ∝ e^{βθw} of a binary weight, with mean tanh βθ and a variance;
//! a *sign* network as the binary weight sign θ.

use remanent_math::philox::Stream;
use serde::{Deserialize, Serialize};

use crate::architecture::{Architecture, Normalisation};
use crate::kernels;
use crate::normalisation::BatchNorm;
use crate::purposes;

/// What θ stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// A measure of ±1.
    Field,
    /// Its sign.
    Sign,
}

/// One layer: weights from N_l neurons upstream, i, to N_{l+1} downstream, j, stored as i × j.
#[derive(Clone, Debug)]
pub struct Layer {
    /// N_l.
    pub inputs: usize,
    /// N_{l+1}.
    pub outputs: usize,
    /// θ.
    pub theta: Vec<f32>,
    /// Mean of the weights: tanh βθ, or sign θ.
    pub mean: Vec<f32>,
    /// Variance of the weights; empty in a sign network.
    pub variance: Vec<f32>,
}

/// A network and its parameters.
#[derive(Clone, Debug)]
pub struct Network {
    /// Widths and functions.
    pub architecture: Architecture,
    /// What θ stands for.
    pub weights: Weights,
    /// β, the scale of the fields, with which the moments are computed.
    pub beta: f32,
    /// From the pixels to the classes.
    pub layers: Vec<Layer>,
    /// One a layer with [`Normalisation::Batch`], else none.
    pub batch_norms: Vec<BatchNorm>,
    /// t: the logits are e^t z.
    pub log_scale: f32,
}

impl Network {
    /// θ ~ N(0, `spread`²), from the seed.
    pub fn random(
        architecture: &Architecture,
        weights: Weights,
        spread: f32,
        seed: u64,
        trial: u32,
    ) -> Self {
        let thetas = architecture.shapes().enumerate().map(|(l, (inputs, outputs))| {
            let mut theta = vec![0.0; inputs * outputs];
            Stream::new(seed, purposes::INITIAL, trial, l as u32).fill_normals(0, &mut theta);
            kernels::scale(spread, &mut theta);
            theta
        });
        Self::new(architecture, weights, thetas.collect())
    }

    /// With these θ, layer by layer.
    ///
    /// # Panics
    ///
    /// If they are not as many as the architecture has.
    pub fn new(architecture: &Architecture, weights: Weights, thetas: Vec<Vec<f32>>) -> Self {
        assert_eq!(thetas.len(), architecture.layers(), "layers of the network");
        let layers = architecture.shapes().zip(thetas).map(|((inputs, outputs), theta)| {
            assert_eq!(theta.len(), inputs * outputs, "weights of a layer");
            let mean = vec![0.0; theta.len()];
            let variance =
                if weights == Weights::Field { vec![0.0; theta.len()] } else { Vec::new() };
            Layer { inputs, outputs, theta, mean, variance }
        });
        let batch_norms = match architecture.normalisation {
            Normalisation::Batch => architecture.shapes().map(|s| BatchNorm::new(s.1)).collect(),
            Normalisation::None | Normalisation::Layer => Vec::new(),
        };
        let mut network = Self {
            architecture: architecture.clone(),
            weights,
            beta: 1.0,
            layers: layers.collect(),
            batch_norms,
            log_scale: 0.0,
        };
        network.set_beta(1.0);
        network
    }

    /// The binary network of the most probable weights.
    pub fn hard(&self) -> Self {
        self.binary(|layer, weights| match self.weights {
            Weights::Field => kernels::signs(&layer.theta, weights),
            Weights::Sign => weights.copy_from_slice(&layer.mean),
        })
    }

    /// A binary network with weights drawn from the measure.
    pub fn sampled(&self, stream: &Stream) -> Self {
        let mut first = 0;
        self.binary(|layer, weights| {
            for (four, weights) in weights.chunks_mut(4).enumerate() {
                let words = stream.bits(first + four as u32);
                let means = &layer.mean[4 * four..];
                for ((weight, word), &mean) in weights.iter_mut().zip(words).zip(means) {
                    // Uniform in (−1, 1), of 23 bits: no rounding reaches an end, where a weight that
                    // is certain would turn.
                    let uniform = ((word as i32 >> 9) as f32 + 0.5) * (1.0 / 4_194_304.0);
                    *weight = if uniform < mean { 1.0 } else { -1.0 };
                }
            }
            first += weights.len().div_ceil(4) as u32;
        })
    }

    /// A sign network without θ, for answers only.
    fn binary(&self, mut fill: impl FnMut(&Layer, &mut [f32])) -> Self {
        let layers = self.layers.iter().map(|layer| {
            let mut mean = vec![0.0; layer.mean.len()];
            fill(layer, &mut mean);
            Layer { mean, theta: Vec::new(), variance: Vec::new(), ..*layer }
        });
        let layers = layers.collect();
        Self { weights: Weights::Sign, layers, ..self.without_layers() }
    }

    fn without_layers(&self) -> Self {
        Self {
            architecture: self.architecture.clone(),
            batch_norms: self.batch_norms.clone(),
            layers: Vec::new(),
            ..*self
        }
    }

    /// Sets β and computes the moments of all weights.
    pub fn set_beta(&mut self, beta: f32) {
        self.beta = beta;
        for layer in &mut self.layers {
            layer.refresh(self.weights, beta);
        }
    }

    /// ⟨σ²⟩ of each layer, the paper's synaptic uncertainty. Zero in a sign network.
    pub fn uncertainty(&self) -> Vec<f64> {
        let mean = |x: &[f32]| x.iter().map(|&x| f64::from(x)).sum::<f64>() / x.len() as f64;
        let of = |layer: &Layer| match self.weights {
            Weights::Field => mean(&layer.variance),
            Weights::Sign => 0.0,
        };
        self.layers.iter().map(of).collect()
    }
}

impl Layer {
    fn refresh(&mut self, weights: Weights, beta: f32) {
        match weights {
            Weights::Field => {
                kernels::moments(beta, &self.theta, &mut self.mean, &mut self.variance);
            }
            Weights::Sign => kernels::signs(&self.theta, &mut self.mean),
        }
    }
}
