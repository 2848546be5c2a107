//! Random numbers addressed by a counter.
//!
//! Philox4x32-10 (Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as
//! easy as 1, 2, 3*, SC11) is a function from a key and a counter to 128
//! random bits. A number is addressed by (seed, purpose, trial, step, index) and does not depend on
//! the number, order or thread of other draws. There is no generator state.

use crate::{elementary32, multiversioned};

const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The 128 bits that belong to `counter` under `key`.
#[inline(always)]
pub fn philox4x32(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key = std::array::from_fn(|i| key[i].wrapping_add(KEY_STEPS[i]));
        }
        let a = MULTIPLIERS[0] * u64::from(counter[0]);
        let b = MULTIPLIERS[1] * u64::from(counter[2]);
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
    }
    counter
}

/// All random numbers of one purpose, trial and step under one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: [u32; 2],
    purpose: u32,
    trial: u32,
    step: u32,
}

impl Stream {
    /// A stream. `purpose` separates the draws of different parts of a program.
    pub fn new(seed: u64, purpose: u32, trial: u32, step: u32) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], purpose, trial, step }
    }

    /// The 128 bits at `index`.
    pub fn bits(&self, index: u32) -> [u32; 4] {
        philox4x32([index, self.step, self.trial, self.purpose], self.key)
    }

    /// The number at `index`, uniform in (0, 1): never 0, never 1.
    pub fn uniform(&self, index: u32) -> f64 {
        let b = self.bits(index);
        let integer = (u64::from(b[0]) << 32 | u64::from(b[1])) >> 12;
        (integer as f64 + 0.5) * 2f64.powi(-52)
    }

    /// The number at `index`, standard normal.
    pub fn normal(&self, index: u32) -> f64 {
        crate::normal::quantile(self.uniform(index))
    }

    /// Shuffles `items` (Fisher–Yates); the number at an index selects the item for that position.
    pub fn shuffle<T>(&self, items: &mut [T]) {
        for first in (0..items.len()).step_by(LANES).rev() {
            let (high, low) = self.wide_bits(first as u32);
            for last in (first.max(1)..items.len().min(first + LANES)).rev() {
                let (high, low) = (high[last - first], low[last - first]);
                let wide = u128::from(high) << 32 | u128::from(low);
                items.swap(last, ((wide * (last as u128 + 1)) >> 64) as usize);
            }
        }
    }

    /// Fills a slice with standard normal numbers in single precision. Much faster than
    /// [`normal`](Self::normal), and a different sequence. Numbers are generated in groups of 64, of
    /// which the last may be used in part; `group` is the index of the first group.
    pub fn fill_normals(&self, group: u32, out: &mut [f32]) {
        let rest = [self.step, self.trial, self.purpose];
        normals_in_groups(group, rest, self.key, out);
    }

    /// Fills a slice with uniform numbers in single precision, between 0 and 1 and never one of them.
    /// Groups are those of [`fill_normals`](Self::fill_normals).
    pub fn fill_uniforms(&self, group: u32, out: &mut [f32]) {
        let rest = [self.step, self.trial, self.purpose];
        uniforms_in_groups(group, rest, self.key, out);
    }

    /// The words of [`Stream::bits`] from index `first` on, sixteen indices at a time: word k of the
    /// 16 blocks in row k.
    pub fn fill_words(&self, first: u32, out: &mut [[[u32; LANES]; 4]]) {
        blocks_in_rows(first, [self.step, self.trial, self.purpose], self.key, out);
    }

    /// Number of groups that [`fill_normals`](Self::fill_normals) uses for `count` numbers.
    pub fn groups(count: usize) -> u32 {
        count.div_ceil(GROUP) as u32
    }

    /// The first two words of [`Stream::bits`] at 16 indices from `first` on.
    fn wide_bits(&self, first: u32) -> ([u32; LANES], [u32; LANES]) {
        sixteen_blocks(first, [self.step, self.trial, self.purpose], self.key)
    }
}

/// Blocks computed together.
const LANES: usize = 16;

