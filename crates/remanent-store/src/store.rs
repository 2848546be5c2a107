//! A run directory: what is in it, who may use it, and when it is refused.
//!
//! ```text
//! experiment.json       the marker: kind and configuration of the run
//! records/<cell>.json   what is done
//! checkpoints/<cell>.json   what is under way (.safetensors if it is mostly arrays)
//! models/<cell>.safetensors   what a cell leaves besides its record
//! times.csv             how long it took
//! lock                  held by the program that works here
//! ```
//!
//! Results are expensive, and a mistyped `--out` must not cost any. A
//! directory that is not a run is refused, so is a run of another experiment,
//! and nothing is removed unless the user says so, and then only files with
//! names that a store gives.
//!
//! Records carry their keys, so that a damaged or missing marker costs nothing:
//! it is written anew if the records are of the experiment at hand.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::atomic;
use crate::cell::{CHECKPOINT_EVERY, CHECKPOINTS, Cell, Entry, MODELS, Place, RECORDS, cell_name};
use crate::files::{self, FileError};
use crate::sealed::{self, SealError, VERSION};
use crate::times::Times;

pub(crate) const MARKER: &str = "experiment.json";
const LOCK: &str = "lock";
const FOLDERS: [&str; 3] = [RECORDS, CHECKPOINTS, MODELS];
pub(crate) const TIMES: &str = "times.csv";

/// Why a directory cannot be used for a run.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Files that are not of a run.
    #[error(
        "{} is not empty and holds no run; choose another --out, or an empty directory", .0.display()
    )]
    NotARun(PathBuf),
    /// A file.
    #[error("{} is not a directory; choose another --out", .0.display())]
    NotADirectory(PathBuf),
    /// A run of another experiment.
    #[error(
        "{} holds another experiment:\n  {}\nchoose another --out, or discard it with --fresh",
        directory.display(),
        differences.join("\n  ")
    )]
    Different {
        /// The directory.
        directory: PathBuf,
        /// One a key: `alpha: there 1, here 2`.
        differences: Vec<String>,
    },
    /// The marker cannot be read.
    #[error(
        "{reason}; choose another --out, or start anew with --fresh, which removes the records there"
    )]
    Damaged {
        /// What is wrong with it.
        reason: SealError,
    },
    /// The marker has another format, most likely a newer one.
    #[error(
        "{} holds a run in format {found}, and this program knows format {VERSION}; use the \
         program that wrote it, choose another --out, or discard it with --fresh",
        directory.display()
    )]
    Version {
        /// The directory.
        directory: PathBuf,
        /// The format of its marker.
        found: u32,
    },
    /// Another program works there.
    #[error(
        "{} is in use by another process; wait until it has finished, or choose another --out",
        .0.display()
    )]
    InUse(PathBuf),
    /// Cells are missing, and cannot be written.
    #[error(
        "{} is read-only and only {done} of {total} cells are done; choose another --out, or make it \
         writable",
        directory.display()
    )]
    ReadOnly {
        /// The directory.
        directory: PathBuf,
        /// Cells with a record.
        done: usize,
        /// All cells.
        total: usize,
    },
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) kind: String,
    pub(crate) config: Value,
}

/// What a directory holds that is to become a run directory.
enum Standing {
    /// Nothing.
    New,
    /// The same experiment.
    Same,
    /// The same experiment, as the records tell; the marker does not, for this reason.
    Unmarked(SealError),
    /// A run to be replaced.
    Stale { damaged: bool },
}

/// What records without a marker tell.
enum Remains {
    /// There are none, and nothing else that a store leaves.
    Nothing,
    /// One at least is of this experiment.
    Ours,
    /// None can be read, or there are only checkpoints.
    Unknown,
    /// They are of another one, which differs in this.
    Others(Vec<String>),
}

/// A run directory, locked until this is dropped or the program ends, however it ends.
#[derive(Debug)]
pub struct Store {
    pub(crate) directory: PathBuf,
    pub(crate) kind: String,
    pub(crate) every: Duration,
    pub(crate) times: Times,
    /// What the user should know, until it is said.
    notices: Mutex<Vec<String>>,
    _lock: Lock,
}

