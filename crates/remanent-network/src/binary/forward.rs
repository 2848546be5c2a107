//! From images to logits, probabilities and classes.
//!
//! Images are taken one after another: the bits of a layer stay in the fastest caches, the sums of
//! one image ([`super::sums`]) take less than a product of matrices would for many, and its zeros
//! are its own. Whoever has several processors gives a part of the images to each, with a
//! [`Workspace`] of its own.

use multiversion::multiversion;

use super::bits::{BLOCK, LANES};
use super::sums::{Lanes, signed_sums};
use super::{Affine, BinaryNetwork, root_factor};
use crate::architecture::{Activation, NORMALISATION_EPSILON, Normalisation};

/// Room for the neurons of one image, to be used again and again. It fits any network.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// What the layer at hand takes in, with zeros to whole blocks.
    h: Vec<[f32; BLOCK]>,
    /// Its sums.
    sums: Vec<Lanes>,
}

impl Workspace {
    /// Room that grows with the first image.
    pub fn new() -> Self {
        Self::default()
    }
}

impl BinaryNetwork {
    /// The logits of images: `images` has batch × inputs values, `logits` batch × classes, row by
    /// row. Values that are not finite spoil their image's logits and no others.
    ///
    /// # Panics
    ///
    /// If the lengths do not belong together.
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
            if layer == last {
                logits.copy_from_slice(z);
                scale(logits, self.output_scale);
                return;
            }
            if self.architecture.normalisation == Normalisation::Layer {
                normalise(z);
            }
            activate(z, self.architecture.activation);
            fill(h, z);
        }
    }

    /// As [`Self::logits`], but the softmax of them.
    ///
    /// # Panics
    ///
    /// If the lengths do not belong together.
    pub fn probabilities(
        &self,
        images: &[f32],
        probabilities: &mut [f32],
        workspace: &mut Workspace,
    ) {
        self.logits(images, probabilities, workspace);
        softmax(probabilities, self.architecture.outputs());
    }

    /// The class of every image: that of the largest logit, and the first one of several.
    ///
    /// # Panics
    ///
    /// If `images` is not a whole number of images.
    pub fn predict(&self, images: &[f32]) -> Vec<usize> {
        let classes = self.architecture.outputs();
        let mut logits = vec![0.0; images.len() / self.architecture.inputs() * classes];
        self.logits(images, &mut logits, &mut Workspace::new());
        logits.chunks(classes).map(largest).collect()
    }
}

/// The place of the largest number, the first one of several.
fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (place, &value) in values.iter().enumerate() {
        if value > values[best] {
            best = place;
        }
    }
    best
}

/// Turns the logits of images, `classes` for each, to the probabilities of the classes.
///
/// # Panics
///
/// If `classes` is zero.
pub fn softmax(logits: &mut [f32], classes: usize) {
    for row in logits.chunks_mut(classes) {
        let largest = row.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
        let mut sum = 0.0;
        for value in &mut *row {
            *value = (*value - largest).exp();
            sum += f64::from(*value);
        }
        scale(row, sum.recip() as f32);
    }
}

