//! The parameters of a network, and the moments of its weights.
//!
//! Every weight has one latent number θ. In a *field* network it is the field of the distribution
//! q(w) ∝ e^{βθw} of a binary weight, with mean tanh βθ; in a *sign* network the binary weight is
//! sign θ. Networks for comparison have real weights: in a *float* network the weight is θ, in a
//! *Gaussian* network its distribution is N(θ, σ²) with a σ of its own. Their preactivations have
//! no factor N^{-1/2}.

use remanent_math::philox::Stream;
use serde::{Deserialize, Serialize};

use crate::architecture::{Architecture, Normalisation};
use crate::binary::NetworkError;
use crate::kernels;
pub use crate::normalisation::BatchNorm;
use crate::pages::filled;
use crate::purposes;

/// The meaning of θ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// The field of a distribution over ±1.
    Field,
    /// The binary weight is the sign of θ.
    Sign,
    /// The weight is θ.
    Float,
    /// The weight is normal with mean θ and a variance of its own.
    Gaussian,
}

impl Weights {
    /// Whether weights have a variance.
    pub fn spread(self) -> bool {
        matches!(self, Self::Field | Self::Gaussian)
    }

    /// Whether weights are ±1.
    pub fn are_binary(self) -> bool {
        matches!(self, Self::Field | Self::Sign)
    }

    /// Factors of the mean and the variance of a preactivation with N inputs: N^{-1/2} and N^{-1}
    /// for binary weights, else 1.
    pub(crate) fn factors(self, inputs: usize) -> (f32, f32) {
        let n = inputs as f32;
        if self.are_binary() { (n.sqrt().recip(), n.recip()) } else { (1.0, 1.0) }
    }
}

/// One layer: weights from N_l neurons upstream, i, to N_{l+1} downstream, j, stored as i × j.
#[derive(Clone, Debug)]
pub struct Layer {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) theta: Vec<f32>,
    pub(crate) mean: Vec<f32>,
    pub(crate) variance: Vec<f32>,
}

/// A network and its parameters.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) architecture: Architecture,
    pub(crate) weights: Weights,
    pub(crate) beta: f32,
    pub(crate) layers: Vec<Layer>,
    pub(crate) batch_norms: Vec<BatchNorm>,
    pub(crate) log_scale: f32,
    /// Mean and deviation by which pixels are standardised.
    pub(crate) standardise: Option<[f32; 2]>,
}

impl Network {
    /// A network with θ ~ N(0, `spread`²), drawn from the seed. Real weights are divided by √N; those
    /// of a Gaussian network have the deviation N^{-1/2}.
    ///
    /// # Errors
    ///
    /// If the architecture is invalid.
    pub fn random(
        architecture: &Architecture,
        weights: Weights,
        spread: f32,
        seed: u64,
        trial: u32,
    ) -> Result<Self, NetworkError> {
        architecture.check()?;
        let thetas = architecture.shapes().enumerate().map(|(l, (inputs, outputs))| {
            let mut theta = filled(inputs * outputs, 0.0);
            Stream::new(seed, purposes::INITIAL, trial, l as u32).fill_normals(0, &mut theta);
            let root = if weights.are_binary() { 1.0 } else { (inputs as f32).sqrt().recip() };
            kernels::scale(spread * root, &mut theta);
            theta
        });
        Self::new(architecture, weights, thetas.collect())
    }

    /// A network with these θ, layer by layer.
    ///
    /// # Errors
    ///
    /// If the architecture is invalid or has another number of weights.
    pub fn new(
        architecture: &Architecture,
        weights: Weights,
        thetas: Vec<Vec<f32>>,
    ) -> Result<Self, NetworkError> {
        architecture.check()?;
        if thetas.len() != architecture.layers() {
            let widths = architecture.widths.clone();
            return Err(NetworkError::Layers { found: thetas.len(), widths });
        }
        for (layer, ((inputs, outputs), theta)) in architecture.shapes().zip(&thetas).enumerate() {
            let found = theta.len();
            if found != inputs * outputs {
                return Err(NetworkError::Weights { layer, found, inputs, outputs });
            }
        }
        let layers = architecture.shapes().zip(thetas).map(|((inputs, outputs), theta)| {
            let mean = filled(theta.len(), 0.0);
            let variance = match weights {
                Weights::Field => filled(theta.len(), 0.0),
                Weights::Gaussian => vec![(inputs as f32).recip(); theta.len()],
                Weights::Sign | Weights::Float => Vec::new(),
            };
            Layer { inputs, outputs, theta, mean, variance }
        });
        let batch_norms = match architecture.normalisation {
            Normalisation::Batch | Normalisation::BatchPlain => {
                architecture.shapes().map(|s| BatchNorm::new(s.1)).collect()
            }
            Normalisation::None | Normalisation::Layer | Normalisation::LayerAll => Vec::new(),
        };
        let mut network = Self {
            architecture: architecture.clone(),
            weights,
            beta: 1.0,
            layers: layers.collect(),
            batch_norms,
            log_scale: 0.0,
            standardise: None,
        };
        network.set_beta(1.0);
        Ok(network)
    }

    /// Widths, activation and normalisation.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The meaning of θ.
    pub fn weights(&self) -> Weights {
        self.weights
    }

