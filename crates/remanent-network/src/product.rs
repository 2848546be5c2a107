//! The matrix product: checked, then computed by the single-precision part of the `gemm` crate, or with AVX-512
//! by our own loops where they are faster.
//!
//! The activations of a batch are stored neuron by neuron: N × B numbers, the B samples of a neuron
//! side by side. With weights stored as N_l × N_{l+1}, all six products of a layer run at the
//! library's full speed, without a transposed copy of the weights.

#[cfg(target_arch = "x86_64")]
mod avx512;

use gemm_common::Parallelism;
use gemm_f32::gemm::f32::get_gemm_fn;
use serde::{Deserialize, Serialize};

use crate::bf16::Path;

/// The precision of the inputs of matrix products. Sums are in single precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision.
    #[default]
    F32,
    /// bfloat16: 8 bits of mantissa, rounded to nearest.
    Bf16,
}

impl Precision {
    /// Whether this is single precision.
    pub fn is_single(&self) -> bool {
        *self == Self::F32
    }

    /// Whether this processor has instructions for it. Without them bf16 costs more time than single precision.
    pub fn has_instructions(self) -> bool {
        self == Self::F32 || Path::best() != Path::Plain
    }

    /// The instructions of its products on this machine. Results agree to the rounding of sums between
    /// instruction sets.
    pub fn instructions(self) -> String {
        match self {
            Self::F32 => instructions().into(),
            Self::Bf16 => format!("{}+bf16-{}", instructions(), Path::best().name()),
        }
    }
}

/// A matrix view of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A matrix stored row after row.
    ///
    /// # Panics
    ///
    /// If the slice is not of rows × columns numbers.
    pub fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a {rows} × {columns} matrix");
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// Rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self {
            values: self.values,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }
}

/// `out` = `scale` · a · b, where `out` is stored row after row.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn multiply(out: &mut [f32], scale: f32, a: Matrix<'_>, b: Matrix<'_>) {
    assert_eq!(a.columns, b.rows, "the inner dimensions of a product");
    assert_eq!(out.len(), a.rows * b.columns, "the shape of a product");
    #[cfg(target_arch = "x86_64")]
    if avx512::is_faster(&a, &b) && avx512::is_available() {
        avx512::multiply(out, scale, a, b);
        return;
    }
    let stride = |n: usize| n as isize;
    // out = a b row by row is outᵀ = bᵀ aᵀ column by column, the layout the library is fastest with.
    #[expect(unsafe_code, reason = "the library takes pointers; the lengths are checked above")]
    // SAFETY: `out` holds rows × columns numbers by the assertion, and is borrowed alone. `a` and
    // `b` hold exactly rows × columns numbers by construction, with strides that step through
    // each of them once.
    unsafe {
        get_gemm_fn()(
            b.columns,
            a.rows,
            a.columns,
            out.as_mut_ptr(),
            stride(b.columns),
            1,
            false,
            b.values.as_ptr(),
            stride(b.row_stride),
            stride(b.column_stride),
            a.values.as_ptr(),
            stride(a.row_stride),
            stride(a.column_stride),
            0.0,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// The instruction set that [`multiply`] uses on this machine. Results agree to rounding between
/// instruction sets.
pub fn instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return "avx512";
        }
        if std::arch::is_x86_feature_detected!("fma") {
            return "avx2";
        }
    }
    std::env::consts::ARCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_definition_in_every_layout() {
        let (m, k, n) = (7, 5, 33);
        let a: Vec<f32> = (0..m * k).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i * 5 % 13) as f32 - 6.0).collect();
        let flip = |x: &[f32], rows: usize, columns: usize| -> Vec<f32> {
            (0..rows * columns).map(|i| x[i % rows * columns + i / rows]).collect()
        };
        let expected: Vec<f32> = (0..m * n)
            .map(|at| (0..k).map(|i| 0.5 * a[at / n * k + i] * b[i * n + at % n]).sum())
            .collect();
        let (at, bt) = (flip(&a, m, k), flip(&b, k, n));
        let lefts = [Matrix::new(&a, m, k), Matrix::new(&at, k, m).transposed()];
        let rights = [Matrix::new(&b, k, n), Matrix::new(&bt, n, k).transposed()];
        for left in lefts {
            for right in rights {
                let mut out = vec![f32::NAN; m * n];
                multiply(&mut out, 0.5, left, right);
                assert_eq!(out, expected);
            }
        }
    }
}
