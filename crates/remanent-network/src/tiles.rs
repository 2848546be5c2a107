//! Matrix products by tiles of 16 rows of 64 bytes, the registers of recent Intel processors (AMX).
//!
//! A tile holds 16 × 16 words of 32 bits, and a word two bfloat16 ([`crate::bf16`]) or four bytes
//! (`binary/bytes.rs`) that follow one another in the summed dimension k. Left operands are
//! [rows][words of k], right operands [words of k][columns]: one is the transpose of the other. Products are tiles
//! as well, [`Sums`], and a [`Sink`] takes them where they belong.

pub mod amx;
mod sink;
mod transpose;

pub use sink::{Rowwise, Sink, Tiled, Transposed};
pub use transpose::transpose;

/// Rows of a left tile, columns of a right tile, and words of k in both.
pub const SIDE: usize = 16;

/// 16 × 16 words. The lowest part of a word is the number with the smallest k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Tile(pub [[u32; SIDE]; SIDE]);

impl Tile {
    /// Zeros.
    pub const ZERO: Self = Self([[0; SIDE]; SIDE]);
}

/// 16 × 16 sums. Those of bytes are integers, the bits of these numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Sums(pub [[f32; SIDE]; SIDE]);

impl Sums {
    /// No product yet.
    pub const ZERO: Self = Self([[0.0; SIDE]; SIDE]);
}

/// A packed operand, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Panels<'a> {
    /// Panels of 16 rows or columns.
    pub count: usize,
    /// Tiles of a panel.
    pub blocks: usize,
    /// Distances in `tiles` between panels and between the tiles of a panel.
    pub strides: [usize; 2],
    /// All tiles.
    pub tiles: &'a [Tile],
}

impl<'a> Panels<'a> {
    /// Panels one after another.
    pub fn contiguous(blocks: usize, tiles: &'a [Tile]) -> Self {
        Self { count: tiles.len() / blocks, blocks, strides: [blocks, 1], tiles }
    }

    /// A tile of a panel.
    #[inline(always)]
    pub fn tile(&self, panel: usize, block: usize) -> &'a Tile {
        &self.tiles[panel * self.strides[0] + block * self.strides[1]]
    }
}

/// The two bfloat16 of a word: that of the smaller k first.
#[inline(always)]
pub fn unpack(pair: u32) -> [f32; 2] {
    [f32::from_bits(pair << 16), f32::from_bits(pair & 0xffff_0000)]
}
