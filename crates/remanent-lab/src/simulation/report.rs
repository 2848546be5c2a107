//! What is shown of a simulation.

use remanent_perceptron::randomness;
use remanent_plot::{Figure, Table};
use serde::Serialize;
use serde_json::{Value, json};
use toml::Table as Config;

use crate::experiment::{Computed, Detail, Error, Experiment, Note, Report, Resources};
use crate::plan::Case;
use crate::simulation::{
    self, CaseSummary, Comparison, Drawn, Learner, Named, Simulation, SimulationOptions,
    SimulationView, SummaryRow, TaskEnd, TheoryChoice, Trial, TrialRecord,
};

impl Experiment for Simulation {
    const NAME: &'static str = "simulate";
    const UNIT: &'static str = "pattern visits";

    type Options = SimulationOptions;
    type View = SimulationView;
    type Material = ();
    type Record = TrialRecord;
    type Cell<'a> = Trial<'a>;
    type Report = SimulationReport;

    fn read(table: &Config) -> Result<Self, Error> {
        Ok(Self::from_table(table)?)
    }

    fn prepare(cases: &[Self], _resources: &Resources) -> Result<Vec<()>, Error> {
        Ok(vec![(); cases.len()])
    }

    fn cell<'a>(&'a self, _material: &'a (), trial: randomness::Trial) -> Trial<'a> {
        Trial { simulation: self, trial }
    }

    fn to_json(&self) -> Value {
        self.key()
    }

    fn report(run: Computed<'_, Self>, view: &SimulationView) -> Result<SimulationReport, Error> {
        Ok(SimulationReport::new(&run, view))
    }
}

/// What is shown of a simulation.
pub struct SimulationReport {
    cases: Vec<CaseReport>,
    title: Option<String>,
    is_scanned: bool,
    wall_seconds: f64,
}

struct CaseReport {
    case: Case,
    config: Value,
    simulation: Simulation,
    /// None if every trial diverged.
    summary: Option<CaseSummary>,
    /// The earliest epoch in which a trial diverged, and how many did.
    diverged: Option<(usize, usize)>,
    comparison: Option<Result<Vec<Comparison>, String>>,
    seconds: Option<f64>,
    epochs: usize,
}

impl SimulationReport {
    fn new(run: &Computed<'_, Simulation>, view: &SimulationView) -> Self {
        let plan = &run.prepared.plan;
        let trials = run.cells.records.chunks(plan.seeds).zip(run.cells.seconds.chunks(plan.seeds));
        let cases = plan.cases.iter().zip(&run.prepared.cases).zip(trials);
        let cases = cases.map(|((case, simulation), (records, seconds))| {
            let summary = simulation::summarise(records);
            let comparison = view.compare.map(|_| {
                let choice = TheoryChoice { branch: view.branch };
                let compare = |summary| simulation::compare(simulation, summary, choice);
                let compared = summary.as_ref().map_or(Ok(Vec::new()), compare);
                compared.map_err(|error| error.to_string())
            });
            let mut config = simulation.key();
            config["seed"] = plan.seed.into();
            config["seeds"] = plan.seeds.into();
            if view.compare.is_some() && matches!(simulation.learner, Learner::Gradient(_)) {
                config["theory_beta"] = simulation.theory_beta.into();
            }
            let trials = plan.trials().map(|trial| Trial { simulation, trial });
            CaseReport {
                case: case.clone(),
                config,
                simulation: simulation.clone(),
                summary,
                diverged: simulation::divergence(records),
                comparison,
                seconds: seconds.iter().copied().sum(),
                epochs: trials.map(|trial| trial.epochs()).sum(),
            }
        });
        Self {
            cases: cases.collect(),
            title: plan.title.clone(),
            is_scanned: plan.scanned,
            wall_seconds: run.cells.wall_seconds,
        }
    }
}

/// One case in JSON.
#[derive(Serialize)]
struct CaseJson<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'a str,
    config: &'a Value,
    rows: &'a [SummaryRow],
    /// Null if every trial diverged.
    r#final: Option<FinalJson<'a>>,
    /// Trials that diverged; they are in no mean.
    diverged: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a [Comparison]>,
    /// Time of all trials, each on one thread; null if it is not known.
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epochs_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_samples_per_second: Option<f64>,
    /// Time of this run.
    wall_seconds: f64,
}

#[derive(Serialize)]
struct FinalJson<'a> {
    #[serde(flatten)]
    last: &'a TaskEnd,
    tasks: &'a [TaskEnd],
}

/// Rows of a table over time that a terminal shows.
const SHOWN_ROWS: usize = 12;

impl CaseReport {
    fn comparison(&self) -> Option<&[Comparison]> {
        self.comparison.as_ref().map(|compared| compared.as_deref().unwrap_or_default())
    }

