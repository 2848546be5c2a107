//! The tables of all verdicts, made from what is kept in `figures/`: `REPRODUCIBILITY.md`, and the part of
//! `README.md` between its two marks.

use std::fs;
use std::path::Path;

use remanent_store::atomic;

use crate::keep::{KeepError, Kept, read};
use crate::report::{Machine, duration};
use crate::verdict::{Findings, Test};

const SUMMARY: &str = "REPRODUCIBILITY.md";
const README: &str = "README.md";
const BEGIN: &str = "<!-- verdicts: made by `remanent reproduce --keep .` -->";
const END: &str = "<!-- end of verdicts -->";

/// Writes `REPRODUCIBILITY.md` under `root` from all figures that are kept there, and the table of a
/// `README.md` that has the marks for it.
pub fn summarise(root: &Path) -> Result<(), KeepError> {
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
    use std::path::PathBuf;

    use super::*;
    use crate::catalogue::CATALOGUE;

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
}
