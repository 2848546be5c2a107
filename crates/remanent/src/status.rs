//! `remanent status` and `remanent retry`: how far runs are, and failures that are to be tried again.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use remanent_plot::Table;
use remanent_store::status::Status;
use remanent_store::{Life, Observer, amounts};
use serde_json::json;

use crate::output::{self, Format, Outcome, UsageError};

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(2);

/// Show how far a run is: cells done, under way, waiting and failed
///
/// Works while other processes compute, and on a read-only file system. The exit code is 1 if cells
/// have failed.
#[derive(Args)]
pub struct StatusCommand {
    /// Run directory (--out of simulate, train or reproduce)
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Show it every 2 seconds until nothing is left to do
    #[arg(long)]
    watch: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Clear the failures of a run, so that its cells are tried again
///
/// A shard skips cells that have failed. Afterwards repeat the command or remanent submit.
#[derive(Args)]
pub struct Retry {
    /// Run directory (--out of simulate, train or reproduce)
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Retry {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        let mut count = 0;
        for directory in runs(&self.directory)? {
            count += remanent_store::retry(&directory)?;
        }
        let text = match count {
            0 => "no cell has failed".into(),
            1 => "one failure is cleared".into(),
            _ => format!("{count} failures are cleared"),
        };
        output::remark(quiet, &text);
        Ok(Outcome::Done)
    }
}

impl StatusCommand {
    /// Runs it.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let mut watched: Vec<(PathBuf, Observer)> = runs(&self.directory)?
            .into_iter()
            .map(|directory| (directory.clone(), Observer::of(&directory)))
            .collect();
        let is_terminal = std::io::stdout().is_terminal();
        loop {
            let statuses: Vec<Status> = watched
                .iter_mut()
                .map(|(directory, observer)| Status::read(directory, observer))
                .collect::<Result<_, _>>()?;
            let is_over = statuses.iter().all(Status::is_over);
            // From the top of an empty screen.
            let clear = if self.watch && is_terminal { "\x1b[H\x1b[2J" } else { "" };
            output::print(&format!("{clear}{}", self.show(&statuses)?))?;
            if !self.watch || is_over {
                return Ok(Outcome::done_if(statuses.iter().all(|s| s.failed.is_empty())));
            }
            std::thread::sleep(EVERY);
        }
    }

    fn show(&self, statuses: &[Status]) -> anyhow::Result<String> {
        Ok(match self.format {
            Format::Json => {
                let all: Vec<_> = statuses.iter().map(json_of).collect();
                format!(
                    "{}\n",
                    if self.watch {
                        json!(all).to_string()
                    } else {
                        serde_json::to_string_pretty(&all)?
                    }
                )
            }
            Format::Csv => counts(statuses).to_csv(),
            Format::Table => {
                let mut text = counts(statuses).to_text(3);
                let under_way = under_way(statuses);
                if statuses.iter().any(|status| !status.under_way.is_empty()) {
                    text += &format!("\n{}", under_way.to_text(3));
                }
                for status in statuses {
                    for failure in &status.failed {
                        text += &format!("\nfailed: cell {}: {}\n", &failure.cell, failure.reason);
                    }
                }
                text
            }
        })
    }
}

/// The run directories that a path means: itself, or those directly below it.
fn runs(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_run = |directory: &Path| directory.join("experiment.json").exists();
    if is_run(path) {
        return Ok(vec![path.to_owned()]);
    }
    let shown = path.display();
    if !path.is_dir() {
        return Err(UsageError::new(format!("there is no directory {shown}")).into());
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot list {shown}"))?;
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_run(path)).collect();
    found.sort();
    output::usage(!found.is_empty(), || {
        format!(
            "{shown} is not a run directory; give the --out of remanent train, simulate or reproduce"
        )
    })?;
    Ok(found)
}

fn counts(statuses: &[Status]) -> Table {
    let head = [
        "run",
        "experiment",
        "cells",
        "done",
        "under_way",
        "waiting",
        "failed",
        "workers",
        "time_left",
    ];
    let mut table = Table::new(head);
    for status in statuses {
        let living = status.workers.iter().filter(|worker| worker.life != Life::Dead).count();
        let cells = |count: usize| remanent_plot::Cell::from(count as i64);
        // If every worker computes as many cells at once as it does now.
        let at_once = status.under_way.iter().filter(|held| held.life != Life::Dead).count().max(1);
        let left = status.seconds_left.map_or(f64::NAN, |seconds| seconds / at_once as f64);
        let left = if status.is_over() { "nothing".into() } else { amounts::duration(left) };
        table.push(vec![
            status.directory.display().to_string().as_str().into(),
            status.kind.as_str().into(),
            cells(status.total()),
            cells(status.done.len()),
            cells(status.under_way.len()),
            cells(status.waiting.len()),
            cells(status.failed.len()),
            cells(living),
            left.as_str().into(),
        ]);
    }
    table
}

fn under_way(statuses: &[Status]) -> Table {
    let mut table = Table::new(["cell", "host", "process", "since", "progress", "time_left"]);
    for held in statuses.iter().flat_map(|status| &status.under_way) {
        let progress = &held.progress;
        let part = 100.0 * progress.done as f64 / progress.work.max(1) as f64;
        let since = match held.life {
            Life::Dead => "lost".into(),
            _ => amounts::duration(progress.seconds),
        };
        let left = held.seconds_left.map_or("–".into(), amounts::duration);
        table.push(vec![
            progress.cell.get(..8).unwrap_or(&progress.cell).into(),
            held.host.as_str().into(),
            held.about.as_str().into(),
            since.as_str().into(),
            format!("{part:.0} %").as_str().into(),
            left.as_str().into(),
        ]);
    }
    table
}

/// The status with numbers of cells instead of their names, where there may be many.
fn json_of(status: &Status) -> serde_json::Value {
    json!({
        "directory": status.directory,
        "experiment": status.kind,
        "cells": status.total(),
        "done": status.done.len(),
        "waiting": status.waiting.len(),
        "under_way": status.under_way,
        "failed": status.failed,
        "workers": status.workers,
        "seconds_left": status.seconds_left,
    })
}
