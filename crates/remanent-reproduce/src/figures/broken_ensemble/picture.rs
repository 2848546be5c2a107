//! How figure B10 is drawn.

use remanent_lab::tempering::{CONSISTENT, EXCLUDED, MOST_FAILED};
use remanent_lab::theory::{BrokenBranches, BrokenRow};
use remanent_plot::{
    Axis, Cell, Color, Curve, Dash, Figure, HorizontalLine, Marker, Panel, Points, Table,
    VerticalLine,
};
use remanent_theory::curve::Branch;
use remanent_theory::solution::Solution;

use super::super::{one_step, solutions};
use super::{Measured, Number, Quantity, Row, Theory, Trend};
use crate::results::Drawing;

const SYMMETRIC: Color = Color::Palette(0);
const ONE_STEP: Color = Color::Palette(2);
const GRADIENT: Color = Color::Palette(1);
const SMALL: Color = Color::Palette(4);
const LARGE: Color = Color::Palette(3);

/// ε, q_d and r; below them z of all quantities in the limit of large N, and the draws that fail.
pub fn draw(measured: &Measured, curves: &BrokenBranches) -> Option<Drawing> {
    let beta = measured.beta;
    let over_alpha = |title: &str, y: Axis| Panel::new(title, alphas(), y);
    let mut panels = Vec::new();
    for (title, y, of, quantity) in [
        (
            format!("error, β = {beta}"),
            Axis::linear("ε").lower(0.0),
            (|p: &Solution| p.eps) as fn(&Solution) -> f64,
            Quantity::Eps,
        ),
        ("self-overlap".into(), Axis::linear("q_d").range(0.7, 1.0), |p| p.q_d, Quantity::QD),
        ("overlap with the teacher".into(), Axis::linear("r"), |p| p.r, Quantity::R),
    ] {
        let mut panel = theories(over_alpha(&title, y), curves, of);
        points(&mut panel, &measured.gradient, quantity, "SGD", Marker::Circle, GRADIENT);
        let groups = measured.groups();
        let smallest = groups.iter().filter_map(|group| group.first().copied());
        let largest = groups.iter().filter_map(|group| group.last().copied());
        points(&mut panel, smallest, quantity, "samples, smallest N", Marker::Triangle, SMALL);
        points(&mut panel, largest, quantity, "samples, largest N", Marker::Diamond, LARGE);
        panels.push(panel);
    }
    for (theory, name) in [(Theory::Symmetric, "RS"), (Theory::OneStep, "1RSB")] {
        panels.push(scores(measured, theory, over_alpha, name));
    }
    panels.push(failures(measured));
    Some(Drawing { figure: Figure::grid(panels, 3), table: table(measured) })
}

fn alphas() -> Axis {
    Axis::linear("α").range(0.6, 1.7)
}

fn theories(mut panel: Panel, curves: &BrokenBranches, of: fn(&Solution) -> f64) -> Panel {
    let labels = [Some("RS".to_owned()), None];
    solutions::draw(&mut panel, &curves.symmetric, of, labels, SYMMETRIC);
    let value = |row: &BrokenRow| of(&row.solution);
    one_step::draw(&mut panel, &curves.broken, value, Some("1RSB"), ONE_STEP, Dash::Solid);
    // Behind the crossing the state with one step is the good one, which is symmetric.
    if let Some([_, from]) = curves.broken.crossing() {
        let good = curves.symmetric.rows.iter();
        let good = good.filter(|p| p.branch == Branch::Good && p.alpha >= from.solution.alpha);
        let (x, y) = good.map(|p| (p.alpha, of(p))).unzip();
        panel.push(Curve::new(x, y).color(ONE_STEP));
    }
    if let Some(onset) = curves.broken.landmarks("onset").next() {
        panel.push(VerticalLine::new(onset.solution.alpha).label("λ = 0"));
    }
    panel
}

/// Open points are those of which more than a quarter of the draws fail.
fn points<'a>(
    panel: &mut Panel,
    rows: impl IntoIterator<Item = &'a Row>,
    quantity: Quantity,
    label: &str,
    marker: Marker,
    color: Color,
) {
    let (open, filled): (Vec<&Row>, Vec<&Row>) =
        rows.into_iter().partition(|row| row.is_provisional());
    for (rows, open) in [(filled, false), (open, true)] {
        let found: Vec<(f64, &Number)> =
            rows.iter().filter_map(|row| Some((row.exact_alpha, row.number(quantity)?))).collect();
        if found.is_empty() {
            continue;
        }
        let points = Points::new(
            found.iter().map(|f| f.0).collect(),
            found.iter().map(|f| f.1.found.value).collect(),
        )
        .error(found.iter().map(|f| f.1.found.standard_error.unwrap_or(0.0)).collect())
        .marker(marker)
        .color(color);
        panel.push(if open {
            points.hollow().label(format!("{label}, provisional"))
        } else {
            points.label(label)
        });
    }
}

