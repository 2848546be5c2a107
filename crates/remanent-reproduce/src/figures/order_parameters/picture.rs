//! How figure 3a is drawn.

use remanent_math::statistics::Summary;
use remanent_plot::{
    Axis, Color, Dash, Figure, HorizontalLine, Marker, Panel, Points, Table, VerticalLine,
};
use remanent_theory::branches::Branches;
use remanent_theory::solution::Solution;

use super::super::solutions::{self, is_stable};
use crate::results::{Drawing, Results};
use remanent_lab::lines::{self, Measured};
use remanent_lab::theory::monte_carlo::{MonteCarlo, Row, Settled};

/// Where the published estimator, iterated with most draws, settles, and how many these are.
pub fn settled(estimator: &MonteCarlo) -> Option<(usize, Settled)> {
    estimator.rows.iter().rev().find_map(|row| Some((row.draws, row.settled?)))
}

/// Figure 3a.
pub fn draw(results: &Results) -> Option<Drawing> {
    let curve = results.theory.first()?.as_branches()?;
    let estimator = results.theory.get(1)?.as_monte_carlo()?;
    let panels = vec![overlaps(curve, estimator)?, bias(estimator)];
    Some(Drawing { figure: Figure::grid(panels, 2), table: table(curve) })
}

fn overlaps(curve: &Branches, estimator: &MonteCarlo) -> Option<Panel> {
    let beta = curve.rows.first()?.beta;
    let mut panel = Panel::new(
        format!("order parameters, β = {beta}"),
        Axis::linear("α"),
        Axis::linear("overlap").range(0.0, 1.02),
    );
    if let Some(crossing) = &curve.crossing {
        panel.push(VerticalLine::new(crossing.alpha));
    }
    type Quantity = (&'static str, fn(&Solution) -> f64);
    let quantities: [Quantity; 3] = [("q_d", |p| p.q_d), ("q_0", |p| p.q_0), ("r", |p| p.r)];
    for (color, (name, of)) in quantities.into_iter().enumerate() {
        let labels = [Some(name.to_owned()), None];
        solutions::draw(&mut panel, curve, of, labels, Color::Palette(color));
    }
    if let Some((_, settled)) = settled(estimator) {
        for (color, value) in [settled.q_d, settled.q_0, settled.r].into_iter().enumerate() {
            let points = Points::new(vec![estimator.exact.alpha], vec![value]);
            let points = points.marker(Marker::Square).hollow().color(Color::Palette(color));
            let name = "published estimator";
            panel.push(if color == 0 { points.label(name) } else { points });
        }
    }
    Some(panel)
}

fn bias(estimator: &MonteCarlo) -> Panel {
    let mut panel = Panel::new(
        format!("the published estimator at the exact solution, α = {}", estimator.exact.alpha),
        Axis::log("inner draws"),
        Axis::linear("conjugate parameter").lower(0.0),
    );
    let exact = &estimator.exact.values;
    type Estimated = (&'static str, f64, fn(&Row) -> Summary);
    let estimated: [Estimated; 3] = [
        ("q̂_0", exact.q_0_hat, |row| row.q_0_hat),
        ("r̂", exact.r_hat, |row| row.r_hat),
        ("q̂_d", exact.q_d_hat, |row| row.q_d_hat),
    ];
    for (color, (name, exact, of)) in estimated.into_iter().enumerate() {
        let measured = estimator.rows.iter().map(|row| {
            let found = of(row);
            Measured { x: row.draws as f64, mean: found.mean, error: found.standard_error }
        });
        let points = lines::points(&measured.collect::<Vec<_>>());
        panel.push(points.connected(Dash::Dashed).label(name).color(Color::Palette(color)));
        panel.push(HorizontalLine::new(exact).label(format!("{name} exact")));
    }
    panel
}

fn table(curve: &Branches) -> Table {
    let mut table = Table::new([
        "alpha",
        "branch",
        "stable",
        "q_d",
        "q_0",
        "r",
        "p",
        "eps",
        "minus_beta_f",
        "replicon",
    ]);
    for p in &curve.rows {
        table.push(vec![
            p.alpha.into(),
            p.branch.to_string().into(),
            i64::from(is_stable(curve, p)).into(),
            p.q_d.into(),
            p.q_0.into(),
            p.r.into(),
            p.p.into(),
            p.eps.into(),
            p.minus_beta_f.into(),
            p.replicon.into(),
        ]);
    }
    table
}
