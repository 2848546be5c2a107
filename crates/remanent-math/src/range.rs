//! Checks of parameters, and the errors that name what is wrong.

use thiserror::Error;

/// A number is outside its range.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{name} = {} is out of range: it must be {range}", shown(*value))]
pub struct OutOfRange {
    /// The parameter.
    pub name: String,
    /// The value given.
    pub value: f64,
    /// The values allowed.
    pub range: &'static str,
}

/// Parameters that cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ParameterError {
    /// A number is outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A list has the wrong length.
    #[error(
        "{name} has {given} values, but {} {expected}",
        if *tasks == 1 { "one task needs".into() } else { format!("{tasks} tasks need") }
    )]
    WrongLength {
        /// The parameter.
        name: &'static str,
        /// How many values were given.
        given: usize,
        /// Number of tasks.
        tasks: usize,
        /// How many values are needed.
        expected: String,
    },
    /// Parameters contradict one another, or cannot be parsed.
    #[error("{0}")]
    Invalid(String),
}

impl ParameterError {
    /// An error with a message of its own.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

/// Fails unless a list has one value, or `expected` values.
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

/// The value for `index` in a list where a single value stands for all.
///
/// # Panics
///
/// If the list has neither one value nor more than `index` values.
pub fn nth<T: Copy>(list: &[T], index: usize) -> T {
    if list.len() == 1 { list[0] } else { list[index] }
}

/// Returns the value if `ok` and it is finite.
pub fn within(name: &str, value: f64, ok: bool, range: &'static str) -> Result<f64, OutOfRange> {
    if ok && value.is_finite() {
        Ok(value)
    } else {
        Err(OutOfRange { name: name.into(), value, range })
    }
}

/// Formats a number with few digits: very large and very small numbers in scientific notation.
pub fn shown(value: f64) -> String {
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-6) {
        format!("{value:e}")
    } else {
        // Adding 0 turns −0 into 0.
        (value + 0.0).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_short_whatever_the_number() {
        let message = |value| within("x", value, false, "small").unwrap_err().to_string();
        for (value, text) in [
            (1e-300, "x = 1e-300 "),
            (-1e20, "x = -1e20 "),
            (0.5, "x = 0.5 "),
            (-0.0, "x = 0 "),
            (1e9, "x = 1000000000 "),
            (f64::NAN, "x = NaN "),
        ] {
            assert!(message(value).starts_with(text), "{}", message(value));
        }
    }
}
