//! AVX-512: the sums of two groups in a register, and 32 lookups in one instruction.

use std::arch::x86_64::*;
use std::ops::Range;

use remanent_math::avx512::{load_words, words};

use super::{BIAS, GROUP, Indices, Rounded, Signs, Sums, TILE};

/// Pairs of groups whose tables, of four images, stay in the nearest cache.
const PART: usize = 64;

/// [`super::plain_sums`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) fn fill_sums(
    signs: &Signs,
    images: &[Rounded; TILE],
    tables: &mut Vec<[__m512i; TILE]>,
    sums: &mut [Sums],
) {
    let pairs = signs.pairs();
    let bias = 2 * pairs as i32 * BIAS;
    sums.fill([[[bias; 16]; 4]; TILE]);
    tables.resize(PART, [_mm512_setzero_si512(); TILE]);
    for from in (0..pairs).step_by(PART) {
        let part = from..pairs.min(from + PART);
        let tables = &mut tables[..part.len()];
        for (image, rounded) in images.iter().enumerate() {
            fill_tables(rounded, part.clone(), image, tables);
        }
        for (block, sums) in sums.iter_mut().enumerate() {
            let found = look_up(&signs.block(block)[part.clone()], tables);
            for (image, sums) in sums.iter_mut().enumerate() {
                for (vector, sums) in sums.iter_mut().enumerate() {
                    let old = load_words(&sums.map(i32::cast_unsigned));
                    let sum = _mm512_add_epi32(found[image][vector], old);
                    *sums = words(sum).map(u32::cast_signed);
                }
            }
        }
    }
}

/// The tables of one image for some pairs of groups.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn fill_tables(
    rounded: &Rounded,
    pairs: Range<usize>,
    image: usize,
    tables: &mut [[__m512i; TILE]],
) {
    let groups = rounded.words.len() / GROUP;
    let words = |place: usize| {
        &rounded.words[place * groups..][2 * pairs.start..2 * pairs.end].as_chunks::<2>().0
            [..tables.len()]
    };
    let (a, b, c, d) = (words(0), words(1), words(2), words(3));
    let bias = _mm512_set1_epi32(0x8000_8000_u32.cast_signed());
    for (pair, tables) in tables.iter_mut().enumerate() {
        let (a, b, c, d) = (&a[pair], &b[pair], &c[pair], &d[pair]);
        let first = sums_of_subsets(a[0], b[0], c[0], d[0]);
        let second = sums_of_subsets(a[1], b[1], c[1], d[1]);
        let both = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second);
        tables[image] = _mm512_xor_si512(both, bias);
    }
}

/// The sums of the 16 subsets, two to a word. The lowest bit of a subset, its first input, is the half of
/// the word; the others are the bits of its place.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn sums_of_subsets(a: u32, b: u32, c: u32, d: u32) -> __m256i {
    let mut table = all(a);
    table = _mm256_mask_add_epi32(table, 0xAA, table, all(b));
    table = _mm256_mask_add_epi32(table, 0xCC, table, all(c));
    _mm256_mask_add_epi32(table, 0xF0, table, all(d))
}

/// The same word everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
fn all(word: u32) -> __m256i {
    _mm256_set1_epi32(word.cast_signed())
}

/// The sums of 64 outputs for four images.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn look_up(rows: &[Indices], tables: &[[__m512i; TILE]]) -> [[__m512i; 4]; TILE] {
    let mut sums = [[_mm512_setzero_si512(); 4]; TILE];
    let ones = _mm512_set1_epi16(1);
    for (row, tables) in rows.iter().zip(tables) {
        let indices =
            [load_words(&row[0]), load_words(&row[1]), load_words(&row[2]), load_words(&row[3])];
        for (sums, &table) in sums.iter_mut().zip(tables) {
            for (sum, index) in sums.iter_mut().zip(indices) {
                let found = _mm512_permutexvar_epi16(index, table);
                *sum = _mm512_dpwssd_epi32(*sum, found, ones);
            }
        }
    }
    sums
}
