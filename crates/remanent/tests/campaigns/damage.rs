//! Damages files and loads them: there must be a clean error, or, where a checksum promises it, what was
//! written. No panic, no more than [`MEMORY`] beyond what was there before, no more than two
//! seconds.
//!
//! A second process, the worker, does the loading, so that an abort, an overflowing stack or a loader
//! that never ends cost one case and not the campaign. It says on standard output what it begins and
//! how that ended. Its allocator counts, and refuses four times the bound, which ends it.
//!
//! Files that only commands of the program read are given to the program.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ALLOCATOR;
use crate::loaders::{LOADERS, Loader};
use crate::mutation;
use crate::program::{self, words};
use crate::random::Random;
use crate::results::Results;

/// Longest time of a loader.
const TIME: Duration = Duration::from_secs(2);
/// Most memory of a loader. The files have less than a megabyte.
const MEMORY: usize = 64 << 20;
/// The same for the program, whose threads reserve memory that they do not use.
const PROGRAM_MEMORY: u64 = 4 << 30;
const PROGRAM_TIME: Duration = Duration::from_secs(20);
/// The word of the worker for a loader that asks for too much memory, after which another worker goes
/// on: the most memory that a process had in use never falls.
const GREEDY: &str = "memory";
/// The program is asked in one of so many cases.
const PROGRAM_EVERY: u32 = 20;

/// A command that reads a file: its name, the file in the folder, and the arguments.
const COMMANDS: [(&str, &str, &str); 8] = [
    ("program: inspect a model", "run/models/*", "inspect FILE"),
    ("program: inspect a packed model", "packed.rbin", "inspect FILE"),
    ("program: inspect a run", "run/records/*", "inspect run"),
    ("program: export a model", "run/models/*", "export FILE --format npz --out out.npz"),
    ("program: predict with a packed model", "packed.rbin", "predict FILE digits"),
    ("program: continue a run, record", "run/records/*", TRAIN),
    ("program: continue a run, experiment.json", "run/experiment.json", TRAIN),
    (
        "program: verdict.json",
        "kept/figures/2a/verdict.json",
        "reproduce 1 --quick --seeds 1 --keep kept",
    ),
];

const TRAIN: &str = "train --stream permuted:digits:2 --hidden 8 --epochs 1 --train-images 100 --test-images 20 --draws 1 \
                     --evaluate task --out run";

/// What became of the cases of one loader.
#[derive(Clone, Default)]
struct Tally {
    cases: usize,
    errors: usize,
    same: usize,
    other: usize,
    violations: usize,
    slowest: f64,
}