/// z in the limit of large N: a bar from one power of 1/N to the other. Open: provisional.
fn scores(
    measured: &Measured,
    theory: Theory,
    over_alpha: impl Fn(&str, Axis) -> Panel,
    name: &str,
) -> Panel {
    let title = format!("samples less {name}, limit of large N, in standard errors");
    let mut panel = over_alpha(&title, Axis::linear("z, from p = 1 to p = 2/3"));
    let trends = measured.trends(theory);
    for (i, quantity) in Quantity::ALL.into_iter().enumerate() {
        // Beside one another.
        let shift = 0.012 * (i as f64 - 2.5);
        let mut labelled = false;
        for open in [false, true] {
            let these = trends.iter().filter(|trend| trend.is_provisional() == open);
            let bars: Vec<[f64; 3]> = these
                .filter_map(|trend| {
                    let [smooth, glassy] = limits(trend, quantity)?.map(|limit| limit.z());
                    let half = 0.5 * (smooth - glassy).abs();
                    Some([trend.alpha + shift, 0.5 * (smooth + glassy), half])
                })
                .collect();
            if bars.is_empty() {
                continue;
            }
            let of = |k: usize| bars.iter().map(|bar| bar[k]).collect::<Vec<f64>>();
            let mut points = Points::new(of(0), of(1)).error(of(2)).color(Color::Palette(i));
            if open {
                points = points.hollow();
            }
            if !labelled {
                points = points.label(quantity.name());
                labelled = true;
            }
            panel.push(points);
        }
    }
    for z in [CONSISTENT, EXCLUDED] {
        panel.push(HorizontalLine::new(-z));
        panel.push(HorizontalLine::new(z));
    }
    panel
}

fn limits<'a>(
    trend: &'a Trend<'_>,
    quantity: Quantity,
) -> Option<&'a [remanent_lab::tempering::Limit; 2]> {
    trend.limits.iter().find(|(other, _)| *other == quantity)?.1.as_ref()
}

/// The part of the draws of each N that fail the criteria of equilibration.
fn failures(measured: &Measured) -> Panel {
    let y = Axis::linear("part of the draws").range(0.0, 1.0);
    let mut panel = Panel::new("draws that are not equilibrated", alphas(), y);
    let mut sizes: Vec<usize> = measured.ensemble.iter().map(|row| row.n).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for (i, n) in sizes.into_iter().enumerate() {
        let rows = measured.ensemble.iter().filter(|row| row.n == n);
        let part = |row: &Row| (row.alpha, row.failed as f64 / row.trials.max(1) as f64);
        let (x, y) = rows.map(part).unzip();
        let points = Points::new(x, y).color(Color::Palette(i)).connected(Dash::Dotted);
        panel.push(points.label(format!("N = {n}")));
    }
    panel.push(HorizontalLine::new(MOST_FAILED));
    panel
}

/// Every number of every row, and below them the limits of large N: there `rs` and `one_step` are missing,
/// and differences are those of the fit.
fn table(measured: &Measured) -> Table {
    let mut table = Table::new([
        "learner",
        "alpha",
        "n",
        "trials",
        "not_equilibrated",
        "quantity",
        "found",
        "found_se",
        "rs",
        "one_step",
        "difference_rs",
        "difference_one_step",
        "z_rs",
        "z_one_step",
        "chi2_rs",
        "chi2_one_step",
    ]);
    for (learner, rows) in [("sgd", &measured.gradient), ("samples", &measured.ensemble)] {
        for row in rows {
            for number in &row.numbers {
                let both = |of: &dyn Fn(Theory) -> Option<f64>| Theory::BOTH.map(of);
                let mut cells: Vec<Cell> = vec![
                    learner.into(),
                    row.exact_alpha.into(),
                    (row.n as i64).into(),
                    (row.trials as i64).into(),
                    (row.failed as i64).into(),
                    number.quantity.name().into(),
                    number.found.value.into(),
                    number.found.standard_error.into(),
                ];
                cells.extend(both(&|theory| number.theory(theory)).map(Cell::from));
                cells.extend(both(&|theory| number.difference(theory)).map(Cell::from));
                cells.extend(both(&|theory| number.z(theory)).map(Cell::from));
                cells.extend([Cell::Missing, Cell::Missing]);
                table.push(cells);
            }
        }
    }
    let [symmetric, one_step] = Theory::BOTH.map(|theory| measured.trends(theory));
    for (a, b) in symmetric.iter().zip(&one_step) {
        for quantity in Quantity::ALL {
            let both = [limits(a, quantity), limits(b, quantity)];
            for (power, name) in ["limit, p = 1", "limit, p = 2/3"].into_iter().enumerate() {
                let of = |value: fn(&remanent_lab::tempering::Limit) -> f64| {
                    both.map(|limits| Cell::from(limits.map(|limits| value(&limits[power]))))
                };
                let most = |of: fn(&Row) -> usize| a.sizes.iter().map(|row| of(row)).max();
                let error = both[0].or(both[1]).map(|limits| limits[power].standard_error);
                let mut cells: Vec<Cell> = vec![
                    name.into(),
                    a.alpha.into(),
                    Cell::Missing,
                    (most(|row| row.trials).unwrap_or(0) as i64).into(),
                    (most(|row| row.failed).unwrap_or(0) as i64).into(),
                    quantity.name().into(),
                    Cell::Missing,
                    error.into(),
                    Cell::Missing,
                    Cell::Missing,
                ];
                cells.extend(of(|limit| limit.difference));
                cells.extend(of(|limit| limit.z()));
                cells.extend(of(|limit| limit.chi_squared));
                table.push(cells);
            }
        }
    }
    table
}
