//! A run directory as it is found by whoever only looks at it: nothing is locked, and nothing is
//! changed, so that a run under way can be looked at as well.
//!
//! If the marker is damaged or missing, the keys of the records tell what was run.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cell::{CHECKPOINTS, Entry, MODELS, RECORDS};
use crate::layout::{self, Layout};
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
        let (mut records, mut damaged, mut done) = (Vec::new(), Vec::new(), HashSet::new());
        let layout = Layout::of(directory, 0);
        for path in layout::list(&directory.join(RECORDS), &[".json"])? {
            let stem = path.file_stem().unwrap_or_default().to_owned();
            match sealed::read::<Entry<Value, Value>>(&path, "record") {
                Ok(Entry { key, value }) => {
                    let name = stem.to_string_lossy().into_owned();
                    let model = layout.path(MODELS, &name, ".safetensors");
                    records.push(FoundRecord { name, key, value, model });
                    done.insert(stem);
                }
                Err(error) => damaged.push(error),
            }
        }
        let ends = [".json", ".safetensors"];
        let mut checkpoints = layout::list(&directory.join(CHECKPOINTS), &ends)?;
        checkpoints.retain(|path| path.file_stem().is_none_or(|stem| !done.contains(stem)));
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
