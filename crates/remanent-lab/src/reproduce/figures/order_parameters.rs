//! Figure 3a: the order parameters of one task, and why the published ones differ.

use remanent_math::statistics::Summary;
use remanent_plot::{
    Axis, Color, Dash, Figure, HorizontalLine, Marker, Panel, Points, Table, VerticalLine,
};

use super::solutions::{self, is_stable};
use super::words::{also, decides, error};
use crate::lines::{self, Measured};
use crate::reproduce::results::{Results, Shown};
use crate::theory::Point;
use crate::theory::monte_carlo::Row;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let curve = results.theory.first()?.as_branches()?;
    let estimate = results.theory.get(1)?.as_monte_carlo()?;
    let crossing = curve.crossing.as_ref();
    let beta = curve.rows.first()?.beta;
    let stable = |point: &Point| is_stable(curve, point);
    let mut panel = Panel::new(
        format!("order parameters, β = {beta}"),
        Axis::linear("α"),
        Axis::linear("overlap").range(0.0, 1.02),
    );
    if let Some(crossing) = crossing {
        panel.push(VerticalLine::new(crossing.alpha));
    }
    type Quantity = (&'static str, fn(&Point) -> Option<f64>);
    let quantities: [Quantity; 3] = [("q_d", |p| p.q_d), ("q_0", |p| p.q_0), ("r", |p| p.r)];
    for (color, (name, of)) in quantities.into_iter().enumerate() {
        let labels = [Some(name.to_owned()), None];
        solutions::draw(&mut panel, curve, of, labels, Color::Palette(color));
    }
    // Where the published estimator, iterated, ends up instead.
    let settled =
        estimate.rows.iter().rev().find_map(|row| Some((row.draws, row.settled.as_ref()?)));
    if let Some((_, settled)) = settled {
        for (color, value) in [settled.q_d, settled.q_0, settled.r].into_iter().enumerate() {
            let points = Points::new(vec![estimate.exact.alpha], vec![value]);
            let points = points.marker(Marker::Square).hollow().color(Color::Palette(color));
            let name = "published estimator";
            panel.push(if color == 0 { points.label(name) } else { points });
        }
    }
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
            p.branch.as_str().into(),
            i64::from(stable(p)).into(),
            p.q_d.into(),
            p.q_0.into(),
            p.r.into(),
            p.p.into(),
            p.eps.into(),
            p.minus_beta_f.into(),
            p.replicon.into(),
        ]);
    }

    let mut bias = Panel::new(
        format!("the published estimator at the exact solution, α = {}", estimate.exact.alpha),
        Axis::log("inner draws"),
        Axis::linear("conjugate parameter").lower(0.0),
    );
    let exact = &estimate.exact.values;
    type Estimated = (&'static str, f64, fn(&Row) -> Summary);
    let estimated: [Estimated; 3] = [
        ("q̂_0", exact.q_0_hat, |row| row.q_0_hat),
        ("r̂", exact.r_hat, |row| row.r_hat),
        ("q̂_d", exact.q_d_hat, |row| row.q_d_hat),
    ];
    for (color, (name, exact, of)) in estimated.into_iter().enumerate() {
        let measured = estimate.rows.iter().map(|row| {
            let found = of(row);
            Measured { x: row.draws as f64, mean: found.mean, error: found.standard_error }
        });
        let points = lines::points(&measured.collect::<Vec<_>>());
        bias.push(points.connected(Dash::Dashed).label(name).color(Color::Palette(color)));
        bias.push(HorizontalLine::new(exact).label(format!("{name} exact")));
    }
    let last = estimate.rows.last()?;
    let end = curve.rows.iter().filter(|p| stable(p)).max_by(|a, b| a.alpha.total_cmp(&b.alpha))?;
    let [q_d, r] = [end.q_d?, end.r?];
    let transition = match crossing {
        Some(at) => format!(
            "at β = {beta} two solutions coexist, and where they exchange stability, at α = {:.3}, r goes from {:.3} to {:.3}",
            at.alpha, at.poor.r?, at.good.r?
        ),
        None => format!("at β = {beta} there is one solution for every α"),
    };
    let mut notes = vec![format!(
        "Why the published curve differs: with {} inner draws the estimator of the paper, ln of a mean over draws, gives \
         (q̂_0, r̂, q̂_d) = ({:.1}, {:.2}, {:.1}) at the exact solution, where they are ({:.1}, {:.2}, {:.1}). The \
         distance of q̂_0 is {:.0} standard errors of the mean of {} estimates: at large β the mean inside the logarithm is \
         carried by draws that are hardly ever made.",
        last.draws,
        last.q_0_hat.mean,
        last.r_hat.mean,
        last.q_d_hat.mean,
        estimate.exact.values.q_0_hat,
        estimate.exact.values.r_hat,
        estimate.exact.values.q_d_hat,
        (last.q_0_hat.mean - estimate.exact.values.q_0_hat).abs()
            / last.q_0_hat.standard_error.unwrap_or(f64::NAN),
        last.q_0_hat.count
    )];
    if let Some((draws, settled)) = settled {
        let exact = &estimate.exact;
        notes.push(format!(
            "Iterated with {draws} draws at α = {} it settles at (q_0, r, q_d) = ({:.3}, {:.3}, {:.3}) and ε = {} (squares) instead \
             of ({:.3}, {:.3}, {:.3}) and {}.",
            exact.alpha,
            settled.q_0,
            settled.r,
            settled.q_d,
            error(settled.eps),
            exact.q_0,
            exact.r,
            exact.q_d,
            error(exact.eps)
        ));
    }
    Some(Shown {
        figure: Figure::grid(vec![panel, bias], 2),
        table,
        found: format!("At α = {:.1} q_d = {q_d:.4} and r = {r:.4}; {transition}.", end.alpha),
        checks: vec![
            decides(
                format!(
                    "at the largest α the weights are at the teacher: q_d = {q_d:.4} and r = {r:.4} are above 0.99"
                ),
                q_d > 0.99 && r > 0.99,
            ),
            also(
                format!(
                    "the order parameters grow smoothly: there is one solution for every α (there are {} folds)",
                    curve.folds.len()
                ),
                curve.folds.is_empty(),
            ),
        ],
        notes,
    })
}
