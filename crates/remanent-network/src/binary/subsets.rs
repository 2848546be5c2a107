//! For every output of a layer, the sum of the inputs whose weight is +1, in whole numbers.
//!
//! With P the sum over weights +1 and U the sum of all inputs, Σ ±u = 2P − U. Six inputs have 64 sums of
//! subsets, and the six signs of an output, as a number from 0 to 63, select one of them. One lookup and
//! one addition replace six multiplications. With AVX-512 the 64 sums of an image, in 16 bits, fill two
//! registers, and one permutation looks up the sums of 32 outputs. Otherwise the sums of the four images
//! of a tile lie side by side in one word of 64 bits, and one addition serves all four.
//!
//! All numbers are integers that do not overflow, so every instruction set gives the same sums.

use multiversion::multiversion;
use multiversion::target::match_target;

#[cfg(target_arch = "x86_64")]
mod avx512;

/// Inputs that are looked up together.
pub(super) const GROUP: usize = 6;
/// Images that are processed together.
pub(super) const TILE: usize = 4;
/// Outputs in a block.
pub(super) const BLOCK: usize = 128;
/// The largest input.
pub(super) const LARGEST: u32 = 1023;
/// The number of groups whose sums fit into 16 bits whatever the inputs are.
const FEW_GROUPS: usize = u16::MAX as usize / (GROUP * LARGEST as usize);
/// The number of groups that are added before the sums are widened to 32 bits, if they fit. Two times
/// as many groups hold 512 inputs.
const MANY_GROUPS: usize = 43;

/// The signs of a group of inputs for a block of outputs: a number from 0 to 63 in 16 bits for each
/// output, two to a word.
pub(super) type Indices = [[u32; 16]; 4];

/// The sums of a block of outputs for the images of a tile.
pub(super) type Sums = [[[i32; 16]; 8]; TILE];

/// The signs of one layer.
#[derive(Clone, Debug)]
pub(super) struct Signs {
    outputs: usize,
    groups: usize,
    /// Block after block of outputs, in each group after group of inputs.
    indices: Vec<Indices>,
    /// Σ_i w_ij for every output j.
    totals: Vec<i32>,
}

impl Signs {
    /// `positive` has a byte for every weight, 1 for +1 and 0 for −1, input by input. Input
    /// `order[i]` comes in place i.
    pub(super) fn new(outputs: usize, positive: &[u8], order: &[u32]) -> Self {
        let groups = order.len().div_ceil(GROUP);
        let mut indices = vec![[[0; 16]; 4]; outputs.div_ceil(BLOCK) * groups];
        for (place, indices) in indices.iter_mut().enumerate() {
            let (block, group) = (place / groups, place % groups);
            let outputs_here = block * BLOCK..outputs.min((block + 1) * BLOCK);
            let mut numbers = [0; BLOCK];
            let inputs = &order[group * GROUP..order.len().min((group + 1) * GROUP)];
            for (bit, &input) in inputs.iter().enumerate() {
                let row = &positive[input as usize * outputs..][..outputs];
                put_bits(&row[outputs_here.clone()], bit as u32, &mut numbers);
            }
            pair(&numbers, indices);
        }
        let mut counts = vec![0; outputs];
        for row in positive.chunks_exact(outputs) {
            count(row, &mut counts);
        }
        let inputs = order.len() as i32;
        let totals = counts.iter().map(|&plus| 2 * plus - inputs).collect();
        Self { outputs, groups, indices, totals }
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// The number of blocks of outputs.
    pub(super) fn blocks(&self) -> usize {
        self.outputs.div_ceil(BLOCK)
    }

    pub(super) fn totals(&self) -> &[i32] {
        &self.totals
    }

    /// Memory of a layer of these widths, in bytes.
    pub(super) fn size(inputs: usize, outputs: usize) -> usize {
        inputs.div_ceil(GROUP) * outputs.div_ceil(BLOCK) * size_of::<Indices>() + 4 * outputs
    }

    fn block(&self, block: usize) -> &[Indices] {
        &self.indices[block * self.groups..][..self.groups]
    }
}

remanent_math::multiversioned! {
    fn put_bits(positive: &[u8], bit: u32, numbers: &mut [u8; BLOCK]) {
        for (number, &positive) in numbers.iter_mut().zip(positive) {
            *number |= positive << bit;
        }
    }

    fn pair(numbers: &[u8; BLOCK], indices: &mut Indices) {
        for (word, [low, high]) in indices.as_flattened_mut().iter_mut().zip(numbers.as_chunks().0) {
            *word = u32::from(*low) | u32::from(*high) << 16;
        }
    }

    fn count(positive: &[u8], counts: &mut [i32]) {
        for (count, &positive) in counts.iter_mut().zip(positive) {
            *count += i32::from(positive);
        }
    }
}

/// An input as the kernels read it. The upper half is the number. The lower half is the number, too,
/// except in the first place of a group, where it is zero: a table starts with the pairs (0, u).
#[inline(always)]
pub(super) fn doubled(number: u32, lower_half: u32) -> u32 {
    number << 16 | number & lower_half
}

/// The lower halves that [`doubled`] keeps, place by place.
pub(super) fn lower_halves(inputs: usize) -> Vec<u32> {
    (0..inputs).map(|place| if place % GROUP == 0 { 0 } else { u32::MAX }).collect()
}

/// The inputs of a tile, from [`doubled`]: those of the groups in `used`, six for each.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) used: &'a [u32],
    pub(super) images: [&'a [u32]; TILE],
    /// At least the sum of the inputs of each image.
    pub(super) bound: u32,
}

impl<'a> Inputs<'a> {
    fn part(self, from: usize, count: usize) -> Self {
        let used = &self.used[from..from + count];
        let images = self.images.map(|image| &image[from * GROUP..(from + count) * GROUP]);
        Self { used, images, ..self }
    }

