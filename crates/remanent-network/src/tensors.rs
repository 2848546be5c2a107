//! Arrays in safetensors files, with metadata and a checksum.
//!
//! Any program that knows safetensors can read the arrays. Under the key
//! `remanent` of the file's metadata is a JSON object: `kind` (`model` or
//! `checkpoint`), `version` of the format, `blake3` of everything else in that
//! object and of the arrays, and `about`, what the arrays belong to.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use remanent_store::atomic;
use remanent_store::files::FileError;
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, SafeTensors, View};
use serde_json::{Value, json};
use thiserror::Error;

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u64 = 1;

const KEY: &str = "remanent";

/// Why a file of arrays cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorError {
    /// Not a safetensors file, or cut short.
    #[error("it is not a safetensors file, or it is cut short ({0})")]
    Format(String),
    /// A safetensors file of another program.
    #[error("it was not written by remanent")]
    Foreign,
    /// Written in another version of the format.
    #[error("it is written in format {found}, and this program reads format {VERSION}")]
    Version {
        /// Its version.
        found: u64,
    },
    /// Arrays of another kind.
    #[error("it is a {found}, not a {wanted}")]
    Kind {
        /// What it is.
        found: String,
        /// What it should be.
        wanted: String,
    },
    /// The checksum does not match.
    #[error("its checksum does not match: it is damaged")]
    Checksum,
    /// An array is missing or has another shape.
    #[error("{0}")]
    Content(String),
}

/// Arrays to write: borrowed, so that saving a network needs no second copy.
#[derive(Clone, Debug, Default)]
pub struct Arrays<'a>(BTreeMap<String, Array<'a>>);

#[derive(Clone, Debug)]
struct Array<'a> {
    shape: Vec<usize>,
    values: &'a [f32],
}

impl<'a> Arrays<'a> {
    /// Adds an array, unless it is empty.
    pub fn insert(&mut self, name: impl Into<String>, shape: &[usize], values: &'a [f32]) {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len(), "shape of an array");
        if !values.is_empty() {
            self.0.insert(name.into(), Array { shape: shape.to_vec(), values });
        }
    }

    /// Numbers in all arrays.
    pub fn count(&self) -> usize {
        self.0.values().map(|array| array.values.len()).sum()
    }

    /// Writes the file atomically: the arrays, and `about` as metadata.
    pub fn write(&self, path: &Path, kind: &str, about: &Value) -> Result<(), FileError> {
        let other = |error: SafeTensorError| match error {
            SafeTensorError::IoError(error) => error,
            error => io::Error::other(error),
        };
        atomic::replace(path, |temporary| {
            safetensors::serialize_to_file(&self.0, Some(self.note(kind, about)), temporary)
                .map_err(other)
        })
    }

    /// The bytes of the file.
    pub fn encode(&self, kind: &str, about: &Value) -> Result<Vec<u8>, TensorError> {
        safetensors::serialize(&self.0, Some(self.note(kind, about)))
            .map_err(|error| TensorError::Format(error.to_string()))
    }

    fn note(&self, kind: &str, about: &Value) -> HashMap<String, String> {
        let mut digest = Digest::new(kind, about);
        for (name, array) in &self.0 {
            digest.begin(name, &array.shape);
            // A piece at a time: the bytes of all numbers would double the memory.
            for piece in array.values.chunks(1 << 14) {
                digest.add(&little_endian(piece));
            }
        }
        let digest = digest.finish();
        let note = json!({"kind": kind, "version": VERSION, "blake3": digest, "about": about});
        HashMap::from([(KEY.to_owned(), note.to_string())])
    }
}

fn little_endian(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

impl View for &Array<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(little_endian(self.values))
    }

    fn data_len(&self) -> usize {
        4 * self.values.len()
    }
}

/// Arrays of a file, by name, with their shapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensors(BTreeMap<String, (Vec<usize>, Vec<f32>)>);

