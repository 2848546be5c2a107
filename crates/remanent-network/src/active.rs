//! Sums over the inputs that are not zero, with AVX-512 or AVX2: the preactivations of a batch.
//!
//! Most pixels of an image are background, and half of the rectified neurons are zero. A matrix product
//! multiplies them all. Here a bit for each input and sample says whether it counts. The weights of
//! 64 inputs and 64 outputs (128 if they have no variance) are copied to the nearest cache, and each sample adds those
//! of its active inputs. [`gradient`] has the gradient of weights without variance.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod gradient;

/// Inputs, samples or outputs that are treated together: a bit for each in a word.
pub const WORD: usize = 64;

/// Two rows of numbers: mean and variance of N neurons, or one number of 2N. A register that lies across two lines of
/// the cache is loaded at half the speed.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Pair<const N: usize = WORD>(pub [[f32; N]; 2]);

impl<const N: usize> Pair<N> {
    /// Zeros.
    pub const ZERO: Self = Self([[0.0; N]; 2]);
}

/// Neurons of a pair with AVX2: the sums of more do not fit into its registers.
pub const HALF: usize = WORD / 2;

/// Outputs of a layer for which blocks of 64 are worth it.
pub const OUTPUTS: usize = 32;

/// Of 16 inputs and samples, at most so many are active where these sums are faster than the product.
const SIXTEENTHS: usize = 10;

/// The instructions of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// AVX-512.
    Avx512,
    /// AVX2 with fused multiply-add.
    Avx2,
}

impl Instructions {
    /// The fastest of this processor. Without any the sums are not faster than matrix products.
    pub fn best() -> Option<Self> {
        Self::all().next()
    }

    /// Those of this processor, the fastest first.
    pub fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let available = [avx512::is_available(), avx2::is_available()];
        #[cfg(not(target_arch = "x86_64"))]
        let available = [false; 2];
        let all = [Self::Avx512, Self::Avx2].into_iter().zip(available);
        all.filter_map(|(instructions, available)| available.then_some(instructions))
    }
}

/// Numbers h, a constant distance apart.
#[derive(Clone, Copy)]
pub struct Factors<'a> {
    /// From the first number on.
    pub h: &'a [f32],
    /// From a number to the next.
    pub stride: usize,
}

/// Where the sums are collected.
#[derive(Clone, Debug)]
pub struct Active {
    instructions: Option<Instructions>,
    /// [words of inputs][samples].
    bits: Vec<u64>,
    /// With AVX-512.
    wide: Sums<WORD>,
    /// With AVX2.
    narrow: Sums<HALF>,
}

/// The weights of 64 inputs and 64 outputs (128 if they have no variance), and what is summed over them. Pairs of the same
/// outputs lie side by side, so that they do not compete for the same places of the nearest cache.
#[derive(Clone, Debug, Default)]
struct Sums<const N: usize> {
    /// [parts of N outputs][inputs].
    weights: Vec<Pair<N>>,
    /// [parts of N outputs][samples].
    sums: Vec<Pair<N>>,
}

impl Default for Active {
    fn default() -> Self {
        Self::with(Instructions::best())
    }
}

/// Mean and variance of the weights of a layer, inputs × outputs, and the factors of their sums.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// Number of outputs.
    pub outputs: usize,
    /// μ.
    pub mean: &'a [f32],
    /// σ².
    pub variance: &'a [f32],
    /// N^{-1/2} and N^{-1}.
    pub factors: (f32, f32),
}

/// Weights without variance, inputs × outputs, and the factor of their sums.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<'a> {
    /// Number of outputs.
    pub outputs: usize,
    /// The weights.
    pub weights: &'a [f32],
    /// N^{-1/2}, or 1 for real weights.
    pub factor: f32,
}

/// What fills the two rows of a [`Pair`]: weights, and the output that is first.
pub type Columns<'a> = [(&'a [f32], usize); 2];

