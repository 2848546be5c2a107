//! The sums Σ ±h of a wide layer, for rectified activations h.
//!
//! As in [`super::subsets`], the signs of some inputs select one of the sums of their subsets. Here four
//! inputs belong together, and their 16 sums have 16 bits each. With AVX-512 two groups of four fill a
//! register: one permutation looks up both sums of 16 outputs, and one instruction adds them to sums of
//! 32 bits.
//!
//! Activations are rounded to whole multiples of δ = S/65533, where S is the largest sum of a group in the
//! image. The error of each is at most δ/2, so that of z = N^{-1/2} Σ ±h is at most √N δ/2, and its standard
//! deviation is δ/√12 = 4.4e-6 S. All that follows is exact: every instruction set gives the same sums.
//!
//! Group g of G has the inputs g, G + g, 2G + g and 3G + g.

use multiversion::multiversion;
use multiversion::target::match_target;
use remanent_math::multiversioned;

use super::subsets::TILE;

#[cfg(target_arch = "x86_64")]
mod avx512;

/// Inputs that are looked up together.
const GROUP: usize = 4;
/// Outputs in a block.
pub(super) const BLOCK: usize = 64;
/// The largest sum of a group before rounding, in units of δ; rounding adds at most 2.
const LARGEST: f32 = 65_533.0;
/// What is subtracted from sums, so that they are signed.
const BIAS: i32 = 1 << 15;

/// The signs of two groups of inputs for a block of outputs, a word for each: the number of the first
/// group, from 0 to 15, in the lower half, and that of the second, plus 16, in the upper half.
type Indices = [[u32; 16]; 4];

/// The sums of a block of outputs over the weights +1, for the images of a tile.
pub(super) type Sums = [[[i32; 16]; 4]; TILE];

/// The number of groups: even, and enough for all inputs.
fn groups(inputs: usize) -> usize {
    2 * inputs.div_ceil(2 * GROUP)
}

/// The signs of one layer.
#[derive(Clone, Debug)]
pub(super) struct Signs {
    inputs: usize,
    outputs: usize,
    /// Block after block of outputs, in each pair after pair of groups.
    indices: Vec<Indices>,
}

impl Signs {
    /// `positive` has a byte for every weight, 1 for +1 and 0 for −1, input by input.
    pub(super) fn new(inputs: usize, outputs: usize, positive: &[u8]) -> Self {
        let groups = groups(inputs);
        let mut indices = Vec::with_capacity(outputs.div_ceil(BLOCK) * groups / 2);
        for block in (0..outputs).step_by(BLOCK) {
            for pair in 0..groups / 2 {
                let mut words = [[16 << 16; 16]; 4];
                for (half, place) in (0..2).flat_map(|half| (0..GROUP).map(move |k| (half, k))) {
                    let input = place * groups + 2 * pair + half;
                    if input < inputs {
                        let row = &positive[input * outputs..][block..outputs.min(block + BLOCK)];
                        put_bits(row, (16 * half + place) as u32, words.as_flattened_mut());
                    }
                }
                indices.push(words);
            }
        }
        Self { inputs, outputs, indices }
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// The number of blocks of outputs.
    pub(super) fn blocks(&self) -> usize {
        self.outputs.div_ceil(BLOCK)
    }

    fn pairs(&self) -> usize {
        groups(self.inputs) / 2
    }

    fn block(&self, block: usize) -> &[Indices] {
        &self.indices[block * self.pairs()..][..self.pairs()]
    }
}

/// The rounded activations of an image.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounded {
    /// δ; NaN if an activation is not finite.
    pub(super) unit: f32,
    /// The sum of all.
    pub(super) total: i32,
    /// A number in both halves of each word; in the first of a group in the upper half only. The first
    /// inputs of all groups come first.
    words: Vec<u32>,
    /// The sums of the groups before rounding.
    sums: Vec<f32>,
}

impl Rounded {
    /// Rounds activations, none of which is negative. Pads `h` with zeros.
    pub(super) fn set(&mut self, h: &mut Vec<f32>) {
        let groups = groups(h.len());
        h.resize(GROUP * groups, 0.0);
        self.words.resize(GROUP * groups, 0);
        self.sums.resize(groups, 0.0);
        add_groups(h, &mut self.sums);
        let largest = largest(&self.sums);
        let per_unit = if largest > f32::MIN_POSITIVE { LARGEST / largest } else { 0.0 };
        self.unit = largest / LARGEST;
        let (first, others) = self.words.split_at_mut(groups);
        self.total = round(&h[..groups], per_unit, 0, first);
        self.total += round(&h[groups..], per_unit, u32::MAX, others);
    }

    /// The rounded numbers in the upper halves of words, input by input.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// The words of a group.
    #[inline(always)]
    fn group(&self, group: usize) -> [u32; GROUP] {
        let groups = self.words.len() / GROUP;
        std::array::from_fn(|place| self.words[place * groups + group])
    }
}

