//! The sums with AVX-512, eight registers for 64 neurons.

use std::arch::x86_64::*;

use super::gradient::Gradient;
use super::{Active, Columns, Factors, Pair, Sums, WORD, fetch};

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

/// `sums` = (`sums` or zero) + Σ h_i first_i, and Σ h_i² second_i, or without squares Σ h_i second_i, over the bits i that
/// are set.
///
/// # Panics
///
/// If there are fewer pairs or factors than bits.
#[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline]
#[target_feature(enable = "avx512f,bmi1")]
pub fn add<const SQUARES: bool>(
    sums: &mut Pair,
    begin: bool,
    mut bits: u64,
    factors: Factors<'_>,
    pairs: &[Pair],
) {
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
            let other = if SQUARES { _mm512_mul_ps(h, h) } else { h };
            let pair = pairs.as_ptr().add(i).cast::<f32>();
            for q in 0..QUAD {
                let first = _mm512_load_ps(pair.add(q * LANES));
                let second = _mm512_load_ps(pair.add(WORD + q * LANES));
                registers[0][q] = _mm512_fmadd_ps(h, first, registers[0][q]);
                registers[1][q] = _mm512_fmadd_ps(other, second, registers[1][q]);
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
pub fn sum<const SQUARES: bool>(
    active: &mut Active,
    columns: Columns<'_>,
    outputs: usize,
    batch: usize,
    h: &[f32],
) {
    assert!(is_available(), "a processor with AVX-512");
    // SAFETY: the processor has the instructions.
    unsafe { sum_words::<SQUARES>(active, columns, outputs, batch, h) }
}

#[target_feature(enable = "avx512f,bmi1")]
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
        active.wide.copy_weights(columns, outputs, first, count);
        let Sums { weights, sums } = &mut active.wide;
        for (b, (sums, &bits)) in sums.iter_mut().zip(bits).enumerate() {
            // The weights of the next word, an input for each sample.
            for (w, column) in columns {
                fetch(w, (first + WORD + b % WORD) * outputs + column);
            }
            let factors = Factors { h: &h[first * batch + b..], stride: batch };
            add::<SQUARES>(sums, word == 0, bits, factors, &weights[..count]);
        }
    }
}

/// See [`Gradient::rows`](super::gradient::Gradient::rows), which checks all lengths.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn rows(gradient: &Gradient, factor: f32, h: &[f32], bits: &[u64], out: &mut [f32]) {
    assert!(is_available(), "a processor with AVX-512");
    // SAFETY: the processor has the instructions.
    unsafe { sum_rows(gradient, factor, h, bits, out) }
}

/// Blocks of downstream neurons outside: their K stays in the nearest cache for all rows.
#[target_feature(enable = "avx512f,bmi1")]
fn sum_rows(gradient: &Gradient, factor: f32, h: &[f32], bits: &[u64], out: &mut [f32]) {
    let Gradient { batch, outputs, .. } = *gradient;
    let words = batch.div_ceil(WORD);
    let mut sums = Pair::ZERO;
    for (block, k) in gradient.wide.chunks_exact(batch).enumerate() {
        let column = block * 2 * WORD;
        let width = (2 * WORD).min(outputs - column);
        let rows = h.chunks_exact(batch).zip(bits.chunks_exact(words));
        for ((h, bits), out) in rows.zip(out.chunks_exact_mut(outputs)) {
            for (word, &bits) in bits.iter().enumerate() {
                let part = word * WORD..batch.min((word + 1) * WORD);
                let factors = Factors { h: &h[part.clone()], stride: 1 };
                add::<false>(&mut sums, word == 0, bits, factors, &k[part]);
            }
            let sums = sums.0.as_flattened();
            let out = out[column..column + width].iter_mut();
            out.zip(sums).for_each(|(out, sum)| *out = factor * sum);
        }
    }
}
