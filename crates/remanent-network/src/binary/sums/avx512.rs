//! AVX-512: sixteen outputs at a time; sums of four inputs are looked up in one register.

use std::arch::x86_64::*;

use remanent_math::avx512::{load, load_words, numbers, sums_of_four};

use super::{BLOCK, LANES, Lanes, QUAD, QUADS, Words, used};

/// Four inputs: their sixteen sums, and the position of their bits in a word.
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
            let [a, b, c, d] = h.as_chunks::<QUAD>().0[quad];
            *four = Four {
                // Bit 0 of the index is set for +a, bit 3 for +d.
                table: sums_of_four([-d, -c, -b, -a]),
                shift: _mm512_set1_epi32((QUAD * quad) as i32),
            };
        }
        // With a constant count the fours stay in registers.
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
    // The compiler needs to know that the shift is below 32 to emit one instruction.
    let shift = _mm512_and_si512(four.shift, _mm512_set1_epi32(31));
    _mm512_permutexvar_ps(_mm512_srlv_epi32(words, shift), four.table)
}
