//! Trained networks: predictions, weights, files.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use remanent_data::dataset::{Part, Pixels};
use remanent_network::binary::{BinaryNetwork, Workspace, format, npz, onnx};
use remanent_network::network::{Network, Weights};
use remanent_network::predictor::{Predictor, Probabilities, predict, test_stream};
use remanent_network::ranges;
use remanent_store::{atomic, files};
use serde_json::{Value, json};

use crate::compute::{Stop, compute};
use crate::convert;
use crate::fault::Fault;

/// Images that one thread takes at once.
const BATCH: usize = 64;

/// A trained network.
#[pyclass(frozen, module = "remanent._core")]
pub struct Model {
    /// Absent in a packed model, which has signs only.
    network: Option<Network>,
    packed: BinaryNetwork,
    provenance: Value,
}

impl Model {
    /// The model of a network.
    pub fn new(network: Network, provenance: Value) -> Result<Self, Fault> {
        let packed = BinaryNetwork::hard(&network).map_err(Fault::failure)?;
        Ok(Self { network: Some(network), packed, provenance })
    }

    fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.starts_with(&format::MAGIC) {
            let packed = BinaryNetwork::from_bytes(bytes).map_err(|error| error.to_string())?;
            return Ok(Self { network: None, packed, provenance: Value::Null });
        }
        let decoded = remanent_network::model::decode(bytes);
        let (network, provenance) = decoded.map_err(|error| error.to_string())?;
        let packed = BinaryNetwork::hard(&network).map_err(|error| error.to_string())?;
        Ok(Self { network: Some(network), packed, provenance })
    }

    /// The network, for what a packed model cannot do.
    fn network(&self, how: &str) -> Result<&Network, Fault> {
        self.network.as_ref().ok_or_else(|| {
            Fault::value(format!(
                "the model is packed: it has signs only and no distribution to sample from; use \
                 hard, or load the .safetensors model for {how}"
            ))
        })
    }

    /// The images of an array, which must be contiguous.
    fn images<'a>(&self, x: &'a PyReadonlyArray2<'_, f32>) -> Result<&'a [f32], Fault> {
        let (found, wanted) = (x.shape()[1], self.packed.architecture().inputs());
        if found != wanted {
            return Err(Fault::value(format!(
                "X has {found} features, and the model takes {wanted}"
            )));
        }
        x.as_slice().map_err(|_| Fault::value("X must be C-contiguous"))
    }

    fn origin(&self, seed: Option<u64>, trial: Option<u32>) -> (u64, u32) {
        let number = |key: &str| self.provenance[key].as_u64();
        let own = number("trial").and_then(|trial| u32::try_from(trial).ok());
        (seed.or(number("seed")).unwrap_or(1), trial.or(own).unwrap_or(0))
    }
}

/// A layer's arrays: θ, mean, sign.
type LayerArrays<'py> = (
    Option<Bound<'py, PyArray2<f32>>>,
    Option<Bound<'py, PyArray2<f32>>>,
    Bound<'py, PyArray2<i8>>,
);

