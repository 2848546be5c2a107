//! Paths and files: which format, whether it can be written, and writing it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::PlotError;

/// The formats of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotFormat {
    /// Scalable vector graphics.
    Svg,
    /// Portable network graphics.
    Png,
}

impl PlotFormat {
    /// The format that the extension of a path asks for, in any case.
    pub fn from_path(path: &Path) -> Result<Self, PlotError> {
        let Some(extension) = path.extension() else {
            return Err(PlotError::NoExtension { path: path.to_owned() });
        };
        let extension = extension.to_string_lossy();
        match extension.to_ascii_lowercase().as_str() {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err(PlotError::UnknownFormat {
                path: path.to_owned(),
                extension: extension.into_owned(),
            }),
        }
    }
}

/// Whether a file could be written at `path`: its directory exists and takes
/// new files, and it is no directory itself. Says nothing about the extension,
/// leaves nothing behind, and does not touch a file that is already there.
pub fn check_writable(path: &Path) -> Result<(), PlotError> {
    Temporary::create(path).map(drop)
}

/// Writes a file so that it is there whole or not at all: to a temporary file
/// in the same directory, which is then renamed.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), PlotError> {
    let mut temporary = Temporary::create(path)?;
    temporary.fill_and_rename(path, bytes).map_err(|source| refused(path, source))
}

fn refused(path: &Path, source: io::Error) -> PlotError {
    PlotError::Write { path: path.to_owned(), source }
}

/// A new file beside the one wanted, removed when dropped unless renamed.
struct Temporary {
    path: PathBuf,
    file: Option<File>,
    renamed: bool,
}

impl Temporary {
    fn create(path: &Path) -> Result<Self, PlotError> {
        if path.is_dir() {
            return Err(PlotError::IsADirectory { path: path.to_owned() });
        }
        let Some(name) = path.file_name() else {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "the path names no file");
            return Err(refused(path, source));
        };
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        match fs::metadata(directory) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let directory = directory.to_owned();
                return Err(PlotError::NotADirectory { path: path.to_owned(), directory });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = directory.to_owned();
                return Err(PlotError::NoDirectory { path: path.to_owned(), directory });
            }
            Err(error) => return Err(refused(path, error)),
        }
        // Two threads of one process must not share a temporary file either.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{}.tmp", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let temporary = directory.join(hidden);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
            .map_err(|source| refused(path, source))?;
        Ok(Self { path: temporary, file: Some(file), renamed: false })
    }

    fn fill_and_rename(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(mut file) = self.file.take() {
            file.write_all(bytes)?;
            file.sync_all()?;
        }
        fs::rename(&self.path, path)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Some systems do not remove a file that is open.
        drop(self.file.take());
        if !self.renamed {
            // Nothing better can be done if even this fails.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_in_any_case() {
        let format = |path: &str| PlotFormat::from_path(Path::new(path));
        assert_eq!(format("a/b.svg").unwrap(), PlotFormat::Svg);
        assert_eq!(format("b.PnG").unwrap(), PlotFormat::Png);
        let message = format("b.pdf").unwrap_err().to_string();
        assert!(
            message.contains(".pdf") && message.contains(".svg") && message.contains(".png"),
            "{message}"
        );
        assert!(matches!(format("svg"), Err(PlotError::NoExtension { .. })));
    }
}
