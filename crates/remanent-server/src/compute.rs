//! Computations for clients: bounded in number and time, kept for whoever asks again, and stopped when the
//! client goes away.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use rayon::ThreadPoolBuilder;
use remanent_theory::cancel::{Cancelled, stoppable, watch};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::error::ApiError;

/// The longest computation.
const LONGEST: Duration = Duration::from_secs(120);
/// Computations that may wait for their turn.
const MOST_WAITING: usize = 64;
/// Bytes of answers that are kept.
const MOST_KEPT: usize = 32 << 20;

/// How long a computation is expected to take. Short ones do not wait for long ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    Short,
    Long,
}

/// Where computations are made.
pub struct Workshop {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    waiting: AtomicUsize,
    running: Arc<AtomicUsize>,
    kept: Mutex<Kept>,
    threads: usize,
}

/// Sets a flag when it is dropped: the client has gone, or nobody needs the result any more.
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Counts one more as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workshop {
    pub fn new(threads: usize) -> Self {
        Self {
            short: Arc::new(Semaphore::new(2 * threads)),
            long: Arc::new(Semaphore::new(threads)),
            waiting: AtomicUsize::new(0),
            running: Arc::new(AtomicUsize::new(0)),
            kept: Mutex::new(Kept::default()),
            threads,
        }
    }

    /// How many computations are under way.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Computes on threads of its own. The computation ends soon after this future is dropped: solvers of the
    /// theory stop by themselves, and others look at the flag.
    pub async fn compute<T: Send + 'static>(
        &self,
        effort: Effort,
        compute: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let slots = match effort {
            Effort::Short => &self.short,
            Effort::Long => &self.long,
        };
        let busy =
            || ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too many computations; try again");
        let permit = {
            let waiting = Waiting::new(&self.waiting).ok_or_else(busy)?;
            let permit = Arc::clone(slots).acquire_owned().await.map_err(|_| busy())?;
            drop(waiting);
            permit
        };
        let flag = Arc::new(AtomicBool::new(false));
        let leaving = Leaving(Arc::clone(&flag));
        let (threads, counted) = (self.threads, Counted::new(&self.running));
        let task = spawn_blocking(move || {
            let (_permit, _counted) = (permit, counted);
            let watched = Arc::clone(&flag);
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .start_handler(move |_| watch(&watched))
                .build()
                .map_err(|error| error.to_string())?;
            Ok::<_, String>(stoppable(|| pool.install(|| compute(&flag))))
        });
        let done = timeout(LONGEST, task).await;
        drop(leaving);
        let stopped = || {
            let text = format!("stopped after {} s; ask for less", LONGEST.as_secs());
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, text)
        };
        match done {
            Err(_) | Ok(Ok(Ok(Err(Cancelled)))) => Err(stopped()),
            Ok(Ok(Ok(Ok(found)))) => Ok(found),
            Ok(Ok(Err(reason))) => Err(ApiError::internal(reason)),
            Ok(Err(_)) => Err(ApiError::internal("the computation failed; please report it")),
        }
    }

    /// An answer that was given before.
    pub fn recall(&self, key: &str) -> Option<Arc<[u8]>> {
        self.kept().answers.get(key).cloned()
    }

    /// Keeps an answer; the oldest ones are forgotten.
    pub fn keep(&self, key: String, answer: Arc<[u8]>) {
        self.kept().insert(key, answer);
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that waits for its turn.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Option<Self> {
        let before = count.fetch_add(1, Ordering::Relaxed);
        let waiting = Self(count);
        (before < MOST_WAITING).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Kept {
    answers: HashMap<String, Arc<[u8]>>,
    order: VecDeque<String>,
    bytes: usize,
}

impl Kept {
    fn insert(&mut self, key: String, answer: Arc<[u8]>) {
        let size = key.len() + answer.len();
        if size > MOST_KEPT / 4 || self.answers.contains_key(&key) {
            return;
        }
        while self.bytes + size > MOST_KEPT {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(answer) = self.answers.remove(&oldest) {
                self.bytes -= oldest.len() + answer.len();
            }
        }
        self.bytes += size;
        self.order.push_back(key.clone());
        self.answers.insert(key, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_answers_are_forgotten() {
        let mut kept = Kept::default();
        for i in 0..100 {
            kept.insert(i.to_string(), vec![0; 1 << 20].into());
            assert!(kept.bytes <= MOST_KEPT);
        }
        assert!(kept.answers.contains_key("99") && !kept.answers.contains_key("0"));
        assert_eq!(kept.answers.len(), kept.order.len());
        kept.insert("huge".into(), vec![0; MOST_KEPT].into());
        assert!(!kept.answers.contains_key("huge"));
    }
}
