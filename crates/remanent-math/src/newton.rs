//! Newton's method for a few unknowns. The Jacobian is kept and updated (Broyden) while the residual
//! falls, and recomputed by finite differences when it stalls.

use crate::linear::{axpy, broyden_update, max_norm, solve};

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Newton {
    /// The residual at which to stop, in the maximum norm.
    pub tolerance: f64,
    /// The residual that counts as converged when rounding prevents a smaller one.
    pub acceptable: f64,
    /// The largest step that may be left when it stops. Where the Jacobian is nearly singular, a
    /// small residual says little about the unknowns.
    pub remaining: f64,
    /// Whether the step that is left when it stops is taken all the same. The equations are not evaluated
    /// once more, so it costs nothing; the residual that is reported is the one before it.
    pub takes_last: bool,
    /// Largest number of steps.
    pub max_iterations: usize,
    /// Largest change of an unknown in one step.
    pub max_step: f64,
    /// Relative step of the finite differences.
    pub difference: f64,
}

impl Default for Newton {
    fn default() -> Self {
        Self {
            tolerance: 1e-12,
            acceptable: 1e-10,
            remaining: f64::INFINITY,
            takes_last: false,
            max_iterations: 40,
            max_step: 0.7,
            difference: 1e-6,
        }
    }
}

/// Why the iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The residual is at or below the tolerance, or limited by rounding.
    Converged,
    /// The limit of steps was reached.
    MaxIterations,
    /// No step stays in the domain of the equations.
    LeftDomain,
}

/// Where the iteration ended.
#[derive(Clone, Copy, Debug)]
pub struct Root<const N: usize> {
    /// The unknowns.
    pub x: [f64; N],
    /// The largest residual there.
    pub residual: f64,
    /// The Jacobian, exact or corrected.
    pub jacobian: [[f64; N]; N],
    /// Why it ended.
    pub outcome: Outcome,
}

impl Newton {
    /// Solves `f(x) = 0` from `x`. `f` returns `None` outside its domain. Without a `jacobian`, one is
    /// computed by finite differences.
    pub fn solve<const N: usize>(
        &self,
        f: &mut dyn FnMut(&[f64; N]) -> Option<[f64; N]>,
        mut x: [f64; N],
        jacobian: Option<[[f64; N]; N]>,
    ) -> Root<N> {
        let zero = [[0.0; N]; N];
        let ended = |x, residual, jacobian, outcome| Root { x, residual, jacobian, outcome };
        let Some(mut r) = f(&x) else {
            return ended(x, f64::NAN, jacobian.unwrap_or(zero), Outcome::LeftDomain);
        };
        let mut fresh = jacobian.is_none();
        let mut j = match jacobian.or_else(|| differences(f, &x, &r, self.difference)) {
            Some(j) => j,
            None => return ended(x, max_norm(&r), zero, Outcome::LeftDomain),
        };
        let mut norm = max_norm(&r);
        for _ in 0..self.max_iterations {
            let step = solve(j, r);
            let remaining = step.as_ref().map_or(0.0, max_norm);
            if norm <= self.tolerance && remaining <= self.remaining {
                let x = match step {
                    Some(step) if self.takes_last => axpy(&x, -1.0, &step),
                    _ => x,
                };
                return ended(x, norm, j, Outcome::Converged);
            }
            // Along a Jacobian taken here it pays to shorten the step; along an old one it does not.
            let trials = if fresh && norm > self.tolerance { 6 } else { 1 };
            let improved = step.and_then(|step| self.improve(f, &x, &j, &step, norm, trials));
            match improved {
                Some((xc, rc, nc)) => {
                    let step = axpy(&xc, -1.0, &x);
                    // Below the tolerance residuals change by rounding, which says nothing about the Jacobian.
                    if norm > self.tolerance {
                        broyden_update(&mut j, &step, &axpy(&rc, -1.0, &r));
                    }
                    let slow = nc > 0.2 * norm;
                    (x, r, norm) = (xc, rc, nc);
                    fresh = false;
                    if slow
                        && norm > self.acceptable
                        && let Some(jd) = differences(f, &x, &r, self.difference)
                    {
                        (j, fresh) = (jd, true);
                    }
                }
                None if fresh || norm <= 30.0 * self.tolerance => {
                    let outcome = if norm <= self.acceptable {
                        Outcome::Converged
                    } else {
                        Outcome::LeftDomain
                    };
                    return ended(x, norm, j, outcome);
                }
                None => match differences(f, &x, &r, self.difference) {
                    Some(jd) => (j, fresh) = (jd, true),
                    None => return ended(x, norm, j, Outcome::LeftDomain),
                },
            }
        }
        let outcome =
            if norm <= self.acceptable { Outcome::Converged } else { Outcome::MaxIterations };
        ended(x, norm, j, outcome)
    }

