//! Processes that work in a run directory, and how others see whether they are alive.
//!
//! A process that works in a directory has a file in the folder `workers`, which it rewrites every few
//! seconds: the *heartbeat*. It says where the process runs and how far its cells are.
//!
//! Whether a process is alive is judged by whoever wants to know, with its own monotonic clock: a
//! heartbeat that has not changed for [`stale_after`] is that of a dead process. Times of different
//! machines are never compared, so that clocks may be wrong by years. A process that was only
//! suspended and comes back does no harm: records are created once, whoever comes first.
//!
//! A worker also holds a lock of the operating system on a file beside its heartbeat. It is used as a
//! hint by processes on the same machine only, so that a killed program is continued at once. The file
//! names the machine once the lock is held, before the heartbeat is created: a heartbeat that its process
//! left empty is found to be dead as well. If locks do not work on the file system, the heartbeat decides.
//!
//! A process that dies leaves both files. Those of a process without a claim stop nobody, so that a run can be
//! done before anybody has watched them for long enough. The process that finds a run to be done therefore
//! waits until it knows of every other one whether it is alive, and removes the files of the dead
//! (`Batch::settle`).

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::files::{self, FileError};

/// The folder of the heartbeats.
pub(crate) const WORKERS: &str = "workers";
/// Held while a process has the directory for itself.
const OPENING: &str = "opening";
const END: &str = ".json";
const LOCK_END: &str = ".lock";

/// How long a heartbeat may stay the same until its process is taken for dead: 60 seconds, or what the
/// environment variable `REMANENT_STALE_AFTER` says.
pub fn stale_after() -> Duration {
    let seconds = std::env::var("REMANENT_STALE_AFTER").ok();
    let seconds = seconds.and_then(|text| text.trim().parse::<f64>().ok());
    let seconds = seconds.filter(|seconds| (0.1..=1e6).contains(seconds));
    Duration::from_secs_f64(seconds.unwrap_or(60.0))
}

/// Time between two heartbeats.
fn beat_every() -> Duration {
    (stale_after() / 12).clamp(Duration::from_millis(20), Duration::from_secs(5))
}

/// What a heartbeat says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The name of the machine.
    pub host: String,
    /// Identifies the machine since it was started.
    pub machine: String,
    /// The number of the process.
    pub process: u32,
    /// What the process is to its user: `shard 3/8`, a number of a job.
    pub about: String,
    /// Counts the heartbeats.
    pub beat: u64,
    /// For how long the process has been at work, in seconds of its own clock.
    pub seconds: f64,
    /// The cells under way.
    pub cells: Vec<UnderWay>,
}

/// A cell under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderWay {
    /// The name of the cell.
    pub cell: String,
    /// For how long, in seconds.
    pub seconds: f64,
    /// Units of work done, those included that were found in a checkpoint.
    pub done: u64,
    /// Units of work that were found in a checkpoint.
    pub found: u64,
    /// All units.
    pub work: u64,
}

impl UnderWay {
    /// Seconds until it is done at the speed so far, if that is known.
    pub fn seconds_left(&self) -> Option<f64> {
        let steps = self.done.checked_sub(self.found).filter(|&steps| steps > 0)?;
        let left = self.work.saturating_sub(self.done);
        Some(self.seconds * left as f64 / steps as f64)
    }
}

/// How far a cell is.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) done: AtomicU64,
    pub(crate) found: AtomicU64,
}

/// Cells under way by name: how far, since when, and how much there is to do.
type Cells = HashMap<String, (Arc<Progress>, Instant, u64)>;

