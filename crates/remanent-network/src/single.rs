//! Products of a batch of one image.
//!
//! Without a second image no matrix product is needed. The preactivations are a sum over the
//! weights of active inputs, and the gradient of a weight is a product of two numbers: inputs that are
//! zero (the background of an image, rectified neurons) cost nothing.
//!
//! Sums run over the inputs in order, with fused multiply-add where the processor has it, and factors
//! are multiplied in the order of the matrix product: the bits are those of
//! [`multiply`](crate::product::multiply), up to the sign of zero.

use remanent_math::multiversioned;

/// For layers with at most this many weights the matrix product multiplies the factors of a gradient in
/// another order. They stay with it.
pub const SMALL: usize = 256;

/// `out` = `scale` · wᵀ h, where w is stored row by row, one row for each number of `h`. Rows of zeros
/// in `h` are not read.
pub fn weighted_rows(scale: f32, w: &[f32], h: &[f32], out: &mut [f32]) {
    assert_eq!(w.len(), h.len() * out.len(), "the shape of a product");
    if has_fused() { fused(scale, w, h, out) } else { separate(scale, w, h, out) }
}

/// Whether [`multiply`](crate::product::multiply) fuses.
fn has_fused() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        cfg!(target_arch = "aarch64")
    }
}

#[remanent_math::multiversion::multiversion(targets(
    "x86_64+avx512f+avx512dq+avx512vl+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
fn fused(scale: f32, w: &[f32], h: &[f32], out: &mut [f32]) {
    add_rows(scale, w, h, out, f32::mul_add);
}

multiversioned! {
    fn separate(scale: f32, w: &[f32], h: &[f32], out: &mut [f32]) {
        add_rows(scale, w, h, out, |w, c, sum| w * c + sum);
    }

    /// g_ij = k_j (c h_i), for the upstream neurons in `h`.
    pub fn outer(c: f32, h: &[f32], k: &[f32], g: &mut [f32]) {
        for (&h, g) in h.iter().zip(g.chunks_exact_mut(k.len())) {
            if h == 0.0 {
                g.fill(0.0);
                continue;
            }
            let h = c * h;
            for (g, &k) in g.iter_mut().zip(k) {
                *g = k * h;
            }
        }
    }

    /// The gradient by θ of a field network, β σ² (k_j (c h_i) − μ r_j (d h_i²)), for the upstream
    /// neurons in `h`; `k` and `ratio` (r) belong to the downstream neurons.
    #[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
    pub fn field_gradient(
        [beta, c, d]: [f32; 3],
        h: &[f32],
        [k, ratio]: [&[f32]; 2],
        [mean, variance]: [&[f32]; 2],
        g: &mut [f32],
    ) {
        let n = k.len();
        let ratio = &ratio[..n];
        let rows = g.chunks_exact_mut(n).zip(mean.chunks_exact(n)).zip(variance.chunks_exact(n));
        for (&h, ((g, mean), variance)) in h.iter().zip(rows) {
            if h == 0.0 {
                g.fill(0.0);
                continue;
            }
            let (first, second) = (c * h, d * (h * h));
            for j in 0..n {
                let by_mean = k[j] * first;
                let by_variance = ratio[j] * second;
                g[j] = beta * variance[j] * (by_mean - mean[j] * by_variance);
            }
        }
    }
}

/// Four rows at a time, so that a sum is loaded and stored once for four terms.
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline(always)]
fn add_rows(
    scale: f32,
    w: &[f32],
    h: &[f32],
    out: &mut [f32],
    term: impl Fn(f32, f32, f32) -> f32,
) {
    let n = out.len();
    out.fill(0.0);
    let mut active = h.iter().enumerate().filter(|(_, h)| **h != 0.0);
    let mut next = || active.next().map(|(i, &h)| (scale * h, &w[i * n..][..n]));
    while let Some((c, row)) = next() {
        let Some((c1, row1)) = next() else {
            add_row(c, row, out, &term);
            break;
        };
        let Some((c2, row2)) = next() else {
            add_row(c, row, out, &term);
            add_row(c1, row1, out, &term);
            break;
        };
        let Some((c3, row3)) = next() else {
            add_row(c, row, out, &term);
            add_row(c1, row1, out, &term);
            add_row(c2, row2, out, &term);
            break;
        };
        for j in 0..n {
            let sum = term(row1[j], c1, term(row[j], c, out[j]));
            out[j] = term(row3[j], c3, term(row2[j], c2, sum));
        }
    }
}

