//! The sums with AVX-512, eight registers for 64 neurons.

use std::arch::x86_64::*;

use super::{Active, Pair, WORD, Weights};

/// Numbers of a register.
const LANES: usize = 16;
/// Registers of 64 numbers.
const QUAD: usize = WORD / LANES;

/// Whether this processor has the instructions.
pub fn is_available() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("bmi1")
}

/// Numbers h, a constant distance apart.
#[derive(Clone, Copy)]
pub struct Factors<'a> {
    /// From the first number on.
    pub h: &'a [f32],
    /// From a number to the next.
    pub stride: usize,
}

/// `sums` = (`sums` or zero) + Σ h_i first_i, and Σ h_i² second_i, over the bits i that are set.
///
/// # Panics
///
/// If there are fewer pairs or factors than bits.
#[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline]
#[target_feature(enable = "avx512f,bmi1")]
pub fn add(sums: &mut Pair, begin: bool, mut bits: u64, factors: Factors<'_>, pairs: &[Pair]) {
    let Factors { h, stride } = factors;
    let last = (u64::BITS - 1 - bits.leading_zeros().min(u64::BITS - 1)) as usize;
    assert!(bits == 0 || last < pairs.len() && last * stride < h.len(), "numbers for all bits");
    let mut registers = [[_mm512_setzero_ps(); QUAD]; 2];
    let places = sums.0.as_flattened_mut().as_mut_ptr();
    // SAFETY: a pair has eight registers and their alignment, and the highest bit has a pair and a factor.
    unsafe {
        if !begin {
            for q in 0..QUAD {
                registers[0][q] = _mm512_load_ps(places.add(q * LANES));
                registers[1][q] = _mm512_load_ps(places.add(WORD + q * LANES));
            }
        }
        while bits != 0 {
            let i = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let h = _mm512_set1_ps(*h.get_unchecked(i * stride));
            let square = _mm512_mul_ps(h, h);
            let pair = pairs.as_ptr().add(i).cast::<f32>();
            for q in 0..QUAD {
                let first = _mm512_load_ps(pair.add(q * LANES));
                let second = _mm512_load_ps(pair.add(WORD + q * LANES));
                registers[0][q] = _mm512_fmadd_ps(h, first, registers[0][q]);
                registers[1][q] = _mm512_fmadd_ps(square, second, registers[1][q]);
            }
        }
        for q in 0..QUAD {
            _mm512_store_ps(places.add(q * LANES), registers[0][q]);
            _mm512_store_ps(places.add(WORD + q * LANES), registers[1][q]);
        }
    }
}

/// See [`Active::sum`].
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn sum(active: &mut Active, weights: Weights<'_>, column: usize, batch: usize, h: &[f32]) {
    assert!(is_available(), "a processor with AVX-512");
    // SAFETY: the processor has the instructions.
    unsafe { sum_words(active, weights, column, batch, h) }
}

#[target_feature(enable = "avx512f,bmi1")]
fn sum_words(active: &mut Active, weights: Weights<'_>, column: usize, batch: usize, h: &[f32]) {
    let Weights { outputs, mean, variance, .. } = weights;
    let width = WORD.min(outputs - column);
    let inputs = h.len() / batch;
    for (word, bits) in active.bits.chunks_exact(batch).enumerate() {
        let first = word * WORD;
        let count = WORD.min(inputs - first);
        for (i, pair) in active.weights[..count].iter_mut().enumerate() {
            let from = (first + i) * outputs + column;
            for (row, w) in pair.0.iter_mut().zip([mean, variance]) {
                if width == WORD {
                    row.copy_from_slice(&w[from..from + WORD]);
                } else {
                    row[..width].copy_from_slice(&w[from..from + width]);
                    row[width..].fill(0.0);
                }
            }
        }
        for (b, (sums, &bits)) in active.sums.iter_mut().zip(bits).enumerate() {
            // The weights of the next word, an input for each sample.
            let ahead = (first + WORD + b % WORD) * outputs + column;
            fetch(mean, ahead);
            fetch(variance, ahead);
            let factors = Factors { h: &h[first * batch + b..], stride: batch };
            add(sums, word == 0, bits, factors, &active.weights[..count]);
        }
    }
}

/// Asks for 64 numbers that are used soon.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn fetch(x: &[f32], at: usize) {
    for q in 0..QUAD {
        _mm_prefetch::<_MM_HINT_T1>(x.as_ptr().wrapping_add(at + q * LANES).cast());
    }
}
