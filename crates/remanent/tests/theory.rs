//! The program as a user meets it: what it prints, what it refuses, how it ends.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn remanent(arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("remanent").unwrap();
    command.args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.extend(["--format", "json"]);
    let output = remanent(&all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

const SOLUTION: [&str; 21] = [
    "alpha",
    "beta",
    "branch",
    "q_d",
    "q_0",
    "r",
    "q_d_hat",
    "q_0_hat",
    "r_hat",
    "p",
    "eps",
    "ln_eps",
    "one_minus_p",
    "one_minus_q_d",
    "q_d_minus_q_0",
    "q_0_minus_r2",
    "minus_beta_f",
    "replicon",
    "residual",
    "quadrature_error",
    "termination",
];

fn assert_is_solution(value: &Value) {
    let keys = keys(value);
    for key in SOLUTION {
        assert!(keys.contains(&key), "no {key} in {keys:?}");
    }
}

#[test]
fn single_prints_an_array_of_solutions() {
    let rows = json(&["theory", "single", "--alpha", "0.5,1.7", "--beta", "20", "--branch", "all"]);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 4);
    rows.iter().for_each(assert_is_solution);
    let branches: Vec<&str> = rows.iter().map(|r| r["branch"].as_str().unwrap()).collect();
    assert_eq!(branches, ["poor", "poor", "middle", "good"]);
    assert!((rows[0]["eps"].as_f64().unwrap() - 0.355_433_307_6).abs() < 1e-9);
}

#[test]
fn a_missing_branch_prints_the_other_rows_and_exits_with_1() {
    let arguments =
        ["theory", "single", "--alpha", "1,2.5", "--branch", "poor", "--format", "json"];
    let output = remanent(&arguments);
    assert_eq!(output.status.code(), Some(1));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows[0]["termination"], "converged");
    assert_eq!(rows[1]["termination"], "no_solution");
    assert!(rows[1]["eps"].is_null() && rows[1]["q_d"].is_null());
    assert_eq!(rows[1]["alpha"], 2.5);
}

#[test]
fn constrained_prints_rows_or_a_chain() {
    let rows = json(&["theory", "constrained", "--alpha", "2", "--q-star", "0.1,0.999999"]);
    assert_eq!(rows.as_array().unwrap().len(), 2);
    rows.as_array().unwrap().iter().for_each(assert_is_solution);
    assert!((rows[1]["one_minus_q_d"].as_f64().unwrap() / 1e-6 - 1.0).abs() < 1e-9);
    let chain =
        json(&["theory", "constrained", "--alpha", "2,3", "--q-star", "0.97,0.75", "--r0", "0.5"]);
    assert_eq!(chain["tasks"][1]["q_d"], 0.75);
    assert_eq!(chain["tasks"][1]["eps_by_task"].as_array().unwrap().len(), 2);
}

