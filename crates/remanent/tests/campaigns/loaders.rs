//! The loaders of the library, each as a function of bytes, with a valid example for each.
//!
//! The damage campaign and the targets of cargo-fuzz share this list. A loader gives a text which says
//! what it has read, or the error; anything else is a defect.

use std::cell::RefCell;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use remanent_data::images::Images;
use remanent_data::sources::Cache;
use remanent_data::stream::StreamSpec;
use remanent_data::{idx, npz};
use remanent_formats::npz::Archive;
use remanent_lab::options::Options;
use remanent_lab::plan::{Layers, Plan};
use remanent_lab::simulation::{Simulation, SimulationOptions};
use remanent_lab::theory::Query;
use remanent_lab::training::{Training, TrainingOptions};
use remanent_lab::{config, found};
use remanent_network::architecture::{Activation, Architecture, Normalisation};
use remanent_network::binary::BinaryNetwork;
use remanent_network::model;
use remanent_network::network::{Network, Weights};
use remanent_network::tensors::{Arrays, Tensors};
use remanent_store::{Cell, Context, Stopped, Store, Watcher, sealed};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// A loader.
pub struct Loader {
    /// What it loads.
    pub name: &'static str,
    /// Whether a checksum promises that what is loaded is what was written.
    pub promises: bool,
    /// A valid file.
    pub example: fn(&Path) -> Vec<u8>,
    /// Loads some bytes; the folder is for files and may hold those of earlier calls.
    pub load: fn(&[u8], &Path) -> Result<String, String>,
}

impl Loader {
    /// Its name as that of a target of cargo-fuzz.
    pub fn target(&self) -> String {
        let letters = self.name.chars().filter(|c| c.is_ascii_alphanumeric() || " .".contains(*c));
        letters.collect::<String>().replace([' ', '.'], "_").to_lowercase()
    }
}

/// All loaders.
pub const LOADERS: [Loader; 25] = [
    Loader {
        name: "record",
        promises: true,
        example: |_| sealed_example("record"),
        load: |b, f| sealed_load(b, f, "record"),
    },
    Loader {
        name: "checkpoint, JSON",
        promises: true,
        example: |_| sealed_example("checkpoint"),
        load: |b, f| sealed_load(b, f, "checkpoint"),
    },
    Loader {
        name: "checkpoint, arrays",
        promises: true,
        example: |_| arrays_example(),
        load: arrays_load,
    },
    Loader { name: "model", promises: true, example: model_example, load: model_load },
    Loader { name: "model, new checksum", promises: false, example: note_example, load: note_load },
    Loader {
        name: "packed model",
        promises: true,
        example: |_| packed_example(),
        load: packed_load,
    },
    Loader {
        name: "packed model, new checksum",
        promises: false,
        example: |_| packed_example(),
        load: packed_resealed,
    },
    Loader {
        name: "run: experiment.json",
        promises: true,
        example: |f| run_example(f, "experiment.json"),
        load: |b, f| run_load(b, f, "experiment.json"),
    },
    Loader {
        name: "run: record",
        promises: true,
        example: |f| run_example(f, "records"),
        load: |b, f| run_load(b, f, "records"),
    },
    Loader {
        name: "run: checkpoint",
        promises: true,
        example: |f| run_example(f, "checkpoints"),
        load: |b, f| run_load(b, f, "checkpoints"),
    },
    Loader {
        name: "run: record, new checksum",
        promises: false,
        example: |f| run_example(f, "records"),
        load: |b, f| run_load(&resealed(b, "record"), f, "records"),
    },
    Loader {
        name: "run: checkpoint, new checksum",
        promises: false,
        example: |f| run_example(f, "checkpoints"),
        load: |b, f| run_load(&resealed(b, "checkpoint"), f, "checkpoints"),
    },
    Loader {
        name: "run: times.csv",
        promises: true,
        example: |f| run_example(f, "times.csv"),
        load: |b, f| run_load(b, f, "times.csv"),
    },
    Loader {
        name: "run: record, looked at",
        promises: true,
        example: |f| run_example(f, "records"),
        load: found_load,
    },
    Loader { name: "npz", promises: false, example: |_| npz_example(), load: npz_load },
    Loader {
        name: "npy of images",
        promises: false,
        example: |_| npy_example("x.npy"),
        load: |b, f| npy_load(b, f, "x.npy"),
    },
    Loader {
        name: "npy of labels",
        promises: false,
        example: |_| npy_example("y.npy"),
        load: |b, f| npy_load(b, f, "y.npy"),
    },
    Loader {
        name: "npz to be asked about",
        promises: false,
        example: |_| npz_example(),
        load: images_load,
    },
    Loader {
        name: "idx, images",
        promises: false,
        example: |f| idx_example(f, "images", &[4, 5, 6]),
        load: idx_images,
    },
    Loader {
        name: "idx, labels",
        promises: false,
        example: |f| idx_example(f, "labels", &[50]),
        load: idx_labels,
    },
    Loader {
        name: "idx.gz",
        promises: true,
        example: |f| idx_example(f, "images.gz", &[4, 5, 6]),
        load: idx_images,
    },
    Loader {
        name: "idx in a gzip file",
        promises: false,
        example: |f| idx_example(f, "images", &[4, 5, 6]),
        load: |b, f| idx_images(&gzip(b), f),
    },
    Loader {
        name: "configuration of a simulation",
        promises: false,
        example: |_| SIMULATION.into(),
        load: simulation_load,
    },
    Loader {
        name: "configuration of a training",
        promises: false,
        example: |_| TRAINING.into(),
        load: training_load,
    },
    Loader { name: "file of tasks", promises: false, example: |_| TASKS.into(), load: tasks_load },
];

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).expect("the folder can be written to");
    path
}

