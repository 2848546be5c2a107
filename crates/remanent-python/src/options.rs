//! The options of experiments, as they are declared in the lab.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use remanent_lab::bound::BoundStudy;
use remanent_lab::convergence::ConvergenceStudy;
use remanent_lab::experiment::Experiment;
use remanent_lab::options::{Kind, OptionInfo, Options, Words};
use remanent_lab::simulation::Simulation;
use remanent_lab::theory::Question;
use remanent_lab::training::Training;
use remanent_lab::values;

use crate::fault::Fault;

/// The options of a question to the theory or of an experiment: key, kind, words, help, default, range,
/// and whether it only affects the report.
#[pyfunction]
pub fn options<'py>(py: Python<'py>, of: &str) -> PyResult<Bound<'py, PyList>> {
    let (options, view) = match of {
        "simulate" => both::<Simulation>(),
        "bound" => both::<BoundStudy>(),
        "convergence-time" => both::<ConvergenceStudy>(),
        "train" => both::<Training>(),
        question => {
            let at = Question::WORDS.iter().position(|word| word.name == question);
            let at = at.ok_or_else(|| Fault::value(format!("there are no options of '{of}'")))?;
            (Question::VALUES[at].options(), Vec::new())
        }
    };
    let own = options.iter().map(|info| entry(py, info, false));
    let shown = own.chain(view.iter().map(|info| entry(py, info, true)));
    PyList::new(py, shown.collect::<PyResult<Vec<_>>>()?)
}

/// The numbers of a text such as `0.1:3:0.1`.
#[pyfunction]
pub fn numbers(key: &str, text: &str) -> PyResult<Vec<f64>> {
    Ok(values::as_list(key, &text.into()).map_err(Fault::from)?)
}

fn both<E: Experiment>() -> (Vec<OptionInfo>, Vec<OptionInfo>) {
    (E::Options::list(), E::View::list())
}

fn entry<'py>(py: Python<'py>, info: &OptionInfo, is_view: bool) -> PyResult<Bound<'py, PyDict>> {
    let kind = match info.kind {
        Kind::Number => "number",
        Kind::Count => "count",
        Kind::Numbers => "numbers",
        Kind::Counts => "counts",
        Kind::Word(_) => "word",
        Kind::Words(_) => "words",
        Kind::Interval => "interval",
        Kind::Switch => "switch",
        Kind::Text => "text",
        Kind::NumberOrText => "number-or-text",
    };
    let words: Vec<&str> = match info.kind {
        Kind::Word(words) | Kind::Words(words) => words.iter().map(|word| word.name).collect(),
        _ => Vec::new(),
    };
    let entry = PyDict::new(py);
    entry.set_item("key", info.key)?;
    entry.set_item("kind", kind)?;
    entry.set_item("words", words)?;
    entry.set_item("help", info.help)?;
    entry.set_item("default", info.default.as_deref())?;
    entry.set_item("range", info.shown_range())?;
    entry.set_item("view", is_view)?;
    Ok(entry)
}
