//! Claims: which process computes a cell.
//!
//! # States and operations
//!
//! A claim of a cell is a file `claims/<cell>.<n>` that holds the id of a worker; n counts the claims
//! of this cell, from 0. The claim with the largest n is the one that counts.
//!
//! | state of a cell | files |
//! |---|---|
//! | waiting | no record, no claim |
//! | under way | no record, the last claim names a living worker |
//! | abandoned | no record, the last claim names a dead worker |
//! | failed | no record, a file in `failures` |
//! | done | a record, whatever else there is |
//!
//! - *take*: create claim 0 exclusively. If it is there and its worker is dead (see
//!   [`worker`](crate::worker)), create claim 1 exclusively, and so on. Whoever creates the file has the
//!   cell; of several that saw the same dead claim one succeeds. Then look for the record again: the
//!   cell may have been done in the meantime.
//! - *finish*: create the record once (it is never replaced), remove checkpoints, then remove all
//!   claims of the cell.
//! - *give up* (interrupt, full disk): remove the own claim, unless a later one is there. Earlier claims
//!   stay: they name dead workers.
//!
//! # Where a process may die
//!
//! | after | what is left | what happens |
//! |---|---|---|
//! | creating a claim, before its content is written | an empty claim | abandoned, if it stays empty as long as a heartbeat may stay the same |
//! | writing its claim | a claim of a dead worker | abandoned: taken by the next claim |
//! | saving a checkpoint | claim and checkpoint | abandoned: continued from the checkpoint |
//! | writing a temporary file | the file | removed by the next process that has the directory for itself |
//! | creating the record | record, checkpoint, claims | done; the rest is removed by whoever reads the record |
//!
//! A worker that is alive and was taken for dead (suspended, or cut off from the file system for longer
//! than the limit) computes a cell that another one computes as well. Both come to the same record, and
//! the first is kept; checkpoints and models are replaced as a whole, by equal ones or by those of
//! another moment of the same computation.
//!
//! # What the file system must do
//!
//! Exclusive create (`O_CREAT | O_EXCL`), rename within a directory, and a rename that does not replace
//! or a hard link: NFS has all of them, atomically. Locks are not needed. Attributes and names may be
//! cached for less than the limit of a heartbeat.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::files::{self, FileError};
use crate::worker::{Life, Observer, Worker, create_in};

/// The folder of the claims.
pub(crate) const CLAIMS: &str = "claims";

/// The claims of a run directory.
pub(crate) struct Claims<'a> {
    folder: PathBuf,
    worker: &'a Worker,
    observer: Mutex<Observer>,
}

/// What came of an attempt to take a cell.
pub(crate) enum Taken {
    /// It is ours: the number of the claim.
    Ours(usize),
    /// Another worker has it.
    Theirs,
}

impl<'a> Claims<'a> {
    pub(crate) fn new(directory: &Path, worker: &'a Worker) -> Self {
        let observer = Mutex::new(worker.observer());
        Self { folder: directory.join(CLAIMS), worker, observer }
    }

    /// Takes a cell that nobody has, or whose worker is dead.
    pub(crate) fn take(&self, cell: &str) -> Result<Taken, FileError> {
        let mut number = 0;
        loop {
            let path = self.path(cell, number);
            match create_in(&self.folder, &path) {
                Ok(mut file) => {
                    let written = file.write_all(self.worker.id.as_bytes());
                    if let Err(error) = written {
                        files::remove(&path)?;
                        return Err(FileError::new("write", &path)(error));
                    }
                    return Ok(Taken::Ours(number));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FileError::new("create", &path)(error)),
            }
            match self.life_of(&path)? {
                Some(Life::Dead) => number += 1,
                Some(Life::Alive | Life::Unknown) => return Ok(Taken::Theirs),
                // It has just been removed: all claims of this cell may have been.
                None => number = 0,
            }
        }
    }

    /// Whether the worker of a claim is alive; none if there is no such claim.
    fn life_of(&self, path: &Path) -> Result<Option<Life>, FileError> {
        let holder = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            holder => holder.map_err(FileError::new("read", path))?,
        };
        let mut observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner);
        // A claim that is still empty is watched by its own name.
        let unnamed = || path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some(observer.life(&if holder.is_empty() { unnamed() } else { holder })))
    }

    /// Whether the worker that has a cell is alive; none if nobody has it.
    pub(crate) fn life(&self, cell: &str) -> Result<Option<Life>, FileError> {
        let mut last = None;
        for number in 0.. {
            match self.life_of(&self.path(cell, number))? {
                Some(life) => last = Some(life),
                None => break,
            }
        }
        Ok(last)
    }

    /// Removes the files of dead workers. Says of how many it is not known whether they are dead.
    pub(crate) fn bury(&self) -> Result<usize, FileError> {
        let mut observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner);
        self.worker.bury(&mut observer)
    }

    /// Gives a cell back that is not done.
    pub(crate) fn give_up(&self, cell: &str, number: usize) -> Result<(), FileError> {
        if self.path(cell, number + 1).exists() {
            return Ok(());
        }
        files::remove(&self.path(cell, number))
    }

    /// Removes the claims of a cell that is done, the last one first.
    pub(crate) fn finish(&self, cell: &str, number: usize) -> Result<(), FileError> {
        (0..=number).rev().try_for_each(|number| files::remove(&self.path(cell, number)))
    }

    fn path(&self, cell: &str, number: usize) -> PathBuf {
        self.folder.join(format!("{cell}.{number}"))
    }
}

