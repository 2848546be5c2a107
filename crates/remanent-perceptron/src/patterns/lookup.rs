//! The two sums with AVX-512: groups of four terms are looked up in a register.
//!
//! The sixteen sums ±a ± b ± c ± d fill one register, and a permutation selects one of them for each
//! of sixteen lanes by four sign bits. Three instructions (shift, permute, add) replace 64
//! additions. For [`fields`] the lanes are patterns and the four signs are those of four sites; for
//! [`add_sums`] the lanes are sites and the four signs are those of four patterns.
//!
//! The additions are those of [`super::plain_fields`] and [`super::add_plain_sums`], in the same
//! order.

use std::arch::x86_64::*;
use std::cell::Cell;

use remanent_math::avx512::{load, load_words, numbers, sums_of_four};

use super::{GROUPS, LANES, Lanes, QUAD, Words};

thread_local! {
    /// Buffer for tables, reused between calls.
    static TABLES: Cell<Vec<__m512>> = const { Cell::new(Vec::new()) };
}

/// The first `len` entries of the buffer, which grows if necessary.
#[inline]
#[target_feature(enable = "avx512f")]
fn sized(room: &mut Vec<__m512>, len: usize) -> &mut [__m512] {
    if room.len() < len {
        room.resize(len, _mm512_setzero_ps());
    }
    &mut room[..len]
}

/// Groups of four in a block.
const QUADS: usize = GROUPS / QUAD;

/// The tables of sixteen times four sites: table `l` is that of lane `l` of the four groups.
///
/// First the four sums ±a ± b of four tables side by side, and those of c and d. Where a = b,
/// −a + b is −0 here; this does not change a sum that starts at +0.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn fill_tables([a, b, c, d]: &[Lanes; QUAD], tables: &mut [__m512; LANES]) {
    let (a, b, c, d) = (load(a), load(b), load(c), load(d));
    let (ab, a_b) = (_mm512_add_ps(a, b), _mm512_sub_ps(a, b));
    let (cd, c_d) = (_mm512_add_ps(c, d), _mm512_sub_ps(c, d));
    let negative = _mm512_setr_ps(
        0.0, 0.0, -0.0, -0.0, 0.0, 0.0, -0.0, -0.0, 0.0, 0.0, -0.0, -0.0, 0.0, 0.0, -0.0, -0.0,
    );
    let slow = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    let fast = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    let mut from = _mm512_setr_epi32(0, 16, 16, 0, 1, 17, 17, 1, 2, 18, 18, 2, 3, 19, 19, 3);
    for tables in tables.as_chunks_mut::<4>().0 {
        let ab = _mm512_xor_ps(_mm512_permutex2var_ps(ab, from, a_b), negative);
        let cd = _mm512_xor_ps(_mm512_permutex2var_ps(cd, from, c_d), negative);
        for (lane, table) in tables.iter_mut().enumerate() {
            let first = _mm512_set1_epi32(4 * lane as i32);
            let ab = _mm512_permutexvar_ps(_mm512_add_epi32(slow, first), ab);
            let cd = _mm512_permutexvar_ps(_mm512_add_epi32(fast, first), cd);
            *table = _mm512_add_ps(ab, cd);
        }
        from = _mm512_add_epi32(from, _mm512_set1_epi32(4));
    }
}

/// [`super::plain_fields`] of at least sixteen patterns.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn fields(words: &[Words], blocks: usize, chosen: &[u32], m: &[Lanes], u: &mut [f32]) {
    let mut room = TABLES.take();
    let tables = sized(&mut room, m.len() / QUAD * LANES);
    for (quad, tables) in m.as_chunks::<QUAD>().0.iter().zip(tables.as_chunks_mut::<LANES>().0) {
        fill_tables(quad, tables);
    }
    let last = chosen.len() - LANES;
    for start in (0..chosen.len()).step_by(LANES) {
        // The last sixteen may include patterns that were computed before.
        let start = start.min(last);
        let sums = sixteen_fields(words, blocks, &chosen[start..start + LANES], tables);
        u[start..start + LANES].copy_from_slice(&numbers(sums));
    }
    TABLES.set(room);
}

/// u of sixteen patterns.
#[inline]
#[target_feature(enable = "avx512f")]
fn sixteen_fields(words: &[Words], blocks: usize, chosen: &[u32], tables: &[__m512]) -> __m512 {
    let mut partial = [_mm512_setzero_ps(); LANES];
    for (block, tables) in tables.as_chunks::<LANES>().0.chunks(QUADS).enumerate() {
        let mut rows = [_mm512_setzero_si512(); LANES];
        for (row, &pattern) in rows.iter_mut().zip(chosen) {
            *row = load_words(&words[pattern as usize * blocks + block]);
        }
        let columns = transposed(rows);
        let mut shift = _mm512_set1_epi32(28);
        for quad in tables {
            // The compiler needs to know that the shift is below 32 to emit one instruction.
            let amount = _mm512_and_si512(shift, _mm512_set1_epi32(31));
            for lane in 0..LANES {
                let place = _mm512_srlv_epi32(columns[lane], amount);
                let sum = _mm512_permutexvar_ps(place, quad[lane]);
                partial[lane] = _mm512_add_ps(partial[lane], sum);
            }
            shift = _mm512_sub_epi32(shift, _mm512_set1_epi32(4));
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            partial[lane] = _mm512_add_ps(partial[lane], partial[lane + width]);
        }
        width /= 2;
    }
    partial[0]
}