    /// Whether all sums fit into 16 bits.
    fn fit(&self) -> bool {
        let most = u32::from(u16::MAX);
        self.bound <= most || self.images.iter().all(|image| total(image) <= most)
    }
}

remanent_math::multiversioned! {
    /// The sum of the inputs of an image.
    pub(super) fn total(image: &[u32]) -> u32 {
        image.iter().map(|u| u >> 16).sum()
    }
}

/// Buffers of [`add_sums`].
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    #[cfg(target_arch = "x86_64")]
    halves: Vec<[std::arch::x86_64::__m512i; TILE]>,
    words: Vec<[u64; 1 << GROUP]>,
}

type Kernel = fn(&Signs, Inputs<'_>, u32, &mut Tables, &mut [Sums]);

/// Adds to `sums`, a block of outputs in each, the sums of the inputs with weight +1, times
/// 2^`shift`. Inputs are at most [`LARGEST`].
pub(super) fn add_sums(
    signs: &Signs,
    inputs: Inputs<'_>,
    shift: u32,
    tables: &mut Tables,
    sums: &mut [Sums],
) {
    add_in_parts(add_part, signs, inputs, shift, tables, sums);
}

/// Splits the groups into parts whose sums fit into 16 bits.
fn add_in_parts(
    kernel: Kernel,
    signs: &Signs,
    inputs: Inputs<'_>,
    shift: u32,
    tables: &mut Tables,
    sums: &mut [Sums],
) {
    let groups = inputs.used.len();
    assert!(inputs.images.iter().all(|image| image.len() == groups * GROUP), "six for each group");
    assert_eq!(sums.len(), signs.blocks(), "sums of every block");
    let parts = groups.div_ceil(MANY_GROUPS).max(1);
    let size = groups.div_ceil(parts).max(1);
    for from in (0..groups).step_by(size) {
        let part = inputs.part(from, size.min(groups - from));
        if part.fit() {
            kernel(signs, part, shift, tables, sums);
            continue;
        }
        let groups = part.used.len();
        for from in (0..groups).step_by(FEW_GROUPS) {
            let few = part.part(from, FEW_GROUPS.min(groups - from));
            kernel(signs, few, shift, tables, sums);
        }
    }
}

/// [`add_sums`] of groups whose sums fit into 16 bits.
#[multiversion(targets("x86_64+avx512f+avx512bw", "x86_64+avx2"))]
fn add_part(signs: &Signs, inputs: Inputs<'_>, shift: u32, tables: &mut Tables, sums: &mut [Sums]) {
    match_target! {
        "x86_64+avx512f+avx512bw" => avx512::add_part(signs, inputs, shift, &mut tables.halves, sums),
        _ => plain_part(signs, inputs, shift, tables, sums),
    }
}

/// The four images side by side: sums of 16 bits, which do not overflow, in a word of 64.
#[inline(always)]
fn plain_part(
    signs: &Signs,
    inputs: Inputs<'_>,
    shift: u32,
    tables: &mut Tables,
    sums: &mut [Sums],
) {
    /// Groups that are added together, so that their tables stay in the nearest cache.
    const TOGETHER: usize = 4;
    fill_words(inputs, &mut tables.words);
    // Padding: sums of zeros.
    let groups = inputs.used.len().next_multiple_of(TOGETHER);
    tables.words.resize(groups, [0; 1 << GROUP]);
    for (block, sums) in sums.iter_mut().enumerate() {
        let rows = signs.block(block);
        let mut four = [[0_u64; 2]; BLOCK / 2];
        let used = inputs.used.chunks(TOGETHER).zip(tables.words.as_chunks::<TOGETHER>().0);
        for (used, tables) in used {
            let rows: [&Indices; TOGETHER] =
                std::array::from_fn(|k| &rows[used[k.min(used.len() - 1)] as usize]);
            let rows = rows.map(|row| row.as_flattened());
            for (word, four) in four.iter_mut().enumerate() {
                for (row, table) in rows.iter().zip(tables) {
                    four[0] += table[row[word] as usize % 64];
                    four[1] += table[(row[word] >> 16) as usize % 64];
                }
            }
        }
        for (output, &four) in four.as_flattened().iter().enumerate() {
            for (image, sums) in sums.iter_mut().enumerate() {
                let sum = i32::from((four >> (16 * image)) as u16);
                sums[output / 16][output % 16] += sum << shift;
            }
        }
    }
}

/// The sums of the 64 subsets of every group.
#[inline(always)]
fn fill_words(inputs: Inputs<'_>, tables: &mut Vec<[u64; 1 << GROUP]>) {
    tables.clear();
    for group in 0..inputs.used.len() {
        let mut table = [0; 1 << GROUP];
        for place in 0..GROUP {
            let numbers = inputs.images.iter().enumerate();
            let input: u64 = numbers
                .map(|(i, image)| u64::from(image[group * GROUP + place] >> 16) << (16 * i))
                .sum();
            for subset in 0..1 << place {
                table[subset | 1 << place] = table[subset] + input;
            }
        }
        tables.push(table);
    }
}

#[cfg(test)]
mod tests;
