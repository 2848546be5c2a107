//! Random networks for the tests.

use remanent_math::philox::Stream;

use super::{Affine, BinaryNetwork};
use crate::architecture::{Activation, Architecture, Normalisation};

pub(super) const ACTIVATIONS: [Activation; 3] =
    [Activation::Relu, Activation::Sign, Activation::Gate];
pub(super) const NORMALISATIONS: [Normalisation; 4] =
    [Normalisation::None, Normalisation::Layer, Normalisation::Batch, Normalisation::LayerAll];

/// Numbers that are nothing in particular.
pub(super) fn normals(count: usize, purpose: u32) -> Vec<f32> {
    let stream = Stream::new(11, purpose, 0, 0);
    (0..count as u32).map(|index| stream.normal(index) as f32).collect()
}

pub(super) fn architecture(
    widths: &[usize],
    activation: Activation,
    normalisation: Normalisation,
) -> Architecture {
    Architecture { widths: widths.to_vec(), activation, normalisation }
}

pub(super) fn network(architecture: Architecture) -> BinaryNetwork {
    let shapes: Vec<_> = architecture.shapes().collect();
    let layers: Vec<Vec<f32>> = shapes
        .iter()
        .enumerate()
        .map(|(l, (inputs, outputs))| normals(inputs * outputs, l as u32))
        .collect();
    let affine = |(l, &(_, outputs)): (usize, &(usize, usize))| Affine {
        scale: normals(outputs, 100 + l as u32),
        shift: normals(outputs, 200 + l as u32),
    };
    let affine = match architecture.normalisation {
        Normalisation::Batch => shapes.iter().enumerate().map(affine).collect(),
        _ => Vec::new(),
    };
    let layers: Vec<&[f32]> = layers.iter().map(Vec::as_slice).collect();
    BinaryNetwork::from_signs(architecture, &layers, affine, 1.7).unwrap()
}

/// Small networks of every kind, one of which has no hidden layer.
pub(super) fn all() -> Vec<BinaryNetwork> {
    let mut all = Vec::new();
    for activation in ACTIVATIONS {
        for normalisation in NORMALISATIONS {
            for widths in [&[5, 3][..], &[37, 19, 21, 4]] {
                all.push(network(architecture(widths, activation, normalisation)));
            }
        }
    }
    all
}
