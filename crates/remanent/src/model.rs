//! Models as commands take them: a file, or a run directory and the number of a trial.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use remanent_lab::{found, training};
use remanent_network::architecture::Architecture;
use remanent_network::binary::{BinaryNetwork, NetworkError, file, format};
use remanent_network::network::Network;
use remanent_network::tensors::TensorError;
use remanent_store::found::FoundRun;
use remanent_store::sealed::SealError;
use remanent_store::{cell_name, files};
use serde_json::Value;

use crate::output::{self, UsageError};

/// A network that was trained, as it is kept.
pub enum Model {
    /// θ of every weight, and the provenance.
    Trained {
        /// The network.
        network: Box<Network>,
        /// Settings, seed and trial.
        provenance: Value,
    },
    /// The signs alone.
    Packed(BinaryNetwork),
}

impl Model {
    /// Reads a file of either kind, told apart by the first bytes.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        Self::decode(path, &read_bytes(path)?)
    }

    /// The model in the bytes of a file.
    pub fn decode(path: &Path, bytes: &[u8]) -> anyhow::Result<Self> {
        if is_packed(path, bytes) {
            let packed = BinaryNetwork::from_bytes(bytes);
            let packed = packed.with_context(|| format!("{} cannot be used", path.display()))?;
            return Ok(Self::Packed(packed));
        }
        let decoded = remanent_network::model::decode(bytes);
        let (network, provenance) = decoded.map_err(|error| unusable(path, &error))?;
        // In a run directory the name of a file says whose model it is.
        let name = path.file_stem().and_then(OsStr::to_str).filter(|_| is_in_run(path));
        if name.is_some_and(|name| name.len() == 32 && name != cell_name("train", &provenance)) {
            let (trial, seed) = (&provenance["trial"], &provenance["seed"]);
            return Err(anyhow!(
                "{} has the name of another model: it holds that of trial {trial} of seed {seed}; \
                 {MAKE_AGAIN}",
                path.display()
            ));
        }
        Ok(Self::Trained { network: Box::new(network), provenance })
    }

    /// Widths and functions.
    pub fn architecture(&self) -> &Architecture {
        match self {
            Self::Trained { network, .. } => network.architecture(),
            Self::Packed(network) => network.architecture(),
        }
    }

    /// The binary network.
    pub fn packed(&self) -> Result<BinaryNetwork, NetworkError> {
        match self {
            Self::Trained { network, .. } => BinaryNetwork::hard(network),
            Self::Packed(network) => Ok(network.clone()),
        }
    }

    /// The provenance, if known.
    pub fn provenance(&self) -> Option<&Value> {
        match self {
            Self::Trained { provenance, .. } => Some(provenance),
            Self::Packed(_) => None,
        }
    }
}

/// The bytes of a file that the user has named.
pub fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    files::read_whole(path).map_err(|error| match error.cause.kind() {
        io::ErrorKind::NotFound => UsageError::new(format!(
            "there is no file or directory {}; give a model (.safetensors or .rbin) or a run \
             directory",
            path.display()
        ))
        .into(),
        _ => error.into(),
    })
}

/// Whether a file is to be a packed network.
pub fn is_packed(path: &Path, bytes: &[u8]) -> bool {
    let named = path.extension().is_some_and(|extension| extension == file::EXTENSION);
    named || bytes.starts_with(&format::MAGIC)
}

/// What to do about a model of a run directory.
pub const MAKE_AGAIN: &str = "repeat the remanent train command to restore it";

/// Whether a file is among the models of a run directory.
fn is_in_run(path: &Path) -> bool {
    // Runs of many cells have folders in it.
    let mut folders = path.ancestors().skip(1).take(2);
    let folder = folders.find(|folder| folder.file_name() == Some(OsStr::new("models")));
    folder.and_then(Path::parent).is_some_and(|run| run.join("records").is_dir())
}

