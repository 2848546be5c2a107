//! One step of learning, for every learner.
//!
//! The products of a layer are computed for a few upstream neurons at a time. Gradient,
//! regularisers, optimiser and the moments of the new weights follow while these are in the cache:
//! the gradient of a whole layer is never stored. With AVX-512, gradient and step of binary weights are one loop over
//! small tiles (`fused/layer.rs`).
//!
//! With a batch of one image there are no matrix products (`single.rs`). An input that is zero
//! has no gradient of the likelihood. Its weights are left alone where nothing else moves
//! them: gradient descent (`--optimizer sgd`) without an anchor, of every learner but `si`. Adam moves
//! them by its moments, and anchors pull them, so their step is made.

mod memory;
mod rule;

use remanent_data::dataset::View;
use remanent_math::adam::{self, AdamStep};
use thiserror::Error;

use crate::architecture::Normalisation;
use crate::fused;
use crate::fused::layer::Downstream;
use crate::fused::previous::Previous;
use crate::kernels;
use crate::learner::{Fisher, Learner, Parameters};
use crate::network::{Layer, Network, Weights};
use crate::pages::filled;
use crate::parameters::ParameterError;
use crate::pass::{GradientTile, Noise, Pass};
use crate::product::Precision;
use crate::rivals::si;
use crate::sampling::Sampling;

pub use memory::Memory;
use rule::{Rule, is_fused};

/// Part of a gradient held at a time, if this is not a few rows only.
const TILE: usize = 1 << 16;
/// Part of a gradient held at a time, if it is a sum over active samples.
const SUMS: usize = 1 << 14;
/// Smallest height of such a part, unless the layer is smaller.
const ROWS: usize = 128;
/// Numbers that a sequence of kernels processes at a time, so that they stay in the nearest cache.
const PIECE: usize = 1 << 9;

/// A loss or a weight is no longer finite.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("training diverged at step {step}: {what}; a smaller lr or beta may help")]
#[non_exhaustive]
pub struct Diverged {
    /// The step, counted from 1 over the whole stream.
    pub step: u64,
    /// What is not finite.
    pub what: String,
}

/// The scheduled quantities of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// β.
    pub beta: f32,
    /// m of metaplasticity.
    pub meta: f32,
    /// Factor of the learning rate.
    pub rate: f64,
    /// M, the number of training images of the task.
    pub examples: usize,
}

/// A network under training.
#[derive(Clone, Debug)]
pub struct Trainer {
    pub(crate) parameters: Parameters,
    pub(crate) network: Network,
    /// One for each layer.
    pub(crate) memories: Vec<Memory>,
    /// For output scale, gains and shifts.
    pub(crate) extras: Memory,
    pub(crate) steps: u64,
    /// The number of steps after which the moments of Adam began anew.
    pub(crate) moments_since: u64,
    /// The last step, if the next one computes the divergence from it.
    pub(crate) previous: Option<Previous>,
    pub(crate) pass: Pass,
    by_mean: Vec<f32>,
    by_variance: Vec<f32>,
    downstream: Downstream,
    pub(crate) sampling: Sampling,
    /// The mean variance of the weights under the anchor after as many tasks as the horizon of fading has.
    pub(crate) kept_variance: Option<f64>,
}

