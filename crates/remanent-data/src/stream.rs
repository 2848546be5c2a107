//! Streams of tasks, named by a text.
//!
//! | text | tasks |
//! |---|---|
//! | `permuted:mnist:10` | ten times the same images, the pixels of each task in another order |
//! | `sequence:fashion-mnist,mnist` | one dataset after another |
//! | `split:mnist:2` | the classes two by two: 0 and 1, then 2 and 3, … |
//! | `rotated:mnist:10` | ten times the same images, turned by 0°, 18°, …, 162° |
//! | `drift:mnist:5:10` | five permutations, each of which becomes the next in ten stages |
//! | a path | the lines of that file, each one of these; `#` begins a comment |
//!
//! Every task of a permuted stream is permuted, the first as well: all are alike, and none is
//! easier because neighbours are still neighbours. A permutation is drawn by Philox at (seed,
//! purpose, trial, place of the task in the whole stream), so that a longer stream begins with
//! the tasks of the shorter one. It is made when a task is opened and not stored: a stream of a
//! thousand tasks needs no more memory than one of two.
//!
//! In a drifting stream no task begins or ends: in stage s of S the share s/S of the images, evenly
//! spread over the dataset, has the next permutation already, and an image that has changed over
//! stays so until the permutation after it begins. Each stage counts as a task.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use remanent_math::philox::Stream;
use remanent_store::files::{self, FileError};
use thiserror::Error;

use crate::dataset::{Arrangement, Dataset, View};
use crate::rotation::rotation;
use crate::sources::{self, Cache, SourceError};
use crate::suggestion;

/// What the random numbers of the permutations are for; no other part of the program uses it.
pub const PERMUTATION_PURPOSE: u32 = 101;

/// The most tasks that a permuted stream may have.
const MOST_TASKS: usize = 10_000;

const KINDS: [&str; 5] = ["permuted", "sequence", "split", "rotated", "drift"];

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

    /// Reads the datasets, each once.
    pub fn load(&self, cache: &Cache) -> Result<TaskStream, StreamError> {
        let mut datasets = Vec::new();
        for name in self.datasets() {
            datasets.push((name.to_owned(), Arc::new(sources::open(name, cache)?)));
        }
        let dataset = |name: &str| {
            let found = datasets.iter().find(|(known, _)| known == name);
            &found.expect("every dataset of a piece was read").1
        };
        let mut plans = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Permuted { dataset: name, tasks } => {
                    let plan = Plan::whole(dataset(name), Pixels::Permuted);
                    plans.extend(std::iter::repeat_n(plan, *tasks));
                }
                Piece::Rotated { dataset: name, tasks } => {
                    let angle = |task: usize| 180.0 * task as f64 / *tasks as f64;
                    let plan = |task| Plan::whole(dataset(name), Pixels::Rotated(angle(task)));
                    plans.extend((0..*tasks).map(plan));
                }
                Piece::Drift { dataset: name, permutations, stages } => {
                    // Permutations are numbered by the place where each is pure.
                    let start = plans.len();
                    let plan = |task: usize| {
                        let before = start + task / stages * stages;
                        let share = (task % stages) as f64 / *stages as f64;
                        let pixels = Pixels::Mixed { before, after: before + stages, share };
                        Plan::whole(dataset(name), pixels)
                    };
                    plans.extend((0..(permutations - 1) * stages + 1).map(plan));
                }
                Piece::Sequence { datasets } => {
                    plans.extend(
                        datasets.iter().map(|name| Plan::whole(dataset(name), Pixels::Plain)),
                    );
                }
                Piece::Split { dataset: name, classes_per_task } => {
                    plans.extend(split(dataset(name), *classes_per_task)?);
                }
            }
        }
        TaskStream::new(plans, datasets)
    }
}

/// A file of NumPy is a dataset, never a list of streams.
fn is_npz(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npz")
}

/// The images of the classes of a task.
#[derive(Debug)]
struct Selection {
    classes: Vec<u8>,
    train: Vec<u32>,
    test: Vec<u32>,
}

/// How the pixels of a task are arranged.
#[derive(Clone, Copy, Debug)]
enum Pixels {
    Plain,
    /// By the permutation of its place in the stream.
    Permuted,
    /// By two permutations, of these places.
    Mixed {
        before: usize,
        after: usize,
        share: f64,
    },
    /// Turned by this angle, in degrees.
    Rotated(f64),
}

/// A task before its permutation is drawn.
#[derive(Clone, Debug)]
struct Plan {
    dataset: Arc<Dataset>,
    pixels: Pixels,
    selection: Option<Arc<Selection>>,
}

