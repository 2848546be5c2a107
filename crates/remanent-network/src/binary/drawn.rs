//! A layer of a drawn network, and its sums for a tile of images.
//!
//! Wide layers look up sums of whole numbers ([`super::subsets`] and [`super::whole`], or [`super::fours`]
//! for rectified activations), or multiply bytes where the processor has tiles of them ([`super::bytes`]): the sums are the
//! same. Narrow layers add real numbers ([`super::sums`]).

use remanent_math::multiversioned;

use super::bits::{BLOCK, Bits, LANES};
use super::forward::{fill, scale};
use super::fours::{self, Rounded};
use super::subsets::{self, Signs, TILE, add_sums};
use super::sums::{Lanes, signed_sums};
use super::whole::{MOST_INPUTS, Meaning, Step, Whole};
use super::{bytes, root_factor};
use crate::architecture::Activation;
use crate::kernels;

/// A layer with fewer outputs adds real numbers.
pub(crate) const FEWEST_OUTPUTS: usize = 64;

/// A layer with at most so many outputs multiplies.
const FEW_OUTPUTS: usize = 16;

/// Whether a layer looks up sums of whole numbers.
pub(super) fn looks_up((inputs, outputs): (usize, usize)) -> bool {
    outputs >= FEWEST_OUTPUTS && inputs <= MOST_INPUTS
}

/// One layer of a drawn network.
pub(super) enum Drawn {
    /// For pixels, and activations with two values.
    Whole(Signs),
    /// For rectified activations.
    Rectified(fours::Signs),
    /// For whole numbers of both kinds.
    Bytes(bytes::Signs),
    Real(Bits),
    /// Few outputs: their weights as numbers, input by input.
    Few(Vec<[f32; FEW_OUTPUTS]>),
}

/// What the inputs of a layer are, and how they are added.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub rectified: bool,
    pub bytes: bool,
}

impl Drawn {
    pub(super) fn new(shape: (usize, usize), positive: &[u8], kind: Kind, order: &[u32]) -> Self {
        let (inputs, outputs) = shape;
        if looks_up(shape) {
            if kind.bytes {
                Self::Bytes(bytes::Signs::new(inputs, outputs, positive))
            } else if kind.rectified {
                Self::Rectified(fours::Signs::new(inputs, outputs, positive))
            } else {
                Self::Whole(Signs::new(outputs, positive, order))
            }
        } else if outputs <= FEW_OUTPUTS {
            let row = |positive: &[u8]| {
                let mut row = [0.0; FEW_OUTPUTS];
                row.iter_mut().zip(positive).for_each(|(w, &p)| *w = f32::from(2 * p as i8 - 1));
                row
            };
            Self::Few(positive.chunks_exact(outputs).map(row).collect())
        } else {
            Self::Real(Bits::new(inputs, outputs, |i, j| positive[i * outputs + j] == 1))
        }
    }
}

/// Some images: four, or 32 with products of bytes.
#[derive(Default)]
pub(crate) struct Tile {
    pub(super) whole: Whole,
    pub(super) numbers: bytes::Numbers,
    pub(super) meanings: Vec<Meaning>,
    pub(super) images: Vec<Vec<f32>>,
}

/// Buffers for the neurons of a tile.
#[derive(Default)]
pub(crate) struct Workspace {
    /// Activations, image by image.
    pub(super) h: Vec<Vec<f32>>,
    /// Preactivations.
    pub(super) z: Vec<Vec<f32>>,
    whole: Whole,
    numbers: bytes::Numbers,
    meanings: Vec<Meaning>,
    product: bytes::Product,
    tables: subsets::Tables,
    sums: Vec<subsets::Sums>,
    rounded: [Rounded; TILE],
    tables_of_fours: fours::Tables,
    sums_of_fours: Vec<fours::Sums>,
    blocks: Vec<[f32; BLOCK]>,
    lanes: Vec<Lanes>,
}