/// A seal as [`sealed::write`] makes it.
fn seal(body: &[u8], what: &str) -> Vec<u8> {
    let line = format!("remanent {what} 1 blake3:{}\n", sealed::digest(body));
    [line.as_bytes(), body, b"\n"].concat()
}

/// Everything behind the first line under a new seal.
fn resealed(bytes: &[u8], what: &str) -> Vec<u8> {
    let body = bytes.splitn(2, |&byte| byte == b'\n').nth(1).unwrap_or(bytes);
    seal(body.strip_suffix(b"\n").unwrap_or(body), what)
}

fn sealed_example(what: &str) -> Vec<u8> {
    let rows: Vec<Value> =
        (0..20).map(|i| json!({"epoch": i, "eps": 1.0 / f64::from(3 + i)})).collect();
    seal(json!({"key": {"alpha": [2.0], "seed": 1}, "value": rows}).to_string().as_bytes(), what)
}

fn sealed_load(bytes: &[u8], folder: &Path, what: &str) -> Result<String, String> {
    let path = file(folder, "sealed.json", bytes);
    sealed::read::<Value>(&path, what).map(|value| value.to_string()).map_err(text)
}

fn arrays_example() -> Vec<u8> {
    let (a, b): (Vec<f32>, Vec<f32>) =
        ((0..120).map(|i| i as f32).collect(), (0..7).map(|i| -1.0 / (1 + i) as f32).collect());
    let mut arrays = Arrays::default();
    arrays.insert("theta.0", &[10, 12], &a);
    arrays.insert("gain.0", &[7], &b);
    let about =
        json!({"key": {"seed": 1}, "seconds": 0.5, "step_seconds": 0.25, "state": {"a": [1, 2]}});
    arrays.encode("checkpoint", &about).expect("arrays can be encoded")
}

fn arrays_load(bytes: &[u8], _: &Path) -> Result<String, String> {
    Tensors::decode(bytes, "checkpoint").map(|found| format!("{found:?}")).map_err(text)
}

fn architecture(normalisation: Normalisation) -> Architecture {
    Architecture { widths: vec![9, 7, 3], activation: Activation::Relu, normalisation }
}

fn thetas(architecture: &Architecture) -> Vec<Vec<f32>> {
    let of = |(l, (i, o)): (usize, (usize, usize))| {
        (0..i * o).map(|k| ((k * 37 + l * 11) % 101) as f32 / 50.0 - 1.0).collect()
    };
    architecture.shapes().enumerate().map(of).collect()
}

