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

impl AdamStep {
    /// The moments of one parameter after this gradient.
    #[inline(always)]
    pub fn moments(&self, gradient: f32, first: f32, second: f32) -> (f32, f32) {
        let Self { b1, b2, negligible, .. } = *self;
        let gradient = if gradient.abs() < negligible { 0.0 } else { gradient };
        let mean = b1 * first + (1.0 - b1) * gradient;
        let square = b2 * second + (1.0 - b2) * (gradient * gradient);
        let mean = if mean.abs() < negligible { 0.0 } else { mean };
        (mean, if square < negligible * negligible { 0.0 } else { square })
    }

    /// The divisor of the step, from the second moment.
    #[inline(always)]
    pub fn divisor(&self, second: f32) -> f32 {
        second.sqrt() * self.spread + self.epsilon
    }

    /// The step to subtract, from the moments after the gradient.
    #[inline(always)]
    pub fn step(&self, first: f32, second: f32) -> f32 {
        self.rate * first / self.divisor(second)
    }
}

multiversioned! {
    /// Advances the moments and replaces the gradient `g` by the step to subtract.
    pub fn advance(step: &AdamStep, first: &mut [f32], second: &mut [f32], g: &mut [f32]) {
        let step = *step;
        for ((g, m), v) in g.iter_mut().zip(first).zip(second) {
            (*m, *v) = step.moments(*g, *m, *v);
            *g = step.step(*m, *v);
        }
    }
}