impl Store {
    /// Opens the run in a directory, or begins one. `config` is what the cells have in common; the
    /// number of seeds is no part of it, so that more of them can be added later. `fresh` discards
    /// what an earlier run, of whatever configuration, has left.
    pub fn open(
        directory: &Path,
        kind: &str,
        config: &Value,
        fresh: bool,
    ) -> Result<Self, StoreError> {
        // Looked at before the lock, so that a directory which is refused stays as it is, and
        // after it, because another program may have begun or ended a run in the meantime.
        inspect(directory, kind, config, fresh)?;
        fs::create_dir_all(directory).map_err(FileError::new("create", directory))?;
        let lock = Lock::acquire(directory)?;
        let standing = inspect(directory, kind, config, fresh)?;

        let marker = directory.join(MARKER);
        let mut notices = Vec::new();
        atomic::sweep(directory)?;
        for folder in FOLDERS {
            atomic::sweep(&directory.join(folder))?;
        }
        if let Standing::Stale { damaged } = standing {
            // The marker is there all the time: if the program is killed here, this is still a run.
            for folder in FOLDERS {
                atomic::remove_files(&directory.join(folder), is_entry)?;
            }
            files::remove(&directory.join(TIMES))?;
            if damaged {
                // It may never have been ours.
                files::copy_aside(&marker)?;
            }
        }
        if let Standing::Unmarked(reason) = &standing {
            let mut text = reason.to_string();
            if marker.exists() {
                let aside = files::set_aside(&marker)?;
                text += &format!("; it is kept as {}", aside.display());
            }
            notices.push(format!("{text}; rewriting it and keeping the records"));
        }
        if !matches!(standing, Standing::Same) {
            let content = Marker { kind: kind.to_owned(), config: config.clone() };
            sealed::write(&marker, "experiment", &content)?;
        }
        for folder in FOLDERS {
            let folder = directory.join(folder);
            fs::create_dir_all(&folder).map_err(FileError::new("create", &folder))?;
        }
        Ok(Self {
            directory: directory.to_owned(),
            kind: kind.to_owned(),
            every: CHECKPOINT_EVERY,
            times: Times::open(&directory.join(TIMES))?,
            notices: Mutex::new(notices),
            _lock: lock,
        })
    }

    /// Sets how often a cell under way is saved.
    #[must_use]
    pub fn checkpoint_every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// The directory as given.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What the user should know and has not been told.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long a cell with a record took, all its parts together if it was interrupted.
    pub fn seconds<C: Cell>(&self, cell: &C) -> Option<f64> {
        self.times.get(&self.place(cell).hash).map(|time| time.seconds)
    }

    /// The part of these seconds that the cell counted as spent on steps.
    pub fn step_seconds<C: Cell>(&self, cell: &C) -> Option<f64> {
        self.times.get(&self.place(cell).hash).and_then(|time| time.steps)
    }

    /// Where a cell leaves its model.
    pub fn model<C: Cell>(&self, cell: &C) -> PathBuf {
        self.place(cell).model
    }

    pub(crate) fn place<C: Cell>(&self, cell: &C) -> Place {
        Place::new(&self.directory, &self.kind, cell.key())
    }
}

/// Whether a directory is there in which no file can be made.
pub fn is_read_only(directory: &Path) -> bool {
    directory.is_dir() && atomic::is_read_only(directory)
}

/// Refuses a directory in which the run cannot be, as [`Store::open`] does, and changes nothing.
/// Says whether records in it may be used.
pub(crate) fn usable(
    directory: &Path,
    kind: &str,
    config: &Value,
    fresh: bool,
) -> Result<bool, StoreError> {
    let standing = inspect(directory, kind, config, fresh)?;
    Ok(matches!(standing, Standing::Same | Standing::Unmarked(_)))
}

