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

use remanent_math::elementary::artanh_of_scaled_tanh;
use serde::{Deserialize, Serialize};

use crate::kernels;
use crate::parameters::ParameterError;
use crate::ranges;

/// λ and ρ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fading {
    /// Factor of the magnetisation, from −1 to 1. 1 is not part of a key.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub lambda: f64,
    /// Factor of the field, from 0 to 1. 1 is not part of a key.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub rho: f64,
}

fn one() -> f64 {
    1.0
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

impl Default for Fading {
    fn default() -> Self {
        Self { lambda: 1.0, rho: 1.0 }
    }
}

impl Fading {
    /// Fails unless both are in range.
    pub fn check(&self) -> Result<(), ParameterError> {
        ranges::LAMBDA.check("lambda", self.lambda)?;
        ranges::RHO.check("rho", self.rho)?;
        Ok(())
    }

    /// Whether nothing fades.
    pub fn keeps_all(&self) -> bool {
        *self == Self::default()
    }

    /// The field of the prior that follows a posterior of field h.
    pub fn field(&self, h: f64) -> f64 {
        self.rho * artanh_of_scaled_tanh(self.lambda, h)
    }

    /// Replaces fields by those of the prior that follows.
    pub(crate) fn apply(&self, fields: &mut [f32]) {
        if !self.keeps_all() {
            fields.iter_mut().for_each(|h| *h = self.field(f64::from(*h)) as f32);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fading(lambda: f64, rho: f64) -> Fading {
        Fading { lambda, rho }
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
        for wrong in [fading(1.1, 1.0), fading(1.0, -0.1), fading(f64::NAN, 1.0)] {
            assert!(wrong.check().is_err());
        }
    }
}
