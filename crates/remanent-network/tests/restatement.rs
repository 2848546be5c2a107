//! Traced runs of all learners, replayed by `restatement.py`, a second statement of the same
//! definitions that shares no code with this one: all parameters and losses agree to 1e-5.
//!
//! The script is run by the Python that the environment variable `REMANENT_PYTHON` names, which must
//! have NumPy. Without the variable there is nothing to compare with.
//!
//! The numbers here are of single precision, there of double. One of the runs has a larger ε of Adam
//! for that reason. In `ste` without normalisation, a neuron whose outgoing weights all have one sign
//! has no gradient, for Σ_j K_j = 0 over the classes; rounding leaves 1e-8 of it, and with the usual
//! ε of 1e-8 Adam makes a step of full length of that. Which one is no matter of definition.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;

use npyz::WriterBuilder;
use remanent_math::philox::Stream;
use remanent_network::architecture::{Activation, Normalisation};
use remanent_network::learner::{Anchor, Fisher, Form, Learner, Optimizer, Parameters};
use remanent_network::network::{Network, Weights};
use remanent_network::trainer::{Moment, Trainer};
use serde_json::json;

const WIDTHS: [usize; 4] = [20, 16, 12, 5];
const LAYERS: usize = 3;
const STEPS: usize = 50;
const BATCH: usize = 12;
/// Steps before which a new task begins.
const SWITCHES: [usize; 2] = [20, 37];
/// Training images of each task.
const EXAMPLES: [usize; 3] = [240, 180, 150];
/// Images of a task that the empirical Fisher information is taken of.
const INFORMATION: usize = 30;
const RECORDED: [usize; 6] = [0, 1, 2, 21, 38, 50];

const IMAGES: u32 = 1;
const LABELS: u32 = 2;
const NOISE: u32 = 10;
const FISHER_IMAGES: u32 = 20;
const FISHER_LABELS: u32 = 21;
const FISHER_NOISE: u32 = 30;

fn normals(count: usize, purpose: u32, step: usize) -> Vec<f32> {
    let mut out = vec![0.0; count];
    Stream::new(77, purpose, 0, step as u32).fill_normals(0, &mut out);
    out
}

/// Classes that have to do with the images, so that there is something to learn.
fn labels(images: &[f32], purpose: u32, step: usize) -> Vec<u8> {
    let stream = Stream::new(77, purpose, 0, step as u32);
    let classes = WIDTHS[LAYERS];
    let largest = |image: &[f32]| {
        (0..classes).max_by(|&i, &j| image[i].total_cmp(&image[j])).unwrap_or(0) as u8
    };
    let label = |(b, image)| match stream.uniform(b as u32) < 0.2 {
        true => (5.0 * stream.uniform(1000 + b as u32)) as u8,
        false => largest(image),
    };
    images.chunks_exact(WIDTHS[0]).enumerate().map(label).collect()
}

/// Rows of `columns` numbers become columns.
fn transposed(x: &[f32], columns: usize) -> Vec<f32> {
    let rows = x.len() / columns;
    (0..x.len()).map(|at| x[at % rows * columns + at / rows]).collect()
}

fn write_array(folder: &Path, name: &str, shape: &[usize], values: &[f32]) {
    let file = BufWriter::new(File::create(folder.join(format!("{name}.npy"))).unwrap());
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    let options = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file);
    let mut writer = options.begin_nd().unwrap();
    writer.extend(values.iter().copied()).unwrap();
    writer.finish().unwrap();
}

fn write_labels(folder: &Path, name: &str, shape: &[usize], labels: &[u8]) {
    let values: Vec<f32> = labels.iter().map(|&label| f32::from(label)).collect();
    write_array(folder, name, shape, &values);
}

/// β of each step: another one in every task, and once within a task.
fn betas() -> Vec<f32> {
    let beta = |k| match k {
        0..12 => 0.8,
        12..20 => 1.1,
        20..37 => 1.5,
        _ => 2.25,
    };
    (0..STEPS).map(beta).collect()
}

/// m of each step: another one in every task.
fn metas() -> Vec<f32> {
    (0..STEPS).map(|k| [0.5, 0.9, 1.3][task(k)]).collect()
}

fn task(step: usize) -> usize {
    SWITCHES.iter().filter(|&&switch| switch <= step).count()
}

/// What is recorded of the parameters, row by row.
#[derive(Default)]
struct Recorder {
    theta: [Vec<f32>; LAYERS],
    gain: [Vec<f32>; LAYERS],
    shift: [Vec<f32>; LAYERS],
    log_scale: Vec<f32>,
}

impl Recorder {
    fn record(&mut self, network: &Network) {
        for l in 0..LAYERS {
            self.theta[l].extend(network.layers()[l].theta());
        }
        for (l, norm) in network.batch_norms().iter().enumerate() {
            self.gain[l].extend(norm.arrays()[0].1);
            self.shift[l].extend(norm.arrays()[1].1);
        }
        self.log_scale.push(network.log_scale());
    }

