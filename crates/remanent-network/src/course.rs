//! Training on a stream of tasks, step by step.
//!
//! The position in a course is three numbers, and random numbers are addressed by seed, trial, epoch
//! and step. So a course restored from a checkpoint continues bit for bit.

use remanent_data::dataset::View;
use remanent_math::philox::Stream;
use serde::{Deserialize, Serialize};

use crate::learner::{Learner, Parameters};
use crate::network::Network;
use crate::parameters::{ParameterError, list_of, nth};
use crate::purposes;
use crate::trainer::{Diverged, Moment, Trainer};

/// The position in a course.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The phase: a task, or all of them for `joint`.
    pub phase: usize,
    /// Epochs of the phase completed.
    pub epoch: usize,
    /// Batches of the epoch completed.
    pub batch: usize,
}

/// The outcome of [`Course::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A step was made.
    Step,
    /// A step was made, the last of an epoch.
    Epoch,
    /// A step was made, the last of a phase. The next call ends the task for the learner.
    Phase,
    /// All phases are completed.
    End,
}

/// The training images of one task, open.
pub trait Examples {
    /// The images.
    fn view(&self) -> View<'_>;
}

impl Examples for View<'_> {
    fn view(&self) -> View<'_> {
        *self
    }
}

/// The tasks of a course. Those that are being learned are open, the others take no memory.
pub trait Tasks<'v> {
    /// Number of tasks.
    fn count(&self) -> usize;

    /// Number of training images of a task, from 0.
    fn examples(&self, task: usize) -> usize;

    /// Opens a task. The same task always has the same images in the same order.
    fn open(&self, task: usize) -> Box<dyn Examples + 'v>;
}

impl<'v> Tasks<'v> for Vec<View<'v>> {
    fn count(&self) -> usize {
        self.len()
    }

    fn examples(&self, task: usize) -> usize {
        self[task].len()
    }

    fn open(&self, task: usize) -> Box<dyn Examples + 'v> {
        Box::new(self[task])
    }
}

/// What a [`Course`] trains on, and how.
pub struct CourseSpec<'a, 'v> {
    /// Network and learner.
    pub parameters: &'a Parameters,
    /// The training images of each task; a vector of views, or tasks that are opened when needed.
    pub tasks: Box<dyn Tasks<'v> + 'v>,
    /// Pixels of an image.
    pub inputs: usize,
    /// Epochs: one value for all tasks, or one for each (one in all for `joint`).
    pub epochs: &'a [usize],
    /// Number of classes.
    pub classes: usize,
    /// The seed.
    pub seed: u64,
    /// The number of the trial with this seed.
    pub trial: u32,
}

impl CourseSpec<'_, '_> {
    fn phases(&self) -> usize {
        if self.parameters.learner == Learner::Joint { 1 } else { self.tasks.count() }
    }

    fn check(&self) -> Result<(), ParameterError> {
        let (tasks, phases) = (self.tasks.count(), self.phases());
        if tasks == 0 {
            return Err(ParameterError::invalid("a course needs at least one task"));
        }
        list_of("epochs", self.epochs.len(), phases, phases)?;
        if (0..tasks).any(|task| self.tasks.examples(task) == 0) {
            return Err(ParameterError::invalid("every task needs images"));
        }
        let epochs = (0..phases).map(|phase| nth(self.epochs, phase)).sum();
        self.parameters.check(phases, epochs)
    }
}

/// Fails unless the images of an open task fit the network.
fn check_images(view: &View<'_>, inputs: usize, classes: usize) -> Result<(), ParameterError> {
    let fits = |i| usize::from(view.label_in_task(i)) < classes;
    if view.inputs() == inputs && (0..view.len()).all(fits) {
        return Ok(());
    }
    Err(ParameterError::Invalid(format!(
        "every task needs images of {inputs} pixels with labels below {classes}"
    )))
}

/// What a learner has learned before a course begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Before {
    pub(crate) tasks: usize,
    pub(crate) epochs: usize,
}

/// A learner that is trained on a stream of tasks.
pub struct Course<'a> {
    parameters: Parameters,
    tasks: Box<dyn Tasks<'a> + 'a>,
    phases: Vec<Phase>,
    /// The tasks of a phase, open.
    open: Option<(usize, Vec<Box<dyn Examples + 'a>>)>,
    seed: u64,
    trial: u32,
    pub(crate) trainer: Trainer,
    /// What the learner had learned before.
    before: Before,
    pub(crate) position: Position,
    /// Sum and count of the losses of the current epoch.
    pub(crate) epoch_loss: (f64, u64),
    /// Order of the images in the current epoch; empty if not drawn yet.
    pub(crate) order: Vec<u32>,
    images: Vec<f32>,
    labels: Vec<u8>,
}

