//! A solution of the saddle-point equations, as it is reported.

use remanent_math::linear;
use remanent_math::newton::{Outcome, Root};
use serde::{Deserialize, Serialize};

use crate::anchor::Posterior;
use crate::curve::{Branch, Curve, Start};
use crate::overlaps::{Conjugates, Resolution};
use crate::stage::{Stage, climb, conclude};
use crate::task::{Task, from_coordinates};

/// How the search for a solution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Termination {
    /// The equations hold to the reported residual, and no number is off by more than
    /// 1e-8 relative on account of quadrature.
    Converged,
    /// A solution was found, but its numbers are only as good as `quadrature_error` says.
    Inaccurate,
    /// The limit of iterations was reached first.
    MaxIterations,
    /// The iteration left the domain of the equations, or the branch goes on
    /// where they cannot be evaluated (q_d within 1e-10 of 1).
    LeftDomain,
    /// There is no solution on the asked branch.
    NoSolution,
}

impl std::fmt::Display for Termination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Converged => "converged",
            Self::Inaccurate => "inaccurate",
            Self::MaxIterations => "max_iterations",
            Self::LeftDomain => "left_domain",
            Self::NoSolution => "no_solution",
        })
    }
}

/// One solution for one task. Where there is none, the numbers are NaN (null in
/// JSON) and `termination` says why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Solution {
    /// Patterns per weight α.
    pub alpha: f64,
    /// Inverse temperature β.
    pub beta: f64,
    /// The branch it lies on.
    pub branch: Branch,
    /// Self-overlap q_d.
    pub q_d: f64,
    /// Overlap q_0 of two states.
    pub q_0: f64,
    /// Overlap r with the task's teacher.
    pub r: f64,
    /// Conjugate of q_d.
    pub q_d_hat: f64,
    /// Conjugate of q_0.
    pub q_0_hat: f64,
    /// Conjugate of r.
    pub r_hat: f64,
    /// Overlap p of the decoded weights sign(m) with the teacher.
    pub p: f64,
    /// Generalisation error ε = arccos(p)/π.
    pub eps: f64,
    /// ln ε, which does not underflow.
    pub ln_eps: f64,
    /// 1 − p.
    pub one_minus_p: f64,
    /// 1 − q_d.
    pub one_minus_q_d: f64,
    /// q_d − q_0.
    pub q_d_minus_q_0: f64,
    /// q_0 − r².
    pub q_0_minus_r2: f64,
    /// −βf per weight; for a later task its potential.
    pub minus_beta_f: f64,
    /// The replicon; negative where replica symmetry is broken.
    pub replicon: f64,
    /// Largest relative mismatch of the saddle-point equations.
    pub residual: f64,
    /// Estimate of the largest relative error of any of these numbers that is due to
    /// quadrature: by how much they differ from those of a solution with 1/√2 of the nodes.
    pub quadrature_error: f64,
    /// How the search ended.
    pub termination: Termination,
}

/// ε and ln ε from ln(1 − p).
pub fn generalisation_error(ln_one_minus_p: f64) -> (f64, f64) {
    if ln_one_minus_p.is_nan() {
        return (f64::NAN, f64::NAN);
    }
    // ε = (2/π) asin √((1 − p)/2).
    let half = 0.5 * (ln_one_minus_p - std::f64::consts::LN_2);
    if half < -12.0 {
        let ln_eps = half + std::f64::consts::FRAC_2_PI.ln();
        return (ln_eps.exp(), ln_eps);
    }
    let eps = std::f64::consts::FRAC_2_PI * half.exp().min(1.0).asin();
    (eps, eps.ln())
}

impl Solution {
    /// The row that says that there is none.
    pub fn none(alpha: f64, beta: f64, branch: Branch, termination: Termination) -> Self {
        let nan = f64::NAN;
        Self {
            alpha,
            beta,
            branch,
            q_d: nan,
            q_0: nan,
            r: nan,
            q_d_hat: nan,
            q_0_hat: nan,
            r_hat: nan,
            p: nan,
            eps: nan,
            ln_eps: nan,
            one_minus_p: nan,
            one_minus_q_d: nan,
            q_d_minus_q_0: nan,
            q_0_minus_r2: nan,
            minus_beta_f: nan,
            replicon: nan,
            residual: nan,
            quadrature_error: nan,
            termination,
        }
    }