    fn write(&self, folder: &Path) {
        for l in 0..LAYERS {
            let (n, m) = (WIDTHS[l], WIDTHS[l + 1]);
            write_array(folder, &format!("after_{l}"), &[RECORDED.len(), n, m], &self.theta[l]);
            if !self.gain[l].is_empty() {
                write_array(folder, &format!("gain_{l}"), &[RECORDED.len(), m], &self.gain[l]);
                write_array(folder, &format!("shift_{l}"), &[RECORDED.len(), m], &self.shift[l]);
            }
        }
        write_array(folder, "temperature", &[RECORDED.len()], &self.log_scale);
    }
}

/// Makes a run, and writes all that went in and came out.
fn trace(folder: &Path, parameters: &Parameters) {
    fs::create_dir(folder).unwrap();
    let (betas, metas) = (betas(), metas());
    let about = json!({
        "widths": WIDTHS,
        "activation": parameters.activation,
        "normalisation": parameters.normalisation,
        "learner": parameters.learner,
        "anchor": parameters.anchor,
        "gamma_step": parameters.gamma_step,
        "gamma_task": parameters.gamma_task,
        "fisher": parameters.fisher,
        "form": parameters.form,
        "optimizer": parameters.optimizer,
        "learning_rate": parameters.lr,
        "adam": parameters.adam,
        "metaplastic": parameters.metaplastic,
        "reset_moments": parameters.reset_moments,
        "learned_temperature": parameters.learned_scale,
        "least_temperature": parameters.least_scale,
        "examples": EXAMPLES,
        "switches": SWITCHES,
        "beta": betas,
        "meta": metas,
        "recorded": RECORDED,
    });
    fs::write(folder.join("case.json"), about.to_string()).unwrap();

    let architecture = parameters.architecture(WIDTHS[0], WIDTHS[LAYERS]);
    assert_eq!(architecture.widths, WIDTHS);
    let network = Network::random(&architecture, parameters.weights(), 1.0, 5, 0).unwrap();
    for (l, layer) in network.layers().iter().enumerate() {
        write_array(
            folder,
            &format!("theta0_{l}"),
            &[layer.inputs(), layer.outputs()],
            layer.theta(),
        );
    }

    let mut trainer = Trainer::new(parameters, network).unwrap();
    let mut recorder = Recorder::default();
    recorder.record(trainer.network());
    let (mut all_images, mut all_labels, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    let mut all_noise: [Vec<f32>; LAYERS] = Default::default();
    for k in 0..STEPS {
        if SWITCHES.contains(&k) {
            end_task(folder, &mut trainer, task(k) - 1);
        }
        let images = normals(BATCH * WIDTHS[0], IMAGES, k);
        let labels = labels(&images, LABELS, k);
        let (beta, meta, examples) = (betas[k], metas[k], EXAMPLES[task(k)]);
        let moment = Moment { beta, meta, rate: 1.0, examples };
        let mut noise = |l: usize, out: &mut [f32]| {
            let rows = normals(out.len(), NOISE + l as u32, k);
            out.copy_from_slice(&transposed(&rows, WIDTHS[l + 1]));
            all_noise[l].extend(rows);
        };
        losses.push(trainer.step(&images, &labels, &moment, &mut noise).unwrap() as f32);
        all_images.extend(images);
        all_labels.extend(labels);
        if RECORDED.contains(&(k + 1)) {
            recorder.record(trainer.network());
        }
    }
    write_array(folder, "images", &[STEPS, BATCH, WIDTHS[0]], &all_images);
    write_labels(folder, "labels", &[STEPS, BATCH], &all_labels);
    write_array(folder, "loss", &[STEPS], &losses);
    if parameters.weights() == Weights::Field {
        for (l, noise) in all_noise.iter().enumerate() {
            write_array(folder, &format!("noise_{l}"), &[STEPS, BATCH, WIDTHS[l + 1]], noise);
        }
    }
    recorder.write(folder);
}

/// A task ends for the learner.
fn end_task(folder: &Path, trainer: &mut Trainer, task: usize) {
    let parameters = trainer.parameters();
    if !parameters.sees_switches() {
        return;
    }
    let (learner, fisher) = (parameters.learner, parameters.fisher);
    if parameters.reset_moments {
        trainer.reset_moments();
    }
    if learner != Learner::Ewc || fisher == Fisher::Variance {
        return trainer.set_anchor(task);
    }
    let images = normals(INFORMATION * WIDTHS[0], FISHER_IMAGES, task);
    let labels = labels(&images, FISHER_LABELS, task);
    let path = |name: &str| format!("fisher_{name}_{task}");
    write_array(folder, &path("images"), &[INFORMATION, WIDTHS[0]], &images);
    write_labels(folder, &path("labels"), &[INFORMATION], &labels);
    let mut noise = |l: usize, out: &mut [f32]| {
        let rows = normals(out.len(), FISHER_NOISE + l as u32, task);
        out.copy_from_slice(&transposed(&rows, WIDTHS[l + 1]));
        let name = format!("fisher_noise_{task}_{l}");
        write_array(folder, &name, &[INFORMATION, WIDTHS[l + 1]], &rows);
    };
    let mut informations = trainer.empty_information();
    trainer.add_information(&images, &labels, &mut noise, &mut informations);
    trainer.set_elastic(informations);
}

/// The runs, by name.
fn cases() -> Vec<(&'static str, Parameters)> {
    let of = |learner| Parameters {
        hidden: WIDTHS[1..LAYERS].to_vec(),
        batch: BATCH,
        gamma_step: 0.7,
        gamma_task: 1.6,
        ..Parameters::of(learner)
    };
    let (vcl, ewc) = (of(Learner::Vcl), of(Learner::Ewc));
    // At the learner's own rate of 3 every step turns many signs, and rounding decides some of them.
    let meta = Parameters { lr: 0.1, ..of(Learner::Metaplasticity) };
    let ste = of(Learner::Ste);
    let both = Parameters { anchor: Anchor::Both, ..vcl.clone() };
    let original = Parameters {
        form: Form::Original,
        optimizer: Optimizer::Adam,
        activation: Activation::Sign,
        normalisation: Normalisation::Batch,
        lr: 0.01,
        ..meta.clone()
    };
    let sgd = |parameters: &Parameters| Parameters {
        optimizer: Optimizer::Sgd,
        lr: 0.02,
        ..parameters.clone()
    };
    vec![
        ("vcl-none", Parameters { anchor: Anchor::None, ..vcl.clone() }),
        ("vcl-step", vcl.clone()),
        ("vcl-task", Parameters { anchor: Anchor::Task, ..vcl.clone() }),
        ("vcl-both", both.clone()),
        ("vcl-both-metaplastic", Parameters { metaplastic: true, ..both.clone() }),
        (
            "vcl-both-batch-scale-moments",
            Parameters {
                reset_moments: true,
                normalisation: Normalisation::Batch,
                learned_scale: true,
                ..both.clone()
            },
        ),
        ("vcl-both-sgd", sgd(&both)),
        ("vcl-both-sgd-metaplastic", Parameters { metaplastic: true, ..sgd(&both) }),
        (
            "vcl-both-layer-scale",
            Parameters { normalisation: Normalisation::Layer, learned_scale: true, ..both.clone() },
        ),
        (
            "vcl-both-least-scale",
            Parameters { learned_scale: true, least_scale: 1.0, ..both.clone() },
        ),
        ("vcl-both-batch", Parameters { normalisation: Normalisation::Batch, ..both.clone() }),
        (
            "vcl-step-batch-scale",
            Parameters { normalisation: Normalisation::Batch, learned_scale: true, ..vcl.clone() },
        ),
        ("vcl-step-sign", Parameters { activation: Activation::Sign, ..vcl }),
        ("ewc-step", Parameters { anchor: Anchor::Step, ..ewc.clone() }),
        ("ewc-task", ewc.clone()),
        ("ewc-both", Parameters { anchor: Anchor::Both, ..ewc.clone() }),
        ("ewc-empirical", Parameters { fisher: Fisher::Empirical, ..ewc.clone() }),
        (
            "ewc-empirical-sgd",
            Parameters {
                fisher: Fisher::Empirical,
                normalisation: Normalisation::Layer,
                ..sgd(&ewc)
            },
        ),
        ("metaplasticity-printed", meta.clone()),
        (
            "metaplasticity-printed-layer",
            Parameters { normalisation: Normalisation::Layer, ..meta },
        ),
        ("metaplasticity-original", original),
        ("ste", Parameters { adam: [0.9, 0.99, 1e-3], ..ste.clone() }),
        (
            "ste-sign-batch",
            Parameters {
                activation: Activation::Sign,
                normalisation: Normalisation::Batch,
                learned_scale: true,
                ..ste
            },
        ),
    ]
}

#[test]
fn a_second_statement_of_every_learner_arrives_at_the_same_parameters() {
    let Some(python) = std::env::var_os("REMANENT_PYTHON") else {
        println!("skipped: REMANENT_PYTHON names no Python with the packages of requirements.txt");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/restatement.py");
    let mut command = Command::new(&python);
    command.arg(script);
    for (name, parameters) in cases() {
        parameters.check(EXAMPLES.len(), EXAMPLES.len()).unwrap();
        let folder = directory.path().join(name);
        trace(&folder, &parameters);
        command.arg(folder);
    }
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {}: {error}", python.display()));
    let lines = String::from_utf8_lossy(&output.stdout);
    println!("{lines}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{lines}{errors}");
    assert_eq!(lines.lines().filter(|line| line.ends_with("agrees")).count(), cases().len());
}

#[test]
fn the_second_statement_checks_itself() {
    let Some(python) = std::env::var_os("REMANENT_PYTHON") else {
        println!("skipped: REMANENT_PYTHON names no Python with the packages of requirements.txt");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/restatement.py");
    let output = Command::new(&python).arg(script).arg("--self-test").output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {}: {error}", python.display()));
    let lines = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{lines}{errors}");
}
