//! From a configuration to the list of cases it asks for.
//!
//! A file states what all cases share, and then the cases:
//!
//! ```toml
//! experiment = "simulate"
//! title = "learning curves"
//! seeds = 20
//! n = 1000
//! learner = "sgd"
//! [[case]]
//! alpha = 1.0
//! [[case]]
//! name = "twice the data"  # the label in tables and figures; without it, what sets the case apart
//! alpha = 2.0
//! [scan]             # every case for every value
//! "r0" = [0.0, 0.5]
//! [quick]            # laid over everything by --quick
//! n = 300
//! seeds = 3
//! ```
//!
//! A scan, `key=values`, makes a case of every value; several scans make all combinations.
//! `key.2` is the second entry of a list. A case may have a `quick` of its own, which overrides
//! that of the file. A plan ignores `[[theory]]`, which lists questions to the theory, `[[also]]`,
//! which lists configurations of other experiments for the same figure, and `[[published]]`, which lists
//! results of other authors.

use std::collections::HashSet;

use remanent_perceptron::randomness::Trial;
use thiserror::Error;
use toml::{Table, Value};

use crate::config::{self, ConfigError};
use crate::lists::{self, TooManyCases};
use crate::options::{Kind, OptionInfo, whole_if_possible};
use crate::values::{self, ValueError};

/// Keys that belong to the plan and not to a case.
pub const PLAN_KEYS: [&str; 10] = [
    "experiment",
    "title",
    "seeds",
    "seed",
    "case",
    "quick",
    "scan",
    "theory",
    "also",
    "published",
];

/// Why a plan is invalid.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A key or a file that cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file for another experiment.
    #[error("this is a configuration of the experiment '{there}', not of '{here}'")]
    OtherExperiment {
        /// What the file says.
        there: String,
        /// What was asked for.
        here: String,
    },
    /// A plan's own key with a wrong value.
    #[error("{key} = {value} cannot be used: it must be {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: String,
    },
    /// More cells than one command computes.
    #[error(transparent)]
    TooMany(#[from] TooManyCases),
    /// A scan over an entry that is not there.
    #[error(
        "the scan over {key} needs a list with that entry to put its values into, e.g. --alpha 2,2 for alpha.2"
    )]
    NoSuchEntry {
        /// The key as given.
        key: String,
    },
    /// A scan over values that the option does not take.
    #[error(transparent)]
    Scan(#[from] ValueError),
    /// One key in two scans.
    #[error("{first} and {second} scan the same key; scan each key once")]
    ScannedTwice {
        /// The key of the first.
        first: String,
        /// The key of the second.
        second: String,
    },
    /// Two cases that do not differ.
    #[error("two cases are the same; scan each key once and list each value once")]
    SameCase,
    /// Two cases that differ in what has no effect.
    #[error("cases {first} and {second} are the same: {differs} has no effect here")]
    NoEffect {
        /// The number of the first, from 1.
        first: usize,
        /// The number of the second.
        second: usize,
        /// The keys.
        differs: String,
    },
    /// Several cases of an experiment that takes one.
    #[error("this experiment takes one case and no --scan")]
    OneCase,
    /// --quick without a table for it.
    #[error("--quick needs a --config file with a [quick] table")]
    NoQuick,
}

/// One case: what it sets apart from the others, and its whole table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// Its name, if the file gives one; a scan adds its value.
    pub name: Option<String>,
    /// The keys in which the cases differ, with this case's values.
    pub differs: Table,
    /// All keys.
    pub table: Table,
}

impl Case {
    /// A case that sets these keys.
    pub fn new(table: Table) -> Self {
        Self { table, ..Self::default() }
    }

    /// Its name, or `alpha = 2, gamma = 0.1`; empty if there is one case only and it has no name.
    pub fn label(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let parts: Vec<String> =
            self.differs.iter().map(|(key, value)| setting(key, value)).collect();
        parts.join(", ")
    }

    /// The number under a key in which the cases differ.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.differs.get(key)? {
            Value::Float(x) => Some(*x),
            Value::Integer(x) => Some(*x as f64),
            _ => None,
        }
    }
}

