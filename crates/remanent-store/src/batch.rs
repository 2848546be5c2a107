//! The cells of a run that this process works on: which are done, which it computes, and which others do.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelRefIterator, ParallelBridge, ParallelIterator};
use serde::Serialize;
use serde_json::Value;

use crate::cell::{self, Cell, Context, Entry, MODELS, ModelFault, Place, Stopped, cell_name};
use crate::claim::{self, Claims, Taken};
use crate::failure::{self, Failure};
use crate::files::{self, FileError};
use crate::layout::Layout;
use crate::memory;
use crate::planned::{self, PlannedCell};
use crate::run::{RunError, Watcher, memory_at_once};
use crate::sealed;
use crate::store::Store;
use crate::worker::stale_after;

/// A record that took longer is flushed to the disk. One that is lost with the machine's power is noticed
/// by its seal and computed again.
const WORTH_A_FLUSH: f64 = 0.1;

/// Cells and all that is needed to run them.
pub(crate) struct Batch<'a, C: Cell> {
    pub(crate) store: &'a Store,
    pub(crate) cells: &'a [C],
    pub(crate) names: Vec<String>,
    /// For each cell the first one that is the same.
    pub(crate) first: Vec<usize>,
    pub(crate) watcher: &'a dyn Watcher,
    pub(crate) interrupt: &'a AtomicBool,
    pub(crate) claims: Claims<'a>,
    pub(crate) with_models: bool,
    /// Set when the cells under way have to stop because of another one.
    halt: AtomicBool,
    layout: Layout,
}

/// What came of an attempt to compute a cell.
pub(crate) enum Attempt<R> {
    /// It is done, by this process or by another one in the meantime.
    Done { record: R, is_computed: bool },
    /// Another process has it.
    Elsewhere,
    /// It has no record.
    Stopped(Stopped),
}

/// What is known of a cell without computing it.
pub(crate) enum Known<R> {
    Record(R),
    /// There is a record, and the model is to be made again; it must come to this.
    WithoutModel(Value),
    Nothing,
}

impl<'a, C: Cell> Batch<'a, C> {
    pub(crate) fn new(
        store: &'a Store,
        cells: &'a [C],
        watcher: &'a dyn Watcher,
        interrupt: &'a AtomicBool,
        with_models: bool,
    ) -> Self {
        let names = names(&store.kind, cells);
        let first = first_of_equals(&names);
        let claims = Claims::new(&store.directory, &store.worker);
        let layout = Layout::of(&store.directory, cells.len());
        let halt = AtomicBool::new(false);
        Self { store, cells, names, first, watcher, interrupt, claims, with_models, halt, layout }
    }

    /// Where the cells leave their models.
    pub(crate) fn models(&self) -> Vec<PathBuf> {
        self.names.iter().map(|name| self.layout.path(MODELS, name, ".safetensors")).collect()
    }

    pub(crate) fn place(&self, i: usize) -> Place {
        Place::new(&self.layout, self.names[i].clone(), self.cells[i].key())
    }

    /// Says what the user should know, keeps the plan, and makes folders.
    pub(crate) fn prepare(&self) -> Result<Vec<PlannedCell>, FileError> {
        self.store.take_notices().iter().for_each(|text| self.watcher.notice(text));
        self.layout.create_folders()?;
        planned::keep(&self.store.directory, planned_of(&self.names, self.cells))
    }

    /// Looks for the record of a cell. Damaged files are moved aside.
    pub(crate) fn known(&self, i: usize) -> Result<Known<C::Record>, FileError> {
        let place = self.place(i);
        let found: Option<C::Record> =
            cell::recall(&place.record, "record", &place.key, self.watcher)?;
        let Some(record) = found else { return Ok(Known::Nothing) };
        if self.with_models && lacks_model(&self.cells[i], &place, self.watcher)? {
            return Ok(Known::WithoutModel(as_json(&record).unwrap_or_default()));
        }
        // A checkpoint is left if the program was killed after it wrote the record.
        place.clear()?;
        Ok(Known::Record(record))
    }

