//! What a user may ask for: unchecked parameters, and the checks they must pass.

use remanent_math::range::shown;
pub use remanent_math::range::{OutOfRange, within};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A parameter that makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ParameterError {
    /// A number outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A list of the wrong length.
    #[error(
        "{name} has {given} values, but {} {expected}",
        if *tasks == 1 { "one task needs".into() } else { format!("{tasks} tasks need") }
    )]
    WrongLength {
        /// The parameter.
        name: &'static str,
        /// How many were given.
        given: usize,
        /// How many tasks there are.
        tasks: usize,
        /// How many are needed.
        expected: String,
    },
    /// α N rounds to nothing.
    #[error(
        "alpha = {} with n = {n} gives no pattern: alpha times n must be at least 0.5; \
         take a larger alpha or n",
        shown(*alpha)
    )]
    NoPattern {
        /// α.
        alpha: f64,
        /// N.
        n: usize,
    },
}

/// Fails unless a list has one value, or as many as `expected`.
pub fn list_of(
    name: &'static str,
    given: usize,
    expected: usize,
    tasks: usize,
) -> Result<(), ParameterError> {
    if given == 1 || given == expected {
        return Ok(());
    }
    let expected = if expected <= 1 { "one".into() } else { format!("one or {expected}") };
    Err(ParameterError::WrongLength { name, given, tasks, expected })
}

/// The value for `index`, where one value stands for all.
pub fn nth<T: Copy>(list: &[T], index: usize) -> T {
    if list.len() == 1 { list[0] } else { list[index] }
}

/// The problem that is posed to a student: sizes, and the similarity of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// N, the number of weights.
    pub n: usize,
    /// α of each task: patterns per weight.
    pub alpha: Vec<f64>,
    /// Overlap r_0 of neighbouring teachers: one value, or one for each step.
    pub r_0: Vec<f64>,
    /// Fresh patterns of each task on which the error is measured as well (0: none).
    pub fresh_patterns: usize,
}

impl Setting {
    /// Checks the setting and returns the number of patterns of each task.
    pub fn patterns(&self) -> Result<Vec<usize>, ParameterError> {
        let n = self.n as f64;
        within("n", n, (2..=1_000_000).contains(&self.n), "between 2 and 1000000")?;
        within(
            "fresh-patterns",
            self.fresh_patterns as f64,
            self.fresh_patterns <= 10_000_000,
            "at most 10000000",
        )?;
        let tasks = self.alpha.len();
        within("number of tasks", tasks as f64, (1..=10_000).contains(&tasks), "1 to 10000")?;
        list_of("r0", self.r_0.len(), tasks - 1, tasks)?;
        for &r_0 in &self.r_0 {
            within("r0", r_0, (-1.0..=1.0).contains(&r_0), "between -1 and 1")?;
        }
        self.alpha
            .iter()
            .map(|&alpha| {
                within("alpha", alpha, alpha > 0.0 && alpha <= 1000.0, "above 0, at most 1000")?;
                match (alpha * n).round() as usize {
                    0 => Err(ParameterError::NoPattern { alpha, n: self.n }),
                    count => {
                        within("alpha times n", count as f64, count <= 50_000_000, "at most 5e7")?;
                        Ok(count)
                    }
                }
            })
            .collect()
    }

    /// The overlap of a task's teacher with the one before it.
    pub fn r_0_before(&self, task: usize) -> f64 {
        nth(&self.r_0, task - 1)
    }
}
