//! Figure 3b: the error of one task against α, and the power law beyond the transition.

use remanent_plot::{
    Axis, Cell, Color, Curve, Dash, Figure, HorizontalLine, Inset, Panel, Table, VerticalLine,
    VerticalSpan,
};

use super::solutions::{self, is_stable};
use super::words::{also, decides, error, root_mean_square};
use crate::lines::{self, Measured};
use crate::reproduce::results::{Results, Shown};
use crate::theory::Point;

/// The exponent that the paper fits for α ≥ 1.7.
const PUBLISHED_EXPONENT: f64 = 13.1;
/// Where its fit begins.
const FIT_FROM: f64 = 1.7;
/// Where our look at it ends.
const FIT_TO: f64 = 2.5;
/// SGD is compared with the theory up to this α; beyond it some trials have learned the task and others not.
const FOLLOWS_TO: f64 = 1.5;
/// Where the error jumps if weights themselves are learned at T = 0, and where its poor solution ends
/// (Györgyi 1990; Sompolinsky, Tishby and Seung 1990).
const CLASSICAL: [(f64, &str); 2] = [(1.245, "1.245"), (1.492, "1.492")];

/// −d ln ε/d ln α half-way between neighbouring points.
fn local_exponents(points: &[Point]) -> Vec<(f64, f64)> {
    let known: Vec<(f64, f64)> =
        points.iter().filter_map(|point| Some((point.alpha.ln(), point.ln_eps?))).collect();
    known
        .windows(2)
        .map(|pair| {
            let ((a, x), (b, y)) = (pair[0], pair[1]);
            ((0.5 * (a + b)).exp(), -(y - x) / (b - a))
        })
        .collect()
}

/// The slope of the straight line nearest to the points.
fn fitted_slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (above, below) = points.iter().fold((0.0, 0.0), |(above, below), p| {
        (above + (p.0 - x) * (p.1 - y), below + (p.0 - x) * (p.0 - x))
    });
    above / below
}

