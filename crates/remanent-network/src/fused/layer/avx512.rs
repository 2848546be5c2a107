//! [`Downstream::learn`] with AVX-512.

use std::arch::x86_64::*;

use super::{Downstream, Layer};
use crate::active::avx512::{Factors, add, fetch, is_available};
use crate::active::{Pair, WORD};
use crate::fused::avx512::{Lanes, QUAD, Quad, Wide, step};
use crate::fused::{Constants, Learned};
use crate::kernels::moments_of;

/// Numbers of a register.
const LANES: usize = 16;
/// Upstream neurons of a tile.
const ROWS: usize = 16;
/// See [`Downstream::learn`], which checks all lengths.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn learn(
    downstream: &Downstream,
    constants: &Constants,
    layer: Layer<'_>,
    learned: Learned<'_>,
) {
    assert!(is_available(), "a processor with AVX-512");
    let terms = (!learned.kept.is_empty(), !learned.anchor.is_empty());
    let mut pass = Tiles { downstream, layer, learned };
    // SAFETY: the processor has the instructions.
    unsafe {
        match terms {
            (false, false) => pass.learn::<false, false>(constants),
            (false, true) => pass.learn::<false, true>(constants),
            (true, false) => pass.learn::<true, false>(constants),
            (true, true) => pass.learn::<true, true>(constants),
        }
    }
}

struct Tiles<'a> {
    downstream: &'a Downstream,
    layer: Layer<'a>,
    learned: Learned<'a>,
}

/// The weights of an upstream neuron in a tile.
#[derive(Clone, Copy)]
struct Place {
    /// The first of them.
    at: usize,
    /// Those that exist.
    masks: [__mmask16; QUAD],
}

/// 64 numbers.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Numbers([f32; WORD]);