fn network() -> Network {
    let architecture = architecture(Normalisation::Batch);
    Network::new(&architecture, Weights::Field, thetas(&architecture)).unwrap()
}

fn model_example(folder: &Path) -> Vec<u8> {
    let path = folder.join("example.safetensors");
    model::write(&path, &network(), &json!({"seed": 1})).expect("a model can be written");
    fs::read(path).expect("was written")
}

fn model_load(bytes: &[u8], _: &Path) -> Result<String, String> {
    let (network, story) = model::decode(bytes).map_err(text)?;
    Ok(format!("{network:?} {story}"))
}

/// What a model says of itself.
fn note_example(folder: &Path) -> Vec<u8> {
    let bytes = model_example(folder);
    let (about, _) = Tensors::decode(&bytes, "model").expect("is a model");
    about.to_string().into_bytes()
}

/// A model with another note, which nothing but its meaning speaks against.
fn note_load(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let about: Value = serde_json::from_slice(bytes).map_err(text)?;
    let (_, mut tensors) = Tensors::decode(&model_example(folder), "model").map_err(text)?;
    let shapes: Vec<(String, Vec<usize>)> =
        tensors.shapes().map(|(name, shape)| (name.to_owned(), shape.to_vec())).collect();
    let mut values = Vec::new();
    for (name, shape) in &shapes {
        values.push(tensors.take(name, shape.iter().product()).map_err(text)?);
    }
    let mut arrays = Arrays::default();
    for ((name, shape), values) in shapes.iter().zip(&values) {
        arrays.insert(name, shape, values);
    }
    let file = arrays.encode("model", &about).map_err(text)?;
    let (network, _) = model::decode(&file).map_err(text)?;
    // What is accepted can be used.
    let packed = BinaryNetwork::hard(&network).map_err(text)?;
    packed_load(&packed.to_bytes(), folder)
}

fn packed_example() -> Vec<u8> {
    BinaryNetwork::hard(&network()).expect("is a network").to_bytes()
}

fn packed_load(bytes: &[u8], _: &Path) -> Result<String, String> {
    BinaryNetwork::from_bytes(bytes).map(|network| format!("{network:?}")).map_err(text)
}

fn packed_resealed(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let body = &bytes[..bytes.len().saturating_sub(32)];
    let checksum = sealed::digest(body);
    let pair = |at: usize| u8::from_str_radix(&checksum[2 * at..2 * at + 2], 16).unwrap_or(0);
    let whole = [body, &(0..32).map(pair).collect::<Vec<u8>>()].concat();
    packed_load(&whole, folder)
}

/// A cell that adds, and saves itself before every step.
struct Sum {
    seed: u64,
}

impl Cell for Sum {
    type Record = f64;

    fn key(&self) -> Value {
        json!({"seed": self.seed})
    }

    fn work(&self) -> u64 {
        8
    }

    fn run(&self, context: &mut Context<'_>) -> Result<f64, Stopped> {
        let (mut step, mut sum): (u64, f64) = context.load().unwrap_or((0, 0.0));
        while step < 8 {
            if context.due() {
                context.save(&(step, sum))?;
            }
            sum += 1.0 / (1 + step + self.seed) as f64;
            step += 1;
            context.advance(1);
        }
        Ok(sum)
    }
}

/// Interrupts after so many steps.
struct Stop {
    steps: AtomicU64,
    at: u64,
    interrupt: AtomicBool,
}

