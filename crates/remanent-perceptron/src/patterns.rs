//! Patterns of ±1, one bit each, and the two sums over them that learning needs.
//!
//! Every formula has patterns multiplied by their labels, so `s = y x` is stored. At N = 1000 and
//! α = 2 this takes 250 KB instead of 8 MB and stays in the cache.
//!
//! # Layout
//!
//! Sites are grouped in blocks of 512. A block of one pattern is 16 words of 32 bits; site
//! `512 b + 16 k + l` is bit `31 − k` of word `l`. One shift brings the signs of 16 neighbouring
//! sites to the top bits of 16 words, and multiplication by ±1 is an exclusive or. Padding sites
//! have zero weights.
//!
//! # Sums
//!
//! Both sums add groups of four terms: ±a ± b ± c ± d is computed first and then added. There are
//! sixteen such values for given a, b, c and d, and with AVX-512 they are looked up in a register
//! (`lookup.rs`). With AVX2 the second sum looks up eight and a sign (`avx2.rs`). The rest uses the plain loops below.
//!
//! The order of additions is fixed (groups of four, then 16 partial sums, folded in a fixed order)
//! and there is no fused multiply-add: every instruction set gives the same bits.

use multiversion::target::match_target;
use remanent_math::multiversioned;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod lookup;

/// Numbers processed together in a kernel.
pub(crate) const LANES: usize = 16;
/// Sites in a block.
const BLOCK: usize = 32 * LANES;
/// Groups of `LANES` sites in a block.
const GROUPS: usize = BLOCK / LANES;
const SIGN: u32 = 1 << 31;

/// The 16 words of one block of one pattern.
type Words = [u32; LANES];
/// One number for each of 16 neighbouring sites.
type Lanes = [f32; LANES];

/// M patterns of N signs each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patterns {
    sites: usize,
    blocks: usize,
    words: Vec<Words>,
}

/// The length to which a vector over the sites is padded for the kernels.
pub fn padded(sites: usize) -> usize {
    sites.div_ceil(QUAD * LANES) * QUAD * LANES
}

impl Patterns {
    /// Packs signs; `negative(pattern, site)` is true for −1.
    pub fn from_signs(
        patterns: usize,
        sites: usize,
        mut negative: impl FnMut(usize, usize) -> bool,
    ) -> Self {
        let mut packed = Self::zeros(patterns, sites);
        for (pattern, row) in packed.words.chunks_exact_mut(packed.blocks).enumerate() {
            for site in (0..sites).filter(|&site| negative(pattern, site)) {
                let (block, lane, mask) = place(site);
                row[block][lane] |= mask;
            }
        }
        packed
    }

    /// Random signs. `bits(pattern, k)` is the `k`-th draw of 128 bits for a pattern.
    pub fn random(patterns: usize, sites: usize, bits: impl Fn(usize, usize) -> [u32; 4]) -> Self {
        let mut packed = Self::zeros(patterns, sites);
        for (pattern, row) in packed.words.chunks_exact_mut(packed.blocks).enumerate() {
            for (k, words) in row.as_flattened_mut().chunks_exact_mut(4).enumerate() {
                words.copy_from_slice(&bits(pattern, k));
            }
        }
        packed
    }

    fn zeros(patterns: usize, sites: usize) -> Self {
        let blocks = sites.div_ceil(BLOCK).max(1);
        Self { sites, blocks, words: vec![[0; LANES]; patterns * blocks] }
    }

