//! Running the cells of an experiment: those which have a record are read,
//! the others are computed, one thread a cell.
//!
//! Each record is on disk as soon as its cell is done. What is returned is
//! what was read back from JSON, also for a cell that was just computed: a run
//! gives the same values whether it was interrupted, continued or repeated.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde_json::Value;
use thiserror::Error;

use crate::amounts;
use crate::batch::{self, Batch};
use crate::cell::{self, Cell, Place, cell_name};
use crate::files::FileError;
use crate::layout::Layout;
use crate::planned;
use crate::sealed::SealError;
use crate::share::{Share, Shared};
use crate::store::{self, Store, StoreError};
use crate::times::{self, Time};

/// Whoever watches a run: a progress bar and a voice. Called from several threads.
pub trait Watcher: Sync {
    /// Work was done, or found done.
    fn advance(&self, units: u64);
    /// Something the user should know.
    fn notice(&self, text: &str);
    /// A cell was not begun anew: it continues from its checkpoint, which was written after so
    /// many seconds of its computation.
    fn continued(&self, _seconds: f64) {}
}

/// A watcher that does not care.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watcher for Silent {
    fn advance(&self, _units: u64) {}
    fn notice(&self, _text: &str) {}
}

/// Why a run has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// It was asked to stop; what is done and what is under way is saved.
    #[error("interrupted: {done} of {total} cells are done; repeat the command to continue")]
    Interrupted {
        /// Cells with a record.
        done: usize,
        /// All cells.
        total: usize,
    },
    /// A cell cannot be computed.
    #[error("{reason}")]
    Failed {
        /// The key of the cell.
        key: Value,
        /// What the cell says.
        reason: String,
    },
    /// The cells are too large for this machine. Nothing was computed.
    #[error(
        "{} of memory are needed for {}, and {} are there; choose a smaller size{}",
        amounts::memory(*needed),
        if *cells == 1 { "one cell".into() } else { format!("{cells} cells at once") },
        amounts::memory(*available),
        if *cells == 1 { "" } else { " or fewer --threads" }
    )]
    Memory {
        /// Bytes of all cells that run at once.
        needed: u64,
        /// The number of these cells.
        cells: usize,
        /// Bytes that the process can have.
        available: u64,
    },
    /// The run directory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished<R> {
    /// One record a cell.
    pub records: Vec<R>,
    /// The seconds that each cell took, if they are known.
    pub seconds: Vec<Option<f64>>,
    /// The part of these that each cell counted as spent on steps.
    pub step_seconds: Vec<Option<f64>>,
    /// Where each cell leaves its model.
    pub models: Vec<PathBuf>,
    /// The run directory.
    pub directory: PathBuf,
    /// Whether nothing can be written there.
    pub is_read_only: bool,
    /// The time this run took, in seconds.
    pub wall_seconds: f64,
}

/// Which run directory is used, and how.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The run directory.
    pub directory: &'a Path,
    /// What its cells are.
    pub kind: &'a str,
    /// What they have in common.
    pub config: &'a Value,
    /// Whether what is there is discarded.
    pub fresh: bool,
    /// Time between checkpoints.
    pub every: Duration,
    /// Whether cells whose models are missing or damaged are computed again.
    pub with_models: bool,
}

