//! From a list of figures to their report: what is run, what it costs, and the run itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use remanent_data::sources::Cache;
use remanent_lab::bound::BoundStudy;
use remanent_lab::convergence::ConvergenceStudy;
use remanent_lab::experiment::{Error, ErrorKind, Resources};
use remanent_lab::simulation::Simulation;
use remanent_lab::tempering::TemperingStudy;
use remanent_lab::theory::Query;
use remanent_lab::training::Training;
use remanent_store::{CHECKPOINT_EVERY, Cell, RunError, Share, Shared, StoreError, Watcher};
use serde_json::{Value, json};

use crate::catalogue::{UnknownFigure, select};
use crate::exhibit::exhibit;
use crate::parts::{Batch, Kind, Records, load};
use crate::report::{Machine, Report};
use crate::work::Work;

/// About how many seconds a unit of work of a question to the theory takes.
const THEORY_POINT: f64 = 0.05;

/// Which figures, and how large.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Names of figures as [`select`] takes them; all if there are none.
    pub figures: Vec<String>,
    /// Whether the sizes are reduced, and digits inside the program replace MNIST.
    pub quick: bool,
    /// The most trials of a case.
    pub seeds: Option<u32>,
}

impl Request {
    /// The command line that makes the same report.
    pub fn command(&self) -> String {
        let mut words = vec!["remanent reproduce".to_owned()];
        words.extend(self.figures.iter().cloned());
        if self.quick {
            words.push("--quick".into());
        }
        if let Some(seeds) = self.seeds {
            words.push(format!("--seeds {seeds}"));
        }
        words.join(" ")
    }
}

/// Why figures cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// There is no such figure.
    #[error(transparent)]
    Figure(#[from] UnknownFigure),
    /// A configuration is invalid at this size, or images are missing.
    #[error(transparent)]
    Experiment(#[from] Error),
}

impl RequestError {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Experiment(error) => error.kind(),
            Self::Figure(_) => ErrorKind::Usage,
        }
    }
}

/// Where the cells are run, and how.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The run directory; each kind of cells has a folder in it.
    pub directory: &'a Path,
    /// Whether what is there is discarded.
    pub fresh: bool,
    /// Time between checkpoints of a cell under way.
    pub checkpoint_every: Duration,
}

impl<'a> Place<'a> {
    /// A run directory that is continued.
    pub fn new(directory: &'a Path) -> Self {
        Self { directory, fresh: false, checkpoint_every: CHECKPOINT_EVERY }
    }

    /// Does something with cells of one kind, in a folder of their own. `watch` is asked for their watcher,
    /// `marker` is what all such run directories have in common.
    pub(crate) fn compute<C: Cell, W: Watcher, T>(
        &self,
        kind: &str,
        marker: &Value,
        cells: &[C],
        watch: impl Fn(&Stage<'_>) -> W,
        with: impl FnOnce(&remanent_store::Request<'_>, &W) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let directory = &self.directory.join(kind);
        let work = cells.iter().map(Cell::work).fold(0, u64::saturating_add);
        let watcher = watch(&Stage { kind, cells: cells.len(), work, directory });
        with(&self.request(directory, kind, marker), &watcher)
    }

    /// Of the cells of one kind, which are in this directory.
    pub(crate) fn request<'b>(
        &self,
        directory: &'b Path,
        kind: &'b str,
        config: &'b Value,
    ) -> remanent_store::Request<'b> {
        let (fresh, every) = (self.fresh, self.checkpoint_every);
        let with_models = false;
        remanent_store::Request { directory, kind, config, fresh, every, with_models }
    }
}

/// Cells of one kind that are about to run.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// `theory`, `bound`, `simulate`, `convergence-time`, `tempering` or `train`.
    pub kind: &'a str,
    /// The number of cells.
    pub cells: usize,
    /// Their work, those included that are done.
    pub work: u64,
    /// Where their records are.
    pub directory: &'a Path,
}

/// What some cells cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// All cells.
    pub cells: usize,
    /// Those without a record.
    pub missing: usize,
    /// The time of these on one thread.
    pub seconds: f64,
    /// Bytes of the largest of these.
    pub memory: u64,
}

impl Cost {
    /// Adds the cost of other cells.
    pub fn add(&mut self, other: &Self) {
        self.cells += other.cells;
        self.missing += other.missing;
        self.seconds += other.seconds;
        self.memory = self.memory.max(other.memory);
    }

