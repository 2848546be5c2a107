//! Questions to the theory.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;
use remanent_lab::experiment::{NoView, Prepared, Report, Resources};
use remanent_lab::plan::Plan;
use remanent_lab::theory::Query;
use remanent_store::Silent;
use serde_json::Value;
use std::sync::atomic::Ordering;
use toml::Table;

use crate::compute::{Shared, Stop, compute};
use crate::convert;
use crate::fault::Fault;

/// An answer: all numbers, remarks, and whether all of it was found.
struct Answer {
    json: Value,
    notes: Vec<String>,
    is_complete: bool,
}

/// Answers questions on all cores. Each question is a dictionary as in a configuration file, with the key
/// `ask`. Gives for each the numbers, the notes, and whether all was found; rows are columns.
#[pyfunction]
pub fn ask<'py>(
    py: Python<'py>,
    questions: Vec<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let tables = questions.iter().map(convert::table).collect::<PyResult<Vec<Table>>>()?;
    // All are checked before the first is answered.
    let prepare = |table| {
        let plan = Plan::of_one_case(table);
        Prepared::<Query>::of_plan(plan, &Resources::default()).map_err(Fault::from)
    };
    let prepared = tables.into_iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
    let answers = compute(py, Stop::AtOnce, None, move |shared| {
        prepared.par_iter().map(|question| answer(question, shared)).collect::<Result<Vec<_>, _>>()
    })?;
    let shown = answers.iter().map(|answer| show(py, answer)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, shown)
}

fn answer(question: &Prepared<Query>, shared: &Shared) -> Result<Answer, Fault> {
    if shared.interrupt.load(Ordering::Relaxed) {
        return Err(Fault::interrupted());
    }
    let report = question.run_unsaved(&Silent, &shared.interrupt, &NoView {})?;
    let notes = report.notes().into_iter().map(|note| note.text).collect();
    Ok(Answer { json: report.json(), notes, is_complete: report.is_complete() })
}

fn show<'py>(py: Python<'py>, answer: &Answer) -> PyResult<(Bound<'py, PyAny>, Vec<String>, bool)> {
    let numbers = match &answer.json {
        Value::Array(rows) => convert::columns(py, rows)?.into_any(),
        value => convert::object(py, value)?,
    };
    Ok((numbers, answer.notes.clone(), answer.is_complete))
}
