//! The sums Σ ±u of a wide layer as products of bytes on tiles ([`crate::tiles`]), for whole numbers u.
//!
//! The numbers of 32 images are split into bytes, one plane for each, and multiplied with the weights ±1. All sums are
//! integers that fit into 32 bits, so they are those of the lookups ([`super::subsets`], [`super::fours`]).

use remanent_math::multiversioned;

use crate::tiles::amx::{Numbers as Kind, is_available as has_tiles, multiply};
use crate::tiles::{Panels, SIDE, Sums, Tile, Tiled};

/// Panels of images that are processed together.
const PANELS: usize = 2;
/// Images that are processed together.
pub(super) const IMAGES: usize = PANELS * SIDE;
/// Inputs of a tile.
const DEPTH: usize = 4 * SIDE;

/// Whether this processor has the instructions.
pub(super) fn is_available() -> bool {
    has_tiles(Kind::Bytes)
}

/// The signs of one layer.
#[derive(Clone, Debug)]
pub(super) struct Signs {
    outputs: usize,
    /// Tiles of a panel of outputs.
    blocks: usize,
    /// Panel after panel of outputs.
    tiles: Vec<Tile>,
    /// Σ_i w_ij for every output j.
    totals: Vec<i32>,
}

impl Signs {
    /// `positive` has a byte for every weight, 1 for +1 and 0 for −1, input by input.
    pub(super) fn new(inputs: usize, outputs: usize, positive: &[u8]) -> Self {
        let (blocks, panels) = (inputs.div_ceil(DEPTH), outputs.div_ceil(SIDE));
        let mut tiles = vec![Tile::ZERO; panels * blocks];
        let mut totals = vec![0; outputs];
        for input in (0..inputs).step_by(4) {
            let rows: [&[u8]; 4] = std::array::from_fn(|k| {
                let from = (input + k).min(inputs) * outputs;
                &positive[from..positive.len().min(from + outputs)]
            });
            let (block, word) = (input / DEPTH, input % DEPTH / 4);
            for (k, row) in rows.iter().enumerate() {
                for (panel, row) in row.chunks(SIDE).enumerate() {
                    put_signs(row, 8 * k as u32, &mut tiles[panel * blocks + block].0[word]);
                }
                add_signs(row, &mut totals);
            }
        }
        Self { outputs, blocks, tiles, totals }
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Memory of a layer of these widths, in bytes.
    pub(super) fn size(inputs: usize, outputs: usize) -> usize {
        inputs.div_ceil(DEPTH) * outputs.div_ceil(SIDE) * size_of::<Tile>() + 4 * outputs
    }
}

/// The numbers of up to 32 images, byte by byte.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    blocks: usize,
    /// How many bytes the numbers have.
    planes: usize,
    /// Plane after plane, in each the panels of images.
    tiles: Vec<Tile>,
}

impl Numbers {
    /// Prepares for so many inputs and bytes of each. Numbers that are not set are those of before.
    pub(super) fn resize(&mut self, inputs: usize, planes: usize) {
        self.blocks = inputs.div_ceil(DEPTH);
        self.planes = planes;
        self.tiles.resize(planes * PANELS * self.blocks, Tile::ZERO);
    }

    /// Sets the numbers of an image: those from bit `shift` on.
    pub(super) fn set(&mut self, image: usize, shift: u32, numbers: &[u32]) {
        let (panel, row) = (image / SIDE, image % SIDE);
        for plane in 0..self.planes {
            let tiles = &mut self.tiles[(plane * PANELS + panel) * self.blocks..][..self.blocks];
            put_bytes(numbers, shift + 8 * plane as u32, row, tiles);
        }
    }

    fn plane(&self, plane: usize) -> Panels<'_> {
        let size = PANELS * self.blocks;
        Panels::contiguous(self.blocks, &self.tiles[plane * size..][..size])
    }
}

