//! The folder in which datasets are kept, and what is in it.
//!
//! A dataset is a folder with four idx files, uncompressed: reading them takes a tenth of the
//! time of decompressing. Files are hashed whenever they are read. That costs a tenth of a
//! second and finds what a failing disk or a curious editor has done to them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};

use crate::dataset;
use crate::files::{self, FileError};
use crate::known::{Known, KnownFile};

/// The variable that names the folder.
const VARIABLE: &str = "REMANENT_DATA";

/// A folder in which datasets are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

/// What is known about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// It is not there.
    Missing,
    /// It is there, and its hash is right.
    Intact,
    /// It is there, but it is not the file; why.
    Damaged(String),
}

impl Cache {
    /// The cache in a folder, which need not exist.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The cache of this user: `$REMANENT_DATA`, or `remanent` in the folder in which the platform
    /// keeps the data of programs. None if the environment names no such folder.
    pub fn from_environment() -> Option<Self> {
        place(|name| env::var_os(name)).map(Self::at)
    }

    /// The folder.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The folder of a dataset.
    pub fn folder(&self, known: &Known) -> PathBuf {
        self.directory.join(known.name)
    }

    /// The path of a file, whether or not it is there.
    pub fn path(&self, known: &Known, file: &KnownFile) -> PathBuf {
        let folder = self.folder(known);
        dataset::find(&folder, file.name).unwrap_or_else(|| folder.join(file.name))
    }

    /// Reads a file and compares its hash.
    pub fn state(&self, known: &Known, file: &KnownFile) -> FileState {
        state(&self.folder(known), file)
    }

    /// Writes a file of which the hash is known to be right.
    pub(crate) fn write(
        &self,
        known: &Known,
        file: &KnownFile,
        bytes: &[u8],
    ) -> Result<PathBuf, FileError> {
        let path = self.folder(known).join(file.name);
        files::write(&path, bytes)?;
        Ok(path)
    }
}

fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    // A relative path in the platform's variables is to be ignored, says the standard of XDG.
    let absolute = |name: &str| folder(name).filter(|path| path.is_absolute());
    let home = || absolute("HOME");
    folder(VARIABLE).or_else(|| {
        let data = if cfg!(windows) {
            absolute("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            home().map(|home| home.join("Library/Application Support"))
        } else {
            absolute("XDG_DATA_HOME").or_else(|| home().map(|home| home.join(".local/share")))
        };
        data.map(|data| data.join("remanent"))
    })
}

/// What is known about a file of a folder.
pub(crate) fn state(folder: &Path, file: &KnownFile) -> FileState {
    match verified(folder, file) {
        None => FileState::Missing,
        Some(Ok(_)) => FileState::Intact,
        Some(Err(reason)) => FileState::Damaged(reason),
    }
}

/// The content of a file of a folder, if it is there and right.
pub(crate) fn verified(folder: &Path, file: &KnownFile) -> Option<Result<Vec<u8>, String>> {
    let path = dataset::find(folder, file.name)?;
    // What is longer is not the file, however long it is.
    let bytes = files::read(&path, file.bytes + 1).map_err(|error| error.to_string());
    Some(bytes.and_then(|bytes| match verify(&bytes, file) {
        Ok(()) => Ok(bytes),
        Err(reason) => Err(format!("{} {reason}", path.display())),
    }))
}

/// Whether uncompressed content is that of the file.
pub(crate) fn verify(bytes: &[u8], file: &KnownFile) -> Result<(), String> {
    let found = md5(bytes);
    if found == file.md5 {
        return Ok(());
    }
    let (length, wanted) = (bytes.len() as u64, file.bytes);
    if length > wanted {
        return Err(format!("has more than the {wanted} bytes of the file with MD5 {}", file.md5));
    }
    Err(format!("has {length} bytes with MD5 {found} instead of {wanted} with {}", file.md5))
}

/// The MD5 of bytes, in hexadecimal.
pub(crate) fn md5(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_with(pairs: &[(&str, &str)]) -> Option<PathBuf> {
        place(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    /// The test suite of RFC 1321.
    #[test]
    fn md5_matches_the_rfc() {
        assert_eq!(md5(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    }

    #[test]
    fn the_variable_goes_before_the_platform() {
        let set = [("REMANENT_DATA", "here"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(place_with(&set), Some("here".into()));
        assert_eq!(place_with(&[]), None);
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn the_platform_is_asked_as_xdg_says() {
        assert_eq!(
            place_with(&[("REMANENT_DATA", ""), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")]),
            Some("/x/remanent".into())
        );
        assert_eq!(
            place_with(&[("XDG_DATA_HOME", "x"), ("HOME", "/h")]),
            Some("/h/.local/share/remanent".into())
        );
    }
}
