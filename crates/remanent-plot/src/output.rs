//! Paths and files: which format, whether it can be written, and writing it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
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

/// Whether a figure could be written at `path`: a file could, and what is there, if anything, is a
/// picture or empty. What is no picture was hardly meant to be replaced by one.
pub fn check_picture(path: &Path) -> Result<(), PlotError> {
    check_writable(path)?;
    let mut start = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file
            .and_then(|file| file.take(SEEN).read_to_end(&mut start))
            .map_err(|source| PlotError::Read { path: path.to_owned(), source })?,
    };
    if start.is_empty() || is_picture(&start) {
        return Ok(());
    }
    Err(PlotError::NotAPicture { path: path.to_owned() })
}

/// Bytes of a file in which a picture must show itself.
const SEEN: u64 = 4096;

fn is_picture(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_svg = text.starts_with("<svg")
        || (text.starts_with("<?xml") || text.starts_with("<!")) && text.contains("<svg");
    start.starts_with(b"\x89PNG\r\n\x1a\n") || is_svg
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
        // A device or a pipe would be replaced by a file, and a link would be lost.
        if let Ok(found) = fs::symlink_metadata(path)
            && !found.is_file()
        {
            let what =
                if found.is_symlink() { "a symbolic link" } else { "a device, a pipe or a socket" };
            return Err(PlotError::NotRegular { path: path.to_owned(), what });
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

    #[test]
    fn only_pictures_are_replaced() {
        let directory = std::env::temp_dir().join(format!("remanent-plot-{}", process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("a.svg");
        check_picture(&path).unwrap();
        for picture in [
            &b""[..],
            b"<svg xmlns=\"\">",
            b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<svg>",
            b"\x89PNG\r\n\x1a\n\0",
        ] {
            fs::write(&path, picture).unwrap();
            check_picture(&path).unwrap();
        }
        for other in ["my thesis", "<?xml version=\"1.0\"?><book>", "PNG"] {
            fs::write(&path, other).unwrap();
            let error = check_picture(&path).unwrap_err();
            assert!(matches!(error, PlotError::NotAPicture { .. }), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        fs::remove_dir_all(&directory).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_not_replaced() {
        let directory = std::env::temp_dir().join(format!("remanent-link-{}", process::id()));
        fs::create_dir_all(&directory).unwrap();
        let (file, link) = (directory.join("a.svg"), directory.join("link.svg"));
        fs::write(&file, "<svg>").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&link, Path::new("/dev/null")] {
            for error in [check_writable(path).unwrap_err(), write_whole(path, b"x").unwrap_err()] {
                assert!(matches!(error, PlotError::NotRegular { .. }), "{error}");
            }
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "<svg>");
        fs::remove_dir_all(&directory).unwrap();
    }
}
