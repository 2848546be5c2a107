//! One trial of one case: the piece of a simulation that is computed alone.

use remanent_perceptron::boltzmann::{BoltzmannLearner, Sampling, TaskSamples};
use remanent_perceptron::gradient::{GradientLearner, Row, Trainer};
use remanent_perceptron::randomness;
use remanent_perceptron::world::World;
use remanent_store::{Cell, Context, Stopped};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::simulation::config::{Learner, Simulation};

/// A trial of a simulation.
pub struct Trial<'a> {
    /// The case.
    pub simulation: &'a Simulation,
    /// Seed and number of the trial.
    pub trial: randomness::Trial,
}

/// What a trial leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// What was recorded over time.
    pub rows: Vec<Row>,
    /// The epoch in which a weight was no longer a number, if that happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diverged: Option<usize>,
    /// The averages of every task, if the learner samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<TaskSamples>,
}

impl Trial<'_> {
    /// Epochs (sweeps of all chains) of the whole trial.
    pub fn epochs(&self) -> usize {
        let tasks = self.simulation.setting.alpha.len();
        match &self.simulation.learner {
            Learner::Gradient(learner) => (0..tasks).map(|task| learner.epochs_of(task)).sum(),
            Learner::Boltzmann(learner) => tasks * learner.sweeps_per_task() * learner.chains,
        }
    }
}

impl Cell for Trial<'_> {
    type Record = TrialRecord;

    fn key(&self) -> Value {
        json!({
            "simulation": self.simulation.key(),
            "seed": self.trial.seed,
            "trial": self.trial.trial,
        })
    }

    /// Patterns seen.
    fn work(&self) -> u64 {
        let setting = &self.simulation.setting;
        let of = |task: usize| match &self.simulation.learner {
            Learner::Gradient(learner) => learner.epochs_of(task),
            Learner::Boltzmann(learner) => learner.sweeps_per_task() * learner.chains,
        };
        let patterns = setting.patterns().unwrap_or_default();
        let seen = |(task, &count): (usize, &usize)| (of(task) as u64).saturating_mul(count as u64);
        patterns.iter().enumerate().map(seen).fold(0, u64::saturating_add)
    }

    fn memory(&self) -> u64 {
        self.simulation.memory()
    }

    fn run(&self, context: &mut Context<'_>) -> Result<TrialRecord, Stopped> {
        let world = World::draw(&self.simulation.setting, self.trial).map_err(Stopped::failed)?;
        match &self.simulation.learner {
            Learner::Gradient(learner) => self.train(learner, &world, context),
            Learner::Boltzmann(learner) => self.sample(learner, &world, context),
        }
    }
}

impl Trial<'_> {
    fn train(
        &self,
        learner: &GradientLearner,
        world: &World,
        context: &mut Context<'_>,
    ) -> Result<TrialRecord, Stopped> {
        let mut trainer = match context.load() {
            Some(progress) => Trainer::resume(learner, world, self.trial, progress),
            None => Trainer::new(learner, world, self.trial),
        }
        .map_err(Stopped::failed)?;
        context.advance(trainer.patterns_seen() as u64);
        while !trainer.is_finished() {
            let before = trainer.patterns_seen();
            trainer.epoch();
            context.advance((trainer.patterns_seen() - before) as u64);
            if trainer.student().diverged().is_some() {
                // What was recorded on the way may hold what JSON cannot.
                return Ok(TrialRecord {
                    diverged: Some(trainer.epochs_done()),
                    rows: Vec::new(),
                    samples: Vec::new(),
                });
            }
            if context.due() {
                context.save(&trainer.progress())?;
            }
        }
        Ok(TrialRecord { rows: trainer.into_rows(), samples: Vec::new(), diverged: None })
    }

    fn sample(
        &self,
        learner: &BoltzmannLearner,
        world: &World,
        context: &mut Context<'_>,
    ) -> Result<TrialRecord, Stopped> {
        let mut sampling = match context.load() {
            Some(progress) => Sampling::resume(learner, world, self.trial, progress),
            None => Sampling::new(learner, world, self.trial),
        }
        .map_err(Stopped::failed)?;
        context.advance(sampling.patterns_seen() as u64);
        while !sampling.is_finished() {
            let before = sampling.patterns_seen();
            sampling.sweep();
            context.advance((sampling.patterns_seen() - before) as u64);
            if context.due() {
                context.save(&sampling.progress())?;
            }
        }
        let (rows, samples) = sampling.into_results();
        Ok(TrialRecord { rows, samples, diverged: None })
    }
}
