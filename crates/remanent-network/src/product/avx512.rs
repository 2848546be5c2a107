//! The matrix product with AVX-512, for a right operand that is stored row after row: activations or
//! gradients, neuron by neuron, the samples of a neuron side by side.
//!
//! A few rows of the product, up to 64 samples wide, stay in registers while k runs over a block of the right operand
//! that fits into the nearest cache. Each number of the left operand, a weight, is multiplied with whole registers of
//! samples. Weights are therefore used where they are, without packing.

use std::arch::x86_64::*;
use std::cell::RefCell;

use super::Matrix;

/// Numbers of a register.
const LANES: usize = 16;
/// Samples of a block.
const WIDE: usize = 4 * LANES;
/// Numbers of k of a block.
const DEPTH: usize = 128;
/// Rows of at least so many weights compete for the same places of the cache, if k runs across them; blocks are then
/// half as deep.
const LONG: usize = 1024;
/// How many numbers ahead of their use weights are asked for, if k runs across their rows.
const AHEAD: usize = 16;

/// Whether this processor has the instructions.
pub fn is_available() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
}

/// Whether this product is computed faster here than by the library, which packs both operands: with few samples, and
/// with k across long rows of weights. One sample has products of its own (`single.rs`).
pub fn is_faster(a: &Matrix<'_>, b: &Matrix<'_>) -> bool {
    let across = a.row_stride == 1 && a.column_stride >= LONG && b.columns <= WIDE;
    b.column_stride == 1 && a.columns > 1 && b.columns > 1 && (across || b.columns <= 2 * LANES)
}

/// `out` = `scale` · a · b, where `out` and `b` are stored row after row.
///
/// # Panics
///
/// If the processor does not have the instructions, or the shapes do not fit.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn multiply(out: &mut [f32], scale: f32, a: Matrix<'_>, b: Matrix<'_>) {
    assert!(is_available(), "a processor with AVX-512");
    assert_eq!(b.column_stride, 1, "a right operand stored row after row");
    assert_eq!(a.columns, b.rows, "the inner dimensions of a product");
    assert_eq!(out.len(), a.rows * b.columns, "the shape of a product");
    if a.columns == 0 {
        out.fill(0.0);
        return;
    }
    // SAFETY: the processor has the instructions.
    unsafe { blocks(out, scale, a, b) }
}

#[target_feature(enable = "avx512f")]
fn blocks(out: &mut [f32], scale: f32, a: Matrix<'_>, b: Matrix<'_>) {
    let most = if a.row_stride == 1 && a.column_stride >= LONG { DEPTH / 2 } else { DEPTH };
    for column in (0..b.columns).step_by(WIDE) {
        let width = (b.columns - column).min(WIDE);
        for k in (0..a.columns).step_by(most) {
            let depth = (a.columns - k).min(most);
            let scale = (k + depth == a.columns).then_some(scale);
            let block = Block { a, k, depth, columns: b.columns, column, width, scale };
            let from = &b.values[k * b.row_stride + column..];
            if b.row_stride <= WIDE {
                block.add(out, from, b.row_stride);
            } else {
                // Rows that are a power of two apart would compete for the same places of the cache.
                copied(from, b.row_stride, depth, width, |copy| block.add(out, copy, WIDE));
            }
        }
    }
}

/// Calls a function with a copy of the right operand, rows of [`WIDE`] numbers.
fn copied(from: &[f32], stride: usize, depth: usize, width: usize, then: impl FnOnce(&[f32])) {
    thread_local! {
        static COPY: RefCell<Vec<f32>> = RefCell::new(vec![0.0; DEPTH * WIDE]);
    }
    COPY.with_borrow_mut(|copy| {
        for (row, from) in copy.chunks_exact_mut(WIDE).zip(from.chunks(stride)).take(depth) {
            row[..width].copy_from_slice(&from[..width]);
        }
        then(copy);
    });
}

/// A part of the right operand, and what is multiplied with it.
#[derive(Clone, Copy)]
struct Block<'a> {
    a: Matrix<'a>,
    /// The first k.
    k: usize,
    /// How many.
    depth: usize,
    /// Columns of the product.
    columns: usize,
    /// The first one of the block.
    column: usize,
    /// Columns of the block.
    width: usize,
    /// Factor of the sums, if they end with this block.
    scale: Option<f32>,
}

