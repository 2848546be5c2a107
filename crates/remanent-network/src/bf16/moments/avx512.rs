//! The passes over packed moments with AVX-512, two inputs at a time: the numbers of a pair.
//!
//! The arithmetic is that of [`fused::avx512`](crate::fused::avx512).

use std::arch::x86_64::*;

use remanent_math::avx512::{load, load_words, words};

use super::super::DEPTH;
use super::super::avx512::{is_available, round};
use super::{Gradients, State};
use crate::fused::avx512::{
    Lanes, Place, QUAD, Quad, Wide, divergences, moments, put_quad, quad, roughly_recalled, step,
};
use crate::fused::{Constants, by_terms, last};
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
    unsafe { by_terms!(constants, state.learned, learn_block, constants, gradients, state) }
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

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
fn learn_block<const LAST: u8, const ANCHORED: bool>(
    constants: &Constants,
    gradients: Gradients<'_>,
    mut state: State<'_>,
) {
    let wide = Wide::of(constants, gradients.factors);
    let (outputs, panels) = (state.outputs, state.mean.len());
    let count = state.learned.theta.len() / outputs;
    let length = count * outputs;
    assert!(count <= DEPTH && panels == outputs.div_ceil(SIDE), "a block of inputs");
    assert!(
        state.learned.first.len() == length && state.learned.second.len() == length,
        "one for each weight"
    );
    assert!(LAST != last::STORED || state.learned.kept.len() == length, "one for each weight");
    assert!(!ANCHORED || state.learned.anchor.len() == length, "one for each weight");
    // Two loops: the operations of one would be too many for the processor to begin a quad before the last
    // has ended.
    for pair in 0..count.div_ceil(2) {
        let both = 2 * pair + 1 < count;
        descend::<LAST, ANCHORED>(&wide, &gradients, &mut state, pair, both);
        renew::<LAST>(&wide, &mut state, pair, both);
    }
}

/// Gradient and step of two inputs. Where the divergence from the last step is stored, the step is left there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
#[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
fn descend<const LAST: u8, const ANCHORED: bool>(
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
        let place = place_of(outputs, pair, panel, both);
        for array in [&*state.learned.theta, &*state.learned.first, &*state.learned.second] {
            fetch(array, place);
        }
        if LAST == last::STORED {
            fetch(state.learned.kept, place);
        }
        for tiles in [&*state.mean, &*state.variance] {
            fetch_row_after(tiles, panel, pair);
            fetch_row_after(tiles, next, pair);
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
                theta: quad(state.learned.theta, place),
                first: quad(state.learned.first, place),
                second: quad(state.learned.second, place),
                kept: if LAST == last::STORED { quad(state.learned.kept, place) } else { zero },
                anchor: if ANCHORED { quad(state.learned.anchor, place) } else { zero },
                mean: numbers(state.mean),
                variance: numbers(state.variance),
            }
        };
        if LAST == last::RECALLED {
            lanes.kept = roughly_recalled(wide, [lanes.first, lanes.second], lanes.variance);
        }
        let steps = step::<LAST, ANCHORED>(wide, rows(by_mean), rows(by_variance), &mut lanes);
        // SAFETY: as above.
        unsafe {
            put_quad(state.learned.theta, place, lanes.theta);
            put_quad(state.learned.first, place, lanes.first);
            put_quad(state.learned.second, place, lanes.second);
            if LAST == last::STORED {
                put_quad(state.learned.kept, place, steps);
            }
        }
    }
}

/// The moments of the new weights of two inputs, and from their steps the gradient of the divergence.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
#[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
fn renew<const LAST: u8>(wide: &Wide, state: &mut State<'_>, pair: usize, both: bool) {
    let order = order_of_pairs();
    let (outputs, panels) = (state.outputs, state.mean.len());
    for panel in (0..panels).step_by(2) {
        let place = place_of(outputs, pair, panel, both);
        // SAFETY: the weights of the masks exist, and all arrays have one number for each.
        let theta = unsafe { quad(state.learned.theta, place) };
        let (means, variances) = moments(wide.beta, theta);
        if LAST == last::STORED {
            // SAFETY: as above.
            let steps = unsafe { quad(state.learned.kept, place) };
            let kept = divergences(wide, variances, steps);
            // SAFETY: as above.
            unsafe { put_quad(state.learned.kept, place, kept) }
        }
        state.mean[panel].0[pair] = pairs_of(order, [means[0], means[1]]);
        state.variance[panel].0[pair] = pairs_of(order, [variances[0], variances[1]]);
        if panel + 1 < panels {
            state.mean[panel + 1].0[pair] = pairs_of(order, [means[2], means[3]]);
            state.variance[panel + 1].0[pair] = pairs_of(order, [variances[2], variances[3]]);
        }
    }
}

/// The weights of two inputs, or of the first of them only, and the outputs of a panel and the next.
#[inline]
fn place_of(outputs: usize, pair: usize, panel: usize, both: bool) -> Place {
    let mask = |panel: usize| Place::mask(outputs.saturating_sub(panel * SIDE));
    let (left, right) = (mask(panel), mask(panel + 1));
    let second = |mask| if both { mask } else { 0 };
    let at = 2 * pair * outputs + panel * SIDE;
    Place {
        starts: [at, at + outputs, at + SIDE, at + outputs + SIDE],
        masks: [left, second(left), right, second(right)],
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

/// Asks for the numbers that are used soon.
#[inline]
#[target_feature(enable = "avx512f")]
fn fetch(x: &[f32], place: Place) {
    for q in 0..QUAD {
        let ahead = x.as_ptr().wrapping_add(place.starts[q] + AHEAD);
        _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
    }
}

/// Asks for the pairs that follow those of a tile: they lie beside them, but the processor foresees no pairs of
/// other inputs. Those after the last pairs are in the next block.
#[inline]
#[target_feature(enable = "avx512f")]
fn fetch_row_after(tiles: &[Tile], panel: usize, pair: usize) {
    let next = match pair + 1 {
        SIDE => (panel + tiles.len()) * SIDE,
        next => panel * SIDE + next,
    };
    let ahead = tiles.as_ptr().cast::<[u32; SIDE]>().wrapping_add(next);
    _mm_prefetch::<_MM_HINT_T1>(ahead.cast());
}

/// How many numbers ahead memory is asked for: four kilobytes are beyond what the processor foresees.
const AHEAD: usize = 512;
