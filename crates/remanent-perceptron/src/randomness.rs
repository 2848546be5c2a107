//! Streams of random numbers, one for each purpose.
//!
//! A number is addressed by its purpose, so adding a task, a chain or a trial does not change other
//! draws.

use remanent_math::philox::Stream;

/// The purpose of a stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The first teacher, and the flips that give the next one.
    Teacher = 1,
    /// The training patterns of a task.
    Patterns = 2,
    /// The fresh patterns of a task.
    FreshPatterns = 3,
    /// The student's initial field.
    InitialField = 4,
    /// The order of the patterns in an epoch.
    Order = 5,
    /// Momenta of the sampler.
    Momenta = 6,
    /// Trajectory lengths and acceptances of the sampler.
    Decisions = 7,
    /// Which ties of the training patterns are broken.
    Ties = 8,
    /// Which ties of the fresh patterns are broken.
    FreshTies = 9,
    /// Decisions about exchanges between temperatures.
    Exchanges = 10,
}

/// A seed, and the number of a trial with that seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The seed of the whole experiment.
    pub seed: u64,
    /// The trial, from 0.
    pub trial: u32,
}

impl Trial {
    /// The stream for a purpose. `place` is the task (or chain), `step` the epoch or sweep.
    pub fn stream(self, purpose: Purpose, place: usize, step: usize) -> Stream {
        Stream::new(self.seed, purpose as u32 | (place as u32) << 8, self.trial, step as u32)
    }
}
