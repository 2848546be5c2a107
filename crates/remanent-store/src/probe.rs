//! How fast a cell is, for estimates of how long a run takes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::cell::{Cell, Context};
use crate::run::Watcher;

/// Counts work from the first piece on: what comes before it, such as the drawing of data or a test
/// before anything is learned, says nothing about the rate.
#[derive(Default)]
struct Counter {
    first: OnceLock<Instant>,
    units: AtomicU64,
}

impl Watcher for Counter {
    fn advance(&self, units: u64) {
        // A cell that begins anew finds nothing done.
        if units > 0 && self.first.set(Instant::now()).is_err() {
            self.units.fetch_add(units, Ordering::Relaxed);
        }
    }

    fn notice(&self, _text: &str) {}
}

/// How long a cell is watched to find its rate.
const PROBE: Duration = Duration::from_millis(500);
/// How long it may take until it begins.
const PATIENCE: Duration = Duration::from_secs(20);

/// Work a second, found by running a cell for a while without keeping anything of it.
pub fn rate<C: Cell>(cell: &C) -> Option<f64> {
    let (counter, stop, ended) =
        (Counter::default(), AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            let begun = || counter.first.get().is_some_and(|first| first.elapsed() >= PROBE);
            while !begun() && start.elapsed() < PATIENCE && !ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
        });
        // How it ends does not matter here; the run will tell.
        let _ = cell.run(&mut Context::probe(&counter, &stop));
        ended.store(true, Ordering::Relaxed);
    });
    let done = counter.units.load(Ordering::Relaxed) as f64;
    let start = counter.first.get()?;
    (done > 0.0).then(|| done / start.elapsed().as_secs_f64())
}
