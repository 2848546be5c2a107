//! What is kept of a figure: picture, data and verdict.
//!
//! ```text
//! figures/<n>/figure.svg         the picture
//! figures/<n>/data.csv           its numbers
//! figures/<n>/measurements.json  the numbers that were judged, with their uncertainties
//! figures/<n>/verdict.json       the claims and their outcomes, or the answers; the version of the rules and
//!                                the hash of the measurements that they were made from
//! ```
//!
//! A test judges the measurements again: a verdict that the rules of today would not give fails it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use remanent_store::{atomic, files::FileError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::catalogue::{CATALOGUE, Entry};
use crate::report::{Exhibit, Machine, Report, Size};
use crate::verdict::{Findings, RULES, Verdict};

const VERDICT: &str = "verdict.json";
const MEASUREMENTS: &str = "measurements.json";

/// Why a figure could not be kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is kept already is worth more.
    #[error(
        "{} holds figure {id} at full size, and this one is reduced; choose another --keep, or remove the \
         verdict.json there",
        folder.display()
    )]
    Larger {
        /// The figure.
        id: String,
        /// Where it is kept.
        folder: PathBuf,
    },
    /// A verdict could not be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A verdict that is there cannot be read.
    #[error("{} cannot be read: {reason}; make the figure again with `remanent reproduce {id}` and the same --keep", path.display())]
    Verdict {
        /// The file.
        path: PathBuf,
        /// The figure.
        id: String,
        /// What is wrong.
        reason: String,
    },
}

/// What is kept in words and numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The figure.
    pub(crate) id: String,
    /// A few words.
    pub(crate) title: String,
    /// What was found.
    pub(crate) found: String,
    /// What the claims amount to; null for answers.
    pub(crate) verdict: Option<Verdict>,
    /// The claims and their outcomes, or the answers.
    pub(crate) findings: Findings,
    /// Remarks.
    pub(crate) notes: Vec<String>,
    /// The version of the rules.
    pub(crate) rules: u32,
    /// The hash of `measurements.json`.
    pub(crate) measurements: String,
    /// How large the experiment was.
    pub(crate) size: Size,
    /// Cells computed.
    pub(crate) cells: usize,
    /// Their time, each on one thread.
    pub(crate) seconds: Option<f64>,
    /// The command that makes it.
    pub(crate) command: String,
    /// The program.
    pub(crate) version: String,
    /// Where it ran.
    pub(crate) machine: Machine,
}

impl Kept {
    fn new(exhibit: &Exhibit, measurements: &str, report: &Report) -> Self {
        Self {
            id: exhibit.id.clone(),
            title: exhibit.title.clone(),
            found: exhibit.found.clone(),
            verdict: exhibit.verdict(),
            findings: exhibit.findings.clone(),
            notes: exhibit.notes.clone(),
            rules: RULES,
            measurements: hash(measurements),
            size: exhibit.size.clone(),
            cells: exhibit.cells,
            seconds: exhibit.seconds,
            command: exhibit.command.clone(),
            version: report.version.clone(),
            machine: report.machine.clone(),
        }
    }

    /// The verdict in words.
    pub(crate) fn verdict_text(&self) -> String {
        self.verdict.map_or("answers".into(), |verdict| verdict.to_string())
    }
}

/// The hash by which a verdict names its measurements.
fn hash(measurements: &str) -> String {
    blake3::hash(measurements.as_bytes()).to_hex()[..32].to_owned()
}

