//! A chain of tasks: the Franz–Parisi potential of arXiv:2212.02846, continued
//! from two tasks to any number.
//!
//! The conjugates of task t depend on its own patterns and on the law of the
//! magnetisation before it, and on nothing else: the chain is Markov. Each task
//! is solved in the gauge of its own teacher; what it leaves is handed on by
//! [`InheritedLaw`].

use rayon::prelude::*;
use remanent_math::newton::Root;
use serde::{Deserialize, Serialize};

use crate::agreement::{Agreement, errors};
use crate::curve::Curve;
use crate::fading::Fading;
use crate::inherited::InheritedLaw;
use crate::number;
use crate::parameters::{Choice, DomainError, Prior, spread};
use crate::ranges::{ALPHA, BETA, GAMMA, Q_STAR, R_0, Range};
use crate::resolution::Resolution;
use crate::roots::{Found, roots};
use crate::single::{asked, choose, why_none};
use crate::solution::{Solution, Termination};
use crate::stage::{Stage, climb, judged, posterior, refined_root};
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
    /// Factor λ of the magnetisation before it becomes the anchor of the next task: one, or one per
    /// step; empty means 1.
    pub lambda: Vec<f64>,
    /// Factor ρ of the field of the anchor: one, or one per step; empty means 1.
    pub rho: Vec<f64>,
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
    pub(crate) alpha: Vec<f64>,
    pub(crate) beta: Vec<f64>,
    gamma: Vec<f64>,
    pub(crate) r_0: Vec<f64>,
    pub(crate) fading: Vec<Fading>,
    prior: Prior,
    q_star: Option<Vec<f64>>,
    pub(crate) choice: Vec<Choice>,
    pub(crate) resolution: Resolution,
    is_sketch: bool,
}

/// A solved task from which the chain continues: the root of its equations at every level of
/// refinement that was needed, and what it leaves at each of them.
#[derive(Clone)]
struct Link {
    roots: Vec<Root<3>>,
    laws: Vec<InheritedLaw>,
}

/// The tasks of a chain that are solved.
#[derive(Clone, Default)]
struct Solved {
    tasks: Vec<TaskResult>,
    links: Vec<Link>,
}

/// What the last of some tasks leaves at a level of refinement.
fn law_after(links: &[Link], level: usize) -> Option<&InheritedLaw> {
    links.last().map(|link| &link.laws[level])
}

/// What the chain is after one of its tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    /// The number of the task, from 1.
    pub task: usize,
    /// The solution from which the chain continues.
    #[serde(flatten)]
    pub solution: Solution,
    /// The potential of the task, per weight.
    #[serde(with = "number")]
    pub potential: f64,
    /// The error on every task, old and still to come, after this one.
    #[serde(with = "number::list")]
    pub eps_by_task: Vec<f64>,
    /// The other solutions of this task.
    pub other_solutions: Vec<Solution>,
}

/// All tasks of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainResult {
    /// One entry per task.
    pub tasks: Vec<TaskResult>,
}

