//! Flags of the command line: numbers as users write them, and flags as keys of a configuration.

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

/// A text that stays one, whatever it looks like.
pub fn put_name(table: &mut Table, key: &str, text: &Option<String>) {
    put(table, key, text.clone());
}

/// A whole number.
pub fn put_count(table: &mut Table, key: &str, count: Option<u32>) {
    put(table, key, count.map(i64::from));
}

/// Reads a whole number: 1000, or 1e3.
pub fn count(text: &str) -> Result<u32, String> {
    let number = whole(text, u32::MAX.into())?;
    u32::try_from(number).map_err(|error| error.to_string())
}

/// Reads a whole number that may be large.
pub fn size(text: &str) -> Result<usize, String> {
    let number = whole(text, 1 << 53)?;
    usize::try_from(number).map_err(|error| error.to_string())
}

/// Reads a seed.
pub fn seed(text: &str) -> Result<u64, String> {
    // A configuration is TOML, which has no larger number.
    whole(text, i64::MAX as u64)
}

/// Reads a finite number.
pub fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err("it is not a finite number".into()),
        Err(_) => Err("it is not a number, e.g. 0.1 or 1e-3".into()),
    }
}

fn whole(text: &str, most: u64) -> Result<u64, String> {
    let text = text.trim();
    let float = || text.parse::<f64>().ok().filter(|number| number.fract() == 0.0);
    let number = match (text.parse::<u64>(), float()) {
        (Ok(number), _) => number,
        (_, Some(number)) if number < 0.0 => return Err("it must be 0 or above".into()),
        // A larger one is out of range, exact or not.
        (_, Some(number)) => number as u64,
        _ => return Err("it must be a whole number, e.g. 1000 or 1e3".into()),
    };
    if number <= most { Ok(number) } else { Err(format!("it must be at most {most}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_have_an_exponent() {
        for (text, number) in
            [("0", 0), ("1000", 1000), ("1e9", 1_000_000_000), ("+5", 5), ("-0", 0)]
        {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        assert_eq!(seed("9223372036854775807"), Ok(i64::MAX as u64));
        for text in ["", "1.5", "1e-3", "nan", "inf", "1e400", "x", "٣", "--n"] {
            assert!(count(text).unwrap_err().contains("a whole number"), "{text}");
        }
        for text in ["1e10", "4294967296", "99999999999999999999", "1e300"] {
            assert!(count(text).unwrap_err().contains("at most 4294967295"), "{text}");
        }
        assert!(count("-1").unwrap_err().contains("0 or above"));
        assert!(seed("9223372036854775808").unwrap_err().contains("9223372036854775807"));
    }

    #[test]
    fn numbers_are_finite() {
        assert_eq!(number("1e-3"), Ok(0.001));
        for text in ["nan", "-inf", "1e400"] {
            assert!(number(text).unwrap_err().contains("finite"), "{text}");
        }
        assert!(number("0,1").unwrap_err().contains("not a number"));
    }
}
