//! What is computed is what was asked: results are known by the content of the data and of the tasks, and
//! models by the trial that they come from.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
#[cfg(unix)]
use std::time::Duration;

use remanent_data::idx;
use remanent_formats::npz::Archive;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{json, records, refused, remanent};

const TINY: &str = "--hidden 8 --epochs 1 --draws 1 --evaluate task --quiet";

fn output(directory: &TempDir, arguments: &str) -> Output {
    remanent(directory, arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Ends well; gives what was said.
fn done(directory: &TempDir, arguments: &str) -> String {
    let output = output(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", said(&output));
    said(&output)
}

/// Ends with exit code 1; gives what was said.
fn fails(directory: &TempDir, arguments: &str) -> String {
    let output = output(directory, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments}: {}", said(&output));
    said(&output)
}

/// Images of 16 pixels in two classes; another `kind` has others.
fn pixels(count: usize, kind: u8) -> Vec<u8> {
    (0..count * 16).map(|i| ((i * 37 + usize::from(kind) * 11) % 251) as u8).collect()
}

fn labels(count: usize) -> impl Iterator<Item = u8> {
    (0..count).map(|i| (i % 2) as u8)
}

/// An .npz file with both parts.
fn write_npz(path: &Path, kind: u8) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut archive = Archive::new();
    for (part, count) in [("train", 24), ("test", 10)] {
        let images = pixels(count, kind).into_iter().map(|byte| f32::from(byte) / 255.0);
        archive.array(&format!("x_{part}"), &[count, 16], images).unwrap();
        let labels = labels(count).map(i64::from);
        archive.array(&format!("y_{part}"), &[count], labels).unwrap();
    }
    fs::write(path, archive.finish().unwrap()).unwrap();
}

/// A folder with idx files.
fn write_idx(folder: &Path, kind: u8) {
    for (part, count) in [("train", 24), ("t10k", 10)] {
        let images = folder.join(format!("{part}-images-idx3-ubyte"));
        idx::write(&images, &[count, 4, 4], &pixels(count, kind)).unwrap();
        let labels: Vec<u8> = labels(count).collect();
        idx::write(&folder.join(format!("{part}-labels-idx1-ubyte")), &[count], &labels).unwrap();
    }
}

fn write(path: &Path, kind: u8) {
    if path.extension().is_some() { write_npz(path, kind) } else { write_idx(path, kind) }
}

/// The keys of the records of a run.
fn keys(run: &Path) -> Vec<Value> {
    let json = |(_, bytes): (String, Vec<u8>)| {
        let start = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        serde_json::from_slice::<Value>(&bytes[start..]).unwrap()["key"].take()
    };
    records(run).into_iter().map(json).collect()
}

fn runs(directory: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.path().join("runs")).unwrap();
    let mut runs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    runs
}

/// Whatever own data is called and wherever it stands: to edit it is to ask for something else.
#[test]
fn own_data_is_known_by_its_content() {
    for (arguments, files, edited) in [
        ("--stream sequence:mnist.npz", &["mnist.npz"][..], "mnist.npz"),
        ("--stream permuted:digits.npz:2", &["digits.npz"], "digits.npz"),
        ("--stream split:fashion-mnist.npz:1", &["fashion-mnist.npz"], "fashion-mnist.npz"),
        ("--stream sequence:./mnist", &["mnist"], "./mnist"),
        ("--stream sequence:x/digits", &["x/digits"], "x/digits"),
        ("--stream sequence:a/d.npz,b/d.npz", &["a/d.npz", "b/d.npz"], "b/d.npz"),
        ("--stream sequence:d.npz --ood ood.npz", &["d.npz", "ood.npz"], "ood.npz"),
        ("--stream sequence:d.npz --ood ./mnist", &["d.npz", "mnist"], "./mnist"),
    ] {
        let directory = TempDir::new().unwrap();
        for (kind, file) in files.iter().enumerate() {
            write(&directory.path().join(file), kind as u8);
        }
        let command = format!("train {arguments} {TINY}");
        let with_out = format!("{command} --out run");
        done(&directory, &with_out);
        let run = directory.path().join("run");
        let before = records(&run);
        assert!(keys(&run)[0]["data"][edited].is_string(), "{arguments}: {}", keys(&run)[0]);
        done(&directory, &command);
        // What did not change is not computed again.
        done(&directory, &with_out);
        done(&directory, &command);
        assert_eq!((records(&run), runs(&directory).len()), (before.clone(), 1));

        write(&directory.path().join(edited), 9);
        let message = refused(&directory, &with_out);
        assert!(message.contains("another experiment"), "{arguments}: {message}");
        assert!(message.contains(&format!("data.{edited}: there")), "{arguments}: {message}");
        assert_eq!(records(&run), before);
        done(&directory, &command);
        assert_eq!(runs(&directory).len(), 2, "{arguments}");
        let [first, second] = [0, 1].map(|i| records(&runs(&directory)[i]));
        assert_ne!(first[0].0, second[0].0, "{arguments}");
        done(&directory, &format!("{with_out} --fresh"));
        assert_ne!(records(&run), before, "{arguments}");
    }
}

/// Images that move from the training part to the test part are the same images, and other data.
#[test]
fn the_parts_of_a_dataset_are_told_apart() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("d.npz");
    let write = |train: usize| {
        let mut archive = Archive::new();
        let images = |from: usize, to: usize| {
            let bytes = pixels(40, 0)[16 * from..16 * to].to_vec();
            bytes.into_iter().map(|byte| f32::from(byte) / 255.0)
        };
        let classes = |from: usize, to: usize| (from..to).map(|i| (i % 2) as i64);
        for (part, from, to) in [("train", 0, train), ("test", train, 40)] {
            let count = to - from;
            archive.array(&format!("x_{part}"), &[count, 16], images(from, to)).unwrap();
            archive.array(&format!("y_{part}"), &[count], classes(from, to)).unwrap();
        }
        fs::write(&path, archive.finish().unwrap()).unwrap();
    };
    let command = format!("train --stream sequence:d.npz --train-images 20 {TINY} --out run");
    write(30);
    done(&directory, &command);
    write(28);
    assert!(refused(&directory, &command).contains("data.d.npz"));
}

