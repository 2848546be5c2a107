//! Element-wise passes over a piece of a layer that is small enough to stay in the nearest cache.
//!
//! A step is a sequence of these: gradient from the two products, regularisers, optimiser, and the
//! moments of the new weights. Each is one loop without branches or fused multiply-add, so every
//! instruction set gives the same bits.
//!
//! Arithmetic with subnormal numbers is about a hundred times slower. Negligible values are
//! therefore set to zero where they first appear.

use std::array;

use remanent_math::elementary32::{ln, tanh_and_variance, tanh_and_variance_of};
use remanent_math::multiversioned;

/// Variances and gradients below this are set to zero. With Adam's ε = 1e-8, a gradient of this size
/// moves a weight by less than 1e-10 of the learning rate.
pub const NEGLIGIBLE: f32 = 1e-18;

/// Weights whose moments are computed together.
pub const BLOCK: usize = 64;

/// Mean and variance of binary weights of these fields.
#[inline(always)]
pub fn moments_of<const N: usize>(fields: &[f32; N], mean: &mut [f32; N], variance: &mut [f32; N]) {
    (*mean, *variance) = tanh_and_variance_of(fields);
    for s in variance {
        *s = if *s < NEGLIGIBLE { 0.0 } else { *s };
    }
}

multiversioned! {
    /// θ as a measure of ±1: its mean μ = tanh βθ and variance σ² = 1 − μ².
    pub fn moments(beta: f32, theta: &[f32], mean: &mut [f32], variance: &mut [f32]) {
        let (thetas, theta) = theta.as_chunks::<BLOCK>();
        let (means, mean) = mean.as_chunks_mut::<BLOCK>();
        let (variances, variance) = variance.as_chunks_mut::<BLOCK>();
        for ((theta, mean), variance) in thetas.iter().zip(means).zip(variances) {
            moments_of(&theta.map(|t| beta * t), mean, variance);
        }
        for ((&t, mean), variance) in theta.iter().zip(mean).zip(variance) {
            moments_of(&[beta * t], array::from_mut(mean), array::from_mut(variance));
        }
    }

    /// θ as a binary weight: sign θ, and +1 at zero.
    pub fn signs(theta: &[f32], weight: &mut [f32]) {
        for (&t, weight) in theta.iter().zip(weight) {
            // NaN propagates, so that divergence is detected.
            *weight = if t < 0.0 { -1.0 } else { t * 0.0 + 1.0 };
        }
    }

    /// g ← β σ² (g − μ g_v): from the gradients by mean and variance of the preactivations to that
    /// by θ.
    pub fn field_gradient(
        beta: f32,
        mean: &[f32],
        variance: &[f32],
        by_variance: &[f32],
        g: &mut [f32],
    ) {
        for (((g, &gv), &m), &s) in g.iter_mut().zip(by_variance).zip(mean).zip(variance) {
            *g = beta * s * (*g - m * gv);
        }
    }

    /// g ← g + c k.
    pub fn add_scaled(c: f32, kept: &[f32], g: &mut [f32]) {
        for (g, &k) in g.iter_mut().zip(kept) {
            *g += c * k;
        }
    }

    /// g ← σ² g: the step of a certain weight is small.
    pub fn weaken(variance: &[f32], g: &mut [f32]) {
        for (g, &s) in g.iter_mut().zip(variance) {
            *g *= s;
        }
    }

    /// g ← g + c β σ² (βθ − a): the gradient of c KL(q_θ ‖ q_a), where a is a field.
    pub fn add_divergence(
        c: f32,
        beta: f32,
        theta: &[f32],
        variance: &[f32],
        anchor: &[f32],
        g: &mut [f32],
    ) {
        for (((g, &t), &s), &a) in g.iter_mut().zip(theta).zip(variance).zip(anchor) {
            *g += c * beta * s * (beta * t - a);
        }
    }

    /// g ← g + c β σ²(a) (βθ − a): the same with the variance at the anchor, i.e. the gradient of
    /// ½ c Δᵀ F Δ with the Fisher information F of the field a.
    pub fn add_quadratic(c: f32, beta: f32, theta: &[f32], anchor: &[f32], g: &mut [f32]) {
        for ((g, &t), &a) in g.iter_mut().zip(theta).zip(anchor) {
            *g += c * beta * tanh_and_variance(a).1 * (beta * t - a);
        }
    }

    /// g ← g + c (F θ − f): the gradient of ½ c Σ_t F_t (θ − θ_t)² with F = Σ F_t, f = Σ F_t θ_t.
    pub fn add_elastic(c: f32, theta: &[f32], fisher: &[f32], pull: &[f32], g: &mut [f32]) {
        for (((g, &t), &fisher), &pull) in g.iter_mut().zip(theta).zip(fisher).zip(pull) {
            *g += c * (fisher * t - pull);
        }
    }

    /// g ← c g.
    pub fn scale(c: f32, g: &mut [f32]) {
        for g in g {
            *g *= c;
        }
    }

    /// Metaplasticity: step ← step (1 − tanh² mθ) where θ − step would shrink |θ|.
    pub fn consolidate(m: f32, theta: &[f32], step: &mut [f32]) {
        for (step, &t) in step.iter_mut().zip(theta) {
            let factor = tanh_and_variance(m * t).1;
            // The sign of zero is +1, as for the weights.
            let inwards = if t < 0.0 { *step < 0.0 } else { *step > 0.0 };
            *step *= if inwards { factor } else { 1.0 };
        }
    }

    /// θ ← θ − step.
    pub fn subtract(step: &[f32], theta: &mut [f32]) {
        for (t, &step) in theta.iter_mut().zip(step) {
            *t -= step;
        }
    }

    /// kept ← −β² σ² step: the gradient of the divergence from the previous step, in which θ moved by
    /// −step.
    pub fn keep(beta: f32, variance: &[f32], step: &[f32], kept: &mut [f32]) {
        for ((kept, &s), &step) in kept.iter_mut().zip(variance).zip(step) {
            *kept = -(beta * beta) * s * step;
        }
    }

    /// a ← a + rate (c θ − a).
    pub fn follow_field(rate: f32, c: f32, theta: &[f32], anchor: &mut [f32]) {
        for (a, &t) in anchor.iter_mut().zip(theta) {
            *a += rate * (c * t - *a);
        }
    }

    /// a ← a + rate (c ln((1 + λμ)/(1 − λμ)) − a), for |λ| < 1.
    pub fn follow_mean(rate: f32, lambda: f32, c: f32, mean: &[f32], anchor: &mut [f32]) {
        for (a, &m) in anchor.iter_mut().zip(mean) {
            let x = lambda * m;
            *a += rate * (c * ln((1.0 + x) / (1.0 - x)) - *a);
        }
    }

    /// From mean m and variance V of the preactivations and noise ε: m ← m + ε √V and ε ← ε/√V (zero
    /// where V is zero).
    pub fn perturb(mean: &mut [f32], variance: &[f32], noise: &mut [f32]) {
        for ((z, &v), e) in mean.iter_mut().zip(variance).zip(noise) {
            let deviation = v.sqrt();
            *z += *e * deviation;
            *e = if v > 0.0 { *e / deviation } else { 0.0 };
        }
    }

    /// h ← max(0, h); NaN propagates.
    pub fn rectify(h: &mut [f32]) {
        for h in h {
            *h = if *h < 0.0 { 0.0 } else { *h };
        }
    }

    /// out ← x².
    pub fn square(x: &[f32], out: &mut [f32]) {
        for (&x, out) in x.iter().zip(out) {
            *out = x * x;
        }
    }

    /// out ← x y.
    pub fn product(x: &[f32], y: &[f32], out: &mut [f32]) {
        for ((&x, &y), out) in x.iter().zip(y).zip(out) {
            *out = x * y;
        }
    }

    /// by_mean ← by_mean + by_variance h: the gradient by h from those by mean and variance.
    pub fn join(by_variance: &[f32], h: &[f32], by_mean: &mut [f32]) {
        for ((g, &gv), &h) in by_mean.iter_mut().zip(by_variance).zip(h) {
            *g += gv * h;
        }
    }

    /// g ← 0 where a rectified h is zero.
    pub fn mask_rectified(h: &[f32], g: &mut [f32]) {
        for (g, &h) in g.iter_mut().zip(h) {
            *g = if h > 0.0 { *g } else { 0.0 };
        }
    }

    /// noise ← m + noise √v: normal weights with mean m and variance v.
    pub fn gaussian_weights(mean: &[f32], variance: &[f32], noise: &mut [f32]) {
        for ((x, &m), &v) in noise.iter_mut().zip(mean).zip(variance) {
            *x = m + *x * v.sqrt();
        }
    }

    /// x ← (x − mean)/deviation.
    pub fn standardise(mean: f32, deviation: f32, x: &mut [f32]) {
        let scale = 1.0 / deviation;
        for x in x {
            *x = (*x - mean) * scale;
        }
    }

    /// gate ← 1 where |z| > 1, else 0; NaN propagates.
    pub fn gates(z: &[f32], gate: &mut [f32]) {
        for (&z, gate) in z.iter().zip(gate) {
            *gate = if z.abs() > 1.0 { 1.0 } else { z * 0.0 };
        }
    }

    /// g ← g sign z where 1/2 < |z| < 3/2, else 0: the replaced gradient of the gate.
    pub fn mask_gate(z: &[f32], g: &mut [f32]) {
        for (g, &z) in g.iter_mut().zip(z) {
            let size = z.abs();
            let slope = if size > 0.5 && size < 1.5 { 1.0_f32.copysign(z) } else { 0.0 };
            *g *= slope;
        }
    }

    /// g ← 0 where |z| > 1, the straight-through gradient of sign z.
    pub fn mask_sign(z: &[f32], g: &mut [f32]) {
        for (g, &z) in g.iter_mut().zip(z) {
            *g = if z.abs() > 1.0 { 0.0 } else { *g };
        }
    }
}

#[cfg(test)]
mod tests;
