//! Mean and variance of the weights of a layer, kept packed between steps, and the pass that learns them.
//!
//! A step of training reads the weights three times: forwards, backwards, and to change them. With moments in
//! single precision most of its time is memory traffic. Here the moments exist only as bfloat16, in
//! the order of a right operand: [blocks of 32 inputs][panels of 16 outputs]. The product
//! forwards uses the tiles as they are, the product backwards exchanges the numbers of a pair
//! block by block, and [`Moments::learn`] changes θ and the moments of Adam of a block while its gradient is in the
//! cache, and writes the tiles of the new weights.
//!
//! Fields and Adam's moments are those of [`fused::learn`](crate::fused::learn) to a few units of the last place.

use super::{DEPTH, Path};
use crate::fused::{Constants, Learned};
use crate::network::Layer;
use crate::pages::filled;
use crate::tiles::{Panels, SIDE, Sums, Tile};

#[cfg(target_arch = "x86_64")]
mod avx512;

/// The packed moments of a layer.
#[derive(Clone, Debug)]
pub struct Moments {
    inputs: usize,
    outputs: usize,
    mean: Vec<Tile>,
    variance: Vec<Tile>,
}

/// Which of the moments.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// tanh βθ.
    Mean,
    /// 1 − tanh² βθ.
    Variance,
}

/// The gradients of a block of inputs: panels of inputs × panels of outputs each.
#[derive(Clone, Copy, Debug)]
pub struct Gradients<'a> {
    /// Σ_b h_i K_j.
    pub by_mean: &'a [Sums],
    /// Σ_b h_i² K_j ε_j/v_j.
    pub by_variance: &'a [Sums],
    /// Their factors, N^{-1/2} and N^{-1}.
    pub factors: (f32, f32),
}

impl Moments {
    /// Inputs of a block.
    pub const BLOCK: usize = DEPTH;

    /// Whether this processor has the instructions.
    pub fn are_available(path: Path) -> bool {
        path != Path::Plain && Path::Avx512.is_available()
    }

    /// Packs the moments of the fields βθ of a layer.
    ///
    /// # Panics
    ///
    /// If the processor does not have the instructions.
    pub fn pack(layer: &Layer, beta: f32) -> Self {
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        let tiles = inputs.div_ceil(DEPTH) * outputs.div_ceil(SIDE);
        let [mean, variance] = [(); 2].map(|()| filled(tiles, Tile::ZERO));
        let mut moments = Self { inputs, outputs, mean, variance };
        let panels = moments.panels();
        for block in 0..moments.blocks() {
            let (rows, tiles) = (moments.rows(block), block * panels..(block + 1) * panels);
            let theta = &layer.theta[rows.start * outputs..rows.end * outputs];
            let of_block = (&mut moments.mean[tiles.clone()], &mut moments.variance[tiles]);
            pack(beta, outputs, theta, of_block);
        }
        moments
    }

    /// Number of blocks of inputs.
    pub fn blocks(&self) -> usize {
        self.inputs.div_ceil(DEPTH)
    }

    /// Panels of outputs.
    pub fn panels(&self) -> usize {
        self.outputs.div_ceil(SIDE)
    }

    /// The inputs of a block.
    pub fn rows(&self, block: usize) -> std::ops::Range<usize> {
        block * DEPTH..self.inputs.min((block + 1) * DEPTH)
    }

    fn tiles(&self, which: Which) -> &[Tile] {
        match which {
            Which::Mean => &self.mean,
            Which::Variance => &self.variance,
        }
    }

    /// As the right operand of the product forwards: k runs over the inputs.
    pub fn right(&self, which: Which) -> Panels<'_> {
        let (count, blocks) = (self.panels(), self.blocks());
        Panels { count, blocks, strides: [1, count], tiles: self.tiles(which) }
    }

    /// A block of inputs as the left operand of the product backwards: k runs over the outputs.
    pub fn left<'a>(&self, which: Which, block: usize, out: &'a mut Vec<Tile>) -> Panels<'a> {
        let panels = self.panels();
        let blocks = panels.div_ceil(2);
        let count = self.rows(block).len().div_ceil(SIDE);
        out.resize(2 * blocks, Tile::ZERO);
        exchange(&self.tiles(which)[block * panels..][..panels], out);
        Panels::contiguous(blocks, &out[..count * blocks])
    }

    /// A step of Adam for the weights of a block of inputs.
    ///
    /// # Panics
    ///
    /// If the processor does not have the instructions, or a part has another size.
    pub fn learn(
        &mut self,
        constants: &Constants,
        block: usize,
        gradients: Gradients<'_>,
        learned: &mut Learned<'_>,
    ) {
        let (rows, panels) = (self.rows(block), self.panels());
        let tiles = block * panels..(block + 1) * panels;
        let state = State {
            outputs: self.outputs,
            learned: learned.part(rows.start * self.outputs..rows.end * self.outputs),
            mean: &mut self.mean[tiles.clone()],
            variance: &mut self.variance[tiles],
        };
        learn(constants, gradients, state);
    }
}

/// The weights of a block of inputs, and the state of their learner.
struct State<'a> {
    outputs: usize,
    learned: Learned<'a>,
    mean: &'a mut [Tile],
    variance: &'a mut [Tile],
}

#[cfg(target_arch = "x86_64")]
use avx512::{exchange, learn, pack};

#[cfg(not(target_arch = "x86_64"))]
fn pack(_: f32, _: usize, _: &[f32], _: (&mut [Tile], &mut [Tile])) {
    unreachable!("only with AVX-512");
}

#[cfg(not(target_arch = "x86_64"))]
fn exchange(_: &[Tile], _: &mut [Tile]) {
    unreachable!("only with AVX-512");
}

#[cfg(not(target_arch = "x86_64"))]
fn learn(_: &Constants, _: Gradients<'_>, _: State<'_>) {
    unreachable!("only with AVX-512");
}

#[cfg(test)]
mod tests;
