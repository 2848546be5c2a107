//! A cell: the piece of an experiment that is computed alone, and what it may
//! ask of its surroundings while it runs.
//!
//! A cell depends on its key and on nothing else: not on the thread, the
//! order, the other cells, or on how often it was interrupted. The hash of the
//! key names its record, so that a record is found again by whoever asks for
//! the same thing.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use crate::files::{self, FileError};
use crate::layout::Layout;
use crate::run::{Silent, Watcher};
use crate::sealed::{self, SealError};
use crate::worker::Progress;

/// How often a cell under way is saved unless the store is told otherwise: seldom enough to cost
/// nothing, and often enough that losing it does not hurt.
pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(10);

pub(crate) const RECORDS: &str = "records";
pub(crate) const CHECKPOINTS: &str = "checkpoints";
pub(crate) const MODELS: &str = "models";

/// A piece of work which is named by its parameters.
pub trait Cell: Sync {
    /// What is kept of it. All of it must survive being written as JSON: a number that may be NaN
    /// or infinite is an `Option`.
    type Record: Serialize + DeserializeOwned + Send;

    /// Parameters and seed: everything the record depends on. Its hash names the record.
    fn key(&self) -> Value;

    /// Size of the work in units of [`Context::advance`], for the progress bar.
    fn work(&self) -> u64;

    /// About how many bytes it needs while it runs.
    fn memory(&self) -> u64 {
        1 << 20
    }

    /// Fails unless the model of this cell is at `path`; does not fail if the cell leaves none.
    fn check_model(&self, _path: &Path) -> Result<(), ModelFault> {
        Ok(())
    }

    /// Computes the record. A long cell starts from [`Context::load`] and, every few steps, does
    /// `if context.due() { context.save(&state)?; }`.
    fn run(&self, context: &mut Context<'_>) -> Result<Self::Record, Stopped>;
}

/// Why the model that a cell should have left cannot be used.
#[derive(Debug, Error)]
pub enum ModelFault {
    /// There is no such file.
    #[error("there is no file {}", .0.display())]
    Missing(PathBuf),
    /// Damaged, or the model of another cell.
    #[error("{} cannot be used: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Why a cell has no record.
#[derive(Debug, Error)]
pub enum Stopped {
    /// It was asked to stop, and continues from its checkpoint.
    #[error("interrupted")]
    Interrupted,
    /// It cannot be computed, for the reason given.
    #[error("{0}")]
    Failed(String),
    /// Something could not be written or read.
    #[error(transparent)]
    Io(#[from] FileError),
}

impl Stopped {
    /// For `map_err`: the cell cannot be computed because of this error.
    pub fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What a running cell may ask for.
pub struct Context<'a> {
    place: Option<&'a Place>,
    watcher: &'a dyn Watcher,
    interrupt: &'a AtomicBool,
    /// Set by the run when another cell has failed.
    halt: &'a AtomicBool,
    every: Duration,
    /// Processor time of the thread, which other programs on the machine do not lengthen.
    started: Duration,
    saved: Instant,
    /// Processor seconds used before the checkpoint from which this run continues.
    seconds_before: f64,
    /// Seconds of these that the cell counts as steps.
    step_seconds: f64,
    is_probe: bool,
    /// What others are told of the progress.
    progress: Option<&'a Progress>,
    /// Whether the next progress is what the checkpoint had.
    has_loaded: AtomicBool,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        place: Option<&'a Place>,
        watcher: &'a dyn Watcher,
        interrupt: &'a AtomicBool,
        halt: &'a AtomicBool,
        every: Duration,
    ) -> Self {
        let (started, saved) = (thread_time(), Instant::now());
        let (seconds_before, step_seconds) = (0.0, 0.0);
        Self {
            place,
            watcher,
            interrupt,
            halt,
            every,
            started,
            saved,
            seconds_before,
            step_seconds,
            is_probe: false,
            progress: None,
            has_loaded: AtomicBool::new(false),
        }
    }

    pub(crate) fn told(self, progress: &'a Progress) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// A context without a store: nothing is loaded and nothing is saved.
    pub fn unsaved(watcher: &'a dyn Watcher, interrupt: &'a AtomicBool) -> Self {
        Self::new(None, watcher, interrupt, interrupt, CHECKPOINT_EVERY)
    }

    /// A context without a store, for a cell that is run for a while to see how fast it is. What it
    /// gives is not used.
    pub fn probe(watcher: &'a dyn Watcher, interrupt: &'a AtomicBool) -> Self {
        Self { is_probe: true, ..Self::unsaved(watcher, interrupt) }
    }

    /// Whether the cell may leave out what is no part of its steps.
    pub fn is_probe(&self) -> bool {
        self.is_probe
    }

    /// A context without store, progress or interruption.
    pub fn detached() -> Context<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Context::unsaved(&Silent, &NEVER)
    }

