//! The figure of `theory constrained`.

use remanent_plot::{Axis, Color, Curve, Figure, Panel};
use remanent_theory::solution::Solution;

use crate::theory::Constrained;

/// Error and order parameters over q_⋆.
pub(super) fn figure(rows: &[Constrained]) -> Figure {
    let axis = || Axis::linear("q_⋆");
    let title = rows.first().map(|s| format!("α = {}, β = {}", s.solution.alpha, s.solution.beta));
    let mut order = Panel::new("order parameters", axis(), Axis::linear("overlap"));
    let mut error = Panel::new("generalisation error", axis(), Axis::linear("ε"));
    // The label of the branch may change from one q_⋆ to the next while nothing else does.
    let line = |y: fn(&Solution) -> f64, color: usize| {
        let (xs, ys) = rows.iter().map(|s| (s.solution.q_d, y(&s.solution))).unzip();
        Curve::new(xs, ys).color(Color::Palette(color))
    };
    order.push(line(|s| s.q_0, 0).label("q_0"));
    order.push(line(|s| s.r, 1).label("r"));
    order.push(line(|s| s.p, 2).label("p"));
    error.push(line(|s| s.eps, 0));
    Figure { panels: vec![error, order], columns: 2, title }
}