/// Tasks learned together: one, or all.
struct Phase {
    /// Number of images.
    examples: usize,
    epochs: usize,
    /// Epochs of the phases before.
    epochs_before: usize,
}

impl<'a> Course<'a> {
    /// Starts a course.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or images, labels and epochs do not match.
    pub fn new(spec: CourseSpec<'_, 'a>) -> Result<Self, ParameterError> {
        spec.check()?;
        let CourseSpec { parameters, inputs, classes, seed, trial, .. } = spec;
        let network = parameters.initial_network(inputs, classes, seed, trial)?;
        Self::following(spec, Trainer::new(parameters, network)?, Before::default())
    }

    /// Continues with further tasks. The random numbers are those of the tasks and epochs after those
    /// before; `trainer` is a learner with the parameters of `spec`.
    pub(crate) fn following(
        spec: CourseSpec<'_, 'a>,
        trainer: Trainer,
        before: Before,
    ) -> Result<Self, ParameterError> {
        spec.check()?;
        let phases = phases(&spec);
        let CourseSpec { parameters, tasks, inputs, classes, seed, trial, .. } = spec;
        for task in 0..tasks.count().min(CHECKED) {
            check_images(&tasks.open(task).view(), inputs, classes)?;
        }
        let architecture = trainer.network.architecture();
        if (inputs, classes) != (architecture.inputs(), architecture.outputs()) {
            return Err(ParameterError::Invalid(format!(
                "the network has {} inputs and {} classes, and the task {inputs} and {classes}",
                architecture.inputs(),
                architecture.outputs(),
            )));
        }
        Ok(Self {
            parameters: parameters.clone(),
            tasks,
            phases,
            open: None,
            seed,
            trial,
            trainer,
            before,
            position: Position::default(),
            epoch_loss: (0.0, 0),
            order: Vec::new(),
            images: Vec::new(),
            labels: Vec::new(),
        })
    }

    /// The network and the state of its learner.
    pub fn trainer(&self) -> &Trainer {
        &self.trainer
    }

    /// The network. During an epoch, mean and variance of its weights may be those of an earlier step; θ is
    /// not.
    pub fn network(&self) -> &Network {
        &self.trainer.network
    }

    /// The learner itself.
    pub(crate) fn into_trainer(self) -> Trainer {
        self.trainer
    }

    /// Sets β of the network until the next step.
    pub fn set_beta(&mut self, beta: f32) {
        self.trainer.set_beta(beta);
    }

    /// The position.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Sum and number of the losses of the training images in the current epoch.
    pub fn epoch_loss(&self) -> (f64, u64) {
        self.epoch_loss
    }

    /// Number of phases.
    pub fn phases(&self) -> usize {
        self.phases.len()
    }

    /// Epochs of the whole course.
    pub fn epochs(&self) -> usize {
        self.phases.last().map_or(0, |phase| phase.epochs_before + phase.epochs)
    }

    /// Epochs completed, of the whole course.
    pub fn epochs_done(&self) -> usize {
        let phase = self.phases.get(self.position.phase);
        phase.map_or_else(|| self.epochs(), |phase| phase.epochs_before + self.position.epoch)
    }

    /// Steps of the whole course.
    pub fn steps(&self) -> u64 {
        let steps = |p: &Phase| (self.parameters.batches(p.examples) * p.epochs) as u64;
        self.phases.iter().map(steps).sum()
    }

    /// Whether the next step is the last of an epoch.
    pub fn is_at_last_step(&self) -> bool {
        let phase = match self.is_at_end_of_phase() {
            true => self.phases.get(self.position.phase + 1),
            false => self.phases.get(self.position.phase),
        };
        phase
            .is_some_and(|phase| self.position.batch + 1 >= self.parameters.batches(phase.examples))
    }

    /// Whether a phase is completed and the next has not begun.
    pub fn is_at_end_of_phase(&self) -> bool {
        let phase = self.phases.get(self.position.phase);
        phase.is_some_and(|phase| self.position.epoch == phase.epochs)
    }

