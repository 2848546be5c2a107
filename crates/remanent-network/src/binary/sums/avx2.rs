//! AVX2: eight outputs at a time; sums of four inputs are looked up in one register up to a sign.
//!
//! A sum with −d is looked up with all four bits inverted and then negated. Rounding is symmetric,
//! so this gives the bits of the sum itself.

use std::arch::x86_64::*;

use super::{BLOCK, LANES, Lanes, QUAD, QUADS, Words, used};

/// Numbers in a register.
const WIDTH: usize = 8;

/// Four inputs: their eight sums with +d, and the position of their bits in a word.
#[derive(Clone, Copy)]
struct Four {
    table: __m256,
    /// Right shift that brings the bits to the lowest positions.
    right: __m256i,
    /// Left shift that brings the sign of the sum to the highest bit.
    left: __m256i,
}

/// [`super::plain_sums`].
#[target_feature(enable = "avx2")]
pub(super) fn signed_sums(words: &[Words], h: &[[f32; BLOCK]], sums: &mut [Lanes]) {
    sums.fill([0.0; LANES]);
    for (h, row) in h.iter().zip(words.chunks(sums.len())) {
        let zero = _mm256_setzero_si256();
        let mut fours = [Four { table: _mm256_setzero_ps(), right: zero, left: zero }; QUADS];
        let mut left = used(h);
        let count = left.count_ones();
        for four in &mut fours {
            if left == 0 {
                break;
            }
            let quad = left.trailing_zeros() as usize % QUADS;
            left &= left - 1;
            let shift = (QUAD * quad) as i32;
            *four = Four {
                table: table(h.as_chunks::<QUAD>().0[quad]),
                right: _mm256_set1_epi32(shift),
                left: _mm256_set1_epi32(28 - shift),
            };
        }
        // With a constant count the tables stay in registers.
        match count {
            0 => {}
            1 => add_block::<1>(&fours, row, sums),
            2 => add_block::<2>(&fours, row, sums),
            3 => add_block::<3>(&fours, row, sums),
            4 => add_block::<4>(&fours, row, sums),
            5 => add_block::<5>(&fours, row, sums),
            6 => add_block::<6>(&fours, row, sums),
            7 => add_block::<7>(&fours, row, sums),
            _ => add_block::<8>(&fours, row, sums),
        }
    }
}

/// Adds the first `USED` fours of a block to all outputs.
#[inline]
#[target_feature(enable = "avx2")]
fn add_block<const USED: usize>(fours: &[Four; QUADS], row: &[Words], sums: &mut [Lanes]) {
    let words = row.as_flattened().as_chunks::<WIDTH>().0;
    let sums = sums.as_flattened_mut().as_chunks_mut::<WIDTH>().0;
    for (words, sums) in words.iter().zip(sums) {
        let places = places(load_words(words));
        let mut block = look_up(places, fours[0]);
        for &four in &fours[1..USED] {
            block = _mm256_add_ps(block, look_up(places, four));
        }
        *sums = numbers(_mm256_add_ps(load(sums), block));
    }
}

/// Of every four bits the first three, inverted if the last one is not set; the last one becomes
/// whether to negate the sum.
#[inline]
#[target_feature(enable = "avx2")]
fn places(words: __m256i) -> __m256i {
    let last = _mm256_set1_epi32(0x1111_1111);
    let negated = _mm256_andnot_si256(_mm256_srli_epi32::<3>(words), last);
    // 1111 for 0001.
    let turned = _mm256_sub_epi32(_mm256_slli_epi32::<4>(negated), negated);
    _mm256_xor_si256(_mm256_and_si256(words, _mm256_set1_epi32(0x7777_7777)), turned)
}

#[inline]
#[target_feature(enable = "avx2")]
fn look_up(places: __m256i, four: Four) -> __m256 {
    // The compiler needs to know that the shifts are below 32 to emit one instruction each.
    let most = _mm256_set1_epi32(31);
    let place = _mm256_srlv_epi32(places, _mm256_and_si256(four.right, most));
    let sign = _mm256_sllv_epi32(places, _mm256_and_si256(four.left, most));
    let (sum, sign) = (_mm256_permutevar8x32_ps(four.table, place), _mm256_castsi256_ps(sign));
    _mm256_xor_ps(sum, _mm256_and_ps(sign, _mm256_set1_ps(-0.0)))
}

/// ±a ± b ± c + d for the eight choices of signs; bit 0 of the place is set for +a.
#[inline]
#[target_feature(enable = "avx2")]
fn table([a, b, c, d]: [f32; QUAD]) -> __m256 {
    let a_sign = _mm256_setr_ps(-0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0);
    let b_sign = _mm256_setr_ps(-0.0, -0.0, 0.0, 0.0, -0.0, -0.0, 0.0, 0.0);
    let c_sign = _mm256_setr_ps(-0.0, -0.0, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0);
    let ab = _mm256_add_ps(
        _mm256_xor_ps(_mm256_set1_ps(a), a_sign),
        _mm256_xor_ps(_mm256_set1_ps(b), b_sign),
    );
    let cd = _mm256_add_ps(_mm256_xor_ps(_mm256_set1_ps(c), c_sign), _mm256_set1_ps(d));
    _mm256_add_ps(ab, cd)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(v: &[f32; WIDTH]) -> __m256 {
    _mm256_setr_ps(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_words(v: &[u32; WIDTH]) -> __m256i {
    let v = v.map(u32::cast_signed);
    _mm256_setr_epi32(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
}

#[inline]
#[target_feature(enable = "avx2")]
fn numbers(v: __m256) -> [f32; WIDTH] {
    let mut numbers = [0.0; WIDTH];
    for (lane, number) in numbers.iter_mut().enumerate() {
        let place = _mm256_set1_epi32(lane as i32);
        *number = _mm256_cvtss_f32(_mm256_permutevar8x32_ps(v, place));
    }
    numbers
}