    /// Whether the numbers are those of a solution, and accurate.
    pub fn is_converged(&self) -> bool {
        self.termination == Termination::Converged
    }

    /// Whether the numbers are those of a solution, accurate or not.
    pub fn is_found(&self) -> bool {
        matches!(self.termination, Termination::Converged | Termination::Inaccurate)
    }
}

/// A root of the equations before its observables are computed.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The branch.
    pub branch: Branch,
    /// Whether it is a saddle between two other solutions.
    pub is_saddle: bool,
    /// Where Newton's method ended.
    pub root: Root<3>,
}

impl Found {
    /// −βf (or the potential) per weight.
    pub fn minus_beta_f(&self, task: &Task, alpha: f64, resolution: Resolution) -> f64 {
        let c = from_coordinates(&self.root.x);
        task.turn(&c, resolution).map_or(f64::NAN, |turn| free_energy(task, alpha, &c, &turn))
    }
}

pub(crate) fn free_energy(
    task: &Task,
    alpha: f64,
    c: &Conjugates,
    turn: &crate::task::Turn,
) -> f64 {
    let o = &turn.site.overlaps;
    let kappa = task.one_minus_q_star.unwrap_or(o.one_minus_q_d);
    // 1 − r from the parts of 1 − r².
    let one_minus_r = if o.r > 0.0 {
        (o.one_minus_q_d + o.q_d_minus_q_0 + o.q_0_minus_r2) / (1.0 + o.r)
    } else {
        1.0 - o.r
    };
    // The constant of the KL term, and what the mean of B takes from ln Z.
    let kl_constant = match task.anchor {
        Some(anchor) if task.coupling > 0.0 => anchor.kl_constant_and_mean(),
        _ => -std::f64::consts::LN_2,
    };
    // −½ q̂_d q_d + ½ q̂_0 q_0 − r̂ r + E[ln Z] without the large terms that cancel:
    // ½ A q_d − ½ A = −½ A (1 − q_d), and E[B] = r̂ + c E[θ̃].
    -0.5 * c.stiffness * kappa - 0.5 * c.q_0_hat * o.q_d_minus_q_0
        + c.r_hat * one_minus_r
        + turn.site.ln_z_rest
        + task.coupling * kl_constant
        + alpha * turn.energy.g_e
}

/// Every solution on the curve at `alpha`, in the order of the curve.
pub fn roots(curve: &Curve, alpha: f64, resolution: Resolution) -> Vec<Found> {
    roots_on(curve, alpha, resolution, |_| true)
}

/// The solutions on the wanted branches.
pub fn roots_on(
    curve: &Curve,
    alpha: f64,
    resolution: Resolution,
    wanted: impl Fn(Branch) -> bool,
) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for start in curve.starts(alpha).into_iter().filter(|s| wanted(s.branch)) {
        // A root far from its start lies on another branch.
        let solve = |start: &Start| {
            let mut root =
                curve.task().solve(alpha, start.coordinates, Some(start.jacobian), resolution);
            if linear::max_norm(&linear::axpy(&root.x, -1.0, &start.coordinates)) > 1.0 {
                root.outcome = Outcome::LeftDomain;
            }
            root
        };
        let mut root = solve(&start);
        if root.outcome != Outcome::Converged
            && let Some(better) = curve.retraced(&start, alpha)
        {
            root = solve(&better);
        }
        found.push(Found { branch: start.branch, is_saddle: start.is_saddle, root });
    }
    found
}

/// Computes all that is reported of a root. What the task inherits is taken as it is.
pub fn finish(task: &Task, alpha: f64, found: &Found, resolution: Resolution) -> Solution {
    let mut stages = match Stage::of(task, alpha, found, resolution) {
        Ok(stage) => vec![stage],
        Err(why) => return Solution::none(alpha, task.beta, found.branch, why),
    };
    let estimate = climb(&mut stages, |stages, level| {
        stages[level - 1].refined(task, alpha, resolution.level(level))
    });
    conclude(&stages, estimate)
}

/// The law of the magnetisations that a task leaves.
pub fn posterior(task: &Task, found: &Found, resolution: Resolution) -> Posterior {
    let c = from_coordinates(&found.root.x);
    Posterior::new(task.site(&c), &task.fields(&c), resolution)
}
