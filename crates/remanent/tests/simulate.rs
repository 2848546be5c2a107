//! The program as its users run it: `remanent simulate`.

mod common;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

#[cfg(unix)]
use crate::common::interrupt_after;
use crate::common::{continue_run, json, kill_after_checkpoint, records, refused, remanent};

#[test]
fn json_keeps_its_contract() {
    let directory = TempDir::new().unwrap();
    let arguments = "simulate --n 60 --alpha 2,1 --r0 0.5 --epochs 20,30 --seeds 3 --record-every 10 \
                     --fresh-patterns 100 --compare theory";
    let found = json(&directory, arguments);
    let rows = found["rows"].as_array().unwrap();
    let epochs: Vec<u64> = rows.iter().map(|row| row["epoch"].as_u64().unwrap()).collect();
    assert_eq!(epochs, [0, 10, 20, 30, 40, 50]);
    for row in rows {
        for list in ["eps", "eps_se", "eps_fresh"] {
            assert_eq!(row[list].as_array().unwrap().len(), 2, "{list}");
        }
        for number in ["q_star", "r", "p", "q_com", "loss", "kl"] {
            assert!(row[number].is_number(), "{number}");
        }
    }
    assert_eq!(rows[5]["task"], 2);
    assert_eq!(found["final"]["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(found["config"]["n"], 60);
    assert!(found["seconds"].is_number() && found["epochs_per_second"].is_number());
    for entry in found["comparison"].as_array().unwrap() {
        for key in ["task", "quantity", "theory", "simulation", "standard_error", "z"] {
            assert!(entry.get(key).is_some(), "{key}");
        }
    }
}

#[test]
fn a_sampler_reports_its_diagnostics() {
    let directory = TempDir::new().unwrap();
    let found = json(
        &directory,
        "simulate --n 60 --alpha 0.5,0.5 --learner boltzmann --beta 5 --seeds 2 --warmup 100 \
         --sweeps 200 --compare theory",
    );
    assert!(found.get("epochs_per_second").is_none());
    assert!(found["effective_samples_per_second"].as_f64().unwrap() > 0.0);
    for task in found["final"]["tasks"].as_array().unwrap() {
        assert!(task["r_hat"].as_f64().unwrap() < 1.1);
        assert!(task["effective_samples"].as_f64().unwrap() > 50.0);
        assert!(task["autocorrelation_time"].as_f64().unwrap() > 0.0);
        assert!(task["q_0"]["mean"].is_number());
    }
}

#[test]
fn chains_that_have_not_mixed_are_told() {
    let directory = TempDir::new().unwrap();
    let output = remanent(
        &directory,
        "simulate --n 100 --alpha 1 --learner boltzmann --beta 20 --warmup 1 --sweeps 8",
    )
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("have not mixed"));
}

/// Trajectories of cold measures and of hard second tasks fly off before the step is adapted.
#[test]
fn a_sampler_survives_trajectories_that_fly_off() {
    let directory = TempDir::new().unwrap();
    for arguments in ["--alpha 4,4 --beta 20", "--alpha 2 --beta 200", "--alpha 1,1 --gamma 1e6"] {
        let command = format!(
            "simulate --n 100 --learner boltzmann --warmup 60 --sweeps 40 --format json {arguments}"
        );
        let output = remanent(&directory, &command).output().unwrap();
        assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok(), "{arguments}");
    }
}

#[test]
fn a_trial_that_diverges_is_told_and_the_others_are_kept() {
    let directory = TempDir::new().unwrap();
    let output = remanent(
        &directory,
        "simulate --n 100 --alpha 2,2 --learner gd --epochs 300 --seeds 2 --scan lr=0.001,5 \
         --format json",
    )
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("lr = 5 diverged"));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["cases"][0]["diverged"], 0);
    assert!(found["cases"][0]["final"]["eps"][0]["mean"].is_number());
    assert_eq!(found["cases"][1]["diverged"], 2);
    assert!(found["cases"][1]["final"].is_null());
}

