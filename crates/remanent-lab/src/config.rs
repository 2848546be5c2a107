//! Configuration in layers: defaults, a file, and assignments on the command
//! line, each over the one before.
//!
//! The layers are TOML tables, so that a file and `--set` mean the same. A key
//! that no experiment reads is refused, with the nearest known key as a suggestion.

use std::path::Path;

pub use remanent_data::nearest;
use remanent_store::files::{self, FileError};
use thiserror::Error;
use toml::{Table, Value};

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Not TOML.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// The path as given.
        file: String,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// Not `key=value`.
    #[error("'{0}' is not an assignment; write key=value, e.g. lr=0.1")]
    NotAnAssignment(String),
    /// A key that means nothing.
    #[error("unknown key '{key}' in {place}; {cure}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The file or table that has it.
        place: String,
        /// `did you mean …`, or all keys.
        cure: String,
    },
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Reads a TOML file.
pub fn read_file(path: &Path) -> Result<Table, ConfigError> {
    let text = files::read_text(path)?;
    parse_text(&text, &path.display().to_string())
}

/// Reads a text as TOML; `file` says where it comes from.
pub fn parse_text(text: &str, file: &str) -> Result<Table, ConfigError> {
    text.parse::<Table>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |text| text.chars().count()) + 1;
        // The parser explains itself in several lines where one is enough.
        let message = error.message().trim().replace('\n', ", ");
        ConfigError::Syntax { file: file.to_owned(), line, column, message }
    })
}

/// Reads `key=value` as a table of one entry; `a.b=1` nests. The value is TOML, or a string
/// without its quotes.
pub fn parse_assignment(text: &str) -> Result<Table, ConfigError> {
    let wrong = || ConfigError::NotAnAssignment(text.to_owned());
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let (key, value) = (key.trim(), value.trim());
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if !key.split('.').all(is_name) {
        return Err(wrong());
    }
    let mut parsed = format!("value = {value}").parse::<Table>().unwrap_or_default();
    let mut value = match parsed.remove("value") {
        // More than one entry: there was a line break in the string.
        Some(parsed_value) if parsed.is_empty() => parsed_value,
        _ => Value::String(value.to_owned()),
    };
    let mut names = key.rsplit('.');
    let last = names.next_back().unwrap_or(key);
    for name in names {
        value = Value::Table(Table::from_iter([(name.to_owned(), value)]));
    }
    Ok(Table::from_iter([(last.to_owned(), value)]))
}

/// Lays a table over another. Tables in both are merged; of everything else the upper one counts.
pub fn merge(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Refuses a table with a key that is not known. `place` says where it is: a file, or `[network]`.
pub fn check_keys(table: &Table, known: &[&str], place: &str) -> Result<(), ConfigError> {
    let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) else {
        return Ok(());
    };
    let cure = match nearest(key, known) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("known keys are {}", known.join(", ")),
    };
    Err(ConfigError::UnknownKey { key: key.clone(), place: place.to_owned(), cure })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn an_assignment_is_toml_or_a_bare_string() {
        for (given, meant) in [
            ("beta=20", "beta = 20"),
            ("beta = 1e-3", "beta = 1e-3"),
            ("tasks=[1, 2]", "tasks = [1, 2]"),
            ("learner=vcl", "learner = \"vcl\""),
            ("learner=\"vcl\"", "learner = \"vcl\""),
            ("path=a=b", "path = \"a=b\""),
            ("alpha=0.1:3:0.1", "alpha = \"0.1:3:0.1\""),
            ("name=", "name = \"\""),
            ("network.first.width=3", "network.first.width = 3"),
            ("network={depth=2}", "network.depth = 2"),
            ("a=1\nb=2", "a = \"1\\nb=2\""),
        ] {
            assert_eq!(parse_assignment(given).unwrap(), table(meant), "{given}");
        }
        for given in ["beta", "=1", "a..b=1", ".a=1", "a b=1", ""] {
            let message = parse_assignment(given).unwrap_err().to_string();
            assert!(message.contains(&format!("'{given}'")), "{message}");
            assert!(message.contains("key=value"), "{message}");
        }
    }

    #[test]
    fn the_upper_layer_counts_and_tables_are_merged() {
        let mut base = table("beta = 1\n[network]\ndepth = 2\nwidth = 3\n[network.in]\na = 1");
        merge(&mut base, table("network.width = 4\nnetwork.in.b = 2\nseeds = [1]"));
        merge(&mut base, parse_assignment("beta=5").unwrap());
        let meant = table(
            "beta = 5\nseeds = [1]\n[network]\ndepth = 2\nwidth = 4\n[network.in]\na = 1\nb = 2",
        );
        assert_eq!(base, meant);
        merge(&mut base, table("network = 1"));
        assert_eq!(base["network"], Value::Integer(1));
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest() {
        let known = ["learning_rate", "batch", "epochs"];
        check_keys(&table("batch = 1"), &known, "a.toml").unwrap();
        let refused =
            |text: &str| check_keys(&table(text), &known, "a.toml").unwrap_err().to_string();
        assert_eq!(
            refused("lerning-rate = 1"),
            "unknown key 'lerning-rate' in a.toml; did you mean 'learning_rate'?"
        );
        assert_eq!(
            refused("zzz = 1"),
            "unknown key 'zzz' in a.toml; known keys are learning_rate, batch, epochs"
        );
    }

    #[test]
    fn a_syntax_error_names_file_line_and_column() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.toml");
        let refused = |text: &str| {
            fs::write(&path, text).unwrap();
            read_file(&path).unwrap_err().to_string()
        };
        let message = refused("alpha = 1\nname = \"α\" beta = \n");
        assert!(message.contains("a.toml:2:12: "), "{message}");
        let message = refused("a = 1\nb = 2\na = 3\n");
        assert!(message.contains("a.toml:3:1: ") && !message.contains('\n'), "{message}");

        fs::write(&path, "a = 1\n").unwrap();
        assert_eq!(read_file(&path).unwrap(), table("a = 1"));
        let missing = directory.path().join("missing.toml");
        assert!(read_file(&missing).unwrap_err().to_string().contains("missing.toml"));
    }
}
