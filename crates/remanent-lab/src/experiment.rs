//! What every experiment has: options, cells, and a report.
//!
//! The command line, `reproduce` and every other user of the lab know experiments only by the trait
//! [`Experiment`]. Its implementors are the checked cases: [`Simulation`](crate::simulation::Simulation),
//! [`BoundStudy`](crate::bound::BoundStudy), [`ConvergenceStudy`](crate::convergence::ConvergenceStudy),
//! [`Training`](crate::training::Training), and [`Query`](crate::theory::Query) for the theory.
//!
//! ```text
//! layers of options ─▶ Prepared: plan, cases, material ─▶ cells ─▶ records ─▶ Report: JSON, tables, figure
//! ```
//!
//! ```
//! use remanent_lab::experiment::{Prepared, Report, Resources, RunOptions};
//! use remanent_lab::plan::Layers;
//! use remanent_lab::simulation::{Simulation, SimulationOptions, SimulationView};
//! use remanent_lab::options::Options;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let file = "alpha = [1, 1]\nn = 50\nepochs = 3\nseeds = 2".parse()?;
//! let layers = Layers { file, ..Layers::default() };
//! let prepared = Prepared::<Simulation>::new(layers, &Resources::default())?;
//! let run = RunOptions::in_directory(directory.path().join("run"));
//! let report = prepared.run(&run, &SimulationView::read(&toml::Table::new())?)?;
//! assert_eq!(report.json()["config"]["n"], 50);
//! # Ok(())
//! # }
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use remanent_data::sources::Cache;
use remanent_data::sources::SourceError;
use remanent_data::stream::StreamError;
use remanent_perceptron::randomness::Trial;
use remanent_plot::{Figure, Table};
use remanent_store::files::FileError;
use remanent_store::{
    CHECKPOINT_EVERY, Cell, Context, Finished, Request, RunError, Share, Shared, Silent,
    StoreError, Survey, Watcher, sealed,
};
use serde_json::{Value, json};
use thiserror::Error;
use toml::Table as Config;

use crate::config::ConfigError;
use crate::options::{Options, Range};
use crate::plan::{Layers, Plan, PlanError};
use crate::simulation::SettingError;
use crate::theory::QueryError;
use crate::training::{MaterialError, TrainingError};
use crate::values::ValueError;

/// An experiment: a case whose options have been read and checked.
pub trait Experiment: Clone + PartialEq + Sized + 'static {
    /// The name in configurations and of run directories.
    const NAME: &'static str;
    /// What the work of its cells is counted in.
    const UNIT: &'static str;
    /// Whether a run has one case only.
    const TAKES_ONE_CASE: bool = false;
    /// An option whose list makes a case of every value, if there is one.
    const SPREAD: Option<&'static str> = None;

    /// What a user may set.
    type Options: Options;
    /// What a user may set about the report. It does not change what is computed.
    type View: Options;
    /// What the cells need besides the options, such as images.
    type Material;
    /// What a cell leaves.
    type Record;
    /// The piece that is computed alone.
    type Cell<'a>: Cell<Record = Self::Record>;
    /// What is shown of a run.
    type Report: Report;

    /// Reads and checks a case.
    fn read(table: &Config) -> Result<Self, Error>;

    /// Loads what the cells need, case by case.
    fn prepare(cases: &[Self], resources: &Resources) -> Result<Vec<Self::Material>, Error>;

    /// A trial of a case.
    fn cell<'a>(&'a self, material: &'a Self::Material, trial: Trial) -> Self::Cell<'a>;

    /// Everything the results of this case depend on, seeds and data excepted.
    fn to_json(&self) -> Value;

    /// What identifies a run directory. Trials may be added to it.
    fn config(seed: u64, cases: &[Self], _materials: &[Self::Material]) -> Value {
        json!({"seed": seed, "cases": cases.iter().map(Self::to_json).collect::<Vec<_>>()})
    }

    /// What the user may not have intended.
    fn warnings(&self, _given: &Config, _material: &Self::Material) -> Vec<String> {
        Vec::new()
    }

    /// Summarises a run.
    fn report(run: Computed<'_, Self>, view: &Self::View) -> Result<Self::Report, Error>;
}

/// What is shown of a run.
pub trait Report {
    /// All numbers.
    fn json(&self) -> Value;
    /// The tables.
    fn tables(&self, detail: Detail) -> Vec<Table>;
    /// The figure.
    fn figure(&self) -> Figure;
    /// What the user should know about the results.
    fn notes(&self) -> Vec<Note>;
    /// Whether everything that was asked for has been computed.
    fn is_complete(&self) -> bool {
        true
    }
    /// Writes further files into the run directory.
    fn write_files(&self, _directory: &Path) -> Result<(), FileError> {
        Ok(())
    }
}

crate::options! {
    /// No options about the report.
    pub struct NoView {}
}

/// How much a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Several tables, and of long ones some rows: for a terminal.
    Short,
    /// One table with all rows and columns: for another program.
    Full,
}

