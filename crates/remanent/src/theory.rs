//! The `theory` commands.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use remanent_lab::config;
use remanent_lab::experiment::{Experiment, Prepared, Resources, RunOptions};
use remanent_lab::options::Words;
use remanent_lab::plan::{self, Plan};
use remanent_lab::theory::{
    BranchesOptions, ChainOptions, ComplexityOptions, ConstrainedOptions, PhaseDiagramOptions,
    Query, Question, SingleOptions, TuneOptions,
};
use remanent_store::CHECKPOINT_EVERY;
use toml::{Table, Value};

use crate::experiment::{INTERRUPTED, catch_interrupts, scan};
use crate::flags::Flags;
use crate::output::{self, Outcome, Output, UsageError};
use crate::progress::Voice;

/// The commands.
#[derive(Subcommand)]
pub enum TheoryCommand {
    /// Solve one task: order parameters, error, free energy and replicon
    ///
    /// One row for every combination of alpha and beta.
    #[command(
        after_help = "Example:\n  remanent theory single --alpha 0.1:3:0.01 --beta 20 --plot single.svg"
    )]
    Single(TheoryQuestion<SingleOptions>),
    /// Solve one task or a chain with the self-overlap q_d held at q_star
    ///
    /// With one alpha, one row per q_star. With several, a chain of tasks with one q_star each, so
    /// that gradient descent can be compared with the theory at the q_star that it has reached.
    #[command(
        after_help = "Example:\n  remanent theory constrained --alpha 2 --beta 20 --q-star 0.1:0.98:0.02"
    )]
    Constrained(TheoryQuestion<ConstrainedOptions>),
    /// Solve a chain of tasks: the error on every task after each one
    ///
    /// The teachers form a Markov chain: neighbours have overlap r0, distant ones the product. A scan
    /// repeats the chain over values of one or two parameters. With --stationary the tasks are
    /// repeated until nothing changes: the state of an endless stream.
    #[command(
        after_help = "Examples:\n  remanent theory chain --alpha 2,3,3,3 --beta 20 --r0 0.5 --gamma 1\n  remanent theory chain --alpha 2,2 --r0 0.5 --scan alpha.2=0.1:5:0.1 --plot scan.svg\n  remanent theory chain --alpha 1 --beta 5 --r0 0.5 --lambda 0.9 --stationary"
    )]
    Chain(Chain),
    /// Trace the curve of solutions in alpha around its folds
    ///
    /// Reports the folds (spinodals), the alpha at which -beta f of the poor and the good branch
    /// cross, and where the replicon changes sign.
    #[command(after_help = "Example:\n  remanent theory branches --beta 20 --plot branches.svg")]
    Branches(TheoryQuestion<BranchesOptions>),
    /// Compute spinodals, crossing and replicon lines over beta, and the critical point
    #[command(
        after_help = "Examples:\n  remanent theory phase-diagram --plot phases.svg\n  remanent theory phase-diagram --rsb 1 --plot phases.svg"
    )]
    PhaseDiagram(TheoryQuestion<PhaseDiagramOptions>),
    /// Count clusters of states: the complexity over the free energy of a cluster
    ///
    /// Rows go from the clusters that carry the measure to the lightest ones. Notes state where the
    /// measure shatters into clusters and from where on few of them carry it.
    #[command(
        after_help = "Example:\n  remanent theory complexity --alpha 0.518 --beta 50 --plot complexity.svg"
    )]
    Complexity(TheoryQuestion<ComplexityOptions>),
    /// Find the gamma, lambda and rho that minimise the errors at the end of a chain
    ///
    /// gamma is the factor of the KL term: how strongly the old tasks are protected. lambda and rho
    /// weaken what a task leaves before the next one: how fast old tasks fade. The values from which
    /// the best ones were chosen are also shown; if several parameters are searched, those that no
    /// other point beats both on the newest task and on the older ones.
    #[command(
        after_help = "Examples:\n  remanent theory tune --alpha 2,2 --r0 0.5 --beta 20\n  remanent theory tune --alpha 1 --r0 0.5 --beta 5 --stationary --gamma 0.5,1,2 --lambda 0.5:1:0.1"
    )]
    Tune(TheoryQuestion<TuneOptions>),
}

