//! What can go wrong between a figure and its file.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a figure could not be rendered or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The extension of the path names no format.
    #[error("unknown figure format `.{extension}` of {}: use .svg or .png", path.display())]
    UnknownFormat {
        /// The path as given.
        path: PathBuf,
        /// Its extension.
        extension: String,
    },
    /// The path has no extension, so the format is not known.
    #[error("no extension in {}: use .svg or .png", path.display())]
    NoExtension {
        /// The path as given.
        path: PathBuf,
    },
    /// The path asks for PNG, which this build cannot write.
    #[error(
        "cannot write {}: this build has no PNG support (feature `png`); use .svg",
        path.display()
    )]
    NoPng {
        /// The path as given.
        path: PathBuf,
    },
    /// The directory of the path does not exist.
    #[error("no directory {} to write {} in", directory.display(), path.display())]
    NoDirectory {
        /// The path as given.
        path: PathBuf,
        /// The directory that is missing.
        directory: PathBuf,
    },
    /// The parent of the path exists and is not a directory.
    #[error("{} is not a directory, so {} cannot be written", directory.display(), path.display())]
    NotADirectory {
        /// The path as given.
        path: PathBuf,
        /// What should be a directory.
        directory: PathBuf,
    },
    /// The path itself is a directory.
    #[error("{} is a directory, not a file", path.display())]
    IsADirectory {
        /// The path as given.
        path: PathBuf,
    },
    /// Something is there that is no regular file: a device, a pipe, a symbolic link.
    #[error("{} is {what}: figures are written to regular files only", path.display())]
    NotRegular {
        /// The path as given.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// A file is there that is no picture.
    #[error(
        "{} is there already and is no SVG or PNG picture; choose another name, or remove it",
        path.display()
    )]
    NotAPicture {
        /// The path as given.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The path as given.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The operating system refused to read what is there.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path as given.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The scale of a PNG is not positive, or gives an image that is too large or empty.
    #[error(
        "scale {scale} gives an image of {width} by {height} pixels; the sides must be between 1 and {limit}"
    )]
    Scale {
        /// The scale asked for.
        scale: f32,
        /// Width it would give.
        width: f32,
        /// Height it would give.
        height: f32,
        /// Largest side allowed.
        limit: u32,
    },
    /// The renderer refused the drawing.
    #[error("cannot render the figure: {0}")]
    Render(String),
}
