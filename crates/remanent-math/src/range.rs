//! Numbers that must lie in a range, and the error that names them.

use thiserror::Error;

/// A number outside its range.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{name} = {value} is out of range: it must be {range}")]
pub struct OutOfRange {
    /// The parameter.
    pub name: String,
    /// What was given.
    pub value: f64,
    /// What is allowed.
    pub range: &'static str,
}

/// The value, if `ok` and it is finite.
pub fn within(name: &str, value: f64, ok: bool, range: &'static str) -> Result<f64, OutOfRange> {
    if ok && value.is_finite() {
        Ok(value)
    } else {
        Err(OutOfRange { name: name.into(), value, range })
    }
}
