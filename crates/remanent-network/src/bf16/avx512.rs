//! The path of AVX-512: `vdpbf16ps` adds the products of 16 pairs to 16 sums, `vcvtne2ps2bf16` rounds 32
//! numbers.
//!
//! All loads and stores go through arrays; what is unsafe is the call of functions that need these
//! instructions, and the change of type of a register.

use std::arch::x86_64::*;

use remanent_math::avx512::{load, load_words, numbers, words};

use super::Rows;
use crate::tiles::{Panels, SIDE, Sink, Sums, Tile};

/// Whether this processor has the instructions.
pub fn is_available() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512bf16")
}

/// A tile of 16 rows of 32 numbers. Without the instructions, the plain path packs it: the bits are the same.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn pack_along(x: Rows<'_>, tile: &mut Tile) {
    if is_available() {
        // SAFETY: the processor has the instructions.
        unsafe { along(x, tile) }
    } else {
        super::plain::pack_along(x, tile);
    }
}

/// A tile of 32 rows of 16 numbers, likewise.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn pack_across(x: Rows<'_>, tile: &mut Tile) {
    if is_available() {
        // SAFETY: the processor has the instructions.
        unsafe { across(x, tile) }
    } else {
        super::plain::pack_across(x, tile);
    }
}

/// See [`super::multiply`].
///
/// # Panics
///
/// If the processor does not have the instructions.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn multiply(a: Panels<'_>, b: Panels<'_>, sink: &mut impl Sink) {
    assert!(is_available(), "a processor with AVX-512-BF16");
    // SAFETY: the processor has the instructions.
    unsafe { panels(a, b, sink) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn along(x: Rows<'_>, tile: &mut Tile) {
    for (r, pairs) in tile.0.iter_mut().enumerate() {
        let row: &[f32; 2 * SIDE] = x.row(r).first_chunk().expect("a whole tile");
        let (low, high) = row.split_at(SIDE);
        *pairs = words(round(sixteen(low), sixteen(high)));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn across(x: Rows<'_>, tile: &mut Tile) {
    // The numbers 0 to 15 are of the first row and 16 to 31 of the second; pairs take one of each.
    let order: [u32; SIDE] = std::array::from_fn(|n| n as u32 | (n as u32 + 16) << 16);
    let order = load_words(&order);
    for (p, pairs) in tile.0.iter_mut().enumerate() {
        let rounded = round(sixteen(x.row(2 * p)), sixteen(x.row(2 * p + 1)));
        *pairs = words(_mm512_permutexvar_epi16(order, rounded));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sixteen(x: &[f32]) -> __m512 {
    load(x.first_chunk().expect("sixteen numbers"))
}

/// 32 numbers as bfloat16, the first 16 in the lower half.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
#[expect(unsafe_code, reason = "a register is given another type")]
pub fn round(low: __m512, high: __m512) -> __m512i {
    let rounded = _mm512_cvtne2ps_pbh(high, low);
    // SAFETY: both types are 64 bytes, and every bit pattern is valid.
    unsafe { std::mem::transmute::<__m512bh, __m512i>(rounded) }
}

/// Pairs of bfloat16.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
#[expect(unsafe_code, reason = "a register is given another type")]
fn pairs(v: __m512i) -> __m512bh {
    // SAFETY: both types are 64 bytes, and every bit pattern is valid.
    unsafe { std::mem::transmute::<__m512i, __m512bh>(v) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn panels(a: Panels<'_>, b: Panels<'_>, sink: &mut impl Sink) {
    // Two right panels at a time: each pair of a left row is then used twice.
    for j in (0..b.count).step_by(2) {
        for i in 0..a.count {
            if j + 1 < b.count {
                let [first, second] = sums_of_panels::<2>((a, i), (b, j));
                put(sink, i, j, first);
                put(sink, i, j + 1, second);
            } else {
                let [sums] = sums_of_panels::<1>((a, i), (b, j));
                put(sink, i, j, sums);
            }
        }
    }
}

fn put(sink: &mut impl Sink, row: usize, column: usize, sums: Sums) {
    *sink.place(row, column) = sums;
    sink.done(row, column);
}

/// A left panel with one or two right panels, eight rows at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn sums_of_panels<const C: usize>(
    (a, i): (Panels<'_>, usize),
    (b, j): (Panels<'_>, usize),
) -> [Sums; C] {
    const ROWS: usize = 8;
    let mut out = [Sums::ZERO; C];
    for first in (0..SIDE).step_by(ROWS) {
        let mut sums = [[_mm512_setzero_ps(); C]; ROWS];
        for block in 0..a.blocks {
            let left: &[[u32; SIDE]; ROWS] =
                a.tile(i, block).0[first..].first_chunk().expect("rows of a tile");
            let right: [&Tile; C] = std::array::from_fn(|c| b.tile(j + c, block));
            for p in 0..SIDE {
                let mut numbers = [_mm512_setzero_si512(); C];
                for (numbers, tile) in numbers.iter_mut().zip(right) {
                    *numbers = load_words(&tile.0[p]);
                }
                for (left, sums) in left.iter().zip(&mut sums) {
                    let left = pairs(_mm512_set1_epi32(left[p].cast_signed()));
                    for (sum, right) in sums.iter_mut().zip(numbers) {
                        *sum = _mm512_dpbf16_ps(*sum, left, pairs(right));
                    }
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for (out, sums) in out.iter_mut().zip(sums) {
                out.0[first + r] = numbers(sums);
            }
        }
    }
    out
}
