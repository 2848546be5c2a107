//! What came of a run so far: the summaries of its cases, the numbers of the cells under way, and the theory
//! beside simulations.

use std::fs;
use std::path::Path;

use remanent_network::tensors::Tensors;
use remanent_store::found::FoundRun;
use remanent_store::sealed::{self, SealError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::Table;

use crate::plan;
use crate::simulation::{self, CaseSummary, Comparison, Simulation, TheoryChoice};
use crate::training::{self, TrainingSummary};

/// What came of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// Case by case, in the order of the configuration.
    pub cases: Vec<CaseResults>,
}

/// What came of a case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResults {
    /// In what it differs from the other cases.
    pub label: String,
    /// Everything that is set.
    pub config: Value,
    /// Trials with a record.
    pub trials: usize,
    /// Trials that diverged; they are in no mean.
    pub diverged: usize,
    /// Means over the trials of a training.
    pub training: Option<TrainingSummary>,
    /// Means over the trials of a simulation.
    pub simulation: Option<CaseSummary>,
    /// Trials under way.
    pub under_way: Vec<UnderWay>,
}

/// A trial under way, at its last checkpoint.
#[derive(Clone, Debug, Serialize)]
pub struct UnderWay {
    /// Its number, from 0.
    pub trial: Option<u64>,
    /// The rows recorded so far: epochs of a training, moments of a simulation.
    pub rows: Value,
}

/// The results of a run. Fails, with a reason, if a record does not fit the configuration.
pub fn of(run: &FoundRun) -> Result<Results, String> {
    let mut results = match run.kind.as_str() {
        "train" => of_training(run)?,
        "simulate" => of_simulation(run)?,
        _ => Results { cases: of_others(run) },
    };
    for path in &run.checkpoints {
        let Some((case, under_way)) = checkpoint(path) else { continue };
        let of_it = |results: &&mut CaseResults| results.config == case;
        if let Some(case) = results.cases.iter_mut().find(of_it) {
            case.under_way.push(under_way);
        }
    }
    Ok(results)
}

/// Reads a run directory and its results.
pub fn read(directory: &Path) -> Result<(FoundRun, Result<Results, String>), SealError> {
    let run = crate::found::read(directory)?;
    let results = of(&run);
    Ok((run, results))
}

fn configs(run: &FoundRun) -> Vec<Value> {
    let listed = run.config["cases"].as_array().or_else(|| run.config["queries"].as_array());
    listed.cloned().unwrap_or_default()
}

fn empty(run: &FoundRun) -> Vec<CaseResults> {
    let configs = configs(run);
    let labels = plan::labels(&configs);
    let case = |(config, label)| CaseResults {
        label,
        config,
        trials: 0,
        diverged: 0,
        training: None,
        simulation: None,
        under_way: Vec::new(),
    };
    configs.into_iter().zip(labels).map(case).collect()
}

fn of_training(run: &FoundRun) -> Result<Results, String> {
    let mut cases = empty(run);
    for (case, found) in cases.iter_mut().zip(training::found_cases(run)?) {
        let records: Vec<_> = found.trials.into_iter().map(|trial| trial.record).collect();
        case.trials = records.len();
        case.training = training::summarise(&records);
    }
    Ok(Results { cases })
}

fn of_simulation(run: &FoundRun) -> Result<Results, String> {
    let mut cases = empty(run);
    for case in &mut cases {
        let own = run.records.iter().filter(|found| found.key["simulation"] == case.config);
        let mut trials: Vec<(u64, simulation::TrialRecord)> = Vec::new();
        for found in own {
            let record = simulation::TrialRecord::deserialize(&found.value).map_err(|error| {
                format!("a record of {} cannot be read: {error}", run.directory.display())
            })?;
            trials.push((found.key["trial"].as_u64().unwrap_or_default(), record));
        }
        trials.sort_by_key(|(trial, _)| *trial);
        let records: Vec<_> = trials.into_iter().map(|(_, record)| record).collect();
        case.trials = records.len();
        case.diverged = simulation::divergence(&records).map_or(0, |(_, count)| count);
        case.simulation = simulation::summarise(&records);
    }
    Ok(Results { cases })
}

/// Runs whose records have no means over trials.
fn of_others(run: &FoundRun) -> Vec<CaseResults> {
    let mut cases = empty(run);
    for case in &mut cases {
        let own = |key: &Value| {
            *key == case.config || ["study", "query"].iter().any(|part| key[part] == case.config)
        };
        case.trials = run.records.iter().filter(|found| own(&found.key)).count();
    }
    cases
}

/// The case of a checkpoint, and what it has recorded.
fn checkpoint(path: &Path) -> Option<(Value, UnderWay)> {
    #[derive(Deserialize)]
    struct Entry {
        key: Value,
        value: Value,
    }
    let (key, rows) = if path.extension().is_some_and(|extension| extension == "json") {
        let mut entry = sealed::read::<Entry>(path, "checkpoint").ok()?;
        // Seconds and state.
        (entry.key, entry.value[1]["rows"].take())
    } else {
        let (mut about, _) = Tensors::decode(&fs::read(path).ok()?, "checkpoint").ok()?;
        (about["key"].take(), about["state"]["record"]["epochs"].take())
    };
    let case = ["training", "simulation", "study"].iter().find_map(|part| key.get(part))?;
    let trial = key["trial"].as_u64();
    Some((case.clone(), UnderWay { trial, rows }))
}

/// The theory beside a case of a simulation. Fails, with a reason, if the theory has nothing to say about it.
pub fn compared(case: &CaseResults, theory_beta: Option<f64>) -> Result<Vec<Comparison>, String> {
    let summary = case.simulation.as_ref().ok_or("no trial is done")?;
    let mut simulation = simulation_of(&case.config)?;
    if let Some(beta) = theory_beta {
        simulation.theory_beta = beta;
    }
    simulation::compare(&simulation, summary, TheoryChoice::default())
        .map_err(|error| error.to_string())
}

/// The simulation that a record key describes. It is read as a configuration is, and must come to the same
/// key.
pub fn simulation_of(key: &Value) -> Result<Simulation, String> {
    let mut table = Table::new();
    for (name, value) in key.as_object().into_iter().flatten() {
        if name != "revision" && !value.is_null() {
            let value = toml::Value::try_from(value).map_err(|error| error.to_string())?;
            table.insert(name.clone(), value);
        }
    }
    let simulation = Simulation::from_table(&table).map_err(|error| error.to_string())?;
    if simulation.key() == *key {
        Ok(simulation)
    } else {
        Err("the run is of another version of the program".into())
    }
}

/// A value of a configuration by its key, `alpha.2` for an entry of a list.
pub fn setting<'a>(config: &'a Value, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        None => config.get(key),
        Some((name, entry)) => config.get(name)?.get(entry.parse::<usize>().ok()?.checked_sub(1)?),
    }
}

/// What differs between configurations: the key, and the value in each.
pub fn differences(configs: &[&Value]) -> Vec<(String, Vec<Value>)> {
    let mut keys: Vec<&String> =
        configs.iter().filter_map(|config| config.as_object()).flat_map(|all| all.keys()).collect();
    keys.sort();
    keys.dedup();
    let of = |key: &String| {
        let values: Vec<Value> = configs.iter().map(|config| config[key].clone()).collect();
        (key.clone(), values)
    };
    keys.into_iter().map(of).filter(|(_, values)| values.iter().any(|v| *v != values[0])).collect()
}
