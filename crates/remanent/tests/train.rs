//! The program as its users run it: `remanent train`.

mod common;

use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

#[cfg(unix)]
use crate::common::interrupt_after;
use crate::common::{continue_run, json, kill_after_checkpoint, records, refused, remanent};

const PREDICTORS: [&str; 4] = ["stochastic", "mean_field", "sampled", "hard"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_summary_keeps_its_contract() {
    let directory = TempDir::new().unwrap();
    let found = json(
        &directory,
        "train --stream permuted:digits:3 --hidden 60 --beta-schedule 1 --epochs 8 --seeds 3 --out run --draws 3",
    );
    let text = std::fs::read_to_string(directory.path().join("run/summary.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), found);
    for predictor in PREDICTORS {
        let found = &found[predictor];
        let matrix = found["accuracy_matrix"].as_array().unwrap();
        assert_eq!(matrix.len(), 3);
        let entry = |after: usize, task: usize| number(&matrix[after][task]["mean"]);
        for (after, row) in matrix.iter().enumerate() {
            // What was just learned is known, what is still to come is not.
            assert!(entry(after, after) > 0.5, "{predictor} {after}: {}", entry(after, after));
            assert!((after + 1..3).all(|task| entry(after, task) < 0.4), "{predictor}");
            let error = &row[after]["standard_error"];
            assert!((0.0..0.2).contains(&number(error)));
        }
        let average = (0..3).map(|task| entry(2, task)).sum::<f64>() / 3.0;
        assert!((number(&found["average_accuracy"]["mean"]) - average).abs() < 1e-12);
        let transfer = (entry(2, 0) - entry(0, 0) + entry(2, 1) - entry(1, 1)) / 2.0;
        assert!((number(&found["backward_transfer"]["mean"]) - transfer).abs() < 1e-12);
        for key in ["forgetting", "forward_transfer", "plasticity", "nll", "ece"] {
            assert!(found[key]["mean"].is_number() && found[key]["standard_error"].is_number());
            assert_eq!(found[key]["n"], 3, "{key}");
        }
    }
    assert!(number(&found["seconds_per_step"]) > 0.0);
    assert!(number(&found["threads"]) >= 1.0);
    assert_eq!(found["epochs"].as_array().unwrap().len(), 24);
    assert_eq!(found["models"].as_array().unwrap().len(), 3);
    for file in ["summary.csv", "accuracy.csv", "epochs.csv", "training.svg"] {
        assert!(directory.path().join("run").join(file).metadata().unwrap().len() > 100, "{file}");
    }
}

#[test]
fn bf16_without_instructions_for_it_is_said_to_be_slow() {
    let directory = TempDir::new().unwrap();
    let note = |precision: &str| {
        let arguments =
            format!("train --preset digits --epochs 1 --precision {precision} --dry-run");
        let mut command = remanent(&directory, &arguments);
        let output = command.env("REMANENT_BF16", "plain").output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap().contains("no instructions for bf16")
    };
    assert!(note("bf16") && !note("f32"));
}

#[test]
fn every_learner_learns() {
    let directory = TempDir::new().unwrap();
    for (name, arguments) in [
        ("vcl", ""),
        ("none", "--anchor none"),
        ("both", "--anchor both --gamma 0.1"),
        ("remanent", "--preset remanent"),
        ("ewc", "--learner ewc --gamma 0.1 --beta-schedule 2"),
        ("kirkpatrick", "--preset kirkpatrick"),
        ("printed", "--learner metaplasticity --lr 0.1"),
        ("original", "--preset metaplasticity-2021 --batch 32"),
        ("ste", "--learner ste"),
        ("joint", "--learner joint"),
        ("layer", "--normalisation layer"),
        ("split", "--stream split:digits:5"),
    ] {
        let stream = if name == "split" { "" } else { "--stream permuted:digits:2" };
        let run = format!(
            "train {stream} --hidden 100 --epochs 12 --draws 2 --evaluate task --out {name} {arguments}"
        );
        let found = json(&directory, &run);
        let learned = number(&found["hard"]["plasticity"]["mean"]);
        assert!(learned > 0.6, "{name}: {learned}");
        let rows = found["hard"]["accuracy_matrix"].as_array().unwrap().len();
        assert_eq!(rows, if name == "joint" { 1 } else { 2 }, "{name}");
    }
}

/// Kills a run without warning again and again, and compares with one that was left alone.
#[test]
fn a_killed_training_continues_bit_for_bit() {
    let directory = TempDir::new().unwrap();
    for (name, arguments) in [
        ("vcl", "--anchor both --gamma 0.1 --learned-scale"),
        ("ewc", "--preset kirkpatrick"),
        ("meta", "--preset metaplasticity-2021 --batch 50"),
    ] {
        let run = |out: &str, threads: usize| {
            format!(
                "train --stream permuted:digits:3 --hidden 150,150 --epochs 24 --seeds 2 --draws 2 \
                 {arguments} --threads {threads} --out {name}-{out}"
            )
        };
        remanent(&directory, &run("whole", 1)).assert().success();
        for pause in [0, 100] {
            kill_after_checkpoint(&directory, &run("killed", 2), Duration::from_millis(pause));
        }
        continue_run(&directory, &run("killed", 2));
        let path = |out: &str| directory.path().join(format!("{name}-{out}"));
        assert_eq!(records(&path("whole")), records(&path("killed")), "{name}");
        for model in std::fs::read_dir(path("whole").join("models")).unwrap() {
            let model = model.unwrap();
            let other = path("killed").join("models").join(model.file_name());
            assert_eq!(std::fs::read(model.path()).unwrap(), std::fs::read(other).unwrap());
        }
        assert_eq!(std::fs::read_dir(path("killed").join("checkpoints")).unwrap().count(), 0);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_saves_and_a_damaged_checkpoint_is_told() {
    let directory = TempDir::new().unwrap();
    let run = "train --stream permuted:digits:2 --hidden 200,200 --epochs 150 --out run --quiet";
    let (code, told) = interrupt_after(&directory, run, Duration::from_millis(400));
    assert_eq!(code, Some(130), "{told}");
    assert!(told.contains("repeat the command to continue"), "{told}");
    let folder = directory.path().join("run/checkpoints");
    let checkpoint = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&checkpoint).unwrap();

    let weights = 64 * 200 + 200 * 200 + 200 * 10;
    assert!(whole.len() < 4 * 5 * weights + 100_000, "five numbers a weight: {}", whole.len());

    remanent(&directory, run).assert().success();
    let expected = records(&directory.path().join("run"));

    for (name, bytes) in [("cut", &whole[..whole.len() / 2]), ("empty", &[][..])] {
        let run = run.replace("--out run", &format!("--out {name}"));
        interrupt_after(&directory, &run, Duration::from_millis(400));
        let path =
            directory.path().join(name).join("checkpoints").join(checkpoint.file_name().unwrap());
        std::fs::write(&path, bytes).unwrap();
        let output = remanent(&directory, &run).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert!(told.contains("cannot be used"), "{told}");
        assert_eq!(records(&directory.path().join(name)), expected, "{name}");
    }
}

#[test]
fn a_diverging_training_names_step_layer_and_checkpoint() {
    let directory = TempDir::new().unwrap();
    let run = "train --stream permuted:digits:2 --hidden 30 --learner ste --optimizer sgd --lr 3e38 \
               --out run --quiet";
    let output = remanent(&directory, run).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("step") && told.contains("layer"), "{told}");
    assert!(told.contains("checkpoint"), "{told}");
    assert!(!directory.path().join("run/summary.json").exists());
}

#[test]
fn wrong_usage_names_the_value_and_the_cure() {
    let directory = TempDir::new().unwrap();
    let digits = "train --stream permuted:digits:2";
    for (arguments, told) in [
        ("train".to_owned(), "stream is missing"),
        ("train --stream permuted:digit:2".into(), "did you mean 'digits'?"),
        ("train --stream permuted:digits:0".into(), "0"),
        (format!("{digits} --learner vlc"), "did you mean 'vcl'?"),
        (format!("{digits} --preset remanant"), "did you mean 'remanent'?"),
        (format!("{digits} --anchor tasks"), "did you mean 'task'?"),
        (format!("{digits} --predictor hardest"), "stochastic"),
        (format!("{digits} --hidden 0"), "hidden = 0"),
        (format!("{digits} --hidden 100000"), "65536"),
        (format!("{digits} --epochs 1,2,3"), "epochs has 3 values"),
        (format!("{digits} --epochs 0"), "epochs = 0"),
        (format!("{digits} --batch 0"), "batch = 0"),
        (format!("{digits} --lr -1"), "lr = -1"),
        (format!("{digits} --gamma -1"), "gamma"),
        (format!("{digits} --beta-schedule tanh:1"), "tanh:10,0.1,2"),
        (format!("{digits} --beta-schedule 1,2,3"), "3 values"),
        (format!("{digits} --meta 1,2,3 --learner metaplasticity"), "meta has 3 values"),
        (format!("{digits} --train-images 100000"), "1437"),
        (format!("{digits} --validation 1437"), "1437"),
        (format!("{digits} --ood mnits"), "did you mean 'mnist'?"),
        (format!("{digits} --set lerning_rate=1"), "unknown key"),
        (format!("{digits} --normalisation batch --batch 1"), "at least 2"),
        ("train --stream missing.txt".into(), "missing.txt"),
    ] {
        let message = refused(&directory, &arguments);
        assert!(message.contains(told), "{arguments}: {message}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn out_of_distribution_images_and_scans_are_reported() {
    let directory = TempDir::new().unwrap();
    let found = json(
        &directory,
        "train --stream permuted:digits:1 --hidden 100 --epochs 20 --ood digits --out ood",
    );
    // The same images with their pixels in order: the network has seen them permuted only.
    assert!(number(&found["hard"]["ood_auc"]["mean"]) > 0.6);
    assert!(found["hard"]["backward_transfer"].is_null());
    let found = json(
        &directory,
        "train --stream permuted:digits:2 --hidden 20 --epochs 1 --anchor task --scan gamma=0.1,1 \
         --evaluate task --out scan --plot scan.png",
    );
    assert_eq!(found["cases"][1]["label"], "gamma = 1");
    assert!(found["cases"][0]["hard"]["average_accuracy"]["mean"].is_number());
    assert!(directory.path().join("scan.png").exists());
}
