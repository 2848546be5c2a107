//! What is measured of one panel: errors of gradient descent and of the theory against α_2.

use remanent_lab::theory::BrokenChain;
use remanent_lab::theory::known;
use remanent_theory::scan::ScanPoint;
use serde::{Deserialize, Serialize};

use crate::results::{Results, Simulated};
use crate::thresholds::LEARNED;
use crate::verdict::{Agreement, Estimate, Pair};

/// So near in α_2 to the jump of the theory is around the transition.
const AROUND: f64 = 0.5;
/// A fall of the theory's error between neighbouring α_2 that makes a jump.
const JUMP: f64 = 0.05;

/// One panel.
#[derive(Serialize, Deserialize)]
pub struct View {
    /// The factor of the KL term.
    pub gamma: f64,
    /// The task whose error is shown, from 1.
    pub task: usize,
    /// The smallest mean q_⋆ at the end of the first task.
    pub least_norm: f64,
    /// By rising r_0.
    pub lines: Vec<Line>,
}

/// Both tasks at one similarity.
#[derive(Serialize, Deserialize)]
pub struct Line {
    /// The similarity of the tasks.
    pub r_0: f64,
    /// By rising α_2, in replica symmetry.
    pub theory: Vec<Predicted>,
    /// The same with at most one step of replica-symmetry breaking in each task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_step: Vec<Predicted>,
    /// By rising α_2.
    pub found: Vec<Found>,
}

/// The theory after the second task.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Predicted {
    /// The amount of data of the second task.
    pub alpha_2: f64,
    /// ε of the task that is shown; none without a solution.
    pub eps: Option<f64>,
    /// ε of the second task, which tells where the transition is.
    pub eps_2: Option<f64>,
    /// The steps of replica-symmetry breaking of the second task.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rsb: usize,
}

fn is_zero(steps: &usize) -> bool {
    *steps == 0
}

/// What one step of replica-symmetry breaking changes of one line.
pub struct Change {
    /// α_2 from which and up to which the second task is broken.
    pub broken: [f64; 2],
    /// The largest change of ε among these, one step less replica symmetry, and its α_2.
    pub largest: (f64, f64),
}

/// Gradient descent after the second task.
#[derive(Clone, Serialize, Deserialize)]
pub struct Found {
    /// The amount of data of the second task.
    pub alpha_2: f64,
    /// Trials that diverged and are not in the lists.
    pub diverged: usize,
    /// ε of the task that is shown, trial by trial.
    pub eps: Vec<f64>,
    /// The same after the first task; not kept of the second, which was still to come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<f64>,
}

/// A number of gradient descent averaged over α_2.
pub struct Average {
    /// Trial by trial; none if a case lost trials, so that trials cannot be told apart.
    trials: Option<Vec<f64>>,
    /// The mean.
    pub estimate: Option<Estimate>,
}

impl View {
    /// Takes the measurements: simulations with a factor γ, and the theory of two questions, in replica
    /// symmetry and with one step if that was asked.
    pub fn of(
        results: &Results,
        [question, broken]: [usize; 2],
        gamma: f64,
        task: usize,
    ) -> Option<Self> {
        let cases: Vec<&Simulated> =
            results.simulated.iter().filter(|case| case.gamma() == gamma).collect();
        let theory = results.theory.get(question)?.as_chain()?;
        let broken = match results.theory.get(broken) {
            Some(answer) => answer.as_broken()?.as_chain()?,
            None => &[],
        };
        let r_0 = |case: &Simulated| case.simulation.setting.r_0[0];
        let mut similarities: Vec<f64> = cases.iter().map(|case| r_0(case)).collect();
        similarities.sort_by(f64::total_cmp);
        similarities.dedup();
        let line = |r: f64| {
            let same = cases.iter().filter(|case| r_0(case) == r);
            let mut found = same.map(|case| Found::of(case, task)).collect::<Option<Vec<_>>>()?;
            found.sort_by(|a, b| a.alpha_2.total_cmp(&b.alpha_2));
            let same = theory.iter().filter(|point| point.scanned("r0") == Some(r));
            let mut theory: Vec<_> = same.filter_map(|point| Predicted::of(point, task)).collect();
            theory.sort_by(|a, b| a.alpha_2.total_cmp(&b.alpha_2));
            let same = broken.iter().filter(|point| point.scanned("r0") == Some(r));
            let mut one_step: Vec<_> =
                same.filter_map(|point| Predicted::of_broken(point, task)).collect();
            one_step.sort_by(|a, b| a.alpha_2.total_cmp(&b.alpha_2));
            Some(Line { r_0: r, theory, one_step, found })
        };
        let norms = cases.iter().filter_map(|case| Some(case.summary.ends.first()?.q_star.mean));
        Some(Self {
            gamma,
            task,
            least_norm: norms.reduce(f64::min)?,
            lines: similarities.into_iter().map(line).collect::<Option<_>>()?,
        })
    }