    /// Refuses cells that do not fit into memory.
    pub(crate) fn check_memory(&self, missing: &[usize]) -> Result<(), RunError> {
        let (needed, cells) = memory_at_once(missing.iter().map(|&i| &self.cells[i]));
        match memory::available().filter(|&available| needed > available) {
            Some(available) => Err(RunError::Memory { needed, cells, available }),
            None => Ok(()),
        }
    }

    /// The records of all cells, in their order.
    pub(crate) fn run(&self) -> Result<Vec<C::Record>, RunError> {
        self.prepare()?;
        let mut records: Vec<Option<C::Record>> = Vec::with_capacity(self.cells.len());
        let mut recorded: BTreeMap<usize, Value> = BTreeMap::new();
        for i in 0..self.cells.len() {
            let known = if self.first[i] == i { self.known(i)? } else { Known::Nothing };
            records.push(match known {
                Known::Record(record) => {
                    self.watcher.advance(self.cells[i].work());
                    Some(record)
                }
                Known::WithoutModel(value) => {
                    recorded.insert(i, value);
                    None
                }
                Known::Nothing => None,
            });
        }
        let missing = |i: &usize| self.first[*i] == *i && records[*i].is_none();
        let mut missing: Vec<usize> = (0..self.cells.len()).filter(missing).collect();
        self.check_memory(&missing)?;
        // A long cell that is started last leaves all other threads idle.
        missing.sort_by_key(|&i| Reverse(self.cells[i].work()));
        let mut pause = Pause::default();
        while !missing.is_empty() {
            let outcomes = self.attempt_all(&missing, &recorded, |outcome| {
                matches!(outcome, Attempt::Stopped(Stopped::Failed(_) | Stopped::Io(_)))
            });
            let before = missing.len();
            missing = self.sort_out(outcomes, &mut records)?;
            if self.interrupt.load(Ordering::Relaxed) {
                break;
            }
            if missing.len() < before {
                pause.restart();
            }
            if !missing.is_empty() {
                pause.wait(self.watcher, self.interrupt, || {
                    let cells = counted(missing.len(), "cell", "cells");
                    format!("waiting for {cells} under way in other processes")
                });
            }
        }
        self.complete(records)
    }

    /// Records of cells that are done, and the cells that others have. A failure ends the run.
    fn sort_out(
        &self,
        outcomes: Vec<(usize, Attempt<C::Record>)>,
        records: &mut [Option<C::Record>],
    ) -> Result<Vec<usize>, RunError> {
        let mut elsewhere = Vec::new();
        for (i, outcome) in outcomes {
            match outcome {
                Attempt::Done { record, .. } => records[i] = Some(record),
                Attempt::Elsewhere => elsewhere.push(i),
                Attempt::Stopped(Stopped::Interrupted) => {}
                Attempt::Stopped(Stopped::Failed(reason)) => {
                    self.keep_failure(i, &reason)?;
                    return Err(RunError::Failed { key: self.cells[i].key(), reason });
                }
                Attempt::Stopped(Stopped::Io(error)) => return Err(error.into()),
            }
        }
        elsewhere.sort_by_key(|&i| Reverse(self.cells[i].work()));
        Ok(elsewhere)
    }

    /// Gives equal cells the same record, and clears what is no longer needed if all are done.
    fn complete(&self, mut records: Vec<Option<C::Record>>) -> Result<Vec<C::Record>, RunError> {
        let done = self.first.iter().filter(|&&i| records[i].is_some()).count();
        let interrupted = RunError::Interrupted { done, total: self.cells.len() };
        for i in (0..self.cells.len()).filter(|&i| self.first[i] != i) {
            // A record need not be `Clone`; the file can be read twice.
            if records[self.first[i]].is_some() {
                let place = self.place(i);
                records[i] = cell::recall(&place.record, "record", &place.key, self.watcher)?;
                self.watcher.advance(self.cells[i].work());
            }
        }
        let records = records.into_iter().collect::<Option<_>>().ok_or(interrupted)?;
        self.clear()?;
        Ok(records)
    }