    /// Makes one step.
    pub fn advance(&mut self) -> Result<Event, Diverged> {
        if self.is_at_end_of_phase() {
            self.finish_phase();
        }
        let Some(phase) = self.phases.get(self.position.phase) else {
            return Ok(Event::End);
        };
        let epoch = self.before.epochs + self.epochs_done();
        let examples = phase.examples;
        if self.position.batch == 0 || self.order.len() != examples {
            // A shuffle of the natural order, not of the previous one.
            self.order = (0..examples as u32).collect();
            let stream = Stream::new(self.seed, purposes::ORDER, self.trial, epoch as u32);
            stream.shuffle(&mut self.order);
        }
        if self.position.batch == 0 {
            self.epoch_loss = (0.0, 0);
        }
        let start = self.position.batch * self.parameters.batch;
        self.open_phase();
        let chosen = &self.order[start..examples.min(start + self.parameters.batch)];
        let views: Vec<View<'_>> =
            self.open.iter().flat_map(|(_, open)| open).map(|task| task.view()).collect();
        gather(&views, chosen, &mut self.images, &mut self.labels);

        let moment = self.moment(epoch);
        let stream = Stream::new(self.seed, purposes::NOISE, self.trial, self.trainer.steps as u32);
        let mut noise = self.parameters.noise(stream);
        let loss = self.trainer.advance(&self.images, &self.labels, &moment, &mut noise)?;
        self.epoch_loss.0 += loss;
        self.epoch_loss.1 += chosen.len() as u64;

        self.position.batch += 1;
        if self.position.batch < self.parameters.batches(examples) {
            return Ok(Event::Step);
        }
        self.trainer.settle();
        self.position.batch = 0;
        self.position.epoch += 1;
        let done = self.position.epoch == self.phases[self.position.phase].epochs;
        Ok(if done { Event::Phase } else { Event::Epoch })
    }

    fn moment(&self, epoch: usize) -> Moment {
        let Position { phase, epoch: epochs, batch } = self.position;
        let Phase { epochs: all, .. } = self.phases[phase];
        let batches = self.parameters.batches(self.phases[phase].examples);
        let (steps, all) = (epochs * batches + batch, all * batches);
        let Parameters { lr_rule, lr_schedule, .. } = self.parameters;
        let (task, of) = (self.before.tasks + phase, self.before.epochs + self.epochs());
        Moment {
            rate: lr_rule.factor(all) * lr_schedule.factor(steps, all),
            beta: self.parameters.beta.at(task, epoch, of) as f32,
            meta: self.parameters.meta_of(task) as f32,
            examples: self.phases[phase].examples,
        }
    }

    /// Opens the tasks of the phase, unless they are open.
    fn open_phase(&mut self) {
        let phase = self.position.phase;
        if self.open.as_ref().is_some_and(|(open, _)| *open == phase) {
            return;
        }
        let joint = self.parameters.learner == Learner::Joint;
        let tasks = if joint { 0..self.tasks.count() } else { phase..phase + 1 };
        self.open = Some((phase, tasks.map(|task| self.tasks.open(task)).collect()));
    }

    /// Ends a completed phase.
    fn finish_phase(&mut self) {
        let phase = self.position.phase;
        if self.parameters.sees_switches() && phase + 1 < self.phases.len() {
            self.open_phase();
            if let Some(task) = self.open.iter().flat_map(|(_, open)| open).next() {
                self.trainer.end_task(&task.view(), self.seed, self.trial, phase);
            }
        }
        self.position = Position { phase: phase + 1, epoch: 0, batch: 0 };
    }
}

/// Tasks whose labels are checked before the start: all of a stream of ordinary length.
const CHECKED: usize = 100;

fn phases(spec: &CourseSpec<'_, '_>) -> Vec<Phase> {
    let tasks = spec.tasks.count();
    let mut phases = Vec::with_capacity(spec.phases());
    let mut epochs_before = 0;
    for phase in 0..spec.phases() {
        let examples = match spec.parameters.learner {
            Learner::Joint => (0..tasks).map(|task| spec.tasks.examples(task)).sum(),
            _ => spec.tasks.examples(phase),
        };
        let epochs = nth(spec.epochs, phase);
        phases.push(Phase { examples, epochs, epochs_before });
        epochs_before += epochs;
    }
    phases
}

/// Images and labels of a batch; the chosen indices count through the views one after another.
fn gather(views: &[View<'_>], chosen: &[u32], images: &mut Vec<f32>, labels: &mut Vec<u8>) {
    let inputs = views[0].inputs();
    images.resize(chosen.len() * inputs, 0.0);
    labels.clear();
    for (&number, image) in chosen.iter().zip(images.chunks_exact_mut(inputs)) {
        let (mut view, mut index) = (0, number as usize);
        while index >= views[view].len() {
            index -= views[view].len();
            view += 1;
        }
        views[view].image(index, image);
        labels.push(views[view].label_in_task(index));
    }
}
