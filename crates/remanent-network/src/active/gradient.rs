//! The gradient of weights without variance, over the samples in which the upstream neuron is not zero.

use super::{OUTPUTS, Pair, WORD, are_few, is_available, nonzero, transpose};

/// The factors of the gradient of a layer, N^{-1/2} Σ_b h_ib K_jb, in the order in which the sums use them.
#[derive(Clone, Debug, Default)]
pub struct Gradient {
    pub(super) batch: usize,
    pub(super) outputs: usize,
    /// K: [blocks of 128 downstream neurons][samples][neurons]. Edges are filled with zeros.
    pub(super) downstream: Vec<Pair>,
    /// [upstream neurons][words of samples].
    bits: Vec<u64>,
    faster: bool,
}

impl Gradient {
    /// Arranges h and K, neurons × samples each, unless the matrix product is faster.
    pub fn set(&mut self, batch: usize, h: &[f32], k: &[f32]) {
        (self.batch, self.outputs) = (batch, k.len() / batch);
        self.faster = self.outputs >= OUTPUTS && is_available();
        if !self.faster {
            return;
        }
        self.bits.clear();
        self.bits.extend(h.chunks_exact(batch).flat_map(|h| h.chunks(WORD).map(nonzero)));
        self.faster = are_few(&self.bits, h.len());
        if !self.faster {
            return;
        }
        self.downstream.resize(self.outputs.div_ceil(2 * WORD) * batch, Pair::ZERO);
        for (block, k) in self.downstream.chunks_exact_mut(batch).zip(k.chunks(2 * WORD * batch)) {
            if k.len() < 2 * WORD * batch {
                block.fill(Pair::ZERO);
            }
            transpose(k, batch, |b, j, k| block[b].0.as_flattened_mut()[j] = k);
        }
    }

    /// Whether [`rows`](Self::rows) is faster than the matrix product.
    pub fn is_faster(&self) -> bool {
        self.faster
    }

    /// The gradient of upstream neurons from `first` on, times the factor; `h` has their samples.
    ///
    /// # Panics
    ///
    /// If the matrix product is faster, or a part has another size.
    pub fn rows(&self, first: usize, factor: f32, h: &[f32], out: &mut [f32]) {
        let neurons = h.len() / self.batch;
        assert!(self.faster && neurons * self.batch == h.len(), "a number for each sample");
        assert_eq!(out.len(), neurons * self.outputs, "a number for each weight");
        let words = self.batch.div_ceil(WORD);
        let bits = &self.bits[first * words..(first + neurons) * words];
        #[cfg(target_arch = "x86_64")]
        super::avx512::rows(self, factor, h, bits, out);
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("only with AVX-512: {factor} {bits:?}");
    }
}
