//! What was computed for a figure, summarised, as the figure's own code sees it.

use remanent_lab::bound::{self, BoundSummary};
use remanent_lab::convergence::{self, ConvergenceSummary};
use remanent_lab::experiment::{Experiment, Prepared};
use remanent_lab::plan::Case;
use remanent_lab::simulation::{self, CaseSummary, Comparison, Learner, Simulation, TheoryChoice};
use remanent_lab::tempering::{self, TemperingStudy, TemperingSummary};
use remanent_lab::theory::Answer;
use remanent_lab::training::{self, Training, TrainingSummary};
use remanent_perceptron::bound::BoundRow;
use remanent_perceptron::convergence::Convergence;
use remanent_perceptron::observables::generalisation_error;
use remanent_plot::{Figure, Table};

use crate::parts::{Parts, Records};
use crate::verdict::Findings;
use crate::work::Work;

/// A case of perceptrons.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// What it sets apart from the others.
    pub case: Case,
    /// What was simulated.
    pub simulation: Simulation,
    /// What was found.
    pub summary: CaseSummary,
    /// The trials themselves, those that diverged left out.
    pub trials: Vec<simulation::TrialRecord>,
    /// Trials that diverged, which are in no mean.
    pub diverged: usize,
}

/// A case of networks.
#[derive(Clone, Debug)]
pub struct Trained {
    /// What it sets apart from the others.
    pub case: Case,
    /// What was trained.
    pub training: Training,
    /// What was found.
    pub summary: TrainingSummary,
    /// The trials themselves.
    pub trials: Vec<training::TrialRecord>,
}

/// A case of parallel tempering.
#[derive(Clone, Debug)]
pub struct Tempered {
    /// What was sampled.
    pub study: TemperingStudy,
    /// What was found.
    pub summary: TemperingSummary,
}

/// Convergence times at one α.
#[derive(Clone, Debug)]
pub struct Converged {
    /// The means.
    pub summary: ConvergenceSummary,
    /// The trials themselves.
    pub trials: Vec<Convergence>,
    /// The latest T_c that could have been seen: a trial without T_c has a later one.
    pub latest: usize,
}

/// All that was computed for a figure.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Answers of the theory, in the order of the questions.
    pub theory: Vec<Answer>,
    /// The bound over epochs.
    pub bound: Vec<BoundSummary>,
    /// The trials of the bound.
    pub bound_trials: Vec<Vec<BoundRow>>,
    /// Perceptrons, case by case.
    pub simulated: Vec<Simulated>,
    /// Convergence times by α.
    pub convergence: Vec<Converged>,
    /// Parallel tempering, case by case.
    pub tempered: Vec<Tempered>,
    /// Networks, case by case.
    pub trained: Vec<Trained>,
}

/// A figure as it is drawn.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// The picture.
    pub figure: Figure,
    /// Its numbers.
    pub table: Table,
}

/// What is said of a figure.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// What was found, in a sentence.
    pub found: String,
    /// Claims with their outcomes, or answers.
    pub findings: Findings,
    /// Remarks: what was chosen by us, how the picture is to be read.
    pub notes: Vec<String>,
}

impl Simulated {
    /// The theory beside it; none if it cannot be compared.
    pub fn compared(&self) -> Option<Vec<Comparison>> {
        simulation::compare(&self.simulation, &self.summary, TheoryChoice::default()).ok()
    }

    /// ε of a task (from 0) at the last recorded moment, trial by trial; for a sampler, the average over
    /// the samples of the last task.
    pub fn final_errors(&self, task: usize) -> Option<Vec<f64>> {
        self.errors_after(self.summary.ends.len().checked_sub(1)?, task)
    }

    /// ε of a task after another, both from 0, trial by trial.
    pub fn errors_after(&self, after: usize, task: usize) -> Option<Vec<f64>> {
        let of = |trial: &simulation::TrialRecord| {
            let overlaps = match trial.samples.get(after) {
                Some(samples) => &samples.overlaps,
                None => &trial.rows.iter().rev().find(|row| row.task == after + 1)?.overlaps,
            };
            overlaps.p.get(task).map(|&p| generalisation_error(p))
        };
        self.trials.iter().map(of).collect()
    }

    /// The factor γ of the KL term to the task before.
    pub fn gamma(&self) -> f64 {
        match &self.simulation.learner {
            Learner::Gradient(learner) => learner.gamma[0],
            Learner::Boltzmann(learner) => learner.gamma[0],
        }
    }
}

impl Results {
    /// What has to be said of the simulations whatever the figure shows.
    pub fn remarks(&self) -> Vec<String> {
        let diverged: usize = self.simulated.iter().map(|case| case.diverged).sum();
        let unmixed: usize = self.simulated.iter().map(|case| case.summary.unmixed()).sum();
        let mut remarks = Vec::new();
        if diverged > 0 {
            remarks.push(format!("{diverged} trials diverged and are in no mean."));
        }
        if unmixed > 0 {
            remarks.push(format!("The chains of {unmixed} trials have not mixed."));
        }
        remarks
    }

    /// Summarises the records of a figure.
    pub fn new(work: &Work, records: Records) -> Result<Self, String> {
        let mut results = Self { theory: records.theory, ..Self::default() };
        let incomplete = |case: &Case| {
            let label = case.label();
            format!("figure {}: no trial of the case '{label}' can be used", work.entry.id)
        };
        let Parts { bound, simulate, convergence, tempering, train, .. } = &work.parts;
        if !bound.cases.is_empty() {
            results.bound = bound::summarise(&records.bound).unwrap_or_default();
            results.bound_trials = records.bound;
        }
        for (case, simulation, trials) in cases(simulate, &records.simulate) {
            let summary = simulation::summarise(trials).ok_or_else(|| incomplete(case))?;
            let diverged = simulation::divergence(trials).map_or(0, |(_, count)| count);
            let sound = trials.iter().filter(|trial| trial.diverged.is_none());
            results.simulated.push(Simulated {
                case: case.clone(),
                simulation: simulation.clone(),
                summary,
                trials: sound.cloned().collect(),
                diverged,
            });
        }
        for (_, study, trials) in cases(convergence, &records.convergence) {
            let summary = convergence::summarise(study, trials);
            results.convergence.extend(summary.map(|summary| Converged {
                summary,
                trials: trials.to_vec(),
                latest: study.latest(),
            }));
        }
        for (case, study, draws) in cases(tempering, &records.tempering) {
            let summary = tempering::summarise(study, draws).ok_or_else(|| incomplete(case))?;
            results.tempered.push(Tempered { study: study.clone(), summary });
        }
        for (case, training, trials) in cases(train, &records.train) {
            results.trained.push(Trained {
                case: case.clone(),
                training: training.clone(),
                summary: training::summarise(trials).ok_or_else(|| incomplete(case))?,
                trials: trials.to_vec(),
            });
        }
        Ok(results)
    }
}

/// The cases of a kind, each with the records of its trials.
fn cases<'a, E: Experiment>(
    part: &'a Prepared<E>,
    records: &'a [E::Record],
) -> impl Iterator<Item = (&'a Case, &'a E, &'a [E::Record])> {
    let trials = records.chunks(part.plan.seeds);
    let cases = part.plan.cases.iter().zip(&part.cases).zip(trials);
    cases.map(|((case, experiment), trials)| (case, experiment, trials))
}
