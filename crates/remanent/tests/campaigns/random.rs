//! Random choices that a seed and the number of a case determine.

use remanent_math::philox::Stream;

/// A sequence of random numbers.
pub struct Random {
    stream: Stream,
    index: u32,
}

impl Random {
    /// The sequence of one case of one campaign.
    pub fn new(seed: u64, campaign: u32, case: u32) -> Self {
        Self { stream: Stream::new(seed, 9000 + campaign, case, 0), index: 0 }
    }

    /// A number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.index += 1;
        self.stream.uniform(self.index)
    }

    /// A whole number below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.uniform() * count as f64) as usize).min(count - 1)
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }
}