/// A question and what is done with the answer.
#[derive(Args)]
pub struct TheoryQuestion<O: remanent_lab::options::Options> {
    #[command(flatten)]
    options: Flags<O>,
    #[command(flatten)]
    keep: Keep,
    #[command(flatten)]
    output: Output,
}

/// `theory chain`.
#[derive(Args)]
pub struct Chain {
    #[command(flatten)]
    question: TheoryQuestion<ChainOptions>,
    /// Repeat the chain over values of a parameter, e.g. alpha.2=0.1:5:0.1, r0=-1:1:0.1 or
    /// beta=5,10,20; twice for a map
    #[arg(long, value_name = "KEY=VALUES", help_heading = "Question")]
    scan: Vec<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Experiment")]
struct Keep {
    /// Read options from a TOML file; flags override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Store the result in this run directory; an interrupted scan in it is continued [default: not
    /// stored]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Discard an earlier run in the run directory
    #[arg(long)]
    fresh: bool,
}

impl TheoryCommand {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        match self {
            Self::Single(question) => question.run(Question::Single, quiet),
            Self::Constrained(question) => question.run(Question::Constrained, quiet),
            Self::Chain(chain) => chain.run(quiet),
            Self::Branches(question) => question.run(Question::Branches, quiet),
            Self::PhaseDiagram(question) => question.run(Question::PhaseDiagram, quiet),
            Self::Complexity(question) => question.run(Question::Complexity, quiet),
            Self::Tune(question) => question.run(Question::Tune, quiet),
        }
    }
}

impl Chain {
    fn run(mut self, quiet: bool) -> anyhow::Result<Outcome> {
        output::usage(self.scan.len() <= 2, || {
            format!("--scan was given {} times; a map has two axes at most", self.scan.len())
        })?;
        let pair = |text: &String| {
            let (key, values) = scan(text)?;
            if let Some(notice) =
                plan::old_spelling(&key, &["alpha", "beta", "gamma", "r0", "lambda", "rho"])
            {
                output::remark(quiet, &format!("note: {notice}"));
            }
            Ok(Value::Array(vec![key.into(), values]))
        };
        let scans = self.scan.iter().map(pair).collect::<Result<Vec<Value>, UsageError>>()?;
        if !scans.is_empty() {
            self.question.options.given.insert("scan".into(), Value::Array(scans));
        }
        self.question.run(Question::Chain, quiet)
    }
}

impl<O: remanent_lab::options::Options> TheoryQuestion<O> {
    fn run(self, question: Question, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        let mut table = match &self.keep.config {
            Some(path) => configuration(path, question)?,
            None => Table::new(),
        };
        // Whole values: the scan of a flag replaces that of the file.
        table.extend(self.options.given);
        table.insert("ask".into(), question.word().into());
        let prepared = Prepared::<Query>::of_plan(Plan::of_one_case(table), &Resources::default())?;
        let (work, unit) = (prepared.work(), <Query as Experiment>::UNIT);
        let voice = match &self.keep.out {
            Some(directory) => Voice::of_run(work, unit, quiet, directory.clone()),
            None => Voice::new(work, unit, quiet),
        };
        let view = remanent_lab::experiment::NoView {};
        let report = match self.keep.out {
            Some(directory) => {
                catch_interrupts()?;
                prepared.run(
                    &RunOptions {
                        directory,
                        fresh: self.keep.fresh,
                        checkpoint_every: CHECKPOINT_EVERY,
                        watcher: &voice,
                        interrupt: &INTERRUPTED,
                    },
                    &view,
                )
            }
            None => prepared.run_unsaved(&voice, &INTERRUPTED, &view),
        }?;
        drop(voice);
        self.output.emit(&report, quiet)
    }
}

/// Reads the options of a question from a file. It may name the experiment and the question.
fn configuration(path: &Path, question: Question) -> anyhow::Result<Table> {
    let mut table = config::read_file(path)?;
    for (key, expected) in [("experiment", "theory"), ("ask", question.word())] {
        if let Some(found) = table.remove(key) {
            output::usage(found.as_str() == Some(expected), || {
                let path = path.display();
                format!("{path} has {key} = {found}; this command takes {key} = \"{expected}\"")
            })?;
        }
    }
    table.remove("title");
    Ok(table)
}
