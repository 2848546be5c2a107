//! What a training leaves in its run directory besides records and models.

use std::fs;
use std::path::Path;

use remanent_lab::atomic::{self, FileError};
use remanent_lab::tensorboard;
use remanent_lab::training::{self, TrainingSummary, TrialRecord};
use remanent_plot::Figure;
use serde_json::Value;

/// `summary.json`, `summary.csv`, `accuracy.csv`, `epochs.csv`, `results.npz` and `training.svg`.
pub fn write(
    directory: &Path,
    data: &Value,
    named: &[(&str, &TrainingSummary)],
    trials: &[&[TrialRecord]],
    figure: &Figure,
) -> anyhow::Result<()> {
    let json = format!("{}\n", serde_json::to_string_pretty(data)?);
    let put = |name: &str, bytes: &[u8]| atomic::write(&directory.join(name), &[bytes]);
    put("summary.json", json.as_bytes())?;
    put("summary.csv", training::summary_table(named).to_csv().as_bytes())?;
    put("accuracy.csv", training::accuracy_table(named).to_csv().as_bytes())?;
    put("epochs.csv", training::epoch_table(named).to_csv().as_bytes())?;
    put("results.npz", &training::results_npz(trials)?)?;
    put("training.svg", figure.to_svg().as_bytes())?;
    Ok(())
}

/// `tensorboard/trial-0/events…` for every trial; with several cases a folder `case-1` and so on
/// for each.
pub fn write_events(directory: &Path, cases: &[&[TrialRecord]]) -> Result<(), FileError> {
    for (case, trials) in cases.iter().enumerate() {
        let mut folder = directory.join("tensorboard");
        if cases.len() > 1 {
            folder.push(format!("case-{}", case + 1));
        }
        for (number, trial) in trials.iter().enumerate() {
            let folder = folder.join(format!("trial-{number}"));
            fs::create_dir_all(&folder).map_err(FileError::new("create", &folder))?;
            atomic::sweep_own(&folder)?;
            atomic::write(&folder.join(tensorboard::FILE_NAME), &[&training::events(trial)])?;
        }
    }
    Ok(())
}
