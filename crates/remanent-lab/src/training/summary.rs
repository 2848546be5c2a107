//! Means over the trials of a case, in the terms of continual learning.
//!
//! `accuracy_matrix[after][task]` is the accuracy on task `task` after learning
//! task `after`, both counted from 0; above the diagonal are tasks still to
//! come. From it, with T tasks and a single entry written a(after, task):
//!
//! - average accuracy: the mean of the last row;
//! - backward transfer: the mean over t < T of a(T, t) − a(t, t);
//! - forgetting: the mean over t < T of max over s < T of a(s, t), less a(T, t);
//! - forward transfer: the mean over t > 1 of a(t − 1, t), less the accuracy on t
//!   before anything was learned;
//! - plasticity: the mean of the diagonal, each task's accuracy at its own end.
//!
//! If only some tasks are measured (`last:5`, `curve:100`), there is no matrix but a list of accuracies;
//! the average is that of the tasks measured after the last task, the plasticity that of each task at its
//! own end, and the memory curve the accuracy on the task ℓ steps back, averaged over the stream.
//!
//! Each is computed for each trial and then averaged, so that its standard error
//! is that of independent trials.

use std::collections::BTreeMap;

use remanent_math::statistics::Summary;
use remanent_network::metrics::Scores;
use remanent_network::predictor::Predictor;
use serde::Serialize;

use crate::lines::Measured;
use crate::training::history::{EpochRow, PhaseEnd, TrialRecord};

/// A mean over trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The standard error of the mean; null for a single trial.
    pub standard_error: Option<f64>,
    /// Number of trials.
    pub n: usize,
}

impl Mean {
    /// As a picture shows it.
    pub fn at(&self, x: f64) -> Measured {
        Measured { x, mean: self.mean, error: self.standard_error }
    }

    fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let summary = Summary::of(values)?;
        Some(Self { mean: summary.mean, standard_error: summary.standard_error, n: summary.count })
    }
}

/// An accuracy of a sparse matrix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The task that was learned, from 0.
    pub after: usize,
    /// The task that was tested, from 0.
    pub task: usize,
    /// The accuracy.
    #[serde(flatten)]
    pub accuracy: Mean,
}

/// A point of the memory curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemoryPoint {
    /// Tasks learned since.
    pub lag: usize,
    /// Number of pairs of tasks in the average of a trial.
    pub pairs: usize,
    /// The accuracy, averaged over the stream.
    #[serde(flatten)]
    pub accuracy: Mean,
}

/// What one way of asking the network shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictorSummary {
    /// Accuracies, `[after][task]`; empty if only some were measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accuracy_matrix: Vec<Vec<Mean>>,
    /// Accuracies, if only some were measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accuracies: Vec<Entry>,
    /// Accuracy by the number of tasks learned since, if only some accuracies were measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_curve: Vec<MemoryPoint>,
    /// Mean of the last row.
    pub average_accuracy: Mean,
    /// How much later tasks changed earlier ones; negative is forgetting. Null for one task.
    pub backward_transfer: Option<Mean>,
    /// How much of the best accuracy was lost. Null for one task.
    pub forgetting: Option<Mean>,
    /// How much earlier tasks helped with those still to come. Null for one task.
    pub forward_transfer: Option<Mean>,
    /// Accuracy of each task at its own end, averaged.
    pub plasticity: Mean,
    /// Negative log-likelihood at the end, averaged over the tasks.
    pub nll: Mean,
    /// Expected calibration error at the end, averaged over the tasks.
    pub ece: Mean,
    /// Area under the curve against images of no task, at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ood_auc: Option<Mean>,
}

impl PredictorSummary {
    /// All accuracies that were measured, by the task that was learned and then the task that was tested.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let row = |(after, row): (usize, &Vec<Mean>)| -> Vec<Entry> {
            let entry = |(task, &accuracy)| Entry { after, task, accuracy };
            row.iter().enumerate().map(entry).collect()
        };
        self.accuracy_matrix.iter().enumerate().flat_map(row).chain(self.accuracies.iter().copied())
    }
}

