//! Trained networks in files, with their provenance.

use std::path::Path;

use remanent_store::files::FileError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::architecture::Architecture;
use crate::network::{Network, Weights};
use crate::normalisation::BatchNorm;
use crate::tensors::{Arrays, TensorError, Tensors};

/// The metadata of the file.
#[derive(Serialize, Deserialize)]
struct About {
    architecture: Architecture,
    weights: Weights,
    beta: f32,
    log_scale: f32,
    /// Mean and deviation by which pixels are standardised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    standardise: Option<[f32; 2]>,
    /// How the network was trained.
    story: Value,
}

/// Adds the arrays of a network.
pub fn put_network<'a>(network: &'a Network, arrays: &mut Arrays<'a>) {
    for (l, layer) in network.layers.iter().enumerate() {
        let shape = [layer.inputs, layer.outputs];
        arrays.insert(format!("theta.{l}"), &shape, &layer.theta);
        if network.weights == Weights::Gaussian {
            arrays.insert(format!("weight_variance.{l}"), &shape, &layer.variance);
        }
    }
    for (l, norm) in network.batch_norms.iter().enumerate() {
        for (name, values) in norm.arrays() {
            arrays.insert(format!("{name}.{l}"), &[values.len()], values);
        }
    }
}

/// The network whose arrays [`put_network`] added.
pub(crate) fn take_network(
    architecture: &Architecture,
    weights: Weights,
    tensors: &mut Tensors,
) -> Result<Network, TensorError> {
    let shapes = architecture.shapes().enumerate();
    let thetas = shapes.map(|(l, (i, o))| tensors.need(&format!("theta.{l}"), i * o));
    let mut network = Network::new(architecture, weights, thetas.collect::<Result<_, _>>()?)
        .map_err(|error| TensorError::Content(error.to_string()))?;
    if weights == Weights::Gaussian {
        for (l, layer) in network.layers.iter_mut().enumerate() {
            layer.variance = tensors.need(&format!("weight_variance.{l}"), layer.theta.len())?;
        }
    }
    for (l, norm) in network.batch_norms.iter_mut().enumerate() {
        let neurons = norm.gain.len();
        let mut need = |name: &str| tensors.need(&format!("{name}.{l}"), neurons);
        *norm = BatchNorm {
            gain: need("gain")?,
            shift: need("shift")?,
            mean: need("mean")?,
            variance: need("variance")?,
        };
    }
    Ok(network)
}

/// Writes a model file atomically. `provenance` is stored with it.
pub fn write(path: &Path, network: &Network, provenance: &Value) -> Result<(), FileError> {
    let (arrays, about) = content(network, provenance);
    arrays.write(path, "model", &about)
}

/// The content of a model file.
pub fn encode(network: &Network, provenance: &Value) -> Result<Vec<u8>, TensorError> {
    let (arrays, about) = content(network, provenance);
    arrays.encode("model", &about)
}

fn content<'a>(network: &'a Network, provenance: &Value) -> (Arrays<'a>, Value) {
    let mut arrays = Arrays::default();
    put_network(network, &mut arrays);
    let about = json!(About {
        architecture: network.architecture.clone(),
        weights: network.weights,
        beta: network.beta,
        log_scale: network.log_scale,
        standardise: network.standardise,
        story: provenance.clone(),
    });
    (arrays, about)
}

/// Reads the content of a model file: the network and its provenance.
pub fn decode(bytes: &[u8]) -> Result<(Network, Value), TensorError> {
    let (about, mut tensors) = Tensors::decode(bytes, "model")?;
    let content = |text: String| TensorError::Content(text);
    let about: About = serde_json::from_value(about).map_err(|e| content(e.to_string()))?;
    about.architecture.check().map_err(|e| content(e.to_string()))?;
    let mut network = take_network(&about.architecture, about.weights, &mut tensors)?;
    network.log_scale = about.log_scale;
    network.standardise = about.standardise;
    network.set_beta(about.beta);
    Ok((network, about.story))
}
