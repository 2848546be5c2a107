//! Where the tiles of a product go.

use super::{SIDE, Sums, transpose};

/// Takes the tiles of a product, each once.
pub trait Sink {
    /// Where the sums of a tile are to be written, by its panel of rows and its panel of columns.
    fn place(&mut self, row: usize, column: usize) -> &mut Sums;
    /// They are written.
    fn done(&mut self, row: usize, column: usize);
}

/// Keeps the tiles: panel of rows by panel of rows, those of the columns side by side.
#[derive(Debug)]
pub struct Tiled<'a> {
    /// One for each panel of rows and panel of columns.
    pub tiles: &'a mut [Sums],
    /// Panels of columns.
    pub columns: usize,
}

impl Sink for Tiled<'_> {
    #[inline(always)]
    fn place(&mut self, row: usize, column: usize) -> &mut Sums {
        &mut self.tiles[row * self.columns + column]
    }

    #[inline(always)]
    fn done(&mut self, _: usize, _: usize) {}
}

/// A matrix of `columns` numbers a row, multiplied by `scale`.
#[derive(Debug)]
pub struct Rowwise<'a> {
    scale: f32,
    columns: usize,
    values: &'a mut [f32],
    sums: Sums,
}

impl<'a> Rowwise<'a> {
    /// For a product of this many columns.
    pub fn new(scale: f32, columns: usize, values: &'a mut [f32]) -> Self {
        Self { scale, columns, values, sums: Sums::ZERO }
    }

    fn put(&mut self, first_row: usize, first_column: usize) {
        let width = SIDE.min(self.columns - first_column);
        let rows = self.values.chunks_exact_mut(self.columns).skip(first_row);
        for (row, sums) in rows.zip(&self.sums.0) {
            let out = &mut row[first_column..][..width];
            if let Some(out) = out.first_chunk_mut::<SIDE>() {
                *out = sums.map(|sum| self.scale * sum);
            } else {
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out = self.scale * sum);
            }
        }
    }
}

impl Sink for Rowwise<'_> {
    #[inline(always)]
    fn place(&mut self, _: usize, _: usize) -> &mut Sums {
        &mut self.sums
    }

    #[inline(always)]
    fn done(&mut self, row: usize, column: usize) {
        self.put(row * SIDE, column * SIDE);
    }
}

/// The transposed product, otherwise as [`Rowwise`]: `columns` is the number of its columns, that of the
/// rows of the product.
#[derive(Debug)]
pub struct Transposed<'a>(Rowwise<'a>);

impl<'a> Transposed<'a> {
    /// For a product of this many rows.
    pub fn new(scale: f32, rows: usize, values: &'a mut [f32]) -> Self {
        Self(Rowwise::new(scale, rows, values))
    }
}

impl Sink for Transposed<'_> {
    #[inline(always)]
    fn place(&mut self, _: usize, _: usize) -> &mut Sums {
        &mut self.0.sums
    }

    #[inline(always)]
    fn done(&mut self, row: usize, column: usize) {
        transpose(&mut self.0.sums.0);
        self.0.put(column * SIDE, row * SIDE);
    }
}
