//! The packed passes against the passes over single numbers.

use remanent_math::adam::AdamStep;
use remanent_math::philox::Stream;

use super::super::{Operand, Rows, multiply};
use super::*;
use crate::architecture::{Activation, Architecture, Normalisation};
use crate::fused::previous::Previous;
use crate::fused::{self, Piece, last};
use crate::kernels;
use crate::network::{Network, Weights};
use crate::tiles::{Rowwise, unpack};
use crate::trainer::Memory;

/// Layers with ragged edges in both directions.
const SHAPES: [(usize, usize); 7] =
    [(1, 1), (2, 16), (15, 33), (32, 32), (33, 17), (64, 10), (70, 95)];
const BETA: f32 = 1.3;

fn normals(index: u32, count: usize) -> Vec<f32> {
    let mut x = vec![0.0; count];
    Stream::new(3, 1, 4, index).fill_normals(0, &mut x);
    x
}

fn layer(inputs: usize, outputs: usize) -> Layer {
    let architecture = Architecture {
        widths: vec![inputs, outputs],
        activation: Activation::Relu,
        normalisation: Normalisation::None,
    };
    let theta = vec![normals(1, inputs * outputs)];
    let mut network = Network::new(&architecture, Weights::Field, theta).unwrap();
    network.set_beta(BETA);
    network.layers.remove(0)
}

/// A number of the packed moments.
fn found(moments: &Moments, which: Which, i: usize, j: usize) -> f32 {
    let tile = &moments.tiles(which)[i / DEPTH * moments.panels() + j / SIDE];
    unpack(tile.0[i % DEPTH / 2][j % SIDE])[i % 2]
}

/// Rounded to bfloat16: by at most 2^-8 of the number, and a little for the last digits of tanh.
fn assert_rounded(found: f32, exact: f32) {
    assert!((found - exact).abs() <= exact.abs() * (1.0 / 255.9), "{found} {exact}");
}

fn assert_moments(moments: &Moments, layer: &Layer) {
    for i in 0..layer.inputs {
        for j in 0..layer.outputs {
            let at = i * layer.outputs + j;
            assert_rounded(found(moments, Which::Mean, i, j), layer.mean[at]);
            assert_rounded(found(moments, Which::Variance, i, j), layer.variance[at]);
        }
    }
}

#[test]
fn packed_moments_are_those_of_the_layer_rounded() {
    if !Moments::are_available(Path::best()) {
        return;
    }
    for (inputs, outputs) in SHAPES {
        let layer = layer(inputs, outputs);
        assert_moments(&Moments::pack(&layer, BETA), &layer);
    }
}

/// Forwards and backwards, on every path: the products with the unpacked numbers.
#[test]
fn products_are_those_of_the_packed_numbers() {
    if !Moments::are_available(Path::best()) {
        return;
    }
    const BATCH: usize = 19;
    for (inputs, outputs) in SHAPES {
        let layer = layer(inputs, outputs);
        let moments = Moments::pack(&layer, BETA);
        let weight = |i: usize, j: usize| f64::from(found(&moments, Which::Mean, i, j));
        let of = |x: f32| f64::from(f32::from_bits(super::super::plain::round(x)));
        let (h, k) = (normals(2, BATCH * inputs), normals(3, outputs * BATCH));
        let rows = |values, count, width| Rows { values, stride: width, count, width };
        for path in Path::ALL.into_iter().filter(|path| path.is_available()) {
            let mut samples = Operand::default();
            samples.pack_along(path, rows(&h, BATCH, inputs));
            let mut out = vec![f32::NAN; BATCH * outputs];
            let mut sink = Rowwise::new(1.0, outputs, &mut out);
            multiply(path, samples.all(), moments.right(Which::Mean), &mut sink);
            for b in 0..BATCH {
                for j in 0..outputs {
                    let exact: f64 =
                        (0..inputs).map(|i| of(h[b * inputs + i]) * weight(i, j)).sum();
                    let off = (f64::from(out[b * outputs + j]) - exact).abs();
                    assert!(off < 1e-5 * inputs as f64, "{path:?} {inputs} {outputs}: {off}");
                }
            }
            let mut downstream = Operand::default();
            downstream.pack_across(path, rows(&k, outputs, BATCH));
            let (mut left, mut out) = (Vec::new(), vec![f32::NAN; inputs * BATCH]);
            for block in 0..moments.blocks() {
                let block_rows = moments.rows(block);
                let part = &mut out[block_rows.start * BATCH..block_rows.end * BATCH];
                let mut sink = Rowwise::new(1.0, BATCH, part);
                let weights = moments.left(Which::Mean, block, &mut left);
                multiply(path, weights, downstream.all(), &mut sink);
            }
            for i in 0..inputs {
                for b in 0..BATCH {
                    let exact: f64 =
                        (0..outputs).map(|j| weight(i, j) * of(k[j * BATCH + b])).sum();
                    let off = (f64::from(out[i * BATCH + b]) - exact).abs();
                    assert!(off < 1e-5 * outputs as f64, "{path:?} {inputs} {outputs}: {off}");
                }
            }
        }
    }
}

