//! Which directories are taken, which are refused, and what `--fresh` removes.

mod common;

use std::fs;
use std::path::Path;

use common::{Ledger, config, files, list, open, request, toys};
use remanent_store::{Cell, Context, Request, RunError, Stopped, Store, StoreError, Survey};
use serde_json::{Value, json};
use tempfile::tempdir;

fn refused(directory: &Path, fresh: bool) -> StoreError {
    let before = directory.is_dir().then(|| files(directory));
    let error = Store::open(directory, "toy", &config(), fresh).unwrap_err();
    assert_eq!(before, directory.is_dir().then(|| files(directory)), "{error}");
    assert!(error.to_string().contains(directory.to_str().unwrap()), "{error}");
    error
}

/// A run with two records.
fn begin(directory: &Path) {
    let ledger = Ledger::default();
    open(directory).run(&toys(2, &ledger), &ledger, &ledger.interrupt).unwrap();
}

#[test]
fn a_directory_of_something_else_is_refused_even_afresh() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("thesis.tex"), "").unwrap();
    for fresh in [false, true] {
        let error = refused(directory.path(), fresh);
        assert!(matches!(error, StoreError::NotARun(_)), "{error}");
        assert!(error.to_string().contains("--out"), "{error}");
    }
}

#[test]
fn a_file_is_refused_and_so_is_what_cannot_be_created() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for fresh in [false, true] {
        let error = refused(&file, fresh);
        assert!(matches!(error, StoreError::NotADirectory(_)), "{error}");
        let error = refused(&file.join("below/it"), fresh);
        assert!(matches!(error, StoreError::File(_)), "{error}");
    }
}

#[test]
fn a_new_an_empty_and_a_hardly_begun_directory_are_taken() {
    let directory = tempdir().unwrap();
    open(&directory.path().join("deep/down"));

    let empty = directory.path().join("empty");
    fs::create_dir(&empty).unwrap();
    open(&empty);

    // What a program leaves that is killed while it begins a run.
    let begun = directory.path().join("begun");
    fs::create_dir(&begun).unwrap();
    fs::write(begun.join("lock"), "").unwrap();
    fs::write(begun.join(".remanent-x.tmp"), "half").unwrap();
    open(&begun);
    assert!(!begun.join(".remanent-x.tmp").exists());
}

#[test]
fn another_experiment_is_refused_with_the_differences() {
    let directory = tempdir().unwrap();
    begin(directory.path());
    let before = files(directory.path());
    let other = json!({"steps": 7, "rate": 0.1, "network": {"depth": 2}});
    let error = Store::open(directory.path(), "toy", &other, false).unwrap_err();
    let StoreError::Different { differences, .. } = &error else { panic!("{error}") };
    assert_eq!(differences, &["network.depth: there nothing, here 2", "steps: there 200, here 7"]);
    let message = error.to_string();
    assert!(message.contains("steps: there 200, here 7"), "{message}");
    assert!(message.contains("--out") && message.contains("--fresh"), "{message}");

    let error = Store::open(directory.path(), "other", &config(), false).unwrap_err();
    assert!(error.to_string().contains("kind: there toy, here other"), "{error}");
    assert_eq!(files(directory.path()), before);
}

type Damage = fn(&[u8]) -> Vec<u8>;

const DAMAGES: [Damage; 5] = [
    |bytes| String::from_utf8_lossy(bytes).replace("experiment 1 ", "experiment 0 ").into(),
    |bytes| bytes[..bytes.len() / 2].to_vec(),
    |bytes| String::from_utf8_lossy(bytes).replace("200", "201").into(),
    |_| Vec::new(),
    |_| b"{\"my own\": \"experiment\"}\n".to_vec(),
];

