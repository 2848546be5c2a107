//! How figures 2b and 2c are drawn.

use remanent_plot::{Axis, Band, Color, Curve, Figure, Panel, Table, VerticalLine};

use super::super::ways::{Way, alpha_2, cases, switch};
use crate::results::{Drawing, Results, Simulated};
use remanent_lab::simulation::SummaryRow;

/// Draws the error on one task over time. A task that is learned alone begins where the tasks change.
fn draw(panel: &mut Panel, case: &Simulated, task: usize, offset: usize, color: usize) {
    let Some(way) = Way::of(case) else { return };
    let rows = &case.summary.rows;
    let x: Vec<f64> = rows.iter().map(|row| (row.epoch + offset) as f64).collect();
    let of = |values: fn(&SummaryRow) -> &Vec<f64>| -> Vec<f64> {
        rows.iter().map(|row| values(row)[task]).collect()
    };
    let color = Color::Palette(color);
    if way == Way::Variational {
        panel.push(
            Band::new(x.clone(), of(|row| &row.eps_min), of(|row| &row.eps_max)).color(color),
        );
    }
    let label = format!("{}, α_2 = {}", way.name(), alpha_2(case));
    panel.push(Curve::new(x, of(|row| &row.eps)).label(label).color(color).dash(way.dash()));
}

fn table(cases: &[&Simulated], task: usize) -> Table {
    let mut table =
        Table::new(["algorithm", "alpha_2", "epoch", "eps", "eps_se", "eps_min", "eps_max"]);
    for case in cases {
        let task = if Way::of(case) == Some(Way::Isolated) { 0 } else { task };
        for row in &case.summary.rows {
            table.push(vec![
                Way::of(case).map_or("", Way::name).into(),
                alpha_2(case).into(),
                (row.epoch as i64).into(),
                row.eps[task].into(),
                row.eps_se[task].into(),
                row.eps_min[task].into(),
                row.eps_max[task].into(),
            ]);
        }
    }
    table
}

/// A panel with the change of task, and that epoch.
fn panel(results: &Results, title: &str, error: &str) -> Option<(Panel, usize)> {
    let epoch = switch(cases(results, Way::Variational).first()?);
    let mut panel = Panel::new(title, Axis::linear("epoch"), Axis::linear(error).range(0.0, 0.55));
    panel.push(VerticalLine::new(epoch as f64));
    Some((panel, epoch))
}

/// Figure 2b.
pub fn first(results: &Results) -> Option<Drawing> {
    let (mut panel, _) = panel(results, "error of task 1", "ε_1")?;
    let mut shown = Vec::new();
    for way in [Way::Variational, Way::Traditional] {
        for (color, case) in cases(results, way).into_iter().enumerate() {
            draw(&mut panel, case, 0, 0, color);
            shown.push(case);
        }
    }
    Some(Drawing { figure: Figure::single(panel), table: table(&shown, 0) })
}

/// Figure 2c.
pub fn second(results: &Results) -> Option<Drawing> {
    let (mut panel, epoch) = panel(results, "error of task 2", "ε_2")?;
    let mut shown = Vec::new();
    for (way, task, offset) in
        [(Way::Variational, 1, 0), (Way::Traditional, 1, 0), (Way::Isolated, 0, epoch)]
    {
        for (color, case) in cases(results, way).into_iter().enumerate() {
            draw(&mut panel, case, task, offset, color);
            shown.push(case);
        }
    }
    Some(Drawing { figure: Figure::single(panel), table: table(&shown, 1) })
}