fn tiles_of(values: &[f32], inputs: usize, outputs: usize, block: usize) -> Vec<Sums> {
    let panels = outputs.div_ceil(SIDE);
    let mut tiles = vec![Sums::ZERO; 2 * panels];
    for i in (block * DEPTH..inputs).take(DEPTH) {
        for j in 0..outputs {
            let row = i % DEPTH;
            tiles[row / SIDE * panels + j / SIDE].0[row % SIDE][j % SIDE] = values[i * outputs + j];
        }
    }
    tiles
}

/// How far moments of Adam and θ may be from those of [`fused`], besides the rounding of single precision: where the
/// previous step is recalled, the gradient of the divergence from it is only accurate to 2^-13.
struct Rough {
    first: Vec<f32>,
    second: Vec<f32>,
    theta: Vec<f32>,
}

impl Rough {
    /// Of a step with these constants, from `old` to `new`; `kept` is the exact gradient of the divergence.
    fn of(constants: &Constants, kept: &[f32], old: &Memory, new: &Memory) -> Self {
        let Constants { adam, gamma_step, .. } = constants;
        let (mut first, mut second, mut theta) = (Vec::new(), Vec::new(), Vec::new());
        for (i, kept) in kept.iter().enumerate() {
            let by = gamma_step * kept.abs() / 8192.0;
            let g = (new.first[i] - adam.b1 * old.first[i]).abs() / (1.0 - adam.b1);
            let (m, v) = ((1.0 - adam.b1) * by, (1.0 - adam.b2) * (2.0 * g + by) * by);
            let step = adam.step(new.first[i], new.second[i]).abs();
            first.push(m);
            second.push(v);
            // The derivative of r m/(√v c + ε) by m and v.
            theta.push(adam.step(m, new.second[i]) + step * v / (2.0 * new.second[i]));
        }
        Self { first, second, theta }
    }
}

