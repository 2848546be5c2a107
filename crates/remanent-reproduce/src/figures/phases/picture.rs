//! How figure B1 is drawn.

use remanent_lab::theory::{BrokenBranches, BrokenPhases, BrokenRow, broken_phase_panel};
use remanent_plot::{Axis, Color, Curve, Dash, Figure, HorizontalLine, Panel, Table, VerticalLine};
use remanent_theory::branches::Branches;
use remanent_theory::curve::Branch;
use remanent_theory::solution::Solution;

use super::super::one_step;
use crate::results::Drawing;

/// The colour of one step.
const ONE_STEP: Color = Color::Palette(3);

/// Solutions at one β, the curves with one step at several, and the phase diagram.
pub fn draw(
    both: &BrokenBranches,
    diagram: &BrokenPhases,
    others: &[&BrokenBranches],
) -> Option<Drawing> {
    let beta = both.symmetric.rows.first()?.beta;
    let [errors, stability] = solutions(both, beta);
    let mut map = broken_phase_panel(diagram);
    map.title = "phase diagram".into();
    let panels = vec![errors, stability, by_beta(both, others)?, map];
    Some(Drawing { figure: Figure::grid(panels, 2), table: table(diagram) })
}

/// ε and stabilities of every solution.
fn solutions(both: &BrokenBranches, beta: f64) -> [Panel; 2] {
    let curve = &both.symmetric;
    let mut errors = Panel::new(
        format!("error of every solution, β = {beta}"),
        Axis::linear("α").range(0.0, 2.5),
        Axis::log("ε").lower(1e-4),
    );
    symmetric(&mut errors, curve, |p| p.eps);
    let eps = |row: &BrokenRow| row.solution.eps;
    one_step::draw(&mut errors, &both.broken, eps, Some("poor, 1RSB"), ONE_STEP, Dash::Solid);
    let mut stability = Panel::new(
        format!("stabilities, β = {beta}"),
        Axis::linear("α").range(0.0, 2.5),
        Axis::linear("λ").range(-1.0, 1.1),
    );
    symmetric(&mut stability, curve, |p| p.replicon);
    for (label, dash, of) in [
        ("λ_1, 1RSB", Dash::Solid, (|row| row.lambda_1) as fn(&BrokenRow) -> Option<f64>),
        ("λ_0, 1RSB", Dash::Dotted, |row| row.lambda_0),
    ] {
        let value = |row: &BrokenRow| of(row).unwrap_or(f64::NAN);
        one_step::draw(&mut stability, &both.broken, value, Some(label), ONE_STEP, dash);
    }
    stability.push(HorizontalLine::new(0.0));
    let symmetric = curve.crossing.as_ref().map(|crossing| (crossing.alpha, "RS"));
    let broken = both.broken.crossing().map(|[poor, _]| (poor.solution.alpha, "1RSB"));
    for (alpha, label) in symmetric.into_iter().chain(broken) {
        errors.push(VerticalLine::new(alpha).label(label));
        stability.push(VerticalLine::new(alpha).label(label));
    }
    [errors, stability]
}

fn symmetric(panel: &mut Panel, curve: &Branches, of: impl Fn(&Solution) -> f64) {
    for (color, branch, dash) in [
        (0, Branch::Poor, Dash::Solid),
        (1, Branch::Middle, Dash::Dashed),
        (2, Branch::Good, Dash::Solid),
    ] {
        let rows = curve.rows.iter().filter(|p| p.branch == branch);
        let (x, y) = rows.map(|p| (p.alpha, of(p))).unzip();
        let label = format!("{branch}, RS");
        panel.push(Curve::new(x, y).label(label).dash(dash).color(Color::Palette(color)));
    }
}

/// ε of the stable state with one step at several β: continuous, or with a jump.
fn by_beta(both: &BrokenBranches, others: &[&BrokenBranches]) -> Option<Panel> {
    let mut panel = Panel::new(
        "stable state with one step, around the transition",
        Axis::linear("α").range(1.2, 1.8),
        Axis::linear("ε").range(0.0, 0.3),
    );
    let mut all: Vec<&BrokenBranches> = others.iter().copied().chain([both]).collect();
    let beta = |curves: &BrokenBranches| curves.symmetric.rows.first().map(|row| row.beta);
    all.sort_by(|a, b| beta(a).partial_cmp(&beta(b)).unwrap_or(std::cmp::Ordering::Equal));
    for (color, curves) in all.into_iter().enumerate() {
        let (label, color) = (format!("β = {}", beta(curves)?), Color::Palette(color));
        let eps = |row: &BrokenRow| row.solution.eps;
        one_step::draw_stable(&mut panel, &curves.broken, eps, Some(&label), color, Dash::Solid);
        // The good branch takes over at the crossing, or where the gap closes.
        let last = curves.broken.rows.last().map(|row| row.solution.alpha);
        let from = curves.broken.crossing().map(|[_, good]| good.solution.alpha).or(last);
        let taken = |p: &&Solution| {
            p.branch != Branch::Middle
                && (p.branch != Branch::Poor || curves.broken.crossing().is_none())
                && from.is_some_and(|from| p.alpha >= from)
        };
        let (x, y) = curves.symmetric.rows.iter().filter(taken).map(|p| (p.alpha, p.eps)).unzip();
        panel.push(Curve::new(x, y).color(color));
    }
    Some(panel)
}

fn table(diagram: &BrokenPhases) -> Table {
    let mut table = Table::new([
        "beta",
        "rs_good_from",
        "rs_crossing",
        "rs_poor_until",
        "rs_corner",
        "rs_replicon_zero",
        "dynamical",
        "condensation",
        "onset_x",
        "crossing",
        "poor_until",
        "closing",
    ]);
    for row in &diagram.symmetric.rows {
        let broken = diagram.broken.rows.iter().find(|broken| broken.beta == row.beta);
        let of = |alpha: fn(&remanent_theory::rsb::BrokenPhaseRow) -> Option<f64>| {
            broken.and_then(alpha).into()
        };
        table.push(vec![
            row.beta.into(),
            row.good_from.into(),
            row.crossing.into(),
            row.poor_until.into(),
            row.corner.into(),
            row.replicon_zeros.first().map(|zero| zero.alpha).into(),
            of(|broken| broken.dynamical),
            of(|broken| broken.condensation),
            of(|broken| broken.onset_x),
            of(|broken| broken.crossing),
            of(|broken| broken.poor_until),
            of(|broken| broken.closing),
        ]);
    }
    table
}
