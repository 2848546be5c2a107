//! Interrupted, killed, repeated, extended, on one thread or many: the records are the same.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Ledger, STEPS, Sum, Toy, files, list, open, toys};
use rayon::ThreadPoolBuilder;
use remanent_store::{Cell, Context, RunError, Silent, Stopped, Store, StoreError, Watcher};
use serde_json::{Value, json};
use tempfile::tempdir;

/// The records of a run that nothing disturbed.
fn undisturbed(seeds: u64, directory: &Path) -> Vec<Sum> {
    let ledger = Ledger::default();
    open(directory).run(&toys(seeds, &ledger), &ledger, &ledger.interrupt).unwrap()
}

#[test]
fn interrupted_and_resumed_equals_uninterrupted() {
    let (whole, parts) = (tempdir().unwrap(), tempdir().unwrap());
    let expected = undisturbed(5, whole.path());

    // Interrupted again and again, at places that have nothing to do with one another.
    let (mut steps, mut interruptions, mut continued) = (0, 0, 0);
    let records = loop {
        let ledger = Ledger::stop_at(137);
        let checkpoints = parts.path().join("checkpoints");
        let waiting = if checkpoints.exists() { list(&checkpoints).len() as u64 } else { 0 };
        let store = open(parts.path()).checkpoint_every(Duration::from_millis(1));
        let result = store.run(&toys(5, &ledger), &ledger, &ledger.interrupt);
        steps += ledger.steps();
        assert_eq!(ledger.notices(), [""; 0]);
        assert!(ledger.continued() <= waiting, "{} of {waiting}", ledger.continued());
        continued += ledger.continued();
        match result {
            Ok(records) => {
                assert_eq!(ledger.units.load(Ordering::SeqCst), 5 * STEPS);
                break records;
            }
            Err(RunError::Interrupted { done, total }) => {
                assert_eq!(total, 5);
                assert_eq!(done, list(&parts.path().join("records")).len());
                interruptions += 1;
                assert!(interruptions < 20, "what was done is not continued");
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(records, expected);
    assert!(interruptions >= 5, "{interruptions}");
    assert!(continued >= interruptions, "{continued} of {interruptions}");
    // An interrupt is noticed before the next step, so that no step is done twice.
    assert_eq!(steps, 5 * STEPS);
    assert_eq!(files(whole.path()), files(parts.path()));
    assert!(list(&parts.path().join("checkpoints")).is_empty());
}

#[test]
fn no_cell_is_started_after_an_interrupt() {
    let directory = tempdir().unwrap();
    let ledger = Ledger::default();
    ledger.interrupt.store(true, Ordering::SeqCst);
    let result = open(directory.path()).run(&toys(3, &ledger), &ledger, &ledger.interrupt);
    assert!(matches!(result, Err(RunError::Interrupted { done: 0, total: 3 })));
    assert_eq!(ledger.runs(), 0);

    // All is done: there is nothing to interrupt.
    let expected = undisturbed(3, directory.path());
    let records = open(directory.path()).run(&toys(3, &ledger), &ledger, &ledger.interrupt);
    assert_eq!(records.unwrap(), expected);
}

/// Stops the thread that does the 500th unit of work, and tells so by a file.
struct Hang {
    units: AtomicU64,
    told: PathBuf,
}

impl Watcher for Hang {
    fn advance(&self, units: u64) {
        let before = self.units.fetch_add(units, Ordering::SeqCst);
        if (before..before + units).contains(&499) {
            fs::write(&self.told, "").unwrap();
            std::thread::sleep(Duration::from_secs(120));
        }
    }

    fn notice(&self, text: &str) {
        panic!("{text}");
    }
}

/// Not a test: the program that is killed by the next one.
#[test]
#[ignore = "started, and killed, by another test"]
fn victim() {
    let directory = std::env::var_os("REMANENT_LAB_VICTIM").expect("started by another test");
    let directory = Path::new(&directory);
    let ledger = Ledger::default();
    let hang = Hang { units: AtomicU64::new(0), told: directory.join("told") };
    let store = open(&directory.join("run")).checkpoint_every(Duration::ZERO);
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| store.run(&toys(4, &ledger), &hang, &ledger.interrupt)).unwrap();
}

#[test]
fn killed_and_resumed_equals_uninterrupted() {
    let (whole, killed) = (tempdir().unwrap(), tempdir().unwrap());
    let expected = undisturbed(4, whole.path());

    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--ignored"])
        .env("REMANENT_LAB_VICTIM", killed.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !killed.path().join("told").exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // One of its threads hangs; the other may be doing anything.
    let run = killed.path().join("run");
    let in_use = Store::open(&run, "toy", &common::config(), true);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(in_use, Err(StoreError::InUse(_))), "{in_use:?}");
    let done = list(&run.join("records"));
    assert!(!done.is_empty());
    // A program that is killed between a record and the end of its checkpoint leaves both.
    let checkpoints = list(&run.join("checkpoints"));
    let stems: Vec<_> = done.iter().filter_map(|path| path.file_stem()).collect();
    let saved = |path: &&PathBuf| {
        path.extension().is_some_and(|end| end == "json")
            && path.file_stem().is_some_and(|stem| !stems.contains(&stem))
    };
    let saved = checkpoints.iter().filter(saved).count() as u64;
    assert!(saved >= 1, "{checkpoints:?}");
    for folder in ["checkpoints", "plans"] {
        fs::create_dir_all(run.join(folder)).unwrap();
        fs::write(run.join(folder).join(".remanent-half.tmp"), "half").unwrap();
    }

    let ledger = Ledger::default();
    let records = open(&run).run(&toys(4, &ledger), &ledger, &ledger.interrupt).unwrap();
    assert_eq!(records, expected);
    assert_eq!(ledger.notices(), [""; 0]);
    assert!((1..=3).contains(&ledger.runs()), "{}", ledger.runs());
    assert_eq!(ledger.continued(), saved, "every checkpoint is continued from");
    // Each of its two threads has lost a step at most.
    assert!(ledger.steps() <= 4 * STEPS - 500 + 2, "{}", ledger.steps());
    assert_eq!(files(whole.path()), files(&run));
}

#[test]
fn more_seeds_compute_only_new_cells() {
    let directory = tempdir().unwrap();
    let three = undisturbed(3, directory.path());
    let ledger = Ledger::default();
    let five = open(directory.path()).run(&toys(5, &ledger), &ledger, &ledger.interrupt).unwrap();
    assert_eq!(five[..3], three);
    assert_eq!((ledger.runs(), ledger.steps()), (2, 2 * STEPS));
    assert_eq!(ledger.units.load(Ordering::SeqCst), 5 * STEPS);

    let ledger = Ledger::default();
    let again = open(directory.path()).run(&toys(5, &ledger), &ledger, &ledger.interrupt).unwrap();
    assert_eq!((again, ledger.runs()), (five, 0));
}

#[test]
fn one_thread_equals_many() {
    let (one, many) = (tempdir().unwrap(), tempdir().unwrap());
    let run = |directory: &Path, threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| undisturbed(20, directory))
    };
    assert_eq!(run(one.path(), 1), run(many.path(), 7));
    assert_eq!(files(one.path()), files(many.path()));
}

