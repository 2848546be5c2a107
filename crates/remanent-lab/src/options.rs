//! Options of an experiment, declared once.
//!
//! An experiment declares its options with [`options!`](crate::options!): a key, a type, a default, a
//! sentence, and for numbers the range. From the declaration come the flags of the command line with their
//! help and completions, the keys of a configuration file, `--set` and `--scan`, and the checks of all of
//! them:
//!
//! ```
//! use remanent_lab::options::{Options, Range};
//!
//! remanent_lab::options! {
//!     /// A walk.
//!     pub struct Walk {
//!         "Walk" {
//!             /// Number of steps
//!             steps: usize = 100, in Range::at_least(1.0),
//!             /// Probability of a step to the right
//!             bias: f64 = 0.5, in Range::between(0.0, 1.0),
//!             /// File of obstacles
//!             obstacles: Option<String> = None,
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let walk = Walk::read(&"bias = 0.7".parse()?)?;
//! assert_eq!((walk.steps, walk.bias, walk.obstacles), (100, 0.7, None));
//! let message = Walk::read(&"steps = -1".parse()?).unwrap_err().to_string();
//! assert_eq!(message, "steps = -1 cannot be used: it must be a whole number, 0 or above");
//! let message = Walk::read(&"bias = 2".parse()?).unwrap_err().to_string();
//! assert_eq!(message, "bias = 2 is out of range: it must be between 0 and 1");
//!
//! let info = &Walk::list()[1];
//! let help = "Probability of a step to the right [default: 0.5] [range: 0 to 1]";
//! assert_eq!((info.key, info.described().as_str()), ("bias", help));
//! assert_eq!(info.kind.parse("7e-1")?, toml::Value::Float(0.7));
//! # Ok(())
//! # }
//! ```
//!
//! A number without a range does not compile; `in Range::ANY` says that it may have any value:
//!
//! ```compile_fail
//! remanent_lab::options! {
//!     /// A walk.
//!     pub struct Walk {
//!         "Walk" {
//!             /// Number of steps
//!             steps: usize = 100,
//!         }
//!     }
//! }
//! ```

use std::fmt::Write;

pub use remanent_math::range::{OutOfRange, Range};
use toml::{Table, Value};

use crate::config::nearest;
use crate::lists::{Interval, Values};
use crate::values::{self, ValueError};

/// The options of an experiment. Implemented by [`options!`](crate::options!).
pub trait Options: Sized {
    /// All options, in the order of the help text.
    fn list() -> Vec<OptionInfo>;

    /// Reads the options from a table. Keys that are missing have their defaults; keys that are not
    /// options are ignored.
    fn read(table: &Table) -> Result<Self, ValueError>;
}

/// One option.
#[derive(Clone, Debug)]
pub struct OptionInfo {
    /// The key in a configuration. The flag has `-` for `_`.
    pub key: &'static str,
    /// The part of the help text that it belongs to.
    pub heading: &'static str,
    /// What it sets, in a sentence.
    pub help: &'static str,
    /// The default, as a user would write it; none if it depends on other options.
    pub default: Option<String>,
    /// What values it takes.
    pub kind: Kind,
    /// The range of its numbers; none if it has no numbers.
    pub range: Option<Range>,
}

impl OptionInfo {
    /// What it sets, its default and its range.
    pub fn described(&self) -> String {
        let mut text = self.help.to_owned();
        if let (Some(default), false) = (&self.default, self.kind == Kind::Switch) {
            let _ = write!(text, " [default: {default}]");
        }
        if let Some(range) = self.shown_range() {
            let _ = write!(text, " [range: {range}]");
        }
        text
    }

    /// The range as a user reads it; none if any number is allowed.
    pub fn shown_range(&self) -> Option<String> {
        self.range.filter(|range| *range != Range::ANY).map(|range| range.short())
    }
}

/// What values an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A whole number, 0 or above.
    Count,
    /// A list of numbers.
    Numbers,
    /// A list of whole numbers.
    Counts,
    /// One of several words.
    Word(&'static [Word]),
    /// A list of such words.
    Words(&'static [Word]),
    /// Two numbers, `low:high`.
    Interval,
    /// True or false.
    Switch,
    /// Any text.
    Text,
    /// A number, or a text with a meaning of its own.
    NumberOrText,
}

/// A word that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
}

