//! Binary networks drawn from a trained distribution, and their logits.
//!
//! Images are processed in tiles of four, or of 32 with products of bytes, and a tile is prepared once for all
//! networks. [`super::drawn`] computes the sums of a layer.

use remanent_math::philox::Stream;

use super::draw::Thresholds;
use super::drawn::{Drawn, Kind, looks_up, put_numbers};
pub(crate) use super::drawn::{FEWEST_OUTPUTS, Tile, Workspace};
use super::forward::{normalise, scale, scale_and_shift};
use super::subsets::{self, TILE};
use super::whole::Whole;
use super::{Affine, bytes};
use crate::architecture::{Activation, Architecture};
use crate::kernels;
use crate::network::{Network, Weights};

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

/// A network drawn from an ensemble.
pub(crate) struct Member {
    /// The first layer, for each order of pixels.
    first: Vec<Drawn>,
    rest: Vec<Drawn>,
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
            let size = if self.bytes { bytes::Signs::size } else { subsets::Signs::size };
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
        let mut tile = Tile::default();
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
            let activation = self.architecture.activation;
            workspace.sum(drawn, (inputs, outputs), (l == 0).then_some(tile), activation);
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
                workspace.activate(activation);
            }
        }
        workspace.z.iter_mut().for_each(|z| scale(z, self.output_scale));
        &workspace.z
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
