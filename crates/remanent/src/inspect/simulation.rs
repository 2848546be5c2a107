//! A run of `simulate`: its cases, the means over the trials that are done, and how far the others are.

use remanent_lab::plan;
use remanent_lab::runs::progress::Progress;
use remanent_lab::runs::results::{self, CaseResults};
use remanent_lab::simulation::{self, Drawn, Named, Simulation};
use remanent_plot::Figure;
use remanent_store::found::FoundRun;
use serde_json::{Value, json};

use super::{Facts, Findings, settings};
use crate::output;

/// Rows of a table over time.
const SHOWN_ROWS: usize = 12;

/// What the run came to. `data` and `facts` are what every run has.
pub fn look(
    run: &FoundRun,
    mut data: Value,
    mut facts: Facts,
    is_sound: bool,
    quiet: bool,
) -> anyhow::Result<Findings> {
    let results = results::of(run).map_err(anyhow::Error::msg)?;
    let cases = &results.cases;
    if let Some(progress) = Progress::read(&run.directory) {
        let text = format!("{} of {} {}", progress.done, progress.total, progress.unit);
        facts.put("work of the last command", text);
    }
    for (number, case) in cases.iter().enumerate() {
        let trials = match case.diverged {
            0 => case.trials.to_string(),
            diverged => format!("{} ({diverged} diverged)", case.trials),
        };
        if cases.len() > 1 {
            facts.put(format!("case {}", number + 1), &case.label);
            facts.put(format!("trials of case {}", number + 1), trials);
        } else {
            facts.put("trials", trials);
        }
        for trial in &case.under_way {
            let epoch = trial.rows.as_array().and_then(|rows| rows.last()).map(|row| &row["epoch"]);
            if let (Some(number), Some(epoch)) = (trial.trial, epoch) {
                facts.put(format!("trial {number}"), format!("under way, epoch {epoch}"));
            }
        }
    }
    data["cases"] = cases.iter().map(shown).collect();
    let mut tables = vec![facts.table("run")];
    if let [case] = &cases[..] {
        tables.extend(settings(&case.config));
    }
    let named: Vec<Named<'_>> = cases
        .iter()
        .filter_map(|case| Some((case.label.as_str(), case.simulation.as_ref()?)))
        .collect();
    if named.is_empty() {
        output::remark(quiet, "note: no trial is done; the same remanent simulate continues");
        let figure = Err("no trial is done".into());
        return Ok(Findings { data, tables, main: 0, figure, is_sound });
    }
    if cases.len() == 1 {
        tables.push(simulation::row_table(&named, Some(SHOWN_ROWS)));
    }
    let main = tables.len();
    tables.push(simulation::end_table(&named));
    tables.extend(simulation::sampling_table(&named));
    Ok(Findings { data, tables, main, figure: figure(cases), is_sound })
}

fn shown(case: &CaseResults) -> Value {
    json!({
        "label": case.label,
        "config": case.config,
        "trials": case.trials,
        "diverged": case.diverged,
        "summary": case.simulation,
        "under_way": case.under_way,
    })
}

/// The figure of `remanent simulate`, as far as trials are done.
fn figure(cases: &[CaseResults]) -> Result<Figure, String> {
    let configs: Vec<Value> = cases.iter().map(|case| case.config.clone()).collect();
    let described = plan::cases_of(&configs);
    let simulations: Vec<Simulation> =
        configs.iter().map(results::simulation_of).collect::<Result<_, _>>()?;
    let drawn: Vec<Drawn<'_>> = cases
        .iter()
        .zip(&described)
        .zip(&simulations)
        .filter_map(|((results, case), simulation)| {
            let summary = results.simulation.as_ref()?;
            Some(Drawn { case, simulation, summary, comparison: &[] })
        })
        .collect();
    Ok(simulation::figure(&drawn, cases.len() > 1, None))
}
