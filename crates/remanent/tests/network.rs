//! The program as its users run it: `remanent train`, and what is done with its models.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use remanent_lab::tensorboard;
use remanent_network::model;
use serde_json::Value;
use tempfile::TempDir;
use zip::ZipArchive;

const TRAIN: &str = "train --stream permuted:digits:2 --hidden 32 --epochs 2 --seeds 2 --out run \
                     --tensorboard --format json --quiet";

fn remanent(directory: &Path, arguments: &str) -> Output {
    Command::cargo_bin("remanent")
        .unwrap()
        .current_dir(directory)
        .env("REMANENT_DATA", directory.join("cache"))
        .args(arguments.split_whitespace())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn printed(directory: &Path, arguments: &str) -> String {
    let output = remanent(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn json(directory: &Path, arguments: &str) -> Value {
    serde_json::from_str(&printed(directory, &format!("{arguments} --format json"))).unwrap()
}

/// Fails with the code, prints nothing, and says why.
fn fails(directory: &Path, code: i32, arguments: &str) -> String {
    let output = remanent(directory, arguments);
    let message = said(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {message}");
    assert!(output.stdout.is_empty(), "{arguments}");
    assert!(message.contains("error: "), "{message}");
    message
}

/// A directory with a finished run in it, trained once for all tests, of which each has its copy.
fn trained() -> TempDir {
    static RUN: OnceLock<TempDir> = OnceLock::new();
    let run = RUN.get_or_init(|| {
        let directory = TempDir::new().unwrap();
        printed(directory.path(), TRAIN);
        directory
    });
    let copy = TempDir::new().unwrap();
    copy_folder(run.path(), copy.path());
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&to).unwrap();
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn summary(directory: &Path) -> Value {
    serde_json::from_slice(&fs::read(directory.join("run/summary.json")).unwrap()).unwrap()
}

/// The model of a trial, as a path from the directory.
fn model_of(directory: &Path, trial: usize) -> PathBuf {
    summary(directory)["models"][trial].as_str().unwrap().into()
}

#[test]
fn a_model_is_exported_in_three_formats() {
    let directory = trained();
    let path = directory.path();
    let model = model_of(path, 0);
    let stem = model.file_stem().unwrap().to_str().unwrap();

    let text = printed(path, &format!("export {} --format packed", model.display()));
    // 64 × 32 + 32 × 10 bits, three widths, and what every file has.
    let size = (64 * 32 + 32 * 10) / 8 + 24 + 4 * 3 + 32;
    assert_eq!(text, format!("{stem}.rbin {size} bytes\n"));
    assert_eq!(fs::metadata(path.join(format!("{stem}.rbin"))).unwrap().len(), size);

    let message = fails(path, 2, &format!("export {} --format packed", model.display()));
    assert!(message.contains("already exists") && message.contains("--force"), "{message}");
    printed(path, &format!("export {} --format packed --force", model.display()));

    // A run directory says which model it took, and a packed model is as good as any.
    let output = remanent(path, "export run --trial 1 --format npz");
    assert!(said(&output).contains(model_of(path, 1).to_str().unwrap()), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("run-trial-1.npz "));
    printed(path, "export run --format npz --out a.npz");
    printed(path, &format!("export {stem}.rbin --format npz --out b.npz"));
    assert_eq!(fs::read(path.join("a.npz")).unwrap(), fs::read(path.join("b.npz")).unwrap());
    printed(path, "export run --format onnx --out a.onnx");
    let onnx = fs::read(path.join("a.onnx")).unwrap();
    assert!(onnx.windows(13).any(|window| window == b"probabilities"));

    for (arguments, told) in [
        ("export run --format packd", "packed, npz, onnx"),
        ("export run --trial 7 --format npz", "done: 0, 1"),
        ("export run --case 2 --format npz", "cases 1 to 1"),
        ("export a.onnx --trial 1 --format npz", "--trial"),
        ("export nowhere --format npz", "no file or directory nowhere"),
        ("export run --format npz --out run", "is a directory"),
    ] {
        let output = remanent(path, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", said(&output));
        assert!(said(&output).contains(told), "{arguments}: {}", said(&output));
    }
    let model = model.display();
    let itself = format!("export {model} --format onnx --out {model} --force");
    assert!(fails(path, 2, &itself).contains("is the model itself"));
    fails(path, 1, "export a.onnx --format npz --out c.npz");
}

#[test]
fn packed_and_trained_models_answer_alike() {
    let directory = trained();
    let path = directory.path();
    printed(path, "export run --format packed --out a.rbin");
    let model = model_of(path, 0);
    let task = "digits --task 2 --stream permuted:digits:2";
    let packed = json(path, &format!("predict a.rbin {task}"));
    // The story of the model tells the stream.
    let trained = json(path, &format!("predict {} digits --task 2", model.display()));
    assert_eq!(packed["predictions"], trained["predictions"]);
    assert_eq!(packed["accuracy"], trained["accuracy"]);
    assert_eq!((&packed["images"], &packed["predictor"]), (&360.into(), &"hard".into()));

    let csv = printed(path, &format!("predict a.rbin {task} --format csv --limit 30"));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 31);
    assert!(lines[0].starts_with("index,class,probability,label,p_0,p_1,"), "{}", lines[0]);
    let class = packed["predictions"][0]["class"].as_u64().unwrap();
    assert!(lines[1].starts_with(&format!("0,{class},")), "{}", lines[1]);
    let csv = printed(path, &format!("predict a.rbin {task} --format csv --labels none"));
    assert!(csv.starts_with("index,class,probability,p_0,"));

    let output = remanent(path, &format!("predict a.rbin {task}"));
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(table.contains("accuracy") && table.lines().count() < 30, "{table}");
    assert!(said(&output).contains("images per second"), "{}", said(&output));
}

#[test]
fn accuracies_are_those_of_the_training() {
    let directory = trained();
    let path = directory.path();
    let matrix = &summary(path)["hard"]["accuracy_matrix"];
    for task in 1..=2 {
        let accuracy = |trial: usize| {
            let arguments = format!("predict run digits --trial {trial} --task {task}");
            json(path, &arguments)["accuracy"].as_f64().unwrap()
        };
        let wanted = matrix[1][task - 1]["mean"].as_f64().unwrap();
        assert!(((accuracy(0) + accuracy(1)) / 2.0 - wanted).abs() < 1e-9, "task {task}");
    }
    // Asked without its permutation the network knows nothing.
    let lost = json(path, "predict run digits")["accuracy"].as_f64().unwrap();
    let known = json(path, "predict run digits --task 2")["accuracy"].as_f64().unwrap();
    assert!(lost < known, "{lost} {known}");
    for predictor in ["stochastic", "mean_field", "sampled"] {
        let arguments = format!("predict run digits --task 2 --predictor {predictor} --draws 4");
        let found = json(path, &arguments);
        assert_eq!(found["predictor"], predictor);
        assert!(found["accuracy"].as_f64().unwrap() > 0.15, "{predictor}");
        assert_eq!(json(path, &arguments), found);
    }
}

#[test]
fn own_images_need_no_labels() {
    let directory = trained();
    let path = directory.path();
    let data = remanent_data::digits::load();
    let view = data.test();
    let mut images = vec![0.0; 5 * 64];
    view.batch(&[0, 1, 2, 3, 4], &mut images);
    // To bytes of 0 to 255, and so not quite the same numbers.
    let bytes: Vec<u8> = images.iter().map(|x| (x * 255.0).round() as u8).collect();
    remanent_data::idx::write(&path.join("some-images-idx3-ubyte"), &[5, 8, 8], &bytes).unwrap();
    let found = json(path, "predict run some-images-idx3-ubyte --task 1");
    assert!(found.get("accuracy").is_none());
    assert_eq!(found["predictions"].as_array().unwrap().len(), 5);
    assert!(found["predictions"][0].get("label").is_none());

    let mut archive = remanent_formats::npz::Archive::new();
    archive.array("x", &[5, 64], images).unwrap();
    archive.array("y", &[5], (0..5).map(|i| i64::from(view.label(i)))).unwrap();
    fs::write(path.join("own.npz"), archive.finish().unwrap()).unwrap();
    let found = json(path, "predict run own.npz --task 1");
    let whole = json(path, "predict run digits --task 1 --limit 5");
    assert_eq!(found["predictions"], whole["predictions"]);
    assert_eq!(found["accuracy"], whole["accuracy"]);

    remanent_data::idx::write(&path.join("some-labels-idx1-ubyte"), &[5], &[1, 2, 3, 77, 5])
        .unwrap();
    let message = fails(path, 2, "predict run some-images-idx3-ubyte");
    assert!(message.contains("label 77 of image 3") && message.contains("--labels none"));
    printed(path, "predict run some-images-idx3-ubyte --labels none");
}

#[test]
fn a_split_task_has_classes_of_its_own() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    printed(path, "train --stream split:digits:2 --hidden 16 --epochs 2 --out run --quiet");
    let found = json(path, "predict run digits --task 5");
    assert_eq!(found["classes"], serde_json::json!([8, 9]));
    for row in found["predictions"].as_array().unwrap() {
        assert!([8, 9].map(Value::from).contains(&row["class"]));
        assert!([8, 9].map(Value::from).contains(&row["label"]));
    }
    let wanted = summary(path)["hard"]["accuracy_matrix"][4][4]["mean"].as_f64().unwrap();
    assert!((found["accuracy"].as_f64().unwrap() - wanted).abs() < 1e-9);
    // Without a task the labels are more than the classes.
    assert!(fails(path, 2, "predict run digits").contains("the classes 0 to 1"));
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    let directory = trained();
    let path = directory.path();
    printed(path, "export run --format packed --out a.rbin");
    remanent_data::idx::write(&path.join("big-images-idx3-ubyte"), &[1, 28, 28], &[0; 784])
        .unwrap();
    for (arguments, told) in [
        ("predict run big-images-idx3-ubyte", "have 784 pixels, and the model takes 64"),
        ("predict run digits --limit 0", "images 1 to 360"),
        ("predict run digits --limit 361", "images 1 to 360"),
        ("predict run digits --task 3", "tasks 1 to 2"),
        ("predict a.rbin digits --task 1", "--task needs --stream"),
        ("predict a.rbin digits --predictor sampled", "--predictor hard"),
        ("predict run digits --draws 0", "between 1 and 10000"),
        ("predict run dgits", "did you mean 'digits'?"),
        ("predict run digits --task 1 --stream permutd:digits:2", "did you mean 'permuted'?"),
        ("inspect a.rbin --plot a.svg", "signs alone"),
        ("inspect run --plot a.pdf", ".svg"),
    ] {
        let message = fails(path, 2, arguments);
        assert!(message.contains(told), "{arguments}: {message}");
    }
    assert_eq!(remanent(path, "predict run digits --predictor hart").status.code(), Some(2));
    assert_eq!(remanent(path, "predict run digits --stream a").status.code(), Some(2));
}

#[test]
fn models_and_runs_are_inspected() {
    let directory = trained();
    let path = directory.path();
    let model = model_of(path, 1);
    let found = json(path, &format!("inspect {} --plot fields.svg", model.display()));
    assert_eq!((&found["kind"], &found["weights"]), (&"model".into(), &2368.into()));
    assert_eq!((&found["bytes_packed"], &found["theta"]), (&364.into(), &"field".into()));
    let story = &found["story"];
    assert_eq!((&story["trial"], &story["training"]["learner"]), (&1.into(), &"vcl".into()));
    let last = &summary(path)["epochs"][3];
    let mut sum = 0.0;
    for (l, layer) in found["layers"].as_array().unwrap().iter().enumerate() {
        let uncertainty = layer["uncertainty"].as_f64().unwrap();
        let mean = last["uncertainty"][l]["mean"].as_f64().unwrap();
        let error = last["uncertainty"][l]["standard_error"].as_f64().unwrap();
        assert!((uncertainty - mean).abs() <= 1.001 * error, "{uncertainty} {mean} {error}");
        let counts = layer["histogram"]["counts"].as_array().unwrap();
        assert_eq!(
            counts.iter().map(|count| count.as_u64().unwrap()).sum::<u64>(),
            layer["weights"].as_u64().unwrap()
        );
        sum += layer["positive"].as_f64().unwrap();
    }
    assert!((0.6..1.4).contains(&sum), "{sum}");
    let svg = fs::read_to_string(path.join("fields.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("layer 2"));
    let table = printed(path, &format!("inspect {}", model.display()));
    assert!(table.contains("bytes packed") && table.contains("permuted:digits:2"), "{table}");

    printed(path, "export run --trial 1 --format packed --out a.rbin");
    let packed = json(path, "inspect a.rbin");
    assert_eq!((&packed["format"], &packed["bytes"]), (&"packed".into(), &364.into()));
    assert_eq!(packed["layers"][0]["positive"], found["layers"][0]["positive"]);

    let run = json(path, "inspect run --plot run.svg");
    assert_eq!((&run["done"], &run["experiment"]), (&2.into(), &"train".into()));
    assert_eq!(run["cases"][0]["summary"]["hard"], summary(path)["hard"]);
    assert_eq!(
        fs::read(path.join("run.svg")).unwrap(),
        fs::read(path.join("run/training.svg")).unwrap()
    );
    let table = printed(path, "inspect run");
    assert!(table.contains("training.svg") && table.contains("after (hard)"), "{table}");
    let csv = printed(path, "inspect run --format csv");
    assert_eq!(csv, fs::read_to_string(path.join("run/summary.csv")).unwrap());

    // A record that was changed is told, and the others are used.
    let record = fs::read_dir(path.join("run/records")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&record).unwrap().replace("\"steps\":", "\"stebs\":");
    fs::write(&record, text).unwrap();
    let output = remanent(path, "inspect run --format json");
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("checksum"), "{}", said(&output));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(run["done"], 1);
}

/// A program that is killed leaves its checkpoint.
#[test]
fn a_checkpoint_tells_where_it_stands() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    let arguments = "train --stream permuted:digits:2 --hidden 32 --epochs 10000 --evaluate task \
                     --out other --checkpoint-every 0 --quiet";
    let mut child = Process::new(assert_cmd::cargo::cargo_bin!("remanent"))
        .current_dir(path)
        .args(arguments.split_whitespace())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoints = || -> Vec<PathBuf> {
        let entries = fs::read_dir(path.join("other/checkpoints")).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|e| e == "safetensors")).collect()
    };
    let start = Instant::now();
    while checkpoints().is_empty() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let checkpoints = checkpoints();
    assert_eq!(checkpoints.len(), 1);
    let name = checkpoints[0].display().to_string();
    let found = json(path, &format!("inspect {name}"));
    assert_eq!((&found["kind"], &found["weights"]), (&"checkpoint".into(), &2368.into()));
    assert!(found["steps"].as_u64().unwrap() > 0, "{found}");
    let floats = found["floats_per_weight"].as_f64().unwrap();
    assert!((1.0..=5.0).contains(&floats), "{floats}");
    assert!(printed(path, &format!("inspect {name}")).contains("task under way"));
    let run = json(path, "inspect other");
    assert_eq!(run["under_way"].as_array().unwrap().len(), 1);
    assert_eq!(run["under_way"][0]["steps"], found["steps"]);
    // It is no model.
    let message = fails(path, 1, &format!("export {name} --format npz"));
    assert!(message.contains("it is a checkpoint, not a model"), "{message}");
    assert!(fails(path, 2, "predict other digits").contains("trial 0 is not done"));
    assert!(fails(path, 2, "inspect other --plot a.svg").contains("no trial is done"));
}

#[test]
fn damage_is_told_and_not_believed() {
    let directory = trained();
    let path = directory.path();
    let model = path.join(model_of(path, 0));
    let whole = fs::read(&model).unwrap();
    printed(path, "export run --format packed --out whole.rbin");
    let packed = fs::read(path.join("whole.rbin")).unwrap();

    let mut damaged = whole.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let version = String::from_utf8_lossy(&whole[..2000.min(whole.len())]).into_owned();
    let at = version.find("\\\"version\\\":1").unwrap() + "\\\"version\\\":".len();
    let mut newer = whole.clone();
    newer[at] = b'9';
    let mut packed_damaged = packed.clone();
    packed_damaged[100] ^= 1;
    let mut packed_newer = packed.clone();
    packed_newer[8] = 9;
    for (name, bytes, told) in [
        ("damaged.safetensors", &damaged[..], "damaged"),
        ("short.safetensors", &whole[..whole.len() / 2], "cut short"),
        ("empty.safetensors", &[], "cut short"),
        ("newer.safetensors", &newer, "format 9"),
        ("foreign.safetensors", b"\x02\0\0\0\0\0\0\0{}", "not written by remanent"),
        ("text.safetensors", b"something else altogether", "not a safetensors file"),
        ("damaged.rbin", &packed_damaged, "checksum"),
        ("short.rbin", &packed[..packed.len() - 7], "cut short"),
        ("newer.rbin", &packed_newer, "format 9"),
        ("text.rbin", b"something else altogether", "not a packed network"),
    ] {
        fs::write(path.join(name), bytes).unwrap();
        for arguments in [
            format!("inspect {name}"),
            format!("export {name} --format onnx"),
            format!("predict {name} digits"),
        ] {
            let message = fails(path, 1, &arguments);
            assert!(message.contains(told) && message.contains(name), "{arguments}: {message}");
        }
    }
    fs::create_dir(path.join("empty")).unwrap();
    assert!(fails(path, 1, "inspect empty").contains("not a run directory"));
    assert!(fails(path, 1, "predict empty digits").contains("not a run directory"));
    assert!(!path.join("damaged.onnx").exists());
    assert!(model::decode(&whole).is_ok());
}

/// The numbers of an array in an .npz file, and its shape.
fn array(path: &Path, name: &str) -> (Vec<u64>, Vec<f64>) {
    let mut archive = ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let mut bytes = Vec::new();
    archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
    let array = npyz::NpyFile::new(&bytes[..]).unwrap();
    (array.shape().to_vec(), array.into_vec().unwrap())
}

#[test]
fn results_are_there_for_other_programs() {
    let directory = trained();
    let path = directory.path();
    let summary = summary(path);
    let results = path.join("run/results.npz");
    for predictor in ["stochastic", "mean_field", "sampled", "hard"] {
        let (shape, values) = array(&results, &format!("{predictor}_accuracy"));
        assert_eq!(shape, [2, 2, 2]);
        let mean = (values[3] + values[7]) / 2.0;
        let wanted = summary[predictor]["accuracy_matrix"][1][1]["mean"].as_f64().unwrap();
        assert!((mean - wanted).abs() < 1e-12);
        for kind in ["nll", "ece"] {
            assert_eq!(array(&results, &format!("{predictor}_{kind}")).0, [2, 2, 2]);
        }
    }
    for name in ["uncertainty", "flip_ratio"] {
        assert_eq!(array(&results, name).0, [2, 4, 2], "{name}");
    }
    let (shape, losses) = array(&results, "loss");
    assert_eq!(shape, [2, 4]);
    let wanted = summary["epochs"][0]["loss"]["mean"].as_f64().unwrap();
    assert!(((losses[0] + losses[4]) / 2.0 - wanted).abs() < 1e-12);

    for trial in 0..2 {
        let file = path.join(format!("run/tensorboard/trial-{trial}")).join(tensorboard::FILE_NAME);
        let bytes = fs::read(&file).unwrap();
        let frames = tensorboard::frames(&bytes).unwrap();
        // The version, and one for each epoch.
        assert_eq!(frames.len(), 5);
        for tag in [
            "loss",
            "beta",
            "output_scale",
            "divergence",
            "accuracy/hard/task_2",
            "uncertainty/layer_1",
            "flip_ratio/layer_2",
        ] {
            let holds = |frame: &[u8]| frame.windows(tag.len()).any(|w| w == tag.as_bytes());
            assert!(holds(frames[4]), "{tag}");
        }
        // The same run gives the same files.
        fs::remove_file(&file).unwrap();
        printed(path, TRAIN);
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
    let cases = "train --stream permuted:digits:2 --hidden 8 --epochs 1 --train-images 64 \
                 --scan gamma=0,1 --out cases --tensorboard --quiet";
    printed(path, cases);
    assert_eq!(array(&path.join("cases/results.npz"), "case2_hard_accuracy").0, [1, 2, 2]);
    assert!(path.join("cases/tensorboard/case-2/trial-0").is_dir());
    assert!(fails(path, 2, "export cases --format npz").contains("--case 1 to --case 2"));
    let text = printed(path, "export cases --case 2 --format npz");
    assert!(text.starts_with("cases-case-2-trial-0.npz "), "{text}");
    let run = json(path, "inspect cases");
    assert_eq!(run["cases"][1]["label"], "gamma_step = 1, gamma_task = 1");
}