    /// β, the scale of the fields.
    pub fn beta(&self) -> f32 {
        self.beta
    }

    /// The layers, from pixels to classes.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Batch normalisation of each layer; empty with another [`Normalisation`].
    pub fn batch_norms(&self) -> &[BatchNorm] {
        &self.batch_norms
    }

    /// Batch normalisation of each layer, to change.
    pub fn batch_norms_mut(&mut self) -> &mut [BatchNorm] {
        &mut self.batch_norms
    }

    /// t in the logits e^t z.
    pub fn log_scale(&self) -> f32 {
        self.log_scale
    }

    /// Sets t in the logits e^t z.
    pub fn set_log_scale(&mut self, log_scale: f32) {
        self.log_scale = log_scale;
    }

    /// Mean and deviation by which pixels are standardised before the first layer.
    pub fn standardise(&self) -> Option<[f32; 2]> {
        self.standardise
    }

    /// Sets the standardisation of pixels.
    pub fn set_standardise(&mut self, standardise: Option<[f32; 2]>) {
        self.standardise = standardise;
    }

    /// Changes θ, layer by layer, and recomputes the moments of all weights.
    pub fn update_theta(&mut self, mut change: impl FnMut(usize, &mut [f32])) {
        for (l, layer) in self.layers.iter_mut().enumerate() {
            change(l, &mut layer.theta);
            layer.refresh(self.weights, self.beta);
        }
    }

    /// The network of the most probable weights: binary, unless weights are real.
    pub fn hard(&self) -> Self {
        self.fixed(|layer, weights| match self.weights {
            Weights::Field => kernels::signs(&layer.theta, weights),
            Weights::Sign | Weights::Float | Weights::Gaussian => {
                weights.copy_from_slice(&layer.mean);
            }
        })
    }

    /// A network with weights drawn from their distribution: binary, unless weights are real.
    pub fn sampled(&self, stream: &Stream) -> Self {
        if self.weights == Weights::Gaussian {
            let mut group = 0;
            return self.fixed(|layer, weights| {
                stream.fill_normals(group, weights);
                group += Stream::groups(weights.len());
                kernels::gaussian_weights(&layer.mean, &layer.variance, weights);
            });
        }
        let mut first = 0;
        self.fixed(|layer, weights| {
            for (four, weights) in weights.chunks_mut(4).enumerate() {
                let words = stream.bits(first + four as u32);
                let means = &layer.mean[4 * four..];
                for ((weight, word), &mean) in weights.iter_mut().zip(words).zip(means) {
                    // Uniform in (−1, 1) with 23 bits: the ends, where a certain weight would flip,
                    // are never reached.
                    let uniform = ((word as i32 >> 9) as f32 + 0.5) * (1.0 / 4_194_304.0);
                    *weight = if uniform < mean { 1.0 } else { -1.0 };
                }
            }
            first += weights.len().div_ceil(4) as u32;
        })
    }

    /// A network of fixed weights without θ, for prediction only.
    pub(crate) fn fixed(&self, mut fill: impl FnMut(&Layer, &mut [f32])) -> Self {
        let layers = self.layers.iter().map(|layer| {
            let mut mean = vec![0.0; layer.mean.len()];
            fill(layer, &mut mean);
            Layer { mean, theta: Vec::new(), variance: Vec::new(), ..*layer }
        });
        let layers = layers.collect();
        let weights = if self.weights.are_binary() { Weights::Sign } else { Weights::Float };
        Self { weights, layers, ..self.without_layers() }
    }

    fn without_layers(&self) -> Self {
        Self {
            architecture: self.architecture.clone(),
            batch_norms: self.batch_norms.clone(),
            layers: Vec::new(),
            ..*self
        }
    }

    /// Sets β and recomputes the moments of all weights.
    pub fn set_beta(&mut self, beta: f32) {
        self.beta = beta;
        for layer in &mut self.layers {
            layer.refresh(self.weights, beta);
        }
    }

    /// ⟨σ²⟩ of each layer, the synaptic uncertainty of the paper; zero in a sign or float network.
    pub fn uncertainty(&self) -> Vec<f64> {
        let mean = |x: &[f32]| x.iter().map(|&x| f64::from(x)).sum::<f64>() / x.len() as f64;
        let of = |layer: &Layer| match self.weights {
            Weights::Field | Weights::Gaussian => mean(&layer.variance),
            Weights::Sign | Weights::Float => 0.0,
        };
        self.layers.iter().map(of).collect()
    }
}

impl Layer {
    /// N_l, the number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// N_{l+1}, the number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// θ; empty in a network made for prediction only.
    pub fn theta(&self) -> &[f32] {
        &self.theta
    }

    /// Mean of the weights: tanh βθ, sign θ, or θ.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// Variance of the weights; empty in a sign or float network.
    pub fn variance(&self) -> &[f32] {
        &self.variance
    }

    fn refresh(&mut self, weights: Weights, beta: f32) {
        match weights {
            Weights::Field => {
                kernels::moments(beta, &self.theta, &mut self.mean, &mut self.variance);
            }
            Weights::Sign => kernels::signs(&self.theta, &mut self.mean),
            Weights::Float | Weights::Gaussian => self.mean.copy_from_slice(&self.theta),
        }
    }
}