    /// Gradient descent beside the theory, away from the transition or around it.
    pub fn agreement(&self, around: bool) -> Agreement {
        let (task, place) = (self.task, if around { "around" } else { "away from" });
        let what = format!("ε_{task} of gradient descent and theory {place} the transition");
        let pairs = self.lines.iter().flat_map(|line| line.pairs(&line.theory, around)).collect();
        // Trials of all cases share teachers and patterns: together they are one experiment.
        Agreement::new(what, pairs, 1)
    }

    /// The same with one step, at the same α_2; none if that was not asked.
    pub fn agreement_with_one_step(&self, around: bool) -> Option<Agreement> {
        let (task, place) = (self.task, if around { "around" } else { "away from" });
        let what =
            format!("ε_{task} of gradient descent and theory with one step {place} the transition");
        let known = self.lines.iter().all(|line| !line.one_step.is_empty());
        let pairs = self.lines.iter().flat_map(|line| line.pairs(&line.one_step, around));
        known.then(|| Agreement::new(what, pairs.collect(), 1))
    }

    /// Whether a simulated α_2 is around the transition.
    pub fn has_transition(&self) -> bool {
        self.lines.iter().any(|line| line.found.iter().any(|found| line.is_around(found.alpha_2)))
    }
}

impl Predicted {
    fn of(point: &ScanPoint, task: usize) -> Option<Self> {
        let eps = |task: usize| known(*point.chain.tasks.get(1)?.eps_by_task.get(task - 1)?);
        let alpha_2 = point.scanned("alpha.2")?;
        Some(Self { alpha_2, eps: eps(task), eps_2: eps(2), rsb: 0 })
    }

    fn of_broken(point: &BrokenChain, task: usize) -> Option<Self> {
        let alpha_2 = point.scanned("alpha.2")?;
        let second = point.tasks.get(1);
        let eps = |task: usize| *second?.eps_by_task.get(task - 1)?;
        let rsb = second.map_or(0, |second| second.row.rsb);
        Some(Self { alpha_2, eps: eps(task), eps_2: eps(2), rsb })
    }
}

impl Found {
    fn of(case: &Simulated, task: usize) -> Option<Self> {
        Some(Self {
            alpha_2: case.simulation.setting.alpha[1],
            diverged: case.diverged,
            eps: case.errors_after(1, task - 1)?,
            before: if task == 1 { case.errors_after(0, 0)? } else { Vec::new() },
        })
    }

    /// The mean over trials.
    pub fn mean(&self) -> Option<Estimate> {
        Estimate::of(self.eps.iter().copied())
    }
}

impl Line {
    /// Where the theory's error of the second task falls most, if that is a jump.
    pub fn jump(&self) -> Option<f64> {
        Self::jump_of(&self.theory)
    }

    /// The same with one step.
    pub fn jump_with_one_step(&self) -> Option<f64> {
        Self::jump_of(&self.one_step)
    }

