//! `remanent benchmark`: learners against learners on published protocols.

use std::path::PathBuf;

use clap::Args;
use remanent_lab::experiment::{Experiment, checkpoint_interval};
use remanent_lab::training::Training;
use remanent_reproduce::{Benchmark, BenchmarkRequest, Cost, PROTOCOLS, Place, Stage};
use remanent_store::Share;

use crate::costs;
use crate::data;
use crate::experiment::{self, HowArguments, INTERRUPTED};
use crate::flags;
use crate::output::{self, Outcome, Output};
use crate::progress::Voice;
use crate::shard::ShardArguments;
use crate::submit::Estimate;

const EXAMPLES: &str = "\
Examples:
  remanent benchmark all --quick              every protocol on built-in digits, in a few minutes
  remanent benchmark all --dry-run            what each protocol takes
  remanent benchmark epochs --seeds 3         ten permuted MNIST tasks with every learner
  remanent benchmark online-100 --learner stream,bimu --format csv

The same command continues a run that was interrupted; protocols and learners can be added to it later.";

/// Compare learners on published protocols, beside the published results
///
/// A row has the accuracy at the end with its standard error, the accuracy on each task directly
/// after learning it, bits per weight, time and memory, and the published accuracy. Some protocols
/// take days: see --dry-run, and --seeds and --learner.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchmarkCommand {
    /// Protocols, or all
    #[arg(value_name = "PROTOCOL", required = true, value_parser = protocols())]
    protocols: Vec<String>,
    /// Learners as the table names them, e.g. stream,bimu [default: all]
    #[arg(long = "learner", value_name = "NAMES", value_delimiter = ',')]
    learners: Vec<String>,
    /// Use small networks, and the built-in digits instead of MNIST
    #[arg(long)]
    quick: bool,
    /// Number of trials of every learner [default: 1 to 3, as the protocol states]
    #[arg(long, value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    seeds: Option<u32>,
    /// Run directory; an earlier run in it is continued
    #[arg(long, value_name = "DIR", default_value = "runs/benchmark")]
    out: PathBuf,
    #[command(flatten)]
    how: HowArguments,
    /// Directory of the datasets [default: as in remanent data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    shard: ShardArguments,
}

/// The names of protocols.
fn protocols() -> clap::builder::PossibleValuesParser {
    let names = PROTOCOLS.iter().map(|source| source.name);
    names.chain([remanent_reproduce::ALL]).collect::<Vec<_>>().into()
}

impl BenchmarkCommand {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        self.shard.check(self.how.fresh)?;
        let benchmark = self.benchmark()?;
        let place = self.place()?;
        if self.how.dry_run {
            self.preview(&benchmark, &benchmark.survey(&place)?)?;
            return Ok(Outcome::Done);
        }
        experiment::catch_interrupts()?;
        let watch = |stage: &Stage<'_>| {
            let (cells, shown) = (stage.cells, stage.directory.display());
            output::remark(quiet, &format!("{cells} cells, records in {shown}"));
            Voice::of_run(stage.work, Training::UNIT, quiet, stage.directory.to_path_buf())
        };
        let shown = self.out.display().to_string();
        let compute = |share: &Share<'_>| {
            Ok(vec![benchmark.run_share(&place, share, watch, &INTERRUPTED)?])
        };
        if let Some(outcome) = self.shard.run(&shown, quiet, compute)? {
            return Ok(outcome);
        }
        let report = benchmark.run(&place, watch, &INTERRUPTED)?;
        self.output.emit(&report, quiet)
    }

    /// What it would take.
    pub fn estimate(self) -> anyhow::Result<Estimate> {
        let costs = self.benchmark()?.survey(&self.place()?)?;
        Ok(Estimate::of_costs(self.out.clone(), &costs, true))
    }

    fn benchmark(&self) -> anyhow::Result<Benchmark> {
        flags::check_seeds(self.seeds)?;
        let request = BenchmarkRequest {
            protocols: self.protocols.clone(),
            learners: self.learners.clone(),
            quick: self.quick,
            seeds: self.seeds,
        };
        let cache = data::cache(self.data_dir.as_deref(), "--data-dir")?;
        Ok(Benchmark::new(&request, &cache)?)
    }

    fn place(&self) -> anyhow::Result<Place<'_>> {
        output::usage(!self.out.is_file(), || {
            format!("{} is not a directory; choose another --out", self.out.display())
        })?;
        Ok(Place {
            directory: &self.out,
            fresh: self.how.fresh,
            checkpoint_every: checkpoint_interval(self.how.checkpoint_every)?,
        })
    }

    fn preview(&self, benchmark: &Benchmark, costs: &[Cost]) -> anyhow::Result<()> {
        let protocols = benchmark.protocols().iter();
        let named = protocols.map(|protocol| (protocol.name, protocol.title.as_str()));
        costs::print(self.output.format, ["protocol", "title"], named.zip(costs))
    }
}