impl Request<'_> {
    /// Opens the run directory and runs the cells. If nothing can be written there, the records of a run
    /// that is done are read.
    pub fn run<C: Cell>(
        &self,
        cells: &[C],
        watcher: &dyn Watcher,
        interrupt: &AtomicBool,
    ) -> Result<Finished<C::Record>, RunError> {
        let Self { directory, kind, config, fresh, every, with_models } = *self;
        if !fresh && store::is_read_only(directory) {
            return Ok(Store::recall(directory, kind, config, cells)?);
        }
        let start = Instant::now();
        let store = Store::open(directory, kind, config, fresh)?.checkpoint_every(every);
        let batch = Batch::new(&store, cells, watcher, interrupt, with_models);
        let records = batch.run()?;
        let times = times::read(directory)?;
        batch.settle()?;
        let times: Vec<Option<&Time>> = batch.names.iter().map(|name| times.get(name)).collect();
        Ok(Finished {
            records,
            seconds: times.iter().map(|time| time.map(|time| time.seconds)).collect(),
            step_seconds: times.iter().map(|time| time.and_then(|time| time.steps)).collect(),
            models: batch.models(),
            directory: directory.to_owned(),
            is_read_only: false,
            wall_seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Opens the run directory and computes a share of the cells, and then what is left of the others. If nothing
    /// can be written there, all cells must be done.
    pub fn run_share<C: Cell>(
        &self,
        cells: &[C],
        share: &Share<'_>,
        watcher: &dyn Watcher,
        interrupt: &AtomicBool,
    ) -> Result<Shared, RunError> {
        let Self { directory, kind, config, fresh, every, with_models } = *self;
        if !fresh && store::is_read_only(directory) {
            // Nothing is left to do, or it cannot be done here.
            let done = Store::recall(directory, kind, config, cells)?.records.len();
            return Ok(Shared { found: done, done, total: cells.len(), ..Shared::default() });
        }
        let store = Store::open_as(directory, kind, config, fresh, share.about)?;
        let store = store.checkpoint_every(every);
        let shared = Batch::new(&store, cells, watcher, interrupt, with_models).run_share(share)?;
        if shared.done == shared.total {
            // What cannot be removed now is removed by the next process.
            let _ = store.tidy();
        }
        Ok(shared)
    }

    /// Begins the run and keeps the plan of its cells, with the seconds that each is expected to take.
    /// Nothing is computed.
    pub fn plan<C: Cell>(&self, cells: &[C], seconds: &[f64]) -> Result<(), StoreError> {
        let Self { directory, kind, config, fresh, .. } = *self;
        let store = Store::open(directory, kind, config, fresh)?;
        let mut planned = batch::planned(kind, cells);
        for (cell, &seconds) in planned.iter_mut().zip(seconds) {
            cell.seconds = Some(seconds);
        }
        planned::keep(&store.directory, planned)?;
        Ok(())
    }

    /// What [`run`](Self::run) would find, refusals included, without creating or changing anything, and
    /// whether or not others work in the directory.
    pub fn survey<C: Cell>(&self, cells: &[C]) -> Result<Survey, StoreError> {
        let Self { directory, kind, config, fresh, with_models, .. } = *self;
        let mut survey = Survey { missing: Vec::new(), seconds: vec![None; cells.len()] };
        let usable = store::usable(directory, kind, config, fresh)?;
        let times = times::read(directory)?;
        let layout = Layout::of(directory, cells.len());
        // A million cells are a lawful question.
        let names = batch::names(kind, cells);
        let first = batch::first_of_equals(&names);
        for (i, name) in names.iter().enumerate() {
            let place = || Place::new(&layout, name.clone(), cells[i].key());
            let is_done =
                |place: Place| match cell::look::<C::Record>(&place.record, "record", &place.key) {
                    Err(SealError::File(error)) => Err(error),
                    Ok(Some(_)) => {
                        Ok(!(with_models && cells[i].check_model(&place.model).is_err()))
                    }
                    _ => Ok(false),
                };
            if usable && is_done(place())? {
                survey.seconds[i] = times.get(name).map(|time| time.seconds);
            } else if first[i] == i {
                survey.missing.push(i);
            }
        }
        Ok(survey)
    }
}

/// The most memory that cells need which run at once: the sum of the largest, one a thread, and how
/// many these are.
pub fn memory_at_once<'a, C: Cell + 'a>(cells: impl Iterator<Item = &'a C>) -> (u64, usize) {
    let mut sizes: Vec<u64> = cells.map(Cell::memory).collect();
    sizes.sort_unstable_by_key(|&size| Reverse(size));
    sizes.truncate(rayon::current_num_threads());
    (sizes.iter().fold(0, |sum, &size| sum.saturating_add(size)), sizes.len())
}

/// What a run would find.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// The indices of the cells that would be computed; of equal cells only the first.
    pub missing: Vec<usize>,
    /// For each cell, the seconds that it took, if it is done and they are known.
    pub seconds: Vec<Option<f64>>,
}

impl Store {
    /// The records of the cells, in their order. Cells without a record are computed in parallel
    /// on the current pool of rayon, long ones first. Cells that other processes compute are waited for.
    ///
    /// When `interrupt` becomes true the cells under way save a checkpoint and stop, and no other
    /// is started. The same happens when a cell fails, so that the failure is known at once and
    /// nothing is lost; a failure is reported even if an interrupt came as well.
    pub fn run<C: Cell>(
        &self,
        cells: &[C],
        watcher: &dyn Watcher,
        interrupt: &AtomicBool,
    ) -> Result<Vec<C::Record>, RunError> {
        Batch::new(self, cells, watcher, interrupt, false).run()
    }

    /// Like [`run`](Self::run), and looks at the models as well: a cell whose model is missing, damaged
    /// or that of another cell is computed again. It must come to its record; if it does not, the run
    /// fails, and record and file are kept.
    pub fn run_with_models<C: Cell>(
        &self,
        cells: &[C],
        watcher: &dyn Watcher,
        interrupt: &AtomicBool,
    ) -> Result<Vec<C::Record>, RunError> {
        Batch::new(self, cells, watcher, interrupt, true).run()
    }

    /// Computes a share of the cells, and then what is left of the others.
    pub fn run_share<C: Cell>(
        &self,
        cells: &[C],
        share: &Share<'_>,
        watcher: &dyn Watcher,
        interrupt: &AtomicBool,
    ) -> Result<Shared, RunError> {
        Batch::new(self, cells, watcher, interrupt, false).run_share(share)
    }

    /// The records of a run that is done, without changing anything. A run that is not done is
    /// [`StoreError::ReadOnly`].
    pub fn recall<C: Cell>(
        directory: &Path,
        kind: &str,
        config: &Value,
        cells: &[C],
    ) -> Result<Finished<C::Record>, StoreError> {
        let start = Instant::now();
        let usable = store::usable(directory, kind, config, false)?;
        let times = times::read(directory)?;
        let layout = Layout::of(directory, cells.len());
        let mut found = Finished {
            records: Vec::with_capacity(cells.len()),
            seconds: Vec::new(),
            step_seconds: Vec::new(),
            models: Vec::new(),
            directory: directory.to_owned(),
            is_read_only: true,
            wall_seconds: 0.0,
        };
        for cell in cells {
            let key = cell.key();
            let place = Place::new(&layout, cell_name(kind, &key), key);
            match cell::look(&place.record, "record", &place.key) {
                Err(SealError::File(error)) => return Err(error.into()),
                Ok(Some(record)) if usable => found.records.push(record),
                _ => continue,
            }
            let time = times.get(&place.hash);
            found.seconds.push(time.map(|time| time.seconds));
            found.step_seconds.push(time.and_then(|time| time.steps));
            found.models.push(place.model);
        }
        let (done, total) = (found.records.len(), cells.len());
        if done < total {
            return Err(StoreError::ReadOnly { directory: directory.to_owned(), done, total });
        }
        found.wall_seconds = start.elapsed().as_secs_f64();
        Ok(found)
    }
}
