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

/// The α at which the error becomes low, of points by rising α, between which it is interpolated.
fn learned_from(points: &[(f64, f64)]) -> Option<f64> {
    let after = points.iter().position(|(_, eps)| *eps < LOW)?;
    let Some(before) = after.checked_sub(1) else { return Some(points[after].0) };
    let ((a, high), (b, low)) = (points[before], points[after]);
    Some(a + (b - a) * (high - LOW) / (high - low))
}

/// An amount of data in words.
fn data(alpha: Option<f64>) -> String {
    alpha.map_or("more than the range".into(), |alpha| format!("α = {alpha:.2}"))
}

/// Whether more is needed with the prior.
fn needs_more(with: Option<f64>, without: Option<f64>) -> bool {
    without.is_some_and(|without| with.is_none_or(|with| with > without))
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
        ("the theory's ensemble", *betas.first()?, true),
        ("SGD, and the theory", *betas.last()?, false),
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
                    .label(format!("theory, β = {beta}, {}", names[usize::from(prior)])),
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
        let (without, with) = (learned_from(&line(false, beta)), learned_from(&line(true, beta)));
        checks.push(decides(
            format!(
                "theory, β = {beta}: an error of {LOW} takes {} with the prior, and {} without",
                data(with),
                data(without)
            ),
            needs_more(with, without),
        ));
        said.push(format!("{} instead of {} at β = {beta}", data(with), data(without)));
    }
    let sgd = |prior| {
        let found = of(results, (prior, false)).into_iter();
        learned_from(&found.map(|(alpha, eps)| (alpha, eps.mean)).collect::<Vec<_>>())
    };
    let (without, with) = (sgd(false), sgd(true));
    checks.push(decides(
        format!(
            "SGD reaches it with {} under the prior, and {} without",
            data(with),
            data(without)
        ),
        needs_more(with, without),
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
            "With the uniform prior the theory needs {} for an error of {LOW}; SGD needs {} instead of {}.",
            list(&said),
            data(with),
            data(without)
        ),
        checks,
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_compared_where_the_error_becomes_low() {
        assert_eq!(learned_from(&[(1.0, 0.1), (2.0, 0.0)]), Some(1.5));
        assert_eq!(learned_from(&[(1.0, 0.01)]), Some(1.0));
        assert_eq!(learned_from(&[(1.0, 0.1)]), None);
        assert!(needs_more(None, Some(2.0)) && needs_more(Some(3.0), Some(2.0)));
        assert!(!needs_more(Some(2.0), Some(2.0)) && !needs_more(None, None));
    }
}
