//! The parameters of a teacher–student problem and their checks.

use remanent_math::range::shown;
pub use remanent_math::range::{OutOfRange, ParameterError, list_of, nth, within};
use serde::{Deserialize, Serialize};

use crate::ranges;

/// A teacher–student problem: sizes, and the similarity of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// N, the number of weights.
    pub n: usize,
    /// α of each task: patterns per weight.
    pub alpha: Vec<f64>,
    /// Overlap r_0 of successive teachers: one value, or one for each pair.
    pub r_0: Vec<f64>,
    /// Number of fresh patterns of each task on which the error is also measured (0: none).
    pub fresh_patterns: usize,
}

impl Setting {
    /// Checks the setting and returns the number of patterns of each task.
    pub fn patterns(&self) -> Result<Vec<usize>, ParameterError> {
        let n = ranges::N.check("n", self.n as f64)?;
        ranges::FRESH_PATTERNS.check("fresh_patterns", self.fresh_patterns as f64)?;
        let tasks = self.alpha.len();
        ranges::TASKS.check("number of tasks", tasks as f64)?;
        list_of("r0", self.r_0.len(), tasks - 1, tasks)?;
        ranges::R_0.check_all("r0", self.r_0.iter().copied())?;
        self.alpha
            .iter()
            .map(|&alpha| {
                ranges::ALPHA.check("alpha", alpha)?;
                match (alpha * n).round() as usize {
                    0 => Err(ParameterError::Invalid(format!(
                        "alpha = {} with n = {} gives no pattern: alpha times n must be at least \
                         0.5; take a larger alpha or n",
                        shown(alpha),
                        self.n
                    ))),
                    count => {
                        ranges::PATTERNS.check("alpha times n", count as f64)?;
                        Ok(count)
                    }
                }
            })
            .collect()
    }

    /// Overlap of a task's teacher with the previous teacher.
    pub(crate) fn r_0_before(&self, task: usize) -> f64 {
        nth(&self.r_0, task - 1)
    }
}
