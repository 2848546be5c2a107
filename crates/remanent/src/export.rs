//! `remanent export`: binary networks for other programs and small machines.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use remanent_network::binary::{BinaryNetwork, npz, onnx};
use remanent_store::atomic;

use crate::flags;
use crate::model::{self, Choice, Model};
use crate::output::{self, Outcome, UsageError};

const EXAMPLES: &str = "\
Examples:
  remanent export runs/perm --format packed --out perm.rbin
  remanent export runs/perm --trial 2 --format onnx
  remanent export perm.rbin --format npz --force";

/// Writes the hard binary network of a model, sign(theta), into a file for use elsewhere.
///
/// Batch normalisation is written as the scales and shifts that it is at test time. What is printed
/// is the name of the file and its size.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// A model (.safetensors or .rbin), or a run directory
    model: PathBuf,
    /// What is written
    #[arg(long, value_enum)]
    format: ExportFormat,
    /// The file that is written [default: named after MODEL, in the current directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replaces the file if it is there; devices, pipes and symbolic links are never replaced
    #[arg(long)]
    force: bool,
    /// The trial of a run directory, from 0 [default: 0]
    #[arg(long, value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    trial: Option<u32>,
    /// The case of a run directory that has several, from 1
    #[arg(long, value_name = "K", value_parser = flags::size, allow_hyphen_values = true)]
    case: Option<usize>,
}

/// Forms of binary networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// One bit a weight (.rbin): what remanent predict is fastest with
    Packed,
    /// Arrays for NumPy (.npz), weights as int8
    Npz,
    /// For onnxruntime and its kin (.onnx), weights as int8
    Onnx,
}

impl ExportFormat {
    fn extension(self) -> &'static str {
        match self {
            Self::Packed => "rbin",
            Self::Npz => "npz",
            Self::Onnx => "onnx",
        }
    }

    fn encode(self, network: &BinaryNetwork) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Packed => Ok(network.to_bytes()),
            Self::Npz => npz::encode(network),
            Self::Onnx => Ok(onnx::encode(network)),
        }
    }
}

impl Export {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        let is_run = self.model.is_dir();
        output::usage(is_run || self.trial.is_none(), || {
            let model = self.model.display();
            format!("--trial chooses a trial of a run directory, and {model} is none")
        })?;
        let out = self.out.clone().unwrap_or_else(|| self.name(is_run));
        let choice = Choice { trial: self.trial, case: self.case };
        let path = model::locate(&self.model, choice, quiet)?;
        self.check(&out, &path)?;
        let network = Model::read(&path)?.packed()?;
        let bytes = self.format.encode(&network)?;
        atomic::write(&out, &[&bytes])?;
        output::print(&format!("{} {} bytes\n", out.display(), bytes.len()))?;
        Ok(Outcome::Done)
    }

    /// The name of the model with the extension of the format.
    fn name(&self, is_run: bool) -> PathBuf {
        let name = if is_run { self.model.file_name() } else { self.model.file_stem() };
        let mut name = name.map_or_else(|| "model".into(), |n| n.to_string_lossy().into_owned());
        if is_run {
            if let Some(case) = self.case {
                name += &format!("-case-{case}");
            }
            name += &format!("-trial-{}", self.trial.unwrap_or(0));
        }
        format!("{name}.{}", self.format.extension()).into()
    }

    /// Refuses to overwrite anything that the user has not given up, and the model in any case.
    fn check(&self, out: &Path, model: &Path) -> Result<(), UsageError> {
        let shown = out.display();
        output::usage(!out.is_dir(), || format!("--out {shown} is a directory; name a file"))?;
        atomic::check_target(out).map_err(|error| UsageError::new(format!("--out: {error}")))?;
        let same = |a: &Path, b: &Path| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
        output::usage(!same(out, model), || {
            format!("{shown} is the model itself; choose another name by --out")
        })?;
        output::usage(self.force || !out.exists(), || {
            format!("{shown} is there already; choose another --out, or replace it with --force")
        })
    }
}
