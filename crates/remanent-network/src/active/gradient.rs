//! The gradient of weights without variance, over the samples in which the upstream neuron is not zero.

use super::{HALF, Instructions, OUTPUTS, Pair, WORD, are_few, nonzero, transpose};

/// The factors of the gradient of a layer, N^{-1/2} Σ_b h_ib K_jb, in the order in which the sums use them.
#[derive(Clone, Debug)]
pub struct Gradient {
    instructions: Option<Instructions>,
    pub(super) batch: usize,
    pub(super) outputs: usize,
    /// K with AVX-512: [blocks of 128 downstream neurons][samples][neurons]. Edges are filled with zeros.
    pub(super) wide: Vec<Pair>,
    /// With AVX2: the same with blocks of 64.
    pub(super) narrow: Vec<Pair<HALF>>,
    /// [upstream neurons][words of samples].
    bits: Vec<u64>,
    faster: bool,
}

impl Default for Gradient {
    fn default() -> Self {
        Self::with(Instructions::best())
    }
}

impl Gradient {
    /// With these instructions, which the processor has.
    pub fn with(instructions: Option<Instructions>) -> Self {
        let (wide, narrow, bits) = (Vec::new(), Vec::new(), Vec::new());
        Self { instructions, batch: 0, outputs: 0, wide, narrow, bits, faster: false }
    }

    /// Arranges h and K, neurons × samples each, unless the matrix product is faster.
    pub fn set(&mut self, batch: usize, h: &[f32], k: &[f32]) {
        (self.batch, self.outputs) = (batch, k.len() / batch);
        self.faster = self.outputs >= OUTPUTS && self.instructions.is_some();
        if !self.faster {
            return;
        }
        self.bits.clear();
        self.bits.extend(h.chunks_exact(batch).flat_map(|h| h.chunks(WORD).map(nonzero)));
        self.faster = are_few(&self.bits, h.len());
        if !self.faster {
            return;
        }
        match self.instructions {
            Some(Instructions::Avx512) => arrange(batch, k, &mut self.wide),
            _ => arrange(batch, k, &mut self.narrow),
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
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            Some(Instructions::Avx512) => super::avx512::rows(self, factor, h, bits, out),
            #[cfg(target_arch = "x86_64")]
            Some(Instructions::Avx2) => super::avx2::rows(self, factor, h, bits, out),
            _ => unreachable!("without instructions: {factor} {bits:?}"),
        }
    }
}

/// K, neurons × samples, in blocks of 2N neurons.
fn arrange<const N: usize>(batch: usize, k: &[f32], out: &mut Vec<Pair<N>>) {
    out.resize((k.len() / batch).div_ceil(2 * N) * batch, Pair::ZERO);
    for (block, k) in out.chunks_exact_mut(batch).zip(k.chunks(2 * N * batch)) {
        if k.len() < 2 * N * batch {
            block.fill(Pair::ZERO);
        }
        transpose(k, batch, |b, j, k| block[b].0.as_flattened_mut()[j] = k);
    }
}