/// An epoch, summarised over trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpochSummary {
    /// The epoch, from 1, of the whole stream.
    pub epoch: usize,
    /// The task that was learned, from 1.
    pub task: usize,
    /// β.
    pub beta: f64,
    /// Cross entropy a training image.
    pub loss: Mean,
    /// Factor of the logits.
    pub output_scale: Mean,
    /// ⟨σ²⟩ of each layer.
    pub uncertainty: Vec<Mean>,
    /// Share of weights whose sign changed, of each layer.
    pub flip_ratio: Vec<Mean>,
    /// KL of the last step.
    pub divergence: Mean,
    /// KL of the last step a weight, by tenths of σ².
    pub divergence_by_variance: Vec<Option<Mean>>,
    /// Accuracy of the tasks learned so far.
    pub accuracy: BTreeMap<Predictor, Vec<Mean>>,
}

/// A case, summarised over its trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainingSummary {
    /// How matrices are to be read.
    pub orientation: &'static str,
    /// By predictor.
    #[serde(flatten)]
    pub predictors: BTreeMap<Predictor, PredictorSummary>,
    /// Epoch by epoch.
    pub epochs: Vec<EpochSummary>,
    /// Steps of a trial.
    pub steps: u64,
}

const ORIENTATION: &str =
    "accuracy_matrix[after][task]: accuracy on task `task` after learning task `after`";

/// Summarises the trials of a case.
pub fn summarise(trials: &[TrialRecord]) -> Option<TrainingSummary> {
    let first = trials.first()?;
    let measured = |predictor: &&Predictor| first.initial.scores.contains_key(predictor);
    let predictors = Predictor::ALL
        .iter()
        .filter(|predictor| !first.is_sparse() || measured(predictor))
        .map(|&predictor| {
            let summary = match first.is_sparse() {
                true => summarise_sparse(trials, predictor),
                false => summarise_predictor(trials, predictor),
            };
            Some((predictor, summary?))
        })
        .collect::<Option<_>>()?;
    let epochs = (0..first.epochs.len())
        .map(|i| summarise_epoch(&trials.iter().map(|t| &t.epochs[i]).collect::<Vec<_>>()))
        .collect::<Option<_>>()?;
    Some(TrainingSummary { orientation: ORIENTATION, predictors, epochs, steps: first.steps })
}

/// Accuracies of one trial, `[after][task]`.
pub fn accuracies(trial: &TrialRecord, predictor: Predictor) -> Vec<Vec<f64>> {
    let row = |end: &PhaseEnd| end.scores[&predictor].iter().map(|s| s.accuracy).collect();
    trial.ends.iter().map(row).collect()
}

fn summarise_predictor(trials: &[TrialRecord], predictor: Predictor) -> Option<PredictorSummary> {
    let matrices: Vec<Vec<Vec<f64>>> = trials.iter().map(|t| accuracies(t, predictor)).collect();
    let initial = |trial: &TrialRecord| -> Vec<f64> {
        trial.initial.scores[&predictor].iter().map(|s| s.accuracy).collect()
    };
    let initials: Vec<Vec<f64>> = trials.iter().map(initial).collect();
    let over = |of: fn(&[Vec<f64>]) -> Option<f64>| {
        Mean::of(matrices.iter().filter_map(|matrix| of(matrix)))
    };
    let last = |of: fn(&Scores) -> f64| {
        Mean::of(
            trials
                .iter()
                .filter_map(|trial| mean(trial.ends.last()?.scores[&predictor].iter().map(of))),
        )
    };
    let forward = matrices.iter().zip(&initials).filter_map(|(m, i)| forward_transfer(m, i));
    let areas = trials.iter().filter_map(|t| t.ends.last()?.ood_auc.get(&predictor).copied());
    Some(PredictorSummary {
        accuracy_matrix: average(&matrices)?,
        accuracies: Vec::new(),
        memory_curve: Vec::new(),
        average_accuracy: over(|m| mean(m.last()?.iter().copied()))?,
        backward_transfer: over(backward_transfer),
        forgetting: over(forgetting),
        forward_transfer: Mean::of(forward),
        plasticity: over(plasticity)?,
        nll: last(|s| s.nll)?,
        ece: last(|s| s.ece)?,
        ood_auc: Mean::of(areas),
    })
}

