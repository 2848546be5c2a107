//! Schedules: β, the scale of the fields, over a stream of tasks, and the learning rate within a task.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parameters::ParameterError;
use crate::ranges;

/// How β depends on task and epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum BetaSchedule {
    /// One value for each task, or one for all.
    Tasks(Vec<f64>),
    /// a tanh(δ + b ℓ/M), where ℓ counts the epochs of the whole stream from 1 and M is their
    /// number.
    Tanh {
        /// a.
        a: f64,
        /// δ.
        delta: f64,
        /// b.
        b: f64,
    },
    /// One value for each epoch of the stream.
    Epochs(Vec<f64>),
}

impl BetaSchedule {
    /// β of a task and epoch, both counted from 0; the epoch counts over the whole stream.
    pub fn at(&self, task: usize, epoch: usize, epochs: usize) -> f64 {
        match self {
            Self::Tasks(values) => at_or_last(values, task),
            Self::Tanh { a, delta, b } => {
                a * (delta + b * (epoch + 1) as f64 / epochs as f64).tanh()
            }
            Self::Epochs(values) => at_or_last(values, epoch),
        }
    }

    /// Fails unless it gives a positive number for each task and epoch.
    pub fn check(&self, tasks: usize, epochs: usize) -> Result<(), ParameterError> {
        let (given, needed, of) = match self {
            Self::Tasks(values) if values.len() == 1 => (1, 1, "tasks"),
            Self::Tasks(values) => (values.len(), tasks, "tasks"),
            Self::Epochs(values) => (values.len(), epochs, "epochs"),
            Self::Tanh { .. } => (1, 1, "tasks"),
        };
        if given != needed {
            return Err(ParameterError::Invalid(format!(
                "the schedule of beta has {given} values, but the stream has {needed} {of}"
            )));
        }
        for epoch in 0..epochs {
            let beta = self.at(epoch * tasks / epochs, epoch, epochs);
            ranges::BETA.check("beta", beta)?;
        }
        Ok(())
    }
}

/// How the learning rate changes within a task. Every task begins again at the full rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// The same in every step.
    #[default]
    Constant,
    /// Half a cosine, from the full rate to zero.
    Cosine,
    /// A straight line, from the full rate to zero.
    Linear,
}

impl RateSchedule {
    /// Factor of the learning rate in step `step` of `steps` of a task, counted from 0.
    pub fn factor(self, step: usize, steps: usize) -> f64 {
        let done = step as f64 / steps.max(1) as f64;
        match self {
            Self::Constant => 1.0,
            Self::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
            Self::Linear => 1.0 - done,
        }
    }

    pub(crate) fn is_constant(&self) -> bool {
        *self == Self::Constant
    }
}

/// What the learning rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateRule {
    /// It is the rate itself.
    #[default]
    Constant,
    /// It is the rate of batches of 64 images; the rate of batches of B is √(B/64) times as large. Where noise dominates, a normalised gradient of B images
    /// has √B times the signal of that of one image.
    Batch,
    /// It is the rate of tasks of at most S_0 = 625 steps; that of tasks of S steps is √(S_0/S) times as large. Normalised steps
    /// in random directions then move a field by lr √S_0 in a task of any length, whatever the batch, and a single step by at most lr.
    Steps,
}

/// S_0 of [`RateRule::Steps`].
const FEW_STEPS: usize = 625;

impl RateRule {
    /// The rate of batches of this size.
    pub fn rate(self, lr: f64, batch: usize) -> f64 {
        match self {
            Self::Constant | Self::Steps => lr,
            Self::Batch => lr * (batch as f64 / 64.0).sqrt(),
        }
    }

    /// Factor of the rate in a task of so many steps.
    pub fn factor(self, steps: usize) -> f64 {
        match self {
            Self::Constant | Self::Batch => 1.0,
            Self::Steps => (FEW_STEPS as f64 / steps.max(FEW_STEPS) as f64).sqrt(),
        }
    }

    pub(crate) fn is_constant(&self) -> bool {
        *self == Self::Constant
    }
}

/// The value for `index`, or the last one. NaN if there is none, which no check accepts.
fn at_or_last(values: &[f64], index: usize) -> f64 {
    values.get(index).or(values.last()).copied().unwrap_or(f64::NAN)
}

