//! Ranges of parameters, their checks, and the errors that name what is wrong.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use thiserror::Error;

/// The finite numbers that a parameter takes.
///
/// ```
/// use remanent_math::range::Range;
///
/// const MOMENTUM: Range = Range::at_least(0.0).below(1.0);
/// assert_eq!(MOMENTUM.check("momentum", 0.9), Ok(0.9));
/// let message = MOMENTUM.check("momentum", 1.0).unwrap_err().to_string();
/// assert_eq!(message, "momentum = 1 is out of range: it must be at least 0, below 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lower end.
    pub low: Bound<f64>,
    /// The upper end.
    pub high: Bound<f64>,
}

impl Range {
    /// Any finite number.
    pub const ANY: Self = Self { low: Bound::Unbounded, high: Bound::Unbounded };

    /// Both ends included.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low: Bound::Included(low), high: Bound::Included(high) }
    }

    /// This number and all above.
    pub const fn at_least(low: f64) -> Self {
        Self { low: Bound::Included(low), ..Self::ANY }
    }

    /// All above this number.
    pub const fn above(low: f64) -> Self {
        Self { low: Bound::Excluded(low), ..Self::ANY }
    }

    /// The same up to a number, which is included.
    pub const fn at_most(self, high: f64) -> Self {
        Self { high: Bound::Included(high), ..self }
    }

    /// The same up to a number, which is excluded.
    pub const fn below(self, high: f64) -> Self {
        Self { high: Bound::Excluded(high), ..self }
    }

    /// Returns the value if it is in the range.
    pub fn check(&self, name: &str, value: f64) -> Result<f64, OutOfRange> {
        let is_inside = (self.low, self.high).contains(&value);
        within(name, value, is_inside, self)
    }

    /// Fails unless all values are in the range.
    pub fn check_all(
        &self,
        name: &str,
        values: impl IntoIterator<Item = f64>,
    ) -> Result<(), OutOfRange> {
        values.into_iter().try_for_each(|value| self.check(name, value).map(drop))
    }

    /// The range in few words, for a help text: `0.01 to 1000`.
    pub fn short(&self) -> String {
        match (self.low, self.high) {
            (Bound::Included(low), Bound::Included(high)) => {
                format!("{} to {}", end(low), end(high))
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let low = match (self.low, self.high) {
            (Bound::Unbounded, Bound::Unbounded) => return f.write_str("a finite number"),
            (Bound::Included(low), Bound::Included(high)) => {
                return write!(f, "between {} and {}", end(low), end(high));
            }
            (Bound::Included(low), _) => format!("at least {}", end(low)),
            (Bound::Excluded(low), _) => format!("above {}", end(low)),
            (Bound::Unbounded, _) => String::new(),
        };
        let high = match self.high {
            Bound::Included(high) => format!("at most {}", end(high)),
            Bound::Excluded(high) => format!("below {}", end(high)),
            Bound::Unbounded => String::new(),
        };
        let comma = if low.is_empty() || high.is_empty() { "" } else { ", " };
        write!(f, "{low}{comma}{high}")
    }
}

/// An end of a range: ten digits, and an exponent if that is shorter. The ten digits hide the slack of an end that allows
/// for rounding.
fn end(value: f64) -> String {
    let value = format!("{value:.9e}").parse().unwrap_or(value);
    let (plain, exponent) = (shown(value), format!("{value:e}"));
    let is_far = !(1e-4..1e6).contains(&value.abs());
    if is_far && exponent.len() < plain.len() { exponent } else { plain }
}

/// A number is outside its range.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{name} = {} is out of range: it must be {range}", shown(*value))]
pub struct OutOfRange {
    /// The parameter.
    pub name: String,
    /// The value given.
    pub value: f64,
    /// The values allowed.
    pub range: String,
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

/// Returns the value if `ok` and it is finite: for conditions that are no [`Range`].
pub fn within(
    name: &str,
    value: f64,
    ok: bool,
    range: impl fmt::Display,
) -> Result<f64, OutOfRange> {
    if ok && value.is_finite() {
        Ok(value)
    } else {
        Err(OutOfRange { name: name.into(), value, range: range.to_string() })
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

    #[test]
    fn ranges_are_written_as_users_read_them() {
        for (range, long, short) in [
            (Range::between(1e-4, 1000.0), "between 0.0001 and 1000", "0.0001 to 1000"),
            (Range::between(-1.0, 1e7), "between -1 and 1e7", "-1 to 1e7"),
            (
                Range::between(1e-6, 1.0 - 0.999e-9),
                "between 1e-6 and 0.999999999",
                "1e-6 to 0.999999999",
            ),
            (
                Range::above(0.0).at_most(65536.0),
                "above 0, at most 65536",
                "above 0, at most 65536",
            ),
            (Range::above(0.0).below(1e6), "above 0, below 1e6", "above 0, below 1e6"),
            (Range::at_least(1.0), "at least 1", "at least 1"),
            (Range::ANY.below(4_294_967_295.0), "below 4294967295", "below 4294967295"),
            (Range::ANY, "a finite number", "a finite number"),
        ] {
            assert_eq!((range.to_string().as_str(), range.short().as_str()), (long, short));
        }
    }

    #[test]
    fn ends_belong_to_a_range_or_not() {
        let holds = |range: Range, value| range.check("x", value).is_ok();
        let closed = Range::between(0.0, 1.0);
        assert!(holds(closed, 0.0) && holds(closed, 1.0) && holds(closed, -0.0));
        assert!(!holds(closed, 0f64.next_down()) && !holds(closed, 1f64.next_up()));
        let open = Range::above(0.0).below(1.0);
        assert!(!holds(open, 0.0) && !holds(open, 1.0));
        assert!(holds(open, 0f64.next_up()) && holds(open, 1f64.next_down()));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!holds(Range::ANY, value), "{value}");
        }
        assert!(holds(Range::ANY, f64::MAX) && closed.check_all("x", [0.5, 2.0]).is_err());
    }
}
