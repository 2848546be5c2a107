//! The parameters of a teacher–student problem and their checks.

use remanent_math::range::shown;
pub use remanent_math::range::{OutOfRange, ParameterError, list_of, nth, within};
use serde::{Deserialize, Serialize};

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
                    0 => Err(ParameterError::Invalid(format!(
                        "alpha = {} with n = {} gives no pattern: alpha times n must be at least \
                         0.5; take a larger alpha or n",
                        shown(alpha),
                        self.n
                    ))),
                    count => {
                        within("alpha times n", count as f64, count <= 50_000_000, "at most 5e7")?;
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
