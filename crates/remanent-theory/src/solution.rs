//! A solution of the saddle-point equations, as it is reported.

use serde::{Deserialize, Serialize};

use crate::curve::Branch;
use crate::number;

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

/// One solution for one task. Where there is none, the numbers are NaN (`null` in
/// JSON) and `termination` says why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    /// Patterns per weight α.
    pub alpha: f64,
    /// Inverse temperature β.
    pub beta: f64,
    /// The branch it lies on.
    pub branch: Branch,
    /// Self-overlap q_d.
    #[serde(with = "number")]
    pub q_d: f64,
    /// Overlap q_0 of two states.
    #[serde(with = "number")]
    pub q_0: f64,
    /// Overlap r with the task's teacher.
    #[serde(with = "number")]
    pub r: f64,
    /// Conjugate of q_d.
    #[serde(with = "number")]
    pub q_d_hat: f64,
    /// Conjugate of q_0.
    #[serde(with = "number")]
    pub q_0_hat: f64,
    /// Conjugate of r.
    #[serde(with = "number")]
    pub r_hat: f64,
    /// Overlap p of the decoded weights sign(m) with the teacher.
    #[serde(with = "number")]
    pub p: f64,
    /// Generalisation error ε = arccos(p)/π.
    #[serde(with = "number")]
    pub eps: f64,
    /// ln ε, which does not underflow.
    #[serde(with = "number")]
    pub ln_eps: f64,
    /// 1 − p.
    #[serde(with = "number")]
    pub one_minus_p: f64,
    /// 1 − q_d.
    #[serde(with = "number")]
    pub one_minus_q_d: f64,
    /// q_d − q_0.
    #[serde(with = "number")]
    pub q_d_minus_q_0: f64,
    /// q_0 − r².
    #[serde(with = "number")]
    pub q_0_minus_r2: f64,
    /// −βf per weight; for a later task its potential.
    #[serde(with = "number")]
    pub minus_beta_f: f64,
    /// The replicon; negative where replica symmetry is broken.
    #[serde(with = "number")]
    pub replicon: f64,
    /// Largest relative mismatch of the saddle-point equations.
    #[serde(with = "number")]
    pub residual: f64,
    /// Estimate of the largest relative error of any of these numbers that is due to
    /// quadrature: by how much they differ from those of a solution with 1/√2 of the nodes.
    #[serde(with = "number")]
    pub quadrature_error: f64,
    /// How the search ended.
    pub termination: Termination,
}

impl AsRef<Self> for Solution {
    fn as_ref(&self) -> &Self {
        self
    }
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