/// The records carry their keys: they are used, and the marker is written anew.
#[test]
fn a_damaged_or_missing_marker_costs_no_record() {
    let unlink: Damage = |_| b"(removed)".to_vec();
    for damage in DAMAGES.into_iter().chain([unlink]) {
        let directory = tempdir().unwrap();
        begin(directory.path());
        let before = files(directory.path());
        let marker = directory.path().join("experiment.json");
        let whole = fs::read(&marker).unwrap();
        let damaged = damage(&whole);
        let removed = damaged == b"(removed)";
        if removed {
            fs::remove_file(&marker).unwrap();
        } else {
            fs::write(&marker, &damaged).unwrap();
        }

        // A run of another experiment is still refused, and nothing is changed.
        let state = files(directory.path());
        for (kind, other) in [("toy", json!({"steps": 7, "rate": 0.1})), ("other", config())] {
            let error = Store::open(directory.path(), kind, &other, false).unwrap_err();
            assert!(matches!(error, StoreError::Different { .. }), "{error}");
        }
        assert_eq!(files(directory.path()), state);

        let ledger = Ledger::default();
        let cells = toys(3, &ledger);
        let survey = request(directory.path(), &config()).survey(&cells).unwrap();
        assert_eq!(survey.missing, [2]);
        open(directory.path()).run(&cells, &ledger, &ledger.interrupt).unwrap();
        assert_eq!(ledger.runs(), 1);
        let notices = ledger.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].contains("keeping the records"), "{notices:?}");
        assert_eq!(fs::read(&marker).unwrap(), whole);
        let aside = directory.path().join("experiment.json.damaged");
        if removed {
            assert!(!aside.exists());
        } else {
            assert_eq!(fs::read(aside).unwrap(), damaged);
        }
        let after = files(directory.path());
        assert!(before.iter().all(|file| after.contains(file)));

        open(directory.path()).run(&toys(3, &ledger), &ledger, &ledger.interrupt).unwrap();
        assert_eq!((ledger.runs(), ledger.notices().len()), (1, 1));
    }
}

#[test]
fn a_marker_of_something_else_is_refused() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("experiment.json"), "{\"my own\": 1}\n").unwrap();
    let error = refused(directory.path(), false);
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("--fresh"), "{error}");
}

#[test]
fn a_damaged_marker_is_kept_when_starting_anew() {
    for damage in &DAMAGES[1..] {
        let directory = tempdir().unwrap();
        begin(directory.path());
        let marker = directory.path().join("experiment.json");
        let damaged = damage(&fs::read(&marker).unwrap());
        fs::write(&marker, &damaged).unwrap();
        drop(Store::open(directory.path(), "toy", &config(), true).unwrap());
        assert!(list(&directory.path().join("records")).is_empty());
        let kept = directory.path().join("experiment.json.damaged");
        assert_eq!(fs::read(kept).unwrap(), damaged);
        begin(directory.path());
    }
}

#[test]
fn a_run_of_a_newer_program_is_refused() {
    let directory = tempdir().unwrap();
    begin(directory.path());
    let newer = |path: &Path, what: &str| {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text.replace(&format!("{what} 1 "), &format!("{what} 9 "))).unwrap();
    };
    newer(&directory.path().join("experiment.json"), "experiment");
    for record in list(&directory.path().join("records")) {
        newer(&record, "record");
    }
    let error = refused(directory.path(), false);
    assert!(matches!(error, StoreError::Version { found: 9, .. }), "{error}");
    assert!(error.to_string().contains("format 9"), "{error}");
    open_fresh_is_empty(directory.path());
}

fn open_fresh_is_empty(directory: &Path) {
    drop(Store::open(directory, "toy", &config(), true).unwrap());
    assert!(list(&directory.join("records")).is_empty());
    assert_eq!(
        fs::read_to_string(directory.join("times.csv")).unwrap(),
        "cell,seconds,step_seconds\n"
    );
}

#[test]
fn starting_anew_removes_only_what_a_store_has_written() {
    let directory = tempdir().unwrap();
    begin(directory.path());
    let mine = ["notes.md", "figure/a.svg", "records/notes.json", "checkpoints/readme", "x.tmp"];
    fs::create_dir(directory.path().join("figure")).unwrap();
    for name in mine {
        fs::write(directory.path().join(name), name).unwrap();
    }
    let records = directory.path().join("records");
    let record = list(&records)[0].clone();
    fs::rename(&record, record.with_extension("json.damaged")).unwrap();

    let other = json!({"steps": 1});
    drop(Store::open(directory.path(), "toy", &other, true).unwrap());
    for name in mine {
        assert_eq!(fs::read_to_string(directory.path().join(name)).unwrap(), name);
    }
    assert_eq!(list(&records), [records.join("notes.json")]);
    let error = refused(directory.path(), false);
    assert!(matches!(error, StoreError::Different { .. }), "{error}");
}

