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

/// What one way of asking the network shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictorSummary {
    /// Accuracies, `[after][task]`.
    pub accuracy_matrix: Vec<Vec<Mean>>,
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
    let predictors = Predictor::ALL
        .iter()
        .map(|&predictor| Some((predictor, summarise_predictor(trials, predictor)?)))
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
