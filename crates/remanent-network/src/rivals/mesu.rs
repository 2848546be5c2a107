//! MESU, metaplasticity from synaptic uncertainty: arXiv:2504.13569.
//!
//! A weight is normal with mean μ and deviation σ, and w = μ + σε in every sampled network. With the
//! gradients g_μ and g_σ of the loss, a memory of N examples and the prior N(0, σ_p²),
//!
//! Δμ = η (−σ² g_μ − σ² μ/(N σ_p²)),
//! Δσ = ½ η_σ (−σ² g_σ + σ (σ_p² − σ²)/(N σ_p²)).
//!
//! Gradients are limited to ± c/σ (`clip`), unless c is 0. The weight's variance is kept, so that the
//! sign of σ has no meaning.

use remanent_math::multiversioned;

/// The numbers of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// η.
    pub rate: f32,
    /// η_σ.
    pub rate_sigma: f32,
    /// σ_p².
    pub prior_variance: f32,
    /// c; 0 for no bound.
    pub clip: f32,
    /// B/N: the batch's share of the memory window.
    pub share: f32,
}

multiversioned! {
    /// Changes means and variances by one step, given the gradients by mean and deviation.
    pub fn update(
        step: Step,
        by_mean: &[f32],
        by_sigma: &[f32],
        means: &mut [f32],
        variances: &mut [f32],
    ) {
        let prior = step.share / step.prior_variance;
        let gradients = by_mean.iter().zip(by_sigma);
        for ((mean, variance), (&g, &g_sigma)) in means.iter_mut().zip(variances).zip(gradients) {
            let square = *variance;
            let sigma = square.sqrt();
            let bound = if step.clip > 0.0 { step.clip / sigma } else { f32::INFINITY };
            // Comparisons, so that NaN stays and is found.
            let g = if g > bound { bound } else if g < -bound { -bound } else { g };
            let h = if g_sigma > bound { bound } else if g_sigma < -bound { -bound } else { g_sigma };
            *mean -= step.rate * square * (g + *mean * prior);
            let pull = sigma * (step.prior_variance - square) * prior;
            let moved = sigma + 0.5 * step.rate_sigma * (pull - square * h);
            *variance = moved * moved;
        }
    }

    /// Adds the gradient d by sampled weights to those by mean and deviation.
    pub fn add_gradient(noise: &[f32], by_weight: &[f32], by_mean: &mut [f32], by_sigma: &mut [f32]) {
        let sums = by_mean.iter_mut().zip(by_sigma);
        for ((mean, sigma), (&e, &d)) in sums.zip(noise.iter().zip(by_weight)) {
            *mean += d;
            *sigma += d * e;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_published_rule() {
        let step = Step {
            rate: 1.6,
            rate_sigma: 2.1,
            prior_variance: 0.09,
            clip: 0.36,
            share: 1.0 / 600.0,
        };
        for (mean, sigma) in [(0.1_f32, 0.04_f32), (-0.3, 0.2), (0.0, 0.5)] {
            for (g_mu, g_sigma) in [(0.0_f32, 0.0_f32), (0.4, -0.3), (-50.0, 70.0)] {
                let (mut means, mut variances) = ([mean], [sigma * sigma]);
                update(step, &[g_mu], &[g_sigma], &mut means, &mut variances);
                let (m, s) = (f64::from(mean), f64::from(sigma));
                let clip = |g: f32| f64::from(g).clamp(-0.36 / s, 0.36 / s);
                let delta_m = -s * s * clip(g_mu) + s * s * (0.0 - m) / (600.0 * 0.09);
                let delta_s = -s * s * clip(g_sigma) + s * (0.09 - s * s) / (600.0 * 0.09);
                let wanted = (m + 1.6 * delta_m, s + 2.1 * 0.5 * delta_s);
                assert!((f64::from(means[0]) - wanted.0).abs() < 1e-6);
                assert!((f64::from(variances[0]).sqrt() - wanted.1.abs()).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn without_data_weights_return_to_the_prior() {
        let step = Step { rate: 1.0, rate_sigma: 1.0, prior_variance: 0.25, clip: 0.0, share: 0.1 };
        let (mut means, mut variances) = ([0.8], [0.01]);
        for _ in 0..2000 {
            update(step, &[0.0], &[0.0], &mut means, &mut variances);
        }
        assert!(means[0].abs() < 1e-6 && (variances[0] - 0.25).abs() < 1e-4);
    }
}
