//! Figure B6: the first task with a uniform prior, and with none.

use remanent_math::statistics::Summary;
use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Panel, Points, Table};

use super::words::{also, decides, error, list, root_mean_square};
use crate::reproduce::results::{Results, Shown, Simulated};
use crate::simulation::Learner;
use crate::theory::Point;

/// The error at which the amounts of data are compared.
const LOW: f64 = 0.05;

/// Whether a case has the prior, and whether it is sampled.
fn kind(case: &Simulated) -> (bool, bool) {
    match &case.simulation.learner {
        Learner::Gradient(learner) => (learner.uniform_prior, false),
        Learner::Boltzmann(learner) => (learner.uniform_prior, true),
    }
}

fn of(results: &Results, wanted: (bool, bool)) -> Vec<(f64, Summary)> {
    let cases = results.simulated.iter().filter(|case| kind(case) == wanted);
    let mut found: Vec<(f64, Summary)> =
        cases.map(|case| (case.simulation.setting.alpha[0], case.summary.ends[0].eps[0])).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// The smallest α with a low error, of points by rising α.
fn learned_from(points: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    points.into_iter().find(|(_, eps)| *eps < LOW).map(|(alpha, _)| alpha)
}

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let theory: [&[Point]; 2] =
        [results.theory.first()?.as_single()?, results.theory.get(1)?.as_single()?];
    let mut betas: Vec<f64> = theory[0].iter().map(|point| point.beta).collect();
    betas.dedup();
    let line = |prior: bool, beta: f64| -> Vec<(f64, f64)> {
        let same = theory[usize::from(prior)].iter().filter(|point| point.beta == beta);
        same.filter_map(|point| Some((point.alpha, point.eps?))).collect()
    };
    let names = ["no prior", "uniform prior"];
    let mut table = Table::new(["source", "prior", "beta", "alpha", "eps", "eps_se"]);
    let mut panels = Vec::new();
    for (title, beta, sampled) in [
        ("the theory's ensemble, β = 10", *betas.first()?, true),
        ("SGD, and the theory at β = 20", *betas.last()?, false),
    ] {
        let mut panel = Panel::new(title, Axis::linear("α"), Axis::linear("ε").lower(0.0));
        for prior in [false, true] {
            let color = Color::Palette(usize::from(prior));
            let (x, y): (Vec<f64>, Vec<f64>) = line(prior, beta).into_iter().unzip();
            for (x, y) in x.iter().zip(&y) {
                table.push(vec![
                    "theory".into(),
                    names[usize::from(prior)].into(),
                    beta.into(),
                    (*x).into(),
                    (*y).into(),
                    Cell::Missing,
                ]);
            }
            panel.push(
                Curve::new(x, y)
                    .color(color)
                    .label(format!("theory, {}", names[usize::from(prior)])),
            );
            let found = of(results, (prior, sampled));
            let source = if sampled { "sampled" } else { "sgd" };
            for (x, eps) in &found {
                let beta = if sampled { beta.into() } else { Cell::Missing };
                table.push(vec![
                    source.into(),
                    names[usize::from(prior)].into(),
                    beta,
                    (*x).into(),
                    eps.mean.into(),
                    eps.standard_error.into(),
                ]);
            }
            let points = Points::new(
                found.iter().map(|f| f.0).collect(),
                found.iter().map(|f| f.1.mean).collect(),
            )
            .error(found.iter().map(|f| f.1.standard_error.unwrap_or(0.0)).collect())
            .color(color)
            .label(format!(
                "{}, {}",
                if sampled { "sampled" } else { "SGD" },
                names[usize::from(prior)]
            ));
            panel.push(if sampled { points } else { points.connected(Dash::Dashed) });
        }
        panels.push(panel);
    }
    let (mut checks, mut said) = (Vec::new(), Vec::new());
    for &beta in &betas {
        let (without, with) = (learned_from(line(false, beta))?, learned_from(line(true, beta))?);
        checks.push(decides(
            format!("theory, β = {beta}: an error of {LOW} takes α = {with:.2} with the prior, and {without:.2} without"),
            with > without,
        ));
        said.push(format!("{with:.2} instead of {without:.2} at β = {beta}"));
    }
    let sgd = |prior| {
        learned_from(of(results, (prior, false)).into_iter().map(|(alpha, eps)| (alpha, eps.mean)))
    };
    let text =
        |alpha: Option<f64>| alpha.map_or("more than the range".into(), |a| format!("α = {a}"));
    let (without, with) = (sgd(false), sgd(true));
    checks.push(decides(
        format!(
            "SGD reaches it with {} under the prior, and {} without",
            text(with),
            text(without)
        ),
        without.is_some_and(|without| with.is_none_or(|with| with > without)),
    ));
    let beta = *betas.first()?;
    let differences = [false, true].into_iter().flat_map(|prior| {
        let line = line(prior, beta);
        of(results, (prior, true)).into_iter().filter_map(move |(alpha, eps)| {
            let near =
                line.iter().min_by(|a, b| (a.0 - alpha).abs().total_cmp(&(b.0 - alpha).abs()))?;
            Some(eps.mean - near.1)
        })
    });
    let apart = root_mean_square(differences);
    checks.push(also(
        format!("samples and theory differ by {} (root mean square), less than 0.02", error(apart)),
        apart <= 0.02,
    ));
    Some(Shown {
        figure: Figure::grid(panels, 2),
        table,
        found: format!(
            "With the uniform prior the theory needs α = {} for an error of {LOW}; SGD needs {} instead of {}.",
            list(&said),
            text(with),
            text(without)
        ),
        checks,
        notes: Vec::new(),
    })
}
