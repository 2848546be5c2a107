//! Random theory problems over the whole domain, and what must hold for their answers.

use std::time::Duration;

use cpu_time::ThreadTime;
use remanent_math::philox::Stream;
use remanent_theory::chain::{ChainParameters, ChainResult};
use remanent_theory::overlaps::Resolution;
use remanent_theory::parameters::{Choice, Prior};

/// The kinds of problems, drawn in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Single,
    Constrained,
    Chain,
    ConstrainedChain,
}

impl Kind {
    pub const ALL: [Self; 4] =
        [Self::Single, Self::Constrained, Self::Chain, Self::ConstrainedChain];

    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Constrained => "constrained",
            Self::Chain => "chain",
            Self::ConstrainedChain => "constrained chain",
        }
    }
}

/// A problem: a chain of one task or more.
#[derive(Clone, Debug)]
pub struct Problem {
    pub kind: Kind,
    pub parameters: ChainParameters,
}

/// Draws one number after another from a stream.
struct Draw {
    stream: Stream,
    index: u32,
}

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.index += 1;
        self.stream.uniform(self.index)
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    fn one_of(&mut self, values: &[f64]) -> f64 {
        values[((values.len() as f64 * self.uniform()) as usize).min(values.len() - 1)]
    }

    /// Log-uniform, and often one of the ends.
    fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        if self.chance(0.1) {
            return self.one_of(&[low, high]);
        }
        (low.ln() + self.uniform() * (high / low).ln()).exp().clamp(low, high)
    }

    fn gamma(&mut self) -> f64 {
        if self.chance(0.2) { self.one_of(&[0.0, 1.0]) } else { self.log_uniform(1e-4, 1e4) }
    }

    fn r_0(&mut self) -> f64 {
        if self.chance(0.4) {
            self.one_of(&[-1.0, -0.999_999, -1e-9, 0.0, 0.5, 0.999_999, 1.0 - 1e-12, 1.0])
        } else {
            2.0 * self.uniform() - 1.0
        }
    }

    fn q_star(&mut self) -> f64 {
        match (4.0 * self.uniform()) as u32 {
            0 => self.log_uniform(1e-6, 0.5),
            1 => 1.0 - self.log_uniform(1e-9, 0.5),
            2 => self.one_of(&[1e-6, 1e-4, 0.5, 0.999_999, 1.0 - 1e-9]),
            _ => 0.01 + 0.98 * self.uniform(),
        }
    }

    fn many(&mut self, count: usize, same: f64, draw: fn(&mut Self) -> f64) -> Vec<f64> {
        if self.chance(same) {
            vec![draw(self); count]
        } else {
            (0..count).map(|_| draw(self)).collect()
        }
    }
}

/// The problem of one number in the campaign of one seed.
pub fn problem(seed: u64, number: u32) -> Problem {
    let mut draw = Draw { stream: Stream::new(seed, 77, number, 0), index: 0 };
    let kind = Kind::ALL[number as usize % 4];
    let tasks = match kind {
        Kind::Single | Kind::Constrained => 1,
        Kind::Chain | Kind::ConstrainedChain => {
            let u = draw.uniform();
            2 + (9.0 * u * u) as usize
        }
    };
    let alpha = draw.many(tasks, 0.2, |d| d.log_uniform(1e-4, 1e3));
    let beta = draw.many(tasks, 0.7, |d| d.log_uniform(1e-2, 1e3));
    let r_0 = draw.many(tasks - 1, 0.5, Draw::r_0);
    let gamma = draw.many(tasks - 1, 0.5, Draw::gamma);
    let q_star = match kind {
        Kind::Constrained | Kind::ConstrainedChain => draw.many(tasks, 0.2, Draw::q_star),
        Kind::Single | Kind::Chain => vec![],
    };
    let prior = if draw.chance(0.2) { Prior::Uniform } else { Prior::None };
    let choice = if draw.chance(0.1) { Choice::Poor } else { Choice::Stable };
    let parameters =
        ChainParameters { alpha, beta, gamma, r_0, prior, q_star, choice: vec![choice] };
    Problem { kind, parameters }
}
