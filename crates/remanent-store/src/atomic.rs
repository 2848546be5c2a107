//! Files that are there whole or not at all.
//!
//! A program may be killed at any moment, and a record that is half written
//! must not be taken for a record. A file is therefore written under a
//! temporary name in the same directory, flushed to the disk, and renamed:
//! readers see the old file or the new one. What a killed program leaves
//! behind has a name of its own, by which it is found and removed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile};

use crate::files::{self, FileError};

const PREFIX: &str = ".remanent-";
const SUFFIX: &str = ".tmp";
/// A temporary file this old belongs to a program that was killed: writing one takes seconds.
const STALE: Duration = Duration::from_secs(3600);

/// Writes the parts one after another into a file that replaces what was at `path`.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<(), FileError> {
    replace(path, |temporary| {
        let mut file = fs::OpenOptions::new().write(true).open(temporary)?;
        parts.iter().try_for_each(|part| file.write_all(part))
    })
}

/// Writes the parts into a file that must not be there yet: of several programs that do so at the same
/// time one succeeds, and the file never changes. Says whether it was this one. A folder that is missing
/// is made.
pub(crate) fn create(path: &Path, parts: &[&[u8]], flush: bool) -> Result<bool, FileError> {
    let directory = directory_of(path);
    // In one call: there may be a hundred thousand such files.
    let content = parts.concat();
    let attempt = || {
        if target(path)? {
            return Ok(false);
        }
        let mut file = temporary_in(directory)?;
        file.write_all(&content)?;
        if flush {
            file.as_file().sync_all()?;
        }
        match file.persist_noclobber(path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // A file system without hard links. What is written twice at once is equal.
            Err(error) if !path.exists() => {
                error.file.persist(path).map(|_| true).map_err(|error| error.error)
            }
            Err(_) => Ok(false),
        }
    };
    let result = match attempt() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory).map_err(FileError::new("create", directory))?;
            attempt()
        }
        result => result,
    };
    result.map_err(FileError::new("write", path))
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
    let file = temporary_in(directory)?;
    let permissions = file.as_file().metadata()?.permissions();
    fill(file.path())?;
    // Whoever filled it may have made a new file of the same name.
    fs::set_permissions(file.path(), permissions)?;
    // Some systems flush only what is open for writing.
    fs::OpenOptions::new().write(true).open(file.path())?.sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn temporary_in(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    // Temporary files are private by default; data is as readable as any other file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The name of the temporary file tells the user nothing.
    builder.tempfile_in(directory).map_err(without_path)
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

/// Fails unless a file of this name can be written: nothing is there, or a regular file. A symbolic
/// link is not followed and not replaced.
pub fn check_target(path: &Path) -> Result<(), FileError> {
    target(path).map(|_| ()).map_err(FileError::new("write", path))
}

/// Whether there is a file; fails if something else is there.
fn target(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => files::regular(found?.file_type()).map(|()| true),
    }
}

/// Removes the temporary files that killed programs left in a directory. No
/// other program may be writing there.
pub(crate) fn sweep(directory: &Path) -> Result<(), FileError> {
    remove_files(directory, |name| is_temporary(name) || is_temporary_of_tensors(name))
}

/// The same in a directory that is not ours alone: only files of our own naming.
pub fn sweep_own(directory: &Path) -> Result<(), FileError> {
    remove_files(directory, is_temporary)
}

/// Removes what programs left that were killed while they wrote. Another program may be writing
/// at this moment, so that only old files go; one that cannot be removed does no harm.
pub fn sweep_old(directory: &Path) {
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

/// Whether a name is one of a file by way of which the crate safetensors writes: `.tmp` and six
/// letters or digits.
fn is_temporary_of_tensors(name: &str) -> bool {
    name.strip_prefix(".tmp").is_some_and(|rest| {
        rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Removes the files of a directory whose names are chosen; one that does not exist is empty.
pub(crate) fn remove_files(
    directory: &Path,
    chosen: impl Fn(&str) -> bool,
) -> Result<(), FileError> {
    for name in files::names(directory)? {
        if name.to_str().is_some_and(&chosen) {
            files::remove(&directory.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_programs_left_is_swept() {
        let directory = tempfile::tempdir().unwrap();
        let names = [".remanent-a1.tmp", ".tmpAb3dE6", ".tmpAb3dE67", ".tmp-notes", "a.json"];
        for name in names {
            fs::write(directory.path().join(name), "x").unwrap();
        }
        sweep(directory.path()).unwrap();
        let left = |name: &&&str| directory.path().join(name).exists();
        let left: Vec<&&str> = names.iter().filter(left).collect();
        assert_eq!(left, [&".tmpAb3dE67", &".tmp-notes", &"a.json"]);
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        write(&path, &[b"old"]).unwrap();
        write(&path, &[b"ne", b"w"]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(files::names(directory.path()).unwrap(), ["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_as_readable_as_any_other() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (ours, other) = (directory.path().join("a"), directory.path().join("b"));
        write(&ours, &[b"x"]).unwrap();
        fs::write(&other, b"x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&other));
    }

    #[test]
    fn an_error_names_the_path_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/a");
        let text = write(&path, &[]).unwrap_err().to_string();
        assert!(text.contains("missing/a") && !text.contains(PREFIX), "{text}");

        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(write(&path, &[]).unwrap_err().to_string().starts_with("cannot write"));
        assert_eq!(files::names(directory.path()).unwrap(), ["taken"]);
    }

    #[test]
    fn only_our_own_leftovers_are_swept() {
        let directory = tempfile::tempdir().unwrap();
        for name in [".remanent-x1.tmp", "notes.tmp", ".remanent-x1"] {
            fs::write(directory.path().join(name), b"").unwrap();
        }
        sweep(directory.path()).unwrap();
        let mut left = files::names(directory.path()).unwrap();
        left.sort();
        assert_eq!(left, [".remanent-x1", "notes.tmp"]);
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
            let text = write(path, &[b"new"]).unwrap_err().to_string();
            assert!(text.starts_with("cannot write") && text.contains("it is "), "{text}");
        }
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        check_target(&file).unwrap();
        check_target(&directory.path().join("new")).unwrap();
        // Nor is anything read that may never end.
        for path in [&socket, device, Path::new("/dev/zero")] {
            let text = files::read_whole(path).unwrap_err().to_string();
            assert!(text.contains("no regular file"), "{text}");
        }
        assert_eq!(files::read_whole(&link).unwrap(), b"old");
        assert!(
            files::read_text(Path::new("/dev/zero")).unwrap_err().to_string().contains("16 MiB")
        );
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
        sweep_old(directory.path());
        let mut left = files::names(directory.path()).unwrap();
        left.sort();
        assert_eq!(left, [".remanent-b.tmp", "notes.tmp"]);
    }
}