#[cfg(unix)]
#[test]
fn a_run_that_was_interrupted_is_not_continued_on_other_data() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("mnist.npz");
    write_npz(&file, 0);
    let whole = fs::read(&file).unwrap();
    let command = "train --stream sequence:mnist.npz,./mnist.npz --hidden 400,400 --epochs 2000 \
                   --draws 1 --evaluate task --checkpoint-every 0.05 --quiet --out run";
    let (code, told) = common::interrupt_after(&directory, command, Duration::from_millis(700));
    assert_eq!(code, Some(130), "{told}");
    let checkpoints = || fs::read_dir(directory.path().join("run/checkpoints")).unwrap().count();
    assert_eq!(checkpoints(), 1);
    write_npz(&file, 1);
    assert!(refused(&directory, command).contains("data.mnist.npz: there"));
    assert_eq!(checkpoints(), 1);
    // In the directory of its own the edited data begins anew.
    let short = command.replace("--out run", "").replace("2000", "2");
    done(&directory, &short);

    fs::write(&file, whole).unwrap();
    let (code, told) = common::interrupt_after(&directory, command, Duration::from_millis(700));
    assert_eq!(code, Some(130), "{told}");
    assert!(!told.contains("cannot be used"), "{told}");
}

#[test]
fn a_file_of_tasks_is_known_by_its_lines() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("tasks.txt");
    fs::write(&file, "permuted:digits:1\nsequence:digits\n").unwrap();
    let command = format!("train --stream tasks.txt {TINY}");
    let with_out = format!("{command} --out run --train-images 300");
    done(&directory, &with_out);
    let run = directory.path().join("run");
    assert_eq!(keys(&run)[0]["training"]["stream"], "permuted:digits:1\nsequence:digits");
    assert_eq!(keys(&run)[0]["data"], serde_json::json!([]));
    done(&directory, &format!("{command} --train-images 300"));
    let accuracy = |task: usize| {
        let found = json(&directory, &format!("predict run digits --task {task}"));
        found["accuracy"].as_f64().unwrap()
    };
    let before = [accuracy(1), accuracy(2)];

    // A comment changes nothing, a task does.
    fs::write(&file, "# two\npermuted:digits:1\n\nsequence:digits # the second\n").unwrap();
    done(&directory, &with_out);
    fs::write(&file, "sequence:digits\npermuted:digits:2\n").unwrap();
    let message = refused(&directory, &with_out);
    assert!(message.contains("cases.stream: there"), "{message}");
    done(&directory, &format!("{command} --train-images 300"));
    assert_eq!(runs(&directory).len(), 2);

    // The model knows its tasks, whatever the file says now.
    assert_eq!([accuracy(1), accuracy(2)], before);
    let message = refused(&directory, "predict run digits --task 3");
    assert!(message.contains("tasks 1 to 2"), "{message}");
    for other in ["tasks.txt", "permuted:digits:5"] {
        let message = refused(&directory, &format!("predict run digits --task 1 --stream {other}"));
        assert!(message.contains("differs from the stream of the model"), "{message}");
    }
    let message = refused(&directory, "predict run digits --task 1 --seed 7");
    assert!(message.contains("--seed 7"), "{message}");
    fs::remove_file(&file).unwrap();
    assert_eq!([accuracy(1), accuracy(2)], before);
}