#[test]
fn nothing_is_discarded_while_others_work() {
    let directory = tempdir().unwrap();
    begin(directory.path());
    let store = open(directory.path());
    let error = refused(directory.path(), true);
    assert!(matches!(error, StoreError::InUse(_)), "{error}");
    // To share the work is fine.
    let other = open(directory.path());
    drop(store);
    let error = refused(directory.path(), true);
    assert!(matches!(error, StoreError::InUse(_)), "{error}");
    drop(other);
    open_fresh_is_empty(directory.path());
    assert!(!directory.path().join("workers").exists());
}

#[test]
fn a_survey_counts_and_changes_nothing() {
    let directory = tempdir().unwrap();
    let run = directory.path().join("run");
    let ledger = Ledger::default();
    let cells = toys(4, &ledger);
    let config = config();
    let survey = |fresh| Request { fresh, ..request(&run, &config) }.survey(&cells);
    let nothing = Survey { missing: vec![0, 1, 2, 3], seconds: vec![None; 4] };
    assert_eq!(survey(false).unwrap(), nothing);
    assert!(!run.exists());

    begin(&run);
    let record = list(&run.join("records"))[0].clone();
    fs::copy(&record, run.join("kept")).unwrap();
    let before = files(&run);
    // Also while another program is at work.
    let store = open(&run);
    let found = survey(false).unwrap();
    assert_eq!(found.missing, [2, 3]);
    assert_eq!(found.seconds[0], store.seconds(&cells[0]));
    assert!(found.seconds[1].is_some() && found.seconds[2].is_none());
    assert_eq!(survey(true).unwrap(), nothing);
    drop(store);
    assert_eq!(files(&run), before);

    fs::write(&record, "damaged").unwrap();
    assert_eq!(survey(false).unwrap().missing.len(), 3);
    assert_eq!(fs::read_to_string(&record).unwrap(), "damaged");
    let error = Request { kind: "other", ..request(&run, &config) }.survey(&cells).unwrap_err();
    assert!(matches!(error, StoreError::Different { .. }), "{error}");

    let twice: Vec<_> = toys(4, &ledger).into_iter().chain(toys(4, &ledger)).collect();
    let fresh = Request { fresh: true, ..request(&run, &config) }.survey(&twice).unwrap();
    assert_eq!((fresh.missing.len(), fresh.seconds.len()), (4, 8));
    assert_eq!(ledger.runs(), 0);
}

/// As a run in a directory that cannot be written: what is done is read, and nothing is changed.
#[test]
fn a_finished_run_is_read_without_a_lock() {
    let directory = tempdir().unwrap();
    let path = directory.path();
    let ledger = Ledger::default();
    let store = open(path);
    let records = store.run(&toys(3, &ledger), &ledger, &ledger.interrupt).unwrap();
    let before = files(path);
    let recall = |seeds| Store::recall(path, "toy", &config(), &toys(seeds, &ledger));
    let found = recall(3).unwrap();
    assert_eq!(found.records, records);
    assert!(found.seconds.iter().all(Option::is_some));
    assert_eq!(found.models.len(), 3);
    let error = recall(4).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { done: 3, total: 4, .. }), "{error}");
    assert!(error.to_string().contains("is read-only and only 3 of 4 cells are done"), "{error}");
    assert_eq!(files(path), before);
    drop(store);
    assert!(!remanent_store::is_read_only(path));
}

/// A cell that nobody has the memory for.
struct Vast;

impl Cell for Vast {
    type Record = u8;

    fn key(&self) -> Value {
        json!("vast")
    }

    fn work(&self) -> u64 {
        1
    }

    fn memory(&self) -> u64 {
        u64::MAX
    }

    fn run(&self, _context: &mut Context<'_>) -> Result<u8, Stopped> {
        unreachable!("it is refused before it starts")
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_cell_that_needs_more_memory_than_there_is_does_not_start() {
    let directory = tempdir().unwrap();
    let ledger = Ledger::default();
    let store = Store::open(directory.path(), "toy", &config(), false).unwrap();
    let error = store.run(&[Vast], &ledger, &ledger.interrupt).unwrap_err();
    assert!(matches!(error, RunError::Memory { needed: u64::MAX, cells: 1, .. }), "{error}");
    assert!(error.to_string().contains("needed for one cell, and"), "{error}");
}

#[cfg(unix)]
#[test]
fn the_times_are_no_link() {
    let directory = tempdir().unwrap();
    let elsewhere = tempdir().unwrap();
    drop(open(directory.path()));
    let (path, target) = (directory.path().join("times.csv"), elsewhere.path().join("target"));
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let error = Store::open(directory.path(), "toy", &config(), false).unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert!(!target.exists());
}
