//! How figure 3a is drawn.

use remanent_lab::lines::{self, Measured};
use remanent_lab::theory::monte_carlo::{MonteCarlo, Row, Settled};
use remanent_lab::theory::{BrokenBranches, BrokenRow};
use remanent_math::statistics::Summary;
use remanent_plot::{
    Axis, Color, Dash, Figure, HorizontalLine, Marker, Panel, Points, Table, VerticalLine,
};
use remanent_theory::curve::Branch;
use remanent_theory::solution::Solution;

use super::super::one_step;
use super::super::solutions::{self, is_stable};
use crate::results::{Drawing, Results};

/// Where the published estimator, iterated with most draws, settles, and how many these are.
pub fn settled(estimator: &MonteCarlo) -> Option<(usize, Settled)> {
    estimator.rows.iter().rev().find_map(|row| Some((row.draws, row.settled?)))
}

/// Figure 3a.
pub fn draw(results: &Results) -> Option<Drawing> {
    let curve = one_step::curves(results, 0)?;
    let estimator = results.theory.get(1)?.as_monte_carlo()?;
    let panels = vec![overlaps(curve, estimator)?, bias(estimator)];
    Some(Drawing { figure: Figure::grid(panels, 2), table: table(curve) })
}

fn overlaps(both: &BrokenBranches, estimator: &MonteCarlo) -> Option<Panel> {
    let curve = &both.symmetric;
    let beta = curve.rows.first()?.beta;
    let mut panel = Panel::new(
        format!("order parameters, β = {beta}"),
        Axis::linear("α"),
        Axis::linear("overlap").range(0.0, 1.02),
    );
    if let Some(crossing) = &curve.crossing {
        panel.push(VerticalLine::new(crossing.alpha).label("RS"));
    }
    if let Some([poor, _]) = both.broken.crossing() {
        panel.push(VerticalLine::new(poor.solution.alpha).label("1RSB"));
    }
    type Quantity = (&'static str, fn(&Solution) -> f64);
    let quantities: [Quantity; 3] = [("q_d", |p| p.q_d), ("q_0", |p| p.q_0), ("r", |p| p.r)];
    for (color, (name, of)) in quantities.into_iter().enumerate() {
        let labels = [Some(name.to_owned()), None];
        solutions::draw(&mut panel, curve, of, labels, Color::Palette(color));
    }
    type Broken = (usize, Option<&'static str>, fn(&BrokenRow) -> f64);
    let broken: [Broken; 4] = [
        (0, None, |row| row.solution.q_d),
        (3, Some("q_1, one step"), |row| row.q_1.unwrap_or(f64::NAN)),
        (1, None, |row| row.solution.q_0),
        (2, None, |row| row.solution.r),
    ];
    for (color, label, of) in broken {
        one_step::draw(&mut panel, &both.broken, of, label, Color::Palette(color), Dash::Dotted);
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

fn table(both: &BrokenBranches) -> Table {
    let curve = &both.symmetric;
    let mut table = Table::new([
        "rsb",
        "alpha",
        "branch",
        "stable",
        "q_d",
        "q_1",
        "q_0",
        "x",
        "r",
        "p",
        "eps",
        "minus_beta_f",
        "replicon",
    ]);
    let crossing = both.broken.crossing().map(|[poor, _]| poor.solution.alpha);
    let mut write = |p: &Solution, rsb: usize, stable: bool, [q_1, x]: [Option<f64>; 2]| {
        table.push(vec![
            (rsb as i64).into(),
            p.alpha.into(),
            p.branch.to_string().into(),
            i64::from(stable).into(),
            p.q_d.into(),
            q_1.into(),
            p.q_0.into(),
            x.into(),
            p.r.into(),
            p.p.into(),
            p.eps.into(),
            p.minus_beta_f.into(),
            p.replicon.into(),
        ]);
    };
    for p in &curve.rows {
        write(p, 0, is_stable(curve, p), [None, None]);
    }
    for row in &both.broken.rows {
        let p = &row.solution;
        let stable = p.branch == Branch::Poor && crossing.is_none_or(|at| p.alpha < at);
        write(p, row.rsb, stable, [row.q_1, row.x]);
    }
    table
}