/// A remark about results.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The remark.
    pub text: String,
    /// Whether it is shown even if the user asked for quiet.
    pub always: bool,
}

/// Where experiments find data.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The cache of datasets; without one only the data inside the program is found.
    pub cache: Option<Cache>,
}

/// How and where cells are run.
pub struct RunOptions<'a> {
    /// The run directory.
    pub directory: PathBuf,
    /// Whether an earlier run in the directory is discarded.
    pub fresh: bool,
    /// The time between checkpoints of a cell.
    pub checkpoint_every: Duration,
    /// Follows the progress.
    pub watcher: &'a dyn Watcher,
    /// Set to stop: cells save checkpoints first.
    pub interrupt: &'a AtomicBool,
}

/// Seconds between checkpoints as a time.
pub fn checkpoint_interval(seconds: f64) -> Result<Duration, ValueError> {
    Range::between(0.0, 1e6).check("checkpoint_every", seconds)?;
    Ok(Duration::from_secs_f64(seconds))
}

impl RunOptions<'static> {
    /// A run without progress that nothing interrupts.
    pub fn in_directory(directory: PathBuf) -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self {
            directory,
            fresh: false,
            checkpoint_every: CHECKPOINT_EVERY,
            watcher: &Silent,
            interrupt: &NEVER,
        }
    }
}

/// Cases that are checked, with everything their cells need.
pub struct Prepared<E: Experiment> {
    /// The plan.
    pub plan: Plan,
    /// The cases.
    pub cases: Vec<E>,
    /// What their cells need, case by case.
    pub materials: Vec<E::Material>,
}

impl<E: Experiment> Default for Prepared<E> {
    /// No case.
    fn default() -> Self {
        Self { plan: Plan::default(), cases: Vec::new(), materials: Vec::new() }
    }
}

/// A run whose cells all have records.
pub struct Computed<'a, E: Experiment> {
    /// What was run.
    pub prepared: &'a Prepared<E>,
    /// Records, times and models: all trials of the first case, then those of the second.
    pub cells: Finished<E::Record>,
}

impl<E: Experiment> Prepared<E> {
    /// Reads and checks all cases and loads what they need.
    pub fn new(mut layers: Layers, resources: &Resources) -> Result<Self, Error> {
        if let Some(key) = E::SPREAD
            && let Some(values) = layers.flags.remove(key)
        {
            layers.scans.push((key.to_owned(), values));
        }
        let plan = Plan::new(layers, E::NAME, &E::Options::list())?;
        Self::of_plan(plan, resources)
    }

    /// The same for a plan that is already made.
    pub fn of_plan(plan: Plan, resources: &Resources) -> Result<Self, Error> {
        let read = Self::read(plan)?;
        let materials = E::prepare(&read.cases, resources)?;
        Ok(Self { materials, ..read })
    }

    /// Reads and checks all cases of a plan. What their cells need is not loaded.
    pub fn read(plan: Plan) -> Result<Self, Error> {
        if E::TAKES_ONE_CASE && plan.cases.len() > 1 {
            return Err(PlanError::OneCase.into());
        }
        let cases: Vec<E> =
            plan.cases.iter().map(|case| E::read(&case.table)).collect::<Result<_, _>>()?;
        plan.refuse_equal(&cases)?;
        Ok(Self { plan, cases, materials: Vec::new() })
    }

