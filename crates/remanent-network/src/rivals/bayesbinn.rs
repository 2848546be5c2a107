//! BayesBiNN: Meng, Bachmann and Khan, "Training binary neural networks using the Bayesian learning
//! rule", ICML 2020.
//!
//! λ is the natural parameter of a binary weight, μ = tanh λ its mean. Weights are relaxed,
//! w = tanh((λ + ½ ln(u/(1 − u)))/τ), and with the loss ℓ of a batch
//!
//! g = L (∂ℓ/∂w) (1 − w² + ε)/(τ (1 − μ² + ε)),        λ ← λ − η [g + ρ (λ − λ_prior)],
//!
//! ε = 1e-10. L is M/B, the number of training images over the batch size: ℓ is summed over the batch.
//! The prior of the first task is 0, that of the others λ at the last switch. In single precision
//! 1 − w² and 1 − μ² are zero for certain weights, where the rule is a straight-through gradient
//! times 1/τ: the authors' program computes so too, and it is essential at τ = 0.01.

use remanent_math::multiversioned;

const EPSILON: f32 = 1e-10;

/// The numbers of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// η.
    pub rate: f32,
    /// L.
    pub likelihood: f32,
    /// τ.
    pub temperature: f32,
    /// ρ.
    pub prior_strength: f32,
}

multiversioned! {
    /// Changes the natural parameters by one step. `gradient` is ∂ℓ/∂w (1 − w² + ε), averaged over
    /// samples, and `means` is μ.
    pub fn update(step: Step, gradient: &[f32], means: &[f32], prior: &[f32], fields: &mut [f32]) {
        for (((field, &g), &m), &prior) in fields.iter_mut().zip(gradient).zip(means).zip(prior) {
            let g = step.likelihood * g / (step.temperature * (1.0 - m * m + EPSILON));
            *field -= step.rate * (g + step.prior_strength * (*field - prior));
        }
    }

    /// g ← g + d (1 − w² + ε), with the gradient d by relaxed weights w.
    pub fn add_gradient(weights: &[f32], by_weight: &[f32], g: &mut [f32]) {
        for ((g, &w), &d) in g.iter_mut().zip(weights).zip(by_weight) {
            *g += (1.0 - w * w + EPSILON) * d;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_published_rule() {
        let step = Step { rate: 1e-3, likelihood: 600.0, temperature: 0.5, prior_strength: 0.7 };
        for field in [-2.0_f32, -0.3, 0.0, 1.1] {
            let (weight, by_weight, prior) = (0.6_f32, 0.02_f32, 0.4_f32);
            let mut gradient = [0.0];
            add_gradient(&[weight], &[by_weight], &mut gradient);
            let mut fields = [field];
            update(step, &gradient, &[field.tanh()], &[prior], &mut fields);
            let l = f64::from(field);
            let (w, d) = (f64::from(weight), f64::from(by_weight));
            let scale = (1.0 - w * w + 1e-10) / (0.5 * (1.0 - l.tanh().powi(2) + 1e-10));
            let wanted = l - 1e-3 * (600.0 * d * scale + 0.7 * (l - f64::from(prior)));
            assert!((f64::from(fields[0]) - wanted).abs() < 2e-6, "{field}");
        }
    }

    /// Both factors vanish to rounding where a weight is certain: what is left is the gradient over τ.
    #[test]
    fn certain_weights_have_a_straight_through_gradient() {
        let step = Step { rate: 1.0, likelihood: 1.0, temperature: 0.01, prior_strength: 0.0 };
        let mut gradient = [0.0];
        add_gradient(&[1.0], &[0.003], &mut gradient);
        let mut fields = [10.0];
        update(step, &gradient, &[1.0], &[0.0], &mut fields);
        assert!((fields[0] - (10.0 - 0.3)).abs() < 1e-5, "{}", fields[0]);
    }
}
