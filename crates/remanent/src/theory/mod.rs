//! The `theory` commands. Each file has one command: its arguments, its run,
//! its tables and its figure.

mod branches;
mod chain;
mod constrained;
mod figures;
mod phase_diagram;
mod single;
mod tables;
mod tune;

use clap::{Subcommand, ValueEnum};
use remanent_lab::lists::Values;
use remanent_theory::parameters::{Choice, Prior};

use crate::output::{Outcome, UsageError, usage};

/// The commands.
#[derive(Subcommand)]
pub enum TheoryCommand {
    /// One task: order parameters, error, free energy and replicon for each alpha
    Single(single::Single),
    /// The system with the self-overlap held at q-star, for one task or a chain
    Constrained(constrained::Constrained),
    /// A chain of tasks: the error on every task after each one
    Chain(chain::ChainCommand),
    /// The whole curve of solutions: folds, crossing, replicon zeros
    Branches(branches::BranchesCommand),
    /// Spinodals, crossing and replicon lines over beta, and the critical point
    PhaseDiagram(phase_diagram::PhaseDiagramCommand),
    /// The gamma that minimises the errors at the end of a chain
    Tune(tune::Tune),
}

impl TheoryCommand {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        match self {
            Self::Single(command) => command.run(quiet),
            Self::Constrained(command) => command.run(quiet),
            Self::Chain(command) => command.run(quiet),
            Self::Branches(command) => command.run(quiet),
            Self::PhaseDiagram(command) => command.run(quiet),
            Self::Tune(command) => command.run(quiet),
        }
    }
}

/// The longest chain: the errors on every task after every task are kept.
const MOST_TASKS: usize = 100;

/// Refuses a chain that is too long, before anything is built of it.
fn check_tasks(alpha: &Values) -> Result<(), UsageError> {
    let tasks = alpha.0.len();
    usage(tasks <= MOST_TASKS, || {
        format!(
            "--alpha has {tasks} values, one a task, and a chain has at most {MOST_TASKS} tasks; \
             --scan alpha1=VALUES repeats a chain over values of alpha"
        )
    })
}

/// The prior of the first task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PriorArgument {
    /// No prior, as in the paper
    #[default]
    None,
    /// A KL term to the uniform distribution of the weights
    Uniform,
}

impl From<PriorArgument> for Prior {
    fn from(argument: PriorArgument) -> Self {
        match argument {
            PriorArgument::None => Self::None,
            PriorArgument::Uniform => Self::Uniform,
        }
    }
}

/// Which solution of a task is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BranchArgument {
    /// The one of largest -beta f (potential)
    #[default]
    Stable,
    /// The one connected to alpha -> 0
    Poor,
    /// The unstable one between the folds
    Middle,
    /// The one connected to alpha -> infinity
    Good,
}

impl From<BranchArgument> for Choice {
    fn from(argument: BranchArgument) -> Self {
        match argument {
            BranchArgument::Stable => Self::Stable,
            BranchArgument::Poor => Self::Poor,
            BranchArgument::Middle => Self::Middle,
            BranchArgument::Good => Self::Good,
        }
    }
}
