//! The trials of a training as they are found in its run directory.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::found::FoundRun;
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
        let case = cases.iter_mut().find(|case| case.config == found.key["training"]);
        let trial = found.key["trial"].as_u64().and_then(|trial| u32::try_from(trial).ok());
        let (Some(case), Some(trial)) = (case, trial) else { continue };
        let record = TrialRecord::deserialize(&found.value)
            .map_err(|error| format!("a record of {directory} cannot be read: {error}"))?;
        case.trials.push(FoundTrial { trial, record, model: found.model.clone() });
    }
    cases.iter_mut().for_each(|case| case.trials.sort_by_key(|trial| trial.trial));
    Ok(cases)
}