impl Workspace {
    /// z of a layer from a tile, or from the activations of the layer before.
    pub(super) fn sum(
        &mut self,
        drawn: &Drawn,
        (inputs, outputs): (usize, usize),
        tile: Option<&Tile>,
        activation: Activation,
    ) {
        let root = root_factor(inputs);
        let images = tile.map(|tile| &tile.images[..]);
        match drawn {
            Drawn::Whole(signs) => {
                if tile.is_none() {
                    self.whole.set_activations(&self.h, step_of(activation));
                }
                self.look_up(signs, tile.map(|tile| &tile.whole), root);
            }
            Drawn::Rectified(signs) => self.look_up_fours(signs, root),
            Drawn::Bytes(signs) => {
                if tile.is_none() {
                    self.set_numbers(inputs, activation);
                }
                let given = tile.map(|tile| (&tile.numbers, &tile.meanings[..]));
                self.multiply_bytes(signs, given, root);
            }
            Drawn::Real(bits) => self.add(bits, images, root),
            Drawn::Few(weights) => self.multiply(weights, images, root, outputs),
        }
    }

    /// z from whole numbers: those given, or the activations.
    fn look_up(&mut self, signs: &Signs, given: Option<&Whole>, root: f32) {
        let whole = given.unwrap_or(&self.whole);
        self.sums.clear();
        self.sums.resize(signs.blocks(), [[[0; 16]; 8]; TILE]);
        for (shift, inputs) in whole.parts() {
            add_sums(signs, inputs, shift, &mut self.tables, &mut self.sums);
        }
        for (i, (z, meaning)) in self.z.iter_mut().zip(&whole.meanings).enumerate() {
            z.resize(signs.outputs(), 0.0);
            let totals = signs.totals().chunks(super::subsets::BLOCK);
            let blocks = self.sums.iter().zip(totals);
            for ((sums, totals), z) in blocks.zip(z.chunks_mut(super::subsets::BLOCK)) {
                interpret(sums[i].as_flattened(), totals, meaning, root, z);
            }
        }
    }

    /// The activations as bytes.
    fn set_numbers(&mut self, inputs: usize, activation: Activation) {
        if activation != Activation::Relu {
            let four = |h: &[Vec<f32>]| {
                let mut whole = Whole::default();
                whole.set_activations(h, step_of(activation));
                whole
            };
            let wholes: Vec<Whole> = self.h.chunks(TILE).map(four).collect();
            put_numbers(&wholes, inputs, &mut self.numbers, &mut self.meanings);
            return;
        }
        self.numbers.resize(inputs, 2);
        self.meanings.clear();
        let rounded = &mut self.rounded[0];
        for (image, h) in self.h.iter_mut().enumerate() {
            rounded.set(h);
            self.numbers.set(image, 16, &rounded.words()[..inputs]);
            self.meanings.push(Meaning::of(rounded.unit, rounded.total));
        }
    }

    /// z from bytes: those given, or the activations.
    fn multiply_bytes(
        &mut self,
        signs: &bytes::Signs,
        given: Option<(&bytes::Numbers, &[Meaning])>,
        root: f32,
    ) {
        let (numbers, meanings) = given.unwrap_or((&self.numbers, &self.meanings));
        self.product.set(numbers, signs);
        for (image, (z, meaning)) in self.z.iter_mut().zip(meanings).enumerate() {
            z.resize(signs.outputs(), 0.0);
            let factors = [root * meaning.scale, root * meaning.offset];
            self.product.interpret(image, factors, signs, z);
        }
        // Places without an image.
        self.z[meanings.len()..].iter_mut().for_each(|z| z.resize(signs.outputs(), 0.0));
    }

    /// z from rectified activations.
    fn look_up_fours(&mut self, signs: &fours::Signs, root: f32) {
        for (rounded, h) in self.rounded.iter_mut().zip(&mut self.h) {
            rounded.set(h);
        }
        let sums = &mut self.sums_of_fours;
        sums.resize(signs.blocks(), [[[0; 16]; 4]; TILE]);
        fours::fill_sums(signs, &self.rounded, &mut self.tables_of_fours, sums);
        for (i, (z, rounded)) in self.z.iter_mut().zip(&self.rounded).enumerate() {
            z.resize(signs.outputs(), 0.0);
            let meaning = Meaning::of(rounded.unit, rounded.total);
            for (sums, z) in sums.iter().zip(z.chunks_mut(fours::BLOCK)) {
                interpret(sums[i].as_flattened(), &[0; fours::BLOCK], &meaning, root, z);
            }
        }
    }

