//! The program as its users run it: `remanent benchmark`.

mod common;

use std::fs;
use std::time::SystemTime;

use tempfile::TempDir;

use crate::common::{json, refused, remanent};

const ONE: &str = "benchmark one --quick --seeds 2 --out run";

#[test]
fn learners_are_compared_and_nothing_is_computed_twice() {
    let directory = TempDir::new().unwrap();
    let first = json(&directory, &format!("{ONE} --learner bimu"));
    let times = || -> Vec<SystemTime> {
        let files = fs::read_dir(directory.path().join("run/train/records")).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().modified().unwrap()).collect()
    };
    let before = times();
    assert_eq!(before.len(), 2);
    // Another learner is added to the same directory; the records of the first stay as they are.
    let both = json(&directory, &format!("{ONE} --learner BiMU,SGD"));
    let after = times();
    assert_eq!(after.len(), 4);
    assert!(before.iter().all(|time| after.contains(time)));
    let rows = both["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["learner"].as_str().unwrap()).collect();
    assert_eq!(names, ["BiMU", "BiMU", "SGD"]);
    assert_eq!(rows[..2], first["rows"].as_array().unwrap()[..]);
    for row in rows {
        let measured = &row["measured"];
        let accuracy = measured["accuracy"]["mean"].as_f64().unwrap();
        assert!((0.4..1.0).contains(&accuracy), "{row}");
        assert_eq!(measured["accuracy"]["n"], 2);
        // There is one task: what is left of it is what was learned.
        assert_eq!(measured["newest"], measured["accuracy"]);
        // Digits are not what was published.
        assert!(row["published"].is_null());
    }
    let bits: Vec<u64> = rows.iter().map(|row| row["measured"]["bits"].as_u64().unwrap()).collect();
    assert_eq!(bits, [5, 1, 32]);
}

#[test]
fn a_table_and_a_plan_are_printed() {
    let directory = TempDir::new().unwrap();
    let text = |arguments: &str| {
        let output = remanent(&directory, arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let plan = text(&format!("{ONE} --dry-run"));
    assert!(plan.contains("784-100-10, online, one task"), "{plan}");
    assert!(!directory.path().join("run").exists());
    let csv = text(&format!("{ONE} --learner sgd --format csv --plot one.svg"));
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().starts_with("protocol,learner,predictor,accuracy,accuracy_se,n"));
    assert!(lines.next().unwrap().starts_with("one,SGD,hard,0."), "{csv}");
    assert!(fs::read_to_string(directory.path().join("one.svg")).unwrap().contains("SGD"));
}

#[test]
fn unknown_protocols_and_learners_are_refused() {
    let directory = TempDir::new().unwrap();
    let says = |arguments: &str, text: &str| {
        let message = refused(&directory, arguments);
        assert!(message.contains(text), "{arguments}: {message}");
    };
    says("benchmark nothing", "online-100");
    says("benchmark", "<PROTOCOL>");
    says(
        "benchmark one --learner adm",
        "there is no learner 'adm' in one; the learners there are BiMU; BayesBiNN",
    );
    says("benchmark one --seeds 0", "at least 1");
}
