//! Pictures of trainings: accuracy of every task and uncertainty of every layer
//! over time, and the accuracies at the end.

use remanent_network::predictor::Predictor;
use remanent_plot::{Axis, Color, Curve, Figure, Panel, Points, VerticalLine};

use crate::lines::{self, Measured};
use crate::training::summary::{EpochSummary, Mean, TrainingSummary};

/// One case: everything over time. Several: their accuracies, task by task.
pub fn figure(cases: &[(&str, &TrainingSummary)], title: Option<&str>) -> Figure {
    let is_sparse = |(_, summary): &(&str, &TrainingSummary)| {
        summary.predictors.values().any(|p| !p.accuracies.is_empty())
    };
    let figure = match cases {
        cases if cases.iter().any(is_sparse) => long_streams(cases),
        [(_, summary)] => over_time(summary),
        cases => compared(cases),
    };
    figure.titled(title)
}

fn over_time(summary: &TrainingSummary) -> Figure {
    let mut panels = Vec::new();
    let times = |predictor: Predictor| {
        summary.epochs.iter().filter(|e| e.accuracy.contains_key(&predictor)).count()
    };
    // Those that were asked after every epoch; the two that matter most, if none was.
    let most = Predictor::ALL.map(times).into_iter().max().unwrap_or(0);
    let often = most > summary.predictors[&Predictor::Hard].accuracy_matrix.len();
    for predictor in Predictor::ALL {
        let shown = matches!(predictor, Predictor::Stochastic | Predictor::Hard);
        if if often { times(predictor) == most } else { shown } {
            panels.push(accuracy_panel(summary, predictor));
        }
    }
    let certain = summary.epochs.iter().all(|e| e.uncertainty.iter().all(|u| u.mean == 0.0));
    if !certain {
        let uncertainty = |e: &EpochSummary| e.uncertainty.clone();
        panels.push(layer_panel(summary, "synaptic uncertainty ⟨σ²⟩", "⟨σ²⟩", &uncertainty));
    }
    let flips = |e: &EpochSummary| e.flip_ratio.clone();
    panels.push(layer_panel(summary, "weights that changed sign", "share in the epoch", &flips));
    if !certain {
        panels.push(divergence_panel(summary));
    }
    Figure::grid(panels, 2)
}

/// What weights of each uncertainty contribute to the divergence of a step, at the ends of tasks.
fn divergence_panel(summary: &TrainingSummary) -> Panel {
    let title = "divergence of a step, a weight";
    let mut panel = Panel::new(title, Axis::linear("σ²").range(0.0, 1.0), Axis::log("KL a weight"));
    let is_last = |i: &usize| {
        summary.epochs.get(i + 1).is_none_or(|next| next.task != summary.epochs[*i].task)
    };
    for (color, i) in (0..summary.epochs.len()).filter(is_last).enumerate() {
        let epoch = &summary.epochs[i];
        let bins = epoch.divergence_by_variance.len() as f64;
        let rows: Vec<(f64, Mean)> = epoch
            .divergence_by_variance
            .iter()
            .enumerate()
            .filter_map(|(bin, mean)| Some(((bin as f64 + 0.5) / bins, (*mean)?)))
            .filter(|(_, mean)| mean.mean > 0.0)
            .collect();
        let x = rows.iter().map(|row| row.0).collect();
        let y = rows.iter().map(|row| row.1.mean).collect();
        let label = format!("end of task {}", epoch.task);
        panel.push(Curve::new(x, y).label(label).color(Color::Palette(color)).markers());
    }
    panel
}

/// Accuracy of every task from the end of its first epoch on.
fn accuracy_panel(summary: &TrainingSummary, predictor: Predictor) -> Panel {
    let title = format!("test accuracy, {}", predictor.name().replace('_', " "));
    let mut panel = Panel::new(title, Axis::linear("epoch"), Axis::linear("accuracy"));
    let counts = summary.epochs.iter().filter_map(|e| e.accuracy.get(&predictor));
    let tasks = counts.map(Vec::len).max().unwrap_or(0);
    mark_switches(&mut panel, summary);
    for task in 0..tasks {
        let rows: Vec<(f64, Mean)> = summary
            .epochs
            .iter()
            .filter_map(|e| Some((e.epoch as f64, *e.accuracy.get(&predictor)?.get(task)?)))
            .collect();
        draw(&mut panel, &rows, &format!("task {}", task + 1), task);
    }
    panel
}

