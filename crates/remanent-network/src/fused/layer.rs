//! Gradient and step of a layer of binary weights in single precision, tile by tile, with AVX-512.
//!
//! The gradients by mean and variance of a tile of 16 upstream neurons and up to 2048 downstream ones are sums over the
//! batch, computed for 64 downstream neurons at a time. Samples in which the upstream neuron is zero (the background of an
//! image, half of the rectified neurons) are left out. The step of the tile follows, one upstream neuron after another,
//! while its gradient is in the second cache. Memory is asked for the weights of the tile during its sums.

#[cfg(target_arch = "x86_64")]
mod avx512;

use super::{Constants, Learned};
use crate::active::{self, Pair, WORD, transpose};

/// K and K ε/v of a layer, in the order in which tiles use them: [blocks of 64 downstream
/// neurons][samples][K, K ε/v][neurons]. Edges are filled with zeros.
#[derive(Clone, Debug, Default)]
pub struct Downstream {
    batch: usize,
    outputs: usize,
    values: Vec<Pair>,
}

/// The layer, besides what is learned.
#[derive(Debug)]
pub struct Layer<'a> {
    /// h, upstream neurons × samples.
    pub upstream: &'a [f32],
    /// N^{-1/2} and N^{-1}, the factors of the gradients by mean and variance.
    pub factors: (f32, f32),
    /// tanh βθ, upstream × downstream neurons.
    pub mean: &'a mut [f32],
    /// 1 − tanh² βθ.
    pub variance: &'a mut [f32],
}

impl Downstream {
    /// Whether this processor has the instructions.
    pub fn is_available() -> bool {
        active::is_available()
    }

    /// Arranges K and K ε/v, neurons × samples each.
    pub fn set(&mut self, batch: usize, k: &[f32], k_ratio: &[f32]) {
        assert!(batch > 0 && k.len() == k_ratio.len(), "numbers of the same neurons and samples");
        (self.batch, self.outputs) = (batch, k.len() / batch);
        self.values.resize(self.outputs.div_ceil(WORD) * batch, Pair::ZERO);
        let both = k.chunks(WORD * batch).zip(k_ratio.chunks(WORD * batch));
        for (rows, (k, k_ratio)) in self.values.chunks_exact_mut(batch).zip(both) {
            if k.len() < WORD * batch {
                rows.fill(Pair::ZERO);
            }
            for (which, x) in [k, k_ratio].into_iter().enumerate() {
                transpose(x, batch, |b, j, x| rows[b].0[which][j] = x);
            }
        }
    }

    /// A step of Adam for all weights of the layer.
    ///
    /// # Panics
    ///
    /// If the processor does not have the instructions, or a part has another size.
    pub fn learn(&self, constants: &Constants, layer: Layer<'_>, learned: Learned<'_>) {
        let inputs = layer.upstream.len() / self.batch;
        let weights = inputs * self.outputs;
        let fits = |x: &[f32]| x.len() == weights;
        assert!(inputs * self.batch == layer.upstream.len(), "a number for each neuron and sample");
        assert!(fits(layer.mean) && fits(layer.variance), "moments of each weight");
        let Learned { theta, first, second, kept, anchor } = &learned;
        assert!([&**theta, first, second].into_iter().all(fits), "a state of each weight");
        assert!(
            [&**kept, anchor].into_iter().all(|x| x.is_empty() || fits(x)),
            "all weights or none"
        );
        #[cfg(target_arch = "x86_64")]
        avx512::learn(self, constants, layer, learned);
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("only with AVX-512: {constants:?}");
    }
}

#[cfg(test)]
mod tests;
