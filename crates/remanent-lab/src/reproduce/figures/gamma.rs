//! Figure B3: the factor γ that the theory recommends.

use remanent_math::statistics::Summary;
use remanent_plot::{Axis, Cell, Color, Curve, Figure, Panel, Points, Table, VerticalLine};

use super::words::{also, decides, error, list};
use crate::report::Check;
use crate::reproduce::results::{Results, Shown, Simulated};
use crate::theory::Tuned;

/// What the error may be above the best, besides two standard errors: grids do not meet the optimum.
const SLACK: f64 = 0.005;

/// The worst or the mean error of a case, with its standard error.
fn objective(case: &Simulated, kind: &str) -> Option<(f64, f64)> {
    let eps: &[Summary] = &case.summary.ends.last()?.eps;
    let se = |summary: &Summary| summary.standard_error.unwrap_or(0.0);
    if kind == "max" {
        let worst = eps.iter().max_by(|a, b| a.mean.total_cmp(&b.mean))?;
        return Some((worst.mean, se(worst)));
    }
    let n = eps.len() as f64;
    let mean = eps.iter().map(|summary| summary.mean).sum::<f64>() / n;
    Some((mean, eps.iter().map(|summary| se(summary).powi(2)).sum::<f64>().sqrt() / n))
}

/// What the simulation finds beside what the theory recommends.
struct Finding {
    best: f64,
    /// The simulated γ nearest to the recommended one, and its objective.
    nearest: (f64, f64),
    check: Check,
}

fn judge(cases: &[&Simulated], tune: &Tuned, kind: &str, words: &str) -> Option<Finding> {
    let found: Vec<(f64, f64, f64)> = cases
        .iter()
        .map(|case| objective(case, kind).map(|(value, se)| (case.gamma(), value, se)))
        .collect::<Option<_>>()?;
    let best = *found.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let recommended = tune.gamma?;
    let apart = |gamma: f64| (gamma.ln() - recommended.ln()).abs();
    let nearest = found.iter().min_by(|a, b| apart(a.0).total_cmp(&apart(b.0)))?;
    let margin = 2.0 * (best.2.powi(2) + nearest.2.powi(2)).sqrt() + SLACK;
    let edge = if tune.at_edge { " (at the edge of the range)" } else { "" };
    let text = format!(
        "{words}: at γ = {}, next to the recommended {recommended:.3}{edge}, simulations have {}; the best of them, {} at γ = {}, \
         is not better by more than {}",
        nearest.0,
        error(nearest.1),
        error(best.1),
        best.0,
        error(margin)
    );
    // At the edge nothing was recommended: the best may lie beyond it.
    let holds = nearest.1 - best.1 <= margin && !tune.at_edge;
    let check = if kind == "max" { decides(text, holds) } else { also(text, holds) };
    Some(Finding { best: best.0, nearest: (nearest.0, nearest.1), check })
}

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let worst = results.theory.first()?.as_tune()?;
    let mean = results.theory.get(1)?.as_tune()?;
    let mut cases: Vec<&Simulated> = results.simulated.iter().collect();
    cases.sort_by(|a, b| a.gamma().total_cmp(&b.gamma()));
    let x: Vec<f64> = cases.iter().map(|case| case.gamma()).collect();

    let axis = || Axis::log("γ").range(0.01, 6.0);
    let mut errors = Panel::new("errors of both tasks", axis(), Axis::linear("ε").lower(0.0));
    let mut objectives = Panel::new("worst and mean error", axis(), Axis::linear("ε").lower(0.0));
    let curve: Vec<_> = worst.curve.iter().filter(|point| point.gamma > 0.0).collect();
    let theory_x: Vec<f64> = curve.iter().map(|point| point.gamma).collect();
    for task in 0..2 {
        let color = Color::Palette(task);
        let theory = curve
            .iter()
            .map(|point| point.eps_by_task.get(task).copied().flatten().unwrap_or(f64::NAN))
            .collect();
        errors.push(
            Curve::new(theory_x.clone(), theory)
                .color(color)
                .label(format!("theory, task {}", task + 1)),
        );
        let found: Vec<Summary> = cases
            .iter()
            .filter_map(|case| case.summary.ends.last()?.eps.get(task).copied())
            .collect();
        errors.push(
            Points::new(x.clone(), found.iter().map(|s| s.mean).collect())
                .error(found.iter().map(|s| s.standard_error.unwrap_or(0.0)).collect())
                .color(color)
                .label(format!("sampled, task {}", task + 1)),
        );
    }
    for (color, kind, tune, name) in [(0, "max", worst, "worst"), (1, "mean", mean, "mean")] {
        let color = Color::Palette(color);
        let line: Vec<_> = tune.curve.iter().filter(|point| point.gamma > 0.0).collect();
        objectives.push(
            Curve::new(
                line.iter().map(|p| p.gamma).collect(),
                line.iter().map(|p| p.objective.unwrap_or(f64::NAN)).collect(),
            )
            .color(color)
            .label(format!("theory, {name}")),
        );
        let found: Vec<(f64, f64)> =
            cases.iter().filter_map(|case| objective(case, kind)).collect();
        objectives.push(
            Points::new(x.clone(), found.iter().map(|f| f.0).collect())
                .error(found.iter().map(|f| f.1).collect())
                .color(color)
                .label(format!("sampled, {name}")),
        );
        if let Some(gamma) = tune.gamma {
            objectives.push(VerticalLine::new(gamma).label(name));
        }
    }
    let mut table = Table::new(["source", "gamma", "eps_1", "eps_2", "eps_1_se", "eps_2_se"]);
    for point in &worst.curve {
        let eps = |task: usize| point.eps_by_task.get(task).copied().flatten();
        table.push(vec![
            "theory".into(),
            point.gamma.into(),
            eps(0).into(),
            eps(1).into(),
            Cell::Missing,
            Cell::Missing,
        ]);
    }
    for case in &cases {
        let eps = &case.summary.ends.last()?.eps;
        table.push(vec![
            "sampled".into(),
            case.gamma().into(),
            eps[0].mean.into(),
            eps[1].mean.into(),
            eps[0].standard_error.into(),
            eps[1].standard_error.into(),
        ]);
    }
    let by_worst = judge(&cases, worst, "max", "worst error")?;
    let by_mean = judge(&cases, mean, "mean", "mean error")?;
    Some(Shown {
        figure: Figure::grid(vec![errors, objectives], 2),
        table,
        found: format!(
            "To keep the worst error low the theory recommends γ = {:.3}, and simulations find γ = {} best of their grid ({} at γ = \
             {}); for the mean error γ = {:.3} and {}.",
            worst.gamma?,
            by_worst.best,
            error(by_worst.nearest.1),
            by_worst.nearest.0,
            mean.gamma?,
            by_mean.best
        ),
        checks: vec![by_worst.check, by_mean.check],
        notes: vec![format!(
            "The two aims differ: at the γ of the lowest worst error the theory's errors are {}, at that of the lowest mean error \
             {}.",
            errors_of(worst),
            errors_of(mean)
        )],
    })
}

/// The errors of the tasks at the recommended γ.
fn errors_of(tune: &Tuned) -> String {
    let eps = tune.eps_by_task.iter().map(|eps| error(eps.unwrap_or(f64::NAN)));
    list(&eps.collect::<Vec<_>>())
}
