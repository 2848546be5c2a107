//! A chain of tasks: the Franz–Parisi potential of arXiv:2212.02846, continued
//! from two tasks to any number.
//!
//! The conjugates of task t depend on its own patterns and on the law of the
//! magnetisation before it, and on nothing else: the chain is Markov. Each task
//! is solved in the gauge of its own teacher; what it leaves is handed on by
//! [`Anchor`].

use serde::Serialize;

use crate::anchor::{Anchor, Posterior};
use crate::curve::Curve;
use crate::overlaps::Resolution;
use crate::parameters::{
    Choice, ParameterError, Prior, check_alpha, check_beta, check_gamma, check_q_star, check_r_0,
    spread,
};
use crate::single::{asked, choose, why_none};
use crate::solution::{Solution, finish, generalisation_error, roots};
use crate::task::Task;

/// A chain as a user states it: lists of one value, or of one per task (per
/// step between tasks for γ and r_0).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChainParameters {
    /// α of each task; its length is the number of tasks.
    pub alpha: Vec<f64>,
    /// β: one, or one per task.
    pub beta: Vec<f64>,
    /// Factor γ of the KL term to the previous task: one, or one per step.
    pub gamma: Vec<f64>,
    /// Overlap r_0 of neighbouring teachers: one, or one per step.
    pub r_0: Vec<f64>,
    /// The prior of the first task.
    pub prior: Prior,
    /// q_⋆ of each task, if the self-overlaps are held fixed; one or one per task.
    pub q_star: Vec<f64>,
    /// Which solution each task continues from: one, or one per task; empty means stable.
    pub choice: Vec<Choice>,
}

/// A checked chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    alpha: Vec<f64>,
    beta: Vec<f64>,
    gamma: Vec<f64>,
    r_0: Vec<f64>,
    prior: Prior,
    q_star: Option<Vec<f64>>,
    choice: Vec<Choice>,
    resolution: Resolution,
}

/// What the chain is after one of its tasks.
#[derive(Clone, Debug, Serialize)]
pub struct TaskResult {
    /// The number of the task, from 1.
    pub task: usize,
    /// The solution from which the chain continues.
    #[serde(flatten)]
    pub solution: Solution,
    /// The potential of the task, per weight.
    pub potential: f64,
    /// The error on every task, old and still to come, after this one.
    pub eps_by_task: Vec<f64>,
    /// The other solutions of this task.
    pub other_solutions: Vec<Solution>,
}

/// All tasks of a chain.
#[derive(Clone, Debug, Serialize)]
pub struct ChainResult {
    /// One entry per task.
    pub tasks: Vec<TaskResult>,
}

impl ChainResult {
    /// Whether every task has a solution.
    pub fn is_converged(&self) -> bool {
        self.tasks.iter().all(|t| t.solution.is_converged())
    }

    /// The errors on all tasks after the last one.
    pub fn final_errors(&self) -> &[f64] {
        self.tasks.last().map_or(&[], |t| &t.eps_by_task)
    }
}

impl ChainParameters {
    /// Checks ranges and lengths.
    pub fn check(&self) -> Result<Chain, ParameterError> {
        let tasks = self.alpha.len();
        let steps = tasks.saturating_sub(1);
        if tasks == 0 {
            return Err(ParameterError::WrongLength {
                name: "alpha",
                given: 0,
                tasks: 1,
                expected: "one per task".into(),
            });
        }
        let every = |values: Vec<f64>, check: fn(f64) -> Result<f64, ParameterError>| {
            values.into_iter().map(check).collect::<Result<Vec<f64>, _>>()
        };
        let per_step = |name, values: &[f64]| {
            // A single task has no step: a value given all the same is checked and unused.
            if steps == 0 && values.len() == 1 {
                Ok(values.to_vec())
            } else {
                spread(name, values, steps, tasks)
            }
        };
        let choice = match self.choice.as_slice() {
            [] => vec![Choice::Stable; tasks],
            [one] => vec![*one; tasks],
            many if many.len() == tasks => many.to_vec(),
            many => {
                return Err(ParameterError::WrongLength {
                    name: "branch",
                    given: many.len(),
                    tasks,
                    expected: format!("one or {tasks}"),
                });
            }
        };
        let q_star = if self.q_star.is_empty() {
            None
        } else {
            Some(every(spread("q-star", &self.q_star, tasks, tasks)?, check_q_star)?)
        };
        Ok(Chain {
            alpha: every(self.alpha.clone(), check_alpha)?,
            beta: every(spread("beta", &self.beta, tasks, tasks)?, check_beta)?,
            gamma: every(per_step("gamma", &self.gamma)?, check_gamma)?,
            r_0: every(per_step("r0", &self.r_0)?, check_r_0)?,
            prior: self.prior,
            q_star,
            choice,
            resolution: Resolution::STANDARD,
        })
    }
}

