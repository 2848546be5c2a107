//! Trainings as tables.

use remanent_plot::{Cell, Table};

use crate::training::summary::{Entry, EpochSummary, Mean, TrainingSummary};

/// Trainings with their labels; the label of a single one is empty.
type Named<'a> = [(&'a str, &'a TrainingSummary)];

/// A row as it grows: names and values.
type Row = Vec<(String, Cell)>;

fn put(row: &mut Row, name: impl Into<String>, value: impl Into<Cell>) {
    row.push((name.into(), value.into()));
}

fn put_mean(row: &mut Row, name: &str, mean: Option<&Mean>) {
    put(row, name, mean.map(|mean| mean.mean));
    put(row, format!("{name}_se"), mean.and_then(|mean| mean.standard_error));
}

/// Rows that need not have the same columns. A column without any value is left out.
fn table(rows: Vec<Row>) -> Table {
    // The longest row says the order.
    let order = rows.iter().max_by_key(|row| row.len());
    let has_value = |name: &String| {
        rows.iter().flatten().any(|(n, value)| n == name && *value != Cell::Missing)
    };
    let names: Vec<&String> =
        order.into_iter().flatten().map(|cell| &cell.0).filter(|name| has_value(name)).collect();
    let mut table = Table::new(names.iter().map(|name| name.as_str()));
    for row in &rows {
        let find = |name: &&String| {
            let found = row.iter().find(|(n, _)| n == *name);
            found.map_or(Cell::Missing, |(_, value)| value.clone())
        };
        table.push(names.iter().map(find).collect());
    }
    table
}

/// The first cell of a row, if there are several cases.
fn begin(named: &Named<'_>, label: &str) -> Row {
    if named.len() > 1 { vec![("case".into(), label.into())] } else { Vec::new() }
}

/// One line for each predictor: what a stream came to.
pub fn summary_table(named: &Named<'_>) -> Table {
    let mut rows = Vec::new();
    for (label, summary) in named {
        for (predictor, p) in &summary.predictors {
            let mut row = begin(named, label);
            put(&mut row, "predictor", predictor.name());
            put_mean(&mut row, "average_accuracy", Some(&p.average_accuracy));
            put_mean(&mut row, "plasticity", Some(&p.plasticity));
            put_mean(&mut row, "forgetting", p.forgetting.as_ref());
            put_mean(&mut row, "backward_transfer", p.backward_transfer.as_ref());
            put_mean(&mut row, "forward_transfer", p.forward_transfer.as_ref());
            put_mean(&mut row, "nll", Some(&p.nll));
            put_mean(&mut row, "ece", Some(&p.ece));
            put_mean(&mut row, "ood_auc", p.ood_auc.as_ref());
            put(&mut row, "n", p.average_accuracy.n as i64);
            rows.push(row);
        }
    }
    table(rows)
}

/// The accuracy of every task after every task, as a terminal shows it: one line for each task
/// that was learned, in percent, by one predictor.
pub fn matrix_table(named: &Named<'_>, predictor: remanent_network::predictor::Predictor) -> Table {
    let mut rows = Vec::new();
    for (label, summary) in named {
        let Some(p) = summary.predictors.get(&predictor) else { continue };
        let matrix = &p.accuracy_matrix;
        for (after, accuracies) in matrix.iter().enumerate() {
            let mut row = begin(named, label);
            let all = matrix.len() == 1 && accuracies.len() > 1;
            let name = if all { "all".into() } else { (after + 1).to_string() };
            put(&mut row, format!("after ({})", predictor.name()), name);
            for (task, accuracy) in accuracies.iter().enumerate() {
                let percent = (1e4 * accuracy.mean).round() / 100.0;
                put(&mut row, format!("task {} %", task + 1), percent);
            }
            rows.push(row);
        }
    }
    table(rows)
}

/// The memory curve, as a terminal shows it: one line for each number of tasks learned since, in percent.
/// Empty if all accuracies were measured.
pub fn memory_table(named: &Named<'_>) -> Table {
    let mut rows = Vec::new();
    for (label, summary) in named {
        let lags = summary.predictors.values().next().map_or(&[][..], |p| &p.memory_curve);
        for (i, point) in lags.iter().enumerate() {
            let mut row = begin(named, label);
            put(&mut row, "tasks since", point.lag as i64);
            for (predictor, p) in &summary.predictors {
                let percent =
                    p.memory_curve.get(i).map(|m| (1e4 * m.accuracy.mean).round() / 100.0);
                put(&mut row, format!("{} %", predictor.name()), percent);
            }
            put(&mut row, "pairs", point.pairs as i64);
            rows.push(row);
        }
    }
    table(rows)
}

/// One line for each predictor, task that was learned and task that was tested, from 1.
pub fn accuracy_table(named: &Named<'_>) -> Table {
    let mut rows = Vec::new();
    for (label, summary) in named {
        for (predictor, p) in &summary.predictors {
            for Entry { after, task, accuracy } in p.entries() {
                let mut row = begin(named, label);
                put(&mut row, "predictor", predictor.name());
                put(&mut row, "after", (after + 1) as i64);
                put(&mut row, "task", (task + 1) as i64);
                put_mean(&mut row, "accuracy", Some(&accuracy));
                put(&mut row, "n", accuracy.n as i64);
                rows.push(row);
            }
        }
    }
    table(rows)
}

/// One line for each epoch.
pub fn epoch_table(named: &Named<'_>) -> Table {
    let row = |label: &str, epoch: &EpochSummary| {
        let mut row = begin(named, label);
        put(&mut row, "epoch", epoch.epoch as i64);
        put(&mut row, "task", epoch.task as i64);
        put(&mut row, "beta", epoch.beta);
        put_mean(&mut row, "loss", Some(&epoch.loss));
        put_mean(&mut row, "output_scale", Some(&epoch.output_scale));
        for (predictor, means) in &epoch.accuracy {
            for (t, mean) in means.iter().enumerate() {
                put_mean(&mut row, &format!("{}_task_{}", predictor.name(), t + 1), Some(mean));
            }
        }
        for (l, mean) in epoch.uncertainty.iter().enumerate() {
            put_mean(&mut row, &format!("uncertainty_{}", l + 1), Some(mean));
        }
        for (l, mean) in epoch.flip_ratio.iter().enumerate() {
            put_mean(&mut row, &format!("flip_ratio_{}", l + 1), Some(mean));
        }
        put_mean(&mut row, "divergence", Some(&epoch.divergence));
        for (bin, mean) in epoch.divergence_by_variance.iter().enumerate() {
            put_mean(&mut row, &format!("divergence_variance_0.{bin}"), mean.as_ref());
        }
        row
    };
    let rows = named.iter().flat_map(|(label, summary)| {
        summary.epochs.iter().map(|epoch| row(label, epoch)).collect::<Vec<_>>()
    });
    table(rows.collect())
}