/// `gamma = 0.1`.
fn setting(key: &str, value: &Value) -> String {
    match value {
        Value::Array(list) if list.len() == 1 => format!("{key} = {}", list[0]),
        Value::String(text) => format!("{key} = {text}"),
        value => format!("{key} = {value}"),
    }
}

impl Default for Plan {
    /// No case, and one trial of each.
    fn default() -> Self {
        let (cases, notices) = (Vec::new(), Vec::new());
        Self { title: None, seed: 1, seeds: 1, cases, scanned: false, notices }
    }
}

/// A plan: cases, and how many seeds of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it is about.
    pub title: Option<String>,
    /// The seed of all randomness.
    pub seed: u64,
    /// Trials of each case.
    pub seeds: usize,
    /// The cases.
    pub cases: Vec<Case>,
    /// Whether the cases come from a scan.
    pub scanned: bool,
    /// Old spellings that were used.
    pub notices: Vec<String>,
}

/// One scanned key and its values.
#[derive(Clone, Debug, PartialEq)]
struct Scan {
    /// `gamma`, or `alpha.2`.
    key: String,
    values: Vec<Value>,
}

impl Scan {
    /// Reads a scan. A text stands for a list, as on the command line.
    fn read(key: &str, value: &Value, options: &[OptionInfo]) -> Result<Self, PlanError> {
        let key = dotted(key, &keys(options));
        let name = key.split_once('.').map_or(key.as_str(), |(name, _)| name);
        let Some(info) = options.iter().find(|info| info.key == name) else {
            let probe = Table::from_iter([(name.to_owned(), Value::Integer(0))]);
            config::check_keys(&probe, &keys(options), "--scan")?;
            return Err(PlanError::NoSuchEntry { key });
        };
        let is_number =
            matches!(info.kind, Kind::Number | Kind::Count | Kind::Numbers | Kind::Counts);
        let values = match value {
            Value::String(text) => info
                .kind
                .parse_scan(text)
                .map_err(|expected| ValueError::new(&key, value, expected))?,
            value if is_number => {
                values::as_list(&key, value)?.into_iter().map(whole_if_possible).collect()
            }
            Value::Array(list) => list.clone(),
            value => vec![value.clone()],
        };
        Ok(Self { key, values })
    }

    /// The name of the key, and the entry of its list.
    fn place(&self) -> (&str, Option<&str>) {
        match self.key.split_once('.') {
            None => (&self.key, None),
            Some((name, entry)) => (name, Some(entry)),
        }
    }

    /// Whether another scan sets what this one sets.
    fn overlaps(&self, other: &Self) -> bool {
        let ((name, entry), (other_name, other_entry)) = (self.place(), other.place());
        let number = |entry: &str| entry.parse::<usize>().ok();
        let same_entry = match (entry, other_entry) {
            (Some(a), Some(b)) => a == b || (number(a).is_some() && number(a) == number(b)),
            _ => true,
        };
        name == other_name && same_entry
    }
}

fn refuse_overlaps(scans: &[Scan]) -> Result<(), PlanError> {
    for (i, scan) in scans.iter().enumerate() {
        if let Some(before) = scans[..i].iter().find(|before| before.overlaps(scan)) {
            let (first, second) = (before.key.clone(), scan.key.clone());
            return Err(PlanError::ScannedTwice { first, second });
        }
    }
    Ok(())
}

/// What a plan is made from, lowest layer first.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The file.
    pub file: Table,
    /// Flags and assignments of the command line.
    pub flags: Table,
    /// Scans of the command line: keys, and values as they are written.
    pub scans: Vec<(String, Value)>,
    /// Whether the file's `quick` table is laid over it.
    pub quick: bool,
}

impl Plan {
    /// One case, once.
    pub fn of_one_case(table: Table) -> Self {
        Self { cases: vec![Case::new(table)], ..Self::default() }
    }

    /// Seed and number of every trial of a case.
    pub fn trials(&self) -> impl Iterator<Item = Trial> + use<> {
        let seed = self.seed;
        (0..self.seeds as u32).map(move |trial| Trial { seed, trial })
    }

