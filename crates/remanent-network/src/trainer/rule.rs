//! The update of a few weights from their gradient: regularisers, optimiser, and the moments of the new weights.

use remanent_math::adam::{self, AdamStep};

use super::{Memory, Moment};
use crate::fused;
use crate::fused::previous::Previous;
use crate::kernels;
use crate::learner::{Form, GammaRule, Learner, Optimizer, Parameters};
use crate::network::Layer;
use crate::rivals::si;

/// Whether [`fused::learn`] makes the step of a field network.
pub(super) fn is_fused(parameters: &Parameters, memory: &Memory) -> bool {
    parameters.optimizer == Optimizer::Adam
        && parameters.learner != Learner::Ewc
        && memory.fisher.is_empty()
}

/// The update of a piece of a layer.
pub(super) struct Rule<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) moment: &'a Moment,
    pub(super) adam: &'a AdamStep,
    pub(super) previous: Option<Previous>,
    /// B/M: the batch's share of an epoch. The anchor of the task counts once in an epoch. With a
    /// window of N examples, B/N.
    pub(super) share: f32,
    /// B.
    pub(super) batch: f32,
    /// W, the number of weights of the network.
    pub(super) weights: f32,
}

impl Rule<'_> {
    /// Whether weights of an input that is zero stay as they are.
    pub(super) fn leaves_silent_inputs(&self, memory: &Memory) -> bool {
        self.parameters.optimizer == Optimizer::Sgd && memory.is_empty()
    }

    /// Field networks; `g` is the gradient of the likelihood by θ.
    pub(super) fn field(
        &self,
        layer: &mut Layer,
        memory: &mut Memory,
        at: std::ops::Range<usize>,
        g: &mut [f32],
    ) {
        let Self { parameters, moment, .. } = self;
        let beta = moment.beta;
        if is_fused(parameters, memory) {
            self.field_at_once(layer, memory, at.clone(), g);
        } else {
            self.field_in_passes(layer, memory, at.clone(), g);
        }
        if parameters.window.is_some() && !memory.anchor.is_empty() {
            let rate = self.share.min(1.0);
            let (theta, mean) = (&layer.theta[at.clone()], &layer.mean[at.clone()]);
            parameters.fading.follow(rate, beta, theta, mean, &mut memory.anchor[at]);
        }
    }

    pub(super) fn constants(&self) -> fused::Constants {
        fused::Constants {
            beta: self.moment.beta,
            gamma_step: self.parameters.gamma_step as f32,
            gamma_anchor: self.anchor_factor(),
            adam: *self.adam,
            metaplastic: self.parameters.metaplastic,
            previous: self.previous,
        }
    }

    /// Factor of the divergence from the anchor in this step: γ B/M, or with γ M/W instead of γ, γ B/W.
    fn anchor_factor(&self) -> f32 {
        let share = match self.parameters.gamma_rule {
            GammaRule::Constant => self.share,
            GammaRule::Weights => self.batch / self.weights,
        };
        self.parameters.gamma_task as f32 * share
    }

    fn field_at_once(
        &self,
        layer: &mut Layer,
        memory: &mut Memory,
        at: std::ops::Range<usize>,
        g: &[f32],
    ) {
        let mut learned = memory.learned(&mut layer.theta);
        let piece = fused::Piece {
            g,
            mean: &mut layer.mean[at.clone()],
            variance: &mut layer.variance[at.clone()],
            learned: learned.part(at),
        };
        fused::learn(&self.constants(), piece);
    }

    fn field_in_passes(
        &self,
        layer: &mut Layer,
        memory: &mut Memory,
        at: std::ops::Range<usize>,
        g: &mut [f32],
    ) {
        let Self { parameters, moment, .. } = self;
        let beta = moment.beta;
        let theta = &mut layer.theta[at.clone()];
        let mean = &mut layer.mean[at.clone()];
        let variance = &mut layer.variance[at.clone()];
        let coefficient = self.anchor_factor();
        let elastic = parameters.learner == Learner::Ewc;
        if !memory.kept.is_empty() {
            kernels::add_scaled(parameters.gamma_step as f32, &memory.kept[at.clone()], g);
        }
        if !memory.fisher.is_empty() {
            let (fisher, pull) = (&memory.fisher[at.clone()], &memory.anchor[at.clone()]);
            kernels::add_elastic(coefficient, theta, fisher, pull, g);
        } else if !memory.anchor.is_empty() {
            let anchor = &memory.anchor[at.clone()];
            if elastic {
                kernels::add_quadratic(coefficient, beta, theta, anchor, g);
            } else {
                kernels::add_divergence(coefficient, beta, theta, variance, anchor, g);
            }
        }

        self.optimise(memory, at.clone(), g);
        if parameters.metaplastic {
            kernels::weaken(variance, g);
        }
        kernels::subtract(g, theta);
        // `ewc` uses the information before the step, `vcl` that after it.
        if elastic && !memory.kept.is_empty() {
            kernels::keep(beta, variance, g, &mut memory.kept[at.clone()]);
        }
        kernels::moments(beta, theta, mean, variance);
        if !elastic && !memory.kept.is_empty() {
            kernels::keep(beta, variance, g, &mut memory.kept[at]);
        }
    }

    /// Sign networks; `g` is the straight-through gradient.
    pub(super) fn sign(
        &self,
        layer: &mut Layer,
        memory: &mut Memory,
        at: std::ops::Range<usize>,
        g: &mut [f32],
    ) {
        let Self { parameters, moment, .. } = self;
        let theta = &mut layer.theta[at.clone()];
        let modulates = parameters.learner == Learner::Metaplasticity;
        if modulates && parameters.form == Form::Printed {
            kernels::consolidate(moment.meta, theta, g);
        }
        self.optimise(memory, at.clone(), g);
        if modulates && parameters.form == Form::Original {
            kernels::consolidate(moment.meta, theta, g);
        }
        kernels::subtract(g, theta);
        kernels::signs(theta, &mut layer.mean[at]);
    }

    /// Float networks; `g` is the gradient by the weights. The loss is the mean over the batch.
    pub(super) fn float(
        &self,
        layer: &mut Layer,
        memory: &mut Memory,
        at: std::ops::Range<usize>,
        g: &mut [f32],
    ) {
        let theta = &mut layer.theta[at.clone()];
        kernels::scale(self.batch.recip(), g);
        if self.parameters.learner == Learner::Si {
            let by_loss = g.to_vec();
            let (anchor, importance) = (&memory.anchor[at.clone()], &memory.fisher[at.clone()]);
            si::add_pull(self.parameters.gamma_task as f32, theta, anchor, importance, g);
            self.optimise(memory, at.clone(), g);
            si::add_to_path(&by_loss, g, &mut memory.kept[at.clone()]);
        } else {
            self.optimise(memory, at.clone(), g);
        }
        kernels::subtract(g, theta);
        layer.mean[at].copy_from_slice(theta);
    }

    /// Turns the gradient into a step, in place.
    fn optimise(&self, memory: &mut Memory, at: std::ops::Range<usize>, g: &mut [f32]) {
        match self.parameters.optimizer {
            Optimizer::Adam => {
                let (first, second) = (&mut memory.first[at.clone()], &mut memory.second[at]);
                adam::advance(self.adam, first, second, g);
            }
            Optimizer::Sgd => kernels::scale((self.moment.rate * self.parameters.rate()) as f32, g),
        }
    }
}
