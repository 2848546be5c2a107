//! Experiments: a run in this process, or cells that other processes compute.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use remanent_data::sources::Cache;
use remanent_lab::bound::BoundStudy;
use remanent_lab::config;
use remanent_lab::convergence::ConvergenceStudy;
use remanent_lab::experiment::{
    Detail, Experiment as Lab, Prepared, Report, Resources, RunOptions, checkpoint_interval,
};
use remanent_lab::options::Options;
use remanent_lab::plan::Layers;
use remanent_lab::simulation::Simulation;
use remanent_lab::training::Training;
use remanent_plot::{Cell as TableCell, Table as PlotTable};
use remanent_store::{Cell, Parcel, Store};
use serde_json::Value;
use toml::Table;

use crate::compute::{Stop, compute};
use crate::convert;
use crate::fault::Fault;

/// The experiments that can be run.
#[derive(Clone)]
enum Any {
    Simulate(Arc<Prepared<Simulation>>),
    Bound(Arc<Prepared<BoundStudy>>),
    Convergence(Arc<Prepared<ConvergenceStudy>>),
    Train(Arc<Prepared<Training>>),
}

/// Does the same with any of them.
macro_rules! with {
    ($any:expr, $prepared:ident => $do:expr) => {
        match $any {
            Any::Simulate($prepared) => $do,
            Any::Bound($prepared) => $do,
            Any::Convergence($prepared) => $do,
            Any::Train($prepared) => $do,
        }
    };
}

/// An experiment that is checked, with the data that it needs.
#[pyclass(frozen, module = "remanent._core")]
pub struct Experiment {
    inner: Any,
}

/// A report: all numbers, the table, remarks, and the figure.
struct Shown {
    json: Value,
    table: Vec<PlotTable>,
    notes: Vec<String>,
    is_complete: bool,
    svg: String,
}

#[pymethods]
impl Experiment {
    /// Reads and checks the layers of a configuration: `file`, a path or a table, under `flags`, `scans` and
    /// `quick`. `data_dir` is the directory of the datasets.
    #[new]
    fn new(py: Python<'_>, kind: String, layers: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (layers, resources) = read_layers(layers)?;
        let inner = compute(py, Stop::AtOnce, None, move |_| prepare(&kind, layers, &resources))?;
        Ok(Self { inner })
    }

    /// Number of cells.
    #[getter]
    fn cells(&self) -> usize {
        with!(&self.inner, prepared => prepared.cells().len())
    }

    /// Work of each cell, in the units of the progress.
    #[getter]
    fn works(&self) -> Vec<u64> {
        with!(&self.inner, prepared => prepared.cells().iter().map(Cell::work).collect())
    }

    /// What the user may not have intended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        with!(&self.inner, prepared => prepared.warnings())
    }

    /// The usual run directory.
    #[getter]
    fn directory(&self) -> PathBuf {
        with!(&self.inner, prepared => prepared.default_directory())
    }

    /// Computes the cells that have no record, and reports on all.
    #[pyo3(signature = (directory, view, fresh=false, checkpoint_every=10.0, watcher=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        directory: PathBuf,
        view: &Bound<'py, PyDict>,
        fresh: bool,
        checkpoint_every: f64,
        watcher: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let every = checkpoint_interval(checkpoint_every).map_err(Fault::from)?;
        let view = convert::table(view)?;
        let inner = self.inner.clone();
        let shown = compute(py, Stop::AfterSaving, watcher.as_ref(), move |shared| {
            let options = RunOptions {
                directory,
                fresh,
                checkpoint_every: every,
                watcher: shared,
                interrupt: &shared.interrupt,
            };
            with!(&inner, prepared => report(prepared, &options, &view))
        })?;
        show(py, &shown)
    }

    /// The numbers of the cells that have no record.
    fn missing(&self, directory: PathBuf, fresh: bool) -> PyResult<Vec<usize>> {
        let survey = with!(&self.inner, prepared => {
            prepared.survey(&prepared.cells(), &directory, fresh)
        });
        Ok(survey.map_err(Fault::from)?.missing)
    }

    /// Computes one cell in a scratch directory, and gives what it leaves: key and record as JSON, the
    /// model, and its times.
    fn compute<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        scratch: PathBuf,
    ) -> PyResult<(String, String, Bound<'py, PyBytes>, f64, f64)> {
        let inner = self.inner.clone();
        let parcel = compute(py, Stop::AfterSaving, None, move |shared| {
            let interrupt = &shared.interrupt;
            let parcel = with!(&inner, prepared => prepared.compute(number, &scratch, interrupt));
            parcel.map_err(Fault::from)
        })?;
        let Parcel { key, record, model, seconds, step_seconds } = parcel;
        let model = PyBytes::new(py, &model);
        Ok((key.to_string(), record.to_string(), model, seconds, step_seconds))
    }

    /// Opens a run directory for cells that are computed elsewhere.
    fn open(&self, directory: PathBuf, fresh: bool) -> PyResult<OpenRun> {
        let store = with!(&self.inner, prepared => prepared.open(&directory, fresh));
        let store = Mutex::new(Some(store.map_err(Fault::from)?));
        Ok(OpenRun { inner: self.inner.clone(), store })
    }
}

