//! What is wrong with a stream.

use remanent_store::files::FileError;
use thiserror::Error;

use crate::sources::SourceError;

/// Why a text is no stream, or its tasks cannot be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// It begins with no kind, and there is no such file.
    #[error(
        "'{text}' is not a task stream{suggestion} (write permuted:DATASET:TASKS, \
         sequence:DATASET,DATASET,…, split:DATASET:CLASSES_PER_TASK, rotated:DATASET:TASKS or \
         drift:DATASET:PERMUTATIONS:STAGES, or give a file with these)"
    )]
    Kind {
        /// The text.
        text: String,
        /// The nearest kind, in words.
        suggestion: String,
    },
    /// A kind is not followed by what it needs.
    #[error("'{text}' is incomplete: {form}")]
    Form {
        /// The text.
        text: String,
        /// How it is written.
        form: &'static str,
    },
    /// A number is none, or out of range.
    #[error("'{number}' in '{text}' is out of range: {what} must be between 1 and {most}")]
    Number {
        /// The text.
        text: String,
        /// What stands where a number should be.
        number: String,
        /// What it counts.
        what: &'static str,
        /// The largest that is allowed.
        most: usize,
    },
    /// The classes do not divide into tasks.
    #[error(
        "{dataset} has {classes} classes, which do not divide into tasks of {per_task}: \
         choose {}", divisors(*classes)
    )]
    Division {
        /// The dataset.
        dataset: String,
        /// Its number of classes.
        classes: usize,
        /// Classes of a task.
        per_task: usize,
    },
    /// A task has no images.
    #[error("task {task} of the stream, {name}, has no images to {part}")]
    Empty {
        /// Which task, from 1.
        task: usize,
        /// What it is.
        name: String,
        /// `train on` or `test on`.
        part: &'static str,
    },
    /// The images of two tasks differ in size.
    #[error(
        "the images of {first} have {first_inputs} pixels, those of {other} {other_inputs}: \
         one network cannot learn both"
    )]
    Inputs {
        /// The dataset of the first task.
        first: String,
        /// The pixels of its images.
        first_inputs: usize,
        /// A later dataset.
        other: String,
        /// The pixels of its images.
        other_inputs: usize,
    },
    /// A line of a file is wrong.
    #[error("{path}, line {line}: {error}")]
    Line {
        /// The file.
        path: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        error: Box<StreamError>,
    },
    /// A file has no line.
    #[error("{path} names no tasks: write a stream such as permuted:mnist:10 on each line")]
    NoTasks {
        /// The file.
        path: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A dataset cannot be had.
    #[error(transparent)]
    Source(#[from] SourceError),
}

fn divisors(classes: usize) -> String {
    let divisors = (1..=classes).filter(|n| classes.is_multiple_of(*n));
    divisors.map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
}