#[test]
fn equal_cells_are_computed_once() {
    let directory = tempdir().unwrap();
    let ledger = Ledger::default();
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let cells: Vec<Toy> = [1, 0, 1, 1, 0]
        .map(|seed| Toy { seed, steps: STEPS, pause: Duration::ZERO, ledger: &ledger })
        .into();
    let store = open(directory.path());
    let run = || pool.install(|| store.run(&cells, &ledger, &ledger.interrupt)).unwrap();
    let records = run();
    assert_eq!(ledger.units.load(Ordering::SeqCst), 5 * STEPS);
    assert_eq!(run(), records);
    assert_eq!(ledger.units.load(Ordering::SeqCst), 10 * STEPS);
    assert_eq!(ledger.runs(), 2);
    assert_eq!(records[0], records[2]);
    assert_eq!(records[0], records[3]);
    assert_eq!(records[1], records[4]);
    assert_ne!(records[0], records[1]);
}

#[test]
fn the_time_of_a_cell_is_the_sum_of_its_parts() {
    let directory = tempdir().unwrap();
    let pause = Duration::from_millis(2);
    let mut seen = 0.0;
    for stop_at in [40, 40, 0] {
        let ledger = Ledger::stop_at(stop_at);
        let cells = [Toy { seed: 1, steps: 100, pause, ledger: &ledger }];
        let store = open(directory.path());
        let begin = Instant::now();
        let finished = store.run(&cells, &ledger, &ledger.interrupt).is_ok();
        seen += begin.elapsed().as_secs_f64();
        assert_eq!(finished, stop_at == 0);
        assert_eq!(store.seconds(&cells[0]).is_some(), finished);
    }
    // Also for a program that was started later.
    let ledger = Ledger::default();
    let cell = Toy { seed: 1, steps: 100, pause, ledger: &ledger };
    let seconds = open(directory.path()).seconds(&cell).unwrap();
    assert!(seconds >= 0.2 && seconds <= seen, "{seconds} of {seen}");
    let records = files(&directory.path().join("records"));
    assert!(!String::from_utf8_lossy(&records[0].1).contains("seconds"));
}

