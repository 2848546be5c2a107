//! Cells that cannot be computed: `failures/<cell>.json` says why.
//!
//! A shard goes on with other cells when one fails, and nobody tries it again until the file is
//! removed: a cell depends on its key only, and would fail again. A run without `--shard` does try.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::{self, FileError};
use crate::sealed;

/// The folder of the failures.
pub(crate) const FAILURES: &str = "failures";

/// Why a cell has no record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The name of the cell.
    pub cell: String,
    /// The key of the cell.
    pub key: Value,
    /// What it says.
    pub reason: String,
    /// The worker that tried it.
    pub worker: String,
}

/// Keeps a failure.
pub(crate) fn keep(directory: &Path, failure: &Failure) -> Result<(), FileError> {
    let path = directory.join(FAILURES).join(format!("{}.json", failure.cell));
    sealed::create(&path, "failure", failure, false).map(|_| ())
}

/// The failures of a run, sorted by cell.
pub(crate) fn read(directory: &Path) -> Result<Vec<Failure>, FileError> {
    let folder = directory.join(FAILURES);
    let names = files::names(&folder)?;
    let failures = names.iter().filter_map(|name| sealed::read(&folder.join(name), "failure").ok());
    let mut failures: Vec<Failure> = failures.collect();
    failures.sort_by(|a, b| a.cell.cmp(&b.cell));
    Ok(failures)
}

/// Forgets the failure of a cell.
pub(crate) fn forget(directory: &Path, cell: &str) -> Result<(), FileError> {
    files::remove(&directory.join(FAILURES).join(format!("{cell}.json")))
}

/// Forgets the failures of a run, and says how many there were.
pub fn retry(directory: &Path) -> Result<usize, FileError> {
    let failures = read(directory)?;
    failures.iter().try_for_each(|failure| forget(directory, &failure.cell))?;
    let _ = std::fs::remove_dir(directory.join(FAILURES));
    Ok(failures.len())
}
