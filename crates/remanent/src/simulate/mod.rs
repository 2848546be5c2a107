//! `remanent simulate`: perceptrons that learn task after task.

mod bound;
mod convergence_time;
mod perceptron;

use clap::{Args, Subcommand};
use remanent_lab::lists::Values;
use toml::Table;

use crate::flags::{self, put, put_list, put_name, put_text};
use crate::output::Outcome;

const EXAMPLES: &str = "\
Defaults of the learners (1000 epochs each):
  sgd       field space, momentum 0.9, lr 0.001, batch 32, gamma 1
  gd        field space, plain, lr 0.01, full batch, gamma 1
  slow-sgd  magnetisation space, plain, lr 0.03, batch 32, q_star from 0.1 to 0.98
  boltzmann beta 20, 2 chains, 300 + 1000 sweeps

Examples:
  remanent simulate --n 1000 --alpha 2,2 --r0 0.5 --learner sgd --epochs 3000,3000 --seeds 20
  remanent simulate --alpha 0.5 --learner boltzmann --beta 20 --seeds 32 --compare theory
  remanent simulate --alpha 2,2 --scan gamma=0:2:0.5 --compare theory --plot gamma.svg
  remanent simulate --config figures/2a/experiment.toml --quick --plot 2a.png";

/// The command.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Simulate {
    #[command(subcommand)]
    study: Option<Study>,
    #[command(flatten)]
    perceptron: perceptron::Perceptron,
}

#[derive(Subcommand)]
enum Study {
    /// Expected log-likelihood against its upper bound, by enumeration of a small network
    Bound(bound::Bound),
    /// The convergence time of gradient descent over alpha
    ConvergenceTime(convergence_time::ConvergenceTime),
}

impl Simulate {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        match self.study {
            Some(Study::Bound(study)) => study.run(quiet),
            Some(Study::ConvergenceTime(study)) => study.run(quiet),
            None => self.perceptron.run(quiet),
        }
    }
}

/// Flags that all gradient learners have.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Learning by gradients")]
struct GradientArguments {
    /// Epochs of each task: one number, or one for each
    #[arg(long, allow_hyphen_values = true)]
    epochs: Option<Values>,
    /// Learning rate: one, or one for each task
    #[arg(long, allow_hyphen_values = true)]
    lr: Option<Values>,
    /// Patterns a step: a number, full, or M/20 for that part of them (at least 10)
    #[arg(long, allow_hyphen_values = true)]
    batch: Option<String>,
    /// plain, momentum or adam
    #[arg(long)]
    optimizer: Option<String>,
    /// Momentum [default: 0.9]
    #[arg(long, value_parser = flags::number, allow_hyphen_values = true)]
    momentum: Option<f64>,
    /// Decoupled weight decay [default: 0]
    #[arg(long, value_parser = flags::number, allow_hyphen_values = true)]
    weight_decay: Option<f64>,
    /// Where the parameters live: field (theta, m = tanh(scale theta)) or magnetisation (m)
    #[arg(long)]
    space: Option<String>,
    /// The scale in m = tanh(scale theta) [default: 1]
    #[arg(long, value_parser = flags::number, allow_hyphen_values = true)]
    field_scale: Option<f64>,
}

impl GradientArguments {
    fn flags(&self) -> Table {
        let mut flags = Table::new();
        put_list(&mut flags, "epochs", &self.epochs);
        put_list(&mut flags, "lr", &self.lr);
        put_text(&mut flags, "batch", &self.batch);
        put_name(&mut flags, "optimizer", &self.optimizer);
        put(&mut flags, "momentum", self.momentum);
        put(&mut flags, "weight_decay", self.weight_decay);
        put_name(&mut flags, "space", &self.space);
        put(&mut flags, "field_scale", self.field_scale);
        flags
    }
}
