//! Numbers and revisions move together.
//!
//! A record is found again by its key, and the key holds the `revision` of the experiment. If a change
//! of the program changes the numbers and not the revision, old and new records meet in one summary.
//! This test computes a tiny cell of every learner and every experiment and compares a digest of its
//! record with `revisions.txt`, where the digest stands beside the revision:
//!
//! - the digest moved and the revision did not: raise `REVISION` of the experiment, then update the table;
//! - the revision moved and the table did not: update the table;
//! - the key moved: records of earlier programs are no longer found. That is a change of the revision too.
//!
//! `REMANENT_UPDATE_REVISIONS=1 cargo test --release -p remanent-lab --test revisions` writes the table. It
//! does not write a new digest beside an old revision.
//!
//! Numbers are rounded to six significant digits. Those of a training also depend on the instruction set:
//! the table has a line for every set on which it was written, and on another set the sum of all numbers is
//! compared, to two per cent.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use remanent_data::sources::Cache;
use remanent_lab::bound::{BoundStudy, BoundTrial};
use remanent_lab::convergence::{ConvergenceStudy, ConvergenceTrial};
use remanent_lab::simulation::{self, Simulation};
use remanent_lab::theory::{Query, QueryCell};
use remanent_lab::training::{self, Material, Training};
use remanent_perceptron::randomness::Trial;
use remanent_store::sealed;
use remanent_store::{Cell, Context};
use serde_json::{Value, json};

const UPDATE: &str = "REMANENT_UPDATE_REVISIONS";
const HEAD: &str =
    "# experiment, cell, revision, instructions, key, digest, sum; written by the test revisions\n";

/// Estimates of errors: noise to the last digit, and no result.
const NOISE: [&str; 2] = ["residual", "quadrature_error"];

const TRAININGS: [(&str, &str); 40] = [
    ("vcl", ""),
    ("vcl-none", "anchor = 'none'"),
    ("vcl-task", "anchor = 'task'\ngamma = 0.1"),
    ("vcl-both", "anchor = 'both'\ngamma_step = 0.5\ngamma_task = 0.2\nlearned_scale = true"),
    ("vcl-layer", "normalisation = 'layer'\nactivation = 'sign'\noptimizer = 'sgd'"),
    ("vcl-remanent", "preset = 'remanent'"),
    ("vcl-wide", "preset = 'remanent'\nhidden = [64, 65]"),
    (
        "vcl-fading",
        "anchor = 'task'\nlambda = 0.9\nrho = 0.8\nfirst_prior = 'uniform'\nlr_schedule = 'cosine'\nreset_fields = true",
    ),
    ("vcl-reserve", "anchor = 'task'\nreserve = 0.6"),
    ("vcl-horizon", "anchor = 'task'\nhorizon = 1\nstream = 'permuted:digits:3'"),
    ("vcl-scale", "learned_scale = true\noutput_scale = 3.0\nleast_scale = 3.0"),
    ("vcl-weights", "anchor = 'task'\ngamma_rule = 'weights'\ngamma = 2.5"),
    (
        "vcl-metaplastic",
        "anchor = 'task'\nmetaplastic = true\nlr_rule = 'batch'\nbatch = 16\nhidden = [64]",
    ),
    (
        "vcl-moments",
        "anchor = 'both'\nreset_moments = true\nlearned_scale = true\nstream = 'permuted:digits:3'",
    ),
    ("vcl-steps", "lr_rule = 'steps'\nbatch = 3"),
    ("vcl-bf16", "precision = 'bf16'"),
    ("vcl-online", "batch = 1\nanchor = 'both'\nhidden = [40]"),
    ("vcl-window", "anchor = 'task'\nwindow = 60\nlambda = 0.95"),
    ("ewc-online", "preset = 'kirkpatrick'\nfisher = 'online'\nrho = 0.9"),
    ("vcl-split-ood", "stream = 'split:digits:5'\nood = 'digits'\nbeta_schedule = [1, 2]"),
    ("vcl-last", "stream = 'permuted:digits:3'\nevaluate = 'last:2'\npredictor = 'hard'"),
    ("vcl-rotated", "stream = 'rotated:digits:2'\nevaluate = 'task'"),
    ("vcl-drift", "stream = 'drift:digits:2:2'\nevaluate = 'curve'"),
    ("vcl-sequence", "stream = '''\npermuted:digits:1\nsequence:digits\n'''\nvalidation = 40"),
    ("ewc", "learner = 'ewc'\nbeta_schedule = '2'"),
    ("ewc-step", "learner = 'ewc'\nanchor = 'step'"),
    ("ewc-empirical", "preset = 'kirkpatrick'"),
    ("metaplasticity", "learner = 'metaplasticity'"),
    ("metaplasticity-wide", "learner = 'metaplasticity'\nhidden = [64]"),
    ("metaplasticity-2021", "preset = 'metaplasticity-2021'\nbatch = 16"),
    ("ste", "learner = 'ste'"),
    ("joint", "learner = 'joint'"),
    ("joint-batch", "learner = 'joint'\nnormalisation = 'batch'"),
    ("bayesbinn", "preset = 'bayesbinn'\nbatch = 16"),
    (
        "bayesbinn-online",
        "learner = 'bayesbinn'\nbatch = 1\nnormalisation = 'layer-all'\nactivation = 'gate'\nlikelihood = 1",
    ),
    ("bimu", "preset = 'bimu'\nlr = 4.9"),
    ("si", "preset = 'si'\nbatch = 16"),
    ("mesu", "preset = 'mesu'\nlr = 1.0\nstandardise = [0.3, 0.4]"),
    ("sgd", "learner = 'sgd'"),
    ("ste-gate", "learner = 'ste'\nactivation = 'gate'\nnormalisation = 'batch-plain'"),
];

