//! Figure 3d: the error at a prescribed norm.

use remanent_plot::{Axis, Cell, Color, Curve, Figure, Panel, Points, Table};

use super::words::{also, decides, error, root_mean_square};
use crate::reproduce::results::{Results, Shown};
use crate::simulation::SummaryRow;
use crate::theory::Point;

/// β of the published theory curve.
const PUBLISHED_BETA: f64 = 5.0;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let case = results.simulated.first()?;
    let points = results.theory.first()?.as_constrained()?;
    // The row before learning has no equilibrium to be compared with.
    let rows: Vec<&SummaryRow> = case.summary.rows.iter().filter(|row| row.epoch > 0).collect();
    let mut betas: Vec<f64> = points.iter().map(|point| point.beta).collect();
    betas.dedup();

    let mut panel =
        Panel::new("slow SGD, α = 2", Axis::linear("q_⋆"), Axis::linear("ε").lower(0.0));
    for (color, &beta) in betas.iter().enumerate() {
        let curve = of(points, beta);
        let (x, y) = curve.into_iter().unzip();
        panel.push(
            Curve::new(x, y).label(format!("theory, β = {beta}")).color(Color::Palette(color)),
        );
    }
    let stride = rows.len().div_ceil(40).max(1);
    let drawn: Vec<&&SummaryRow> = rows.iter().step_by(stride).collect();
    panel.push(
        Points::new(
            drawn.iter().map(|row| row.q_star).collect(),
            drawn.iter().map(|row| row.eps[0]).collect(),
        )
        .error(drawn.iter().map(|row| row.eps_se[0].unwrap_or(0.0)).collect())
        .label("slow SGD")
        .color(Color::Palette(betas.len())),
    );

    let apart = |beta: f64| {
        let curve = of(points, beta);
        root_mean_square(rows.iter().filter_map(|row| Some(row.eps[0] - at(&curve, row.q_star)?)))
    };
    let distances: Vec<(f64, f64)> = betas.iter().map(|&beta| (beta, apart(beta))).collect();
    let nearest = distances.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let published = distances.iter().find(|d| d.0 == PUBLISHED_BETA)?.1;
    let (first, last) = (rows.first()?.eps[0], rows.last()?.eps[0]);
    let falls = of(points, PUBLISHED_BETA).windows(2).all(|pair| pair[1].1 < pair[0].1);
    let mut table = Table::new(["source", "beta", "q_star", "eps", "eps_se"]);
    for point in points {
        table.push(vec![
            "theory".into(),
            point.beta.into(),
            point.q_star.into(),
            point.eps.into(),
            Cell::Missing,
        ]);
    }
    for row in &rows {
        table.push(vec![
            "slow-sgd".into(),
            Cell::Missing,
            row.q_star.into(),
            row.eps[0].into(),
            row.eps_se[0].into(),
        ]);
    }
    let said: Vec<String> =
        distances.iter().map(|(beta, d)| format!("{} from β = {beta}", error(*d))).collect();
    Some(Shown {
        figure: Figure::single(panel),
        table,
        found: format!(
            "The error goes from {} to {} as q_⋆ rises; its distance from the theory (root mean square) is {}.",
            error(first),
            error(last),
            said.join(", ")
        ),
        checks: vec![
            decides(
                "the error of slow SGD falls with q_⋆, and so does that of the published theory",
                last < first && falls,
            ),
            decides(
                format!(
                    "the published curve, β = {PUBLISHED_BETA}, is within 0.1 of slow SGD ({})",
                    error(published)
                ),
                published <= 0.1,
            ),
            also(
                format!(
                    "no other β shown is nearer (nearest: β = {}, {})",
                    nearest.0,
                    error(nearest.1)
                ),
                nearest.0 == PUBLISHED_BETA,
            ),
        ],
        notes: vec![
            "Ours: learning rate, batch, range of q_⋆ and epochs, which no source states.".into(),
            format!(
                "Gradient descent has no temperature; of the curves shown it is nearest to that of β = {}.",
                nearest.0
            ),
        ],
    })
}

fn of(points: &[Point], beta: f64) -> Vec<(f64, f64)> {
    let same = points.iter().filter(|point| point.beta == beta);
    same.filter_map(|point| Some((point.q_star?, point.eps?))).collect()
}

/// A curve between its points.
fn at(curve: &[(f64, f64)], x: f64) -> Option<f64> {
    let pair = curve.windows(2).find(|pair| (pair[0].0..=pair[1].0).contains(&x))?;
    let part = (x - pair[0].0) / (pair[1].0 - pair[0].0);
    Some(pair[0].1 + part * (pair[1].1 - pair[0].1))
}
