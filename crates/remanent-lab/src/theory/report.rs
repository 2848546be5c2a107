//! What is shown of an answer: tables, a figure, and remarks.

mod branches;
mod broken;
mod broken_phases;
mod chain;
mod constrained;
mod figures;
mod phase_diagram;
mod single;
mod stream;
mod tables;
mod tune;

pub use self::broken_phases::{broken_phase_figure, broken_phase_panel};
pub(super) use self::chain::json as chain_json;

use remanent_perceptron::randomness::Trial;
use remanent_plot::{Figure, Table};
use serde_json::{Value, json};
use toml::Table as Config;

use super::options::QuestionOptions;
use super::query::Ask;
use super::{Answer, Query, QueryCell};
use crate::experiment::{Computed, Detail, Error, Experiment, NoView, Note, Report, Resources};

impl Experiment for Query {
    const NAME: &'static str = "theory";
    const UNIT: &'static str = "points";

    type Options = QuestionOptions;
    type View = NoView;
    type Material = ();
    type Record = Answer;
    type Cell<'a> = QueryCell<'a>;
    type Report = TheoryReport;

    fn read(table: &Config) -> Result<Self, Error> {
        Ok(Self::from_table(table)?)
    }

    fn prepare(cases: &[Self], _resources: &Resources) -> Result<Vec<()>, Error> {
        Ok(vec![(); cases.len()])
    }

    /// Nothing is random: there is one trial.
    fn cell<'a>(&'a self, _material: &'a (), _trial: Trial) -> QueryCell<'a> {
        QueryCell { query: self }
    }

    fn to_json(&self) -> Value {
        self.key()
    }

    fn config(_seed: u64, cases: &[Self], _materials: &[()]) -> Value {
        json!({"queries": cases.iter().map(Self::to_json).collect::<Vec<_>>()})
    }

    fn report(run: Computed<'_, Self>, _view: &NoView) -> Result<TheoryReport, Error> {
        let mut both = run.prepared.cases.iter().cloned().zip(run.cells.records);
        let (query, answer) =
            both.next().ok_or_else(|| Error::Other("there is no question".into()))?;
        Ok(TheoryReport { query, answer })
    }
}

/// What is shown of an answer.
pub struct TheoryReport {
    query: Query,
    answer: Answer,
}

/// Remarks about an answer, and whether all of it was found.
#[derive(Default)]
struct Conclusion {
    notes: Vec<String>,
    is_incomplete: bool,
}

impl Conclusion {
    fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// A note about something that is missing.
    fn missing(&mut self, text: String) {
        self.notes.push(text);
        self.is_incomplete = true;
    }
}

impl TheoryReport {
    fn conclusion(&self) -> Conclusion {
        match (&self.query.0, &self.answer) {
            (_, Answer::Single(rows)) => single::conclusion(rows),
            (_, Answer::Constrained(rows)) => {
                tables::conclusion(rows.iter().map(|row| &row.solution), rows.len())
            }
            (Ask::Chain { parameters, axes }, Answer::Chain(points)) => {
                chain::conclusion(points, parameters.alpha.len(), !axes.is_empty())
            }
            (Ask::Branches { low, high, .. }, Answer::Branches(found)) => {
                branches::conclusion(found, *low, *high)
            }
            (_, Answer::PhaseDiagram(diagram)) => phase_diagram::conclusion(diagram),
            (Ask::Stationary(ask), Answer::Stationary(points)) => stream::conclusion(ask, points),
            (_, Answer::Tune(tuned)) => tune::conclusion(tuned),
            (Ask::Broken(ask), Answer::Broken(answer)) => broken::conclusion(ask, answer),
            _ => Conclusion::default(),
        }
    }
}

impl Report for TheoryReport {
    fn json(&self) -> Value {
        match &self.answer {
            Answer::Single(rows) => json!(rows),
            Answer::Constrained(rows) => {
                json!(rows.iter().map(|row| row.solution).collect::<Vec<_>>())
            }
            Answer::Chain(points) => {
                let is_one = matches!(&self.query.0, Ask::Chain { axes, .. } if axes.is_empty());
                chain_json(points, !is_one)
            }
            Answer::Branches(found) => json!(found),
            Answer::PhaseDiagram(diagram) => json!(diagram),
            Answer::Stationary(points) => match &self.query.0 {
                Ask::Stationary(ask) => stream::json(ask, points),
                _ => Value::Null,
            },
            Answer::Tune(tuned) => json!(tuned),
            Answer::Broken(answer) => {
                broken::json(answer, matches!(&self.query.0, Ask::Broken(ask) if ask.is_scanned()))
            }
            Answer::MonteCarlo(study) => json!(study),
        }
    }

    fn tables(&self, detail: Detail) -> Vec<Table> {
        match (&self.query.0, &self.answer) {
            (_, Answer::Single(rows)) => vec![tables::solutions(rows, detail)],
            (_, Answer::Constrained(rows)) => {
                vec![tables::solutions(rows.iter().map(|row| &row.solution), detail)]
            }
            (Ask::Chain { parameters, axes }, Answer::Chain(points)) => {
                chain::tables(points, axes, parameters.alpha.len(), detail)
            }
            (_, Answer::Branches(found)) => branches::tables(found, detail),
            (_, Answer::PhaseDiagram(diagram)) => phase_diagram::tables(diagram, detail),
            (Ask::Stationary(ask), Answer::Stationary(points)) => {
                stream::tables(ask, points, detail)
            }
            (Ask::Tune { .. }, Answer::Tune(tuned)) => tune::tables(tuned, detail),
            (Ask::Broken(ask), Answer::Broken(answer)) => broken::tables(ask, answer, detail),
            _ => Vec::new(),
        }
    }

    fn figure(&self) -> Figure {
        match (&self.query.0, &self.answer) {
            (Ask::Single { alpha, beta, .. }, Answer::Single(rows)) => {
                single::figure(rows, alpha, beta)
            }
            (_, Answer::Constrained(rows)) => constrained::figure(rows),
            (Ask::Chain { parameters, axes }, Answer::Chain(points)) => {
                let drawn: Vec<chain::Drawn> = points.iter().map(chain::Drawn::from).collect();
                chain::figure(&drawn, axes, parameters.alpha.len())
            }
            (Ask::Branches { beta, .. }, Answer::Branches(found)) => branches::figure(found, *beta),
            (_, Answer::PhaseDiagram(diagram)) => phase_diagram::figure(diagram),
            (Ask::Stationary(ask), Answer::Stationary(points)) => stream::figure(ask, points),
            (Ask::Tune { search, .. }, Answer::Tune(tuned)) => tune::figure(tuned, search),
            (Ask::Broken(ask), Answer::Broken(answer)) => broken::figure(ask, answer),
            _ => Figure::default(),
        }
    }

    fn notes(&self) -> Vec<Note> {
        let notes = self.conclusion().notes.into_iter();
        notes.map(|text| Note { text, always: false }).collect()
    }

    fn is_complete(&self) -> bool {
        !self.conclusion().is_incomplete
    }
}
