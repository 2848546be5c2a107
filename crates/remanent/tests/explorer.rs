//! The explorer in Chromium: `explorer/explorer.mjs` drives it with playwright-core. Needs node, npm and
//! Chromium; without them the test is skipped with a message, unless REMANENT_CHROMIUM_REQUIRED is set.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_remanent");

/// A server, ended when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(runs: &Path) -> (Server, String) {
    let mut child = Command::new(PROGRAM)
        .args(["serve", "--port", "0", "--quiet", "--runs"])
        .arg(runs)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (Server(child), url.trim().to_owned())
}

fn remanent(arguments: &[&str], out: &Path) {
    let status =
        Command::new(PROGRAM).args(arguments).arg("--out").arg(out).arg("--quiet").output();
    let output = status.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn chromium() -> Option<PathBuf> {
    let named = env::var_os("REMANENT_CHROMIUM").map(PathBuf::from);
    let folders = env::var_os("PATH").unwrap_or_default();
    let in_path =
        |name: &str| env::split_paths(&folders).map(|f| f.join(name)).find(|p| p.is_file());
    named.or_else(|| {
        ["chromium", "chromium-browser", "google-chrome"].iter().find_map(|n| in_path(n))
    })
}

/// The folder of the scripts with the packages that they need, or why there is none.
fn packages() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explorer");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explorer");
    fs::create_dir_all(&folder).unwrap();
    for file in ["package.json", "explorer.mjs"] {
        fs::copy(source.join(file), folder.join(file)).unwrap();
    }
    if !folder.join("node_modules/playwright-core").is_dir()
        || !folder.join("node_modules/axe-core").is_dir()
    {
        let install = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
            .current_dir(&folder)
            .output()
            .map_err(|error| format!("npm cannot be run: {error}"))?;
        if !install.status.success() {
            return Err(format!(
                "npm install failed: {}",
                String::from_utf8_lossy(&install.stderr)
            ));
        }
    }
    Ok(folder)
}

#[test]
fn the_explorer_works_in_a_browser() {
    let ready = chromium().ok_or("no Chromium".to_owned()).and_then(|path| Ok((path, packages()?)));
    let (chromium, scripts) = match ready {
        Ok(ready) => ready,
        Err(reason) => {
            assert!(env::var_os("REMANENT_CHROMIUM_REQUIRED").is_none(), "{reason}");
            eprintln!("skipped: {reason}");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let simulate = [
        "simulate", "--alpha", "1,1", "--r0", "0.5", "--n", "100", "--epochs", "20", "--seeds",
        "5", "--lr",
    ];
    remanent(&[&simulate[..], &["0.1"]].concat(), &runs.join("slow"));
    remanent(&[&simulate[..], &["0.2"]].concat(), &runs.join("fast"));
    remanent(
        &[
            "train",
            "--stream",
            "permuted:digits:2",
            "--hidden",
            "32",
            "--epochs",
            "3",
            "--seeds",
            "2",
        ],
        &runs.join("digits"),
    );
    let (_server, url) = serve(&runs);
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let mut tests = Command::new("node");
    tests.arg("explorer.mjs").arg(&url).current_dir(scripts);
    tests.args(env::var_os("REMANENT_SCREENSHOTS"));
    tests
        .env("REMANENT_CHROMIUM", chromium)
        .env("REMANENT_PROGRAM", PROGRAM)
        .env("REMANENT_RUNS", &runs);
    let output = tests.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
}