impl Active {
    /// With these instructions, which the processor has.
    pub fn with(instructions: Option<Instructions>) -> Self {
        let (wide, narrow) = (Sums::default(), Sums::default());
        Self { instructions, bits: Vec::new(), wide, narrow }
    }

    /// Mean N^{-1/2} Σ_i μ_ij h_i and variance N^{-1} Σ_i σ²_ij h_i² of the preactivations, outputs × samples, from h,
    /// inputs × samples. Says no, and computes nothing, where the matrix product is faster.
    pub fn forward(
        &mut self,
        weights: Weights<'_>,
        batch: usize,
        h: &[f32],
        out: (&mut [f32], &mut [f32]),
    ) -> bool {
        let inputs = h.len() / batch;
        let fits = |w: &[f32]| w.len() == inputs * weights.outputs;
        assert!(inputs * batch == h.len(), "a number for each input and sample");
        assert!(fits(weights.mean) && fits(weights.variance), "a weight for each input and output");
        if !self.prepare(weights.outputs, batch, h) {
            return false;
        }
        for column in (0..weights.outputs).step_by(WORD) {
            let columns = [(weights.mean, column), (weights.variance, column)];
            self.sum::<true>(columns, weights.outputs, batch, h);
            let width = WORD.min(weights.outputs - column);
            let place = column * batch..(column + width) * batch;
            self.scatter(0, batch, weights.factors.0, &mut out.0[place.clone()]);
            self.scatter(1, batch, weights.factors.1, &mut out.1[place]);
        }
        true
    }

    /// The preactivations N^{-1/2} Σ_i w_ij h_i, outputs × samples, from h, inputs × samples. Says no, and
    /// computes nothing, where the matrix product is faster.
    pub fn forward_fixed(
        &mut self,
        fixed: Fixed<'_>,
        batch: usize,
        h: &[f32],
        out: &mut [f32],
    ) -> bool {
        let Fixed { outputs, weights, factor } = fixed;
        assert!(weights.len() * batch == h.len() * outputs, "a weight for each input and output");
        if !self.prepare(outputs, batch, h) {
            return false;
        }
        for column in (0..outputs).step_by(2 * WORD) {
            let columns = [(weights, column), (weights, column + WORD)];
            self.sum::<false>(columns, outputs, batch, h);
            let width = (2 * WORD).min(outputs - column);
            let halves = out[column * batch..(column + width) * batch].chunks_mut(WORD * batch);
            for (half, out) in halves.enumerate() {
                self.scatter(half, batch, factor, out);
            }
        }
        true
    }

    /// Finds the inputs that are active. Says no where the matrix product is faster.
    fn prepare(&mut self, outputs: usize, batch: usize, h: &[f32]) -> bool {
        if outputs < OUTPUTS || self.instructions.is_none() {
            return false;
        }
        self.set_bits(batch, h);
        if !are_few(&self.bits, h.len()) {
            return false;
        }
        match self.instructions {
            Some(Instructions::Avx512) => self.wide.resize(batch),
            _ => self.narrow.resize(batch),
        }
        true
    }

    fn set_bits(&mut self, batch: usize, h: &[f32]) {
        let words = (h.len() / batch).div_ceil(WORD);
        self.bits.clear();
        self.bits.resize(words * batch, 0);
        for (bits, h) in self.bits.chunks_exact_mut(batch).zip(h.chunks(WORD * batch)) {
            for (i, h) in h.chunks_exact(batch).enumerate() {
                bits.iter_mut().zip(h).for_each(|(bits, h)| *bits |= u64::from(*h != 0.0) << i);
            }
        }
    }

    /// `out` = `scale` times the sums of a row of pairs, outputs × samples.
    fn scatter(&self, which: usize, batch: usize, scale: f32, out: &mut [f32]) {
        match self.instructions {
            Some(Instructions::Avx512) => self.wide.scatter(which, batch, scale, out),
            _ => self.narrow.scatter(which, batch, scale, out),
        }
    }

