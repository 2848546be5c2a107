//! What is kept of a figure beside its configuration: picture, data and verdict, and the summary of
//! all that was kept.
//!
//! ```text
//! figures/<n>/figure.svg         the picture
//! figures/<n>/data.csv           its numbers
//! figures/<n>/measurements.json  the numbers that were judged, with their uncertainties
//! figures/<n>/verdict.json       the claims and their outcomes, or the answers; the version of the rules and
//!                                the hash of the measurements that they were made from
//! REPRODUCIBILITY.md             all verdicts, made from these files
//! README.md                      the part between its two marks, likewise
//! ```
//!
//! A test judges the measurements again: a verdict that the rules of today would not give fails it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::atomic::{self, FileError};
use crate::report::{Exhibit, Machine, Report, Size, duration};
use crate::reproduce::catalogue::{CATALOGUE, Entry};
use crate::verdict::{Findings, RULES, Test, Verdict};

const VERDICT: &str = "verdict.json";
const MEASUREMENTS: &str = "measurements.json";
const SUMMARY: &str = "REPRODUCIBILITY.md";
const README: &str = "README.md";
const BEGIN: &str = "<!-- verdicts: made by `remanent reproduce --keep .` -->";
const END: &str = "<!-- end of verdicts -->";

/// Why a figure could not be kept.
#[derive(Debug, Error)]
pub enum KeepError {
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is kept already is worth more.
    #[error(
        "{} holds figure {id} at full size, and this is a reduced one; keep it elsewhere, or remove that folder's \
         verdict.json",
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
struct Kept {
    /// The figure.
    id: String,
    /// A few words.
    title: String,
    /// What was found.
    found: String,
    /// What the claims amount to; null for answers.
    verdict: Option<Verdict>,
    /// The claims and their outcomes, or the answers.
    findings: Findings,
    /// Remarks.
    notes: Vec<String>,
    /// The version of the rules.
    rules: u32,
    /// The hash of `measurements.json`.
    measurements: String,
    /// How large the experiment was.
    size: Size,
    /// Cells computed.
    cells: usize,
    /// Their time, each on one thread.
    seconds: Option<f64>,
    /// The command that makes it.
    command: String,
    /// The program.
    version: String,
    /// Where it ran.
    machine: Machine,
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
    fn verdict_text(&self) -> String {
        self.verdict.map_or("answers".into(), |verdict| verdict.to_string())
    }
}

/// The hash by which a verdict names its measurements.
fn hash(measurements: &str) -> String {
    blake3::hash(measurements.as_bytes()).to_hex()[..32].to_owned()
}

/// Keeps figures under `root`, and makes the summaries anew from all that is kept there.
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
    let all = read(root)?;
    atomic::sweep_own(root)?;
    atomic::write(&root.join(SUMMARY), &[reproducibility(&all).as_bytes()])?;
    let readme = root.join(README);
    if let Ok(text) = fs::read_to_string(&readme)
        && let Some(text) = with_glance(&text, &all)
    {
        atomic::write(&readme, &[text.as_bytes()])?;
    }
    Ok(())
}

