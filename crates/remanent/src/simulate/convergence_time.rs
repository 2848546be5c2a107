//! `remanent simulate convergence-time`.

use clap::Args;
use remanent_lab::convergence::{self, ConvergenceStudy, ConvergenceTrial};
use remanent_lab::lists::Values;
use remanent_lab::plan::Scan;
use serde_json::json;

use super::GradientArguments;
use crate::experiment::ExperimentArguments;
use crate::flags::{self, put, put_count};
use crate::output::{Outcome, Output, remark};

/// Measures the convergence time of gradient descent over alpha.
///
/// T_c is the first step after which the error falls by less than 0.0005 in the next
/// 1000 steps. The defaults are the paper's: n = 3000, full-batch gradient descent with
/// lr = 0.01, at most 10000 steps (--epochs). Example:
///   remanent simulate convergence-time --alpha 1:2:0.1 --n 1000 --seeds 5 --plot time.svg
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct ConvergenceTime {
    /// Number of weights N [default: 3000]
    #[arg(long, value_parser = flags::count, allow_hyphen_values = true)]
    n: Option<u32>,
    /// Patterns per weight, a list or range: every value is measured
    #[arg(long, allow_hyphen_values = true)]
    alpha: Option<Values>,
    /// The steps over which the fall of the error is taken [default: 1000]
    #[arg(long, value_parser = flags::count, allow_hyphen_values = true)]
    window: Option<u32>,
    /// The fall of the error that is too small to wait for [default: 0.0005]
    #[arg(long, value_parser = flags::number, allow_hyphen_values = true)]
    drop: Option<f64>,
    #[command(flatten)]
    gradient: GradientArguments,
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    output: Output,
}

impl ConvergenceTime {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        let mut flags = self.gradient.flags();
        put_count(&mut flags, "n", self.n);
        put_count(&mut flags, "window", self.window);
        put(&mut flags, "drop", self.drop);
        let mut experiment = self.experiment;
        if let Some(alpha) = &self.alpha {
            experiment.add_scan(Scan { key: "alpha".into(), values: alpha.0.clone() });
        }
        let plan = experiment.plan(flags, "convergence-time", &convergence::keys())?;
        let studies: Vec<ConvergenceStudy> = plan
            .cases
            .iter()
            .map(|case| ConvergenceStudy::from_table(&case.table))
            .collect::<Result<_, _>>()?;
        let trials: Vec<ConvergenceTrial> = studies
            .iter()
            .flat_map(|study| plan.trials().map(move |trial| ConvergenceTrial { study, trial }))
            .collect();
        let cases: Vec<_> = studies.iter().map(ConvergenceStudy::to_json).collect();
        let config = json!({"seed": plan.seed, "cases": cases});
        let Some(finished) = experiment.run("convergence-time", &config, &trials, quiet)? else {
            return Ok(Outcome::Done);
        };
        let rows: Vec<_> = studies
            .iter()
            .zip(finished.records.chunks(plan.seeds))
            .filter_map(|(study, records)| convergence::summarise(study, records))
            .collect();
        let seconds: Option<f64> = finished.seconds.iter().copied().sum();
        self.output.emit(
            &json!({"config": config, "seeds": plan.seeds, "rows": rows, "seconds": seconds}),
            |_| vec![convergence::table(&rows)],
            || convergence::figure(&rows, plan.title.as_deref()),
        )?;
        let missing: usize = rows.iter().map(|row| row.not_converged).sum();
        if missing > 0 {
            let all = trials.len();
            remark(
                quiet,
                &format!("note: {missing} of {all} trials reached the limit of --epochs first"),
            );
        }
        Ok(Outcome::done_if(missing == 0))
    }
}
