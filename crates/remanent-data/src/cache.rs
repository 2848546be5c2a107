//! The folder of downloaded datasets.
//!
//! A dataset is a folder with four uncompressed idx files: they are read ten times as fast as
//! compressed ones. The hash is checked whenever a file is read, which takes a tenth of a second
//! and finds damaged or edited files.

use std::env;
use std::path::{Path, PathBuf};

use directories::BaseDirs;
use md5::{Digest, Md5};
use remanent_store::files::FileError;

use crate::dataset;
use crate::files;
use crate::known::{Known, KnownFile};

/// The environment variable that sets the folder.
const VARIABLE: &str = "REMANENT_DATA";

/// A folder of downloaded datasets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

/// The state of a file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The file does not exist.
    Missing,
    /// The file has the right hash.
    Intact,
    /// The file has a wrong length or hash, or cannot be read; why.
    Damaged(String),
}

impl Cache {
    /// The cache in a folder, which need not exist yet.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The cache of this user: `$REMANENT_DATA`, or `remanent` in the platform's folder for local
    /// data of programs, such as `~/.local/share` on Linux. `None` if the user has no home folder.
    pub fn from_environment() -> Option<Self> {
        if let Some(set) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            return Some(Self::at(set));
        }
        BaseDirs::new().map(|folders| Self::at(folders.data_local_dir().join("remanent")))
    }

    /// The folder.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The folder of a dataset.
    pub fn folder(&self, known: &Known) -> PathBuf {
        self.directory.join(known.name)
    }

    /// The path of a file, which need not exist.
    pub fn path(&self, known: &Known, file: &KnownFile) -> PathBuf {
        let folder = self.folder(known);
        dataset::find(&folder, file.name).unwrap_or_else(|| folder.join(file.name))
    }

    /// Reads a file and compares its hash.
    pub fn state(&self, known: &Known, file: &KnownFile) -> FileState {
        state(&self.folder(known), file)
    }

    /// Writes a file whose hash has been checked.
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

/// The state of a file in a folder.
pub(crate) fn state(folder: &Path, file: &KnownFile) -> FileState {
    match verified(folder, file) {
        None => FileState::Missing,
        Some(Ok(_)) => FileState::Intact,
        Some(Err(reason)) => FileState::Damaged(reason),
    }
}

/// The content of a file in a folder, or what is wrong with it; `None` if it does not exist.
pub(crate) fn verified(folder: &Path, file: &KnownFile) -> Option<Result<Vec<u8>, String>> {
    let path = dataset::find(folder, file.name)?;
    // One byte more than the known length shows that the file is too long.
    let bytes = files::read(&path, file.bytes + 1).map_err(|error| error.to_string());
    Some(bytes.and_then(|bytes| match verify(&bytes, file) {
        Ok(()) => Ok(bytes),
        Err(reason) => Err(format!("{} {reason}", path.display())),
    }))
}

/// Checks the hash of uncompressed content.
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

    /// The test suite of RFC 1321.
    #[test]
    fn md5_matches_the_rfc() {
        assert_eq!(md5(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    }
}