/// Figure 3b.
pub fn show(results: &Results) -> Option<Shown> {
    let curve = results.theory.first()?.as_branches()?;
    let good = results.theory.get(1)?.as_single()?;
    let crossing = curve.crossing.as_ref();
    let broken_from = curve.replicon_zeros.first().map(|zero| zero.alpha);
    let beta = curve.rows.first()?.beta;
    let color = Color::Palette(0);

    let mut panel = Panel::new(
        "error against α",
        Axis::linear("α").range(0.0, 2.4),
        Axis::linear("ε").lower(0.0),
    );
    if let Some(from) = broken_from {
        let to = crossing.map_or(f64::INFINITY, |crossing| crossing.alpha);
        panel.push(VerticalSpan::new(from, to).label("λ < 0"));
    }
    for (alpha, label) in CLASSICAL {
        panel.push(VerticalLine::new(alpha).label(label));
    }
    let stable = |point: &&Point| is_stable(curve, point);
    let labels = [format!("theory, β = {beta}"), "theory, not stable".into()].map(Some);
    solutions::draw(&mut panel, curve, |point| point.eps, labels, color);
    let simulated: Vec<Measured> = results
        .simulated
        .iter()
        .map(|case| {
            let eps = &case.summary.ends[0].eps[0];
            let x = case.simulation.setting.alpha[0];
            Measured { x, mean: eps.mean, error: eps.standard_error }
        })
        .collect();
    panel.push(
        lines::points(&simulated).connected(Dash::Dashed).label("SGD").color(Color::Palette(1)),
    );

    // The power law, as the paper draws it.
    let window: Vec<(f64, f64)> = good
        .iter()
        .filter(|point| (FIT_FROM..=FIT_TO).contains(&point.alpha))
        .filter_map(|point| Some((point.alpha, point.eps?)))
        .collect();
    let anchor = *window.first()?;
    let published = |alpha: f64| anchor.1 * (alpha / anchor.0).powf(-PUBLISHED_EXPONENT);
    let (x, y): (Vec<f64>, Vec<f64>) = window.iter().copied().unzip();
    let mut inset = Panel::new("", Axis::log("α").range(FIT_FROM, FIT_TO), Axis::log("ε"));
    inset.push(
        Curve::new(x.clone(), x.iter().map(|&alpha| published(alpha)).collect())
            .color(Color::Palette(1))
            .dash(Dash::Dashed),
    );
    inset.push(Curve::new(x, y).color(color));
    panel.push_inset(Inset::new(inset).place(0.60, 0.52, 0.38, 0.44));

    let exponents = local_exponents(good);
    let mut slopes = Panel::new(
        "local exponent −d ln ε/d ln α",
        Axis::linear("α"),
        Axis::linear("exponent").lower(0.0),
    );
    let (x, y): (Vec<f64>, Vec<f64>) = exponents.iter().copied().unzip();
    slopes.push(Curve::new(x, y).color(color).label("theory, good branch"));
    slopes.push(HorizontalLine::new(PUBLISHED_EXPONENT).label("13.1"));

    let inside: Vec<f64> =
        exponents.iter().filter(|e| (FIT_FROM..=FIT_TO).contains(&e.0)).map(|e| e.1).collect();
    let low = inside.iter().copied().fold(f64::INFINITY, f64::min);
    let high = inside.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let logs: Vec<(f64, f64)> = window.iter().map(|(alpha, eps)| (alpha.ln(), eps.ln())).collect();
    let fit = -fitted_slope(&logs);
    let theory_at = |alpha: f64| -> Option<f64> {
        let rows = curve.rows.iter().filter(stable).filter(|point| point.eps.is_some());
        let nearest =
            rows.min_by(|a, b| (a.alpha - alpha).abs().total_cmp(&(b.alpha - alpha).abs()))?;
        nearest.eps
    };
    let before: Vec<f64> = simulated
        .iter()
        .filter(|p| p.x <= FOLLOWS_TO)
        .filter_map(|p| Some(p.mean - theory_at(p.x)?))
        .collect();
    let apart = root_mean_square(before);
    let last = simulated.last()?;
    let worst = results.simulated.last()?.summary.ends[0].eps[0].max;
    let transition = match crossing {
        Some(at) => format!(
            "goes from {} to {} at α = {:.3}",
            error(at.poor.eps?),
            error(at.good.eps?),
            at.alpha
        ),
        None => "has no jump".into(),
    };
    let jump = match crossing {
        Some(at) => at.poor.eps? - at.good.eps?,
        None => 0.0,
    };
    let checks = vec![
        decides(
            format!(
                "up to α = {FOLLOWS_TO} SGD follows the theory: it is {} away (root mean square, at most 0.05)",
                error(apart)
            ),
            apart <= 0.05,
        ),
        decides(
            format!(
                "at α = {} SGD has all but learned the task: {} is below 0.05",
                last.x,
                error(last.mean)
            ),
            last.mean < 0.05,
        ),
        also(
            format!("there every trial of SGD has no error (the worst has {})", error(worst)),
            worst == 0.0,
        ),
        decides(
            format!("at β = {beta} the stable error is continuous (it {transition})"),
            jump < 0.01,
        ),
        also(
            format!(
                "the local exponent is constant, within a tenth of {PUBLISHED_EXPONENT}, from α = {FIT_FROM} to {FIT_TO} (it goes from {low:.1} to {high:.1})"
            ),
            low > 0.9 * PUBLISHED_EXPONENT && high < 1.1 * PUBLISHED_EXPONENT,
        ),
    ];
    let mut table = Table::new(["source", "alpha", "branch", "eps", "eps_se", "replicon"]);
    for point in curve.rows.iter().chain(good) {
        table.push(vec![
            "theory".into(),
            point.alpha.into(),
            point.branch.as_str().into(),
            point.eps.into(),
            Cell::Missing,
            point.replicon.into(),
        ]);
    }
    for eps in &simulated {
        table.push(vec![
            "sgd".into(),
            eps.x.into(),
            "".into(),
            eps.mean.into(),
            eps.error.unwrap_or(0.0).into(),
            Cell::Missing,
        ]);
    }
    Some(Shown {
        figure: Figure::grid(vec![panel, slopes], 2),
        table,
        found: format!(
            "SGD is {} from the theory up to α = {FOLLOWS_TO} and reaches {} at α = {}; at β = {beta} the theory's stable \
             error {transition}, and its local exponent goes from {low:.1} to {high:.1} between α = {FIT_FROM} and {FIT_TO} \
             (a straight fit there gives {fit:.1}).",
            error(apart),
            error(last.mean),
            last.x,
        ),
        checks,
        notes: vec![
            "Shaded: where the stable solution has a negative replicon and the replica-symmetric curve is not to be \
             trusted. Dashed lines: the thresholds for weights that are binary while they learn."
                .into(),
            "The published theory curve is a Monte-Carlo estimate; figure 3a shows how far it is from the exact one."
                .into(),
            format!(
                "Inset: the theory from α = {FIT_FROM} on, and a power law with the paper's exponent through its first \
                 point."
            ),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_has_one_exponent_and_is_fitted_by_it() {
        let law: Vec<(f64, f64)> = (0..20)
            .map(|i| 1.7 + 0.05 * f64::from(i))
            .map(|a: f64| (a.ln(), (3.0 * a.powf(-13.1)).ln()))
            .collect();
        assert!((fitted_slope(&law) + 13.1).abs() < 1e-9);
        let point = |(ln_alpha, ln_eps): &(f64, f64)| Point {
            alpha: ln_alpha.exp(),
            ln_eps: Some(*ln_eps),
            ..Point::default()
        };
        let points: Vec<Point> = law.iter().map(point).collect();
        assert!(local_exponents(&points).iter().all(|(_, slope)| (slope - 13.1).abs() < 1e-9));
    }
}