#[test]
fn more_seeds_compute_only_the_new_ones_and_threads_change_nothing() {
    let directory = TempDir::new().unwrap();
    let run = "simulate --n 200 --alpha 1,1 --epochs 20 --out run";
    let few = json(&directory, &format!("{run} --seeds 2 --threads 1"));
    let first = records(&directory.path().join("run"));
    assert_eq!(first.len(), 2);
    let stamp = |name: &str| {
        let path = directory.path().join("run/records").join(name);
        std::fs::metadata(path).unwrap().modified().unwrap()
    };
    let written = stamp(&first[0].0);
    json(&directory, &format!("{run} --seeds 5 --threads 2"));
    let all = records(&directory.path().join("run"));
    assert_eq!(all.len(), 5);
    assert!(first.iter().all(|record| all.contains(record)));
    assert_eq!(stamp(&first[0].0), written);
    let other = format!("{} --seeds 5 --threads 2", run.replace("--out run", "--out other"));
    json(&directory, &other);
    assert_eq!(records(&directory.path().join("other")), all);
    let again = json(&directory, &format!("{run} --seeds 2"));
    assert_eq!(again["rows"], few["rows"]);
}

/// Kills a run without warning again and again, and compares with one that was left alone.
#[test]
fn a_killed_run_continues_bit_for_bit() {
    let directory = TempDir::new().unwrap();
    for (name, arguments) in [
        ("sgd", "--n 700 --alpha 2,2 --r0 0.3 --epochs 3000,3000 --seeds 3"),
        ("gd", "--n 500 --alpha 2,1 --learner gd --optimizer adam --epochs 20000,5000 --seeds 3"),
        ("slow", "--n 500 --alpha 2 --learner slow-sgd --epochs 4000 --seeds 3"),
        ("boltzmann", "--n 300 --alpha 0.5,1 --learner boltzmann --beta 5 --sweeps 3000 --seeds 3"),
    ] {
        let run = |out: &str| format!("simulate {arguments} --threads 2 --out {name}-{out}");
        remanent(&directory, &run("whole")).assert().success();
        for pause in [0, 30, 100] {
            kill_after_checkpoint(&directory, &run("killed"), Duration::from_millis(pause));
        }
        continue_run(&directory, &run("killed"));
        assert_eq!(
            records(&directory.path().join(format!("{name}-whole"))),
            records(&directory.path().join(format!("{name}-killed"))),
            "{name}"
        );
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_saves_and_says_so() {
    let directory = TempDir::new().unwrap();
    let arguments = "simulate --n 800 --alpha 2 --epochs 20000 --out run --quiet";
    let (code, told) = interrupt_after(&directory, arguments, Duration::from_millis(300));
    assert_eq!(code, Some(130));
    assert!(told.contains("repeat the command to continue"));
    let checkpoints = std::fs::read_dir(directory.path().join("run/checkpoints")).unwrap();
    assert_eq!(checkpoints.count(), 1);
    remanent(&directory, arguments).assert().success();
    remanent(&directory, &arguments.replace("--out run", "--out whole")).assert().success();
    assert_eq!(records(&directory.path().join("run")), records(&directory.path().join("whole")));
}

#[test]
fn a_damaged_record_is_computed_anew_and_said_aloud() {
    let directory = TempDir::new().unwrap();
    let arguments = "simulate --n 100 --alpha 1 --epochs 10 --seeds 2 --out run --quiet";
    remanent(&directory, arguments).assert().success();
    let before = records(&directory.path().join("run"));
    let path = directory.path().join("run/records").join(&before[0].0);
    let mut damaged = before[0].1.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    let output = remanent(&directory, arguments).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("computing it again"));
    assert_eq!(std::fs::read(&path).unwrap(), before[0].1);
    assert_eq!(records(&directory.path().join("run")).len(), 3, "the damaged one is kept aside");
}

#[test]
fn wrong_usage_names_the_value_and_the_cure() {
    let directory = TempDir::new().unwrap();
    std::fs::create_dir(directory.path().join("mine")).unwrap();
    std::fs::write(directory.path().join("mine/thesis.tex"), "precious").unwrap();
    std::fs::write(directory.path().join("bad.toml"), "alpha = 2\nlerner = 'sgd'\n").unwrap();
    std::fs::write(directory.path().join("bound.toml"), "experiment = 'bound'\nkappa = 10\n")
        .unwrap();
    for (arguments, told) in [
        ("simulate --alpha 2 --learner vlc", "sgd, gd, slow-sgd, boltzmann"),
        ("simulate --alpha 2 --learner boltzman", "did you mean 'boltzmann'?"),
        ("simulate --alpha 2,2 --epochs 1,2,3", "epochs has 3 values"),
        ("simulate --alpha 2 --n 1", "n = 1 is out of range"),
        ("simulate --alpha 0.0001 --n 100", "gives no pattern"),
        ("simulate --alpha 2 --lr -0.1", "lr = -0.1 is out of range"),
        ("simulate --alpha 2 --weight-decay -1", "weight_decay = -1"),
        ("simulate --alpha 2 --beta 20", "theory_beta"),
        ("simulate --n 50", "alpha is missing"),
        ("simulate --config bad.toml", "did you mean 'learner'?"),
        ("simulate --config bound.toml --alpha 1", "remanent simulate bound"),
        ("simulate --config missing.toml", "missing.toml"),
        ("simulate --alpha 2 --scan seed=1,2", "unknown key 'seed'"),
        ("simulate --alpha 2 --scan n=50,50", "the same"),
        ("simulate --alpha 2 --theory-beta 0", "theory_beta = 0"),
        ("simulate --alpha 2 --set wieght_decay=0.1", "did you mean 'weight_decay'?"),
        ("simulate --alpha 2 --scan gama=1,2", "did you mean 'gamma'?"),
        ("simulate --alpha 2 --out mine", "holds no run"),
        ("simulate --alpha 2 --out mine --fresh", "holds no run"),
        ("simulate --alpha 2 --quick", "[quick]"),
        ("simulate --alpha 2 --seeds 0", "seeds = 0"),
        ("simulate --alpha 2 --plot x.pdf", ".svg"),
        ("simulate bound --n 30", "n = 30 is out of range: it must be between 2 and 20"),
        ("simulate convergence-time --alpha 1 --drop 0", "drop = 0"),
    ] {
        let message = refused(&directory, arguments);
        assert!(message.contains(told), "{arguments}: {message}");
    }
    assert!(directory.path().join("mine/thesis.tex").exists());
}

#[test]
fn another_experiment_in_the_same_place_is_refused_with_the_difference() {
    let directory = TempDir::new().unwrap();
    let run = |rest: &str| format!("simulate --n 50 --alpha 1 --epochs 5 --out run --quiet {rest}");
    remanent(&directory, &run("")).assert().success();
    let message = refused(&directory, &run("--lr 0.5"));
    assert!(message.contains("0.001") && message.contains("0.5"), "{message}");
    assert_eq!(records(&directory.path().join("run")).len(), 1);
    remanent(&directory, &run("--lr 0.5 --fresh")).assert().success();
}

#[test]
fn studies_run_and_draw() {
    let directory = TempDir::new().unwrap();
    let found = json(&directory, "simulate bound --epochs 20 --seeds 3 --plot bound.svg");
    for row in found["rows"].as_array().unwrap() {
        let mean = |key: &str| row[key]["mean"].as_f64().unwrap();
        assert!(mean("expected_log_likelihood") <= mean("upper_bound"));
        assert!(mean("upper_bound") <= 0.0);
    }
    let found = json(
        &directory,
        "simulate convergence-time --alpha 0.5,1 --n 100 --seeds 2 --window 100 --lr 0.05 \
         --plot time.png",
    );
    assert_eq!(found["rows"].as_array().unwrap().len(), 2);
    assert!(found["rows"][0]["time"]["mean"].as_f64().unwrap() >= 0.0);
    json(&directory, "simulate --n 50 --alpha 1 --epochs 5 --scan lr=0.01,0.1 --plot scan.svg");
    for file in ["bound.svg", "time.png", "scan.svg"] {
        assert!(directory.path().join(file).metadata().unwrap().len() > 1000, "{file}");
    }
}

/// Every configuration can be read, in both sizes.
#[test]
fn figures_can_be_planned() {
    let directory = TempDir::new().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for folder in ["crates/remanent-reproduce/configs", "figures/tuning", "figures/network"] {
        let folder = root.join(folder);
        for file in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let command = match text {
                // Theory alone is asked by `remanent reproduce`.
                text if text.contains("\"theory\"") => continue,
                text if text.contains("\"bound\"") => "simulate bound",
                text if text.contains("\"convergence-time\"") => "simulate convergence-time",
                text if text.contains("\"train\"") => "train",
                _ => "simulate",
            };
            for size in ["", " --quick"] {
                let command = format!("{command} --dry-run{size} --config");
                let output = remanent(&directory, &command).arg(&path).output().unwrap();
                let told = String::from_utf8_lossy(&output.stderr);
                // Full sizes of trainings need images, which may not be here.
                let missing = size.is_empty() && told.contains("`remanent data get");
                assert!(output.status.success() || missing, "{}: {told}", path.display());
            }
            count += 1;
        }
    }
    assert!(count >= 12, "{count}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "a dry run leaves nothing");
}
