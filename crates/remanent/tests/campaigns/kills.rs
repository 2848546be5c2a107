//! Kills runs of the program at random moments, lets them continue, and compares what they leave
//! with what a run leaves that nothing disturbed.
//!
//! A case is one kind of run in a directory of its own. The program is killed (SIGKILL) one to four
//! times, at a moment that is uniform over the time that the run takes, or just after a file has
//! appeared. Then it runs to its end. Threads and the time between checkpoints change from start to
//! start. Every file must then be there with the same bytes, without leftovers; only
//! what holds times is compared without them. A checkpoint that lies there must be
//! continued from: the program says so on standard error, and the numbers must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{self, Ended, Running, words};
use crate::random::Random;
use crate::results::Results;

/// What the program says of a cell that is not begun anew.
const CONTINUES: &str = "continuing a cell from its checkpoint";
/// Longest time of a run that is not killed.
const PATIENCE: Duration = Duration::from_secs(300);

/// Kinds of runs and their command lines; the slow ones come last, where the small version does not get.
const KINDS: [(&str, &str); 18] = [
    (
        "simulate, sgd",
        "simulate --n 300 --alpha 2,2 --r0 0.5 --learner sgd --epochs 150,150 --seeds 3 --out run --format csv",
    ),
    (
        "train, vcl",
        "train --stream permuted:digits:2 --hidden 60 --epochs 4 --draws 1 --evaluate task --seeds 2 --out run",
    ),
    (
        "simulate, boltzmann",
        "simulate --n 100 --alpha 0.5,0.5 --r0 0.5 --learner boltzmann --beta 5 --warmup 100 --sweeps 300 --seeds 3 --out run --format csv",
    ),
    (
        "train, ewc",
        "train --stream permuted:digits:2 --preset kirkpatrick --hidden 60 --epochs 4 --draws 1 --evaluate task --seeds 2 --out run",
    ),
    ("reproduce, simulation", "reproduce 1 2a --quick --seeds 2 --keep kept"),
    (
        "simulate, slow-sgd",
        "simulate --n 250 --alpha 2 --learner slow-sgd --seeds 3 --out run --format csv",
    ),
    (
        "train, metaplasticity of 2021",
        "train --stream permuted:digits:2 --preset metaplasticity-2021 --batch 32 --hidden 60 --epochs 3 --draws 1 --evaluate task --seeds 2 --out run",
    ),
    (
        "simulate convergence-time",
        "simulate convergence-time --alpha 2 --n 200 --epochs 3000 --seeds 3 --out run --format csv",
    ),
    (
        "train, ste",
        "train --stream split:digits:5 --learner ste --hidden 60 --epochs 6 --draws 1 --evaluate task --seeds 2 --tensorboard --out run",
    ),
    (
        "simulate, gd",
        "simulate --n 400 --alpha 1,2 --r0 0.3 --learner gd --optimizer adam --epochs 300 --seeds 3 --out run --format csv",
    ),
    ("simulate bound", "simulate bound --epochs 100 --seeds 4 --out run --format csv"),
    (
        "train, joint",
        "train --stream permuted:digits:2 --learner joint --hidden 60 --epochs 4 --draws 1 --evaluate task --seeds 2 --out run",
    ),
    (
        "train, remanent",
        "train --stream permuted:digits:2 --preset remanent --hidden 60 --epochs 3 --draws 1 --evaluate task --seeds 2 --out run",
    ),
    (
        "simulate, sgd, scan",
        "simulate --n 200 --alpha 1 --learner sgd --epochs 100 --scan gamma=0,1 --seeds 3 --out run --format csv",
    ),
    (
        "train, metaplasticity",
        "train --stream permuted:digits:2 --learner metaplasticity --lr 0.1 --hidden 60 --epochs 4 --draws 1 --evaluate task --seeds 2 --out run",
    ),
    (
        "train, vcl, both anchors",
        "train --stream permuted:digits:2 --hidden 60,60 --epochs 3 --draws 1 --anchor both --gamma 0.1 --learned-scale --seeds 2 --out run",
    ),
    ("reproduce, training", "reproduce 8 --quick --seeds 1 --keep kept"),
    ("reproduce, theory and simulation", "reproduce 3d --quick --seeds 1 --keep kept"),
];

/// What happened to one kind.
#[derive(Clone, Default)]
struct Tally {
    cases: usize,
    kills: usize,
    /// Kills just after a file appeared.
    at_files: usize,
    /// Kills that left at least one checkpoint.
    left_checkpoint: usize,
    /// Kills after which the program continued from at least one checkpoint.
    continued: usize,
    /// Starts that ended before they could be killed.
    too_late: usize,
    violations: usize,
}

