//! The streams of random numbers, one for each thing that is drawn.
//!
//! A number is addressed by what it is for, so that adding a task, a chain or a
//! trial never changes another draw.

use remanent_math::philox::Stream;

/// What a stream of random numbers is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The first teacher, and the flips that lead to the next.
    Teacher = 1,
    /// The training patterns of a task.
    Patterns = 2,
    /// Fresh patterns on which the error is measured.
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
}

/// The seed that a user states, and the number of the trial under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The seed of the whole experiment.
    pub seed: u64,
    /// The trial, from 0.
    pub trial: u32,
}

impl Trial {
    /// The stream for a purpose. `place` tells tasks (or chains) apart, `step` moments in time.
    pub fn stream(self, purpose: Purpose, place: usize, step: usize) -> Stream {
        Stream::new(self.seed, purpose as u32 | (place as u32) << 8, self.trial, step as u32)
    }
}
