//! Running the cells of an experiment: those which have a record are read,
//! the others are computed, one thread a cell.
//!
//! Each record is on disk as soon as its cell is done. What is returned is
//! what was read back from JSON, also for a cell that was just computed: a run
//! gives the same values whether it was interrupted, continued or repeated.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelRefIterator, ParallelBridge, ParallelIterator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::cell::{self, Cell, Context, Entry, ModelFault, Place, Stopped};
use crate::files::{self, FileError};
use crate::sealed::{self, SealError};
use crate::store::{self, Store, StoreError};
use crate::times;
use crate::{amounts, memory};

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
        let records = store.run_all(cells, watcher, interrupt, with_models)?;
        Ok(Finished {
            records,
            seconds: cells.iter().map(|cell| store.seconds(cell)).collect(),
            step_seconds: cells.iter().map(|cell| store.step_seconds(cell)).collect(),
            models: cells.iter().map(|cell| store.model(cell)).collect(),
            directory: directory.to_owned(),
            is_read_only: false,
            wall_seconds: start.elapsed().as_secs_f64(),
        })
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
    /// on the current pool of rayon, long ones first.
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
        self.run_all(cells, watcher, interrupt, false)
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
        self.run_all(cells, watcher, interrupt, true)
    }

    fn run_all<C: Cell>(
        &self,
        cells: &[C],
        watcher: &dyn Watcher,
        interrupt: &AtomicBool,
        with_models: bool,
    ) -> Result<Vec<C::Record>, RunError> {
        self.take_notices().iter().for_each(|text| watcher.notice(text));
        let places: Vec<Place> = cells.iter().map(|cell| self.place(cell)).collect();
        let first = first_of_equals(&places);
        let mut records: Vec<Option<C::Record>> = Vec::with_capacity(cells.len());
        // What cells must come to that are computed again for their models.
        let mut recorded: BTreeMap<usize, Value> = BTreeMap::new();
        for (i, place) in places.iter().enumerate() {
            let mut found: Option<C::Record> =
                if first[i] == i { recall(place, watcher)? } else { None };
            if with_models
                && let Some(record) = &found
                && lacks_model(&cells[i], place, watcher)?
            {
                recorded.insert(i, as_json(record).unwrap_or_default());
                found = None;
            }
            if found.is_some() {
                watcher.advance(cells[i].work());
                // A checkpoint is left if the program was killed after it wrote the record.
                place.clear()?;
            }
            records.push(found);
        }

        let mut missing: Vec<usize> =
            (0..cells.len()).filter(|&i| first[i] == i && records[i].is_none()).collect();
        let (needed, at_once) = memory_at_once(missing.iter().map(|&i| &cells[i]));
        if let Some(available) = memory::available().filter(|&available| needed > available) {
            return Err(RunError::Memory { needed, cells: at_once, available });
        }
        // A long cell that is started last leaves all other threads idle.
        missing.sort_by_key(|&i| Reverse(cells[i].work()));
        let halt = AtomicBool::new(false);
        let compute = |i: usize| {
            let context = Context::new(Some(&places[i]), watcher, interrupt, &halt, self.every);
            let outcome = self.compute(&cells[i], &places[i], context, recorded.get(&i));
            if matches!(outcome, Err(Stopped::Failed(_) | Stopped::Io(_))) {
                halt.store(true, Ordering::Relaxed);
            }
            (i, outcome)
        };
        // A bridge hands out the cells one by one and in order; a split into halves would not.
        let mut outcomes: Vec<_> = missing.into_iter().par_bridge().map(compute).collect();
        outcomes.sort_by_key(|&(i, _)| i);

        for (i, outcome) in outcomes {
            match outcome {
                Ok(record) => records[i] = Some(record),
                Err(Stopped::Interrupted) => {}
                Err(Stopped::Failed(reason)) => {
                    return Err(RunError::Failed { key: places[i].key.clone(), reason });
                }
                Err(Stopped::Io(error)) => return Err(error.into()),
            }
        }
        let done = first.iter().filter(|&&i| records[i].is_some()).count();
        let interrupted = RunError::Interrupted { done, total: cells.len() };
        for i in (0..cells.len()).filter(|&i| first[i] != i) {
            // A record need not be `Clone`; the file can be read twice.
            if records[first[i]].is_some() {
                records[i] = recall(&places[i], watcher)?;
                watcher.advance(cells[i].work());
            }
        }
        records.into_iter().collect::<Option<_>>().ok_or(interrupted)
    }

    fn compute<C: Cell>(
        &self,
        cell: &C,
        place: &Place,
        mut context: Context<'_>,
        recorded: Option<&Value>,
    ) -> Result<C::Record, Stopped> {
        if context.interrupted() {
            return Err(Stopped::Interrupted);
        }
        let record = cell.run(&mut context)?;
        // JSON has no NaN. A record that could be written and never read again would be computed
        // at every run.
        let record = serde_json::to_vec(&record)
            .and_then(|json| serde_json::from_slice(&json))
            .map_err(|error| {
                Stopped::Failed(format!(
                    "its record cannot be read back from JSON ({error}); is a number not finite?"
                ))
            })?;
        if let Some(recorded) = recorded {
            place.clear()?;
            if as_json(&record).as_ref() == Some(recorded) {
                return Ok(record);
            }
            let aside = files::set_aside(&place.model)?;
            return Err(Stopped::Failed(format!(
                "{} was made again and does not belong to its record: the same cell came to other \
                 numbers, as it does on another instruction set; the record is kept, the model is {}; \
                 remanent inspect shows the records; --fresh computes everything again",
                place.model.display(),
                aside.display()
            )));
        }
        sealed::write(&place.record, "record", &Entry { key: &place.key, value: &record })?;
        place.clear()?;
        self.times.append(&place.hash, context.seconds(), context.step_seconds())?;
        Ok(record)
    }

    /// The records of a run that is done, without a lock and without changing anything. A run that is
    /// not done is [`StoreError::ReadOnly`].
    pub fn recall<C: Cell>(
        directory: &Path,
        kind: &str,
        config: &Value,
        cells: &[C],
    ) -> Result<Finished<C::Record>, StoreError> {
        let start = Instant::now();
        let usable = store::usable(directory, kind, config, false)?;
        let times = times::read(&directory.join(store::TIMES))?;
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
            let place = Place::new(directory, kind, cell.key());
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

    /// What [`open`](Self::open) and [`run`](Self::run) would find, refusals included, without
    /// creating or changing anything, and whether or not the directory is in use.
    pub fn survey<C: Cell>(
        directory: &Path,
        kind: &str,
        config: &Value,
        fresh: bool,
        cells: &[C],
    ) -> Result<Survey, StoreError> {
        Self::survey_all(directory, kind, config, fresh, cells, false)
    }

    /// Like [`survey`](Self::survey), of what [`run_with_models`](Self::run_with_models) would find.
    pub fn survey_with_models<C: Cell>(
        directory: &Path,
        kind: &str,
        config: &Value,
        fresh: bool,
        cells: &[C],
    ) -> Result<Survey, StoreError> {
        Self::survey_all(directory, kind, config, fresh, cells, true)
    }

    fn survey_all<C: Cell>(
        directory: &Path,
        kind: &str,
        config: &Value,
        fresh: bool,
        cells: &[C],
        with_models: bool,
    ) -> Result<Survey, StoreError> {
        let mut survey = Survey { missing: Vec::new(), seconds: vec![None; cells.len()] };
        let usable = store::usable(directory, kind, config, fresh)?;
        let times = times::read(&directory.join(store::TIMES))?;
        // A million cells are a lawful question.
        let places: Vec<Place> =
            cells.par_iter().map(|cell| Place::new(directory, kind, cell.key())).collect();
        let first = first_of_equals(&places);
        for (i, place) in places.iter().enumerate() {
            let look = || cell::look::<C::Record>(&place.record, "record", &place.key);
            let found = match usable.then(look) {
                Some(Err(SealError::File(error))) => return Err(error.into()),
                found => matches!(found, Some(Ok(Some(_)))),
            };
            let found = found && !(with_models && cells[i].check_model(&place.model).is_err());
            if found {
                survey.seconds[i] = times.get(&place.hash).map(|time| time.seconds);
            } else if first[i] == i {
                survey.missing.push(i);
            }
        }
        Ok(survey)
    }
}

