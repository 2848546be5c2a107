//! What all commands share that run an experiment: the plan's arguments, the run
//! directory, progress, Ctrl-C, and `--dry-run`.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use remanent_lab::config::{self, ConfigError};
use remanent_lab::lists::{Values, ValuesError};
use remanent_lab::plan::{Layers, Plan, Scan};
use remanent_store::{
    CHECKPOINT_EVERY, Cell, Finished, Request, Store, Watcher, memory, rate, sealed,
};
use serde_json::Value;
use toml::Table;

use crate::flags;
use crate::output;

/// Arguments of every experiment.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Experiment")]
pub struct ExperimentArguments {
    /// Configuration in TOML, e.g. one of crates/remanent-reproduce/configs; flags lie over it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Sets a key of the configuration, e.g. --set weight_decay=0.1
    #[arg(long = "set", value_name = "KEY=VALUE")]
    assignments: Vec<String>,
    /// Makes a case of every value, e.g. --scan gamma=0:2:0.1 or --scan alpha.2=1,2,4; several
    /// scans make all combinations
    #[arg(long = "scan", value_name = "KEY=VALUES")]
    scans: Vec<ScanArgument>,
    /// Takes the small version that the configuration describes in its table "quick"
    #[arg(long)]
    quick: bool,
    /// Number of trials, each with its own teachers, data and student [default: 1]
    #[arg(long, value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    seeds: Option<u32>,
    /// The seed from which all trials are drawn [default: 1]
    #[arg(long, value_name = "S", value_parser = flags::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// Run directory; the same one continues what is there [default: one of its own under runs/]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Discards what an earlier run has left in the run directory
    #[arg(long)]
    fresh: bool,
    /// Seconds between checkpoints of a cell under way [default: 10]
    #[arg(long, value_name = "SECONDS", default_value_t = CHECKPOINT_EVERY.as_secs_f64(), hide_default_value = true, value_parser = flags::number, allow_hyphen_values = true)]
    checkpoint_every: f64,
    /// Only says what would run and how long it would take
    #[arg(long)]
    dry_run: bool,
}

/// `key=values`.
#[derive(Clone, Debug)]
struct ScanArgument(Scan);

impl FromStr for ScanArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| format!("'{text}' is not key=values, e.g. gamma=0:2:0.1"))?;
        let values: Values = values.parse().map_err(|e: ValuesError| e.to_string())?;
        Ok(Self(Scan { key: key.trim().replace('-', "_"), values: values.0 }))
    }
}

impl ExperimentArguments {
    /// The plan, from the file, the command's own flags, and these arguments.
    pub fn plan(&self, flags: Table, experiment: &str, keys: &[&str]) -> anyhow::Result<Plan> {
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
        let scans = self.scans.iter().map(|scan| scan.0.clone()).collect();
        Ok(Plan::new(Layers { file, flags, scans, quick: self.quick }, experiment, keys)?)
    }

    /// Scans one more key, as a flag of the command asks for.
    pub fn add_scan(&mut self, scan: Scan) {
        self.scans.push(ScanArgument(scan));
    }

    /// The run directory: as asked for, or one of its own for every configuration.
    fn directory(&self, kind: &str, config: &Value) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let hash = sealed::digest(config.to_string().as_bytes());
            Path::new("runs").join(format!("{kind}-{}", &hash[..8]))
        })
    }

    /// Runs the cells. None after a dry run, which has printed its own report.
    pub fn run<C: Cell>(
        &self,
        kind: &str,
        config: &Value,
        cells: &[C],
        quiet: bool,
    ) -> anyhow::Result<Option<Finished<C::Record>>> {
        let directory = self.directory(kind, config);
        if self.dry_run {
            self.preview(&directory, kind, config, cells)?;
            return Ok(None);
        }
        let every = interval(self.checkpoint_every)?;
        let request = Request {
            directory: &directory,
            kind,
            config,
            fresh: self.fresh,
            every,
            with_models: true,
        };
        catch_interrupts()?;
        let voice = Voice::new(cells.iter().map(Cell::work).sum(), quiet);
        let finished = request.run(cells, &voice, &INTERRUPTED)?;
        drop(voice);
        let read_only = if finished.is_read_only { ", which is read-only" } else { "" };
        output::remark(quiet, &format!("records in {}{read_only}", directory.display()));
        Ok(Some(finished))
    }

    fn preview<C: Cell>(
        &self,
        directory: &Path,
        kind: &str,
        config: &Value,
        cells: &[C],
    ) -> anyhow::Result<()> {
        let survey = Store::survey_with_models(directory, kind, config, self.fresh, cells)?;
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
            let time = duration(seconds);
            text += &format!("time           about {time} on {threads} thread{plural}\n");
        }
        text += &format!("memory         about {}", memory::amount(needed));
        text += &match excess {
            Some(available) => {
                let available = memory::amount(available);
                format!(", and this machine has {available}: the run would be refused\n")
            }
            None => "\n".into(),
        };
        output::print(&text)
    }
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

/// `--checkpoint-every` as a time.
pub fn interval(seconds: f64) -> anyhow::Result<Duration> {
    output::usage((0.0..=1e6).contains(&seconds), || {
        format!(
            "--checkpoint-every {seconds} is out of range: it must be between 0 and 1e6 seconds"
        )
    })?;
    Ok(Duration::from_secs_f64(seconds))
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

/// A progress bar and messages on standard error. What concerns the user's results is said even with
/// `--quiet`.
pub struct Voice {
    bar: ProgressBar,
    quiet: bool,
}

impl Voice {
    /// For so many units of work.
    pub fn new(work: u64, quiet: bool) -> Self {
        Self { bar: output::progress(work as usize, quiet), quiet }
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for Voice {
    fn advance(&self, units: u64) {
        self.bar.inc(units);
    }

    fn notice(&self, text: &str) {
        self.bar.suspend(|| output::say(&format!("note: {text}")));
    }

    fn continued(&self, seconds: f64) {
        let text =
            format!("a cell continues from its checkpoint, after {seconds:.2} s of computing");
        self.bar.suspend(|| output::remark(self.quiet, &text));
    }
}

/// A time in words, rounded up.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s <= 1.0 => "a second".into(),
        s if s < 100.0 => format!("{} seconds", s.ceil()),
        s if s < 6000.0 => format!("{} minutes", (s / 60.0).ceil()),
        s if s < 4e5 => format!("{:.1} hours", s / 3600.0),
        s if s < 6e7 => format!("{:.0} days", s / 86_400.0),
        s => format!("{:.0} years", s / 31_557_600.0),
    }
}
