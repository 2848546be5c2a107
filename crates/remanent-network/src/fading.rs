//! Anchors that fade: how the posterior of the past becomes the prior of what follows.
//!
//! The posterior of a binary weight with field h = βθ becomes a prior with field
//! a = ρ artanh(λ tanh h).
//!
//! - λ scales the magnetisation. It is the exact Bayesian prior if every weight of the world flips with
//!   probability (1 − λ)/2 before the next task. |a| ≤ ρ artanh |λ|: certainty is bounded.
//! - ρ scales the field, i.e. the evidence of all past tasks: an exponential window over tasks.
//!
//! λ = ρ = 1 keeps the posterior, ρ = 0 or λ = 0 forgets it.
//!
//! A reserve s lowers ρ only where it is needed: the fields of all layers are multiplied by the largest factor of at most
//! 1 that leaves a mean variance ⟨1 − tanh² a⟩ of at least s. A stream that leaves enough weights uncertain keeps all it has
//! learned; one without end forgets at the rate at which its tasks use up uncertain weights. The learner need
//! not know which of them it is in.
//!
//! A horizon H is a reserve that the stream itself sets: the mean variance that is left after the first H tasks. Up to
//! there nothing fades. From then on a new task finds as many uncertain weights as task H + 1 did, and tasks older than about H
//! make room for it.

use remanent_math::elementary::artanh_of_scaled_tanh;
use serde::{Deserialize, Serialize};

use crate::kernels;
use crate::parameters::ParameterError;
use crate::ranges;

/// λ, ρ, the reserve and the horizon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fading {
    /// Factor of the magnetisation, from −1 to 1. 1 is not part of a key.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub lambda: f64,
    /// Factor of the field, from 0 to 1. 1 is not part of a key.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub rho: f64,
    /// Smallest mean variance of the weights under the anchor, from 0 to 1. 0 is not part of a key.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reserve: f64,
    /// Tasks after which the mean variance of the weights falls no further. None is not part of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon: Option<usize>,
}

pub(crate) fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn one() -> f64 {
    1.0
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

impl Default for Fading {
    fn default() -> Self {
        Self { lambda: 1.0, rho: 1.0, reserve: 0.0, horizon: None }
    }
}

impl Fading {
    /// Fails unless all are in range.
    pub fn check(&self) -> Result<(), ParameterError> {
        ranges::LAMBDA.check("lambda", self.lambda)?;
        ranges::RHO.check("rho", self.rho)?;
        ranges::RESERVE.check("reserve", self.reserve)?;
        if let Some(horizon) = self.horizon {
            ranges::HORIZON.check("horizon", horizon as f64)?;
        }
        Ok(())
    }

    /// Whether every field stays as it is, reserve and horizon aside.
    fn keeps_fields(&self) -> bool {
        self.lambda == 1.0 && self.rho == 1.0
    }

    /// The field of the prior that follows a posterior of field h.
    pub fn field(&self, h: f64) -> f64 {
        self.rho * artanh_of_scaled_tanh(self.lambda, h)
    }

    /// Replaces the fields of all layers by those of the prior that follows a task, counted from 0. `kept` is the mean
    /// variance after as many tasks as the horizon has; it is stored there then, and none before.
    pub(crate) fn apply<'a>(
        &self,
        task: usize,
        kept: &mut Option<f64>,
        layers: impl Iterator<Item = &'a mut [f32]>,
    ) {
        let mut layers: Vec<&mut [f32]> = layers.collect();
        if !self.keeps_fields() {
            let fields = layers.iter_mut().flat_map(|layer| layer.iter_mut());
            fields.for_each(|h| *h = self.field(f64::from(*h)) as f32);
        }
        let reserve = self.reserve.max(kept.unwrap_or(0.0));
        let factor = factor_for_reserve(reserve, &layers) as f32;
        if factor < 1.0 {
            layers.iter_mut().for_each(|layer| kernels::scale(factor, layer));
        }
        if self.horizon == Some(task + 1) {
            *kept = Some(mean_variance(1.0, &layers));
        }
    }

    /// Moves the anchor towards the prior that follows the current posterior by the part `rate` of the
    /// distance. `mean` is tanh βθ.
    pub(crate) fn follow(
        &self,
        rate: f32,
        beta: f32,
        theta: &[f32],
        mean: &[f32],
        anchor: &mut [f32],
    ) {
        let (lambda, rho) = (self.lambda as f32, self.rho as f32);
        if lambda.abs() == 1.0 {
            kernels::follow_field(rate, rho * lambda * beta, theta, anchor);
        } else {
            kernels::follow_mean(rate, lambda, 0.5 * rho, mean, anchor);
        }
    }
}

