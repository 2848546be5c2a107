//! Where the files of a cell are.
//!
//! A directory with a hundred thousand entries is slow on most file systems. A run with few cells has
//! them side by side, `records/<cell>.json`; one with many has them in 256 folders by the first two
//! digits of their names, `records/3f/<cell>.json`. A run that has grown has both, and both are read.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cell::{CHECKPOINTS, MODELS, RECORDS};
use crate::files::{self, FileError};

/// The most cells that lie side by side.
pub(crate) const SIDE_BY_SIDE: usize = 2000;
/// The folders that hold files of cells.
pub(crate) const FOLDERS: [&str; 3] = [RECORDS, CHECKPOINTS, MODELS];

/// How the files of cells are laid out in a run directory.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    directory: PathBuf,
    /// Whether new files go to folders by their first digits.
    is_spread: bool,
    /// Whether files lie side by side as well.
    is_mixed: bool,
}

impl Layout {
    /// The layout of a directory as it is found, for a run of this number of cells.
    pub(crate) fn of(directory: &Path, cells: usize) -> Self {
        let is_spread = cells > SIDE_BY_SIDE || folder_of(directory, RECORDS, "00").is_dir();
        let is_mixed = is_spread && FOLDERS.iter().any(|folder| has_files(&directory.join(folder)));
        Self { directory: directory.to_owned(), is_spread, is_mixed }
    }

    /// Makes the folders for files of cells.
    pub(crate) fn create_folders(&self) -> Result<(), FileError> {
        let create =
            |path: PathBuf| fs::create_dir_all(&path).map_err(FileError::new("create", &path));
        FOLDERS.iter().try_for_each(|folder| create(self.directory.join(folder)))?;
        // The first folder of the records is the last that is made, and says that all are there.
        if self.is_spread && !folder_of(&self.directory, RECORDS, "00").is_dir() {
            for digits in (0..=255u8).rev().map(|number| format!("{number:02x}")) {
                for folder in FOLDERS.iter().rev() {
                    create(folder_of(&self.directory, folder, &digits))?;
                }
            }
        }
        Ok(())
    }

    /// The path of a file of a cell: where it is, or else where it goes.
    pub(crate) fn path(&self, folder: &str, cell: &str, end: &str) -> PathBuf {
        let name = format!("{cell}{end}");
        let beside = || self.directory.join(folder).join(&name);
        if !self.is_spread {
            return beside();
        }
        if self.is_mixed && beside().exists() {
            return beside();
        }
        folder_of(&self.directory, folder, cell.get(..2).unwrap_or(cell)).join(name)
    }
}

fn folder_of(directory: &Path, folder: &str, digits: &str) -> PathBuf {
    directory.join(folder).join(digits)
}

fn has_files(folder: &Path) -> bool {
    let is_file = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    fs::read_dir(folder).is_ok_and(|mut entries| entries.any(|e| e.as_ref().is_ok_and(is_file)))
}

/// The folders in which files of cells lie, and `folder` itself.
pub(crate) fn parts(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let is_part = |name: &str| {
        name.len() == 2 && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let names = files::names(folder)?.into_iter().filter_map(|name| name.into_string().ok());
    let parts = names.filter(|name| is_part(name)).map(|name| folder.join(name));
    let mut parts: Vec<PathBuf> = parts.filter(|part| part.is_dir()).collect();
    parts.push(folder.to_owned());
    Ok(parts)
}

/// The files of a folder with one of the ends, sorted by their names; none if there is no such folder.
pub(crate) fn list(folder: &Path, ends: &[&str]) -> Result<Vec<PathBuf>, FileError> {
    let mut found = Vec::new();
    for part in parts(folder)? {
        let names = files::names(&part)?.into_iter();
        let wanted = names.filter(|name| {
            name.to_str().is_some_and(|name| ends.iter().any(|end| name.ends_with(end)))
        });
        found.extend(wanted.map(|name| part.join(name)));
    }
    found.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    Ok(found)
}

/// The names of the cells that have a record, by the names of the files alone.
pub(crate) fn recorded(directory: &Path) -> Result<HashSet<String>, FileError> {
    let mut found = HashSet::new();
    for part in parts(&directory.join(RECORDS))? {
        let names = files::names(&part)?.into_iter().filter_map(|name| name.into_string().ok());
        found.extend(names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_has_grown_is_read_in_both_layouts() {
        let directory = tempfile::tempdir().unwrap();
        let cell = "3f000000000000000000000000000000";
        let small = Layout::of(directory.path(), 10);
        small.create_folders().unwrap();
        let beside = directory.path().join("records").join(format!("{cell}.json"));
        assert_eq!(small.path(RECORDS, cell, ".json"), beside);
        fs::write(&beside, "x").unwrap();

        let large = Layout::of(directory.path(), SIDE_BY_SIDE + 1);
        large.create_folders().unwrap();
        assert_eq!(large.path(RECORDS, cell, ".json"), beside);
        let spread = directory.path().join("models/3f").join(format!("{cell}.safetensors"));
        assert_eq!(large.path(MODELS, cell, ".safetensors"), spread);

        // From now on also for few cells.
        let small = Layout::of(directory.path(), 10);
        let other = "3fa00000000000000000000000000000";
        let path = small.path(RECORDS, other, ".json");
        assert_eq!(path, directory.path().join("records/3f").join(format!("{other}.json")));
        fs::write(&path, "x").unwrap();
        assert_eq!(list(&directory.path().join("records"), &[".json"]).unwrap(), [beside, path]);
        assert_eq!(recorded(directory.path()).unwrap().len(), 2);
    }
}
