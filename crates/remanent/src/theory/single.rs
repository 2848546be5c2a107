//! `remanent theory single`.

use clap::{Args, ValueEnum};
use remanent_lab::lists::{self, Values};
use remanent_plot::{Axis, Figure, Panel};
use remanent_theory::parameters::Choice;
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Solution;

use super::figures::{branch_order, by_branch};
use super::tables::conclude_rows;
use super::{PriorArgument, tables};
use crate::output::{Outcome, Output};

/// Solves one task for every combination of alpha and beta.
///
/// Example: remanent theory single --alpha 0.1:3:0.01 --beta 20 --plot single.svg
#[derive(Args)]
pub struct Single {
    /// Patterns per weight, from 0.0001 to 1000
    #[arg(long, allow_hyphen_values = true)]
    alpha: Values,
    /// Inverse temperature, from 0.01 to 1000
    #[arg(long, default_value = "20", allow_hyphen_values = true)]
    beta: Values,
    /// Which solutions
    #[arg(long, value_enum, default_value_t)]
    branch: BranchOrAll,
    /// Prior of the weights
    #[arg(long, value_enum, default_value_t)]
    prior: PriorArgument,
    #[command(flatten)]
    output: Output,
}

/// One branch, or all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum BranchOrAll {
    /// The one of largest -beta f
    #[default]
    Stable,
    /// The one connected to alpha -> 0
    Poor,
    /// The unstable one between the folds
    Middle,
    /// The one connected to alpha -> infinity
    Good,
    /// All that exist
    All,
}

impl BranchOrAll {
    fn choice(self) -> Option<Choice> {
        match self {
            Self::Stable => Some(Choice::Stable),
            Self::Poor => Some(Choice::Poor),
            Self::Middle => Some(Choice::Middle),
            Self::Good => Some(Choice::Good),
            Self::All => None,
        }
    }
}

impl Single {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        let sizes = [("alpha", &self.alpha), ("beta", &self.beta)];
        let sizes = sizes.map(|(name, list)| (name.to_owned(), list.0.len()));
        lists::combinations("points", sizes.to_vec())?;
        let mut rows: Vec<Solution> = Vec::new();
        for beta in &self.beta.0 {
            let task = SingleTask::new(*beta)?.with_prior(self.prior.into());
            match self.branch.choice() {
                Some(choice) => rows.extend(task.scan(&self.alpha.0, choice)?),
                None => rows.extend(task.scan_all(&self.alpha.0)?.into_iter().flatten()),
            }
        }
        self.output.emit(
            &rows,
            |format| vec![tables::solutions(&rows, format)],
            || self.figure(&rows),
        )?;
        Ok(conclude_rows(&rows, rows.len(), quiet))
    }

    fn figure(&self, rows: &[Solution]) -> Figure {
        let over_beta = self.alpha.0.len() == 1 && self.beta.0.len() > 1;
        let x = |s: &Solution| if over_beta { s.beta } else { s.alpha };
        let axis = || Axis::linear(if over_beta { "β" } else { "α" });
        let mut order = Panel::new("order parameters", axis(), Axis::linear("overlap"));
        let mut error = Panel::new("generalisation error", axis(), Axis::log("ε"));
        let mut energy = Panel::new("free energy", axis(), Axis::linear("−βf"));
        let mut replicon = Panel::new("stability", axis(), Axis::linear("replicon"));
        let groups: Vec<(String, Vec<Solution>)> = if over_beta {
            vec![(format!("α = {}", self.alpha.0[0]), rows.to_vec())]
        } else {
            let of = |beta: f64| rows.iter().filter(|s| s.beta == beta).copied().collect();
            self.beta.0.iter().map(|beta| (format!("β = {beta}"), of(*beta))).collect()
        };
        for (number, (label, rows)) in groups.iter().enumerate() {
            let sorted = branch_order(rows);
            if groups.len() == 1 {
                type Quantity = (&'static str, fn(&Solution) -> f64);
                let quantities: [Quantity; 4] =
                    [("q_d", |s| s.q_d), ("q_0", |s| s.q_0), ("r", |s| s.r), ("p", |s| s.p)];
                for (color, (name, y)) in quantities.into_iter().enumerate() {
                    by_branch(&mut order, &sorted, x, y, Some(name), color);
                }
            } else {
                by_branch(
                    &mut order,
                    &sorted,
                    x,
                    |s| s.q_d,
                    Some(&format!("q_d, {label}")),
                    number,
                );
            }
            by_branch(&mut error, &sorted, x, |s| s.eps, Some(label), number);
            by_branch(&mut energy, &sorted, x, |s| s.minus_beta_f, Some(label), number);
            by_branch(&mut replicon, &sorted, x, |s| s.replicon, Some(label), number);
        }
        replicon.push(remanent_plot::HorizontalLine::new(0.0));
        Figure { panels: vec![order, error, energy, replicon], columns: 2, title: None }
    }
}
