//! Binary weights drawn from their distribution.
//!
//! A weight of mean μ is +1 if a uniform number in (−1, 1) is below μ. The number has 23 bits, so the
//! comparison is one of integers, with a threshold that is computed once for all draws.

use remanent_math::multiversioned;
use remanent_math::philox::Stream;

/// Indices of the stream that are drawn together; each has four words.
const LANES: usize = 16;
/// Weights that are drawn together.
const GROUP: usize = 4 * LANES;

/// A number for each word, in the order of [`Stream::fill_words`].
type Rows<T> = [[T; LANES]; 4];

/// The thresholds of the weights of one layer.
#[derive(Clone, Debug)]
pub(super) struct Thresholds {
    weights: usize,
    rows: Vec<Rows<i32>>,
}

impl Thresholds {
    pub(super) fn new(means: &[f32]) -> Self {
        let rows = means.chunks(GROUP).map(|means| {
            let mut rows = [[0; LANES]; 4];
            for (place, &mean) in means.iter().enumerate() {
                rows[place % 4][place / 4] = threshold(mean);
            }
            rows
        });
        Self { weights: means.len(), rows: rows.collect() }
    }

    /// The number of indices of the stream that a draw uses.
    pub(super) fn indices(&self) -> u32 {
        self.weights.div_ceil(4) as u32
    }

    /// Draws all weights: 1 for +1 and 0 for −1. These are the weights of
    /// [`Network::sampled`](crate::network::Network::sampled).
    pub(super) fn draw(&self, stream: &Stream, first: u32, positive: &mut Vec<u8>) {
        /// Groups for which the words stay in the nearest cache.
        const TOGETHER: usize = 16;
        let mut words = [[[0; LANES]; 4]; TOGETHER];
        positive.resize(self.rows.len() * GROUP, 0);
        let chunks = self.rows.chunks(TOGETHER).zip(positive.chunks_mut(TOGETHER * GROUP));
        for (place, (rows, positive)) in chunks.enumerate() {
            let words = &mut words[..rows.len()];
            stream.fill_words(first.wrapping_add((place * TOGETHER * LANES) as u32), words);
            compare(words, rows, positive.as_chunks_mut().0);
        }
        positive.truncate(self.weights);
    }
}

/// The least integer k with (k + ½) 2^{-22} ≥ μ. The number (k + ½) 2^{-22} of an integer k is below μ
/// exactly if k is below the threshold. NaN gives −1.
fn threshold(mean: f32) -> i32 {
    if mean.is_nan() {
        return i32::MIN;
    }
    // Exact in double precision.
    (f64::from(mean) * 4_194_304.0 - 0.5).ceil() as i32
}

multiversioned! {
    fn compare(words: &[Rows<u32>], rows: &[Rows<i32>], positive: &mut [[u8; 4]]) {
        let groups = words.iter().zip(rows).zip(positive.as_chunks_mut::<LANES>().0);
        for ((words, rows), positive) in groups {
            for lane in 0..LANES {
                let mut four = 0;
                for k in 0..4 {
                    let below = (words[k][lane] as i32 >> 9) < rows[k][lane];
                    four |= u32::from(below) << (8 * k);
                }
                positive[lane] = four.to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::{Activation, Architecture, Normalisation};
    use crate::network::{Network, Weights};

    #[test]
    fn draws_are_those_of_the_network() {
        for widths in [vec![1, 1], vec![7, 9, 3], vec![30, 67, 10]] {
            let architecture = Architecture {
                widths,
                activation: Activation::Relu,
                normalisation: Normalisation::None,
            };
            for spread in [0.1, 1.0, 20.0] {
                let network = Network::random(&architecture, Weights::Field, spread, 1, 0).unwrap();
                for step in [0, u32::MAX] {
                    let stream = Stream::new(2, 3, 4, step);
                    let sampled = network.sampled(&stream);
                    let (mut first, mut positive) = (0, Vec::new());
                    for (layer, sampled) in network.layers().iter().zip(sampled.layers()) {
                        let thresholds = Thresholds::new(layer.mean());
                        thresholds.draw(&stream, first, &mut positive);
                        first += thresholds.indices();
                        let signs: Vec<u8> =
                            sampled.mean().iter().map(|&w| u8::from(w > 0.0)).collect();
                        assert_eq!(positive, signs);
                    }
                }
            }
        }
    }

    #[test]
    fn a_threshold_decides_as_the_number_does() {
        let means = (0..200).map(|k| (k as f32 - 100.0) / 100.0);
        let near = (0..200).map(|k| (k as f32 - 100.0) / 8_388_608.0);
        let ends = [-1.0, 1.0, -0.0, f32::MIN_POSITIVE, 1.0 - f32::EPSILON / 2.0, f32::NAN];
        for mean in means.chain(near).chain(ends) {
            let threshold = threshold(mean);
            let around = [threshold.saturating_sub(1), threshold, threshold.saturating_add(1)];
            for k in around.into_iter().chain([-4_194_304, 4_194_303, 0, -1]) {
                let k = k.clamp(-4_194_304, 4_194_303);
                let uniform = (k as f32 + 0.5) * (1.0 / 4_194_304.0);
                assert_eq!(k < threshold, uniform < mean, "{mean} {k}");
            }
        }
    }
}
