//! Export to NumPy.
//!
//! `numpy.load("network.npz")` gives
//!
//! - `widths`: the widths, int64;
//! - `w0`, `w1`, …: the weights of the layers, int8, +1 and −1, inputs × outputs;
//! - `scale0`, `shift0`, …: with batch normalisation, what every layer does to its preactivations at
//!   test time, float32, one for each output;
//! - `output_scale`: the factor of the logits, float32, without dimensions;
//! - `activation`: `relu`, `sign` or `gate`, and `normalisation`: `none`, `layer`, `batch` or
//!   `layer-all`, text without dimensions.
//!
//! The same network gives the same bytes: entries carry no modification time.

use std::io;

use remanent_formats::npz::Archive;

use super::BinaryNetwork;
use crate::architecture::{Activation, Normalisation};

/// The content of a file.
pub fn encode(network: &BinaryNetwork) -> io::Result<Vec<u8>> {
    let architecture = network.architecture();
    let mut archive = Archive::new();
    let widths: Vec<i64> = architecture.widths.iter().map(|&width| width as i64).collect();
    archive.array("widths", &[widths.len()], widths)?;
    archive.text(
        "activation",
        match architecture.activation {
            Activation::Relu => "relu",
            Activation::Sign => "sign",
            Activation::Gate => "gate",
        },
    )?;
    archive.text(
        "normalisation",
        match architecture.normalisation {
            Normalisation::None => "none",
            Normalisation::Layer => "layer",
            Normalisation::Batch | Normalisation::BatchPlain => "batch",
            Normalisation::LayerAll => "layer-all",
        },
    )?;
    archive.array("output_scale", &[], [network.output_scale()])?;
    for (layer, (inputs, outputs)) in architecture.shapes().enumerate() {
        archive.array(&format!("w{layer}"), &[inputs, outputs], network.small_signs(layer))?;
        if let Some(affine) = network.affine(layer) {
            let (scale, shift) = (affine.scale.iter().copied(), affine.shift.iter().copied());
            archive.array(&format!("scale{layer}"), &[outputs], scale)?;
            archive.array(&format!("shift{layer}"), &[outputs], shift)?;
        }
    }
    archive.finish()
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use npyz::NpyFile;
    use zip::ZipArchive;

    use super::super::examples;
    use super::*;

    #[test]
    fn arrays_come_back() {
        for network in examples::all() {
            let bytes = encode(&network).unwrap();
            assert_eq!(encode(&network).unwrap(), bytes);
            let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
            let mut file = |name: String| {
                let mut bytes = Vec::new();
                archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
                NpyFile::new(Cursor::new(bytes)).unwrap()
            };
            let scale = file("output_scale".into());
            assert!(scale.shape().is_empty());
            assert_eq!(scale.into_vec::<f32>().unwrap(), [network.output_scale()]);
            for (layer, (inputs, outputs)) in network.architecture().shapes().enumerate() {
                let weights = file(format!("w{layer}"));
                assert_eq!(weights.shape(), [inputs as u64, outputs as u64]);
                let weights: Vec<f32> =
                    weights.into_vec::<i8>().unwrap().into_iter().map(f32::from).collect();
                assert_eq!(weights, network.signs(layer));
                if let Some(affine) = network.affine(layer) {
                    let mut floats = |name| file(name).into_vec::<f32>().unwrap();
                    assert_eq!(floats(format!("scale{layer}")), affine.scale);
                    assert_eq!(floats(format!("shift{layer}")), affine.shift);
                }
            }
        }
    }
}