impl Kind {
    /// Whether a value has numbers, which have a range.
    const fn has_numbers(self) -> bool {
        !matches!(self, Self::Word(_) | Self::Words(_) | Self::Switch | Self::Text)
    }

    /// Reads a value as it is written on the command line: `1e3`, `1,2,3`, `0.1:3:0.1`, `sgd`.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        match self {
            Self::Number => number(text).map(Value::Float),
            Self::Count => whole(text, MOST).map(|count| Value::Integer(count as i64)),
            Self::Numbers => {
                let list = text.parse::<Values>().map_err(|error| error.to_string())?;
                Ok(list.0.into())
            }
            Self::Counts => {
                if text.is_empty() {
                    return Ok(Value::Array(Vec::new()));
                }
                let list = text.parse::<Values>().map_err(|error| error.to_string())?;
                let whole = |x: &f64| values::as_count(&Value::Float(*x)).map(|x| x as i64);
                let list: Option<Vec<i64>> = list.0.iter().map(whole).collect();
                Ok(list.ok_or("it must be whole numbers, 0 or above, e.g. 100 or 512,512")?.into())
            }
            Self::Word(words) => match one_of(words, text) {
                Ok(word) => Ok(word.name.into()),
                Err(expected) => Err(format!("it must be {expected}")),
            },
            Self::Words(words) => {
                let list: Result<Vec<Value>, String> =
                    text.split(',').map(|part| Self::Word(words).parse(part)).collect();
                Ok(Value::Array(list?))
            }
            Self::Interval => {
                text.parse::<Interval>().map_err(|error| error.to_string())?;
                Ok(text.into())
            }
            Self::Switch => match text {
                "true" => Ok(true.into()),
                "false" => Ok(false.into()),
                _ => Err("it must be true or false".into()),
            },
            Self::Text => Ok(text.into()),
            Self::NumberOrText => Ok(match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(integer), _) => Value::Integer(integer),
                (_, Ok(float)) if float.is_finite() => Value::Float(float),
                _ => text.into(),
            }),
        }
    }

    /// Reads the values of a scan: one value for each case.
    pub fn parse_scan(self, text: &str) -> Result<Vec<Value>, String> {
        match self {
            // Whole numbers stay whole: n = 1000, not 1000.0.
            Self::Number | Self::Count | Self::Numbers | Self::Counts => {
                let list = text.parse::<Values>().map_err(|error| error.to_string())?;
                Ok(list.0.into_iter().map(whole_if_possible).collect())
            }
            Self::Text | Self::Interval => {
                Err("numbers or words: other options are varied by the cases of a \
                     configuration file"
                    .into())
            }
            kind => text.split(',').map(|part| kind.parse(part)).collect(),
        }
    }
}

/// A whole number as an integer.
pub fn whole_if_possible(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        Value::Integer(value as i64)
    } else {
        Value::Float(value)
    }
}

/// Reads a finite number.
pub fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err("it is not a finite number".into()),
        Err(_) => Err("it is not a number, e.g. 0.1 or 1e-3".into()),
    }
}

/// Reads a whole number, `1000` or `1e3`, that is at most `most`.
pub fn whole(text: &str, most: u64) -> Result<u64, String> {
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

/// The largest whole number of an option: ranges are given in `f64`.
const MOST: u64 = 1 << 53;

fn one_of(words: &'static [Word], text: &str) -> Result<&'static Word, String> {
    let same = |word: &&Word| word.name == text || word.name == text.replace('-', "_");
    words.iter().find(same).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|word| word.name).collect();
        let mut expected = format!("one of {}", names.join(", "));
        if let Some(near) = nearest(text, &names) {
            let _ = write!(expected, "; did you mean '{near}'?");
        }
        expected
    })
}

/// A type that an option can have.
pub trait OptionValue: Sized {
    /// What values it takes.
    const KIND: Kind;

    /// Reads a value of a configuration. The error says what the value must be.
    fn read(value: &Value) -> Result<Self, String>;

    /// The value as a user would write it; none if there is none.
    fn shown(&self) -> Option<String>;

    /// The numbers that must be in the range of the option.
    fn numbers(&self) -> Vec<f64> {
        Vec::new()
    }
}

/// An enumeration whose values are words.
pub trait Words: Copy + PartialEq + 'static {
    /// The words.
    const WORDS: &'static [Word];
    /// The values, in the order of the words.
    const VALUES: &'static [Self];

    /// The word of a value.
    fn word(self) -> &'static str {
        let index = Self::VALUES.iter().position(|value| *value == self);
        index.map_or("", |index| Self::WORDS[index].name)
    }
}

