//! `remanent reproduce` as a user meets it.

#[path = "../../remanent-reproduce/tests/common/browser.rs"]
mod browser;
mod common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::{
    continue_run, interrupt_after_checkpoint, json, kill_after_checkpoint, records, refused,
    remanent,
};
use serde_json::Value;
use tempfile::TempDir;

/// All figures, as the paper numbers them, and those beyond it.
const FIGURES: &[&str] = &[
    "1", "2a", "2b", "2c", "2d", "3a", "3b", "3c", "3d", "4a", "4b", "4c", "4d", "5a", "5b", "6",
    "7a", "7b", "8", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B10",
];

fn figures(report: &Value) -> Vec<&str> {
    let list = report["figures"].as_array().unwrap();
    list.iter().map(|figure| figure["figure"].as_str().unwrap()).collect()
}

#[test]
fn the_quick_report_shows_every_figure() {
    let directory = TempDir::new().unwrap();
    let report = json(&directory, "reproduce --quick");
    assert_eq!(figures(&report), FIGURES);
    for figure in report["figures"].as_array().unwrap() {
        let id = &figure["figure"];
        let is_beyond = id.as_str().unwrap().starts_with('B');
        let kind = if is_beyond { "answers" } else { "claims" };
        let findings = figure["findings"][kind].as_array().unwrap();
        assert!(!findings.is_empty(), "{id}");
        let tested = |finding: &Value| !finding["tests"].as_array().unwrap().is_empty();
        assert!(is_beyond || findings.iter().all(tested), "{id}");
        let answers = findings.iter().filter_map(|finding| finding["answer"].as_str());
        let said = ["found", "size"].map(|key| figure[key].as_str().unwrap());
        for text in answers.chain(said) {
            assert!(
                text.len() > 5 && !text.contains("NaN") && !text.contains("inf"),
                "{id}: {text}"
            );
        }
    }
    let page = directory.path().join("report/index.html");
    let html = fs::read_to_string(&page).unwrap();
    assert!(!html.contains("no data"), "a panel is empty");
    let Some(browser) = browser::Browser::find() else { return };
    let sections: Vec<String> = FIGURES.iter().map(|id| format!("fig-{id}")).collect();
    browser::check(&browser, &page, &sections.iter().map(String::as_str).collect::<Vec<_>>(), None);
}

#[test]
fn some_figures_are_made_and_kept() {
    let directory = TempDir::new().unwrap();
    let report = json(&directory, "reproduce 1 2a --quick --seeds 2 --keep .");
    assert_eq!(figures(&report), ["1", "2a"]);
    assert!(report["figures"][1]["size"].as_str().unwrap().contains("2 trials"), "{report}");
    for id in ["1", "2a"] {
        let folder = directory.path().join("figures").join(id);
        let verdict: Value =
            serde_json::from_slice(&fs::read(folder.join("verdict.json")).unwrap()).unwrap();
        assert_eq!(verdict["id"], id);
        assert!(fs::read_to_string(folder.join("figure.svg")).unwrap().starts_with("<svg"));
        assert!(fs::read_to_string(folder.join("data.csv")).unwrap().lines().count() > 100);
    }
    let summary = fs::read_to_string(directory.path().join("REPRODUCIBILITY.md")).unwrap();
    assert!(summary.contains("## 2a: learning curves of one task"), "{summary}");

    // A damaged verdict is made anew with its figure, and named with another.
    let damaged = directory.path().join("figures/2a/verdict.json");
    fs::write(&damaged, "{").unwrap();
    let output = remanent(&directory, "reproduce 1 --quick --seeds 2 --keep .").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("figures/2a/verdict.json cannot be read"), "{message}");
    json(&directory, "reproduce 2a --quick --seeds 2 --keep .");
    assert!(fs::read_to_string(&damaged).unwrap().contains("\"id\": \"2a\""));

    // What was kept at full size is not lost to a smaller run.
    let mut verdict: Value = serde_json::from_slice(&fs::read(&damaged).unwrap()).unwrap();
    assert!(verdict["size"]["full"].is_string(), "{verdict}");
    verdict["size"]["full"] = Value::Null;
    let whole = verdict.to_string();
    fs::write(&damaged, &whole).unwrap();
    let output = remanent(&directory, "reproduce 2a --quick --seeds 2 --keep .").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && message.contains("at full size"), "{message}");
    assert_eq!(fs::read_to_string(&damaged).unwrap(), whole);

    // One figure more joins those that are kept.
    json(&directory, "reproduce 2d --quick --seeds 1 --keep .");
    let summary = fs::read_to_string(directory.path().join("REPRODUCIBILITY.md")).unwrap();
    assert!(summary.contains("## 1: ") && summary.contains("## 2d: "), "{summary}");
    let again = json(&directory, "reproduce 1 2a --quick --seeds 2");
    assert_eq!(figures(&again), figures(&report));
    assert_eq!(again["figures"][1]["found"], report["figures"][1]["found"]);
}

#[test]
fn a_dry_run_counts_cells_and_computes_nothing() {
    let directory = TempDir::new().unwrap();
    let rows = json(&directory, "reproduce 2b 2c 3a --quick --dry-run");
    let of = |row: usize, key: &str| rows[row][key].as_u64().unwrap();
    assert_eq!((of(0, "cells"), of(0, "to_compute")), (36, 36));
    // Figure 2c is drawn from the cells of 2b.
    assert_eq!((of(1, "cells"), of(1, "to_compute")), (36, 0));
    assert!(of(0, "memory") > 0 && rows[0]["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = TempDir::new().unwrap();
    assert!(refused(&directory, "reproduce 3e").contains("did you mean one of 3a, 3b"));
    assert!(refused(&directory, "reproduce figure").contains("the figures are 1, 2a"));
    assert!(refused(&directory, "reproduce 1 --seeds 0").contains("--seeds 0"));
    assert!(refused(&directory, "reproduce 1 --quick --checkpoint-every -1").contains("-1"));
    fs::write(directory.path().join("notes"), "mine").unwrap();
    assert!(refused(&directory, "reproduce 1 --quick --out notes").contains("not a directory"));
    // The figures of deep networks need MNIST, and say how to get it.
    let output = remanent(&directory, "reproduce 7a --data-dir nowhere").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("remanent data get mnist"), "{message}");
}

#[test]
fn a_killed_reproduction_continues_to_the_same_bits() {
    let (whole, broken) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let command = "reproduce 2a 2d 7a --quick --seeds 2";
    remanent(&whole, command).assert().success();
    for pause in [0, 300] {
        kill_after_checkpoint(&broken, command, Duration::from_millis(pause));
    }
    let (code, message) = interrupt_after_checkpoint(&broken, command);
    assert_eq!(code, Some(130), "{message}");
    assert!(message.contains("repeat the command to continue"), "{message}");
    continue_run(&broken, command);
    for kind in ["simulate", "train"] {
        let run =
            |directory: &TempDir| records(&directory.path().join("runs/reproduce").join(kind));
        assert!(run(&whole) == run(&broken), "{kind}");
    }
    let drawings = |directory: &Path| {
        let html = fs::read_to_string(directory.join("report/index.html")).unwrap();
        let parts: Vec<String> = html
            .split("<svg")
            .skip(1)
            .filter_map(|part| Some(part.split_once("</svg>")?.0.into()))
            .collect();
        parts
    };
    let found = drawings(whole.path());
    assert_eq!(found.len(), 3);
    assert!(found == drawings(broken.path()));
}