impl Plan {
    fn whole(dataset: &Arc<Dataset>, pixels: Pixels) -> Self {
        Self { dataset: Arc::clone(dataset), pixels, selection: None }
    }

    /// The task with its pixels as they are stored.
    fn plain(&self) -> Task {
        let (dataset, selection) = (Arc::clone(&self.dataset), self.selection.clone());
        Task { dataset, selection, arranged: Arranged::Plain }
    }
}

fn split(dataset: &Arc<Dataset>, per_task: usize) -> Result<Vec<Plan>, StreamError> {
    let classes = dataset.classes();
    if !classes.is_multiple_of(per_task) {
        let dataset = dataset.name().into();
        return Err(StreamError::Division { dataset, classes, per_task });
    }
    let tasks = (0..classes / per_task).map(|task| {
        // There are at most 256 classes.
        let classes: Vec<u8> = (task * per_task..(task + 1) * per_task).map(|c| c as u8).collect();
        let images = |view: View<'_>| {
            let inside = |&i: &u32| classes.contains(&view.label(i as usize));
            (0..view.len() as u32).filter(inside).collect()
        };
        let (train, test) = (images(dataset.train()), images(dataset.test()));
        let selection = Some(Arc::new(Selection { classes, train, test }));
        Plan { dataset: Arc::clone(dataset), pixels: Pixels::Plain, selection }
    });
    Ok(tasks.collect())
}

/// A stream with its data in memory. Tasks of any seed and trial are made of it, at no cost but
/// that of their permutations.
#[derive(Clone, Debug)]
pub struct TaskStream {
    plans: Vec<Plan>,
    datasets: Vec<(String, Arc<Dataset>)>,
}

impl TaskStream {
    fn new(plans: Vec<Plan>, datasets: Vec<(String, Arc<Dataset>)>) -> Result<Self, StreamError> {
        let stream = Self { plans, datasets };
        let first = &stream.plans[0].dataset;
        for (index, task) in stream.plans.iter().map(Plan::plain).enumerate() {
            let other = &task.dataset;
            if other.inputs() != first.inputs() {
                return Err(StreamError::Inputs {
                    first: first.name().into(),
                    first_inputs: first.inputs(),
                    other: other.name().into(),
                    other_inputs: other.inputs(),
                });
            }
            for (view, part) in [(task.train(), "train on"), (task.test(), "test on")] {
                if view.is_empty() {
                    let name = task.name();
                    return Err(StreamError::Empty { task: index + 1, name, part });
                }
            }
        }
        Ok(stream)
    }

    /// The datasets, each once, with the name or path in the stream, in the order of the stream.
    pub fn datasets(&self) -> impl Iterator<Item = (&str, &Arc<Dataset>)> {
        self.datasets.iter().map(|(name, dataset)| (name.as_str(), dataset))
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.plans.len()
    }

    /// Whether there are no tasks; never so.
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Pixels of an image, the inputs of a network.
    pub fn inputs(&self) -> usize {
        self.plans[0].dataset.inputs()
    }

    /// Classes of the dataset that has most, the outputs of a network.
    pub fn classes(&self) -> usize {
        self.plans.iter().map(|plan| plan.dataset.classes()).max().unwrap_or(0)
    }

    /// The tasks of a trial.
    pub fn tasks(&self, seed: u64, trial: u32) -> Vec<Task> {
        (0..self.plans.len()).map(|index| self.task(index, seed, trial)).collect()
    }

    /// One task of a trial, counted from 0. Its permutation is made now.
    ///
    /// # Panics
    ///
    /// If the stream has no such task.
    pub fn task(&self, index: usize, seed: u64, trial: u32) -> Task {
        let plan = &self.plans[index];
        let [rows, columns] = [plan.dataset.rows(), plan.dataset.columns()];
        let order = |place: usize| permutation(rows * columns, seed, trial, place as u32);
        let arranged = match plan.pixels {
            Pixels::Plain => Arranged::Plain,
            Pixels::Permuted => Arranged::Permuted(order(index)),
            Pixels::Mixed { before, share: 0.0, .. } => Arranged::Permuted(order(before)),
            Pixels::Mixed { before, after, share } => {
                Arranged::Mixed { before: order(before), after: order(after), share }
            }
            Pixels::Rotated(degrees) => {
                Arranged::Rotated { degrees, sources: rotation(rows, columns, degrees).into() }
            }
        };
        Task { arranged, ..plan.plain() }
    }

    /// The size of a task, counted from 0.
    ///
    /// # Panics
    ///
    /// If the stream has no such task.
    pub fn counts(&self, index: usize) -> TaskCounts {
        let task = self.plans[index].plain();
        let (train, test) = (task.train().len(), task.test().len());
        TaskCounts { classes: task.classes().len(), train, test }
    }
}