multiversioned! {
    /// ±1 as bytes, in one byte of each word.
    fn put_signs(positive: &[u8], shift: u32, words: &mut [u32; SIDE]) {
        for (word, &positive) in words.iter_mut().zip(positive) {
            *word |= u32::from((2 * positive).wrapping_sub(1)) << shift;
        }
    }

    fn add_signs(positive: &[u8], totals: &mut [i32]) {
        for (total, &positive) in totals.iter_mut().zip(positive) {
            *total += 2 * i32::from(positive) - 1;
        }
    }

    /// One byte of each number, and zeros behind them, to a row of the tiles.
    fn put_bytes(numbers: &[u32], shift: u32, row: usize, tiles: &mut [Tile]) {
        let (whole, rest) = numbers.as_chunks::<DEPTH>();
        let mut last = [0; DEPTH];
        last[..rest.len()].copy_from_slice(rest);
        for (tile, numbers) in tiles.iter_mut().zip(whole.iter().chain([&last])) {
            let mut bytes = [0_u8; DEPTH];
            for (byte, number) in bytes.iter_mut().zip(numbers) {
                *byte = (number >> shift) as u8;
            }
            for (word, bytes) in tile.0[row].iter_mut().zip(bytes.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
        }
    }

    /// z = `scale` Σ ±u + `offset` Σ ± from the sums of the bytes of u, tile by tile.
    fn interpret(parts: [&[Sums]; 3], row: usize, factors: [f32; 2], totals: &[i32], z: &mut [f32]) {
        match parts {
            [low, &[], _] => interpret_planes([low], row, factors, totals, z),
            [low, high, &[]] => interpret_planes([low, high], row, factors, totals, z),
            _ => interpret_planes(parts, row, factors, totals, z),
        }
    }
}

#[inline(always)]
fn interpret_planes<const P: usize>(
    parts: [&[Sums]; P],
    row: usize,
    factors: [f32; 2],
    totals: &[i32],
    z: &mut [f32],
) {
    let (whole, rest) = z.as_chunks_mut::<SIDE>();
    let (totals, last) = totals.as_chunks::<SIDE>();
    let row = row % SIDE;
    for (panel, (z, totals)) in whole.iter_mut().zip(totals).enumerate() {
        // A panel fills a register. Without the hint the compiler gathers the same lane of several panels.
        let panel = std::hint::black_box(panel);
        *z = interpret_panel(parts.map(|tiles| &tiles[panel].0[row]), factors, totals);
    }
    if !rest.is_empty() {
        let mut totals = [0; SIDE];
        totals[..last.len()].copy_from_slice(last);
        let z = interpret_panel(parts.map(|tiles| &tiles[whole.len()].0[row]), factors, &totals);
        rest.copy_from_slice(&z[..last.len()]);
    }
}

#[inline(always)]
fn interpret_panel<const P: usize>(
    parts: [&[f32; SIDE]; P],
    [scale, offset]: [f32; 2],
    totals: &[i32; SIDE],
) -> [f32; SIDE] {
    let mut signed = [0_i32; SIDE];
    for (plane, part) in parts.into_iter().enumerate() {
        for (signed, part) in signed.iter_mut().zip(part) {
            *signed = signed.wrapping_add(part.to_bits().cast_signed() << (8 * plane));
        }
    }
    let mut z = [0.0; SIDE];
    for ((z, signed), &total) in z.iter_mut().zip(signed).zip(totals) {
        *z = scale * signed as f32 + offset * total as f32;
    }
    z
}

/// Σ ±u of 32 images.
#[derive(Debug, Default)]
pub(super) struct Product {
    /// Plane after plane, in each panels of images × panels of outputs.
    tiles: Vec<Sums>,
    planes: usize,
    panels: usize,
}

impl Product {
    /// Multiplies the numbers of the images with the signs of a layer.
    ///
    /// # Panics
    ///
    /// If the processor does not have the instructions.
    pub(super) fn set(&mut self, numbers: &Numbers, signs: &Signs) {
        self.set_with(numbers, signs, |a, b, sink| multiply(Kind::Bytes, a, b, sink));
    }

    fn set_with(
        &mut self,
        numbers: &Numbers,
        signs: &Signs,
        mut multiply: impl FnMut(Panels<'_>, Panels<'_>, &mut Tiled<'_>),
    ) {
        (self.planes, self.panels) = (numbers.planes, signs.outputs.div_ceil(SIDE));
        self.tiles.resize(self.planes * PANELS * self.panels, Sums::ZERO);
        let right = Panels::contiguous(signs.blocks, &signs.tiles);
        for (plane, tiles) in self.tiles.chunks_mut(PANELS * self.panels).enumerate() {
            let mut sink = Tiled { tiles, columns: self.panels };
            multiply(numbers.plane(plane), right, &mut sink);
        }
    }

    /// z = `scale` Σ ±u + `offset` Σ ± of an image.
    pub(super) fn interpret(&self, image: usize, factors: [f32; 2], signs: &Signs, z: &mut [f32]) {
        let (panel, row) = (image / SIDE, image % SIDE);
        let mut parts: [&[Sums]; 3] = [&[]; 3];
        for (plane, part) in parts.iter_mut().enumerate().take(self.planes) {
            *part = &self.tiles[(plane * PANELS + panel) * self.panels..][..self.panels];
        }
        interpret(parts, row, factors, &signs.totals, z);
    }
}

#[cfg(test)]
mod tests {
    use remanent_math::philox::Stream;

    use super::*;
    use crate::tiles::amx::emulation::Emulation;
    use crate::tiles::amx::multiply_with;

    /// The emulated tiles, and those of the processor if it has them, against the definition.
    #[test]
    fn sums_are_those_of_the_definition() {
        for (inputs, outputs, planes) in
            [(1, 1, 1), (3, 17, 2), (64, 16, 3), (65, 33, 2), (200, 70, 3)]
        {
            let stream = Stream::new(4, 5, 6, inputs as u32);
            let mut uniforms = vec![0.0; inputs * (outputs + IMAGES)];
            stream.fill_uniforms(0, &mut uniforms);
            let (weights, images) = uniforms.split_at(inputs * outputs);
            let positive: Vec<u8> = weights.iter().map(|x| u8::from(*x < 0.4)).collect();
            let most = ((1_u32 << (8 * planes - 1).min(18)) - 1) as f32;
            let images: Vec<Vec<u32>> = images
                .chunks(inputs)
                .map(|image| image.iter().map(|x| (x * most) as u32).collect())
                .collect();
            let signs = Signs::new(inputs, outputs, &positive);
            let mut numbers = Numbers::default();
            numbers.resize(inputs, planes);
            for (image, values) in images.iter().enumerate() {
                numbers.set(image, 0, values);
            }
            let mut products = vec![Product::default()];
            products[0].set_with(&numbers, &signs, |a, b, sink| {
                multiply_with::<_, false>(&mut Emulation::start(), a, b, sink);
            });
            if is_available() {
                products.push(Product::default());
                products[1].set(&numbers, &signs);
            }
            let sign = |i: usize, j: usize| 2 * i32::from(positive[i * outputs + j]) - 1;
            let mut z = vec![0.0; outputs];
            for product in &products {
                for (image, values) in images.iter().enumerate() {
                    product.interpret(image, [0.5, 0.25], &signs, &mut z);
                    for (j, &found) in z.iter().enumerate() {
                        let terms = values.iter().enumerate().map(|(i, &u)| sign(i, j) * u as i32);
                        let (sum, total): (i32, i32) =
                            (terms.sum(), (0..inputs).map(|i| sign(i, j)).sum());
                        let expected = 0.5 * sum as f32 + 0.25 * total as f32;
                        assert_eq!(found, expected, "{inputs} {outputs} {planes}");
                    }
                }
            }
        }
    }
}
