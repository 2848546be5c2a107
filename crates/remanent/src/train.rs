//! `remanent train`: networks that learn a stream of tasks.

use std::path::PathBuf;

use clap::Args;
use remanent_lab::experiment::Resources;
use remanent_lab::training::Training;

use crate::data;
use crate::experiment::ExperimentCommand;
use crate::output::Outcome;
use crate::submit::Estimate;

const EXAMPLES: &str = "\
Examples:
  remanent train --preset digits
  remanent train --stream permuted:mnist:5 --learner vcl --hidden 512,512 --epochs 40 --seeds 5 --out runs/perm
  remanent train --preset paper-permuted --seeds 5 --out runs/published
  remanent train --preset remanent --stream permuted:mnist:5 --train-images 32000 --epochs 5
  remanent train --stream permuted:digits:3 --learner ewc --scan gamma=0.01,0.1,1 --plot gamma.svg

The same command continues a run that was interrupted. Models are in DIR/models: see remanent inspect,
export and predict.";

/// Train a network of binary weights on a sequence of tasks
///
/// The tables show the mean over trials, with its standard error, for four predictors: one
/// stochastic pass (the paper's test), several of them averaged (mean_field), binary networks
/// sampled from the measure, and the hard binary network. Only the last two are binary.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Train {
    #[command(flatten)]
    command: ExperimentCommand<Training>,
    /// Directory of the datasets [default: as in remanent data]
    #[arg(long, value_name = "DIR", help_heading = "Experiment")]
    data_dir: Option<PathBuf>,
}

impl Train {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        let cache = data::cache(self.data_dir.as_deref(), "--data-dir")?;
        self.command.run(&Resources { cache: Some(cache) }, quiet)
    }

    /// What it would take.
    pub fn estimate(self, keep: bool) -> anyhow::Result<Estimate> {
        let cache = data::cache(self.data_dir.as_deref(), "--data-dir")?;
        self.command.estimate(&Resources { cache: Some(cache) }, keep)
    }
}
