//! Datasets as arrays.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use remanent_data::dataset::View;
use remanent_data::sources::{self, Cache};
use remanent_lab::experiment::Error;
use remanent_lab::training::MaterialError;

use crate::compute::{Stop, compute};
use crate::fault::Fault;

/// Images and labels of a part.
type Arrays<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<u8>>);

/// The images of a dataset, one in a row with pixels from 0 to 1, and their labels: for training, then for
/// testing.
#[pyfunction]
#[pyo3(signature = (name, data_dir=None))]
pub fn load_data(
    py: Python<'_>,
    name: String,
    data_dir: Option<PathBuf>,
) -> PyResult<(Arrays<'_>, Arrays<'_>)> {
    let cache = data_dir.map(Cache::at).or_else(Cache::from_environment);
    let cache = cache.ok_or_else(|| {
        Fault::missing(
            "no folder for datasets: neither REMANENT_DATA nor a home folder is set; give data_dir",
        )
    })?;
    let (inputs, train, test) = compute(py, Stop::AtOnce, None, move |_| {
        let opened = sources::open(&name, &cache);
        let dataset = opened.map_err(|error| Error::from(MaterialError::from(error)))?;
        Ok((dataset.inputs(), pixels(&dataset.train()), pixels(&dataset.test())))
    })?;
    let arrays = |(images, labels): (Vec<f32>, Vec<u8>)| -> PyResult<Arrays<'_>> {
        let shape = [labels.len(), inputs];
        Ok((images.into_pyarray(py).reshape(shape)?, labels.into_pyarray(py)))
    };
    Ok((arrays(train)?, arrays(test)?))
}

fn pixels(view: &View<'_>) -> (Vec<f32>, Vec<u8>) {
    let mut images = vec![0.0; view.len() * view.inputs()];
    let all: Vec<u32> = (0..view.len() as u32).collect();
    view.batch(&all, &mut images);
    (images, (0..view.len()).map(|i| view.label(i)).collect())
}