/// The cells that are claimed, with the worker of the last claim.
pub(crate) fn claimed(directory: &Path) -> Result<HashMap<String, String>, FileError> {
    let folder = directory.join(CLAIMS);
    let mut last: HashMap<String, usize> = HashMap::new();
    for name in files::names(&folder)?.iter().filter_map(|name| name.to_str()) {
        let parts = name.rsplit_once('.').and_then(|(c, n)| Some((c, n.parse::<usize>().ok()?)));
        if let Some((cell, number)) = parts {
            let known = last.entry(cell.to_owned()).or_default();
            *known = (*known).max(number);
        }
    }
    let holder = |(cell, number): (String, usize)| {
        let holder = fs::read_to_string(folder.join(format!("{cell}.{number}")));
        // One that was removed in this moment is not claimed.
        holder.ok().map(|holder| (cell, holder))
    };
    Ok(last.into_iter().filter_map(holder).collect())
}

/// The names of the cells that are claimed, by the names of the files alone.
pub(crate) fn names(directory: &Path) -> Result<Vec<String>, FileError> {
    let names = files::names(&directory.join(CLAIMS))?.into_iter();
    let names = names.filter_map(|name| name.into_string().ok());
    Ok(names.filter_map(|name| Some(name.rsplit_once('.')?.0.to_owned())).collect())
}

/// Removes the claims of some cells.
pub(crate) fn remove(directory: &Path, is_chosen: impl Fn(&str) -> bool) -> Result<(), FileError> {
    let folder = directory.join(CLAIMS);
    for name in files::names(&folder)? {
        let cell = name.to_str().and_then(|name| name.rsplit_once('.')).map(|(cell, _)| cell);
        if cell.is_some_and(&is_chosen) {
            files::remove(&folder.join(name))?;
        }
    }
    leave(directory);
    Ok(())
}

/// Removes the folder, unless there are claims of others in it.
pub(crate) fn leave(directory: &Path) {
    let _ = fs::remove_dir(directory.join(CLAIMS));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_one_worker() {
        let directory = tempfile::tempdir().unwrap();
        let workers = [0, 1].map(|_| Worker::start(directory.path(), "").unwrap());
        let [first, second] = workers.each_ref().map(|w| Claims::new(directory.path(), w));
        assert!(matches!(first.take("a").unwrap(), Taken::Ours(0)));
        assert!(matches!(second.take("a").unwrap(), Taken::Theirs));
        assert_eq!(claimed(directory.path()).unwrap()["a"], workers[0].id);
        first.give_up("a", 0).unwrap();
        assert!(matches!(second.take("a").unwrap(), Taken::Ours(0)));
        second.finish("a", 0).unwrap();
        assert!(claimed(directory.path()).unwrap().is_empty());
    }

    #[test]
    fn of_many_that_see_a_dead_worker_one_takes_its_cell() {
        let directory = tempfile::tempdir().unwrap();
        let dead = Worker::start(directory.path(), "").unwrap();
        assert!(matches!(Claims::new(directory.path(), &dead).take("a").unwrap(), Taken::Ours(0)));
        // Its lock is free and its heartbeat is still there: it was killed.
        let heartbeat = directory.path().join(format!("workers/{}.json", dead.id));
        let lock = heartbeat.with_extension("lock");
        let left = [heartbeat, lock].map(|path| (fs::read(&path).unwrap(), path));
        drop(dead);
        fs::create_dir_all(directory.path().join("workers")).unwrap();
        for (content, path) in left {
            fs::write(path, content).unwrap();
        }

        let take = |_| {
            let worker = Worker::start(directory.path(), "").unwrap();
            let claims = Claims::new(directory.path(), &worker);
            let taken = claims.take("a").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(100));
            match taken {
                Taken::Ours(number) => {
                    assert_eq!(number, 1);
                    1
                }
                Taken::Theirs => 0,
            }
        };
        let winners: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|i| scope.spawn(move || take(i))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(winners, 1);
    }
}
