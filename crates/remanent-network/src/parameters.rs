//! The checks that what a user asks for must pass.

use thiserror::Error;

/// A parameter that makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ParameterError {
    /// A number outside its range.
    #[error("{name} = {value} is out of range: it must be {range}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// Fails unless `ok` and the value is finite.
pub fn within(
    name: &'static str,
    value: f64,
    ok: bool,
    range: &'static str,
) -> Result<(), ParameterError> {
    if ok && value.is_finite() {
        Ok(())
    } else {
        Err(ParameterError::OutOfRange { name, value, range })
    }
}
