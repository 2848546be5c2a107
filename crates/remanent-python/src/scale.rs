//! Scaling of a user's features, in double precision and in one pass: arrays of all examples in double precision cost
//! more than some epochs.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use crate::fault::Fault;

/// Examples in single or double precision, a row each.
#[derive(FromPyObject)]
pub enum Features<'py> {
    /// Single precision.
    Single(PyReadonlyArray2<'py, f32>),
    /// Double precision.
    Double(PyReadonlyArray2<'py, f64>),
}

/// What features are shifted by and divided by.
pub type Scale<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

impl Features<'_> {
    /// Number of rows and of columns.
    pub fn shape(&self) -> [usize; 2] {
        let shape = match self {
            Self::Single(x) => x.shape(),
            Self::Double(x) => x.shape(),
        };
        [shape[0], shape[1]]
    }

    /// The values, row by row, scaled if there is a scale. What is beyond single precision becomes its largest number.
    pub fn values(&self, scale: Option<&Scale<'_>>) -> PyResult<Vec<f32>> {
        let scale = match scale {
            None => None,
            Some((mean, spread)) => {
                let (mean, spread) =
                    (mean.as_slice().map_err(order)?, spread.as_slice().map_err(order)?);
                if [mean.len(), spread.len()] != [self.shape()[1]; 2] {
                    return Err(Fault::value("the scale needs two numbers for each feature").into());
                }
                Some((mean, spread))
            }
        };
        Ok(match (self, scale) {
            (Self::Single(x), None) => x.as_slice().map_err(order)?.to_vec(),
            (Self::Double(x), None) => {
                x.as_slice().map_err(order)?.iter().map(|x| single(*x)).collect()
            }
            (Self::Single(x), Some(scale)) => scaled(x.as_slice().map_err(order)?, scale),
            (Self::Double(x), Some(scale)) => scaled(x.as_slice().map_err(order)?, scale),
        })
    }
}

fn order<E>(_: E) -> Fault {
    Fault::value("X and labels must be C-contiguous")
}

/// As `nan_to_num` of NumPy.
fn single(x: f64) -> f32 {
    let x = x as f32;
    if x.is_nan() { 0.0 } else { x.clamp(f32::MIN, f32::MAX) }
}

fn scaled<T: Copy + Into<f64>>(x: &[T], (mean, spread): (&[f64], &[f64])) -> Vec<f32> {
    let mut values = Vec::with_capacity(x.len());
    if !mean.is_empty() {
        for row in x.chunks_exact(mean.len()) {
            let scale = mean.iter().zip(spread);
            values.extend(
                row.iter()
                    .zip(scale)
                    .map(|(x, (mean, spread))| single(((*x).into() - mean) / spread)),
            );
        }
    }
    values
}

/// Mean and standard deviation of the features, with the additions in the order of NumPy.
fn moments_of<T: Copy + Into<f64>>(x: &[T], columns: usize) -> [Vec<f64>; 2] {
    let count = (x.len() / columns.max(1)) as f64;
    let mut mean = vec![0.0; columns];
    let mut spread = vec![0.0; columns];
    let rows = || x.chunks_exact(columns.max(1));
    for row in rows() {
        mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += (*x).into());
    }
    mean.iter_mut().for_each(|sum| *sum /= count);
    for row in rows() {
        for ((sum, x), mean) in spread.iter_mut().zip(row).zip(&mean) {
            let off: f64 = (*x).into() - mean;
            *sum += off * off;
        }
    }
    spread.iter_mut().for_each(|sum| *sum = (*sum / count).sqrt());
    [mean, spread]
}

/// One number for each feature.
type Numbers<'py> = Bound<'py, PyArray1<f64>>;

/// Mean and standard deviation of the features.
#[pyfunction]
pub fn moments<'py>(py: Python<'py>, x: Features<'py>) -> PyResult<(Numbers<'py>, Numbers<'py>)> {
    let columns = x.shape()[1];
    let [mean, spread] = match &x {
        Features::Single(x) => moments_of(x.as_slice().map_err(order)?, columns),
        Features::Double(x) => moments_of(x.as_slice().map_err(order)?, columns),
    };
    Ok((mean.into_pyarray(py), spread.into_pyarray(py)))
}

/// The features in single precision, scaled if there is a scale.
#[pyfunction]
#[pyo3(signature = (x, scale=None))]
pub fn scale<'py>(
    py: Python<'py>,
    x: Features<'py>,
    scale: Option<Scale<'py>>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    x.values(scale.as_ref())?.into_pyarray(py).reshape(x.shape())
}
