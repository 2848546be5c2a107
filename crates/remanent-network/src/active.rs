//! Sums over the inputs that are not zero, with AVX-512: the preactivations of a batch.
//!
//! Most pixels of an image are background, and half of the rectified neurons are zero. A matrix product
//! multiplies them all. Here a bit for each input and sample says whether it counts. The weights of
//! 64 inputs and 64 outputs (128 if they have no variance) are copied to the nearest cache, and each sample adds those
//! of its active inputs. [`gradient`] has the gradient of weights without variance.

#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod gradient;

/// Inputs, samples or outputs that are treated together: a bit for each in a word.
pub const WORD: usize = 64;

/// Two rows of numbers: mean and variance of 64 neurons, or one number of 128. A register that lies across two lines of
/// the cache is loaded at half the speed.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Pair(pub [[f32; WORD]; 2]);

impl Pair {
    /// Zeros.
    pub const ZERO: Self = Self([[0.0; WORD]; 2]);
}

/// Outputs of a layer for which blocks of 64 are worth it.
const OUTPUTS: usize = 32;

/// Of 16 inputs and samples, at most so many are active where these sums are faster than the product.
const SIXTEENTHS: usize = 10;

/// Where the sums are collected.
#[derive(Clone, Debug, Default)]
pub struct Active {
    /// [words of inputs][samples].
    bits: Vec<u64>,
    /// One for each input of a word.
    weights: Vec<Pair>,
    /// One for each sample.
    sums: Vec<Pair>,
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
            scatter(&self.sums, 0, weights.factors.0, &mut out.0[place.clone()]);
            scatter(&self.sums, 1, weights.factors.1, &mut out.1[place]);
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
                scatter(&self.sums, half, factor, out);
            }
        }
        true
    }

    /// Finds the inputs that are active. Says no where the matrix product is faster.
    fn prepare(&mut self, outputs: usize, batch: usize, h: &[f32]) -> bool {
        if outputs < OUTPUTS || !is_available() {
            return false;
        }
        self.set_bits(batch, h);
        if !are_few(&self.bits, h.len()) {
            return false;
        }
        self.weights.resize(WORD, Pair::ZERO);
        self.sums.resize(batch, Pair::ZERO);
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

    /// The sums of all samples for these columns; those of the second row with the squares of h, or with h.
    fn sum<const SQUARES: bool>(
        &mut self,
        columns: Columns<'_>,
        outputs: usize,
        batch: usize,
        h: &[f32],
    ) {
        #[cfg(target_arch = "x86_64")]
        avx512::sum::<SQUARES>(self, columns, outputs, batch, h);
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("only with AVX-512: {outputs} {batch} {} {columns:?}", h.len());
    }
}

/// Whether so few of `count` numbers are active that sums over them are faster than the product.
fn are_few(bits: &[u64], count: usize) -> bool {
    let active: usize = bits.iter().map(|bits| bits.count_ones() as usize).sum();
    16 * active <= count * SIXTEENTHS
}

/// Whether this processor has the instructions.
pub fn is_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        avx512::is_available()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// `out` = `scale` times the sums, outputs × samples, in blocks that stay in the cache.
fn scatter(sums: &[Pair], which: usize, scale: f32, out: &mut [f32]) {
    const BLOCK: usize = 16;
    let batch = sums.len();
    for from in (0..batch).step_by(BLOCK) {
        let to = batch.min(from + BLOCK);
        for (j, out) in out.chunks_exact_mut(batch).enumerate() {
            for (out, sums) in out[from..to].iter_mut().zip(&sums[from..to]) {
                *out = scale * sums.0[which][j];
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
