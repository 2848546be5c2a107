//! A run directory: what is in it, who may use it, and when it is refused.
//!
//! ```text
//! experiment.json       the marker: kind and configuration of the run
//! records/<cell>.json   what is done
//! checkpoints/<cell>.json   what is under way (.safetensors if it is mostly arrays)
//! models/<cell>.safetensors   what a cell leaves besides its record
//! plans/<hash>.json     the cells that commands have asked for
//! failures/<cell>.json  why a cell cannot be computed
//! times.csv, times/     how long it took
//! workers/, claims/     who works here, and on what; gone when nobody does
//! ```
//!
//! Runs of many cells have their files in folders: see [`layout`](crate::layout). Several processes may
//! work in one directory: see [`claim`](crate::claim).
//!
//! Results are expensive, and a mistyped `--out` must not cost any. A
//! directory that is not a run is refused, so is a run of another experiment,
//! and nothing is removed unless the user says so, and then only files with
//! names that a store gives.
//!
//! Records carry their keys, so that a damaged or missing marker costs nothing:
//! it is written anew if the records are of the experiment at hand.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::atomic;
use crate::cell::{CHECKPOINT_EVERY, CHECKPOINTS, Cell, Entry, Place, RECORDS, cell_name};
use crate::claim::{self, CLAIMS};
use crate::failure::FAILURES;
use crate::files::{self, FileError};
use crate::layout::{self, FOLDERS, Layout};
use crate::planned::PLANS;
use crate::sealed::{self, SealError, VERSION};
use crate::times::{self, TIMES, Times};
use crate::worker::{WORKERS, Worker};

pub(crate) const MARKER: &str = "experiment.json";
/// Earlier versions left a file of this name.
const LOCK: &str = "lock";

/// Why a directory cannot be used for a run.
#[derive(Debug, Error)]
#[non_exhaustive]
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
    /// Another program works there, and what is there is to be discarded.
    #[error(
        "{} is in use by another process, and cannot start anew; wait until it has finished, or choose \
         another --out",
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

/// A run directory in which this process works. Others may work there at the same time.
#[derive(Debug)]
pub struct Store {
    pub(crate) directory: PathBuf,
    pub(crate) kind: String,
    pub(crate) every: Duration,
    pub(crate) times: Times,
    pub(crate) worker: Worker,
    /// What the user should know, until it is said.
    notices: Mutex<Vec<String>>,
}

impl Store {
    /// Opens the run in a directory, or begins one. `config` is what the cells have in common; the
    /// number of seeds is no part of it, so that more of them can be added later. `fresh` discards
    /// what an earlier run, of whatever configuration, has left, and is refused while others work there.
    pub fn open(
        directory: &Path,
        kind: &str,
        config: &Value,
        fresh: bool,
    ) -> Result<Self, StoreError> {
        Self::open_as(directory, kind, config, fresh, "")
    }

    /// Like [`open`](Self::open); `about` tells others what this process is, e.g. `shard 3/8`.
    pub fn open_as(
        directory: &Path,
        kind: &str,
        config: &Value,
        fresh: bool,
        about: &str,
    ) -> Result<Self, StoreError> {
        // Looked at before anything is written, so that a directory which is refused stays as it is,
        // and after others were told, because they may have begun or ended a run in the meantime.
        inspect(directory, kind, config, fresh)?;
        fs::create_dir_all(directory).map_err(FileError::new("create", directory))?;
        let worker = Worker::start(directory, about)?;
        let is_alone = if fresh {
            wait_alone(directory, &worker)?;
            true
        } else {
            worker.try_alone()?
        };
        let mut standing = inspect(directory, kind, config, fresh)?;
        if is_alone {
            clear_leftovers(directory, &worker)?;
            times::gather(directory)?;
        }
        if let Standing::Stale { damaged } = standing {
            discard(directory, damaged)?;
        }
        let notices = mark(directory, kind, config, &mut standing)?;
        Layout::of(directory, 0).create_folders()?;
        let times = if is_alone {
            Times::open(&directory.join(TIMES))?
        } else {
            Times::of_worker(directory, &worker.id)?
        };
        worker.share()?;
        Ok(Self {
            directory: directory.to_owned(),
            kind: kind.to_owned(),
            every: CHECKPOINT_EVERY,
            times,
            worker,
            notices: Mutex::new(notices),
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
        self.times.get(&self.name(cell)).map(|time| time.seconds)
    }

    /// The part of these seconds that the cell counted as spent on steps.
    pub fn step_seconds<C: Cell>(&self, cell: &C) -> Option<f64> {
        self.times.get(&self.name(cell)).and_then(|time| time.steps)
    }

    /// Where the files of a cell are.
    pub(crate) fn place<C: Cell>(&self, cell: &C) -> Place {
        Place::new(&Layout::of(&self.directory, 0), self.name(cell), cell.key())
    }

    /// Leaves a run that is done as a process leaves it that was alone there. Of several processes that end at the
    /// same time, the last one to withdraw sees none of the others, and does it. Nothing is computed with this
    /// store any more.
    pub(crate) fn tidy(&self) -> Result<(), FileError> {
        self.worker.withdraw();
        if self.worker.try_alone()? {
            sweep(&self.directory)?;
            times::gather(&self.directory)?;
        }
        self.worker.share()
    }

    /// The name of a cell.
    pub(crate) fn name<C: Cell>(&self, cell: &C) -> String {
        cell_name(&self.kind, &cell.key())
    }
}

/// Has the directory for this process alone. If others may work there, waits until it is known; refused if they do.
fn wait_alone(directory: &Path, worker: &Worker) -> Result<(), StoreError> {
    if worker.try_alone()? {
        return Ok(());
    }
    let mut observer = worker.observer();
    if !worker.others_live(&mut observer)? {
        worker.bury(&mut observer)?;
        if worker.try_alone()? {
            return Ok(());
        }
    }
    Err(StoreError::InUse(directory.to_owned()))
}

/// Every folder that a run may have.
fn all_folders() -> impl Iterator<Item = &'static str> {
    FOLDERS.into_iter().chain([PLANS, FAILURES, CLAIMS, times::PARTS])
}

/// Removes a run: all that a store writes into its directory. Refused with [`StoreError::InUse`] while others work
/// there. Other files stay.
pub fn remove(directory: &Path) -> Result<(), StoreError> {
    let worker = Worker::start(directory, "")?;
    wait_alone(directory, &worker)?;
    clear_leftovers(directory, &worker)?;
    for folder in all_folders() {
        let path = directory.join(folder);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result.map_err(FileError::new("remove", &path))?,
        }
    }
    // The marker is the last: a process that is killed here leaves a run, which can be removed.
    [TIMES, LOCK, MARKER].iter().try_for_each(|name| files::remove(&directory.join(name)))?;
    Ok(())
}