/// Keeps the figures of a report under `root`. [`summarise`](crate::summarise) then tells of all that is
/// kept there.
pub fn keep(root: &Path, report: &Report) -> Result<(), KeepError> {
    for exhibit in &report.exhibits {
        let folder = root.join("figures").join(&exhibit.id);
        // One that cannot be read is about to be replaced.
        let before = read_verdict(&folder.join(VERDICT), &exhibit.id).ok().flatten();
        if exhibit.size.is_reduced() && before.is_some_and(|before| !before.size.is_reduced()) {
            return Err(KeepError::Larger { id: exhibit.id.clone(), folder });
        }
        fs::create_dir_all(&folder).map_err(FileError::new("create", &folder))?;
        atomic::sweep_own(&folder)?;
        let measurements = serde_json::to_string_pretty(&exhibit.measurements)? + "\n";
        let kept = Kept::new(exhibit, &measurements, report);
        let json = serde_json::to_string_pretty(&kept)? + "\n";
        atomic::write(&folder.join("figure.svg"), &[exhibit.svg.as_bytes()])?;
        atomic::write(&folder.join("data.csv"), &[exhibit.csv.as_bytes()])?;
        atomic::write(&folder.join(MEASUREMENTS), &[measurements.as_bytes()])?;
        atomic::write(&folder.join(VERDICT), &[json.as_bytes()])?;
    }
    Ok(())
}

/// All that is kept under `root`, in the order of the report.
pub(crate) fn read(root: &Path) -> Result<Vec<Kept>, KeepError> {
    let verdict = |entry: &Entry| {
        read_verdict(&root.join("figures").join(entry.id).join(VERDICT), entry.id).transpose()
    };
    CATALOGUE.iter().filter_map(verdict).collect()
}

/// A verdict, if there is one.
fn read_verdict(path: &Path, id: &str) -> Result<Option<Kept>, KeepError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(FileError::new("read", path))?,
    };
    serde_json::from_str(&text).map(Some).map_err(|error| KeepError::Verdict {
        path: path.to_owned(),
        id: id.into(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhibit::judge;

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// Judges the kept measurements of a figure by the rules of today, and writes what they decide.
    fn judge_again(mut kept: Kept) {
        let folder = repository().join("figures").join(&kept.id);
        let text = fs::read_to_string(folder.join(MEASUREMENTS)).unwrap();
        let entry = CATALOGUE.iter().find(|entry| entry.id == kept.id).unwrap();
        let again = judge(entry, &serde_json::from_str(&text).unwrap(), &kept.size).unwrap();
        (kept.rules, kept.found, kept.verdict) = (RULES, again.found, again.findings.verdict());
        kept.findings = again.findings;
        let json = serde_json::to_string_pretty(&kept).unwrap() + "\n";
        fs::write(folder.join(VERDICT), json).unwrap();
    }

    /// The kept verdicts are those that the rules of today make of the kept measurements. After a change of the
    /// rules that needs no other measurements, `REMANENT_JUDGE_AGAIN=1` judges them again.
    #[test]
    fn verdicts_belong_to_their_rules_and_measurements() {
        if std::env::var_os("REMANENT_JUDGE_AGAIN").is_some() {
            read(&repository()).unwrap().into_iter().for_each(judge_again);
            crate::summarise(&repository()).unwrap();
        }
        for kept in read(&repository()).unwrap() {
            let id = &kept.id;
            let cure = format!("; make it again with `remanent reproduce {id} --keep .`");
            assert_eq!(kept.rules, RULES, "figure {id} was judged by other rules{cure}");
            let path = repository().join("figures").join(id).join(MEASUREMENTS);
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(kept.measurements, hash(&text), "{} was changed{cure}", path.display());
            let entry = CATALOGUE.iter().find(|entry| entry.id == *id).unwrap();
            let measured = serde_json::from_str(&text).unwrap();
            let again = judge(entry, &measured, &kept.size).unwrap();
            // As they are after a journey through JSON.
            let json = serde_json::to_string(&again.findings).unwrap();
            let findings: Findings = serde_json::from_str(&json).unwrap();
            assert!(findings == kept.findings, "a rule of figure {id} has changed{cure}");
            assert_eq!(kept.verdict, findings.verdict(), "{id}");
            assert_eq!(kept.found, again.found, "{id}");
        }
    }
}