    fn json(&self, wall_seconds: f64) -> Value {
        let summary = self.summary.as_ref();
        let ends = summary.map_or(&[][..], |summary| &summary.ends);
        let gradient = matches!(self.simulation.learner, Learner::Gradient(_));
        let samples: f64 = ends
            .iter()
            .filter_map(|end| Some(end.sampled?.mean_effective_samples * end.r.count as f64))
            .sum();
        let per_second = |amount: f64| self.seconds.map(|seconds| amount / seconds);
        json!(CaseJson {
            label: &self.case.label(),
            config: &self.config,
            rows: summary.map_or(&[], |summary| &summary.rows),
            r#final: ends.last().map(|last| FinalJson { last, tasks: ends }),
            diverged: self.diverged.map_or(0, |(_, count)| count),
            comparison: self.comparison(),
            seconds: self.seconds,
            epochs_per_second: per_second(self.epochs as f64).filter(|_| gradient),
            effective_samples_per_second: per_second(samples).filter(|_| !gradient),
            wall_seconds,
        })
    }

    /// ` at gamma = 0.1`, or nothing if there is one case.
    fn place(&self) -> String {
        match self.case.label() {
            label if label.is_empty() => label,
            label => format!(" at {label}"),
        }
    }

    fn unmixed(&self) -> usize {
        self.summary.as_ref().map_or(0, CaseSummary::unmixed)
    }

    /// Rows of the comparison without a solution of the theory, if there is a comparison.
    fn uncompared(&self) -> Option<usize> {
        let comparison = self.comparison()?;
        let missing = comparison.iter().filter(|row| row.theory.is_none()).count();
        (missing > 0 || comparison.is_empty()).then_some(missing)
    }

    fn notes(&self) -> Vec<Note> {
        let at = self.place();
        let mut notes = Vec::new();
        let mut add = |always, text| notes.push(Note { text, always });
        if let Some(Err(error)) = &self.comparison {
            add(true, error.clone());
        }
        if let Some((epoch, count)) = self.diverged {
            add(
                true,
                format!(
                    "{count} trials{at} diverged, the first in epoch {epoch}, and are excluded from means; \
                     try a smaller --lr"
                ),
            );
        }
        if self.unmixed() > 0 {
            let unmixed = self.unmixed();
            add(
                true,
                format!(
                    "the chains of {unmixed} trials{at} have not mixed (R-hat above 1.1, or fewer \
                     than 50 effective samples): the averages are not in equilibrium; \
                     increase --warmup and --sweeps, or check whether replica symmetry is broken there"
                ),
            );
        }
        if let Some(missing) = self.uncompared() {
            add(false, format!("the theory has no solution{at} for {missing} rows"));
        }
        let trials = self.summary.as_ref().map_or(0, |summary| summary.ends[0].r.count);
        if self.comparison.is_some() && (1..5).contains(&trials) {
            add(false, format!("z-scores of {trials} trials{at} are unreliable"));
        }
        notes
    }
}

impl Report for SimulationReport {
    fn json(&self) -> Value {
        match &self.cases[..] {
            [one] => one.json(self.wall_seconds),
            many => {
                let seconds: Option<f64> = many.iter().map(|case| case.seconds).sum();
                let cases: Vec<Value> =
                    many.iter().map(|case| case.json(self.wall_seconds)).collect();
                json!({"cases": cases, "seconds": seconds, "wall_seconds": self.wall_seconds})
            }
        }
    }

    /// The one full table is that of the comparison, if there is one.
    fn tables(&self, detail: Detail) -> Vec<Table> {
        let labels: Vec<String> = self.cases.iter().map(|case| case.case.label()).collect();
        let labelled = || labels.iter().map(String::as_str).zip(&self.cases);
        let named: Vec<Named> =
            labelled().filter_map(|(label, case)| Some((label, case.summary.as_ref()?))).collect();
        let compared: Vec<(&str, &[Comparison])> =
            labelled().filter_map(|(label, case)| Some((label, case.comparison()?))).collect();
        let comparison = (!compared.is_empty()).then(|| simulation::comparison_table(&compared));
        if detail == Detail::Full {
            return vec![comparison.unwrap_or_else(|| simulation::row_table(&named, None))];
        }
        let mut tables = Vec::new();
        if self.cases.len() == 1 {
            tables.push(simulation::row_table(&named, Some(SHOWN_ROWS)));
        }
        tables.push(simulation::end_table(&named));
        tables.extend(simulation::sampling_table(&named));
        tables.extend(comparison);
        tables
    }

    fn figure(&self) -> Figure {
        let drawn = self.cases.iter().filter_map(|report| {
            Some(Drawn {
                case: &report.case,
                simulation: &report.simulation,
                summary: report.summary.as_ref()?,
                comparison: report.comparison().unwrap_or_default(),
            })
        });
        let drawn: Vec<Drawn> = drawn.collect();
        simulation::figure(&drawn, self.is_scanned, self.title.as_deref())
    }

    fn notes(&self) -> Vec<Note> {
        self.cases.iter().flat_map(CaseReport::notes).collect()
    }

    fn is_complete(&self) -> bool {
        self.cases.iter().all(|case| {
            case.diverged.is_none() && case.unmixed() == 0 && case.uncompared().is_none()
        })
    }
}
