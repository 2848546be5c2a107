//! Damaged files are noticed, moved aside and computed again.

mod common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::{Ledger, STEPS, Toy, list, open, toys};
use remanent_store::RunError;
use tempfile::tempdir;

type Damage = (&'static str, fn(Vec<u8>) -> Vec<u8>);

const DAMAGES: [Damage; 4] = [
    ("one byte changed", |mut bytes| {
        let at = bytes.len() - 10;
        bytes[at] ^= 1;
        bytes
    }),
    ("cut in half", |bytes| bytes[..bytes.len() / 2].to_vec()),
    ("emptied", |_| Vec::new()),
    ("something else", |_| b"{\"sum\": 1.0}\n".to_vec()),
];

fn aside(path: &Path) -> std::path::PathBuf {
    path.with_extension("json.damaged")
}

#[test]
fn a_damaged_record_is_kept_aside_and_computed_anew() {
    for (name, damage) in DAMAGES {
        let directory = tempdir().unwrap();
        let ledger = Ledger::default();
        let run = || open(directory.path()).run(&toys(3, &ledger), &ledger, &ledger.interrupt);
        let before = run().unwrap();
        let victim = &list(&directory.path().join("records"))[1];
        let whole = fs::read(victim).unwrap();
        let damaged = damage(whole.clone());
        fs::write(victim, &damaged).unwrap();

        assert_eq!(run().unwrap(), before, "{name}");
        assert_eq!(ledger.runs(), 4, "{name}");
        let notices = ledger.notices();
        assert_eq!(notices.len(), 1, "{name}: {notices:?}");
        assert!(notices[0].contains(victim.to_str().unwrap()), "{name}: {notices:?}");
        assert_eq!(fs::read(victim).unwrap(), whole, "{name}");
        assert_eq!(fs::read(aside(victim)).unwrap(), damaged, "{name}");

        // That was all: the next run has nothing to do and nothing to say.
        run().unwrap();
        assert_eq!((ledger.runs(), ledger.notices().len()), (4, 1), "{name}");
    }
}

#[test]
fn a_record_of_another_cell_is_not_taken_for_this_one() {
    let directory = tempdir().unwrap();
    let ledger = Ledger::default();
    let run = || open(directory.path()).run(&toys(2, &ledger), &ledger, &ledger.interrupt);
    let before = run().unwrap();
    let records = list(&directory.path().join("records"));
    fs::copy(&records[0], &records[1]).unwrap();
    assert_eq!(run().unwrap(), before);
    assert_eq!((ledger.runs(), ledger.notices().len()), (3, 1));
    assert!(ledger.notices()[0].contains("its key is"), "{:?}", ledger.notices());
}

#[test]
fn a_damaged_checkpoint_is_kept_aside_and_the_cell_begins_again() {
    let expected = {
        let ledger = Ledger::default();
        open(tempdir().unwrap().path()).run(&toys(1, &ledger), &ledger, &ledger.interrupt).unwrap()
    };
    for (name, damage) in DAMAGES {
        let directory = tempdir().unwrap();
        let ledger = Ledger::stop_at(STEPS / 2);
        let stopped = open(directory.path()).run(&toys(1, &ledger), &ledger, &ledger.interrupt);
        assert!(matches!(stopped, Err(RunError::Interrupted { done: 0, total: 1 })), "{name}");
        let checkpoints = directory.path().join("checkpoints");
        let victim = &list(&checkpoints)[0];
        let damaged = damage(fs::read(victim).unwrap());
        fs::write(victim, &damaged).unwrap();

        let ledger = Ledger::default();
        let records = open(directory.path()).run(&toys(1, &ledger), &ledger, &ledger.interrupt);
        assert_eq!(records.unwrap(), expected, "{name}");
        assert_eq!(ledger.steps(), STEPS, "{name}");
        assert_eq!(ledger.notices().len(), 1, "{name}: {:?}", ledger.notices());
        assert_eq!(list(&checkpoints), [aside(victim)], "{name}");
        assert_eq!(fs::read(aside(victim)).unwrap(), damaged, "{name}");
    }
}

#[test]
fn a_checkpoint_that_outlived_its_cell_is_removed() {
    let directory = tempdir().unwrap();
    let ledger = Ledger::stop_at(10);
    let store = open(directory.path()).checkpoint_every(Duration::ZERO);
    let cells = [Toy { seed: 1, steps: STEPS, pause: Duration::ZERO, ledger: &ledger }];
    store.run(&cells, &ledger, &ledger.interrupt).unwrap_err();
    let checkpoint = &list(&directory.path().join("checkpoints"))[0];
    let bytes = fs::read(checkpoint).unwrap();
    ledger.interrupt.store(false, std::sync::atomic::Ordering::SeqCst);
    store.run(&cells, &ledger, &ledger.interrupt).unwrap();
    fs::write(checkpoint, bytes).unwrap();
    store.run(&cells, &ledger, &ledger.interrupt).unwrap();
    assert!(!checkpoint.exists());
    assert_eq!(ledger.runs(), 2);
}
