//! What was computed for a figure, summarised, as the figure's own code sees it.

use remanent_plot::{Axis, Figure, Panel, Table};

use crate::bound::{self, BoundSummary};
use crate::convergence::{self, ConvergenceSummary};
use crate::plan::Case;
use crate::report::Check;
use crate::reproduce::batches::Records;
use crate::reproduce::work::{Experiment, Work};
use crate::simulation::{self, CaseSummary, Comparison, Learner, Simulation, TheoryChoice};
use crate::theory::Answer;
use crate::training::{self, Training, TrainingSummary};

/// A case of perceptrons.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// What it sets apart from the others.
    pub case: Case,
    /// What was simulated.
    pub simulation: Simulation,
    /// What was found.
    pub summary: CaseSummary,
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
}

/// All that was computed for a figure.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Answers of the theory, in the order of the questions.
    pub theory: Vec<Answer>,
    /// The bound over epochs.
    pub bound: Vec<BoundSummary>,
    /// Perceptrons, case by case.
    pub simulated: Vec<Simulated>,
    /// Convergence times by α.
    pub convergence: Vec<ConvergenceSummary>,
    /// Networks, case by case.
    pub trained: Vec<Trained>,
}

/// A figure as it is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The picture.
    pub figure: Figure,
    /// Its numbers.
    pub table: Table,
    /// What was found, in a sentence.
    pub found: String,
    /// What decides the verdict.
    pub checks: Vec<Check>,
    /// Remarks.
    pub notes: Vec<String>,
}

impl Simulated {
    /// The theory beside it; none if it cannot be compared.
    pub fn compared(&self) -> Option<Vec<Comparison>> {
        simulation::compare(&self.simulation, &self.summary, TheoryChoice::default()).ok()
    }

    /// The factor γ of the KL term to the task before.
    pub fn gamma(&self) -> f64 {
        match &self.simulation.learner {
            Learner::Gradient(learner) => learner.gamma[0],
            Learner::Boltzmann(learner) => learner.gamma[0],
        }
    }
}

impl Shown {
    /// What is shown of a figure that cannot be drawn.
    pub fn nothing(reason: &str) -> Self {
        Self {
            figure: Figure::single(Panel::new("", Axis::linear(""), Axis::linear(""))),
            table: Table::new(["nothing"]),
            found: format!("This figure cannot be drawn: {reason}."),
            checks: vec![Check {
                what: "the figure can be drawn".into(),
                holds: false,
                essential: true,
            }],
            notes: Vec::new(),
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
        let cases = work.plan.cases.iter();
        let seeds = work.plan.seeds;
        let incomplete = |case: &Case| {
            let label = case.label();
            format!("figure {}: no trial of the case '{label}' can be used", work.entry.id)
        };
        match &work.experiment {
            Experiment::Theory => {}
            Experiment::Bound(_) => {
                results.bound = bound::summarise(&records.bound).unwrap_or_default();
            }
            Experiment::Simulate(simulations) => {
                let trials = records.simulate.chunks(seeds);
                for ((case, simulation), trials) in cases.zip(simulations).zip(trials) {
                    let summary = simulation::summarise(trials).ok_or_else(|| incomplete(case))?;
                    let (case, simulation) = (case.clone(), simulation.clone());
                    let diverged = simulation::divergence(trials).map_or(0, |(_, count)| count);
                    results.simulated.push(Simulated { case, simulation, summary, diverged });
                }
            }
            Experiment::Convergence(studies) => {
                for (study, trials) in studies.iter().zip(records.convergence.chunks(seeds)) {
                    results.convergence.extend(convergence::summarise(study.alpha(), trials));
                }
            }
            Experiment::Train(trainings) => {
                let trials = records.train.chunks(seeds);
                for ((case, training), trials) in cases.zip(trainings).zip(trials) {
                    let summary = training::summarise(trials).ok_or_else(|| incomplete(case))?;
                    let (case, training) = (case.clone(), training.clone());
                    results.trained.push(Trained { case, training, summary });
                }
            }
        }
        Ok(results)
    }
}
