//! The run directories below a folder, for whoever looks at them: `remanent runs` and the explorer. Nothing
//! is locked and nothing is written, except by [`remove`].
//!
//! [`find`] names the run directories, [`Overview::read`] tells the state of one and its key numbers, and
//! [`results::read`] gives all that came of it, cells under way included.

pub mod progress;
pub mod results;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use remanent_network::predictor::Predictor;
use remanent_store::files::FileError;
use remanent_store::sealed::SealError;
use remanent_store::status::{State, Status};
use remanent_store::{Observer, StoreError};
use serde::Serialize;
use serde_json::Value;

use crate::found;
use progress::Progress;
use results::{CaseResults, Results};

/// Folders between the folder of runs and a run directory, at most: `reproduce` has one run for each kind.
const DEPTH: usize = 3;
/// The most run directories that are listed.
pub const MOST: usize = 2000;
/// A run at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// Its path below the folder of runs.
    pub name: String,
    /// What was run: `train`, `simulate`.
    pub kind: String,
    /// How it stands.
    pub state: State,
    /// Cells with a record.
    pub done: usize,
    /// Cells with a checkpoint.
    pub under_way: usize,
    /// Files that cannot be used.
    pub damaged: usize,
    /// How far the last command came, if it said so.
    pub progress: Option<Progress>,
    /// Seconds since 1970 of the last change.
    pub modified: f64,
    /// What all cells have in common.
    pub config: Value,
    /// Key numbers, by case.
    pub numbers: Vec<CaseNumbers>,
}

/// The key numbers of a case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseNumbers {
    /// In what it differs from the other cases.
    pub label: String,
    /// Number of trials.
    pub trials: usize,
    /// Means by name.
    pub values: BTreeMap<String, f64>,
}

/// The run directories in a folder and below, as paths below it, sorted. A link that leads out of the folder
/// is not followed.
pub fn find(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(whole) = root.canonicalize() {
        collect(&whole, &whole, DEPTH, &mut found);
    }
    found.sort();
    found.truncate(MOST);
    found
}

fn collect(root: &Path, folder: &Path, depth: usize, found: &mut Vec<String>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let inside = path.canonicalize().is_ok_and(|path| path.starts_with(root));
        if found.len() > MOST || !inside || !path.is_dir() {
            continue;
        }
        let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        if is_run(&path) {
            found.push(name.to_owned());
        } else if depth > 1 && path.read_link().is_err() {
            collect(root, &path, depth - 1, found);
        }
    }
}

fn is_run(path: &Path) -> bool {
    path.join("experiment.json").is_file() || path.join("records").is_dir()
}

/// The directory of a run by its name; none if the name leads out of the folder, or to no run.
pub fn resolve(root: &Path, name: &str) -> Option<PathBuf> {
    let path = inside(root, name)?;
    is_run(&path).then_some(path)
}

/// A path below a folder; none if it leads out of it, by dots or by links, or if nothing is there.
pub fn inside(root: &Path, name: &str) -> Option<PathBuf> {
    let relative = Path::new(name);
    let plain = |part| matches!(part, std::path::Component::Normal(_));
    if name.contains('\0') || name.is_empty() || !relative.components().all(plain) {
        return None;
    }
    let root = root.canonicalize().ok()?;
    let path = root.join(relative).canonicalize().ok()?;
    path.starts_with(&root).then_some(path)
}

/// What changes whenever a run does: the time of the last change of its files.
pub fn fingerprint(directory: &Path) -> Option<SystemTime> {
    let parts = ["experiment.json", "records", "checkpoints", progress::FILE];
    let of = |path: PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
    let folder = directory.join("checkpoints");
    // A checkpoint that is replaced changes its folder as well.
    parts.iter().filter_map(|part| of(directory.join(part))).chain(of(folder)).max()
}

