//! The text that names a stream: its kinds, and files of several of them.

use std::fmt;
use std::path::Path;

use remanent_store::files;

use super::error::StreamError;
use crate::sources::{self, SourceError};
use crate::suggestion;

/// The most tasks that a permuted stream may have.
const MOST_TASKS: usize = 10_000;

const KINDS: [&str; 5] = ["permuted", "sequence", "split", "rotated", "drift"];

/// Some tasks of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The same dataset with its pixels in ever other orders.
    Permuted {
        /// Name or path.
        dataset: String,
        /// How many tasks.
        tasks: usize,
    },
    /// One dataset after another.
    Sequence {
        /// Names or paths.
        datasets: Vec<String>,
    },
    /// Some classes after others.
    Split {
        /// Name or path.
        dataset: String,
        /// Classes of a task.
        classes_per_task: usize,
    },
    /// The same images, turned by ever larger angles below 180°.
    Rotated {
        /// Name or path.
        dataset: String,
        /// How many tasks.
        tasks: usize,
    },
    /// Permutations of the pixels that become one another.
    Drift {
        /// Name or path.
        dataset: String,
        /// How many permutations.
        permutations: usize,
        /// Tasks from one to the next.
        stages: usize,
    },
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permuted { dataset, tasks } => write!(f, "permuted:{dataset}:{tasks}"),
            Self::Sequence { datasets } => write!(f, "sequence:{}", datasets.join(",")),
            Self::Split { dataset, classes_per_task } => {
                write!(f, "split:{dataset}:{classes_per_task}")
            }
            Self::Rotated { dataset, tasks } => write!(f, "rotated:{dataset}:{tasks}"),
            Self::Drift { dataset, permutations, stages } => {
                write!(f, "drift:{dataset}:{permutations}:{stages}")
            }
        }
    }
}

impl Piece {
    /// Reads one of the kinds; paths of datasets begin at `base`.
    fn parse<'a>(text: &'a str, base: &Path) -> Result<Self, StreamError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let (kind, rest) = (kind.trim(), rest.trim());
        let form = |form| StreamError::Form { text: text.into(), form };
        let dataset = |name: &str| located(name.trim(), base);
        // The number stands after the last colon: a path may hold others.
        let number = |rest: &'a str, form_text, what, most| {
            let (name, number) = rest.rsplit_once(':').ok_or_else(|| form(form_text))?;
            let (name, number) = (name.trim(), number.trim());
            match number.parse::<usize>() {
                _ if name.is_empty() => Err(form(form_text)),
                Ok(count) if (1..=most).contains(&count) => Ok((name, count)),
                _ => {
                    let (text, number) = (text.into(), number.into());
                    Err(StreamError::Number { text, number, what, most })
                }
            }
        };
        let counted = |form_text, what, most| {
            let (name, count) = number(rest, form_text, what, most)?;
            Ok::<_, StreamError>((dataset(name)?, count))
        };
        match kind {
            "permuted" => {
                let form = "write permuted:DATASET:TASKS, e.g. permuted:mnist:10";
                let (dataset, tasks) = counted(form, "the number of tasks", MOST_TASKS)?;
                Ok(Self::Permuted { dataset, tasks })
            }
            "split" => {
                let form = "write split:DATASET:CLASSES_PER_TASK, e.g. split:mnist:2";
                let (dataset, classes_per_task) = counted(form, "the number of classes", 256)?;
                Ok(Self::Split { dataset, classes_per_task })
            }
            "rotated" => {
                let form = "write rotated:DATASET:TASKS, e.g. rotated:mnist:10";
                let (dataset, tasks) = counted(form, "the number of tasks", MOST_TASKS)?;
                Ok(Self::Rotated { dataset, tasks })
            }
            "drift" => {
                let form = "write drift:DATASET:PERMUTATIONS:STAGES, e.g. drift:mnist:5:10";
                let (rest, stages) = number(rest, form, "the number of stages", MOST_TASKS)?;
                let what = "the number of permutations";
                let (name, permutations) = number(rest, form, what, MOST_TASKS / stages + 1)?;
                Ok(Self::Drift { dataset: dataset(name)?, permutations, stages })
            }
            "sequence" => {
                if rest.split(',').any(|name| name.trim().is_empty()) {
                    let wanted =
                        "write sequence:DATASET,DATASET,…, e.g. sequence:fashion-mnist,mnist";
                    return Err(form(wanted));
                }
                let datasets = rest.split(',').map(dataset).collect::<Result<_, _>>()?;
                Ok(Self::Sequence { datasets })
            }
            _ => {
                let suggestion = match sources::check(text) {
                    Ok(()) => format!("; for this dataset alone write 'sequence:{text}'"),
                    Err(_) => suggestion(kind, KINDS),
                };
                Err(StreamError::Kind { text: text.into(), suggestion })
            }
        }
    }

    fn datasets(&self) -> &[String] {
        match self {
            Self::Permuted { dataset, .. }
            | Self::Split { dataset, .. }
            | Self::Rotated { dataset, .. }
            | Self::Drift { dataset, .. } => std::slice::from_ref(dataset),
            Self::Sequence { datasets } => datasets,
        }
    }
}

