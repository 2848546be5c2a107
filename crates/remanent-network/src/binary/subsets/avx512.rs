//! AVX-512: the 64 sums of a group in two registers, and 32 lookups in one instruction.

use std::arch::x86_64::*;

use remanent_math::avx512::{load_words, words};

use super::{GROUP, Indices, Inputs, Signs, Sums, TILE};

/// [`super::plain_part`].
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn add_part(
    signs: &Signs,
    inputs: Inputs<'_>,
    shift: u32,
    halves: &mut Vec<[__m512i; TILE]>,
    sums: &mut [Sums],
) {
    let images = inputs.images.map(|image| image.as_chunks::<GROUP>().0);
    let images = images.map(|image| &image[..inputs.used.len()]);
    halves.resize(inputs.used.len(), [_mm512_setzero_si512(); TILE]);
    for (group, halves) in halves.iter_mut().enumerate() {
        for (half, image) in halves.iter_mut().zip(images) {
            *half = half_table(&image[group]);
        }
    }
    for (block, sums) in sums.iter_mut().enumerate() {
        let found = look_up(signs.block(block), inputs.used, images, halves);
        for (image, sums) in sums.iter_mut().enumerate() {
            for (vector, sums) in sums.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                let found = found[image][vector];
                let low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(found));
                let high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(found));
                add(low, shift, &mut sums[0]);
                add(high, shift, &mut sums[1]);
            }
        }
    }
}

/// The sums of the 32 subsets of the first five inputs, two to a word. The lowest bit of a subset, its
/// first input, is the half of the word; the others are the bits of its place.
#[inline]
#[target_feature(enable = "avx512f")]
fn half_table(inputs: &[u32; GROUP]) -> __m512i {
    let mut table = all(inputs[0]);
    table = _mm512_mask_add_epi32(table, 0xAAAA, table, all(inputs[1]));
    table = _mm512_mask_add_epi32(table, 0xCCCC, table, all(inputs[2]));
    table = _mm512_mask_add_epi32(table, 0xF0F0, table, all(inputs[3]));
    table = _mm512_mask_add_epi32(table, 0xFF00, table, all(inputs[4]));
    table
}

/// The same word everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
fn all(word: u32) -> __m512i {
    _mm512_set1_epi32(word.cast_signed())
}

/// The sums of 128 outputs for four images, in 16 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn look_up(
    rows: &[Indices],
    used: &[u32],
    images: [&[[u32; GROUP]]; TILE],
    halves: &[[__m512i; TILE]],
) -> [[__m512i; 4]; TILE] {
    let mut sums = [[_mm512_setzero_si512(); 4]; TILE];
    let images = images.map(|image| &image[..used.len()]);
    for (group, (&row, halves)) in used.iter().zip(halves).enumerate() {
        let row = &rows[row as usize];
        let indices =
            [load_words(&row[0]), load_words(&row[1]), load_words(&row[2]), load_words(&row[3])];
        for ((sums, &without), image) in sums.iter_mut().zip(halves).zip(images) {
            let with = _mm512_add_epi32(without, all(image[group][GROUP - 1]));
            for (sum, index) in sums.iter_mut().zip(indices) {
                let found = _mm512_permutex2var_epi16(without, index, with);
                *sum = _mm512_add_epi16(*sum, found);
            }
        }
    }
    sums
}

/// sums ← sums + 2^shift found.
#[inline]
#[target_feature(enable = "avx512f")]
fn add(found: __m512i, shift: u32, sums: &mut [i32; 16]) {
    let shift = _mm_cvtsi32_si128(shift.cast_signed());
    let old = load_words(&sums.map(i32::cast_unsigned));
    *sums = words(_mm512_add_epi32(old, _mm512_sll_epi32(found, shift))).map(u32::cast_signed);
}