impl Tensors {
    /// Name and shape of every array.
    pub fn shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.0.iter().map(|(name, (shape, _))| (name.as_str(), shape.as_slice()))
    }

    /// Removes an array of `count` numbers; empty if it does not exist.
    pub fn take(&mut self, name: &str, count: usize) -> Result<Vec<f32>, TensorError> {
        match self.0.remove(name) {
            None => Ok(Vec::new()),
            Some((_, values)) if values.len() == count => Ok(values),
            Some((shape, _)) => Err(TensorError::Content(format!(
                "its array {name} has the shape {shape:?}, but {count} numbers are needed"
            ))),
        }
    }

    /// Removes an array that must exist.
    pub fn need(&mut self, name: &str, count: usize) -> Result<Vec<f32>, TensorError> {
        let values = self.take(name, count)?;
        if values.is_empty() && count > 0 {
            return Err(TensorError::Content(format!("it has no array {name}")));
        }
        Ok(values)
    }

    /// Reads what [`Arrays::write`] wrote under the same kind.
    pub fn decode(bytes: &[u8], kind: &str) -> Result<(Value, Self), TensorError> {
        let format = |error: SafeTensorError| TensorError::Format(error.to_string());
        let file = SafeTensors::deserialize(bytes).map_err(format)?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(format)?;
        let note =
            header.metadata().as_ref().and_then(|m| m.get(KEY)).ok_or(TensorError::Foreign)?;
        let mut note: Value = serde_json::from_str(note).map_err(|_| TensorError::Checksum)?;
        let found = note["version"].as_u64().ok_or(TensorError::Foreign)?;
        if found != VERSION {
            return Err(TensorError::Version { found });
        }
        if note["kind"] != kind {
            let found = note["kind"].as_str().unwrap_or("file of another kind").to_owned();
            return Err(TensorError::Kind { found, wanted: kind.to_owned() });
        }
        let mut arrays: Vec<_> = file.tensors();
        arrays.sort_by(|a, b| a.0.cmp(&b.0));
        let about = note["about"].take();
        let mut digest = Digest::new(kind, &about);
        for (name, view) in &arrays {
            digest.begin(name, view.shape());
            digest.add(view.data());
        }
        if note["blake3"] != digest.finish() {
            return Err(TensorError::Checksum);
        }
        let mut tensors = Self::default();
        for (name, view) in arrays {
            if view.dtype() != Dtype::F32 {
                return Err(TensorError::Content(format!("its array {name} is not of f32")));
            }
            let (numbers, _) = view.data().as_chunks::<4>();
            let values = numbers.iter().map(|x| f32::from_le_bytes(*x)).collect();
            tensors.0.insert(name, (view.shape().to_vec(), values));
        }
        Ok((about, tensors))
    }
}

/// The checksum of everything in a file.
struct Digest(blake3::Hasher);

impl Digest {
    fn new(kind: &str, about: &Value) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(json!([kind, VERSION, about]).to_string().as_bytes());
        Self(hasher)
    }

    fn begin(&mut self, name: &str, shape: &[usize]) {
        self.0.update(json!([name, shape]).to_string().as_bytes());
    }

    fn add(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finish(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Vec<u8> {
        let mut tensors = Arrays::default();
        tensors.insert("a", &[2, 3], &[1.0, -0.0, f32::MIN_POSITIVE, 4.0, 5.0, 6.5]);
        tensors.insert("b.0", &[1], &[7.0]);
        tensors.encode("model", &json!({"widths": [2, 3]})).unwrap()
    }

    #[test]
    fn arrays_come_back_bit_for_bit() {
        let bytes = example();
        let (about, mut tensors) = Tensors::decode(&bytes, "model").unwrap();
        assert_eq!(about["widths"][1], 3);
        let a = tensors.need("a", 6).unwrap();
        assert!(a[1].is_sign_negative() && a[2] == f32::MIN_POSITIVE && a[5] == 6.5);
        assert!(tensors.take("c", 4).unwrap().is_empty());
        assert!(tensors.need("b.0", 2).is_err());
        assert_eq!(example(), bytes);
    }

    #[test]
    fn a_file_holds_the_encoded_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.safetensors");
        let values = vec![1.5; 100_000];
        let mut arrays = Arrays::default();
        arrays.insert("a", &[values.len()], &values);
        arrays.write(&path, "model", &json!(1)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), arrays.encode("model", &json!(1)).unwrap());
    }

    #[test]
    fn every_damage_is_noticed() {
        let whole = example();
        for length in 0..whole.len() {
            assert!(Tensors::decode(&whole[..length], "model").is_err(), "{length}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let found = Tensors::decode(&changed, "model");
            // A space of the padding is no content.
            assert!(found.is_err() || whole[at] == b' ', "byte {at}");
        }
        let other = Tensors::decode(&whole, "checkpoint").unwrap_err();
        assert!(other.to_string().contains("not a checkpoint"));
    }
}
