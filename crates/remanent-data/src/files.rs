//! Reading files, plain or compressed, and writing them whole or not at all.
//!
//! A file of the cache is written under a temporary name beside its place, flushed to the disk
//! and renamed. Readers see the old file or the new one, and a full disk leaves what was there.

use std::fs::{self, File, FileType};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::read::MultiGzDecoder;
use tempfile::Builder;
use thiserror::Error;

use crate::memory;

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

/// Opens a file for reading. Devices and pipes are refused: they may never end.
pub(crate) fn open_regular(path: &Path) -> Result<File, FileError> {
    let open = || {
        // Before it is opened: to open a pipe waits for somebody who writes.
        regular(fs::metadata(path)?.file_type())?;
        File::open(path)
    };
    open().map_err(FileError::new("read", path))
}

/// The bytes of a regular file that fits into memory.
pub fn read_whole(path: &Path) -> Result<Vec<u8>, FileError> {
    let file = open_regular(path)?;
    let read = || {
        let (length, limit) = (file.metadata()?.len(), memory::largest_file());
        if length > limit {
            return Err(too_large(length, limit));
        }
        let mut bytes = Vec::new();
        (&file).take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(FileError::new("read", path))
}

/// The text of a file of settings, which may be a pipe but is short.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    const LONGEST: u64 = 1 << 24;
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > LONGEST {
            return Err(io::Error::other("it is longer than 16 MiB, and is no text of settings"));
        }
        Ok(text)
    };
    read().map_err(FileError::new("read", path))
}

fn too_large(length: u64, limit: u64) -> io::Error {
    io::Error::other(format!(
        "it has {}, and at most {} of a file are read on this machine",
        memory::amount(length),
        memory::amount(limit)
    ))
}

/// A regular file on its way into memory, decompressed if it is a gzip file.
pub(crate) struct Plain {
    pub(crate) reader: Box<dyn Read>,
    /// Length of a file that is not compressed.
    pub(crate) length: Option<u64>,
}

/// Opens a file. A compressed one is recognised by its first bytes, not by its name.
pub(crate) fn open(path: &Path) -> Result<Plain, FileError> {
    let mut file = open_regular(path)?;
    let read = || {
        let mut start = Vec::new();
        (&mut file).take(GZIP_MAGIC.len() as u64).read_to_end(&mut start)?;
        let (length, is_compressed) = (file.metadata()?.len(), start == GZIP_MAGIC);
        let bytes = BufReader::new(io::Cursor::new(start).chain(file));
        Ok(if is_compressed {
            Plain { reader: Box::new(MultiGzDecoder::new(bytes)), length: None }
        } else {
            Plain { reader: Box::new(bytes), length: Some(length) }
        })
    };
    read().map_err(FileError::new("read", path))
}

/// The first bytes of a file, decompressed, but no more of them than `limit`.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let plain = open(path)?;
    let action = if plain.length.is_some() { "read" } else { "decompress" };
    let mut bytes = Vec::new();
    plain.reader.take(limit).read_to_end(&mut bytes).map_err(FileError::new(action, path))?;
    Ok(bytes)
}

/// Fails unless a file of this name can be written: nothing is there, or a regular file. A symbolic
/// link is not followed and not replaced.
pub fn check_target(path: &Path) -> Result<(), FileError> {
    target(path).map_err(FileError::new("write", path))
}

fn target(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        found => regular(found?.file_type()),
    }
}

fn regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let text = if kind.is_dir() {
        "it is a directory"
    } else if kind.is_symlink() {
        "it is a symbolic link; name the file itself"
    } else {
        "it is no regular file but a device, a pipe or a socket"
    };
    Err(io::Error::other(text))
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
    target(path)?;
    fs::metadata(directory)?;
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    // Temporary files are private by default; data is as readable as any other file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The name of the temporary file tells the user nothing.
    let file = builder.tempfile_in(directory).map_err(without_path)?;
    let permissions = file.as_file().metadata()?.permissions();
    fill(file.path())?;
    // Whoever filled it may have made a new file of the same name.
    fs::set_permissions(file.path(), permissions)?;
    // Some systems flush only what is open for writing.
    fs::OpenOptions::new().write(true).open(file.path())?.sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// What the operating system said, without the path that the crate tempfile adds.
fn without_path(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Other => error,
        kind => kind.into(),
    }
}

/// Whether no file can be made in a directory because it, or the disk, is only to be read.
pub fn is_read_only(directory: &Path) -> bool {
    let probe = Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(directory);
    let kind = probe.err().map(|error| error.kind());
    matches!(kind, Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem))
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
    fn an_error_names_the_file_that_was_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/a");
        let text = write_parts(&path, &[b"x"]).unwrap_err().to_string();
        assert!(text.contains("missing/a") && !text.contains(PREFIX), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("a"), directory.path().join("link"));
        let dangling = directory.path().join("dangling");
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::symlink(directory.path().join("b"), &dangling).unwrap();
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let device = Path::new("/dev/null");
        for path in [&link, &dangling, &socket, directory.path(), device] {
            assert!(check_target(path).is_err(), "{}", path.display());
            let text = write_parts(path, &[b"new"]).unwrap_err().to_string();
            assert!(text.starts_with("cannot write") && text.contains("it is "), "{text}");
        }
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        check_target(&file).unwrap();
        check_target(&directory.path().join("new")).unwrap();
        // Nor is anything read that may never end.
        for path in [&socket, device, Path::new("/dev/zero")] {
            let text = read_whole(path).unwrap_err().to_string();
            assert!(text.contains("no regular file"), "{text}");
            assert!(open(path).is_err());
        }
        assert_eq!(read_whole(&link).unwrap(), b"old");
        assert!(read_text(Path::new("/dev/zero")).unwrap_err().to_string().contains("16 MiB"));
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