#[derive(Debug)]
struct State {
    cells: Cells,
    is_over: bool,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    about: String,
    started: Instant,
    state: Mutex<State>,
    wake: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If others took this process for dead, because it was suspended, its file and the folder may be gone.
    fn open(&self) -> io::Result<File> {
        let open = || OpenOptions::new().write(true).create(true).truncate(false).open(&self.path);
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.path.parent().map_or(Ok(()), fs::create_dir_all)?;
                open()
            }
            result => result,
        }
    }

    /// In place: a full disk does not stop it, and readers that see half of it see a change.
    fn write(&self, beat: u64) -> io::Result<()> {
        let cells = self
            .state()
            .cells
            .iter()
            .map(|(cell, (progress, since, work))| UnderWay {
                cell: cell.clone(),
                seconds: since.elapsed().as_secs_f64(),
                done: progress.done.load(Ordering::Relaxed),
                found: progress.found.load(Ordering::Relaxed),
                work: *work,
            })
            .collect();
        let heartbeat = Heartbeat {
            host: host().to_owned(),
            machine: machine().to_owned(),
            process: std::process::id(),
            about: self.about.clone(),
            beat,
            seconds: self.started.elapsed().as_secs_f64(),
            cells,
        };
        let text = serde_json::to_vec(&heartbeat)?;
        let mut file = self.open()?;
        file.write_all(&text)?;
        file.set_len(text.len() as u64)
    }
}

/// This process among those that work in a directory. The file goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) id: String,
    folder: PathBuf,
    shared: Arc<Shared>,
    lock: Option<File>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether this process has the directory for itself.
    opening: AtomicBool,
}

impl Worker {
    /// Announces this process.
    pub(crate) fn start(directory: &Path, about: &str) -> Result<Self, FileError> {
        let folder = directory.join(WORKERS);
        let id = new_id();
        let lock_path = folder.join(format!("{id}{LOCK_END}"));
        let mut lock =
            create_in(&folder, &lock_path).map_err(FileError::new("create", &lock_path))?;
        if lock.try_lock().is_ok() {
            // A full disk does not matter: without the name the heartbeat decides.
            let _ = lock.write_all(machine().as_bytes()).and_then(|()| lock.sync_data());
        }
        let path = folder.join(format!("{id}{END}"));
        let state = Mutex::new(State { cells: HashMap::new(), is_over: false });
        let (about, started, wake) = (about.to_owned(), Instant::now(), Condvar::new());
        let shared = Arc::new(Shared { path, about, started, state, wake });
        shared.write(0).map_err(FileError::new("write", &shared.path))?;
        let theirs = Arc::clone(&shared);
        let beat = move || {
            let every = beat_every();
            for number in 1.. {
                let state = theirs.state();
                let waited = theirs.wake.wait_timeout_while(state, every, |state| !state.is_over);
                if waited.unwrap_or_else(PoisonError::into_inner).0.is_over {
                    return;
                }
                // If it fails, others take over what this process does, and both come to the same.
                let _ = theirs.write(number);
            }
        };
        let thread = Mutex::new(Some(std::thread::spawn(beat)));
        Ok(Self { id, folder, shared, lock: Some(lock), thread, opening: AtomicBool::new(false) })
    }

    /// A cell begins.
    pub(crate) fn begin(&self, cell: &str, work: u64) -> Arc<Progress> {
        let progress = Arc::new(Progress::default());
        let entry = (Arc::clone(&progress), Instant::now(), work);
        self.shared.state().cells.insert(cell.to_owned(), entry);
        progress
    }

    /// A cell has ended.
    pub(crate) fn end(&self, cell: &str) {
        self.shared.state().cells.remove(cell);
    }

    /// The other processes that announced themselves and are not known to be dead, found one by one.
    fn others(&self) -> Result<impl Iterator<Item = String>, FileError> {
        let ids = ids(&self.folder)?.into_iter().filter(|id| *id != self.id);
        Ok(ids.filter(|id| lock(&self.folder, id) != Lock::Free))
    }

    fn is_alone(&self) -> Result<bool, FileError> {
        Ok(self.others()?.next().is_none())
    }

