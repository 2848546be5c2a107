//! Runs as they are found on disk.

use std::path::PathBuf;

use pyo3::prelude::*;
use remanent_lab::found;
use remanent_store::sealed::SealError;
use serde_json::json;

use crate::convert;
use crate::fault::Fault;

/// What a run directory holds: kind, configuration, cases with their trials, and damaged files. Nothing is
/// locked or changed.
#[pyfunction]
pub fn load_run(py: Python<'_>, directory: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let shown = directory.display();
    let run = found::read(&directory).map_err(|error| match error {
        SealError::Missing(_) => Fault::missing(format!(
            "{shown} is not a run directory: it has no experiment.json; give the --out of remanent \
             train or simulate"
        )),
        error => Fault::failure(error),
    })?;
    let cases = found::cases(&run).map_err(Fault::failure)?;
    let damaged: Vec<String> = run.damaged.iter().map(ToString::to_string).collect();
    let found = json!({
        "kind": run.kind,
        "config": run.config,
        "cases": cases,
        "under_way": run.checkpoints.len(),
        "damaged": damaged,
    });
    convert::object(py, &found)
}
