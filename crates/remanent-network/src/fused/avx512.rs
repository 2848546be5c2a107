//! The arithmetic of a step with AVX-512, on 64 weights at a time.
//!
//! The operations on a weight wait for one another. Four registers of weights are therefore computed
//! together, stage by stage. Roots and quotients start from the processor's estimates of 14 bits and one step of
//! Newton's method, which is accurate to about two units of the last place: results are not those of
//! [`learn`](super::learn) bit by bit.

use std::arch::x86_64::*;
use std::array::from_fn;

use remanent_math::adam::AdamStep;

use super::{Constants, last};
use crate::active;
use crate::kernels::NEGLIGIBLE;

/// Numbers of a register.
pub const LANES: usize = 16;

/// The constants in registers.
#[derive(Clone, Copy)]
pub struct Wide {
    /// β.
    pub beta: __m512,
    /// β N^{-1/2}, and N^{-1} over N^{-1/2}.
    slope: __m512,
    ratio: __m512,
    gamma_step: __m512,
    gamma_anchor: __m512,
    pace: Pace,
    /// Of the step before.
    last_pace: Pace,
    /// −β².
    pub minus_square: __m512,
    b1: __m512,
    b2: __m512,
    rest1: __m512,
    rest2: __m512,
    metaplastic: bool,
}

/// What makes a step of the moments of Adam.
#[derive(Clone, Copy)]
struct Pace {
    rate: __m512,
    spread: __m512,
    epsilon: __m512,
    /// Second moments are at least this, so that roots have an inverse.
    smallest: __m512,
}

/// Registers that are computed together.
pub const QUAD: usize = 4;
/// 64 numbers.
pub type Quad = [__m512; QUAD];

/// 64 weights and the state of their learner.
pub struct Lanes {
    /// θ.
    pub theta: Quad,
    /// First moment of Adam.
    pub first: Quad,
    /// Second moment of Adam.
    pub second: Quad,
    /// Gradient of the divergence from the previous step, stored or recalled.
    pub kept: Quad,
    /// Field of the anchor.
    pub anchor: Quad,
    /// tanh βθ.
    pub mean: Quad,
    /// 1 − tanh² βθ.
    pub variance: Quad,
}

impl Wide {
    /// N^{-1/2} and N^{-1} are the factors of the gradients by mean and variance.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn of(constants: &Constants, (root, share): (f32, f32)) -> Self {
        let adam = &constants.adam;
        let pace = Pace::of(adam);
        Self {
            beta: _mm512_set1_ps(constants.beta),
            slope: _mm512_set1_ps(constants.beta * root),
            ratio: _mm512_set1_ps(share / root),
            gamma_step: _mm512_set1_ps(constants.gamma_step),
            gamma_anchor: _mm512_set1_ps(constants.gamma_anchor * constants.beta),
            pace,
            last_pace: constants.previous.map_or(pace, |last| Pace::of(&last.adam(adam))),
            minus_square: _mm512_set1_ps(-(constants.beta * constants.beta)),
            b1: _mm512_set1_ps(adam.b1),
            b2: _mm512_set1_ps(adam.b2),
            rest1: _mm512_set1_ps(1.0 - adam.b1),
            rest2: _mm512_set1_ps(1.0 - adam.b2),
            metaplastic: constants.metaplastic,
        }
    }
}

impl Pace {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn of(adam: &AdamStep) -> Self {
        Self {
            rate: _mm512_set1_ps(adam.rate),
            spread: _mm512_set1_ps(adam.spread),
            epsilon: _mm512_set1_ps(adam.epsilon),
            smallest: _mm512_set1_ps(NEGLIGIBLE * NEGLIGIBLE),
        }
    }

    /// Second moments whose roots have an inverse.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn bounded(&self, second: __m512) -> __m512 {
        // The second operand is taken if one is not a number: NaN propagates.
        _mm512_max_ps(self.smallest, second)
    }

    /// The steps that belong to these moments.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn steps(&self, first: Quad, second: Quad) -> Quad {
        let roots = roots(second);
        let mut divisors = roots;
        for q in 0..QUAD {
            divisors[q] = _mm512_fmadd_ps(roots[q], self.spread, self.epsilon);
        }
        let mut steps = inverses(divisors);
        for q in 0..QUAD {
            steps[q] = _mm512_mul_ps(_mm512_mul_ps(self.rate, first[q]), steps[q]);
        }
        steps
    }
}

