//! Random command lines and configuration files, from sensible to absurd.
//!
//! A case begins with a small run that is in order and gets one to four settings on top of it, as flags,
//! as `--set`, or in a TOML file. The program must end by itself with exit code 0, 1 or 2 within
//! twenty seconds and without a panic; what it refuses it must explain with the name of a setting or its value; and what it
//! prints as JSON must be JSON. A setting that only asks for much work is tried with `--dry-run`.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{self, Ended, words};
use crate::random::Random;
use crate::results::Results;

const TIME: Duration = Duration::from_secs(20);
const MEMORY: u64 = 4 << 30;

/// Values that no setting has, or hardly any.
const ABSURD: [&str; 48] = [
    "NaN",
    "-NaN",
    "inf",
    "-inf",
    "1e400",
    "-1e400",
    "1e308",
    "1e-320",
    "-1",
    "-0",
    "0",
    "-1.5",
    "1.5",
    "0.1.2",
    "1e3",
    "1_000",
    "0x10",
    "+1",
    "1,",
    ",",
    "1,,2",
    "1,-1",
    "1:2",
    "1:2:0",
    "0:1:-1",
    "2:1:0.1",
    "0:1:1e-12",
    "1:1:1",
    "a:b:c",
    "",
    " ",
    "\t",
    "\n",
    "abc",
    "true",
    "[1, 2]",
    "{}",
    "null",
    "--",
    "-",
    "ε",
    "∞",
    "١٢",
    "１",
    "💥",
    "\u{202e}1",
    "'; --",
    "../../x",
];

/// Whole numbers that ask for too much.
const HUGE: [&str; 8] = [
    "1000000",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
];

