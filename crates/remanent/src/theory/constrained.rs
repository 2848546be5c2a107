//! `remanent theory constrained`.

use clap::Args;
use rayon::prelude::*;
use remanent_lab::lists::Values;
use remanent_plot::{Axis, Color, Curve, Figure, Panel};
use remanent_theory::chain::ChainParameters;
use remanent_theory::parameters::Choice;
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Solution;

use super::chain::emit_chain;
use super::tables::conclude_rows;
use super::{BranchArgument, PriorArgument, check_tasks, tables};
use crate::output::{Outcome, Output, usage};

/// Solves the system whose self-overlap q_d is held at q-star.
///
/// With one alpha, one row per q-star. With several alphas, a chain of tasks
/// with one q-star each, so that gradient descent can be compared with the
/// theory at the q-star it has reached.
///
/// Example: remanent theory constrained --alpha 2 --beta 20 --q-star 0.1:0.98:0.02
#[derive(Args)]
pub struct Constrained {
    /// Patterns per weight: one value, or one per task
    #[arg(long, allow_hyphen_values = true)]
    alpha: Values,
    /// Inverse temperature: one value, or one per task
    #[arg(long, default_value = "20", allow_hyphen_values = true)]
    beta: Values,
    /// The self-overlap, from 0.000001 to 0.999999999: any number of values, or for a chain one per task
    #[arg(long, allow_hyphen_values = true)]
    q_star: Values,
    /// Overlap of neighbouring teachers: one value, or one per step (chains only)
    #[arg(long, allow_hyphen_values = true)]
    r0: Option<Values>,
    /// Factor of the KL term to the previous task: one value, or one per step (chains only) [default: 1]
    #[arg(long, allow_hyphen_values = true)]
    gamma: Option<Values>,
    /// Which solution of each task: one name, or one per task
    #[arg(long, value_enum, value_delimiter = ',', default_value = "stable")]
    branch: Vec<BranchArgument>,
    /// Prior of the first task
    #[arg(long, value_enum, default_value_t)]
    prior: PriorArgument,
    #[command(flatten)]
    output: Output,
}

impl Constrained {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        check_tasks(&self.alpha)?;
        if self.alpha.0.len() > 1 { self.run_chain(quiet) } else { self.run_single(quiet) }
    }

    fn run_single(self, quiet: bool) -> anyhow::Result<Outcome> {
        usage(self.r0.is_none() && self.gamma.is_none(), || {
            "--r0 and --gamma belong to a chain: give two or more values of --alpha".into()
        })?;
        usage(self.beta.0.len() == 1 && self.branch.len() == 1, || {
            "with one alpha, --beta and --branch take one value".into()
        })?;
        let choice: Choice = self.branch[0].into();
        let base = SingleTask::new(self.beta.0[0])?.with_prior(self.prior.into());
        let tasks: Vec<SingleTask> =
            self.q_star.0.iter().map(|q| base.with_q_star(*q)).collect::<Result<_, _>>()?;
        let rows: Vec<Solution> = tasks
            .par_iter()
            .map(|task| task.solve(self.alpha.0[0], choice))
            .collect::<Result<_, _>>()?;
        self.output.emit(
            &rows,
            |format| vec![tables::solutions(&rows, format)],
            || figure(&rows),
        )?;
        Ok(conclude_rows(&rows, rows.len(), quiet))
    }

    fn run_chain(self, quiet: bool) -> anyhow::Result<Outcome> {
        let Some(r0) = self.r0 else {
            usage(false, || {
                "a chain of tasks needs --r0, the overlap of neighbouring teachers".into()
            })?;
            return Ok(Outcome::Incomplete);
        };
        let parameters = ChainParameters {
            alpha: self.alpha.0,
            beta: self.beta.0,
            gamma: self.gamma.map_or(vec![1.0], |g| g.0),
            r_0: r0.0,
            prior: self.prior.into(),
            q_star: self.q_star.0,
            choice: self.branch.into_iter().map(Choice::from).collect(),
        };
        emit_chain(&parameters, &self.output, quiet)
    }
}

fn figure(rows: &[Solution]) -> Figure {
    let axis = || Axis::linear("q_⋆");
    let title = rows.first().map(|s| format!("α = {}, β = {}", s.alpha, s.beta));
    let mut order = Panel::new("order parameters", axis(), Axis::linear("overlap"));
    let mut error = Panel::new("generalisation error", axis(), Axis::linear("ε"));
    // The label of the branch may change from one q_⋆ to the next while nothing else does.
    let line = |y: fn(&Solution) -> f64, color: usize| {
        let (xs, ys) = rows.iter().map(|s| (s.q_d, y(s))).unzip();
        Curve::new(xs, ys).color(Color::Palette(color))
    };
    order.push(line(|s| s.q_0, 0).label("q_0"));
    order.push(line(|s| s.r, 1).label("r"));
    order.push(line(|s| s.p, 2).label("p"));
    error.push(line(|s| s.eps, 0));
    Figure { panels: vec![error, order], columns: 2, title }
}