#[pymethods]
impl Model {
    /// Reads a file of either kind.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        let bytes = files::read_whole(&path).map_err(|error| match error.cause.kind() {
            std::io::ErrorKind::NotFound => Fault::missing(format!(
                "there is no file or directory {}; give a model (.safetensors or .rbin) or a run \
                 directory",
                path.display()
            )),
            _ => Fault::from(error),
        })?;
        let read = Self::read(&bytes);
        Ok(read
            .map_err(|error| Fault::value(format!("{} cannot be used: {error}", path.display())))?)
    }

    /// The model in the bytes of a file.
    #[staticmethod]
    fn decode(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self::read(bytes).map_err(Fault::value)?)
    }

    /// The bytes of a file.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let Some(network) = &self.network else {
            return Ok(PyBytes::new(py, &self.packed.to_bytes()));
        };
        let bytes = remanent_network::model::encode(network, &self.provenance);
        Ok(PyBytes::new(py, &bytes.map_err(Fault::failure)?))
    }

    /// Writes a file: `model` (with the distributions), `rbin`, `npz` or `onnx`.
    fn write(&self, path: PathBuf, what: &str) -> PyResult<()> {
        let bytes = match what {
            "model" => {
                let network = self.network("safetensors")?;
                return Ok(remanent_network::model::write(&path, network, &self.provenance)
                    .map_err(Fault::from)?);
            }
            "rbin" => self.packed.to_bytes(),
            "npz" => npz::encode(&self.packed).map_err(Fault::failure)?,
            "onnx" => onnx::encode(&self.packed),
            other => return Err(Fault::value(format!("there is no format '{other}'")).into()),
        };
        Ok(atomic::write(&path, &[&bytes]).map_err(Fault::from)?)
    }

    /// Widths, activation, normalisation, and how the model was trained.
    fn about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let network = self.network.as_ref();
        let about = json!({
            "architecture": self.packed.architecture(),
            "packed": network.is_none(),
            "weights": network.map(Network::weights),
            "beta": network.filter(|n| n.weights() == Weights::Field).map(|n| f64::from(n.beta())),
            "output_scale": f64::from(self.packed.output_scale()),
            "uncertainty": network.map(Network::uncertainty),
            "provenance": self.provenance,
        });
        convert::object(py, &about)
    }

    /// θ, mean and sign of each layer.
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Vec<LayerArrays<'py>>> {
        let shapes = self.packed.architecture().shapes().enumerate();
        let array =
            |values: &[f32], shape: [usize; 2]| values.to_vec().into_pyarray(py).reshape(shape);
        let layer = |(l, (inputs, outputs)): (usize, (usize, usize))| {
            let shape = [inputs, outputs];
            let signs: Vec<i8> = self.packed.signs(l).iter().map(|&sign| sign as i8).collect();
            let own = self.network.as_ref().map(|network| &network.layers()[l]);
            let theta = own.map(|layer| array(layer.theta(), shape)).transpose()?;
            let mean = own.map(|layer| array(layer.mean(), shape)).transpose()?;
            Ok((theta, mean, signs.into_pyarray(py).reshape(shape)?))
        };
        shapes.map(layer).collect()
    }

    /// Probabilities of the classes.
    #[pyo3(signature = (x, how, draws, seed=None, trial=None))]
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        how: &str,
        draws: usize,
        seed: Option<u64>,
        trial: Option<u32>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let images = self.images(&x)?;
        let predictor = predictor(how)?;
        Fault::unless_in(ranges::DRAWS, "draws", draws as f64)?;
        if predictor == Predictor::Hard {
            return self.hard(py, images, x.shape()[0]);
        }
        let network = self.network(how)?.clone();
        let part = part(images, x.shape()[0]);
        let (seed, trial) = self.origin(seed, trial);
        let answers = compute(py, Stop::AtOnce, None, move |_| {
            let inputs = network.architecture().inputs();
            let stream = test_stream(seed, trial, 0);
            Ok(predict(&network, &[part.view(inputs)], predictor, draws, stream).remove(0))
        })?;
        matrix(py, answers)
    }

    /// Probabilities averaged over sampled networks, and the mean entropy of their answers in nats.
    #[pyo3(signature = (x, draws, seed=None, trial=None))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        draws: usize,
        seed: Option<u64>,
        trial: Option<u32>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Vec<f64>)> {
        let images = self.images(&x)?;
        Fault::unless_in(ranges::DRAWS, "draws", draws as f64)?;
        let network = self.network("sampled")?.clone();
        let count = x.shape()[0];
        let part = part(images, count);
        let (seed, trial) = self.origin(seed, trial);
        let (mean, entropies) = compute(py, Stop::AtOnce, None, move |shared| {
            let architecture = network.architecture();
            let (inputs, classes) = (architecture.inputs(), architecture.outputs());
            let view = part.view(inputs);
            let stream = test_stream(seed, trial, 0);
            let mut mean = Probabilities { classes, values: vec![0.0; count * classes] };
            let mut entropies = vec![0.0; count];
            for draw in 0..draws as u32 {
                if shared.interrupt.load(std::sync::atomic::Ordering::Relaxed) {
                    return Err(Fault::interrupted());
                }
                // The same networks as those of the average over all draws.
                let one = |step: u32| stream(step.wrapping_sub(draw));
                let answers = predict(&network, &[view], Predictor::Sampled, 1, one).remove(0);
                mean.values.iter_mut().zip(&answers.values).for_each(|(m, p)| *m += p);
                for (total, p) in entropies.iter_mut().zip(answers.rows()) {
                    *total += entropy(p);
                }
            }
            let share = (draws as f32).recip();
            mean.values.iter_mut().for_each(|p| *p *= share);
            entropies.iter_mut().for_each(|total| *total /= draws as f64);
            Ok((mean, entropies))
        })?;
        Ok((matrix(py, mean)?, entropies))
    }
}

impl Model {
    /// The answers of the binary network, from the array itself. Ctrl-C is looked for between blocks.
    fn hard<'py>(
        &self,
        py: Python<'py>,
        images: &[f32],
        count: usize,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        const BLOCK: usize = 128 * BATCH;
        let (inputs, classes) =
            (self.packed.architecture().inputs(), self.packed.architecture().outputs());
        let mut values = vec![0.0; count * classes];
        let blocks = values.chunks_mut(BLOCK * classes).zip(images.chunks(BLOCK * inputs));
        for (values, images) in blocks {
            crate::compute::install(py, || {
                let batches = values.par_chunks_mut(BATCH * classes);
                batches.zip(images.par_chunks(BATCH * inputs)).for_each_init(
                    Workspace::new,
                    |workspace, (values, images)| {
                        self.packed.probabilities(images, values, workspace);
                    },
                );
            })?;
            py.check_signals()?;
        }
        matrix(py, Probabilities { classes, values })
    }
}

/// What a predictor is called, with `-` or `_`.
fn predictor(how: &str) -> Result<Predictor, Fault> {
    let name = how.replace('-', "_");
    Predictor::ALL.into_iter().find(|predictor| predictor.name() == name).ok_or_else(|| {
        let names = Predictor::ALL.map(Predictor::name).join(", ");
        Fault::value(format!("how = \"{how}\" cannot be used: it must be one of {names}"))
    })
}

/// Images without labels.
fn part(images: &[f32], count: usize) -> Part {
    Part { pixels: Pixels::Floats(images.to_vec()), labels: vec![0; count] }
}

fn entropy(p: &[f32]) -> f64 {
    p.iter().filter(|&&p| p > 0.0).map(|&p| -f64::from(p) * f64::from(p).ln()).sum()
}

fn matrix<'py>(py: Python<'py>, answers: Probabilities) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let shape = [answers.values.len() / answers.classes, answers.classes];
    answers.values.into_pyarray(py).reshape(shape)
}