/// Adds the sums over `chosen` to `groups`, all sites.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn add_sums(
    words: &[Words],
    blocks: usize,
    chosen: &[u32],
    h: &[f32],
    groups: &mut [Lanes],
) {
    let mut room = TABLES.take();
    let tables = sized(&mut room, h.len().div_ceil(QUAD));
    for (h, place) in h.chunks(QUAD).zip(tables.iter_mut()) {
        let mut quad = [0.0; QUAD];
        quad[..h.len()].copy_from_slice(h);
        *place = sums_of_four(quad);
    }
    for (block, groups) in groups.chunks_mut(GROUPS).enumerate() {
        match groups.len().div_ceil(QUAD) {
            0..=2 => add_block_sums::<2>(words, blocks, block, chosen, tables, groups),
            3..=4 => add_block_sums::<4>(words, blocks, block, chosen, tables, groups),
            5..=6 => add_block_sums::<6>(words, blocks, block, chosen, tables, groups),
            _ => add_block_sums::<8>(words, blocks, block, chosen, tables, groups),
        }
    }
    TABLES.set(room);
}

/// The sums of the first `USED` quads of groups of one block.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn add_block_sums<const USED: usize>(
    words: &[Words],
    blocks: usize,
    block: usize,
    chosen: &[u32],
    tables: &[__m512],
    groups: &mut [Lanes],
) {
    let (quads, rest) = chosen.as_chunks::<QUAD>();
    for half in [0, 2] {
        let mut sums = [[_mm512_setzero_ps(); USED]; 2];
        for (odd, sums) in sums.iter_mut().enumerate() {
            for (sum, groups) in sums.iter_mut().zip(groups.as_chunks::<QUAD>().0) {
                *sum = load(&groups[half + odd]);
            }
        }
        for (quad, &table) in quads.iter().zip(tables) {
            add_quad(signs(words, blocks, block, half, quad), table, &mut sums);
        }
        if !rest.is_empty() {
            let table = tables[quads.len()];
            add_quad(signs(words, blocks, block, half, rest), table, &mut sums);
        }
        for (odd, sums) in sums.iter().enumerate() {
            for (&sum, groups) in sums.iter().zip(groups.as_chunks_mut::<QUAD>().0) {
                groups[half + odd] = numbers(sum);
            }
        }
    }
}

/// Adds the table entries selected by the signs of four patterns.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_quad<const USED: usize>(signs: [__m512i; 2], table: __m512, sums: &mut [[__m512; USED]; 2]) {
    for (sums, signs) in sums.iter_mut().zip(signs) {
        for (quad, sum) in sums.iter_mut().enumerate() {
            let place = _mm512_srlv_epi32(signs, _mm512_set1_epi32(28 - 4 * quad as i32));
            *sum = _mm512_add_ps(*sum, _mm512_permutexvar_ps(place, table));
        }
    }
}

/// The signs of up to four patterns, side by side: a nibble for each site, those of
/// groups `half` and `half + 1` of every four groups.
#[inline]
#[target_feature(enable = "avx512f")]
fn signs(
    words: &[Words],
    blocks: usize,
    block: usize,
    half: usize,
    chosen: &[u32],
) -> [__m512i; 2] {
    let mut rows = [_mm512_setzero_si512(); QUAD];
    for (row, &pattern) in rows.iter_mut().zip(chosen) {
        *row = load_words(&words[pattern as usize * blocks + block]);
    }
    let [a, b, c, d] = rows;
    let pairs = _mm512_set1_epi32(0x3333_3333);
    let (ac, bd) = if half == 0 {
        (select(pairs, _mm512_srli_epi32::<2>(c), a), select(pairs, _mm512_srli_epi32::<2>(d), b))
    } else {
        (select(pairs, c, _mm512_slli_epi32::<2>(a)), select(pairs, d, _mm512_slli_epi32::<2>(b)))
    };
    let even = _mm512_set1_epi32(0x5555_5555);
    [select(even, _mm512_srli_epi32::<1>(bd), ac), select(even, bd, _mm512_slli_epi32::<1>(ac))]
}

/// The bits of `a` where `mask` is set, of `b` elsewhere.
#[inline]
#[target_feature(enable = "avx512f")]
fn select(mask: __m512i, a: __m512i, b: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0xca>(mask, a, b)
}

/// Word `l` of row `p` becomes word `p` of row `l`.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(rows: [__m512i; LANES]) -> [__m512i; LANES] {
    let zero = [_mm512_setzero_si512(); LANES];
    let (mut pairs, mut fours, mut eights, mut columns) = (zero, zero, zero, zero);
    for i in 0..LANES / 2 {
        pairs[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
    for i in (0..LANES).step_by(4) {
        fours[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
        fours[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
        fours[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        fours[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    // Quarter k of fours[4 g + c] now holds word 4 k + c of rows 4 g to 4 g + 3.
    for i in 0..4 {
        eights[i] = _mm512_shuffle_i32x4::<0x88>(fours[i], fours[i + 4]);
        eights[i + 4] = _mm512_shuffle_i32x4::<0xdd>(fours[i], fours[i + 4]);
        eights[i + 8] = _mm512_shuffle_i32x4::<0x88>(fours[i + 8], fours[i + 12]);
        eights[i + 12] = _mm512_shuffle_i32x4::<0xdd>(fours[i + 8], fours[i + 12]);
    }
    for i in 0..8 {
        columns[i] = _mm512_shuffle_i32x4::<0x88>(eights[i], eights[i + 8]);
        columns[i + 8] = _mm512_shuffle_i32x4::<0xdd>(eights[i], eights[i + 8]);
    }
    columns
}
