//! A cell that counts, and is counted.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use cpu_time::ThreadTime;
use remanent_store::{Cell, Context, Request, Stopped, Store, Watcher};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What happened in a run.
#[derive(Default)]
pub struct Ledger {
    pub runs: AtomicU64,
    pub steps: AtomicU64,
    pub units: AtomicU64,
    pub notices: Mutex<Vec<String>>,
    /// Cells that continued from a checkpoint.
    pub continued: AtomicU64,
    pub interrupt: AtomicBool,
    /// The number of steps after which the run is interrupted; never if 0.
    pub stop_at: u64,
}

impl Ledger {
    pub fn stop_at(steps: u64) -> Self {
        Self { stop_at: steps, ..Self::default() }
    }

    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::SeqCst)
    }

    pub fn continued(&self) -> u64 {
        self.continued.load(Ordering::SeqCst)
    }

    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::SeqCst)
    }

    pub fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap().clone()
    }
}

impl Watcher for Ledger {
    fn advance(&self, units: u64) {
        self.units.fetch_add(units, Ordering::SeqCst);
    }

    fn notice(&self, text: &str) {
        self.notices.lock().unwrap().push(text.to_owned());
    }

    fn continued(&self, seconds: f64) {
        assert!(seconds.is_finite() && seconds >= 0.0, "{seconds}");
        self.continued.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    pub double: f64,
    pub single: f32,
}

/// Adds numbers that look random, in both precisions, in as many steps as asked for.
pub struct Toy<'a> {
    pub seed: u64,
    pub steps: u64,
    pub pause: Duration,
    pub ledger: &'a Ledger,
}

impl Cell for Toy<'_> {
    type Record = Sum;

    fn key(&self) -> Value {
        json!({"steps": self.steps, "seed": self.seed, "rate": 0.1})
    }

    fn work(&self) -> u64 {
        self.steps
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Sum, Stopped> {
        self.ledger.runs.fetch_add(1, Ordering::SeqCst);
        let start = (0, self.seed, Sum { double: 0.0, single: 0.0 });
        let (mut step, mut x, mut sum): (u64, u64, Sum) = context.load().unwrap_or(start);
        context.advance(step);
        while step < self.steps {
            if context.due() {
                context.save(&(step, x, &sum))?;
            }
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let u = (x >> 11) as f64 / (1u64 << 53) as f64;
            sum.double += 0.1 * u.ln();
            sum.single += 0.1 * u as f32;
            step += 1;
            context.advance(1);
            let start = ThreadTime::now();
            while start.elapsed() < self.pause {}
            if self.ledger.steps.fetch_add(1, Ordering::SeqCst) + 1 == self.ledger.stop_at {
                self.ledger.interrupt.store(true, Ordering::SeqCst);
            }
        }
        Ok(sum)
    }
}

pub const STEPS: u64 = 200;

pub fn toys(seeds: u64, ledger: &Ledger) -> Vec<Toy<'_>> {
    (0..seeds).map(|seed| Toy { seed, steps: STEPS, pause: Duration::ZERO, ledger }).collect()
}

pub fn config() -> Value {
    json!({"steps": STEPS, "rate": 0.1})
}

pub fn open(directory: &Path) -> Store {
    Store::open(directory, "toy", &config(), false).unwrap()
}

/// A run of toys.
pub fn request<'a>(directory: &'a Path, config: &'a Value) -> Request<'a> {
    let every = Duration::from_secs(10);
    Request { directory, kind: "toy", config, fresh: false, every, with_models: false }
}

/// All files below a directory with their bytes, except what differs from run to run.
pub fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            if path.is_dir() {
                // Who works there, and how long it takes.
                if name != "workers" && name != "times" {
                    folders.push(path);
                }
            } else if name != "times.csv" {
                let name = path.strip_prefix(directory).unwrap().to_owned();
                found.push((name, fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The files in a folder, sorted.
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