    /// The sums of all samples for these columns; those of the second row with the squares of h, or with h.
    fn sum<const SQUARES: bool>(
        &mut self,
        columns: Columns<'_>,
        outputs: usize,
        batch: usize,
        h: &[f32],
    ) {
        match self.instructions {
            #[cfg(target_arch = "x86_64")]
            Some(Instructions::Avx512) => avx512::sum::<SQUARES>(self, columns, outputs, batch, h),
            #[cfg(target_arch = "x86_64")]
            Some(Instructions::Avx2) => avx2::sum::<SQUARES>(self, columns, outputs, batch, h),
            _ => unreachable!("without instructions: {outputs} {batch} {} {columns:?}", h.len()),
        }
    }
}

/// Whether so few of `count` numbers are active that sums over them are faster than the product.
fn are_few(bits: &[u64], count: usize) -> bool {
    let active: usize = bits.iter().map(|bits| bits.count_ones() as usize).sum();
    16 * active <= count * SIXTEENTHS
}

/// Asks for 64 numbers that are used soon.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn fetch(x: &[f32], at: usize) {
    /// Numbers of a line of the cache.
    const LINE: usize = 16;
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    for from in (at..at + WORD).step_by(LINE) {
        // SAFETY: an address that is only asked for may lie anywhere.
        #[expect(unsafe_code, reason = "an instruction that every processor of this kind has")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T1>(x.as_ptr().wrapping_add(from).cast());
        }
    }
}

impl<const N: usize> Sums<N> {
    fn resize(&mut self, batch: usize) {
        self.weights.resize(WORD / N * WORD, Pair::ZERO);
        self.sums.resize(WORD / N * batch, Pair::ZERO);
    }

    /// Copies the weights of `count` inputs from `first` on, and zeros where there is no output. Part of its callers, so
    /// that it is compiled with their instructions.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn copy_weights(&mut self, columns: Columns<'_>, outputs: usize, first: usize, count: usize) {
        for i in 0..count {
            for (row, (w, column)) in columns.into_iter().enumerate() {
                for part in 0..WORD / N {
                    let column = column + part * N;
                    let width = N.min(outputs.saturating_sub(column));
                    let from = (first + i) * outputs + column;
                    let row = &mut self.weights[part * WORD + i].0[row];
                    if width == N {
                        row.copy_from_slice(&w[from..from + N]);
                    } else if width == 0 {
                        row.fill(0.0);
                    } else {
                        row[..width].copy_from_slice(&w[from..from + width]);
                        row[width..].fill(0.0);
                    }
                }
            }
        }
    }

    /// `out` = `scale` times the sums, outputs × samples, in blocks that stay in the cache.
    fn scatter(&self, which: usize, batch: usize, scale: f32, out: &mut [f32]) {
        const BLOCK: usize = 16;
        for (sums, out) in self.sums.chunks_exact(batch).zip(out.chunks_mut(N * batch)) {
            for from in (0..batch).step_by(BLOCK) {
                let to = batch.min(from + BLOCK);
                for (j, out) in out.chunks_exact_mut(batch).enumerate() {
                    for (out, sums) in out[from..to].iter_mut().zip(&sums[from..to]) {
                        *out = scale * sums.0[which][j];
                    }
                }
            }
        }
    }
}

/// Calls `put` with sample, neuron and number, in blocks that stay in the cache.
pub fn transpose(x: &[f32], batch: usize, mut put: impl FnMut(usize, usize, f32)) {
    const BLOCK: usize = 16;
    for from in (0..batch).step_by(BLOCK) {
        for (j, row) in x.chunks_exact(batch).enumerate() {
            for (b, &x) in row.iter().enumerate().skip(from).take(BLOCK) {
                put(b, j, x);
            }
        }
    }
}

/// The samples, at most 64, in which a neuron is not zero: a bit for each.
#[inline]
pub fn nonzero(h: &[f32]) -> u64 {
    h.iter().enumerate().fold(0, |bits, (b, h)| bits | u64::from(*h != 0.0) << b)
}

#[cfg(test)]
mod tests;
