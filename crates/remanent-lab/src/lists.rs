//! Lists of numbers as users write them: `0.5`, `1,2,3`, `0.1:3:0.01`.

use std::str::FromStr;

use thiserror::Error;

/// A list that cannot be read.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ValuesError {
    /// Not a number.
    #[error(
        "'{0}' is not a number; write values like 0.5 or 1,2,3 or from:to:step like 0.1:3:0.01"
    )]
    NotANumber(String),
    /// NaN or infinite.
    #[error("'{0}' is not a finite number")]
    NotFinite(String),
    /// A range that does not end.
    #[error(
        "'{0}' is not a range; write from:to:step, e.g. 0.1:3:0.01, with a step that leads from the \
         first to the last value"
    )]
    BadRange(String),
    /// Not an interval.
    #[error("'{0}' is not an interval; write low:high, e.g. 0.05:3")]
    BadInterval(String),
    /// Too many values.
    #[error("'{text}' has {} values; at most {MOST} are allowed; use a larger step", whole(*count))]
    TooMany {
        /// What was given.
        text: String,
        /// How many values it has.
        count: f64,
    },
}

/// No list may be longer, and one command computes no more cases.
pub const MOST: usize = 100_000;

/// More cases than one command computes.
#[derive(Clone, Debug, Error, PartialEq)]
#[error(
    "{} make {} {what}, and one command computes at most {MOST}; take larger steps, or several \
     commands",
    factors.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(" × "),
    whole(factors.iter().map(|(_, count)| *count as f64).product())
)]
pub struct TooManyCases {
    /// What is counted: `points`.
    what: &'static str,
    /// Names of what is combined, and how many there are of each.
    factors: Vec<(String, usize)>,
}

/// The number of combinations, if it is small enough to be computed by one command. Nothing is built
/// before it is known to be.
pub fn combinations(
    what: &'static str,
    factors: Vec<(String, usize)>,
) -> Result<usize, TooManyCases> {
    let count = factors.iter().try_fold(1usize, |count, (_, factor)| count.checked_mul(*factor));
    match count {
        Some(count) if count <= MOST => Ok(count),
        _ => Err(TooManyCases { what, factors: factors.into_iter().filter(|f| f.1 > 1).collect() }),
    }
}

/// A number that counts, however large.
fn whole(count: f64) -> String {
    if count < 1e15 { format!("{count:.0}") } else { format!("{count:.1e}") }
}

/// A list of finite numbers, never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Values(pub Vec<f64>);

fn number(text: &str) -> Result<f64, ValuesError> {
    let value: f64 =
        text.trim().parse().map_err(|_| ValuesError::NotANumber(text.trim().to_owned()))?;
    if value.is_finite() { Ok(value) } else { Err(ValuesError::NotFinite(text.to_owned())) }
}

fn range(text: &str) -> Result<Vec<f64>, ValuesError> {
    let parts: Vec<&str> = text.split(':').collect();
    let [from, to, step] = parts.as_slice() else {
        return Err(ValuesError::BadRange(text.to_owned()));
    };
    let (from, to, step) = (number(from)?, number(to)?, number(step)?);
    let count = (to - from) / step;
    if !(count >= 0.0 && count.is_finite()) {
        return Err(ValuesError::BadRange(text.to_owned()));
    }
    // The last value counts if it is met but for rounding.
    let count = (count + 1e-9).floor();
    if count >= MOST as f64 {
        return Err(ValuesError::TooMany { text: text.to_owned(), count: count + 1.0 });
    }
    // Rounded to the digits of the step, so that 0.1:3:0.1 holds 0.3 and not 0.30000000000000004.
    let scale = 10f64.powi(12 - from.abs().max(to.abs()).max(1e-300).log10().ceil() as i32);
    let tidy = |x: f64| {
        let rounded = (x * scale).round() / scale;
        if rounded.is_finite() { rounded } else { x }
    };
    Ok((0..=count as usize).map(|i| tidy(from + step * i as f64)).collect())
}

impl FromStr for Values {
    type Err = ValuesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut values = Vec::new();
        for part in text.split(',') {
            if part.contains(':') {
                values.extend(range(part)?);
            } else {
                values.push(number(part)?);
            }
            if values.len() > MOST {
                let (text, count) = (format!("{part}, …"), values.len() as f64);
                return Err(ValuesError::TooMany { text, count });
            }
        }
        Ok(Self(values))
    }
}

/// Two numbers `low:high` with low < high.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl FromStr for Interval {
    type Err = ValuesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split(':').collect::<Vec<_>>().as_slice() {
            [low, high] => {
                let (low, high) = (number(low)?, number(high)?);
                if low < high {
                    Ok(Self { low, high })
                } else {
                    Err(ValuesError::BadInterval(text.to_owned()))
                }
            }
            _ => Err(ValuesError::BadInterval(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<f64> {
        text.parse::<Values>().unwrap().0
    }

    #[test]
    fn reads_single_values_lists_and_ranges() {
        assert_eq!(values("0.5"), [0.5]);
        assert_eq!(values("1,2, 3"), [1.0, 2.0, 3.0]);
        assert_eq!(values("0.1:0.5:0.1"), [0.1, 0.2, 0.3, 0.4, 0.5]);
        assert_eq!(values("3:1:-1,7"), [3.0, 2.0, 1.0, 7.0]);
        assert_eq!(values("0.1:3:0.01").len(), 291);
        assert_eq!(values("0.1:0.98:0.02").last(), Some(&0.98));
        assert_eq!(values("2:2:1"), [2.0]);
    }

    #[test]
    fn refuses_what_is_not_a_finite_list() {
        for bad in ["", "a", "1,,2", "nan", "inf", "1:2", "1:2:0", "1:2:-1", "0:1:1e-9", "1:2:3:4"]
        {
            assert!(bad.parse::<Values>().is_err(), "{bad}");
        }
        assert!("3:1".parse::<Interval>().is_err());
    }

    #[test]
    fn what_is_too_much_is_counted_and_not_built() {
        let message = |text: &str| text.parse::<Values>().unwrap_err().to_string();
        assert!(message("0:1:1e-12").contains("has 1000000000001 values; at most 100000"));
        assert!(
            message("0:1e300:1e-9").contains("e309") || message("0:1e300:1e-9").contains("range")
        );
        assert!(message("0:1:0.00002,0:1:0.00002").contains("100002 values"));

        let factors = |a, b| vec![("alpha2".to_owned(), a), ("r0".to_owned(), b)];
        assert_eq!(combinations("points", factors(100, 1000)), Ok(100_000));
        let message = combinations("points", factors(8901, 1801)).unwrap_err().to_string();
        assert!(message.starts_with("8901 alpha2 × 1801 r0 make 16030701 points"), "{message}");
        let message = combinations("cells", factors(usize::MAX, 1)).unwrap_err().to_string();
        assert!(message.contains("make 1.8e19 cells, and one command"), "{message}");
    }
}
