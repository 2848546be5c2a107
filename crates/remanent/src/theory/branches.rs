//! `remanent theory branches`.

use clap::Args;
use remanent_lab::lists::{Interval, Values};
use remanent_plot::{Axis, Cell, Figure, HorizontalLine, Panel, Table, VerticalLine};
use remanent_theory::branches::{Branches, branches};
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Solution;

use super::figures::by_branch;
use super::{PriorArgument, tables};
use crate::output::{Format, Outcome, Output, remark, usage};

/// Follows the whole curve of solutions in alpha, round its folds.
///
/// Reports the folds (spinodals), the alpha at which -beta f of the poor and
/// the good branch cross, and where the replicon changes sign.
///
/// Example: remanent theory branches --beta 20 --plot branches.svg
#[derive(Args)]
pub struct BranchesCommand {
    /// Inverse temperature
    #[arg(long, default_value = "20", allow_hyphen_values = true)]
    beta: Values,
    /// Range of alpha that is reported, as low:high
    #[arg(long, default_value = "0.05:3", allow_hyphen_values = true)]
    alpha: Interval,
    /// Prior of the weights
    #[arg(long, value_enum, default_value_t)]
    prior: PriorArgument,
    #[command(flatten)]
    output: Output,
}

impl BranchesCommand {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        usage(self.beta.0.len() == 1, || {
            "--beta takes one value here; theory phase-diagram takes many".into()
        })?;
        let task = SingleTask::new(self.beta.0[0])?.with_prior(self.prior.into());
        let result = branches(&task, self.alpha.low, self.alpha.high)?;
        self.output.emit(
            &result,
            |format| match format {
                Format::Csv => vec![tables::solutions(&result.rows, format)],
                _ => vec![tables::solutions(&result.rows, format), landmarks(&result)],
            },
            || figure(&result, self.beta.0[0]),
        )?;
        if let Some(c) = &result.crossing
            && !c.replica_symmetry_holds
        {
            remark(
                quiet,
                "note: at the crossing one replicon is negative; that the branches exchange \
                 stability there is a replica-symmetric statement",
            );
        }
        if result.rows.is_empty() {
            let Interval { low, high } = self.alpha;
            remark(quiet, &format!("note: no solution was found with alpha from {low} to {high}"));
        }
        Ok(Outcome::done_if(
            !result.rows.is_empty() && result.rows.iter().all(Solution::is_converged),
        ))
    }
}

fn landmarks(result: &Branches) -> Table {
    let mut table = Table::new(["landmark", "alpha", "branch", "eps", "minus_beta_f", "replicon"]);
    let mut add = |name: &str, branch: String, alpha: f64, s: Option<&Solution>| {
        let number = |f: fn(&Solution) -> f64| s.map_or(Cell::Missing, |s| Cell::Number(f(s)));
        table.push(vec![
            Cell::Text(name.into()),
            Cell::Number(alpha),
            Cell::Text(branch),
            number(|s| s.eps),
            number(|s| s.minus_beta_f),
            number(|s| s.replicon),
        ]);
    };
    for fold in &result.folds {
        add("fold", fold.ends.to_string(), fold.alpha, Some(&fold.solution));
    }
    if let Some(c) = &result.crossing {
        add("crossing", "poor".into(), c.alpha, Some(&c.poor));
        add("crossing", "good".into(), c.alpha, Some(&c.good));
    }
    for zero in &result.replicon_zeros {
        add("replicon zero", zero.branch.to_string(), zero.alpha, Some(&zero.solution));
    }
    if let Some(corner) = &result.corner {
        add("corner (q_d = 1)", "poor".into(), corner.alpha, None);
    }
    table
}

fn figure(result: &Branches, beta: f64) -> Figure {
    let rows: Vec<&Solution> = result.rows.iter().collect();
    let alpha = |s: &Solution| s.alpha;
    let axis = || Axis::linear("α");
    let mut error = Panel::new("generalisation error", axis(), Axis::log("ε").lower(1e-8));
    let mut order = Panel::new("order parameters", axis(), Axis::linear("overlap"));
    let mut energy = Panel::new("free energy", axis(), Axis::linear("−βf"));
    let mut stability = Panel::new("stability", axis(), Axis::linear("replicon"));
    by_branch(&mut error, &rows, alpha, |s| s.eps, None, 0);
    by_branch(&mut order, &rows, alpha, |s| s.q_d, Some("q_d"), 0);
    by_branch(&mut order, &rows, alpha, |s| s.q_0, Some("q_0"), 1);
    by_branch(&mut order, &rows, alpha, |s| s.r, Some("r"), 2);
    by_branch(&mut energy, &rows, alpha, |s| s.minus_beta_f, None, 0);
    by_branch(&mut stability, &rows, alpha, |s| s.replicon, None, 0);
    stability.push(HorizontalLine::new(0.0));
    for fold in &result.folds {
        error.push(VerticalLine::new(fold.alpha).label(format!("{:.3}", fold.alpha)));
        energy.push(VerticalLine::new(fold.alpha));
    }
    if let Some(c) = &result.crossing {
        energy.push(VerticalLine::new(c.alpha).label(format!("crossing {:.4}", c.alpha)));
    }
    for zero in &result.replicon_zeros {
        stability.push(VerticalLine::new(zero.alpha).label(format!("{:.3}", zero.alpha)));
    }
    Figure {
        panels: vec![error, order, energy, stability],
        columns: 2,
        title: Some(format!("solutions at β = {beta}; dashed: unstable middle branch")),
    }
}
