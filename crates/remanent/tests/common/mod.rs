//! What tests of the program share: calling it, killing it, reading what it leaves.

#![allow(dead_code, reason = "every test uses some of it")]

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

pub fn remanent(directory: &TempDir, arguments: &str) -> Command {
    let mut command = Command::cargo_bin("remanent").unwrap();
    command.current_dir(directory.path()).args(arguments.split_whitespace());
    command
}

pub fn json(directory: &TempDir, arguments: &str) -> Value {
    let output = remanent(directory, &format!("{arguments} --format json")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub fn refused(directory: &TempDir, arguments: &str) -> String {
    let output = remanent(directory, arguments).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
    assert!(output.stdout.is_empty(), "{arguments}");
    message
}

/// Names and contents of all records of a run.
pub fn records(run: &Path) -> Vec<(String, Vec<u8>)> {
    let mut records: Vec<(String, Vec<u8>)> = std::fs::read_dir(run.join("records"))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_string_lossy().into(), std::fs::read(path).unwrap())
        })
        .collect();
    records.sort();
    records
}

/// Kills the program without warning, after a while in which it saves itself often.
pub fn kill_after(directory: &TempDir, arguments: &str, pause: Duration) {
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("remanent"))
        .current_dir(directory.path())
        .args(arguments.split_whitespace())
        .args(["--checkpoint-every", "0.02"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Interrupts the program as Ctrl-C does; gives its exit code and what it said.
#[cfg(unix)]
pub fn interrupt_after(
    directory: &TempDir,
    arguments: &str,
    pause: Duration,
) -> (Option<i32>, String) {
    let child = Process::new(assert_cmd::cargo::cargo_bin("remanent"))
        .current_dir(directory.path())
        .args(arguments.split_whitespace())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(pause);
    let sent = Process::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}
