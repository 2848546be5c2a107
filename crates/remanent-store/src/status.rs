//! How far a run is, for whoever only looks: nothing is locked and nothing is changed.
//!
//! ```
//! # use remanent_store::status::Status;
//! # use remanent_store::Observer;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! # remanent_store::Store::open(directory, "toy", &serde_json::json!({}), false)?;
//! // Whoever looks again and again keeps the observer: it sees which workers are alive.
//! let mut observer = Observer::of(directory);
//! let status = Status::read(directory, &mut observer)?;
//! println!("{} of {} cells are done", status.done.len(), status.total());
//! # Ok(())
//! # }
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cell::CHECKPOINTS;
use crate::claim;
use crate::failure::{self, Failure};
use crate::layout;
use crate::planned;
use crate::sealed::{self, SealError};
use crate::store::{MARKER, Marker};
use crate::times;
use crate::worker::{self, Heartbeat, Life, Observer, UnderWay};

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A process works on it.
    Running,
    /// All cells that were asked for have records.
    Done,
    /// Cells are missing, and nobody works on them.
    Stopped,
}

impl State {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Stopped => "stopped",
        }
    }
}

/// How far a run is.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The run directory.
    pub directory: PathBuf,
    /// What is run: `train`, `simulate`.
    pub kind: String,
    /// Names of the cells with a record, sorted.
    pub done: Vec<String>,
    /// Cells that a worker has.
    pub under_way: Vec<Held>,
    /// Names of the cells that nobody has begun, sorted.
    pub waiting: Vec<String>,
    /// Cells that cannot be computed.
    pub failed: Vec<Failure>,
    /// The processes that work in the directory, or did until they were killed.
    pub workers: Vec<WorkerStatus>,
    /// Seconds on one thread until all is done, if cells have been timed.
    pub seconds_left: Option<f64>,
    /// Whether cells are saved that have no record.
    #[serde(skip)]
    has_checkpoints: bool,
}

/// A cell that a worker has.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// The cell, and how far it is; not known in the first seconds.
    #[serde(flatten)]
    pub progress: UnderWay,
    /// The worker.
    pub worker: String,
    /// The name of its machine.
    pub host: String,
    /// What the worker says about itself.
    pub about: String,
    /// Whether the worker is alive. If it is dead, the cell will be taken by another one.
    pub life: Life,
    /// Seconds until it is done, if they are known.
    pub seconds_left: Option<f64>,
}

/// A process that works in the directory.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerStatus {
    /// Its name.
    pub id: String,
    /// The name of its machine.
    pub host: String,
    /// The number of the process.
    pub process: u32,
    /// What it says about itself.
    pub about: String,
    /// For how long it has been at work, in seconds.
    pub seconds: f64,
    /// Whether it is alive.
    pub life: Life,
    /// Whether its heartbeat was written not long ago by the clocks, which may differ.
    #[serde(skip)]
    is_recent: bool,
}

impl WorkerStatus {
    /// Whether it seems to be at work: it is alive, or it has not been watched for long and its heartbeat is recent.
    fn is_at_work(&self) -> bool {
        match self.life {
            Life::Alive => true,
            Life::Unknown => self.is_recent,
            Life::Dead => false,
        }
    }
}

impl Status {
    /// Looks at a run directory.
    pub fn read(directory: &Path, observer: &mut Observer) -> Result<Self, SealError> {
        let marker = sealed::read::<Marker>(&directory.join(MARKER), "experiment")?;
        Self::of(directory, marker.kind, observer)
    }

    /// The same for a run whose kind is known.
    pub fn of(directory: &Path, kind: String, observer: &mut Observer) -> Result<Self, SealError> {
        let heartbeats: HashMap<String, Heartbeat> =
            worker::heartbeats(directory)?.into_iter().collect();
        let mut claimed: BTreeMap<String, String> =
            claim::claimed(directory)?.into_iter().collect();
        let mut failed = failure::read(directory)?;
        let plan = planned::read(directory)?;
        // Last: what was done while this was read is done.
        let recorded = layout::recorded(directory)?;
        claimed.retain(|cell, _| !recorded.contains(cell));
        failed.retain(|failure| !recorded.contains(&failure.cell));
        let failures: HashSet<&str> = failed.iter().map(|failure| failure.cell.as_str()).collect();

        let mut under_way = Vec::new();
        for (cell, id) in &claimed {
            let work = plan.get(cell).map_or(0, |cell| cell.work);
            under_way.push(held(cell, id, heartbeats.get(id), work, observer.life(id)));
        }
        let is_waiting = |cell: &&String| {
            !recorded.contains(*cell)
                && !claimed.contains_key(*cell)
                && !failures.contains(cell.as_str())
        };
        let waiting = plan.keys().filter(is_waiting).cloned().collect();
        let mut done: Vec<String> = recorded.into_iter().collect();
        done.sort();
        let mut status = Self {
            directory: directory.to_owned(),
            kind,
            done,
            under_way,
            waiting,
            failed,
            workers: workers(directory, &heartbeats, observer),
            seconds_left: None,
            has_checkpoints: false,
        };
        status.has_checkpoints = status.saved()? > 0;
        status.seconds_left = status.estimate(&plan)?;
        Ok(status)
    }