    /// All cells: the trials of the first case, then those of the second.
    pub fn cells(&self) -> Vec<E::Cell<'_>> {
        let both = self.cases.iter().zip(&self.materials);
        both.flat_map(|(case, material)| {
            self.plan.trials().map(move |trial| case.cell(material, trial))
        })
        .collect()
    }

    /// What identifies a run directory.
    pub fn config(&self) -> Value {
        E::config(self.plan.seed, &self.cases, &self.materials)
    }

    /// The run directory unless the user names one: one for every configuration.
    pub fn default_directory(&self) -> PathBuf {
        let hash = sealed::digest(self.config().to_string().as_bytes());
        Path::new("runs").join(format!("{}-{}", E::NAME, &hash[..8]))
    }

    /// What the user may not have intended, each once.
    pub fn warnings(&self) -> Vec<String> {
        let notices = self.plan.notices.iter().map(|notice| format!("note: {notice}"));
        let mut warnings: Vec<String> = notices.collect();
        let cases = self.plan.cases.iter().zip(&self.cases).zip(&self.materials);
        for ((case, experiment), material) in cases {
            for text in experiment.warnings(&case.table, material) {
                if !warnings.contains(&text) {
                    warnings.push(text);
                }
            }
        }
        warnings
    }

    /// Which of its cells have records, without computing any.
    pub fn survey(
        &self,
        cells: &[E::Cell<'_>],
        directory: &Path,
        fresh: bool,
    ) -> Result<Survey, Error> {
        let config = self.config();
        Ok(self.request(directory, &config, fresh, CHECKPOINT_EVERY).survey(cells)?)
    }

    fn request<'a>(
        &self,
        directory: &'a Path,
        config: &'a Value,
        fresh: bool,
        every: Duration,
    ) -> Request<'a> {
        Request { directory, kind: E::NAME, config, fresh, every, with_models: true }
    }

    fn request_of<'a>(&self, options: &'a RunOptions<'_>, config: &'a Value) -> Request<'a> {
        self.request(&options.directory, config, options.fresh, options.checkpoint_every)
    }

    /// Computes a share of the cells that have no record.
    pub fn run_share(&self, options: &RunOptions<'_>, share: &Share<'_>) -> Result<Shared, Error> {
        let config = self.config();
        let request = self.request_of(options, &config);
        Ok(request.run_share(&self.cells(), share, options.watcher, options.interrupt)?)
    }

    /// Begins the run and keeps its plan, with the seconds that each cell is expected to take.
    pub fn keep_plan(
        &self,
        cells: &[E::Cell<'_>],
        directory: &Path,
        seconds: &[f64],
    ) -> Result<(), Error> {
        let config = self.config();
        Ok(self.request(directory, &config, false, CHECKPOINT_EVERY).plan(cells, seconds)?)
    }

    /// The work of all cells.
    pub fn work(&self) -> u64 {
        self.cells().iter().map(Cell::work).fold(0, u64::saturating_add)
    }

    /// Computes the cells that have no record, and summarises all.
    pub fn run(&self, options: &RunOptions<'_>, view: &E::View) -> Result<E::Report, Error> {
        let config = self.config();
        let request = self.request_of(options, &config);
        let cells = request.run(&self.cells(), options.watcher, options.interrupt)?;
        let is_read_only = cells.is_read_only;
        let report = E::report(Computed { prepared: self, cells }, view)?;
        if !is_read_only {
            report.write_files(&options.directory)?;
        }
        Ok(report)
    }

    /// Computes all cells one after the other without keeping anything, and summarises them.
    pub fn run_unsaved(
        &self,
        watcher: &dyn Watcher,
        interrupt: &AtomicBool,
        view: &E::View,
    ) -> Result<E::Report, Error> {
        let start = Instant::now();
        let cells = self.cells();
        let run = |cell: &E::Cell<'_>| cell.run(&mut Context::unsaved(watcher, interrupt));
        let records = cells.iter().map(run).collect::<Result<Vec<E::Record>, _>>();
        let records = records.map_err(|stopped| Error::Other(stopped.to_string()))?;
        let cells = Finished {
            seconds: vec![None; records.len()],
            step_seconds: vec![None; records.len()],
            models: Vec::new(),
            directory: PathBuf::new(),
            is_read_only: true,
            wall_seconds: start.elapsed().as_secs_f64(),
            records,
        };
        E::report(Computed { prepared: self, cells }, view)
    }
}

/// Why an experiment cannot be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration that cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A value of the wrong kind.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Cases that make no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An invalid simulation.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// An invalid training.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// Images that are not there.
    #[error(transparent)]
    Material(#[from] MaterialError),
    /// An invalid question to the theory.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A run directory that cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Cells that failed or were interrupted.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// What kind of failure an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is invalid.
    Usage,
    /// The run was interrupted and can be continued.
    Interrupted,
    /// The request makes sense and could not be fulfilled.
    Failure,
}

impl Error {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Config(_)
            | Self::Value(_)
            | Self::Plan(_)
            | Self::Setting(_)
            | Self::Training(_)
            | Self::Query(_) => ErrorKind::Usage,
            Self::Material(error) => error.kind(),
            Self::Store(error) => store_kind(error),
            Self::Run(error) => run_kind(error),
            Self::File(_) | Self::Other(_) => ErrorKind::Failure,
        }
    }
}

/// What kind of failure it is that a run directory cannot be used.
fn store_kind(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::File(_) | StoreError::ReadOnly { .. } => ErrorKind::Failure,
        _ => ErrorKind::Usage,
    }
}

/// What kind of failure it is that cells have no records.
pub fn run_kind(error: &RunError) -> ErrorKind {
    match error {
        RunError::Interrupted { .. } => ErrorKind::Interrupted,
        RunError::Memory { .. } => ErrorKind::Usage,
        RunError::Store(error) => store_kind(error),
        _ => ErrorKind::Failure,
    }
}

impl MaterialError {
    /// What kind of failure it is: images may be missing because of the request, or because they are
    /// not on this machine.
    pub fn kind(&self) -> ErrorKind {
        let source = match self {
            Self::Training(TrainingError::Stream(StreamError::Source(source))) => source,
            Self::Source(source) => source,
            Self::Training(_) => return ErrorKind::Usage,
        };
        match source {
            SourceError::Unknown { .. } => ErrorKind::Usage,
            SourceError::Interrupted { .. } => ErrorKind::Interrupted,
            _ => ErrorKind::Failure,
        }
    }
}
