//! Commands that run an experiment: arguments, the run directory, progress, Ctrl-C, and `--dry-run`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use remanent_lab::config::{self, ConfigError};
use remanent_lab::experiment::{
    Error, Experiment, Prepared, Resources, RunOptions, checkpoint_interval,
};
use remanent_lab::lists::Values;
use remanent_lab::options::Options;
use remanent_lab::plan::{Layers, PlanError};
use remanent_store::{CHECKPOINT_EVERY, Cell, Share, amounts, memory, rate};
use toml::{Table, Value};

use crate::flags::{self, Flags};
use crate::output::{self, Outcome, Output, UsageError};
use crate::progress::Voice;
use crate::shard::ShardArguments;
use crate::submit::Estimate;

/// A command that runs an experiment.
#[derive(Args)]
pub struct ExperimentCommand<E: Experiment> {
    #[command(flatten)]
    options: Flags<E::Options>,
    #[command(flatten)]
    view: Flags<E::View>,
    #[command(flatten)]
    run: RunArguments,
    #[command(flatten)]
    output: Output,
}

impl<E: Experiment> ExperimentCommand<E> {
    /// Runs it.
    pub fn run(self, resources: &Resources, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        self.run.shard.check(self.run.how.fresh)?;
        let (prepared, directory) = self.prepare(resources)?;
        let view = E::View::read(&self.view.given)?;
        if self.run.how.dry_run {
            preview(&prepared, &directory, self.run.how.fresh)?;
            return Ok(Outcome::Done);
        }
        catch_interrupts()?;
        let voice = Voice::of_run(prepared.work(), E::UNIT, quiet, directory.clone());
        let options = RunOptions {
            directory: directory.clone(),
            fresh: self.run.how.fresh,
            checkpoint_every: checkpoint_interval(self.run.how.checkpoint_every)?,
            watcher: &voice,
            interrupt: &INTERRUPTED,
        };
        let shown = directory.display().to_string();
        let compute = |share: &Share<'_>| Ok(vec![prepared.run_share(&options, share)?]);
        if let Some(outcome) = self.run.shard.run(&shown, quiet, compute)? {
            return Ok(outcome);
        }
        let report = prepared.run(&options, &view)?;
        drop(voice);
        let read_only = remanent_store::is_read_only(&directory) && !self.run.how.fresh;
        let suffix = if read_only { ", which is read-only" } else { "" };
        output::remark(quiet, &format!("records in {shown}{suffix}"));
        self.output.emit(&report, quiet)
    }

    /// What it would take. The run is begun, and its plan kept, if `keep`.
    pub fn estimate(self, resources: &Resources, keep: bool) -> anyhow::Result<Estimate> {
        self.output.check()?;
        let (prepared, directory) = self.prepare(resources)?;
        let cells = prepared.cells();
        let survey = prepared.survey(&cells, &directory, false)?;
        let seconds = prepared.expected_seconds(&cells, &survey);
        if keep {
            prepared.keep_plan(&cells, &directory, &seconds)?;
        }
        let missing = || survey.missing.iter().map(|&i| seconds[i]);
        Ok(Estimate {
            directory,
            cells: cells.len(),
            missing: survey.missing.len(),
            seconds: missing().sum(),
            longest: missing().fold(0.0, f64::max),
            memory: survey.missing.iter().map(|&i| cells[i].memory()).max().unwrap_or(0),
            has_plot: true,
        })
    }

    /// Reads the cases, and says what the user may not have intended.
    fn prepare(&self, resources: &Resources) -> anyhow::Result<(Prepared<E>, PathBuf)> {
        let layers = self.run.layers(self.options.given.clone())?;
        let prepared = Prepared::<E>::new(layers, resources).map_err(with_command)?;
        for text in prepared.warnings() {
            output::say(&text);
        }
        let directory = self.run.out.clone().unwrap_or_else(|| prepared.default_directory());
        Ok((prepared, directory))
    }
}

/// Commands by the experiments of configuration files.
const COMMANDS: [(&str, &str); 6] = [
    ("simulate", "remanent simulate --config FILE"),
    ("bound", "remanent simulate bound --config FILE"),
    ("convergence-time", "remanent simulate convergence-time --config FILE"),
    ("tempering", "remanent simulate tempering --config FILE"),
    ("train", "remanent train --config FILE"),
    ("theory", "remanent theory QUESTION --config FILE"),
];

/// Adds the command that takes a configuration of another experiment.
fn with_command(error: Error) -> anyhow::Error {
    if let Error::Plan(PlanError::OtherExperiment { there, .. }) = &error {
        let command = COMMANDS.iter().find(|(name, _)| name == there);
        let known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        let cure = match command {
            Some((_, command)) => format!("run it with: {command}"),
            None => format!("the experiments are {}", known.join(", ")),
        };
        return UsageError::new(format!("{error}; {cure}")).into();
    }
    error.into()
}