    /// z from real numbers: those given, or the activations.
    fn add(&mut self, bits: &Bits, given: Option<&[Vec<f32>]>, root: f32) {
        self.lanes.resize(bits.groups(), [0.0; LANES]);
        for (h, z) in given.unwrap_or(&self.h).iter().zip(&mut self.z) {
            fill(&mut self.blocks, h);
            signed_sums(bits.words(), &self.blocks, &mut self.lanes);
            z.clear();
            z.extend_from_slice(&self.lanes.as_flattened()[..bits.outputs()]);
            scale(z, root);
        }
    }

    /// As [`Self::add`], with weights as numbers.
    fn multiply(
        &mut self,
        weights: &[[f32; FEW_OUTPUTS]],
        given: Option<&[Vec<f32>]>,
        root: f32,
        outputs: usize,
    ) {
        let fours = given.unwrap_or(&self.h).as_chunks::<TILE>().0;
        for (four, z) in fours.iter().zip(self.z.as_chunks_mut::<TILE>().0) {
            let mut sums = [[0.0; FEW_OUTPUTS]; TILE];
            multiply_few(weights, four.each_ref().map(Vec::as_slice), &mut sums);
            for (sums, z) in sums.iter().zip(z) {
                z.clear();
                z.extend(sums[..outputs].iter().map(|sum| root * sum));
            }
        }
    }

    pub(super) fn activate(&mut self, activation: Activation) {
        for (h, z) in self.h.iter_mut().zip(&mut self.z) {
            h.resize(z.len(), 0.0);
            match activation {
                Activation::Relu => {
                    kernels::rectify(z);
                    std::mem::swap(h, z);
                }
                Activation::Sign => kernels::signs(z, h),
                Activation::Gate => kernels::gates(z, h),
            }
        }
    }
}

multiversioned! {
    /// Σ w h of four images, by two partial sums.
    fn multiply_few(
        weights: &[[f32; FEW_OUTPUTS]],
        h: [&[f32]; TILE],
        z: &mut [[f32; FEW_OUTPUTS]; TILE],
    ) {
        let (mut even, mut odd) = ([[0.0; FEW_OUTPUTS]; TILE], [[0.0; FEW_OUTPUTS]; TILE]);
        let (pairs, last) = weights.as_chunks::<2>();
        for (pair, weights) in pairs.iter().enumerate() {
            for image in 0..TILE {
                let h = &h[image][2 * pair..2 * pair + 2];
                for lane in 0..FEW_OUTPUTS {
                    even[image][lane] += weights[0][lane] * h[0];
                    odd[image][lane] += weights[1][lane] * h[1];
                }
            }
        }
        for image in 0..TILE {
            for lane in 0..FEW_OUTPUTS {
                let rest = last.iter().map(|last| last[lane] * h[image][2 * pairs.len()]);
                z[image][lane] = even[image][lane] + odd[image][lane] + rest.sum::<f32>();
            }
        }
    }

    /// z = root Σ ±h from P, the sum of u over the weights +1: Σ ±u = 2P − U, and h = scale u + offset.
    fn interpret(sums: &[i32], totals: &[i32], meaning: &Meaning, root: f32, z: &mut [f32]) {
        let (scale, offset) = (root * meaning.scale, root * meaning.offset);
        for ((z, &sum), &total) in z.iter_mut().zip(sums).zip(totals) {
            let signed = sum.wrapping_mul(2).wrapping_sub(meaning.total);
            *z = scale * signed as f32 + offset * total as f32;
        }
    }
}

fn step_of(activation: Activation) -> Step {
    if activation == Activation::Gate { Step::Gate } else { Step::Sign }
}

/// The numbers of images, four in each of `wholes`, byte by byte, and what they mean.
pub(super) fn put_numbers(
    wholes: &[Whole],
    inputs: usize,
    numbers: &mut bytes::Numbers,
    meanings: &mut Vec<Meaning>,
) {
    let images = || wholes.iter().flat_map(|whole| (0..TILE).map(move |image| (whole, image)));
    let planes = images().map(|(whole, image)| whole.planes(image)).max();
    numbers.resize(inputs, planes.unwrap_or(1));
    meanings.clear();
    let mut of_image = Vec::new();
    for (place, (whole, image)) in images().enumerate() {
        whole.numbers(image, &mut of_image);
        numbers.set(place, 0, &of_image[..inputs]);
        meanings.push(whole.meanings[image]);
    }
}