impl Watcher for Stop {
    fn advance(&self, units: u64) {
        if self.steps.fetch_add(units, Ordering::Relaxed) + units == self.at {
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }

    fn notice(&self, _text: &str) {}
}

const CELLS: [Sum; 2] = [Sum { seed: 1 }, Sum { seed: 2 }];

fn run_cells(directory: &Path, stop_at: u64) -> Result<String, String> {
    let stop = Stop { steps: AtomicU64::new(0), at: stop_at, interrupt: AtomicBool::new(false) };
    let store = Store::open(directory, "sum", &json!({"steps": 8}), false).map_err(text)?;
    let store = store.checkpoint_every(Duration::from_secs(1000));
    // One after the other: which of them is interrupted must not depend on the threads.
    let mut records = Vec::new();
    for cell in CELLS.chunks(1) {
        records.extend(store.run(cell, &stop, &stop.interrupt).map_err(text)?);
    }
    let is_time = |cell| store.seconds(cell).is_none_or(|s| s.is_finite() && s >= 0.0);
    Ok(format!("{records:?} {}", CELLS.iter().all(is_time)))
}

/// The files of a run with one cell done and one under way.
type Run = Vec<(PathBuf, Vec<u8>)>;

/// Lays such a run into a folder.
fn lay_run(folder: &Path) -> (PathBuf, Run) {
    thread_local!(static RUN: RefCell<Option<Run>> = const { RefCell::new(None) });
    let files = RUN.with_borrow_mut(|run| {
        run.get_or_insert_with(|| {
            let directory = folder.join("whole");
            let _ = run_cells(&directory, 12);
            let mut files = Vec::new();
            for name in ["experiment.json", "times.csv"] {
                files.push((name.into(), fs::read(directory.join(name)).expect("is there")));
            }
            for name in ["records", "checkpoints"] {
                let entry = fs::read_dir(directory.join(name)).expect("is there").next();
                let path = entry.expect("one file").expect("can be read").path();
                let name = Path::new(name).join(path.file_name().expect("is a file"));
                files.push((name, fs::read(path).expect("is there")));
            }
            files
        })
        .clone()
    });
    let directory = folder.join("run");
    let _ = fs::remove_dir_all(&directory);
    for name in ["records", "checkpoints", "models"] {
        fs::create_dir_all(directory.join(name)).expect("the folder can be written to");
    }
    for (name, bytes) in &files {
        fs::write(directory.join(name), bytes).expect("the folder can be written to");
    }
    (directory, files)
}

fn run_example(folder: &Path, part: &str) -> Vec<u8> {
    let (_, files) = lay_run(folder);
    let found = files.into_iter().find(|(name, _)| name.starts_with(part));
    found.expect("has such a file").1
}

fn lay_damaged(bytes: &[u8], folder: &Path, part: &str) -> PathBuf {
    let (directory, files) = lay_run(folder);
    let (name, _) = files.iter().find(|(name, _)| name.starts_with(part)).expect("is there");
    fs::write(directory.join(name), bytes).expect("the folder can be written to");
    directory
}

fn run_load(bytes: &[u8], folder: &Path, part: &str) -> Result<String, String> {
    run_cells(&lay_damaged(bytes, folder, part), u64::MAX)
}

fn found_load(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let run = found::read(&lay_damaged(bytes, folder, "records")).map_err(text)?;
    match run.damaged.first() {
        Some(error) => Err(text(error)),
        None => Ok(format!("{} {:?}", run.config, run.records)),
    }
}

fn npz_example() -> Vec<u8> {
    let mut archive = Archive::new();
    let pixels = (0..20 * 6).map(|i| (i * 2) as u8);
    archive.array("x", &[20, 2, 3], pixels).expect("can be written");
    archive.array("y", &[20], (0..20).map(|i| i64::from(i % 3))).expect("can be written");
    archive.finish().expect("can be written")
}

fn npz_load(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let data = npz::read(&file(folder, "mine.npz", bytes)).map_err(text)?;
    // What is accepted can be used.
    for view in [data.train(), data.test()] {
        let mut image = vec![0.0; view.inputs()];
        for index in 0..view.len() {
            view.image(index, &mut image);
            assert!(usize::from(view.label(index)) < data.classes(), "a label is a class");
        }
    }
    Ok(format!("{data:?}"))
}

/// An array of the example.
fn npy_example(name: &str) -> Vec<u8> {
    let mut archive = ZipArchive::new(Cursor::new(npz_example())).expect("is a zip");
    let mut bytes = Vec::new();
    let mut entry = archive.by_name(name).expect("is there");
    entry.read_to_end(&mut bytes).expect("can be read");
    bytes
}

/// The example with one array replaced; the checksums of the archive are right.
fn npy_load(bytes: &[u8], folder: &Path, replaced: &str) -> Result<String, String> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["x.npy", "y.npy"] {
        zip.start_file(name, SimpleFileOptions::default()).map_err(text)?;
        let whole = npy_example(name);
        zip.write_all(if name == replaced { bytes } else { &whole }).map_err(text)?;
    }
    npz_load(&zip.finish().map_err(text)?.into_inner(), folder)
}