impl Block<'_> {
    /// Adds the products of this block to the sums.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add(self, out: &mut [f32], right: &[f32], stride: usize) {
        match self.width.div_ceil(LANES) {
            1 => self.strips::<1, 16, 4>(out, right, stride),
            2 => self.strips::<2, 12, 4>(out, right, stride),
            3 => self.strips::<3, 8, 4>(out, right, stride),
            _ => self.strips::<4, 6, 3>(out, right, stride),
        }
    }

    /// As many strips of ROWS as fit, then smaller ones.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn strips<const COLUMNS: usize, const ROWS: usize, const FEW: usize>(
        self,
        out: &mut [f32],
        right: &[f32],
        stride: usize,
    ) {
        let mut row = 0;
        while self.a.rows - row >= ROWS {
            self.strip::<COLUMNS, ROWS>(out, row, right, stride);
            row += ROWS;
        }
        while self.a.rows - row >= FEW {
            self.strip::<COLUMNS, FEW>(out, row, right, stride);
            row += FEW;
        }
        while row < self.a.rows {
            self.strip::<COLUMNS, 1>(out, row, right, stride);
            row += 1;
        }
    }

    /// Some rows of the product, in registers.
    #[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
    #[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn strip<const COLUMNS: usize, const ROWS: usize>(
        self,
        out: &mut [f32],
        row: usize,
        right: &[f32],
        stride: usize,
    ) {
        let Self { a, k, depth, columns, column, width, scale } = self;
        assert!(row + ROWS <= a.rows && k + depth <= a.columns, "numbers of the left operand");
        assert!(column + width <= columns && (row + ROWS) * columns <= out.len(), "rows of sums");
        assert!((COLUMNS - 1) * LANES < width && width <= COLUMNS * LANES, "registers");
        assert!((depth - 1) * stride + width <= right.len(), "rows of the right operand");
        let ragged = width - (COLUMNS - 1) * LANES;
        let mask = |c: usize| -> __mmask16 {
            if c + 1 < COLUMNS { !0 } else { ((1_u32 << ragged) - 1) as __mmask16 }
        };
        let to = out[row * columns + column..].as_mut_ptr();
        let left = a.values[row * a.row_stride + k * a.column_stride..].as_ptr();
        let mut sums = [[_mm512_setzero_ps(); COLUMNS]; ROWS];
        // SAFETY: all places are within the slices by the assertions, for a `Matrix` holds its rows and columns;
        // what is not in a mask is neither read nor written. Addresses that are only asked for may lie
        // anywhere.
        unsafe {
            if k > 0 {
                for r in 0..ROWS {
                    for c in 0..COLUMNS {
                        let from = to.add(r * columns + c * LANES);
                        sums[r][c] = _mm512_maskz_loadu_ps(mask(c), from);
                    }
                }
            }
            for i in 0..depth {
                let mut numbers = [_mm512_setzero_ps(); COLUMNS];
                for c in 0..COLUMNS {
                    let from = right.as_ptr().add(i * stride + c * LANES);
                    numbers[c] = _mm512_maskz_loadu_ps(mask(c), from);
                }
                let weights = left.add(i * a.column_stride);
                if a.row_stride == 1 {
                    _mm_prefetch::<_MM_HINT_T0>(weights.wrapping_add(AHEAD).cast());
                }
                for r in 0..ROWS {
                    let weight = _mm512_set1_ps(*weights.add(r * a.row_stride));
                    for c in 0..COLUMNS {
                        sums[r][c] = _mm512_fmadd_ps(weight, numbers[c], sums[r][c]);
                    }
                }
            }
            for r in 0..ROWS {
                for c in 0..COLUMNS {
                    let sum = match scale {
                        Some(scale) => _mm512_mul_ps(_mm512_set1_ps(scale), sums[r][c]),
                        None => sums[r][c],
                    };
                    _mm512_mask_storeu_ps(to.add(r * columns + c * LANES), mask(c), sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, so that sums are exact in any order.
    fn numbers(count: usize, factor: usize) -> Vec<f32> {
        (0..count).map(|i| (i * factor % 11) as f32 - 5.0).collect()
    }

    #[test]
    fn products_are_those_of_the_definition_with_ragged_edges() {
        if !is_available() {
            return;
        }
        for columns in [2, 15, 16, 17, 33, 48, 63, 64, 65, 130] {
            for (rows, depth) in [(1, 1), (3, 63), (6, 64), (7, 65), (17, 129), (29, 300)] {
                let (a, b) = (numbers(rows * depth, 7), numbers(depth * columns, 3));
                let across: Vec<f32> =
                    (0..depth * rows).map(|i| a[i % rows * depth + i / rows]).collect();
                let expected: Vec<f32> = (0..rows * columns)
                    .map(|at| {
                        let (row, column) = (at / columns, at % columns);
                        let term = |k: usize| a[row * depth + k] * b[k * columns + column];
                        0.5 * (0..depth).map(term).sum::<f32>()
                    })
                    .collect();
                let right = Matrix::new(&b, depth, columns);
                let lefts =
                    [Matrix::new(&a, rows, depth), Matrix::new(&across, depth, rows).transposed()];
                for left in lefts {
                    let mut out = vec![f32::NAN; rows * columns];
                    multiply(&mut out, 0.5, left, right);
                    assert_eq!(out, expected, "{rows} × {depth} × {columns}");
                }
            }
        }
    }

    /// Long rows of weights have blocks of their own.
    #[test]
    fn long_rows_of_weights_are_multiplied_alike() {
        if !is_available() {
            return;
        }
        let (rows, depth, columns) = (LONG + 5, 131, 33);
        let (w, b) = (numbers(depth * rows, 7), numbers(depth * columns, 3));
        let (left, right) =
            (Matrix::new(&w, depth, rows).transposed(), Matrix::new(&b, depth, columns));
        assert!(is_faster(&left, &right));
        let mut out = vec![f32::NAN; rows * columns];
        multiply(&mut out, 2.0, left, right);
        for (at, found) in out.iter().enumerate() {
            let term = |k: usize| w[k * rows + at / columns] * b[k * columns + at % columns];
            assert_eq!(*found, 2.0 * (0..depth).map(term).sum::<f32>());
        }
    }
}