#[inline(always)]
fn add_row(c: f32, row: &[f32], out: &mut [f32], term: &impl Fn(f32, f32, f32) -> f32) {
    for (out, &w) in out.iter_mut().zip(row) {
        *out = term(w, c, *out);
    }
}

#[cfg(test)]
mod tests {
    use remanent_math::philox::Stream;

    use super::*;
    use crate::kernels;
    use crate::product::{Matrix, multiply};

    fn normals(index: u32, count: usize) -> Vec<f32> {
        let mut x = vec![0.0; count];
        Stream::new(5, 6, 7, index).fill_normals(0, &mut x);
        x
    }

    /// Inputs of which about half are zero.
    fn sparse(index: u32, count: usize) -> Vec<f32> {
        normals(index, count).into_iter().map(|x| x.max(0.0)).collect()
    }

    /// Against the matrix product, whose order of sums is the same: no difference is allowed. With fewer
    /// than three inputs the library sums in another way.
    #[test]
    fn sums_are_those_of_the_matrix_product() {
        for (inputs, outputs) in [(3, 1), (7, 5), (15, 16), (33, 17), (100, 10), (784, 100)] {
            let (w, h) = (normals(1, inputs * outputs), sparse(2, inputs));
            let mut expected = vec![0.0; outputs];
            let weights = Matrix::new(&w, inputs, outputs).transposed();
            multiply(&mut expected, 0.3, weights, Matrix::new(&h, inputs, 1));
            let (mut found, mut plain) = (vec![f32::NAN; outputs], vec![f32::NAN; outputs]);
            weighted_rows(0.3, &w, &h, &mut found);
            if outputs > 1 {
                assert_eq!(found, expected, "{inputs} × {outputs}");
            }
            separate(0.3, &w, &h, &mut plain);
            for j in 0..outputs {
                let terms =
                    (0..inputs).map(|i| f64::from(0.3 * h[i]) * f64::from(w[i * outputs + j]));
                let size: f64 = terms.clone().map(f64::abs).sum();
                let exact: f64 = terms.sum();
                let bound = size * inputs as f64 * f64::from(f32::EPSILON);
                assert!((f64::from(found[j]) - exact).abs() <= bound);
                assert!((f64::from(plain[j]) - exact).abs() <= bound);
            }
        }
    }

    #[test]
    fn nothing_is_zero_and_nan_is_not_skipped() {
        let mut out = vec![1.0; 4];
        weighted_rows(1.0, &[1.0; 8], &[0.0, 0.0], &mut out);
        assert_eq!(out, [0.0; 4]);
        weighted_rows(1.0, &[1.0; 8], &[f32::NAN, 0.0], &mut out);
        assert!(out.iter().all(|x| x.is_nan()));
    }

    #[test]
    fn gradients_are_those_of_the_matrix_product() {
        for (inputs, outputs) in [(1, 257), (5, 65), (16, 17), (33, 100), (300, 1)] {
            let (h, k, ratio) = (sparse(3, inputs), normals(4, outputs), normals(5, outputs));
            let count = inputs * outputs;
            let (mean, variance) = (normals(6, count), normals(7, count));
            let [mut by_mean, mut by_variance] = [vec![0.0; count], vec![0.0; count]];
            let column = |x| Matrix::new(x, inputs, 1);
            let row = |x| Matrix::new(x, outputs, 1).transposed();
            let squares: Vec<f32> = h.iter().map(|h| h * h).collect();
            multiply(&mut by_mean, 0.3, column(&h), row(&k));
            multiply(&mut by_variance, 0.09, column(&squares), row(&ratio));
            let mut g = vec![f32::NAN; count];
            outer(0.3, &h, &k, &mut g);
            assert_eq!(g, by_mean);
            field_gradient([1.1, 0.3, 0.09], &h, [&k, &ratio], [&mean, &variance], &mut g);
            kernels::field_gradient(1.1, &mean, &variance, &by_variance, &mut by_mean);
            assert_eq!(g, by_mean);
        }
    }
}
