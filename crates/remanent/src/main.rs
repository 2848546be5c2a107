//! The program `remanent`: reads arguments, runs, reports.
//!
//! Data goes to standard output, talk and progress to standard error. Exit
//! codes: 0 done, 1 failed or not converged, 2 wrong usage, 130 interrupted after saving.

mod data;
mod experiment;
mod export;
mod flags;
mod inspect;
mod model;
mod output;
mod predict;
mod reproduce;
mod simulate;
mod theory;
mod train;

use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::{CommandFactory, Parser, Subcommand};

use crate::output::Outcome;

/// Predicts, simulates and trains what a network of binary weights remembers of task after task.
///
/// Replica / Franz-Parisi theory of variational continual learning, solved
/// exactly (arXiv:2212.02846), perceptrons that learn by it, and deep networks. Lists of numbers are
/// written 0.5 or 1,2,3 or from:to:step.
#[derive(Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Number of threads; the results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = flags::size, allow_hyphen_values = true)]
    threads: Option<usize>,
    /// No progress bar and no remarks on standard error
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Command {
    /// The theory for infinitely many weights: order parameters, branches, chains of tasks
    #[command(subcommand)]
    Theory(theory::TheoryCommand),
    /// Perceptrons of finite size that learn task after task, and samples of the theory's ensemble
    Simulate(Box<simulate::Simulate>),
    Train(Box<train::Train>),
    Reproduce(Box<reproduce::Reproduce>),
    /// Writes a trained binary network for use elsewhere: packed bits, NumPy, ONNX
    Export(export::Export),
    /// Asks a trained network about images
    Predict(Box<predict::Predict>),
    /// Tells what is in a model, a checkpoint or a run directory
    Inspect(inspect::Inspect),
    /// Datasets: fetches, lists and checks them
    #[command(subcommand)]
    Data(data::DataCommand),
    /// Prints a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

fn run(cli: Cli) -> anyhow::Result<Outcome> {
    output::QUIET.store(cli.quiet, Ordering::Relaxed);
    if let Some(threads) = cli.threads {
        output::usage((1..=1024).contains(&threads), || {
            format!("--threads {threads} is out of range: it must be between 1 and 1024")
        })?;
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    match cli.command {
        Command::Theory(command) => command.run(cli.quiet),
        Command::Simulate(command) => command.run(cli.quiet),
        Command::Train(command) => command.run(cli.quiet),
        Command::Reproduce(command) => command.run(cli.quiet),
        Command::Export(command) => command.run(cli.quiet),
        Command::Predict(command) => command.run(cli.quiet),
        Command::Inspect(command) => command.run(cli.quiet),
        Command::Data(command) => command.run(cli.quiet),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "remanent", &mut script);
            output::print(&String::from_utf8_lossy(&script))?;
            Ok(Outcome::Done)
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Incomplete) => ExitCode::FAILURE,
        Err(error) => {
            output::say(&format!("error: {error:#}"));
            ExitCode::from(output::exit_code(&error))
        }
    }
}
