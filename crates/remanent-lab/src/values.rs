//! Reading typed values out of a configuration's table, with errors that name the key.

use remanent_math::range::{self, OutOfRange};
use thiserror::Error;
use toml::Value;

use crate::lists::Values;

/// A value that cannot be used.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ValueError {
    /// It is of the wrong kind.
    #[error("{key} = {value} cannot be used: it must be {expected}")]
    Kind {
        /// The key.
        key: String,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: String,
    },
    /// It is a number out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

impl ValueError {
    /// A value that is not what it must be.
    pub fn new(key: &str, value: &Value, expected: impl Into<String>) -> Self {
        Self::Kind { key: key.into(), value: shown(value), expected: expected.into() }
    }
}

/// A value as users write it: few digits, and a list of one as what is in it.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(list) if list.len() == 1 => shown(&list[0]),
        Value::Array(list) if list.iter().all(|value| as_number(value).is_some()) => {
            format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        Value::Float(x) => range::shown(*x),
        value => value.to_string(),
    }
}

pub(crate) fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(x) => Some(*x),
        Value::Integer(x) => Some(*x as f64),
        _ => None,
    }
}

pub(crate) fn as_count(value: &Value) -> Option<usize> {
    match value {
        Value::Integer(x) => usize::try_from(*x).ok(),
        Value::Float(x) if x.fract() == 0.0 && (0.0..1e15).contains(x) => Some(*x as usize),
        _ => None,
    }
}

pub(crate) fn each<T>(value: &Value, convert: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    match value {
        Value::Array(values) if !values.is_empty() => values.iter().map(convert).collect(),
        value => Some(vec![convert(value)?]),
    }
}

/// A list of numbers: a number, a list, or a text like `0.1:3:0.01`.
pub fn as_list(key: &str, value: &Value) -> Result<Vec<f64>, ValueError> {
    read_list(value).map_err(|expected| ValueError::new(key, value, expected))
}

/// A list of numbers; the error says what the value must be.
pub(crate) fn read_list(value: &Value) -> Result<Vec<f64>, String> {
    const EXPECTED: &str = "a number, a list of numbers or a text like \"0.1:3:0.01\"";
    match value {
        Value::String(text) => match text.parse::<Values>() {
            Ok(values) => Ok(values.0),
            Err(error) => Err(format!("{EXPECTED}; {error}")),
        },
        value => each(value, as_number).ok_or_else(|| EXPECTED.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse::<toml::Table>().unwrap()["a"].clone()
    }

    #[test]
    fn a_single_value_and_a_text_stand_for_a_list() {
        assert_eq!(as_list("a", &value("a = 2")), Ok(vec![2.0]));
        assert_eq!(as_list("a", &value("a = [2, 0.5]")), Ok(vec![2.0, 0.5]));
        assert_eq!(as_list("a", &value("a = '0.1:0.3:0.1'")), Ok(vec![0.1, 0.2, 0.3]));
        assert_eq!(each(&value("a = [3, 4.0]"), as_count), Some(vec![3, 4]));
        assert_eq!(each(&value("a = [-1.0]"), as_count), None);
    }

    #[test]
    fn errors_name_key_value_and_cure() {
        for (text, told) in [
            ("a = 'x'", "a = \"x\" cannot be used"),
            ("a = []", "a = [] cannot be used"),
            ("a = '1:2'", "from:to:step"),
            ("a = [2, true]", "a = [2, true] cannot be used"),
        ] {
            let message = as_list("a", &value(text)).unwrap_err().to_string();
            assert!(message.contains(told), "{text}: {message}");
        }
        let message = ValueError::new("a", &value("a = [2, 1e-300]"), "one").to_string();
        assert_eq!(message, "a = [2, 1e-300] cannot be used: it must be one");
    }
}