/// The size of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskCounts {
    /// Number of its classes.
    pub classes: usize,
    /// Number of its training images.
    pub train: usize,
    /// Number of its test images.
    pub test: usize,
}

/// The order of the pixels of a task: pixel j is pixel `permutation[j]` of the image.
pub fn permutation(inputs: usize, seed: u64, trial: u32, task: u32) -> Arc<[u32]> {
    let mut order: Vec<u32> = (0..inputs as u32).collect();
    Stream::new(seed, PERMUTATION_PURPOSE, trial, task).shuffle(&mut order);
    order.into()
}

/// One task: the images of a dataset, perhaps in another order of pixels, perhaps only some
/// classes. Cheap to clone; the images are shared.
#[derive(Clone, Debug)]
pub struct Task {
    dataset: Arc<Dataset>,
    selection: Option<Arc<Selection>>,
    arranged: Arranged,
}

/// The arrangement of the pixels of a task.
#[derive(Clone, Debug)]
enum Arranged {
    Plain,
    Permuted(Arc<[u32]>),
    Mixed { before: Arc<[u32]>, after: Arc<[u32]>, share: f64 },
    Rotated { degrees: f64, sources: Arc<[[(u32, f32); 4]]> },
}

impl Task {
    /// The dataset.
    pub fn dataset(&self) -> &Arc<Dataset> {
        &self.dataset
    }

    /// The order of its pixels, if it has one that is not the dataset's.
    pub fn permutation(&self) -> Option<&[u32]> {
        match &self.arranged {
            Arranged::Permuted(order) => Some(order),
            Arranged::Plain | Arranged::Mixed { .. } | Arranged::Rotated { .. } => None,
        }
    }

