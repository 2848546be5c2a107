//! The images that a training needs, loaded once for all its trials, and what they are known by.
//!
//! A dataset that is known by name is always the same: it is inside the program, or its files were
//! compared with their hashes. What the user names by a path may change from one command to the next,
//! whatever the file is called. Results depend on its content, and so the key of every trial has a digest
//! of it, taken from the very images that are trained on.

use std::sync::Arc;

use remanent_data::dataset::{Dataset, DatasetError, View};
use remanent_data::sources::{self, Cache, SourceError};
use remanent_data::stream::{Task, TaskCounts, TaskStream};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::training::config::{Training, TrainingError};

/// A stream, and images that no task has.
#[derive(Clone, Debug)]
pub struct Material {
    stream: TaskStream,
    ood: Option<Arc<Dataset>>,
    /// The digests of the user's own images by their paths.
    own: Map<String, Value>,
}

/// Why there are no images to train on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MaterialError {
    /// The configuration is invalid.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// The images to be told from those of the tasks are not there.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl Material {
    /// Loads what a training needs, and checks that it fits.
    pub fn load(training: &Training, cache: &Cache) -> Result<Self, MaterialError> {
        let spec = training.spec()?;
        let stream = spec.load(cache).map_err(TrainingError::from)?;
        let ood = match &training.ood {
            None => None,
            Some(name) => match stream.datasets().find(|(known, _)| known == name) {
                // Not read again: it may have changed a moment ago.
                Some((_, dataset)) => Some(Arc::clone(dataset)),
                None => Some(Arc::new(sources::open(name, cache)?)),
            },
        };
        if let Some(ood) = &ood
            && ood.inputs() != stream.inputs()
        {
            return Err(TrainingError::Other(format!(
                "images of {} have {} pixels, and those of the stream {}",
                ood.name(),
                ood.inputs(),
                stream.inputs()
            ))
            .into());
        }
        let mut own = digests(stream.datasets());
        own.extend(digests(training.ood.as_deref().zip(ood.as_ref())));
        let material = Self { stream, ood, own };
        material.check(training)?;
        Ok(material)
    }

    /// Loads what several trainings need; equal streams are loaded once.
    pub fn load_all(trainings: &[&Training], cache: &Cache) -> Result<Vec<Self>, MaterialError> {
        let mut materials: Vec<Self> = Vec::new();
        for (i, training) in trainings.iter().enumerate() {
            let same = |other: &&Training| {
                (&other.stream, &other.ood) == (&training.stream, &training.ood)
            };
            match trainings[..i].iter().position(same) {
                Some(earlier) => {
                    materials[earlier].check(training)?;
                    materials.push(materials[earlier].clone());
                }
                None => materials.push(Self::load(training, cache)?),
            }
        }
        Ok(materials)
    }

    /// Fails unless a training fits: to ask for more images than there are is noticed before
    /// anything runs.
    pub fn check(&self, training: &Training) -> Result<(), TrainingError> {
        training.check(self.task_count())?;
        let mut checked = None;
        for index in 0..self.task_count() {
            let counts = self.stream.counts(index);
            // Tasks of a stream are mostly alike.
            if checked.replace(counts) != Some(counts) {
                let task = self.task(index, 0, 0);
                training.train_view(&task)?;
                training.test_view(&task)?;
            }
        }
        Ok(())
    }

    /// A task of a trial, from 0. Its permutation is made now.
    pub fn task(&self, index: usize, seed: u64, trial: u32) -> Task {
        self.stream.task(index, seed, trial)
    }

    /// The size of a task, from 0.
    pub fn counts(&self, index: usize) -> TaskCounts {
        self.stream.counts(index)
    }

    /// Number of tasks.
    pub fn task_count(&self) -> usize {
        self.stream.len()
    }

    /// Pixels of an image.
    pub fn inputs(&self) -> usize {
        self.stream.inputs()
    }

    /// Outputs of the network: the classes of the task that has most. Tasks share them.
    pub fn classes(&self) -> usize {
        (0..self.task_count()).map(|task| self.counts(task).classes).max().unwrap_or(1)
    }

    /// The test images that no task has.
    pub fn ood(&self) -> Option<View<'_>> {
        self.ood.as_deref().map(Dataset::test)
    }

    /// The digests of the user's own images by the paths that the stream and `ood` name.
    pub fn own(&self) -> &Map<String, Value> {
        &self.own
    }

    /// What tells the user's own images from others under the same paths, as a key has it. The stream
    /// in the key says which path stands in which place.
    pub fn fingerprint(&self) -> Value {
        if self.own.is_empty() { json!([]) } else { json!(self.own) }
    }

    /// The dataset of the stream that has the images which no task should have, if one does.
    pub fn stream_has_ood(&self) -> Option<&str> {
        let ood = self.ood.as_ref()?;
        // Known sets are different sets; of the user's own, the content says it.
        let same = |(reference, dataset): &(&str, &Arc<Dataset>)| {
            Arc::ptr_eq(dataset, ood)
                || (!sources::is_known(reference) && digest(dataset) == digest(ood))
        };
        self.stream.datasets().find(same).map(|(reference, _)| reference)
    }
}