impl ChainResult {
    /// Whether every task has an accurate solution.
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
    pub fn check(&self) -> Result<Chain, DomainError> {
        let tasks = self.alpha.len();
        let steps = tasks.saturating_sub(1);
        if tasks == 0 {
            return Err(DomainError::WrongLength {
                name: "alpha",
                given: 0,
                tasks: 1,
                expected: "one per task".into(),
            });
        }
        let every = |name, values: Vec<f64>, range: Range| {
            range.check_all(name, values.iter().copied())?;
            Ok::<_, DomainError>(values)
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
                return Err(DomainError::WrongLength {
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
            Some(every("q_star", spread("q_star", &self.q_star, tasks, tasks)?, Q_STAR)?)
        };
        let or_one = |name, values: &[f64]| {
            if values.is_empty() { Ok(vec![1.0; steps]) } else { per_step(name, values) }
        };
        let (lambda, rho) = (or_one("lambda", &self.lambda)?, or_one("rho", &self.rho)?);
        let fading = lambda.iter().zip(&rho).map(|(lambda, rho)| Fading::new(*lambda, *rho));
        Ok(Chain {
            fading: fading.collect::<Result<_, _>>()?,
            alpha: every("alpha", self.alpha.clone(), ALPHA)?,
            beta: every("beta", spread("beta", &self.beta, tasks, tasks)?, BETA)?,
            gamma: every("gamma", per_step("gamma", &self.gamma)?, GAMMA)?,
            r_0: every("r0", per_step("r0", &self.r_0)?, R_0)?,
            prior: self.prior,
            q_star,
            choice,
            resolution: Resolution::STANDARD,
            is_sketch: false,
        })
    }
}

impl Chain {
    /// The same with other node counts.
    pub fn with_resolution(self, resolution: Resolution) -> Self {
        Self { resolution, ..self }
    }

    /// The same for a picture: few nodes, no estimate of errors, and no other solutions than those from which the chain
    /// continues.
    pub(crate) fn sketched(self, resolution: Resolution) -> Self {
        Self { resolution, is_sketch: true, ..self }
    }

    /// Node counts of the traces. Coarser ones are slower: they cannot tell whether there are folds.
    fn tracing(&self) -> Resolution {
        if self.is_sketch { Resolution::STANDARD } else { self.resolution }
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.alpha.len()
    }

    /// Solves task after task. Where a task has no solution of choice, the
    /// chain ends with the row that says so.
    pub fn solve(&self) -> ChainResult {
        ChainResult { tasks: self.solve_until(self.tasks(), Solved::default()).tasks }
    }

    /// Solves several chains, in parallel. A first task that all of them have in common, as those of a scan of γ
    /// have, is solved once.
    pub(crate) fn solve_all(chains: &[Self]) -> Vec<ChainResult> {
        let begun = match chains {
            [first, others @ ..] if others.iter().all(|chain| chain.begins_as(first)) => {
                let mut solved = first.solve_until(1, Solved::default());
                if first.tasks() > solved.links.len() && !solved.links.is_empty() {
                    first.raise(&mut solved.links, 1, 0);
                }
                solved
            }
            _ => Solved::default(),
        };
        // One by one: their times differ much.
        let chains = chains.par_iter().with_max_len(1);
        let solve = |chain: &Self| chain.solve_until(chain.tasks(), begun.clone()).tasks;
        chains.map(|chain| ChainResult { tasks: solve(chain) }).collect()
    }

    /// Whether the first task, its errors and what it leaves are those of another chain.
    fn begins_as(&self, other: &Self) -> bool {
        let first = |chain: &Self| {
            let q_star = chain.q_star.as_ref().map(|values| values[0]);
            (chain.alpha[0], chain.beta[0], chain.choice[0], q_star, chain.fading.first().copied())
        };
        first(self) == first(other)
            && self.tasks() == other.tasks()
            && (self.prior, &self.r_0) == (other.prior, &other.r_0)
            && (self.resolution, self.is_sketch) == (other.resolution, other.is_sketch)
    }

    /// Solves the tasks before `end` that are not solved, as far as they have solutions.
    fn solve_until(&self, end: usize, solved: Solved) -> Solved {
        let Solved { mut tasks, mut links } = solved;
        while tasks.len() < end && links.len() == tasks.len() {
            tasks.push(self.solve_task(tasks.len(), &mut links));
        }
        Solved { tasks, links }
    }

    /// The saddle point of task `t` (from 0) after what it inherits; none if there is no such task.
    pub fn task<'a>(&self, t: usize, inherited: Option<&'a InheritedLaw>) -> Option<Task<'a>> {
        (t < self.tasks()).then(|| self.saddle_point(t, inherited))
    }