    /// How the run stands.
    pub fn state(&self) -> State {
        let is_whole = self.is_over() && self.failed.is_empty() && !self.has_checkpoints;
        if self.workers.iter().any(WorkerStatus::is_at_work) {
            State::Running
        } else if is_whole && !self.done.is_empty() {
            State::Done
        } else {
            State::Stopped
        }
    }

    /// Checkpoints of cells without a record. Runs of earlier versions have no plan that lists such cells.
    fn saved(&self) -> Result<usize, SealError> {
        let files = layout::list(&self.directory.join(CHECKPOINTS), &[".json", ".safetensors"])?;
        let is_done = |path: &PathBuf| {
            let name = path.file_stem().and_then(|stem| stem.to_str());
            name.is_some_and(|name| {
                self.done.binary_search_by(|done| done.as_str().cmp(name)).is_ok()
            })
        };
        Ok(files.iter().filter(|path| !is_done(path)).count())
    }

    /// All cells.
    pub fn total(&self) -> usize {
        self.done.len() + self.under_way.len() + self.waiting.len() + self.failed.len()
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.under_way.is_empty() && self.waiting.is_empty()
    }

    /// What is left in the units of work, at the speed of the cells that are done.
    fn estimate(
        &self,
        plan: &BTreeMap<String, planned::PlannedCell>,
    ) -> Result<Option<f64>, SealError> {
        if self.is_over() {
            return Ok(Some(0.0));
        }
        let times = times::read(&self.directory)?;
        let (mut seconds, mut work) = (0.0, 0.0);
        for cell in &self.done {
            if let (Some(time), Some(planned)) = (times.get(cell), plan.get(cell)) {
                seconds += time.seconds;
                work += planned.work as f64;
            }
        }
        let speed = (work > 0.0).then(|| seconds / work);
        let of_waiting = |cell: &String| {
            let planned = plan.get(cell)?;
            speed.map(|speed| speed * planned.work as f64).or(planned.seconds)
        };
        let of_held = |held: &Held| {
            held.seconds_left.or_else(|| {
                let left = held.progress.work.saturating_sub(held.progress.done);
                speed.map(|speed| speed * left as f64)
            })
        };
        let waiting: Option<f64> = self.waiting.iter().map(of_waiting).sum();
        let held: Option<f64> = self.under_way.iter().map(of_held).sum();
        Ok(waiting.zip(held).map(|(a, b)| a + b))
    }
}

fn held(cell: &str, id: &str, heartbeat: Option<&Heartbeat>, work: u64, life: Life) -> Held {
    let known = heartbeat.and_then(|h| h.cells.iter().find(|under_way| under_way.cell == cell));
    let unknown = UnderWay { cell: cell.to_owned(), seconds: 0.0, done: 0, found: 0, work };
    let progress = known.cloned().unwrap_or(unknown);
    Held {
        seconds_left: progress.seconds_left(),
        progress,
        worker: id.to_owned(),
        host: heartbeat.map_or("unknown", |h| &h.host).to_owned(),
        about: heartbeat.map_or("", |h| &h.about).to_owned(),
        life,
    }
}

fn workers(
    directory: &Path,
    heartbeats: &HashMap<String, Heartbeat>,
    observer: &mut Observer,
) -> Vec<WorkerStatus> {
    let is_recent = |id: &str| {
        let changed = fs::metadata(worker::path(directory, id)).and_then(|found| found.modified());
        // A heartbeat of the future is one of a clock that is ahead.
        changed
            .is_ok_and(|changed| changed.elapsed().map_or(true, |age| age < worker::stale_after()))
    };
    let worker = |(id, heartbeat): (&String, &Heartbeat)| WorkerStatus {
        id: id.clone(),
        host: heartbeat.host.clone(),
        process: heartbeat.process,
        about: heartbeat.about.clone(),
        seconds: heartbeat.seconds,
        life: observer.life(id),
        is_recent: is_recent(id),
    };
    let mut workers: Vec<WorkerStatus> = heartbeats.iter().map(worker).collect();
    workers.sort_by(|a, b| a.id.cmp(&b.id));
    workers
}
