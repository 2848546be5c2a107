//! The step of `vcl` and `joint` with one second moment of Adam for a whole layer.
//!
//! Adam divides the gradient of each weight by its own root mean square, so all weights move equally far: those
//! of rarely active inputs, and those that are certain, whose gradient has the factor σ². With one second moment for
//! the layer the relative size of the gradients is kept. The second moment is that of the steps before, because the
//! gradient of a layer is never stored as a whole; the first step moves nothing.

use remanent_math::multiversioned;

use crate::kernels::{BLOCK, NEGLIGIBLE, moments_of};

/// The second moment of a layer: the average of squared gradients with weights that decay, the sum of these
/// weights, and the sum of squares of the current step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LayerMoment {
    average: f32,
    weight: f32,
    sum: f32,
}

/// Numbers of a [`LayerMoment`] in a checkpoint.
pub const NUMBERS: usize = 3;

impl LayerMoment {
    /// From the numbers of a checkpoint.
    pub fn of(numbers: &[f32]) -> Self {
        let &[average, weight, sum] = numbers else { return Self::default() };
        Self { average, weight, sum }
    }

    /// The numbers of a checkpoint.
    pub fn numbers(self) -> [f32; NUMBERS] {
        [self.average, self.weight, self.sum]
    }

    /// Begins a step: the sum of the last one becomes part of the average.
    #[must_use]
    pub fn advanced(self, b2: f32, count: usize) -> Self {
        let new = self.sum / count as f32;
        // Before the first step there is nothing to average.
        if self.weight == 0.0 && new == 0.0 {
            return Self::default();
        }
        let average = b2 * self.average + (1.0 - b2) * new;
        Self { average, weight: b2 * self.weight + (1.0 - b2), sum: 0.0 }
    }

    /// Adds the squares of a part of the layer.
    #[must_use]
    pub fn with(self, squares: f32) -> Self {
        Self { sum: self.sum + squares, ..self }
    }

    /// One over the root mean square of the gradients; 0 before the first step.
    pub fn inverse(self, epsilon: f32) -> f32 {
        if self.weight == 0.0 {
            return 0.0;
        }
        ((self.average / self.weight).sqrt() + epsilon).recip()
    }
}

/// The numbers of a step that all weights share.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// β.
    pub beta: f32,
    /// Factor of the divergence from the anchor.
    pub gamma_anchor: f32,
    /// b_1 of Adam.
    pub b1: f32,
    /// Factor of the first moment.
    pub rate: f32,
}

/// A part of a layer, and of the state of its learner. All slices have the length of `g`.
#[derive(Debug)]
pub struct Piece<'a> {
    /// Gradient of the likelihood by θ.
    pub g: &'a [f32],
    /// θ.
    pub theta: &'a mut [f32],
    /// tanh βθ.
    pub mean: &'a mut [f32],
    /// 1 − tanh² βθ.
    pub variance: &'a mut [f32],
    /// First moment of Adam.
    pub first: &'a mut [f32],
    /// Field of the anchor; empty if there is none.
    pub anchor: &'a [f32],
}

multiversioned! {
    /// Makes the step. Returns the sum of the squared gradients.
    pub fn learn(constants: &Constants, mut piece: Piece<'_>) -> f32 {
        if piece.anchor.is_empty() {
            pass::<false>(constants, &mut piece)
        } else {
            pass::<true>(constants, &mut piece)
        }
    }
}

#[inline(always)]
fn pass<const ANCHORED: bool>(constants: &Constants, piece: &mut Piece<'_>) -> f32 {
    let (n, constants) = (piece.g.len(), *constants);
    let (blocks, registers) = (n - n % BLOCK, n - n % 16);
    // A sum for each lane of a register.
    let mut sums = [0.0; 16];
    for at in (0..blocks).step_by(BLOCK) {
        block::<BLOCK, ANCHORED>(constants, piece, at, &mut sums);
    }
    for at in (blocks..registers).step_by(16) {
        block::<16, ANCHORED>(constants, piece, at, &mut sums);
    }
    for at in registers..n {
        block::<1, ANCHORED>(constants, piece, at, &mut sums);
    }
    sums.iter().sum()
}

