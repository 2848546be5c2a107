//! Runs of the experiments of this crate, as they are found on disk.

use std::path::Path;

use remanent_store::cell_name;
use remanent_store::found::{FoundRecord, FoundRun};
use remanent_store::sealed::SealError;
use serde_json::{Value, json};

/// What a run may be of.
const KINDS: [&str; 6] = ["train", "simulate", "bound", "convergence-time", "tempering", "theory"];

/// Looks at a run directory. If its marker is damaged or missing, the keys of the records tell what was
/// run.
pub fn read(directory: &Path) -> Result<FoundRun, SealError> {
    FoundRun::read(directory, rebuilt)
}

/// What the marker of a run must have said, as far as its records tell; none without a record. The order of the cases is that of the names.
fn rebuilt(records: &[FoundRecord]) -> Option<(String, Value)> {
    let first = records.first()?;
    let kind = KINDS.into_iter().find(|kind| cell_name(kind, &first.key) == first.name)?;
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
    Some((kind.to_owned(), config))
}
