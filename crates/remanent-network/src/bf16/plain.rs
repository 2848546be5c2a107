//! The path without special instructions, and the packing that all paths share.

use remanent_math::multiversioned;

use super::{Output, Panels, Rows, SIDE, Tile, unpack};

/// A number rounded to bfloat16, in the upper half of the word.
#[inline(always)]
pub fn round(x: f32) -> u32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    // The carry of a NaN could make it infinite or zero.
    let rounded = if bits & 0x7fff_ffff > 0x7f80_0000 { bits | 0x0040_0000 } else { rounded };
    let rounded = if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { rounded };
    rounded & 0xffff_0000
}

/// Two numbers, that of the smaller k first.
#[inline(always)]
fn pair(first: f32, second: f32) -> u32 {
    round(first) >> 16 | round(second)
}

multiversioned! {
    /// Rows of up to 32 numbers of k.
    pub fn pack_along(x: Rows<'_>, tile: &mut Tile) {
        for (r, pairs) in tile.0.iter_mut().enumerate() {
            if r >= x.count {
                *pairs = [0; SIDE];
                continue;
            }
            let row = x.row(r);
            for (p, word) in pairs.iter_mut().enumerate() {
                let number = |k: usize| row.get(k).copied().unwrap_or(0.0);
                *word = pair(number(2 * p), number(2 * p + 1));
            }
        }
    }

    /// Up to 32 rows, one for each k.
    pub fn pack_across(x: Rows<'_>, tile: &mut Tile) {
        for (p, pairs) in tile.0.iter_mut().enumerate() {
            *pairs = [0; SIDE];
            if 2 * p + 1 < x.count {
                let (first, second) = (x.row(2 * p), x.row(2 * p + 1));
                for ((word, &first), &second) in pairs.iter_mut().zip(first).zip(second) {
                    *word = pair(first, second);
                }
            } else if 2 * p < x.count {
                for (word, &first) in pairs.iter_mut().zip(x.row(2 * p)) {
                    *word = pair(first, 0.0);
                }
            }
        }
    }

    /// Exchanges rows and columns of every tile.
    pub fn transpose(tiles: &mut [Tile]) {
        for tile in tiles {
            let old = tile.0;
            for (r, row) in tile.0.iter_mut().enumerate() {
                for (c, word) in row.iter_mut().enumerate() {
                    *word = old[c][r];
                }
            }
        }
    }

    /// See [`super::multiply`].
    pub fn multiply(scale: f32, a: Panels<'_>, b: Panels<'_>, out: &mut Output<'_>) {
        for (i, left) in a.tiles.chunks_exact(a.blocks).enumerate() {
            for (j, right) in b.tiles.chunks_exact(b.blocks).enumerate() {
                for first in (i * SIDE..out.rows.min((i + 1) * SIDE)).step_by(STEP) {
                    let sums = sums(left, right, first % SIDE);
                    let rows = first..out.rows.min(first + STEP);
                    for (row, sums) in rows.zip(&sums) {
                        out.write(row, j * SIDE, scale, sums);
                    }
                }
            }
        }
    }
}

/// Rows computed together.
const STEP: usize = 4;

/// Four rows of the product of two panels. Of a pair, the larger k is added first, as `vdpbf16ps` does.
#[inline(always)]
fn sums(left: &[Tile], right: &[Tile], first: usize) -> [[f32; SIDE]; STEP] {
    let mut sums = [[0.0; SIDE]; STEP];
    for (a, b) in left.iter().zip(right) {
        for p in 0..SIDE {
            for (row, sums) in sums.iter_mut().enumerate() {
                let [low, high] = unpack(a.0[first + row][p]);
                for (sum, &pair) in sums.iter_mut().zip(&b.0[p]) {
                    let other = unpack(pair);
                    *sum += high * other[1];
                    *sum += low * other[0];
                }
            }
        }
    }
    sums
}
