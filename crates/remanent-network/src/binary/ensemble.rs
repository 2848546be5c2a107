//! Binary networks drawn from a trained distribution, and their logits.
//!
//! Wide layers look up sums of whole numbers ([`super::subsets`] and [`super::whole`], or [`super::fours`]
//! for rectified activations), or multiply bytes where the processor has tiles of them ([`super::bytes`]): the sums are the
//! same. Narrow layers add real numbers ([`super::sums`]). Images are processed in tiles of four, or of 32
//! with products of bytes, and a tile is prepared once for all networks.

use remanent_math::multiversioned;
use remanent_math::philox::Stream;

use super::bits::{BLOCK, Bits, LANES};
use super::bytes;
use super::draw::Thresholds;
use super::forward::{fill, normalise, scale, scale_and_shift};
use super::fours::{self, Rounded};
use super::subsets::{self, Signs, TILE, add_sums};
use super::sums::{Lanes, signed_sums};
use super::whole::{MOST_INPUTS, Meaning, Step, Whole};
use super::{Affine, root_factor};
use crate::architecture::{Activation, Architecture};
use crate::kernels;
use crate::network::{Network, Weights};

/// A layer with fewer outputs adds real numbers.
pub(crate) const FEWEST_OUTPUTS: usize = 64;

/// A layer with at most so many outputs multiplies.
const FEW_OUTPUTS: usize = 16;

/// Whether a layer looks up sums of whole numbers.
fn looks_up((inputs, outputs): (usize, usize)) -> bool {
    outputs >= FEWEST_OUTPUTS && inputs <= MOST_INPUTS
}

/// The distribution of binary networks.
pub(crate) struct Ensemble {
    architecture: Architecture,
    thresholds: Vec<Thresholds>,
    affine: Vec<Affine>,
    output_scale: f32,
    standardise: Option<[f32; 2]>,
    /// Whether sums are products of bytes.
    bytes: bool,
}

/// One layer of a drawn network.
enum Drawn {
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
struct Kind {
    rectified: bool,
    bytes: bool,
}

impl Drawn {
    fn new(shape: (usize, usize), positive: &[u8], kind: Kind, order: &[u32]) -> Self {
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

/// A network drawn from an ensemble.
pub(crate) struct Member {
    /// The first layer, for each order of pixels.
    first: Vec<Drawn>,
    rest: Vec<Drawn>,
}

/// Some images: four, or 32 with products of bytes.
pub(crate) struct Tile {
    whole: Whole,
    numbers: bytes::Numbers,
    meanings: Vec<Meaning>,
    images: Vec<Vec<f32>>,
}

/// Buffers for the neurons of a tile.
#[derive(Default)]
pub(crate) struct Workspace {
    h: Vec<Vec<f32>>,
    z: Vec<Vec<f32>>,
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

impl Ensemble {
    /// The binary networks of a field network.
    pub(crate) fn new(network: &Network) -> Self {
        assert_eq!(network.weights, Weights::Field, "a distribution of binary weights");
        let affine = network.batch_norms.iter().map(|norm| {
            let (scale, shift) = norm.affine();
            Affine { scale, shift }
        });
        Self {
            architecture: network.architecture.clone(),
            thresholds: network.layers.iter().map(|l| Thresholds::new(l.mean())).collect(),
            affine: affine.collect(),
            output_scale: network.log_scale.exp(),
            standardise: network.standardise,
            bytes: bytes::is_available(),
        }
    }

    /// Images in a tile.
    pub(crate) fn images(&self) -> usize {
        if self.bytes { bytes::IMAGES } else { TILE }
    }

    /// Whether the order of pixels matters for the speed: they are whole numbers, and groups of zeros
    /// are left out.
    pub(crate) fn leaves_out_zeros(&self) -> bool {
        !self.bytes && self.takes_whole_pixels()
    }

    fn takes_whole_pixels(&self) -> bool {
        self.architecture.shapes().next().is_some_and(looks_up)
    }

    /// Memory of a member with this number of orders, in bytes, without that of small layers.
    pub(crate) fn size(&self, orders: usize) -> usize {
        let sizes = self.architecture.shapes().enumerate().map(|(l, (inputs, outputs))| {
            let copies = if l == 0 { orders } else { 1 };
            let size = if self.bytes { bytes::Signs::size } else { Signs::size };
            copies * size(inputs, outputs)
        });
        sizes.sum()
    }

    /// The network that [`Network::sampled`] draws. Each of `orders` is an order of the pixels.
    pub(crate) fn draw(&self, stream: &Stream, orders: &[Vec<u32>]) -> Member {
        let mut member = Member { first: Vec::new(), rest: Vec::new() };
        let (mut index, mut positive) = (0, Vec::new());
        for (l, (thresholds, shape)) in
            self.thresholds.iter().zip(self.architecture.shapes()).enumerate()
        {
            thresholds.draw(stream, index, &mut positive);
            index += thresholds.indices();
            let kind = Kind { rectified: false, bytes: self.bytes };
            if l == 0 {
                let drawn = |order: &Vec<u32>| Drawn::new(shape, &positive, kind, order);
                member.first = orders.iter().map(drawn).collect();
            } else {
                let order: Vec<u32> = (0..shape.0 as u32).collect();
                let rectified = self.architecture.activation == Activation::Relu;
                let kind = Kind { rectified, ..kind };
                member.rest.push(Drawn::new(shape, &positive, kind, &order));
            }
        }
        member
    }

    /// At most [`images`](Self::images) images, one after another, with their pixels in this order.
    pub(crate) fn tile(&self, images: &[f32], order: &[u32]) -> Tile {
        let inputs = self.architecture.inputs();
        let mut tile = Tile {
            whole: Whole::default(),
            numbers: bytes::Numbers::default(),
            meanings: Vec::new(),
            images: Vec::new(),
        };
        if !self.takes_whole_pixels() {
            tile.images = vec![vec![0.0; inputs]; self.images()];
            for (pixels, image) in tile.images.iter_mut().zip(images.chunks_exact(inputs)) {
                pixels.copy_from_slice(image);
                if let Some([mean, deviation]) = self.standardise {
                    kernels::standardise(mean, deviation, pixels);
                }
            }
            return tile;
        }
        let black = vec![0.0; inputs];
        let mut fours = images.chunks(TILE * inputs).map(|images| {
            let mut four = [black.as_slice(); TILE];
            four.iter_mut().zip(images.chunks_exact(inputs)).for_each(|(a, b)| *a = b);
            let mut whole = Whole::default();
            whole.set_pixels(four, order, self.standardise);
            whole
        });
        if self.bytes {
            let wholes: Vec<Whole> = fours.collect();
            put_numbers(&wholes, inputs, &mut tile.numbers, &mut tile.meanings);
        } else if let Some(whole) = fours.next() {
            tile.whole = whole;
            tile.whole.leave_out_zeros();
        }
        tile
    }

    /// The logits of a tile whose pixels are in order number `order`.
    pub(crate) fn logits<'a>(
        &self,
        member: &Member,
        order: usize,
        tile: &Tile,
        workspace: &'a mut Workspace,
    ) -> &'a [Vec<f32>] {
        let layers = self.architecture.layers();
        workspace.h.resize_with(self.images(), Vec::new);
        workspace.z.resize_with(self.images(), Vec::new);
        let drawn = std::iter::once(&member.first[order]).chain(&member.rest);
        for (l, (drawn, (inputs, outputs))) in drawn.zip(self.architecture.shapes()).enumerate() {
            let root = root_factor(inputs);
            let images = (l == 0).then_some(&tile.images[..]);
            match drawn {
                Drawn::Whole(signs) => {
                    let pixels = (l == 0).then_some(&tile.whole);
                    if pixels.is_none() {
                        workspace.set_steps(self.architecture.activation);
                    }
                    workspace.look_up(signs, pixels, root);
                }
                Drawn::Rectified(signs) => workspace.look_up_fours(signs, root),
                Drawn::Bytes(signs) => {
                    let pixels = (l == 0).then_some((&tile.numbers, &tile.meanings[..]));
                    if pixels.is_none() {
                        workspace.set_numbers(inputs, self.architecture.activation);
                    }
                    workspace.multiply_bytes(signs, pixels, root);
                }
                Drawn::Real(bits) => workspace.add(bits, images, root),
                Drawn::Few(weights) => workspace.multiply(weights, images, root, outputs),
            }
            for z in &mut workspace.z {
                debug_assert_eq!(z.len(), outputs);
                if let Some(affine) = self.affine.get(l) {
                    scale_and_shift(z, 1.0, affine);
                }
                if self.architecture.normalisation.is_layer(l, layers) {
                    normalise(z);
                }
            }
            if l + 1 < layers {
                workspace.activate(self.architecture.activation);
            }
        }
        workspace.z.iter_mut().for_each(|z| scale(z, self.output_scale));
        &workspace.z
    }
}

impl Workspace {
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