fn images_load(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let path = file(folder, "asked.npz", bytes);
    let images = Images::open(&path.display().to_string(), &Cache::at(folder.join("cache")));
    images.map(|images| format!("{images:?}")).map_err(text)
}

fn idx_example(folder: &Path, name: &str, shape: &[usize]) -> Vec<u8> {
    let path = folder.join(name);
    let data: Vec<u8> = (0..shape.iter().product::<usize>()).map(|i| (i % 10) as u8).collect();
    idx::write(&path, shape, &data).expect("can be written");
    fs::read(path).expect("was written")
}

fn idx_images(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let images = idx::read_images(&file(folder, "images", bytes)).map_err(text)?;
    assert_eq!(images.pixels.len(), images.count * images.rows * images.columns);
    Ok(format!("{images:?}"))
}

fn idx_labels(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let labels = idx::read_labels(&file(folder, "labels", bytes), Some(10)).map_err(text)?;
    Ok(format!("{labels:?}"))
}

/// The bytes as a gzip file.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("is memory");
    encoder.finish().expect("is memory")
}

const SIMULATION: &str = r#"experiment = "simulate"
title = "curves"
seeds = 3
n = 100
learner = "sgd"
epochs = [10, 20]
alpha = [1.0, 2.0]
r0 = 0.5
lr = 0.1
[[case]]
gamma = 1.0
[[case]]
gamma = 0.5
[[theory]]
ask = "single"
alpha = "0.1:3:0.1"
beta = 20
[scan]
"alpha.2" = [1.0, 2.0]
[quick]
n = 30
seeds = 1
"#;

fn simulation_load(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let table = config::read_file(&file(folder, "a.toml", bytes)).map_err(text)?;
    for ask in table.get("theory").and_then(|list| list.as_array()).into_iter().flatten() {
        if let Some(ask) = ask.as_table() {
            Query::from_table(ask).map_err(text)?;
        }
    }
    let layers = Layers { file: table, ..Layers::default() };
    let plan = Plan::new(layers, "simulate", &SimulationOptions::list()).map_err(text)?;
    for case in &plan.cases {
        let simulation = Simulation::from_table(&case.table).map_err(text)?;
        simulation.setting.patterns().map_err(text)?;
    }
    Ok(format!("{plan:?}"))
}

const TRAINING: &str = r#"experiment = "train"
seeds = 2
stream = "permuted:digits:3"
learner = "vcl"
hidden = [20, 10]
epochs = [2, 3, 2]
batch = 64
lr = 0.01
beta_schedule = "tanh:10,0.1,2"
anchor = "both"
gamma = 0.1
draws = 2
[[case]]
normalisation = "layer"
[[case]]
normalisation = "batch"
"#;

fn training_load(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let table = config::read_file(&file(folder, "b.toml", bytes)).map_err(text)?;
    let layers = Layers { file: table, ..Layers::default() };
    let plan = Plan::new(layers, "train", &TrainingOptions::list()).map_err(text)?;
    for case in &plan.cases {
        Training::from_table(&case.table).map_err(text)?.check(3).map_err(text)?;
    }
    Ok(format!("{plan:?}"))
}

const TASKS: &str = "# tasks\npermuted:digits:3\nsplit:digits:5\nsequence:digits,digits\n";

fn tasks_load(bytes: &[u8], folder: &Path) -> Result<String, String> {
    let path = file(folder, "tasks.txt", bytes);
    let spec = StreamSpec::read(&path.display().to_string()).map_err(text)?;
    let stream = spec.load(&Cache::at(folder.join("cache"))).map_err(text)?;
    Ok(format!("{spec} {}", stream.len()))
}
