//! Run directories that several processes share: what the dead leave, and what is refused while others work.
//! `tests/cluster` of the repository has the same with real kills.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{refused, remanent};
use tempfile::{TempDir, tempdir};

const RUN: &str = "simulate --n 30 --alpha 1 --epochs 2 --seeds 2 --quiet --out runs/a";

/// Seconds after which a process of another machine is taken for dead.
const STALE: f64 = 0.4;

/// What the command says.
fn run(directory: &TempDir, arguments: &str) -> String {
    let mut command = remanent(directory, arguments);
    let output = command.env("REMANENT_STALE_AFTER", STALE.to_string()).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments}: {message}");
    message
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// What a process of another machine leaves in `workers` that is killed before it claims a cell.
const LEFT: [(&str, &[(&str, &str)]); 5] = [
    ("before it writes its lock file", &[("x.lock", "")]),
    ("before its heartbeat", &[("x.lock", "another")]),
    ("while it creates its heartbeat", &[("x.lock", "another"), ("x.json", "")]),
    ("before it lets others in", &[("x.lock", "another"), ("x.json", "{}"), ("opening", "x")]),
    ("while others remove its files", &[("opening", "x")]),
];

#[test]
fn a_finished_run_has_nothing_of_the_dead() {
    for (moment, files) in LEFT {
        let directory = tempdir().unwrap();
        run(&directory, RUN);
        let path = directory.path().join("runs/a");
        let before = names(&path);
        fs::create_dir(path.join("workers")).unwrap();
        for (name, text) in files {
            fs::write(path.join("workers").join(name), text).unwrap();
        }
        // A record that was being written.
        fs::write(path.join("records/.remanent-abc.tmp"), "half").unwrap();
        run(&directory, RUN);
        assert_eq!(names(&path), before, "killed {moment}");
        assert_eq!(names(&path.join("records")).len(), 2, "killed {moment}");
    }
}

#[test]
fn the_files_of_the_living_stay() {
    let directory = tempdir().unwrap();
    run(&directory, RUN);
    let workers = directory.path().join("runs/a/workers");
    fs::create_dir(&workers).unwrap();
    fs::write(workers.join("x.lock"), "another").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // For a minute at most, if the test fails.
            for beat in 0..3000 {
                fs::write(workers.join("x.json"), format!("{{\"beat\":{beat}}}")).unwrap();
                std::thread::sleep(Duration::from_millis(20));
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        for _ in 0..3 {
            run(&directory, RUN);
            assert_eq!(names(&workers), ["x.json", "x.lock"]);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // It dies.
    run(&directory, RUN);
    assert!(!workers.exists());
}

/// A run under way.
struct Running(Child);

impl Running {
    fn start(directory: &TempDir) -> Self {
        let long = "simulate --n 300 --alpha 1 --epochs 100000000 --quiet --out runs/long";
        let child = Process::new(assert_cmd::cargo::cargo_bin("remanent"))
            .current_dir(directory.path())
            .args(long.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let running = Self(child);
        while !directory.path().join("runs/long/claims").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_run_under_way_is_not_removed() {
    let directory = tempdir().unwrap();
    run(&directory, RUN);
    let running = Running::start(&directory);
    let message = refused(&directory, "runs remove a long");
    assert!(message.contains("long is in use by another process"), "{message}");
    assert!(directory.path().join("runs/a").exists(), "one of several is refused: none is removed");
    drop(running);
    // Killed: the lock of its process is free.
    run(&directory, "runs remove a long");
    assert_eq!(names(&directory.path().join("runs")), [""; 0]);
}

#[test]
fn a_filter_that_fits_no_run_is_named() {
    let directory = tempdir().unwrap();
    run(&directory, RUN);
    let message = run(&directory, "runs --filter learner=gd");
    assert!(message.contains("none of 1 runs in runs has --filter learner=gd"), "{message}");
}

#[test]
fn nothing_is_submitted_for_a_run_that_is_done() {
    let directory = tempdir().unwrap();
    run(&directory, RUN);
    let message = run(&directory, &format!("submit -- {RUN}"));
    assert!(message.contains("all 2 cells are done, and nothing is submitted"), "{message}");
    assert!(!directory.path().join("runs/a/slurm").exists());
    let script = |time: &str| {
        let other = RUN.replace("runs/a", "runs/b");
        let mut command =
            remanent(&directory, &format!("submit --dry-run --time {time} -- {other}"));
        String::from_utf8(command.unwrap().stdout).unwrap()
    };
    for time in ["90", "30:00", "12:00:00", "2-12", "2-12:30", "2-12:30:00"] {
        assert!(script(time).contains(&format!("#SBATCH --time={time}\n")), "{time}");
    }
    for time in ["5x", "1:2:3:4", "2-", "12h"] {
        let message = refused(&directory, &format!("submit --time {time} -- {RUN}"));
        assert!(message.contains("a time limit is in minutes"), "{time}: {message}");
    }
}
