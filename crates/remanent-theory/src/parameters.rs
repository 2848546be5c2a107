//! What a user may ask for.

/// A parameter outside the range in which the theory, or the solver, is valid.
pub use remanent_math::range::ParameterError as DomainError;
use remanent_math::range::list_of;
use serde::{Deserialize, Serialize};

/// The prior of the first task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prior {
    /// No KL term: the paper's choice.
    #[default]
    None,
    /// A KL term to the uniform distribution of the weights.
    Uniform,
}

/// Which of several solutions to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The one of largest −βf (potential).
    #[default]
    Stable,
    /// The branch connected to α → 0.
    Poor,
    /// The unstable one between the folds.
    Middle,
    /// The branch connected to α → ∞.
    Good,
}

/// Spreads a list of one value, or of `expected` values, over the tasks.
pub fn spread(
    name: &'static str,
    values: &[f64],
    expected: usize,
    tasks: usize,
) -> Result<Vec<f64>, DomainError> {
    list_of(name, values.len(), expected, tasks)?;
    Ok(match values {
        [value] => vec![*value; expected],
        values => values.to_vec(),
    })
}