impl Tiles<'_> {
    #[target_feature(enable = "avx512f,avx512dq,bmi1")]
    fn learn<const KEPT: bool, const ANCHORED: bool>(&mut self, constants: &Constants) {
        let wide = Wide::of(constants, self.layer.factors);
        let Downstream { batch, outputs, .. } = *self.downstream;
        let inputs = self.layer.upstream.len() / batch;
        let chunks = batch.div_ceil(WORD);
        let mut active = vec![0; ROWS * chunks];
        // By mean and variance, upstream by downstream neurons.
        let mut gradients = [Pair::ZERO; ROWS];
        for start in (0..inputs).step_by(ROWS) {
            let rows = start..inputs.min(start + ROWS);
            for (row, active) in rows.clone().zip(active.chunks_exact_mut(chunks)) {
                let h = &self.layer.upstream[row * batch..][..batch];
                h.chunks(WORD).zip(active).for_each(|(h, active)| *active = nonzero(h));
            }
            for column in (0..outputs).step_by(WORD) {
                let place = |row: usize| Place::of(outputs, row, column);
                for chunk in 0..chunks {
                    for (r, row) in rows.clone().enumerate() {
                        if chunk == 0 {
                            let next = if column + WORD < outputs { 0 } else { ROWS };
                            let next = place(row + next).after(outputs, column);
                            self.fetch::<KEPT, ANCHORED>(next);
                        }
                        let active = active[r * chunks + chunk];
                        let first = chunk * WORD;
                        let h = &self.layer.upstream[row * batch + first..(row + 1) * batch];
                        let k = &self.downstream.values[column / WORD * batch..][first..batch];
                        let factors = Factors { h, stride: 1 };
                        add(&mut gradients[r], chunk == 0, active, factors, k);
                    }
                }
                // Two loops: the operations of one would be too many for the processor to begin a neuron before
                // the last has ended.
                for (r, row) in rows.clone().enumerate() {
                    self.descend::<KEPT, ANCHORED>(&wide, &gradients[r], place(row));
                }
                for row in rows.clone() {
                    self.renew::<KEPT>(&wide, place(row));
                }
            }
        }
    }

    /// Gradient and step. Where a divergence from the last step is kept, the step is left there.
    #[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn descend<const KEPT: bool, const ANCHORED: bool>(
        &mut self,
        wide: &Wide,
        gradient: &Pair,
        place: Place,
    ) {
        let zero = [_mm512_setzero_ps(); QUAD];
        let whole = Place { at: 0, masks: [!0; QUAD] };
        let Learned { theta, first, second, kept, anchor } = &mut self.learned;
        // SAFETY: the weights of the masks exist, and all arrays have one number for each.
        unsafe {
            let mut lanes = Lanes {
                theta: quad(theta, place),
                first: quad(first, place),
                second: quad(second, place),
                kept: if KEPT { quad(kept, place) } else { zero },
                anchor: if ANCHORED { quad(anchor, place) } else { zero },
                mean: quad(self.layer.mean, place),
                variance: quad(self.layer.variance, place),
            };
            let gradients = (quad(&gradient.0[0], whole), quad(&gradient.0[1], whole));
            let steps = step::<KEPT, ANCHORED>(wide, gradients.0, gradients.1, &mut lanes);
            put_quad(theta, place, lanes.theta);
            put_quad(first, place, lanes.first);
            put_quad(second, place, lanes.second);
            if KEPT {
                put_quad(kept, place, steps);
            }
        }
    }

    /// The moments of the new weights, with the bits of [`kernels::moments`](crate::kernels::moments), and from their steps the gradient of the divergence.
    #[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn renew<const KEPT: bool>(&mut self, wide: &Wide, place: Place) {
        let minus_square = _mm512_sub_ps(_mm512_setzero_ps(), _mm512_mul_ps(wide.beta, wide.beta));
        let [mut fields, mut mean, mut variance] = [Numbers([0.0; WORD]); 3];
        let whole = Place { at: 0, masks: [!0; QUAD] };
        // SAFETY: the weights of the masks exist, and all arrays have one number for each.
        unsafe {
            let mut theta = quad(self.learned.theta, place);
            theta.iter_mut().for_each(|theta| *theta = _mm512_mul_ps(wide.beta, *theta));
            put_quad(&mut fields.0, whole, theta);
            moments_of(&fields.0, &mut mean.0, &mut variance.0);
            let variances = quad(&variance.0, whole);
            if KEPT {
                let mut kept = quad(self.learned.kept, place);
                for (kept, variance) in kept.iter_mut().zip(variances) {
                    *kept = _mm512_mul_ps(_mm512_mul_ps(minus_square, variance), *kept);
                }
                put_quad(self.learned.kept, place, kept);
            }
            put_quad(self.layer.mean, place, quad(&mean.0, whole));
            put_quad(self.layer.variance, place, variances);
        }
    }

    /// Asks for the weights that are used next.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn fetch<const KEPT: bool, const ANCHORED: bool>(&self, at: usize) {
        let Learned { theta, first, second, kept, anchor } = &self.learned;
        for x in [&**theta, first, second, self.layer.mean, self.layer.variance] {
            fetch(x, at);
        }
        if KEPT {
            fetch(kept, at);
        }
        if ANCHORED {
            fetch(anchor, at);
        }
    }
}

impl Place {
    #[inline]
    fn of(outputs: usize, row: usize, column: usize) -> Self {
        let left = (outputs - column).min(WORD);
        let mask = |q: usize| {
            let width = left.saturating_sub(q * LANES).min(LANES);
            ((1_u32 << width) - 1) as __mmask16
        };
        Self { at: row * outputs + column, masks: std::array::from_fn(mask) }
    }

    /// Where the next tile begins.
    #[inline]
    fn after(self, outputs: usize, column: usize) -> usize {
        if column + WORD < outputs { self.at + WORD } else { self.at - column }
    }
}

/// The samples, at most 64, in which a neuron is not zero: a bit for each.
#[inline]
fn nonzero(h: &[f32]) -> u64 {
    h.iter().enumerate().fold(0, |bits, (b, h)| bits | u64::from(*h != 0.0) << b)
}

/// Some numbers, and zeros where there are none.
///
/// # Safety
///
/// The numbers of the masks must be within the slice.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "loads without a check of the length for each")]
unsafe fn quad(x: &[f32], place: Place) -> Quad {
    let mut out = [_mm512_setzero_ps(); QUAD];
    for (q, out) in out.iter_mut().enumerate() {
        let from = x.as_ptr().wrapping_add(place.at + q * LANES);
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
unsafe fn put_quad(x: &mut [f32], place: Place, lanes: Quad) {
    for (q, lanes) in lanes.into_iter().enumerate() {
        let to = x.as_mut_ptr().wrapping_add(place.at + q * LANES);
        // SAFETY: numbers that are not in the mask are not written.
        unsafe { _mm512_mask_storeu_ps(to, place.masks[q], lanes) }
    }
}