    /// Refuses cases that are different in writing and the same in what is computed, `read`.
    pub fn refuse_equal<T: PartialEq>(&self, read: &[T]) -> Result<(), PlanError> {
        for (second, case) in read.iter().enumerate() {
            if let Some(first) = read[..second].iter().position(|other| other == case) {
                let keys: Vec<&str> =
                    self.cases[second].differs.keys().map(String::as_str).collect();
                let (first, second, differs) = (first + 1, second + 1, keys.join(", "));
                return Err(PlanError::NoEffect { first, second, differs });
            }
        }
        Ok(())
    }

    /// Puts the layers together. `experiment` is its name, `options` what a case may set.
    pub fn new(
        layers: Layers,
        experiment: &str,
        options: &[OptionInfo],
    ) -> Result<Self, PlanError> {
        let keys = &keys(options)[..];
        let known: Vec<&str> = PLAN_KEYS.iter().chain(keys).copied().collect();
        let mut base = layers.file;
        if let Some(there) = base.remove("experiment") {
            let there = there.as_str().unwrap_or_default().to_owned();
            if there != experiment {
                return Err(PlanError::OtherExperiment { there, here: experiment.to_owned() });
            }
        }
        config::check_keys(&base, &known, "the configuration")?;
        let quick = match base.remove("quick") {
            Some(Value::Table(quick)) => quick,
            Some(value) => return Err(wrong("quick", &value, "a table")),
            None if layers.quick => return Err(PlanError::NoQuick),
            None => Table::new(),
        };
        let settable: Vec<&str> = ["seeds", "seed", "title"].iter().chain(keys).copied().collect();
        config::check_keys(&quick, &settable, "[quick]")?;
        for key in ["theory", "also", "published"] {
            base.remove(key);
        }
        let listed = listed_cases(&mut base, keys)?;
        let read = |(key, value): &(String, Value)| Scan::read(key, value, options);
        let listed_scans = listed_scans(&mut base)?;
        let written = layers.scans.iter().chain(&listed_scans);
        let notices = written.filter_map(|(key, _)| old_spelling(key, keys)).collect();
        let given: Vec<Scan> = layers.scans.iter().map(read).collect::<Result<_, _>>()?;
        let mut scans: Vec<Scan> = listed_scans.iter().map(read).collect::<Result<_, _>>()?;
        // A flag or a scan of the command line overrides the file's scan of the same key.
        scans.retain(|scan| {
            !layers.flags.contains_key(scan.place().0)
                && !given.iter().any(|other| other.overlaps(scan))
        });
        scans.extend(given);
        refuse_overlaps(&scans)?;
        let mut flags = layers.flags;
        config::check_keys(&flags, &settable, "the command line")?;
        let mut under = if layers.quick { quick } else { Table::new() };
        let mut shared = base.clone();
        config::merge(&mut shared, under.clone());
        config::merge(&mut shared, flags.clone());
        let title = shared.remove("title").and_then(|t| t.as_str().map(str::to_owned));
        let seeds = whole(&mut shared, "seeds", 1, 1, lists::MOST as i64)? as usize;
        let seed = whole(&mut shared, "seed", 1, 0, i64::MAX)? as u64;
        let mut factors = vec![("seeds".into(), seeds), ("cases".into(), listed.len())];
        factors.extend(scans.iter().map(|scan| (scan.key.clone(), scan.values.len())));
        lists::combinations("cells", factors)?;
        for key in ["title", "seeds", "seed"] {
            base.remove(key);
            under.remove(key);
            flags.remove(key);
        }
        let mut cases: Vec<Case> = listed
            .into_iter()
            .map(|ListedCase { name, sets, quick: own }| {
                let mut table = base.clone();
                config::merge(&mut table, sets);
                config::merge(&mut table, under.clone());
                if layers.quick {
                    config::merge(&mut table, own);
                }
                config::merge(&mut table, flags.clone());
                Case { name, ..Case::new(table) }
            })
            .collect();
        for scan in &scans {
            cases = spread(cases, scan)?;
        }
        let mut seen = HashSet::new();
        if !cases.iter().all(|case| seen.insert(case.table.to_string())) {
            return Err(PlanError::SameCase);
        }
        find_differences(&mut cases);
        let scanned = !scans.is_empty();
        Ok(Self { title, seed, seeds, cases, scanned, notices })
    }
}