fn inspect(
    directory: &Path,
    kind: &str,
    config: &Value,
    fresh: bool,
) -> Result<Standing, StoreError> {
    match fs::metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Standing::New),
        found => {
            if !found.map_err(FileError::new("open", directory))?.is_dir() {
                return Err(StoreError::NotADirectory(directory.to_owned()));
            }
        }
    }
    match sealed::read::<Marker>(&directory.join(MARKER), "experiment") {
        Err(missing @ SealError::Missing(_)) => match remains(directory, kind, config)? {
            Remains::Ours | Remains::Unknown | Remains::Others(_) if fresh => {
                Ok(Standing::Stale { damaged: false })
            }
            Remains::Ours | Remains::Unknown => Ok(Standing::Unmarked(missing)),
            Remains::Others(differences) => {
                Err(StoreError::Different { directory: directory.to_owned(), differences })
            }
            Remains::Nothing => {
                // A program that was killed while it began a run has left nothing but these.
                let ours = |name: &str| {
                    name == LOCK || name.starts_with(MARKER) || atomic::is_temporary(name)
                };
                if files::names(directory)?.iter().all(|name| name.to_str().is_some_and(ours)) {
                    Ok(Standing::New)
                } else {
                    Err(StoreError::NotARun(directory.to_owned()))
                }
            }
        },
        Err(SealError::File(error)) => Err(error.into()),
        Ok(_) | Err(SealError::Version { .. }) if fresh => Ok(Standing::Stale { damaged: false }),
        Err(_) if fresh => Ok(Standing::Stale { damaged: true }),
        Err(reason @ SealError::Version { found, .. }) => match remains(directory, kind, config)? {
            // A newer program has written newer records: here a digit of the marker is wrong.
            Remains::Ours => Ok(Standing::Unmarked(reason)),
            Remains::Others(differences) => {
                Err(StoreError::Different { directory: directory.to_owned(), differences })
            }
            Remains::Unknown | Remains::Nothing => {
                Err(StoreError::Version { directory: directory.to_owned(), found })
            }
        },
        Err(reason) => match remains(directory, kind, config)? {
            Remains::Ours | Remains::Unknown => Ok(Standing::Unmarked(reason)),
            Remains::Others(differences) => {
                Err(StoreError::Different { directory: directory.to_owned(), differences })
            }
            Remains::Nothing => Err(StoreError::Damaged { reason }),
        },
        Ok(marker) => {
            let differences = differences(&marker, kind, config);
            if differences.is_empty() {
                Ok(Standing::Same)
            } else {
                Err(StoreError::Different { directory: directory.to_owned(), differences })
            }
        }
    }
}

/// What a directory whose marker cannot be read tells by its records: they carry their keys.
fn remains(directory: &Path, kind: &str, config: &Value) -> Result<Remains, FileError> {
    let entries = |folder: &str| -> Result<Vec<String>, FileError> {
        let names = files::names(&directory.join(folder))?;
        Ok(names.into_iter().filter_map(|n| n.into_string().ok()).filter(|n| is_entry(n)).collect())
    };
    let records = entries(RECORDS)?;
    if records.is_empty() && entries(CHECKPOINTS)?.is_empty() {
        return Ok(Remains::Nothing);
    }
    let mut others = None;
    for name in records.iter().filter(|name| name.ends_with(".json")) {
        let path = directory.join(RECORDS).join(name);
        let Ok(entry) = sealed::read::<Entry<Value, IgnoredAny>>(&path, "record") else { continue };
        if name.strip_suffix(".json") != Some(&cell_name(kind, &entry.key)) {
            others.get_or_insert(vec![format!("kind: there another, here {kind}")]);
            continue;
        }
        match conflicts(&entry.key, config) {
            None => return Ok(Remains::Ours),
            Some(differences) => {
                others.get_or_insert(differences);
            }
        }
    }
    Ok(others.map_or(Remains::Unknown, Remains::Others))
}

/// In what a cell differs from those that a configuration has. A key holds objects of the
/// configuration of its run, and values of its own; lists among these are not compared.
fn conflicts(key: &Value, config: &Value) -> Option<Vec<String>> {
    let (key, shared) = (key.as_object()?, config.as_object()?);
    let mut pieces = Vec::new();
    collect_objects(config, &mut pieces);
    for (name, value) in key {
        let is_there = if value.is_object() {
            pieces.is_empty() || pieces.contains(&value)
        } else {
            value.is_array() || shared.get(name).is_none_or(|other| other == value)
        };
        if is_there {
            continue;
        }
        let here = shared.get(name).or(pieces.first().copied()).unwrap_or(config);
        let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
        flatten(name, value, &mut old);
        flatten(name, here, &mut new);
        return Some(differing(&old, &new));
    }
    None
}

