//! Reading files, plain or compressed, and writing them whole or not at all.
//!
//! A file of the cache is written under a temporary name beside its place, flushed to the disk
//! and renamed. Readers see the old file or the new one, and a full disk leaves what was there.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::read::MultiGzDecoder;
use tempfile::Builder;
use thiserror::Error;

const PREFIX: &str = ".remanent-";
const SUFFIX: &str = ".tmp";
/// The first bytes of every gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// A temporary file this old belongs to a program that was killed: writing one takes seconds.
const STALE: Duration = Duration::from_secs(3600);

/// What the operating system refused to do, and with which file.
#[derive(Debug, Error)]
#[error("cannot {action} {}: {cause}", path.display())]
pub struct FileError {
    /// A verb: `read`, `write`, `create`.
    pub action: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// What the operating system said; part of the message, and so not a source to be told again.
    pub cause: io::Error,
}

impl FileError {
    /// For `map_err`: names the path and what was to be done with it.
    pub fn new(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self { action, path: path.to_owned(), cause }
    }
}

/// The bytes of a file. A compressed one is recognised by its first bytes, not by its name.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let bytes = fs::read(path).map_err(FileError::new("read", path))?;
    plain(bytes, u64::MAX).map_err(FileError::new("decompress", path))
}

/// The bytes, decompressed if they are a gzip file, but no more of them than `limit`.
pub(crate) fn plain(bytes: Vec<u8>, limit: u64) -> io::Result<Vec<u8>> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes.as_slice()).take(limit).read_to_end(&mut plain)?;
    Ok(plain)
}

/// The file itself, or the one with `.gz` behind its name.
pub(crate) fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    [name.to_owned(), format!("{name}.gz")]
        .into_iter()
        .map(|name| directory.join(name))
        .find(|path| path.is_file())
}

/// Writes a file that replaces what was at `path`, and creates its directory.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let directory = directory_of(path);
    fs::create_dir_all(directory).map_err(FileError::new("create", directory))?;
    write_parts(path, &[bytes])
}

/// Writes the parts one after another into a file that replaces what was at `path`.
pub fn write_parts(path: &Path, parts: &[&[u8]]) -> Result<(), FileError> {
    replace(path, |temporary| {
        let mut file = fs::OpenOptions::new().write(true).open(temporary)?;
        parts.iter().try_for_each(|part| file.write_all(part))
    })
}

/// Lets `fill` write a temporary file beside `path`, which then replaces what was there.
pub fn replace(path: &Path, fill: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), FileError> {
    replace_in(directory_of(path), path, fill).map_err(FileError::new("write", path))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn replace_in(
    directory: &Path,
    path: &Path,
    fill: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    // Temporary files are private by default; data is as readable as any other file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(directory)?;
    let permissions = file.as_file().metadata()?.permissions();
    fill(file.path())?;
    // Whoever filled it may have made a new file of the same name.
    fs::set_permissions(file.path(), permissions)?;
    fs::File::open(file.path())?.sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Whether a file name is one of a temporary file of these functions.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Removes what programs left that were killed while they wrote. Another program may be writing
/// at this moment, so that only old files go; one that cannot be removed does no harm.
pub(crate) fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(is_temporary);
        let modified = entry.metadata().and_then(|data| data.modified());
        let age = modified.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
        if ours && age.is_some_and(|age| age > STALE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/a");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(path.parent().unwrap()), ["a"]);
    }

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(write(&path, b"x").unwrap_err().to_string().starts_with("cannot write"));
        assert_eq!(names(directory.path()), ["taken"]);
    }

    #[test]
    fn only_old_leftovers_are_swept() {
        let directory = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * STALE;
        for (name, is_old) in
            [(".remanent-a.tmp", true), (".remanent-b.tmp", false), ("notes.tmp", true)]
        {
            let file = fs::File::create(directory.path().join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        sweep(directory.path());
        assert_eq!(names(directory.path()), [".remanent-b.tmp", "notes.tmp"]);
    }
}
