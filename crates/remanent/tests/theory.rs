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
fn a_configuration_is_the_same_question_and_flags_override_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.toml");
    let text = "experiment = \"theory\"\nask = \"chain\"\nalpha = [2, 2]\nr0 = 0.5\nscan.\"alpha.2\" = [1, 2]\n";
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let flags = ["theory", "chain", "--alpha", "2,2", "--r0", "0.3", "--scan", "alpha.2=1,2"];
    assert_eq!(json(&["theory", "chain", "--config", path, "--r0", "0.3"]), json(&flags));
    let refused = remanent(&["theory", "single", "--config", path]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("takes ask = \"single\""));
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
        ("constrained --alpha 2 --q-star 1", "q_star = 1 is out of range"),
        ("constrained --alpha 2 --q-star 0", "q_star = 0 is out of range"),
        ("constrained --alpha 2,2 --q-star 0.5", "r0 is missing"),
        ("branches --alpha 3:1", "3:1"),
        ("single --alpha 1 --rsb 3", "one of 0, 1, 2, auto"),
        ("branches --rsb auto", "branches takes rsb 0, 1 or 2, not auto"),
        ("phase-diagram --rsb 2", "phase-diagram takes rsb 0 or 1, not 2"),
        ("chain --alpha 1,1 --r0 0.5 --rsb 2", "a chain takes rsb 0 or 1, not 2"),
        ("constrained --alpha 1,1 --r0 0.5 --q-star 0.5 --rsb auto", "a chain takes rsb 0 or 1"),
        ("complexity --beta 20", "alpha is missing"),
        ("complexity --alpha 1 --rows 1", "rows = 1 is out of range"),
        ("single --alpha 1 --threads 0", "threads = 0 is out of range"),
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
    for command in
        ["single", "constrained", "chain", "branches", "phase-diagram", "complexity", "tune"]
    {
        assert!(help.contains(command));
    }
}

/// Values of an independent solver: α, K, q_d, q_1, q_0, r, x, −βf, ε, λ_1, λ_0.
const BROKEN: [[f64; 11]; 5] = [
    [
        0.8,
        1.0,
        0.8383180789,
        0.8058358197,
        0.7256462558,
        0.5330464479,
        0.6654094865,
        -2.468369246,
        0.3058932055,
        0.009717513648,
        0.01211744957,
    ],
    [
        1.0,
        1.0,
        0.8906755178,
        0.8808218729,
        0.7545195807,
        0.6189866133,
        0.3636531381,
        -3.169633974,
        0.2752557668,
        -0.04414239068,
        0.03032773022,
    ],
    [
        1.4,
        1.0,
        0.9185207281,
        0.9133560787,
        0.8279011907,
        0.7972538542,
        0.1648364358,
        -4.651989091,
        0.1919520805,
        -0.09934635676,
        -0.001642394211,
    ],
    [
        1.5,
        1.0,
        0.9195802616,
        0.9145783846,
        0.8647924237,
        0.8606120237,
        0.1450291968,
        -4.994668399,
        0.151312414,
        -0.07470168217,
        -0.01437017203,
    ],
    [
        1.0,
        2.0,
        0.8906758296,
        0.8788275753,
        0.7544617243,
        0.6189854059,
        0.3633581487,
        -3.169634513,
        0.275256446,
        -0.002742707152,
        0.03076762674,
    ],
];

#[test]
fn broken_solutions_match_an_independent_solver() {
    let names = ["q_d", "q_1", "q_0", "r", "x", "minus_beta_f", "eps", "lambda_1", "lambda_0"];
    for [alpha, steps, expected @ ..] in BROKEN {
        let (alpha, rsb) = (alpha.to_string(), steps.to_string());
        let arguments = ["theory", "single", "--alpha", &alpha, "--branch", "poor", "--rsb", &rsb];
        let row = &json(&arguments)[0];
        assert_is_solution(row);
        assert_eq!((&row["rsb"], &row["branch"]), (&(steps as usize).into(), &"poor".into()));
        for (name, expected) in names.into_iter().zip(expected) {
            let found = row[name].as_f64().unwrap();
            let scale = if name.starts_with("lambda") { 1.0 } else { expected.abs() };
            assert!((found - expected).abs() < 1e-7 * scale, "{alpha} {rsb} {name}: {found}");
        }
        assert!(row["complexity"].as_f64().unwrap().abs() < 1e-9);
    }
}

#[test]
fn auto_takes_the_steps_that_are_needed() {
    let rows = json(&["theory", "single", "--alpha", "0.5,0.8,1,1.6", "--rsb", "auto"]);
    let taken: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["rsb"].as_u64()).collect();
    assert_eq!(taken, [Some(0), Some(1), Some(2), Some(0)]);
    assert!(rows[0]["q_1"].is_null() && rows[2]["q_2"].is_number() && rows[3]["branch"] == "good");
    // Clusters at a distance, although the replicon is positive.
    let rows = json(&["theory", "single", "--alpha", "0.525", "--beta", "50", "--rsb", "auto"]);
    assert_eq!(rows[0]["rsb"], 1);
}

