//! Figures 2b and 2c: the errors of two tasks over time.

use remanent_plot::{Axis, Band, Color, Curve, Figure, Panel, Table, VerticalLine};

use super::ways::{Way, alpha_2, cases, last, switch};
use super::words::{also, decides, error, list};
use crate::reproduce::results::{Results, Shown, Simulated};
use crate::simulation::SummaryRow;

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

fn by_alpha(cases: &[&Simulated], task: usize) -> String {
    let parts: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            Some(format!("{} (α_2 = {})", error(last(case)?.eps[task]), alpha_2(case)))
        })
        .collect();
    list(&parts)
}

/// Below this error a task counts as learned.
const LEARNED: f64 = 0.25;

const RATE: &str = "Ours: the learning rate in magnetisation space, which no source states.";

/// Figure 2b.
pub fn show_first(results: &Results) -> Option<Shown> {
    let variational = cases(results, Way::Variational);
    let traditional = cases(results, Way::Traditional);
    let epoch = switch(variational.first()?);
    let mut panel =
        Panel::new("error of task 1", Axis::linear("epoch"), Axis::linear("ε_1").range(0.0, 0.55));
    panel.push(VerticalLine::new(epoch as f64));
    let shown: Vec<&Simulated> = variational.iter().chain(&traditional).copied().collect();
    for group in [&variational, &traditional] {
        group.iter().enumerate().for_each(|(color, case)| draw(&mut panel, case, 0, 0, color));
    }
    let mut checks = Vec::new();
    for case in &variational {
        let alpha = alpha_2(case);
        let other = traditional.iter().find(|other| alpha_2(other) == alpha)?;
        let before = case.summary.ends[0].eps[0].mean;
        let after = last(case)?.eps[0];
        checks.push(decides(
            format!(
                "α_2 = {alpha}: the error rises when the task changes, from {} to {}",
                error(before),
                error(after)
            ),
            after > before,
        ));
        let rows = &case.summary.rows;
        let late =
            rows.iter().find(|row| row.epoch * 10 >= last(case).map_or(0, |l| l.epoch) * 9)?.eps[0];
        let drift = (after - late).abs();
        checks.push(decides(
            format!(
                "α_2 = {alpha}: it is stable, changing by {} over the last tenth of training",
                error(drift)
            ),
            drift < 0.01,
        ));
        let start = other.summary.ends[0].eps[0].mean;
        let forgets = last(other)?.eps[0] - start;
        checks.push(also(
            format!(
                "α_2 = {alpha}: traditional SGD, which has learned the first task to {}, forgets more: the error rises by {} \
                 against {}",
                error(start),
                error(forgets),
                error(after - before)
            ),
            start < LEARNED && forgets > after - before,
        ));
    }
    Some(Shown {
        figure: Figure::single(panel),
        table: table(&shown, 0),
        found: format!(
            "At the end the error of the first task is {} with the KL term, and {} with traditional SGD.",
            by_alpha(&variational, 0),
            by_alpha(&traditional, 0)
        ),
        checks,
        notes: vec![RATE.into()],
    })
}

/// Figure 2c.
pub fn show_second(results: &Results) -> Option<Shown> {
    let variational = cases(results, Way::Variational);
    let traditional = cases(results, Way::Traditional);
    let isolated = cases(results, Way::Isolated);
    let epoch = switch(variational.first()?);
    let mut panel =
        Panel::new("error of task 2", Axis::linear("epoch"), Axis::linear("ε_2").range(0.0, 0.55));
    panel.push(VerticalLine::new(epoch as f64));
    for (group, task, offset) in [(&variational, 1, 0), (&traditional, 1, 0), (&isolated, 0, epoch)]
    {
        group.iter().enumerate().for_each(|(color, case)| {
            draw(&mut panel, case, task, offset, color);
        });
    }
    let mut checks = Vec::new();
    for case in &variational {
        let alone = isolated.iter().find(|other| alpha_2(other) == alpha_2(case))?;
        let (alpha, after, best) = (alpha_2(case), last(case)?.eps[1], last(alone)?.eps[0]);
        let before = case.summary.ends[0].eps[1].mean;
        checks.push(decides(
            format!("α_2 = {alpha}: the error falls from {} to {}", error(before), error(after)),
            after < before - 0.01,
        ));
        checks.push(decides(
            format!("α_2 = {alpha}: it stays above {} of the task alone", error(best)),
            after > best,
        ));
    }
    let ends: Vec<f64> = variational.iter().filter_map(|case| Some(last(case)?.eps[1])).collect();
    checks.push(decides(
        "more examples give a lower error",
        ends.windows(2).all(|pair| pair[1] < pair[0]),
    ));
    let shown: Vec<&Simulated> =
        variational.iter().chain(&traditional).chain(&isolated).copied().collect();
    Some(Shown {
        figure: Figure::single(panel),
        table: table(&shown, 1),
        found: format!(
            "At the end the error of the second task is {} after the first, and {} alone.",
            by_alpha(&variational, 1),
            by_alpha(&isolated, 0)
        ),
        checks,
        notes: vec![RATE.into()],
    })
}
