//! AVX-512: the sums of two groups in two registers, and 32 lookups in one instruction.

use std::arch::x86_64::*;
use std::ops::Range;

use remanent_math::avx512::{load_words, words};

use super::{BIAS, GROUP, Indices, Rounded, Signs, Sums, TILE};

/// Pairs of groups whose tables, of four images, stay in the nearest cache.
const PART: usize = 52;

/// [`super::plain_sums`].
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn fill_sums(
    signs: &Signs,
    images: &[Rounded; TILE],
    tables: &mut Vec<[[__m512i; 2]; TILE]>,
    sums: &mut [Sums],
) {
    let pairs = signs.pairs();
    let bias = 2 * pairs as i32 * BIAS;
    sums.fill([[[bias; 16]; 4]; TILE]);
    tables.resize(PART, [[_mm512_setzero_si512(); 2]; TILE]);
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
#[target_feature(enable = "avx512f")]
fn fill_tables(
    rounded: &Rounded,
    pairs: Range<usize>,
    image: usize,
    tables: &mut [[[__m512i; 2]; TILE]],
) {
    let groups = rounded.words.len() / GROUP;
    let words = |place: usize| {
        &rounded.words[place * groups..][2 * pairs.start..2 * pairs.end].as_chunks::<2>().0
            [..tables.len()]
    };
    let (a, b, c, d, e) = (words(0), words(1), words(2), words(3), words(4));
    for (pair, tables) in tables.iter_mut().enumerate() {
        let (a, b, c, d, e) = (&a[pair], &b[pair], &c[pair], &d[pair], &e[pair]);
        tables[image] =
            [table_of(a[0], b[0], c[0], d[0], e[0]), table_of(a[1], b[1], c[1], d[1], e[1])];
    }
}

/// The sums of the 32 subsets less 2^15, two to a word. The lowest bit of a subset, its first input, is
/// the half of the word; the others are the bits of its place.
#[inline]
#[target_feature(enable = "avx512f")]
fn table_of(a: u32, b: u32, c: u32, d: u32, e: u32) -> __m512i {
    let mut table = all(a);
    table = _mm512_mask_add_epi32(table, 0xAAAA, table, all(b));
    table = _mm512_mask_add_epi32(table, 0xCCCC, table, all(c));
    table = _mm512_mask_add_epi32(table, 0xF0F0, table, all(d));
    table = _mm512_mask_add_epi32(table, 0xFF00, table, all(e));
    _mm512_xor_si512(table, all(0x8000_8000))
}

/// The same word everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
fn all(word: u32) -> __m512i {
    _mm512_set1_epi32(word.cast_signed())
}

/// The sums of 64 outputs for four images.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn look_up(rows: &[Indices], tables: &[[[__m512i; 2]; TILE]]) -> [[__m512i; 4]; TILE] {
    let mut sums = [[_mm512_setzero_si512(); 4]; TILE];
    let ones = _mm512_set1_epi16(1);
    for (row, tables) in rows.iter().zip(tables) {
        let indices =
            [load_words(&row[0]), load_words(&row[1]), load_words(&row[2]), load_words(&row[3])];
        for (sums, &[first, second]) in sums.iter_mut().zip(tables) {
            for (sum, index) in sums.iter_mut().zip(indices) {
                let found = _mm512_permutex2var_epi16(first, index, second);
                *sum = _mm512_dpwssd_epi32(*sum, found, ones);
            }
        }
    }
    sums
}
