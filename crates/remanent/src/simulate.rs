//! `remanent simulate`: perceptrons that learn task after task.

use clap::{Args, Subcommand};
use remanent_lab::bound::BoundStudy;
use remanent_lab::convergence::ConvergenceStudy;
use remanent_lab::experiment::Resources;
use remanent_lab::simulation::Simulation;
use remanent_lab::tempering::TemperingStudy;

use crate::experiment::ExperimentCommand;
use crate::output::Outcome;
use crate::submit::Estimate;

const EXAMPLES: &str = "\
Examples:
  remanent simulate --n 1000 --alpha 2,2 --r0 0.5 --learner sgd --epochs 3000,3000 --seeds 20
  remanent simulate --alpha 0.5 --learner boltzmann --beta 20 --seeds 32 --compare theory
  remanent simulate --alpha 2,2 --scan gamma=0:2:0.5 --compare theory --plot gamma.svg
  remanent simulate --alpha 1 --scan learner=sgd,gd --seeds 5";

/// The command.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Simulate {
    #[command(subcommand)]
    study: Option<Study>,
    #[command(flatten)]
    perceptron: ExperimentCommand<Simulation>,
}

#[derive(Subcommand)]
enum Study {
    /// Compare the expected log-likelihood with its upper bound, along training
    ///
    /// Both are sums over all 2^n weights of a small network. The defaults are those of the
    /// paper's figure: n = 10 weights, 10 patterns, kappa = 10; the optimiser, which it does not
    /// state, is plain full-batch gradient descent with lr = 0.1 over 400 epochs.
    Bound(ExperimentCommand<BoundStudy>),
    /// Measure the convergence time of gradient descent over alpha
    ///
    /// T_c is the first step after which the error falls by less than 0.0005 in the next
    /// 1000 steps. The defaults are the paper's: n = 3000, full-batch gradient descent with
    /// lr = 0.01, at most 10000 steps (--epochs). Example:
    ///   remanent simulate convergence-time --alpha 1:2:0.1 --n 1000 --seeds 5 --plot time.svg
    #[command(verbatim_doc_comment)]
    ConvergenceTime(ExperimentCommand<ConvergenceStudy>),
    /// Sample the theory's ensemble by parallel tempering: P(q) between replicas
    ///
    /// Where replica symmetry is broken, the chains of the learner boltzmann do not mix. Here each
    /// replica is a ladder of chains at rising temperatures that exchange their configurations. One
    /// half of the replicas starts at random, the other at the teacher. A draw of the data that does
    /// not meet the criteria of equilibration is reported and the exit code is 1. The run directory
    /// also has results.csv, overlaps.csv (P(q)) and comparison.csv. Example:
    ///   remanent simulate tempering --alpha 1 --scan n=51,101 --seeds 32 --compare 1 --plot q.svg
    #[command(verbatim_doc_comment)]
    Tempering(ExperimentCommand<TemperingStudy>),
}

impl Simulate {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        let resources = Resources::default();
        match self.study {
            Some(Study::Bound(study)) => study.run(&resources, quiet),
            Some(Study::ConvergenceTime(study)) => study.run(&resources, quiet),
            Some(Study::Tempering(study)) => study.run(&resources, quiet),
            None => self.perceptron.run(&resources, quiet),
        }
    }

    /// What it would take.
    pub fn estimate(self, keep: bool) -> anyhow::Result<Estimate> {
        let resources = Resources::default();
        match self.study {
            Some(Study::Bound(study)) => study.estimate(&resources, keep),
            Some(Study::ConvergenceTime(study)) => study.estimate(&resources, keep),
            Some(Study::Tempering(study)) => study.estimate(&resources, keep),
            None => self.perceptron.estimate(&resources, keep),
        }
    }
}