/// The same where only some tasks were measured. All trials have measured the same.
fn summarise_sparse(trials: &[TrialRecord], predictor: Predictor) -> Option<PredictorSummary> {
    /// Accuracies of a trial: task learned, task tested, accuracy.
    type Row = (usize, usize, f64);
    let rows = |trial: &TrialRecord| -> Vec<Row> {
        let ends = trial.ends.iter().enumerate();
        ends.flat_map(|(after, end)| {
            end.measured(predictor).map(move |(task, scores)| (after, task, scores.accuracy))
        })
        .collect()
    };
    let rows: Vec<Vec<Row>> = trials.iter().map(rows).collect();
    let first = rows.first()?;
    let entry = |(i, &(after, task, _)): (usize, &Row)| {
        let accuracy = Mean::of(rows.iter().filter_map(|rows| Some(rows.get(i)?.2)))?;
        Some(Entry { after, task, accuracy })
    };
    let over = |wanted: &dyn Fn(&Row) -> bool| {
        let of = |rows: &Vec<Row>| mean(rows.iter().filter(|row| wanted(row)).map(|row| row.2));
        Mean::of(rows.iter().filter_map(of))
    };
    let lags: BTreeMap<usize, usize> = first.iter().fold(BTreeMap::new(), |mut lags, row| {
        *lags.entry(row.0.saturating_sub(row.1)).or_default() += 1;
        lags
    });
    let point = |(&lag, &pairs): (&usize, &usize)| {
        Some(MemoryPoint { lag, pairs, accuracy: over(&|row| row.0 == row.1 + lag)? })
    };
    let last = |of: fn(&Scores) -> f64| {
        let mean =
            |trial: &TrialRecord| mean(trial.ends.last()?.measured(predictor).map(|m| of(m.1)));
        Mean::of(trials.iter().filter_map(mean))
    };
    let end = trials.first()?.ends.len() - 1;
    let areas = trials.iter().filter_map(|t| t.ends.last()?.ood_auc.get(&predictor).copied());
    Some(PredictorSummary {
        accuracy_matrix: Vec::new(),
        accuracies: first.iter().enumerate().map(entry).collect::<Option<_>>()?,
        memory_curve: lags.iter().map(point).collect::<Option<_>>()?,
        average_accuracy: over(&|row| row.0 == end)?,
        backward_transfer: None,
        forgetting: None,
        forward_transfer: None,
        plasticity: over(&|row| row.0 == row.1)?,
        nll: last(|s| s.nll)?,
        ece: last(|s| s.ece)?,
        ood_auc: Mean::of(areas),
    })
}

fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Summary::of(values).map(|summary| summary.mean)
}

/// Whether tasks were learned one after another, two at least.
fn is_sequence(matrix: &[Vec<f64>]) -> bool {
    matrix.len() > 1 && matrix.len() == matrix[0].len()
}

fn backward_transfer(matrix: &[Vec<f64>]) -> Option<f64> {
    let last = matrix.last().filter(|_| is_sequence(matrix))?;
    mean((0..matrix.len() - 1).map(|t| last[t] - matrix[t][t]))
}

/// How much of the best accuracy of earlier tasks is lost, `[after][task]`.
pub fn forgetting(matrix: &[Vec<f64>]) -> Option<f64> {
    let (last, before) = matrix.split_last().filter(|_| is_sequence(matrix))?;
    let best = |t: usize| before.iter().map(|row| row[t]).fold(f64::NEG_INFINITY, f64::max);
    mean((0..before.len()).map(|t| best(t) - last[t]))
}

fn forward_transfer(matrix: &[Vec<f64>], initial: &[f64]) -> Option<f64> {
    if !is_sequence(matrix) {
        return None;
    }
    mean((1..matrix.len()).map(|t| matrix[t - 1][t] - initial[t]))
}

/// The diagonal; the only row, if all tasks were learned at once.
pub fn plasticity(matrix: &[Vec<f64>]) -> Option<f64> {
    match matrix {
        [row] => mean(row.iter().copied()),
        _ => mean(matrix.iter().enumerate().map(|(t, row)| row[t])),
    }
}

