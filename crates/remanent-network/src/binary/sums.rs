//! The sums Σ_i ±h_i of a layer, computed from its bits.
//!
//! Four inputs have sixteen sums ±a ± b ± c ± d, and four bits of a word select one of them. With
//! AVX-512 the sixteen sums fill one register: shift, permute and add replace 64 multiplications.
//! With AVX2 a register holds the eight sums with +d, and the sign is applied after the lookup.
//! Otherwise the signs are applied to a, b, c and d before the addition.
//!
//! Groups of four zeros are skipped: most pixels of a digit are zero. The order of additions is fixed
//! (four inputs, then the groups of a block, then the blocks) and there is no fused multiply-add;
//! skipping ±0 does not change a sum that starts at +0. So every instruction set gives the same
//! bits. Summing by blocks also keeps rounding errors small: they grow with the number of blocks,
//! not of inputs.

use multiversion::target::match_target;
use remanent_math::multiversioned;

use super::bits::{BLOCK, LANES, Words};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// Inputs looked up together.
const QUAD: usize = 4;
/// Groups of four in a block.
#[cfg(target_arch = "x86_64")]
const QUADS: usize = BLOCK / QUAD;

/// Numbers of a group of outputs.
pub(super) type Lanes = [f32; LANES];

multiversioned! {
    /// For every output the sum of ±h. `words` has, for every block of inputs, one entry for every
    /// entry of `sums`.
    pub(super) fn signed_sums(words: &[Words], h: &[[f32; BLOCK]], sums: &mut [Lanes]) {
        match_target! {
            "x86_64+avx512f+avx512dq+avx512vl" => avx512::signed_sums(words, h, sums),
            "x86_64+avx2" => avx2::signed_sums(words, h, sums),
            _ => plain_sums(words, h, sums),
        }
    }
}

/// The groups of four in a block that are not all zero, one bit each.
#[inline(always)]
fn used(h: &[f32; BLOCK]) -> u32 {
    let mut used = 0;
    for (quad, [a, b, c, d]) in h.as_chunks::<QUAD>().0.iter().enumerate() {
        let magnitudes = (a.to_bits() | b.to_bits() | c.to_bits() | d.to_bits()) << 1;
        used |= u32::from(magnitudes != 0) << quad;
    }
    used
}

#[inline(always)]
fn plain_sums(words: &[Words], h: &[[f32; BLOCK]], sums: &mut [Lanes]) {
    sums.fill([0.0; LANES]);
    for (h, row) in h.iter().zip(words.chunks(sums.len())) {
        let used = used(h);
        if used == 0 {
            continue;
        }
        for (words, sums) in row.iter().zip(&mut *sums) {
            let mut block = [0.0; LANES];
            let mut left = used;
            while left != 0 {
                let quad = left.trailing_zeros() as usize;
                left &= left - 1;
                let [a, b, c, d] = h.as_chunks::<QUAD>().0[quad];
                for (sum, word) in block.iter_mut().zip(words) {
                    let word = !word >> (QUAD * quad);
                    *sum += (signed(a, word << 31) + signed(b, word << 30))
                        + (signed(c, word << 29) + signed(d, word << 28));
                }
            }
            for (sum, block) in sums.iter_mut().zip(block) {
                *sum += block;
            }
        }
    }
}

/// −`value` if the highest bit of the word is set.
#[inline(always)]
fn signed(value: f32, word: u32) -> f32 {
    f32::from_bits(value.to_bits() ^ (word & 1 << 31))
}

#[cfg(test)]
mod tests {
    use multiversion::multiversion;
    use remanent_math::philox::Stream;

    use super::super::bits::Bits;
    use super::*;

    /// Uses AVX2 even if AVX-512 is available.
    #[multiversion(targets("x86_64+avx2"))]
    fn narrow_sums(words: &[Words], h: &[[f32; BLOCK]], sums: &mut [Lanes]) {
        match_target! {
            "x86_64+avx2" => avx2::signed_sums(words, h, sums),
            _ => plain_sums(words, h, sums),
        }
    }

    fn signs(inputs: usize, outputs: usize) -> Bits {
        let stream = Stream::new(5, 0, 0, 0);
        Bits::new(inputs, outputs, |i, j| stream.uniform((i * outputs + j) as u32) < 0.5)
    }

    /// Normal numbers, of which a share is zero, padded to whole blocks.
    fn numbers(count: usize, share: f64) -> Vec<f32> {
        let stream = Stream::new(6, 0, 0, 0);
        let number = |i| if stream.uniform(i) < share { -0.0 } else { stream.normal(i + 7) as f32 };
        let mut numbers: Vec<f32> = (0..count as u32).map(number).collect();
        numbers.resize(count.next_multiple_of(BLOCK), 0.0);
        numbers
    }

    fn bits(sums: &[Lanes]) -> Vec<u32> {
        sums.as_flattened().iter().map(|sum| sum.to_bits()).collect()
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for (inputs, outputs) in [(1, 1), (4, 16), (31, 17), (100, 10), (257, 130), (784, 512)] {
            let signs = signs(inputs, outputs);
            for share in [0.0, 0.5, 0.8, 0.95, 1.0] {
                for whole in [false, true] {
                    let mut h = numbers(inputs, share);
                    if whole {
                        // So that sums are zero, too.
                        h.iter_mut().for_each(|h| *h = h.round());
                    }
                    let h = h.as_chunks().0;
                    let mut sums = vec![[f32::NAN; LANES]; signs.groups()];
                    let (mut narrow, mut plain) = (sums.clone(), sums.clone());
                    signed_sums(signs.words(), h, &mut sums);
                    narrow_sums(signs.words(), h, &mut narrow);
                    plain_sums(signs.words(), h, &mut plain);
                    assert_eq!(bits(&sums), bits(&plain), "{inputs} {outputs} {share}");
                    assert_eq!(bits(&narrow), bits(&plain), "{inputs} {outputs} {share}");
                }
            }
        }
    }

    #[test]
    fn sums_are_those_of_double_precision() {
        for (inputs, outputs) in [(1, 3), (50, 20), (784, 64), (65_536, 16)] {
            let signs = signs(inputs, outputs);
            for share in [0.0, 0.8] {
                let h = numbers(inputs, share);
                let mut sums = vec![[f32::NAN; LANES]; signs.groups()];
                signed_sums(signs.words(), h.as_chunks().0, &mut sums);
                let norm = h.iter().map(|&h| f64::from(h).powi(2)).sum::<f64>().sqrt();
                for (j, &sum) in sums.as_flattened()[..outputs].iter().enumerate() {
                    let terms = (0..inputs).map(|i| {
                        let h = f64::from(h[i]);
                        if signs.is_positive(i, j) { h } else { -h }
                    });
                    let exact: f64 = terms.sum();
                    assert!((f64::from(sum) - exact).abs() <= 2e-6 * norm, "{inputs} {j}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_not_left_out() {
        let signs = signs(40, 3);
        for bad in [f32::NAN, f32::INFINITY] {
            let mut h = vec![0.0; 2 * BLOCK];
            h[39] = bad;
            let mut sums = vec![[0.0; LANES]; 1];
            signed_sums(signs.words(), h.as_chunks().0, &mut sums);
            assert!(sums[0][..3].iter().all(|sum| !sum.is_finite()));
        }
    }
}
