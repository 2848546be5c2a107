//! Sixteen outputs at a time, their sums of four inputs looked up in one register.

use std::arch::x86_64::*;

use remanent_math::avx512::{load, load_words, numbers};

use super::{BLOCK, LANES, Lanes, QUAD, QUADS, Words, used};

/// A four of inputs: its sixteen sums, and the place of its bits in a word.
#[derive(Clone, Copy)]
struct Four {
    table: __m512,
    shift: __m512i,
}

/// [`super::plain_sums`].
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn signed_sums(words: &[Words], h: &[[f32; BLOCK]], sums: &mut [Lanes]) {
    sums.fill([0.0; LANES]);
    for (h, row) in h.iter().zip(words.chunks(sums.len())) {
        let mut fours = [Four { table: _mm512_setzero_ps(), shift: _mm512_setzero_si512() }; QUADS];
        let mut left = used(h);
        let count = left.count_ones();
        for four in &mut fours {
            if left == 0 {
                break;
            }
            let quad = left.trailing_zeros() as usize % QUADS;
            left &= left - 1;
            *four = Four {
                table: table(h.as_chunks::<QUAD>().0[quad]),
                shift: _mm512_set1_epi32((QUAD * quad) as i32),
            };
        }
        // Known at compile time, the number leaves the fours in registers.
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
#[target_feature(enable = "avx512f")]
fn add_block<const USED: usize>(fours: &[Four; QUADS], row: &[Words], sums: &mut [Lanes]) {
    for (words, sums) in row.iter().zip(sums) {
        let words = load_words(words);
        let mut block = look_up(words, fours[0]);
        for &four in &fours[1..USED] {
            block = _mm512_add_ps(block, look_up(words, four));
        }
        *sums = numbers(_mm512_add_ps(load(sums), block));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn look_up(words: __m512i, four: Four) -> __m512 {
    // Known to be below 32, the shift is one instruction.
    let shift = _mm512_and_si512(four.shift, _mm512_set1_epi32(31));
    _mm512_permutexvar_ps(_mm512_srlv_epi32(words, shift), four.table)
}

/// ±a ± b ± c ± d for the sixteen choices of signs; bit 0 of the place is set for +a.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn table([a, b, c, d]: [f32; QUAD]) -> __m512 {
    let place = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let sign = _mm512_set1_ps(-0.0);
    let a_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32::<31>(place)), sign);
    let b_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32::<30>(place)), sign);
    let c_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32::<29>(place)), sign);
    let d_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32::<28>(place)), sign);
    let ab = _mm512_add_ps(
        _mm512_xor_ps(_mm512_set1_ps(a), a_sign),
        _mm512_xor_ps(_mm512_set1_ps(b), b_sign),
    );
    let cd = _mm512_add_ps(
        _mm512_xor_ps(_mm512_set1_ps(c), c_sign),
        _mm512_xor_ps(_mm512_set1_ps(d), d_sign),
    );
    _mm512_add_ps(ab, cd)
}