/// Copies the values, and puts zeros behind them to whole blocks.
fn fill(h: &mut Vec<[f32; BLOCK]>, values: &[f32]) {
    h.resize(values.len().div_ceil(BLOCK), [0.0; BLOCK]);
    let (used, rest) = h.as_flattened_mut().split_at_mut(values.len());
    used.copy_from_slice(values);
    rest.fill(0.0);
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn scale(z: &mut [f32], factor: f32) {
    for z in z {
        *z *= factor;
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn scale_and_shift(z: &mut [f32], factor: f32, affine: &Affine) {
    for ((z, scale), shift) in z.iter_mut().zip(&affine.scale).zip(&affine.shift) {
        *z = *z * factor * scale + shift;
    }
}

/// z less its mean, over its standard deviation. Both are summed in double precision: z of many
/// neurons may have a mean that is much larger than its deviation.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn normalise(z: &mut [f32]) {
    let count = z.len() as f64;
    let mean = sum_of(z, |z| z) / count;
    let variance = sum_of(z, |z| (z - mean) * (z - mean)) / count;
    let factor = (variance + f64::from(NORMALISATION_EPSILON)).sqrt().recip();
    for z in z {
        *z = ((f64::from(*z) - mean) * factor) as f32;
    }
}

/// Σ f(z) by sixteen partial sums, which do not wait for one another.
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

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn activate(z: &mut [f32], activation: Activation) {
    match activation {
        // A z that is not a number stays it.
        Activation::Relu => z.iter_mut().for_each(|z| *z = if *z < 0.0 { 0.0 } else { *z }),
        Activation::Sign => z.iter_mut().for_each(|z| *z = if *z >= 0.0 { 1.0 } else { -1.0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples;
    use super::*;
    use crate::architecture::Architecture;

    /// The logits by the definition, in double precision, and how near the preactivations of sign
    /// neurons came to where they change.
    fn exact(network: &BinaryNetwork, image: &[f32]) -> (Vec<f64>, f64) {
        let Architecture { activation, normalisation, .. } = *network.architecture();
        let mut h: Vec<f64> = image.iter().map(|&x| x.into()).collect();
        let mut margin = f64::INFINITY;
        for (layer, (inputs, outputs)) in network.architecture().shapes().enumerate() {
            let mut z: Vec<f64> = (0..outputs)
                .map(|j| {
                    let terms = (0..inputs).map(|i| f64::from(network.weight(layer, i, j)) * h[i]);
                    terms.sum::<f64>() / (inputs as f64).sqrt()
                })
                .collect();
            if let Some(affine) = network.affine(layer) {
                for (j, z) in z.iter_mut().enumerate() {
                    *z = *z * f64::from(affine.scale[j]) + f64::from(affine.shift[j]);
                }
            }
            if layer + 1 == network.architecture().layers() {
                z.iter_mut().for_each(|z| *z *= f64::from(network.output_scale()));
                return (z, margin);
            }
            if normalisation == Normalisation::Layer {
                let mean = z.iter().sum::<f64>() / outputs as f64;
                let variance = z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / outputs as f64;
                let deviation = (variance + f64::from(NORMALISATION_EPSILON)).sqrt();
                z.iter_mut().for_each(|z| *z = (*z - mean) / deviation);
            }
            h = match activation {
                Activation::Relu => z.iter().map(|z| z.max(0.0)).collect(),
                Activation::Sign => {
                    margin = z.iter().fold(margin, |margin, z| margin.min(z.abs()));
                    z.iter().map(|&z| if z >= 0.0 { 1.0 } else { -1.0 }).collect()
                }
            };
        }
        unreachable!("a network has a last layer")
    }

    #[test]
    fn logits_are_those_of_the_definition() {
        let wide = |normalisation| {
            let widths = [784, 512, 512, 10];
            examples::network(examples::architecture(&widths, Activation::Relu, normalisation))
        };
        let mut networks = examples::all();
        networks.extend(examples::NORMALISATIONS.map(wide));
        let mut workspace = Workspace::new();
        for network in networks {
            let (inputs, classes) =
                (network.architecture().inputs(), network.architecture().outputs());
            let batch = 7;
            let mut images = examples::normals(batch * inputs, 300);
            // Of every second image most pixels are dark.
            for image in images.chunks_mut(2 * inputs) {
                image[..inputs].iter_mut().for_each(|x| *x = (*x - 0.8).max(0.0));
            }
            let mut logits = vec![f32::NAN; batch * classes];
            network.logits(&images, &mut logits, &mut workspace);
            let mut used = 0;
            for (image, logits) in images.chunks(inputs).zip(logits.chunks(classes)) {
                let (exact, margin) = exact(&network, image);
                if margin < 1e-5 {
                    continue;
                }
                used += 1;
                let size = exact.iter().fold(1e-3, |size: f64, z| size.max(z.abs()));
                for (logit, exact) in logits.iter().zip(exact) {
                    let error = (f64::from(*logit) - exact).abs() / size;
                    assert!(error < 1e-5, "{:?}: {error:e}", network.architecture());
                }
            }
            assert!(used > batch / 2, "{:?}: {used}", network.architecture());
        }
    }

    #[test]
    fn zero_has_the_sign_plus() {
        let architecture =
            examples::architecture(&[2, 3, 1], Activation::Sign, Normalisation::None);
        let first = [1.0, -1.0, 0.0, -0.0, 1.0, -1.0];
        let network =
            BinaryNetwork::from_signs(architecture, &[&first, &[1.0, 1.0, 1.0]], vec![], 1.0);
        let mut logits = [0.0];
        network.unwrap().logits(&[0.0, 0.0], &mut logits, &mut Workspace::new());
        assert!((logits[0] - 3f32.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn classes_are_those_of_the_largest_logits() {
        assert_eq!(largest(&[1.0, 3.0, 3.0, 2.0]), 1);
        for network in examples::all() {
            let (inputs, classes) =
                (network.architecture().inputs(), network.architecture().outputs());
            let images = examples::normals(5 * inputs, 400);
            let mut probabilities = vec![0.0; 5 * classes];
            network.probabilities(&images, &mut probabilities, &mut Workspace::new());
            for (row, class) in probabilities.chunks(classes).zip(network.predict(&images)) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                assert!(row.iter().all(|&p| p <= row[class]));
            }
            assert!(network.predict(&[]).is_empty());
        }
    }

    #[test]
    fn softmax_does_not_overflow() {
        let mut logits = [1000.0, 0.0, -1000.0, -1000.0];
        softmax(&mut logits, 2);
        assert_eq!(logits, [1.0, 0.0, 0.5, 0.5]);
    }

    #[test]
    fn what_is_not_finite_spoils_no_other_image() {
        let network = &examples::all()[1];
        let (inputs, classes) = (network.architecture().inputs(), network.architecture().outputs());
        let mut images = examples::normals(2 * inputs, 500);
        let mut wanted = vec![0.0; 2 * classes];
        network.logits(&images, &mut wanted, &mut Workspace::new());
        images[3] = f32::NAN;
        let mut logits = vec![0.0; 2 * classes];
        network.logits(&images, &mut logits, &mut Workspace::new());
        assert!(logits[..classes].iter().all(|logit| logit.is_nan()));
        assert_eq!(logits[classes..], wanted[classes..]);
    }
}
