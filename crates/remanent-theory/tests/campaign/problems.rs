//! Random problems of the theory: parameters over the whole domain, with edge values drawn often.

use remanent_math::philox::Stream;
use remanent_theory::chain::{ChainParameters, ChainResult};
use remanent_theory::parameters::{Choice, Prior};
use remanent_theory::resolution::Resolution;
use serde::{Deserialize, Serialize};

/// The kinds of problems; all but streams are drawn in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    Single,
    Constrained,
    Chain,
    ConstrainedChain,
    Stream,
}

impl Kind {
    pub const ALL: [Self; 5] =
        [Self::Single, Self::Constrained, Self::Chain, Self::ConstrainedChain, Self::Stream];

    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Constrained => "constrained",
            Self::Chain => "chain",
            Self::ConstrainedChain => "constrained chain",
            Self::Stream => "stationary stream",
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

    fn lambda(&mut self) -> f64 {
        let u = self.uniform();
        match (10.0 * u) as u32 {
            0 => 1.0,
            1 => 0.0,
            2..=5 => 1.0 - self.log_uniform(1e-6, 0.5),
            _ => 2.0 * self.uniform() - 1.0,
        }
    }

    fn rho(&mut self) -> f64 {
        if self.chance(0.5) { 1.0 } else { self.uniform() }
    }

    fn many(&mut self, count: usize, same: f64, draw: fn(&mut Self) -> f64) -> Vec<f64> {
        if self.chance(same) {
            vec![draw(self); count]
        } else {
            (0..count).map(|_| draw(self)).collect()
        }
    }
}

/// The problem of one number in the campaign of one seed, of at most `longest` tasks.
pub fn problem(seed: u64, number: u32, longest: usize) -> Problem {
    let mut draw = Draw { stream: Stream::new(seed, 77, number, 0), index: 0 };
    let kind = Kind::ALL[number as usize % 4];
    let tasks = match kind {
        Kind::Single | Kind::Constrained | Kind::Stream => 1,
        Kind::Chain | Kind::ConstrainedChain => {
            let u = draw.uniform();
            (2 + (9.0 * u * u * u) as usize).min(longest)
        }
    };
    let alpha = draw.many(tasks, 0.2, |d| d.log_uniform(1e-4, 1e3));
    let beta = draw.many(tasks, 0.7, |d| d.log_uniform(1e-2, 1e3));
    let r_0 = draw.many(tasks - 1, 0.5, Draw::r_0);
    let gamma = draw.many(tasks - 1, 0.5, Draw::gamma);
    let q_star = match kind {
        Kind::Constrained | Kind::ConstrainedChain => draw.many(tasks, 0.2, Draw::q_star),
        Kind::Single | Kind::Chain | Kind::Stream => vec![],
    };
    let prior = if draw.chance(0.2) { Prior::Uniform } else { Prior::None };
    let choice = if draw.chance(0.1) { Choice::Poor } else { Choice::Stable };
    let fades = draw.chance(0.3);
    let mut fading = |factor: fn(&mut Draw) -> f64| {
        if fades { draw.many(tasks - 1, 0.5, factor) } else { vec![] }
    };
    let (lambda, rho) = (fading(Draw::lambda), fading(Draw::rho));
    let choice = vec![choice];
    let parameters =
        ChainParameters { alpha, beta, gamma, r_0, lambda, rho, prior, q_star, choice };
    Problem { kind, parameters }
}

/// A stream without end whose anchors fade. Its temperatures and loads are those at which a task is neither
/// impossible nor trivial.
pub fn stream(seed: u64, number: u32) -> Problem {
    let mut draw = Draw { stream: Stream::new(seed, 78, number, 0), index: 0 };
    let alpha = vec![draw.log_uniform(0.03, 10.0)];
    let beta = vec![draw.log_uniform(0.3, 50.0)];
    let gamma = vec![draw.log_uniform(0.03, 10.0)];
    let r_0 = vec![draw.r_0()];
    // One of the two must fade, or the stream has no stationary state.
    let by_lambda = draw.chance(0.5);
    let factor = 0.97 * draw.uniform();
    let (lambda, rho) = if by_lambda {
        (if draw.chance(0.2) { -factor } else { factor }, draw.rho())
    } else {
        (1.0, factor)
    };
    let (lambda, rho) = (vec![lambda], vec![rho]);
    let parameters = ChainParameters { alpha, beta, gamma, r_0, lambda, rho, ..Default::default() };
    Problem { kind: Kind::Stream, parameters }
}

impl Problem {
    /// The options of `remanent theory chain` (`constrained`) that ask for the same.
    pub fn options(&self) -> String {
        let p = &self.parameters;
        let list =
            |values: &[f64]| values.iter().map(|v| format!("{v:e}")).collect::<Vec<_>>().join(",");
        let mut text = format!("--alpha {} --beta {}", list(&p.alpha), list(&p.beta));
        for (name, values) in [
            ("r0", &p.r_0),
            ("gamma", &p.gamma),
            ("lambda", &p.lambda),
            ("rho", &p.rho),
            ("q-star", &p.q_star),
        ] {
            if !values.is_empty() {
                text += &format!(" --{name}={}", list(values));
            }
        }
        if p.prior == Prior::Uniform {
            text += " --prior uniform";
        }
        if p.choice == [Choice::Poor] {
            text += " --branch poor";
        }
        text
    }

    pub fn solve(&self, resolution: Resolution) -> ChainResult {
        self.parameters
            .check()
            .expect("drawn within the domain")
            .with_resolution(resolution)
            .solve()
    }
}