/// A case as a file lists it.
struct ListedCase {
    name: Option<String>,
    sets: Table,
    /// What it sets at reduced size.
    quick: Table,
}

/// The cases of a file; one that sets nothing if none is listed.
fn listed_cases(file: &mut Table, keys: &[&str]) -> Result<Vec<ListedCase>, PlanError> {
    let listed: Vec<Table> = match file.remove("case") {
        None => vec![Table::new()],
        Some(Value::Array(cases)) if cases.iter().all(Value::is_table) => {
            cases.into_iter().filter_map(|case| case.try_into().ok()).collect()
        }
        Some(value) => return Err(wrong("case", &value, "tables, written [[case]]")),
    };
    let mut cases = Vec::new();
    for mut sets in listed {
        let name = match sets.remove("name") {
            None => None,
            Some(Value::String(name)) if !name.trim().is_empty() => Some(name),
            Some(value) => return Err(wrong("name", &value, "a text, the name of the case")),
        };
        let quick = match sets.remove("quick") {
            None => Table::new(),
            Some(Value::Table(own)) => own,
            Some(value) => return Err(wrong("quick", &value, "a table")),
        };
        config::check_keys(&sets, keys, "[[case]]")?;
        config::check_keys(&quick, keys, "quick of a [[case]]")?;
        cases.push(ListedCase { name, sets, quick });
    }
    Ok(cases)
}

/// The scans of a file.
fn listed_scans(file: &mut Table) -> Result<Vec<(String, Value)>, PlanError> {
    match file.remove("scan") {
        None => Ok(Vec::new()),
        Some(Value::Table(scans)) => Ok(scans.into_iter().collect()),
        Some(value) => Err(wrong("scan", &value, "a table of keys and their values")),
    }
}

fn keys(options: &[OptionInfo]) -> Vec<&'static str> {
    options.iter().map(|info| info.key).collect()
}

fn wrong(key: &'static str, value: &Value, expected: &str) -> PlanError {
    PlanError::Value { key, value: value.to_string(), expected: expected.into() }
}

/// What to tell a user who writes an entry of a list as earlier versions did.
pub fn old_spelling(key: &str, known: &[&str]) -> Option<String> {
    let now = dotted(key, known);
    (now != key).then(|| format!("'{key}' is an old spelling: write '{now}'"))
}

/// `alpha.2` and `r0.1` for the old spellings `alpha2` and `r0_1`. A known key stays as it is.
fn dotted(key: &str, known: &[&str]) -> String {
    let name = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let (entry, name) = (&key[name.len()..], name.strip_suffix('_').unwrap_or(name));
    if known.contains(&key) || entry.is_empty() || !known.contains(&name) {
        return key.to_owned();
    }
    format!("{name}.{entry}")
}

fn whole(
    table: &mut Table,
    key: &'static str,
    default: i64,
    least: i64,
    most: i64,
) -> Result<i64, PlanError> {
    match table.remove(key) {
        None => Ok(default),
        Some(Value::Integer(value)) if (least..=most).contains(&value) => Ok(value),
        Some(value) => Err(wrong(key, &value, &format!("a whole number from {least} to {most}"))),
    }
}

/// Every case once for every value of the scan.
fn spread(cases: Vec<Case>, scan: &Scan) -> Result<Vec<Case>, PlanError> {
    let (name, entry) = scan.place();
    let missing = || PlanError::NoSuchEntry { key: scan.key.clone() };
    let mut spread = Vec::new();
    for case in cases {
        for value in &scan.values {
            let value = value.clone();
            let mut case = case.clone();
            if let Some(name) = &mut case.name {
                *name += &format!(", {}", setting(&scan.key, &value));
            }
            match entry {
                None => {
                    case.table.insert(name.to_owned(), value);
                }
                Some(entry) => {
                    let index: usize = entry.parse().map_err(|_| missing())?;
                    let list = case.table.get_mut(name).and_then(Value::as_array_mut);
                    let slot = list
                        .and_then(|list| list.get_mut(index.wrapping_sub(1)))
                        .ok_or_else(missing)?;
                    *slot = value;
                }
            }
            spread.push(case);
        }
    }
    Ok(spread)
}

