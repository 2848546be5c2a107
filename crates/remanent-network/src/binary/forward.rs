//! From images to logits, probabilities and classes.
//!
//! Images are processed one after another: the bits of a layer stay in the fastest caches, and the
//! zeros of each image are skipped. With AVX-512 this is faster than a matrix product even for
//! hundreds of images, and ten times as fast for one (`benches/packed.rs`). To use several threads,
//! give each a part of the images and its own [`Workspace`].

use remanent_math::multiversioned;

use super::bits::{BLOCK, LANES};
use super::sums::{Lanes, signed_sums};
use super::{Affine, BinaryNetwork, root_factor};
use crate::architecture::{Activation, NORMALISATION_EPSILON};
use crate::metrics::most_probable;
use crate::softmax::softmax;

/// Buffers for the neurons of one image, reusable with any network.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// Inputs of the current layer, padded with zeros to whole blocks.
    h: Vec<[f32; BLOCK]>,
    /// Its sums.
    sums: Vec<Lanes>,
}

impl Workspace {
    /// Empty buffers, which grow with the first image.
    pub fn new() -> Self {
        Self::default()
    }
}

impl BinaryNetwork {
    /// The logits of images: `images` has batch × inputs values, `logits` batch × classes, row by
    /// row. Values that are not finite affect only the logits of their own image.
    ///
    /// # Panics
    ///
    /// If the lengths do not match.
    pub fn logits(&self, images: &[f32], logits: &mut [f32], workspace: &mut Workspace) {
        let (inputs, classes) = (self.architecture.inputs(), self.architecture.outputs());
        assert!(images.len().is_multiple_of(inputs), "images have {inputs} values each");
        let batch = images.len() / inputs;
        assert_eq!(logits.len(), batch * classes, "{batch} images have {classes} logits each");
        for (image, logits) in images.chunks(inputs).zip(logits.chunks_mut(classes)) {
            self.image_logits(image, logits, workspace);
        }
    }

    fn image_logits(&self, image: &[f32], logits: &mut [f32], workspace: &mut Workspace) {
        let Workspace { h, sums } = workspace;
        fill(h, image);
        let last = self.layers.len() - 1;
        for (layer, bits) in self.layers.iter().enumerate() {
            sums.resize(bits.groups(), [0.0; LANES]);
            signed_sums(bits.words(), h, sums);
            let z = &mut sums.as_flattened_mut()[..bits.outputs()];
            match self.affine.get(layer) {
                Some(affine) => scale_and_shift(z, root_factor(bits.inputs()), affine),
                None => scale(z, root_factor(bits.inputs())),
            }
            if self.architecture.normalisation.is_layer(layer, self.layers.len()) {
                normalise(z);
            }
            if layer == last {
                logits.copy_from_slice(z);
                scale(logits, self.output_scale);
                return;
            }
            activate(z, self.architecture.activation);
            fill(h, z);
        }
    }

    /// As [`Self::logits`], but the softmax of them.
    ///
    /// # Panics
    ///
    /// If the lengths do not match.
    pub fn probabilities(
        &self,
        images: &[f32],
        probabilities: &mut [f32],
        workspace: &mut Workspace,
    ) {
        self.logits(images, probabilities, workspace);
        softmax(probabilities, self.architecture.outputs());
    }

    /// The class of every image: the first one with the largest logit.
    ///
    /// # Panics
    ///
    /// If `images` is not a whole number of images.
    pub fn predict(&self, images: &[f32]) -> Vec<usize> {
        let classes = self.architecture.outputs();
        let mut logits = vec![0.0; images.len() / self.architecture.inputs() * classes];
        self.logits(images, &mut logits, &mut Workspace::new());
        logits.chunks(classes).map(|logits| most_probable(logits).0).collect()
    }
}

/// Copies the values and pads them with zeros to whole blocks.
pub(super) fn fill(h: &mut Vec<[f32; BLOCK]>, values: &[f32]) {
    h.resize(values.len().div_ceil(BLOCK), [0.0; BLOCK]);
    let (used, rest) = h.as_flattened_mut().split_at_mut(values.len());
    used.copy_from_slice(values);
    rest.fill(0.0);
}

multiversioned! {
    pub(super) fn scale(z: &mut [f32], factor: f32) {
        for z in z {
            *z *= factor;
        }
    }

    pub(super) fn scale_and_shift(z: &mut [f32], factor: f32, affine: &Affine) {
        for ((z, scale), shift) in z.iter_mut().zip(&affine.scale).zip(&affine.shift) {
            *z = *z * factor * scale + shift;
        }
    }

    /// z less its mean, over its standard deviation. Both are summed in double precision: z of many
    /// neurons may have a mean that is much larger than its deviation.
    pub(super) fn normalise(z: &mut [f32]) {
        let count = z.len() as f64;
        let mean = sum_of(z, |z| z) / count;
        let variance = sum_of(z, |z| (z - mean) * (z - mean)) / count;
        let factor = (variance + f64::from(NORMALISATION_EPSILON)).sqrt().recip();
        for z in z {
            *z = ((f64::from(*z) - mean) * factor) as f32;
        }
    }
}

/// Σ f(z) by sixteen independent partial sums.
#[inline(always)]
fn sum_of(z: &[f32], f: impl Fn(f64) -> f64) -> f64 {
    let mut partial = [0.0; LANES];
    let (whole, rest) = z.as_chunks::<LANES>();
    for z in whole {
        for (sum, &z) in partial.iter_mut().zip(z) {
            *sum += f(z.into());
        }
    }
    for (sum, &z) in partial.iter_mut().zip(rest) {
        *sum += f(z.into());
    }
    partial.iter().sum()
}

multiversioned! {
    fn activate(z: &mut [f32], activation: Activation) {
        match activation {
            // NaN propagates.
            Activation::Relu => z.iter_mut().for_each(|z| *z = if *z < 0.0 { 0.0 } else { *z }),
            Activation::Sign => z.iter_mut().for_each(|z| *z = if *z >= 0.0 { 1.0 } else { -1.0 }),
            Activation::Gate => z.iter_mut().for_each(|z| *z = if z.abs() > 1.0 { 1.0 } else { *z * 0.0 }),
        }
    }
}

#[cfg(test)]
mod tests;