    /// Tries to have the directory for this process alone, until [`share`](Self::share). If not, others
    /// work there, and none has it alone.
    pub(crate) fn try_alone(&self) -> Result<bool, FileError> {
        let path = self.folder.join(OPENING);
        let mut observer = Observer::new(&self.folder);
        loop {
            if self.is_alone()? {
                match create_in(&self.folder, &path) {
                    Ok(mut file) => {
                        self.opening.store(true, Ordering::Relaxed);
                        let _ = file.write_all(self.id.as_bytes());
                        // Whoever announced itself before it could see this file is seen now.
                        if self.is_alone()? {
                            return Ok(true);
                        }
                        self.share()?;
                        continue;
                    }
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(FileError::new("create", &path)(error)),
                }
            }
            match fs::read_to_string(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if !self.is_alone()? {
                        return Ok(false);
                    }
                }
                holder => {
                    let holder = holder.map_err(FileError::new("read", &path))?;
                    if observer.life(&holder) == Life::Dead {
                        files::remove(&path)?;
                    }
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until it is known whether others work in the directory, and says so.
    pub(crate) fn others_live(&self, observer: &mut Observer) -> Result<bool, FileError> {
        loop {
            let lives = self.others()?.map(|id| observer.life(&id));
            let lives: Vec<Life> = lives.filter(|life| *life != Life::Dead).collect();
            if lives.is_empty() {
                return Ok(false);
            }
            if lives.contains(&Life::Alive) {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Removes the files of processes that are known to be dead. Says how many others there are of which it is
    /// not known whether they are alive.
    pub(crate) fn bury(&self, observer: &mut Observer) -> Result<usize, FileError> {
        let mut unknown = 0;
        let mut left: Vec<String> = ids(&self.folder)?;
        left.extend(with_end(&self.folder, LOCK_END)?);
        left.sort_unstable();
        left.dedup();
        for id in left.into_iter().filter(|id| *id != self.id) {
            match observer.life(&id) {
                Life::Alive => {}
                // It is alive, or it is suspended: there is no need to wait until it is known which.
                Life::Unknown if lock(&self.folder, &id) == Lock::Held => {}
                Life::Unknown => unknown += 1,
                Life::Dead => {
                    files::remove(&self.folder.join(format!("{id}{END}")))?;
                    files::remove(&self.folder.join(format!("{id}{LOCK_END}")))?;
                }
            }
        }
        Ok(unknown + self.bury_opening(observer)?)
    }

    /// The same for the file of a process that died while it had the directory for itself. That of a living
    /// process goes at once: it sees this one.
    fn bury_opening(&self, observer: &mut Observer) -> Result<usize, FileError> {
        let path = self.folder.join(OPENING);
        let Ok(holder) = fs::read_to_string(&path) else { return Ok(0) };
        if holder == self.id {
            return Ok(0);
        }
        match observer.life(if holder.is_empty() { OPENING } else { &holder }) {
            Life::Alive => Ok(0),
            Life::Unknown => Ok(1),
            Life::Dead => files::remove(&path).map(|()| 0),
        }
    }

    /// Lets others in.
    pub(crate) fn share(&self) -> Result<(), FileError> {
        if self.opening.swap(false, Ordering::Relaxed) {
            files::remove(&self.folder.join(OPENING))?;
        }
        Ok(())
    }

    /// Removes the heartbeat: this process computes nothing any more, and others need not see it. The lock is held
    /// until it is dropped.
    pub(crate) fn withdraw(&self) {
        self.shared.state().is_over = true;
        self.shared.wake.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        let _ = files::remove(&self.shared.path);
    }

    pub(crate) fn observer(&self) -> Observer {
        Observer::new(&self.folder)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // What cannot be removed is found to be dead by others.
        self.withdraw();
        let _ = self.share();
        // To close the file is not enough: a process that is just being started by another thread
        // has a copy of it for a moment.
        let _ = self.lock.take().map(|file| file.unlock());
        let _ = files::remove(&self.folder.join(format!("{}{LOCK_END}", self.id)));
        // Unless others are there.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Creates a file that must not exist, in a folder that may have to be made, or made again.
pub(crate) fn create_in(folder: &Path, path: &Path) -> io::Result<File> {
    let create = || OpenOptions::new().write(true).create_new(true).open(path);
    for _ in 0..100 {
        match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir_all(folder)?,
            result => return result,
        }
    }
    create()
}

/// Whether a process is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Life {
    /// Its heartbeat was seen to change a while ago at most.
    Alive,
    /// It has not been watched for long enough.
    Unknown,
    /// Its heartbeat has not changed for long, or the machine says so.
    Dead,
}

struct Seen {
    content: Option<Vec<u8>>,
    since: Instant,
    looked: Instant,
    has_changed: bool,
    is_dead_here: bool,
}

/// Watches the heartbeats of other processes.
pub struct Observer {
    folder: PathBuf,
    stale: Duration,
    seen: HashMap<String, Seen>,
}

impl Observer {
    /// Of a run directory. Nothing in it is changed.
    pub fn of(directory: &Path) -> Self {
        Self::new(&directory.join(WORKERS))
    }

    fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), stale: stale_after(), seen: HashMap::new() }
    }

    /// Whether a process is alive, as far as it can be told now.
    pub fn life(&mut self, id: &str) -> Life {
        let now = Instant::now();
        let pause = (self.stale / 20).min(Duration::from_millis(200));
        if self.seen.get(id).is_none_or(|seen| now - seen.looked >= pause) {
            self.look(id, now);
        }
        let seen = &self.seen[id];
        if seen.is_dead_here || now - seen.since >= self.stale {
            Life::Dead
        } else if seen.has_changed {
            Life::Alive
        } else {
            Life::Unknown
        }
    }

    fn look(&mut self, id: &str, now: Instant) {
        let content = fs::read(self.folder.join(format!("{id}{END}"))).ok();
        let is_dead_here = lock(&self.folder, id) == Lock::Free;
        match self.seen.get_mut(id) {
            Some(seen) if seen.content == content => {
                (seen.looked, seen.is_dead_here) = (now, is_dead_here);
            }
            Some(seen) => {
                *seen = Seen { content, since: now, looked: now, has_changed: true, is_dead_here };
            }
            None => {
                let seen =
                    Seen { content, since: now, looked: now, has_changed: false, is_dead_here };
                self.seen.insert(id.to_owned(), seen);
            }
        }
    }
}

/// The heartbeats in a run directory; one that is being written at this moment is left out.
pub(crate) fn heartbeats(directory: &Path) -> Result<Vec<(String, Heartbeat)>, FileError> {
    let folder = directory.join(WORKERS);
    let mut found: Vec<(String, Heartbeat)> = ids(&folder)?
        .into_iter()
        .filter_map(|id| heartbeat(&folder, &id).map(|heartbeat| (id, heartbeat)))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// The file of a heartbeat.
pub(crate) fn path(directory: &Path, id: &str) -> PathBuf {
    directory.join(WORKERS).join(format!("{id}{END}"))
}

fn heartbeat(folder: &Path, id: &str) -> Option<Heartbeat> {
    let path = folder.join(format!("{id}{END}"));
    let read = || serde_json::from_slice(&fs::read(&path).ok()?).ok();
    // It may be in the middle of being written.
    read().or_else(|| {
        std::thread::sleep(Duration::from_millis(2));
        read()
    })
}

/// The processes that announced themselves.
fn ids(folder: &Path) -> Result<Vec<String>, FileError> {
    with_end(folder, END)
}

/// The names of the files with this end, without it.
fn with_end(folder: &Path, end: &str) -> Result<Vec<String>, FileError> {
    let names = files::names(folder)?.into_iter().filter_map(|name| name.into_string().ok());
    Ok(names.filter_map(|name| name.strip_suffix(end).map(str::to_owned)).collect())
}

/// What the lock of a process tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    /// The process is there.
    Held,
    /// The process has ended: the system has released its lock.
    Free,
    /// Nothing: it is a process of another machine, or there are no locks.
    Unknown,
}

fn lock(folder: &Path, id: &str) -> Lock {
    let path = folder.join(format!("{id}{LOCK_END}"));
    let Ok(mut file) = File::open(path) else { return Lock::Unknown };
    let mut holder = Vec::new();
    // Windows does not let others read a file that is locked.
    if file.read_to_end(&mut holder).is_err() || holder != machine().as_bytes() {
        return Lock::Unknown;
    }
    match file.try_lock_shared() {
        Ok(()) => Lock::Free,
        Err(TryLockError::WouldBlock) => Lock::Held,
        Err(TryLockError::Error(_)) => Lock::Unknown,
    }
}

/// The name of this machine.
fn host() -> &'static str {
    static HOST: LazyLock<String> = LazyLock::new(read_host);
    &HOST
}

fn read_host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok());
    let name = name.or_else(|| std::env::var("COMPUTERNAME").ok()).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "unknown".into() } else { name.to_owned() }
}

