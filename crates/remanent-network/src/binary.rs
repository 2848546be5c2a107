//! Packed networks: one bit for each weight.
//!
//! The function is that of [`crate::architecture`], with weights of exactly ±1. A network of 784, 512,
//! 512 and 10 neurons takes 84 kB, and its logits are computed directly from the bits, with the
//! buffers of a [`Workspace`]. [`BinaryNetwork::write`] and [`BinaryNetwork::read`] use the file
//! format described in [`format`](mod@format); [`onnx`] and [`npz`] export to other programs.

mod bits;
mod bytes;
mod convert;
mod draw;
mod drawn;
pub(crate) mod ensemble;
pub mod file;
pub mod format;
mod forward;
mod fours;
pub mod npz;
pub mod onnx;
mod subsets;
mod sums;
mod whole;

use thiserror::Error;

use crate::architecture::{Architecture, Normalisation};
use crate::parameters::ParameterError;
use bits::Bits;

pub use crate::softmax::softmax;
pub use forward::Workspace;

/// Why a network cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum NetworkError {
    /// The architecture is invalid.
    #[error(transparent)]
    Architecture(#[from] ParameterError),
    /// The number of layers does not match the widths.
    #[error("there are weights of {found} layers: the widths {widths:?} need {}", widths.len() - 1)]
    Layers {
        /// Number of layers that were given.
        found: usize,
        /// The widths of the network.
        widths: Vec<usize>,
    },
    /// The number of weights of a layer does not match its widths.
    #[error("layer {layer} has {found} weights: {inputs} inputs and {outputs} outputs need {}", inputs * outputs)]
    Weights {
        /// Which layer, from 0.
        layer: usize,
        /// Number of weights that were given.
        found: usize,
        /// Its upstream width.
        inputs: usize,
        /// Its downstream width.
        outputs: usize,
    },
    /// A weight is NaN.
    #[error("the weight from {input} to {output} in layer {layer} is NaN and has no sign")]
    NotANumber {
        /// Which layer, from 0.
        layer: usize,
        /// The upstream neuron.
        input: usize,
        /// The downstream neuron.
        output: usize,
    },
    /// Scales and shifts are given for the wrong number of layers.
    #[error(
        "scales and shifts are given for {found} layers: {normalisation:?} normalisation needs \
         them for {wanted}"
    )]
    Affine {
        /// Number of layers given.
        found: usize,
        /// Number of layers needed.
        wanted: usize,
        /// The normalisation.
        normalisation: Normalisation,
    },
    /// A layer has the wrong number of scales or shifts.
    #[error(
        "layer {layer} has {scales} scales and {shifts} shifts: its {outputs} neurons need one each"
    )]
    AffineWidth {
        /// Which layer, from 0.
        layer: usize,
        /// Number of scales that were given.
        scales: usize,
        /// Number of shifts that were given.
        shifts: usize,
        /// Number of neurons.
        outputs: usize,
    },
    /// A scale or a shift is not finite.
    #[error("{value} is among the scales and shifts of layer {layer}: all must be finite")]
    AffineValue {
        /// Which layer, from 0.
        layer: usize,
        /// The first such number.
        value: f32,
    },
    /// The weights are real numbers.
    #[error(
        "the network has real weights, and a packed network has one bit for each; choose a \
         predictor other than hard"
    )]
    RealWeights,
    /// Pixels are standardised.
    #[error(
        "the network standardises its pixels, and a packed network does not; choose a predictor \
         other than hard"
    )]
    Standardised,
    /// The factor of the logits is not positive and finite.
    #[error("output_scale = {0} is out of range: it must be positive and finite")]
    OutputScale(f32),
}

/// Batch normalisation in prediction: z ← z · scale + shift for each neuron.
#[derive(Clone, Debug, PartialEq)]
pub struct Affine {
    /// One for each neuron of the layer.
    pub scale: Vec<f32>,
    /// One for each neuron of the layer.
    pub shift: Vec<f32>,
}

/// A trained network with weights ±1.
#[derive(Clone, Debug, PartialEq)]
pub struct BinaryNetwork {
    architecture: Architecture,
    layers: Vec<Bits>,
    /// For every layer, or none.
    affine: Vec<Affine>,
    output_scale: f32,
}

