//! The sums over patterns with AVX2: groups of four terms are looked up in a register.
//!
//! ±a ± b ± c ± d is ±(a ± b ± c ± d), so that eight sums, which fill one register, and a sign are enough. A permutation
//! selects one of them for each of eight sites by three bits. The additions are those of
//! [`super::add_plain_sums`], in the same order; a change of all signs changes the sign of a rounded sum, and nothing else.

use std::arch::x86_64::*;

use super::{GROUPS, LANES, Lanes, QUAD, Words};

/// Numbers of a register.
const EIGHT: usize = 8;

/// Adds the sums over `chosen` to `groups`, all sites.
#[target_feature(enable = "avx2")]
pub(super) fn add_sums(
    words: &[Words],
    blocks: usize,
    chosen: &[u32],
    h: &[f32],
    groups: &mut [Lanes],
) {
    let tables: Vec<__m256> = h
        .chunks(QUAD)
        .map(|h| {
            let mut quad = [0.0; QUAD];
            quad[..h.len()].copy_from_slice(h);
            sums_of_four(quad)
        })
        .collect();
    for (block, groups) in groups.chunks_mut(GROUPS).enumerate() {
        let rows = |pattern: u32| &words[pattern as usize * blocks + block];
        let quads = groups.as_chunks_mut::<QUAD>().0;
        for first in [0, EIGHT] {
            for group in 0..QUAD {
                let sites = Sites { first, group };
                match quads.len() {
                    0..=2 => sites.add::<2>(rows, chosen, &tables, quads),
                    3..=4 => sites.add::<4>(rows, chosen, &tables, quads),
                    5..=6 => sites.add::<6>(rows, chosen, &tables, quads),
                    _ => sites.add::<8>(rows, chosen, &tables, quads),
                }
            }
        }
    }
}

/// Eight sites of one of every four groups of a block.
#[derive(Clone, Copy)]
struct Sites {
    /// The first lane, 0 or 8.
    first: usize,
    /// The group.
    group: usize,
}

impl Sites {
    /// Adds the sums in the first `USED` quads of groups.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add<'a, const USED: usize>(
        self,
        rows: impl Fn(u32) -> &'a Words,
        chosen: &[u32],
        tables: &[__m256],
        quads: &mut [[Lanes; QUAD]],
    ) {
        let Self { first, group } = self;
        let mut sums = [_mm256_setzero_ps(); USED];
        for (sum, quad) in sums.iter_mut().zip(&*quads) {
            *sum = load(quad[group][first..].first_chunk().expect("eight of sixteen lanes"));
        }
        for (chosen, &table) in chosen.chunks(QUAD).zip(tables) {
            let mut signs = [_mm256_setzero_si256(); QUAD];
            for (signs, &pattern) in signs.iter_mut().zip(chosen) {
                *signs = load_words(rows(pattern)[first..].first_chunk().expect("eight words"));
            }
            let nibbles = nibbles(signs, group);
            for (quad, sum) in sums.iter_mut().enumerate() {
                let place = _mm256_srlv_epi32(nibbles, _mm256_set1_epi32(28 - 4 * quad as i32));
                let sign = _mm256_sllv_epi32(nibbles, _mm256_set1_epi32(4 * quad as i32));
                let sign = _mm256_and_ps(_mm256_castsi256_ps(sign), _mm256_set1_ps(-0.0));
                let term = _mm256_xor_ps(_mm256_permutevar8x32_ps(table, place), sign);
                *sum = _mm256_add_ps(*sum, term);
            }
        }
        for (sum, quad) in sums.into_iter().zip(quads) {
            quad[group][first..first + EIGHT].copy_from_slice(&numbers(sum));
        }
    }
}

/// The signs of four patterns side by side, those of one of every four groups: four bits for each site. If that of the first
/// pattern is set, the other three are inverted.
#[inline]
#[target_feature(enable = "avx2")]
fn nibbles(signs: [__m256i; QUAD], group: usize) -> __m256i {
    let highest = _mm256_set1_epi32(0x8888_8888_u32.cast_signed());
    let of_group = _mm_cvtsi32_si128(group as i32);
    let [a, b, c, d] = signs.map(|x| _mm256_and_si256(_mm256_sll_epi32(x, of_group), highest));
    let (b, c, d) =
        (_mm256_srli_epi32::<1>(b), _mm256_srli_epi32::<2>(c), _mm256_srli_epi32::<3>(d));
    let all = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    // 8 − 1 = 7 in each nibble whose highest bit is set.
    _mm256_xor_si256(all, _mm256_sub_epi32(a, _mm256_srli_epi32::<3>(a)))
}

/// The sums (a ± b) + (±c ± d). In the index of a sum, bit 2 is set for −b, bit 1 for −c and bit 0 for −d.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_of_four([a, b, c, d]: [f32; QUAD]) -> __m256 {
    let b = _mm256_setr_ps(b, b, b, b, -b, -b, -b, -b);
    let c = _mm256_setr_ps(c, c, -c, -c, c, c, -c, -c);
    let d = _mm256_setr_ps(d, -d, d, -d, d, -d, d, -d);
    _mm256_add_ps(_mm256_add_ps(_mm256_set1_ps(a), b), _mm256_add_ps(c, d))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(v: &[f32; EIGHT]) -> __m256 {
    _mm256_setr_ps(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_words(v: &[u32; EIGHT]) -> __m256i {
    let v = v.map(u32::cast_signed);
    _mm256_setr_epi32(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
}

#[inline]
#[target_feature(enable = "avx2")]
fn numbers(v: __m256) -> [f32; EIGHT] {
    let mut numbers = [0.0; EIGHT];
    for (lane, number) in numbers.iter_mut().enumerate() {
        *number = _mm256_cvtss_f32(_mm256_permutevar8x32_ps(v, _mm256_set1_epi32(lane as i32)));
    }
    numbers
}

const _: () = assert!(LANES == 2 * EIGHT && GROUPS == 8 * QUAD);
