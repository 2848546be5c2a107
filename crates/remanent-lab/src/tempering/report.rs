//! What is shown of parallel tempering.

use std::path::Path;

use remanent_perceptron::randomness;
use remanent_perceptron::tempering::{Shortcoming, TemperingRecord};
use remanent_plot::{Figure, Table};
use remanent_store::atomic;
use remanent_store::files::FileError;
use serde_json::{Value, json};
use toml::Table as Config;

use crate::experiment::{Computed, Detail, Error, Experiment, Note, Report, Resources};
use crate::plan::Case;
use crate::tempering::cell::TemperingTrial;
use crate::tempering::compare::{self, Comparison, TheoryPoint};
use crate::tempering::config::TemperingStudy;
use crate::tempering::figures;
use crate::tempering::options::{TemperingOptions, TemperingView};
use crate::tempering::summary::{TemperingSummary, summarise};
use crate::tempering::tables;

impl Experiment for TemperingStudy {
    const NAME: &'static str = "tempering";
    const UNIT: &'static str = "sweeps";

    type Options = TemperingOptions;
    type View = TemperingView;
    type Material = ();
    type Record = TemperingRecord;
    type Cell<'a> = TemperingTrial<'a>;
    type Report = TemperingReport;

    fn read(table: &Config) -> Result<Self, Error> {
        Ok(Self::from_table(table)?)
    }

    fn prepare(cases: &[Self], _resources: &Resources) -> Result<Vec<()>, Error> {
        Ok(vec![(); cases.len()])
    }

    fn cell<'a>(&'a self, _material: &'a (), trial: randomness::Trial) -> TemperingTrial<'a> {
        TemperingTrial { study: self, trial }
    }

    fn to_json(&self) -> Value {
        self.key()
    }

    fn report(run: Computed<'_, Self>, view: &TemperingView) -> Result<TemperingReport, Error> {
        let plan = &run.prepared.plan;
        let trials = run.cells.records.chunks(plan.seeds).zip(run.cells.seconds.chunks(plan.seeds));
        let cases = plan.cases.iter().zip(&run.prepared.cases).zip(trials);
        let cases = cases.filter_map(|((case, study), (records, seconds))| {
            let summary = summarise(study, records)?;
            let mut config = study.key();
            config["seed"] = plan.seed.into();
            config["seeds"] = plan.seeds.into();
            let compared = view.compare.map(|steps| compare::compare(&summary, steps));
            let (theory, problem) = match compared {
                None => (None, None),
                Some(Ok(theory)) => (Some(theory), None),
                Some(Err(error)) => (None, Some(error.to_string())),
            };
            Some(CaseReport {
                case: case.clone(),
                config,
                summary,
                theory,
                problem,
                seconds: seconds.iter().copied().sum(),
            })
        });
        Ok(TemperingReport {
            cases: cases.collect(),
            title: plan.title.clone(),
            wall_seconds: run.cells.wall_seconds,
        })
    }
}

/// What is shown of parallel tempering.
pub struct TemperingReport {
    cases: Vec<CaseReport>,
    title: Option<String>,
    wall_seconds: f64,
}

struct CaseReport {
    case: Case,
    config: Value,
    summary: TemperingSummary,
    theory: Option<(Vec<TheoryPoint>, Vec<Comparison>)>,
    /// Why the theory could not be solved.
    problem: Option<String>,
    /// Time of all draws, each on one thread.
    seconds: Option<f64>,
}

/// A standard error of fewer draws is too uncertain to accuse anything.
const FEWEST_DRAWS: usize = 8;

impl CaseReport {
    fn json(&self) -> Value {
        let samples = self.summary.mean_effective_samples * self.summary.draws as f64;
        json!({
            "label": self.case.label(),
            "config": self.config,
            "result": self.summary,
            "theory": self.theory.as_ref().map(|(points, _)| points),
            "comparison": self.theory.as_ref().map(|(_, rows)| rows),
            "seconds": self.seconds,
            "effective_samples_per_second": self.seconds.map(|seconds| samples / seconds),
        })
    }