const SIMULATIONS: &[(&str, &str)] = &[
    ("sgd", "alpha = [1, 1]\nr0 = 0.5\nepochs = 4\nfresh_patterns = 50"),
    ("sgd-adam", "alpha = 1\nepochs = 4\noptimizer = 'adam'\nweight_decay = 0.01"),
    ("sgd-magnetisation", "alpha = [1, 1]\nepochs = 4\nspace = 'magnetisation'"),
    ("gd", "alpha = [1, 1]\nr0 = -0.3\nepochs = 6\nlearner = 'gd'"),
    ("gd-uniform", "alpha = 1\nepochs = 6\nlearner = 'gd'\nprior = 'uniform'\nbatch = 'M/2'"),
    ("gd-magnetisation", "alpha = 1\nepochs = 6\nlearner = 'gd'\nspace = 'magnetisation'"),
    ("slow-sgd", "alpha = [1, 1]\nepochs = 6\nlearner = 'slow-sgd'"),
    ("boltzmann", "alpha = 0.5\nbeta = 5\nlearner = 'boltzmann'\nwarmup = 4\nsweeps = 8"),
    (
        "boltzmann-two",
        "alpha = [0.5, 1]\nbeta = [5, 10]\nr0 = 0.5\ngamma = 0.7\nlearner = 'boltzmann'\nwarmup = 4\nsweeps = 8",
    ),
    (
        "boltzmann-fading",
        "alpha = [0.5, 1]\nbeta = 5\nr0 = 0.5\nlambda = 0.8\nrho = 0.9\nlearner = 'boltzmann'\nwarmup = 4\nsweeps = 8",
    ),
    ("gd-fading", "alpha = [1, 1]\nr0 = -0.3\nepochs = 6\nlearner = 'gd'\nlambda = -0.5"),
    (
        "boltzmann-teacher",
        "alpha = 1\nlearner = 'boltzmann'\nstart = 0.9\nwarmup = 4\nsweeps = 8\nchains = 3",
    ),
    (
        "boltzmann-uniform",
        "alpha = 1\nlearner = 'boltzmann'\nprior = 'uniform'\nwarmup = 4\nsweeps = 8",
    ),
];

const QUESTIONS: &[(&str, &str)] = &[
    ("single", "alpha = [1.0, 1.7]\nbeta = [10, 20]\nbranch = 'all'"),
    ("constrained", "alpha = 2\nbeta = [5, 20]\nq_star = [0.3, 0.6]"),
    ("chain-fading", "alpha = [2, 1, 1]\nr0 = 0.5\ngamma = 0.5\nlambda = 0.8\nrho = 0.9"),
    (
        "chain-stationary",
        "alpha = 1\nbeta = 5\nr0 = 0.5\nlambda = 0.9\nstationary = true\nmemory = 3",
    ),
    ("chain", "alpha = [2, 1]\nr0 = 0.5\ngamma = 0.1\nscan = {'alpha.2' = [1, 2]}"),
    ("chain-uniform", "alpha = [1, 1, 1]\nr0 = [0.5, -0.2]\nbeta = 5\nprior = 'uniform'"),
    ("branches", "alpha = [1.4, 2.0]"),
    ("phase-diagram", "beta = [20, 10]"),
    ("tune", "alpha = [1, 1]\nr0 = 0.5\ngamma = [0, 0.1, 1]\nobjective = 'max'"),
    ("monte-carlo", "draws = [100, 200]\nrepeats = 2"),
];

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    experiment: String,
    cell: String,
    revision: u64,
    instructions: String,
    key: String,
    digest: String,
    sum: f64,
}