    /// The last checkpoint of this cell, if there is one. A damaged one is reported and moved
    /// aside, and the cell starts from the beginning. The cell advances the progress by what it
    /// finds done.
    pub fn load<T: DeserializeOwned>(&mut self) -> Option<T> {
        let place = self.place?;
        match recall(&place.checkpoint, "checkpoint", &place.key, self.watcher) {
            Ok(found) => {
                let (seconds, state) = found?;
                self.seconds_before = seconds;
                self.has_loaded = AtomicBool::new(true);
                self.watcher.continued(seconds);
                Some(state)
            }
            Err(error) => {
                self.notice(&format!("{error}; the cell starts from the beginning"));
                None
            }
        }
    }

    /// Whether it is time to [`save`](Self::save): some seconds have passed since the last time,
    /// or the cell is asked to stop.
    pub fn due(&self) -> bool {
        self.saved.elapsed() >= self.every || self.interrupted()
    }

    /// Saves a checkpoint. If the cell is asked to stop this then gives [`Stopped::Interrupted`],
    /// so that a `?` behind it is all that a cell has to do about interrupts.
    pub fn save<T: Serialize>(&mut self, state: &T) -> Result<(), Stopped> {
        if let Some(place) = self.place {
            let value = (self.seconds(), state);
            sealed::write(&place.checkpoint, "checkpoint", &Entry { key: &place.key, value })?;
        }
        self.saved = Instant::now();
        if self.interrupted() { Err(Stopped::Interrupted) } else { Ok(()) }
    }

    /// Like [`load`](Self::load), for a cell whose state is mostly arrays. `decode` reads the bytes that
    /// the cell wrote in [`save_arrays`](Self::save_arrays): the note beside the arrays, and the arrays.
    pub fn load_arrays<T, E: Display>(
        &mut self,
        decode: impl FnOnce(&[u8]) -> Result<(Value, T), E>,
    ) -> Option<(Value, T)> {
        let place = self.place?;
        let bytes = match files::read_whole(&place.arrays) {
            Err(error) if error.cause.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.notice(&format!("{error}; the cell starts from the beginning"));
                return None;
            }
            Ok(bytes) => bytes,
        };
        let found = decode(&bytes).map_err(|error| error.to_string());
        let found = found.and_then(|(mut about, arrays)| {
            if about["key"] == place.key {
                let seconds = [&about["seconds"], &about["step_seconds"]].map(Value::as_f64);
                Ok((seconds.map(Option::unwrap_or_default), about["state"].take(), arrays))
            } else {
                Err(format!("its key is {}", about["key"]))
            }
        });
        match found {
            Ok(([seconds, steps], state, arrays)) => {
                (self.seconds_before, self.step_seconds) = (seconds, steps);
                self.has_loaded = AtomicBool::new(true);
                self.watcher.continued(seconds);
                Some((state, arrays))
            }
            Err(reason) => {
                self.refuse(&reason);
                None
            }
        }
    }

    /// Sets a checkpoint aside that cannot be used, and says why.
    pub fn refuse(&self, reason: &str) {
        let Some(place) = self.place else { return };
        let path = place.arrays.display();
        let aside = match files::set_aside(&place.arrays) {
            Ok(aside) => format!("it is kept as {}", aside.display()),
            Err(error) => error.to_string(),
        };
        self.notice(&format!(
            "the checkpoint {path} cannot be used: {reason}; {aside}, and the cell starts from \
             the beginning"
        ));
    }

    /// Like [`save`](Self::save), for a cell whose state is mostly arrays. `write` writes them to a path,
    /// whole or not at all, with a note beside them that holds `state`.
    pub fn save_arrays(
        &mut self,
        state: &Value,
        write: impl FnOnce(&Path, &Value) -> Result<(), FileError>,
    ) -> Result<(), Stopped> {
        if let Some(place) = self.place {
            let about = json!({
                "key": place.key,
                "seconds": self.seconds(),
                "step_seconds": self.step_seconds,
                "state": state,
            });
            write(&place.arrays, &about)?;
        }
        self.saved = Instant::now();
        if self.interrupted() { Err(Stopped::Interrupted) } else { Ok(()) }
    }

    /// Where the cell's arrays are saved, if they are and have been.
    pub fn last_arrays(&self) -> Option<&Path> {
        self.place.map(|place| place.arrays.as_path()).filter(|path| path.exists())
    }

    /// Where the cell leaves a model, if anywhere.
    pub fn model(&self) -> Option<&Path> {
        self.place.map(|place| place.model.as_path())
    }

    /// Counts time as spent on steps.
    pub fn add_step_seconds(&mut self, seconds: f64) {
        self.step_seconds += seconds;
    }

    /// Seconds that were counted as spent on steps.
    pub(crate) fn step_seconds(&self) -> f64 {
        self.step_seconds
    }

    /// Tells the watcher that work was done.
    pub fn advance(&self, units: u64) {
        if let Some(progress) = self.progress {
            progress.done.fetch_add(units, Ordering::Relaxed);
            if self.has_loaded.swap(false, Ordering::Relaxed) {
                progress.found.store(units, Ordering::Relaxed);
            }
        }
        self.watcher.advance(units);
    }

    /// Whether the cell should save a checkpoint and stop.
    pub fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.halt.load(Ordering::Relaxed)
    }

