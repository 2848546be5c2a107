//! Packed networks on the disk.
//!
//! A file is written under a temporary name in the same directory, flushed to the disk and renamed:
//! readers see the old file or the new one, and a full disk leaves what was there.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::Builder;
use thiserror::Error;

use super::BinaryNetwork;
use super::format::FormatError;

/// The extension of files with packed networks.
pub const EXTENSION: &str = "rbin";

/// Why a file gives no network, or cannot be written.
#[derive(Debug, Error)]
pub enum FileError {
    /// There is no such file.
    #[error("no file {}", .0.display())]
    Missing(PathBuf),
    /// It is no packed network, or a damaged one.
    #[error("{} cannot be used: {error}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong; part of the message, and so not a source to be told again.
        error: FormatError,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {error}", path.display())]
    System {
        /// A verb: `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said; part of the message, and so not a source.
        error: io::Error,
    },
}

impl BinaryNetwork {
    /// Reads a file that [`Self::write`] wrote.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let bytes = fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FileError::Missing(path.to_owned()),
            _ => FileError::System { action: "read", path: path.to_owned(), error },
        })?;
        Self::from_bytes(&bytes).map_err(|error| FileError::Format { path: path.to_owned(), error })
    }

    /// Writes a file that replaces what was at `path`, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        replace(path, &self.to_bytes()).map_err(|error| {
            let path = path.to_owned();
            FileError::System { action: "write", path, error }
        })
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = Builder::new();
    builder.prefix(".remanent-").suffix(".tmp");
    // Temporary files are private by default; a network is as readable as any other file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
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
