//! The program `remanent`: reads arguments, runs, reports.
//!
//! Data goes to standard output, talk and progress to standard error. Exit
//! codes: 0 done, 1 failed or not converged, 2 wrong usage, 130 interrupted after saving.

mod benchmark;
mod costs;
mod data;
mod experiment;
mod export;
mod flags;
mod inspect;
mod model;
mod output;
mod predict;
mod progress;
mod reproduce;
mod runs;
mod serve;
mod shard;
mod simulate;
mod status;
mod submit;
mod theory;
mod train;

use std::ffi::OsString;
use std::sync::atomic::Ordering;

use clap::{CommandFactory, Parser, Subcommand};

use remanent_lab::options::Range;

use crate::output::Outcome;

/// Number of threads.
pub const THREADS: Range = Range::between(1.0, 1024.0);

/// Theory, simulation and training of binary networks that learn several tasks in sequence
///
/// Solves the replica and Franz-Parisi equations of variational continual learning
/// (arXiv:2212.02846), simulates perceptrons, and trains deep networks. Lists of numbers are
/// written 0.5 or 1,2,3 or from:to:step.
#[derive(Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Number of threads; the results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = flags::size, allow_hyphen_values = true)]
    threads: Option<usize>,
    /// Suppress progress and notes on standard error
    #[arg(long, short, global = true)]
    quiet: bool,
    /// How progress is shown
    #[arg(long, global = true, value_name = "FORM", value_enum, default_value_t)]
    progress: progress::Form,
}

#[derive(Subcommand)]
enum Command {
    /// Solve the theory for infinitely many weights: order parameters, branches, chains of tasks
    #[command(subcommand)]
    Theory(theory::TheoryCommand),
    /// Simulate perceptrons that learn several tasks in sequence, or sample the theory's ensemble
    Simulate(Box<simulate::Simulate>),
    Train(Box<train::Train>),
    Reproduce(Box<reproduce::Reproduce>),
    Benchmark(Box<benchmark::BenchmarkCommand>),
    /// Export a trained binary network: packed bits, NumPy, ONNX
    Export(export::Export),
    /// Predict labels of images with a trained network
    Predict(Box<predict::Predict>),
    /// Show the content of a model, a checkpoint or a run directory
    Inspect(inspect::Inspect),
    Status(status::StatusCommand),
    Retry(status::Retry),
    Submit(Box<submit::Submit>),
    Runs(runs::Runs),
    Serve(serve::Serve),
    /// Download, list and check datasets
    #[command(subcommand)]
    Data(data::DataCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

fn run(cli: Cli) -> anyhow::Result<Outcome> {
    output::QUIET.store(cli.quiet, Ordering::Relaxed);
    let _ = progress::FORM.set(cli.progress);
    if let Some(threads) = cli.threads {
        THREADS.check("threads", threads as f64)?;
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    match cli.command {
        Command::Theory(command) => command.run(cli.quiet),
        Command::Simulate(command) => command.run(cli.quiet),
        Command::Train(command) => command.run(cli.quiet),
        Command::Reproduce(command) => command.run(cli.quiet),
        Command::Benchmark(command) => command.run(cli.quiet),
        Command::Export(command) => command.run(cli.quiet),
        Command::Predict(command) => command.run(cli.quiet),
        Command::Inspect(command) => command.run(cli.quiet),
        Command::Status(command) => command.run(),
        Command::Retry(command) => command.run(cli.quiet),
        Command::Submit(command) => command.run(cli.quiet),
        Command::Runs(command) => command.run(cli.quiet),
        Command::Serve(command) => command.run(cli.quiet, cli.threads),
        Command::Data(command) => command.run(cli.quiet),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "remanent", &mut script);
            output::print(&String::from_utf8_lossy(&script))?;
            Ok(Outcome::Done)
        }
    }
}

/// Runs the program with these arguments, the first of which is its name, and gives the exit code. It is
/// called once in a process: the number of threads and the handler of signals are those of the process.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are printed here too, with exit code 0.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    match run(cli) {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::Incomplete) => 1,
        Err(error) => {
            output::say(&format!("error: {error:#}"));
            output::exit_code(&error)
        }
    }
}
