//! The trials of a training as they are found in its run directory, and their models.

use std::path::{Path, PathBuf};
use std::{fs, io};

use remanent_network::model;
use remanent_store::ModelFault;
use remanent_store::files::FileError;
use remanent_store::found::FoundRun;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::training::history::TrialRecord;

/// A case, and its trials that are done.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundCase {
    /// Everything that is set.
    pub config: Value,
    /// In their order.
    pub trials: Vec<FoundTrial>,
}

/// A trial that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTrial {
    /// Its number, from 0.
    pub trial: u32,
    /// Everything it depends on, which its model carries as well.
    pub key: Value,
    /// What it came to.
    pub record: TrialRecord,
    /// The file of its model.
    pub model: PathBuf,
}

/// The cases of a run of `train`, in their order. Fails, with a reason, for a run of another kind.
pub fn found_cases(run: &FoundRun) -> Result<Vec<FoundCase>, String> {
    let directory = run.directory.display();
    if run.kind != "train" {
        return Err(format!("{directory} holds a run of '{}', not of 'train'", run.kind));
    }
    let configs = run.config["cases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut cases: Vec<FoundCase> = configs
        .iter()
        .map(|config| FoundCase { config: config.clone(), trials: Vec::new() })
        .collect();
    for found in &run.records {
        // What an earlier program left under other settings is none of these cases.
        let of = |index: &usize| {
            let data = &run.config["data"];
            let own = data.get(index).filter(|own| **own != json!({}));
            configs[*index] == found.key["training"]
                && (data.is_null() || own.unwrap_or(&json!([])) == &found.key["data"])
        };
        let case = (0..configs.len()).find(of).and_then(|index| cases.get_mut(index));
        let trial = found.key["trial"].as_u64().and_then(|trial| u32::try_from(trial).ok());
        let (Some(case), Some(trial)) = (case, trial) else { continue };
        let record = TrialRecord::deserialize(&found.value)
            .map_err(|error| format!("a record of {directory} cannot be read: {error}"))?;
        let (key, model) = (found.key.clone(), found.model.clone());
        case.trials.push(FoundTrial { trial, key, record, model });
    }
    cases.iter_mut().for_each(|case| case.trials.sort_by_key(|trial| trial.trial));
    Ok(cases)
}

impl FoundTrial {
    /// Fails unless the model of this trial is there.
    pub fn check_model(&self) -> Result<(), ModelFault> {
        check_model(&self.model, &self.key)
    }
}

/// Fails unless the file holds the model of the trial with this key. A model carries the key of the
/// trial that it comes from.
pub(crate) fn check_model(path: &Path, key: &Value) -> Result<(), ModelFault> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ModelFault::Missing(path.to_owned()));
        }
        bytes => bytes.map_err(FileError::new("read", path))?,
    };
    let unusable = |reason| ModelFault::Unusable { path: path.to_owned(), reason };
    let (_, provenance) = model::decode(&bytes).map_err(|error| unusable(error.to_string()))?;
    if provenance == *key {
        return Ok(());
    }
    let of = |key: &Value| format!("trial {} of seed {}", key["trial"], key["seed"]);
    let (there, wanted) = (of(&provenance), of(key));
    Err(unusable(if there == wanted {
        format!("it is the model of {there} of another training")
    } else {
        format!("it is the model of {there}, not of {wanted}")
    }))
}