impl fmt::Display for BetaSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::Tasks(values) => f.write_str(&join(values)),
            Self::Tanh { a, delta, b } => write!(f, "tanh:{a},{delta},{b}"),
            Self::Epochs(values) => write!(f, "epochs:{}", join(values)),
        }
    }
}

impl From<BetaSchedule> for String {
    fn from(schedule: BetaSchedule) -> Self {
        schedule.to_string()
    }
}

impl FromStr for BetaSchedule {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let wrong = || {
            ParameterError::Invalid(format!(
                "beta schedule '{text}' is not understood: write '2' or '1,12.5' (one value for \
                 each task), 'tanh:10,0.1,2' (10 tanh(0.1 + 2 epoch/epochs)), or \
                 'epochs:1,1.5,2' (one value for each epoch)"
            ))
        };
        let numbers = |text: &str| -> Result<Vec<f64>, ParameterError> {
            text.split(',').map(|x| x.trim().parse().map_err(|_| wrong())).collect()
        };
        match text.split_once(':') {
            None => Ok(Self::Tasks(numbers(text)?)),
            Some(("tanh", rest)) => match numbers(rest)?[..] {
                [a, delta, b] => Ok(Self::Tanh { a, delta, b }),
                _ => Err(wrong()),
            },
            Some(("epochs", rest)) => Ok(Self::Epochs(numbers(rest)?)),
            Some(_) => Err(wrong()),
        }
    }
}

impl TryFrom<String> for BetaSchedule {
    type Error = ParameterError;

    fn try_from(text: String) -> Result<Self, ParameterError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        for text in ["2", "1,12.5", "tanh:10,0.1,2", "epochs:1,2,3"] {
            assert_eq!(text.parse::<BetaSchedule>().unwrap().to_string(), text);
        }
        for text in ["", "a", "tanh:1,2", "tan:1,2,3", "1,,2"] {
            assert!(text.parse::<BetaSchedule>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_published_schedule_counts_epochs_of_the_stream_from_one() {
        let schedule: BetaSchedule = "tanh:10,0.1,2".parse().unwrap();
        assert!((schedule.at(0, 0, 25) - 10.0 * (0.18_f64).tanh()).abs() < 1e-12);
        assert!((schedule.at(4, 24, 25) - 10.0 * (2.1_f64).tanh()).abs() < 1e-12);
    }

    #[test]
    fn rates_begin_full_and_fall_to_zero() {
        for schedule in [RateSchedule::Cosine, RateSchedule::Linear] {
            let rates: Vec<f64> = (0..=100).map(|k| schedule.factor(k, 100)).collect();
            assert_eq!(rates[0], 1.0);
            assert!((rates[50] - 0.5).abs() < 1e-12 && rates[100].abs() < 1e-12);
            assert!(rates.windows(2).all(|pair| pair[1] < pair[0]), "{schedule:?}");
        }
        assert_eq!(RateSchedule::Constant.factor(99, 100), 1.0);
    }

    #[test]
    fn the_rate_may_follow_the_batch() {
        assert_eq!(RateRule::Constant.rate(0.3, 7), 0.3);
        assert_eq!(
            [1, 16, 64, 256].map(|batch| RateRule::Batch.rate(0.16, batch)),
            [0.02, 0.08, 0.16, 0.32]
        );
    }

    #[test]
    fn the_rate_may_follow_the_steps_of_a_task() {
        let factors = [1, 625, 2500, 62_500].map(|steps| RateRule::Steps.factor(steps));
        assert_eq!(factors, [1.0, 1.0, 0.5, 0.1]);
    }

    #[test]
    fn lists_must_fit_the_stream() {
        let check = |text: &str| text.parse::<BetaSchedule>().unwrap().check(2, 6);
        assert!(check("1").is_ok() && check("1,2").is_ok() && check("epochs:1,1,1,1,1,1").is_ok());
        assert!(check("1,2,3").is_err() && check("epochs:1,2").is_err() && check("0").is_err());
        assert!(check("-1,2").is_err() && check("NaN").is_err());
    }
}
