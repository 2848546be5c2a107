//! The options of a simulation.

use remanent_perceptron::boltzmann::Start;
use remanent_perceptron::gradient::Batch;
use remanent_perceptron::optimizer::Rule;
use remanent_perceptron::ranges::{self, Range};
use remanent_perceptron::student::Space;
use remanent_theory::parameters::{Choice, Prior};
use toml::Value;

use crate::options::{Kind, OptionValue};
use crate::values::as_count;
use crate::{options, words};

/// How a perceptron learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Stochastic gradient descent.
    Sgd,
    /// Full-batch gradient descent.
    Gd,
    /// Stochastic gradient descent of magnetisations whose norm rises slowly.
    SlowSgd,
    /// Samples of the theory's ensemble.
    Boltzmann,
}

/// What a simulation is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// The replica theory.
    Theory,
}

words! {
    Method {
        "sgd" => Sgd, "stochastic gradient descent: field space, momentum 0.9, lr 0.001, batch 32";
        "gd" => Gd, "gradient descent: field space, lr 0.01, full batch";
        "slow-sgd" => SlowSgd, "magnetisations whose norm q_star rises slowly: lr 0.03, batch 32";
        "boltzmann" => Boltzmann, "samples of the theory's ensemble";
    }
}
words! {
    With {
        "theory" => Theory, "the replica theory";
    }
}
words! {
    Prior {
        "none" => None, "no prior, as in the paper";
        "uniform" => Uniform, "a KL term to the uniform distribution of the weights";
    }
}
words! {
    Choice {
        "stable" => Stable, "the solution with the largest -beta f (potential)";
        "poor" => Poor, "the branch connected to alpha -> 0";
        "middle" => Middle, "the unstable branch between the folds";
        "good" => Good, "the branch connected to alpha -> infinity";
    }
}
words! {
    Space {
        "field" => Field, "theta, with m = tanh(scale theta)";
        "magnetisation" => Magnetisation, "m itself";
    }
}
words! {
    Rule {
        "plain" => Plain, "no memory of earlier steps";
        "momentum" => Momentum, "a running mean of the gradients";
        "adam" => Adam, "Adam";
    }
}

options! {
    /// Options of all learners by gradients.
    pub struct GradientOptions {
        "Learning by gradients" {
            /// Epochs of each task: one number, or one for each task
            epochs: Option<Vec<usize>> = None, in ranges::EPOCHS,
            /// Learning rate: one number, or one for each task
            lr: Option<Vec<f64>> = None, in ranges::LR,
            /// Patterns per step: a number, 'full', or 'M/20' for that part of them (at least 10)
            batch: Option<Batch> = None, in ranges::BATCH,
            /// Optimiser
            optimizer: Option<Rule> = None,
            /// Momentum
            momentum: f64 = 0.9, in ranges::MOMENTUM,
            /// Decoupled weight decay
            weight_decay: f64 = 0.0, in ranges::WEIGHT_DECAY,
            /// Which parameters are learned
            space: Option<Space> = None,
            /// The scale in m = tanh(scale theta)
            field_scale: f64 = 1.0, in ranges::FIELD_SCALE,
        }
    }
}

options! {
    /// Options of `simulate`.
    pub struct SimulationOptions {
        ..gradient: GradientOptions,
        "Problem" {
            /// Number of weights N
            n: usize = 1000, in ranges::N,
            /// Patterns per weight of each task; their number is the number of tasks
            alpha: Option<Vec<f64>> = None, in ranges::ALPHA,
            /// Overlap of neighbouring teachers: one number, or one for each step
            r0: Vec<f64> = vec![0.0], in ranges::R_0,
            /// Also measure the error on this many fresh patterns of each task
            fresh_patterns: usize = 0, in ranges::FRESH_PATTERNS,
        }
        "Learner" {
            /// Learning algorithm
            learner: Method = Method::Sgd,
            /// Factor of the KL term to the previous task: one number, or one for each step
            /// [default: 1; 0 in magnetisation space]
            gamma: Option<Vec<f64>> = None, in ranges::GAMMA,
            /// Factor of the magnetisations before they become the anchor of the next task: one number, or one
            /// for each step
            lambda: Vec<f64> = vec![1.0], in ranges::LAMBDA,
            /// Factor of the field of the anchor: one number, or one for each step
            rho: Vec<f64> = vec![1.0], in ranges::RHO,
            /// Prior of the first task
            prior: Prior = Prior::None,
            /// Record every N epochs or sweeps [default: about 200 rows]
            record_every: Option<usize> = None, in ranges::RECORD_EVERY,
        }
        "Learner slow-sgd" {
            /// First and last value of q_star [default: 0.1,0.98]
            q_star: Option<Vec<f64>> = None, in ranges::Q_STAR,
        }
        "Learner boltzmann" {
            /// Inverse temperature: one number, or one for each task
            beta: Vec<f64> = vec![20.0], in ranges::BETA,
            /// Markov chains on the same data
            chains: usize = 2, in ranges::CHAINS,
            /// Sweeps of each task before measuring
            warmup: usize = 300, in ranges::WARMUP,
            /// Sweeps of each task that are measured
            sweeps: usize = 1000, in ranges::SWEEPS,
            /// Start of the chains: 'random', or the magnetisation towards the teacher, e.g. 0.9
            start: Start = Start::Random, in ranges::START,
        }
        "Theory" {
            /// Inverse temperature of the theory that gradient learners are compared with
            theory_beta: f64 = 20.0, in remanent_theory::ranges::BETA,
        }
    }
}

