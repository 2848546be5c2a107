//! How many steps of breaking a point needs.

use serde::{Deserialize, Serialize};

use super::report::RsbSolution;
use super::task::BrokenTask;
use crate::curve::Branch;
use crate::parameters::{Choice, DomainError};
use crate::ranges::ALPHA;

/// The stabilities may be this negative before one step more is taken. Just behind a
/// continuous onset one step leaves its stabilities negative by a few 1e-7.
pub const TOLERANCE: f64 = 1e-5;
/// The most steps that are taken unasked.
pub const MOST_STEPS: usize = 2;

/// A solution with as many steps as it needs, or [`MOST_STEPS`] of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoSolution {
    /// The solution.
    #[serde(flatten)]
    pub solution: RsbSolution,
    /// Whether all its stabilities are above −tolerance.
    pub is_stable: bool,
    /// Whether the symmetry is broken although the replicon is positive: clusters
    /// with q_1 > q_0 have appeared at a distance (a discontinuous onset).
    pub is_discontinuous: bool,
}

impl BrokenTask<'_> {
    /// The solution of choice at `alpha` with the smallest number of steps, at most
    /// [`MOST_STEPS`], whose stabilities are all above −`tolerance`.
    pub fn auto(
        &self,
        alpha: f64,
        choice: Choice,
        tolerance: f64,
    ) -> Result<AutoSolution, DomainError> {
        self.as_needed(alpha, choice, tolerance, MOST_STEPS)
    }

    /// The same with at most `most_steps` steps.
    pub fn as_needed(
        &self,
        alpha: f64,
        choice: Choice,
        tolerance: f64,
        most_steps: usize,
    ) -> Result<AutoSolution, DomainError> {
        match choice {
            Choice::Good | Choice::Middle => {
                let solution = self.symmetric(alpha, choice)?;
                let is_stable = solution.is_stable(tolerance);
                Ok(AutoSolution { solution, is_stable, is_discontinuous: false })
            }
            Choice::Poor => self.poor_as_needed(alpha, tolerance, most_steps),
            Choice::Stable => {
                let poor = self.poor_as_needed(alpha, tolerance, most_steps)?;
                // φ of an unstable solution is too large to be compared.
                let rival = self
                    .all_symmetric(ALPHA.check("alpha", alpha)?)
                    .into_iter()
                    .filter(|(s, branch)| {
                        let elsewhere = !matches!(branch, Branch::Poor | Branch::Only);
                        let symmetric = most_steps == 0 && s.is_found();
                        elsewhere && !s.is_saddle && (symmetric || s.is_stable(tolerance))
                    })
                    .map(|(s, _)| s)
                    .max_by(|a, b| a.minus_beta_f.total_cmp(&b.minus_beta_f));
                Ok(match rival {
                    Some(solution)
                        if !poor.solution.is_found()
                            || solution.minus_beta_f > poor.solution.minus_beta_f =>
                    {
                        let is_stable = solution.is_stable(tolerance);
                        AutoSolution { solution, is_stable, is_discontinuous: false }
                    }
                    _ => poor,
                })
            }
        }
    }

    fn poor_as_needed(
        &self,
        alpha: f64,
        tolerance: f64,
        most_steps: usize,
    ) -> Result<AutoSolution, DomainError> {
        let mut chosen = self.poor(alpha, 0)?;
        let holds = chosen.is_stable(tolerance);
        let mut is_discontinuous = false;
        for steps in 1..=most_steps {
            // A positive replicon alone does not certify replica symmetry.
            if chosen.is_stable(tolerance) && steps > 1 {
                break;
            }
            let next = self.poor(alpha, steps)?;
            if next.is_found() {
                is_discontinuous |= steps == 1 && holds;
                chosen = next;
            } else if steps == 1 {
                // Where the broken branch has ended, the poor state has.
                if !holds {
                    chosen = next;
                }
                break;
            }
        }
        let is_stable = chosen.is_stable(tolerance);
        Ok(AutoSolution { solution: chosen, is_stable, is_discontinuous })
    }
}
