//! The function that a network computes.
//!
//! Layer l maps h^l, N_l numbers, to the preactivations
//! z_j = N_l^{-1/2} Σ_i w_ij h_i with w_ij = ±1. Hidden layers optionally normalise z and apply the
//! activation; the last layer's z, times a positive factor, are the logits. There are no biases.

use serde::{Deserialize, Serialize};

use crate::parameters::ParameterError;
use crate::ranges;

/// Added to a variance before the division by its square root.
pub const NORMALISATION_EPSILON: f32 = 1e-5;

/// Activation of hidden neurons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// max(0, z), as in the paper.
    #[default]
    Relu,
    /// ±1; +1 at zero. The straight-through derivative is 1 where |z| ≤ 1 and 0 elsewhere.
    Sign,
    /// 1 where |z| > 1, else 0. The derivative is replaced by the sign of z where
    /// 1/2 < |z| < 3/2, and by 0 elsewhere.
    Gate,
}

/// Normalisation of preactivations before the activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalisation {
    /// None, as in the paper.
    #[default]
    None,
    /// Hidden layers: z minus its mean over the neurons of the layer, divided by its standard
    /// deviation. Each image is normalised on its own.
    Layer,
    /// All layers: each neuron's z minus its mean over the batch, divided by its standard deviation,
    /// times a learned gain, plus a learned shift. Prediction uses running averages.
    Batch,
    /// As `Layer`, for all layers: the logits are normalised too.
    #[serde(rename = "layer-all")]
    LayerAll,
    /// As `Batch`, without gain and shift.
    #[serde(rename = "batch-plain")]
    BatchPlain,
}

impl Normalisation {
    /// Whether a neuron is normalised over a batch, with running averages in prediction.
    pub fn is_batch(self) -> bool {
        matches!(self, Self::Batch | Self::BatchPlain)
    }

    /// Whether layer `layer` of `layers` is normalised over its neurons.
    pub fn is_layer(self, layer: usize, layers: usize) -> bool {
        match self {
            Self::Layer => layer + 1 < layers,
            Self::LayerAll => true,
            Self::None | Self::Batch | Self::BatchPlain => false,
        }
    }
}

/// Widths and functions of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Architecture {
    /// Pixels, hidden layers, classes.
    pub widths: Vec<usize>,
    /// Of hidden neurons.
    pub activation: Activation,
    /// Of preactivations.
    pub normalisation: Normalisation,
}

impl Architecture {
    /// Widths of the hidden layers.
    pub fn hidden(&self) -> &[usize] {
        self.widths.get(1..self.widths.len().max(2) - 1).unwrap_or_default()
    }

    /// The largest width.
    pub const WIDEST: usize = ranges::WIDEST;

    /// Fails unless there are at least two widths, all in range.
    pub fn check(&self) -> Result<(), ParameterError> {
        if self.widths.len() < 2 {
            let text = "a network needs at least two widths: pixels and classes";
            return Err(ParameterError::invalid(text));
        }
        for &width in &self.widths {
            ranges::WIDTH.check("width", width as f64)?;
        }
        Ok(())
    }

    /// N_0, the number of pixels.
    pub fn inputs(&self) -> usize {
        self.widths.first().copied().unwrap_or(0)
    }

    /// The number of classes.
    pub fn outputs(&self) -> usize {
        self.widths.last().copied().unwrap_or(0)
    }

    /// Number of layers of weights.
    pub fn layers(&self) -> usize {
        self.widths.len().saturating_sub(1)
    }

    /// Upstream and downstream width of every layer of weights.
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = (usize, usize)> {
        self.widths.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// Number of weights.
    pub fn weights(&self) -> usize {
        self.shapes().map(|(inputs, outputs)| inputs * outputs).sum()
    }
}