impl Training {
    /// The images of a task that are trained on.
    pub fn train_view<'a>(&self, task: &'a Task) -> Result<View<'a>, TrainingError> {
        let wrong = |key| move |error| wrong_count(key, task, &error);
        let mut view = task.train();
        if let Some(count) = self.validation {
            view = view.split_end(count).map_err(wrong("validation"))?.0;
        }
        match self.train_images {
            Some(count) => view.first(count).map_err(wrong("train_images")),
            None => Ok(view),
        }
    }

    /// How many images of a task are trained on.
    pub fn train_count(&self, counts: TaskCounts) -> usize {
        let left = counts.train - self.validation.unwrap_or(0).min(counts.train);
        self.train_images.map_or(left, |count| count.min(left))
    }

    /// The images of a task that are tested on: of the test set, or held back from training.
    pub fn test_view<'a>(&self, task: &'a Task) -> Result<View<'a>, TrainingError> {
        let wrong = |key| move |error| wrong_count(key, task, &error);
        let view = match self.validation {
            Some(count) => task.train().split_end(count).map_err(wrong("validation"))?.1,
            None => task.test(),
        };
        match self.test_images {
            Some(count) => view.first(count).map_err(wrong("test_images")),
            None => Ok(view),
        }
    }
}

/// `key` is the option that asks for more images than a task has.
fn wrong_count(key: &str, task: &Task, error: &DatasetError) -> TrainingError {
    TrainingError::Other(format!("{key}, {}: {error}", task.name()))
}

/// The digests of the datasets that are named by paths, by these paths.
pub fn digests<'a>(
    datasets: impl IntoIterator<Item = (&'a str, &'a Arc<Dataset>)>,
) -> Map<String, Value> {
    let own = datasets.into_iter().filter(|(reference, _)| !sources::is_known(reference));
    own.map(|(reference, dataset)| (reference.to_owned(), json!(digest(dataset)))).collect()
}

/// The digest of all images and labels, and of which are there to train on and which to test on.
fn digest(dataset: &Dataset) -> String {
    let mut hasher = blake3::Hasher::new();
    let (mut image, mut bytes) = (vec![0.0; dataset.inputs()], Vec::new());
    for size in [dataset.rows(), dataset.columns()] {
        hasher.update(&(size as u64).to_le_bytes());
    }
    for view in [dataset.train(), dataset.test()] {
        hasher.update(&(view.len() as u64).to_le_bytes());
        for i in 0..view.len() {
            view.image(i, &mut image);
            bytes.clear();
            bytes.push(view.label(i));
            bytes.extend(image.iter().flat_map(|x| x.to_le_bytes()));
            hasher.update(&bytes);
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
