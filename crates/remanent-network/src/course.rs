//! A learner's way through a stream of tasks, step by step.
//!
//! Where it stands is three numbers, and everything random is addressed by
//! seed, trial, epoch and step; so a course that is taken up again from what
//! was saved goes on as if it had never stopped.

use remanent_data::dataset::View;
use remanent_math::philox::Stream;
use serde::{Deserialize, Serialize};

use crate::learner::{Learner, Parameters};
use crate::network::Network;
use crate::pass::normal_noise;
use crate::purposes;
use crate::trainer::{Diverged, Moment, Trainer};

/// Where in a course a learner stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The phase: a task, or all of them for `joint`.
    pub phase: usize,
    /// Epochs of the phase that are done.
    pub epoch: usize,
    /// Batches of the epoch that are done.
    pub batch: usize,
}

/// What a call of [`Course::advance`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A step was made.
    Step,
    /// A step was made, the last of an epoch.
    Epoch,
    /// A step was made, the last of a phase. The learner is told of it by the next call.
    Phase,
    /// There was nothing left to do.
    End,
}

/// A learner on its way through a stream.
pub struct Course<'a> {
    parameters: Parameters,
    phases: Vec<Phase<'a>>,
    seed: u64,
    trial: u32,
    /// The network and what its learner remembers.
    pub trainer: Trainer,
    /// Where it stands.
    pub position: Position,
    /// Loss a training image of the epoch under way: sum and count.
    pub epoch_loss: (f64, u64),
    /// Order of the images in the epoch under way; empty if it is still to be drawn.
    pub(crate) order: Vec<u32>,
    images: Vec<f32>,
    labels: Vec<u8>,
}

/// Images that are learned together.
struct Phase<'a> {
    /// One task, or all.
    views: Vec<View<'a>>,
    epochs: usize,
}

impl Phase<'_> {
    fn examples(&self) -> usize {
        self.views.iter().map(View::len).sum()
    }
}

impl<'a> Course<'a> {
    /// Nothing learned yet. `epochs` has one value for each task, or one for all.
    pub fn new(
        parameters: &Parameters,
        views: &[View<'a>],
        epochs: &[usize],
        classes: usize,
        seed: u64,
        trial: u32,
    ) -> Self {
        let epochs_of = |task: usize| epochs[task.min(epochs.len() - 1)];
        let phases = if parameters.learner == Learner::Joint {
            vec![Phase { views: views.to_vec(), epochs: epochs_of(0) }]
        } else {
            let phase =
                |(t, view): (usize, &View<'a>)| Phase { views: vec![*view], epochs: epochs_of(t) };
            views.iter().enumerate().map(phase).collect()
        };
        let architecture = parameters.architecture(views[0].inputs(), classes);
        let spread = parameters.spread as f32;
        let network = Network::random(&architecture, parameters.weights(), spread, seed, trial);
        Self {
            parameters: parameters.clone(),
            phases,
            seed,
            trial,
            trainer: Trainer::new(parameters, network),
            position: Position::default(),
            epoch_loss: (0.0, 0),
            order: Vec::new(),
            images: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Number of phases.
    pub fn phases(&self) -> usize {
        self.phases.len()
    }

    /// Epochs of the whole course.
    pub fn epochs(&self) -> usize {
        self.phases.iter().map(|phase| phase.epochs).sum()
    }

    /// Epochs that are done, of the whole course.
    pub fn epochs_done(&self) -> usize {
        let before: usize = self.phases[..self.position.phase].iter().map(|p| p.epochs).sum();
        before + self.position.epoch
    }

    /// Steps of the whole course.
    pub fn steps(&self) -> u64 {
        let steps = |p: &Phase<'_>| (self.parameters.batches(p.examples()) * p.epochs) as u64;
        self.phases.iter().map(steps).sum()
    }

    /// Whether the next step is the last of an epoch.
    pub fn is_at_last_step(&self) -> bool {
        let phase = match self.is_at_end_of_phase() {
            true => self.phases.get(self.position.phase + 1),
            false => self.phases.get(self.position.phase),
        };
        phase.is_some_and(|phase| {
            self.position.batch + 1 >= self.parameters.batches(phase.examples())
        })
    }

    /// Whether a phase is done, and the next has not begun.
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
        let epoch = self.epochs_done();
        let examples = phase.examples();
        if self.position.batch == 0 || self.order.len() != examples {
            // The order of an epoch is a shuffle of the natural order, not of the one before.
            self.order = (0..examples as u32).collect();
            let stream = Stream::new(self.seed, purposes::ORDER, self.trial, epoch as u32);
            stream.shuffle(&mut self.order);
        }
        if self.position.batch == 0 {
            self.epoch_loss = (0.0, 0);
        }
        let start = self.position.batch * self.parameters.batch;
        let chosen = &self.order[start..examples.min(start + self.parameters.batch)];
        gather(&phase.views, chosen, &mut self.images, &mut self.labels);

        let moment = self.moment(epoch);
        let stream = Stream::new(self.seed, purposes::NOISE, self.trial, self.trainer.steps as u32);
        let noise = &mut normal_noise(stream);
        let loss = self.trainer.step(&self.images, &self.labels, &moment, noise)?;
        self.epoch_loss.0 += loss;
        self.epoch_loss.1 += chosen.len() as u64;

        self.position.batch += 1;
        if self.position.batch < self.parameters.batches(examples) {
            return Ok(Event::Step);
        }
        self.position.batch = 0;
        self.position.epoch += 1;
        let done = self.position.epoch == self.phases[self.position.phase].epochs;
        Ok(if done { Event::Phase } else { Event::Epoch })
    }

    fn moment(&self, epoch: usize) -> Moment {
        let phase = self.position.phase;
        Moment {
            beta: self.parameters.beta.at(phase, epoch, self.epochs()) as f32,
            meta: self.parameters.meta_of(phase) as f32,
            examples: self.phases[phase].examples(),
        }
    }

    /// Ends the phase that is done: a learner that must know is told.
    fn finish_phase(&mut self) {
        let phase = &self.phases[self.position.phase];
        if self.parameters.sees_switches() && self.position.phase + 1 < self.phases.len() {
            self.trainer.end_task(&phase.views[0], self.seed, self.trial, self.position.phase);
        }
        self.position = Position { phase: self.position.phase + 1, epoch: 0, batch: 0 };
    }
}

/// Images and labels of a batch; numbers count through the views one after another.
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
