//! Scores of class probabilities: accuracy, log-likelihood, calibration, and detection of
//! out-of-distribution images.

use remanent_data::dataset::View;
use serde::{Deserialize, Serialize};

use crate::predictor::Probabilities;

/// Scores of probabilities on labelled images.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Fraction of images whose most probable class is right.
    pub accuracy: f64,
    /// Mean of −ln p of the right class, with p at least 1e-12.
    pub nll: f64,
    /// Expected calibration error: the mean difference between confidence and accuracy over [`BINS`]
    /// equal bins of confidence.
    pub ece: f64,
}

/// Bins of the calibration error.
pub const BINS: usize = 15;

/// The scores of the probabilities of a view's images.
pub fn scores(probabilities: &Probabilities, view: &View<'_>) -> Scores {
    let labels: Vec<u8> = (0..view.len()).map(|i| view.label_in_task(i)).collect();
    scores_of(probabilities, &labels)
}

fn scores_of(probabilities: &Probabilities, labels: &[u8]) -> Scores {
    let (mut right, mut nll) = (0.0, 0.0);
    let mut bins = [(0.0, 0.0); BINS];
    for (p, &label) in probabilities.rows().zip(labels) {
        let (class, confidence) = most_probable(p);
        let hit = f64::from(u8::from(class == usize::from(label)));
        right += hit;
        nll -= f64::from(p[usize::from(label)]).max(1e-12).ln();
        let bin = &mut bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += confidence;
        bin.1 += hit;
    }
    let count = labels.len() as f64;
    let ece = bins.iter().map(|(confidence, hits)| (confidence - hits).abs()).sum::<f64>() / count;
    Scores { accuracy: right / count, nll: nll / count, ece }
}

/// The most probable class (the first of equals) and its probability.
///
/// # Panics
///
/// If there is no class.
pub fn most_probable(p: &[f32]) -> (usize, f64) {
    let mut best = 0;
    for (class, &value) in p.iter().enumerate() {
        if value > p[best] {
            best = class;
        }
    }
    (best, f64::from(p[best]))
}

impl Probabilities {
    /// Image by image.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.classes)
    }

    /// The largest probability of each image.
    pub fn confidences(&self) -> Vec<f64> {
        self.rows().map(|p| most_probable(p).1).collect()
    }
}

/// Area under the receiver operating characteristic: the probability that an image of the first kind
/// has a higher confidence than one of the second; ties count one half. Chance is 1/2.
pub fn auc(inside: &[f64], outside: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> = inside.iter().map(|&x| (x, true)).collect();
    all.extend(outside.iter().map(|&x| (x, false)));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut pairs) = (0.0, 0.0);
    for equal in all.chunk_by(|a, b| a.0 == b.0) {
        let inside = equal.iter().filter(|x| x.1).count() as f64;
        let outside = equal.len() as f64 - inside;
        pairs += inside * (below + 0.5 * outside);
        below += outside;
    }
    pairs / (inside.len() as f64 * outside.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_a_worked_example() {
        let probabilities =
            Probabilities { classes: 2, values: vec![0.9, 0.1, 0.6, 0.4, 0.2, 0.8, 0.5, 0.5] };
        let scores = scores_of(&probabilities, &[0, 1, 1, 0]);
        assert_eq!(scores.accuracy, 0.75);
        let nll = -(0.9_f64.ln() + 0.4_f64.ln() + 0.8_f64.ln() + 0.5_f64.ln()) / 4.0;
        assert!((scores.nll - nll).abs() < 1e-7);
        // Four bins with one image each: |0.9−1| + |0.6−0| + |0.8−1| + |0.5−1|.
        assert!((scores.ece - 1.4 / 4.0).abs() < 1e-7);
    }

    #[test]
    fn an_area_of_one_half_is_chance() {
        assert_eq!(auc(&[0.9, 0.8], &[0.1, 0.2]), 1.0);
        assert_eq!(auc(&[0.1, 0.2], &[0.9, 0.8]), 0.0);
        assert_eq!(auc(&[0.5, 0.5], &[0.5]), 0.5);
        assert_eq!(auc(&[0.3, 0.7], &[0.5]), 0.5);
    }
}
