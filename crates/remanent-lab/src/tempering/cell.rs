//! One draw of the data: the piece of a study that is computed alone.

use remanent_perceptron::randomness;
use remanent_perceptron::tempering::{Tempering, TemperingRecord};
use remanent_perceptron::world::World;
use remanent_store::{Cell, Context, Stopped};
use serde_json::{Value, json};

use crate::tempering::config::TemperingStudy;

/// One draw of teacher and data.
pub struct TemperingTrial<'a> {
    /// The case.
    pub study: &'a TemperingStudy,
    /// Seed and number of the draw.
    pub trial: randomness::Trial,
}

impl Cell for TemperingTrial<'_> {
    type Record = TemperingRecord;

    fn key(&self) -> Value {
        json!({
            "study": self.study.key(),
            "seed": self.trial.seed,
            "trial": self.trial.trial,
        })
    }

    fn work(&self) -> u64 {
        (self.study.learner.all_sweeps() as u64).saturating_mul(self.weight())
    }

    /// Positions of all chains at the most probable number of temperatures, the patterns, and what is
    /// measured.
    fn memory(&self) -> u64 {
        let (n, patterns) = (self.study.setting.n as u64, self.study.patterns() as u64);
        let learner = &self.study.learner;
        let chains = learner.replicas as u64 * rungs(n);
        let measured = 4096 * (learner.replicas * (learner.replicas + 10)) as u64;
        n.div_ceil(512) * 64 * patterns + 16 * n * chains + 128 * (n + patterns) + 8 * measured
    }

    fn run(&self, context: &mut Context<'_>) -> Result<TemperingRecord, Stopped> {
        let world = World::draw(&self.study.setting, self.trial).map_err(Stopped::failed)?;
        let learner = &self.study.learner;
        let mut tempering = match context.load() {
            Some(progress) => Tempering::resume(learner, &world, self.trial, progress),
            None => Tempering::new(learner, &world, self.trial),
        }
        .map_err(Stopped::failed)?;
        context.advance((tempering.sweeps_done() as u64).saturating_mul(self.weight()));
        while !tempering.is_finished() {
            tempering.sweep();
            context.advance(self.weight());
            if context.due() {
                context.save(&tempering.progress())?;
            }
        }
        Ok(tempering.into_record())
    }
}

/// About as many temperatures as a ladder has.
fn rungs(n: u64) -> u64 {
    2 + n.isqrt()
}

impl TemperingTrial<'_> {
    /// Patterns that a sweep goes through, times the weights of each: the time of a sweep.
    fn weight(&self) -> u64 {
        let n = self.study.setting.n as u64;
        let chains = self.study.learner.replicas as u64 * rungs(n);
        chains * self.study.patterns() as u64 * n.div_ceil(64)
    }
}