    /// Seconds and bytes if the cells run on this number of threads.
    pub fn on(&self, threads: usize) -> (f64, u64) {
        let threads = threads.min(self.missing).max(1);
        (self.seconds / threads as f64, self.memory.saturating_mul(threads as u64))
    }
}

/// Figures whose configurations are read and whose images are loaded.
pub struct Reproduction {
    request: Request,
    works: Vec<Work>,
}

impl Reproduction {
    /// Reads the configurations, and loads the images that they need from the cache.
    pub fn new(request: Request, cache: &Cache) -> Result<Self, RequestError> {
        let mut works: Vec<Work> = select(&request.figures)?
            .into_iter()
            .map(|entry| Work::read(entry, request.quick, request.seeds))
            .collect::<Result<_, _>>()?;
        let resources = Resources { cache: Some(cache.clone()) };
        load::<Query>(&mut works, &resources)?;
        load::<BoundStudy>(&mut works, &resources)?;
        load::<Simulation>(&mut works, &resources)?;
        load::<ConvergenceStudy>(&mut works, &resources)?;
        load::<TemperingStudy>(&mut works, &resources)?;
        load::<Training>(&mut works, &resources)?;
        Ok(Self { request, works })
    }

    /// The figures.
    pub fn works(&self) -> &[Work] {
        &self.works
    }

    /// What each figure would cost. A cell that several figures share is counted for the first. Cells are
    /// run for a moment to see how fast they are; nothing is written.
    pub fn survey(&self, place: &Place<'_>) -> Result<Vec<Cost>, StoreError> {
        let mut costs = vec![Cost::default(); self.works.len()];
        // A question to the theory cannot be broken off to be timed.
        self.survey_kind::<Query>(place, &mut costs, Some(THEORY_POINT))?;
        self.survey_kind::<BoundStudy>(place, &mut costs, None)?;
        self.survey_kind::<Simulation>(place, &mut costs, None)?;
        self.survey_kind::<ConvergenceStudy>(place, &mut costs, None)?;
        self.survey_kind::<TemperingStudy>(place, &mut costs, None)?;
        self.survey_kind::<Training>(place, &mut costs, None)?;
        Ok(costs)
    }

