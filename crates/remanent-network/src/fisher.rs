//! The empirical Fisher information of a task, for elastic weight consolidation.
//!
//! The gradient of one example by θ_ij is g = βσ² (A − μ B) with A = N^{-1/2} K_j h_i and
//! B = N^{-1} K_j (ε_j/v_j) h_i². The sum of its square over a batch needs Σ A², Σ AB and Σ B², each
//! a matrix product.

use remanent_data::dataset::View;
use remanent_math::philox::Stream;

use crate::network::Network;
use crate::pass::{Noise, Pass, normal_noise};
use crate::product::{Matrix, multiply};
use crate::purposes;
use crate::trainer::Trainer;

/// Images processed together.
const BATCH: usize = 250;

impl Trainer {
    /// The empirical Fisher information of every weight, summed over the examples of a task.
    pub(crate) fn information(
        &mut self,
        examples: &View<'_>,
        seed: u64,
        trial: u32,
        task: usize,
    ) -> Vec<Vec<f32>> {
        let (mut images, mut labels) = (Vec::new(), Vec::new());
        let mut noise = normal_noise(Stream::new(seed, purposes::FISHER, trial, task as u32));
        let mut informations = self.empty_information();
        for start in (0..examples.len()).step_by(BATCH) {
            let chosen: Vec<u32> =
                (start..examples.len().min(start + BATCH)).map(|i| i as u32).collect();
            images.resize(chosen.len() * examples.inputs(), 0.0);
            examples.batch(&chosen, &mut images);
            labels.clear();
            labels.extend(chosen.iter().map(|&i| examples.label_in_task(i as usize)));
            self.add_information(&images, &labels, &mut noise, &mut informations);
        }
        informations
    }

    /// Zero for each weight.
    pub fn empty_information(&self) -> Vec<Vec<f32>> {
        self.network.layers.iter().map(|layer| vec![0.0; layer.theta.len()]).collect()
    }

    /// Adds the squared gradients of the examples of a batch.
    pub fn add_information(
        &mut self,
        images: &[f32],
        labels: &[u8],
        noise: Noise<'_>,
        informations: &mut [Vec<f32>],
    ) {
        let mut pass = Pass::default();
        pass.load(&self.network, images);
        // `Parameters::check` excludes batch normalisation, so this does not change the network.
        pass.forward(&mut self.network, noise);
        pass.loss(&self.network, labels);
        for (l, information) in informations.iter_mut().enumerate().rev() {
            pass.backward(&self.network, l);
            pass.add_squares(&self.network, l, information);
        }
    }
}

impl Pass {
    /// Adds Σ_b g_b² of layer l, for a field network; call after [`Pass::backward`].
    fn add_squares(&self, network: &Network, l: usize, information: &mut [f32]) {
        let layer = &network.layers[l];
        let n = layer.inputs as f32;
        let (h, k, k_ratio) = self.factors(l);
        let sum = |power: i32, scale: f32, right: &[f32]| {
            let left: Vec<f32> = h.iter().map(|h| h.powi(power)).collect();
            let mut out = vec![0.0; layer.theta.len()];
            let left = Matrix::new(&left, layer.inputs, self.batch());
            let right = Matrix::new(right, layer.outputs, self.batch()).transposed();
            multiply(&mut out, scale, left, right);
            out
        };
        let of =
            |a: &[f32], b: &[f32]| -> Vec<f32> { a.iter().zip(b).map(|(a, b)| a * b).collect() };
        let aa = sum(2, n.recip(), &of(k, k));
        let ab = sum(3, n.powf(-1.5), &of(k, k_ratio));
        let bb = sum(4, n.powi(-2), &of(k_ratio, k_ratio));
        for (i, information) in information.iter_mut().enumerate() {
            let (mu, factor) = (layer.mean[i], network.beta * layer.variance[i]);
            *information += factor * factor * (aa[i] - 2.0 * mu * ab[i] + mu * mu * bb[i]).max(0.0);
        }
    }
}
