//! Learning by gradients: SGD and GD in field or magnetisation space, with or without the KL term.
//!
//! The protocol is that of the published scripts: the gradient is summed over the batch; the KL
//! term is weighted by batch/M, so that an epoch adds it once; at a switch of tasks the student's
//! field becomes the anchor of the KL term and the optimiser is reset.

use serde::{Deserialize, Serialize};

use crate::bits;
use crate::fading::Fading;
use crate::loss::{Pull, Workspace, divergence};
use crate::observables::{Overlaps, error_on};
use crate::optimizer::{Memory, Optimizer, Rule};
use crate::parameters::{ParameterError, list_of, nth};
use crate::randomness::{Purpose, Trial};
use crate::ranges;
use crate::student::{Space, Student};
use crate::world::World;

/// Number of patterns in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// All patterns of the task.
    Full,
    /// This number, or all patterns if there are fewer.
    Size(usize),
    /// max(⌈M/parts⌉, 10); the published learning curves use 20 parts.
    Part(usize),
}

impl Batch {
    /// The number of patterns in a step, of `patterns` in all.
    pub fn size(self, patterns: usize) -> usize {
        match self {
            Self::Full => patterns,
            Self::Size(size) => size.min(patterns),
            Self::Part(parts) => patterns.div_ceil(parts.max(1)).max(10).min(patterns),
        }
    }
}

/// The schedule of slow SGD: q_⋆ rises linearly over the epochs of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rise {
    /// q_⋆ in the first epoch.
    pub from: f64,
    /// q_⋆ in the last epoch.
    pub to: f64,
}

/// Parameters of a gradient learner. Lists hold one value, or one for each task.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientLearner {
    /// The space of the parameters.
    pub space: Space,
    /// b in m = tanh(b θ).
    pub field_scale: f64,
    /// The optimiser.
    pub rule: Rule,
    /// Learning rates.
    pub learning_rate: Vec<f64>,
    /// μ of the momentum rule.
    pub momentum: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Patterns in a step.
    pub batch: Batch,
    /// Factor γ of the KL term to the previous task: one value, or one for each switch of tasks.
    pub gamma: Vec<f64>,
    /// How a state fades before it becomes the anchor of the next task (the paper: not at all).
    pub fading: Fading,
    /// Whether the first task has the uniform prior (the paper: no).
    pub uniform_prior: bool,
    /// The schedule of q_⋆, if the norm is prescribed.
    pub rise: Option<Rise>,
    /// Epochs of each task.
    pub epochs: Vec<usize>,
    /// Record a row every this many epochs, and at the end of each task.
    pub record_every: usize,
}

impl GradientLearner {
    /// Checks every parameter against its range.
    pub fn check(&self, tasks: usize) -> Result<(), ParameterError> {
        ranges::FIELD_SCALE.check("field_scale", self.field_scale)?;
        list_of("lr", self.learning_rate.len(), tasks, tasks)?;
        ranges::LR.check_all("lr", self.learning_rate.iter().copied())?;
        ranges::MOMENTUM.check("momentum", self.momentum)?;
        ranges::WEIGHT_DECAY.check("weight_decay", self.weight_decay)?;
        if let Batch::Size(size) | Batch::Part(size) = self.batch {
            ranges::BATCH.check("batch", size as f64)?;
        }
        list_of("gamma", self.gamma.len(), tasks.saturating_sub(1), tasks)?;
        ranges::GAMMA.check_all("gamma", self.gamma.iter().copied())?;
        self.fading.check(tasks)?;
        if let Some(Rise { from, to }) = self.rise {
            ranges::Q_STAR.check_all("q_star", [from, to])?;
        }
        list_of("epochs", self.epochs.len(), tasks, tasks)?;
        ranges::EPOCHS.check_all("epochs", self.epochs.iter().map(|&epochs| epochs as f64))?;
        ranges::RECORD_EVERY.check("record_every", self.record_every as f64)?;
        Ok(())
    }

    /// Epochs of a task.
    pub fn epochs_of(&self, task: usize) -> usize {
        nth(&self.epochs, task)
    }

