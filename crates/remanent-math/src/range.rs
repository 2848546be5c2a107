//! Numbers that must lie in a range, and the error that names them.

use thiserror::Error;

/// A number outside its range.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{name} = {} is out of range: it must be {range}", shown(*value))]
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

/// A number in few digits, however large or small it is.
pub fn shown(value: f64) -> String {
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-6) {
        format!("{value:e}")
    } else {
        // Zero has no sign here.
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
