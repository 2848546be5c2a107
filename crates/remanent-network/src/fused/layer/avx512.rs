//! [`Downstream::learn`] with AVX-512.

use std::arch::x86_64::*;
use std::array::from_fn;
use std::ops::Range;

use super::{Downstream, Layer};
use crate::active::avx512::{add, is_available};
use crate::active::{Factors, Pair, WORD, fetch, nonzero};
use crate::fused::avx512::{
    LANES, Lanes, Place, QUAD, Wide, divergences, put_quad, quad, recalled, step,
};
use crate::fused::{Constants, Learned, by_terms, last};
use crate::kernels::moments_of;

/// Upstream neurons of a tile.
const ROWS: usize = 16;
/// Words of downstream neurons of a tile: the weights of an upstream neuron are then read and written in long pieces, in the
/// order in which they are stored.
const WORDS: usize = 32;

/// See [`Downstream::learn`], which checks all lengths.
#[expect(unsafe_code, reason = "a call that needs the instructions, after they were detected")]
pub fn learn(
    downstream: &Downstream,
    constants: &Constants,
    layer: Layer<'_>,
    learned: Learned<'_>,
) {
    assert!(is_available(), "a processor with AVX-512");
    let mut pass = Tiles { downstream, layer, learned };
    // SAFETY: the processor has the instructions.
    unsafe { by_terms!(constants, pass.learned, Tiles::learn, &mut pass, constants) }
}

struct Tiles<'a> {
    downstream: &'a Downstream,
    layer: Layer<'a>,
    learned: Learned<'a>,
}

/// 64 numbers.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Numbers([f32; WORD]);

