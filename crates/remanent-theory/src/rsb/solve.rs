//! Newton's method for the K-step equations, with what is held fixed.

use remanent_math::newton::{Newton, Root};

use super::equations::System;
use super::state::{gap_index, x_index};

/// What closes the equations, which have one unknown more than there are of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hold {
    /// ln α.
    LnAlpha(f64),
    /// ln(q_l_hat − q_{l−1}_hat) of one level.
    LnGap(usize, f64),
}

/// The Jacobian of a closed system, from that of the curve.
pub(super) fn close<const M: usize>(jacobian: &[[f64; M]; M], hold: Hold) -> [[f64; M]; M] {
    let mut j = *jacobian;
    j[M - 1] = [0.0; M];
    match hold {
        Hold::LnAlpha(_) => j[M - 1][M - 1] = 1.0,
        Hold::LnGap(l, _) => j[M - 1][gap_index(l)] = 1.0,
    }
    j
}

/// Solves the static equations, ∂φ/∂x_l = 0 included, from `start`.
pub(super) fn solve<const M: usize>(
    system: &System,
    hold: Hold,
    start: [f64; M],
    jacobian: Option<&[[f64; M]; M]>,
) -> Root<M> {
    let mut equations = system.equations::<M>();
    let mut f = |y: &[f64; M]| {
        let mut r = equations(y)?;
        r[M - 1] = match hold {
            Hold::LnAlpha(value) => y[M - 1] - value,
            Hold::LnGap(l, value) => y[gap_index(l)] - value,
        };
        Some(r)
    };
    newton().solve(&mut f, start, jacobian.map(|j| close(j, hold)))
}

/// Solves the equations at the Parisi parameters and the α of `start`, without
/// the equations ∂φ/∂x_l = 0.
pub(super) fn solve_at_x<const M: usize>(
    system: &System,
    start: [f64; M],
    jacobian: Option<&[[f64; M]; M]>,
) -> Root<M> {
    let steps = (M - 4) / 2;
    let mut equations = system.equations::<M>();
    let mut f = |y: &[f64; M]| {
        let mut r = equations(y)?;
        for l in 1..=steps {
            r[x_index(steps, l)] = y[x_index(steps, l)] - start[x_index(steps, l)];
        }
        r[M - 1] = y[M - 1] - start[M - 1];
        Some(r)
    };
    newton().solve(&mut f, start, jacobian.copied())
}

/// The equation of x is a difference of third order: its rounding ends Newton's
/// method before the others'.
fn newton() -> Newton {
    Newton {
        tolerance: 2e-12,
        acceptable: 3e-9,
        max_iterations: 30,
        difference: 3e-5,
        ..Newton::default()
    }
}