/// Arguments of every experiment.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Experiment")]
struct RunArguments {
    /// Read options from a TOML file; flags override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set an option as in a TOML file, e.g. --set weight_decay=0.1
    #[arg(long = "set", value_name = "KEY=VALUE")]
    assignments: Vec<String>,
    /// Run a case for every value, e.g. gamma=0:2:0.1, alpha.2=1,2,4 or learner=sgd,gd; several
    /// scans run all combinations
    #[arg(long = "scan", value_name = "KEY=VALUES")]
    scans: Vec<String>,
    /// Use the reduced size that the TOML file states in its table "quick"
    #[arg(long)]
    quick: bool,
    /// Number of trials, each with its own teachers, data and student [default: 1]
    #[arg(long, value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    seeds: Option<u32>,
    /// Seed of all random numbers [default: 1]
    #[arg(long, value_name = "S", value_parser = flags::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// Run directory; an earlier run in it is continued [default: runs/NAME-HASH]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    how: HowArguments,
    #[command(flatten)]
    shard: ShardArguments,
}

/// How cells are run.
#[derive(Clone, Debug, Args)]
pub struct HowArguments {
    /// Discard an earlier run in the run directory
    #[arg(long)]
    pub fresh: bool,
    /// Seconds between checkpoints of a running cell [default: 10]
    #[arg(long, value_name = "SECONDS", default_value_t = CHECKPOINT_EVERY.as_secs_f64(), hide_default_value = true, value_parser = flags::number, allow_hyphen_values = true)]
    pub checkpoint_every: f64,
    /// Show cells, time and memory without running anything
    #[arg(long)]
    pub dry_run: bool,
}

impl RunArguments {
    fn layers(&self, flags: Table) -> anyhow::Result<Layers> {
        let file = match &self.config {
            Some(path) => config::read_file(path)?,
            None => Table::new(),
        };
        let mut flags = flags;
        if let Some(seeds) = self.seeds {
            flags.insert("seeds".into(), i64::from(seeds).into());
        }
        if let Some(seed) = self.seed {
            // Flags are read by a parser that refuses what TOML cannot hold.
            flags.insert("seed".into(), i64::try_from(seed).unwrap_or(i64::MAX).into());
        }
        for text in &self.assignments {
            config::merge(&mut flags, assignment(text)?);
        }
        let scans = self.scans.iter().map(|text| scan(text)).collect::<Result<_, _>>()?;
        Ok(Layers { file, flags, scans, quick: self.quick })
    }
}

/// Prints what a run would compute, how long it would take, and how much memory it needs.
fn preview<E: Experiment>(
    prepared: &Prepared<E>,
    directory: &Path,
    fresh: bool,
) -> anyhow::Result<()> {
    let cells = prepared.cells();
    let survey = prepared.survey(&cells, directory, fresh)?;
    let works = survey.missing.iter().map(|&i| cells[i].work());
    let work = works.fold(0, u64::saturating_add);
    let missing = survey.missing.iter().map(|&i| &cells[i]);
    let (needed, _) = remanent_store::memory_at_once(missing);
    let excess = memory::available().filter(|&available| needed > available);
    let mut text = format!(
        "run directory  {}\ncells          {} in all, {} to compute\n",
        directory.display(),
        cells.len(),
        survey.missing.len()
    );
    // To time a cell is to run it.
    let timed = survey.missing.first().filter(|_| excess.is_none());
    if let Some(rate) = timed.and_then(|&i| rate(&cells[i])) {
        let threads = rayon::current_num_threads().min(survey.missing.len());
        let seconds = work as f64 / rate / threads as f64;
        let plural = if threads == 1 { "" } else { "s" };
        let time = amounts::duration(seconds);
        text += &format!("time           about {time} on {threads} thread{plural}\n");
    }
    text += &format!("memory         about {}", amounts::memory(needed));
    text += &match excess {
        Some(available) => {
            let available = amounts::memory(available);
            format!(", and this machine has {available}: the run would be refused\n")
        }
        None => "\n".into(),
    };
    output::print(&text)
}

/// The key and the values of a `--scan`.
pub fn scan(text: &str) -> Result<(String, Value), UsageError> {
    let (key, values) = text.split_once('=').ok_or_else(|| {
        UsageError::new(format!("--scan {text} is not KEY=VALUES, e.g. gamma=0:2:0.1"))
    })?;
    Ok((key.trim().replace('-', "_"), values.into()))
}

/// An assignment of the command line; keys and lists may be written as flags are.
fn assignment(text: &str) -> Result<Table, ConfigError> {
    let text = match text.split_once('=') {
        Some((key, value)) => {
            let list = value.contains(',') && value.parse::<Values>().is_ok();
            let value = if list { format!("[{value}]") } else { value.to_owned() };
            format!("{}={value}", key.replace('-', "_"))
        }
        None => text.to_owned(),
    };
    config::parse_assignment(&text)
}

/// Set when the user asks the program to stop.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The first signal lets the cells save themselves; the second ends the program at once.
pub fn catch_interrupts() -> anyhow::Result<()> {
    static CAUGHT: AtomicBool = AtomicBool::new(false);
    if CAUGHT.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(output::INTERRUPTED_CODE));
        }
    })?;
    Ok(())
}
