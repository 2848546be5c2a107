//! `remanent runs`: list run directories, compare them, remove them.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use remanent_lab::runs::results::{differences, setting};
use remanent_lab::runs::{self, Overview};
use remanent_plot::{Cell, Figure, Table};
use remanent_store::status::{State, Status};
use remanent_store::{Observer, StoreError, amounts};
use serde_json::{Value, json};

use crate::output::{self, Format, Outcome, Output, UsageError};

const EXAMPLES: &str = "\
Examples:
  remanent runs
  remanent runs --filter train --filter learner=bayes
  remanent runs compare perm perm-lr
  remanent runs remove perm-old";

/// List run directories with state and key numbers; compare or remove them
///
/// A name is the path of a run directory below --runs. remanent inspect shows one run, and remanent serve all
/// of them in a browser.
#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Runs {
    #[command(subcommand)]
    command: Option<RunsCommand>,
    #[command(flatten)]
    list: List,
}

#[derive(Args)]
struct Folder {
    /// Directory of the run directories
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    folder: Folder,
    /// Show only runs whose name, kind or state contains this text, or whose configuration has KEY=VALUE; may
    /// be repeated
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// What is printed on standard output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Subcommand)]
enum RunsCommand {
    /// Compare configurations and key numbers of runs, case by case
    Compare {
        /// Names of runs
        #[arg(required = true, value_name = "RUN")]
        names: Vec<String>,
        #[command(flatten)]
        folder: Folder,
        /// What is printed on standard output
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Remove runs: their records, checkpoints, models and tables
    ///
    /// Other files in a run directory are kept. A run that is under way is refused.
    Remove {
        /// Names of runs
        #[arg(required = true, value_name = "RUN")]
        names: Vec<String>,
        #[command(flatten)]
        folder: Folder,
        /// Show what would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

impl Runs {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        match self.command {
            None => list(&self.list, quiet),
            Some(RunsCommand::Compare { names, folder, format }) => {
                compare(&folder.runs, &names, format)
            }
            Some(RunsCommand::Remove { names, folder, dry_run }) => {
                remove(&folder.runs, &names, dry_run, quiet)
            }
        }
    }
}

/// The configurations of the cases of a run.
fn configs(config: &Value) -> Vec<&Value> {
    let listed = config["cases"].as_array().or_else(|| config["queries"].as_array());
    listed.map_or_else(|| vec![config], |cases| cases.iter().collect())
}

fn fits(run: &Overview, filter: &str) -> bool {
    let Some((key, value)) = filter.split_once('=') else {
        let text = format!("{} {} {}", run.name, run.kind, run.state.word());
        return text.contains(filter);
    };
    let key = key.trim().replace('-', "_");
    let is_same = |found: &Value| shown(found) == value.trim();
    let has = |config: &&Value| match setting(config, &key) {
        Some(Value::Array(list)) => {
            list.iter().any(is_same) || is_same(&Value::Array(list.clone()))
        }
        Some(found) => is_same(found),
        None => false,
    };
    configs(&run.config).iter().any(has)
}

/// A value as on the command line.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(","),
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |n| n.to_string())
        }
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

fn list(arguments: &List, quiet: bool) -> anyhow::Result<Outcome> {
    let folder = &arguments.folder.runs;
    output::usage(folder.is_dir(), || {
        format!("there is no directory {}; give the one of your runs with --runs", folder.display())
    })?;
    let (mut found, mut is_sound) = (Vec::new(), true);
    for name in runs::find(folder) {
        match Overview::read(&folder.join(&name), &name) {
            Ok(run) => found.push(run),
            Err(error) => {
                output::say(&format!("damaged: {error}"));
                is_sound = false;
            }
        }
    }
    let (count, filters) = (found.len(), &arguments.filter);
    found.retain(|run| filters.iter().all(|filter| fits(run, filter)));
    if count == 0 {
        output::remark(quiet, &format!("note: no run in {}", folder.display()));
    } else if found.is_empty() {
        let (filters, shown) = (filters.join(" --filter "), folder.display());
        output::remark(
            quiet,
            &format!("note: none of {count} runs in {shown} has --filter {filters}"),
        );
    }
    let mut table =
        Table::new(["run", "kind", "state", "progress", "left", "done", "under_way", "numbers"]);
    for run in &found {
        let progress = run.progress.as_ref();
        let percent = progress.map(|p| format!("{} %", (100.0 * p.share()).floor()));
        let left = progress
            .filter(|_| run.state == State::Running)
            .and_then(|progress| progress.seconds_left)
            .map(amounts::duration);
        table.push(vec![
            run.name.as_str().into(),
            run.kind.as_str().into(),
            run.state.word().into(),
            percent.unwrap_or_default().into(),
            left.unwrap_or_default().into(),
            Cell::Integer(run.done as i64),
            Cell::Integer(run.under_way as i64),
            numbers(run).into(),
        ]);
    }
    print(arguments.format, json!(found), table)?;
    Ok(Outcome::done_if(is_sound))
}

/// The key numbers of the first case that has some.
fn numbers(run: &Overview) -> String {
    let Some(first) = run.numbers.iter().find(|numbers| !numbers.values.is_empty()) else {
        return String::new();
    };
    let values = first.values.iter().take(3).map(|(name, value)| format!("{name} {value:.4}"));
    let text = values.collect::<Vec<_>>().join("; ");
    match run.numbers.len() {
        1 => text,
        count => format!("{text} (first of {count} cases)"),
    }
}

fn print(format: Format, data: Value, table: Table) -> anyhow::Result<()> {
    Output { format, plot: None }.show(&data, |_| vec![table], Figure::default)
}

fn resolve(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    // A path from here is as good as a name.
    let below = Path::new(name).strip_prefix(folder).unwrap_or(Path::new(name));
    let found = runs::resolve(folder, &below.to_string_lossy());
    found.ok_or_else(|| {
        let shown = folder.display();
        UsageError::new(format!("there is no run {name} in {shown}; remanent runs lists them"))
            .into()
    })
}

fn compare(folder: &Path, names: &[String], format: Format) -> anyhow::Result<Outcome> {
    let mut all = Vec::new();
    for name in names {
        all.push(Overview::read(&resolve(folder, name)?, name)?);
    }
    let mut columns: Vec<(String, &Value, Option<&runs::CaseNumbers>)> = Vec::new();
    for run in &all {
        let configs = configs(&run.config);
        for (index, config) in configs.iter().enumerate() {
            let name = match configs.len() {
                1 => run.name.clone(),
                _ => format!("{} case {}", run.name, index + 1),
            };
            columns.push((name, config, run.numbers.get(index)));
        }
    }
    let headers = std::iter::once("quantity").chain(columns.iter().map(|column| column.0.as_str()));
    let mut table = Table::new(headers);
    let configs: Vec<&Value> = columns.iter().map(|column| column.1).collect();
    let differences = differences(&configs);
    for (key, values) in &differences {
        let cells = values.iter().map(|value| Cell::from(shown(value)));
        table.push(std::iter::once(Cell::from(key.as_str())).chain(cells).collect());
    }
    let mut quantities: Vec<&String> =
        columns.iter().filter_map(|column| column.2).flat_map(|n| n.values.keys()).collect();
    quantities.sort();
    quantities.dedup();
    for quantity in &quantities {
        let of = |numbers: Option<&runs::CaseNumbers>| numbers?.values.get(*quantity).copied();
        let cells = columns.iter().map(|column| match of(column.2) {
            Some(value) => Cell::from(value),
            None => Cell::from(""),
        });
        table.push(std::iter::once(Cell::from(quantity.as_str())).chain(cells).collect());
    }
    let cases: Vec<Value> = columns
        .iter()
        .map(|(name, config, numbers)| json!({"name": name, "config": config, "numbers": numbers}))
        .collect();
    let differing: Vec<&String> = differences.iter().map(|(key, _)| key).collect();
    print(format, json!({"differences": differing, "cases": cases}), table)?;
    Ok(Outcome::Done)
}

fn remove(folder: &Path, names: &[String], dry_run: bool, quiet: bool) -> anyhow::Result<Outcome> {
    let directories =
        names.iter().map(|name| resolve(folder, name)).collect::<anyhow::Result<Vec<_>>>()?;
    let in_use =
        |name: &str| UsageError::new(format!("{name} is in use by another process; stop it first"));
    for (name, directory) in names.iter().zip(&directories) {
        // One that cannot be read can be removed.
        let status = Status::read(directory, &mut Observer::of(directory));
        if status.is_ok_and(|status| status.state() == State::Running) {
            return Err(in_use(name).into());
        }
    }
    for (name, directory) in names.iter().zip(&directories) {
        if dry_run {
            output::print(&format!("would remove {}\n", directory.display()))?;
            continue;
        }
        let is_gone = match runs::remove(directory) {
            Err(StoreError::InUse(_)) => return Err(in_use(name).into()),
            result => result?,
        };
        let rest = if is_gone { "" } else { "; other files in it are kept" };
        output::remark(quiet, &format!("removed {name}{rest}"));
    }
    Ok(Outcome::Done)
}
