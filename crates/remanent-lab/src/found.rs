//! Runs of the experiments of this crate, as they are found on disk.

use std::path::Path;

use remanent_store::cell_name;
use remanent_store::found::{FoundRecord, FoundRun};
use remanent_store::sealed::SealError;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::plan;
use crate::simulation;
use crate::training;

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

/// The cases of a run, in their order, as reports have them, with the trials that are done: `label`,
/// `config`, `trials`, and for simulations and trainings the summary of the trials.
pub fn cases(run: &FoundRun) -> Result<Vec<Value>, String> {
    let configs = run.config["cases"].as_array().cloned().unwrap_or_default();
    let labels = plan::labels(&configs);
    let mut cases = Vec::new();
    for (number, (config, label)) in configs.iter().zip(labels).enumerate() {
        let mut found: Vec<&FoundRecord> =
            run.records.iter().filter(|record| is_of(run, record, number, config)).collect();
        found.sort_by_key(|record| record.key["trial"].as_u64());
        let mut case = summary(run, &found)?;
        case["label"] = label.into();
        case["config"] = config.clone();
        case["trials"] = found
            .iter()
            .map(|found| json!({"trial": found.key["trial"], "record": found.value}))
            .collect();
        if run.kind == "train" {
            let models = found.iter().map(|found| found.model.display().to_string());
            case["models"] = models.collect();
        }
        cases.push(case);
    }
    Ok(cases)
}

/// Whether a record is one of a case.
fn is_of(run: &FoundRun, found: &FoundRecord, number: usize, config: &Value) -> bool {
    let key = &found.key;
    let inner = ["training", "simulation", "study"].iter().find_map(|part| key.get(part));
    let data = &run.config["data"];
    let own = data.get(number).filter(|own| **own != json!({}));
    inner == Some(config) && (data.is_null() || own.unwrap_or(&json!([])) == &key["data"])
}

/// What the trials of a case came to.
fn summary(run: &FoundRun, found: &[&FoundRecord]) -> Result<Value, String> {
    Ok(match run.kind.as_str() {
        "train" => training::summarise(&records(run, found)?).map_or(json!({}), |case| json!(case)),
        "simulate" => match simulation::summarise(&records(run, found)?) {
            None => json!({}),
            Some(case) => {
                let mut last = json!(case.ends.last());
                last["tasks"] = json!(case.ends);
                json!({"rows": case.rows, "final": last})
            }
        },
        _ => json!({}),
    })
}

fn records<T: DeserializeOwned>(run: &FoundRun, found: &[&FoundRecord]) -> Result<Vec<T>, String> {
    let unreadable =
        |error| format!("a record of {} cannot be read: {error}", run.directory.display());
    let read = |found: &&FoundRecord| T::deserialize(&found.value).map_err(unreadable);
    found.iter().map(read).collect()
}
