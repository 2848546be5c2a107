//! Files for other programs, run by these: onnxruntime and NumPy.
//!
//! They are run by the Python that the environment variable `REMANENT_PYTHON` names, which must have
//! the packages of `requirements.txt`. Without the variable there is nothing to compare with.

use std::fs;
use std::path::Path;
use std::process::Command;

use remanent_math::philox::Stream;
use remanent_network::architecture::{Activation, Architecture, Normalisation};
use remanent_network::binary::{Affine, BinaryNetwork, Workspace, npz, onnx};

const IMAGES: usize = 40;

fn normals(count: usize, purpose: u32) -> Vec<f32> {
    let stream = Stream::new(21, purpose, 0, 0);
    (0..count as u32).map(|index| stream.normal(index) as f32).collect()
}

fn network(architecture: Architecture) -> BinaryNetwork {
    let layers: Vec<Vec<f32>> =
        architecture.shapes().zip(0..).map(|((n, m), layer)| normals(n * m, layer)).collect();
    let layers: Vec<&[f32]> = layers.iter().map(Vec::as_slice).collect();
    let affine = match architecture.normalisation {
        Normalisation::Batch => architecture
            .shapes()
            .zip(100..)
            .map(|((_, m), purpose)| Affine {
                scale: normals(m, purpose),
                shift: normals(m, purpose + 100),
            })
            .collect(),
        _ => Vec::new(),
    };
    BinaryNetwork::from_signs(architecture, &layers, affine, 1.3).unwrap()
}

fn write_floats(path: &Path, values: &[f32]) {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(path, bytes).unwrap();
}

/// Everything that `onnx_check.py` wants to know about a network.
fn write(directory: &Path, name: &str, network: &BinaryNetwork) {
    let path = |kind: &str| directory.join(format!("{name}.{kind}"));
    let (inputs, classes) = (network.architecture().inputs(), network.architecture().outputs());
    let mut images = normals(IMAGES * inputs, 300);
    // The first image is black. Half of them have dark pixels, as digits have.
    images[..inputs].fill(0.0);
    images[..IMAGES / 2 * inputs].iter_mut().for_each(|x| *x = (*x - 0.5).clamp(0.0, 1.0));
    let mut workspace = Workspace::new();
    let mut logits = vec![0.0; IMAGES * classes];
    network.logits(&images, &mut logits, &mut workspace);
    let mut probabilities = vec![0.0; IMAGES * classes];
    network.probabilities(&images, &mut probabilities, &mut workspace);
    fs::write(path("onnx"), onnx::encode(network)).unwrap();
    fs::write(path("npz"), npz::encode(network).unwrap()).unwrap();
    fs::write(path("json"), format!("{{\"images\": {IMAGES}}}")).unwrap();
    write_floats(&path("images"), &images);
    write_floats(&path("logits"), &logits);
    write_floats(&path("probabilities"), &probabilities);
}

#[test]
fn other_programs_compute_the_same() {
    let Some(python) = std::env::var_os("REMANENT_PYTHON") else {
        println!("skipped: REMANENT_PYTHON names no Python with the packages of requirements.txt");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for activation in [Activation::Relu, Activation::Sign, Activation::Gate] {
        for normalisation in [
            Normalisation::None,
            Normalisation::Layer,
            Normalisation::Batch,
            Normalisation::LayerAll,
        ] {
            // Sums of an odd number of signs are not zero, and a neuron in doubt is rare.
            for widths in [&[50, 7][..], &[101, 33, 45, 10], &[784, 511, 511, 10]] {
                let (kind, layers) =
                    (format!("{activation:?}-{normalisation:?}"), widths.len() - 1);
                let name = format!("{kind}-{layers}-{}", widths[0]).to_lowercase();
                let widths = widths.to_vec();
                let architecture = Architecture { widths, activation, normalisation };
                write(directory.path(), &name, &network(architecture));
            }
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/onnx_check.py");
    let output = Command::new(&python).arg(script).arg(directory.path()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {}: {error}", python.display()));
    println!("{}", String::from_utf8_lossy(&output.stdout));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}
