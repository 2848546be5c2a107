//! What a network computes, whatever its weights and whoever trained it.
//!
//! Layer l takes h^l, N_l numbers, to the preactivations
//! z_j = N_l^{-1/2} Σ_i w_ij h_i with w_ij = ±1. Hidden layers normalise z (or
//! not) and apply the activation; the last layer's z, times one positive
//! number, are the logits. There are no biases.

use serde::{Deserialize, Serialize};

use crate::parameters::{ParameterError, within};

/// Added to a variance before its root is divided by.
pub const NORMALISATION_EPSILON: f32 = 1e-5;

/// What a hidden neuron does with its preactivation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// max(0, z), the paper's.
    #[default]
    Relu,
    /// ±1; +1 at zero. Its derivative is taken to be 1 where |z| ≤ 1 and 0 elsewhere.
    Sign,
}

/// What is done to the preactivations before the activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalisation {
    /// Nothing, the paper's.
    #[default]
    None,
    /// Hidden layers: z less its mean over the neurons of the layer, over its standard deviation
    /// there. Every image is treated alone.
    Layer,
    /// All layers: each neuron's z less its mean over the batch, over its standard deviation there,
    /// times a learned gain, plus a learned shift. Tests use running averages.
    Batch,
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
    /// The largest width that is accepted: a layer of 2^16 by 2^16 weights would need 16 GiB a
    /// number.
    pub const WIDEST: usize = 1 << 16;

    /// Fails unless there are at least two widths, all possible.
    pub fn check(&self) -> Result<(), ParameterError> {
        if self.widths.len() < 2 {
            let text = "a network needs at least two widths: pixels and classes";
            return Err(ParameterError::Other(text.into()));
        }
        for &width in &self.widths {
            let ok = (1..=Self::WIDEST).contains(&width);
            within("width", width as f64, ok, "from 1 to 65536")?;
        }
        Ok(())
    }

    /// N_0, the number of pixels.
    pub fn inputs(&self) -> usize {
        self.widths[0]
    }

    /// The number of classes.
    pub fn outputs(&self) -> usize {
        self.widths[self.widths.len() - 1]
    }

    /// Number of layers of weights.
    pub fn layers(&self) -> usize {
        self.widths.len() - 1
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
