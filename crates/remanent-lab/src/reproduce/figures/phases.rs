//! Figure B1: all solutions at β = 20, and the phase diagram.

use remanent_plot::{
    Axis, Color, Curve, Dash, Figure, HorizontalLine, Panel, Points, Table, VerticalLine,
};

use super::words::{also, decides, error};
use crate::reproduce::results::{Results, Shown};
use crate::theory::{PhaseRow, Point};

/// α_c in the paper.
const PUBLISHED: f64 = 1.7;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let curve = results.theory.first()?.as_branches()?;
    let phases = results.theory.get(1)?.as_phase_diagram()?;
    let crossing = curve.crossing.as_ref()?;
    let [good, poor] = [curve.folds.first()?.alpha, curve.folds.last()?.alpha];
    let zero = curve.replicon_zeros.first()?;

    let branch = |panel: &mut Panel, of: &dyn Fn(&Point) -> Option<f64>| {
        for (color, name, dash) in
            [(0, "poor", Dash::Solid), (1, "middle", Dash::Dashed), (2, "good", Dash::Solid)]
        {
            let rows = curve.rows.iter().filter(|p| p.branch == name);
            let (x, y) = rows.map(|p| (p.alpha, of(p).unwrap_or(f64::NAN))).unzip();
            panel.push(Curve::new(x, y).label(name).dash(dash).color(Color::Palette(color)));
        }
    };
    let mut errors = Panel::new(
        "error of every solution, β = 20",
        Axis::linear("α").range(0.0, 2.5),
        Axis::log("ε").lower(1e-4),
    );
    branch(&mut errors, &|p| p.eps);
    errors.push(VerticalLine::new(crossing.alpha).label("crossing"));
    let mut replicon = Panel::new(
        "replicon λ",
        Axis::linear("α").range(0.0, 2.5),
        Axis::linear("λ").range(-4.0, 1.1),
    );
    branch(&mut replicon, &|p| p.replicon);
    replicon.push(HorizontalLine::new(0.0));
    replicon.push(VerticalLine::new(crossing.alpha).label("crossing"));

    let mut map = Panel::new("phase diagram", Axis::linear("α"), Axis::log("β"));
    let mut draw = |name: &str, color: usize, dash: Dash, of: &dyn Fn(&PhaseRow) -> Option<f64>| {
        let (x, y): (Vec<f64>, Vec<f64>) =
            phases.rows.iter().filter_map(|row| Some((of(row)?, row.beta))).unzip();
        map.push(Curve::new(x, y).label(name).dash(dash).color(Color::Palette(color)));
    };
    draw("good from", 2, Dash::Solid, &|row| row.good_from);
    draw("crossing", 6, Dash::Dashed, &|row| row.crossing);
    draw("poor until", 0, Dash::Solid, &|row| row.poor_until.or(row.corner));
    draw("λ = 0, poor", 3, Dash::Dotted, &|row| {
        row.replicon_zeros
            .iter()
            .filter(|zero| zero.branch != "good")
            .map(|zero| zero.alpha)
            .reduce(f64::min)
    });
    if let Some(point) = &phases.critical_point {
        map.push(
            Points::new(vec![point.alpha], vec![point.beta])
                .label("critical point")
                .color(Color::Palette(1)),
        );
    }
    let critical = phases.critical_point.as_ref()?;
    let mut table =
        Table::new(["beta", "good_from", "crossing", "poor_until", "corner", "replicon_zero"]);
    for row in &phases.rows {
        table.push(vec![
            row.beta.into(),
            row.good_from.into(),
            row.crossing.into(),
            row.poor_until.into(),
            row.corner.into(),
            row.replicon_zeros.first().map(|zero| zero.alpha).into(),
        ]);
    }
    Some(Shown {
        figure: Figure::grid(vec![errors, replicon, map], 2),
        table,
        found: format!(
            "At β = 20 a poor and a good solution coexist from α = {good:.4} to {poor:.4} and exchange stability at α = \
             {:.5}; on the poor one the replicon is negative from α = {:.3} on. The two folds meet in a critical point at \
             α = {:.3}, β = {:.2}.",
            crossing.alpha, zero.alpha, critical.alpha, critical.beta
        ),
        checks: vec![
            decides(
                "at β = 20 there are two folds, and −βf crosses between them",
                good < crossing.alpha && crossing.alpha < poor,
            ),
            also(
                format!(
                    "the crossing, α = {:.3}, is within 0.1 of the paper's transition {PUBLISHED}",
                    crossing.alpha
                ),
                (crossing.alpha - PUBLISHED).abs() < 0.1,
            ),
            also(
                "replica symmetry holds on both sides of the crossing",
                crossing.replica_symmetry_holds,
            ),
        ],
        notes: vec![format!(
            "At the crossing the poor solution has ε = {} and λ = {:.1}, the good one ε = {}: the crossing is a statement \
             of replica symmetry about a phase in which it is broken.",
            error(crossing.poor.eps?),
            crossing.poor.replicon?,
            error(crossing.good.eps?)
        )],
    })
}
