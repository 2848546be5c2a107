//! Gradient and step of a layer of binary weights in single precision, tile by tile, with AVX-512; the gradient alone with AVX2.
//!
//! The gradients by mean and variance of a tile of 16 upstream neurons and up to 2048 downstream ones are sums over the
//! batch, computed for 64 downstream neurons at a time. Samples in which the upstream neuron is zero (the background of an
//! image, half of the rectified neurons) are left out. The step of the tile follows, one upstream neuron after another,
//! while its gradient is in the second cache. Memory is asked for the weights of the tile during its sums.

#[cfg(target_arch = "x86_64")]
mod avx512;

use super::{Constants, Learned};
use crate::active::{HALF, Instructions, OUTPUTS, Pair, WORD, transpose};
#[cfg(target_arch = "x86_64")]
use crate::active::{avx2, nonzero};
use crate::pass::GradientTile;

/// K and K ε/v of a layer, in the order in which sums use them: [blocks of downstream
/// neurons][samples][K, K ε/v][neurons]. Edges are filled with zeros.
#[derive(Clone, Debug)]
pub struct Downstream {
    instructions: Option<Instructions>,
    batch: usize,
    outputs: usize,
    /// With AVX-512: blocks of 64.
    wide: Vec<Pair>,
    /// With AVX2: blocks of 32.
    narrow: Vec<Pair<HALF>>,
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

impl Default for Downstream {
    fn default() -> Self {
        Self::with(Instructions::best())
    }
}

impl Downstream {
    /// With these instructions, which the processor has.
    pub fn with(instructions: Option<Instructions>) -> Self {
        let (wide, narrow) = (Vec::new(), Vec::new());
        Self { instructions, batch: 0, outputs: 0, wide, narrow }
    }

    /// Whether it has [`learn`](Self::learn): with AVX-512.
    pub fn learns(&self) -> bool {
        self.instructions == Some(Instructions::Avx512)
    }

    /// Whether [`gradient`](Self::gradient) is faster than matrix products for a layer of so many outputs: with AVX2.
    pub fn sums_gradient(&self, outputs: usize) -> bool {
        outputs >= OUTPUTS && self.instructions == Some(Instructions::Avx2)
    }

    /// Arranges K and K ε/v, neurons × samples each.
    pub fn set(&mut self, batch: usize, k: &[f32], k_ratio: &[f32]) {
        assert!(batch > 0 && k.len() == k_ratio.len(), "numbers of the same neurons and samples");
        (self.batch, self.outputs) = (batch, k.len() / batch);
        match self.instructions {
            Some(Instructions::Avx512) => arrange(batch, [k, k_ratio], &mut self.wide),
            _ => arrange(batch, [k, k_ratio], &mut self.narrow),
        }
    }

    /// The gradients by mean and variance of the weights of some upstream neurons, over the samples in which they are
    /// not zero, with AVX2.
    ///
    /// # Panics
    ///
    /// If its instructions are others, or a part has another size.
    pub fn gradient(&self, upstream: &[f32], factors: (f32, f32), tile: GradientTile<'_>) {
        let GradientTile { by_mean, by_variance } = tile;
        assert_eq!(self.instructions, Some(Instructions::Avx2), "the instructions of the sums");
        let weights = upstream.len() / self.batch * self.outputs;
        let fits = |x: &[f32]| x.len() == weights;
        assert!(upstream.len().is_multiple_of(self.batch), "a number for each neuron and sample");
        assert!(fits(by_mean) && fits(by_variance), "a gradient of each weight");
        #[cfg(target_arch = "x86_64")]
        {
            let rows = upstream.chunks_exact(self.batch);
            let bits: Vec<u64> = rows.flat_map(|h| h.chunks(WORD).map(nonzero)).collect();
            let samples = avx2::Samples { batch: self.batch, h: upstream, bits: &bits };
            avx2::gradients(samples, &self.narrow, factors, self.outputs, (by_mean, by_variance));
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("only with AVX2: {factors:?}");
    }

    /// A step of Adam for all weights of the layer.
    ///
    /// # Panics
    ///
    /// If its instructions are others, or a part has another size.
    pub fn learn(&self, constants: &Constants, layer: Layer<'_>, learned: Learned<'_>) {
        assert!(self.learns(), "the instructions of the loop");
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

/// K and K ε/v, neurons × samples each, in blocks of N neurons.
fn arrange<const N: usize>(batch: usize, both: [&[f32]; 2], out: &mut Vec<Pair<N>>) {
    out.resize((both[0].len() / batch).div_ceil(N) * batch, Pair::ZERO);
    for (which, x) in both.into_iter().enumerate() {
        for (rows, x) in out.chunks_exact_mut(batch).zip(x.chunks(N * batch)) {
            if x.len() < N * batch {
                rows.iter_mut().for_each(|row| row.0[which].fill(0.0));
            }
            transpose(x, batch, |b, j, x| rows[b].0[which][j] = x);
        }
    }
}

#[cfg(test)]
mod tests;