fn recall<T: DeserializeOwned>(
    place: &Place,
    watcher: &dyn Watcher,
) -> Result<Option<T>, FileError> {
    cell::recall(&place.record, "record", &place.key, watcher)
}

fn as_json<T: Serialize>(record: &T) -> Option<Value> {
    serde_json::to_value(record).ok()
}

/// Whether a cell that has a record has no model that can be used. One of another cell, or a damaged
/// one, is moved aside with a message.
fn lacks_model<C: Cell>(cell: &C, place: &Place, watcher: &dyn Watcher) -> Result<bool, FileError> {
    let aside = match cell.check_model(&place.model) {
        Ok(()) => return Ok(false),
        Err(ModelFault::File(error)) => return Err(error),
        Err(error @ ModelFault::Missing(_)) => error.to_string(),
        Err(error @ ModelFault::Unusable { .. }) => {
            let aside = files::set_aside(&place.model)?;
            let aside = aside.file_name().unwrap_or_default().display();
            format!("{error}; it is kept as {aside}")
        }
    };
    watcher.notice(&format!("{aside}; the model is made again"));
    Ok(true)
}

/// For each place the index of the first one that is the same.
fn first_of_equals(places: &[Place]) -> Vec<usize> {
    let mut seen = HashMap::new();
    places.iter().enumerate().map(|(i, place)| *seen.entry(&place.hash).or_insert(i)).collect()
}