/// A run directory that is locked until it is closed.
#[pyclass(frozen, module = "remanent._core")]
pub struct OpenRun {
    inner: Any,
    store: Mutex<Option<Store>>,
}

#[pymethods]
impl OpenRun {
    /// Stores what [`Experiment::compute`] gave.
    fn accept(&self, number: usize, parcel: (String, String, Vec<u8>, f64, f64)) -> PyResult<()> {
        let (key, record, model, seconds, step_seconds) = parcel;
        let json = |text: &str| serde_json::from_str(text).map_err(Fault::value);
        let parcel =
            Parcel { key: json(&key)?, record: json(&record)?, model, seconds, step_seconds };
        let guard = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let store = guard.as_ref().ok_or_else(|| Fault::value("the run directory is closed"))?;
        let accepted = with!(&self.inner, prepared => prepared.accept(number, &parcel, store));
        Ok(accepted.map_err(Fault::from)?)
    }

    /// Unlocks the directory.
    fn close(&self) {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn read_layers(given: &Bound<'_, PyDict>) -> PyResult<(Layers, Resources)> {
    let get = |key: &str| given.get_item(key).map(|found| found.filter(|found| !found.is_none()));
    let file = match get("file")? {
        None => Table::new(),
        Some(file) => match file.cast::<PyDict>() {
            Ok(table) => convert::table(table)?,
            Err(_) => {
                let path: PathBuf = file.extract()?;
                config::read_file(&path)
                    .map_err(|error| Fault::from(remanent_lab::experiment::Error::from(error)))?
            }
        },
    };
    let flags = match get("flags")? {
        None => Table::new(),
        Some(flags) => convert::table(flags.cast::<PyDict>()?)?,
    };
    let mut scans = Vec::new();
    if let Some(given) = get("scans")? {
        for (key, values) in given.cast::<PyDict>()?.iter() {
            let key: String = key.extract()?;
            let values = convert::value(&key, &values)?;
            scans.push((key, values));
        }
    }
    let quick = get("quick")?.map_or(Ok(false), |quick| quick.extract())?;
    let cache = match get("data_dir")? {
        Some(folder) => Some(Cache::at(folder.extract::<PathBuf>()?)),
        None => Cache::from_environment(),
    };
    Ok((Layers { file, flags, scans, quick }, Resources { cache }))
}

fn prepare(kind: &str, layers: Layers, resources: &Resources) -> Result<Any, Fault> {
    fn new<E: Lab>(layers: Layers, resources: &Resources) -> Result<Arc<Prepared<E>>, Fault> {
        Ok(Arc::new(Prepared::new(layers, resources)?))
    }
    Ok(match kind {
        "simulate" => Any::Simulate(new(layers, resources)?),
        "bound" => Any::Bound(new(layers, resources)?),
        "convergence-time" => Any::Convergence(new(layers, resources)?),
        "train" => Any::Train(new(layers, resources)?),
        other => return Err(Fault::value(format!("there is no experiment '{other}'"))),
    })
}

fn report<E: Lab>(
    prepared: &Prepared<E>,
    options: &RunOptions<'_>,
    view: &Table,
) -> Result<Shown, Fault> {
    let report = prepared.run(options, &E::View::read(view)?)?;
    Ok(Shown {
        json: report.json(),
        table: report.tables(Detail::Full),
        notes: report.notes().into_iter().map(|note| note.text).collect(),
        is_complete: report.is_complete(),
        svg: report.figure().to_svg(),
    })
}

fn show<'py>(py: Python<'py>, shown: &Shown) -> PyResult<Bound<'py, PyDict>> {
    let report = PyDict::new(py);
    report.set_item("json", convert::object(py, &shown.json)?)?;
    let tables =
        shown.table.iter().map(|table| columns(py, table)).collect::<PyResult<Vec<_>>>()?;
    report.set_item("tables", PyList::new(py, tables)?)?;
    report.set_item("notes", &shown.notes)?;
    report.set_item("complete", shown.is_complete)?;
    report.set_item("svg", &shown.svg)?;
    Ok(report)
}

/// A table as lists by the names of its columns.
fn columns<'py>(py: Python<'py>, table: &PlotTable) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (index, header) in table.headers().iter().enumerate() {
        let list = PyList::empty(py);
        for row in table.rows() {
            match &row[index] {
                TableCell::Number(number) => list.append(number)?,
                TableCell::Integer(number) => list.append(number)?,
                TableCell::Text(text) => list.append(text)?,
                TableCell::Missing => list.append(py.None())?,
            }
        }
        dict.set_item(header, list)?;
    }
    Ok(dict)
}
