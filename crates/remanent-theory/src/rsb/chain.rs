//! A chain of tasks with broken replica symmetry, at most one step in every task.
//!
//! A task sees of its predecessor one configuration m̃, a sample of the whole measure. Its
//! own patterns are independent of m̃, so no overlap of m̃ with the new states enters
//! the energy, and all that matters is the law of θ̃ = artanh m̃ over the weights.
//! With one step the weight of a sample lives in a field of the law Q of [`super::law`], so
//!
//! ```text
//! P(m̃) = ∫ dB Q(B) e^{−A m̃²/2 + B m̃ + c S(m̃)} / e^{F(B)}
//! ```
//!
//! and the next task is the one-step problem of [`super::site`] with the fields
//! r_hat + √q_0_hat z + c θ̃. docs/RSB.md has the derivation.

use serde::{Deserialize, Serialize};

use super::auto::{AutoSolution, TOLERANCE};
use super::report::RsbSolution;
use super::task::BrokenTask;
use crate::agreement::{Agreement, errors};
use crate::chain::Chain;
use crate::inherited::InheritedLaw;
use crate::number;
use crate::overlaps::Conjugates;
use crate::parameters::DomainError;
use crate::posterior::{Posterior, signs};
use crate::resolution::Resolution;
use crate::single::asked;
use crate::solution::Termination;
use crate::stage::ACCURACY;

/// What a chain is after one of its tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenTaskResult {
    /// The number of the task, from 1.
    pub task: usize,
    /// The solution from which the chain continues.
    #[serde(flatten)]
    pub solution: RsbSolution,
    /// Whether all its stabilities are above −[`TOLERANCE`].
    pub is_stable: bool,
    /// Whether its symmetry is broken although the replicon is positive.
    pub is_discontinuous: bool,
    /// The error on every task, old and still to come, after this one.
    #[serde(with = "number::list")]
    pub eps_by_task: Vec<f64>,
}

impl Chain {
    /// Solves task after task with the number of steps each needs, at most `most_steps`,
    /// which is 0 or 1. Where a task has no solution of choice, the chain ends with the row
    /// that says so. The chain is solved with √2 times the nodes as well, and the
    /// difference is the `quadrature_error` of its rows.
    pub fn solve_broken(&self, most_steps: usize) -> Result<Vec<BrokenTaskResult>, DomainError> {
        let most_steps = most_steps.min(1);
        let coarse = self.solve_broken_at(most_steps, self.resolution)?;
        let mut fine = self.solve_broken_at(most_steps, self.resolution.level(1))?;
        for (t, row) in fine.iter_mut().enumerate() {
            let error = coarse.get(t).map_or(f64::NAN, |other| difference(other, row));
            row.solution.quadrature_error = error;
            if row.solution.is_found() {
                let is_accurate = error <= ACCURACY;
                row.solution.termination =
                    if is_accurate { Termination::Converged } else { Termination::Inaccurate };
            }
        }
        Ok(fine)
    }

    fn solve_broken_at(
        &self,
        most_steps: usize,
        resolution: Resolution,
    ) -> Result<Vec<BrokenTaskResult>, DomainError> {
        let mut rows = Vec::with_capacity(self.tasks());
        let mut inherited: Option<InheritedLaw> = None;
        for t in 0..self.tasks() {
            let alpha = self.alpha[t];
            let (row, posterior) = {
                let Some(task) = self.task(t, inherited.as_ref()) else { break };
                let broken = BrokenTask::of(task, alpha, resolution).for_one_alpha();
                let AutoSolution { mut solution, is_stable, is_discontinuous } =
                    broken.as_needed(alpha, self.choice[t], TOLERANCE, most_steps)?;
                if !solution.is_found() {
                    solution.branch = asked(self.choice[t]);
                }
                let (older, posterior) = match solution.is_found() {
                    false => (vec![Agreement::UNKNOWN; t], None),
                    true if solution.steps == 0 => {
                        let c = Conjugates {
                            stiffness: solution.stiffness,
                            q_0_hat: solution.q_hat[0],
                            r_hat: solution.r_hat,
                        };
                        let (site, fields) = (task.site(&c), task.fields(&c));
                        let older = signs(&site, &fields, resolution).older;
                        (older, Some(Posterior::new(site, &fields, resolution)))
                    }
                    true => {
                        let state = solution.state();
                        let surroundings = broken.system().surroundings();
                        let law = surroundings.law(&state.conjugates, state.x[0], resolution);
                        let older = law.agreements(resolution);
                        (older, Some(law.posterior(resolution)))
                    }
                };
                let agreements: Vec<Agreement> =
                    older.into_iter().chain([Agreement::of_error(solution.eps)]).collect();
                let eps_by_task = errors(&agreements, self.later_r_0(t));
                let row = BrokenTaskResult {
                    task: t + 1,
                    solution,
                    is_stable,
                    is_discontinuous,
                    eps_by_task,
                };
                (row, posterior)
            };
            rows.push(row);
            let Some(posterior) = posterior else { break };
            inherited = self
                .r_0
                .get(t)
                .zip(self.fading.get(t))
                .map(|(r_0, fading)| posterior.faded(*r_0, *fading));
        }
        Ok(rows)
    }
}

/// The largest relative difference between two rows of the same task.
fn difference(a: &BrokenTaskResult, b: &BrokenTaskResult) -> f64 {
    let (s, u) = (&a.solution, &b.solution);
    if s.steps != u.steps || s.is_found() != u.is_found() {
        return f64::INFINITY;
    }
    let mut pairs = vec![
        (s.one_minus_q_d, u.one_minus_q_d, 0.0),
        (s.q_d_minus_q_k, u.q_d_minus_q_k, 0.0),
        (s.q_0_minus_r2, u.q_0_minus_r2, 0.0),
        (s.r, u.r, 0.01 * u.q.first().map_or(0.0, |q| q.sqrt())),
        (s.p, u.p, 1e-3),
        (s.minus_beta_f, u.minus_beta_f, 0.01),
    ];
    for (a, b) in [(&s.q_gaps, &u.q_gaps), (&s.x, &u.x), (&s.q_hat, &u.q_hat)] {
        pairs.extend(a.iter().zip(b).map(|(a, b)| (*a, *b, 0.0)));
    }
    pairs.extend(s.stability.iter().zip(&u.stability).map(|(a, b)| (*a, *b, 1.0)));
    pairs.extend(a.eps_by_task.iter().zip(&b.eps_by_task).map(|(a, b)| (*a, *b, 1e-9)));
    let relative = |(a, b, size): &(f64, f64, f64)| (a - b).abs() / b.abs().max(*size);
    pairs.iter().map(relative).fold(0.0, |m, e| if e.is_nan() { f64::NAN } else { f64::max(m, e) })
}