impl BinaryNetwork {
    /// The network whose weights are the signs of these numbers: inputs × outputs for each layer, row
    /// by row. The sign of zero is +1.
    ///
    /// `affine` has an entry for every layer with batch normalisation, and none without. The logits
    /// are `output_scale` times what the last layer gives.
    pub fn from_signs(
        architecture: Architecture,
        layers: &[&[f32]],
        affine: Vec<Affine>,
        output_scale: f32,
    ) -> Result<Self, NetworkError> {
        architecture.check()?;
        if layers.len() != architecture.layers() {
            let widths = architecture.widths;
            return Err(NetworkError::Layers { found: layers.len(), widths });
        }
        let shapes = architecture.shapes().zip(layers).enumerate();
        let packed: Result<Vec<Bits>, _> = shapes
            .map(|(layer, ((inputs, outputs), weights))| {
                let found = weights.len();
                if found != inputs * outputs {
                    return Err(NetworkError::Weights { layer, found, inputs, outputs });
                }
                if let Some(place) = weights.iter().position(|weight| weight.is_nan()) {
                    let (input, output) = (place / outputs, place % outputs);
                    return Err(NetworkError::NotANumber { layer, input, output });
                }
                Ok(Bits::new(inputs, outputs, |i, j| weights[i * outputs + j] >= 0.0))
            })
            .collect();
        Self::from_bits(architecture, packed?, affine, output_scale)
    }

    /// Expects a checked architecture and bits of its widths.
    fn from_bits(
        architecture: Architecture,
        layers: Vec<Bits>,
        affine: Vec<Affine>,
        output_scale: f32,
    ) -> Result<Self, NetworkError> {
        let normalisation = architecture.normalisation;
        let wanted = affine_layers(&architecture);
        if affine.len() != wanted {
            return Err(NetworkError::Affine { found: affine.len(), wanted, normalisation });
        }
        for (layer, (affine, bits)) in affine.iter().zip(&layers).enumerate() {
            let (scales, shifts) = (affine.scale.len(), affine.shift.len());
            let outputs = bits.outputs();
            if scales != outputs || shifts != outputs {
                return Err(NetworkError::AffineWidth { layer, scales, shifts, outputs });
            }
            let mut values = affine.scale.iter().chain(&affine.shift);
            if let Some(&value) = values.find(|value| !value.is_finite()) {
                return Err(NetworkError::AffineValue { layer, value });
            }
        }
        if !(output_scale > 0.0 && output_scale.is_finite()) {
            return Err(NetworkError::OutputScale(output_scale));
        }
        Ok(Self { architecture, layers, affine, output_scale })
    }

    /// Widths and functions.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Scales and shifts of a layer; none without batch normalisation.
    ///
    /// # Panics
    ///
    /// If there is no such layer.
    pub fn affine(&self, layer: usize) -> Option<&Affine> {
        assert!(layer < self.layers.len(), "no layer {layer}");
        self.affine.get(layer)
    }

    /// The factor of the logits.
    pub fn output_scale(&self) -> f32 {
        self.output_scale
    }

    /// The weight from neuron `i` to neuron `j` of the next layer: +1 or −1.
    ///
    /// # Panics
    ///
    /// If there is no such weight.
    pub fn weight(&self, layer: usize, i: usize, j: usize) -> f32 {
        sign(self.layers[layer].is_positive(i, j))
    }

    /// The weights of a layer, inputs × outputs, row by row.
    ///
    /// # Panics
    ///
    /// If there is no such layer.
    pub fn signs(&self, layer: usize) -> Vec<f32> {
        self.layers[layer].iter().map(sign).collect()
    }

    /// The weights of a layer as int8, for export.
    fn small_signs(&self, layer: usize) -> impl Iterator<Item = i8> {
        self.layers[layer].iter().map(|positive| if positive { 1 } else { -1 })
    }
}

fn sign(positive: bool) -> f32 {
    if positive { 1.0 } else { -1.0 }
}

/// Number of layers that have scales and shifts.
fn affine_layers(architecture: &Architecture) -> usize {
    match architecture.normalisation {
        Normalisation::None | Normalisation::Layer | Normalisation::LayerAll => 0,
        Normalisation::Batch | Normalisation::BatchPlain => architecture.layers(),
    }
}

/// N^{-1/2}, the factor of sums over N inputs.
fn root_factor(inputs: usize) -> f32 {
    (inputs as f64).sqrt().recip() as f32
}

#[cfg(test)]
mod examples;
#[cfg(test)]
mod tests;
