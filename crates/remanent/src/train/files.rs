//! What a training leaves in its run directory besides records and models.

use std::path::Path;

use remanent_lab::atomic;
use remanent_lab::training::{self, TrainingSummary};
use remanent_plot::Figure;
use serde_json::Value;

/// `summary.json`, `summary.csv`, `accuracy.csv`, `epochs.csv`, `accuracy.npz` and `training.svg`.
pub fn write(
    directory: &Path,
    data: &Value,
    named: &[(&str, &TrainingSummary)],
    figure: &Figure,
) -> anyhow::Result<()> {
    let json = format!("{}\n", serde_json::to_string_pretty(data)?);
    let put = |name: &str, text: &str| atomic::write(&directory.join(name), &[text.as_bytes()]);
    put("summary.json", &json)?;
    put("summary.csv", &training::summary_table(named).to_csv())?;
    put("accuracy.csv", &training::accuracy_table(named).to_csv())?;
    put("epochs.csv", &training::epoch_table(named).to_csv())?;
    put("training.svg", &figure.to_svg())?;
    Ok(())
}
