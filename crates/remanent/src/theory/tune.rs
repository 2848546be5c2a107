//! `remanent theory tune`.

use clap::{Args, ValueEnum};
use remanent_lab::lists::Values;
use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Panel, Table, VerticalLine};
use remanent_theory::chain::ChainParameters;
use remanent_theory::parameters::Choice;
use remanent_theory::tune::{Objective, Tuned, tune};

use super::{BranchArgument, PriorArgument, check_tasks};
use crate::output::{Format, Outcome, Output, conclude, progress, remark};

/// Finds how strongly the old tasks should be protected.
///
/// Minimises the mean (or the largest) error over all tasks at the end of the
/// chain over gamma, the factor of the KL term, and shows the curve from which
/// it was chosen.
///
/// Example: remanent theory tune --alpha 2,2 --r0 0.5 --beta 20
#[derive(Args)]
pub struct Tune {
    /// Patterns per weight, one value per task
    #[arg(long, allow_hyphen_values = true)]
    alpha: Values,
    /// Inverse temperature: one value, or one per task
    #[arg(long, default_value = "20", allow_hyphen_values = true)]
    beta: Values,
    /// Overlap of neighbouring teachers: one value, or one per step
    #[arg(long, allow_hyphen_values = true)]
    r0: Values,
    /// What is minimised
    #[arg(long, value_enum, default_value_t)]
    objective: ObjectiveArgument,
    /// Values of gamma from which the search starts [default: 0 and 41 values from 0.001 to 10]
    #[arg(long, allow_hyphen_values = true)]
    gamma: Option<Values>,
    /// Which solution each task continues from: one name, or one per task
    #[arg(long, value_enum, value_delimiter = ',', default_value = "stable")]
    branch: Vec<BranchArgument>,
    /// Prior of the first task
    #[arg(long, value_enum, default_value_t)]
    prior: PriorArgument,
    #[command(flatten)]
    output: Output,
}

/// What is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ObjectiveArgument {
    /// The mean of the errors
    #[default]
    Mean,
    /// The largest error
    Max,
}

impl Tune {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        check_tasks(&self.alpha)?;
        let mut gammas = self.gamma.map_or_else(
            || {
                let grid = (0..=40).map(|i| 10f64.powf(-3.0 + 0.1 * f64::from(i)));
                std::iter::once(0.0).chain(grid).collect()
            },
            |g| g.0,
        );
        gammas.sort_by(f64::total_cmp);
        let parameters = ChainParameters {
            alpha: self.alpha.0,
            beta: self.beta.0,
            r_0: self.r0.0,
            gamma: vec![],
            prior: self.prior.into(),
            q_star: vec![],
            choice: self.branch.into_iter().map(Choice::from).collect(),
        };
        let objective = match self.objective {
            ObjectiveArgument::Mean => Objective::Mean,
            ObjectiveArgument::Max => Objective::Max,
        };
        let bar = progress(gammas.len(), quiet);
        let tuned = tune(&parameters, &gammas, objective, &|| bar.inc(1))?;
        bar.finish_and_clear();
        let tasks = parameters.alpha.len();
        self.output.emit(
            &tuned,
            |format| tables(&tuned, tasks, format),
            || figure(&tuned, tasks),
        )?;
        if tuned.at_edge {
            remark(
                quiet,
                &format!(
                    "note: the smallest objective lies at the edge of the range searched (gamma = {})",
                    tuned.gamma
                ),
            );
        }
        let missing = tuned.curve.iter().filter(|p| p.objective.is_nan()).count();
        Ok(conclude(missing, tuned.curve.len(), quiet))
    }
}

fn tables(tuned: &Tuned, tasks: usize, format: Format) -> Vec<Table> {
    let errors = (1..=tasks).map(|k| format!("eps_{k}"));
    let names = ["gamma".to_owned(), "objective".to_owned()].into_iter().chain(errors);
    let mut curve = Table::new(names);
    let row = |gamma: f64, objective: f64, eps: &[f64]| {
        let errors = eps.iter().copied().chain(std::iter::repeat(f64::NAN)).take(tasks);
        [gamma, objective].into_iter().chain(errors).map(Cell::Number).collect::<Vec<_>>()
    };
    for p in &tuned.curve {
        curve.push(row(p.gamma, p.objective, &p.eps_by_task));
    }
    if format == Format::Csv {
        return vec![curve];
    }
    let mut best = Table::new(["best_gamma", "objective"]);
    best.push(vec![Cell::Number(tuned.gamma), Cell::Number(tuned.objective)]);
    vec![curve, best]
}

fn figure(tuned: &Tuned, tasks: usize) -> Figure {
    // γ = 0 has no place on a logarithmic axis; the curve is flat there.
    let points: Vec<_> = tuned.curve.iter().filter(|p| p.gamma > 0.0).collect();
    let x: Vec<f64> = points.iter().map(|p| p.gamma).collect();
    let mut panel = Panel::new("errors at the end of the chain", Axis::log("γ"), Axis::linear("ε"));
    for k in 0..tasks {
        let y = points.iter().map(|p| p.eps_by_task.get(k).copied().unwrap_or(f64::NAN)).collect();
        let curve = Curve::new(x.clone(), y).color(Color::Palette(k));
        panel.push(curve.label(format!("task {}", k + 1)));
    }
    let name = match tuned.kind {
        Objective::Mean => "mean",
        Objective::Max => "largest",
    };
    let y = points.iter().map(|p| p.objective).collect();
    let objective = Curve::new(x, y).color(Color::Palette(6)).dash(Dash::Dashed);
    panel.push(objective.label(name));
    if tuned.gamma > 0.0 {
        panel.push(VerticalLine::new(tuned.gamma).label(format!("γ = {:.4}", tuned.gamma)));
    }
    Figure::single(panel)
}
