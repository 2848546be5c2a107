//! A hundred thousand tiny cells: no step that grows faster than their number, no crowded folder.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use remanent_store::status::Status;
use remanent_store::{Cell, Context, Observer, Request, Shard, Share, Silent, Stopped};
use serde_json::{Value, json};
use tempfile::tempdir;

const CELLS: u64 = 100_000;
/// Milliseconds a cell that planning, reading and a summary may take on a busy machine.
const LIMIT: f64 = 1.0;

struct Tiny(u64);

impl Cell for Tiny {
    type Record = u64;

    fn key(&self) -> Value {
        json!({"seed": self.0, "rate": 0.1})
    }

    fn work(&self) -> u64 {
        1
    }

    fn run(&self, _context: &mut Context<'_>) -> Result<u64, Stopped> {
        Ok(self.0 * 3)
    }
}

/// Peak memory of this process in MiB, where the system tells.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? / 1024)
}

fn crowd(folder: &Path) -> usize {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
    let below =
        entries.iter().filter(|e| e.file_type().unwrap().is_dir()).map(|e| crowd(&e.path()));
    below.max().unwrap_or(0).max(entries.len())
}

#[test]
fn a_hundred_thousand_cells() {
    let directory = tempdir().unwrap();
    let cells: Vec<Tiny> = (0..CELLS).map(Tiny).collect();
    let (config, interrupt) = (json!({"rate": 0.1}), AtomicBool::new(false));
    let every = Duration::from_secs(10);
    let path = directory.path();
    let request = Request {
        directory: path,
        kind: "tiny",
        config: &config,
        fresh: false,
        every,
        with_models: false,
    };
    let timed = |what: &str, work: &dyn Fn()| {
        let start = Instant::now();
        work();
        let each = 1e3 * start.elapsed().as_secs_f64() / CELLS as f64;
        println!("{what}: {each:.3} ms a cell");
        each
    };
    let nothing = timed("survey of an empty run", &|| {
        assert_eq!(request.survey(&cells).unwrap().missing.len() as u64, CELLS);
    });
    timed("two shards", &|| {
        std::thread::scope(|scope| {
            for index in [1, 2] {
                let share = Share { shard: Shard { index, count: 2 }, steals: true, about: "" };
                let (request, cells, interrupt) = (&request, &cells, &interrupt);
                scope.spawn(move || request.run_share(cells, &share, &Silent, interrupt).unwrap());
            }
        });
    });
    let status = timed("status", &|| {
        let status = Status::read(path, &mut Observer::of(path)).unwrap();
        assert_eq!((status.done.len() as u64, status.waiting.len()), (CELLS, 0));
    });
    let summary = timed("summary", &|| {
        let records = request.run(&cells, &Silent, &interrupt).unwrap().records;
        assert!(records.iter().zip(0..).all(|(&record, seed)| record == seed * 3));
    });
    for (what, each) in [("survey", nothing), ("status", status), ("summary", summary)] {
        assert!(each < LIMIT, "{what}: {each} ms a cell");
    }
    assert!(crowd(path) < 3000, "{}", crowd(path));
    let peak = peak();
    println!("memory: {peak:?} MiB");
    assert!(peak.is_none_or(|peak| peak < 500), "{peak:?} MiB");
}