multiversioned! {
    fn put_bits(positive: &[u8], bit: u32, words: &mut [u32]) {
        for (word, &positive) in words.iter_mut().zip(positive) {
            *word |= u32::from(positive) << bit;
        }
    }

    /// The sums of all groups.
    fn add_groups(h: &[f32], sums: &mut [f32]) {
        let (a, rest) = h.split_at(sums.len());
        let (b, rest) = rest.split_at(sums.len());
        let (c, d) = rest.split_at(sums.len());
        for ((((sum, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *sum = a + b + c + d;
        }
    }

    /// The largest of numbers that are not negative; NaN if one of them is not finite.
    fn largest(numbers: &[f32]) -> f32 {
        // Such numbers are in the order of their bits.
        let bits = numbers.iter().map(|x| x.to_bits() & 0x7FFF_FFFF);
        let largest = f32::from_bits(bits.fold(0, u32::max));
        if largest.is_finite() { largest } else { f32::NAN }
    }

    /// Rounds to multiples of the unit; returns the sum.
    fn round(h: &[f32], per_unit: f32, lower_half: u32, words: &mut [u32]) -> i32 {
        let mut total = 0;
        for (&h, word) in h.iter().zip(words) {
            // The sum with 2^23 is rounded to an integer, which stands in its lower bits.
            let number = (h * per_unit + 8_388_608.0).to_bits() & 0xFFFF;
            total += number as i32;
            *word = number << 16 | number & lower_half;
        }
        total
    }
}

/// Buffers of [`fill_sums`].
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    #[cfg(target_arch = "x86_64")]
    pairs: Vec<[std::arch::x86_64::__m512i; TILE]>,
    rows: Vec<Table>,
}

/// Writes the sums over the weights +1, a block of outputs in each of `sums`.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vnni",
    "x86_64+avx2",
    "aarch64+neon"
))]
pub(super) fn fill_sums(
    signs: &Signs,
    images: &[Rounded; TILE],
    tables: &mut Tables,
    sums: &mut [Sums],
) {
    assert!(images.iter().all(|image| image.words.len() == 2 * signs.pairs() * GROUP));
    match_target! {
        "x86_64+avx512f+avx512bw+avx512vl+avx512vnni" => {
            avx512::fill_sums(signs, images, &mut tables.pairs, sums)
        }
        _ => plain_sums(signs, images, tables, sums),
    }
}

/// The sums of the four images side by side: two in each of two words of 64 bits.
#[inline(always)]
fn plain_sums(signs: &Signs, images: &[Rounded; TILE], tables: &mut Tables, sums: &mut [Sums]) {
    tables.rows.clear();
    for group in 0..2 * signs.pairs() {
        let inputs = images.each_ref().map(|image| image.group(group));
        let mut table = [[0; 2]; 1 << GROUP];
        for place in 0..GROUP {
            let number = |image: usize| u64::from(inputs[image][place] >> 16);
            let four = [number(0) | number(1) << 32, number(2) | number(3) << 32];
            for subset in 0..1 << place {
                let [low, high] = table[subset];
                table[subset | 1 << place] = [low + four[0], high + four[1]];
            }
        }
        tables.rows.push(table);
    }
    for (block, sums) in sums.iter_mut().enumerate() {
        let mut found = [[0_u64; 2]; BLOCK];
        let (rows, tables) = (signs.block(block), tables.rows.as_chunks::<2>().0);
        let (whole, rest) = rows.as_chunks::<TOGETHER>();
        let (tables, last) = tables.as_chunks::<TOGETHER>();
        for (rows, tables) in whole.iter().zip(tables) {
            add_pairs(rows, tables, &mut found);
        }
        for (row, table) in rest.iter().zip(last) {
            add_pairs(&[*row], &[*table], &mut found);
        }
        for (output, found) in found.iter().enumerate() {
            for (image, sums) in sums.iter_mut().enumerate() {
                let sum = (found[image / 2] >> (32 * (image % 2))) as u32;
                sums[output / 16][output % 16] = sum.cast_signed();
            }
        }
    }
}

/// The sums of the 16 subsets of a group, for four images.
type Table = [[u64; 2]; 1 << GROUP];

/// Pairs of groups that are added together.
const TOGETHER: usize = 4;

/// Adds the sums of some pairs of groups.
#[inline(always)]
fn add_pairs<const PAIRS: usize>(
    rows: &[Indices; PAIRS],
    tables: &[[Table; 2]; PAIRS],
    found: &mut [[u64; 2]; BLOCK],
) {
    for (output, found) in found.iter_mut().enumerate() {
        for (row, tables) in rows.iter().zip(tables) {
            let word = row[output / 16][output % 16];
            let first = tables[0][word as usize % 16];
            let second = tables[1][(word >> 16) as usize % 16];
            for half in 0..2 {
                found[half] += first[half] + second[half];
            }
        }
    }
}

#[cfg(test)]
mod tests;
