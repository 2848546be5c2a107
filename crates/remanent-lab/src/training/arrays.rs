//! Trainings for other programs, trial by trial: arrays of NumPy and events of TensorBoard.

use std::io;

use remanent_formats::npz::Archive;
use remanent_network::metrics::Scores;
use remanent_network::predictor::Predictor;

use crate::tensorboard::Events;
use crate::training::history::{EpochRow, TrialRecord};

/// An .npz file with the results of every trial of every case.
///
/// - `<predictor>_accuracy`, `<predictor>_nll`, `<predictor>_ece`: `[trial][after][task]`, on task
///   `task` after learning task `after`;
/// - if only some accuracies were measured: `<predictor>_accuracy`, `_nll`, `_ece`: `[trial][entry]`, and
///   `<predictor>_after`, `<predictor>_task`: of every entry the two tasks, from 1;
/// - `uncertainty` and `flip_ratio`: `[trial][epoch][layer]`; `loss`: `[trial][epoch]`;
/// - `epoch` and `task`: of every epoch its number and the task that was learned, from 1.
///
/// With several cases the names begin with `case1_`, `case2_` and so on.
pub fn results_npz(cases: &[&[TrialRecord]]) -> io::Result<Vec<u8>> {
    let mut archive = Archive::new();
    for (number, trials) in cases.iter().enumerate() {
        let prefix = if cases.len() > 1 { format!("case{}_", number + 1) } else { String::new() };
        put_case(&mut archive, &prefix, trials)?;
    }
    archive.finish()
}

fn put_case(archive: &mut Archive, prefix: &str, trials: &[TrialRecord]) -> io::Result<()> {
    let Some(first) = trials.first() else { return Ok(()) };
    if first.is_sparse() {
        put_sparse(archive, prefix, trials)?;
    }
    let dense = Predictor::ALL.into_iter().filter(|_| !first.is_sparse());
    for predictor in dense {
        let tasks = first.ends.first().map_or(0, |end| end.scores[&predictor].len());
        let shape = [trials.len(), first.ends.len(), tasks];
        let mut put = |kind: &str, of: fn(&Scores) -> f64| {
            let ends = trials.iter().flat_map(|trial| &trial.ends);
            let values = ends.flat_map(|end| end.scores[&predictor].iter().map(of));
            archive.array(&format!("{prefix}{}_{kind}", predictor.name()), &shape, values)
        };
        put("accuracy", |scores| scores.accuracy)?;
        put("nll", |scores| scores.nll)?;
        put("ece", |scores| scores.ece)?;
    }
    let rows = || trials.iter().flat_map(|trial| &trial.epochs);
    let (count, epochs) = (trials.len(), first.epochs.len());
    let mut put_layers = |name: &str, of: fn(&EpochRow) -> &[f64]| {
        let layers = first.epochs.first().map_or(0, |row| of(row).len());
        let values = rows().flat_map(|row| of(row).iter().copied());
        archive.array(&format!("{prefix}{name}"), &[count, epochs, layers], values)
    };
    put_layers("uncertainty", |row| &row.uncertainty)?;
    put_layers("flip_ratio", |row| &row.flip_ratio)?;
    archive.array(&format!("{prefix}loss"), &[count, epochs], rows().map(|row| row.loss))?;
    let numbers = first.epochs.iter().map(|row| row.epoch as i64);
    archive.array(&format!("{prefix}epoch"), &[epochs], numbers)?;
    let tasks = first.epochs.iter().map(|row| row.task as i64);
    archive.array(&format!("{prefix}task"), &[epochs], tasks)
}

fn put_sparse(archive: &mut Archive, prefix: &str, trials: &[TrialRecord]) -> io::Result<()> {
    for predictor in trials[0].initial.scores.keys() {
        let rows = |trial: &TrialRecord| -> Vec<(i64, i64, Scores)> {
            let ends = (1..).zip(&trial.ends);
            let measured = ends.flat_map(|(after, end)| {
                end.measured(*predictor).map(move |(task, s)| (after, task as i64 + 1, *s))
            });
            measured.collect()
        };
        let rows: Vec<Vec<(i64, i64, Scores)>> = trials.iter().map(rows).collect();
        let name = |kind: &str| format!("{prefix}{}_{kind}", predictor.name());
        let shape = [trials.len(), rows[0].len()];
        let all = || rows.iter().flatten();
        archive.array(&name("accuracy"), &shape, all().map(|row| row.2.accuracy))?;
        archive.array(&name("nll"), &shape, all().map(|row| row.2.nll))?;
        archive.array(&name("ece"), &shape, all().map(|row| row.2.ece))?;
        archive.array(&name("after"), &shape[1..], rows[0].iter().map(|row| row.0))?;
        archive.array(&name("task"), &shape[1..], rows[0].iter().map(|row| row.1))?;
    }
    Ok(())
}

/// The event file of a trial, a step for each epoch.
pub fn events(trial: &TrialRecord) -> Vec<u8> {
    let mut events = Events::new();
    for row in &trial.epochs {
        let mut values = vec![
            ("loss".to_owned(), row.loss),
            ("beta".to_owned(), row.beta),
            ("output_scale".to_owned(), row.output_scale),
            ("divergence".to_owned(), row.divergence),
        ];
        let mut put = |name: &str, item: &str, list: &[f64]| {
            let named = |(i, &value): (usize, &f64)| (format!("{name}/{item}_{}", i + 1), value);
            values.extend(list.iter().enumerate().map(named));
        };
        for (predictor, accuracies) in &row.accuracy {
            put(&format!("accuracy/{}", predictor.name()), "task", accuracies);
        }
        put("uncertainty", "layer", &row.uncertainty);
        put("flip_ratio", "layer", &row.flip_ratio);
        events.scalars(row.epoch, values.iter().map(|(name, value)| (name.as_str(), *value)));
    }
    events.into_bytes()
}
