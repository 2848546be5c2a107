//! Accuracies of networks over epochs, as figures 6 and 7 draw them.

use remanent_data::stream::Piece;
use remanent_network::predictor::Predictor;
use remanent_plot::{Color, Dash, Panel, Table};

use crate::lines;
use crate::reproduce::results::Trained;
use crate::training::{Mean, PredictorSummary, Training};

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

/// The tasks of a training by name.
pub fn task_names(training: &Training) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for piece in training.spec().ok()?.pieces() {
        match piece {
            Piece::Sequence { datasets } => names.extend(datasets.iter().cloned()),
            Piece::Permuted { dataset, tasks: 1 } => names.push(format!("permuted {dataset}")),
            Piece::Permuted { dataset, tasks } => {
                names.extend((1..=*tasks).map(|task| format!("permuted {dataset} {task}")));
            }
            // How many classes there are is known when the images are read.
            Piece::Split { .. } => return None,
        }
    }
    Some(names)
}

/// Draws the accuracy on every task over epochs.
pub fn draw(panel: &mut Panel, case: &Trained, label: impl Fn(usize) -> String, dash: Dash) {
    let epochs = &case.summary.epochs;
    let tasks = epochs.iter().filter_map(|e| e.accuracy.get(&TEST)).map(Vec::len).max();
    for task in 0..tasks.unwrap_or(0) {
        let rows = epochs
            .iter()
            .filter_map(|e| Some(e.accuracy.get(&TEST)?.get(task)?.at(e.epoch as f64)));
        let color = Color::Palette(task);
        lines::draw(panel, &rows.collect::<Vec<_>>(), |line| {
            line.label(label(task)).color(color).dash(dash)
        });
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
        let names = |stream: &str| {
            let table = toml::Table::from_iter([("stream".to_owned(), stream.into())]);
            task_names(&Training::from_table(&table).unwrap()).unwrap()
        };
        assert_eq!(names("sequence:mnist, fashion-mnist"), ["mnist", "fashion-mnist"]);
        assert_eq!(names("permuted:digits:2"), ["permuted digits 1", "permuted digits 2"]);
        assert_eq!(names("permuted:digits:1\nsequence:digits\n"), ["permuted digits", "digits"]);
    }
}
