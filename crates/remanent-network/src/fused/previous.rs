//! The divergence from the previous step, without an array for it.
//!
//! The gradient of this divergence is β²σ²(θ_k)(θ_k − θ_{k−1}), and θ_k − θ_{k−1} is minus the step of Adam that led to
//! θ_k: s = r m/(√v c + ε). The moments m and v in memory are those of that step until the next one changes them; r
//! and c are numbers of the step that all weights share. So s is computed again instead of
//! being stored: one root and one quotient for each weight instead of eight bytes of memory traffic.
//!
//! It is the step itself, not the difference of rounded θ. The same operations give the same bits as when the step was
//! made. In single precision the result is therefore that of a stored array, bit by bit. With packed moments σ² is the
//! rounded one.
//!
//! In three cases the gradient is computed for all weights at once ([`Previous::divergence`]) and the next step uses this
//! array: β differs from that of the last step, the next step uses other instructions, or θ is about to be moved otherwise.
//! Where a step is not a function of the moments alone (metaplastic steps, gradient descent), the array is kept all the time.

use remanent_math::adam::AdamStep;
use remanent_math::multiversioned;
use serde::{Deserialize, Serialize};

#[cfg(target_arch = "x86_64")]
use crate::active;
use crate::kernels;
use crate::pages::filled;

/// Weights whose variance is computed at a time.
const PIECE: usize = 1 << 10;

/// What the last step had in common for all weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Previous {
    /// Learning rate divided by 1 − b_1^t.
    pub rate: f32,
    /// 1/√(1 − b_2^t).
    pub spread: f32,
    /// β.
    pub beta: f32,
    /// Whether roots and quotients were those of [`fused::avx512`](crate::fused::avx512).
    pub estimated: bool,
}

impl Previous {
    /// After a step.
    pub fn of(adam: &AdamStep, beta: f32, estimated: bool) -> Self {
        Self { rate: adam.rate, spread: adam.spread, beta, estimated }
    }

    /// Whether a step with this β and these instructions can compute the divergence from the last step while it is
    /// made.
    pub fn suits(&self, beta: f32, estimated: bool) -> bool {
        self.beta == beta && self.estimated == estimated
    }

    /// The constants of the step that was made; those that are the same in all steps come from `adam`.
    pub fn adam(&self, adam: &AdamStep) -> AdamStep {
        AdamStep { rate: self.rate, spread: self.spread, ..*adam }
    }

    /// The gradient of the divergence of these θ from those before the last step, which left these moments of Adam.
    pub fn divergence(
        &self,
        adam: &AdamStep,
        theta: &[f32],
        [first, second]: [&[f32]; 2],
    ) -> Vec<f32> {
        let adam = self.adam(adam);
        let mut out = filled(theta.len(), 0.0);
        let [mut mean, mut variance] = [[0.0; PIECE]; 2];
        let moments = first.chunks(PIECE).zip(second.chunks(PIECE));
        for ((out, theta), (first, second)) in
            out.chunks_mut(PIECE).zip(theta.chunks(PIECE)).zip(moments)
        {
            let (mean, variance) = (&mut mean[..theta.len()], &mut variance[..theta.len()]);
            kernels::moments(self.beta, theta, mean, variance);
            let step = mean;
            if self.estimated {
                estimated_steps(&adam, first, second, step);
            } else {
                steps(&adam, first, second, step);
            }
            kernels::keep(self.beta, variance, step, out);
        }
        out
    }
}

multiversioned! {
    /// The steps that left these moments.
    fn steps(adam: &AdamStep, first: &[f32], second: &[f32], step: &mut [f32]) {
        for ((step, &first), &second) in step.iter_mut().zip(first).zip(second) {
            *step = adam.step(first, second);
        }
    }
}

/// The same with estimates. A run that continues on a processor without the instructions has steps that are
/// equal to rounding.
fn estimated_steps(adam: &AdamStep, first: &[f32], second: &[f32], step: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if active::avx512::is_available() {
        super::avx512::steps(adam, [first, second], step);
        return;
    }
    steps(adam, first, second, step);
}
