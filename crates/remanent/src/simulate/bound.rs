//! `remanent simulate bound`.

use clap::Args;
use remanent_lab::bound::{self, BoundStudy, BoundTrial};
use serde_json::json;

use super::GradientArguments;
use crate::experiment::ExperimentArguments;
use crate::flags::{self, put, put_count};
use crate::output::{Format, Outcome, Output, usage};

/// Compares the expected log-likelihood with its upper bound, along training.
///
/// Both are sums over all 2^n weights of a small network. The defaults are those of the
/// paper's figure: n = 10 weights, 10 patterns, kappa = 10; the optimiser, which it does not
/// state, is plain full-batch gradient descent with lr = 0.1 over 400 epochs.
#[derive(Args)]
pub struct Bound {
    /// Number of weights, at most 20 [default: 10]
    #[arg(long, value_parser = flags::count, allow_hyphen_values = true)]
    n: Option<u32>,
    /// Patterns per weight [default: 1]
    #[arg(long, value_parser = flags::number, allow_hyphen_values = true)]
    alpha: Option<f64>,
    /// Sharpness of the likelihood [default: 10]
    #[arg(long, value_parser = flags::number, allow_hyphen_values = true)]
    kappa: Option<f64>,
    /// A row is recorded after every so many epochs [default: about 200 rows]
    #[arg(long, value_parser = flags::count, allow_hyphen_values = true)]
    record_every: Option<u32>,
    #[command(flatten)]
    gradient: GradientArguments,
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    output: Output,
}

impl Bound {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        let mut flags = self.gradient.flags();
        put_count(&mut flags, "n", self.n);
        put(&mut flags, "alpha", self.alpha);
        put(&mut flags, "kappa", self.kappa);
        put_count(&mut flags, "record_every", self.record_every);
        let plan = self.experiment.plan(flags, "bound", &bound::keys())?;
        usage(plan.cases.len() == 1, || "simulate bound takes one case, and no --scan".into())?;
        let study = BoundStudy::from_table(&plan.cases[0].table)?;
        let trials: Vec<BoundTrial> =
            plan.trials().map(|trial| BoundTrial { study: &study, trial }).collect();
        let config = json!({"seed": plan.seed, "study": study.to_json()});
        let Some(finished) = self.experiment.run("bound", &config, &trials, quiet)? else {
            return Ok(Outcome::Done);
        };
        let rows = bound::summarise(&finished.records).unwrap_or_default();
        let seconds: Option<f64> = finished.seconds.iter().copied().sum();
        self.output.emit(
            &json!({
                "config": study.to_json(),
                "seed": plan.seed,
                "seeds": plan.seeds,
                "rows": rows,
                "final": rows.last(),
                "seconds": seconds,
            }),
            |format| vec![bound::table(&rows, (format == Format::Table).then_some(20))],
            || bound::figure(&rows, plan.title.as_deref()),
        )?;
        Ok(Outcome::Done)
    }
}