options! {
    /// What the report of a simulation shows.
    pub struct SimulationView {
        "Theory" {
            /// Show the theory beside the simulation
            compare: Option<With> = None,
            /// Solution of the theory
            branch: Choice = Choice::Stable,
        }
    }
}

options! {
    /// Options of `simulate bound`.
    pub struct BoundOptions {
        ..gradient: GradientOptions,
        "Problem" {
            /// Number of weights N; all 2^N states of the weights are summed over
            n: usize = 10, in ranges::ENUMERATED_N,
            /// Patterns per weight
            alpha: f64 = 1.0, in ranges::ALPHA,
            /// Sharpness of the likelihood
            kappa: f64 = 10.0, in Range::above(0.0).at_most(1e6),
        }
        "Learner" {
            /// Learning algorithm
            learner: Method = Method::Gd,
            /// Prior of the weights
            prior: Prior = Prior::None,
            /// Record every N epochs [default: about 200 rows]
            record_every: Option<usize> = None, in ranges::RECORD_EVERY,
        }
    }
}

options! {
    /// Options of `simulate convergence-time`.
    pub struct ConvergenceOptions {
        ..gradient: GradientOptions,
        "Problem" {
            /// Number of weights N
            n: usize = 3000, in ranges::N,
            /// Patterns per weight: every value of the list is measured
            alpha: Option<Vec<f64>> = None, in ranges::ALPHA,
            /// Steps over which the fall of the error is taken
            window: usize = 1000, in Range::at_least(1.0),
            /// A fall of the error below this counts as converged
            drop: f64 = 0.0005, in Range::above(0.0),
        }
        "Learner" {
            /// Learning algorithm
            learner: Method = Method::Gd,
            /// Prior of the weights
            prior: Prior = Prior::None,
        }
    }
}

impl OptionValue for Batch {
    const KIND: Kind = Kind::NumberOrText;

    fn read(value: &Value) -> Result<Self, String> {
        let parsed = match value {
            Value::String(text) if text == "full" => Some(Self::Full),
            Value::String(text) => {
                text.strip_prefix("M/").and_then(|parts| parts.parse().ok()).map(Self::Part)
            }
            value => as_count(value).map(Self::Size),
        };
        parsed.ok_or_else(|| "a number of patterns, 'full', or 'M/20' for that part of them".into())
    }

    fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Full => "full".into(),
            Self::Size(size) => size.to_string(),
            Self::Part(parts) => format!("M/{parts}"),
        })
    }

    fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Full => Vec::new(),
            Self::Size(number) | Self::Part(number) => vec![*number as f64],
        }
    }
}

impl OptionValue for Start {
    const KIND: Kind = Kind::NumberOrText;

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) if text == "random" => Ok(Self::Random),
            Value::Float(m) => Ok(Self::Teacher(*m)),
            Value::Integer(m) => Ok(Self::Teacher(*m as f64)),
            _ => Err("'random', or the magnetisation towards the teacher, e.g. 0.9".into()),
        }
    }

    fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Random => "random".into(),
            Self::Teacher(m) => m.to_string(),
        })
    }

    fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Random => Vec::new(),
            Self::Teacher(m) => vec![*m],
        }
    }
}
