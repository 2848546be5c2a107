//! A learner of the user's own data, one task after another.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use remanent_data::dataset::{Part, Pixels};
use remanent_lab::training::read_parameters;
use remanent_network::lifelong::{LearnError, Lifelong};
use remanent_network::ranges;
use remanent_store::Watcher;
use serde_json::json;

use crate::compute::{Stop, compute};
use crate::convert;
use crate::fault::Fault;
use crate::model::Model;
use crate::scale::{Features, Scale};

/// A network and what its learner remembers.
#[pyclass(module = "remanent._core")]
pub struct Learner {
    inner: Lifelong,
}

#[pymethods]
impl Learner {
    /// A learner with options as those of `train`.
    #[new]
    fn new(
        options: &Bound<'_, PyDict>,
        inputs: usize,
        classes: usize,
        seed: u64,
    ) -> PyResult<Self> {
        let parameters = read_parameters(&convert::table(options)?).map_err(Fault::from)?;
        let inner = Lifelong::new(&parameters, inputs, classes, seed).map_err(Fault::value)?;
        Ok(Self { inner })
    }

    /// Learns a task of scaled features and gives the mean loss of each epoch. If it is interrupted, nothing is learned.
    #[pyo3(signature = (x, labels, epochs, watcher=None, scale=None))]
    fn learn(
        &mut self,
        py: Python<'_>,
        x: Features<'_>,
        labels: PyReadonlyArray1<'_, u8>,
        epochs: usize,
        watcher: Option<Bound<'_, PyAny>>,
        scale: Option<Scale<'_>>,
    ) -> PyResult<Vec<f64>> {
        let [count, inputs] = x.shape();
        if labels.shape()[0] != count || inputs == 0 {
            return Err(Fault::value("X needs a row with features for each label").into());
        }
        Fault::unless_in(ranges::EPOCHS, "epochs", epochs as f64)?;
        let pixels = Pixels::Floats(x.values(scale.as_ref())?);
        let labels = labels.as_slice().map_err(|_| Fault::value("labels must be C-contiguous"))?;
        let part = Part { pixels, labels: labels.to_vec() };
        let mut learner = self.inner.clone();
        let (learner, learned) = compute(py, Stop::AtOnce, watcher.as_ref(), move |shared| {
            let step = || {
                shared.advance(1);
                match shared.interrupt.load(Ordering::Relaxed) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            let learned = learner.learn(&part.view(inputs), epochs, step);
            learned.map(|learned| (learner, learned)).map_err(|error| match error {
                LearnError::Parameter(error) => Fault::value(error),
                LearnError::Interrupted => Fault::interrupted(),
                error => Fault::failure(error),
            })
        })?;
        self.inner = learner;
        Ok(learned.losses)
    }

    /// Number of tasks learned.
    #[getter]
    fn tasks(&self) -> usize {
        self.inner.tasks()
    }

    /// Its network.
    fn model(&self) -> PyResult<Model> {
        let provenance =
            json!({"seed": self.inner.seed(), "trial": 0, "tasks": self.inner.tasks()});
        Ok(Model::new(self.inner.network().clone(), provenance)?)
    }

    /// The whole state, as bytes.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.encode().map_err(Fault::failure)?))
    }

    /// The learner of these bytes.
    #[staticmethod]
    fn decode(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { inner: Lifelong::decode(bytes).map_err(Fault::value)? })
    }
}
