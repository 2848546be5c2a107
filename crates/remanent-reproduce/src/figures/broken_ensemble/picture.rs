//! How figure B10 is drawn.

use remanent_lab::theory::{BrokenBranches, BrokenRow};
use remanent_plot::{
    Axis, Color, Dash, Figure, HorizontalLine, Marker, Panel, Points, Table, VerticalLine,
};
use remanent_theory::solution::Solution;

use super::super::{one_step, solutions};
use super::{By, Measured, Number, Quantity, Row};
use crate::results::Drawing;

const SYMMETRIC: Color = Color::Palette(0);
const ONE_STEP: Color = Color::Palette(2);
const GRADIENT: Color = Color::Palette(1);
const SAMPLES: Color = Color::Palette(3);

/// ε, the self-overlap, and the z-scores of ε.
pub fn draw(measured: &Measured, curves: &BrokenBranches) -> Option<Drawing> {
    let beta = measured.beta;
    let mut errors = theories(
        Panel::new(
            format!("error, β = {beta}"),
            Axis::linear("α").range(0.6, 1.7),
            Axis::linear("ε").lower(0.0),
        ),
        curves,
        [|p| p.eps, |p| p.eps],
    );
    let mut norms = theories(
        Panel::new(
            "self-overlap",
            Axis::linear("α").range(0.6, 1.7),
            Axis::linear("q_d").range(0.7, 1.0),
        ),
        curves,
        [|p| p.q_d, |p| p.q_d],
    );
    for (panel, quantity) in [(&mut errors, Quantity::Eps), (&mut norms, Quantity::QD)] {
        for (learner, label, color) in
            [(By::Gradient, "SGD", GRADIENT), (By::Sampling, "samples", SAMPLES)]
        {
            points(panel, measured, quantity, learner, label, color);
        }
    }
    let panels = vec![errors, scores(measured), norms];
    Some(Drawing { figure: Figure::grid(panels, 2), table: table(measured) })
}

fn theories(mut panel: Panel, curves: &BrokenBranches, of: [fn(&Solution) -> f64; 2]) -> Panel {
    let labels = [Some("RS".to_owned()), None];
    solutions::draw(&mut panel, &curves.symmetric, of[0], labels, SYMMETRIC);
    let value = |row: &BrokenRow| of[1](&row.solution);
    one_step::draw(&mut panel, &curves.broken, value, Some("1RSB"), ONE_STEP, Dash::Solid);
    if let Some(onset) = curves.broken.landmarks("onset").next() {
        panel.push(VerticalLine::new(onset.solution.alpha).label("λ = 0"));
    }
    panel
}

/// Filled points count; hollow ones are samples that have not mixed.
fn points(
    panel: &mut Panel,
    measured: &Measured,
    quantity: Quantity,
    learner: By,
    label: &str,
    color: Color,
) {
    let marker = if learner == By::Gradient { Marker::Circle } else { Marker::Diamond };
    for counts in [true, false] {
        let rows = measured.rows(learner).filter(|row| row.counts() == counts);
        let found: Vec<(f64, &Number)> =
            rows.filter_map(|row| Some((row.alpha, row.number(quantity)?))).collect();
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
        panel.push(if counts {
            points.label(label)
        } else {
            points.hollow().label(format!("{label}, not mixed"))
        });
    }
}

fn scores(measured: &Measured) -> Panel {
    let mut panel = Panel::new(
        "ε less theory, in standard errors",
        Axis::linear("α").range(0.6, 1.7),
        Axis::linear("z"),
    );
    for (learner, name, marker) in
        [(By::Gradient, "SGD", Marker::Circle), (By::Sampling, "samples", Marker::Diamond)]
    {
        for (i, theory, color) in [(0, "RS", SYMMETRIC), (1, "1RSB", ONE_STEP)] {
            let rows = measured.rows(learner).filter(|row| row.counts());
            let z = |row: &Row| Some((row.alpha, row.number(Quantity::Eps)?.z()[i]?));
            let (x, y): (Vec<f64>, Vec<f64>) = rows.filter_map(z).unzip();
            if !x.is_empty() {
                let points = Points::new(x, y).marker(marker).color(color);
                panel.push(points.label(format!("{name} − {theory}")));
            }
        }
    }
    for z in [-2.0, 2.0] {
        panel.push(HorizontalLine::new(z));
    }
    panel
}

fn table(measured: &Measured) -> Table {
    let mut table = Table::new([
        "learner",
        "alpha",
        "trials",
        "unmixed",
        "quantity",
        "found",
        "found_se",
        "rs",
        "one_step",
        "z_rs",
        "z_one_step",
    ]);
    for row in &measured.rows {
        let learner = if row.learner == By::Gradient { "sgd" } else { "samples" };
        for number in &row.numbers {
            let [symmetric, one_step] = number.z();
            table.push(vec![
                learner.into(),
                row.alpha.into(),
                (row.trials as i64).into(),
                (row.unmixed as i64).into(),
                number.quantity.name().into(),
                number.found.value.into(),
                number.found.standard_error.into(),
                number.symmetric.into(),
                number.one_step.into(),
                symmetric.into(),
                one_step.into(),
            ]);
        }
    }
    table
}