#[test]
fn a_model_that_knows_its_tasks_says_what_is_assumed() {
    let directory = TempDir::new().unwrap();
    let train = |stream: &str, out: &str| {
        let command = format!("train --stream {stream} {TINY} --train-images 300 --out {out}");
        done(&directory, &command);
    };
    train("permuted:digits:2", "permuted");
    train("sequence:digits", "sequence");
    let told = done(&directory, "predict permuted digits --quiet");
    assert!(told.contains("permuted pixels, and no --task is named"), "{told}");
    assert_eq!(done(&directory, "predict permuted digits --quiet --task 1"), "");
    assert_eq!(done(&directory, "predict sequence digits --quiet"), "");
    done(&directory, "export permuted --format packed --out a.rbin");
    assert!(done(&directory, "predict a.rbin digits").contains("images are taken as they are"));
}

/// The bytes of the models of a run, by name.
fn models(run: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(run.join("models")).unwrap();
    let mut models: Vec<(PathBuf, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "safetensors"))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    models.sort();
    models
}

#[test]
fn a_model_that_is_missing_damaged_or_swapped_is_made_again() {
    let directory = TempDir::new().unwrap();
    let command =
        format!("train --stream permuted:digits:2 {TINY} --train-images 300 --seeds 2 --out run");
    let run = directory.path().join("run");
    done(&directory, &command);
    let (whole, kept) = (models(&run), records(&run));
    let times = fs::read(run.join("times.csv")).unwrap();
    let [(first, _), (second, _)] = &whole[..] else { panic!("two models") };
    type Damage<'a> = (&'static str, &'a dyn Fn());
    let damages: [Damage; 3] = [
        ("there is no file", &|| fs::remove_file(first).unwrap()),
        ("checksum", &|| {
            let mut bytes = whole[0].1.clone();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(first, bytes).unwrap();
        }),
        ("it is the model of trial", &|| {
            fs::write(first, &whole[1].1).unwrap();
            fs::write(second, &whole[0].1).unwrap();
        }),
    ];
    for (told, damage) in damages {
        damage();
        let trial = (0..2)
            .find(|trial| {
                let arguments = format!("predict run digits --task 1 --trial {trial}");
                output(&directory, &arguments).status.code() == Some(1)
            })
            .unwrap_or_else(|| panic!("{told}: predict notices nothing"));
        for arguments in [
            format!("predict run digits --task 1 --trial {trial}"),
            format!("export run --format onnx --trial {trial}"),
            "inspect run".into(),
        ] {
            let message = fails(&directory, &arguments);
            assert!(message.contains(told), "{arguments}: {message}");
            assert!(
                message.contains("repeat the remanent train command to restore it"),
                "{message}"
            );
        }
        if first.exists() {
            let message = fails(&directory, &format!("inspect {}", first.display()));
            assert!(message.contains("to restore it"), "{message}");
        }
        let dry = output(&directory, &format!("{command} --dry-run"));
        assert!(!String::from_utf8_lossy(&dry.stdout).contains(" 0 to compute"), "{told}");
        let said = done(&directory, &command);
        assert!(said.contains(told) && said.contains("made again"), "{said}");
        assert_eq!((models(&run), records(&run)), (whole.clone(), kept.clone()), "{told}");
        assert_eq!(done(&directory, &command), "");
        done(&directory, "inspect run");
    }
    // The times are those of the first run.
    assert_eq!(fs::read(run.join("times.csv")).unwrap(), times);
}

#[test]
fn a_damaged_marker_costs_no_record() {
    let directory = TempDir::new().unwrap();
    let command =
        format!("train --stream permuted:digits:2 {TINY} --train-images 300 --seeds 2 --out run");
    let run = directory.path().join("run");
    done(&directory, &command);
    let (marker, kept) = (run.join("experiment.json"), records(&run));
    let times = fs::read(run.join("times.csv")).unwrap();
    let whole = fs::read(&marker).unwrap();
    for at in [0, 20, whole.len() - 5] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&marker, &damaged).unwrap();
        let told = fails(&directory, "inspect run");
        assert!(told.contains("experiment.json"), "{told}");
        let told = done(&directory, "predict run digits --task 2");
        assert!(told.contains("damaged: "), "{told}");
        let other = command.replace("--epochs 1", "--epochs 2");
        assert!(refused(&directory, &other).contains("epochs: there [1], here [2]"));
        let told = done(&directory, &command);
        assert!(told.contains("keeping the records"), "{told}");
        assert_eq!(fs::read(&marker).unwrap(), whole);
        assert_eq!(fs::read(run.join("times.csv")).unwrap(), times, "nothing was computed");
    }
    fs::remove_file(&marker).unwrap();
    done(&directory, "predict run digits --task 2");
    done(&directory, &command);
    assert_eq!((fs::read(&marker).unwrap(), records(&run)), (whole, kept));
    assert!(run.join("experiment.json.damaged").exists());
    let command = "simulate --n 50 --alpha 1 --epochs 5 --out other --quiet";
    done(&directory, command);
    fs::write(directory.path().join("other/experiment.json"), "damaged").unwrap();
    assert!(done(&directory, command).contains("keeping the records"));
}