    /// All cells are done: claims and heartbeats of dead processes are of no use, nor are failures.
    fn clear(&self) -> Result<(), FileError> {
        let directory = &self.store.directory;
        let done: HashSet<&str> = self.names.iter().map(String::as_str).collect();
        claim::remove(directory, |cell| done.contains(cell))?;
        for failure in failure::read(directory)? {
            if done.contains(failure.cell.as_str()) {
                failure::forget(directory, &failure.cell)?;
            }
        }
        self.claims.bury()?;
        Ok(())
    }

    /// The run is done. Waits until it is known of all other processes whether they are alive, and removes what
    /// the dead have left, unless others go on with more cells in the directory.
    pub(crate) fn settle(&self) -> Result<(), FileError> {
        let directory = &self.store.directory;
        let mut pause = Pause::default();
        loop {
            let unknown = self.claims.bury()?;
            if !claim::names(directory)?.is_empty() || self.interrupt.load(Ordering::Relaxed) {
                return Ok(());
            }
            if unknown == 0 {
                // What cannot be removed now is removed by the next process.
                let _ = self.store.tidy();
                return Ok(());
            }
            pause.wait(self.watcher, self.interrupt, || {
                let processes = counted(unknown, "process", "processes");
                let most = stale_after().as_secs_f64().ceil();
                format!("all cells are done; waiting at most {most} s to see whether {processes} of another machine died")
            });
        }
    }

    pub(crate) fn keep_failure(&self, i: usize, reason: &str) -> Result<(), FileError> {
        let (cell, key) = (self.names[i].clone(), self.cells[i].key());
        let (reason, worker) = (reason.to_owned(), self.store.worker.id.clone());
        failure::keep(&self.store.directory, &Failure { cell, key, reason, worker })
    }

    /// Attempts cells in their order, on all threads; `stops` says after which outcome the others stop.
    pub(crate) fn attempt_all(
        &self,
        cells: &[usize],
        recorded: &BTreeMap<usize, Value>,
        stops: impl Fn(&Attempt<C::Record>) -> bool + Sync,
    ) -> Vec<(usize, Attempt<C::Record>)> {
        let attempt = |&i: &usize| {
            let outcome = self.attempt(i, recorded.get(&i));
            if stops(&outcome) {
                self.halt.store(true, Ordering::Relaxed);
            }
            (i, outcome)
        };
        // A bridge hands out the cells one by one and in order; a split into halves would not.
        let mut outcomes: Vec<_> = cells.iter().par_bridge().map(attempt).collect();
        outcomes.sort_by_key(|&(i, _)| i);
        outcomes
    }

    /// Computes a cell unless another process does.
    fn attempt(&self, i: usize, recorded: Option<&Value>) -> Attempt<C::Record> {
        if self.interrupt.load(Ordering::Relaxed) || self.halt.load(Ordering::Relaxed) {
            return Attempt::Stopped(Stopped::Interrupted);
        }
        let name = &self.names[i];
        let number = match self.claims.take(name) {
            Ok(Taken::Ours(number)) => number,
            Ok(Taken::Theirs) => return Attempt::Elsewhere,
            Err(error) => return Attempt::Stopped(error.into()),
        };
        let outcome = self.compute_claimed(i, recorded);
        let released = match &outcome {
            Ok(_) => self.claims.finish(name, number),
            Err(_) => self.claims.give_up(name, number),
        };
        match (outcome, released) {
            (Ok((record, is_computed)), Ok(())) => Attempt::Done { record, is_computed },
            (Err(stopped), _) => Attempt::Stopped(stopped),
            (Ok(_), Err(error)) => Attempt::Stopped(error.into()),
        }
    }