/// A name that is known as it is, a path from `base` on.
fn located(name: &str, base: &Path) -> Result<String, SourceError> {
    if sources::names().contains(&name) {
        return Ok(name.into());
    }
    let path = base.join(name).to_string_lossy().into_owned();
    match sources::check(&path) {
        Ok(()) => Ok(path),
        // Of a path only the name that was written says anything.
        Err(_) => sources::check(name).map(|()| name.into()),
    }
}

/// A stream of tasks that was read and not yet loaded. Its text, by `to_string`, has a line for
/// each piece and reads back as the same stream: what a record of an experiment should hold
/// instead of the name of a file that may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSpec {
    pieces: Vec<Piece>,
}

impl fmt::Display for StreamSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.pieces.iter().map(Piece::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl StreamSpec {
    /// Reads a text: one of the kinds, several of them in lines, or the path of a file with
    /// such lines. Refuses unknown datasets; reads no data.
    pub fn read(text: &str) -> Result<Self, StreamError> {
        let text = text.trim();
        if text.contains('\n') {
            return Self::lines(text, "the stream", Path::new(""));
        }
        let path = Path::new(text);
        if Self::is_written_out(text) || !path.is_file() || is_npz(path) {
            return Ok(Self { pieces: vec![Piece::parse(text, Path::new(""))?] });
        }
        let lines = files::read_text(path)?;
        Self::lines(&lines, text, path.parent().unwrap_or(Path::new("")))
    }

    /// Whether a text states the tasks itself: it begins with a kind, or has several lines. What
    /// does not can only be the path of a file with the tasks, which may change.
    pub fn is_written_out(text: &str) -> bool {
        let text = text.trim();
        let kind = text.split_once(':').map(|(kind, _)| kind.trim());
        text.contains('\n') || kind.is_some_and(|kind| KINDS.contains(&kind))
    }

    fn lines(text: &str, path: &str, base: &Path) -> Result<Self, StreamError> {
        let mut pieces = Vec::new();
        for (line, content) in text.lines().enumerate() {
            let content = content.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            pieces.push(Piece::parse(content, base).map_err(|error| StreamError::Line {
                path: path.into(),
                line: line + 1,
                error: Box::new(error),
            })?);
        }
        if pieces.is_empty() {
            return Err(StreamError::NoTasks { path: path.into() });
        }
        Ok(Self { pieces })
    }

    /// The pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The names or paths of the datasets, each once.
    pub fn datasets(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.pieces.iter().flat_map(Piece::datasets) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

/// A file of NumPy is a dataset, never a list of streams.
fn is_npz(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npz")
}
