//! What is shown of `theory tune`.

use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Panel, Table, VerticalLine};
use remanent_theory::tune::{Objective, Tuned};

use super::Conclusion;
use crate::experiment::Detail;

pub(super) fn conclusion(tuned: &Tuned) -> Conclusion {
    let mut conclusion = Conclusion::default();
    if tuned.at_edge {
        let gamma = tuned.gamma;
        conclusion.note(format!(
            "the smallest objective lies at the edge of the range searched (gamma = {gamma})"
        ));
    }
    let missing = tuned.curve.iter().filter(|p| p.objective.is_nan()).count();
    if missing > 0 {
        conclusion.missing(format!("{missing} of {} rows have no solution", tuned.curve.len()));
    }
    conclusion
}

pub(super) fn tables(tuned: &Tuned, tasks: usize, detail: Detail) -> Vec<Table> {
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
    if detail == Detail::Full {
        return vec![curve];
    }
    let mut best = Table::new(["best_gamma", "objective"]);
    best.push(vec![Cell::Number(tuned.gamma), Cell::Number(tuned.objective)]);
    vec![curve, best]
}

/// Errors over γ.
pub(super) fn figure(tuned: &Tuned, tasks: usize) -> Figure {
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