    /// What one step changes; none if the second task is nowhere broken.
    pub fn change(&self) -> Option<Change> {
        let broken = || self.one_step.iter().filter(|point| point.rsb > 0);
        let change = |point: &Predicted| {
            let same = |other: &&Predicted| (other.alpha_2 - point.alpha_2).abs() < 1e-6;
            Some((point.eps? - self.theory.iter().find(same)?.eps?, point.alpha_2))
        };
        Some(Change {
            broken: [broken().next()?.alpha_2, broken().next_back()?.alpha_2],
            largest: self
                .one_step
                .iter()
                .filter_map(change)
                .max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?,
        })
    }

    fn jump_of(theory: &[Predicted]) -> Option<f64> {
        let fall = |pair: &[Predicted]| {
            Some((pair[0].eps_2? - pair[1].eps_2?, 0.5 * (pair[0].alpha_2 + pair[1].alpha_2)))
        };
        let falls = theory.windows(2).filter_map(fall).filter(|fall| fall.0 > JUMP);
        falls.max_by(|a, b| a.0.total_cmp(&b.0)).map(|fall| fall.1)
    }

    fn is_around(&self, alpha_2: f64) -> bool {
        self.jump().is_some_and(|at| (at - alpha_2).abs() <= AROUND)
    }

    fn pairs(&self, theory: &[Predicted], around: bool) -> Vec<Pair> {
        let theory =
            |alpha: f64| theory.iter().find(|point| (point.alpha_2 - alpha).abs() < 1e-6)?.eps;
        let found = self.found.iter().filter(|found| self.is_around(found.alpha_2) == around);
        found
            .filter_map(|f| Some(Pair { simulation: f.mean()?, theory: theory(f.alpha_2) }))
            .collect()
    }

    /// The α_2 from which on the theory has learned the task that is shown; none if it has not at the
    /// end of the range.
    pub fn learned_from(&self) -> Option<f64> {
        let learned = |point: &&Predicted| point.eps.is_some_and(|eps| eps < LEARNED.value);
        self.theory.iter().rev().take_while(learned).last().map(|point| point.alpha_2)
    }

    /// The largest α_2 of the theory.
    pub fn end(&self) -> Option<f64> {
        self.theory.last().map(|point| point.alpha_2)
    }

    /// The theory's error averaged over α_2; none if it is missing somewhere.
    pub fn predicted_mean(&self) -> Option<f64> {
        let sum: f64 = self.theory.iter().map(|point| point.eps).sum::<Option<f64>>()?;
        (!self.theory.is_empty()).then(|| sum / self.theory.len() as f64)
    }

    /// The error of gradient descent averaged over α_2.
    pub fn average(&self) -> Average {
        self.average_of(|found| found.eps.clone())
    }

    /// The rise of the error from the end of the first task to that of the second, averaged over α_2.
    pub fn average_rise(&self) -> Average {
        self.average_of(|found| {
            found.eps.iter().zip(&found.before).map(|(after, before)| after - before).collect()
        })
    }

    fn average_of(&self, of: impl Fn(&Found) -> Vec<f64>) -> Average {
        let cases: Vec<Vec<f64>> = self.found.iter().map(of).collect();
        let count = cases.first().map_or(0, Vec::len);
        let complete = self.found.iter().all(|found| found.diverged == 0)
            && cases.iter().all(|case| case.len() == count);
        let mean =
            |trial: usize| cases.iter().map(|case| case[trial]).sum::<f64>() / cases.len() as f64;
        let trials = complete.then(|| (0..count).map(mean).collect::<Vec<_>>());
        let estimate = match &trials {
            Some(trials) => Estimate::of(trials.iter().copied()),
            None => {
                let means: Option<Vec<Estimate>> = cases.into_iter().map(Estimate::of).collect();
                means.and_then(|means| Estimate::mean_of(&means))
            }
        };
        Average { trials, estimate }
    }
}

impl Average {
    /// The difference, trial by trial if no trial was lost.
    pub fn minus(&self, other: &Self) -> Option<Estimate> {
        let paired = self.trials.as_ref().zip(other.trials.as_ref());
        paired
            .and_then(|(a, b)| Estimate::paired(a, b))
            .or_else(|| Some(self.estimate?.minus(&other.estimate?)))
    }

