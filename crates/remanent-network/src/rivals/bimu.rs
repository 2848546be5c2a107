//! BiMU, binary metaplasticity from uncertainty: arXiv:2605.30198.
//!
//! The field λ of a binary weight has mean tanh λ. With the gradient g of the loss by λ, times the
//! likelihood factor, and s = κ (1 − tanh² λ) with the divergence factor κ, a step is
//!
//! λ ← λ − (η g + λ s/N) / (s + 2 g tanh λ + 2 |g| + 1/η_max).
//!
//! The first term learns, the second forgets: without data λ returns to 0 within about N examples. The
//! divisor bounds the step of a weight, and is larger where a step makes the weight less certain.
//! Nothing changes if all gradients are zero.

use remanent_math::elementary32::tanh_and_variance;
use remanent_math::multiversioned;

/// The numbers of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// η.
    pub rate: f32,
    /// Factor of the gradient.
    pub likelihood: f32,
    /// κ, the factor of the divergence.
    pub kl: f32,
    /// η_max.
    pub max_rate: f32,
    /// B/N: the batch's share of the memory window.
    pub share: f32,
}

multiversioned! {
    /// Changes the fields by one step; `gradient` is that of the loss by the fields.
    pub fn update(step: Step, gradient: &[f32], fields: &mut [f32]) {
        let least = 1.0 / step.max_rate;
        for (field, &g) in fields.iter_mut().zip(gradient) {
            let (mean, variance) = tanh_and_variance(*field);
            let s = step.kl * variance;
            let g = step.likelihood * g;
            let divisor = s + 2.0 * g * mean + 2.0 * g.abs() + least;
            *field -= (step.rate * g + *field * s * step.share) / divisor;
        }
    }

    /// g ← g + d (1 − w²)/τ: from the gradient d by relaxed weights w to that by their fields.
    pub fn add_gradient(temperature: f32, weights: &[f32], by_weight: &[f32], g: &mut [f32]) {
        let scale = 1.0 / temperature;
        for ((g, &w), &d) in g.iter_mut().zip(weights).zip(by_weight) {
            *g += scale * (1.0 - w * w) * d;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_published_rule() {
        let step =
            Step { rate: 4.9, likelihood: 161.3, kl: 3.76, max_rate: 0.0023, share: 1.0 / 700.0 };
        let gradients = [0.0_f32, 1e-4, -1e-4, 0.03, -0.5];
        for field in [-3.0_f32, -0.2, 0.0, 0.7, 5.0] {
            let mut fields = [field; 5];
            update(step, &gradients, &mut fields);
            for (found, g) in fields.into_iter().zip(gradients) {
                let (l, g) = (f64::from(field), 161.3 * f64::from(g));
                let s = 3.76 / l.cosh().powi(2);
                let divisor = s + 2.0 * g * l.tanh() + 2.0 * g.abs() + 1.0 / 0.0023;
                let wanted = l - (4.9 * g + l * s / 700.0) / divisor;
                assert!((f64::from(found) - wanted).abs() < 1e-6 * (1.0 + l.abs()), "{l} {g}");
            }
        }
    }

    /// A certain weight moves less towards uncertainty than away from it.
    #[test]
    fn steps_are_asymmetric_and_bounded() {
        let step = Step { rate: 1.0, likelihood: 100.0, kl: 1.0, max_rate: 0.01, share: 0.0 };
        let mut fields = [2.0_f32; 2];
        update(step, &[10.0, -10.0], &mut fields);
        let (down, up) = (2.0 - fields[0], fields[1] - 2.0);
        assert!(down > 0.0 && up > 0.0);
        // 2 g tanh λ + 2 |g| is near 4 |g| where the gradient lowers λ, and near 0 where it raises it.
        assert!(up > down);
        assert!(up <= 0.01 * 1000.0);
    }
}
