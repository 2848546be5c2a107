//! The images that a training needs, loaded once for all its trials.

use remanent_data::dataset::{Dataset, DatasetError, View};
use remanent_data::sources::{self, Cache, SourceError};
use remanent_data::stream::{Task, TaskStream};
use serde_json::{Value, json};
use thiserror::Error;

use crate::training::config::{Training, TrainingError};

/// A stream, and images that no task has.
#[derive(Clone, Debug)]
pub struct Material {
    stream: TaskStream,
    ood: Option<Dataset>,
    fingerprint: Value,
}

/// Why there are no images to train on.
#[derive(Debug, Error)]
pub enum MaterialError {
    /// The configuration makes no sense.
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
            Some(name) => Some(sources::open(name, cache)?),
            None => None,
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
        // Sets that are known by name were checked by hash when they were opened. Those of the
        // user are known by path, and what is there may change.
        let own = |name: &&str| sources::known(name).is_err() && **name != *"digits";
        let mut tasks = stream.tasks(0, 0);
        tasks.dedup_by(|a, b| a.dataset().name() == b.dataset().name());
        let digests: Vec<Value> = tasks
            .iter()
            .filter(|task| own(&task.dataset().name()))
            .map(|task| json!([task.dataset().name(), digest(task.dataset())]))
            .collect();
        let material = Self { stream, ood, fingerprint: json!(digests) };
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
        for task in self.tasks(0, 0) {
            training.train_view(&task)?;
            training.test_view(&task)?;
        }
        Ok(())
    }

    /// The tasks of a trial.
    pub fn tasks(&self, seed: u64, trial: u32) -> Vec<Task> {
        self.stream.tasks(seed, trial)
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
        self.tasks(0, 0).iter().map(|task| task.classes().len()).max().unwrap_or(1)
    }

    /// The test images that no task has.
    pub fn ood(&self) -> Option<View<'_>> {
        self.ood.as_ref().map(Dataset::test)
    }

    /// What tells the user's own images from others of the same name.
    pub fn fingerprint(&self) -> &Value {
        &self.fingerprint
    }
}

impl Training {
    /// The images of a task that are trained on.
    pub fn train_view<'a>(&self, task: &'a Task) -> Result<View<'a>, TrainingError> {
        let wrong = |error| wrong_count(task, &error);
        let mut view = task.train();
        if let Some(count) = self.validation {
            view = view.split_end(count).map_err(wrong)?.0;
        }
        match self.train_images {
            Some(count) => view.first(count).map_err(wrong),
            None => Ok(view),
        }
    }

    /// The images of a task that are tested on: of the test set, or held back from training.
    pub fn test_view<'a>(&self, task: &'a Task) -> Result<View<'a>, TrainingError> {
        let wrong = |error| wrong_count(task, &error);
        let view = match self.validation {
            Some(count) => task.train().split_end(count).map_err(wrong)?.1,
            None => task.test(),
        };
        match self.test_images {
            Some(count) => view.first(count).map_err(wrong),
            None => Ok(view),
        }
    }
}

fn wrong_count(task: &Task, error: &DatasetError) -> TrainingError {
    TrainingError::Other(format!("{}: {error}", task.name()))
}

fn digest(dataset: &Dataset) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut image = vec![0.0; dataset.inputs()];
    for view in [dataset.train(), dataset.test()] {
        for i in 0..view.len() {
            view.image(i, &mut image);
            hasher.update(&[view.label(i)]);
            image.iter().for_each(|x| {
                hasher.update(&x.to_le_bytes());
            });
        }
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