impl Overview {
    /// Looks at a run directory.
    pub fn read(directory: &Path, name: &str) -> Result<Self, SealError> {
        let run = found::read(directory)?;
        let progress = Progress::read(directory);
        let changed = fingerprint(directory).unwrap_or(SystemTime::UNIX_EPOCH);
        let results = results::of(&run);
        let status = Status::of(directory, run.kind.clone(), &mut Observer::of(directory))?;
        Ok(Self {
            name: name.to_owned(),
            state: status.state(),
            done: run.records.len(),
            under_way: run.checkpoints.len(),
            damaged: run.damaged.len(),
            progress,
            modified: changed
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0.0, |since| since.as_secs_f64()),
            numbers: results.map_or_else(|_| Vec::new(), |results| numbers(&results)),
            kind: run.kind,
            config: run.config,
        })
    }
}

fn numbers(results: &Results) -> Vec<CaseNumbers> {
    let of = |case: &CaseResults| {
        let mut values = BTreeMap::new();
        let mut put = |name: String, value: f64| {
            if value.is_finite() {
                values.insert(name, value);
            }
        };
        if let Some(summary) = &case.training {
            for predictor in [Predictor::Stochastic, Predictor::Hard] {
                let Some(found) = summary.predictors.get(&predictor) else { continue };
                put(format!("accuracy, {}", predictor.name()), found.average_accuracy.mean);
                if let Some(forgetting) = &found.forgetting {
                    put(format!("forgetting, {}", predictor.name()), forgetting.mean);
                }
            }
        }
        if let Some(end) = case.simulation.as_ref().and_then(|summary| summary.ends.last()) {
            for (task, eps) in end.eps.iter().enumerate() {
                put(format!("eps_{}", task + 1), eps.mean);
            }
            put("q_star".into(), end.q_star.mean);
        }
        CaseNumbers { label: case.label.clone(), trials: case.trials, values }
    };
    results.cases.iter().map(of).collect()
}

/// Files that a finished run leaves.
pub const RESULT_FILES: [&str; 6] =
    ["training.svg", "summary.json", "summary.csv", "accuracy.csv", "epochs.csv", "results.npz"];

/// Removes a run directory: the files that the program has written there, and the folder if nothing else is
/// left in it. Returns whether it was. Refused with [`StoreError::InUse`] while a process works there.
pub fn remove(directory: &Path) -> Result<bool, StoreError> {
    remanent_store::remove(directory)?;
    let gone = |result: io::Result<()>, path: &Path| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(FileError::new("remove", path)),
    };
    for folder in ["tensorboard", "slurm"].map(|name| directory.join(name)) {
        gone(fs::remove_dir_all(&folder), &folder)?;
    }
    for file in RESULT_FILES.into_iter().chain([progress::FILE, "plot.svg"]) {
        let file = directory.join(file);
        gone(fs::remove_file(&file), &file)?;
    }
    Ok(fs::remove_dir(directory).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_lead_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("runs");
        for run in ["a", "b/c", "../outside"] {
            fs::create_dir_all(root.join(run).join("records")).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("outside"), root.join("link")).unwrap();
        assert_eq!(find(&root), ["a", "b/c"]);
        assert!(resolve(&root, "a").is_some() && resolve(&root, "b/c").is_some());
        for name in
            ["", ".", "..", "../outside", "a/../../outside", "/etc", "link", "a\0", "b", "nothing"]
        {
            assert!(resolve(&root, name).is_none(), "{name:?}");
        }
    }

    #[test]
    fn a_folder_with_other_files_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        for run in ["run", "mixed"] {
            for part in ["records", "plans", "failures", "claims", "times", "slurm"] {
                fs::create_dir_all(folder.path().join(run).join(part)).unwrap();
                fs::write(folder.path().join(run).join(part).join("x.json"), "x").unwrap();
            }
            fs::write(folder.path().join(run).join("experiment.json"), "x").unwrap();
        }
        fs::write(folder.path().join("mixed/thesis.tex"), "x").unwrap();
        assert!(remove(&folder.path().join("run")).unwrap());
        assert!(!remove(&folder.path().join("mixed")).unwrap());
        assert!(!folder.path().join("run").exists());
        assert!(folder.path().join("mixed/thesis.tex").exists());
        assert!(!folder.path().join("mixed/records").exists());
    }
}
