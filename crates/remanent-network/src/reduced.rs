//! The six products of a layer with inputs in bfloat16 ([`crate::bf16`]).
//!
//! The moments of binary weights stay packed from step to step where the processor has the instructions
//! ([`Moments`]). Other weights are packed a few columns or rows at a time, right before they are multiplied: they are read
//! once as numbers and stay packed only in the cache. Activations and gradients are packed once for
//! each product, or once for all tiles of a gradient.

use crate::bf16::moments::{Gradients, Moments, Which};
use crate::bf16::{Operand, Path, Rows, multiply};
use crate::fused::{Constants, Learned};
use crate::network::{Layer, Network};
use crate::tiles::{Panels, Rowwise, SIDE, Sums, Tile, Tiled, Transposed};

/// Weights packed at a time, so that they stay in the cache: at least those of 64 neurons, so that memory is
/// read in long pieces.
const WEIGHTS: usize = 1 << 18;

/// The number of neurons with this many weights each that are packed at a time.
fn neurons_at_a_time(weights: usize) -> usize {
    (WEIGHTS / weights).clamp(64, 512).next_multiple_of(32)
}

/// Packed operands.
#[derive(Clone, Debug)]
pub struct Reduced {
    path: Path,
    activations: Operand,
    weights: Operand,
    /// The moments of every layer, if they are kept packed.
    moments: Vec<Moments>,
    left: Vec<Tile>,
    by_mean: Vec<Sums>,
    by_variance: Vec<Sums>,
    /// h and h², upstream neurons by samples.
    upstream: [Operand; 2],
    /// K and K ε/v, samples by downstream neurons.
    downstream: [Operand; 2],
}

/// The sizes of a layer and a batch.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Upstream neurons.
    pub inputs: usize,
    /// Downstream neurons.
    pub outputs: usize,
    /// Samples.
    pub batch: usize,
}

/// A product with moments of the weights.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    /// The layer.
    pub l: usize,
    /// Which moments.
    pub which: Which,
    /// Sizes.
    pub shape: Shape,
    /// Factor of the product.
    pub scale: f32,
    /// The moments in single precision, for layers whose moments are not kept packed.
    pub w: &'a [f32],
}

impl Reduced {
    /// On the fastest path of this processor.
    pub fn new() -> Self {
        Self {
            path: Path::best(),
            activations: Operand::default(),
            weights: Operand::default(),
            moments: Vec::new(),
            left: Vec::new(),
            by_mean: Vec::new(),
            by_variance: Vec::new(),
            upstream: Default::default(),
            downstream: Default::default(),
        }
    }

    /// Packs the moments of all layers, if the processor has the instructions to learn them packed. They are
    /// then used instead of those of the network, until they are dropped.
    pub fn hold_moments(&mut self, network: &Network) {
        if self.moments.is_empty() && Moments::are_available(self.path) {
            let pack = |layer: &Layer| Moments::pack(layer, network.beta);
            self.moments = network.layers.iter().map(pack).collect();
        }
    }

    /// Whether the moments are kept packed.
    pub fn holds_moments(&self) -> bool {
        !self.moments.is_empty()
    }

    /// The moments of the network count again.
    pub fn drop_moments(&mut self) {
        self.moments.clear();
    }

    /// `out` = `scale` Σ_i w_ij h_i: downstream neurons × samples, where w are these moments of layer l.
    pub fn forward(&mut self, product: Product<'_>, h: &[f32], out: &mut [f32]) {
        let Product { l, which, shape, scale, w } = product;
        let Shape { inputs, outputs, batch } = shape;
        // Samples are the rows of this product, so that the weights need no transposition.
        self.activations.pack_across(self.path, matrix(h, inputs, batch));
        self.activations.transpose();
        if let Some(moments) = self.moments.get(l) {
            let mut sink = Transposed::new(scale, batch, out);
            multiply(self.path, self.activations.all(), moments.right(which), &mut sink);
            return;
        }
        let neurons = neurons_at_a_time(inputs);
        for first in (0..outputs).step_by(neurons) {
            let width = neurons.min(outputs - first);
            let columns = Rows { values: &w[first..], stride: outputs, count: inputs, width };
            self.weights.pack_across(self.path, columns);
            let out = &mut out[first * batch..][..width * batch];
            let mut sink = Transposed::new(scale, batch, out);
            multiply(self.path, self.activations.all(), self.weights.all(), &mut sink);
        }
    }