    /// The record of a cell that this process has claimed, and whether it was computed.
    fn compute_claimed(
        &self,
        i: usize,
        recorded: Option<&Value>,
    ) -> Result<(C::Record, bool), Stopped> {
        let (cell, place) = (&self.cells[i], self.place(i));
        // Another process may have done it before it was claimed.
        let found = cell::recall(&place.record, "record", &place.key, self.watcher)?;
        if let Some(record) = found
            && (recorded.is_none() || cell.check_model(&place.model).is_ok())
        {
            self.watcher.advance(cell.work());
            return Ok((record, false));
        }
        let worker = &self.store.worker;
        let progress = worker.begin(&place.hash, cell.work());
        let (interrupt, every) = (self.interrupt, self.store.every);
        let context = Context::new(Some(&place), self.watcher, interrupt, &self.halt, every);
        let record = self.compute(cell, &place, context.told(&progress), recorded);
        worker.end(&place.hash);
        record.map(|record| (record, true))
    }

    fn compute(
        &self,
        cell: &C,
        place: &Place,
        mut context: Context<'_>,
        recorded: Option<&Value>,
    ) -> Result<C::Record, Stopped> {
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
        let (seconds, entry) = (context.seconds(), Entry { key: &place.key, value: &record });
        let is_ours = sealed::create(&place.record, "record", &entry, seconds > WORTH_A_FLUSH)?;
        place.clear()?;
        if is_ours {
            self.store.times.append(&place.hash, seconds, context.step_seconds())?;
            return Ok(record);
        }
        // A process that took this one for dead was faster; its record is the one that counts.
        let kept = cell::recall(&place.record, "record", &place.key, self.watcher)?;
        Ok(kept.unwrap_or(record))
    }
}

/// Waits for others, a little longer each time.
#[derive(Default)]
pub(crate) struct Pause {
    length: Duration,
    is_told: bool,
}

impl Pause {
    /// One that is not told to the user.
    pub(crate) fn silent() -> Self {
        Self { is_told: true, ..Self::default() }
    }

    /// Something has happened: the next pause is short.
    pub(crate) fn restart(&mut self) {
        self.length = Duration::ZERO;
    }

    /// A pause that is long is told to the user in these words.
    pub(crate) fn wait(
        &mut self,
        watcher: &dyn Watcher,
        interrupt: &AtomicBool,
        words: impl FnOnce() -> String,
    ) {
        const SHORTEST: Duration = Duration::from_millis(20);
        let longest = (stale_after() / 10).clamp(SHORTEST, Duration::from_secs(2));
        if self.length >= Duration::from_millis(500).min(longest) && !self.is_told {
            watcher.notice(&words());
            self.is_told = true;
        }
        self.length = (self.length * 2).clamp(SHORTEST, longest);
        let end = Instant::now() + self.length;
        while Instant::now() < end && !interrupt.load(Ordering::Relaxed) {
            std::thread::sleep(SHORTEST.min(end.saturating_duration_since(Instant::now())));
        }
    }
}

fn counted(number: usize, one: &str, more: &str) -> String {
    if number == 1 { format!("one {one}") } else { format!("{number} {more}") }
}

/// The names of cells.
pub(crate) fn names<C: Cell>(kind: &str, cells: &[C]) -> Vec<String> {
    cells.par_iter().map(|cell| cell_name(kind, &cell.key())).collect()
}

/// The plan of cells whose times are not known.
pub(crate) fn planned<C: Cell>(kind: &str, cells: &[C]) -> Vec<PlannedCell> {
    planned_of(&names(kind, cells), cells)
}

fn planned_of<C: Cell>(names: &[String], cells: &[C]) -> Vec<PlannedCell> {
    let plan = |(name, cell): (&String, &C)| PlannedCell {
        cell: name.clone(),
        work: cell.work(),
        seconds: None,
    };
    names.iter().zip(cells).map(plan).collect()
}

/// For each name the index of the first one that is the same.
pub(crate) fn first_of_equals(names: &[String]) -> Vec<usize> {
    let mut seen = HashMap::new();
    names.iter().enumerate().map(|(i, name)| *seen.entry(name).or_insert(i)).collect()
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
