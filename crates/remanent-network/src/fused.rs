//! The step of `vcl` with Adam as one loop: regularisers, optimiser, and the moments of the new
//! weights.
//!
//! It computes what the sequence of [`kernels`](crate::kernels) computes, operation by operation, and
//! so gives the same bits; each number is loaded and stored once.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
pub(crate) mod layer;
pub(crate) mod previous;
#[cfg(test)]
mod timing;

use remanent_math::adam::AdamStep;
use remanent_math::multiversioned;

use crate::fused::previous::Previous;
use crate::kernels::{BLOCK, moments_of};

/// The numbers of a step that all weights share.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// β.
    pub beta: f32,
    /// Factor of the gradient of the divergence from the previous step.
    pub gamma_step: f32,
    /// Factor of the divergence from the anchor.
    pub gamma_anchor: f32,
    /// Of the optimiser.
    pub adam: AdamStep,
    /// Whether the step of a weight is multiplied by its variance before the step.
    pub metaplastic: bool,
    /// The previous step, if the divergence from it counts and is not stored.
    pub previous: Option<Previous>,
}

/// How the divergence from the previous step enters, as a constant of loops.
pub mod last {
    /// Not at all.
    pub const NONE: u8 = 0;
    /// Its gradient is stored.
    pub const STORED: u8 = 1;
    /// The previous step is computed again: [`Previous`](super::Previous).
    pub const RECALLED: u8 = 2;
}

/// Calls a function with the terms of a step as constants: the first says how the divergence from the previous step
/// enters, the second whether there is an anchor. What is stored counts before what can be computed.
macro_rules! by_terms {
    ($constants:expr, $learned:expr, $($function:ident)::+, $($argument:expr),*) => {{
        use $crate::fused::last::{NONE, RECALLED, STORED};
        let (stored, anchored) = (!$learned.kept.is_empty(), !$learned.anchor.is_empty());
        match (stored, $constants.previous.is_some(), anchored) {
            (true, _, false) => $($function)::+::<STORED, false>($($argument),*),
            (true, _, true) => $($function)::+::<STORED, true>($($argument),*),
            (false, true, false) => $($function)::+::<RECALLED, false>($($argument),*),
            (false, true, true) => $($function)::+::<RECALLED, true>($($argument),*),
            (false, false, false) => $($function)::+::<NONE, false>($($argument),*),
            (false, false, true) => $($function)::+::<NONE, true>($($argument),*),
        }
    }};
}
pub(crate) use by_terms;

/// What a step changes, of a layer or of a part of it. All slices have the same length, or are empty where this is said.
#[derive(Debug)]
pub struct Learned<'a> {
    /// θ.
    pub theta: &'a mut [f32],
    /// First moment of Adam.
    pub first: &'a mut [f32],
    /// Second moment of Adam.
    pub second: &'a mut [f32],
    /// Gradient of the divergence from the previous step; empty if there is no such term, or it is not stored.
    pub kept: &'a mut [f32],
    /// Field of the anchor; empty if there is none.
    pub anchor: &'a [f32],
}

impl Learned<'_> {
    /// Some of the weights.
    pub fn part(&mut self, at: std::ops::Range<usize>) -> Learned<'_> {
        let part = |x: &[f32]| if x.is_empty() { 0..0 } else { at.clone() };
        let (kept, anchor) = (part(self.kept), part(self.anchor));
        Learned {
            theta: &mut self.theta[at.clone()],
            first: &mut self.first[at.clone()],
            second: &mut self.second[at],
            kept: &mut self.kept[kept],
            anchor: &self.anchor[anchor],
        }
    }
}

/// A part of a layer. All slices have the length of `g`.
#[derive(Debug)]
pub struct Piece<'a> {
    /// Gradient of the likelihood by θ.
    pub g: &'a [f32],
    /// tanh βθ.
    pub mean: &'a mut [f32],
    /// 1 − tanh² βθ.
    pub variance: &'a mut [f32],
    /// θ and the state of its learner.
    pub learned: Learned<'a>,
}

multiversioned! {
    /// Makes the step.
    pub fn learn(constants: &Constants, mut piece: Piece<'_>) {
        by_terms!(constants, piece.learned, pass, constants, &mut piece);
    }
}

#[inline(always)]
fn pass<const LAST: u8, const ANCHORED: bool>(constants: &Constants, piece: &mut Piece<'_>) {
    let (n, constants) = (piece.g.len(), *constants);
    let (blocks, registers) = (n - n % BLOCK, n - n % 16);
    for at in (0..blocks).step_by(BLOCK) {
        block::<BLOCK, LAST, ANCHORED>(constants, piece, at);
    }
    for at in (blocks..registers).step_by(16) {
        block::<16, LAST, ANCHORED>(constants, piece, at);
    }
    for at in registers..n {
        block::<1, LAST, ANCHORED>(constants, piece, at);
    }
}

