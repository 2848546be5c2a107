//! A stream of tasks without end: the state that repeats itself, and what it remembers.
//!
//! If all tasks are alike and the anchor fades, the law of the magnetisations after a task
//! becomes the same for every task. This stationary state has one number for plasticity, the
//! error on the newest task, and a curve for memory, the error on the task ℓ steps back.

use serde::{Deserialize, Serialize};

use crate::agreement::Agreement;
use crate::chain::{Chain, ChainParameters};
use crate::curve::Curve;
use crate::inherited::InheritedLaw;
use crate::number;
use crate::parameters::DomainError;
use crate::posterior::{Posterior, signs};
use crate::ranges::LONGEST;
use crate::resolution::Resolution;
use crate::roots::roots;
use crate::single::{asked, choose, why_none};
use crate::solution::{Solution, Termination};
use crate::stage::{Stage, climb, judged};
use crate::task::Task;

/// A stream that is not stationary after so many tasks is reported as such.
const MOST_TASKS: usize = 1000;
/// The relative distance from the stationary state at which it counts as reached.
const REACHED: f64 = 1e-10;
/// An error this close to that of guessing is forgotten: the memory curve ends there.
const FORGOTTEN: f64 = 1e-3;

/// The stationary state of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stationary {
    /// The solution that every task has.
    pub state: Solution,
    /// The error on the task ℓ steps back, from ℓ = 0 on.
    #[serde(with = "number::list")]
    pub memory: Vec<f64>,
    /// Number of tasks after which the first state was stationary.
    pub tasks: usize,
    /// By which factor the distance from the stationary state falls with each task.
    #[serde(with = "number")]
    pub rate: f64,
}

impl Stationary {
    /// How many of the latest tasks have an error below `error`.
    pub fn horizon(&self, error: f64) -> usize {
        self.memory.iter().take_while(|e| **e < error).count()
    }

    fn none(chain: &Chain, why: Termination) -> Self {
        let (alpha, beta) = (chain.alpha[0], chain.beta[0]);
        let state = Solution::none(alpha, beta, asked(chain.choice[0]), why);
        Self { state, memory: vec![], tasks: 0, rate: f64::NAN }
    }
}

/// A stream of like tasks.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its first two tasks.
    chain: Chain,
    /// The largest ℓ of the memory curve; `None` follows it until it is forgotten.
    length: Option<usize>,
}

/// A task of the stream that is like the one before it.
struct Settled {
    stage: Stage,
    /// What the task inherited.
    law: InheritedLaw,
    tasks: usize,
    rate: f64,
}

impl Stream {
    /// A stream whose tasks have the parameters of a chain, one value each. `length` is the
    /// largest ℓ of the memory curve; without one it is followed until the error is within 0.001 of
    /// that of guessing, at most [`LONGEST`] tasks back.
    pub fn new(parameters: &ChainParameters, length: Option<usize>) -> Result<Self, DomainError> {
        let one = |name, values: &[f64]| match values {
            [] | [_] => Ok(()),
            values => Err(DomainError::WrongLength {
                name,
                given: values.len(),
                tasks: 1,
                expected: "one, as all tasks of a stationary stream are alike".into(),
            }),
        };
        for (name, values) in [
            ("alpha", &parameters.alpha),
            ("beta", &parameters.beta),
            ("gamma", &parameters.gamma),
            ("r0", &parameters.r_0),
            ("lambda", &parameters.lambda),
            ("rho", &parameters.rho),
            ("q_star", &parameters.q_star),
        ] {
            one(name, values)?;
        }
        let alpha = parameters.alpha.repeat(2);
        Ok(Self { chain: ChainParameters { alpha, ..parameters.clone() }.check()?, length })
    }

    /// The stationary state, and what it remembers.
    pub fn solve(&self) -> Stationary {
        match self.settle() {
            Ok(stationary) => stationary,
            Err(why) => Stationary::none(&self.chain, why),
        }
    }

    fn settle(&self) -> Result<Stationary, Termination> {
        let resolution = self.chain.resolution;
        let first = self.chosen(0, None, resolution)?;
        let law = self.fade(&first.posterior(&self.chain.saddle_point(0, None), resolution), 0);
        let second = self.chosen(1, Some(&law), resolution)?;
        let settled = self.repeat(second, law, 2, resolution)?;
        let (tasks, rate) = (settled.tasks, settled.rate);
        let memory = self.memory(&settled, resolution);
        let mut stages = vec![settled.stage.with_older(memory)];
        let mut law = settled.law;
        let estimate = climb(&mut stages, |stages, level| {
            let resolution = self.chain.resolution.level(level);
            let task = self.later(&law);
            let stage = stages[level - 1].refined(&task, self.chain.alpha[1], resolution)?;
            let inherited = std::mem::replace(&mut law, InheritedLaw::nothing());
            let settled = self.repeat(stage, inherited, 2, resolution).ok()?;
            let memory = self.memory(&settled, resolution);
            law = settled.law;
            Some(settled.stage.with_older(memory))
        });
        let last = &stages[stages.len() - 1];
        // The newest first: its own overlap is the last of all.
        let (own, older) = last.agreements.split_last().expect("a task has an overlap of its own");
        let memory = std::iter::once(own).chain(older).map(|agreement| agreement.error()).collect();
        Ok(Stationary { state: judged(last.solution, estimate), memory, tasks, rate })
    }

