//! Output files: the format of a path, checks before a long computation, and atomic writing.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::PlotError;

/// The formats of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotFormat {
    /// Scalable vector graphics.
    Svg,
    /// Portable network graphics.
    #[cfg(feature = "png")]
    Png,
}

impl PlotFormat {
    /// The format of a path, by its extension in upper or lower case.
    pub fn from_path(path: &Path) -> Result<Self, PlotError> {
        let Some(extension) = path.extension() else {
            return Err(PlotError::NoExtension { path: path.to_owned() });
        };
        let extension = extension.to_string_lossy();
        match extension.to_ascii_lowercase().as_str() {
            "svg" => Ok(Self::Svg),
            #[cfg(feature = "png")]
            "png" => Ok(Self::Png),
            #[cfg(not(feature = "png"))]
            "png" => Err(PlotError::NoPng { path: path.to_owned() }),
            _ => Err(PlotError::UnknownFormat {
                path: path.to_owned(),
                extension: extension.into_owned(),
            }),
        }
    }
}

/// Checks that a file can be written at `path`: its directory exists and is writable, and
/// `path` is not a directory itself. Ignores the extension and does not touch existing files.
pub fn check_writable(path: &Path) -> Result<(), PlotError> {
    temporary(path).map(drop)
}

/// Checks that a figure can be written at `path`. An existing file is replaced only if it is an SVG
/// or PNG picture, or empty: anything else was probably named by mistake.
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

/// Bytes at the start of a file in which a picture is recognised.
const SEEN: u64 = 4096;

fn is_picture(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_svg = text.starts_with("<svg")
        || (text.starts_with("<?xml") || text.starts_with("<!")) && text.contains("<svg");
    start.starts_with(b"\x89PNG\r\n\x1a\n") || is_svg
}

/// Writes a file atomically: a temporary file in the same directory is renamed to it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), PlotError> {
    let mut file = temporary(path)?;
    let written = file.write_all(bytes).and_then(|()| file.as_file().sync_all());
    written.map_err(|source| refused(path, source))?;
    file.persist(path).map_err(|error| refused(path, error.error))?;
    Ok(())
}

fn refused(path: &Path, source: io::Error) -> PlotError {
    PlotError::Write { path: path.to_owned(), source }
}

/// A new file beside `path`, removed when dropped.
fn temporary(path: &Path) -> Result<NamedTempFile, PlotError> {
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
    let mut builder = tempfile::Builder::new();
    builder.prefix(".remanent-").suffix(".tmp");
    // Temporary files are private by default; a figure is as readable as any other file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // Only the kind of the error: its text would name the temporary file.
    builder.tempfile_in(directory).map_err(|error| refused(path, error.kind().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_in_any_case() {
        let format = |path: &str| PlotFormat::from_path(Path::new(path));
        assert_eq!(format("a/b.svg").unwrap(), PlotFormat::Svg);
        #[cfg(feature = "png")]
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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.svg");
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
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("a.svg"), directory.path().join("link.svg"));
        fs::write(&file, "<svg>").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&link, Path::new("/dev/null")] {
            for error in [check_writable(path).unwrap_err(), write_whole(path, b"x").unwrap_err()] {
                assert!(matches!(error, PlotError::NotRegular { .. }), "{error}");
            }
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "<svg>");
    }
}
