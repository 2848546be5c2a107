//! The format of records, checkpoints and the marker of a run: a seal and JSON.
//!
//! The first line says what the file is, in which version of the format, and
//! the checksum of what follows:
//!
//! ```text
//! remanent record 1 blake3:af1349b9f5f9a1a6…
//! {"key":{"alpha":2.0,"seed":1},"value":…}
//! ```
//!
//! Disks, copies and editors damage files, and a JSON number with a digit
//! missing is a JSON number. [`read`] believes nothing that the seal does not
//! vouch for, and says what is wrong. `tail -n +2` gives the JSON.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::atomic;
use crate::files::{self, FileError};

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// Why a sealed file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SealError {
    /// There is no such file.
    #[error("no file {}", .0.display())]
    Missing(PathBuf),
    /// Cut short or changed since it was written.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Written in another version of the format.
    #[error("{} is written in format {found}, and this program reads format {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A sealed file of another kind.
    #[error("{} is a {found}, not a {wanted}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What it should be.
        wanted: String,
    },
    /// Undamaged, but its content is not what was asked for.
    #[error("{} does not hold what it should: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The checksum of some bytes, in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Writes a value as JSON under a seal, atomically. `what` is one word. Numbers that are not finite
/// become `null`, which is how JSON has them.
pub fn write<T: Serialize>(path: &Path, what: &str, value: &T) -> Result<(), FileError> {
    let (seal, json) = seal(path, what, value)?;
    atomic::write(path, &[seal.as_bytes(), &json, b"\n"])
}

/// Like [`write()`], and leaves a file as it is that is already there; says whether it was written.
/// Without `flush` a file may be cut if the machine fails in the next seconds, which [`read`] notices.
pub(crate) fn create<T: Serialize>(
    path: &Path,
    what: &str,
    value: &T,
    flush: bool,
) -> Result<bool, FileError> {
    let (seal, json) = seal(path, what, value)?;
    atomic::create(path, &[seal.as_bytes(), &json, b"\n"], flush)
}

fn seal<T: Serialize>(path: &Path, what: &str, value: &T) -> Result<(String, Vec<u8>), FileError> {
    let json = serde_json::to_vec(value)
        .map_err(io::Error::from)
        .map_err(FileError::new("write", path))?;
    Ok((format!("remanent {what} {VERSION} blake3:{}\n", blake3::hash(&json)), json))
}

/// Reads what [`write()`] wrote under the same `what`.
pub fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, SealError> {
    let bytes = match files::read_whole(path) {
        Err(error) if error.cause.kind() == io::ErrorKind::NotFound => {
            return Err(SealError::Missing(path.to_owned()));
        }
        bytes => bytes?,
    };
    let damaged =
        |reason: &str| SealError::Damaged { path: path.to_owned(), reason: reason.into() };

    let mut lines = bytes.splitn(2, |&byte| byte == b'\n');
    let (seal, body) = (lines.next().unwrap_or_default(), lines.next());
    let body = body.and_then(|body| body.strip_suffix(b"\n"));
    let body = body.ok_or_else(|| damaged("it is cut short"))?;

    let no_seal = || damaged("its first line is no seal of remanent");
    let seal = str::from_utf8(seal).map_err(|_| no_seal())?;
    let words: Vec<&str> = seal.split(' ').collect();
    let ["remanent", found, version, checksum] = words.as_slice() else {
        return Err(no_seal());
    };
    // Kind and version come first: the checksum of a later format may be another one.
    if *found != what {
        let (found, wanted) = ((*found).to_owned(), what.to_owned());
        return Err(SealError::Kind { path: path.to_owned(), found, wanted });
    }
    let found = version.parse().map_err(|_| no_seal())?;
    if found != VERSION {
        return Err(SealError::Version { path: path.to_owned(), found });
    }
    if *checksum != format!("blake3:{}", blake3::hash(body)) {
        return Err(damaged("its checksum does not match"));
    }
    serde_json::from_slice(body)
        .map_err(|error| SealError::Content { path: path.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        (directory, path)
    }

    /// Numbers of all sizes, from the bits of a linear congruential generator.
    fn bits(count: usize) -> impl Iterator<Item = u64> {
        let step = |x: &u64| Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        std::iter::successors(Some(1), step).take(count)
    }

    #[test]
    fn numbers_come_back_bit_for_bit() {
        let (_directory, path) = file();
        let double: Vec<f64> = bits(20_000).map(f64::from_bits).filter(|x| x.is_finite()).collect();
        let single: Vec<f32> = bits(20_000)
            .map(|x| f32::from_bits((x >> 32) as u32))
            .filter(|x| x.is_finite())
            .collect();
        write(&path, "numbers", &(&double, &single, -0.0)).unwrap();
        let back: (Vec<f64>, Vec<f32>, f64) = read(&path, "numbers").unwrap();
        assert!(double.iter().zip(&back.0).all(|(a, b)| a.to_bits() == b.to_bits()));
        assert!(single.iter().zip(&back.1).all(|(a, b)| a.to_bits() == b.to_bits()));
        assert_eq!((back.0.len(), back.1.len()), (double.len(), single.len()));
        assert!(back.2.is_sign_negative());
    }

    #[test]
    fn every_damage_is_noticed() {
        let (_directory, path) = file();
        write(&path, "thing", &vec![0.1, 20.0]).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let error = read::<Vec<f64>>(&path, "thing").unwrap_err();
            assert!(matches!(error, SealError::Damaged { .. }), "{length}: {error}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            assert!(read::<Vec<f64>>(&path, "thing").is_err(), "byte {at}");
        }
    }

    #[test]
    fn the_reasons_are_told_apart() {
        let (_directory, path) = file();
        let error = read::<f64>(&path, "thing").unwrap_err();
        assert!(matches!(error, SealError::Missing(_)), "{error}");

        write(&path, "thing", &1.0).unwrap();
        let error = read::<f64>(&path, "other").unwrap_err();
        assert!(matches!(error, SealError::Kind { .. }), "{error}");
        let error = read::<String>(&path, "thing").unwrap_err();
        assert!(matches!(error, SealError::Content { .. }), "{error}");

        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("thing 1", "thing 2")).unwrap();
        let error = read::<f64>(&path, "thing").unwrap_err();
        assert!(matches!(error, SealError::Version { found: 2, .. }), "{error}");

        fs::write(&path, "{\"a\": 1}\n{}\n").unwrap();
        let error = read::<f64>(&path, "thing").unwrap_err();
        assert!(matches!(error, SealError::Damaged { .. }), "{error}");
    }
}