    /// The solution of choice of the first task (0) or of a later one (1).
    fn chosen(
        &self,
        t: usize,
        law: Option<&InheritedLaw>,
        resolution: Resolution,
    ) -> Result<Stage, Termination> {
        let (alpha, choice) = (self.chain.alpha[t], self.chain.choice[t]);
        let task = self.chain.saddle_point(t, law);
        let curve = Curve::trace(task, alpha, resolution).ok_or(Termination::LeftDomain)?;
        let found = roots(&curve, alpha, resolution);
        let chosen = choose(&curve, &found, alpha, choice, resolution);
        Stage::of(&task, alpha, chosen.ok_or_else(|| why_none(&curve, alpha, choice))?, resolution)
    }

    /// A task that is not the first.
    fn later<'a>(&self, law: &'a InheritedLaw) -> Task<'a> {
        self.chain.saddle_point(1, Some(law))
    }

    /// What a later task leaves to the next, jointly with the first `tasks` of the older ones.
    fn left(
        &self,
        stage: &Stage,
        law: &InheritedLaw,
        tasks: usize,
        resolution: Resolution,
    ) -> InheritedLaw {
        self.fade(&stage.posterior(&self.later(law), resolution), tasks)
    }

    fn fade(&self, posterior: &Posterior, tasks: usize) -> InheritedLaw {
        posterior.faded(self.chain.r_0[0], self.chain.fading[0]).with_tasks(tasks)
    }

    /// Repeats the task until nothing changes.
    fn repeat(
        &self,
        stage: Stage,
        law: InheritedLaw,
        tasks: usize,
        resolution: Resolution,
    ) -> Result<Settled, Termination> {
        let (mut stage, mut law, mut verified) = (stage, law, false);
        let (mut before, mut rate) = (f64::INFINITY, 1.0_f64);
        for tasks in tasks..MOST_TASKS {
            let next_law = self.left(&stage, &law, 0, resolution);
            let task = self.later(&next_law);
            let alpha = self.chain.alpha[1];
            // Far from the stationary state the solution of choice may be on another branch.
            let near = before < 0.03;
            let polished = if near { stage.refined(&task, alpha, resolution) } else { None };
            let mut next = match polished {
                Some(next) => next,
                None => self.chosen(1, Some(&next_law), resolution)?,
            };
            let mut change = stage.difference(&next);
            // The larger of two: with complex rates the distance does not fall evenly.
            rate = (change / before).max(0.5 * rate);
            let left = if rate < 1.0 { change * rate / (1.0 - rate) } else { f64::INFINITY };
            if left < REACHED || change < 0.01 * REACHED {
                if verified {
                    return Ok(Settled { stage: next, law: next_law, tasks, rate });
                }
                // The branch that was followed is still the one of choice?
                let chosen = self.chosen(1, Some(&next_law), resolution)?;
                verified = next.difference(&chosen) < 1e-3;
                if !verified {
                    (next, change) = (chosen, f64::INFINITY);
                }
            }
            (stage, law, before) = (next, next_law, change);
        }
        Err(Termination::MaxIterations)
    }

    /// The overlap with the task ℓ steps back, from ℓ = 1 on.
    fn memory(&self, settled: &Settled, resolution: Resolution) -> Vec<Agreement> {
        let mut memory = Vec::new();
        let conjugates = settled.stage.conjugates();
        let mut law = self.left(&settled.stage, &settled.law, 1, resolution);
        while memory.len() < self.length.unwrap_or(LONGEST) {
            let task = self.later(&law);
            let (site, fields) = (task.site(&conjugates), task.fields(&conjugates));
            let Some(next) = signs(&site, &fields, resolution).older.first().copied() else {
                break;
            };
            memory.push(next);
            // 1/2 − ε = asin(p)/π.
            let forgotten = next.p().abs() < FORGOTTEN * std::f64::consts::PI;
            if self.length.is_none() && forgotten {
                break;
            }
            law = self.left(&settled.stage, &law, 1, resolution);
        }
        memory
    }
}