impl<T: Words> OptionValue for T {
    const KIND: Kind = Kind::Word(T::WORDS);

    fn read(value: &Value) -> Result<Self, String> {
        // A word may be a number, such as 0 or 1.
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            _ => String::new(),
        };
        let word = one_of(T::WORDS, &text)?;
        let index = T::WORDS.iter().position(|other| other.name == word.name).unwrap_or(0);
        Ok(T::VALUES[index])
    }

    fn shown(&self) -> Option<String> {
        Some(self.word().to_owned())
    }
}

impl<T: Words> OptionValue for Vec<T> {
    const KIND: Kind = Kind::Words(T::WORDS);

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Array(list) => list.iter().map(T::read).collect(),
            Value::String(text) => {
                text.split(',').map(|part| T::read(&part.trim().into())).collect()
            }
            value => Ok(vec![T::read(value)?]),
        }
    }

    fn shown(&self) -> Option<String> {
        Some(self.iter().map(|value| value.word()).collect::<Vec<_>>().join(","))
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    const KIND: Kind = T::KIND;

    fn read(value: &Value) -> Result<Self, String> {
        T::read(value).map(Some)
    }

    fn shown(&self) -> Option<String> {
        self.as_ref()?.shown()
    }

    fn numbers(&self) -> Vec<f64> {
        self.as_ref().map_or(Vec::new(), T::numbers)
    }
}

macro_rules! plain_values {
    ($($type:ty, $kind:expr, $expected:literal, $convert:expr, $shown:expr, $numbers:expr;)+) => {
        $(impl OptionValue for $type {
            const KIND: Kind = $kind;

            fn read(value: &Value) -> Result<Self, String> {
                let convert: fn(&Value) -> Option<$type> = $convert;
                convert(value).ok_or_else(|| $expected.to_owned())
            }

            fn shown(&self) -> Option<String> {
                let shown: fn(&$type) -> String = $shown;
                Some(shown(self))
            }

            fn numbers(&self) -> Vec<f64> {
                let numbers: fn(&$type) -> Vec<f64> = $numbers;
                numbers(self)
            }
        })+
    };
}

plain_values! {
    f64, Kind::Number, "a number", values::as_number, f64::to_string, |x| vec![*x];
    usize, Kind::Count, "a whole number, 0 or above", values::as_count, usize::to_string,
        |x| vec![*x as f64];
    bool, Kind::Switch, "true or false", Value::as_bool, bool::to_string, |_| Vec::new();
    String, Kind::Text, "a text", |value| value.as_str().map(str::to_owned), String::clone,
        |_| Vec::new();
    Vec<usize>, Kind::Counts, "a whole number, 0 or above, or a list of such",
        |value| match value {
            Value::Array(list) if list.is_empty() => Some(Vec::new()),
            value => values::each(value, values::as_count),
        },
        |list| list.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        |list| list.iter().map(|x| *x as f64).collect();
}

impl OptionValue for Vec<f64> {
    const KIND: Kind = Kind::Numbers;

    fn read(value: &Value) -> Result<Self, String> {
        values::read_list(value)
    }

    fn shown(&self) -> Option<String> {
        Some(self.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
    }

    fn numbers(&self) -> Vec<f64> {
        self.clone()
    }
}

impl OptionValue for Interval {
    const KIND: Kind = Kind::Interval;

    fn read(value: &Value) -> Result<Self, String> {
        let ends = match value {
            Value::String(text) => text.parse::<Self>().ok(),
            value => match values::each(value, values::as_number).as_deref() {
                Some(&[low, high]) if low < high => Some(Self { low, high }),
                _ => None,
            },
        };
        ends.ok_or_else(|| "an interval: \"low:high\" or [low, high]".into())
    }

    fn shown(&self) -> Option<String> {
        Some(format!("{}:{}", self.low, self.high))
    }

