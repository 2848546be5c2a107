//! Files of packed networks.

use std::io;
use std::path::{Path, PathBuf};

use remanent_store::{atomic, files};
use thiserror::Error;

use super::BinaryNetwork;
use super::format::FormatError;

/// The extension of files with packed networks.
pub const EXTENSION: &str = "rbin";

/// Why a file of a packed network cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such file.
    #[error("no file {}", .0.display())]
    Missing(PathBuf),
    /// It is not a packed network, or a damaged one.
    #[error("{} cannot be used: {error}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong; part of the message, so it is not a `source`.
        error: FormatError,
    },
    /// The operating system refused.
    #[error(transparent)]
    System(#[from] files::FileError),
}

impl BinaryNetwork {
    /// Reads a file that [`Self::write`] wrote.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let bytes = files::read_whole(path).map_err(|error| match error.cause.kind() {
            io::ErrorKind::NotFound => FileError::Missing(path.to_owned()),
            _ => error.into(),
        })?;
        Self::from_bytes(&bytes).map_err(|error| FileError::Format { path: path.to_owned(), error })
    }

    /// Writes a file atomically, replacing an existing one.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        Ok(atomic::write(path, &[&self.to_bytes()])?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::examples;
    use super::*;

    #[test]
    fn files_come_back_and_nothing_is_left_beside_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.rbin");
        for network in examples::all() {
            network.write(&path).unwrap();
            assert_eq!(BinaryNetwork::read(&path).unwrap(), network);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_reasons_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.rbin");
        let read = || BinaryNetwork::read(&path).unwrap_err();
        let error = read();
        assert!(matches!(error, FileError::Missing(_)), "{error}");

        fs::write(&path, "something else").unwrap();
        let error = read();
        assert!(matches!(error, FileError::Format { error: FormatError::Magic, .. }), "{error}");
        assert!(error.to_string().contains("a.rbin"), "{error}");

        let bytes = examples::all()[0].to_bytes();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let error = read();
        let truncated =
            FormatError::Truncated { found: bytes.len() - 1, wanted: bytes.len() as u128 };
        assert!(matches!(error, FileError::Format { error, .. } if error == truncated));
    }

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        let error = examples::all()[0].write(&path).unwrap_err();
        assert!(error.to_string().starts_with("cannot write"), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let error = BinaryNetwork::read(&path).unwrap_err();
        assert!(error.to_string().starts_with("cannot read"), "{error}");
    }
}