/// Several steps with and without each term, beside those of [`fused`] with the same moments.
#[test]
fn a_step_is_that_of_the_fused_pass() {
    if !Moments::are_available(Path::best()) {
        return;
    }
    assert_eq!(Constants::example().beta, BETA);
    let factors = (0.31, 0.11);
    let forms = [last::NONE, last::STORED, last::RECALLED];
    for (form, anchored) in forms.into_iter().flat_map(|form| [(form, false), (form, true)]) {
        let metaplastic = anchored && form != last::RECALLED;
        for (inputs, outputs) in SHAPES {
            let mut layer = layer(inputs, outputs);
            let count = inputs * outputs;
            let mut moments = Moments::pack(&layer, BETA);
            let state = |wanted: bool| if wanted { vec![0.0; count] } else { Vec::new() };
            let mut memory = Memory {
                first: state(true),
                second: state(true),
                kept: state(form == last::STORED),
                anchor: if anchored { normals(5, count) } else { Vec::new() },
                fisher: Vec::new(),
            };
            let mut other = memory.clone();
            let mut theta = layer.theta.clone();
            let mut previous = None;
            for step in 0..4 {
                let rate = 0.02 + 0.01 * step as f32;
                let adam = AdamStep { rate, spread: 1.9 - rate, ..Constants::example().adam };
                let constants = Constants { adam, metaplastic, previous, ..Constants::example() };
                let (mut by_mean, by_variance) =
                    (normals(10 + step, count), normals(20 + step, count));
                by_mean[count / 2] = 1e-30;
                for block in 0..moments.blocks() {
                    let (mean, variance) = (
                        tiles_of(&by_mean, inputs, outputs, block),
                        tiles_of(&by_variance, inputs, outputs, block),
                    );
                    let gradients = Gradients { by_mean: &mean, by_variance: &variance, factors };
                    // The other pass starts from the rounded moments too.
                    for i in moments.rows(block) {
                        for j in 0..outputs {
                            let at = i * outputs + j;
                            layer.mean[at] = found(&moments, Which::Mean, i, j);
                            layer.variance[at] = found(&moments, Which::Variance, i, j);
                        }
                    }
                    let mut learned = memory.learned(&mut theta);
                    moments.learn(&constants, block, gradients, &mut learned);
                }
                let mut g = by_mean.clone();
                kernels::scale(factors.0, &mut g);
                let scaled: Vec<f32> = by_variance.iter().map(|x| factors.1 * x).collect();
                kernels::field_gradient(BETA, &layer.mean, &layer.variance, &scaled, &mut g);
                let old = other.clone();
                let mut kept = vec![0.0; count];
                if let Some(before) = previous {
                    // With the rounded variance.
                    let before: Previous = before;
                    let steps = old.first.iter().zip(&old.second);
                    let steps = steps.map(|(m, v)| before.adam(&adam).step(*m, *v));
                    let steps: Vec<f32> = steps.collect();
                    kernels::keep(BETA, &layer.variance, &steps, &mut kept);
                }
                let piece = Piece {
                    g: &g,
                    mean: &mut layer.mean,
                    variance: &mut layer.variance,
                    learned: other.learned(&mut layer.theta),
                };
                fused::learn(&constants, piece);
                let rough = Rough::of(&constants, &kept, &old, &other);
                let close = |found: &[f32], expected: &[f32], size: f32, rough: &[f32]| {
                    for ((found, expected), rough) in found.iter().zip(expected).zip(rough) {
                        let bound = 3e-6 * (expected.abs() + size) + rough;
                        assert!((found - expected).abs() <= bound, "{found} {expected} {rough}");
                    }
                };
                close(&theta, &layer.theta, 0.1, &rough.theta);
                close(&memory.first, &other.first, 1e-2, &rough.first);
                close(&memory.second, &other.second, 1e-4, &rough.second);
                close(&memory.kept, &other.kept, 1e-2, &vec![0.0; count]);
                if form == last::RECALLED {
                    previous = Some(Previous::of(&adam, BETA, true));
                }
                assert_moments(&moments, &layer);
                // Both go on from the same numbers, so that differences do not add up.
                layer.theta.clone_from(&theta);
                other.clone_from(&memory);
            }
        }
    }
}

/// A weight that is not a number is seen by the product, and none becomes one.
#[test]
fn not_a_number_propagates() {
    if !Moments::are_available(Path::best()) {
        return;
    }
    let mut layer = layer(2, 16);
    layer.theta[3] = f32::NAN;
    layer.theta[4] = f32::INFINITY;
    layer.theta[5] = -1e30;
    let moments = Moments::pack(&layer, BETA);
    assert!(found(&moments, Which::Mean, 0, 3).is_nan());
    assert_eq!(found(&moments, Which::Mean, 0, 4), 1.0);
    assert_eq!(found(&moments, Which::Mean, 0, 5), -1.0);
    assert_eq!(found(&moments, Which::Variance, 0, 4), 0.0);
}