    /// The activations, which have two values, as whole numbers.
    fn set_steps(&mut self, activation: Activation) {
        self.whole.set_activations(&self.h, step_of(activation));
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

    fn activate(&mut self, activation: Activation) {
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
fn put_numbers(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Normalisation;

    /// Logits of 37 images by an ensemble.
    fn logits(ensemble: &Ensemble, images: &[f32]) -> Vec<Vec<f32>> {
        let inputs = ensemble.architecture.inputs();
        let orders = [(0..inputs as u32).collect::<Vec<u32>>()];
        let member = ensemble.draw(&Stream::new(1, 2, 3, 4), &orders);
        let mut workspace = Workspace::default();
        let mut out = Vec::new();
        for images in images.chunks(ensemble.images() * inputs) {
            let tile = ensemble.tile(images, &orders[0]);
            let logits = ensemble.logits(&member, 0, &tile, &mut workspace);
            out.extend(logits.iter().take(images.len() / inputs).cloned());
        }
        out
    }

    /// For bytes and real pixels, all activations, and widths with ragged edges: the same bits.
    #[test]
    fn products_of_bytes_are_lookups() {
        if !bytes::is_available() {
            return;
        }
        for activation in [Activation::Relu, Activation::Sign, Activation::Gate] {
            let architecture = Architecture {
                widths: vec![70, 67, 130, 20, 10],
                activation,
                normalisation: Normalisation::Layer,
            };
            let network = Network::random(&architecture, Weights::Field, 1.0, 3, 0).unwrap();
            let mut uniforms = vec![0.0; 37 * 70];
            Stream::new(5, 5, 5, 5).fill_uniforms(0, &mut uniforms);
            let rounded: Vec<f32> =
                uniforms.iter().map(|x| (x * 255.0_f32).floor() / 255.0).collect();
            for images in [uniforms, rounded] {
                let by_bytes = Ensemble::new(&network);
                let by_lookup = Ensemble { bytes: false, ..Ensemble::new(&network) };
                assert_eq!(
                    logits(&by_bytes, &images),
                    logits(&by_lookup, &images),
                    "{activation:?}"
                );
            }
        }
    }
}
