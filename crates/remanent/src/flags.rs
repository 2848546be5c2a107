//! Flags of the command line as keys of a configuration.

use remanent_lab::lists::Values;
use toml::{Table, Value};

/// Sets a key, if the flag was given.
pub fn put(table: &mut Table, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        table.insert(key.into(), value.into());
    }
}

/// A list of numbers.
pub fn put_list(table: &mut Table, key: &str, values: &Option<Values>) {
    put(table, key, values.as_ref().map(|values| values.0.clone()));
}

/// A word, or a number written as one.
pub fn put_text(table: &mut Table, key: &str, text: &Option<String>) {
    let value = text.as_ref().map(|text| match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(integer), _) => Value::Integer(integer),
        (_, Ok(float)) => Value::Float(float),
        _ => Value::String(text.clone()),
    });
    put(table, key, value);
}

/// A whole number.
pub fn put_count(table: &mut Table, key: &str, count: Option<u32>) {
    put(table, key, count.map(i64::from));
}