/// Notes for every case the keys in which the cases differ; lists by their entries.
fn find_differences(cases: &mut [Case]) {
    let flat: Vec<Table> = cases.iter().map(|case| by_entries(&case.table)).collect();
    let keys: std::collections::BTreeSet<&String> = flat.iter().flat_map(Table::keys).collect();
    for key in keys {
        if flat.iter().any(|table| table.get(key) != flat[0].get(key)) {
            for (case, table) in cases.iter_mut().zip(&flat) {
                if let Some(value) = table.get(key) {
                    case.differs.insert(key.clone(), value.clone());
                }
            }
        }
    }
}

/// What tells cases apart, from their configurations as records hold them.
pub fn labels(configs: &[serde_json::Value]) -> Vec<String> {
    cases_of(configs).iter().map(Case::label).collect()
}

/// The cases of configurations, with the keys in which they differ.
pub fn cases_of(configs: &[serde_json::Value]) -> Vec<Case> {
    let case = |config: &serde_json::Value| {
        let known = config.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let entry = |(key, value): (&String, &serde_json::Value)| {
            let value = match value.as_f64() {
                Some(number) => whole_if_possible(number),
                None => Value::try_from(value).ok()?,
            };
            Some((key.clone(), value))
        };
        Case::new(known.filter_map(entry).collect())
    };
    let mut cases: Vec<Case> = configs.iter().map(case).collect();
    find_differences(&mut cases);
    cases
}