    /// N.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// M.
    pub fn len(&self) -> usize {
        self.words.len() / self.blocks
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The sign s = ±1 of `site` in `pattern`.
    ///
    /// # Panics
    ///
    /// If there is no such pattern or site.
    pub fn sign(&self, pattern: usize, site: usize) -> f32 {
        let (block, lane, mask) = place(site);
        if self.row(pattern)[block][lane] & mask == 0 { 1.0 } else { -1.0 }
    }

    fn row(&self, pattern: usize) -> &[Words] {
        &self.words[pattern * self.blocks..(pattern + 1) * self.blocks]
    }

    /// Flips one sign.
    ///
    /// # Panics
    ///
    /// If there is no such pattern or site.
    pub fn flip(&mut self, pattern: usize, site: usize) {
        let (block, lane, mask) = place(site);
        self.words[pattern * self.blocks + block][lane] ^= mask;
    }

    /// Flips all signs of the patterns for which `negate` holds.
    pub fn negate_where(mut self, negate: impl Fn(usize) -> bool) -> Self {
        for (pattern, row) in self.words.chunks_exact_mut(self.blocks).enumerate() {
            if negate(pattern) {
                for word in row.as_flattened_mut() {
                    *word = !*word;
                }
            }
        }
        self
    }

    /// u_μ = Σ_i s_i^μ m_i for the patterns listed in `chosen`.
    ///
    /// `m` is padded with zeros to [`padded`]`(N)`.
    ///
    /// # Panics
    ///
    /// If a length does not fit, or a chosen pattern does not exist.
    pub fn fields(&self, chosen: &[u32], m: &[f32], u: &mut [f32]) {
        assert_eq!((m.len(), chosen.len()), (padded(self.sites), u.len()));
        let (groups, _) = m.as_chunks::<LANES>();
        fields(&self.words, self.blocks, chosen, groups, u);
    }

    /// u_μ of all patterns in double precision; `m` is padded as in [`Patterns::fields`].
    ///
    /// # Panics
    ///
    /// If a length does not fit.
    pub fn exact_fields(&self, m: &[f64], u: &mut [f64]) {
        assert_eq!((m.len(), u.len()), (padded(self.sites), self.len()));
        exact_fields(&self.words, self.blocks, m.as_chunks::<LANES>().0, u);
    }

    /// G_i = Σ_μ s_i^μ h_μ over the patterns listed in `chosen`; `sums` is padded like `m` in
    /// [`Patterns::fields`], with arbitrary values in the padding.
    ///
    /// # Panics
    ///
    /// If a length does not fit, or a chosen pattern does not exist.
    pub fn sums(&self, chosen: &[u32], h: &[f32], sums: &mut [f32]) {
        assert_eq!((sums.len(), chosen.len()), (padded(self.sites), h.len()));
        sums.fill(0.0);
        let (groups, _) = sums.as_chunks_mut::<LANES>();
        // A stretch of patterns stays in the cache while all blocks are summed over it.
        let stretch = (STRETCH_WORDS / self.blocks).max(1).next_multiple_of(QUAD);
        for (chosen, h) in chosen.chunks(stretch).zip(h.chunks(stretch)) {
            add_sums(&self.words, self.blocks, chosen, h, groups);
        }
    }
}

/// Block, word and bit of a site.
fn place(site: usize) -> (usize, usize, u32) {
    let within = site % BLOCK;
    (site / BLOCK, within % LANES, SIGN >> (within / LANES))
}

/// Terms added to one another before they are added to a sum.
const QUAD: usize = 4;
/// Blocks of patterns in a stretch: 128 KB, which fits into a second-level cache.
const STRETCH_WORDS: usize = 2048;

/// ±value, with the sign bit of `word`.
#[inline(always)]
fn signed(value: f32, word: u32) -> f32 {
    f32::from_bits(value.to_bits() ^ (word & SIGN))
}

multiversioned! {
    fn fields(words: &[Words], blocks: usize, chosen: &[u32], m: &[Lanes], u: &mut [f32]) {
        match_target! {
            "x86_64+avx512f+avx512dq+avx512vl" => {
                if chosen.len() < LANES {
                    plain_fields(words, blocks, chosen, m, u);
                } else {
                    lookup::fields(words, blocks, chosen, m, u);
                }
            }
            _ => plain_fields(words, blocks, chosen, m, u),
        }
    }
}

/// The four terms of each step are those of four neighbouring groups, lane by lane.
#[inline(always)]
fn plain_fields(words: &[Words], blocks: usize, chosen: &[u32], m: &[Lanes], u: &mut [f32]) {
    for (u, &pattern) in u.iter_mut().zip(chosen) {
        let row = &words[pattern as usize * blocks..][..blocks];
        let mut partial = [0f32; LANES];
        for (groups, words) in m.chunks(GROUPS).zip(row) {
            let mut words = *words;
            for [a, b, c, d] in groups.as_chunks::<QUAD>().0 {
                for lane in 0..LANES {
                    let word = words[lane];
                    partial[lane] += (signed(a[lane], word) + signed(b[lane], word << 1))
                        + (signed(c[lane], word << 2) + signed(d[lane], word << 3));
                    words[lane] = word << QUAD;
                }
            }
        }
        *u = fold(partial);
    }
}

multiversioned! {
    /// Like [`fields`], in double precision.
    fn exact_fields(words: &[Words], blocks: usize, m: &[[f64; LANES]], u: &mut [f64]) {
        for (u, row) in u.iter_mut().zip(words.chunks_exact(blocks)) {
            let mut partial = [[0f64; LANES]; 2];
            for (groups, words) in m.chunks(GROUPS).zip(row) {
                let mut words = *words;
                for groups in groups.as_chunks::<2>().0 {
                    for (sum, group) in partial.iter_mut().zip(groups) {
                        for lane in 0..LANES {
                            let sign = u64::from(words[lane] & SIGN) << 32;
                            sum[lane] += f64::from_bits(group[lane].to_bits() ^ sign);
                            words[lane] <<= 1;
                        }
                    }
                }
            }
            *u = partial.as_flattened().iter().sum();
        }
    }
}

/// The sum of all partial sums, in halves.
#[inline(always)]
fn fold(mut partial: Lanes) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            partial[lane] += partial[lane + width];
        }
        width /= 2;
    }
    partial[0]
}