    fn notes(&self) -> Vec<Note> {
        let place = match self.case.label() {
            label if label.is_empty() => label,
            label => format!(" at {label}"),
        };
        let mut notes = Vec::new();
        let mut add = |text| notes.push(Note { text, always: true });
        if let Some(problem) = &self.problem {
            add(format!("the theory cannot be compared{place}: {problem}"));
        }
        let summary = &self.summary;
        if summary.not_equilibrated > 0 {
            let why = |(why, count): &(Shortcoming, usize)| format!("{} ({count})", why.text());
            let reasons: Vec<String> = summary.shortcomings.iter().map(why).collect();
            add(format!(
                "{} of {} draws{place} do not count as equilibrated: {}; increase --warmup and \
                 --sweeps",
                summary.not_equilibrated,
                summary.draws,
                reasons.join(", ")
            ));
        }
        let disagrees =
            |z: Option<f64>| summary.draws >= FEWEST_DRAWS && z.is_some_and(|z| z.abs() >= 4.0);
        if summary.starts.iter().any(|start| disagrees(start.z)) {
            add(format!("the two starts{place} disagree in the mean over draws"));
        }
        if disagrees(summary.fluctuations.z) {
            add(format!("the energy{place} does not follow its fluctuations, d<L>/dbeta = -Var L"));
        }
        notes
    }

    fn is_equilibrated(&self) -> bool {
        self.summary.not_equilibrated == 0
    }
}

impl TemperingReport {
    fn summaries(&self) -> Vec<&TemperingSummary> {
        self.cases.iter().map(|case| &case.summary).collect()
    }

    fn comparison(&self) -> Option<Table> {
        let rows = |case: &'_ CaseReport| case.theory.as_ref().map(|(_, rows)| rows.clone());
        let compared: Vec<(&TemperingSummary, Vec<Comparison>)> =
            self.cases.iter().filter_map(|case| Some((&case.summary, rows(case)?))).collect();
        let compared: Vec<(&TemperingSummary, &[Comparison])> =
            compared.iter().map(|(summary, rows)| (*summary, rows.as_slice())).collect();
        (!compared.is_empty()).then(|| tables::comparison_table(&compared))
    }
}

impl Report for TemperingReport {
    fn json(&self) -> Value {
        match &self.cases[..] {
            [one] => {
                let mut value = one.json();
                value["wall_seconds"] = self.wall_seconds.into();
                value
            }
            many => {
                let seconds: Option<f64> = many.iter().map(|case| case.seconds).sum();
                let cases: Vec<Value> = many.iter().map(CaseReport::json).collect();
                json!({"cases": cases, "seconds": seconds, "wall_seconds": self.wall_seconds})
            }
        }
    }

    /// The one full table is that of the comparison, if there is one.
    fn tables(&self, detail: Detail) -> Vec<Table> {
        let summaries = self.summaries();
        let comparison = self.comparison();
        if detail == Detail::Full {
            return vec![comparison.unwrap_or_else(|| tables::full_table(&summaries))];
        }
        let mut tables = vec![tables::result_table(&summaries), tables::quality_table(&summaries)];
        tables.extend(comparison);
        tables
    }

    fn figure(&self) -> Figure {
        let drawn: Vec<figures::Drawn> = self
            .cases
            .iter()
            .map(|case| {
                let points = case.theory.as_ref().map_or(&[][..], |(points, _)| points);
                (&case.summary, points)
            })
            .collect();
        figures::figure(&drawn, self.title.as_deref())
    }

    fn notes(&self) -> Vec<Note> {
        self.cases.iter().flat_map(CaseReport::notes).collect()
    }

    fn is_complete(&self) -> bool {
        self.cases.iter().all(|case| case.is_equilibrated() && case.problem.is_none())
    }

    /// `results.csv`, `overlaps.csv`, and `comparison.csv` if there is a comparison.
    fn write_files(&self, directory: &Path) -> Result<(), FileError> {
        let summaries = self.summaries();
        let mut files = vec![
            ("results.csv", tables::full_table(&summaries)),
            ("overlaps.csv", tables::overlap_table(&summaries)),
        ];
        files.extend(self.comparison().map(|table| ("comparison.csv", table)));
        for (name, table) in files {
            atomic::write(&directory.join(name), &[table.to_csv().as_bytes()])?;
        }
        Ok(())
    }
}