    /// `0.191 ± 0.004`.
    pub fn text(&self) -> String {
        self.estimate.map_or("unknown".into(), |estimate| estimate.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(eps: &[f64], diverged: usize) -> Found {
        Found { alpha_2: 1.0, diverged, eps: eps.to_vec(), before: Vec::new() }
    }

    fn line(found: Vec<Found>, theory: &[(f64, Option<f64>)]) -> Line {
        let point =
            |&(alpha_2, eps): &(f64, Option<f64>)| Predicted { alpha_2, eps, eps_2: eps, rsb: 0 };
        let theory = theory.iter().map(point).collect();
        Line { r_0: 0.0, theory, one_step: Vec::new(), found }
    }

    #[test]
    fn trials_are_paired_unless_some_were_lost() {
        let all = |shift: f64| line(vec![found(&[0.1 + shift, 0.3 + shift, 0.2 + shift], 0)], &[]);
        let paired = all(0.01).average().minus(&all(0.0).average()).unwrap();
        assert!((paired.value - 0.01).abs() < 1e-12 && paired.standard_error.unwrap() < 1e-12);
        let lost = line(vec![found(&[0.1, 0.3, 0.2], 1)], &[]);
        let apart = all(0.01).average().minus(&lost.average()).unwrap();
        assert!((apart.value - 0.01).abs() < 1e-12 && apart.standard_error.unwrap() > 0.05);
        let fewer = line(vec![found(&[0.1, 0.3, 0.2], 0), found(&[0.1, 0.3], 1)], &[]);
        assert_eq!(fewer.average().estimate.unwrap().trials, Some(2));
    }

    #[test]
    fn the_jump_is_the_largest_fall_and_learned_is_for_good() {
        let theory = |eps: &[f64]| -> Vec<(f64, Option<f64>)> {
            eps.iter().enumerate().map(|(i, eps)| (i as f64, Some(*eps))).collect()
        };
        let falls = line(Vec::new(), &theory(&[0.4, 0.34, 0.1, 0.04, 0.01]));
        assert_eq!((falls.jump(), falls.learned_from()), (Some(1.5), Some(3.0)));
        assert!(falls.is_around(1.0) && !falls.is_around(2.1));
        let smooth = line(Vec::new(), &theory(&[0.13, 0.09, 0.06]));
        assert_eq!((smooth.jump(), smooth.learned_from(), smooth.end()), (None, None, Some(2.0)));
        assert!((smooth.predicted_mean().unwrap() - 0.28 / 3.0).abs() < 1e-12);
        let missing = line(Vec::new(), &[(0.0, Some(0.1)), (1.0, None)]);
        assert_eq!((missing.jump(), missing.predicted_mean()), (None, None));
    }

    #[test]
    fn one_step_is_compared_at_the_same_data() {
        let symmetric = [(1.0, Some(0.4)), (2.0, Some(0.3)), (3.0, Some(0.01))];
        let mut line = line(vec![found(&[0.28, 0.29, 0.3], 0)], &symmetric);
        assert!(line.change().is_none() && line.jump_with_one_step().is_none());
        line.one_step = line.theory.clone();
        assert!(line.change().is_none());
        line.one_step[1] = Predicted { alpha_2: 2.0, eps: Some(0.2), eps_2: Some(0.2), rsb: 1 };
        let change = line.change().unwrap();
        assert_eq!((change.broken, change.largest.1), ([2.0, 2.0], 2.0));
        assert!((change.largest.0 + 0.1).abs() < 1e-12);
        assert_eq!((line.jump(), line.jump_with_one_step()), (Some(2.5), Some(1.5)));
        let view = View { gamma: 0.1, task: 2, least_norm: 0.9, lines: vec![line] };
        let distance = |agreement: Agreement| agreement.distance().unwrap().value;
        assert!((distance(view.agreement(false)) - 0.11).abs() < 1e-12);
        assert!((distance(view.agreement_with_one_step(false).unwrap()) - 0.11).abs() < 1e-12);
    }
}
