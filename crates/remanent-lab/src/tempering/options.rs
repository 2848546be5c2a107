//! The options of parallel tempering.

use remanent_perceptron::ranges;
use toml::Value;

use crate::options;
use crate::options::{Kind, OptionValue};
use crate::values::as_count;
use crate::words;

/// Number of temperatures of a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temperatures {
    /// As many as the target acceptance of exchanges needs.
    Auto,
    /// This many.
    Count(usize),
}

/// Steps of replica-symmetry breaking of the theory that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// Replica symmetry alone.
    Symmetric,
    /// Replica symmetry, and one step of breaking.
    One,
}

words! {
    Steps {
        "0" => Symmetric, "replica symmetry";
        "1" => One, "replica symmetry, and one step of breaking beside it";
    }
}

options! {
    /// Options of `simulate tempering`.
    pub struct TemperingOptions {
        "Problem" {
            /// Number of weights N; an odd number has no ties
            n: usize = 101, in ranges::N,
            /// Patterns per weight
            alpha: Option<f64> = None, in ranges::ALPHA,
            /// Inverse temperature
            beta: f64 = 20.0, in ranges::BETA,
        }
        "Sampling" {
            /// Inverse temperature of the hot end of the ladder [default: 0.4 beta]
            beta_low: Option<f64> = None, in ranges::BETA,
            /// Temperatures of the ladder: a number, or 'auto' for an acceptance of exchanges of 0.3
            temperatures: Temperatures = Temperatures::Auto, in ranges::TEMPERATURES,
            /// Replicas on the same data, an even number: one half starts at random, the other at the
            /// teacher
            replicas: usize = 4, in ranges::REPLICAS,
            /// Sweeps before measuring; the ladder is placed in the first half of them
            warmup: usize = 1000, in ranges::TEMPERING_WARMUP,
            /// Sweeps that are measured
            sweeps: usize = 4000, in ranges::SWEEPS,
        }
    }
}

options! {
    /// What the report of parallel tempering shows.
    pub struct TemperingView {
        "Theory" {
            /// Show the theory beside the samples, with this number of steps of breaking
            compare: Option<Steps> = None,
        }
    }
}

impl OptionValue for Temperatures {
    const KIND: Kind = Kind::NumberOrText;

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) if text == "auto" => Ok(Self::Auto),
            value => as_count(value)
                .map(Self::Count)
                .ok_or_else(|| format!("'auto', or a number {}", ranges::TEMPERATURES)),
        }
    }

    fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Auto => "auto".into(),
            Self::Count(count) => count.to_string(),
        })
    }

    fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Auto => Vec::new(),
            Self::Count(count) => vec![*count as f64],
        }
    }
}