/// The step of [`learn`](super::learn), from the gradients by mean and variance to θ; gives what was subtracted.
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub fn step<const LAST: u8, const ANCHORED: bool>(
    wide: &Wide,
    by_mean: Quad,
    by_variance: Quad,
    lanes: &mut Lanes,
) -> Quad {
    for q in 0..QUAD {
        let by_variance = _mm512_mul_ps(by_variance[q], lanes.mean[q]);
        let by_mean = _mm512_fnmadd_ps(wide.ratio, by_variance, by_mean[q]);
        let mut g = _mm512_mul_ps(_mm512_mul_ps(wide.slope, lanes.variance[q]), by_mean);
        if LAST != last::NONE {
            g = _mm512_fmadd_ps(wide.gamma_step, lanes.kept[q], g);
        }
        if ANCHORED {
            let away = _mm512_fmsub_ps(wide.beta, lanes.theta[q], lanes.anchor[q]);
            let pull = _mm512_mul_ps(wide.gamma_anchor, lanes.variance[q]);
            g = _mm512_fmadd_ps(pull, away, g);
        }
        let keep = is_large(g);
        let part = _mm512_maskz_mul_ps(keep, wide.rest1, g);
        let first = _mm512_fmadd_ps(wide.b1, lanes.first[q], part);
        lanes.first[q] = _mm512_maskz_mov_ps(is_large(first), first);
        let square = _mm512_mul_ps(wide.rest2, _mm512_maskz_mul_ps(keep, g, g));
        let second = _mm512_fmadd_ps(wide.b2, lanes.second[q], square);
        lanes.second[q] = wide.pace.bounded(second);
    }
    let mut steps = wide.pace.steps(lanes.first, lanes.second);
    for q in 0..QUAD {
        if wide.metaplastic {
            steps[q] = _mm512_mul_ps(steps[q], lanes.variance[q]);
        }
        lanes.theta[q] = _mm512_sub_ps(lanes.theta[q], steps[q]);
    }
    steps
}

/// The gradients of the divergence from θ before these steps: −β²σ² s.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn divergences(wide: &Wide, variance: Quad, mut steps: Quad) -> Quad {
    for (step, variance) in steps.iter_mut().zip(variance) {
        *step = _mm512_mul_ps(_mm512_mul_ps(wide.minus_square, variance), *step);
    }
    steps
}

/// The gradients of the divergence from θ before the last step, which left these moments of Adam: with the bits that they
/// had if they were stored.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn recalled(wide: &Wide, [first, mut second]: [Quad; 2], variance: Quad) -> Quad {
    second.iter_mut().for_each(|second| *second = wide.last_pace.bounded(*second));
    divergences(wide, variance, wide.last_pace.steps(first, second))
}

/// The same from the processor's estimates alone: to 2^-13, enough beside a variance that is rounded to bfloat16.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn roughly_recalled(wide: &Wide, [first, second]: [Quad; 2], variance: Quad) -> Quad {
    let Pace { rate, spread, epsilon, .. } = wide.last_pace;
    let factor = _mm512_mul_ps(wide.minus_square, rate);
    let mut out = variance;
    for q in 0..QUAD {
        let second = wide.last_pace.bounded(second[q]);
        let root = _mm512_mul_ps(second, _mm512_rsqrt14_ps(second));
        let inverse = _mm512_rcp14_ps(_mm512_fmadd_ps(root, spread, epsilon));
        let step = _mm512_mul_ps(first[q], inverse);
        out[q] = _mm512_mul_ps(_mm512_mul_ps(factor, variance[q]), step);
    }
    out
}

/// The steps that left these moments of Adam, with the bits of [`step`].
///
/// # Panics
///
/// If the processor does not have the instructions, or the slices have different lengths.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn steps(adam: &AdamStep, moments: [&[f32]; 2], step: &mut [f32]) {
    assert!(active::avx512::is_available(), "a processor with AVX-512");
    assert!(moments.iter().all(|x| x.len() == step.len()), "moments of each weight");
    // SAFETY: the processor has the instructions.
    unsafe { steps_of(adam, moments, step) }
}

#[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
#[target_feature(enable = "avx512f")]
fn steps_of(adam: &AdamStep, [first, second]: [&[f32]; 2], step: &mut [f32]) {
    let pace = Pace::of(adam);
    for at in (0..step.len()).step_by(QUAD * LANES) {
        let left = step.len() - at;
        let place = Place {
            starts: from_fn(|q| at + q * LANES),
            masks: from_fn(|q| Place::mask(left.saturating_sub(q * LANES))),
        };
        // SAFETY: the numbers of the masks are within all slices, which have the same length.
        unsafe {
            let mut seconds = quad(second, place);
            seconds.iter_mut().for_each(|second| *second = pace.bounded(*second));
            put_quad(step, place, pace.steps(quad(first, place), seconds));
        }
    }
}

/// Where |x| is at least 2^-63 or x is not a number. Smaller gradients, first moments and variances are set to
/// zero, as [`kernels`](crate::kernels) does below 1e-18: subnormal numbers are slow.
#[inline]
#[target_feature(enable = "avx512f")]
fn is_large(x: __m512) -> __mmask16 {
    // The exponents of smaller numbers have zeros in their two highest bits.
    _mm512_test_epi32_mask(_mm512_castps_si512(x), _mm512_set1_epi32(0x6000_0000))
}

