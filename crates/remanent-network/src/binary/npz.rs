//! Networks for NumPy.
//!
//! `numpy.load("network.npz")` gives
//!
//! - `widths`: the widths, int64;
//! - `w0`, `w1`, …: the weights of the layers, int8, +1 and −1, inputs × outputs;
//! - `scale0`, `shift0`, …: with batch normalisation, what every layer does to its preactivations at
//!   test time, float32, one for each output;
//! - `output_scale`: the factor of the logits, float32, without dimensions;
//! - `activation`: `relu` or `sign`, and `normalisation`: `none`, `layer` or `batch`, text without
//!   dimensions.
//!
//! The same network gives the same bytes: no time of writing is in them.

use std::io::{self, Cursor, Write};

use npyz::{AutoSerialize, DType, WriteOptions, WriterBuilder, npz};
use zip::write::SimpleFileOptions;
use zip::{DateTime, ZipWriter};

use super::BinaryNetwork;
use crate::architecture::{Activation, Normalisation};

/// The content of a file.
pub fn encode(network: &BinaryNetwork) -> io::Result<Vec<u8>> {
    let architecture = network.architecture();
    let mut archive = Archive { zip: ZipWriter::new(Cursor::new(Vec::new())) };
    let widths: Vec<i64> = architecture.widths.iter().map(|&width| width as i64).collect();
    archive.array("widths", &[widths.len()], widths)?;
    archive.text(
        "activation",
        match architecture.activation {
            Activation::Relu => "relu",
            Activation::Sign => "sign",
        },
    )?;
    archive.text(
        "normalisation",
        match architecture.normalisation {
            Normalisation::None => "none",
            Normalisation::Layer => "layer",
            Normalisation::Batch => "batch",
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
    Ok(archive.zip.finish()?.into_inner())
}

struct Archive {
    zip: ZipWriter<Cursor<Vec<u8>>>,
}

impl Archive {
    fn start(&mut self, name: &str) -> io::Result<()> {
        let options =
            SimpleFileOptions::default().last_modified_time(DateTime::default()).large_file(true);
        Ok(self.zip.start_file(npz::file_name_from_array_name(name), options)?)
    }

    fn array<T: AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        self.start(name)?;
        let shape: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
        let options = WriteOptions::new().default_dtype().shape(&shape);
        let mut writer = options.writer(&mut self.zip).begin_nd()?;
        writer.extend(values)?;
        writer.finish()
    }

    /// Four bytes a letter, which is how NumPy has text.
    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.start(name)?;
        let letters = text.chars().count();
        let kind = format!("<U{letters}").parse().expect("is a type of NumPy");
        let options = WriteOptions::new_header_only().dtype(DType::Plain(kind)).shape(&[]);
        options.writer(&mut self.zip).write_header_only()?;
        let bytes: Vec<u8> =
            text.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
        self.zip.write_all(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

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
