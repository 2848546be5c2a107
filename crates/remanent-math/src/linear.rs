//! Dense linear systems of a few unknowns, on the stack.

/// Solves `a x = b` by elimination with partial pivoting, after scaling the
/// rows; `None` where a pivot vanishes or a number is not finite.
pub fn solve<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> Option<[f64; N]> {
    for (row, rhs) in a.iter_mut().zip(&mut b) {
        let largest = row.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        if !(largest > 0.0 && largest.is_finite()) {
            return None;
        }
        row.iter_mut().for_each(|v| *v /= largest);
        *rhs /= largest;
    }
    for k in 0..N {
        let pivot = (k..N).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        if a[pivot][k] == 0.0 {
            return None;
        }
        a.swap(k, pivot);
        b.swap(k, pivot);
        let (pivot_row, pivot_b) = (a[k], b[k]);
        for i in k + 1..N {
            let factor = a[i][k] / pivot_row[k];
            for j in k..N {
                a[i][j] -= factor * pivot_row[j];
            }
            b[i] -= factor * pivot_b;
        }
    }
    let mut x = [0.0; N];
    for i in (0..N).rev() {
        let known: f64 = (i + 1..N).map(|j| a[i][j] * x[j]).sum();
        x[i] = (b[i] - known) / a[i][i];
    }
    x.iter().all(|v| v.is_finite()).then_some(x)
}

/// The largest sum of absolute values in a row of the inverse of `a`: how far the solution of
/// `a x = b` moves at most when no entry of b changes by more than 1. Infinite if `a` is singular.
pub fn inverse_norm<const N: usize>(a: &[[f64; N]; N]) -> f64 {
    let mut sums = [0.0; N];
    for k in 0..N {
        let Some(column) = solve(*a, std::array::from_fn(|i| if i == k { 1.0 } else { 0.0 }))
        else {
            return f64::INFINITY;
        };
        sums = std::array::from_fn(|i| sums[i] + column[i].abs());
    }
    max_norm(&sums)
}

/// The largest absolute value.
pub fn max_norm<const N: usize>(x: &[f64; N]) -> f64 {
    // `max` would swallow a NaN.
    x.iter().fold(0.0, |m, v| if v.abs() > m || v.is_nan() { v.abs() } else { m })
}

/// Σ a_i b_i.
pub fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `y + factor · x`.
pub fn axpy<const N: usize>(y: &[f64; N], factor: f64, x: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|i| y[i] + factor * x[i])
}

/// Broyden's update: the smallest change of `jacobian` that makes it map
/// `step` onto `change`.
pub fn broyden_update<const N: usize>(
    jacobian: &mut [[f64; N]; N],
    step: &[f64; N],
    change: &[f64; N],
) {
    let length2 = dot(step, step);
    if length2 == 0.0 {
        return;
    }
    for (row, wanted) in jacobian.iter_mut().zip(change) {
        let defect = (wanted - dot(row, step)) / length2;
        for (entry, s) in row.iter_mut().zip(step) {
            *entry += defect * s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_system_that_needs_pivoting() {
        let a = [[0.0, 2.0, 1.0], [1.0, -1.0, 0.0], [3.0, 0.0, -1e-8]];
        let x = [1.5, -2.0, 0.25];
        let b = std::array::from_fn(|i| dot(&a[i], &x));
        let solved = solve(a, b).unwrap();
        assert!(max_norm(&axpy(&solved, -1.0, &x)) < 1e-14);
        assert_eq!(solve([[1.0, 1.0], [1.0, 1.0]], [1.0, 2.0]), None);
        assert_eq!(solve([[f64::NAN, 1.0], [1.0, 1.0]], [1.0, 2.0]), None);
    }

    #[test]
    fn a_broyden_update_satisfies_the_secant_condition() {
        let mut j = [[1.0, 0.3], [-0.2, 2.0]];
        let (step, change) = ([0.4, -0.1], [0.9, 0.7]);
        broyden_update(&mut j, &step, &change);
        for i in 0..2 {
            assert!((dot(&j[i], &step) - change[i]).abs() < 1e-15);
        }
    }

    #[test]
    fn the_norm_of_the_inverse_bounds_how_far_a_solution_moves() {
        assert_eq!(inverse_norm(&[[2.0, 0.0], [0.0, 1e-3]]), 1e3);
        assert!((inverse_norm(&[[1.0, 0.5], [0.0, 1.0]]) - 1.5).abs() < 1e-15);
        assert_eq!(inverse_norm(&[[1.0, 1.0], [1.0, 1.0]]), f64::INFINITY);
    }
}
