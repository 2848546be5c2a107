//! The passes over packed moments with AVX-512, two inputs at a time: the numbers of a pair.
//!
//! The operations on a weight wait for one another. Four registers of weights are therefore computed
//! together, stage by stage.

use std::arch::x86_64::*;

use remanent_math::avx512::{load, load_words, words};

use super::super::DEPTH;
use super::super::avx512::{is_available, round};
use super::{Gradients, State};
use crate::fused::Constants;
use crate::kernels::NEGLIGIBLE;
use crate::tiles::{SIDE, Sums, Tile};

/// Makes left tiles, with pairs of outputs, of the right tiles of 32 inputs, with pairs of inputs: first those of
/// the first 16 inputs.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn exchange(right: &[Tile], left: &mut [Tile]) {
    assert!(is_available(), "a processor with AVX-512-BF16");
    // SAFETY: the processor has the instructions.
    unsafe { exchange_pairs(right, left) }
}

/// See [`super::Moments::learn`].
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn learn(constants: &Constants, gradients: Gradients<'_>, state: State<'_>) {
    assert!(is_available(), "a processor with AVX-512-BF16");
    // SAFETY: the processor has the instructions.
    unsafe {
        match (state.kept.is_empty(), state.anchor.is_empty()) {
            (true, true) => learn_block::<false, false>(constants, gradients, state),
            (true, false) => learn_block::<false, true>(constants, gradients, state),
            (false, true) => learn_block::<true, false>(constants, gradients, state),
            (false, false) => learn_block::<true, true>(constants, gradients, state),
        }
    }
}

