//! Reading typed values out of a configuration's table, with errors that name the key.

use remanent_math::range;
use thiserror::Error;
use toml::{Table, Value};

use crate::lists::Values;

/// A value of the wrong kind.
#[derive(Debug, Error, PartialEq)]
#[error("{key} = {value} cannot be used: it must be {expected}")]
pub struct ValueError {
    key: String,
    value: String,
    expected: String,
}

impl ValueError {
    /// A value that is not what it must be.
    pub fn new(key: &str, value: &Value, expected: impl Into<String>) -> Self {
        Self { key: key.into(), value: shown(value), expected: expected.into() }
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

fn read<T>(
    table: &Table,
    key: &str,
    expected: &str,
    convert: impl Fn(&Value) -> Option<T>,
) -> Result<Option<T>, ValueError> {
    let Some(value) = table.get(key) else { return Ok(None) };
    convert(value).map(Some).ok_or_else(|| ValueError::new(key, value, expected))
}

pub(crate) fn each<T>(value: &Value, convert: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    match value {
        Value::Array(values) if !values.is_empty() => values.iter().map(convert).collect(),
        value => Some(vec![convert(value)?]),
    }
}

/// A number.
pub fn number(table: &Table, key: &str) -> Result<Option<f64>, ValueError> {
    read(table, key, "a number", as_number)
}

/// A number or a list of numbers.
pub fn numbers(table: &Table, key: &str) -> Result<Option<Vec<f64>>, ValueError> {
    read(table, key, "a number or a list of numbers", |value| each(value, as_number))
}

/// A number, a list of numbers, or a text like `0.1:3:0.01` that stands for a list.
pub fn list(table: &Table, key: &str) -> Result<Option<Vec<f64>>, ValueError> {
    let Some(value) = table.get(key) else { return Ok(None) };
    as_list(key, value).map(Some)
}

/// What [`list`] reads, from a value that is at hand.
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

/// A whole number, not negative.
pub fn count(table: &Table, key: &str) -> Result<Option<usize>, ValueError> {
    read(table, key, "a whole number, 0 or above", as_count)
}

/// A whole number or a list of such.
pub fn counts(table: &Table, key: &str) -> Result<Option<Vec<usize>>, ValueError> {
    read(table, key, "a whole number, 0 or above, or a list of such", |value| each(value, as_count))
}

/// One of several words; a wrong one is told which is nearest.
pub fn word<'k>(
    table: &Table,
    key: &str,
    known: &[&'k str],
) -> Result<Option<&'k str>, ValueError> {
    let Some(value) = table.get(key) else { return Ok(None) };
    let given = value.as_str().unwrap_or_default();
    if let Some(found) = known.iter().find(|k| **k == given) {
        return Ok(Some(found));
    }
    let list = known.join(", ");
    let expected = match crate::config::nearest(given, known) {
        Some(near) => format!("one of {list}; did you mean '{near}'?"),
        None => format!("one of {list}"),
    };
    Err(ValueError::new(key, value, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn a_single_value_is_a_list_of_one() {
        assert_eq!(numbers(&table("a = 2"), "a"), Ok(Some(vec![2.0])));
        assert_eq!(numbers(&table("a = [2, 0.5]"), "a"), Ok(Some(vec![2.0, 0.5])));
        assert_eq!(numbers(&table("b = 2"), "a"), Ok(None));
        assert_eq!(counts(&table("a = [3, 4.0]"), "a"), Ok(Some(vec![3, 4])));
    }

    #[test]
    fn a_text_may_stand_for_a_list() {
        assert_eq!(list(&table("a = '0.1:0.3:0.1'"), "a"), Ok(Some(vec![0.1, 0.2, 0.3])));
        assert_eq!(list(&table("a = [2, 0.5]"), "a"), Ok(Some(vec![2.0, 0.5])));
        assert_eq!(list(&table("b = 2"), "a"), Ok(None));
        let error = list(&table("a = '1:2'"), "a").unwrap_err().to_string();
        assert!(error.contains("from:to:step"), "{error}");
    }

    #[test]
    fn errors_name_key_value_and_cure() {
        for (text, found) in [
            ("a = 'x'", numbers(&table("a = 'x'"), "a").unwrap_err()),
            ("a = []", numbers(&table("a = []"), "a").unwrap_err()),
            ("a = -1", count(&table("a = -1"), "a").unwrap_err()),
            ("a = 1.5", count(&table("a = 1.5"), "a").unwrap_err()),
        ] {
            assert!(found.to_string().starts_with("a = "), "{text}: {found}");
        }
        let message = counts(&table("a = [-1.0]"), "a").unwrap_err().to_string();
        assert!(message.starts_with("a = -1 cannot be used"), "{message}");
        let message = counts(&table("a = [2, 1e-300]"), "a").unwrap_err().to_string();
        assert!(message.starts_with("a = [2, 1e-300] cannot be used"), "{message}");
        let error = word(&table("a = 'boltzman'"), "a", &["sgd", "boltzmann"]).unwrap_err();
        assert!(error.to_string().contains("did you mean 'boltzmann'?"), "{error}");
    }
}