#[test]
fn chain_prints_tasks_with_errors_on_all_of_them() {
    let chain = json(&["theory", "chain", "--alpha", "2,3,3", "--r0", "0.5"]);
    let tasks = chain["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 3);
    for (t, task) in tasks.iter().enumerate() {
        assert_is_solution(task);
        assert_eq!(task["task"], t + 1);
        assert_eq!(task["eps_by_task"].as_array().unwrap().len(), 3);
        assert!(task["potential"].is_number() && task["other_solutions"].is_array());
    }
    assert!((tasks[1]["eps_by_task"][0].as_f64().unwrap() - 0.256_250_165_7).abs() < 1e-9);
}

#[test]
fn a_scan_prints_chains_with_the_scanned_values() {
    let points = json(&[
        "theory",
        "chain",
        "--alpha",
        "2,1",
        "--r0",
        "0.5",
        "--scan",
        "alpha2=0.5,1",
        "--scan",
        "gamma=0.1,1",
    ]);
    let points = points.as_array().unwrap();
    assert_eq!(points.len(), 4);
    assert_eq!((&points[1]["alpha2"], &points[1]["gamma"]), (&0.5.into(), &1.0.into()));
    assert_eq!(points[3]["tasks"][1]["alpha"], 1.0);
}

#[test]
fn branches_prints_rows_folds_crossing_and_replicon_zeros() {
    let result = json(&["theory", "branches", "--beta", "20", "--alpha", "1:2.2"]);
    assert_is_solution(&result["rows"][0]);
    let folds: Vec<f64> =
        result["folds"].as_array().unwrap().iter().map(|f| f["alpha"].as_f64().unwrap()).collect();
    assert!((folds[0] - 1.498_897_54).abs() < 1e-6 && (folds[1] - 1.905_802_53).abs() < 1e-6);
    assert!((result["crossing"]["alpha"].as_f64().unwrap() - 1.650_219_85).abs() < 1e-6);
    assert_eq!(result["crossing"]["replica_symmetry_holds"], false);
    assert!((result["replicon_zeros"][0]["alpha"].as_f64().unwrap() - 0.728_926_05).abs() < 1e-6);
    let smooth = json(&["theory", "branches", "--beta", "10", "--alpha", "1:2"]);
    assert!(smooth["crossing"].is_null() && smooth["folds"].as_array().unwrap().is_empty());
}

#[test]
fn phase_diagram_finds_the_critical_point() {
    let diagram = json(&["theory", "phase-diagram", "--beta", "14,18"]);
    let critical = &diagram["critical_point"];
    // The folds are 0.018 apart at beta = 16.5 and absent at 16.
    let beta = critical["beta"].as_f64().unwrap();
    assert!((16.0..16.5).contains(&beta), "{critical}");
    assert!((critical["alpha"].as_f64().unwrap() - 1.55).abs() < 0.02);
    assert!(diagram["rows"][0]["good_from"].is_null());
}

#[test]
fn tune_prints_the_best_gamma_and_its_curve() {
    let tuned =
        json(&["theory", "tune", "--alpha", "2,2", "--r0", "0.5", "--gamma", "0.001,0.02,1"]);
    let best = tuned["objective"].as_f64().unwrap();
    let curve = tuned["curve"].as_array().unwrap();
    assert!(curve.len() >= 3);
    assert!(curve.iter().all(|p| p["objective"].as_f64().unwrap() >= best));
    assert!(tuned["gamma"].as_f64().unwrap() > 0.001);
}

#[test]
fn csv_has_every_column_and_parses_back() {
    let output = remanent(&["theory", "single", "--alpha", "0.5,1", "--format", "csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap(), SOLUTION.join(","));
    assert_eq!(lines.clone().count(), 2);
    let eps: f64 = lines.next().unwrap().split(',').nth(10).unwrap().parse().unwrap();
    assert!((eps - 0.355_433_307_6).abs() < 1e-9);
}

#[test]
fn plots_are_written_as_svg_and_png() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.svg", "a.png"] {
        let path = folder.path().join(name);
        let plot = path.to_str().unwrap();
        let output = remanent(&["theory", "single", "--alpha", "0.5:2:0.5", "--plot", plot]);
        assert!(output.status.success());
        assert!(std::fs::metadata(&path).unwrap().len() > 1000);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// One clear error that names the value and the range, exit code 2, nothing printed.
#[test]
fn bad_input_is_refused_before_anything_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("no/such/folder/a.svg");
    let wrong_kind = folder.path().join("a.pdf");
    let text = |p: &Path| p.to_str().unwrap().to_owned();
    let cases: Vec<(Vec<String>, &str)> = [
        ("single --alpha 0", "alpha = 0 is out of range: it must be between 0.0001 and 1000"),
        ("single --alpha -1", "alpha = -1 is out of range"),
        ("single --alpha nan", "not a finite number"),
        ("single --alpha 1:2", "from:to:step"),
        ("single --alpha x", "'x' is not a number"),
        ("single --alpha 1 --beta 0", "beta = 0 is out of range"),
        ("single --alpha 1 --branch best", "one of stable, poor, middle, good, all"),
        ("chain --alpha 1,1 --r0 1.5", "r0 = 1.5 is out of range: it must be between -1 and 1"),
        ("chain --alpha 1,1,1 --r0 0.5,0.1,0.2", "r0 has 3 values, but 3 tasks need one or 2"),
        ("chain --alpha 1,1 --r0 0.5 --beta 1,2,3", "beta has 3 values, but 2 tasks need one or 2"),
        ("chain --alpha 1,1 --r0 0.5 --gamma -1", "gamma = -1 is out of range"),
        ("chain --alpha 1,1 --r0 0.5 --scan delta=1", "cannot scan 'delta'"),
        ("chain --alpha 1,1 --r0 0.5 --scan alpha3=1", "there are only 2"),
        ("constrained --alpha 2 --q-star 1", "q-star = 1 is out of range"),
        ("constrained --alpha 2 --q-star 0", "q-star = 0 is out of range"),
        ("constrained --alpha 2,2 --q-star 0.5", "r0 is missing"),
        ("branches --alpha 3:1", "3:1"),
        ("single --alpha 1 --threads 0", "--threads 0 is out of range"),
    ]
    .into_iter()
    .map(|(line, message)| (line.split(' ').map(str::to_owned).collect(), message))
    .chain([
        (
            ["single", "--alpha", "1", "--plot"]
                .map(str::to_owned)
                .into_iter()
                .chain([text(&nowhere)])
                .collect(),
            "no/such/folder",
        ),
        (
            ["single", "--alpha", "1", "--plot"]
                .map(str::to_owned)
                .into_iter()
                .chain([text(&wrong_kind)])
                .collect(),
            "pdf",
        ),
    ])
    .collect();
    for (arguments, message) in cases {
        let all: Vec<&str> =
            ["theory"].into_iter().chain(arguments.iter().map(String::as_str)).collect();
        let output = remanent(&all);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn completions_and_help_are_there() {
    for shell in ["bash", "zsh", "fish"] {
        let output = remanent(&["completions", shell]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("remanent"));
    }
    let help = String::from_utf8(remanent(&["theory", "--help"]).stdout).unwrap();
    for command in ["single", "constrained", "chain", "branches", "phase-diagram", "tune"] {
        assert!(help.contains(command));
    }
}