/// N weights from `at` on.
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline(always)]
fn block<const N: usize, const ANCHORED: bool>(
    constants: Constants,
    piece: &mut Piece<'_>,
    at: usize,
    sums: &mut [f32; 16],
) {
    let Constants { beta, gamma_anchor, b1, rate } = constants;
    let mut g: [f32; N] = *part(piece.g, at);
    let mut theta: [f32; N] = *part(piece.theta, at);
    let mut variance: [f32; N] = *part(piece.variance, at);
    let mut first: [f32; N] = *part(piece.first, at);
    if ANCHORED {
        let anchor: [f32; N] = *part(piece.anchor, at);
        for i in 0..N {
            g[i] += gamma_anchor * beta * variance[i] * (beta * theta[i] - anchor[i]);
        }
    }
    for i in 0..N {
        sums[i % 16] += g[i] * g[i];
        first[i] = b1 * first[i] + (1.0 - b1) * g[i];
        first[i] = if first[i].abs() < NEGLIGIBLE { 0.0 } else { first[i] };
        theta[i] -= rate * first[i];
    }
    *part_mut(piece.first, at) = first;
    *part_mut(piece.theta, at) = theta;
    moments_of(&theta.map(|t| beta * t), part_mut(piece.mean, at), &mut variance);
    *part_mut(piece.variance, at) = variance;
}

#[inline(always)]
fn part<const N: usize>(x: &[f32], at: usize) -> &[f32; N] {
    x[at..].first_chunk().expect("slices of equal length")
}

#[inline(always)]
fn part_mut<const N: usize>(x: &mut [f32], at: usize) -> &mut [f32; N] {
    x[at..].first_chunk_mut().expect("slices of equal length")
}

#[cfg(test)]
mod tests {
    use remanent_math::philox::Stream;

    use super::*;
    use crate::kernels;

    /// Several steps, weight by weight in double precision.
    #[test]
    fn is_the_formula() {
        let (beta, gamma_anchor, b1, b2, lr) = (1.3_f32, 0.02_f32, 0.9_f32, 0.99_f32, 0.05_f32);
        for (n, anchored) in [(1, true), (15, false), (64, true), (129, true), (1000, false)] {
            let stream = Stream::new(1, 2, 4, n as u32);
            let draw = |at: u32| {
                let mut x = vec![0.0_f32; n];
                stream.fill_normals(100 * at, &mut x);
                x
            };
            let (mut theta, anchor) = (draw(0), if anchored { draw(1) } else { Vec::new() });
            let (mut mean, mut variance) = (vec![0.0; n], vec![0.0; n]);
            kernels::moments(beta, &theta, &mut mean, &mut variance);
            let (mut first, mut moment) = (vec![0.0; n], LayerMoment::default());
            let mut exact: Vec<[f64; 2]> = theta.iter().map(|&t| [f64::from(t), 0.0]).collect();
            let (mut average, mut weight) = (0.0_f64, 0.0_f64);
            for step in 1..6 {
                let g = draw(step + 1);
                moment = moment.advanced(b2, n);
                let rate = lr / (1.0 - b1.powi(step as i32)) * moment.inverse(1e-8);
                let constants = Constants { beta, gamma_anchor, b1, rate };
                let piece = Piece {
                    g: &g,
                    theta: &mut theta,
                    mean: &mut mean,
                    variance: &mut variance,
                    first: &mut first,
                    anchor: &anchor,
                };
                // As from a checkpoint.
                moment = LayerMoment::of(&moment.with(learn(&constants, piece)).numbers());

                let divisor = if step == 1 { f64::INFINITY } else { (average / weight).sqrt() };
                let mut squares = 0.0;
                for (i, [t, m]) in exact.iter_mut().enumerate() {
                    let mut g = f64::from(g[i]);
                    if anchored {
                        let field = f64::from(beta) * *t;
                        let variance = 1.0 - field.tanh().powi(2);
                        let pull = field - f64::from(anchor[i]);
                        g += f64::from(gamma_anchor * beta) * variance * pull;
                    }
                    squares += g * g;
                    *m = 0.9 * *m + 0.1 * g;
                    *t -= 0.05 / (1.0 - 0.9_f64.powi(step as i32)) * *m / divisor;
                }
                average = 0.99 * average + 0.01 * squares / n as f64;
                weight = 0.99 * weight + 0.01;
                for (i, [t, _]) in exact.iter().enumerate() {
                    assert!((f64::from(theta[i]) - t).abs() < 2e-5, "{n} {step}: {} {t}", theta[i]);
                    let expected = (f64::from(beta) * t).tanh();
                    assert!((f64::from(mean[i]) - expected).abs() < 5e-5);
                }
            }
            // It moved.
            assert!(theta.iter().zip(draw(0)).any(|(t, before)| (t - before).abs() > 0.01));
        }
    }
}