impl Tally {
    fn count(&mut self, outcome: &str, seconds: f64) {
        self.cases += 1;
        self.slowest = self.slowest.max(seconds);
        match outcome {
            "error" => self.errors += 1,
            "same" => self.same += 1,
            "other" => self.other += 1,
            _ => self.violations += 1,
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        let Self { cases, errors, same, other, violations, slowest } = self;
        let numbers = [cases, errors, same, other, violations].map(|n| n.to_string());
        let slowest = [format!("{:.0}", 1000.0 * slowest)];
        std::iter::once(name.to_owned()).chain(numbers).chain(slowest).collect()
    }
}

/// Damages and loads so many files.
pub fn campaign(count: u32, seed: u64, jobs: usize) -> Results {
    let started = Instant::now();
    let names: Vec<&str> =
        LOADERS.iter().map(|l| l.name).chain(COMMANDS.iter().map(|c| c.0)).collect();
    let tallies = Mutex::new(vec![Tally::default(); names.len()]);
    let violations = Mutex::new(Vec::new());
    let record = |case: u32, place: usize, outcome: &str, seconds: f64, detail: &str| {
        tallies.lock().expect("no thread panics")[place].count(outcome, seconds);
        if !["error", "same", "other"].contains(&outcome) {
            let text = format!("case {case} ({}): {outcome} {detail}", names[place]);
            violations.lock().expect("no thread panics").push(text);
        }
    };
    let programs = count / PROGRAM_EVERY;
    std::thread::scope(|scope| {
        for job in 0..jobs as u32 {
            let record = &record;
            scope.spawn(move || supervise(seed, job, jobs as u32, count - programs, record));
        }
    });
    ask_program(seed, programs, &record);
    let tallies = tallies.into_inner().expect("no thread panics");
    Results {
        campaign: "damage",
        seed,
        count: format!("{count} damaged files"),
        columns: vec![
            "loader",
            "files",
            "refused",
            "same content",
            "other content",
            "violations",
            "slowest, ms",
        ],
        rows: names.iter().zip(&tallies).map(|(name, tally)| tally.row(name)).collect(),
        violations: violations.into_inner().expect("no thread panics"),
        seconds: started.elapsed().as_secs_f64(),
    }
}

type Record<'a> = &'a (dyn Fn(u32, usize, &str, f64, &str) + Sync);

/// Keeps a worker at work on every `step`th case from `first` on.
fn supervise(seed: u64, first: u32, step: u32, count: u32, record: Record<'_>) {
    let mut case = first;
    let mut again = None;
    while case < count {
        let mut worker = Worker::start(seed, case, step, count);
        while case < count {
            let place = place_of(case);
            match worker.next() {
                Found::Done { outcome, seconds, detail } => {
                    record(case, place, &outcome, seconds, &detail);
                    case += step;
                    if outcome == GREEDY {
                        break;
                    }
                }
                // Other work on the machine may be the reason: what hangs does so twice.
                Found::Late if again != Some(case) => {
                    again = Some(case);
                    break;
                }
                Found::Late => {
                    record(case, place, "hang", TIME.as_secs_f64(), "takes more than two seconds");
                    case += step;
                    break;
                }
                Found::Dead(how) => {
                    record(case, place, "abort", 0.0, &how);
                    case += step;
                    break;
                }
            }
        }
    }
}

/// Which loader has the case.
fn place_of(case: u32) -> usize {
    case as usize % LOADERS.len()
}

enum Found {
    Done { outcome: String, seconds: f64, detail: String },
    Late,
    Dead(String),
}

/// The process that loads.
struct Worker {
    child: Child,
    lines: Receiver<String>,
}

impl Worker {
    fn start(seed: u64, from: u32, step: u32, count: u32) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("is a program"))
            .args(["worker".to_owned(), seed.to_string(), from.to_string()])
            .args([step.to_string(), count.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts itself");
        let (send, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().expect("is a pipe"));
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Self { child, lines }
    }

    /// How its next case ends.
    fn next(&mut self) -> Found {
        // To put the files together takes time that is not the loader's.
        match self.lines.recv_timeout(Duration::from_secs(60)) {
            Ok(line) if line == "begin" => {}
            _ => return self.dead(),
        }
        let begin = Instant::now();
        match self.lines.recv_timeout(TIME) {
            Ok(line) => {
                let seconds = begin.elapsed().as_secs_f64();
                let (outcome, detail) = line.split_once(' ').unwrap_or((&line, ""));
                Found::Done { outcome: outcome.into(), seconds, detail: detail.into() }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => Found::Late,
            Err(mpsc::RecvTimeoutError::Disconnected) => self.dead(),
        }
    }

    fn dead(&mut self) -> Found {
        // It has closed its output or says nothing: both is its end.
        let _ = self.child.kill();
        Found::Dead(match self.child.wait() {
            Ok(status) => format!("the loader ends the program: {status}"),
            Err(error) => error.to_string(),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The worker: loads the cases and says how each ended.
pub fn work(arguments: &[String]) {
    let number = |at: usize| arguments[at].parse::<u64>().expect("started by the campaign");
    let (seed, from, step, count) = (number(0), number(1), number(2), number(3));
    let folder = TempDir::new().expect("a temporary directory");
    let says = |text: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", text.replace('\n', " ")).expect("somebody listens");
        out.flush().expect("somebody listens");
    };
    let mut references: Vec<Option<(Vec<u8>, String)>> = LOADERS.iter().map(|_| None).collect();
    for case in (from..count).step_by(step as usize) {
        let place = place_of(case as u32);
        let loader = &LOADERS[place];
        let (example, wanted) = references[place].get_or_insert_with(|| {
            let example = (loader.example)(folder.path());
            let wanted = (loader.load)(&example, folder.path())
                .unwrap_or_else(|error| panic!("{}: {error}", loader.name));
            (example, wanted)
        });
        let mut random = Random::new(seed, 2, case as u32);
        // The first round has what unpacks to more than it should.
        let bomb = if case < LOADERS.len() as u64 { mutation::bomb(loader.name) } else { None };
        let bytes = bomb.unwrap_or_else(|| mutation::damaged(example, &mut random));
        says("begin");
        says(&load(loader, &bytes, folder.path(), wanted));
    }
}

/// Loads a file within the bounds.
fn load(loader: &Loader, bytes: &[u8], folder: &Path, wanted: &str) -> String {
    static PANIC: Mutex<String> = Mutex::new(String::new());
    panic::set_hook(Box::new(|info| {
        if let Ok(mut text) = PANIC.lock() {
            *text = info.to_string();
        }
    }));
    let (before, most) = (ALLOCATOR.allocated(), ALLOCATOR.max_allocated());
    ALLOCATOR.set_limit(before + 4 * MEMORY).expect("is above what is in use");
    let found = panic::catch_unwind(AssertUnwindSafe(|| (loader.load)(bytes, folder)));
    ALLOCATOR.set_limit(usize::MAX).expect("is above what is in use");
    // The most of all times: it says something of this case only if this case has raised it.
    let now = ALLOCATOR.max_allocated();
    if now > most && now > before + MEMORY {
        return format!("{GREEDY} asks for {} MiB", (now - before) >> 20);
    }
    match found {
        Err(_) => format!("panic {}", PANIC.lock().map(|text| text.clone()).unwrap_or_default()),
        Ok(Err(message)) if message.is_empty() => "silent error without a message".into(),
        Ok(Err(_)) => "error".into(),
        Ok(Ok(content)) if content == wanted => "same".into(),
        Ok(Ok(_)) if loader.promises => "changed without an error".into(),
        Ok(Ok(_)) => "other".into(),
    }
}

/// Gives damaged files to the program.
fn ask_program(seed: u64, count: u32, record: Record<'_>) {
    if count == 0 {
        return;
    }
    let folder = TempDir::new().expect("a temporary directory");
    let root = folder.path();
    for command in [
        TRAIN,
        "export run --format packed --out packed.rbin",
        "reproduce 1 2a --quick --seeds 1 --keep kept",
    ] {
        let ended = program::run(root, &words(command), None, Duration::from_secs(300));
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.stderr);
    }
    let record_path = find(root, "run/records/*");
    let record_of_run = fs::read(&record_path).expect("is there");
    for case in 0..count {
        let (place, (_, file, command)) = (
            LOADERS.len() + case as usize % COMMANDS.len(),
            COMMANDS[case as usize % COMMANDS.len()],
        );
        let mut random = Random::new(seed, 3, case);
        let path = root.join(find(root, file));
        let whole = fs::read(&path).expect("is there");
        let damaged = mutation::damaged(&whole, &mut random);
        fs::write(&path, &damaged).expect("can be written");
        let name = path.strip_prefix(root).expect("lies there").display().to_string();
        let arguments: Vec<String> =
            words(command).into_iter().map(|word| word.replace("FILE", &name)).collect();
        let ended = program::run(root, &arguments, Some(PROGRAM_MEMORY), PROGRAM_TIME);
        let panicked = ended.stderr.contains("panicked");
        let (outcome, detail) = match ended.code {
            _ if ended.is_late => ("hang", String::new()),
            Some(0) if command == TRAIN => {
                let is_same = fs::read(&record_path).is_ok_and(|bytes| bytes == record_of_run);
                if is_same { ("same", String::new()) } else { ("changed", "the record".into()) }
            }
            Some(0) if damaged == whole => ("same", String::new()),
            Some(0) => ("other", String::new()),
            Some(1 | 2) if !panicked && !ended.stderr.is_empty() => ("error", String::new()),
            _ => ("abort", format!("{}: {}", ended.status, ended.stderr.replace('\n', " "))),
        };
        record(case, place, outcome, ended.seconds, &detail);
        // What was damaged, and what was made of it, makes room for what was there.
        let folder = path.parent().expect("lies in a folder");
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().contains(".damaged") {
                fs::remove_file(entry.path()).expect("can be removed");
            }
        }
        fs::write(&path, &whole).expect("can be written");
        let _ = fs::remove_file(root.join("out.npz"));
    }
}

/// A file of the folder; `*` stands for the only file there.
fn find(root: &Path, file: &str) -> std::path::PathBuf {
    match file.strip_suffix("/*") {
        None => root.join(file),
        Some(folder) => {
            let mut entries = fs::read_dir(root.join(folder)).expect("is there");
            entries.next().expect("has a file").expect("can be read").path()
        }
    }
}

/// Writes the examples, as the first inputs of cargo-fuzz.
pub fn write_examples(directory: &Path) -> std::io::Result<()> {
    let folder = TempDir::new()?;
    for loader in &LOADERS {
        let place = directory.join(loader.target());
        fs::create_dir_all(&place)?;
        fs::write(place.join("example"), (loader.example)(folder.path()))?;
    }
    Ok(())
}