/// Identifies this machine since it was started.
fn machine() -> &'static str {
    static MACHINE: LazyLock<String> = LazyLock::new(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        if boot.trim().is_empty() { host().to_owned() } else { boot.trim().to_owned() }
    });
    &MACHINE
}

/// A name that no other process has.
fn new_id() -> String {
    let host: String =
        host().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    // The standard library seeds it from the random numbers of the system.
    let number = RandomState::new().hash_one(std::process::id());
    format!("{host}-{}-{number:016x}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a worker that was killed: its lock file, and a heartbeat if there is one.
    fn leave(folder: &Path, id: &str, lock: &str, heartbeat: Option<&str>) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(format!("{id}{LOCK_END}")), lock).unwrap();
        if let Some(content) = heartbeat {
            fs::write(folder.join(format!("{id}{END}")), content).unwrap();
        }
    }

    #[test]
    fn an_empty_heartbeat_of_this_machine_is_that_of_a_dead_process() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join(WORKERS);
        leave(&folder, "killed", machine(), Some(""));
        leave(&folder, "sooner", machine(), None);
        let worker = Worker::start(directory.path(), "").unwrap();
        assert!(worker.try_alone().unwrap());
        worker.bury(&mut worker.observer()).unwrap();
        assert_eq!(ids(&folder).unwrap(), [worker.id.as_str()]);
        assert_eq!(with_end(&folder, LOCK_END).unwrap(), [worker.id.as_str()]);
        drop(worker);
        assert!(!folder.exists());
    }

    #[test]
    fn an_empty_heartbeat_of_another_machine_is_watched() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join(WORKERS);
        for (id, lock) in [("elsewhere", "another machine"), ("unknown", "")] {
            leave(&folder, id, lock, Some(""));
        }
        let worker = Worker::start(directory.path(), "").unwrap();
        let mut observer = Observer { stale: Duration::from_millis(50), ..worker.observer() };
        assert_eq!(observer.life("elsewhere"), Life::Unknown);
        worker.bury(&mut observer).unwrap();
        assert_eq!(ids(&folder).unwrap().len(), 3);
        std::thread::sleep(Duration::from_millis(60));
        worker.bury(&mut observer).unwrap();
        assert_eq!(ids(&folder).unwrap(), [worker.id.as_str()]);
    }

    #[test]
    fn a_living_process_is_not_buried() {
        let directory = tempfile::tempdir().unwrap();
        let workers = [0, 1].map(|_| Worker::start(directory.path(), "").unwrap());
        // Another process may have truncated the heartbeat; the lock is held.
        fs::write(&workers[0].shared.path, "").unwrap();
        assert_eq!(lock(&workers[0].folder, &workers[0].id), Lock::Held);
        workers[1].bury(&mut workers[1].observer()).unwrap();
        assert!(ids(&workers[0].folder).unwrap().contains(&workers[0].id));
    }

    #[test]
    fn of_those_that_leave_at_once_the_last_is_alone() {
        let directory = tempfile::tempdir().unwrap();
        let workers = [0, 1].map(|_| Worker::start(directory.path(), "").unwrap());
        let alone = || workers.each_ref().map(|worker| worker.try_alone().unwrap());
        assert_eq!(alone(), [false, false]);
        workers[0].withdraw();
        assert_eq!(alone(), [false, true]);
        workers[1].share().unwrap();
        // Both have looked at each other before they left: each looks again afterwards.
        workers[1].withdraw();
        assert!(workers[1].try_alone().unwrap());
        workers[1].share().unwrap();
        assert!(workers[0].try_alone().unwrap());
    }
}
