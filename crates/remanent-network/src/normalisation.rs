//! Normalisation of preactivations, forwards and backwards. Arrays are neuron
//! by neuron, the B samples of a neuron side by side.

use crate::architecture::NORMALISATION_EPSILON;

/// Normalises every sample over the neurons of the layer, in place. `inverse` becomes one over the
/// standard deviation of each sample.
pub fn layer_forward(z: &mut [f32], inverse: &mut [f32]) {
    let batch = inverse.len();
    let neurons = (z.len() / batch) as f32;
    let mut mean = vec![0.0; batch];
    for row in z.chunks_exact(batch) {
        add(row, &mut mean);
    }
    mean.iter_mut().for_each(|m| *m /= neurons);
    inverse.fill(0.0);
    for row in z.chunks_exact_mut(batch) {
        for ((z, &m), square) in row.iter_mut().zip(&mean).zip(&mut *inverse) {
            *z -= m;
            *square += *z * *z;
        }
    }
    inverse.iter_mut().for_each(|v| *v = (*v / neurons + NORMALISATION_EPSILON).sqrt().recip());
    for row in z.chunks_exact_mut(batch) {
        row.iter_mut().zip(&*inverse).for_each(|(z, &i)| *z *= i);
    }
}

/// From the gradient by the normalised preactivations to that by the bare ones, in place.
pub fn layer_backward(normal: &[f32], inverse: &[f32], k: &mut [f32]) {
    let batch = inverse.len();
    let neurons = (k.len() / batch) as f32;
    let (mut sum, mut overlap) = (vec![0.0; batch], vec![0.0; batch]);
    for (k, n) in k.chunks_exact(batch).zip(normal.chunks_exact(batch)) {
        add(k, &mut sum);
        for ((&k, &n), overlap) in k.iter().zip(n).zip(&mut overlap) {
            *overlap += k * n;
        }
    }
    for (k, n) in k.chunks_exact_mut(batch).zip(normal.chunks_exact(batch)) {
        for b in 0..batch {
            k[b] = inverse[b] * (k[b] - (sum[b] + n[b] * overlap[b]) / neurons);
        }
    }
}

fn add(row: &[f32], sum: &mut [f32]) {
    sum.iter_mut().zip(row).for_each(|(s, &x)| *s += x);
}

/// Batch normalisation of one layer: parameters and running averages of each neuron.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchNorm {
    pub(crate) gain: Vec<f32>,
    pub(crate) shift: Vec<f32>,
    /// Running mean.
    pub(crate) mean: Vec<f32>,
    /// Running variance.
    pub(crate) variance: Vec<f32>,
}

/// Weight of the newest batch in the running averages, as in PyTorch.
const NEWEST: f32 = 0.1;

impl BatchNorm {
    /// Gain 1, shift 0, running mean 0 and variance 1.
    pub(crate) fn new(neurons: usize) -> Self {
        let (zeros, ones) = (vec![0.0; neurons], vec![1.0; neurons]);
        Self { gain: ones.clone(), shift: zeros.clone(), mean: zeros, variance: ones }
    }

    /// Gain, shift, running mean and running variance, with their names in files.
    pub fn arrays(&self) -> [(&'static str, &[f32]); 4] {
        [
            ("gain", &self.gain),
            ("shift", &self.shift),
            ("mean", &self.mean),
            ("variance", &self.variance),
        ]
    }

    /// Gain, shift, running mean and running variance, to change.
    pub fn arrays_mut(&mut self) -> [&mut [f32]; 4] {
        [&mut self.gain, &mut self.shift, &mut self.mean, &mut self.variance]
    }

    /// Normalises by the batch and writes the result to both: before gain and shift to `normal`,
    /// after them to `z`. `inverse` becomes one over the standard deviation of each neuron. Updates
    /// the running averages.
    pub(crate) fn forward(&mut self, z: &mut [f32], normal: &mut [f32], inverse: &mut [f32]) {
        let batch = z.len() / self.gain.len();
        let rows = z.chunks_exact_mut(batch).zip(normal.chunks_exact_mut(batch));
        for (j, (z, normal)) in rows.enumerate() {
            let count = batch as f32;
            let mean = z.iter().sum::<f32>() / count;
            let square = z.iter().map(|z| (z - mean) * (z - mean)).sum::<f32>();
            inverse[j] = (square / count + NORMALISATION_EPSILON).sqrt().recip();
            self.mean[j] += NEWEST * (mean - self.mean[j]);
            self.variance[j] += NEWEST * (square / (count - 1.0).max(1.0) - self.variance[j]);
            for (z, n) in z.iter_mut().zip(normal) {
                *n = (*z - mean) * inverse[j];
                *z = self.gain[j] * *n + self.shift[j];
            }
        }
    }

    /// Factor and offset of each neuron at test time, from the running averages.
    pub fn affine(&self) -> (Vec<f32>, Vec<f32>) {
        let root = |v: f32| (v + NORMALISATION_EPSILON).sqrt();
        let scale: Vec<f32> =
            self.gain.iter().zip(&self.variance).map(|(g, &v)| g / root(v)).collect();
        let shift = self.shift.iter().zip(&self.mean).zip(&scale);
        let shift = shift.map(|((s, m), scale)| s - m * scale).collect();
        (scale, shift)
    }

    /// From the gradient by the output to that by the preactivations, in place. Also writes those by
    /// gain and shift.
    pub(crate) fn backward(
        &self,
        normal: &[f32],
        inverse: &[f32],
        k: &mut [f32],
        by_gain: &mut [f32],
        by_shift: &mut [f32],
    ) {
        let batch = k.len() / self.gain.len();
        let rows = k.chunks_exact_mut(batch).zip(normal.chunks_exact(batch));
        for (j, (k, n)) in rows.enumerate() {
            let sum = k.iter().sum::<f32>();
            let overlap = k.iter().zip(n).map(|(k, n)| k * n).sum::<f32>();
            (by_gain[j], by_shift[j]) = (overlap, sum);
            let factor = self.gain[j] * inverse[j];
            for (k, n) in k.iter_mut().zip(n) {
                *k = factor * (*k - (sum + n * overlap) / batch as f32);
            }
        }
    }
}
