//! How many steps of breaking a point needs.

use super::report::RsbSolution;
use super::task::BrokenTask;
use crate::parameters::{Choice, ParameterError};
use crate::solution::Termination;

/// The stabilities may be this negative before one step more is taken. Just behind a
/// continuous onset one step leaves its stabilities negative by a few 1e-7.
pub const TOLERANCE: f64 = 1e-5;
/// The most steps that are taken unasked.
pub const MOST_STEPS: usize = 2;

/// A solution with as many steps as it needs, or [`MOST_STEPS`] of them.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoSolution {
    /// The solution.
    pub solution: RsbSolution,
    /// Whether all its stabilities are above −tolerance.
    pub is_stable: bool,
    /// Whether the symmetry is broken although the replicon is positive: clusters
    /// with q_1 > q_0 have appeared at a distance (a discontinuous onset).
    pub is_discontinuous: bool,
}

impl BrokenTask {
    /// The solution of choice at `alpha` with the smallest number of steps whose
    /// stabilities are all above −`tolerance`.
    pub fn auto(
        &self,
        alpha: f64,
        choice: Choice,
        tolerance: f64,
    ) -> Result<AutoSolution, ParameterError> {
        let symmetric = |choice| -> Result<AutoSolution, ParameterError> {
            let s = self.single().solve(alpha, choice)?;
            let solution = RsbSolution::symmetric(&s, choice == Choice::Middle);
            let is_stable = solution.is_stable(tolerance);
            Ok(AutoSolution { solution, is_stable, is_discontinuous: false })
        };
        match choice {
            Choice::Good | Choice::Middle => symmetric(choice),
            Choice::Poor => self.poor_as_needed(alpha, tolerance),
            Choice::Stable => {
                let poor = self.poor_as_needed(alpha, tolerance)?;
                let good = symmetric(Choice::Good)?;
                let value = |s: &AutoSolution| match s.solution.termination {
                    Termination::Converged => s.solution.minus_beta_f,
                    _ => f64::NEG_INFINITY,
                };
                Ok(if value(&good) > value(&poor) { good } else { poor })
            }
        }
    }

    fn poor_as_needed(&self, alpha: f64, tolerance: f64) -> Result<AutoSolution, ParameterError> {
        let mut chosen = self.poor(alpha, 0)?;
        let holds = chosen.is_stable(tolerance);
        let mut is_discontinuous = false;
        for steps in 1..=MOST_STEPS {
            // A positive replicon alone does not certify replica symmetry.
            if chosen.is_stable(tolerance) && steps > 1 {
                break;
            }
            let next = self.poor(alpha, steps)?;
            if next.is_converged() {
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
