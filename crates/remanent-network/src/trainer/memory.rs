//! What a learner remembers of every weight besides its field: moments of Adam, anchors, information.

use crate::fused::Learned;
use crate::learner::{FirstPrior, Learner, Optimizer, Parameters};
use crate::network::Layer;
use crate::pages::filled;

/// State of a learner for one layer besides θ. Unused parts are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// First moment of Adam.
    pub first: Vec<f32>,
    /// Second moment of Adam.
    pub second: Vec<f32>,
    /// Gradient of the divergence from the previous step, unless a step computes it again
    /// ([`Parameters::recalls_steps`]); of `si`, −∫ (∂L/∂θ) dθ over the task.
    pub kept: Vec<f32>,
    /// θ at the end of the last task, or Σ F θ over the tasks learned.
    pub anchor: Vec<f32>,
    /// Σ F over the tasks learned; of `si`, the importance Ω.
    pub fisher: Vec<f32>,
}

impl Memory {
    pub(super) fn new(parameters: &Parameters, layer: &Layer) -> Self {
        let zeros = |wanted: bool| if wanted { filled(layer.theta.len(), 0.0) } else { Vec::new() };
        let adam = parameters.optimizer == Optimizer::Adam;
        let keeps = matches!(parameters.learner, Learner::Vcl | Learner::Ewc);
        let begins = parameters.first_prior == FirstPrior::Uniform || parameters.window.is_some();
        let anchored = parameters.learner == Learner::Vcl && parameters.anchor.tasks() && begins;
        if parameters.learner == Learner::Si {
            let anchor = layer.theta.clone();
            let (first, second) = (zeros(adam), zeros(adam));
            return Self { first, second, kept: zeros(true), anchor, fisher: zeros(true) };
        }
        let anchored = anchored || parameters.learner == Learner::BayesBinn;
        Self {
            first: zeros(adam),
            second: zeros(adam),
            kept: zeros(keeps && parameters.anchor.steps() && !parameters.recalls_steps()),
            anchor: zeros(anchored),
            ..Self::default()
        }
    }

    /// What a step of Adam changes, with these θ.
    pub(crate) fn learned<'a>(&'a mut self, theta: &'a mut [f32]) -> Learned<'a> {
        let Self { first, second, kept, anchor, .. } = self;
        Learned { theta, first, second, kept, anchor }
    }

    /// Number of floats held.
    pub fn len(&self) -> usize {
        self.first.len()
            + self.second.len()
            + self.kept.len()
            + self.anchor.len()
            + self.fisher.len()
    }

    /// Whether all parts are empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