multiversioned! {
    /// The first two words of [`philox4x32`] at 16 counters that differ in their first word.
    fn sixteen_blocks(first: u32, rest: [u32; 3], key: [u32; 2]) -> ([u32; LANES], [u32; LANES]) {
        let (mut high, mut low) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            let counter = [first.wrapping_add(lane as u32), rest[0], rest[1], rest[2]];
            [high[lane], low[lane], ..] = philox4x32(counter, key);
        }
        (high, low)
    }
}

/// Numbers that are made together by [`Stream::fill_normals`].
const GROUP: usize = 4 * LANES;

/// The words of a group: word k of the block of each lane in row k.
#[inline(always)]
fn words_of_group(group: u32, rest: [u32; 3], key: [u32; 2]) -> [[u32; LANES]; 4] {
    words_from(group.wrapping_mul(LANES as u32), rest, key)
}

/// The words of the blocks at 16 counters that differ in their first word.
#[inline(always)]
fn words_from(first: u32, rest: [u32; 3], key: [u32; 2]) -> [[u32; LANES]; 4] {
    let mut words = [[0_u32; LANES]; 4];
    for lane in 0..LANES {
        let counter = [first.wrapping_add(lane as u32), rest[0], rest[1], rest[2]];
        let block = philox4x32(counter, key);
        for (word, value) in words.iter_mut().zip(block) {
            word[lane] = value;
        }
    }
    words
}

multiversioned! {
    fn blocks_in_rows(first: u32, rest: [u32; 3], key: [u32; 2], out: &mut [[[u32; LANES]; 4]]) {
        for (g, out) in out.iter_mut().enumerate() {
            *out = words_from(first.wrapping_add((LANES * g) as u32), rest, key);
        }
    }
}

multiversioned! {
    fn normals_in_groups(group: u32, rest: [u32; 3], key: [u32; 2], out: &mut [f32]) {
        for (g, chunk) in out.chunks_mut(GROUP).enumerate() {
            let words = words_of_group(group.wrapping_add(g as u32), rest, key);
            let mut normals = [[0.0_f32; LANES]; 4];
            for pair in [0, 2] {
                for lane in 0..LANES {
                    let (a, b) = box_muller(words[pair][lane], words[pair + 1][lane]);
                    normals[pair][lane] = a;
                    normals[pair + 1][lane] = b;
                }
            }
            chunk.copy_from_slice(&normals.as_flattened()[..chunk.len()]);
        }
    }
}

multiversioned! {
    fn uniforms_in_groups(group: u32, rest: [u32; 3], key: [u32; 2], out: &mut [f32]) {
        for (g, chunk) in out.chunks_mut(GROUP).enumerate() {
            let words = words_of_group(group.wrapping_add(g as u32), rest, key);
            for (out, word) in chunk.iter_mut().zip(words.as_flattened()) {
                // 23 bits and a half: exact in single precision, and neither end is reached.
                *out = ((word >> 9) as f32 + 0.5) * (1.0 / 8_388_608.0);
            }
        }
    }
}