    /// Computes what is missing, on the current pool of rayon, and judges and draws every figure. `watch`
    /// is asked for a watcher of every kind of cells; `interrupt` is that of [`Store::run`](remanent_store::Store::run).
    pub fn run<W: Watcher>(
        &self,
        place: &Place<'_>,
        watch: impl Fn(&Stage<'_>) -> W,
        interrupt: &AtomicBool,
    ) -> Result<Report, RunError> {
        let start = Instant::now();
        let mut records: Vec<Records> = self.works.iter().map(|_| Records::default()).collect();
        let stages = Stages { works: &self.works, place, watch, interrupt };
        stages.run::<Query>(&mut records)?;
        stages.run::<BoundStudy>(&mut records)?;
        stages.run::<Simulation>(&mut records)?;
        stages.run::<ConvergenceStudy>(&mut records)?;
        stages.run::<TemperingStudy>(&mut records)?;
        stages.run::<Training>(&mut records)?;
        let exhibits =
            self.works.iter().zip(records).map(|(work, records)| exhibit(work, records)).collect();
        Ok(Report {
            title: "Statistical mechanics of continual learning, reproduced".into(),
            quick: self.request.quick,
            version: env!("CARGO_PKG_VERSION").into(),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string()[..10].into(),
            command: self.request.command(),
            wall_seconds: start.elapsed().as_secs_f64(),
            machine: Machine::detect(rayon::current_num_threads()),
            exhibits,
        })
    }
}

impl Reproduction {
    /// Computes a share of what is missing, one kind of cells after another, and says what each came to.
    /// Nothing is judged or drawn.
    pub fn run_share<W: Watcher>(
        &self,
        place: &Place<'_>,
        share: &Share<'_>,
        watch: impl Fn(&Stage<'_>) -> W,
        interrupt: &AtomicBool,
    ) -> Result<Vec<Shared>, RunError> {
        let stages = Stages { works: &self.works, place, watch, interrupt };
        let mut all = Vec::new();
        stages.run_share::<Query>(share, &mut all)?;
        stages.run_share::<BoundStudy>(share, &mut all)?;
        stages.run_share::<Simulation>(share, &mut all)?;
        stages.run_share::<ConvergenceStudy>(share, &mut all)?;
        stages.run_share::<TemperingStudy>(share, &mut all)?;
        stages.run_share::<Training>(share, &mut all)?;
        Ok(all)
    }
}

/// What all run directories of a reproduction have in common.
fn marker() -> Value {
    json!({"reproduce": "arXiv:2212.02846"})
}

impl Reproduction {
    /// Adds what the cells of one kind would cost.
    fn survey_kind<E: Kind>(
        &self,
        place: &Place<'_>,
        costs: &mut [Cost],
        seconds_a_unit: Option<f64>,
    ) -> Result<(), StoreError> {
        let batch = Batch::<E>::new(&self.works);
        let directory = place.directory.join(E::NAME);
        let marker = marker();
        let survey = place.request(&directory, E::NAME, &marker).survey(&batch.cells)?;
        for &owner in &batch.owners {
            costs[owner].cells += 1;
        }
        let mut missing: BTreeMap<usize, Vec<&E::Cell<'_>>> = BTreeMap::new();
        for &i in &survey.missing {
            missing.entry(batch.owners[i]).or_default().push(&batch.cells[i]);
        }
        for (owner, cells) in missing {
            costs[owner].add(&match seconds_a_unit {
                Some(seconds) => Cost { seconds: seconds * work_of(&cells), ..extent(&cells) },
                None => cost_of_missing(&cells),
            });
        }
        Ok(())
    }
}

fn work_of<C: Cell>(cells: &[&C]) -> f64 {
    cells.iter().map(|cell| cell.work() as f64).sum()
}

/// Number and memory of cells without a record.
fn extent<C: Cell>(cells: &[&C]) -> Cost {
    let memory = cells.iter().map(|cell| cell.memory()).max().unwrap_or(0);
    Cost { cells: 0, missing: cells.len(), seconds: 0.0, memory }
}

/// What cells without a record would cost. Some are run for a moment to see how fast they are: cells may
/// be of several learners, so one of either end is timed.
pub(crate) fn cost_of_missing<C: Cell>(cells: &[&C]) -> Cost {
    let ends = [cells.first(), cells.last().filter(|_| cells.len() > 1)];
    let rates = ends.into_iter().flatten().filter_map(|cell| remanent_store::rate(*cell));
    let times: Vec<f64> = rates.map(|rate| work_of(cells) / rate).collect();
    Cost { seconds: times.iter().sum::<f64>() / times.len().max(1) as f64, ..extent(cells) }
}

/// Runs one kind of cells after another.
struct Stages<'a, F> {
    works: &'a [Work],
    place: &'a Place<'a>,
    watch: F,
    interrupt: &'a AtomicBool,
}

impl<W: Watcher, F: Fn(&Stage<'_>) -> W> Stages<'_, F> {
    fn run<E: Kind>(&self, records: &mut [Records]) -> Result<(), RunError> {
        let batch = Batch::<E>::new(self.works);
        let finished = self.with_request(&batch, |request, watcher| {
            request.run(&batch.cells, watcher, self.interrupt)
        })?;
        if let Some(finished) = finished {
            batch.deal(finished.records, &finished.seconds, records);
        }
        Ok(())
    }

    /// Computes a share of the cells of one kind.
    fn run_share<E: Kind>(&self, share: &Share<'_>, all: &mut Vec<Shared>) -> Result<(), RunError> {
        let batch = Batch::<E>::new(self.works);
        all.extend(self.with_request(&batch, |request, watcher| {
            request.run_share(&batch.cells, share, watcher, self.interrupt)
        })?);
        Ok(())
    }

    /// Does something with the run directory of one kind; nothing if it has no cells.
    fn with_request<E: Kind, T>(
        &self,
        batch: &Batch<'_, E>,
        compute: impl FnOnce(&remanent_store::Request<'_>, &W) -> Result<T, RunError>,
    ) -> Result<Option<T>, RunError> {
        if batch.cells.is_empty() {
            return Ok(None);
        }
        self.place.compute(E::NAME, &marker(), &batch.cells, &self.watch, compute).map(Some)
    }
}
