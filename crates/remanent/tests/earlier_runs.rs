//! Run directories of version 0.1.0 before its options were declared in one place: they are read as they
//! are, nothing in them is computed again, and the results are the same.

mod common;

use std::fs;
use std::path::Path;

use common::{records, remanent};
use serde_json::Value;
use tempfile::TempDir;

const FIXTURES: &str = "tests/fixtures/runs-0.1.0";

/// Run directories, and the commands that made them.
const RUNS: [(&str, &str); 4] = [
    (
        "simulate",
        "simulate --n 40 --alpha 1,1 --epochs 4 --record-every 2 --seeds 2 --scan gamma=0,1",
    ),
    (
        "sampler",
        "simulate --n 30 --alpha 1 --learner boltzmann --warmup 5 --sweeps 20 --record-every 10 \
         --chains 2 --seeds 1",
    ),
    ("bound", "simulate bound --n 6 --epochs 4 --record-every 2 --seeds 2"),
    (
        "convergence",
        "simulate convergence-time --n 50 --alpha 1,2 --epochs 60 --window 20 --seeds 2",
    ),
];

/// A training, whose numbers have another revision since.
const TRAINING: &str = "train --stream permuted:digits:2 --hidden 8 --epochs 1 --evaluate task --seeds 1 \
    --train-images 200 --test-images 50 --out train";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Without what depends on the moment or the machine.
fn comparable(mut value: Value) -> Value {
    match &mut value {
        Value::Object(entries) => {
            for key in [
                "seconds",
                "wall_seconds",
                "threads",
                "seconds_per_step",
                "epochs_per_second",
                "effective_samples_per_second",
            ] {
                entries.remove(key);
            }
            entries.values_mut().for_each(|value| *value = comparable(value.take()));
        }
        Value::Array(values) => {
            values.iter_mut().for_each(|value| *value = comparable(value.take()));
        }
        _ => {}
    }
    value
}

#[test]
fn runs_of_the_version_before_are_read_as_they_are() {
    for (name, command) in RUNS {
        let directory = TempDir::new().unwrap();
        let run = directory.path().join(name);
        copy(&Path::new(FIXTURES).join(name), &run);
        let (before, times) = (records(&run), fs::read(run.join("times.csv")).unwrap());
        let command = format!("{command} --out {name} --format json");
        let output = remanent(&directory, &command).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {output:?}");
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let kept = fs::read(Path::new(FIXTURES).join(format!("{name}.json"))).unwrap();
        let kept: Value = serde_json::from_slice(&kept).unwrap();
        assert_eq!(comparable(found), comparable(kept), "{name}");
        assert_eq!(records(&run), before, "{name}: records");
        assert_eq!(fs::read(run.join("times.csv")).unwrap(), times, "{name}: nothing was computed");
    }
}

/// It is not continued with other numbers, and nothing of it is lost.
#[test]
fn a_training_of_an_earlier_revision_is_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let run = directory.path().join("train");
    copy(&Path::new(FIXTURES).join("train"), &run);
    let before = records(&run);
    let output = remanent(&directory, TRAINING).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("revision: there 1, here "), "{message}");
    assert!(message.contains("another version of the program"), "{message}");
    assert_eq!(records(&run), before);
    let output = remanent(&directory, "inspect train").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn records_of_an_earlier_reproduction_are_used() {
    let directory = TempDir::new().unwrap();
    copy(&Path::new(FIXTURES).join("reproduce"), &directory.path().join("reproduce"));
    let run = directory.path().join("reproduce/simulate");
    let (before, times) = (records(&run), fs::read(run.join("times.csv")).unwrap());
    let command = "reproduce 3d --quick --seeds 1 --out reproduce --report page --quiet";
    let output = remanent(&directory, command).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(records(&run), before);
    assert_eq!(fs::read(run.join("times.csv")).unwrap(), times);
}
