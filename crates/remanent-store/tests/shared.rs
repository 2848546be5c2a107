//! Several processes in one directory: shares, failures, status. Here they are threads with a store each.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use common::{Ledger, config, files, open, request, toys};
use remanent_store::status::Status;
use remanent_store::{
    Cell, Context, Life, Observer, Request, Shard, Share, Shared, Silent, Stopped, retry,
};
use serde_json::{Value, json};
use tempfile::tempdir;

fn share(index: usize, count: usize, steals: bool) -> Share<'static> {
    Share { shard: Shard { index, count }, steals, about: "test" }
}

#[test]
fn shards_leave_the_same_files_as_one_process() {
    let (one, many) = (tempdir().unwrap(), tempdir().unwrap());
    let ledger = Ledger::default();
    let expected = open(one.path()).run(&toys(20, &ledger), &ledger, &ledger.interrupt).unwrap();
    let (ledger, config) = (Ledger::default(), config());
    let work = |index| {
        let request = request(many.path(), &config);
        request.run_share(&toys(20, &ledger), &share(index, 3, true), &ledger, &ledger.interrupt)
    };
    // The last share twice.
    std::thread::scope(|scope| {
        let threads: Vec<_> = [1, 2, 3, 3].map(|index| scope.spawn(move || work(index))).into();
        for thread in threads {
            let shared = thread.join().unwrap().unwrap();
            assert_eq!((shared.total, shared.failed.len()), (20, 0));
        }
    });
    assert_eq!(ledger.runs(), 20, "every cell once");
    let records = open(many.path()).run(&toys(20, &ledger), &ledger, &ledger.interrupt).unwrap();
    assert_eq!((records, ledger.runs()), (expected, 20));
    assert_eq!(files(one.path()), files(many.path()));
}

#[test]
fn a_shard_that_does_not_steal_computes_its_share() {
    let directory = tempdir().unwrap();
    let (ledger, config) = (Ledger::default(), config());
    let request = request(directory.path(), &config);
    let work = |index| {
        let share = share(index, 4, false);
        request.run_share(&toys(20, &ledger), &share, &ledger, &ledger.interrupt).unwrap()
    };
    let first = work(2);
    assert_eq!(first, Shared { computed: 5, done: 5, total: 20, ..Shared::default() });
    let again = work(2);
    assert_eq!(again, Shared { found: 5, done: 5, total: 20, ..Shared::default() });
    let status = Status::read(directory.path(), &mut Observer::of(directory.path())).unwrap();
    assert_eq!((status.done.len(), status.waiting.len(), status.total()), (5, 15, 20));
    assert!(!status.is_over() && status.workers.is_empty());
}

/// Fails if its seed is 1 and the time is not right. Seed 2 waits until it is told.
struct Fragile<'a> {
    seed: u64,
    fails: bool,
    runs: &'a AtomicU64,
    may_end: &'a AtomicBool,
}

impl Cell for Fragile<'_> {
    type Record = u64;

    fn key(&self) -> Value {
        json!({"seed": self.seed})
    }

    fn work(&self) -> u64 {
        10
    }

    fn run(&self, context: &mut Context<'_>) -> Result<u64, Stopped> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        if self.seed == 1 && self.fails {
            return Err(Stopped::Failed("diverged".into()));
        }
        context.advance(5);
        while self.seed == 2 && !self.may_end.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(self.seed)
    }
}

#[test]
fn a_failure_stops_no_other_cell_and_is_tried_again_when_asked() {
    let directory = tempdir().unwrap();
    let path = directory.path();
    let (runs, may_end, interrupt) =
        (AtomicU64::new(0), AtomicBool::new(true), AtomicBool::new(false));
    let config = json!({});
    let request = Request { kind: "fragile", ..request(path, &config) };
    let work = |fails| {
        let cells =
            [0, 1, 2, 3].map(|seed| Fragile { seed, fails, runs: &runs, may_end: &may_end });
        request.run_share(&cells, &share(1, 1, true), &Silent, &interrupt).unwrap()
    };
    let shared = work(true);
    assert_eq!((shared.computed, shared.done, shared.failed.len()), (3, 3, 1));
    assert_eq!(shared.failed[0].reason, "diverged");
    assert_eq!(runs.load(Ordering::SeqCst), 4);
    let status = Status::read(path, &mut Observer::of(path)).unwrap();
    assert_eq!((status.done.len(), status.failed.len(), status.is_over()), (3, 1, true));

    assert_eq!(work(false).failed.len(), 1, "nobody has asked");
    assert_eq!(runs.load(Ordering::SeqCst), 4);
    assert_eq!((retry(path).unwrap(), retry(path).unwrap()), (1, 0));
    let shared = work(false);
    assert_eq!((shared.computed, shared.done, shared.failed.len()), (1, 4, 0));
}

#[test]
fn a_status_shows_what_is_under_way() {
    let directory = tempdir().unwrap();
    let path = directory.path();
    let (runs, may_end, interrupt) =
        (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let config = json!({});
    let request = Request { kind: "fragile", ..request(path, &config) };
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let cells =
                [2].map(|seed| Fragile { seed, fails: false, runs: &runs, may_end: &may_end });
            request.run_share(&cells, &share(1, 1, true), &Silent, &interrupt)
        });
        while runs.load(Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = Status::read(path, &mut Observer::of(path)).unwrap();
        let [held] = &status.under_way[..] else { panic!("{status:?}") };
        assert_eq!((held.about.as_str(), held.progress.work), ("test", 10));
        assert_ne!(held.life, Life::Dead);
        assert_eq!((status.total(), status.workers.len(), status.is_over()), (1, 1, false));
        may_end.store(true, Ordering::SeqCst);
        worker.join().unwrap().unwrap();
    });
    let status = Status::read(path, &mut Observer::of(path)).unwrap();
    assert_eq!((status.done.len(), status.under_way.len(), status.workers.len()), (1, 0, 0));
}
