//! The Adam update (Kingma and Ba, arXiv:1412.6980).

use crate::multiversioned;

/// The constants of one step of Adam.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// Learning rate divided by 1 − b_1^t.
    pub rate: f32,
    /// 1/√(1 − b_2^t).
    pub spread: f32,
    /// b_1.
    pub b1: f32,
    /// b_2.
    pub b2: f32,
    /// ε.
    pub epsilon: f32,
    /// Gradients and first moments below this magnitude, and second moments below its square, are
    /// set to zero: subnormal numbers are slow. 0 keeps all of them.
    pub negligible: f32,
}

multiversioned! {
    /// Advances the moments and replaces the gradient `g` by the step to subtract.
    pub fn advance(step: &AdamStep, first: &mut [f32], second: &mut [f32], g: &mut [f32]) {
        let AdamStep { rate, spread, b1, b2, epsilon, negligible } = *step;
        for ((g, m), v) in g.iter_mut().zip(first).zip(second) {
            let gradient = if g.abs() < negligible { 0.0 } else { *g };
            let mean = b1 * *m + (1.0 - b1) * gradient;
            let square = b2 * *v + (1.0 - b2) * (gradient * gradient);
            *m = if mean.abs() < negligible { 0.0 } else { mean };
            *v = if square < negligible * negligible { 0.0 } else { square };
            *g = rate * *m / (v.sqrt() * spread + epsilon);
        }
    }
}
