//! Figure B1: all solutions at β = 20, and the phase diagram.

use remanent_plot::{
    Axis, Color, Curve, Dash, Figure, HorizontalLine, Panel, Points, Table, VerticalLine,
};

use super::words::{also, capital, decides, error};
use crate::reproduce::results::{Results, Shown};
use crate::theory::{PhaseRow, Point};

/// α_c in the paper.
const PUBLISHED: f64 = 1.7;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let curve = results.theory.first()?.as_branches()?;
    let phases = results.theory.get(1)?.as_phase_diagram()?;
    let beta = curve.rows.first()?.beta;
    let crossing = curve.crossing.as_ref();
    let zero = curve.replicon_zeros.first();
    let folds: Vec<f64> = curve.folds.iter().map(|fold| fold.alpha).collect();

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
        format!("error of every solution, β = {beta}"),
        Axis::linear("α").range(0.0, 2.5),
        Axis::log("ε").lower(1e-4),
    );
    branch(&mut errors, &|p| p.eps);
    let mut replicon = Panel::new(
        "replicon λ",
        Axis::linear("α").range(0.0, 2.5),
        Axis::linear("λ").range(-4.0, 1.1),
    );
    branch(&mut replicon, &|p| p.replicon);
    replicon.push(HorizontalLine::new(0.0));
    if let Some(crossing) = crossing {
        errors.push(VerticalLine::new(crossing.alpha).label("crossing"));
        replicon.push(VerticalLine::new(crossing.alpha).label("crossing"));
    }

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
    let mut said = vec![match (folds.as_slice(), crossing) {
        ([good, .., poor], Some(at)) => format!(
            "at β = {beta} a poor and a good solution coexist from α = {good:.4} to {poor:.4} and exchange stability at α = \
             {:.5}",
            at.alpha
        ),
        _ => format!("at β = {beta} there is one solution for every α"),
    }];
    said.extend(zero.map(|zero| {
        format!("on the {} solution the replicon vanishes at α = {:.3}", zero.branch, zero.alpha)
    }));
    said.extend(phases.critical_point.as_ref().map(|point| {
        format!(
            "the two folds meet in a critical point at α = {:.3}, β = {:.2}",
            point.alpha, point.beta
        )
    }));
    let between = matches!((folds.as_slice(), crossing), ([good, .., poor], Some(at)) if *good < at.alpha && at.alpha < *poor);
    let at = crossing.map_or(f64::NAN, |crossing| crossing.alpha);
    let notes = crossing.map(|crossing| {
        let of = |point: &Point| {
            let [eps, replicon] =
                [point.eps, point.replicon].map(|value| value.unwrap_or(f64::NAN));
            format!("ε = {} and λ = {replicon:.2}", error(eps))
        };
        format!(
            "At the crossing the poor solution has {}, the good one {}.",
            of(&crossing.poor),
            of(&crossing.good)
        )
    });
    Some(Shown {
        figure: Figure::grid(vec![errors, replicon, map], 2),
        table,
        found: format!("{}.", capital(&said.join("; "))),
        checks: vec![
            decides(
                format!("at β = {beta} there are two folds, and −βf crosses between them"),
                between,
            ),
            also(
                format!(
                    "the crossing, α = {at:.3}, is within 0.1 of the paper's transition {PUBLISHED}"
                ),
                (at - PUBLISHED).abs() < 0.1,
            ),
            also(
                "replica symmetry holds on both sides of the crossing",
                crossing.is_some_and(|crossing| crossing.replica_symmetry_holds),
            ),
            also("the folds meet in a critical point", phases.critical_point.is_some()),
        ],
        notes: notes.into_iter().collect(),
    })
}