    fn optimizer(&self, task: usize) -> Optimizer {
        Optimizer {
            rule: self.rule,
            learning_rate: nth(&self.learning_rate, task) as f32,
            momentum: self.momentum as f32,
            weight_decay: self.weight_decay as f32,
        }
    }
}

/// What is recorded after an epoch, or after a sweep of the Boltzmann sampler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The number of epochs, or of sweeps, since the start of the first task; 0 is before learning.
    #[serde(rename = "epoch")]
    pub time: usize,
    /// The task that is being learned, from 1.
    pub task: usize,
    /// Overlaps with all teachers.
    #[serde(flatten)]
    pub overlaps: Overlaps,
    /// q_⋆ = Σ m²/N.
    pub q_star: f64,
    /// L of the task that is being learned, summed over its patterns.
    pub loss: f64,
    /// KL to the anchor; 0 if there is none.
    pub kl: f64,
    /// Errors on fresh patterns, one for each task; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub eps_fresh: Vec<f64>,
}

/// Trains a student on one task after another.
pub struct Trainer<'a> {
    learner: &'a GradientLearner,
    world: &'a World,
    trial: Trial,
    student: Student,
    progress: Progress,
    order: Vec<u32>,
    workspace: Workspace,
}

/// The state of a training: a training resumed from it continues bit for bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Progress {
    /// The task that is being learned, from 0.
    task: usize,
    /// Epochs of this task completed.
    epoch: usize,
    /// Epochs completed in all.
    total: usize,
    #[serde(with = "bits")]
    parameters: Vec<f32>,
    /// The anchor's fields; empty if there is no anchor.
    #[serde(with = "bits")]
    anchor: Vec<f32>,
    memory: Memory,
    rows: Vec<Row>,
}