/// N weights from `at` on, in stages: the processor works on several weights while one waits for a root
/// or a quotient.
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline(always)]
fn block<const N: usize, const LAST: u8, const ANCHORED: bool>(
    constants: Constants,
    piece: &mut Piece<'_>,
    at: usize,
) {
    let Constants { beta, gamma_step, gamma_anchor, adam, metaplastic, previous } = constants;
    let mut g: [f32; N] = *part(piece.g, at);
    let mut theta: [f32; N] = *part(piece.learned.theta, at);
    let mut variance: [f32; N] = *part(piece.variance, at);
    let mut first: [f32; N] = *part(piece.learned.first, at);
    let mut second: [f32; N] = *part(piece.learned.second, at);
    if LAST == last::STORED {
        let kept: [f32; N] = *part(piece.learned.kept, at);
        (0..N).for_each(|i| g[i] += gamma_step * kept[i]);
    }
    if let (last::RECALLED, Some(previous)) = (LAST, previous) {
        let before = previous.adam(&adam);
        let divisor = second.map(|v| before.divisor(v));
        for i in 0..N {
            let step = before.rate * first[i] / divisor[i];
            g[i] += gamma_step * (-(beta * beta) * variance[i] * step);
        }
    }
    if ANCHORED {
        let anchor: [f32; N] = *part(piece.learned.anchor, at);
        for i in 0..N {
            g[i] += gamma_anchor * beta * variance[i] * (beta * theta[i] - anchor[i]);
        }
    }
    for i in 0..N {
        (first[i], second[i]) = adam.moments(g[i], first[i], second[i]);
    }
    *part_mut(piece.learned.first, at) = first;
    *part_mut(piece.learned.second, at) = second;
    let divisor = second.map(|v| adam.divisor(v));
    let mut step = [0.0; N];
    for i in 0..N {
        step[i] = adam.rate * first[i] / divisor[i];
    }
    if metaplastic {
        (0..N).for_each(|i| step[i] *= variance[i]);
    }
    (0..N).for_each(|i| theta[i] -= step[i]);
    *part_mut(piece.learned.theta, at) = theta;
    moments_of(&theta.map(|t| beta * t), part_mut(piece.mean, at), &mut variance);
    *part_mut(piece.variance, at) = variance;
    if LAST == last::STORED {
        let kept: &mut [f32; N] = part_mut(piece.learned.kept, at);
        for i in 0..N {
            kept[i] = -(beta * beta) * variance[i] * step[i];
        }
    }
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
impl Constants {
    /// Constants for tests, in which every term counts.
    pub(crate) fn example() -> Self {
        let adam = AdamStep {
            rate: 0.05,
            spread: 1.7,
            b1: 0.9,
            b2: 0.99,
            epsilon: 1e-8,
            negligible: crate::kernels::NEGLIGIBLE,
        };
        Self {
            beta: 1.3,
            gamma_step: 0.7,
            gamma_anchor: 0.02,
            adam,
            metaplastic: false,
            previous: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use remanent_math::adam;
    use remanent_math::philox::Stream;

    use super::*;
    use crate::kernels;

    /// Several steps, with and without each term, against the separate kernels: the same bits.
    #[test]
    fn is_the_sequence_of_kernels() {
        let forms = [last::NONE, last::STORED, last::RECALLED];
        for (form, anchored) in forms.into_iter().flat_map(|form| [(form, false), (form, true)]) {
            // A metaplastic step cannot be recalled.
            let metaplastic = anchored && form != last::RECALLED;
            for n in [1, 15, 64, 65, 129, 1000] {
                let stream = Stream::new(1, 2, 3, n as u32);
                let draw = |at: u32| {
                    let mut x = vec![0.0_f32; n];
                    stream.fill_normals(100 * at, &mut x);
                    x
                };
                let (mut theta, anchor) = (draw(0), if anchored { draw(1) } else { Vec::new() });
                let (mut mean, mut variance) = (vec![0.0; n], vec![0.0; n]);
                kernels::moments(1.3, &theta, &mut mean, &mut variance);
                let (mut first, mut second) = (vec![0.0; n], vec![0.0; n]);
                let zeros = |wanted: bool| vec![0.0; if wanted { n } else { 0 }];
                let mut kept = zeros(form == last::STORED);
                let mut previous = None;
                let mut separate = (
                    theta.clone(),
                    mean.clone(),
                    variance.clone(),
                    first.clone(),
                    second.clone(),
                    zeros(form != last::NONE),
                );
                for step in 2..6 {
                    let rate = 0.02 * step as f32;
                    let adam = AdamStep { rate, spread: 1.9 - rate, ..Constants::example().adam };
                    let constants =
                        Constants { adam, metaplastic, previous, ..Constants::example() };
                    if form == last::RECALLED {
                        previous = Some(Previous::of(&adam, 1.3, false));
                    }
                    let mut g = draw(step);
                    g[n / 2] = 0.0;
                    let piece = Piece {
                        g: &g,
                        mean: &mut mean,
                        variance: &mut variance,
                        learned: Learned {
                            theta: &mut theta,
                            first: &mut first,
                            second: &mut second,
                            kept: &mut kept,
                            anchor: &anchor,
                        },
                    };
                    learn(&constants, piece);
                    let (theta, mean, variance, first, second, kept) = &mut separate;
                    kernels::add_scaled(0.7, kept, &mut g);
                    kernels::add_divergence(0.02, 1.3, theta, variance, &anchor, &mut g);
                    adam::advance(&adam, first, second, &mut g);
                    if metaplastic {
                        kernels::weaken(variance, &mut g);
                    }
                    kernels::subtract(&g, theta);
                    kernels::moments(1.3, theta, mean, variance);
                    kernels::keep(1.3, variance, &g, kept);
                }
                if form == last::RECALLED {
                    // The array, from the last step.
                    let adam = Constants::example().adam;
                    let moments = [&first[..], &second];
                    kept = previous.unwrap().divergence(&adam, &theta, moments);
                }
                assert_eq!((theta, mean, variance, first, second, kept), separate);
            }
        }
    }
}