/// All objects inside a value, the outermost first; not the value itself.
fn collect_objects<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    let inner: Vec<&Value> = match value {
        Value::Object(map) => map.values().collect(),
        Value::Array(list) => list.iter().collect(),
        _ => return,
    };
    found.extend(inner.iter().filter(|value| value.is_object()));
    inner.into_iter().for_each(|value| collect_objects(value, found));
}

/// The right to work in a directory. The operating system releases the lock of a program that is
/// killed; a file that merely exists would have to be removed by hand.
#[derive(Debug)]
struct Lock(File);

impl Lock {
    fn acquire(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(LOCK);
        atomic::check_target(&path)?;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(FileError::new("create", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse(directory.to_owned())),
            Err(TryLockError::Error(source)) => Err(FileError::new("lock", &path)(source).into()),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // To close the file is not enough: a process that is just being started by another thread
        // has a copy of it for a moment. If this fails, the end of the program does it.
        let _ = self.0.unlock();
    }
}

/// Whether a name is that of a record, checkpoint or model, damaged or not.
fn is_entry(name: &str) -> bool {
    let parts = name.split_once(".json").or_else(|| name.split_once(".safetensors"));
    parts.is_some_and(|(hash, end)| {
        hash.len() == 32
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
            && (end.is_empty() || end.starts_with(".damaged"))
    })
}

fn differences(there: &Marker, kind: &str, config: &Value) -> Vec<String> {
    if there.kind != kind {
        return vec![format!("kind: there {}, here {kind}", there.kind)];
    }
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    flatten("", &there.config, &mut old);
    flatten("", config, &mut new);
    differing(&old, &new)
}

/// The leaves in which two configurations differ, in words.
fn differing(old: &BTreeMap<String, &Value>, new: &BTreeMap<String, &Value>) -> Vec<String> {
    let show = |value: Option<&&Value>| value.map_or("nothing".into(), |value| value.to_string());
    let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter()
        .map(|key| (key, old.get(key), new.get(key)))
        .filter(|(_, there, here)| there != here)
        .map(|(key, there, here)| format!("{key}: there {}, here {}", show(there), show(here)))
        .collect()
}

/// The leaves of a configuration by their dotted names.
fn flatten<'a>(prefix: &str, value: &'a Value, leaves: &mut BTreeMap<String, &'a Value>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&name, value, leaves);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_object) => {
            for (index, value) in list.iter().enumerate() {
                // A list of one needs no number.
                let number = if list.len() == 1 { String::new() } else { format!("[{index}]") };
                flatten(&format!("{prefix}{number}"), value, leaves);
            }
        }
        _ => {
            leaves.insert(prefix.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_name_the_key_and_both_values() {
        let there = Marker {
            kind: "train".into(),
            config: json!({"beta": 20.0, "network": {"layers": [10, 5], "bias": true}, "old": {}}),
        };
        let here = json!({"beta": 10.0, "network": {"layers": [10, 7], "bias": true}, "new": "x"});
        assert_eq!(
            differences(&there, "train", &here),
            [
                "beta: there 20.0, here 10.0",
                "network.layers: there [10,5], here [10,7]",
                "new: there nothing, here \"x\"",
                "old: there {}, here nothing",
            ]
        );
        assert_eq!(differences(&there, "train", &there.config), [""; 0]);
        assert_eq!(differences(&there, "bound", &there.config), ["kind: there train, here bound"]);
    }

    #[test]
    fn only_names_that_a_store_gives_are_its_own() {
        let hash = "0123456789abcdef0123456789abcdef";
        for end in [".json", ".json.damaged", ".json.damaged-2", ".safetensors"] {
            assert!(is_entry(&format!("{hash}{end}")), "{end}");
        }
        for name in ["notes.json", hash, &format!("{hash}.json.bak"), &format!("{hash}0.json")] {
            assert!(!is_entry(name), "{name}");
        }
    }
}
