//! What all commands share that run an experiment: the plan's arguments, the run
//! directory, progress, Ctrl-C, and `--dry-run`.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressBar;
use remanent_data::memory;
use remanent_lab::config::{self, ConfigError};
use remanent_lab::lists::{Values, ValuesError};
use remanent_lab::plan::{Layers, Plan, Scan};
use remanent_lab::{CHECKPOINT_EVERY, Cell, Context, Recalled, Store, Watcher};
use serde_json::Value;
use toml::Table;

use crate::flags;
use crate::output;

/// Arguments of every experiment.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Experiment")]
pub struct ExperimentArguments {
    /// Configuration in TOML, e.g. one of figures/*/experiment.toml; flags lie over it
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
            let hash = remanent_lab::sealed::digest(config.to_string().as_bytes());
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
    ) -> anyhow::Result<Option<Finished<C>>> {
        let directory = self.directory(kind, config);
        if self.dry_run {
            self.preview(&directory, kind, config, cells)?;
            return Ok(None);
        }
        let place = Place {
            directory: &directory,
            kind,
            config,
            fresh: self.fresh,
            every: self.checkpoint_every,
        };
        place.run_with_models(cells, quiet).map(Some)
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
        let (needed, _) = remanent_lab::memory_at_once(missing);
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

/// Where and how cells are run.
pub struct Place<'a> {
    /// The run directory.
    pub directory: &'a Path,
    /// What its cells are.
    pub kind: &'a str,
    /// What they have in common.
    pub config: &'a Value,
    /// Whether what is there is discarded.
    pub fresh: bool,
    /// Seconds between checkpoints.
    pub every: f64,
}

impl Place<'_> {
    /// Runs cells with a progress bar; Ctrl-C lets them save themselves.
    pub fn run<C: Cell>(&self, cells: &[C], quiet: bool) -> anyhow::Result<Finished<C>> {
        self.run_all(cells, quiet, false)
    }

    /// The same, and cells whose models are missing or damaged make them again.
    pub fn run_with_models<C: Cell>(
        &self,
        cells: &[C],
        quiet: bool,
    ) -> anyhow::Result<Finished<C>> {
        self.run_all(cells, quiet, true)
    }

    fn run_all<C: Cell>(
        &self,
        cells: &[C],
        quiet: bool,
        with_models: bool,
    ) -> anyhow::Result<Finished<C>> {
        output::usage((0.0..=1e6).contains(&self.every), || {
            format!(
                "--checkpoint-every {} is out of range: it must be between 0 and 1e6 seconds",
                self.every
            )
        })?;
        if !self.fresh && remanent_lab::is_read_only(self.directory) {
            return self.recall(cells, quiet);
        }
        let store = Store::open(self.directory, self.kind, self.config, self.fresh)?
            .checkpoint_every(Duration::from_secs_f64(self.every));
        catch_interrupts()?;
        let bar = output::progress(cells.iter().map(|cell| cell.work() as usize).sum(), quiet);
        let voice = Voice { bar: &bar, quiet };
        let start = Instant::now();
        let records = if with_models {
            store.run_with_models(cells, &voice, &INTERRUPTED)
        } else {
            store.run(cells, &voice, &INTERRUPTED)
        };
        bar.finish_and_clear();
        let records = records?;
        let seconds = cells.iter().map(|cell| store.seconds(cell)).collect();
        let step_seconds = cells.iter().map(|cell| store.step_seconds(cell)).collect();
        let models = cells.iter().map(|cell| store.model(cell)).collect();
        let wall_seconds = start.elapsed().as_secs_f64();
        output::remark(quiet, &format!("records in {}", store.directory().display()));
        let directory = store.directory().to_owned();
        let is_read_only = false;
        Ok(Finished {
            records,
            seconds,
            step_seconds,
            models,
            directory,
            wall_seconds,
            is_read_only,
        })
    }

    /// The records of a run that is done, from a directory in which nothing can be written.
    fn recall<C: Cell>(&self, cells: &[C], quiet: bool) -> anyhow::Result<Finished<C>> {
        let start = Instant::now();
        let found = Store::recall(self.directory, self.kind, self.config, cells)?;
        let Recalled { records, seconds, step_seconds, models } = found;
        let shown = self.directory.display();
        output::remark(quiet, &format!("records in {shown}, which is read-only"));
        Ok(Finished {
            records,
            seconds,
            step_seconds,
            models,
            directory: self.directory.to_owned(),
            wall_seconds: start.elapsed().as_secs_f64(),
            is_read_only: true,
        })
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

/// What a run gave.
pub struct Finished<C: Cell> {
    /// One record a cell.
    pub records: Vec<C::Record>,
    /// The time each cell took on its thread, whenever it was computed.
    pub seconds: Vec<Option<f64>>,
    /// The part of that time which each cell counted as spent on steps.
    pub step_seconds: Vec<Option<f64>>,
    /// Where each cell has left its model, if it leaves one.
    pub models: Vec<PathBuf>,
    /// The run directory.
    pub directory: PathBuf,
    /// The time this command took.
    pub wall_seconds: f64,
    /// Whether nothing can be written into the run directory.
    pub is_read_only: bool,
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

/// A progress bar and a voice on standard error. What concerns the user's results is
/// said even if he asked for quiet.
struct Voice<'a> {
    bar: &'a ProgressBar,
    quiet: bool,
}

impl Watcher for Voice<'_> {
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

/// Counts work from the first piece on: what comes before it, such as the drawing of data or a test
/// before anything is learned, says nothing about the rate.
#[derive(Default)]
struct Counter {
    first: OnceLock<Instant>,
    units: AtomicU64,
}

impl Watcher for Counter {
    fn advance(&self, units: u64) {
        // A cell that begins anew finds nothing done.
        if units > 0 && self.first.set(Instant::now()).is_err() {
            self.units.fetch_add(units, Ordering::Relaxed);
        }
    }

    fn notice(&self, _text: &str) {}
}

/// How long a cell is watched to find its rate.
const PROBE: Duration = Duration::from_millis(500);
/// How long it may take until it begins.
const PATIENCE: Duration = Duration::from_secs(20);

/// Work a second, found by running a cell for a while without keeping anything of it.
pub fn rate<C: Cell>(cell: &C) -> Option<f64> {
    let (counter, stop, ended) =
        (Counter::default(), AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            let begun = || counter.first.get().is_some_and(|first| first.elapsed() >= PROBE);
            while !begun() && start.elapsed() < PATIENCE && !ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
        });
        // How it ends does not matter here; the run will tell.
        let _ = cell.run(&mut Context::probe(&counter, &stop));
        ended.store(true, Ordering::Relaxed);
    });
    let done = counter.units.load(Ordering::Relaxed) as f64;
    let start = counter.first.get()?;
    (done > 0.0).then(|| done / start.elapsed().as_secs_f64())
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
