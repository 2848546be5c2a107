//! The sums with AVX2, eight registers for 32 neurons at a time.

use std::arch::x86_64::*;

use super::gradient::Gradient;
use super::{Active, Columns, Factors, HALF, Pair, Sums, WORD, fetch};

/// Numbers of a register.
const LANES: usize = 8;
/// Registers of 32 numbers.
const QUAD: usize = HALF / LANES;

/// Whether this processor has the instructions.
pub fn is_available() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("bmi1")
}

/// `sums` = (`sums` or zero) + Σ h_i first_i, and Σ h_i² second_i, or without squares Σ h_i second_i, over the bits i that
/// are set.
///
/// # Panics
///
/// If there are fewer pairs or factors than bits.
#[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline]
#[target_feature(enable = "avx2,fma,bmi1")]
fn add<const SQUARES: bool>(
    sums: &mut Pair<HALF>,
    begin: bool,
    mut bits: u64,
    factors: Factors<'_>,
    pairs: &[Pair<HALF>],
) {
    let Factors { h, stride } = factors;
    let last = (u64::BITS - 1 - bits.leading_zeros().min(u64::BITS - 1)) as usize;
    assert!(bits == 0 || last < pairs.len() && last * stride < h.len(), "numbers for all bits");
    let mut registers = [[_mm256_setzero_ps(); QUAD]; 2];
    let places = sums.0.as_flattened_mut().as_mut_ptr();
    // SAFETY: a pair has eight registers and their alignment, and the highest bit has a pair and a factor.
    unsafe {
        if !begin {
            for q in 0..QUAD {
                registers[0][q] = _mm256_load_ps(places.add(q * LANES));
                registers[1][q] = _mm256_load_ps(places.add(HALF + q * LANES));
            }
        }
        while bits != 0 {
            let i = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let h = _mm256_set1_ps(*h.get_unchecked(i * stride));
            let other = if SQUARES { _mm256_mul_ps(h, h) } else { h };
            let pair = pairs.as_ptr().add(i).cast::<f32>();
            for q in 0..QUAD {
                let first = _mm256_load_ps(pair.add(q * LANES));
                let second = _mm256_load_ps(pair.add(HALF + q * LANES));
                registers[0][q] = _mm256_fmadd_ps(h, first, registers[0][q]);
                registers[1][q] = _mm256_fmadd_ps(other, second, registers[1][q]);
            }
        }
        for q in 0..QUAD {
            _mm256_store_ps(places.add(q * LANES), registers[0][q]);
            _mm256_store_ps(places.add(HALF + q * LANES), registers[1][q]);
        }
    }
}

/// See [`Active::sum`].
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn sum<const SQUARES: bool>(
    active: &mut Active,
    columns: Columns<'_>,
    outputs: usize,
    batch: usize,
    h: &[f32],
) {
    assert!(is_available(), "a processor with AVX2");
    // SAFETY: the processor has the instructions.
    unsafe { sum_words::<SQUARES>(active, columns, outputs, batch, h) }
}

#[target_feature(enable = "avx2,fma,bmi1")]
fn sum_words<const SQUARES: bool>(
    active: &mut Active,
    columns: Columns<'_>,
    outputs: usize,
    batch: usize,
    h: &[f32],
) {
    let inputs = h.len() / batch;
    for (word, bits) in active.bits.chunks_exact(batch).enumerate() {
        let first = word * WORD;
        let count = WORD.min(inputs - first);
        active.narrow.copy_weights(columns, outputs, first, count);
        let Sums { weights, sums } = &mut active.narrow;
        let parts = weights.chunks_exact(WORD).zip(sums.chunks_exact_mut(batch));
        for (part, (weights, sums)) in parts.enumerate() {
            for (b, (sums, &bits)) in sums.iter_mut().zip(bits).enumerate() {
                // The weights of the next word, an input for each sample.
                if part == 0 {
                    for (w, column) in columns {
                        fetch(w, (first + WORD + b % WORD) * outputs + column);
                    }
                }
                let factors = Factors { h: &h[first * batch + b..], stride: batch };
                add::<SQUARES>(sums, word == 0, bits, factors, &weights[..count]);
            }
        }
    }
}

/// See [`Gradient::rows`](super::gradient::Gradient::rows), which checks all lengths.
pub fn rows(gradient: &Gradient, factor: f32, h: &[f32], bits: &[u64], out: &mut [f32]) {
    let Gradient { batch, outputs, .. } = *gradient;
    let samples = Samples { batch, h, bits };
    samples.sum::<false>(&gradient.narrow, |row, block, sums| {
        let column = block * 2 * HALF;
        let width = (2 * HALF).min(outputs - column);
        let out = out[row * outputs + column..][..width].iter_mut();
        out.zip(sums.0.as_flattened()).for_each(|(out, sum)| *out = factor * sum);
    });
}

/// The gradients by mean and variance of the weights of some upstream neurons: `factors` times Σ_b h_b K_jb and
/// Σ_b h_b² K_jb ε_jb/v_jb, from the downstream factors in blocks of 32 neurons.
pub fn gradients(
    samples: Samples<'_>,
    downstream: &[Pair<HALF>],
    factors: (f32, f32),
    outputs: usize,
    out: (&mut [f32], &mut [f32]),
) {
    samples.sum::<true>(downstream, |row, block, sums| {
        let column = block * HALF;
        let width = HALF.min(outputs - column);
        let at = row * outputs + column..row * outputs + column + width;
        let [first, second] = &sums.0;
        for (out, sums, factor) in
            [(&mut *out.0, first, factors.0), (&mut *out.1, second, factors.1)]
        {
            let out = out[at.clone()].iter_mut();
            out.zip(sums).for_each(|(out, sum)| *out = factor * sum);
        }
    });
}

/// The samples of some upstream neurons.
#[derive(Clone, Copy)]
pub struct Samples<'a> {
    /// Their number.
    pub batch: usize,
    /// h, neurons × samples.
    pub h: &'a [f32],
    /// Those that are not zero: words of 64 bits for each neuron.
    pub bits: &'a [u64],
}

impl Samples<'_> {
    /// Calls `put` with upstream neuron, block of downstream neurons, and sums over the samples.
    #[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
    fn sum<const SQUARES: bool>(
        self,
        downstream: &[Pair<HALF>],
        put: impl FnMut(usize, usize, &Pair<HALF>),
    ) {
        assert!(is_available(), "a processor with AVX2");
        // SAFETY: the processor has the instructions.
        unsafe { self.sum_rows::<SQUARES>(downstream, put) }
    }

    /// Blocks of downstream neurons outside: their factors stay in the nearest cache for all rows.
    #[target_feature(enable = "avx2,fma,bmi1")]
    fn sum_rows<const SQUARES: bool>(
        self,
        downstream: &[Pair<HALF>],
        mut put: impl FnMut(usize, usize, &Pair<HALF>),
    ) {
        let Self { batch, h, bits } = self;
        let words = batch.div_ceil(WORD);
        let mut sums = Pair::ZERO;
        for (block, k) in downstream.chunks_exact(batch).enumerate() {
            let rows = h.chunks_exact(batch).zip(bits.chunks_exact(words));
            for (row, (h, bits)) in rows.enumerate() {
                for (word, &bits) in bits.iter().enumerate() {
                    let samples = word * WORD..batch.min((word + 1) * WORD);
                    let factors = Factors { h: &h[samples.clone()], stride: 1 };
                    add::<SQUARES>(&mut sums, word == 0, bits, factors, &k[samples]);
                }
                put(row, block, &sums);
            }
        }
    }
}
