//! The path of AVX-512: `vdpbf16ps` adds the products of 16 pairs to 16 sums, `vcvtne2ps2bf16` rounds 32
//! numbers.
//!
//! All loads and stores go through arrays; what is unsafe is the call of functions that need these
//! instructions, and the change of type of a register.

use std::arch::x86_64::*;

use remanent_math::avx512::{load, load_words, numbers};

use super::{Output, Panels, Rows, SIDE, Tile};

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
pub fn multiply(scale: f32, a: Panels<'_>, b: Panels<'_>, out: &mut Output<'_>) {
    assert!(is_available(), "a processor with AVX-512-BF16");
    // SAFETY: the processor has the instructions.
    unsafe { panels(scale, a, b, out) }
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
fn round(low: __m512, high: __m512) -> __m512i {
    let rounded = _mm512_cvtne2ps_pbh(high, low);
    // SAFETY: both types are 64 bytes, and every bit pattern is valid.
    unsafe { std::mem::transmute::<__m512bh, __m512i>(rounded) }
}

/// The words of a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn words(v: __m512i) -> [u32; SIDE] {
    numbers(_mm512_castsi512_ps(v)).map(f32::to_bits)
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
fn panels(scale: f32, a: Panels<'_>, b: Panels<'_>, out: &mut Output<'_>) {
    // Two right panels at a time: each pair of a left row is then used twice.
    for (j, right) in b.tiles.chunks(2 * b.blocks).enumerate() {
        let column = 2 * j * SIDE;
        for (i, left) in a.tiles.chunks_exact(a.blocks).enumerate() {
            let end = out.rows.min((i + 1) * SIDE);
            let mut row = i * SIDE;
            while row < end {
                let count = match end - row {
                    8.. => rows::<8>(scale, left, right, row, column, out),
                    4.. => rows::<4>(scale, left, right, row, column, out),
                    2.. => rows::<2>(scale, left, right, row, column, out),
                    _ => rows::<1>(scale, left, right, row, column, out),
                };
                row += count;
            }
        }
    }
}

/// Some rows of a left panel with one or two right panels; gives their number.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn rows<const R: usize>(
    scale: f32,
    left: &[Tile],
    right: &[Tile],
    row: usize,
    column: usize,
    out: &mut Output<'_>,
) -> usize {
    if right.len() > left.len() {
        let (first, second) = right.split_at(left.len());
        let sums = sums::<R, 2>(left, [first, second], row % SIDE);
        for (r, [first, second]) in sums.into_iter().enumerate() {
            out.write(row + r, column, scale, &numbers(first));
            out.write(row + r, column + SIDE, scale, &numbers(second));
        }
    } else {
        let sums = sums::<R, 1>(left, [right], row % SIDE);
        for (r, [sums]) in sums.into_iter().enumerate() {
            out.write(row + r, column, scale, &numbers(sums));
        }
    }
    R
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn sums<const R: usize, const C: usize>(
    left: &[Tile],
    right: [&[Tile]; C],
    first: usize,
) -> [[__m512; C]; R] {
    let mut sums = [[_mm512_setzero_ps(); C]; R];
    let right = right.map(|tiles| &tiles[..left.len()]);
    for (block, a) in left.iter().enumerate() {
        let a: &[[u32; SIDE]; R] = a.0[first..].first_chunk().expect("rows of a tile");
        for p in 0..SIDE {
            let mut b = [_mm512_setzero_si512(); C];
            for (b, tiles) in b.iter_mut().zip(right) {
                *b = load_words(&tiles[block].0[p]);
            }
            for (a, sums) in a.iter().zip(&mut sums) {
                let a = pairs(_mm512_set1_epi32(a[p].cast_signed()));
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = _mm512_dpbf16_ps(*sum, a, pairs(b));
                }
            }
        }
    }
    sums
}