/// The largest factor of at most 1 with which the fields have a mean variance of at least `reserve`.
fn factor_for_reserve(reserve: f64, layers: &[&mut [f32]]) -> f64 {
    let has_reserve = |factor: f64| mean_variance(factor, layers) >= reserve;
    if reserve == 0.0 || has_reserve(1.0) {
        return 1.0;
    }
    // The mean variance falls with the factor, from 1 at 0. The bounds stay such that the lower one has the reserve.
    let (mut below, mut above) = (0.0, 1.0);
    while above - below > 1e-6 {
        let middle = 0.5 * (below + above);
        if has_reserve(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

/// ⟨1 − tanh² (f a)⟩ over the fields of all layers.
fn mean_variance(factor: f64, layers: &[&mut [f32]]) -> f64 {
    let count: usize = layers.iter().map(|layer| layer.len()).sum();
    let fields = layers.iter().flat_map(|layer| layer.iter());
    let variances = fields.map(|&a| (factor * f64::from(a)).cosh().powi(-2));
    variances.sum::<f64>() / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fading(lambda: f64, rho: f64) -> Fading {
        Fading { lambda, rho, ..Fading::default() }
    }

    #[test]
    fn a_reserve_fades_all_layers_by_one_factor_and_only_if_needed() {
        let fields = [vec![0.5_f32, -3.0, 1.0, -0.2], vec![8.0, -0.1]];
        let mean_variance = |layers: &[Vec<f32>]| {
            let all = layers.iter().flatten().map(|a| f64::from(*a).cosh().powi(-2));
            all.clone().sum::<f64>() / all.count() as f64
        };
        let before = mean_variance(&fields);
        let faded = |reserve: f64| {
            let mut layers = fields.clone();
            let fading = Fading { reserve, ..Fading::default() };
            fading.apply(0, &mut None, layers.iter_mut().map(Vec::as_mut_slice));
            layers
        };
        assert_eq!(faded(0.0), fields);
        assert_eq!(faded(before - 1e-3), fields);
        for reserve in [before + 1e-3, 0.8, 0.99] {
            let after = faded(reserve);
            assert!((mean_variance(&after) - reserve).abs() < 1e-5, "{reserve}");
            let factor = after[0][0] / fields[0][0];
            for (a, h) in after.iter().flatten().zip(fields.iter().flatten()) {
                assert!((a / h - factor).abs() < 1e-6);
            }
        }
        assert!(faded(1.0).iter().flatten().all(|a| a.abs() < 1e-4));
    }

    #[test]
    fn a_horizon_keeps_the_variance_that_its_tasks_left() {
        let fading = Fading { horizon: Some(2), reserve: 0.1, ..Fading::default() };
        let variance = |fields: &[f32]| f64::from(fields[0]).cosh().powi(-2);
        let mut kept = None;
        // A task adds evidence of 0.4; two tasks leave cosh^-2 0.8.
        let mut fields = [0.0_f32; 4];
        for (task, expected) in [(0, 0.4_f64), (1, 0.8), (2, 0.8), (3, 0.8)] {
            fields.iter_mut().for_each(|a| *a += 0.4);
            fading.apply(task, &mut kept, std::iter::once(fields.as_mut_slice()));
            assert!((variance(&fields) - expected.cosh().powi(-2)).abs() < 1e-5, "{task}");
            assert_eq!(kept.is_some(), task >= 1);
        }
        // The reserve counts where it is larger.
        let wide = Fading { reserve: 0.9, ..fading };
        wide.apply(4, &mut kept, std::iter::once(fields.as_mut_slice()));
        assert!((variance(&fields) - 0.9).abs() < 1e-5);
    }

    #[test]
    fn limits() {
        for h in [-30.0, -0.7, 0.0, 2.0, 30.0] {
            assert_eq!(fading(1.0, 1.0).field(h), h);
            assert_eq!(fading(-1.0, 1.0).field(h), -h);
            assert_eq!(fading(1.0, 0.25).field(h), 0.25 * h);
            assert_eq!(fading(0.3, 0.0).field(h), 0.0);
            // Certainty is bounded, and a weak belief is scaled by both factors.
            let faded = fading(0.9, 0.5).field(h);
            assert!(faded.abs() <= 0.5 * 0.9_f64.atanh() + 1e-15);
        }
        assert!((fading(0.9, 0.5).field(1e-6) - 0.45e-6).abs() < 1e-15);
    }

    /// λ is the prior after independent flips with probability (1 − λ)/2: a mixture of q(w) and q(−w).
    #[test]
    fn lambda_is_the_prior_after_flips() {
        let (h, lambda): (f64, f64) = (0.8, 0.6);
        let up = |h: f64| 1.0 / (1.0 + (-2.0 * h).exp());
        let flips = (1.0 - lambda) / 2.0;
        let mixture = (1.0 - flips) * up(h) + flips * up(-h);
        assert!((up(fading(lambda, 1.0).field(h)) - mixture).abs() < 1e-12);
    }

    #[test]
    fn an_anchor_that_follows_ends_at_the_prior() {
        let theta = [0.3_f32, -1.2, 4.0];
        let beta = 1.5_f32;
        let mean = theta.map(|t| (beta * t).tanh());
        for (lambda, rho) in [(1.0, 1.0), (1.0, 0.5), (0.9, 1.0), (-0.7, 0.8)] {
            let fading = fading(lambda, rho);
            let mut anchor = [0.0; 3];
            fading.follow(0.25, beta, &theta, &mean, &mut anchor);
            for _ in 0..200 {
                let first = fading.field(f64::from(beta * theta[0])) as f32;
                fading.follow(0.25, beta, &theta, &mean, &mut anchor);
                assert!(anchor[0].abs() <= first.abs() * 1.000_01);
            }
            for (anchor, t) in anchor.iter().zip(theta) {
                let prior = fading.field(f64::from(beta * t));
                assert!((f64::from(*anchor) - prior).abs() < 2e-5 * (1.0 + prior.abs()));
            }
        }
    }

    #[test]
    fn ranges() {
        assert!(fading(1.0, 0.0).check().is_ok() && fading(-1.0, 1.0).check().is_ok());
        let reserve = |reserve| Fading { reserve, ..Fading::default() };
        assert!(reserve(0.0).check().is_ok() && reserve(1.0).check().is_ok());
        let horizon = Fading { horizon: Some(0), ..Fading::default() };
        let wrong = [fading(1.1, 1.0), fading(1.0, -0.1), fading(f64::NAN, 1.0), reserve(1.5)];
        for wrong in wrong.into_iter().chain([horizon]) {
            assert!(wrong.check().is_err());
        }
    }
}