/// The tiles of the moments of a block of inputs, from its θ.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn pack(beta: f32, outputs: usize, theta: &[f32], tiles: (&mut [Tile], &mut [Tile])) {
    assert!(is_available(), "a processor with AVX-512-BF16");
    // SAFETY: the processor has the instructions.
    unsafe { pack_block(beta, outputs, theta, tiles) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
fn pack_block(
    beta: f32,
    outputs: usize,
    theta: &[f32],
    (mean, variance): (&mut [Tile], &mut [Tile]),
) {
    let (order, beta) = (order_of_pairs(), _mm512_set1_ps(beta));
    let count = theta.len() / outputs;
    for pair in 0..count.div_ceil(2) {
        for (panel, (mean, variance)) in mean.iter_mut().zip(&mut *variance).enumerate() {
            let width = SIDE.min(outputs - panel * SIDE);
            let mut fields = [_mm512_setzero_ps(); 2];
            for (half, field) in fields.iter_mut().take(count - 2 * pair).enumerate() {
                let at = (2 * pair + half) * outputs + panel * SIDE;
                let mut numbers = [0.0; SIDE];
                numbers[..width].copy_from_slice(&theta[at..at + width]);
                *field = load(&numbers);
            }
            let (means, variances) = moments(beta, fields);
            mean.0[pair] = pairs_of(order, means);
            variance.0[pair] = pairs_of(order, variances);
        }
    }
}

/// The numbers 0 to 15 are of the first input and 16 to 31 of the second; pairs take one of each.
#[inline]
#[target_feature(enable = "avx512f")]
fn order_of_pairs() -> __m512i {
    let order: [u32; SIDE] = std::array::from_fn(|n| n as u32 | (n as u32 + 16) << 16);
    load_words(&order)
}

/// The rounded numbers of two inputs as pairs.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn pairs_of(order: __m512i, [low, high]: [__m512; 2]) -> [u32; SIDE] {
    words(_mm512_permutexvar_epi16(order, round(low, high)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
fn exchange_pairs(right: &[Tile], left: &mut [Tile]) {
    // Word n of two registers: that of the input of lower (0) or higher (1) number, of the outputs in order.
    let order = |high: u32| {
        let half = |n: u32| 2 * n + high;
        std::array::from_fn(|n| half(2 * n as u32) | half(2 * n as u32 + 1) << 16)
    };
    let (low, high): ([u32; SIDE], [u32; SIDE]) = (order(0), order(1));
    let (low, high) = (load_words(&low), load_words(&high));
    let (upper, lower) = left.split_at_mut(right.len().div_ceil(2));
    for ((pair, upper), lower) in right.chunks(2).zip(upper).zip(lower) {
        for (p, row) in pair[0].0.iter().enumerate() {
            let first = load_words(row);
            let second = match pair.get(1) {
                Some(tile) => load_words(&tile.0[p]),
                None => _mm512_setzero_si512(),
            };
            let tile = if p < SIDE / 2 { &mut *upper } else { &mut *lower };
            let at = 2 * p % SIDE;
            tile.0[at] = words(_mm512_permutex2var_epi16(first, low, second));
            tile.0[at + 1] = words(_mm512_permutex2var_epi16(first, high, second));
        }
    }
}

/// The constants in registers.
#[derive(Clone, Copy)]
struct Wide {
    beta: __m512,
    /// β N^{-1/2}, and N^{-1} over N^{-1/2}.
    slope: __m512,
    ratio: __m512,
    gamma_step: __m512,
    gamma_anchor: __m512,
    rate: __m512,
    spread: __m512,
    epsilon: __m512,
    b1: __m512,
    b2: __m512,
    rest1: __m512,
    rest2: __m512,
    /// Second moments are at least this, so that roots have an inverse.
    smallest: __m512,
}

/// Registers that are computed together.
const QUAD: usize = 4;
type Quad = [__m512; QUAD];

/// 64 weights and the state of their learner.
struct Lanes {
    theta: Quad,
    first: Quad,
    second: Quad,
    kept: Quad,
    anchor: Quad,
    mean: Quad,
    variance: Quad,
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
fn learn_block<const KEPT: bool, const ANCHORED: bool>(
    constants: &Constants,
    gradients: Gradients<'_>,
    mut state: State<'_>,
) {
    let wide = Wide::of(constants, gradients.factors);
    let (outputs, panels) = (state.outputs, state.mean.len());
    let count = state.theta.len() / outputs;
    let length = count * outputs;
    assert!(count <= DEPTH && panels == outputs.div_ceil(SIDE), "a block of inputs");
    assert!(state.first.len() == length && state.second.len() == length, "one for each weight");
    assert!(!KEPT || state.kept.len() == length, "one for each weight");
    assert!(!ANCHORED || state.anchor.len() == length, "one for each weight");
    // Two loops: the operations of one would be too many for the processor to begin a quad before the last
    // has ended.
    for pair in 0..count.div_ceil(2) {
        let both = 2 * pair + 1 < count;
        descend::<KEPT, ANCHORED>(&wide, &gradients, &mut state, pair, both);
        renew::<KEPT>(&wide, &mut state, pair, both);
    }
}

/// Gradient and step of two inputs. Where a divergence from the last step is kept, the step is left there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
#[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
fn descend<const KEPT: bool, const ANCHORED: bool>(
    wide: &Wide,
    gradients: &Gradients<'_>,
    state: &mut State<'_>,
    pair: usize,
    both: bool,
) {
    let (outputs, panels, row) = (state.outputs, state.mean.len(), 2 * pair);
    let tiles = row / SIDE * panels..(row / SIDE + 1) * panels;
    let (by_mean, by_variance) = (&gradients.by_mean[tiles.clone()], &gradients.by_variance[tiles]);
    let row = row % SIDE;
    for panel in (0..panels).step_by(2) {
        let next = (panel + 1).min(panels - 1);
        let place = Place::of(outputs, pair, panel, both);
        for array in [&*state.theta, &*state.first, &*state.second, &*state.kept] {
            fetch(array, place);
        }
        let rows = |tiles: &[Sums]| {
            let (first, second) = (&tiles[panel].0, &tiles[next].0);
            [load(&first[row]), load(&first[row + 1]), load(&second[row]), load(&second[row + 1])]
        };
        let numbers = |tiles: &[Tile]| numbers_of([&tiles[panel].0[pair], &tiles[next].0[pair]]);
        let zero = [_mm512_setzero_ps(); QUAD];
        // SAFETY: the weights of the masks exist, and all arrays have one number for each.
        let mut lanes = unsafe {
            Lanes {
                theta: quad(state.theta, place),
                first: quad(state.first, place),
                second: quad(state.second, place),
                kept: if KEPT { quad(state.kept, place) } else { zero },
                anchor: if ANCHORED { quad(state.anchor, place) } else { zero },
                mean: numbers(state.mean),
                variance: numbers(state.variance),
            }
        };
        let steps = step::<KEPT, ANCHORED>(wide, rows(by_mean), rows(by_variance), &mut lanes);
        // SAFETY: as above.
        unsafe {
            put_quad(state.theta, place, lanes.theta);
            put_quad(state.first, place, lanes.first);
            put_quad(state.second, place, lanes.second);
            if KEPT {
                put_quad(state.kept, place, steps);
            }
        }
    }
}

/// The moments of the new weights of two inputs, and from their steps the gradient of the divergence.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
#[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
fn renew<const KEPT: bool>(wide: &Wide, state: &mut State<'_>, pair: usize, both: bool) {
    let order = order_of_pairs();
    let (outputs, panels) = (state.outputs, state.mean.len());
    let minus_square = _mm512_sub_ps(_mm512_setzero_ps(), _mm512_mul_ps(wide.beta, wide.beta));
    for panel in (0..panels).step_by(2) {
        let place = Place::of(outputs, pair, panel, both);
        // SAFETY: the weights of the masks exist, and all arrays have one number for each.
        let (means, variances) = moments(wide.beta, unsafe { quad(state.theta, place) });
        if KEPT {
            // SAFETY: as above.
            let mut kept = unsafe { quad(state.kept, place) };
            for (kept, variance) in kept.iter_mut().zip(variances) {
                *kept = _mm512_mul_ps(_mm512_mul_ps(minus_square, variance), *kept);
            }
            // SAFETY: as above.
            unsafe { put_quad(state.kept, place, kept) }
        }
        state.mean[panel].0[pair] = pairs_of(order, [means[0], means[1]]);
        state.variance[panel].0[pair] = pairs_of(order, [variances[0], variances[1]]);
        if panel + 1 < panels {
            state.mean[panel + 1].0[pair] = pairs_of(order, [means[2], means[3]]);
            state.variance[panel + 1].0[pair] = pairs_of(order, [variances[2], variances[3]]);
        }
    }
}

/// Where the weights of a [`Quad`] are: two inputs and two panels of outputs.
#[derive(Clone, Copy)]
struct Place {
    /// The first of them.
    at: usize,
    /// From an input to the next.
    outputs: usize,
    /// Those that exist.
    masks: [__mmask16; QUAD],
}

impl Wide {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn of(constants: &Constants, (root, share): (f32, f32)) -> Self {
        let adam = &constants.adam;
        Self {
            beta: _mm512_set1_ps(constants.beta),
            slope: _mm512_set1_ps(constants.beta * root),
            ratio: _mm512_set1_ps(share / root),
            gamma_step: _mm512_set1_ps(constants.gamma_step),
            gamma_anchor: _mm512_set1_ps(constants.gamma_anchor * constants.beta),
            rate: _mm512_set1_ps(adam.rate),
            spread: _mm512_set1_ps(adam.spread),
            epsilon: _mm512_set1_ps(adam.epsilon),
            b1: _mm512_set1_ps(adam.b1),
            b2: _mm512_set1_ps(adam.b2),
            rest1: _mm512_set1_ps(1.0 - adam.b1),
            rest2: _mm512_set1_ps(1.0 - adam.b2),
            smallest: _mm512_set1_ps(NEGLIGIBLE * NEGLIGIBLE),
        }
    }
}

impl Place {
    /// Of two inputs, or of the first of them only, and the outputs of a panel and the next.
    #[inline]
    fn of(outputs: usize, pair: usize, panel: usize, both: bool) -> Self {
        let mask = |panel: usize| {
            let width = outputs.saturating_sub(panel * SIDE).min(SIDE);
            ((1_u32 << width) - 1) as __mmask16
        };
        let (left, right) = (mask(panel), mask(panel + 1));
        let second = |mask| if both { mask } else { 0 };
        let masks = [left, second(left), right, second(right)];
        Self { at: 2 * pair * outputs + panel * SIDE, outputs, masks }
    }

    /// Where a register begins.
    #[inline]
    fn start(self, q: usize) -> usize {
        self.at + q % 2 * self.outputs + q / 2 * SIDE
    }
}

/// The numbers of the pairs of two panels.
#[inline]
#[target_feature(enable = "avx512f")]
fn numbers_of(panels: [&[u32; SIDE]; 2]) -> Quad {
    let upper = _mm512_set1_epi32(0xffff_0000_u32.cast_signed());
    let [first, second] = [load_words(panels[0]), load_words(panels[1])];
    let low = |pairs: __m512i| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(pairs));
    let high = |pairs: __m512i| _mm512_castsi512_ps(_mm512_and_si512(pairs, upper));
    [low(first), high(first), low(second), high(second)]
}

/// Some weights, and zeros where there are none.
///
/// # Safety
///
/// The weights of the masks must be within the slice.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "loads without a check of the length for each")]
unsafe fn quad(x: &[f32], place: Place) -> Quad {
    let mut out = [_mm512_setzero_ps(); QUAD];
    for (q, out) in out.iter_mut().enumerate() {
        // SAFETY: numbers that are not in the mask are not read.
        *out = unsafe {
            _mm512_maskz_loadu_ps(place.masks[q], x.as_ptr().wrapping_add(place.start(q)))
        };
    }
    out
}

/// Writes some weights.
///
/// # Safety
///
/// As for [`quad`].
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "stores without a check of the length for each")]
unsafe fn put_quad(x: &mut [f32], place: Place, lanes: Quad) {
    for (q, lanes) in lanes.into_iter().enumerate() {
        let to = x.as_mut_ptr().wrapping_add(place.start(q));
        // SAFETY: numbers that are not in the mask are not written.
        unsafe { _mm512_mask_storeu_ps(to, place.masks[q], lanes) }
    }
}

/// Asks for the numbers that are used soon.
#[inline]
#[target_feature(enable = "avx512f")]
fn fetch(x: &[f32], place: Place) {
    for q in 0..QUAD {
        let ahead = x.as_ptr().wrapping_add(place.start(q) + AHEAD);
        _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
    }
}

/// How many numbers ahead memory is asked for: four kilobytes are beyond what the processor foresees.
const AHEAD: usize = 512;

/// The step of [`fused`](crate::fused), from the gradients by mean and variance to θ; gives what was subtracted.
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn step<const KEPT: bool, const ANCHORED: bool>(
    wide: &Wide,
    by_mean: Quad,
    by_variance: Quad,
    lanes: &mut Lanes,
) -> Quad {
    for q in 0..QUAD {
        let by_variance = _mm512_mul_ps(by_variance[q], lanes.mean[q]);
        let by_mean = _mm512_fnmadd_ps(wide.ratio, by_variance, by_mean[q]);
        let mut g = _mm512_mul_ps(_mm512_mul_ps(wide.slope, lanes.variance[q]), by_mean);
        if KEPT {
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
        // The second operand is taken if one is not a number: NaN propagates.
        lanes.second[q] = _mm512_max_ps(wide.smallest, second);
    }
    let roots = roots(lanes.second);
    let mut divisors = roots;
    for q in 0..QUAD {
        divisors[q] = _mm512_fmadd_ps(roots[q], wide.spread, wide.epsilon);
    }
    let mut steps = inverses(divisors);
    for q in 0..QUAD {
        steps[q] = _mm512_mul_ps(_mm512_mul_ps(wide.rate, lanes.first[q]), steps[q]);
        lanes.theta[q] = _mm512_sub_ps(lanes.theta[q], steps[q]);
    }
    steps
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

/// tanh βθ and 1 − tanh² βθ, for β > 0.
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn moments<const N: usize>(beta: __m512, theta: [__m512; N]) -> ([__m512; N], [__m512; N]) {
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