/// A number for each layer.
fn layer_panel(
    summary: &TrainingSummary,
    title: &str,
    axis: &str,
    value: &dyn Fn(&EpochSummary) -> Vec<Mean>,
) -> Panel {
    let layers = summary.epochs.first().map_or(0, |e| value(e).len());
    let mut panel = Panel::new(title, Axis::linear("epoch"), Axis::linear(axis).lower(0.0));
    mark_switches(&mut panel, summary);
    for layer in 0..layers {
        let rows: Vec<(f64, Mean)> =
            summary.epochs.iter().map(|e| (e.epoch as f64, value(e)[layer])).collect();
        draw(&mut panel, &rows, &format!("layer {}", layer + 1), layer);
    }
    panel
}

/// A line, and a band of one standard error.
fn draw(panel: &mut Panel, rows: &[(f64, Mean)], label: &str, color: usize) {
    let measured: Vec<Measured> = rows.iter().map(|(x, mean)| mean.at(*x)).collect();
    lines::draw(panel, &measured, |line| {
        let line = line.label(label).color(Color::Palette(color));
        if rows.len() < 12 { line.markers() } else { line }
    });
}

/// A line where a task gives way to the next.
pub fn mark_switches(panel: &mut Panel, summary: &TrainingSummary) {
    for pair in summary.epochs.windows(2) {
        if pair[0].task != pair[1].task {
            panel.push(VerticalLine::new(pair[0].epoch as f64 + 0.5));
        }
    }
}

/// Streams of which only some accuracies were measured: the newest task, and the memory curve.
fn long_streams(cases: &[(&str, &TrainingSummary)]) -> Figure {
    let newest = Axis::linear("accuracy at its own end");
    let mut newest = Panel::new("newest task", Axis::linear("task"), newest);
    let since = Axis::linear("tasks learned since");
    let mut memory = Panel::new("memory curve", since, Axis::linear("accuracy"));
    let mut color = 0;
    for (label, summary) in cases {
        for (predictor, p) in &summary.predictors {
            let name = predictor.name().replace('_', " ");
            let label = if cases.len() > 1 { format!("{label}, {name}") } else { name };
            let own = p.entries().filter(|entry| entry.after == entry.task);
            let rows: Vec<_> = own.map(|e| ((e.task + 1) as f64, e.accuracy)).collect();
            draw(&mut newest, &rows, &label, color);
            let rows: Vec<_> = p.memory_curve.iter().map(|m| (m.lag as f64, m.accuracy)).collect();
            draw(&mut memory, &rows, &label, color);
            color += 1;
        }
    }
    Figure::grid(vec![newest, memory], 2)
}

fn compared(cases: &[(&str, &TrainingSummary)]) -> Figure {
    let panels = [Predictor::Stochastic, Predictor::Hard].map(|predictor| {
        let title = format!("accuracy at the end, {}", predictor.name());
        let mut panel = Panel::new(title, Axis::linear("task"), Axis::linear("accuracy"));
        for (color, (label, summary)) in cases.iter().enumerate() {
            let matrix = &summary.predictors[&predictor].accuracy_matrix;
            let Some(last) = matrix.last() else { continue };
            let x: Vec<f64> = (1..=last.len()).map(|task| task as f64).collect();
            let y: Vec<f64> = last.iter().map(|entry| entry.mean).collect();
            let error = last.iter().map(|entry| entry.standard_error.unwrap_or(0.0)).collect();
            let color = Color::Palette(color);
            panel.push(Points::new(x.clone(), y.clone()).error(error).color(color));
            panel.push(Curve::new(x, y).label(*label).color(color));
        }
        panel
    });
    Figure::grid(panels.into(), 2)
}
