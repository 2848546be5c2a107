//! Files that are there whole or not at all.
//!
//! A program may be killed at any moment, and a record that is half written
//! must not be taken for a record. A file is therefore written under a
//! temporary name in the same directory, flushed to the disk, and renamed:
//! readers see the old file or the new one. What a killed program leaves
//! behind has a name of its own, by which it is found and removed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use remanent_data::files;
pub use remanent_data::files::{FileError, check_target, is_read_only, is_temporary};

/// Writes the parts one after another into a file that replaces what was at `path`.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<(), FileError> {
    files::write_parts(path, parts)
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
    for name in names(directory)? {
        if name.to_str().is_some_and(&chosen) {
            remove(&directory.join(name))?;
        }
    }
    Ok(())
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
        assert_eq!(names(directory.path()).unwrap(), ["a"]);
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
        assert!(write(&path, &[]).unwrap_err().to_string().contains("missing/a"));

        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(write(&path, &[]).unwrap_err().to_string().starts_with("cannot write"));
        assert_eq!(names(directory.path()).unwrap(), ["taken"]);
    }

    #[test]
    fn only_our_own_leftovers_are_swept() {
        let directory = tempfile::tempdir().unwrap();
        for name in [".remanent-x1.tmp", "notes.tmp", ".remanent-x1"] {
            fs::write(directory.path().join(name), b"").unwrap();
        }
        sweep(directory.path()).unwrap();
        let mut left = names(directory.path()).unwrap();
        left.sort();
        assert_eq!(left, [".remanent-x1", "notes.tmp"]);
    }

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
