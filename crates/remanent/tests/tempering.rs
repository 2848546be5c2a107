//! The program as its users run it: `remanent simulate tempering`.

mod common;

use std::time::Duration;

use tempfile::TempDir;

use crate::common::{continue_run, json, kill_after_checkpoint, records, refused, remanent};

#[test]
fn results_have_diagnostics_theory_and_the_overlap_distribution() {
    let directory = TempDir::new().unwrap();
    let found = json(
        &directory,
        "simulate tempering --n 21 --alpha 0.5 --beta 5 --seeds 3 --warmup 100 --sweeps 400 \
         --compare 0 --out run --plot overlaps.svg",
    );
    let result = &found["result"];
    let number = |name: &str| result[name].as_f64().unwrap();
    assert_eq!((result["not_equilibrated"].as_u64(), result["draws"].as_u64()), (Some(0), Some(3)));
    assert!(number("r_hat") < 1.1 && number("effective_samples") >= 50.0);
    assert!(result["round_trips"][0].as_f64().unwrap() >= 10.0);
    assert!(found["effective_samples_per_second"].as_f64().unwrap() > 0.0);
    let density = |bin: &serde_json::Value| bin["density"].as_f64().unwrap();
    let total: f64 = result["overlaps"].as_array().unwrap().iter().map(density).sum();
    assert!((total * 0.01 - 1.0).abs() < 1e-9, "{total}");
    for entry in found["comparison"].as_array().unwrap() {
        assert!(entry["theory"].is_number() && entry["z"].is_number());
    }
    for file in ["run/results.csv", "run/overlaps.csv", "run/comparison.csv", "overlaps.svg"] {
        assert!(directory.path().join(file).metadata().unwrap().len() > 100, "{file}");
    }
}

#[test]
fn draws_that_are_not_equilibrated_are_told() {
    let directory = TempDir::new().unwrap();
    let arguments = "simulate tempering --n 51 --alpha 1.2 --warmup 20 --sweeps 40 --quiet";
    let output = remanent(&directory, arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("1 of 1 draws do not count as equilibrated"), "{told}");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("1 of 1 not equilibrated"), "{shown}");
}

#[test]
fn threads_and_kills_change_nothing() {
    let directory = TempDir::new().unwrap();
    let run = |out: &str, threads: usize| {
        format!(
            "simulate tempering --n 61 --alpha 0.5 --beta 6 --warmup 400 --sweeps 1800 --seeds 3 \
             --out {out} --threads {threads}"
        )
    };
    remanent(&directory, &run("one", 1)).assert().success();
    remanent(&directory, &run("two", 2)).assert().success();
    for pause in [0, 30, 100] {
        kill_after_checkpoint(&directory, &run("killed", 2), Duration::from_millis(pause));
    }
    continue_run(&directory, &run("killed", 2));
    let whole = records(&directory.path().join("one"));
    assert_eq!(whole.len(), 3);
    assert_eq!(records(&directory.path().join("two")), whole);
    assert_eq!(records(&directory.path().join("killed")), whole);
}

#[test]
fn wrong_usage_names_the_value_and_the_cure() {
    let directory = TempDir::new().unwrap();
    for (arguments, told) in [
        ("", "alpha is missing"),
        ("--alpha 1 --beta-low 20", "beta_low = 20"),
        ("--alpha 1 --replicas 3", "an even number"),
        ("--alpha 1 --temperatures some", "'auto'"),
        ("--alpha 1 --compare 2", "0, 1"),
    ] {
        let message = refused(&directory, &format!("simulate tempering {arguments}"));
        assert!(message.contains(told), "{arguments}: {message}");
    }
}