    pub(crate) fn saddle_point<'a>(
        &self,
        t: usize,
        inherited: Option<&'a InheritedLaw>,
    ) -> Task<'a> {
        let coupling = match (t, self.prior) {
            (0, Prior::None) => 0.0,
            (0, Prior::Uniform) => self.beta[0],
            _ => self.gamma[t - 1] * self.beta[t],
        };
        let one_minus_q_star = self.q_star.as_ref().map(|q| 1.0 - q[t]);
        Task { beta: self.beta[t], coupling, inherited, one_minus_q_star }
    }

    /// Solves task `t` after the tasks before it, and adds the link from which the next continues.
    fn solve_task(&self, t: usize, links: &mut Vec<Link>) -> TaskResult {
        let (alpha, beta, choice) = (self.alpha[t], self.beta[t], self.choice[t]);
        self.raise(links, t, 0);
        let (found, chosen, why) = {
            let task = self.saddle_point(t, law_after(links, 0));
            let curve = Curve::trace(task, alpha, self.tracing());
            let found = curve.as_ref().map_or(vec![], |c| roots(c, alpha, self.resolution));
            let chosen = curve.as_ref().and_then(|c| {
                let chosen = choose(c, &found, alpha, choice, self.resolution)?;
                found.iter().position(|f| std::ptr::eq(f, chosen))
            });
            let why =
                curve.as_ref().map_or(Termination::LeftDomain, |c| why_none(c, alpha, choice));
            (found, chosen, why)
        };
        let mut solution = Solution::none(alpha, beta, asked(choice), why);
        let mut agreements = vec![Agreement::UNKNOWN; t + 1];
        let mut other_solutions = Vec::new();
        let mut link = None;
        for (i, found) in found.iter().enumerate() {
            let is_chosen = chosen == Some(i);
            if self.is_sketch && !is_chosen {
                continue;
            }
            let result = match self.stages(t, links, found) {
                Ok((stages, estimate)) => {
                    let last = &stages[stages.len() - 1];
                    let result = judged(last.solution, estimate);
                    if is_chosen {
                        agreements.clone_from(&last.agreements);
                        let roots = stages.iter().map(|stage| stage.root).collect();
                        link = Some(Link { roots, laws: vec![] });
                    }
                    result
                }
                Err(why) => Solution::none(alpha, beta, found.branch, why),
            };
            if is_chosen {
                solution = result;
            } else {
                other_solutions.push(result);
            }
        }
        links.extend(link);
        TaskResult {
            task: t + 1,
            potential: solution.minus_beta_f,
            eps_by_task: errors(&agreements, self.later_r_0(t)),
            solution,
            other_solutions,
        }
    }

    /// The stages of one solution of task `t`, and the estimate of the error of the last.
    fn stages(
        &self,
        t: usize,
        links: &mut [Link],
        found: &Found,
    ) -> Result<(Vec<Stage>, f64), Termination> {
        let alpha = self.alpha[t];
        let first =
            Stage::of(&self.saddle_point(t, law_after(links, 0)), alpha, found, self.resolution)?;
        let mut stages = vec![first];
        if self.is_sketch {
            return Ok((stages, f64::NAN));
        }
        let estimate = climb(&mut stages, |stages, level| {
            if !self.raise(links, t, level) {
                return None;
            }
            let task = self.saddle_point(t, law_after(links, level));
            stages[level - 1].refined(&task, alpha, self.resolution.level(level))
        });
        Ok((stages, estimate))
    }

    /// Makes what the tasks before `t` leave at one level of refinement, if they can be solved there.
    fn raise(&self, links: &mut [Link], t: usize, level: usize) -> bool {
        for s in 0..t {
            let (before, rest) = links.split_at_mut(s);
            let link = &mut rest[0];
            while link.roots.len() <= level {
                let reached = link.roots.len();
                let task = self.saddle_point(s, law_after(before, reached));
                let resolution = self.resolution.level(reached);
                match refined_root(&task, self.alpha[s], &link.roots[reached - 1], resolution) {
                    Some(root) => link.roots.push(root),
                    None => return false,
                }
            }
            while link.laws.len() <= level {
                let reached = link.laws.len();
                let task = self.saddle_point(s, law_after(before, reached));
                let resolution = self.resolution.level(reached);
                let posterior = posterior(&task, &link.roots[reached], resolution);
                link.laws.push(posterior.faded(self.r_0[s], self.fading[s]));
            }
        }
        true
    }

    /// The overlaps of the teachers after task `t` (from 0), each with the one before.
    pub(crate) fn later_r_0(&self, t: usize) -> impl Iterator<Item = &f64> {
        self.r_0.iter().take(self.tasks() - 1).skip(t)
    }
}
