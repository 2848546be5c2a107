//! A run directory as it is found by whoever only looks at it: nothing is locked, and nothing is
//! changed, so that a run under way can be looked at as well.
//!
//! If the marker is damaged or missing, the keys of the records tell what was run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cell::{CHECKPOINTS, Entry, MODELS, RECORDS};
use crate::files;
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

/// A cell that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundRecord {
    /// The name of the cell.
    pub name: String,
    /// Everything it depends on.
    pub key: Value,
    /// What it came to.
    pub value: Value,
    /// The file of its model, which need not be there.
    pub model: PathBuf,
}

impl FoundRun {
    /// Looks at a directory. `rebuild` is called if the marker cannot be used: it gives kind and
    /// configuration of the run as far as the records tell.
    pub fn read(
        directory: &Path,
        rebuild: impl FnOnce(&[FoundRecord]) -> Option<(String, Value)>,
    ) -> Result<Self, SealError> {
        let marker = sealed::read::<Marker>(&directory.join(MARKER), "experiment");
        let (mut records, mut damaged, mut done) = (Vec::new(), Vec::new(), Vec::new());
        for path in list(&directory.join(RECORDS), &[".json"])? {
            let stem = path.file_stem().unwrap_or_default().to_owned();
            match sealed::read::<Entry<Value, Value>>(&path, "record") {
                Ok(Entry { key, value }) => {
                    let model = directory.join(MODELS).join(&stem).with_extension("safetensors");
                    let name = stem.to_string_lossy().into_owned();
                    records.push(FoundRecord { name, key, value, model });
                    done.push(stem);
                }
                Err(error) => damaged.push(error),
            }
        }
        let mut checkpoints = list(&directory.join(CHECKPOINTS), &[".json", ".safetensors"])?;
        checkpoints.retain(|path| !done.iter().any(|stem| path.file_stem() == Some(stem)));
        let (kind, config) = match marker {
            Ok(Marker { kind, config }) => (kind, config),
            Err(error @ SealError::File(_)) => return Err(error),
            Err(error) => match rebuild(&records) {
                None => return Err(error),
                Some(rebuilt) => {
                    damaged.insert(0, error);
                    rebuilt
                }
            },
        };
        let directory = directory.to_owned();
        Ok(Self { directory, kind, config, records, checkpoints, damaged })
    }
}

/// The files of a folder with one of the ends, sorted; none if there is no such folder.
fn list(folder: &Path, ends: &[&str]) -> Result<Vec<PathBuf>, SealError> {
    let mut names = files::names(folder)?;
    names.sort();
    names.retain(|name| name.to_str().is_some_and(|name| ends.iter().any(|e| name.ends_with(e))));
    Ok(names.iter().map(|name| folder.join(name)).collect())
}