/// √x for x > 0.
#[inline]
#[target_feature(enable = "avx512f")]
fn roots(x: Quad) -> Quad {
    let mut out = x;
    for (out, x) in out.iter_mut().zip(x) {
        let estimate = _mm512_rsqrt14_ps(x);
        let root = _mm512_mul_ps(x, estimate);
        let off = _mm512_fnmadd_ps(root, estimate, _mm512_set1_ps(1.0));
        *out = _mm512_fmadd_ps(_mm512_mul_ps(root, _mm512_set1_ps(0.5)), off, root);
    }
    out
}

/// 1/x.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverses<const N: usize>(x: [__m512; N]) -> [__m512; N] {
    let mut out = x;
    for (out, x) in out.iter_mut().zip(x) {
        let estimate = _mm512_rcp14_ps(x);
        let off = _mm512_fnmadd_ps(x, estimate, _mm512_set1_ps(1.0));
        *out = _mm512_fmadd_ps(estimate, off, estimate);
    }
    out
}

/// tanh βθ and 1 − tanh² βθ, for β > 0, to about 18 bits: enough for numbers that are then rounded to bfloat16.
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub fn moments<const N: usize>(beta: __m512, theta: [__m512; N]) -> ([__m512; N], [__m512; N]) {
    let [mut power, mut r, mut series, mut e, mut one_minus_e, mut divisors] = [theta; 6];
    let set = |x: f32| _mm512_set1_ps(x);
    let scale = _mm512_mul_ps(beta, set(2.0 * std::f32::consts::LOG2_E));
    // e^{−2β|θ|} = 2^n (1 + q): 1 − e is then accurate near 0, where n = 0.
    for i in 0..N {
        let t = _mm512_mul_ps(_mm512_or_ps(theta[i], set(-0.0)), scale);
        let t = _mm512_max_ps(set(-125.0), t);
        let n = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(t);
        r[i] = _mm512_mul_ps(_mm512_sub_ps(t, n), set(std::f32::consts::LN_2));
        power[i] = _mm512_scalef_ps(set(1.0), n);
        series[i] = set(1.0 / 120.0);
    }
    for term in [1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0] {
        for i in 0..N {
            series[i] = _mm512_fmadd_ps(series[i], r[i], set(term));
        }
    }
    for i in 0..N {
        let q = _mm512_mul_ps(series[i], r[i]);
        e[i] = _mm512_fmadd_ps(power[i], q, power[i]);
        one_minus_e[i] = _mm512_fnmadd_ps(power[i], q, _mm512_sub_ps(set(1.0), power[i]));
        divisors[i] = _mm512_add_ps(e[i], set(1.0));
    }
    let inverses = inverses(divisors);
    let (mut mean, mut variance) = (theta, theta);
    for i in 0..N {
        let size = _mm512_mul_ps(one_minus_e[i], inverses[i]);
        mean[i] = _mm512_or_ps(_mm512_and_ps(theta[i], set(-0.0)), size);
        let four = _mm512_mul_ps(_mm512_mul_ps(set(4.0), e[i]), inverses[i]);
        variance[i] = _mm512_mul_ps(four, inverses[i]);
        variance[i] = _mm512_maskz_mov_ps(is_large(variance[i]), variance[i]);
    }
    (mean, variance)
}

/// Where the weights of a [`Quad`] are.
#[derive(Clone, Copy)]
pub struct Place {
    /// Where each register begins.
    pub starts: [usize; QUAD],
    /// Those that exist.
    pub masks: [__mmask16; QUAD],
}

impl Place {
    /// All numbers of an array of 64.
    pub const WHOLE: Self = Self { starts: [0, LANES, 2 * LANES, 3 * LANES], masks: [!0; QUAD] };

    /// The first so many numbers of a register, or all.
    #[inline]
    pub fn mask(count: usize) -> __mmask16 {
        ((1_u32 << count.min(LANES)) - 1) as __mmask16
    }
}

/// Some numbers, and zeros where there are none.
///
/// # Safety
///
/// The numbers of the masks must be within the slice.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "loads without a check of the length for each")]
pub unsafe fn quad(x: &[f32], place: Place) -> Quad {
    let mut out = [_mm512_setzero_ps(); QUAD];
    for (q, out) in out.iter_mut().enumerate() {
        let from = x.as_ptr().wrapping_add(place.starts[q]);
        // SAFETY: numbers that are not in the mask are not read.
        *out = unsafe { _mm512_maskz_loadu_ps(place.masks[q], from) };
    }
    out
}

/// Writes some numbers.
///
/// # Safety
///
/// As for [`quad`].
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "stores without a check of the length for each")]
pub unsafe fn put_quad(x: &mut [f32], place: Place, lanes: Quad) {
    for (q, lanes) in lanes.into_iter().enumerate() {
        let to = x.as_mut_ptr().wrapping_add(place.starts[q]);
        // SAFETY: numbers that are not in the mask are not written.
        unsafe { _mm512_mask_storeu_ps(to, place.masks[q], lanes) }
    }
}
