//! The picture of parallel tempering: P(q) for every α and β, and the averages over 1/N.

use remanent_math::statistics::Summary;
use remanent_plot::{
    Axis, Band, Color, Curve, Figure, HorizontalLine, Panel, Points, VerticalLine,
};

use crate::tempering::compare::TheoryPoint;
use crate::tempering::summary::TemperingSummary;

/// A case and what the theory says of it.
pub type Drawn<'a> = (&'a TemperingSummary, &'a [TheoryPoint]);

/// One panel of P(q) for each (α, β); if a group has several N, also its averages over 1/N.
pub fn figure(cases: &[Drawn], title: Option<&str>) -> Figure {
    let mut panels = Vec::new();
    for group in groups(cases) {
        panels.push(distribution(&group));
        if group.len() > 1 {
            panels.extend(trends(&group));
        }
    }
    let columns = if panels.len() > 2 { 3 } else { panels.len().max(1) };
    Figure::grid(panels, columns).titled(title)
}

/// Cases with the same β and nearly the same α (M is a whole number, so α of the run depends on N).
fn groups<'a>(cases: &[Drawn<'a>]) -> Vec<Vec<Drawn<'a>>> {
    let mut groups: Vec<Vec<Drawn>> = Vec::new();
    let same = |a: &TemperingSummary, b: &TemperingSummary| {
        let finest = a.n.min(b.n) as f64;
        a.beta == b.beta && (a.alpha - b.alpha).abs() <= 1.0 / finest
    };
    for case in cases {
        match groups.iter_mut().find(|group| same(group[0].0, case.0)) {
            Some(group) => group.push(*case),
            None => groups.push(vec![*case]),
        }
    }
    groups
}

fn place(case: &TemperingSummary) -> String {
    format!("α = {:.2}, β = {}", case.alpha, case.beta)
}

/// P(q) with one colour for each N, and lines where the theory has its peaks.
fn distribution(group: &[Drawn]) -> Panel {
    let title = format!("overlap distribution, {}", place(group[0].0));
    let mut panel = Panel::new(title, Axis::linear("q"), Axis::linear("P(q)").lower(0.0));
    for (color, (case, _)) in group.iter().enumerate() {
        let of = |value: fn(f64, f64) -> f64| -> Vec<f64> {
            let bins = case.overlaps.iter();
            bins.map(|b| value(b.density, b.standard_error.unwrap_or(0.0))).collect()
        };
        let x: Vec<f64> = case.overlaps.iter().map(|bin| bin.q).collect();
        let color = Color::Palette(color);
        panel
            .push(Band::new(x.clone(), of(|d, e| (d - e).max(0.0)), of(|d, e| d + e)).color(color));
        let star = if case.not_equilibrated > 0 { " (not equilibrated)" } else { "" };
        panel.push(Curve::new(x, of(|d, _| d)).label(format!("N = {}{star}", case.n)).color(color));
    }
    // The largest N is nearest to the theory's α.
    if let Some((_, points)) = group.iter().max_by_key(|(case, _)| case.n) {
        for point in *points {
            let solution = &point.solution;
            for (level, q) in solution.q.iter().enumerate() {
                let label = match (solution.steps, level) {
                    (0, _) => "q_0, symmetric".to_owned(),
                    (_, 0) => format!("q_0, weight {:.2}", solution.x[0]),
                    (_, _) => format!("q_1, weight {:.2}", 1.0 - solution.x[0]),
                };
                panel.push(VerticalLine::new(*q).label(label));
            }
        }
    }
    panel
}

/// q_d and ⟨q⟩, and the energy, over 1/N; the theory as lines.
fn trends(group: &[Drawn]) -> Vec<Panel> {
    type Of = fn(&TemperingSummary) -> Option<Summary>;
    type Theory = fn(&TheoryPoint) -> f64;
    let quantities: [(&str, &str, Of, Theory); 5] = [
        ("self-overlap", "q_d", |s| Some(s.all.q_d), |t| t.solution.q_d),
        ("overlap of two states", "⟨q⟩", |s| s.all.q, |t| t.solution.mean_q()),
        ("overlap with the teacher", "r", |s| Some(s.all.r), |t| t.solution.r),
        ("energy per weight", "⟨L⟩/N", |s| Some(s.all.energy), |t| t.energy),
        ("free energy", "φ(β) − φ(β_{low})", |s| Some(s.phi_difference), |t| t.phi_difference),
    ];
    let panel = |(title, axis, of, theory): (&str, &str, Of, Theory)| {
        let title = format!("{title}, {}", place(group[0].0));
        let mut panel = Panel::new(title, Axis::linear("1/N").lower(0.0), Axis::linear(axis));
        for (color, equilibrated) in [true, false].into_iter().enumerate() {
            let chosen = group.iter().filter(|(s, _)| (s.not_equilibrated == 0) == equilibrated);
            let found: Vec<(f64, Summary)> =
                chosen.filter_map(|(s, _)| Some((1.0 / s.n as f64, of(s)?))).collect();
            if found.is_empty() {
                continue;
            }
            let points = Points::new(
                found.iter().map(|(x, _)| *x).collect(),
                found.iter().map(|(_, s)| s.mean).collect(),
            )
            .error(found.iter().map(|(_, s)| s.standard_error.unwrap_or(0.0)).collect());
            let label = if equilibrated { "samples" } else { "samples, not equilibrated" };
            let points = points.label(label).color(Color::Palette(color));
            panel.push(if equilibrated { points } else { points.hollow() });
        }
        if let Some((_, points)) = group.iter().max_by_key(|(case, _)| case.n) {
            for point in points.iter().filter(|point| point.solution.is_converged()) {
                let name = if point.solution.steps == 0 { "symmetric" } else { "one step" };
                panel.push(HorizontalLine::new(theory(point)).label(name));
            }
        }
        panel
    };
    quantities.into_iter().map(panel).collect()
}
