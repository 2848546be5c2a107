//! Stops a computation whose result nobody waits for any more.
//!
//! A solver runs for milliseconds to minutes, through many layers that have nothing to say about
//! cancellation. So a thread that computes for somebody who may go away watches a flag: the functions that
//! evaluate the saddle-point equations look at it, and unwind with [`Cancelled`] when it is set. Threads that
//! watch no flag are not affected. Solvers keep no state between calls, so nothing is left half done.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! use remanent_theory::cancel::{Cancelled, stoppable, watch};
//! use remanent_theory::parameters::Choice;
//! use remanent_theory::single::SingleTask;
//!
//! let flag = Arc::new(AtomicBool::new(true)); // set: stop at once
//! let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(move |_| watch(&flag));
//! let solve = || SingleTask::new(20.0).and_then(|task| task.solve(1.0, Choice::Stable));
//! assert!(matches!(stoppable(|| pool.build().unwrap().install(solve)), Err(Cancelled)));
//! ```

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The computation was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Solvers on this thread stop from now on when the flag is set.
pub fn watch(flag: &Arc<AtomicBool>) {
    FLAG.with_borrow_mut(|watched| *watched = Some(Arc::clone(flag)));
}

/// Runs a computation that may be stopped. Any other panic goes on.
pub fn stoppable<T>(compute: impl FnOnce() -> T) -> Result<T, Cancelled> {
    catch_unwind(AssertUnwindSafe(compute)).map_err(|cause| match cause.downcast::<Cancelled>() {
        Ok(cancelled) => *cancelled,
        Err(cause) => resume_unwind(cause),
    })
}

/// Unwinds if the flag of this thread is set. The panic hook is not called.
pub(crate) fn check() {
    let is_set = |flag: &Option<Arc<AtomicBool>>| {
        flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    };
    if FLAG.with_borrow(is_set) {
        resume_unwind(Box::new(Cancelled));
    }
}
