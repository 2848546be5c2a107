//! What is kept of a figure beside its configuration: picture, data and verdict, and the summary of
//! all that was kept.
//!
//! ```text
//! figures/<n>/figure.svg     the picture
//! figures/<n>/data.csv       its numbers
//! figures/<n>/verdict.json   what the paper claims, what was found, and how it was decided
//! REPRODUCIBILITY.md         all verdicts, made from these files
//! README.md                  the part between its two marks, likewise
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::atomic::{self, FileError};
use crate::report::{Check, Machine, Report, Verdict, duration};
use crate::reproduce::catalogue::{CATALOGUE, Entry};

const VERDICT: &str = "verdict.json";
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
    pub id: String,
    /// A few words.
    pub title: String,
    /// What the paper claims, or what is asked.
    pub claim: String,
    /// What was found.
    pub found: String,
    /// What the checks decide.
    pub verdict: Verdict,
    /// What was checked.
    pub checks: Vec<Check>,
    /// Remarks.
    pub notes: Vec<String>,
    /// How large the experiment was.
    pub size: String,
    /// Whether that is smaller than the paper's.
    pub reduced: bool,
    /// Cells computed.
    pub cells: usize,
    /// Their time, each on one thread.
    pub seconds: Option<f64>,
    /// The command that makes it.
    pub command: String,
    /// The program.
    pub version: String,
    /// Where it ran.
    pub machine: Machine,
}

/// Keeps figures under `root`, and makes the summaries anew from all that is kept there.
pub fn keep(root: &Path, report: &Report) -> Result<(), KeepError> {
    for exhibit in &report.exhibits {
        let folder = root.join("figures").join(&exhibit.id);
        // One that cannot be read is about to be replaced.
        let before = read_verdict(&folder.join(VERDICT), &exhibit.id).ok().flatten();
        if exhibit.reduced && before.is_some_and(|before| !before.reduced) {
            return Err(KeepError::Larger { id: exhibit.id.clone(), folder });
        }
        fs::create_dir_all(&folder).map_err(FileError::new("create", &folder))?;
        let kept = Kept {
            id: exhibit.id.clone(),
            title: exhibit.title.clone(),
            claim: exhibit.claim.clone(),
            found: exhibit.found.clone(),
            verdict: exhibit.verdict(),
            checks: exhibit.checks.clone(),
            notes: exhibit.notes.clone(),
            size: exhibit.size.clone(),
            reduced: exhibit.reduced,
            cells: exhibit.cells,
            seconds: exhibit.seconds,
            command: exhibit.command.clone(),
            version: report.version.clone(),
            machine: report.machine.clone(),
        };
        let json = serde_json::to_string_pretty(&kept)? + "\n";
        atomic::write(&folder.join("figure.svg"), &[exhibit.svg.as_bytes()])?;
        atomic::write(&folder.join("data.csv"), &[exhibit.csv.as_bytes()])?;
        atomic::write(&folder.join(VERDICT), &[json.as_bytes()])?;
    }
    let all = read(root)?;
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
         Made by `remanent reproduce --keep .` from `figures/*/verdict.json`; do not edit. Every verdict is decided by a rule \
         from the numbers: *not reproduced* if a statement fails that the claim rests on (**decides**), *reproduced with a \
         difference* if another fails, *reproduced* if all hold. Times are those of all cells, each on one \
         thread of a machine that did other work as well; cells that figures share count for each of them.\n\n",
    );
    text += &glance(all, "figures/");
    for kept in all {
        let Kept { id, title, claim, found, verdict, size, command, .. } = kept;
        let asks = if id.starts_with('B') { "Question" } else { "The paper" };
        text += &format!(
            "\n## {id}: {title}\n\n![{title}](figures/{id}/figure.svg)\n\n\
             **{verdict}**, {}\n\n- {asks}: {claim}\n- Found: {found}\n",
            if kept.reduced { format!("at reduced size: {size}") } else { size.clone() }
        );
        for check in &kept.checks {
            let mark = if check.holds { "✓" } else { "✗" };
            let decides = if check.essential { " (**decides**)" } else { "" };
            text += &format!("  - {mark} {}{decides}\n", check.what);
        }
        for note in &kept.notes {
            text += &format!("- {note}\n");
        }
        let time = kept.seconds.map(duration).unwrap_or_default();
        text += &format!(
            "- `{command}`: {} cells, {time}; [data](figures/{id}/data.csv), [verdict](figures/{id}/verdict.json)\n",
            kept.cells
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

/// The table of verdicts.
fn glance(all: &[Kept], folder: &str) -> String {
    let mut text =
        String::from("| figure | what it shows | verdict | size | time |\n|---|---|---|---|---|\n");
    for kept in all {
        let size = kept.size.split(" (full size").next().unwrap_or_default();
        let size = if kept.reduced { format!("reduced: {size}") } else { size.to_owned() };
        let time = kept.seconds.map(duration).unwrap_or_default();
        text += &format!(
            "| [{id}]({folder}{id}/figure.svg) | {} | {} | {size} | {time} |\n",
            kept.title,
            kept.verdict,
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
            assert_eq!(kept.verdict, Verdict::of(&kept.checks), "{}", kept.id);
            let entry = CATALOGUE.iter().find(|entry| entry.id == kept.id).unwrap();
            assert_eq!((entry.title, entry.claim), (kept.title.as_str(), kept.claim.as_str()));
            for name in ["figure.svg", "data.csv"] {
                let path = repository().join("figures").join(&kept.id).join(name);
                assert!(fs::metadata(&path).is_ok_and(|file| file.len() > 0), "{}", path.display());
            }
        }
    }
}
