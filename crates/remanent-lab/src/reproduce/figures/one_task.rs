//! Figure 2a: one task over time.

use remanent_plot::{Axis, Band, Color, Curve, Figure, Panel, Table};

use super::words::{also, decides, error, list};
use crate::reproduce::results::{Results, Shown};

/// Figure 2a.
pub fn show(results: &Results) -> Option<Shown> {
    let mut panel = Panel::new("one task", Axis::linear("epoch"), Axis::linear("ε").lower(0.0));
    let mut table = Table::new(["alpha", "epoch", "eps", "eps_se", "eps_min", "eps_max"]);
    for (color, case) in results.simulated.iter().enumerate() {
        let (alpha, color) = (case.simulation.setting.alpha[0], Color::Palette(color));
        let rows = &case.summary.rows;
        let x: Vec<f64> = rows.iter().map(|row| row.epoch as f64).collect();
        let low = rows.iter().map(|row| row.eps_min[0]).collect();
        let high = rows.iter().map(|row| row.eps_max[0]).collect();
        panel.push(Band::new(x.clone(), low, high).color(color));
        let mean = rows.iter().map(|row| row.eps[0]).collect();
        panel.push(Curve::new(x, mean).label(format!("α = {alpha}")).color(color));
        for row in rows {
            table.push(vec![
                alpha.into(),
                (row.epoch as i64).into(),
                row.eps[0].into(),
                row.eps_se[0].into(),
                row.eps_min[0].into(),
                row.eps_max[0].into(),
            ]);
        }
    }
    let ends: Vec<(f64, f64)> = results
        .simulated
        .iter()
        .map(|case| (case.simulation.setting.alpha[0], case.summary.ends[0].eps[0].mean))
        .collect();
    let (most, best) = *ends.last()?;
    let said: Vec<String> =
        ends.iter().map(|(alpha, eps)| format!("{} at α = {alpha}", error(*eps))).collect();
    Some(Shown {
        figure: Figure::single(panel),
        table,
        found: format!("The mean error at the end is {}.", list(&said)),
        checks: vec![
            decides(
                "the error at the end falls from each α to the next",
                // Nothing is below no error.
                ends.windows(2).all(|pair| pair[1].1 < pair[0].1 || pair[1].1 == 0.0),
            ),
            also(
                format!("at α = {most} the task is learned: {} is below 0.01", error(best)),
                best < 0.01,
            ),
        ],
        notes: vec!["Bands: from the smallest to the largest trial.".into()],
    })
}
