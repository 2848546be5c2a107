//! Patterns of ±1, one bit each, and the two sums that learning needs of them.
//!
//! A pattern enters every formula multiplied by its label, so `s = y x` is what
//! is stored. At N = 1000 and α = 2 that is 250 KB instead of 8 MB, and a pass
//! over the patterns runs out of the cache.
//!
//! # Layout
//!
//! Sites are taken in blocks of 512. A block of one pattern is 16 words of 32
//! bits; site `512 b + 16 k + l` is bit `31 − k` of word `l`. So the sign bits of
//! 16 neighbouring sites are brought to the top of 16 words by one shift, and
//! "multiply by ±1" is one exclusive or. Padding sites carry zeros.
//!
//! The order in which numbers are added is fixed (16 partial sums, folded in a
//! fixed way) and there is no fused multiply-add, so every instruction set gives
//! the same bits.

use multiversion::multiversion;

/// Numbers side by side in one step of a kernel.
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
    sites.div_ceil(TILE * LANES) * TILE * LANES
}

impl Patterns {
    /// Packs signs. `negative(pattern, site)` says where the sign is −1.
    pub fn from_signs(
        patterns: usize,
        sites: usize,
        mut negative: impl FnMut(usize, usize) -> bool,
    ) -> Self {
        let blocks = sites.div_ceil(BLOCK);
        let mut words = vec![[0; LANES]; patterns * blocks];
        for (pattern, row) in words.chunks_exact_mut(blocks).enumerate() {
            for site in (0..sites).filter(|&site| negative(pattern, site)) {
                let (block, lane, mask) = place(site);
                row[block][lane] |= mask;
            }
        }
        Self { sites, blocks, words }
    }

    /// Random signs. `bits(pattern, k)` is the `k`-th draw of 128 bits for a pattern.
    pub fn random(patterns: usize, sites: usize, bits: impl Fn(usize, usize) -> [u32; 4]) -> Self {
        let blocks = sites.div_ceil(BLOCK);
        let mut words = vec![[0; LANES]; patterns * blocks];
        for (pattern, row) in words.chunks_exact_mut(blocks).enumerate() {
            for (k, words) in row.as_flattened_mut().chunks_exact_mut(4).enumerate() {
                words.copy_from_slice(&bits(pattern, k));
            }
        }
        Self { sites, blocks, words }
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
    pub fn sign(&self, pattern: usize, site: usize) -> f32 {
        let (block, lane, mask) = place(site);
        if self.row(pattern)[block][lane] & mask == 0 { 1.0 } else { -1.0 }
    }

    fn row(&self, pattern: usize) -> &[Words] {
        &self.words[pattern * self.blocks..(pattern + 1) * self.blocks]
    }

    /// Flips one sign.
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
    pub fn fields(&self, chosen: &[u32], m: &[f32], u: &mut [f32]) {
        assert_eq!((m.len(), chosen.len()), (padded(self.sites), u.len()));
        let (groups, _) = m.as_chunks::<LANES>();
        fields(&self.words, self.blocks, chosen, groups, u);
    }

    /// u_μ of all patterns in double precision; `m` is padded as in [`Patterns::fields`].
    pub fn exact_fields(&self, m: &[f64], u: &mut [f64]) {
        assert_eq!((m.len(), u.len()), (padded(self.sites), self.len()));
        exact_fields(&self.words, self.blocks, m.as_chunks::<LANES>().0, u);
    }

    /// G_i = Σ_μ s_i^μ h_μ over the patterns listed in `chosen`; `sums` is padded
    /// like `m` in [`Patterns::fields`], and what it holds in the padding has no meaning.
    pub fn sums(&self, chosen: &[u32], h: &[f32], sums: &mut [f32]) {
        assert_eq!((sums.len(), chosen.len()), (padded(self.sites), h.len()));
        let (groups, _) = sums.as_chunks_mut::<LANES>();
        groups.fill([0.0; LANES]);
        // A stretch of patterns stays in the cache while all blocks pass over it.
        let stretch = (STRETCH_WORDS / self.blocks).max(1);
        for (chosen, h) in chosen.chunks(stretch).zip(h.chunks(stretch)) {
            for (block, groups) in groups.chunks_mut(GROUPS).enumerate() {
                add_sums(&self.words, self.blocks, block, chosen, h, groups);
            }
        }
    }
}

/// Block, word and bit of a site.
fn place(site: usize) -> (usize, usize, u32) {
    let within = site % BLOCK;
    (site / BLOCK, within % LANES, SIGN >> (within / LANES))
}

/// Groups of sites that are worked on together, so that additions need not wait
/// for one another.
const TILE: usize = 4;
/// Blocks of patterns that fit, with room to spare, into a second-level cache (128 KB).
const STRETCH_WORDS: usize = 2048;

/// ±value, with the sign bit of `word`.
#[inline(always)]
fn signed(value: f32, word: u32) -> f32 {
    f32::from_bits(value.to_bits() ^ (word & SIGN))
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn fields(words: &[Words], blocks: usize, chosen: &[u32], m: &[Lanes], u: &mut [f32]) {
    for (u, &pattern) in u.iter_mut().zip(chosen) {
        let row = &words[pattern as usize * blocks..][..blocks];
        let mut partial = [[0f32; LANES]; TILE];
        for (groups, words) in m.chunks(GROUPS).zip(row) {
            let mut words = *words;
            for groups in groups.as_chunks::<TILE>().0 {
                for (sum, group) in partial.iter_mut().zip(groups) {
                    for lane in 0..LANES {
                        sum[lane] += signed(group[lane], words[lane]);
                        words[lane] <<= 1;
                    }
                }
            }
        }
        *u = fold(&partial);
    }
}

/// Like [`fields`], in double precision.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
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

/// The sum of all partial sums, in halves.
#[inline(always)]
fn fold(partial: &[Lanes; TILE]) -> f32 {
    let mut total = [0f32; LANES];
    for partial in partial {
        for lane in 0..LANES {
            total[lane] += partial[lane];
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            total[lane] += total[lane + width];
        }
        width /= 2;
    }
    total[0]
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn add_sums(
    words: &[Words],
    blocks: usize,
    block: usize,
    chosen: &[u32],
    h: &[f32],
    groups: &mut [Lanes],
) {
    for (tile, groups) in groups.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
        let mut sums = *groups;
        for (&pattern, &h) in chosen.iter().zip(h) {
            let mut words = words[pattern as usize * blocks + block];
            for word in &mut words {
                *word <<= tile * TILE;
            }
            for sums in &mut sums {
                for lane in 0..LANES {
                    sums[lane] += signed(h, words[lane]);
                    words[lane] <<= 1;
                }
            }
        }
        *groups = sums;
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
}