impl<'a> Trainer<'a> {
    /// Starts a training.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(
        learner: &'a GradientLearner,
        world: &'a World,
        trial: Trial,
    ) -> Result<Self, ParameterError> {
        learner.check(world.len())?;
        let scale = learner.field_scale as f32;
        let mut student = Student::random(learner.space, scale, world.sites(), trial);
        if let Some(rise) = learner.rise {
            student.rescale(rise.from);
        }
        let anchor = if learner.uniform_prior { vec![0.0; world.sites()] } else { Vec::new() };
        let progress = Progress {
            task: 0,
            epoch: 0,
            total: 0,
            parameters: Vec::new(),
            anchor,
            memory: Memory::default(),
            rows: Vec::new(),
        };
        let (order, workspace) = (Vec::new(), Workspace::default());
        let mut trainer = Self { learner, world, trial, student, progress, order, workspace };
        trainer.record();
        Ok(trainer)
    }

    /// Continues a training.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or `progress` is that of another problem.
    pub fn resume(
        learner: &'a GradientLearner,
        world: &'a World,
        trial: Trial,
        progress: Progress,
    ) -> Result<Self, ParameterError> {
        learner.check(world.len())?;
        let fits = progress.parameters.len() == world.sites()
            && [0, world.sites()].contains(&progress.anchor.len())
            && progress.task <= world.len();
        if !fits {
            return Err(ParameterError::invalid("the saved progress is that of another problem"));
        }
        let scale = learner.field_scale as f32;
        let student = Student::new(learner.space, scale, progress.parameters.clone());
        let (order, workspace) = (Vec::new(), Workspace::default());
        Ok(Self { learner, world, trial, student, progress, order, workspace })
    }

    /// The state to save.
    pub fn progress(&self) -> Progress {
        Progress { parameters: self.student.parameters.clone(), ..self.progress.clone() }
    }

    /// Epochs completed in all.
    pub fn epochs_done(&self) -> usize {
        self.progress.total
    }

    /// Number of pattern presentations so far.
    pub fn patterns_seen(&self) -> usize {
        let task = self.progress.task;
        let before = |t| self.learner.epochs_of(t) * self.world.patterns(t).len();
        let now = if self.is_finished() { 0 } else { self.world.patterns(task).len() };
        (0..task).map(before).sum::<usize>() + self.progress.epoch * now
    }

    /// Whether all tasks are learned.
    pub fn is_finished(&self) -> bool {
        self.progress.task == self.world.len()
    }

    /// Teachers and data.
    pub(crate) fn world(&self) -> &'a World {
        self.world
    }

    /// The student.
    pub fn student(&self) -> &Student {
        &self.student
    }

    /// The rows recorded.
    pub fn into_rows(self) -> Vec<Row> {
        self.progress.rows
    }

    /// One epoch: every pattern of the task once. Does nothing once all tasks are learned.
    pub fn epoch(&mut self) {
        if self.is_finished() {
            return;
        }
        let task = self.progress.task;
        let patterns = self.world.patterns(task);
        let size = self.learner.batch.size(patterns.len());
        let optimizer = self.learner.optimizer(task);
        let q_star = self.learner.rise.map(|rise| self.norm(rise));
        self.prepare_order(size);
        for chosen in self.order.chunks(size) {
            let share = chosen.len() as f64 / patterns.len() as f64;
            let weight = (self.strength() * share) as f32;
            let pull = (!self.progress.anchor.is_empty() && weight > 0.0)
                .then_some(Pull { fields: &self.progress.anchor, weight });
            let gradient = self.workspace.gradient(&self.student, patterns, chosen, pull);
            self.progress.memory.step(&optimizer, &mut self.student.parameters, gradient);
            self.student.refresh();
            if let Some(q_star) = q_star {
                self.student.rescale(q_star);
            }
        }
        self.progress.epoch += 1;
        self.progress.total += 1;
        let last = self.progress.epoch == self.learner.epochs_of(task);
        if last || self.progress.total.is_multiple_of(self.learner.record_every) {
            self.record();
        }
        if last {
            self.switch();
        }
    }

    /// Factor of the KL term in the current task.
    fn strength(&self) -> f64 {
        match self.progress.task {
            0 => 1.0,
            task => nth(&self.learner.gamma, task - 1),
        }
    }

    /// q_⋆ of the current epoch.
    fn norm(&self, rise: Rise) -> f64 {
        let steps = (self.learner.epochs_of(self.progress.task) - 1).max(1);
        rise.from + (rise.to - rise.from) * self.progress.epoch as f64 / steps as f64
    }

    fn prepare_order(&mut self, size: usize) {
        let (task, epoch) = (self.progress.task, self.progress.epoch);
        let count = self.world.patterns(task).len();
        self.order.clear();
        self.order.extend(0..count as u32);
        if size < count {
            self.trial.stream(Purpose::Order, task, epoch).shuffle(&mut self.order);
        }
    }

    fn switch(&mut self) {
        let (fading, switch) = (&self.learner.fading, self.progress.task);
        let anchor = |site: usize| fading.anchor(switch, self.student.field(site)) as f32;
        self.progress.anchor = (0..self.world.sites()).map(anchor).collect();
        self.progress.memory = Memory::default();
        self.progress.task += 1;
        self.progress.epoch = 0;
        if let (Some(rise), false) = (self.learner.rise, self.is_finished()) {
            self.student.rescale(rise.from);
        }
    }

    fn record(&mut self) {
        let task = self.progress.task;
        let patterns = self.world.patterns(task);
        let m = self.student.magnetisations();
        let eps_fresh = (0..self.world.len())
            .filter_map(|task| Some(error_on(self.world.fresh_patterns(task)?, m)))
            .collect();
        let all: Vec<u32> = (0..patterns.len() as u32).collect();
        let kl = match self.progress.anchor.as_slice() {
            [] => 0.0,
            anchor => divergence(&self.student, anchor),
        };
        self.progress.rows.push(Row {
            time: self.progress.total,
            task: task + 1,
            overlaps: Overlaps::measure(self.world, |i| f64::from(m[i])),
            q_star: self.student.q_star(),
            loss: self.workspace.loss(&self.student, patterns, &all),
            kl,
            eps_fresh,
        });
    }
}
