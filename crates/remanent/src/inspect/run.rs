//! A run directory: its settings, what is done, and what came of it.

use std::fs;
use std::path::Path;

use remanent_lab::plan;
use remanent_lab::runs::RESULT_FILES;
use remanent_lab::training::{
    self, FoundCase, FoundTrial, TrainingSummary, TrialRecord, matrix_table, summary_table,
};
use remanent_network::predictor::Predictor;
use remanent_plot::Figure;
use remanent_store::found::FoundRun;
use serde_json::{Value, json};

use super::{Facts, Findings, checkpoint, settings, simulation};
use crate::model::{self, MAKE_AGAIN};
use crate::output;

/// A case with the summary of its trials, if one is done.
struct Case {
    label: String,
    found: FoundCase,
    summary: Option<TrainingSummary>,
}

/// What a run directory holds.
pub fn look(directory: &Path, quiet: bool) -> anyhow::Result<Findings> {
    let run = model::read_run(directory)?;
    for error in &run.damaged {
        output::say(&format!("damaged: {error}"));
    }
    let under_way: Vec<Value> = run.checkpoints.iter().map(|path| under_way(path)).collect();
    let cases = if run.kind == "train" { cases(&run)? } else { Vec::new() };
    let mut damaged: Vec<String> = run.damaged.iter().map(ToString::to_string).collect();
    for error in cases.iter().flat_map(|case| &case.found.trials).filter_map(model_fault) {
        output::say(&format!("damaged: {error}"));
        damaged.push(error);
    }
    let files = RESULT_FILES.into_iter().chain(["tensorboard"]).map(|name| directory.join(name));
    let files: Vec<_> = files.filter(|path| path.exists()).collect();
    let mut data = json!({
        "kind": "run",
        "path": directory,
        "experiment": run.kind,
        "config": run.config,
        "done": run.records.len(),
        "under_way": under_way,
        "damaged": damaged,
        "files": files,
    });
    let mut facts = Facts::default();
    facts.put("directory", directory.display());
    facts.put("kind", format!("run of {}", run.kind));
    facts.put("done", run.records.len());
    facts.put("under way", run.checkpoints.len());
    for place in under_way.iter().filter(|place| place["task"].is_u64()) {
        let value = format!("task {}, epochs done {}", place["task"], place["epoch"]);
        facts.put(format!("trial {}", place["trial"]), value);
    }
    if !damaged.is_empty() {
        facts.put("damaged or missing", damaged.len());
    }
    for path in &files {
        facts.put("file", path.display());
    }
    let is_sound = damaged.is_empty();
    if run.kind == "simulate" {
        return simulation::look(&run, data, facts, is_sound, quiet);
    }
    if run.kind != "train" {
        facts.put_object(&run.config);
        let figure = Err(format!("{} draws its own plots", run.kind));
        let tables = vec![facts.table("run")];
        return Ok(Findings { data, tables, main: 0, figure, is_sound });
    }

    for (number, case) in cases.iter().enumerate().filter(|_| cases.len() > 1) {
        facts.put(format!("case {}", number + 1), &case.label);
    }
    for trial in cases.iter().flat_map(|case| &case.found.trials) {
        facts.put(format!("model of trial {}", trial.trial), trial.model.display());
    }
    data["cases"] = cases.iter().map(Case::json).collect();
    let mut tables = vec![facts.table("run")];
    if let [case] = &cases[..] {
        tables.extend(settings(&case.found.config));
    }
    let named: Vec<(&str, &TrainingSummary)> = cases
        .iter()
        .filter_map(|case| Some((case.label.as_str(), case.summary.as_ref()?)))
        .collect();
    let figure: Result<Figure, String> = if named.is_empty() {
        output::remark(quiet, "note: no trial is done; the same remanent train continues");
        Err("no trial is done".into())
    } else {
        tables.push(matrix_table(&named, Predictor::Stochastic));
        tables.push(matrix_table(&named, Predictor::Hard));
        tables.push(summary_table(&named));
        Ok(training::figure(&named, None))
    };
    let main = if named.is_empty() { 0 } else { tables.len() - 1 };
    Ok(Findings { data, tables, main, figure, is_sound })
}

/// What is wrong with the model of a trial, and what to do about it.
fn model_fault(trial: &FoundTrial) -> Option<String> {
    trial.check_model().err().map(|error| format!("{error}; {MAKE_AGAIN}"))
}

/// Where a cell under way stood, as far as its checkpoint tells.
fn under_way(path: &Path) -> Value {
    let found = fs::read(path).ok().and_then(|bytes| checkpoint::look(path, &bytes).ok());
    let Some(found) = found else { return json!({"path": path}) };
    let at = |key: &str| found.data[key].clone();
    let (task, epoch, steps) = (at("task"), at("epoch"), at("steps"));
    let trial = &found.data["story"]["trial"];
    json!({"path": path, "trial": trial, "task": task, "epoch": epoch, "steps": steps})
}

fn cases(run: &FoundRun) -> anyhow::Result<Vec<Case>> {
    let found = training::found_cases(run).map_err(anyhow::Error::msg)?;
    let configs: Vec<Value> = found.iter().map(|case| case.config.clone()).collect();
    let labels = plan::labels(&configs);
    let case = |(number, found): (usize, FoundCase)| {
        let records: Vec<TrialRecord> =
            found.trials.iter().map(|trial| trial.record.clone()).collect();
        Case { label: labels[number].clone(), summary: training::summarise(&records), found }
    };
    Ok(found.into_iter().enumerate().map(case).collect())
}

impl Case {
    fn json(&self) -> Value {
        let trial = |trial: &FoundTrial| json!({"trial": trial.trial, "model": trial.model, "steps": trial.record.steps});
        json!({
            "label": self.label,
            "config": self.found.config,
            "trials": self.found.trials.iter().map(trial).collect::<Vec<_>>(),
            "summary": self.summary,
        })
    }
}
