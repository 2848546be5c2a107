//! Accuracies of networks over epochs, as figures 6 and 7 draw them.

use remanent_network::predictor::Predictor;
use remanent_plot::{Color, Dash, Panel, Table, VerticalLine};

use super::lines::{self, Measured};
use crate::reproduce::results::Trained;
use crate::training::{Mean, PredictorSummary};

/// The paper's test: one stochastic pass.
pub const TEST: Predictor = Predictor::Stochastic;

/// What the paper's test shows of a case.
pub fn tested(case: &Trained) -> Option<&PredictorSummary> {
    case.summary.predictors.get(&TEST)
}

/// The accuracy on a task after learning another, both from 0.
pub fn accuracy(case: &Trained, after: usize, task: usize) -> Option<Mean> {
    tested(case)?.accuracy_matrix.get(after)?.get(task).copied()
}

/// The tasks of a stream by name.
pub fn task_names(stream: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in stream.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (kind, rest) = line.split_once(':').unwrap_or((line, ""));
        if kind == "sequence" {
            names.extend(rest.split(',').map(|name| name.trim().to_owned()));
        } else {
            let (name, count) = rest.rsplit_once(':').unwrap_or((rest, "1"));
            let count: usize = count.parse().unwrap_or(1);
            let number = |i: usize| if count > 1 { format!(" {}", i + 1) } else { String::new() };
            names.extend((0..count).map(|i| format!("{kind} {name}{}", number(i))));
        }
    }
    names
}

/// Draws the accuracy on every task over epochs.
pub fn draw(panel: &mut Panel, case: &Trained, label: impl Fn(usize) -> String, dash: Dash) {
    let epochs = &case.summary.epochs;
    let tasks = epochs.iter().filter_map(|e| e.accuracy.get(&TEST)).map(Vec::len).max();
    for task in 0..tasks.unwrap_or(0) {
        let rows = epochs.iter().filter_map(|e| {
            let mean = e.accuracy.get(&TEST)?.get(task)?;
            Some(Measured { x: e.epoch as f64, mean: mean.mean, error: mean.standard_error })
        });
        let color = Color::Palette(task);
        lines::draw(panel, &rows.collect::<Vec<_>>(), |line| {
            line.label(label(task)).color(color).dash(dash)
        });
    }
}

/// A line where a task gives way to the next.
pub fn mark_switches(panel: &mut Panel, case: &Trained) {
    for pair in case.summary.epochs.windows(2) {
        if pair[0].task != pair[1].task {
            panel.push(VerticalLine::new(pair[0].epoch as f64 + 0.5));
        }
    }
}

/// Accuracies by case, epoch and task.
pub fn table(cases: &[(String, &Trained)]) -> Table {
    let mut table =
        Table::new(["case", "epoch", "learning_task", "task", "accuracy", "accuracy_se", "trials"]);
    for (name, case) in cases {
        for epoch in &case.summary.epochs {
            for (task, mean) in epoch.accuracy.get(&TEST).into_iter().flatten().enumerate() {
                table.push(vec![
                    name.as_str().into(),
                    (epoch.epoch as i64).into(),
                    (epoch.task as i64).into(),
                    (task as i64 + 1).into(),
                    mean.mean.into(),
                    mean.standard_error.into(),
                    (mean.n as i64).into(),
                ]);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_names() {
        assert_eq!(task_names("sequence:mnist, fashion-mnist"), ["mnist", "fashion-mnist"]);
        assert_eq!(task_names("permuted:digits:2"), ["permuted digits 1", "permuted digits 2"]);
        assert_eq!(
            task_names("permuted:digits:1\nsequence:digits\n"),
            ["permuted digits", "digits"]
        );
    }
}
