//! `remanent submit`: a run as an array of jobs on a cluster.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Parser, ValueEnum};
use remanent_reproduce::Cost;
use remanent_store::amounts;

use crate::output::{self, Outcome, UsageError};
use crate::{Cli, Command, flags};

pub mod slurm;

const EXAMPLES: &str = "\
Examples:
  remanent submit --dry-run -- train --config x.toml --seeds 20 --out runs/x
  remanent submit --tasks 50 --partition long -- simulate --alpha 2,2 --scan gamma=0:2:0.1 --seeds 20 --out runs/g
  remanent submit --setup 'module load gcc' --option=--account=physics -- reproduce --out runs/all
  remanent status --watch runs/x";

/// Submit a run to a cluster: an array of shards, and a job that prints the summary
///
/// Cells are timed for a moment to choose the number of tasks, the time limit and the memory. The
/// scripts are kept in DIR/slurm and can be edited. Tasks that reach the time limit or are preempted
/// save their cells, go back into the queue and continue. Repeat the command to submit what is left.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Submit {
    /// Workload manager
    #[arg(long, value_enum, default_value_t)]
    engine: Engine,
    /// Number of array tasks, each on one node [default: about an hour of work each, at most 100]
    #[arg(long, visible_alias = "nodes", value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    tasks: Option<u32>,
    /// Threads of each task
    #[arg(long, value_name = "N", value_parser = flags::count, default_value_t = 1, allow_hyphen_values = true)]
    cpus: u32,
    /// Time limit of a task, e.g. 12:00:00 [default: twice the expected time, and 10 minutes]
    #[arg(long, value_name = "TIME", value_parser = slurm::read_time)]
    time: Option<String>,
    /// Memory of a task in MiB [default: from the sizes of the cells]
    #[arg(long, value_name = "MIB", value_parser = flags::count, allow_hyphen_values = true)]
    memory: Option<u32>,
    /// Partition
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Line of the script before the program, e.g. 'module load gcc'; several are allowed
    #[arg(long, value_name = "LINE")]
    setup: Vec<String>,
    /// Further option of sbatch, e.g. --option=--account=physics; several are allowed
    #[arg(long = "option", value_name = "OPTION")]
    options: Vec<String>,
    /// Print the scripts and submit nothing
    #[arg(long)]
    dry_run: bool,
    /// The command: simulate, train, reproduce or benchmark with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Engine {
    /// Slurm, by sbatch
    #[default]
    Slurm,
}

/// What a run takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The run directory.
    pub directory: PathBuf,
    /// All cells.
    pub cells: usize,
    /// Those without a record.
    pub missing: usize,
    /// Seconds of these on one thread.
    pub seconds: f64,
    /// Seconds of the longest.
    pub longest: f64,
    /// Bytes of the largest.
    pub memory: u64,
    /// Whether the command draws with --plot.
    pub has_plot: bool,
}

impl Estimate {
    /// What several groups of cells take together.
    pub fn of_costs(directory: PathBuf, costs: &[Cost], has_plot: bool) -> Self {
        let mut all = Cost::default();
        costs.iter().for_each(|cost| all.add(cost));
        Self {
            directory,
            cells: all.cells,
            missing: all.missing,
            seconds: all.seconds,
            // How long the cells of a group are is not known: all equally.
            longest: costs.iter().map(|c| c.seconds / c.missing.max(1) as f64).fold(0.0, f64::max),
            memory: all.memory,
            has_plot,
        }
    }
}

/// Size of a job.
#[derive(Debug, PartialEq)]
struct Size {
    tasks: usize,
    time: String,
    mebibytes: u64,
}