/// A setting: its flag without dashes, values that are in order (or nearly), and whether a large number means
/// much work.
type Setting = (&'static str, &'static [&'static str], bool);

struct Command {
    name: &'static str,
    base: &'static str,
    settings: &'static [Setting],
    /// Whether it reads a configuration, and keeps a run.
    is_experiment: bool,
}

const NUMBERS: &[&str] = &["0", "0.1", "0.5", "1", "2"];
const COUNTS: &[&str] = &["1", "2", "3", "7"];

const EXPERIMENT: [Setting; 8] = [
    ("seeds", COUNTS, true),
    ("seed", &["0", "1", "4294967296", "9223372036854775807"], false),
    ("checkpoint-every", &["0", "0.01", "1", "1000000"], false),
    ("threads", &["1", "2", "16"], false),
    ("format", &["json", "csv", "table"], false),
    (
        "scan",
        &["gamma=0,1", "lr=0.1,0.2", "gamma=0:1:0.5", "epochs=1,2", "nothing=1,2", "alpha.9=1,2"],
        true,
    ),
    ("plot", &["a.svg", "a.png", "missing/a.svg"], false),
    ("out", &["run", "a/b/c"], false),
];

const GRADIENT: [Setting; 8] = [
    ("epochs", &["1", "5"], true),
    ("lr", &["0.01", "0.1", "1", "100"], false),
    ("batch", &["1", "5", "1000"], true),
    ("optimizer", &["sgd", "adam"], false),
    ("momentum", &["0", "0.5", "0.999"], false),
    ("weight-decay", &["0", "0.001", "1"], false),
    ("space", &["field", "magnetisation"], false),
    ("field-scale", &["0.1", "1", "10"], false),
];

const COMMANDS: [Command; 12] = [
    Command {
        name: "simulate",
        base: "simulate --n 20 --alpha 1 --epochs 3",
        is_experiment: true,
        settings: &[
            ("n", &["1", "2", "3", "30", "64"], true),
            ("alpha", &["0.05", "0.5", "1", "1,2", "0.5,1,2", "3"], true),
            ("r0", &["0", "0.5", "-0.8", "1", "-1"], false),
            ("learner", &["sgd", "gd", "slow-sgd"], false),
            ("gamma", NUMBERS, false),
            ("prior", &["none", "uniform"], false),
            ("record-every", COUNTS, false),
            ("fresh-patterns", &["1", "100"], true),
            ("q-star", &["0.1", "0.5", "0.99", "1"], false),
            ("compare", &["theory"], false),
            ("theory-beta", &["1", "20"], false),
            ("branch", &["stable", "poor", "good"], false),
        ],
    },
    Command {
        name: "simulate, boltzmann",
        base: "simulate --n 12 --alpha 0.5 --learner boltzmann --beta 2 --warmup 5 --sweeps 10",
        is_experiment: true,
        settings: &[
            ("n", &["1", "2", "3", "30"], true),
            ("alpha", &["0.1", "0.5", "0.5,0.5"], true),
            ("r0", &["0", "0.5", "1"], false),
            ("beta", &["0.01", "1", "20"], false),
            ("chains", COUNTS, true),
            ("warmup", &["0", "1", "10"], true),
            ("sweeps", &["1", "2", "20"], true),
            ("start", &["random", "0.9", "0", "1"], false),
            ("compare", &["theory"], false),
        ],
    },
    Command {
        name: "simulate bound",
        base: "simulate bound --n 6 --epochs 4",
        is_experiment: true,
        settings: &[
            ("n", &["1", "2", "8"], true),
            ("alpha", &["0.5", "2"], true),
            ("kappa", NUMBERS, false),
            ("record-every", COUNTS, false),
        ],
    },
    Command {
        name: "simulate convergence-time",
        base: "simulate convergence-time --n 20 --alpha 1 --epochs 10",
        is_experiment: true,
        settings: &[
            ("n", &["1", "2", "30"], true),
            ("alpha", &["0.5", "1,2", "0.5:1:0.25"], true),
            ("window", COUNTS, false),
            ("drop", NUMBERS, false),
        ],
    },
    Command {
        name: "train",
        base: "train --stream permuted:digits:2 --hidden 6 --epochs 1 --train-images 60 --test-images 20 --draws 1",
        is_experiment: true,
        settings: &[
            (
                "stream",
                &[
                    "permuted:digits:1",
                    "split:digits:5",
                    "split:digits:3",
                    "sequence:digits,digits",
                    "rotated:digits:2",
                    "drift:digits:2:2",
                    "permuted:digits:0",
                    "permuted:mnist:2",
                    "split:digits:99999999999",
                    "nowhere.npz",
                ],
                true,
            ),
            (
                "preset",
                &[
                    "digits",
                    "remanent",
                    "kirkpatrick",
                    "metaplasticity-2021",
                    "paper-permuted",
                    "bayesbinn",
                    "bimu",
                    "si",
                    "mesu",
                ],
                false,
            ),
            (
                "learner",
                &[
                    "vcl",
                    "ewc",
                    "metaplasticity",
                    "ste",
                    "joint",
                    "bayesbinn",
                    "bimu",
                    "si",
                    "mesu",
                    "sgd",
                ],
                false,
            ),
            ("hidden", &["1", "5,5", "2,3,4"], true),
            ("epochs", &["1", "2", "1,2"], true),
            ("batch", &["1", "60", "61", "1000"], true),
            ("lr", &["0.001", "0.1", "1000"], false),
            ("train-images", &["1", "10", "100000"], false),
            ("validation", &["1", "10", "1000", "100000"], false),
            ("test-images", &["1", "20", "100000"], false),
            ("activation", &["relu", "sign", "gate"], false),
            ("normalisation", &["none", "layer", "batch", "layer-all", "batch-plain"], false),
            ("standardise", &["0.1,0.3", "0,0", "1"], false),
            ("samples", &["0", "1", "3"], false),
            ("temperature", NUMBERS, false),
            ("likelihood", NUMBERS, false),
            ("kl", NUMBERS, false),
            ("max-rate", NUMBERS, false),
            ("prior-strength", NUMBERS, false),
            ("damping", NUMBERS, false),
            ("sigma", NUMBERS, false),
            ("lr-sigma", NUMBERS, false),
            ("prior-sigma", NUMBERS, false),
            ("clip", NUMBERS, false),
            ("output-scale", &["0.1", "1"], false),
            ("spread", NUMBERS, false),
            ("beta-schedule", &["1", "tanh:10,0.1,2", "tanh:1,2", "tanh:nan,nan,nan"], false),
            ("anchor", &["none", "step", "task", "both"], false),
            ("gamma", NUMBERS, false),
            ("precision", &["f32", "bf16", "f16"], false),
            ("lr-schedule", &["constant", "cosine", "linear"], false),
            ("gamma-rule", &["constant", "weights", "images"], false),
            ("first-prior", &["none", "uniform"], false),
            ("lambda", &["-1", "0", "0.9", "1", "2"], false),
            ("rho", &["0", "0.5", "1", "-1"], false),
            ("reserve", &["0", "0.5", "1", "-1", "2"], false),
            ("horizon", &["0", "1", "2", "-1"], false),
            ("reset-fields", &["true", "false"], false),
            ("metaplastic", &["true", "false"], false),
            ("least-scale", &["0", "2", "-1"], false),
            ("lr-rule", &["constant", "batch", "64"], false),
            ("window", &["0", "1", "100"], false),
            ("fisher", &["variance", "empirical", "online"], false),
            ("form", &["printed", "original"], false),
            ("meta", &["0.1", "0.5,1"], false),
            ("optimizer", &["adam", "sgd"], false),
            ("predictor", &["hard", "stochastic,hard", "hard,hard"], false),
            ("draws", COUNTS, true),
            (
                "evaluate",
                &["epoch", "task", "last:1", "every:2", "curve", "curve:3", "last:0"],
                false,
            ),
            ("ood", &["digits", "mnist"], false),
        ],
    },
    Command {
        name: "theory single",
        base: "theory single --alpha 1 --beta 5",
        is_experiment: false,
        settings: &[
            ALPHA,
            BETA,
            ("branch", &["stable", "poor", "middle", "good", "all"], false),
            PRIOR,
            FORMAT,
            PLOT,
        ],
    },
    Command {
        name: "theory constrained",
        base: "theory constrained --alpha 1 --beta 5 --q-star 0.5",
        is_experiment: false,
        settings: &[
            ALPHA,
            BETA,
            ("q-star", &["0.01", "0.5", "0.99", "0.2,0.4"], false),
            R0,
            GAMMA,
            PRIOR,
            FORMAT,
        ],
    },
    Command {
        name: "theory chain",
        base: "theory chain --alpha 1,1 --beta 5 --r0 0.5",
        is_experiment: false,
        settings: &[
            ("alpha", &["1", "1,1", "0.5,1,2"], false),
            BETA,
            R0,
            GAMMA,
            ("scan", &["r0=0,0.5", "alpha2=1,2", "alpha9=1", "gamma=0:1:0.5"], false),
            PRIOR,
            FORMAT,
            PLOT,
        ],
    },
    Command {
        name: "theory branches",
        base: "theory branches --beta 20",
        is_experiment: false,
        settings: &[
            ("alpha", &["0.1:3", "1:2", "1.5:1.6"], false),
            ("beta", &["5", "10", "20"], false),
            PRIOR,
            FORMAT,
            PLOT,
        ],
    },
    Command {
        name: "theory tune",
        base: "theory tune --alpha 1,1 --beta 5 --r0 0.5 --gamma 0:1:0.5",
        is_experiment: false,
        settings: &[
            ("alpha", &["1,1", "0.5,2"], false),
            ("beta", &["1", "5"], false),
            R0,
            ("gamma", &["0:1:0.5", "0.1,1"], false),
            ("objective", &["mean", "max"], false),
            FORMAT,
        ],
    },
    Command {
        name: "reproduce",
        base: "reproduce 1 --quick --dry-run",
        is_experiment: false,
        settings: &[
            ("seeds", COUNTS, true),
            ("out", &["run", "."], false),
            ("report", &["report", "."], false),
            ("keep", &["kept", "."], false),
            ("checkpoint-every", &["0", "1"], false),
            ("data-dir", &["nowhere", "."], false),
            ("threads", &["1", "2"], false),
            ("format", &["json", "csv"], false),
        ],
    },
    Command {
        name: "benchmark",
        base: "benchmark one --quick --dry-run",
        is_experiment: false,
        settings: &[
            ("seeds", COUNTS, true),
            ("learner", &["sgd", "BiMU,stream", "nobody"], false),
            ("out", &["run", "."], false),
            ("checkpoint-every", &["0", "1"], false),
            ("data-dir", &["nowhere", "."], false),
            ("threads", &["1", "2"], false),
            FORMAT,
            PLOT,
        ],
    },
];

const ALPHA: Setting = ("alpha", &["0.1", "1", "1,2", "0.5:1:0.25"], false);
const BETA: Setting = ("beta", &["0.1", "1", "20", "100"], false);
const R0: Setting = ("r0", &["0", "0.5", "-0.8", "1"], false);
const GAMMA: Setting = ("gamma", &["0", "0.5", "1", "10"], false);
const PRIOR: Setting = ("prior", &["none", "uniform"], false);
const FORMAT: Setting = ("format", &["json", "csv", "table"], false);
const PLOT: Setting = ("plot", &["a.svg", "a.png"], false);

/// What became of the cases of one command.
#[derive(Clone, Default)]
struct Tally {
    cases: usize,
    codes: [usize; 3],
    violations: usize,
    slowest: f64,
}

/// Runs so many configurations.
pub fn campaign(count: u32, seed: u64, jobs: usize) -> Results {
    let started = Instant::now();
    let tallies = Mutex::new(vec![Tally::default(); COMMANDS.len()]);
    let violations = Mutex::new(Vec::new());
    let next = AtomicU32::new(0);
    let work = || {
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            if case >= count {
                return;
            }
            let place = case as usize % COMMANDS.len();
            let (ended, found) = one(&COMMANDS[place], &mut Random::new(seed, 4, case));
            let mut tallies = tallies.lock().expect("no thread panics");
            let tally = &mut tallies[place];
            tally.cases += 1;
            tally.slowest = tally.slowest.max(ended.seconds);
            if let Some(code @ 0..=2) = ended.code {
                tally.codes[code as usize] += 1;
            }
            if let Some(found) = found {
                tally.violations += 1;
                let text = format!("case {case}: {found}");
                violations.lock().expect("no thread panics").push(text);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    let row = |(command, tally): (&Command, &Tally)| {
        let Tally { cases, codes: [done, failed, refused], violations, slowest } = tally;
        let numbers = [cases, done, failed, refused, violations].map(|n| n.to_string());
        let slowest = [format!("{slowest:.1}")];
        std::iter::once(command.name.to_owned()).chain(numbers).chain(slowest).collect()
    };
    let tallies = tallies.into_inner().expect("no thread panics");
    Results {
        campaign: "configurations",
        seed,
        count: format!("{count} configurations"),
        columns: vec![
            "command",
            "runs",
            "exit code 0",
            "exit code 1",
            "exit code 2",
            "violations",
            "slowest, s",
        ],
        rows: COMMANDS.iter().zip(&tallies).map(row).collect(),
        violations: violations.into_inner().expect("no thread panics"),
        seconds: started.elapsed().as_secs_f64(),
    }
}

/// A case: how the program ended, and what is wrong with that.
fn one(command: &Command, random: &mut Random) -> (Ended, Option<String>) {
    let directory = TempDir::new().expect("a temporary directory");
    let mut arguments = words(command.base);
    let mut names: Vec<&str> =
        arguments.iter().filter_map(|word| word.strip_prefix("--")).map(leak).collect();
    let (mut is_large, mut file, mut given) = (false, String::new(), Vec::new());
    // All in order, one absurd, or any.
    let absurd = *random.pick(&[0.0, 0.0, 1.0, 1.0, 0.4]);
    let settings = if absurd == 1.0 { 1 } else { 1 + random.below(4) };
    for _ in 0..settings {
        let (name, value, large) = choose(command, absurd, random);
        given.push(value.clone());
        take(&mut arguments, name);
        is_large |= large;
        names.push(name);
        // Twice the same flag is a mistake as any other.
        for _ in 0..if random.chance(0.05) { 2 } else { 1 } {
            match random.below(if command.is_experiment { 6 } else { 1 }) {
                4 => arguments.extend(["--set".into(), format!("{name}={value}")]),
                5 => file += &line(name, &value, random),
                _ if random.chance(0.5) => arguments.push(format!("--{name}={value}")),
                _ => arguments.extend([format!("--{name}"), value.clone()]),
            }
        }
    }
    if command.name == "reproduce" && random.chance(0.5) {
        let figure = random.pick(&["2a", "3", "B", "7a", "9z", "", "ε", "1"]);
        arguments.insert(1, (*figure).to_owned());
        names.push("figure");
    }
    if !file.is_empty() {
        fs::write(directory.path().join("c.toml"), &file).expect("can be written");
        arguments.extend(words("--config c.toml"));
        names.push("c.toml");
    }
    if is_large && command.is_experiment {
        arguments.push("--dry-run".into());
    }
    if !names.contains(&"format") {
        arguments.extend(words("--format json"));
    }
    let ended = program::run(directory.path(), &arguments, Some(MEMORY), TIME);
    let wrong = judge(&ended, &names, &given, &arguments);
    let wrong = wrong.map(|wrong| {
        let shown: Vec<String> = arguments.iter().map(|word| format!("{word:.60?}")).collect();
        let said: String = ended.stderr.replace('\n', " ").chars().take(300).collect();
        format!("{wrong}: {} {file:?}: {said}", shown.join(" "))
    });
    (ended, wrong)
}

/// The name of a flag of a command line that is a constant.
fn leak(name: &str) -> &'static str {
    let all = COMMANDS.iter().flat_map(|c| c.settings.iter()).chain(&GRADIENT).chain(&EXPERIMENT);
    all.map(|setting| setting.0).find(|known| *known == name).unwrap_or("dry-run")
}

/// Takes a flag and its value out of a command line, for another value to take its place.
fn take(arguments: &mut Vec<String>, name: &str) {
    if let Some(at) = arguments.iter().position(|word| word.strip_prefix("--") == Some(name)) {
        arguments.drain(at..at + 2);
    }
}

/// A setting, its value, and whether that may ask for much work.
fn choose(command: &Command, absurd: f64, random: &mut Random) -> (&'static str, String, bool) {
    let mut settings: Vec<&Setting> = command.settings.iter().collect();
    if command.is_experiment {
        settings.extend(&EXPERIMENT);
        if command.name != "train" {
            settings.extend(&GRADIENT);
        }
    }
    let (name, values, work) = random.pick(&settings);
    let value = match random.uniform() {
        u if u >= absurd => (*random.pick(values)).to_owned(),
        _ if random.chance(0.7) => (*random.pick(&ABSURD)).to_owned(),
        _ if random.chance(0.4) => {
            let value: &str = random.pick::<&str>(values);
            mistyped(value, random)
        }
        _ if random.chance(0.8) => (*random.pick(&HUGE)).to_owned(),
        _ => random.pick(&["9", "x", "1,"]).repeat(5000),
    };
    let is_large = *work && !values.contains(&value.as_str());
    (name, value, is_large)
}

/// A value with a letter twice, or one missing.
fn mistyped(value: &str, random: &mut Random) -> String {
    let mut letters: Vec<char> = value.chars().collect();
    let at = random.below(letters.len());
    if random.chance(0.5) {
        letters.insert(at, letters[at]);
    } else {
        letters.remove(at);
    }
    letters.into_iter().collect()
}

/// The setting in TOML.
fn line(name: &str, value: &str, random: &mut Random) -> String {
    let key = name.replace('-', "_");
    if random.chance(0.5) { format!("{key} = {value}\n") } else { format!("{key} = {value:?}\n") }
}

/// What is wrong, if anything.
fn judge(ended: &Ended, names: &[&str], given: &[String], arguments: &[String]) -> Option<String> {
    if ended.is_late {
        return Some("takes more than twenty seconds".into());
    }
    if ended.stderr.contains("panicked") {
        return Some("panics".into());
    }
    match ended.code {
        Some(0) => {
            let is_json = names.contains(&"format") || arguments.iter().any(|a| a == "--dry-run");
            let parses = is_json || serde_json::from_slice::<Value>(&ended.stdout).is_ok();
            (!parses).then(|| "prints what is no JSON".into())
        }
        Some(1) if ended.stderr.trim().is_empty() => Some("fails without a word".into()),
        Some(1) => None,
        Some(2) => {
            let said = ended.stderr.to_lowercase().replace('_', "-");
            // Of what was given, or of what is missing.
            let named = names.iter().any(|name| said.contains(*name)) || said.contains("needs --");
            // A value that is quoted is as good; so is a part of it, for a stream of tasks and a scan have several,
            // and what begins with a dash is refused as the name of a flag, of which two letters are shown.
            let is_quoted = |value: &String| {
                let value = value.trim().to_lowercase().replace('_', "-");
                let is_part = |part: &str| part.chars().count() >= 4 && said.contains(part);
                (value.chars().count() >= 2 && said.contains(&value))
                    || value.split([':', '=']).any(is_part)
                    || (value.starts_with('-') && said.contains("unexpected argument '-"))
            };
            (!named && !given.iter().any(is_quoted))
                .then(|| "is refused without the name of a setting or its value".into())
        }
        _ => Some(format!("ends with {}", ended.status)),
    }
}
