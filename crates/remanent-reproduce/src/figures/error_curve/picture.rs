//! How figure 3b is drawn.

use remanent_lab::lines::{self, Measured};
use remanent_lab::theory::{BrokenBranches, known};
use remanent_plot::{
    Axis, Cell, Color, Curve, Dash, Figure, HorizontalLine, Inset, Panel, Table, VerticalLine,
    VerticalSpan,
};
use remanent_theory::solution::Solution;

use super::super::{one_step, solutions};
use super::{CRITICAL, FIT_TO, PUBLISHED_EXPONENT, fitted, local_exponents};
use crate::results::{Drawing, Results};

/// Where the error jumps if weights themselves are learned at T = 0, and where its poor solution ends
/// (Györgyi 1990; Sompolinsky, Tishby and Seung 1990).
const CLASSICAL: [(f64, &str); 2] = [(1.245, "1.245"), (1.492, "1.492")];
/// The theory's colour.
const THEORY: Color = Color::Palette(0);
/// That with one step of breaking.
const ONE_STEP: Color = Color::Palette(2);

/// Figure 3b.
pub fn draw(results: &Results) -> Option<Drawing> {
    let curve = one_step::curves(results, 0)?;
    let good = results.theory.get(1)?.as_single()?;
    let simulated = results.simulated.iter().map(|case| {
        let eps = &case.summary.ends[0].eps[0];
        let x = case.simulation.setting.alpha[0];
        Measured { x, mean: eps.mean, error: eps.standard_error }
    });
    let simulated: Vec<Measured> = simulated.collect();
    let mut errors = errors(curve)?;
    errors.push(
        lines::points(&simulated).connected(Dash::Dashed).label("SGD").color(Color::Palette(1)),
    );
    errors.push_inset(Inset::new(power_law(good)?).place(0.60, 0.52, 0.38, 0.44));
    let mut slopes = Panel::new(
        "local exponent −d ln ε/d ln α",
        Axis::linear("α"),
        Axis::linear("exponent").lower(0.0),
    );
    let (x, y): (Vec<f64>, Vec<f64>) = local_exponents(good).into_iter().unzip();
    slopes.push(Curve::new(x, y).color(THEORY).label("theory, good branch"));
    slopes.push(HorizontalLine::new(PUBLISHED_EXPONENT).label("13.1"));
    Some(Drawing {
        figure: Figure::grid(vec![errors, slopes], 2),
        table: table(curve, good, &simulated),
    })
}

/// The theory's error, with what is known of its range.
fn errors(both: &BrokenBranches) -> Option<Panel> {
    let curve = &both.symmetric;
    let beta = curve.rows.first()?.beta;
    let mut panel = Panel::new(
        "error against α",
        Axis::linear("α").range(0.0, 2.4),
        Axis::linear("ε").lower(0.0),
    );
    if let Some(zero) = curve.replicon_zeros.first() {
        let to = curve.crossing.as_ref().map_or(f64::INFINITY, |crossing| crossing.alpha);
        panel.push(VerticalSpan::new(zero.alpha, to).label("RS: λ < 0"));
    }
    for (alpha, label) in CLASSICAL {
        panel.push(VerticalLine::new(alpha).label(label));
    }
    let labels = [format!("RS, β = {beta}"), "not stable".into()].map(Some);
    solutions::draw(&mut panel, curve, |point| point.eps, labels, THEORY);
    let eps = |row: &remanent_lab::theory::BrokenRow| row.solution.eps;
    one_step::draw(&mut panel, &both.broken, eps, Some("1RSB"), ONE_STEP, Dash::Solid);
    Some(panel)
}

/// The power law, as the paper draws it, through the first point of the theory.
fn power_law(good: &[Solution]) -> Option<Panel> {
    let window: Vec<(f64, f64)> = good
        .iter()
        .filter(|point| fitted(point.alpha))
        .filter_map(|point| Some((point.alpha, known(point.eps)?)))
        .collect();
    let anchor = *window.first()?;
    let published = |alpha: &f64| anchor.1 * (alpha / anchor.0).powf(-PUBLISHED_EXPONENT);
    let (x, y): (Vec<f64>, Vec<f64>) = window.iter().copied().unzip();
    let mut inset = Panel::new("", Axis::log("α").range(CRITICAL, FIT_TO), Axis::log("ε"));
    inset.push(
        Curve::new(x.clone(), x.iter().map(published).collect())
            .color(Color::Palette(1))
            .dash(Dash::Dashed),
    );
    inset.push(Curve::new(x, y).color(THEORY));
    Some(inset)
}

fn table(both: &BrokenBranches, good: &[Solution], simulated: &[Measured]) -> Table {
    let mut table = Table::new(["source", "alpha", "branch", "eps", "eps_se", "replicon"]);
    let symmetric = both.symmetric.rows.iter().chain(good).map(|point| ("theory", point));
    let broken = both.broken.rows.iter().map(|row| ("theory, one step", &row.solution));
    for (source, point) in symmetric.chain(broken) {
        table.push(vec![
            source.into(),
            point.alpha.into(),
            point.branch.to_string().into(),
            point.eps.into(),
            Cell::Missing,
            point.replicon.into(),
        ]);
    }
    for eps in simulated {
        table.push(vec![
            "sgd".into(),
            eps.x.into(),
            "".into(),
            eps.mean.into(),
            eps.error.unwrap_or(0.0).into(),
            Cell::Missing,
        ]);
    }
    table
}