/// `alpha = [1, 2]` as `alpha.1 = 1`, `alpha.2 = 2`; a list of one as its value.
fn by_entries(table: &Table) -> Table {
    let mut flat = Table::new();
    for (key, value) in table {
        match value {
            Value::Array(list) if list.len() > 1 => {
                for (index, value) in list.iter().enumerate() {
                    flat.insert(format!("{key}.{}", index + 1), value.clone());
                }
            }
            Value::Array(list) if list.len() == 1 => {
                flat.insert(key.clone(), list[0].clone());
            }
            value => {
                flat.insert(key.clone(), value.clone());
            }
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Options, Range};

    crate::options! {
        struct Toy {
            "Toy" {
                /// Size
                n: usize = 10, in Range::ANY,
                /// Patterns
                alpha: Vec<f64> = vec![1.0], in Range::ANY,
                /// Factor
                gamma: f64 = 1.0, in Range::ANY,
                /// Overlap
                r0: f64 = 0.0, in Range::ANY,
                /// Learner
                learner: String = "sgd".into(),
            }
        }
    }

    fn plan(
        file: &str,
        flags: &str,
        scans: &[(&str, &[f64])],
        quick: bool,
    ) -> Result<Plan, String> {
        let scans = scans
            .iter()
            .map(|(key, values)| (key.to_string(), Value::from(values.to_vec())))
            .collect();
        let layers =
            Layers { file: file.parse().unwrap(), flags: flags.parse().unwrap(), scans, quick };
        Plan::new(layers, "simulate", &Toy::list()).map_err(|e| e.to_string())
    }

    #[test]
    fn flags_lie_over_cases_and_cases_over_the_file() {
        let file =
            "seeds = 20\nn = 1000\nalpha = 1\n[[case]]\nalpha = 2\n[[case]]\nalpha = 3\nn = 5";
        let found = plan(file, "", &[], false).unwrap();
        assert_eq!((found.seeds, found.cases.len()), (20, 2));
        assert_eq!(found.cases[0].table["n"].as_integer(), Some(1000));
        assert_eq!(found.cases[1].table["n"].as_integer(), Some(5));
        assert_eq!(found.cases[1].label(), "alpha = 3, n = 5");
        let found = plan(file, "n = 7\nseeds = 2", &[], false).unwrap();
        assert_eq!(found.seeds, 2);
        assert!(found.cases.iter().all(|case| case.table["n"].as_integer() == Some(7)));
        assert_eq!(found.cases[1].number("alpha"), Some(3.0));
    }

    #[test]
    fn a_case_may_have_a_name() {
        let file = "[[case]]\nname = \"weak\"\ngamma = 0.1\n[[case]]\ngamma = 2\n\
                    [[published]]\nname = \"weak\"\naccuracy = 0.9";
        let labels = |scans: &[(&str, &[f64])]| -> Vec<String> {
            plan(file, "", scans, false).unwrap().cases.iter().map(Case::label).collect()
        };
        assert_eq!(labels(&[]), ["weak", "gamma = 2"]);
        assert_eq!(labels(&[("r0", &[0.0, 0.5])])[1], "weak, r0 = 0.5");
        let unnamed = plan("[[case]]\nname = 3", "", &[], false).unwrap_err();
        assert_eq!(unnamed, "name = 3 cannot be used: it must be a text, the name of the case");
    }

    #[test]
    fn a_key_is_scanned_once() {
        for scans in [
            [("gamma", &[1.0][..]), ("gamma", &[2.0][..])],
            [("alpha.2", &[1.0][..]), ("alpha.02", &[2.0][..])],
            [("alpha.2", &[1.0][..]), ("alpha", &[2.0][..])],
        ] {
            let message = plan("alpha = [1, 2]", "", &scans, false).unwrap_err();
            assert!(message.contains("scan the same key"), "{message}");
        }
        // The scan of the command line overrides that of the file.
        let found = plan("[scan]\ngamma = [1, 2, 3]", "", &[("gamma", &[5.0])], false).unwrap();
        assert_eq!(found.cases.len(), 1);
        assert_eq!(found.cases[0].table["gamma"].as_integer(), Some(5));
        let scans = [("alpha.1", &[1.0][..]), ("alpha.2", &[2.0, 3.0][..])];
        assert_eq!(plan("alpha = [1, 2]", "", &scans, false).unwrap().cases.len(), 2);
    }

    #[test]
    fn plans_are_counted_before_they_are_built() {
        let many: Vec<f64> = (0..10_000).map(f64::from).collect();
        let scans: [(&str, &[f64]); 2] = [("gamma", &many), ("n", &many)];
        let message = plan("alpha = 2", "seeds = 3", &scans, false).unwrap_err();
        assert!(
            message.contains("3 seeds × 10000 gamma × 10000 n make 300000000 cells"),
            "{message}"
        );
        assert!(message.contains("at most 100000"), "{message}");
        let start = std::time::Instant::now();
        assert_eq!(plan("alpha = 2", "", &scans[..1], false).unwrap().cases.len(), 10_000);
        assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn the_largest_number_of_seeds_is_told() {
        for text in ["seeds = 100000000", "seeds = 0", "seeds = 1.5", "seeds = 'many'"] {
            let message = plan("alpha = 2", text, &[], false).unwrap_err();
            assert!(message.contains("must be a whole number from 1 to 100000"), "{message}");
        }
        assert!(plan("alpha = 2", "seed = -1", &[], false).unwrap_err().contains("from 0 to 92"));
    }

    #[test]
    fn entries_of_lists_are_spelt_as_in_the_theory_too() {
        let known = ["alpha", "r0", "n"];
        for (given, meant) in [
            ("alpha2", "alpha.2"),
            ("alpha.2", "alpha.2"),
            ("r0", "r0"),
            ("r0_1", "r0.1"),
            ("beta2", "beta2"),
            ("2", "2"),
        ] {
            assert_eq!(dotted(given, &known), meant);
        }
        let one = plan("alpha = [1, 2]", "", &[("alpha2", &[3.0, 4.0])], false).unwrap();
        let two = plan("alpha = [1, 2]", "", &[("alpha.2", &[3.0, 4.0])], false).unwrap();
        assert_eq!(one.cases, two.cases);
        assert_eq!(one.notices, ["'alpha2' is an old spelling: write 'alpha.2'"]);
        assert!(two.notices.is_empty());
    }

    #[test]
    fn quick_lies_over_cases_and_under_flags() {
        let file = "n = 1000\n[[case]]\nn = 2000\n[quick]\nn = 100\nseeds = 3";
        assert_eq!(plan(file, "", &[], true).unwrap().seeds, 3);
        let found = plan(file, "n = 50", &[], true).unwrap();
        assert_eq!(found.cases[0].table["n"].as_integer(), Some(50));
        assert!(plan("n = 3", "", &[], true).unwrap_err().contains("[quick]"));
    }

    #[test]
    fn scans_make_all_combinations() {
        let scans: [(&str, &[f64]); 2] = [("alpha.2", &[1.0, 2.5]), ("gamma", &[0.1, 1.0, 2.0])];
        let found = plan("alpha = [2, 0]", "", &scans, false).unwrap();
        assert_eq!(found.cases.len(), 6);
        assert_eq!(found.cases[4].label(), "alpha.2 = 2.5, gamma = 1");
        assert!(plan("alpha = 2", "", &[("alpha.2", &[1.0])], false).is_err());
        assert!(plan("", "", &[("gama", &[1.0])], false).unwrap_err().contains("'gamma'"));
    }

    #[test]
    fn a_file_may_scan_and_a_case_may_have_its_own_quick() {
        let file = "alpha = [2, 0]\n[scan]\n'alpha.2' = [1, 2.5]\ngamma = [0.1, 1, 2]\n[[case]]\nn = 7\n\
                    quick.n = 3\n[[case]]\nn = 8\n[quick]\nn = 5\n[[theory]]\nask = 'chain'";
        let sizes = |quick, flags| -> Vec<i64> {
            let found = plan(file, flags, &[], quick).unwrap();
            assert_eq!((found.cases.len(), found.scanned), (12, true));
            found.cases.iter().step_by(6).filter_map(|c| c.table["n"].as_integer()).collect()
        };
        assert_eq!(sizes(false, ""), [7, 8]);
        assert_eq!(sizes(true, ""), [3, 5]);
        assert_eq!(plan(file, "gamma = 3", &[], false).unwrap().cases.len(), 4);
        assert!(plan("[quick]\nscan.n = [1]", "", &[], false).unwrap_err().contains("scan"));
        assert!(plan("[scan]\nn = 'x'", "", &[], false).unwrap_err().contains("n = "));
        assert!(plan("[[case]]\nquick.m = 1", "", &[], false).unwrap_err().contains("quick"));
    }

    #[test]
    fn configurations_are_told_apart_by_what_differs() {
        let config = |gamma: f64, ood: Option<&str>| serde_json::json!({"gamma": gamma, "n": 5, "hidden": [3, 4], "ood": ood});
        let found = labels(&[config(0.5, None), config(1.5, Some("digits"))]);
        assert_eq!(found, ["gamma = 0.5", "gamma = 1.5, ood = digits"]);
        assert_eq!(labels(&[config(1.0, None)]), [""]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(plan("lerner = 'sgd'", "", &[], false).unwrap_err().contains("'learner'"));
        assert!(plan("seeds = 0", "", &[], false).unwrap_err().contains("seeds = 0"));
        let other = plan("experiment = 'bound'", "", &[], false).unwrap_err();
        assert!(other.contains("the experiment 'bound', not of 'simulate'"), "{other}");
        assert!(plan("[[case]]\nseeds = 3", "", &[], false).is_err());
        assert!(plan("", "experiment = 'bound'", &[], false).is_err());
        assert!(plan("", "", &[("seed", &[1.0, 2.0])], false).is_err());
        assert!(plan("", "", &[("n", &[5.0, 5.0])], false).unwrap_err().contains("the same"));
        let twice: [(&str, &[f64]); 2] = [("n", &[5.0, 6.0]), ("n", &[7.0])];
        assert!(plan("", "", &twice, false).unwrap_err().contains("the same"));
    }
}