impl Line {
    fn of<C: Cell>(experiment: &str, name: &str, cell: &C) -> Self {
        let record = cell.run(&mut Context::detached()).unwrap();
        let record = serde_json::to_value(record).unwrap();
        let key = cell.key();
        let inner = ["training", "simulation"].iter().find_map(|part| key.get(part));
        let inner = inner.or_else(|| key.get("study")?.get("simulation")).unwrap_or(&key);
        let revision = inner["revision"].as_u64().expect("every key has a revision");
        let (mut text, mut sum) = (String::new(), 0.0);
        digits(&record, &mut text, &mut sum);
        Self {
            experiment: experiment.into(),
            cell: name.into(),
            revision,
            instructions: record["instructions"].as_str().unwrap_or("any").into(),
            key: sealed::digest(key.to_string().as_bytes())[..16].into(),
            digest: sealed::digest(text.as_bytes())[..16].into(),
            sum: format!("{sum:.3e}").parse().unwrap(),
        }
    }

    fn read(text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [experiment, cell, revision, instructions, key, digest, sum] = words[..] else {
            panic!("'{text}' has not seven words");
        };
        Self {
            experiment: experiment.into(),
            cell: cell.into(),
            revision: revision.parse().unwrap(),
            instructions: instructions.into(),
            key: key.into(),
            digest: digest.into(),
            sum: sum.parse().unwrap(),
        }
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.experiment, &self.cell) == (&other.experiment, &other.cell)
    }

    /// What is wrong with a record that was computed just now, if the table has this line.
    fn complaint(&self, now: &Self) -> Option<String> {
        let Self { experiment, cell, .. } = now;
        let update = format!("update the table: {UPDATE}=1");
        if self.revision != now.revision {
            return Some(format!(
                "{experiment}, {cell}: the revision moved from {} to {} without the table; {update}",
                self.revision, now.revision
            ));
        }
        if self.key != now.key {
            return Some(format!(
                "{experiment}, {cell}: the key changed, and records of earlier programs are not found; \
                 take the change back, or raise REVISION of {experiment} and {update}"
            ));
        }
        let same = if self.instructions == now.instructions {
            self.digest == now.digest
        } else {
            (self.sum - now.sum).abs() <= 0.02 * self.sum.abs()
        };
        (!same).then(|| {
            format!(
                "{experiment}, {cell}: numbers changed: raise REVISION of {experiment} and update the \
                 digest ({UPDATE}=1)"
            )
        })
    }
}

/// All words and numbers of a record, the numbers rounded, and the sum of their sizes.
fn digits(value: &Value, text: &mut String, sum: &mut f64) {
    match value {
        Value::Object(map) => {
            for (name, value) in map.iter().filter(|(name, _)| !NOISE.contains(&name.as_str())) {
                text.push_str(name);
                digits(value, text, sum);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| digits(value, text, sum)),
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            // What is left of a difference of equal numbers is no number.
            let number = if number.abs() < 1e-12 { 0.0 } else { number };
            *sum += number.abs();
            write!(text, " {number:.5e}").unwrap();
        }
        other => write!(text, " {other}").unwrap(),
    }
    text.push(';');
}

/// Every learner and every experiment.
fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    let trial = Trial { seed: 3, trial: 1 };
    for (name, text) in TRAININGS {
        let shared = "stream = 'permuted:digits:2'\nhidden = [12]\nepochs = 2\ntrain_images = 96\n\
                      test_images = 40\ndraws = 2\nlr = 0.05";
        let mut table: toml::Table = shared.parse().unwrap();
        table.extend(text.parse::<toml::Table>().unwrap());
        let training = Training::from_table(&table).unwrap();
        let material = Material::load(&training, &Cache::at("nowhere")).unwrap();
        let (training, material) = (&training, &material);
        let cell = training::Trial { training, material, seed: trial.seed, trial: trial.trial };
        lines.push(Line::of("train", name, &cell));
    }
    for (name, text) in SIMULATIONS {
        let text = format!("n = 48\nrecord_every = 2\n{text}");
        let simulation = Simulation::from_table(&text.parse().unwrap()).unwrap();
        let cell = simulation::Trial { simulation: &simulation, trial };
        lines.push(Line::of("simulate", name, &cell));
    }
    let study = "n = 6\nepochs = 6\nrecord_every = 2";
    let study = BoundStudy::from_table(&study.parse().unwrap()).unwrap();
    lines.push(Line::of("bound", "bound", &BoundTrial { study: &study, trial }));
    let study = "n = 40\nalpha = 1\nepochs = 80\nwindow = 10\ndrop = 0.001";
    let study = ConvergenceStudy::from_table(&study.parse().unwrap()).unwrap();
    let cell = ConvergenceTrial { study: &study, trial };
    lines.push(Line::of("convergence-time", "convergence-time", &cell));
    for (name, text) in QUESTIONS {
        let ask = if name.starts_with("chain-") { "chain" } else { name };
        let query = Query::from_table(&format!("ask = '{ask}'\n{text}").parse().unwrap()).unwrap();
        lines.push(Line::of("theory", name, &QueryCell { query: &query }));
    }
    lines
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/revisions.txt")
}

