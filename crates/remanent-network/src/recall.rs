//! When the divergence from the previous step is an array, and when a step computes it again
//! ([`fused::previous`](crate::fused::previous)).

use remanent_math::adam::AdamStep;

use crate::fused::previous::Previous;
use crate::learner::{Learner, Optimizer, Parameters};
use crate::trainer::{Moment, Trainer};

impl Parameters {
    /// Whether the divergence from the previous step is a function of θ, the moments of Adam and numbers that all
    /// weights share. It is then computed in each step instead of being stored.
    pub fn recalls_steps(&self) -> bool {
        self.learner == Learner::Vcl
            && self.anchor.steps()
            && self.optimizer == Optimizer::Adam
            && !self.metaplastic
    }
}

impl Trainer {
    /// Before a step: the divergence from the previous one becomes an array for once, if this step cannot compute it
    /// while it is made. `estimated` says whether its roots and quotients are those of estimates.
    pub(crate) fn recall_where_needed(&mut self, moment: &Moment, estimated: bool) {
        if self.previous.is_some_and(|previous| !previous.suits(moment.beta, estimated)) {
            self.recall();
        }
    }

    /// The divergence from the previous step becomes an array until the next step, which uses it.
    pub(crate) fn recall(&mut self) {
        let Some(previous) = self.previous.take() else { return };
        let adam = self.adam_step(1.0);
        for (layer, memory) in self.network.layers.iter().zip(&mut self.memories) {
            let moments = [&*memory.first, &memory.second];
            memory.kept = previous.divergence(&adam, &layer.theta, moments);
        }
    }

    /// After a step: what the next one needs to compute the divergence from it.
    pub(crate) fn remember(&mut self, adam: &AdamStep, moment: &Moment, estimated: bool) {
        if self.parameters.recalls_steps() {
            self.memories.iter_mut().for_each(|memory| memory.kept = Vec::new());
            self.previous = Some(Previous::of(adam, moment.beta, estimated));
        }
    }
}
