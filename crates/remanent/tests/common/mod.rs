//! What tests of the program share: calling it, killing it, reading what it leaves.

#![allow(dead_code, reason = "every test uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, SystemTime};

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

/// Starts the program, which saves itself often, and waits until it has saved a checkpoint.
fn start_until_saved(directory: &TempDir, arguments: &str) -> Child {
    let before = checkpoints(directory.path());
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("remanent"))
        .current_dir(directory.path())
        .args(arguments.split_whitespace())
        .args(["--checkpoint-every", "0.02"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_new = |found: &(PathBuf, SystemTime)| !before.contains(found);
    while !checkpoints(directory.path()).iter().any(is_new) {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "{arguments} ends before it has saved a checkpoint");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Kills the program without warning once it has saved a checkpoint, and after another while.
pub fn kill_after_checkpoint(directory: &TempDir, arguments: &str, pause: Duration) {
    // The cell may be done before the blow falls; then the next one is as good.
    for _ in 0..20 {
        let mut child = start_until_saved(directory, arguments);
        std::thread::sleep(pause);
        child.kill().unwrap();
        child.wait().unwrap();
        if waiting(directory.path()) > 0 {
            return;
        }
    }
    panic!("{arguments} leaves no checkpoint");
}

/// Interrupts the program as Ctrl-C does once it has saved a checkpoint.
#[cfg(unix)]
pub fn interrupt_after_checkpoint(directory: &TempDir, arguments: &str) -> (Option<i32>, String) {
    interrupt(start_until_saved(directory, arguments))
}

/// Runs a command to its end, which must continue from every checkpoint that lies there, and from at
/// least one.
pub fn continue_run(directory: &TempDir, arguments: &str) {
    let waiting = waiting(directory.path());
    let output = remanent(directory, arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {told}");
    let continued = told.matches("continuing a cell from its checkpoint").count();
    assert!(waiting > 0 && continued == waiting, "{waiting} checkpoints, {arguments}: {told}");
}

/// The checkpoints below a directory, and when each was written.
fn checkpoints(directory: &Path) -> Vec<(PathBuf, SystemTime)> {
    let mut found = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_whole = path.extension().is_some_and(|e| e == "json" || e == "safetensors");
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(written) = entry.metadata().and_then(|data| data.modified())
                && folder.ends_with("checkpoints")
                && is_whole
            {
                found.push((path, written));
            }
        }
    }
    found
}

/// Checkpoints of cells that have no record.
fn waiting(directory: &Path) -> usize {
    let has_no_record = |found: &(PathBuf, SystemTime)| {
        let run = found.0.parent().and_then(Path::parent).unwrap();
        !run.join("records").join(found.0.file_name().unwrap()).with_extension("json").exists()
    };
    checkpoints(directory).into_iter().filter(has_no_record).count()
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
    interrupt(child)
}

#[cfg(unix)]
fn interrupt(child: Child) -> (Option<i32>, String) {
    let sent = Process::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}
