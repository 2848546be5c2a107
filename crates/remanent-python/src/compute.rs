//! Computing without the interpreter: in another thread, while this one looks for Ctrl-C.
//!
//! The threads of the computation are a pool of this module and not the global one of rayon: a process
//! that was forked, as the workers of `multiprocessing` may be, has none of the threads of its parent
//! and makes its own.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{process, thread};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use remanent_store::Watcher;

use crate::fault::Fault;

/// Time between two looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// What a computation and its caller share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Set to stop.
    pub interrupt: AtomicBool,
    done: AtomicU64,
    notices: Mutex<Vec<String>>,
}

impl Shared {
    fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Watcher for Shared {
    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    fn notice(&self, text: &str) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }
}

/// Whether an interrupted caller waits until the computation has saved its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It waits.
    AfterSaving,
    /// There is nothing to save.
    AtOnce,
}

/// Computes in another thread. `watcher`, unless it is None, is called as `watcher(done, notices)` from
/// this thread.
pub fn compute<T: Send + 'static>(
    py: Python<'_>,
    stop: Stop,
    watcher: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Shared) -> Result<T, Fault> + Send + 'static,
) -> PyResult<T> {
    let pool = pool()?;
    let shared = Arc::new(Shared::default());
    let (sender, mut receiver) = mpsc::channel();
    let theirs = Arc::clone(&shared);
    let spawned = thread::Builder::new().name("remanent".into()).spawn(move || {
        let guarded = AssertUnwindSafe(|| pool.install(|| work(&theirs)));
        let outcome = panic::catch_unwind(guarded)
            .unwrap_or_else(|payload| Err(Fault::panic(payload.as_ref())));
        // Nobody listens if the caller was interrupted.
        let _ = sender.send(outcome);
    });
    spawned.map_err(|error| Fault::failure(format!("cannot start a thread: {error}")))?;
    let mut told = 0;
    let mut interrupted = None;
    loop {
        let receiver = &mut receiver;
        let received = py.detach(|| {
            let receiver: &mut Receiver<_> = receiver;
            receiver.recv_timeout(TICK)
        });
        let done = shared.done.load(Ordering::Relaxed);
        let notices = shared.take_notices();
        if interrupted.is_none()
            && let Some(watcher) = watcher
            && (done != told || !notices.is_empty())
        {
            told = done;
            interrupted = watcher.call1((done, notices)).err();
        }
        match received {
            // A computation that was done when the signal came is still interrupted.
            Ok(outcome) => return interrupted.map_or(outcome.map_err(PyErr::from), Err),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Fault::failure("the computation ended without a result").into());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupted.is_none() {
            interrupted = py.check_signals().err();
        }
        if interrupted.is_some() {
            shared.interrupt.store(true, Ordering::Relaxed);
            if stop == Stop::AtOnce
                && let Some(error) = interrupted.take()
            {
                return Err(error);
            }
        }
    }
}

/// The threads of this process, and the number that was asked for.
struct Threads {
    process: u32,
    wanted: usize,
    pool: Option<Arc<ThreadPool>>,
}

static THREADS: Mutex<Threads> = Mutex::new(Threads { process: 0, wanted: 0, pool: None });

fn pool() -> Result<Arc<ThreadPool>, Fault> {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if let Some(pool) = &threads.pool {
        if threads.process == process {
            return Ok(Arc::clone(pool));
        }
        // The threads belong to the parent: to drop the pool would wait for them.
        std::mem::forget(threads.pool.take());
    }
    let built = ThreadPoolBuilder::new().num_threads(threads.wanted).build();
    let pool = Arc::new(built.map_err(|error| Fault::failure(error.to_string()))?);
    threads.process = process;
    threads.pool = Some(Arc::clone(&pool));
    Ok(pool)
}

/// Computes on all threads without the interpreter; for what takes less than a second.
pub fn install<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = pool()?;
    let guarded = AssertUnwindSafe(|| pool.install(work));
    let outcome = py.detach(|| panic::catch_unwind(guarded));
    Ok(outcome.map_err(|payload| Fault::panic(payload.as_ref()))?)
}

/// Sets the number of threads; all cores without one. Results do not depend on it.
#[pyfunction]
#[pyo3(signature = (threads=None))]
pub fn set_threads(threads: Option<i64>) -> PyResult<()> {
    if let Some(threads) = threads {
        Fault::unless_in(remanent::THREADS, "threads", threads as f64)?;
    }
    let wanted = threads.map_or(0, |threads| threads as usize);
    let mut state = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    state.wanted = wanted;
    if state.process == process::id() {
        state.pool = None;
    }
    Ok(())
}

/// The number of threads.
#[pyfunction]
pub fn threads() -> PyResult<usize> {
    Ok(pool()?.current_num_threads())
}