/// Two independent normal numbers from two words. The largest is 6.8: rarer than 1e-11.
#[inline(always)]
fn box_muller(a: u32, b: u32) -> (f32, f32) {
    const UNIT: f32 = 1.0 / 4_294_967_296.0;
    // Rounded to 24 bits, but with full resolution near zero, which gives the large numbers.
    let uniform = (a as f32 + 0.5) * UNIT;
    let radius = (-2.0 * elementary32::ln(uniform)).max(0.0).sqrt();
    let (sin, cos) = elementary32::sin_cos_of_turns(b as i32 as f32 * UNIT);
    (radius * cos, radius * sin)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors publish with Random123.
    #[test]
    fn matches_random123() {
        assert_eq!(
            philox4x32([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn uniforms_have_the_moments_of_the_uniform_law() {
        let stream = Stream::new(7, 1, 2, 3);
        let n = 100_000;
        let values: Vec<f64> = (0..n).map(|i| stream.uniform(i)).collect();
        assert!(values.iter().all(|u| *u > 0.0 && *u < 1.0));
        let mean = values.iter().sum::<f64>() / f64::from(n);
        let square = values.iter().map(|u| u * u).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 4.0 * (1.0 / 12.0 / f64::from(n)).sqrt());
        assert!((square - 1.0 / 3.0).abs() < 4.0 * (4.0 / 45.0 / f64::from(n)).sqrt());
    }

    #[test]
    fn uniforms_of_a_slice_are_those_of_its_groups() {
        let stream = Stream::new(7, 1, 2, 3);
        let mut values = vec![0.0; 100_000];
        stream.fill_uniforms(0, &mut values);
        assert!(values.iter().all(|u| *u > 0.0 && *u < 1.0));
        let wide: Vec<f64> = values.iter().map(|&u| f64::from(u)).collect();
        let mean = wide.iter().sum::<f64>() / 1e5;
        let square = wide.iter().map(|u| u * u).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 4.0 * (1.0 / 12.0 / 1e5_f64).sqrt());
        assert!((square - 1.0 / 3.0).abs() < 4.0 * (4.0 / 45.0 / 1e5_f64).sqrt());
        // Any part that begins with a group can be drawn alone.
        let mut part = vec![0.0; 1000];
        stream.fill_uniforms(Stream::groups(640), &mut part);
        assert_eq!(part, values[640..1640]);
    }

    #[test]
    fn words_of_many_blocks_are_those_of_each() {
        let stream = Stream::new(7, 1, 2, 3);
        for first in [0, 5, u32::MAX - 20] {
            let mut rows = [[[0; LANES]; 4]; 3];
            stream.fill_words(first, &mut rows);
            for index in 0..3 * LANES {
                let words = rows[index / LANES].map(|row| row[index % LANES]);
                assert_eq!(words, stream.bits(first.wrapping_add(index as u32)));
            }
        }
    }

    #[test]
    fn a_shuffle_is_that_of_its_numbers_one_by_one() {
        let stream = Stream::new(7, 1, 2, 3);
        for count in [0, 1, 2, 15, 16, 17, 1000] {
            let mut shuffled: Vec<usize> = (0..count).collect();
            stream.shuffle(&mut shuffled);
            let mut expected: Vec<usize> = (0..count).collect();
            for last in (1..count).rev() {
                let [high, low, ..] = stream.bits(last as u32);
                let wide = u128::from(high) << 32 | u128::from(low);
                expected.swap(last, ((wide * (last as u128 + 1)) >> 64) as usize);
            }
            assert_eq!(shuffled, expected);
        }
    }

    #[test]
    fn normals_in_groups_have_the_moments_of_the_normal_law() {
        let stream = Stream::new(7, 1, 2, 3);
        let mut values = vec![0.0; 1_000_000];
        stream.fill_normals(0, &mut values);
        let n = values.len() as f64;
        let moment = |k: i32| values.iter().map(|&x| f64::from(x).powi(k)).sum::<f64>() / n;
        // Variances of the k-th powers: 1, 2, 15, 96.
        for (k, mean, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let z = (moment(k) - mean) / (variance / n).sqrt();
            assert!(z.abs() < 4.0, "moment {k}: {z}");
        }
        let beyond = values.iter().filter(|x| x.abs() > 3.0).count() as f64;
        let expected = 2.0 * crate::normal::upper_tail(3.0) * n;
        assert!((beyond - expected).abs() < 4.0 * expected.sqrt(), "{beyond} {expected}");
        // Neighbours, and the two numbers of a pair.
        for distance in [1, LANES, 2 * LANES, GROUP] {
            let pairs = values.iter().zip(&values[distance..]);
            let product: f64 = pairs.map(|(a, b)| f64::from(a * b)).sum();
            assert!((product / n.sqrt()).abs() < 4.0, "distance {distance}: {product}");
        }
    }

    #[test]
    fn a_group_of_normals_does_not_depend_on_the_others() {
        let stream = Stream::new(7, 1, 2, 3);
        let mut all = vec![0.0; 200];
        stream.fill_normals(5, &mut all);
        let mut part = vec![0.0; 70];
        stream.fill_normals(6, &mut part);
        assert_eq!(all[GROUP..GROUP + 70], part);
        assert_eq!(Stream::groups(200), 4);
    }
}