multiversioned! {
    fn add_sums(words: &[Words], blocks: usize, chosen: &[u32], h: &[f32], groups: &mut [Lanes]) {
        match_target! {
            "x86_64+avx512f+avx512dq+avx512vl" => lookup::add_sums(words, blocks, chosen, h, groups),
            "x86_64+avx2" => avx2::add_sums(words, blocks, chosen, h, groups),
            _ => add_plain_sums(words, blocks, chosen, h, groups),
        }
    }
}

/// The four terms of each step are those of four patterns; h is 0 for missing ones.
#[inline(always)]
fn add_plain_sums(words: &[Words], blocks: usize, chosen: &[u32], h: &[f32], groups: &mut [Lanes]) {
    for (block, groups) in groups.chunks_mut(GROUPS).enumerate() {
        for (tile, groups) in groups.as_chunks_mut::<QUAD>().0.iter_mut().enumerate() {
            let mut sums = *groups;
            for (chosen, h) in chosen.chunks(QUAD).zip(h.chunks(QUAD)) {
                let mut signs = [[0; LANES]; QUAD];
                let mut quad = [0.0; QUAD];
                for (i, (&pattern, &h)) in chosen.iter().zip(h).enumerate() {
                    signs[i] = words[pattern as usize * blocks + block];
                    quad[i] = h;
                }
                for (k, sums) in sums.iter_mut().enumerate() {
                    for lane in 0..LANES {
                        let term = |i: usize| signed(quad[i], signs[i][lane] << (tile * QUAD + k));
                        sums[lane] += (term(0) + term(1)) + (term(2) + term(3));
                    }
                }
            }
            *groups = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(patterns: usize, sites: usize) -> Patterns {
        let stream = remanent_math::philox::Stream::new(3, 0, 0, 0);
        Patterns::from_signs(patterns, sites, |p, s| stream.uniform((p * sites + s) as u32) < 0.5)
    }

    #[test]
    fn kernels_equal_the_plain_sums() {
        for (patterns, sites) in [(1, 2), (5, 15), (7, 16), (9, 100), (6, 513), (11, 1000)] {
            let s = example(patterns, sites);
            let chosen: Vec<u32> = (0..patterns as u32).rev().collect();
            let mut m: Vec<f32> = (0..sites).map(|i| (i as f32 * 0.37).sin()).collect();
            m.resize(padded(sites), 0.0);
            let mut u = vec![0.0; patterns];
            s.fields(&chosen, &m, &mut u);
            let h: Vec<f32> = (0..patterns).map(|i| (i as f32 + 0.3).cos()).collect();
            let mut sums = vec![f32::NAN; padded(sites)];
            s.sums(&chosen, &h, &mut sums);
            let double: Vec<f64> = m.iter().map(|&m| m.into()).collect();
            let mut exact = vec![0.0; patterns];
            s.exact_fields(&double, &mut exact);
            for (&pattern, u) in chosen.iter().zip(&u) {
                let plain: f64 =
                    (0..sites).map(|i| f64::from(s.sign(pattern as usize, i) * m[i])).sum();
                assert!((f64::from(*u) - plain).abs() < 1e-4, "{patterns} {sites}");
                assert!((exact[pattern as usize] - plain).abs() < 1e-12, "{patterns} {sites}");
            }
            for (site, &sum) in sums[..sites].iter().enumerate() {
                let plain: f64 = chosen
                    .iter()
                    .zip(&h)
                    .map(|(&p, &h)| f64::from(s.sign(p as usize, site) * h))
                    .sum();
                assert!((f64::from(sum) - plain).abs() < 1e-5, "{patterns} {sites}");
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let stream = remanent_math::philox::Stream::new(4, 0, 0, 0);
        for sites in [2, 15, 64, 65, 130, 200, 300, 333, 513, 700, 1000, 1500] {
            let s = example(23, sites);
            // Integers for even N, so that some terms cancel.
            let number = |i: u32| stream.normal(i) as f32;
            let number = |i: u32| if sites % 2 == 0 { number(i).round() } else { number(i) };
            let mut m: Vec<f32> = (0..sites as u32).map(number).collect();
            m.resize(padded(sites), 0.0);
            for count in [1, 2, 4, 7, 15, 16, 17, 32, 33, 50, 2100] {
                // With repetitions, unordered.
                let chosen: Vec<u32> = (0..count).map(|i| i * i % 23).collect();
                let h: Vec<f32> = (0..count).map(|i| number(9_000 + i)).collect();
                let (mut u, mut plain) = (vec![f32::NAN; h.len()], vec![f32::NAN; h.len()]);
                s.fields(&chosen, &m, &mut u);
                plain_fields(&s.words, s.blocks, &chosen, m.as_chunks().0, &mut plain);
                assert_eq!(bits(&u), bits(&plain), "{sites} {count}");
                let (mut sums, mut plain) = (vec![f32::NAN; m.len()], vec![0.0; m.len()]);
                s.sums(&chosen, &h, &mut sums);
                add_plain_sums(&s.words, s.blocks, &chosen, &h, plain.as_chunks_mut().0);
                assert_eq!(bits(&sums), bits(&plain), "{sites} {count}");
            }
        }
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }
}