/// Says what is wrong with a file of arrays, and what to do about it.
pub fn unusable(path: &Path, error: &TensorError) -> anyhow::Error {
    if is_in_run(path) {
        return anyhow!("{} cannot be used: {error}; {MAKE_AGAIN}", path.display());
    }
    let cure = match error {
        TensorError::Format(_) | TensorError::Foreign => {
            "; give a model of remanent train (.safetensors), a packed one (.rbin), or a run \
             directory"
        }
        TensorError::Version { .. } => "; use the program that wrote it",
        TensorError::Kind { .. } => "; remanent inspect shows what it is",
        _ => "; copy it or train it again",
    };
    anyhow!("{} cannot be used: {error}{cure}", path.display())
}

/// Which model of a run directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    /// From 0.
    pub trial: Option<u32>,
    /// From 1.
    pub case: Option<usize>,
}

/// Looks at a run directory.
pub fn read_run(directory: &Path) -> anyhow::Result<FoundRun> {
    found::read(directory).map_err(|error| match error {
        SealError::Missing(_) => {
            let shown = directory.display();
            let cure = match runs_in(directory).as_slice() {
                [] => "give the --out of remanent train or simulate".into(),
                [one] => format!("the run in it is {one}"),
                many => format!("the runs in it are {}: give one of them", many.join(", ")),
            };
            anyhow!("{shown} is not a run directory: it has no experiment.json; {cure}")
        }
        error => error.into(),
    })
}

/// The folders of a directory that are runs: `remanent reproduce` has one for each kind of cells, and
/// runs/ has one for each configuration.
fn runs_in(directory: &Path) -> Vec<String> {
    const SHOWN: usize = 5;
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path());
    let is_run = |path: &PathBuf| path.join("experiment.json").is_file();
    let mut runs: Vec<String> =
        folders.filter(is_run).map(|path| path.display().to_string()).collect();
    runs.sort();
    if runs.len() > SHOWN {
        let more = runs.len() - SHOWN;
        runs.truncate(SHOWN);
        runs.push(format!("{more} more"));
    }
    runs
}

/// The file that is meant by a path: itself, or a model of a run directory, which is then said.
pub fn locate(path: &Path, choice: Choice, quiet: bool) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        output::usage(choice.case.is_none(), || {
            let shown = path.display();
            format!("--case needs a run directory, and {shown} is a file")
        })?;
        return Ok(path.to_owned());
    }
    let run = read_run(path)?;
    let shown = path.display();
    output::usage(run.kind == "train", || {
        format!("{shown} holds a run of {}; only remanent train writes models", run.kind)
    })?;
    run.damaged.iter().for_each(|error| output::say(&format!("damaged: {error}")));
    let cases = training::found_cases(&run).map_err(anyhow::Error::msg)?;
    let count = cases.len();
    let number = match choice.case {
        None if count == 1 => 1,
        None => {
            return Err(UsageError::new(format!(
                "{shown} holds {count} cases: choose one by --case 1 to --case {count}"
            ))
            .into());
        }
        Some(number) => number,
    };
    let case = number.checked_sub(1).and_then(|index| cases.get(index)).ok_or_else(|| {
        UsageError::new(format!(
            "--case {number} is out of range: {shown} holds cases 1 to {count}"
        ))
    })?;
    let trial = choice.trial.unwrap_or(0);
    let found = case.trials.iter().find(|found| found.trial == trial).ok_or_else(|| {
        let done: Vec<String> = case.trials.iter().map(|found| found.trial.to_string()).collect();
        let done = if done.is_empty() { "none".into() } else { done.join(", ") };
        UsageError::new(format!(
            "trial {trial} is not done in {shown} (done: {done}); choose another --trial, or \
             continue the run"
        ))
    })?;
    found.check_model().map_err(|error| anyhow!("{error}; {MAKE_AGAIN}"))?;
    output::remark(quiet, &format!("model of trial {trial}: {}", found.model.display()));
    Ok(found.model.clone())
}