impl Trainer {
    /// Starts to train a network.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or the network is not one of this learner.
    pub fn new(parameters: &Parameters, mut network: Network) -> Result<Self, ParameterError> {
        parameters.check_step()?;
        if network.weights != parameters.weights() {
            let (found, needed) = (network.weights, parameters.weights());
            return Err(ParameterError::Invalid(format!(
                "the learner {:?} needs {needed:?} weights, and the network has {found:?} weights",
                parameters.learner
            )));
        }
        network.log_scale = parameters.output_scale.ln() as f32;
        network.standardise = parameters.standardise.map(|pair| pair.map(|x| x as f32));
        let memories = network.layers.iter().map(|layer| Memory::new(parameters, layer)).collect();
        Ok(Self {
            parameters: parameters.clone(),
            network,
            memories,
            extras: Memory::default(),
            steps: 0,
            moments_since: 0,
            previous: None,
            pass: Pass::with_precision(parameters.precision),
            by_mean: Vec::new(),
            by_variance: Vec::new(),
            downstream: Downstream::default(),
            sampling: Sampling::default(),
            kept_variance: None,
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The state of the learner for each layer.
    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    /// The moments of Adam for output scale, gains and shifts.
    pub fn extras(&self) -> &Memory {
        &self.extras
    }

    /// Number of steps made.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Sets β of the network.
    pub fn set_beta(&mut self, beta: f32) {
        self.pass.drop_moments();
        self.network.set_beta(beta);
    }

    /// Changes θ of the network; see [`Network::update_theta`].
    pub fn update_theta(&mut self, change: impl FnMut(usize, &mut [f32])) {
        self.recall();
        self.pass.drop_moments();
        self.network.update_theta(change);
    }

    /// Learns from a batch (images one after another) and returns its loss before the step, summed
    /// over the batch.
    ///
    /// # Errors
    ///
    /// If the loss is not finite.
    ///
    /// # Panics
    ///
    /// If there is not one label for each image, or a label is not a class of the network.
    pub fn step(
        &mut self,
        images: &[f32],
        labels: &[u8],
        moment: &Moment,
        noise: Noise<'_>,
    ) -> Result<f64, Diverged> {
        let loss = self.advance(images, labels, moment, noise);
        self.settle();
        loss
    }

    /// Brings mean and variance of the weights of the network up to date after [`advance`](Self::advance).
    pub fn settle(&mut self) {
        if self.pass.drop_moments() {
            self.network.set_beta(self.network.beta);
        }
    }

    /// As [`step`](Self::step), for many steps after another. θ and the state of the learner are always up to date;
    /// mean and variance of the weights of the network may be those of an earlier step until [`settle`](Self::settle)
    /// is called.
    ///
    /// # Errors
    ///
    /// If the loss is not finite.
    ///
    /// # Panics
    ///
    /// If there is not one label for each image, or a label is not a class of the network.
    pub fn advance(
        &mut self,
        images: &[f32],
        labels: &[u8],
        moment: &Moment,
        noise: Noise<'_>,
    ) -> Result<f64, Diverged> {
        if self.network.weights == Weights::Field && self.network.beta != moment.beta {
            self.set_beta(moment.beta);
        }
        if self.parameters.samples_weights() {
            return self.step_with_sampled_weights(images, labels, moment, noise);
        }
        if self.learns_packed(labels.len()) {
            self.pass.hold_moments(&self.network);
        } else {
            self.settle();
        }
        self.pass.load(&self.network, images);
        self.pass.forward(&mut self.network, noise);
        let loss = self.pass.loss(&self.network, labels);
        self.steps += 1;
        if !loss.is_finite() {
            return Err(self.diverged(loss));
        }
        let adam = self.adam_step(moment.rate);
        let estimated = self.pass.holder_of_moments().is_some() || self.learns_tiles();
        self.recall_where_needed(moment, estimated);
        for l in (0..self.network.layers.len()).rev() {
            self.pass.backward(&self.network, l);
            self.learn_layer(l, moment, &adam);
        }
        self.learn_extras(&adam);
        self.remember(&adam, moment, estimated);
        Ok(loss)
    }

    /// Whether the weights stay packed between steps with so many images, where the processor has the
    /// instructions: products of reduced precision, and a step in one loop.
    fn learns_packed(&self, batch: usize) -> bool {
        self.parameters.precision == Precision::Bf16 && batch > 1 && self.learns_in_one_loop()
    }

    /// Whether gradient and step of a layer are computed together, tile by tile.
    fn learns_tiles(&self) -> bool {
        self.parameters.precision == Precision::F32
            && self.pass.batch() > 1
            && self.learns_in_one_loop()
            && self.downstream.learns()
    }

    /// Whether the gradient of a layer of so many outputs is a sum over active samples, and not a matrix product.
    fn sums_gradient(&self, outputs: usize) -> bool {
        self.parameters.precision == Precision::F32
            && self.network.weights == Weights::Field
            && self.pass.batch() > 1
            && self.downstream.sums_gradient(outputs)
    }

    /// Whether the step of every layer is that of [`fused`] and nothing else changes.
    fn learns_in_one_loop(&self) -> bool {
        self.parameters.window.is_none()
            && self.network.weights == Weights::Field
            && self.memories.iter().all(|memory| is_fused(&self.parameters, memory))
    }

    /// The constants of Adam at this step.
    pub(crate) fn adam_step(&self, factor: f64) -> AdamStep {
        let [b1, b2, epsilon] = self.parameters.adam;
        let steps = (self.steps - self.moments_since) as f64;
        AdamStep {
            rate: (factor * self.parameters.rate() / (1.0 - b1.powf(steps))) as f32,
            spread: (1.0 - b2.powf(steps)).sqrt().recip() as f32,
            b1: b1 as f32,
            b2: b2 as f32,
            epsilon: epsilon as f32,
            negligible: kernels::NEGLIGIBLE,
        }
    }

    fn learn_layer(&mut self, l: usize, moment: &Moment, adam: &AdamStep) {
        let (inputs, outputs) = (self.network.layers[l].inputs, self.network.layers[l].outputs);
        let single = self.pass.is_single(&self.network.layers[l]);
        let rule = Rule {
            parameters: &self.parameters,
            moment,
            adam,
            previous: self.previous,
            batch: self.pass.batch() as f32,
            weights: self.network.architecture.weights() as f32,
            share: self.pass.batch() as f32
                / self.parameters.window.unwrap_or(moment.examples) as f32,
        };
        if let Some(reduced) = self.pass.holder_of_moments() {
            let layer = &mut self.network.layers[l];
            let factors = self.network.weights.factors(inputs);
            let mut learned = self.memories[l].learned(&mut layer.theta);
            reduced.learn(l, &rule.constants(), factors, &mut learned);
            return;
        }
        if self.learns_tiles() {
            let (upstream, k, k_ratio) = self.pass.factors(l);
            self.downstream.set(self.pass.batch(), k, k_ratio);
            let layer = &mut self.network.layers[l];
            let tiles = fused::layer::Layer {
                upstream,
                factors: self.network.weights.factors(inputs),
                mean: &mut layer.mean,
                variance: &mut layer.variance,
            };
            let learned = self.memories[l].learned(&mut layer.theta);
            self.downstream.learn(&rule.constants(), tiles, learned);
            return;
        }
        let skips = single && rule.leaves_silent_inputs(&self.memories[l]);
        let sums = !single && self.sums_gradient(outputs);
        if sums {
            let (_, k, k_ratio) = self.pass.factors(l);
            self.downstream.set(self.pass.batch(), k, k_ratio);
        }
        let height = match (single, skips) {
            (true, true) => 1,
            // Both gradients stay in the second cache.
            (false, _) if sums => (SUMS / outputs).max(1),
            // Gradient and weights stay in the nearest cache; multiples of 16 rows fill whole registers.
            (true, false) => (PIECE / outputs).max(1).next_multiple_of(16),
            // Packed operands begin with a multiple of 16.
            (false, _) if self.parameters.precision == Precision::Bf16 => {
                (TILE / outputs).max(1).next_multiple_of(16)
            }
            // The product packs the factors of the downstream neurons for every tile: not for a few rows.
            (false, _) => (TILE / outputs).max(ROWS),
        };
        let height = height.min(inputs);
        if self.by_mean.len() < height * outputs {
            self.by_mean.resize(height * outputs, 0.0);
            self.by_variance.resize(height * outputs, 0.0);
        }
        for start in (0..inputs).step_by(height) {
            let neurons = start..(start + height).min(inputs);
            let count = neurons.len() * outputs;
            let by_mean = &mut self.by_mean[..count];
            if single {
                if skips && self.pass.factors(l).0[start] == 0.0 {
                    continue;
                }
                self.pass.single_gradient(&self.network, l, neurons, by_mean);
            } else {
                let by_variance = match self.network.weights {
                    Weights::Field => &mut self.by_variance[..count],
                    Weights::Sign | Weights::Float | Weights::Gaussian => &mut [],
                };
                let tile = GradientTile { by_mean, by_variance };
                if sums {
                    let batch = self.pass.batch();
                    let upstream =
                        &self.pass.factors(l).0[neurons.start * batch..neurons.end * batch];
                    self.downstream.gradient(upstream, self.network.weights.factors(inputs), tile);
                } else {
                    self.pass.gradient(&self.network, l, neurons, tile);
                }
            }
            let memory = &mut self.memories[l];
            let (weights, layer) = (self.network.weights, &mut self.network.layers[l]);
            for from in (0..count).step_by(PIECE) {
                let part = from..(from + PIECE).min(count);
                let at = start * outputs + part.start..start * outputs + part.end;
                let gradient = &mut self.by_mean[part.clone()];
                if weights == Weights::Field && !single {
                    let moments = (&layer.mean[at.clone()], &layer.variance[at.clone()]);
                    let by_variance = &self.by_variance[part];
                    kernels::field_gradient(
                        moment.beta,
                        moments.0,
                        moments.1,
                        by_variance,
                        gradient,
                    );
                }
                match weights {
                    Weights::Field => rule.field(layer, memory, at, gradient),
                    Weights::Sign => rule.sign(layer, memory, at, gradient),
                    Weights::Float => rule.float(layer, memory, at, gradient),
                    Weights::Gaussian => unreachable!("Gaussian weights are sampled"),
                }
            }
        }
    }

    /// Output scale, gains and shifts use Adam with every learner.
    pub(crate) fn learn_extras(&mut self, step: &AdamStep) {
        let mut values: Vec<&mut f32> = Vec::new();
        let mut gradient = Vec::new();
        if self.parameters.learned_scale {
            values.push(&mut self.network.log_scale);
            gradient.push(self.pass.by_log_scale);
        }
        let learned = self.network.architecture.normalisation == Normalisation::Batch;
        let norms = self.network.batch_norms.iter_mut().filter(|_| learned);
        for (norm, (by_gain, by_shift)) in norms.zip(&self.pass.by_gain_and_shift) {
            values.extend(norm.gain.iter_mut().chain(&mut norm.shift));
            gradient.extend(by_gain.iter().chain(by_shift));
        }
        if values.is_empty() {
            return;
        }
        self.extras.first.resize(values.len(), 0.0);
        self.extras.second.resize(values.len(), 0.0);
        adam::advance(step, &mut self.extras.first, &mut self.extras.second, &mut gradient);
        values.into_iter().zip(gradient).for_each(|(value, step)| *value -= step);
        if self.parameters.learned_scale {
            let least = self.parameters.least_scale.ln() as f32;
            self.network.log_scale = self.network.log_scale.max(least);
        }
    }

    /// Ends a task: sets the anchor of the next ones, and moments anew. `task` and seed address the random numbers of
    /// the empirical Fisher information.
    pub fn end_task(&mut self, examples: &View<'_>, seed: u64, trial: u32, task: usize) {
        self.settle();
        if self.parameters.keeps_tasks() {
            self.keep_task(examples, seed, trial, task);
        }
        if self.parameters.reset_moments {
            self.reset_moments();
        }
    }

    fn keep_task(&mut self, examples: &View<'_>, seed: u64, trial: u32, task: usize) {
        let Parameters { learner, fisher, .. } = self.parameters;
        if learner == Learner::Ewc && fisher != Fisher::Variance {
            let informations = self.information(examples, seed, trial, task);
            self.set_elastic(informations);
        } else if learner == Learner::Si {
            let damping = self.parameters.rival.damping();
            for (layer, memory) in self.network.layers.iter().zip(&mut self.memories) {
                si::end_task(damping, &layer.theta, memory);
            }
        } else {
            self.set_anchor(task);
        }
    }

    /// The moments of Adam become those before its first step.
    pub fn reset_moments(&mut self) {
        self.recall();
        for memory in self.memories.iter_mut().chain([&mut self.extras]) {
            memory.first.fill(0.0);
            memory.second.fill(0.0);
        }
        self.moments_since = self.steps;
    }

    /// Makes the current posterior, faded, the anchor after a task, counted from 0; moves the fields there if that is
    /// asked for.
    pub fn set_anchor(&mut self, task: usize) {
        let Parameters { fading, reset_fields, .. } = self.parameters;
        let beta = self.network.beta;
        for (layer, memory) in self.network.layers.iter().zip(&mut self.memories) {
            if memory.anchor.is_empty() {
                memory.anchor = filled(layer.theta.len(), 0.0);
            }
            memory.anchor.copy_from_slice(&layer.theta);
            kernels::scale(beta, &mut memory.anchor);
        }
        let anchors = self.memories.iter_mut().map(|memory| memory.anchor.as_mut_slice());
        fading.apply(task, &mut self.kept_variance, anchors);
        if reset_fields {
            self.recall();
            self.pass.drop_moments();
            let memories = &self.memories;
            self.network.update_theta(|l, theta| {
                theta.iter_mut().zip(&memories[l].anchor).for_each(|(t, a)| *t = a / beta);
            });
        }
    }

    /// Adds the quadratic form of a learned task to those of the tasks before: F and F θ. Online, the
    /// sum of F fades by ρ first, and has its centre at the current θ.
    pub fn set_elastic(&mut self, informations: Vec<Vec<f32>>) {
        let online = self.parameters.fisher == Fisher::Online;
        let rho = self.parameters.fading.rho as f32;
        let layers = self.network.layers.iter().zip(&mut self.memories);
        for ((layer, memory), information) in layers.zip(informations) {
            memory.fisher.resize(layer.theta.len(), 0.0);
            memory.anchor.resize(layer.theta.len(), 0.0);
            let sums = memory.fisher.iter_mut().zip(&mut memory.anchor);
            for ((fisher, pull), (f, t)) in sums.zip(information.iter().zip(&layer.theta)) {
                if online {
                    *fisher = rho * *fisher + f;
                    *pull = *fisher * t;
                } else {
                    *fisher += f;
                    *pull += f * t;
                }
            }
        }
    }

    pub(crate) fn diverged(&self, loss: f64) -> Diverged {
        let bad = |layer: &Layer| layer.theta.iter().any(|t| !t.is_finite());
        let what = match self.network.layers.iter().position(bad) {
            Some(layer) => format!("a weight of layer {} is not finite", layer + 1),
            None => format!("the loss is {loss}, from the last layer"),
        };
        Diverged { step: self.steps, what }
    }
}
