//! Optimisers: plain gradient descent, momentum, and Adam, with decoupled weight decay.
//!
//! The conventions are PyTorch's, so that published learning rates apply: momentum accumulates
//! v ← μ v + g and steps by −lr v; Adam (Kingma and Ba) has b = (0.9, 0.999) and ε = 1e-8. Weight
//! decay is decoupled (Loshchilov and Hutter): each step shrinks the parameters by a factor
//! 1 − lr · wd, with every optimiser.

use remanent_math::adam::{self, AdamStep};
use remanent_math::multiversioned;
use serde::{Deserialize, Serialize};

use crate::bits;

/// How a gradient becomes a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// θ ← θ − lr g.
    Plain,
    /// v ← μ v + g, θ ← θ − lr v.
    #[default]
    Momentum,
    /// Adam.
    Adam,
}

/// An optimiser and its hyperparameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optimizer {
    /// The rule.
    pub rule: Rule,
    /// lr.
    pub learning_rate: f32,
    /// μ, for [`Rule::Momentum`].
    pub momentum: f32,
    /// Decoupled weight decay.
    pub weight_decay: f32,
}

/// The state of an optimiser between steps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    steps: i32,
    #[serde(with = "bits")]
    first: Vec<f32>,
    #[serde(with = "bits")]
    second: Vec<f32>,
}

impl Memory {
    /// Makes one step. `gradient` is overwritten.
    pub fn step(&mut self, optimizer: &Optimizer, parameters: &mut [f32], gradient: &mut [f32]) {
        let n = parameters.len();
        let rate = optimizer.learning_rate;
        let keep = 1.0 - rate * optimizer.weight_decay;
        self.steps += 1;
        match optimizer.rule {
            Rule::Plain => descend(rate, keep, gradient, parameters),
            Rule::Momentum => {
                self.first.resize(n, 0.0);
                accumulate(optimizer.momentum, gradient, &mut self.first);
                descend(rate, keep, &self.first, parameters);
            }
            Rule::Adam => {
                self.first.resize(n, 0.0);
                self.second.resize(n, 0.0);
                let corrections = [BETA_1, BETA_2].map(|b| 1.0 - f64::from(b).powi(self.steps));
                let step = AdamStep {
                    rate: (f64::from(rate) / corrections[0]) as f32,
                    spread: corrections[1].sqrt().recip() as f32,
                    b1: BETA_1,
                    b2: BETA_2,
                    epsilon: EPSILON,
                    negligible: 0.0,
                };
                adam::advance(&step, &mut self.first, &mut self.second, gradient);
                descend(1.0, keep, gradient, parameters);
            }
        }
    }
}

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

multiversioned! {
    /// v ← μ v + g.
    fn accumulate(momentum: f32, gradient: &[f32], velocity: &mut [f32]) {
        for (v, &g) in velocity.iter_mut().zip(gradient) {
            *v = momentum * *v + g;
        }
    }

    /// θ ← keep θ − rate step.
    fn descend(rate: f32, keep: f32, step: &[f32], parameters: &mut [f32]) {
        for (p, &step) in parameters.iter_mut().zip(step) {
            *p = *p * keep - rate * step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// torch 2.15, float64: torch.optim.SGD(momentum=0.9) and AdamW(weight_decay=0.1),
    /// lr = 0.1, three steps on f(x) = x⁴/4 from x = 1.5.
    #[test]
    fn steps_match_pytorch() {
        for (rule, weight_decay, expected) in [
            (Rule::Plain, 0.0, TORCH_PLAIN),
            (Rule::Momentum, 0.0, TORCH_MOMENTUM),
            (Rule::Adam, 0.1, TORCH_ADAMW),
        ] {
            let optimizer = Optimizer { rule, learning_rate: 0.1, momentum: 0.9, weight_decay };
            let mut memory = Memory::default();
            let mut x = [1.5f32];
            for expected in expected {
                let mut g = [x[0].powi(3)];
                memory.step(&optimizer, &mut x, &mut g);
                assert!((f64::from(x[0]) - expected).abs() < 1e-6, "{rule:?} {} {expected}", x[0]);
            }
        }
    }

    const TORCH_PLAIN: [f64; 3] = [1.1625, 1.0053990234375, 0.9037705558321679];
    const TORCH_MOMENTUM: [f64; 3] = [1.1625, 0.7016490234375, 0.2523401665890796];
    const TORCH_ADAMW: [f64; 3] = [1.385000000296296, 1.2724680902679826, 1.163329069278785];
}
