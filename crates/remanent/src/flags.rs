//! Flags of the command line: those of an experiment's options, and numbers as users write them.

use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
pub use remanent_lab::options::number;
use remanent_lab::options::{Kind, OptionInfo, Options, Word, whole};
use toml::{Table, Value};

use crate::output::{self, UsageError};

/// The flags of an experiment's options, as a table of what was given.
#[derive(Clone, Debug)]
pub struct Flags<O> {
    /// The options that were given.
    pub given: Table,
    options: PhantomData<O>,
}

impl<O: Options> clap::Args for Flags<O> {
    fn augment_args(command: Command) -> Command {
        O::list().into_iter().fold(command, |command, info| command.arg(argument(&info)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<O: Options> clap::FromArgMatches for Flags<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Table::new();
        for OptionInfo { key, kind, .. } in O::list() {
            let value = match kind {
                Kind::Switch => matches.get_flag(key).then_some(Value::Boolean(true)),
                _ => matches.get_one::<Value>(key).cloned(),
            };
            if let Some(value) = value {
                given.insert(key.to_owned(), value);
            }
        }
        Ok(Self { given, options: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn argument(info: &OptionInfo) -> Arg {
    let argument = Arg::new(info.key)
        .long(info.key.replace('_', "-"))
        .help(info.described())
        .help_heading(info.heading)
        .allow_hyphen_values(true);
    let name = match info.kind {
        Kind::Switch => return argument.allow_hyphen_values(false).action(ArgAction::SetTrue),
        Kind::Word(_) => "WORD",
        Kind::Words(_) => "WORDS",
        Kind::Number => "X",
        Kind::Count => "N",
        Kind::Numbers | Kind::Counts => "LIST",
        Kind::Interval => "LOW:HIGH",
        Kind::Text => "TEXT",
        Kind::NumberOrText => "VALUE",
    };
    argument.value_name(name).value_parser(KindParser(info.kind))
}

/// Reads a value of a kind, and lists its words in the help text and in completions.
#[derive(Clone)]
struct KindParser(Kind);

impl TypedValueParser for KindParser {
    type Value = Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Value, clap::Error> {
        let kind = self.0;
        let parse = move |text: &str| kind.parse(text);
        parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let (Kind::Word(words) | Kind::Words(words)) = self.0 else { return None };
        let value = |word: &Word| PossibleValue::new(word.name).help(word.about);
        Some(Box::new(words.iter().map(value)))
    }
}

/// Reads a whole number: 1000, or 1e3.
pub fn count(text: &str) -> Result<u32, String> {
    let number = whole(text, u32::MAX.into())?;
    u32::try_from(number).map_err(|error| error.to_string())
}

/// Refuses no trials at all.
pub fn check_seeds(seeds: Option<u32>) -> Result<(), UsageError> {
    output::usage(seeds != Some(0), || "--seeds 0 is out of range: it must be at least 1".into())
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