/// Entry by entry.
fn average(matrices: &[Vec<Vec<f64>>]) -> Option<Vec<Vec<Mean>>> {
    let first = matrices.first()?;
    let entry = |i: usize, j: usize| Mean::of(matrices.iter().map(|m| m[i][j]));
    let row = |i: usize| (0..first[i].len()).map(|j| entry(i, j)).collect();
    (0..first.len()).map(row).collect()
}

fn summarise_epoch(rows: &[&EpochRow]) -> Option<EpochSummary> {
    let first = rows.first()?;
    let mean_of = |of: &dyn Fn(&EpochRow) -> f64| Mean::of(rows.iter().map(|row| of(row)));
    let means_of = |of: &dyn Fn(&EpochRow) -> &Vec<f64>| -> Option<Vec<Mean>> {
        (0..of(first).len()).map(|i| mean_of(&|row| of(row)[i])).collect()
    };
    let bins = 0..first.divergence_by_variance.len();
    Some(EpochSummary {
        epoch: first.epoch,
        task: first.task,
        beta: first.beta,
        loss: mean_of(&|row| row.loss)?,
        output_scale: mean_of(&|row| row.output_scale)?,
        uncertainty: means_of(&|row| &row.uncertainty)?,
        flip_ratio: means_of(&|row| &row.flip_ratio)?,
        divergence: mean_of(&|row| row.divergence)?,
        divergence_by_variance: bins
            .map(|bin| Mean::of(rows.iter().filter_map(|row| row.divergence_by_variance[bin])))
            .collect(),
        accuracy: first
            .accuracy
            .keys()
            .map(|key| Some((*key, means_of(&|row| &row.accuracy[key])?)))
            .collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_stream_is_summarised_by_lags() {
        let scores = |accuracy: f64| Scores { accuracy, nll: 1.0 - accuracy, ece: 0.1 };
        let end = |tasks: Vec<usize>, values: &[f64]| PhaseEnd {
            tasks,
            scores: BTreeMap::from([(
                Predictor::Hard,
                values.iter().map(|&v| scores(v)).collect(),
            )]),
            ood_auc: BTreeMap::new(),
        };
        let trial = TrialRecord {
            initial: end(vec![0], &[0.1]),
            ends: vec![
                end(vec![0], &[0.9]),
                end(vec![0, 1], &[0.7, 0.8]),
                end(vec![1, 2], &[0.5, 0.7]),
            ],
            ..Default::default()
        };
        let summary = summarise(&[trial]).unwrap();
        assert_eq!(summary.predictors.len(), 1);
        let hard = &summary.predictors[&Predictor::Hard];
        let close = |found: Mean, wanted: f64| assert!((found.mean - wanted).abs() < 1e-12);
        close(hard.average_accuracy, 0.6);
        close(hard.plasticity, 0.8);
        close(hard.nll, 0.4);
        assert_eq!(hard.accuracies.len(), 5);
        assert_eq!((hard.accuracies[3].after, hard.accuracies[3].task), (2, 1));
        let curve: Vec<(usize, usize)> =
            hard.memory_curve.iter().map(|p| (p.lag, p.pairs)).collect();
        assert_eq!(curve, [(0, 3), (1, 2)]);
        close(hard.memory_curve[1].accuracy, 0.6);
    }

    #[test]
    fn transfer_and_forgetting_of_a_worked_example() {
        let matrix = [vec![0.9, 0.2, 0.1], vec![0.7, 0.8, 0.3], vec![0.8, 0.5, 0.9]];
        let close = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} {b}");
        close(backward_transfer(&matrix), ((0.8 - 0.9) + (0.5 - 0.8)) / 2.0);
        close(forgetting(&matrix), ((0.9 - 0.8) + (0.8 - 0.5)) / 2.0);
        close(forward_transfer(&matrix, &[0.1, 0.1, 0.2]), ((0.2 - 0.1) + (0.3 - 0.2)) / 2.0);
        close(plasticity(&matrix), (0.9 + 0.8 + 0.9) / 3.0);
        let joint = [vec![0.9, 0.7]];
        assert_eq!(backward_transfer(&joint), None);
        close(plasticity(&joint), 0.8);
    }
}
