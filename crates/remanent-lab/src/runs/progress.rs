//! How far a run has come, as the program that runs it says: a small file in the run directory. It is
//! replaced now and then, and read by whoever watches the run.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use remanent_store::atomic;
use serde::{Deserialize, Serialize};

/// The name of the file.
pub const FILE: &str = "progress.json";

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Units of work done, those found done included.
    pub done: u64,
    /// Units of work in all.
    pub total: u64,
    /// What is counted: `steps`, `patterns`.
    pub unit: String,
    /// Seconds since the command began.
    pub seconds: f64,
    /// Seconds that the rest will take at the pace so far; none if nothing tells.
    pub seconds_left: Option<f64>,
    /// Seconds since 1970 at which this was written.
    pub updated: f64,
    /// Whether the command has ended, by itself or interrupted.
    pub has_ended: bool,
}

impl Progress {
    /// The share of the work that is done.
    pub fn share(&self) -> f64 {
        if self.total == 0 { 1.0 } else { self.done as f64 / self.total as f64 }
    }

    /// Reads that of a run directory, if there is one that can be read.
    pub fn read(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(directory.join(FILE)).ok()?).ok()
    }

    /// Replaces that of a run directory. A directory that cannot be written has none.
    pub fn write(&self, directory: &Path) {
        if let Ok(text) = serde_json::to_vec(self) {
            let _ = atomic::write(&directory.join(FILE), &[&text, b"\n"]);
        }
    }
}

/// Seconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
