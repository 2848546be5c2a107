//! Models that are missing, damaged or swapped are noticed and made again.

mod common;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{Ledger, list};
use remanent_store::{Cell, Context, ModelFault, Request, RunError, Stopped, Store};
use serde_json::{Value, json};
use tempfile::tempdir;

/// A cell whose model is its key, and whose record is what a counter says.
struct Modelled<'a> {
    seed: u64,
    record: &'a AtomicU64,
    runs: &'a AtomicU64,
}

impl Cell for Modelled<'_> {
    type Record = u64;

    fn key(&self) -> Value {
        json!({"seed": self.seed})
    }

    fn work(&self) -> u64 {
        1
    }

    fn check_model(&self, path: &Path) -> Result<(), ModelFault> {
        match fs::read_to_string(path) {
            Err(_) => Err(ModelFault::Missing(path.to_owned())),
            Ok(text) if self.key() == serde_json::from_str::<Value>(&text).unwrap_or_default() => {
                Ok(())
            }
            Ok(text) => {
                let reason = format!("it is {text}");
                Err(ModelFault::Unusable { path: path.to_owned(), reason })
            }
        }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<u64, Stopped> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let path = context.model().expect("a store");
        fs::write(path, self.key().to_string()).unwrap();
        Ok(self.seed + self.record.load(Ordering::SeqCst))
    }
}

struct Bench {
    directory: tempfile::TempDir,
    ledger: Ledger,
    record: AtomicU64,
    runs: AtomicU64,
}

impl Bench {
    /// A run of two cells.
    fn new() -> Self {
        let bench = Self {
            directory: tempdir().unwrap(),
            ledger: Ledger::default(),
            record: AtomicU64::new(10),
            runs: AtomicU64::new(0),
        };
        assert_eq!(bench.run(true).unwrap(), [11, 12]);
        bench
    }

    fn run(&self, with_models: bool) -> Result<Vec<u64>, RunError> {
        let (record, runs) = (&self.record, &self.runs);
        let cells = [1, 2].map(|seed| Modelled { seed, record, runs });
        let store = Store::open(self.directory.path(), "modelled", &json!({}), false).unwrap();
        let (watcher, interrupt) = (&self.ledger, &self.ledger.interrupt);
        let (path, config) = (self.directory.path(), json!({}));
        let request = Request { kind: "modelled", with_models, ..common::request(path, &config) };
        let survey = request.survey(&cells);
        let before = self.runs.load(Ordering::SeqCst);
        let missing = survey.unwrap().missing.len() as u64;
        let found = if with_models {
            store.run_with_models(&cells, watcher, interrupt)
        } else {
            store.run(&cells, watcher, interrupt)
        };
        // What is said before is what is done.
        assert_eq!(self.runs.load(Ordering::SeqCst) - before, missing);
        found
    }

    fn runs(&self) -> u64 {
        self.runs.load(Ordering::SeqCst)
    }

    fn models(&self) -> Vec<std::path::PathBuf> {
        list(&self.directory.path().join("models"))
    }
}

#[test]
fn a_missing_model_is_made_again() {
    let bench = Bench::new();
    let model = bench.models()[0].clone();
    let whole = fs::read(&model).unwrap();
    let records = list(&bench.directory.path().join("records"));
    let record = fs::read(&records[0]).unwrap();
    fs::remove_file(&model).unwrap();
    // Where nobody asks for models, nothing is computed for them.
    assert_eq!(bench.run(false).unwrap(), [11, 12]);
    assert_eq!(bench.runs(), 2);
    assert_eq!(bench.run(true).unwrap(), [11, 12]);
    assert_eq!((bench.runs(), fs::read(&model).unwrap()), (3, whole));
    assert_eq!(fs::read(&records[0]).unwrap(), record);
    let notices = bench.ledger.notices();
    assert!(notices[0].contains("no file") && notices[0].contains("made again"), "{notices:?}");
    assert_eq!(bench.run(true).unwrap(), [11, 12]);
    assert_eq!((bench.runs(), bench.ledger.notices().len()), (3, 1));
}

#[test]
fn swapped_models_are_set_aside_and_made_again() {
    let bench = Bench::new();
    let models = bench.models();
    let texts = [0, 1].map(|i| fs::read(&models[i]).unwrap());
    fs::write(&models[0], &texts[1]).unwrap();
    fs::write(&models[1], &texts[0]).unwrap();
    assert_eq!(bench.run(true).unwrap(), [11, 12]);
    assert_eq!(bench.runs(), 4);
    assert_eq!([0, 1].map(|i| fs::read(&models[i]).unwrap()), texts);
    assert_eq!(bench.models().len(), 4, "the others are kept aside");
    assert!(bench.ledger.notices().iter().all(|notice| notice.contains(".damaged")));
}

#[test]
fn a_model_that_comes_to_other_numbers_is_told() {
    let bench = Bench::new();
    let model = bench.models()[0].clone();
    fs::write(&model, "damaged").unwrap();
    bench.record.store(20, Ordering::SeqCst);
    let Err(RunError::Failed { reason, .. }) = bench.run(true) else { panic!("it must fail") };
    assert!(reason.contains("does not belong to its record"), "{reason}");
    assert!(!model.exists());
    // The record is as it was.
    assert_eq!(bench.run(false).unwrap(), [11, 12]);
    bench.record.store(10, Ordering::SeqCst);
    assert_eq!(bench.run(true).unwrap(), [11, 12]);
    assert!(model.exists());
}
