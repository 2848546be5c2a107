//! Trainings for other programs, trial by trial: arrays of NumPy and events of TensorBoard.

use std::io;

use remanent_network::archive::Archive;
use remanent_network::metrics::Scores;
use remanent_network::predictor::Predictor;

use crate::tensorboard::Events;
use crate::training::history::{EpochRow, TrialRecord};

/// An .npz file with the results of every trial of every case.
///
/// - `<predictor>_accuracy`, `<predictor>_nll`, `<predictor>_ece`: `[trial][after][task]`, on task
///   `task` after learning task `after`;
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
    let kinds: [(&str, fn(&Scores) -> f64); 3] =
        [("accuracy", |s| s.accuracy), ("nll", |s| s.nll), ("ece", |s| s.ece)];
    for predictor in Predictor::ALL {
        let tasks = first.ends.first().map_or(0, |end| end.scores[&predictor].len());
        for (kind, of) in kinds {
            let ends = trials.iter().flat_map(|trial| &trial.ends);
            let values = ends.flat_map(|end| end.scores[&predictor].iter().map(of));
            let name = format!("{prefix}{}_{kind}", predictor.name());
            archive.array(&name, &[trials.len(), first.ends.len(), tasks], values)?;
        }
    }
    let rows = || trials.iter().flat_map(|trial| &trial.epochs);
    let (count, epochs) = (trials.len(), first.epochs.len());
    let lists: [(&str, fn(&EpochRow) -> &Vec<f64>); 2] =
        [("uncertainty", |row| &row.uncertainty), ("flip_ratio", |row| &row.flip_ratio)];
    for (name, of) in lists {
        let layers = first.epochs.first().map_or(0, |row| of(row).len());
        let values = rows().flat_map(|row| of(row).iter().copied());
        archive.array(&format!("{prefix}{name}"), &[count, epochs, layers], values)?;
    }
    archive.array(&format!("{prefix}loss"), &[count, epochs], rows().map(|row| row.loss))?;
    let numbers: [(&str, fn(&EpochRow) -> usize); 2] =
        [("epoch", |row| row.epoch), ("task", |row| row.task)];
    for (name, of) in numbers {
        let values = first.epochs.iter().map(|row| of(row) as i64);
        archive.array(&format!("{prefix}{name}"), &[epochs], values)?;
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