impl Tiles<'_> {
    #[target_feature(enable = "avx512f,avx512dq,bmi1")]
    fn learn<const LAST: u8, const ANCHORED: bool>(&mut self, constants: &Constants) {
        let wide = Wide::of(constants, self.layer.factors);
        let Downstream { batch, outputs, .. } = *self.downstream;
        let inputs = self.layer.upstream.len() / batch;
        let mut active = vec![0; ROWS * batch.div_ceil(WORD)];
        // By mean and variance, upstream neurons by words of downstream neurons.
        let mut gradients = vec![Pair::ZERO; ROWS * WORDS];
        for start in (0..inputs).step_by(ROWS) {
            let rows = start..inputs.min(start + ROWS);
            self.find_active(rows.clone(), &mut active);
            for first in (0..outputs).step_by(WORDS * WORD) {
                let columns = first..outputs.min(first + WORDS * WORD);
                for (word, column) in columns.clone().step_by(WORD).enumerate() {
                    let of_word = &mut gradients[word * ROWS..][..ROWS];
                    self.add_samples::<LAST, ANCHORED>(rows.clone(), column, &active, of_word);
                }
                for (r, row) in rows.clone().enumerate() {
                    // Two loops: the operations of one would be too many for the processor to begin a word before
                    // the last has ended.
                    for (word, column) in columns.clone().step_by(WORD).enumerate() {
                        let place = place_of(outputs, row, column);
                        self.descend::<LAST, ANCHORED>(&wide, &gradients[word * ROWS + r], place);
                    }
                    for column in columns.clone().step_by(WORD) {
                        self.renew::<LAST>(&wide, place_of(outputs, row, column));
                    }
                }
            }
        }
    }

    /// The samples in which upstream neurons are not zero: words of 64 bits for each neuron.
    fn find_active(&self, rows: Range<usize>, active: &mut [u64]) {
        let batch = self.downstream.batch;
        for (row, active) in rows.zip(active.chunks_exact_mut(batch.div_ceil(WORD))) {
            let h = &self.layer.upstream[row * batch..][..batch];
            h.chunks(WORD).zip(active).for_each(|(h, active)| *active = nonzero(h));
        }
    }

    /// The sums over the samples, for 64 downstream neurons.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,bmi1")]
    fn add_samples<const LAST: u8, const ANCHORED: bool>(
        &self,
        rows: Range<usize>,
        column: usize,
        active: &[u64],
        gradients: &mut [Pair],
    ) {
        let Downstream { batch, outputs, .. } = *self.downstream;
        let chunks = batch.div_ceil(WORD);
        for chunk in 0..chunks {
            let first = chunk * WORD;
            let k = &self.downstream.wide[column / WORD * batch..][first..batch];
            for (r, row) in rows.clone().enumerate() {
                if chunk == 0 {
                    self.fetch::<LAST, ANCHORED>(row * outputs + column);
                }
                let h = &self.layer.upstream[row * batch + first..(row + 1) * batch];
                let factors = Factors { h, stride: 1 };
                let active = active[r * chunks + chunk];
                add::<true>(&mut gradients[r], chunk == 0, active, factors, k);
            }
        }
    }

    /// Gradient and step. Where the divergence from the last step is stored, the step is left there.
    #[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn descend<const LAST: u8, const ANCHORED: bool>(
        &mut self,
        wide: &Wide,
        gradient: &Pair,
        place: Place,
    ) {
        let zero = [_mm512_setzero_ps(); QUAD];
        let Learned { theta, first, second, kept, anchor } = &mut self.learned;
        // SAFETY: the weights of the masks exist, and all arrays have one number for each.
        unsafe {
            let mut lanes = Lanes {
                theta: quad(theta, place),
                first: quad(first, place),
                second: quad(second, place),
                kept: if LAST == last::STORED { quad(kept, place) } else { zero },
                anchor: if ANCHORED { quad(anchor, place) } else { zero },
                mean: quad(self.layer.mean, place),
                variance: quad(self.layer.variance, place),
            };
            let gradients =
                (quad(&gradient.0[0], Place::WHOLE), quad(&gradient.0[1], Place::WHOLE));
            if LAST == last::RECALLED {
                lanes.kept = recalled(wide, [lanes.first, lanes.second], lanes.variance);
            }
            let steps = step::<LAST, ANCHORED>(wide, gradients.0, gradients.1, &mut lanes);
            put_quad(theta, place, lanes.theta);
            put_quad(first, place, lanes.first);
            put_quad(second, place, lanes.second);
            if LAST == last::STORED {
                put_quad(kept, place, steps);
            }
        }
    }

    /// The moments of the new weights, with the bits of [`kernels::moments`](crate::kernels::moments), and
    /// from their steps the gradient of the divergence.
    #[expect(unsafe_code, reason = "loads and stores without a check of the length for each")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn renew<const LAST: u8>(&mut self, wide: &Wide, place: Place) {
        let [mut fields, mut mean, mut variance] = [Numbers([0.0; WORD]); 3];
        // SAFETY: the weights of the masks exist, and all arrays have one number for each.
        unsafe {
            let mut theta = quad(self.learned.theta, place);
            theta.iter_mut().for_each(|theta| *theta = _mm512_mul_ps(wide.beta, *theta));
            put_quad(&mut fields.0, Place::WHOLE, theta);
            moments_of(&fields.0, &mut mean.0, &mut variance.0);
            let variances = quad(&variance.0, Place::WHOLE);
            if LAST == last::STORED {
                let steps = quad(self.learned.kept, place);
                put_quad(self.learned.kept, place, divergences(wide, variances, steps));
            }
            put_quad(self.layer.mean, place, quad(&mean.0, Place::WHOLE));
            put_quad(self.layer.variance, place, variances);
        }
    }

    /// Asks for the weights that are used next.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn fetch<const LAST: u8, const ANCHORED: bool>(&self, at: usize) {
        let Learned { theta, first, second, kept, anchor } = &self.learned;
        for x in [&**theta, first, second, self.layer.mean, self.layer.variance] {
            fetch(x, at);
        }
        if LAST == last::STORED {
            fetch(kept, at);
        }
        if ANCHORED {
            fetch(anchor, at);
        }
    }
}

/// The weights of an upstream neuron in a tile.
#[inline]
fn place_of(outputs: usize, row: usize, column: usize) -> Place {
    let at = row * outputs + column;
    let left = outputs - column;
    let mask = |q: usize| Place::mask(left.saturating_sub(q * LANES));
    Place { starts: from_fn(|q| at + q * LANES), masks: from_fn(mask) }
}
