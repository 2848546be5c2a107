//! Softmax of logits.

/// The normalisation of one image's softmax in single precision, as in training.
pub(crate) struct Softmax {
    pub(crate) largest: f32,
    /// Σ exp(logit − largest).
    pub(crate) total: f32,
}

impl Softmax {
    pub(crate) fn of(classes: usize, logit: impl Fn(usize) -> f32) -> Self {
        let largest = (0..classes).map(&logit).fold(f32::NEG_INFINITY, f32::max);
        let total = (0..classes).map(|j| (logit(j) - largest).exp()).sum();
        Self { largest, total }
    }

    /// The probability of a class, times the total.
    pub(crate) fn exponential(&self, logit: f32) -> f32 {
        (logit - self.largest).exp()
    }
}

/// Turns the logits of images, `classes` for each, into class probabilities. The sum over classes
/// is in double precision.
///
/// # Panics
///
/// If `classes` is zero.
pub fn softmax(logits: &mut [f32], classes: usize) {
    for row in logits.chunks_mut(classes) {
        let largest = row.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));
        let mut sum = 0.0;
        for value in &mut *row {
            *value = (*value - largest).exp();
            sum += f64::from(*value);
        }
        let factor = sum.recip() as f32;
        row.iter_mut().for_each(|value| *value *= factor);
    }
}