    /// The arrangement of its pixels.
    pub fn arrangement(&self) -> Arrangement<'_> {
        match &self.arranged {
            Arranged::Plain => Arrangement::Plain,
            Arranged::Permuted(order) => Arrangement::Permuted(order),
            Arranged::Mixed { before, after, share } => {
                Arrangement::Mixed { before, after, share: *share }
            }
            Arranged::Rotated { sources, .. } => Arrangement::Blended(sources),
        }
    }

    /// Its classes, in order.
    pub fn classes(&self) -> Vec<u8> {
        match &self.selection {
            Some(selection) => selection.classes.clone(),
            None => (0..self.dataset.classes()).map(|class| class as u8).collect(),
        }
    }

    /// What it is, in a few words.
    pub fn name(&self) -> String {
        let name = self.dataset.name();
        match &self.selection {
            Some(selection) => {
                let classes: Vec<String> =
                    selection.classes.iter().map(|class| class.to_string()).collect();
                format!("{name} {}", classes.join(","))
            }
            None => match &self.arranged {
                Arranged::Plain => name.to_owned(),
                Arranged::Permuted(_) => format!("{name} permuted"),
                Arranged::Mixed { share, .. } => {
                    format!("{name} permuted, {:.0} % changed over", 100.0 * share)
                }
                Arranged::Rotated { degrees, .. } => format!("{name} turned by {degrees:.0}°"),
            },
        }
    }

    /// The images to train on.
    pub fn train(&self) -> View<'_> {
        self.view(self.dataset.train(), |selection| &selection.train)
    }

    /// The images to test on.
    pub fn test(&self) -> View<'_> {
        self.view(self.dataset.test(), |selection| &selection.test)
    }

    fn view<'a>(
        &'a self,
        mut view: View<'a>,
        images: impl Fn(&'a Selection) -> &'a Vec<u32>,
    ) -> View<'a> {
        if let Some(selection) = &self.selection {
            view = view.chosen(images(selection), &selection.classes);
        }
        view.arranged(self.arrangement())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::idx;

    fn stream(text: &str) -> TaskStream {
        StreamSpec::read(text).unwrap().load(&Cache::at("nowhere")).unwrap()
    }

    fn message(text: &str) -> String {
        StreamSpec::read(text).unwrap_err().to_string()
    }

    #[test]
    fn permutations_are_permutations_and_all_different() {
        let tasks = stream("permuted:digits:5").tasks(1, 0);
        let orders: Vec<&[u32]> = tasks.iter().map(|task| task.permutation().unwrap()).collect();
        let identity: Vec<u32> = (0..64).collect();
        for (i, order) in orders.iter().enumerate() {
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, identity);
            // The first task is permuted as well.
            assert_ne!(*order, identity);
            assert!(!orders[..i].contains(order));
        }
    }

    #[test]
    fn a_permutation_depends_on_seed_trial_and_task_only() {
        let short = stream("permuted:digits:2").tasks(7, 3);
        let long = stream("permuted:digits:6").tasks(7, 3);
        for (a, b) in short.iter().zip(&long) {
            assert_eq!(a.permutation(), b.permutation());
        }
        let first = |seed, trial| stream("permuted:digits:1").tasks(seed, trial)[0].clone();
        let same = first(7, 3);
        assert_eq!(same.permutation(), long[0].permutation());
        for other in [first(8, 3), first(7, 4)] {
            assert_ne!(same.permutation(), other.permutation());
        }
    }

    /// Records of experiments rest on this. The values are those of an independent program.
    #[test]
    fn the_permutation_of_a_seed_does_not_change() {
        assert_eq!(permutation(8, 1, 0, 0)[..], [6, 2, 1, 4, 5, 3, 0, 7]);
    }

    #[test]
    fn a_permuted_image_has_the_pixels_of_the_image() {
        let task = &stream("permuted:digits:1").tasks(1, 0)[0];
        let (mut plain, mut permuted) = ([0.0; 64], [0.0; 64]);
        task.dataset().test().image(5, &mut plain);
        task.test().image(5, &mut permuted);
        let order = task.permutation().unwrap();
        assert!((0..64).all(|j| permuted[j] == plain[order[j] as usize]));
        assert_eq!(task.test().label(5), task.dataset().test().label(5));
    }

    #[test]
    fn a_task_is_the_same_alone_and_among_all() {
        for text in ["permuted:digits:3", "split:digits:2", "rotated:digits:4", "drift:digits:3:4"]
        {
            let stream = stream(text);
            let (mut a, mut b) = ([0.0; 64], [0.0; 64]);
            for (index, task) in stream.tasks(5, 2).iter().enumerate() {
                let alone = stream.task(index, 5, 2);
                task.train().image(7, &mut a);
                alone.train().image(7, &mut b);
                assert_eq!((a, task.name()), (b, alone.name()), "{text}");
                let counts = stream.counts(index);
                let found = (task.classes().len(), task.train().len(), task.test().len());
                assert_eq!((counts.classes, counts.train, counts.test), found);
            }
        }
    }

    /// From one permutation to the next, image by image, and never back.
    #[test]
    fn a_drift_changes_over_evenly() {
        let tasks = stream("drift:digits:3:4").tasks(1, 0);
        assert_eq!(tasks.len(), 9);
        let pure = [0, 4, 8].map(|i| tasks[i].permutation().unwrap());
        assert!(pure[0] != pure[1] && pure[1] != pure[2]);
        let plain = tasks[0].dataset().train();
        let image = |view: View<'_>, i| {
            let mut out = [0.0; 64];
            view.image(i, &mut out);
            out
        };
        let changed = |stage: usize| -> Vec<bool> {
            let view = tasks[stage].train();
            (0..view.len())
                .map(|i| {
                    let after = image(plain.permuted(pure[1]), i) == image(view, i);
                    assert!(after || image(plain.permuted(pure[0]), i) == image(view, i));
                    after
                })
                .collect()
        };
        let stages: Vec<Vec<bool>> = (0..=4).map(changed).collect();
        for (stage, changed) in stages.iter().enumerate() {
            let share = changed.iter().filter(|c| **c).count() as f64 / changed.len() as f64;
            assert!((share - stage as f64 / 4.0).abs() < 0.01, "stage {stage}: {share}");
        }
        for pair in stages.windows(2) {
            assert!(pair[0].iter().zip(&pair[1]).all(|(before, after)| !before || *after));
        }
    }

    #[test]
    fn rotated_tasks_begin_upright_and_end_before_the_half_turn() {
        let tasks = stream("rotated:digits:4").tasks(1, 0);
        let names: Vec<String> = tasks.iter().map(Task::name).collect();
        assert_eq!(names[0], "digits turned by 0°");
        assert_eq!(names[3], "digits turned by 135°");
        let (mut upright, mut plain) = ([0.0; 64], [0.0; 64]);
        tasks[0].test().image(3, &mut upright);
        tasks[0].dataset().test().image(3, &mut plain);
        assert_eq!(upright, plain);
        tasks[2].test().image(3, &mut upright);
        assert!((0..64).all(|j| upright[j] == plain[(j % 8) * 8 + 7 - j / 8]));
    }

    #[test]
    fn a_split_has_every_class_and_every_image_once() {
        let stream = stream("split:digits:2");
        let tasks = stream.tasks(1, 0);
        let classes: Vec<u8> = tasks.iter().flat_map(Task::classes).collect();
        assert_eq!(classes, (0..10).collect::<Vec<u8>>());
        assert_eq!(tasks.iter().map(|task| task.train().len()).sum::<usize>(), 1437);
        assert_eq!(tasks.iter().map(|task| task.test().len()).sum::<usize>(), 360);
        for (i, task) in tasks.iter().enumerate() {
            let train = task.train();
            for image in 0..train.len() {
                let label = usize::from(train.label(image));
                assert_eq!(label / 2, i);
                assert_eq!(usize::from(train.label_in_task(image)), label % 2);
            }
        }
    }

    #[test]
    fn a_split_that_does_not_divide_is_refused() {
        let spec = StreamSpec::read("split:digits:3").unwrap();
        let error = spec.load(&Cache::at("nowhere")).unwrap_err().to_string();
        assert!(error.contains("1, 2, 5, 10"), "{error}");
    }

    #[test]
    fn a_file_concatenates_its_lines_and_reads_back_from_its_text() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("own");
        for (part, count) in [("train", 3), ("t10k", 2)] {
            let pixels = vec![9; count * 64];
            let images = own.join(format!("{part}-images-idx3-ubyte.gz"));
            idx::write(&images, &[count, 8, 8], &pixels).unwrap();
            let labels: Vec<u8> = (0..count as u8).collect();
            idx::write(&own.join(format!("{part}-labels-idx1-ubyte")), &[count], &labels).unwrap();
        }
        let file = directory.path().join("tasks.txt");
        let lines =
            "# three kinds\npermuted:digits:2\n\nsequence:own, digits # own\nsplit:digits:5\n";
        fs::write(&file, lines).unwrap();
        let spec = StreamSpec::read(file.to_str().unwrap()).unwrap();
        assert_eq!(StreamSpec::read(&spec.to_string()).unwrap(), spec);
        assert_eq!(spec.datasets(), ["digits", own.to_str().unwrap()]);
        let stream = spec.load(&Cache::at("nowhere")).unwrap();
        assert_eq!((stream.len(), stream.inputs(), stream.classes()), (6, 64, 10));
        let names: Vec<String> = stream.tasks(1, 0).iter().map(Task::name).collect();
        let wanted = [
            "digits permuted",
            "digits permuted",
            "own",
            "digits",
            "digits 0,1,2,3,4",
            "digits 5,6,7,8,9",
        ];
        assert_eq!(names, wanted);
        // All tasks share the images.
        let tasks = stream.tasks(1, 0);
        assert!(Arc::ptr_eq(tasks[0].dataset(), tasks[5].dataset()));

        fs::write(&file, "permuted:digits:2\npermuted:digits:0\n").unwrap();
        let error = message(file.to_str().unwrap());
        assert!(error.contains("tasks.txt, line 2") && error.contains("'0'"), "{error}");
        fs::write(&file, "\n# nothing\n").unwrap();
        assert!(message(file.to_str().unwrap()).contains("names no tasks"));
    }

    #[test]
    fn images_of_different_sizes_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        for part in ["train", "t10k"] {
            let images = directory.path().join(format!("{part}-images-idx3-ubyte"));
            idx::write(&images, &[2, 1, 3], &[1; 6]).unwrap();
            let labels = directory.path().join(format!("{part}-labels-idx1-ubyte"));
            idx::write(&labels, &[2], &[0, 1]).unwrap();
        }
        let text = format!("sequence:digits,{}", directory.path().display());
        let error = StreamSpec::read(&text).unwrap().load(&Cache::at("nowhere")).unwrap_err();
        assert!(matches!(error, StreamError::Inputs { first_inputs: 64, other_inputs: 3, .. }));
    }

    #[test]
    fn errors_name_what_is_near() {
        assert!(message("permutd:mnist:3").contains("did you mean 'permuted'"));
        assert!(message("permuted:mnits:3").contains("did you mean 'mnist'"));
        assert!(message("sequence:fashion_mnist,mnist").contains("did you mean 'fashion-mnist'"));
        assert!(message("mnist").contains("write 'sequence:mnist'"));
        assert!(message("permuted:mnist").contains("permuted:DATASET:TASKS"));
        assert!(message("drift:mnist:5").contains("drift:DATASET:PERMUTATIONS:STAGES"));
        assert!(message("drift:mnist:5:0").contains("the number of stages"));
        assert!(message("rotatd:mnist:5").contains("did you mean 'rotated'"));
        assert!(message("permuted:mnist:many").contains("between 1 and 10000"));
        assert!(message("sequence:mnist,,digits").contains("sequence:DATASET"));
        assert!(message("nowhere.txt").contains("is not a task stream"));
    }
}