/// All that is kept under `root`, in the order of the report.
fn read(root: &Path) -> Result<Vec<Kept>, KeepError> {
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

/// The summary of all verdicts, as Markdown.
fn reproducibility(all: &[Kept]) -> String {
    let mut text = String::from(
        "# Reproducibility\n\n\
         Made by `remanent reproduce --keep .` from `figures/*/verdict.json`; do not edit. [How verdicts are decided]\
         (docs/VERDICTS.md). ✓ supported, ✗ contradicted, ? undecided. Times are processor times of all cells; cells that \
         figures share count for each of them.\n\n",
    );
    text += &glance(all, "figures/");
    for kept in all {
        let Kept { id, title, found, command, .. } = kept;
        let size = if kept.size.is_reduced() { "at reduced size: " } else { "" };
        text += &format!(
            "\n## {id}: {title}\n\n![{title}](figures/{id}/figure.svg)\n\n**{}**, {size}{}\n\n- Found: {found}\n",
            kept.verdict_text(),
            kept.size.sentence()
        );
        text += &list_findings(&kept.findings);
        for note in &kept.notes {
            text += &format!("- {note}\n");
        }
        let time = kept.seconds.map(duration).unwrap_or_default();
        text += &format!(
            "- `{command}`: {} cells, {time}; rules {}; [data](figures/{id}/data.csv), \
             [measurements](figures/{id}/measurements.json), [verdict](figures/{id}/verdict.json)\n",
            kept.cells, kept.rules
        );
    }
    let mut machines: Vec<String> = Vec::new();
    for Kept { machine: Machine { processor, threads, system, .. }, version, .. } in all {
        let line = format!("{processor}, {threads} threads, {system}; remanent {version}");
        if !machines.contains(&line) {
            machines.push(line);
        }
    }
    text += "\nMade on:\n\n";
    machines.iter().for_each(|machine| text += &format!("- {machine}\n"));
    text
}

/// Claims with their tests, or answers.
fn list_findings(findings: &Findings) -> String {
    let mut text = String::new();
    let line = |test: &Test, what: &str| {
        format!(
            "  - {}{what} {} ({}). Threshold: {}.\n",
            test.outcome.symbol(),
            test.statement(),
            test.margin,
            test.reason
        )
    };
    match findings {
        Findings::Claims(claims) => {
            for claim in claims {
                let (symbol, outcome) = (claim.outcome.symbol(), claim.outcome);
                text += &format!("- {symbol} **{outcome}**: {} ({})\n", claim.says, claim.place);
                claim.tests.iter().for_each(|test| text += &line(test, ""));
                claim.remarks.iter().for_each(|test| text += &line(test, " (remark)"));
            }
        }
        Findings::Answers(answers) => {
            for answer in answers {
                text += &format!("- {} {}\n", answer.question, answer.answer);
                answer.tests.iter().for_each(|test| text += &line(test, ""));
            }
        }
    }
    text
}

/// The table of verdicts.
fn glance(all: &[Kept], folder: &str) -> String {
    let mut text =
        String::from("| figure | what it shows | verdict | size | time |\n|---|---|---|---|---|\n");
    for kept in all {
        let reduced = if kept.size.is_reduced() { "reduced: " } else { "" };
        let size = format!("{reduced}{}", kept.size.text);
        let time = kept.seconds.map(duration).unwrap_or_default();
        text += &format!(
            "| [{id}]({folder}{id}/figure.svg) | {} | {} | {size} | {time} |\n",
            kept.title,
            kept.verdict_text(),
            id = kept.id
        );
    }
    text
}

/// The README with its part between the marks made anew; none if it has no marks.
fn with_glance(readme: &str, all: &[Kept]) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}{END}{after}", glance(all, "figures/")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::judge;

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn the_summaries_are_those_of_the_verdicts() {
        let all = read(&repository()).unwrap();
        assert_eq!(all.len(), CATALOGUE.len(), "every figure has a verdict");
        let summary = fs::read_to_string(repository().join(SUMMARY)).unwrap();
        assert!(summary == reproducibility(&all), "{SUMMARY} was edited, or is old");
        let readme = fs::read_to_string(repository().join(README)).unwrap();
        assert!(with_glance(&readme, &all).as_ref() == Some(&readme), "{README} is old");
        for kept in &all {
            let entry = CATALOGUE.iter().find(|entry| entry.id == kept.id).unwrap();
            assert_eq!(entry.title, kept.title);
            for name in ["figure.svg", "data.csv"] {
                let path = repository().join("figures").join(&kept.id).join(name);
                assert!(fs::metadata(&path).is_ok_and(|file| file.len() > 0), "{}", path.display());
            }
        }
    }

    /// The kept verdicts are those that the rules of today make of the kept measurements.
    #[test]
    fn verdicts_belong_to_their_rules_and_measurements() {
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