impl Chain {
    /// The same with other node counts.
    pub fn with_resolution(self, resolution: Resolution) -> Self {
        Self { resolution, ..self }
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.alpha.len()
    }

    /// Solves task after task. Where a task has no solution of choice, the
    /// chain ends with the row that says so.
    pub fn solve(&self) -> ChainResult {
        let mut tasks: Vec<TaskResult> = Vec::with_capacity(self.tasks());
        let mut anchor: Option<Anchor> = None;
        for t in 0..self.tasks() {
            let (result, posterior) = self.solve_task(t, anchor.as_ref());
            tasks.push(result);
            match posterior {
                Some(posterior) if t + 1 < self.tasks() => {
                    anchor = Some(Anchor::new(posterior, self.r_0[t]));
                }
                _ => break,
            }
        }
        ChainResult { tasks }
    }

    /// The saddle point of task `t` (from 0) after what `anchor` holds.
    pub fn task<'a>(&self, t: usize, anchor: Option<&'a Anchor>) -> Task<'a> {
        let coupling = match (t, self.prior) {
            (0, Prior::None) => 0.0,
            (0, Prior::Uniform) => self.beta[0],
            _ => self.gamma[t - 1] * self.beta[t],
        };
        let one_minus_q_star = self.q_star.as_ref().map(|q| 1.0 - q[t]);
        Task { beta: self.beta[t], coupling, anchor, one_minus_q_star }
    }

    fn solve_task(&self, t: usize, anchor: Option<&Anchor>) -> (TaskResult, Option<Posterior>) {
        let task = self.task(t, anchor);
        let (alpha, choice) = (self.alpha[t], self.choice[t]);
        let curve = Curve::trace(task, alpha, self.resolution);
        let found = curve.as_ref().map_or(vec![], |c| roots(c, alpha, self.resolution));
        let chosen = curve.as_ref().and_then(|c| choose(c, &found, alpha, choice, self.resolution));
        let other_solutions = found
            .iter()
            .filter(|f| chosen.is_none_or(|c| !std::ptr::eq(c, *f)))
            .map(|f| finish(&task, alpha, f, self.resolution).0)
            .filter(Solution::is_converged)
            .collect();
        let (solution, left) = match chosen {
            Some(found) => finish(&task, alpha, found, self.resolution),
            None => {
                let why = curve.as_ref().map_or(crate::solution::Termination::LeftDomain, |c| {
                    why_none(c, alpha, choice)
                });
                (Solution::none(alpha, task.beta, asked(choice), why), None)
            }
        };
        let (posterior, older) = match left {
            Some((posterior, older)) => (Some(posterior), older),
            None => (None, vec![f64::NAN; t]),
        };
        let result = TaskResult {
            task: t + 1,
            potential: solution.minus_beta_f,
            eps_by_task: self.errors(t, &solution, &older),
            solution,
            other_solutions,
        };
        (result, posterior)
    }

    /// The error on every task after task `t`: old ones from the joint law, later
    /// ones from the teachers' correlation, p_{t+k} = r_0 ⋯ r_0 p_t.
    fn errors(&self, t: usize, solution: &Solution, older: &[f64]) -> Vec<f64> {
        let mut errors: Vec<f64> =
            older.iter().map(|one_minus_p| generalisation_error(one_minus_p.ln()).0).collect();
        errors.push(solution.eps);
        let mut overlap = 1.0;
        for r_0 in &self.r_0[t.min(self.r_0.len())..] {
            if errors.len() == self.tasks() {
                break;
            }
            overlap *= r_0;
            let one_minus_p = (1.0 - overlap) + overlap * solution.one_minus_p;
            errors.push(generalisation_error(one_minus_p.ln()).0);
        }
        errors
    }
}