#[test]
fn what_has_no_effect_is_refused() {
    let directory = TempDir::new().unwrap();
    let digits = "train --stream permuted:digits:2 --hidden 8 --epochs 1";
    fs::write(directory.path().join("a.toml"), "learner = 'ste'\nbeta_schedule = '2'\n").unwrap();
    fs::write(directory.path().join("b.toml"), "[scan]\ngamma = [1, 2]\n").unwrap();
    for (arguments, told) in [
        ("--learner ste --scan gamma=0.1,1", "gamma is not used by the learner ste"),
        ("--learner joint --anchor task", "anchor is not used by the learner joint"),
        ("--learner vcl --meta 0.5", "only metaplasticity"),
        ("--learner ste --beta-schedule 2", "vcl, ewc and joint"),
        ("--learner metaplasticity --set beta_schedule=2", "vcl, ewc and joint"),
        ("--learner ste --set gamma_task=1", "vcl and ewc"),
        ("--anchor none --scan gamma=0.1,1", "the anchor none"),
        ("--fisher empirical", "only ewc"),
        ("--config a.toml", "beta_schedule is not used by"),
        ("--config b.toml --learner ste", "gamma is not used by"),
        ("--preset remanent --learner ste --gamma 2", "gamma is not used by"),
        ("--scan gamma=1 --scan gamma=2", "scan the same key"),
        ("--scan gamma=1,2 --set gamma_step=1", "the factor that replaces it"),
    ] {
        let message = refused(&directory, &format!("{digits} {arguments}"));
        assert!(message.contains(told), "{arguments}: {message}");
    }
    for (arguments, told) in [
        ("simulate --alpha 1 --scan gamma=1 --scan gamma=2", "scan the same key"),
        ("simulate --alpha 1,1 --scan alpha.2=1 --scan alpha.2=2", "scan the same key"),
        ("simulate --alpha 1 --epochs 2 --scan r0=0,0.5", "has no effect here"),
        ("simulate convergence-time --alpha 1,2 --scan alpha=3", "scan the same key"),
        ("theory chain --alpha 1,1 --r0 0 --scan alpha2=1 --scan alpha2=2", "the same parameter"),
        ("theory chain --alpha 1,1 --r0 0 --scan r0=0 --scan r0_1=0.5", "the same parameter"),
    ] {
        let message = refused(&directory, arguments);
        assert!(message.contains(told), "{arguments}: {message}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left behind");
}

#[test]
fn a_preset_is_taken_with_another_learner_and_says_what_has_no_effect() {
    let directory = TempDir::new().unwrap();
    let command = format!("train --preset remanent --stream permuted:digits:1 {TINY}");
    assert_eq!(done(&directory, &command), "");
    let told = done(&directory, &format!("{command} --learner ste --train-images 300"));
    assert!(told.contains("anchor, beta_schedule, gamma of the preset remanent"), "{told}");
}

#[test]
fn images_of_the_stream_are_no_unknown_images() {
    let directory = TempDir::new().unwrap();
    write_npz(&directory.path().join("d.npz"), 0);
    write_npz(&directory.path().join("copy.npz"), 0);
    write_npz(&directory.path().join("other.npz"), 1);
    let train = |ood: &str| format!("train --stream sequence:d.npz {TINY} --ood {ood}");
    for ood in ["d.npz", "copy.npz"] {
        let told = done(&directory, &train(ood));
        assert!(told.contains("warning: --ood") && told.contains(ood), "{told}");
    }
    assert_eq!(done(&directory, &train("other.npz")), "");
    let digits = format!("train --stream permuted:digits:1 {TINY} --train-images 300 --ood digits");
    assert!(done(&directory, &digits).contains("warning: --ood digits"));
}

#[test]
fn every_column_has_a_name_of_its_own() {
    let directory = TempDir::new().unwrap();
    for scan in ["alpha=0.5,1", "beta=5,10", "alpha2=0.5,1", "r0=0,0.5"] {
        let arguments =
            format!("theory chain --alpha 1,1 --r0 0.2 --beta 5 --scan {scan} --format csv");
        let output = output(&directory, &arguments);
        assert!(output.status.success(), "{}", said(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{scan}: {name} twice");
        }
        assert!(names.contains(&scan.split('=').next().unwrap()), "{scan}: {names:?}");
    }
}