/// Seed 0 is done at once. Seed 1 waits until it is asked to stop. Seed 2 waits for seed 1, and
/// then fails, or gives a number that JSON does not have.
struct Delicate<'a> {
    seed: u64,
    nan: bool,
    waiting: &'a AtomicBool,
}

impl Cell for Delicate<'_> {
    type Record = f64;

    fn key(&self) -> Value {
        json!({"seed": self.seed})
    }

    fn work(&self) -> u64 {
        1
    }

    fn run(&self, context: &mut Context<'_>) -> Result<f64, Stopped> {
        let wait = |ready: &dyn Fn() -> bool| {
            while !ready() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        match self.seed {
            0 => {}
            1 => {
                self.waiting.store(true, Ordering::SeqCst);
                wait(&|| context.due());
                context.save(&"saved")?;
            }
            _ => {
                wait(&|| self.waiting.load(Ordering::SeqCst));
                if !self.nan {
                    return Err(Stopped::Failed("diverged".into()));
                }
                return Ok(f64::NAN);
            }
        }
        Ok(0.5)
    }
}

#[test]
fn a_failure_is_reported_at_once_and_nothing_is_lost() {
    for (nan, says) in [(false, "diverged"), (true, "not finite")] {
        let directory = tempdir().unwrap();
        let store = Store::open(directory.path(), "delicate", &json!({}), false)
            .unwrap()
            .checkpoint_every(Duration::from_secs(20));
        let waiting = AtomicBool::new(false);
        let cells = [0, 1, 2].map(|seed| Delicate { seed, nan, waiting: &waiting });
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let interrupt = AtomicBool::new(false);
        let error = pool.install(|| store.run(&cells, &Silent, &interrupt)).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(matches!(&error, RunError::Failed { key, .. } if key["seed"] == 2), "{error:?}");
        // The first is done, the second was stopped by the failure of the third.
        assert_eq!(list(&directory.path().join("records")).len(), 1);
        assert_eq!(list(&directory.path().join("checkpoints")).len(), 1);
        assert!(!interrupt.load(Ordering::SeqCst));
    }
}

/// Fails together with another one.
struct Doomed<'a> {
    seed: u64,
    together: &'a Barrier,
}

impl Cell for Doomed<'_> {
    type Record = f64;

    fn key(&self) -> Value {
        json!({"seed": self.seed})
    }

    fn work(&self) -> u64 {
        // The last of the list is begun first.
        self.seed
    }

    fn run(&self, _context: &mut Context<'_>) -> Result<f64, Stopped> {
        self.together.wait();
        Err(Stopped::Failed("doomed".into()))
    }
}

#[test]
fn of_several_failures_the_first_of_the_list_is_reported() {
    let directory = tempdir().unwrap();
    let store = Store::open(directory.path(), "doomed", &json!({}), false).unwrap();
    let together = Barrier::new(2);
    let cells = [1, 2].map(|seed| Doomed { seed, together: &together });
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let run = || store.run(&cells, &Silent, &AtomicBool::new(false)).unwrap_err();
    match pool.install(run) {
        RunError::Failed { key, reason } => {
            assert_eq!((key, reason.as_str()), (json!({"seed": 1}), "doomed"));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_record_that_cannot_be_written_is_an_error() {
    let directory = tempdir().unwrap();
    let ledger = Ledger::default();
    let store = open(directory.path());
    let records = directory.path().join("records");
    fs::remove_dir(&records).unwrap();
    fs::write(&records, "in the way").unwrap();
    let error = store.run(&toys(2, &ledger), &ledger, &ledger.interrupt).unwrap_err();
    assert!(matches!(error, RunError::File(_)), "{error}");
    assert!(error.to_string().contains("records"), "{error}");
}