fn table() -> Vec<Line> {
    let text = fs::read_to_string(path()).unwrap_or_default();
    text.lines().filter(|line| !line.starts_with('#')).map(Line::read).collect()
}

/// The line to compare with: that of the same instruction set, else any.
fn find<'a>(table: &'a [Line], now: &Line) -> Option<&'a Line> {
    let own = table.iter().find(|line| line.is_of(now) && line.instructions == now.instructions);
    own.or_else(|| table.iter().find(|line| line.is_of(now)))
}

/// The table with what was computed now, and what must not be written.
fn updated(old: &[Line], now: &[Line]) -> (Vec<Line>, Vec<String>) {
    let (mut lines, mut refused) = (Vec::new(), Vec::new());
    for line in now {
        let before = find(old, line);
        // The same revision and another key or digest: the revision has to be raised first.
        let complaint = before.filter(|before| before.revision == line.revision);
        if let Some(complaint) = complaint.and_then(|before| before.complaint(line)) {
            refused.push(complaint);
        }
        // Lines of other instruction sets stay as long as they belong to the same revision.
        let others = old.iter().filter(|other| {
            other.is_of(line)
                && other.instructions != line.instructions
                && (other.revision, &other.key) == (line.revision, &line.key)
        });
        lines.push(line.clone());
        lines.extend(others.cloned());
    }
    (lines, refused)
}

#[test]
fn numbers_move_with_their_revision() {
    let (old, now) = (table(), lines());
    if std::env::var_os(UPDATE).is_some() {
        let (lines, refused) = updated(&old, &now);
        assert!(refused.is_empty(), "\n{}", refused.join("\n"));
        let mut text = HEAD.to_owned();
        for Line { experiment, cell, revision, instructions, key, digest, sum } in lines {
            writeln!(text, "{experiment} {cell} {revision} {instructions} {key} {digest} {sum:e}")
                .unwrap();
        }
        fs::write(path(), text).unwrap();
        return;
    }
    let complaints: Vec<String> = now
        .iter()
        .filter_map(|line| match find(&old, line) {
            Some(before) => before.complaint(line),
            None => Some(format!(
                "{}, {}: it is not in the table; update it: {UPDATE}=1",
                line.experiment, line.cell
            )),
        })
        .collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    let gone = old.iter().find(|line| !now.iter().any(|new| new.is_of(line)));
    assert!(gone.is_none(), "{gone:?} is in the table and is not computed; update it: {UPDATE}=1");
}

#[test]
fn the_test_can_fail() {
    let line = |revision: u64, instructions: &str, key: &str, digest: &str, sum: f64| Line {
        experiment: "train".into(),
        cell: "vcl".into(),
        revision,
        instructions: instructions.into(),
        key: key.into(),
        digest: digest.into(),
        sum,
    };
    let old = line(1, "avx2", "k", "d", 100.0);
    assert_eq!(old.complaint(&old), None);
    let told = |now: &Line| old.complaint(now).unwrap();
    let changed = line(1, "avx2", "k", "other", 100.0);
    assert!(told(&changed).contains("numbers changed: raise REVISION of train"));
    assert!(told(&line(2, "avx2", "k2", "d", 100.0)).contains("without the table"));
    assert!(told(&line(1, "avx2", "k2", "d", 100.0)).contains("the key changed"));
    // Another instruction set has other last digits, and no other numbers.
    assert_eq!(old.complaint(&line(1, "neon", "k", "other", 101.0)), None);
    assert!(told(&line(1, "neon", "k", "other", 110.0)).contains("numbers changed"));

    // The table is not written over a change that no revision tells.
    let table = [old.clone()];
    assert_eq!(updated(&table, &[changed]).1.len(), 1);
    let raised = line(2, "avx2", "k2", "other", 90.0);
    assert_eq!(updated(&table, std::slice::from_ref(&raised)), (vec![raised], vec![]));
    let neon = line(1, "neon", "k", "e", 100.5);
    assert_eq!(updated(&table, std::slice::from_ref(&neon)), (vec![neon, old], vec![]));

    let (mut a, mut b, mut sum) = (String::new(), String::new(), 0.0);
    digits(&json!({"x": [1.000_000_1, -2.0], "residual": 1}), &mut a, &mut sum);
    digits(&json!({"x": [1.0, -2.0], "residual": 7}), &mut b, &mut sum);
    assert_eq!(a, b);
    b.clear();
    digits(&json!({"x": [1.000_1, -2.0]}), &mut b, &mut sum);
    assert_ne!(a, b);
}
