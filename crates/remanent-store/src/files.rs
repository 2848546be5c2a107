//! Reading files, and putting those aside that cannot be used.

use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::memory;

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
pub fn open_regular(path: &Path) -> Result<File, FileError> {
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

/// Refuses what is no regular file.
pub(crate) fn regular(kind: FileType) -> io::Result<()> {
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

/// The names in a directory; none if it does not exist.
pub(crate) fn names(directory: &Path) -> Result<Vec<OsString>, FileError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries,
    };
    entries
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect())
        .map_err(FileError::new("list", directory))
}

/// Removes a file, if there is one.
pub(crate) fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(FileError::new("remove", path)),
    }
}

/// Renames a file that cannot be used, and says how it is called now.
pub(crate) fn set_aside(path: &Path) -> Result<PathBuf, FileError> {
    let aside = name_aside(path);
    fs::rename(path, &aside).map_err(FileError::new("rename", path))?;
    Ok(aside)
}

/// Copies a file that cannot be used and is about to be replaced.
pub(crate) fn copy_aside(path: &Path) -> Result<(), FileError> {
    fs::copy(path, name_aside(path)).map_err(FileError::new("copy", path))?;
    Ok(())
}

/// `<name>.damaged`, or `<name>.damaged-2` and so on if that is taken: whoever wants to know what
/// happened needs all of them.
fn name_aside(path: &Path) -> PathBuf {
    let mut number = 1;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { ".damaged".into() } else { format!(".damaged-{number}") });
        if !Path::new(&name).exists() {
            return name.into();
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_aside_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        for (text, name) in [("1", "a.json.damaged"), ("2", "a.json.damaged-2")] {
            fs::write(&path, text).unwrap();
            assert_eq!(set_aside(&path).unwrap(), directory.path().join(name));
            assert_eq!(fs::read_to_string(directory.path().join(name)).unwrap(), text);
        }
    }
}
