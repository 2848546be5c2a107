//! Matrix products with inputs rounded to bfloat16 and sums in single precision.
//!
//! A bfloat16 is the upper half of an f32: 8 bits of mantissa. Inputs are rounded to nearest, ties to
//! even; subnormal inputs become zero. A product of two of them is exact in single precision, so
//! only the sums round.
//!
//! # Tiles
//!
//! The instructions add the products of two neighbours in the summed dimension k at a time. Operands
//! are therefore packed as pairs, in tiles of 16 × 16 pairs ([`crate::tiles`]): [rows of the left operand][pairs of k], and
//! [pairs of k][columns of the right one]. One is the transpose of the other. Edges are filled with zeros.
//!
//! # Paths
//!
//! [`Path::Amx`] multiplies whole tiles, [`Path::Avx512`] uses `vdpbf16ps`, and [`Path::Plain`] any
//! processor. All of them round inputs to the same bits. Sums differ in order, and the first two flush
//! subnormal sums to zero: results are equal to the rounding of single-precision sums, not bit
//! by bit. On one processor a product always has the same bits, whatever the thread and whatever is computed
//! beside it.

#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod moments;
mod plain;

use std::sync::OnceLock;

use crate::tiles::amx::{self, Numbers};
use crate::tiles::{Panels, SIDE, Sink, Tile, transpose};

/// Numbers of k in a tile.
const DEPTH: usize = 2 * SIDE;

/// How products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The tiles of recent Intel processors.
    Amx,
    /// `vdpbf16ps` of AVX-512.
    Avx512,
    /// No special instructions.
    Plain,
}

impl Path {
    /// All paths, the fastest first.
    pub const ALL: [Self; 3] = [Self::Amx, Self::Avx512, Self::Plain];

    /// The fastest path of this processor. Tests choose another one of its paths with the environment variable
    /// `REMANENT_BF16`.
    pub fn best() -> Self {
        static BEST: OnceLock<Path> = OnceLock::new();
        *BEST.get_or_init(|| {
            let forced = std::env::var("REMANENT_BF16").ok();
            let chosen = |path: &Self| forced.as_deref().is_none_or(|name| name == path.name());
            let fits = |path: &Self| path.is_available() && chosen(path);
            Self::ALL.into_iter().find(fits).unwrap_or(Self::Plain)
        })
    }

    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Amx => "amx",
            Self::Avx512 => "avx512",
            Self::Plain => "plain",
        }
    }

    /// Whether this processor and its operating system have it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Amx => amx::is_available(Numbers::Bf16),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::is_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 => false,
            Self::Plain => true,
        }
    }
}

/// A packed operand: panels of 16 rows or columns, each of as many tiles as k needs.
#[derive(Clone, Debug, Default)]
pub struct Operand {
    blocks: usize,
    tiles: Vec<Tile>,
}

/// A matrix in memory: `count` × `width` numbers, row after row.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// From the first number on.
    pub values: &'a [f32],
    /// Distance between rows.
    pub stride: usize,
    /// Number of rows.
    pub count: usize,
    /// Numbers of a row.
    pub width: usize,
}

impl Operand {
    /// Packs a left operand whose rows are these: k runs along the rows.
    pub fn pack_along(&mut self, path: Path, x: Rows<'_>) {
        self.resize(x.count, x.width);
        for (panel, tiles) in self.tiles.chunks_mut(self.blocks).enumerate() {
            let rows = SIDE.min(x.count - panel * SIDE);
            for (block, tile) in tiles.iter_mut().enumerate() {
                let part = x.part(panel * SIDE, block * DEPTH, rows, DEPTH);
                if path == Path::Plain || part.count < SIDE || part.width < DEPTH {
                    plain::pack_along(part, tile);
                } else {
                    pack_along_wide(part, tile);
                }
            }
        }
    }

    /// Packs a right operand whose columns are these: k runs across the rows.
    pub fn pack_across(&mut self, path: Path, x: Rows<'_>) {
        self.resize(x.width, x.count);
        let (blocks, panels) = (self.blocks, self.tiles.len() / self.blocks);
        // 32 rows after another, so that memory is read in order.
        for block in 0..blocks {
            for panel in 0..panels {
                let tile = &mut self.tiles[panel * blocks + block];
                let part = x.part(block * DEPTH, panel * SIDE, DEPTH, SIDE);
                if path == Path::Plain || part.count < DEPTH || part.width < SIDE {
                    plain::pack_across(part, tile);
                } else {
                    pack_across_wide(part, tile);
                }
            }
        }
    }

    /// Makes a left operand of a right one, or a right one of a left one: the transposed matrix.
    pub fn transpose(&mut self) {
        self.tiles.iter_mut().for_each(|tile| transpose(&mut tile.0));
    }

    /// All panels.
    pub fn all(&self) -> Panels<'_> {
        Panels::contiguous(self.blocks, &self.tiles)
    }

    /// The panels of these rows or columns.
    ///
    /// # Panics
    ///
    /// If they do not begin with a panel.
    pub fn panels(&self, range: std::ops::Range<usize>) -> Panels<'_> {
        assert!(range.start.is_multiple_of(SIDE), "a part begins with a panel");
        let (from, to) = (range.start / SIDE, range.end.div_ceil(SIDE));
        Panels::contiguous(self.blocks, &self.tiles[from * self.blocks..to * self.blocks])
    }

    fn resize(&mut self, width: usize, depth: usize) {
        self.blocks = depth.div_ceil(DEPTH).max(1);
        self.tiles.resize(width.div_ceil(SIDE) * self.blocks, Tile::ZERO);
    }
}

impl<'a> Rows<'a> {
    /// At most `count` × `width` numbers from a row and column on.
    fn part(self, row: usize, column: usize, count: usize, width: usize) -> Self {
        let (count, width) = (count.min(self.count - row), width.min(self.width - column));
        Self { values: &self.values[row * self.stride + column..], count, width, ..self }
    }

    /// One of the rows.
    #[inline(always)]
    fn row(self, index: usize) -> &'a [f32] {
        &self.values[index * self.stride..][..self.width]
    }
}

#[cfg(target_arch = "x86_64")]
use avx512::{pack_across as pack_across_wide, pack_along as pack_along_wide};
#[cfg(not(target_arch = "x86_64"))]
use plain::{pack_across as pack_across_wide, pack_along as pack_along_wide};

/// Gives the tiles of a · b to a sink.
///
/// # Panics
///
/// If the inner dimensions differ, or the sink has no place for a tile.
pub fn multiply(path: Path, a: Panels<'_>, b: Panels<'_>, sink: &mut impl Sink) {
    assert_eq!(a.blocks, b.blocks, "the inner dimensions of a product");
    match path {
        Path::Amx => amx::multiply(Numbers::Bf16, a, b, sink),
        #[cfg(target_arch = "x86_64")]
        Path::Avx512 => avx512::multiply(a, b, sink),
        #[cfg(not(target_arch = "x86_64"))]
        Path::Avx512 => plain::multiply(a, b, sink),
        Path::Plain => plain::multiply(a, b, sink),
    }
}

#[cfg(test)]
mod tests;