    /// The first of up to `trials` ever shorter steps against `step` that makes the residual
    /// smaller than 0.95 `norm`: where it leads, the residuals there and their norm. If there is none near a root, the
    /// whole step, if it halves at least what is left to go by the same Jacobian `j`: an equation that is much
    /// steeper than the others may have a larger residual nearer to the root.
    fn improve<const N: usize>(
        &self,
        f: &mut dyn FnMut(&[f64; N]) -> Option<[f64; N]>,
        x: &[f64; N],
        j: &[[f64; N]; N],
        step: &[f64; N],
        norm: f64,
        trials: usize,
    ) -> Option<([f64; N], [f64; N], f64)> {
        let length = max_norm(step);
        let mut factor = -(self.max_step / length).min(1.0);
        let mut nearer = None;
        for trial in 0..trials {
            let candidate = axpy(x, factor, step);
            if let Some(r) = f(&candidate) {
                let reached = max_norm(&r);
                if reached < 0.95 * norm {
                    return Some((candidate, r, reached));
                }
                let is_whole = trial == 0 && trials > 1 && length < NEAR;
                if is_whole && solve(*j, r).is_some_and(|left| max_norm(&left) < 0.5 * length) {
                    nearer = Some((candidate, r, reached));
                }
            }
            factor *= 0.35;
        }
        nearer
    }
}

/// Roots that are a step of less than this away are near.
const NEAR: f64 = 1e-5;

/// The Jacobian of `f` at `x` by forward differences; `r` is `f(x)`.
pub fn differences<const N: usize>(
    f: &mut dyn FnMut(&[f64; N]) -> Option<[f64; N]>,
    x: &[f64; N],
    r: &[f64; N],
    relative_step: f64,
) -> Option<[[f64; N]; N]> {
    let mut j = [[0.0; N]; N];
    for k in 0..N {
        let step = relative_step * (1.0 + x[k].abs());
        let shifted = |sign: f64| {
            let mut y = *x;
            y[k] += sign * step;
            (y[k] - x[k], y)
        };
        let (h, y) = shifted(1.0);
        let (h, ry) = match f(&y) {
            Some(ry) => (h, ry),
            None => {
                let (h, y) = shifted(-1.0);
                (h, f(&y)?)
            }
        };
        for i in 0..N {
            j[i][k] = (ry[i] - r[i]) / h;
        }
    }
    Some(j)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_root_of_a_coupled_system() {
        let mut f = |x: &[f64; 2]| Some([x[0].exp() - x[1] - 1.0, x[0] * x[1] - 0.5]);
        let root = Newton::default().solve(&mut f, [1.0, 1.0], None);
        assert_eq!(root.outcome, Outcome::Converged);
        assert!(root.residual <= 1e-12);
    }

    #[test]
    fn a_small_residual_is_not_enough_where_the_jacobian_is_nearly_singular() {
        let mut f = |x: &[f64; 2]| Some([1e-6 * (x[0] - 0.3).sinh(), x[1] - x[0]]);
        let start = [0.3 + 5e-7, 0.3 + 5e-7];
        assert!(f(&start).unwrap()[0].abs() < 1e-12);
        let jacobian = Some([[1e-6, 0.0], [-1.0, 1.0]]);
        let root = Newton { remaining: 1e-11, ..Newton::default() }.solve(&mut f, start, jacobian);
        assert!((root.x[0] - 0.3).abs() < 1e-11 && (root.x[1] - 0.3).abs() < 1e-11, "{root:?}");
        assert_eq!(Newton::default().solve(&mut f, start, jacobian).x, start);
    }

    /// With forward differences the steep equation misses its root by more than the residual of the flat one.
    #[test]
    fn a_steep_equation_does_not_hold_back_a_flat_one() {
        let steep = |d: f64| 1e6 * (d + 3e3 * d * d);
        let mut f = |x: &[f64; 2]| Some([steep(x[0] - x[1]), x[0] - 0.3]);
        let start = [0.3 + 3e-8, 0.3 + 3e-8 - 1e-16];
        let root = Newton::default().solve(&mut f, start, None);
        assert_eq!(root.outcome, Outcome::Converged, "{root:?}");
        assert!((root.x[0] - 0.3).abs() < 1e-11, "{root:?}");
    }

    #[test]
    fn the_last_step_is_taken_if_asked_for() {
        let evaluations = std::cell::Cell::new(0);
        let mut f = |x: &[f64; 1]| {
            evaluations.set(evaluations.get() + 1);
            Some([x[0].exp() - 2.0])
        };
        let start = [std::f64::consts::LN_2 + 3e-13];
        let newton = Newton { takes_last: true, ..Newton::default() };
        let root = newton.solve(&mut f, start, Some([[2.0]]));
        assert!((root.x[0] - std::f64::consts::LN_2).abs() < 1e-15, "{root:?}");
        assert!(root.residual > 5e-13 && evaluations.get() == 1, "{root:?}");
        assert_eq!(Newton::default().solve(&mut f, start, Some([[2.0]])).x, start);
    }

    #[test]
    fn a_double_root_is_still_reached_to_the_acceptable_residual() {
        let mut f = |x: &[f64; 1]| Some([(x[0] - 0.3).powi(2)]);
        let root = Newton::default().solve(&mut f, [1.0], None);
        assert_eq!(root.outcome, Outcome::Converged);
        assert!((root.x[0] - 0.3).abs() < 1e-4);
    }

    #[test]
    fn says_when_there_is_none() {
        let mut f = |x: &[f64; 1]| Some([x[0] * x[0] + 1.0]);
        assert_ne!(Newton::default().solve(&mut f, [1.0], None).outcome, Outcome::Converged);
        let mut f = |x: &[f64; 1]| (x[0] > 0.0).then(|| [x[0].ln() + 800.0 + x[0]]);
        assert_ne!(Newton::default().solve(&mut f, [-1.0], None).outcome, Outcome::Converged);
    }
}