/// Removes what killed programs have left. Nobody else works in the directory.
fn clear_leftovers(directory: &Path, worker: &Worker) -> Result<(), FileError> {
    sweep(directory)?;
    claim::remove(directory, |_| true)?;
    worker.bury(&mut worker.observer())?;
    Ok(())
}

/// Removes what programs have left that were killed while they wrote. Nobody else works in the directory.
fn sweep(directory: &Path) -> Result<(), FileError> {
    atomic::sweep(directory)?;
    for folder in all_folders() {
        for part in layout::parts(&directory.join(folder))? {
            atomic::sweep(&part)?;
        }
    }
    Ok(())
}

/// Removes the files of a run. The marker is there all the time: if the program is killed here, this is
/// still a run.
fn discard(directory: &Path, damaged: bool) -> Result<(), FileError> {
    for folder in FOLDERS {
        for part in layout::parts(&directory.join(folder))? {
            atomic::remove_files(&part, is_entry)?;
            if part != directory.join(folder) {
                // Unless it has files of others.
                let _ = fs::remove_dir(part);
            }
        }
    }
    for folder in [PLANS, FAILURES] {
        atomic::remove_files(&directory.join(folder), |name| name.ends_with(".json"))?;
        let _ = fs::remove_dir(directory.join(folder));
    }
    files::remove(&directory.join(TIMES))?;
    if damaged {
        // It may never have been ours.
        files::copy_aside(&directory.join(MARKER))?;
    }
    Ok(())
}

/// Writes the marker, if there is none that can be used. Several programs may do so at the same time:
/// the first one decides.
fn mark(
    directory: &Path,
    kind: &str,
    config: &Value,
    standing: &mut Standing,
) -> Result<Vec<String>, StoreError> {
    let marker = directory.join(MARKER);
    let content = Marker { kind: kind.to_owned(), config: config.clone() };
    let mut notices = Vec::new();
    match standing {
        Standing::Same => return Ok(notices),
        Standing::Stale { .. } => sealed::write(&marker, "experiment", &content)?,
        Standing::Unmarked(reason) => {
            let mut text = reason.to_string();
            if marker.exists() {
                let aside = files::set_aside(&marker)?;
                text += &format!("; it is kept as {}", aside.display());
            }
            notices.push(format!("{text}; rewriting it and keeping the records"));
        }
        Standing::New => {}
    }
    if !sealed::create(&marker, "experiment", &content, true)? {
        inspect(directory, kind, config, false)?;
    }
    Ok(notices)
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
    // Another process may begin the run between a look at the marker and one at the other names; on NFS the
    // marker may stay unseen for a while.
    let mut pauses = [0, 20, 200, 1000, 3000].into_iter().map(Duration::from_millis);
    loop {
        match inspect_once(directory, kind, config, fresh) {
            Err(StoreError::NotARun(_)) if is_listed(directory)? => match pauses.next() {
                Some(pause) => std::thread::sleep(pause),
                None => return Err(StoreError::NotARun(directory.to_owned())),
            },
            standing => return standing,
        }
    }
}

/// Whether the marker is among the names in a directory.
fn is_listed(directory: &Path) -> Result<bool, FileError> {
    Ok(files::names(directory)?.iter().any(|name| name.to_str() == Some(MARKER)))
}

fn inspect_once(
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
                    [LOCK, WORKERS, CLAIMS].contains(&name)
                        || name.starts_with(MARKER)
                        || atomic::is_temporary(name)
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
    let entries = |folder: &str| -> Result<Vec<PathBuf>, FileError> {
        let mut paths = layout::list(&directory.join(folder), &[""])?;
        let name =
            |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(is_entry);
        paths.retain(name);
        Ok(paths)
    };
    let records = entries(RECORDS)?;
    if records.is_empty() && entries(CHECKPOINTS)?.is_empty() {
        return Ok(Remains::Nothing);
    }
    let mut others = None;
    for path in records.iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let Ok(entry) = sealed::read::<Entry<Value, IgnoredAny>>(path, "record") else { continue };
        let name = path.file_stem().and_then(|name| name.to_str());
        if name != Some(&cell_name(kind, &entry.key)) {
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
        .map(|(key, there, here)| {
            let reason = if key == "revision" || key.ends_with(".revision") {
                " (another version of the program, whose numbers differ)"
            } else {
                ""
            };
            format!("{key}: there {}, here {}{reason}", show(there), show(here))
        })
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
        let revision = |n: u32| json!({"cases": [{"revision": n}]});
        let there = Marker { config: revision(1), ..there };
        assert_eq!(
            differences(&there, "train", &revision(4)),
            [
                "cases.revision: there 1, here 4 (another version of the program, whose numbers differ)"
            ]
        );
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
