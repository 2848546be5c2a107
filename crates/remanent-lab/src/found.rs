//! A run directory as it is found by whoever only looks at it: nothing is locked, and nothing is
//! changed, so that a run under way can be looked at as well.
//!
//! If the marker is damaged or missing, the records tell by their keys what was run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::atomic;
use crate::cell::{CHECKPOINTS, Entry, MODELS, RECORDS, cell_name};
use crate::sealed::{self, SealError};
use crate::store::{MARKER, Marker};

/// What is in a run directory.
#[derive(Debug)]
pub struct FoundRun {
    /// The directory.
    pub directory: PathBuf,
    /// What was run: `train`, `simulate`.
    pub kind: String,
    /// What its cells have in common.
    pub config: Value,
    /// The cells that are done, sorted by the names of their files.
    pub records: Vec<FoundRecord>,
    /// Checkpoints of cells that are not done.
    pub checkpoints: Vec<PathBuf>,
    /// The marker and records that cannot be used.
    pub damaged: Vec<SealError>,
}

/// What a run may be of.
const KINDS: [&str; 5] = ["train", "simulate", "bound", "convergence-time", "theory"];

/// A cell that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundRecord {
    /// Everything it depends on.
    pub key: Value,
    /// What it came to.
    pub value: Value,
    /// The file of its model, which need not be there.
    pub model: PathBuf,
}

impl FoundRun {
    /// Looks at a directory.
    pub fn read(directory: &Path) -> Result<Self, SealError> {
        let marker = sealed::read::<Marker>(&directory.join(MARKER), "experiment");
        let (mut records, mut damaged, mut done) = (Vec::new(), Vec::new(), Vec::new());
        for path in files(&directory.join(RECORDS), &[".json"])? {
            let stem = path.file_stem().unwrap_or_default().to_owned();
            match sealed::read::<Entry<Value, Value>>(&path, "record") {
                Ok(Entry { key, value }) => {
                    let model = directory.join(MODELS).join(&stem).with_extension("safetensors");
                    records.push(FoundRecord { key, value, model });
                    done.push(stem);
                }
                Err(error) => damaged.push(error),
            }
        }
        let mut checkpoints = files(&directory.join(CHECKPOINTS), &[".json", ".safetensors"])?;
        checkpoints.retain(|path| !done.iter().any(|stem| path.file_stem() == Some(stem)));
        let marker = match marker {
            Ok(marker) => marker,
            Err(error @ SealError::File(_)) => return Err(error),
            Err(error) => match rebuilt(&records, &done) {
                None => return Err(error),
                Some(marker) => {
                    damaged.insert(0, error);
                    marker
                }
            },
        };
        let (directory, Marker { kind, config }) = (directory.to_owned(), marker);
        Ok(Self { directory, kind, config, records, checkpoints, damaged })
    }
}

/// What the marker of a run must have said, as far as its records tell; none without a record. `names`
/// are those of the records. The order of the cases is that of the names.
fn rebuilt(records: &[FoundRecord], names: &[OsString]) -> Option<Marker> {
    let (first, name) = (records.first()?, names.first()?.to_str()?);
    let kind = KINDS.into_iter().find(|kind| cell_name(kind, &first.key) == name)?;
    let mut cases: Vec<(&Value, &Value)> = Vec::new();
    for key in records.iter().map(|record| &record.key) {
        let inner = ["training", "simulation", "study"].iter().find_map(|part| key.get(part));
        let case = (inner.unwrap_or(key), &key["data"]);
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    let (cases, data): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let mut config = json!({"cases": cases});
    if first.key["seed"].is_u64() {
        config["seed"] = first.key["seed"].clone();
    }
    if data.iter().any(|data| data.is_object()) {
        let of = |data: &Value| if data.is_object() { data.clone() } else { json!({}) };
        config["data"] = data.into_iter().map(of).collect();
    }
    Some(Marker { kind: kind.to_owned(), config })
}

/// The files of a folder with one of the ends, sorted; none if there is no such folder.
fn files(folder: &Path, ends: &[&str]) -> Result<Vec<PathBuf>, SealError> {
    let mut names = atomic::names(folder)?;
    names.sort();
    names.retain(|name| name.to_str().is_some_and(|name| ends.iter().any(|e| name.ends_with(e))));
    Ok(names.iter().map(|name| folder.join(name)).collect())
}
