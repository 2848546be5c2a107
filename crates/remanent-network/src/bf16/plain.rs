//! The path without special instructions, and the packing that all paths share.

use remanent_math::multiversioned;

use super::Rows;
use crate::tiles::{Panels, SIDE, Sink, Sums, Tile, unpack};

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
}

/// See [`super::multiply`].
pub fn multiply(a: Panels<'_>, b: Panels<'_>, sink: &mut impl Sink) {
    for i in 0..a.count {
        for j in 0..b.count {
            let sums = sink.place(i, j);
            *sums = Sums::ZERO;
            for block in 0..a.blocks {
                add(a.tile(i, block), b.tile(j, block), sums);
            }
            sink.done(i, j);
        }
    }
}

multiversioned! {
    /// Adds the product of two tiles. Of a pair, the larger k is added first, as `vdpbf16ps` does.
    fn add(a: &Tile, b: &Tile, sums: &mut Sums) {
        for (a, sums) in a.0.iter().zip(&mut sums.0) {
            let mut row = *sums;
            for (&a, b) in a.iter().zip(&b.0) {
                let [low, high] = unpack(a);
                for (sum, &pair) in row.iter_mut().zip(b) {
                    let other = unpack(pair);
                    *sum += high * other[1];
                    *sum += low * other[0];
                }
            }
            *sums = row;
        }
    }
}