    /// Tells the watcher something that the user should know.
    pub fn notice(&self, text: &str) {
        self.watcher.notice(text);
    }

    /// Processor seconds used for this cell, those before the checkpoint included.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds_before + thread_time().saturating_sub(self.started).as_secs_f64()
    }
}

/// Processor time of this thread; zero where the system does not tell.
fn thread_time() -> Duration {
    ThreadTime::try_now().map_or(Duration::ZERO, |time| time.as_duration())
}

/// Where a cell is kept.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) key: Value,
    pub(crate) hash: String,
    pub(crate) record: PathBuf,
    pub(crate) checkpoint: PathBuf,
    /// A checkpoint of arrays.
    pub(crate) arrays: PathBuf,
    pub(crate) model: PathBuf,
}

impl Place {
    pub(crate) fn new(layout: &Layout, hash: String, key: Value) -> Self {
        let record = layout.path(RECORDS, &hash, ".json");
        let checkpoint = layout.path(CHECKPOINTS, &hash, ".json");
        let arrays = layout.path(CHECKPOINTS, &hash, ".safetensors");
        let model = layout.path(MODELS, &hash, ".safetensors");
        Self { key, hash, record, checkpoint, arrays, model }
    }

    /// Removes the checkpoints of a cell that is done.
    pub(crate) fn clear(&self) -> Result<(), FileError> {
        files::remove(&self.checkpoint)?;
        files::remove(&self.arrays)
    }
}

/// What a record or a checkpoint holds: the key says whose it is.
#[derive(Serialize, Deserialize)]
pub(crate) struct Entry<K, T> {
    pub(crate) key: K,
    pub(crate) value: T,
}

/// The name of a cell: 32 hexadecimal digits. JSON objects are sorted maps here, so the order in
/// which a key is put together does not matter.
pub fn cell_name(kind: &str, key: &Value) -> String {
    let text = serde_json::json!([kind, sealed::VERSION, key]).to_string();
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// The entry of a cell as it is, if there is one.
pub(crate) fn look<T: DeserializeOwned>(
    path: &Path,
    what: &str,
    key: &Value,
) -> Result<Option<T>, SealError> {
    match sealed::read::<Entry<Value, T>>(path, what) {
        Ok(entry) if entry.key == *key => Ok(Some(entry.value)),
        Ok(entry) => {
            let reason = format!("its key is {}", entry.key);
            Err(SealError::Content { path: path.to_owned(), reason })
        }
        Err(SealError::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The entry of a cell, if there is one that can be used. One that cannot is reported and moved aside.
pub(crate) fn recall<T: DeserializeOwned>(
    path: &Path,
    what: &str,
    key: &Value,
    watcher: &dyn Watcher,
) -> Result<Option<T>, FileError> {
    match look(path, what, key) {
        Ok(found) => Ok(found),
        Err(SealError::File(error)) => Err(error),
        Err(error) => {
            let aside = match files::set_aside(path) {
                // Another process was faster.
                Err(error) if error.cause.kind() == io::ErrorKind::NotFound => return Ok(None),
                aside => aside?,
            };
            let aside = aside.file_name().unwrap_or_default().display();
            watcher.notice(&format!("{error}; moved to {aside}, computing it again"));
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_a_key_does_not_matter_and_everything_else_does() {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let a = parse(r#"{"alpha": 2.0, "sizes": {"b": 1, "a": [1, 2]}, "seed": 1}"#);
        let b = parse(r#"{"seed": 1, "sizes": {"a": [1, 2], "b": 1}, "alpha": 2.0}"#);
        assert_eq!(a.to_string(), b.to_string());
        assert_eq!(cell_name("toy", &a), cell_name("toy", &b));

        let names = [
            cell_name("toy", &json!({"seed": 1})),
            cell_name("toy", &json!({"seed": 2})),
            cell_name("toy", &json!({"seed": "1"})),
            cell_name("toy", &json!({"seed": 1.0})),
            cell_name("other", &json!({"seed": 1})),
        ];
        for (i, name) in names.iter().enumerate() {
            assert_eq!(name.len(), 32);
            assert!(!names[..i].contains(name));
        }
    }

    /// Runs of earlier versions of the program are found by this name.
    #[test]
    fn the_name_of_a_cell_does_not_change_with_the_program() {
        assert_eq!(cell_name("toy", &json!({"seed": 1})), "9543ef8623e22f3877e2959dfb4a6371");
    }

    #[test]
    fn a_detached_context_keeps_nothing() {
        let mut context = Context::detached();
        assert!(!context.due());
        context.save(&1).unwrap();
        assert_eq!(context.load::<i32>(), None);
    }

    #[test]
    fn an_interrupt_is_told_by_save() {
        let interrupt = AtomicBool::new(false);
        let mut context = Context::unsaved(&Silent, &interrupt);
        context.save(&1).unwrap();
        interrupt.store(true, Ordering::Relaxed);
        assert!(context.due() && context.interrupted());
        assert!(matches!(context.save(&1), Err(Stopped::Interrupted)));
    }
}
