//! Where results go: standard output as table, CSV or JSON, and a plot file.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use remanent_data::sources::SourceError;
use remanent_lab::config::ConfigError;
use remanent_lab::experiment::{Detail, ErrorKind, Report, run_kind};
use remanent_lab::options::OutOfRange;
use remanent_lab::training::{MaterialError, TrainingError};
use remanent_lab::values::ValueError;
use remanent_plot::{Figure, PlotError, PlotFormat, Table};
use remanent_reproduce::{BenchmarkError, RequestError};
use remanent_store::RunError;
use serde::Serialize;
use thiserror::Error;

/// Whether the user asked for no remarks.
pub static QUIET: AtomicBool = AtomicBool::new(false);

/// How a run ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything asked for was found.
    Done,
    /// Some rows have no solution, and say so.
    Incomplete,
}

impl Outcome {
    /// `Done` if `all` is true.
    pub fn done_if(all: bool) -> Self {
        if all { Self::Done } else { Self::Incomplete }
    }
}

/// An invalid request.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct UsageError(String);

impl UsageError {
    /// An invalid request, for the reason given.
    pub fn new(message: String) -> Self {
        Self(message)
    }
}

/// Fails with a message about usage unless `ok`.
pub fn usage(ok: bool, message: impl FnOnce() -> String) -> Result<(), UsageError> {
    if ok { Ok(()) } else { Err(UsageError(message())) }
}

/// The exit code of a program that was interrupted and has saved its work.
pub const INTERRUPTED_CODE: u8 = 130;

/// 2 for wrong usage, 130 for an interrupted run, 1 for all else.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    match kind(error) {
        ErrorKind::Usage => 2,
        ErrorKind::Interrupted => INTERRUPTED_CODE,
        ErrorKind::Failure => 1,
    }
}

fn kind(error: &anyhow::Error) -> ErrorKind {
    if let Some(error) = error.downcast_ref::<remanent_lab::experiment::Error>() {
        return error.kind();
    }
    if let Some(error) = error.downcast_ref::<RequestError>() {
        return error.kind();
    }
    if let Some(error) = error.downcast_ref::<BenchmarkError>() {
        return error.kind();
    }
    if let Some(error) = error.downcast_ref::<MaterialError>() {
        return error.kind();
    }
    if let Some(error) = error.downcast_ref::<RunError>() {
        return run_kind(error);
    }
    match error.downcast_ref::<SourceError>() {
        Some(SourceError::Interrupted { .. }) => return ErrorKind::Interrupted,
        Some(SourceError::Unknown { .. }) => return ErrorKind::Usage,
        _ => {}
    }
    let is_usage = error.is::<UsageError>()
        || error.is::<OutOfRange>()
        || error.is::<ConfigError>()
        || error.is::<ValueError>()
        || error.is::<TrainingError>()
        || error.is::<PlotError>();
    if is_usage { ErrorKind::Usage } else { ErrorKind::Failure }
}

/// The form of what is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, a few digits
    #[default]
    Table,
    /// Comma-separated values, all digits and all columns
    Csv,
    /// JSON, all digits
    Json,
}

/// Options shared by all commands that compute something.
#[derive(Clone, Debug, Args)]
pub struct Output {
    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub format: Format,
    /// Also draw the result into this file (.svg or .png); an existing picture is replaced, any
    /// other file is not
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub plot: Option<PathBuf>,
}

impl Output {
    /// Refuses a plot that could not be written, before anything is computed.
    pub fn check(&self) -> anyhow::Result<()> {
        let Some(path) = &self.plot else { return Ok(()) };
        PlotFormat::from_path(path)
            .and_then(|_| remanent_plot::check_picture(path))
            .context("--plot cannot be used")
    }

    /// Draws the figure of a report, if a plot was asked for, and prints numbers and notes.
    pub fn emit(&self, report: &impl Report, quiet: bool) -> anyhow::Result<Outcome> {
        let tables = |format| match format {
            Format::Table => report.tables(Detail::Short),
            _ => report.tables(Detail::Full),
        };
        self.show(&report.json(), tables, || report.figure())?;
        for note in report.notes() {
            remark(quiet && !note.always, &format!("note: {}", note.text));
        }
        Ok(Outcome::done_if(report.is_complete()))
    }

    /// Draws the figure, if a plot was asked for, and prints the data.
    pub fn show<T: Serialize>(
        &self,
        data: &T,
        tables: impl FnOnce(Format) -> Vec<Table>,
        figure: impl FnOnce() -> Figure,
    ) -> anyhow::Result<()> {
        if let Some(path) = &self.plot {
            let was_there = path.exists();
            figure().write(path)?;
            if was_there {
                remark(QUIET.load(Ordering::Relaxed), &format!("replaced {}", path.display()));
            }
        }
        let text = match self.format {
            Format::Json => format!("{}\n", serde_json::to_string_pretty(data)?),
            Format::Csv => {
                tables(self.format).iter().map(Table::to_csv).collect::<Vec<_>>().join("\n")
            }
            Format::Table => {
                tables(self.format).iter().map(|t| t.to_text(6)).collect::<Vec<_>>().join("\n")
            }
        };
        print(&text)
    }
}

/// Writes to standard output. A closed pipe is not an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result.context("cannot write to standard output")?),
    }
}

/// Writes a line to standard error and ignores failures.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A progress bar on standard error, if that is a terminal and not `quiet`.
pub fn progress(steps: usize, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len}  {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// A remark on standard error, unless `quiet`.
pub fn remark(quiet: bool, text: &str) {
    if !quiet {
        say(text);
    }
}
