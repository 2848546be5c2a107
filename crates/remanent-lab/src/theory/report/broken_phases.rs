//! What is shown of `theory phase-diagram --rsb 1`.

use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Marker, Panel, Points, Table};
use remanent_theory::rsb::{BrokenPhaseRow, PhasePoint};

use super::Conclusion;
use crate::experiment::Detail;
use crate::theory::BrokenPhases;

/// The special points, with what they are.
fn special(phases: &BrokenPhases) -> [(&'static str, Option<PhasePoint>); 3] {
    [
        ("first breaking", phases.broken.first_breaking),
        ("jump begins", phases.broken.end_of_jump),
        ("onset jumps", phases.broken.discontinuous_onset),
    ]
}

pub(super) fn conclusion(phases: &BrokenPhases) -> Conclusion {
    let mut conclusion = Conclusion::default();
    for (name, point) in special(phases) {
        if point.is_none() {
            conclusion.note(format!("not found in the given range of beta: {name}"));
        }
    }
    conclusion
}

pub(super) fn tables(phases: &BrokenPhases, detail: Detail) -> Vec<Table> {
    let mut table = Table::new([
        "beta",
        "dynamical",
        "condensation",
        "onset",
        "onset_x",
        "lambda_1_zeros",
        "lambda_0_zeros",
        "good_from",
        "crossing",
        "poor_until",
        "closing",
        "closing_branch",
    ]);
    let cell = |v: Option<f64>| v.map_or(Cell::Missing, Cell::Number);
    let list = |values: &[f64]| match values {
        [] => Cell::Missing,
        values => {
            let texts: Vec<String> = values.iter().map(|v| format!("{v:.6}")).collect();
            Cell::Text(texts.join(" "))
        }
    };
    for row in &phases.broken.rows {
        table.push(vec![
            Cell::Number(row.beta),
            cell(row.dynamical),
            cell(row.condensation),
            cell(row.onset),
            cell(row.onset_x),
            list(&row.inner_instability),
            list(&row.outer_instability),
            cell(row.good_from),
            cell(row.crossing),
            cell(row.poor_until),
            cell(row.closing),
            row.closing_branch.map_or(Cell::Missing, |b| Cell::Text(b.to_string())),
        ]);
    }
    if detail == Detail::Full {
        return vec![table];
    }
    let mut points = Table::new(["point", "alpha", "beta"]);
    for (name, point) in special(phases) {
        if let Some(p) = point {
            points.push(vec![Cell::Text(name.into()), Cell::Number(p.alpha), Cell::Number(p.beta)]);
        }
    }
    vec![table, points]
}

pub(super) fn figure(phases: &BrokenPhases) -> Figure {
    Figure::single(broken_phase_panel(phases))
}

/// All lines of a phase diagram with one step in the plane of α and β.
pub fn broken_phase_panel(phases: &BrokenPhases) -> Panel {
    let broken = &phases.broken;
    let largest = broken
        .rows
        .iter()
        .filter_map(|r| r.closing.into_iter().chain(r.poor_until).reduce(f64::max));
    let reach = largest.fold(1.6, f64::max) + 0.45;
    let mut panel = Panel::new("", Axis::linear("α").range(0.3, reach), Axis::log("β"));
    let mut line = |label: &str, color: Color, dash, width, at: Vec<(f64, f64)>| {
        if at.iter().filter(|p| p.0.is_finite()).count() > 1 {
            let (xs, ys) = at.into_iter().unzip();
            let curve = Curve::new(xs, ys).color(color).dash(dash).width(width);
            panel.push(if label.is_empty() { curve } else { curve.label(label) });
        }
    };
    let from = |start: Option<PhasePoint>, alpha: &dyn Fn(&BrokenPhaseRow) -> Option<f64>| {
        let above = |r: &&BrokenPhaseRow| start.is_none_or(|p| r.beta > p.beta);
        let rows = broken.rows.iter().filter(above);
        let rest = rows.map(|r| (alpha(r).unwrap_or(f64::NAN), r.beta));
        start.map(|p| (p.alpha, p.beta)).into_iter().chain(rest).collect::<Vec<_>>()
    };
    let (first, jump, tri) =
        (broken.first_breaking, broken.end_of_jump, broken.discontinuous_onset);
    let palette = Color::Palette;
    // Lines of replica symmetry, for comparison.
    let symmetric = |alpha: fn(&remanent_theory::phase::PhaseRow) -> Option<f64>| {
        let start = phases.symmetric.critical_point.map(|c| (c.alpha, c.beta));
        let rows = phases.symmetric.rows.iter();
        let rest = rows.filter_map(|r| alpha(r).map(|alpha| (alpha, r.beta)));
        start.into_iter().chain(rest).collect::<Vec<_>>()
    };
    line("RS crossing", Color::GREY, Dash::Dotted, 1.3, symmetric(|r| r.crossing));
    line("RS poor ends", Color::GREY, Dash::Dashed, 1.3, symmetric(|r| r.poor_until));
    line("good begins", palette(2), Dash::Dashed, 1.6, symmetric(|r| r.good_from));
    // The onset is continuous below the tricritical point, and not the transition above it.
    let is_below = |r: &BrokenPhaseRow| r.onset_x.is_some_and(|x| x <= 1.0);
    let mut onset = from(first, &|r| r.onset.filter(|_| is_below(r)));
    onset.retain(|p| p.0.is_finite());
    onset.extend(tri.map(|p| (p.alpha, p.beta)));
    line("onset", palette(0), Dash::Solid, 2.2, onset);
    let above = |alpha: Option<f64>, r: &BrokenPhaseRow| alpha.filter(|_| !is_below(r));
    line("onset, x = 1", palette(1), Dash::Solid, 2.2, from(tri, &|r| above(r.condensation, r)));
    line("dynamical", palette(3), Dash::Solid, 1.8, from(tri, &|r| above(r.dynamical, r)));
    line("replicon zero", palette(0), Dash::Dotted, 1.6, from(tri, &|r| above(r.onset, r)));
    let mut closing = from(first, &|r| r.closing);
    closing.retain(|p| p.0.is_finite() && jump.is_none_or(|j| p.1 < j.beta));
    closing.extend(jump.map(|p| (p.alpha, p.beta)));
    line("gap closes", palette(5), Dash::Solid, 2.2, closing);
    line("crossing", palette(6), Dash::Solid, 2.4, from(jump, &|r| r.crossing));
    line("poor ends", palette(4), Dash::Solid, 1.8, from(jump, &|r| r.poor_until));
    let markers = [Marker::Triangle, Marker::Diamond, Marker::Square];
    for ((name, point), marker) in special(phases).into_iter().zip(markers) {
        if let Some(p) = point {
            panel.push(
                Points::new(vec![p.alpha], vec![p.beta])
                    .color(palette(6))
                    .marker(marker)
                    .label(format!("{name} {:.3}, {:.2}", p.alpha, p.beta)),
            );
        }
    }
    panel
}