#[test]
fn a_negative_replicon_points_to_broken_symmetry() {
    let output = remanent(&["theory", "single", "--alpha", "0.5,1"]);
    let note = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && note.contains("1 of 2 rows") && note.contains("--rsb auto"));
    let output = remanent(&["theory", "single", "--alpha", "0.5"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("rsb"));
}

#[test]
fn a_broken_solution_that_does_not_exist_is_a_row_and_exits_with_1() {
    let output = remanent(&[
        "theory",
        "single",
        "--alpha",
        "0.5,1,1.54",
        "--branch",
        "poor",
        "--rsb",
        "1",
        "--format",
        "json",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows[1]["termination"], "converged");
    for row in [&rows[0], &rows[2]] {
        assert_eq!(row["termination"], "no_solution");
        assert!(row["q_1"].is_null() && row["eps"].is_null());
    }
}

#[test]
fn broken_branches_have_landmarks() {
    let result = json(&["theory", "branches", "--rsb", "1"]);
    assert!((result["crossing"]["alpha"].as_f64().unwrap() - 1.650_219_85).abs() < 1e-6);
    let broken = &result["broken"];
    assert!(broken["rows"].as_array().unwrap().len() > 20);
    let at = |name: &str| {
        let all = broken["landmarks"].as_array().unwrap();
        all.iter().find(|l| l["name"] == name).unwrap()["alpha"].as_f64().unwrap()
    };
    for (name, alpha) in [
        ("onset", 0.728_926_046_1),
        ("fold", 1.531_516_694),
        ("crossing", 1.517_981_97),
        ("lambda_1 zero", 0.879_870_887_5),
        ("lambda_0 zero", 1.387_739_08),
    ] {
        assert!((at(name) - alpha).abs() < 1e-6, "{name}: {}", at(name));
    }
}

#[test]
fn broken_phases_have_lines_and_special_points() {
    let diagram = json(&["theory", "phase-diagram", "--rsb", "1", "--beta", "20,50"]);
    let rows = diagram["rows"].as_array().unwrap();
    assert!((rows[0]["crossing"].as_f64().unwrap() - 1.517_981_97).abs() < 1e-6);
    assert!((rows[1]["poor_until"].as_f64().unwrap() - 1.497_599_128).abs() < 1e-6);
    assert!(rows[1]["dynamical"].as_f64() < rows[1]["condensation"].as_f64());
    assert!((diagram["discontinuous_onset"]["beta"].as_f64().unwrap() - 24.864_912).abs() < 1e-5);
    assert!(diagram["first_breaking"].is_null() && diagram["symmetric"]["rows"].is_array());
}

#[test]
fn a_chain_may_break_in_every_task() {
    let chain = json(&[
        "theory", "chain", "--alpha", "1,1", "--r0", "0.5", "--gamma", "0.02", "--rsb", "1",
    ]);
    let tasks = chain["tasks"].as_array().unwrap();
    assert_eq!((tasks.len(), &tasks[0]["rsb"]), (2, &1.into()));
    assert!((tasks[0]["eps"].as_f64().unwrap() - 0.275_255_766_8).abs() < 1e-7);
    assert_eq!(tasks[1]["eps_by_task"].as_array().unwrap().len(), 2);
}

#[test]
fn the_self_overlap_of_a_broken_solution_can_be_held() {
    let rows = json(&[
        "theory",
        "constrained",
        "--alpha",
        "1",
        "--q-star",
        "0.8906755178",
        "--branch",
        "poor",
        "--rsb",
        "1",
    ]);
    assert!((rows[0]["eps"].as_f64().unwrap() - 0.275_255_766_8).abs() < 1e-6);
}

#[test]
fn complexity_falls_with_the_weight_of_clusters() {
    let found = json(&["theory", "complexity", "--alpha", "0.518", "--beta", "50", "--rows", "10"]);
    let rows = found["rows"].as_array().unwrap();
    assert!(rows.len() > 3 && rows[0]["x"] == 1.0);
    let column =
        |name: &str| -> Vec<f64> { rows.iter().map(|r| r[name].as_f64().unwrap()).collect() };
    let (s, sigma) = (column("cluster_minus_beta_f"), column("complexity"));
    assert!(sigma[0] > 0.0 && sigma.is_sorted() && s.is_sorted_by(|a, b| a > b));
    assert!(
        found["dynamical"].as_f64().unwrap() < 0.518
            && found["condensation"].as_f64().unwrap() > 0.518
    );
    let output = remanent(&["theory", "complexity", "--alpha", "0.3", "--beta", "20"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there are no clusters"));
}
