//! How long cells took: `times.csv`, one line a cell, appended when it is done.
//!
//! Lines that several machines append to one file may be lost. The process that began a run appends to
//! `times.csv`, and one that joins it to a file of its own in the folder `times`. A process that has the
//! directory for itself later puts them together.
//!
//! Times are processor time of the cell's thread: a busy machine does not lengthen them. They still
//! differ from run to run, and are kept out of the records, which can therefore be compared byte for
//! byte.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::atomic;
use crate::files::{self, FileError};
use crate::worker::create_in;

/// The times of a run.
pub(crate) const TIMES: &str = "times.csv";
/// Those that are still to be added to it.
pub(crate) const PARTS: &str = "times";
const HEAD: &[u8] = b"cell,seconds,step_seconds\n";

/// What a cell took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Time {
    /// All of it.
    pub(crate) seconds: f64,
    /// The part that it counted as spent on steps, if it counted.
    pub(crate) steps: Option<f64>,
}

/// The times of a run, open for appending.
#[derive(Debug)]
pub(crate) struct Times {
    path: PathBuf,
    state: Mutex<(Option<File>, HashMap<String, Time>)>,
}

impl Times {
    /// Opens the file, or creates it with its head line.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        // What is appended must not go elsewhere by a link.
        atomic::check_target(path)?;
        let text = text(path)?;
        let seconds = parse(&text);
        let write = || {
            let mut file = OpenOptions::new().append(true).create(true).open(path)?;
            if text.is_empty() {
                file.write_all(HEAD)?;
            } else if !text.ends_with('\n') {
                // A killed program cut its last line: `12.3` may have been `12.345`. This makes a
                // line of it that is no number.
                file.write_all(b"(cut)\n")?;
            }
            Ok(file)
        };
        let file = write().map_err(FileError::new("write", path))?;
        Ok(Self { path: path.to_owned(), state: Mutex::new((Some(file), seconds)) })
    }

    /// A file of its own for a process that does not have the directory for itself. It is created with
    /// the first line.
    pub(crate) fn of_worker(directory: &Path, worker: &str) -> Result<Self, FileError> {
        atomic::check_target(&directory.join(TIMES))?;
        let path = directory.join(PARTS).join(format!("{worker}.csv"));
        Ok(Self { path, state: Mutex::new((None, read(directory)?)) })
    }

    /// Adds a line.
    pub(crate) fn append(&self, hash: &str, seconds: f64, steps: f64) -> Result<(), FileError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = (steps > 0.0).then_some(steps);
        let shown = steps.map_or(String::new(), |steps| format!("{steps:.6}"));
        let line = format!("{hash},{seconds:.6},{shown}\n");
        let mut write = || {
            if state.0.is_none() {
                let mut file = create_in(self.path.parent().unwrap_or(Path::new(".")), &self.path)?;
                file.write_all(HEAD)?;
                state.0 = Some(file);
            }
            state.0.as_mut().map_or(Ok(()), |file| file.write_all(line.as_bytes()))
        };
        write().map_err(FileError::new("write", &self.path))?;
        state.1.insert(hash.to_owned(), Time { seconds, steps });
        Ok(())
    }

    /// What a cell took.
    pub(crate) fn get(&self, hash: &str) -> Option<Time> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.get(hash).copied()
    }
}

/// The times of a run, which are left as they are; none if there are none.
pub(crate) fn read(directory: &Path) -> Result<HashMap<String, Time>, FileError> {
    let mut times = parse(&text(&directory.join(TIMES))?);
    for path in parts(directory)? {
        times.extend(parse(&text(&path)?));
    }
    Ok(times)
}

/// Appends the times of processes that have ended to `times.csv`. Nobody else works in the directory.
pub(crate) fn gather(directory: &Path) -> Result<(), FileError> {
    let parts = parts(directory)?;
    if parts.is_empty() {
        return Ok(());
    }
    let all = Times::open(&directory.join(TIMES))?;
    for path in parts {
        for (hash, time) in parse(&text(&path)?) {
            if all.get(&hash) != Some(time) {
                all.append(&hash, time.seconds, time.steps.unwrap_or(0.0))?;
            }
        }
        files::remove(&path)?;
    }
    let _ = std::fs::remove_dir(directory.join(PARTS));
    Ok(())
}

/// The files of processes that did not have the directory for themselves.
fn parts(directory: &Path) -> Result<Vec<PathBuf>, FileError> {
    let folder = directory.join(PARTS);
    let mut names = files::names(&folder)?;
    names.sort();
    names.retain(|name| name.to_str().is_some_and(|name| name.ends_with(".csv")));
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

fn text(path: &Path) -> Result<String, FileError> {
    match files::read_whole(path) {
        Err(error) if error.cause.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        bytes => Ok(String::from_utf8_lossy(&bytes?).into()),
    }
}

/// The last entry of each cell counts. An incomplete or invalid line does not count.
fn parse(text: &str) -> HashMap<String, Time> {
    text.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n')?.split_once(','))
        .filter_map(|(hash, times)| {
            // Files of earlier versions have one number.
            let (seconds, steps) = times.split_once(',').unwrap_or((times, ""));
            let steps = if steps.is_empty() { None } else { Some(time(steps)?) };
            Some((hash.to_owned(), Time { seconds: time(seconds)?, steps }))
        })
        .collect()
}

/// A number of seconds. Rust reads `NaN`, `inf` and `-1` as numbers as well; no cell takes that long.
fn time(text: &str) -> Option<f64> {
    text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_cut_line_is_no_time_and_spoils_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("times.csv");
        let times = Times::open(&path).unwrap();
        times.append("a", 1.5, 0.0).unwrap();
        times.append("a", 2.5, 1.0).unwrap();
        times.append("b", 12.345, 0.0).unwrap();
        drop(times);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 4]).unwrap();

        let times = Times::open(&path).unwrap();
        let of_a = Time { seconds: 2.5, steps: Some(1.0) };
        assert_eq!((times.get("a"), times.get("b")), (Some(of_a), None));
        times.append("c", 3.0, 0.0).unwrap();
        drop(times);
        let seconds = read(directory.path()).unwrap();
        assert_eq!(seconds.len(), 2);
        assert_eq!((seconds["a"].seconds, seconds["c"].seconds), (2.5, 3.0));
        assert_eq!(parse("d,4.5\n")["d"], Time { seconds: 4.5, steps: None });
    }

    #[test]
    fn times_of_several_processes_are_put_together() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("times")).unwrap();
        for (name, cell) in [("times.csv", "a"), ("times/x.csv", "b"), ("times/y.csv", "c")] {
            Times::open(&directory.path().join(name)).unwrap().append(cell, 2.0, 1.0).unwrap();
        }
        let before = read(directory.path()).unwrap();
        assert_eq!(before.len(), 3);
        gather(directory.path()).unwrap();
        assert!(!directory.path().join("times").exists());
        assert_eq!(read(directory.path()).unwrap(), before);
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("diary"), directory.path().join("times.csv"));
        fs::write(&target, "mine").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let message = Times::open(&link).unwrap_err().to_string();
        assert!(message.contains("times.csv: it is a symbolic link"), "{message}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    }

    #[test]
    fn what_is_no_time_is_not_read() {
        for times in ["NaN", "inf", "-1", "1e999", "1,NaN", "1,-2", "1,2,3", ""] {
            assert_eq!(parse(&format!("d,{times}\n")).get("d"), None, "{times}");
        }
    }
}