/// What an undisturbed run leaves, and how long it takes.
struct Reference {
    files: BTreeMap<PathBuf, Vec<u8>>,
    stdout: Vec<u8>,
    seconds: f64,
    /// 1 if something was not reached, which every start says again.
    code: Option<i32>,
}

/// Runs until so many kills have happened.
pub fn campaign(count: usize, seed: u64, jobs: usize) -> Results {
    let started = Instant::now();
    let state =
        Mutex::new(State { next: 0, kills: 0, tallies: vec![Tally::default(); KINDS.len()] });
    let violations = Mutex::new(Vec::new());
    let references: Vec<std::sync::OnceLock<Reference>> =
        KINDS.iter().map(|_| std::sync::OnceLock::new()).collect();
    let work = || {
        loop {
            let case = {
                let mut state = state.lock().expect("no thread panics");
                if state.kills >= count {
                    return;
                }
                state.next += 1;
                state.next - 1
            };
            let kind = case as usize % KINDS.len();
            let reference = references[kind].get_or_init(|| undisturbed(KINDS[kind].1));
            let mut random = Random::new(seed, 1, case);
            let (tally, found) = one(KINDS[kind].1, reference, &mut random);
            let mut state = state.lock().expect("no thread panics");
            state.kills += tally.kills;
            eprint!("\r{} of {count} kills ", state.kills);
            state.tallies[kind].add(&tally);
            let name = |text| format!("case {case} ({}): {text}", KINDS[kind].0);
            violations.lock().expect("no thread panics").extend(found.into_iter().map(name));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    let state = state.into_inner().expect("no thread panics");
    let mut violations: Vec<String> = violations.into_inner().expect("no thread panics");
    let mut total = Tally::default();
    state.tallies.iter().for_each(|tally| total.add(tally));
    // Checkpoints that are never there, or never used, would make this campaign worthless.
    if total.kills >= 20 && total.continued * 4 < total.kills {
        let Tally { continued, kills, .. } = total;
        violations
            .push(format!("only {continued} of {kills} kills were followed by a continuation"));
        total.violations += 1;
    }
    let mut rows: Vec<Vec<String>> =
        KINDS.iter().zip(&state.tallies).map(|(kind, tally)| tally.row(kind.0)).collect();
    rows.push(total.row("all"));
    Results {
        campaign: "kills",
        seed,
        count: format!("{} kills", total.kills),
        columns: vec![
            "run",
            "cases",
            "kills",
            "just after a file appeared",
            "left a checkpoint",
            "continued from it",
            "ended before",
            "violations",
        ],
        rows,
        violations,
        seconds: started.elapsed().as_secs_f64(),
    }
}

struct State {
    next: u32,
    kills: usize,
    tallies: Vec<Tally>,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.kills += other.kills;
        self.at_files += other.at_files;
        self.left_checkpoint += other.left_checkpoint;
        self.continued += other.continued;
        self.too_late += other.too_late;
        self.violations += other.violations;
    }

    fn row(&self, name: &str) -> Vec<String> {
        let numbers = [
            self.cases,
            self.kills,
            self.at_files,
            self.left_checkpoint,
            self.continued,
            self.too_late,
            self.violations,
        ];
        let numbers = numbers.iter().map(usize::to_string);
        std::iter::once(name.to_owned()).chain(numbers).collect()
    }
}

fn undisturbed(command: &str) -> Reference {
    let directory = TempDir::new().expect("a temporary directory");
    let mut arguments = words(command);
    arguments.extend(words("--threads 1 --checkpoint-every 1000"));
    let ended = program::run(directory.path(), &arguments, None, PATIENCE);
    assert!(matches!(ended.code, Some(0 | 1)), "{command}: {}", ended.stderr);
    Reference {
        files: files(directory.path()),
        stdout: ended.stdout,
        seconds: ended.seconds,
        code: ended.code,
    }
}

/// One case: its counts and its violations.
fn one(command: &str, reference: &Reference, random: &mut Random) -> (Tally, Vec<String>) {
    let directory = TempDir::new().expect("a temporary directory");
    let mut tally = Tally { cases: 1, ..Tally::default() };
    let mut violations = Vec::new();
    let wanted = 1 + random.below(4);
    let mut left = 0;
    for before in 0..wanted {
        let running = program::start(directory.path(), &starts(command, random), None);
        let at_file = random.chance(0.4);
        let ended = if at_file {
            let number = 1 + random.below(12);
            let pause = Duration::from_micros(random.below(1500) as u64);
            kill_after_file(running, directory.path(), number, pause)
        } else {
            let share = random.uniform() / (1.0 + before as f64 / 2.0);
            kill_after(running, Duration::from_secs_f64(share * reference.seconds))
        };
        // What the kill before this start has left was continued from, or this start was killed too
        // early to say so.
        tally.continued += usize::from(left > 0 && ended.stderr.contains(CONTINUES));
        if ended.code.is_some() {
            if ended.code != reference.code {
                violations.push(format!("exit code {:?}: {}", ended.code, ended.stderr));
            }
            tally.too_late += 1;
            left = 0;
            break;
        }
        tally.kills += 1;
        tally.at_files += usize::from(at_file);
        left = waiting(directory.path());
        tally.left_checkpoint += usize::from(left > 0);
    }
    let last = program::run(directory.path(), &starts(command, random), None, PATIENCE);
    let continued = last.stderr.matches(CONTINUES).count();
    tally.continued += usize::from(left > 0 && continued > 0);
    if last.code != reference.code {
        violations.push(format!("the last start ended with {}: {}", last.status, last.stderr));
    } else {
        if continued != left {
            violations.push(format!("{left} checkpoints, and {continued} cells continued"));
        }
        let is_trouble = |line: &&str| line.contains("damaged") || line.contains("cannot be used");
        if let Some(note) = last.stderr.lines().find(is_trouble) {
            violations.push(format!("the last start says: {note}"));
        }
        if last.stdout != reference.stdout && command.contains("--format csv") {
            violations.push("standard output differs".into());
        }
        violations.extend(differences(&reference.files, &files(directory.path())));
    }
    tally.violations = violations.len();
    (tally, violations)
}

fn starts(command: &str, random: &mut Random) -> Vec<String> {
    let mut arguments = words(command);
    let every = random.pick(&["0", "0.005", "0.02", "0.05"]);
    let threads = 1 + random.below(3);
    arguments.extend(words(&format!("--checkpoint-every {every} --threads {threads}")));
    arguments
}

fn kill_after(mut running: Running, pause: Duration) -> Ended {
    let begin = Instant::now();
    while begin.elapsed() < pause && running.is_running() {
        std::thread::sleep(Duration::from_millis(1).min(pause));
    }
    running.end()
}

/// Kills when so many files have appeared since the start, temporary ones included.
fn kill_after_file(
    mut running: Running,
    directory: &Path,
    number: usize,
    pause: Duration,
) -> Ended {
    let mut seen = paths(directory);
    let mut appeared = 0;
    while appeared < number && running.is_running() {
        for path in paths(directory) {
            appeared += usize::from(seen.insert(path));
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    std::thread::sleep(pause);
    running.end()
}

/// Checkpoints of cells that have no record.
fn waiting(directory: &Path) -> usize {
    let is_waiting = |path: &&PathBuf| {
        let is_checkpoint = path.parent().is_some_and(|folder| folder.ends_with("checkpoints"))
            && path.extension().is_some_and(|end| end == "json" || end == "safetensors");
        let record = || {
            let run = path.parent().and_then(Path::parent).expect("lies in a run");
            run.join("records").join(path.file_name().expect("is a file")).with_extension("json")
        };
        is_checkpoint && !directory.join(record()).exists()
    };
    paths(directory).iter().filter(is_waiting).count()
}

/// All files below a directory, as paths relative to it. Some may vanish meanwhile.
fn paths(directory: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if let Ok(path) = path.strip_prefix(directory) {
                found.insert(path.to_owned());
            }
        }
    }
    found
}

/// All files with what must be the same in them.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let content = |path: PathBuf| {
        let bytes = fs::read(directory.join(&path)).expect("nothing changes here any more");
        let bytes = comparable(&path, bytes);
        (path, bytes)
    };
    paths(directory).into_iter().map(content).collect()
}