    /// `out` = `scale` Σ_j w_ij k_j: upstream neurons × samples.
    pub fn backward(&mut self, product: Product<'_>, k: &[f32], out: &mut [f32]) {
        let Product { l, which, shape, scale, w } = product;
        let Shape { inputs, outputs, batch } = shape;
        self.activations.pack_across(self.path, matrix(k, outputs, batch));
        let (path, activations) = (self.path, self.activations.all());
        let mut write = |weights: Panels<'_>, first: usize, count: usize| {
            let mut sink = Rowwise::new(scale, batch, &mut out[first * batch..][..count * batch]);
            multiply(path, weights, activations, &mut sink);
        };
        if let Some(moments) = self.moments.get(l) {
            for block in 0..moments.blocks() {
                let rows = moments.rows(block);
                write(moments.left(which, block, &mut self.left), rows.start, rows.len());
            }
            return;
        }
        let neurons = neurons_at_a_time(outputs);
        for first in (0..inputs).step_by(neurons) {
            let count = neurons.min(inputs - first);
            let rows = matrix(&w[first * outputs..][..count * outputs], count, outputs);
            self.weights.pack_along(path, rows);
            write(self.weights.all(), first, count);
        }
    }

    /// A step of Adam for layer l, whose moments are packed, from the factors prepared.
    pub fn learn(
        &mut self,
        l: usize,
        constants: &Constants,
        factors: (f32, f32),
        learned: &mut Learned<'_>,
    ) {
        let moments = &mut self.moments[l];
        let panels = moments.panels();
        self.by_mean.resize(Moments::BLOCK / SIDE * panels, Sums::ZERO);
        self.by_variance.resize(Moments::BLOCK / SIDE * panels, Sums::ZERO);
        for block in 0..moments.blocks() {
            let gradient = |which: usize, tiles: &mut [Sums]| {
                let upstream = self.upstream[which].panels(moments.rows(block));
                let mut sink = Tiled { tiles, columns: panels };
                multiply(self.path, upstream, self.downstream[which].all(), &mut sink);
            };
            gradient(0, &mut self.by_mean);
            gradient(1, &mut self.by_variance);
            let (by_mean, by_variance) = (&self.by_mean[..], &self.by_variance[..]);
            let gradients = Gradients { by_mean, by_variance, factors };
            moments.learn(constants, block, gradients, learned);
        }
    }

    /// Packs the factors of a gradient: h and h² upstream, K and K ε/v downstream. The second of each may
    /// be empty.
    pub fn prepare(&mut self, shape: Shape, upstream: [&[f32]; 2], downstream: [&[f32]; 2]) {
        for (operand, h) in self.upstream.iter_mut().zip(upstream).filter(|(_, h)| !h.is_empty()) {
            operand.pack_along(self.path, matrix(h, shape.inputs, shape.batch));
        }
        let factors = self.downstream.iter_mut().zip(downstream);
        for (operand, k) in factors.filter(|(_, k)| !k.is_empty()) {
            operand.pack_along(self.path, matrix(k, shape.outputs, shape.batch));
            operand.transpose();
        }
    }

    /// `out` = `scale` Σ_b h_ib K_jb for some upstream neurons i (a multiple of 16 is the first), of
    /// the factors prepared; `second` for h² and K ε/v.
    pub fn gradient(
        &self,
        second: bool,
        scale: f32,
        neurons: std::ops::Range<usize>,
        outputs: usize,
        out: &mut [f32],
    ) {
        let which = usize::from(second);
        let upstream = self.upstream[which].panels(neurons);
        let mut sink = Rowwise::new(scale, outputs, out);
        multiply(self.path, upstream, self.downstream[which].all(), &mut sink);
    }
}

fn matrix(values: &[f32], count: usize, width: usize) -> Rows<'_> {
    assert_eq!(values.len(), count * width, "a {count} × {width} matrix");
    Rows { values, stride: width, count, width }
}

#[cfg(test)]
mod tests {
    use remanent_math::philox::Stream;

    use super::*;
    use crate::product::{Matrix, multiply as exact};

    fn normals(index: u32, count: usize) -> Vec<f32> {
        let mut x = vec![0.0; count];
        Stream::new(2, 2, 2, index).fill_normals(0, &mut x);
        // Numbers that bfloat16 has: products then differ from those of single precision by sums only.
        x.iter_mut().for_each(|x| *x = f32::from_bits(x.to_bits() & 0xffff_0000));
        x
    }

    fn close(found: &[f32], expected: &[f32], terms: usize) {
        let size = expected.iter().fold(1.0_f32, |size, x| size.max(x.abs()));
        let bound = f32::EPSILON * terms as f32 * size * 4.0;
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= bound, "{found} {expected}");
        }
    }

    #[test]
    fn products_of_a_layer_are_those_in_single_precision() {
        for (inputs, outputs, batch) in [(1, 1, 2), (17, 15, 3), (70, 33, 16), (100, 130, 65)] {
            let shape = Shape { inputs, outputs, batch };
            let w = normals(1, inputs * outputs);
            let (h, k) = (normals(2, inputs * batch), normals(3, outputs * batch));
            let mut reduced = Reduced::new();
            let weights = Matrix::new(&w, inputs, outputs);
            let (up, down) = (Matrix::new(&h, inputs, batch), Matrix::new(&k, outputs, batch));

            let (mut found, mut expected) =
                (vec![0.0; outputs * batch], vec![0.0; outputs * batch]);
            let product = Product { l: 0, which: Which::Mean, shape, scale: 0.7, w: &w };
            reduced.forward(product, &h, &mut found);
            exact(&mut expected, 0.7, weights.transposed(), up);
            close(&found, &expected, inputs);

            let (mut found, mut expected) = (vec![0.0; inputs * batch], vec![0.0; inputs * batch]);
            reduced.backward(product, &k, &mut found);
            exact(&mut expected, 0.7, weights, down);
            close(&found, &expected, outputs);

            let (mut found, mut expected) = (vec![0.0; w.len()], vec![0.0; w.len()]);
            reduced.prepare(shape, [&[], &h], [&[], &k]);
            for first in (0..inputs).step_by(32) {
                let neurons = first..inputs.min(first + 32);
                let out = &mut found[first * outputs..neurons.end * outputs];
                reduced.gradient(true, 0.7, neurons, outputs, out);
            }
            exact(&mut expected, 0.7, up, down.transposed());
            close(&found, &expected, batch);
        }
    }
}
