//! A stream with its data: which images each task has, and how their pixels are arranged.

use std::sync::Arc;

use super::error::StreamError;
use super::spec::{Piece, StreamSpec};
use super::task::{Arranged, Selection, Task, permutation};
use crate::dataset::{Dataset, View};
use crate::rotation::rotation;
use crate::sources::{self, Cache};

impl StreamSpec {
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
        for piece in self.pieces() {
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

    /// Whether there are no tasks. A stream that was read has at least one.
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