/// The content of a file without times.
fn comparable(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    match path.file_name().and_then(|name| name.to_str()) {
        // These hold times, the date, or nothing.
        Some("times.csv" | "progress.json" | "index.html" | "REPRODUCIBILITY.md") => Vec::new(),
        // The time of writing is in the name and in the events.
        Some(name) if name.contains("tfevents") => Vec::new(),
        Some("summary.json" | "verdict.json") => {
            let mut value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            forget_times(&mut value);
            value.to_string().into_bytes()
        }
        _ => bytes,
    }
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !key.contains("second") && key != "threads" && key != "machine");
            map.values_mut().for_each(forget_times);
        }
        Value::Array(list) => list.iter_mut().for_each(forget_times),
        _ => {}
    }
}

fn differences(
    wanted: &BTreeMap<PathBuf, Vec<u8>>,
    found: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<String> {
    let names: BTreeSet<&PathBuf> = wanted.keys().chain(found.keys()).collect();
    let says = |name: &&PathBuf| match (wanted.get(*name), found.get(*name)) {
        (Some(wanted), Some(found)) if wanted == found => None,
        (Some(_), Some(_)) => Some(format!("{} differs", name.display())),
        (Some(_), None) => Some(format!("{} is missing", name.display())),
        _ => Some(format!("{} is left over", name.display())),
    };
    names.iter().filter_map(says).collect()
}
