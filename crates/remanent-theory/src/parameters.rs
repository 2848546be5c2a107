//! What a user may ask for, and the ranges within which the solver answers.

/// A parameter outside the range in which the theory, or the solver, is valid.
pub use remanent_math::range::ParameterError as DomainError;
use remanent_math::range::{list_of, within};
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

/// Checks α.
pub fn check_alpha(value: f64) -> Result<f64, DomainError> {
    Ok(within("alpha", value, (1e-4..=1000.0).contains(&value), "between 0.0001 and 1000")?)
}

/// Checks β.
pub fn check_beta(value: f64) -> Result<f64, DomainError> {
    Ok(within("beta", value, (0.01..=1000.0).contains(&value), "between 0.01 and 1000")?)
}

/// Checks c = γβ.
pub fn check_coupling(value: f64) -> Result<f64, DomainError> {
    Ok(within("coupling", value, (0.0..=1e7).contains(&value), "between 0 and 10000000")?)
}

/// Checks γ.
pub fn check_gamma(value: f64) -> Result<f64, DomainError> {
    Ok(within("gamma", value, (0.0..=1e4).contains(&value), "between 0 and 10000")?)
}

/// Checks r_0.
pub fn check_r_0(value: f64) -> Result<f64, DomainError> {
    Ok(within("r0", value, (-1.0..=1.0).contains(&value), "between -1 and 1")?)
}

/// Checks λ.
pub fn check_lambda(value: f64) -> Result<f64, DomainError> {
    Ok(within("lambda", value, (-1.0..=1.0).contains(&value), "between -1 and 1")?)
}

/// Checks ρ.
pub fn check_rho(value: f64) -> Result<f64, DomainError> {
    Ok(within("rho", value, (0.0..=1.0).contains(&value), "between 0 and 1")?)
}

/// Checks q_⋆.
pub fn check_q_star(value: f64) -> Result<f64, DomainError> {
    let ok = (1e-6..=1.0 - 0.999e-9).contains(&value);
    Ok(within("q-star", value, ok, "between 0.000001 and 0.999999999")?)
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