impl Submit {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        let Engine::Slurm = self.engine;
        let estimate = self.estimate()?;
        // A report is made even if all cells are done.
        if estimate.missing == 0 && estimate.cells > 0 && estimate.has_plot {
            let (cells, command) = (estimate.cells, self.command.join(" "));
            output::remark(
                quiet,
                &format!(
                    "all {cells} cells are done, and nothing is submitted; see the results with: remanent {command}"
                ),
            );
            return Ok(Outcome::Done);
        }
        let size = self.size(&estimate);
        let last_words =
            if estimate.has_plot && !self.command.iter().any(|w| w.starts_with("--plot")) {
                vec!["--plot".to_owned(), estimate.directory.join("plot.svg").display().to_string()]
            } else {
                Vec::new()
            };
        let partition = self.partition.iter().map(|name| format!("--partition={name}"));
        let options: Vec<String> = partition.chain(self.options.iter().cloned()).collect();
        let program = std::env::current_exe().context("cannot find the program itself")?;
        let scripts = slurm::Scripts {
            directory: &estimate.directory,
            program: &program,
            words: &self.command,
            last_words: &last_words,
            tasks: size.tasks,
            cpus: self.cpus as usize,
            mebibytes: size.mebibytes,
            time: &size.time,
            setup: &self.setup,
            options: &options,
        };
        let shown = estimate.directory.display();
        output::remark(
            quiet,
            &format!(
                "{} of {} cells to compute, about {} on one thread: {} task{}",
                estimate.missing,
                estimate.cells,
                amounts::duration(estimate.seconds),
                size.tasks,
                if size.tasks == 1 { "" } else { "s" }
            ),
        );
        if self.dry_run {
            output::print(&format!("{}\n{}", scripts.array(), scripts.last()))?;
            return Ok(Outcome::Done);
        }
        scripts.write()?;
        let [array, last] = scripts.submit()?;
        output::print(&format!("array {array}\nsummary {last}\n"))?;
        output::remark(
            quiet,
            &format!(
                "watch it with: remanent status --watch {shown}\nthe summary will be in {shown}/{}/summary.txt; cancel with: scancel {array} {last}",
                slurm::FOLDER
            ),
        );
        Ok(Outcome::Done)
    }

    /// Reads the command and estimates what it takes. Unless nothing is to be submitted, the run is begun
    /// and its plan is kept.
    fn estimate(&self) -> anyhow::Result<Estimate> {
        for (flag, cure) in [
            ("--shard", "submit chooses the shards; see --tasks"),
            ("--fresh", "run the command once with --fresh --dry-run, or choose another --out"),
            ("--threads", "use --cpus of submit"),
            ("--dry-run", "use --dry-run of submit"),
        ] {
            let is_given =
                self.command.iter().any(|w| w == flag || w.starts_with(&format!("{flag}=")));
            output::usage(!is_given, || {
                format!("{flag} cannot be used in a command that is submitted; {cure}")
            })?;
        }
        let words = std::iter::once("remanent").chain(self.command.iter().map(String::as_str));
        let cli = Cli::try_parse_from(words).map_err(|error| {
            UsageError::new(format!("the command that is submitted: {}", error.render()))
        })?;
        let keep = !self.dry_run;
        match cli.command {
            Command::Simulate(command) => command.estimate(keep),
            Command::Train(command) => command.estimate(keep),
            Command::Reproduce(command) => command.estimate(),
            Command::Benchmark(command) => command.estimate(),
            _ => Err(UsageError::new(
                "only simulate, train, reproduce and benchmark can be submitted".into(),
            )
            .into()),
        }
    }

    fn size(&self, estimate: &Estimate) -> Size {
        let cpus = self.cpus as usize;
        let most = estimate.missing.div_ceil(cpus).clamp(1, 100);
        let wanted = (estimate.seconds / (3600.0 * cpus as f64)).ceil() as usize;
        let tasks = self.tasks.map_or(wanted.clamp(1, most), |tasks| tasks as usize);
        let share = estimate.seconds / (tasks * cpus) as f64;
        let limit = 2.0 * share.max(estimate.longest) + 600.0;
        let time = self.time.clone().unwrap_or_else(|| slurm::time_limit(limit));
        let needed = (estimate.memory >> 20) * self.cpus as u64;
        let mebibytes = self.memory.map_or(needed + needed / 2 + 256, u64::from);
        Size { tasks, time, mebibytes }
    }
}