    fn numbers(&self) -> Vec<f64> {
        vec![self.low, self.high]
    }
}

/// The value under a key, or the default. For [`options!`](crate::options!).
pub fn read_or<T: OptionValue>(
    table: &Table,
    key: &str,
    default: T,
    range: Option<Range>,
) -> Result<T, ValueError> {
    let Some(value) = table.get(key) else { return Ok(default) };
    let read = T::read(value).map_err(|expected| ValueError::new(key, value, expected))?;
    if let Some(range) = range {
        range.check_all(key, read.numbers())?;
    }
    Ok(read)
}

/// The range of an option, which numbers must have. For [`options!`](crate::options!).
///
/// # Panics
///
/// When the program is compiled, if a number has no range or something else has one.
pub const fn declared(kind: Kind, range: &[Range]) -> Option<Range> {
    match (kind.has_numbers(), range) {
        (true, [range]) => Some(*range),
        (false, []) => None,
        (true, _) => panic!("an option with numbers needs `in RANGE`, or `in Range::ANY`"),
        (false, _) => panic!("an option without numbers has no range"),
    }
}

/// The range in the declaration of an option. For [`options!`](crate::options!).
#[doc(hidden)]
#[macro_export]
macro_rules! range_of {
    ($type:ty $(, $range:expr)?) => {{
        const RANGE: Option<$crate::options::Range> = $crate::options::declared(
            <$type as $crate::options::OptionValue>::KIND,
            &[$($range)?],
        );
        RANGE
    }};
}

/// Declares the options of an experiment: see [the module](mod@crate::options).
///
/// Parts that several experiments share are options themselves, and are listed first as
/// `..name: Type,`.
#[macro_export]
macro_rules! options {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $(..$part:ident: $part_type:ty,)*
        $($heading:literal {
            $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr, $(in $range:expr,)?)+
        })*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $(#[doc = concat!("Options of ", stringify!($part_type), ".")] pub $part: $part_type,)*
            $($($(#[doc = $doc])+ pub $key: $type,)+)*
        }

        impl $crate::options::Options for $name {
            fn list() -> Vec<$crate::options::OptionInfo> {
                let own: Vec<$crate::options::OptionInfo> = vec![$($({
                    let default: $type = $default;
                    $crate::options::OptionInfo {
                        key: stringify!($key),
                        heading: $heading,
                        help: concat!($($doc,)+).trim_ascii(),
                        default: $crate::options::OptionValue::shown(&default),
                        kind: <$type as $crate::options::OptionValue>::KIND,
                        range: $crate::range_of!($type $(, $range)?),
                    }
                },)+)*];
                let parts: Vec<Vec<$crate::options::OptionInfo>> =
                    vec![$(<$part_type as $crate::options::Options>::list(),)*];
                own.into_iter().chain(parts.into_iter().flatten()).collect()
            }

            fn read(table: &::toml::Table) -> Result<Self, $crate::values::ValueError> {
                let _ = table;
                Ok(Self {
                    $($part: <$part_type as $crate::options::Options>::read(table)?,)*
                    $($($key: $crate::options::read_or(
                        table,
                        stringify!($key),
                        $default,
                        $crate::range_of!($type $(, $range)?),
                    )?,)+)*
                })
            }
        }
    };
}

/// Says which words stand for the values of an enumeration.
#[macro_export]
macro_rules! words {
    ($type:ty { $($name:literal => $value:ident, $about:literal;)+ }) => {
        impl $crate::options::Words for $type {
            const WORDS: &'static [$crate::options::Word] =
                &[$($crate::options::Word { name: $name, about: $about },)+];
            const VALUES: &'static [Self] = &[$(<$type>::$value,)+];
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Colour {
        Red,
        DarkBlue,
    }

    words! {
        Colour {
            "red" => Red, "as fire";
            "dark_blue" => DarkBlue, "as the sea";
        }
    }

    options! {
        struct Brush {
            "Brush" {
                /// Width
                width: f64 = 2.0, in Range::above(0.0),
                /// Hairs
                hairs: usize = 100, in Range::between(1.0, 1e4),
                /// Colours that are mixed
                colours: Vec<Colour> = vec![Colour::Red],
                /// Colour of the handle
                handle: Option<Colour> = None,
                /// Widths along the way
                widths: Vec<f64> = vec![1.0, 2.0], in Range::at_least(0.5),
                /// Dry
                dry: bool = false,
            }
        }
    }

    options! {
        struct Painting {
            ..brush: Brush,
            "Painting" {
                /// Motif
                motif: Option<String> = None,
            }
        }
    }

    fn read(text: &str) -> Result<Painting, String> {
        Painting::read(&text.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn missing_keys_have_their_defaults() {
        let found = read("handle = 'dark-blue'\nmotif = 'a boat'\nwidths = '1:3:1'").unwrap();
        assert_eq!((found.brush.width, found.brush.hairs), (2.0, 100));
        assert_eq!(found.brush.handle, Some(Colour::DarkBlue));
        assert_eq!(found.brush.widths, [1.0, 2.0, 3.0]);
        assert_eq!(found.motif.as_deref(), Some("a boat"));
        assert_eq!(read("colours = 'red, dark_blue'").unwrap().brush.colours.len(), 2);
        assert_eq!(read("colours = ['red']").unwrap().brush.colours, [Colour::Red]);
    }

    #[test]
    fn a_wrong_value_is_refused_with_key_and_cure() {
        for (text, told) in [
            ("width = 'x'", "width = \"x\" cannot be used: it must be a number"),
            ("hairs = 1.5", "a whole number"),
            ("handle = 'darkblue'", "did you mean 'dark_blue'?"),
            ("handle = 5", "one of red, dark_blue"),
            ("colours = ['red', 'green']", "one of red, dark_blue"),
            ("dry = 1", "true or false"),
            ("motif = 5", "a text"),
            ("widths = '1:3'", "from:to:step"),
            ("width = 0", "width = 0 is out of range: it must be above 0"),
            ("hairs = 0", "hairs = 0 is out of range: it must be between 1 and 10000"),
            ("widths = [1, 0.4]", "widths = 0.4 is out of range: it must be at least 0.5"),
            ("widths = '0:3:1'", "widths = 0 is out of range"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(told), "{text}: {message}");
        }
    }

    #[test]
    fn options_are_listed_with_defaults_and_words() {
        let list = Painting::list();
        let keys: Vec<&str> = list.iter().map(|info| info.key).collect();
        assert_eq!(keys, ["motif", "width", "hairs", "colours", "handle", "widths", "dry"]);
        let default = |key: &str| list.iter().find(|i| i.key == key).unwrap().default.clone();
        assert_eq!(default("widths").unwrap(), "1,2");
        assert_eq!(default("colours").unwrap(), "red");
        assert_eq!(default("handle"), None);
        assert_eq!(list[1].described(), "Width [default: 2] [range: above 0]");
        assert!(matches!(list[4].kind, Kind::Word(words) if words[1].name == "dark_blue"));
    }

    #[test]
    fn flags_are_read_by_kind() {
        let words = <Colour as Words>::WORDS;
        for (kind, text, value) in [
            (Kind::Number, "1e-3", Value::Float(0.001)),
            (Kind::Count, "1e3", Value::Integer(1000)),
            (Kind::Counts, "3,4", Value::from(vec![3, 4])),
            (Kind::Numbers, "1:2:0.5", Value::from(vec![1.0, 1.5, 2.0])),
            (Kind::Words(words), "red,dark-blue", Value::from(vec!["red", "dark_blue"])),
            (Kind::NumberOrText, "full", "full".into()),
            (Kind::NumberOrText, "0.5", Value::Float(0.5)),
            (Kind::Text, "5", "5".into()),
            (Kind::Switch, "true", true.into()),
        ] {
            assert_eq!(kind.parse(text), Ok(value), "{text}");
        }
        for (kind, text, told) in [
            (Kind::Number, "nan", "finite"),
            (Kind::Number, "0,1", "not a number"),
            (Kind::Count, "-1", "0 or above"),
            (Kind::Count, "1e16", "at most 9007199254740992"),
            (Kind::Count, "x", "a whole number"),
            (Kind::Counts, "1.5", "whole numbers"),
            (Kind::Word(words), "rad", "did you mean 'red'?"),
        ] {
            let message = kind.parse(text).unwrap_err();
            assert!(message.contains(told), "{text}: {message}");
        }
    }

    #[test]
    fn scans_are_read_by_kind() {
        let words = <Colour as Words>::WORDS;
        let values = Kind::Number.parse_scan("0:1:0.5").unwrap();
        assert_eq!(values, [Value::Integer(0), Value::Float(0.5), Value::Integer(1)]);
        let values = Kind::Word(words).parse_scan("red,dark-blue").unwrap();
        assert_eq!(values, [Value::from("red"), Value::from("dark_blue")]);
        assert_eq!(Kind::NumberOrText.parse_scan("32,full").unwrap()[1], Value::from("full"));
        assert!(Kind::Text.parse_scan("a,b").unwrap_err().contains("configuration"));
    }
}
