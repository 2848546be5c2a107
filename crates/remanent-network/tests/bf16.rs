//! The gradient with products in bfloat16 against differences of the loss in double precision.
//!
//! Rounding an input x to bfloat16 changes it by at most u|x|, u = 2^-8. A product of two such inputs, which
//! themselves are wrong by at most e and f, is wrong by at most (|x| + e)(|y| + f)(1 + u)² − |x||y|. The test
//! carries such bounds through the whole pass, beside the values, so that the allowed difference of a
//! gradient is derived and not chosen.

use remanent_math::philox::Stream;
use remanent_network::learner::{Anchor, Learner, Optimizer, Parameters};
use remanent_network::network::Network;
use remanent_network::product::Precision;
use remanent_network::trainer::{Moment, Trainer};

const WIDTHS: [usize; 3] = [20, 17, 3];
/// Odd, so that a pair is incomplete; few, so that the terms of a gradient do not cancel and bounds stay small beside it.
const BATCH: usize = 9;
const BETA: f64 = 1.25;
const RATE: f64 = 1024.0;
/// (1 + u)².
const ROUNDED: f64 = (1.0 + 1.0 / 256.0) * (1.0 + 1.0 / 256.0);
/// Of a product and sum of less than a hundred terms in single precision, relative to the sum of sizes.
const SINGLE: f64 = 100.0 * 6e-8;

/// A number, and how wrong the program's may be.
#[derive(Clone, Copy, Debug, Default)]
struct Bounded {
    value: f64,
    error: f64,
}

impl Bounded {
    fn exact(value: f64) -> Self {
        Self { value, error: SINGLE * value.abs() }
    }

    fn size(self) -> f64 {
        self.value.abs() + self.error
    }

    /// Of two numbers that are not rounded.
    fn times(self, other: Self) -> Self {
        let value = self.value * other.value;
        let error = self.size() * other.size() - value.abs();
        Self { value, error: error + SINGLE * value.abs() }
    }

    fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, error: self.error + other.error }
    }
}

/// A product of matrices with rounded inputs: one of its sums.
fn dot(scale: f64, pairs: impl Iterator<Item = (Bounded, Bounded)>) -> Bounded {
    let mut sum = Bounded::default();
    for (x, y) in pairs {
        let value = scale * x.value * y.value;
        let error = scale * x.size() * y.size() * (ROUNDED + SINGLE) - value.abs();
        sum = sum.plus(Bounded { value, error });
    }
    sum
}

fn normals(count: usize, purpose: u32) -> Vec<f32> {
    let mut out = vec![0.0; count];
    Stream::new(5, purpose, 0, 0).fill_normals(0, &mut out);
    out
}

/// The problem, in double precision.
struct Problem {
    theta: [Vec<f64>; 2],
    images: Vec<f64>,
    noise: [Vec<f64>; 2],
}

/// Of a layer, neuron by neuron.
struct Seen {
    h: Vec<Bounded>,
    z: Vec<Bounded>,
    /// ε/√V.
    ratio: Vec<Bounded>,
}

fn label(b: usize) -> usize {
    b * 2 % 3
}

impl Problem {
    fn moments(&self, l: usize, at: usize) -> (f64, f64) {
        let mean = (BETA * self.theta[l][at]).tanh();
        (mean, 1.0 - mean * mean)
    }

    fn layer(&self, l: usize, h: Vec<Bounded>) -> Seen {
        let (inputs, outputs) = (WIDTHS[l], WIDTHS[l + 1]);
        let n = inputs as f64;
        let (mut z, mut ratio) = (Vec::new(), Vec::new());
        for j in 0..outputs {
            for b in 0..BATCH {
                let weights =
                    (0..inputs).map(|i| (self.moments(l, i * outputs + j), h[i * BATCH + b]));
                let mean = dot(
                    n.sqrt().recip(),
                    weights.clone().map(|((m, _), h)| (Bounded::exact(m), h)),
                );
                let square = |h: Bounded| h.times(h);
                let variance =
                    dot(n.recip(), weights.map(|((_, s), h)| (Bounded::exact(s), square(h))));
                let noise = self.noise[l][j * BATCH + b];
                let root = variance.value.sqrt();
                // |√V' − √V| ≤ |V' − V|/√V.
                let off = variance.error / root + SINGLE * root;
                assert!(off < 0.5 * root, "the bound of a deviation is useless");
                z.push(mean.plus(Bounded { value: noise * root, error: noise.abs() * off }));
                ratio.push(Bounded {
                    value: noise / root,
                    error: noise.abs() * off / (root * (root - off)),
                });
            }
        }
        Seen { h, z, ratio }
    }

    fn forward(&self) -> [Seen; 2] {
        let pixel = |at: usize| Bounded::exact(self.images[at % BATCH * WIDTHS[0] + at / BATCH]);
        let first = self.layer(0, (0..WIDTHS[0] * BATCH).map(pixel).collect());
        let rectify = |z: &Bounded| Bounded { value: z.value.max(0.0), error: z.error };
        let second = self.layer(1, first.z.iter().map(rectify).collect());
        [first, second]
    }

    fn probabilities(z: &[Bounded], b: usize) -> Vec<f64> {
        let exponentials: Vec<f64> = (0..3).map(|j| z[j * BATCH + b].value.exp()).collect();
        let total: f64 = exponentials.iter().sum();
        exponentials.iter().map(|x| x / total).collect()
    }

    fn loss(&self) -> f64 {
        let [_, last] = self.forward();
        (0..BATCH).map(|b| -Self::probabilities(&last.z, b)[label(b)].ln()).sum()
    }

    /// K of both layers.
    fn backward(&self, [first, last]: &[Seen; 2]) -> [Vec<Bounded>; 2] {
        let mut k = vec![Bounded::default(); WIDTHS[2] * BATCH];
        for b in 0..BATCH {
            // All logits wrong by d change a probability p by at most p (e^{2d} − 1).
            let off = (0..3).map(|j| last.z[j * BATCH + b].error).fold(0.0, f64::max);
            for (j, p) in Self::probabilities(&last.z, b).into_iter().enumerate() {
                let target = f64::from(u8::from(j == label(b)));
                let error = p * ((2.0 * off).exp() - 1.0) + SINGLE;
                k[j * BATCH + b] = Bounded { value: p - target, error };
            }
        }
        let (inputs, outputs) = (WIDTHS[1], WIDTHS[2]);
        let n = inputs as f64;
        let mut below = Vec::new();
        for i in 0..inputs {
            for b in 0..BATCH {
                let downstream =
                    (0..outputs).map(|j| (self.moments(1, i * outputs + j), j * BATCH + b));
                let by_mean = downstream.clone().map(|((m, _), at)| (Bounded::exact(m), k[at]));
                let by_variance =
                    downstream.map(|((_, s), at)| (Bounded::exact(s), k[at].times(last.ratio[at])));
                let at = i * BATCH + b;
                let g = dot(n.sqrt().recip(), by_mean)
                    .plus(dot(n.recip(), by_variance).times(last.h[at]));
                let z = first.z[at];
                below.push(match z.value > 0.0 {
                    // A neuron so near to zero that the rounding decides whether it is active.
                    _ if z.value.abs() <= z.error => {
                        let value = if z.value > 0.0 { g.value } else { 0.0 };
                        Bounded { value, error: g.size() }
                    }
                    true => g,
                    false => Bounded::default(),
                });
            }
        }
        [below, k]
    }

    /// The gradient by θ.
    fn gradient(&self, l: usize, at: usize, seen: &[Seen; 2], k: &[Vec<Bounded>; 2]) -> Bounded {
        let (i, j) = (at / WIDTHS[l + 1], at % WIDTHS[l + 1]);
        let n = WIDTHS[l] as f64;
        let samples = (0..BATCH).map(|b| (seen[l].h[i * BATCH + b], j * BATCH + b));
        let by_mean = dot(n.sqrt().recip(), samples.clone().map(|(h, at)| (h, k[l][at])));
        let ratio = |at: usize| k[l][at].times(seen[l].ratio[at]);
        let by_variance = dot(n.recip(), samples.map(|(h, at)| (h.times(h), ratio(at))));
        let (mean, variance) = self.moments(l, at);
        let minus_mean = Bounded::exact(-mean);
        by_mean.plus(by_variance.times(minus_mean)).times(Bounded::exact(BETA * variance))
    }
}

/// θ before a step of gradient descent minus θ after it, over the learning rate.
fn found(precision: Precision, images: &[f32], noise: &[Vec<f32>; 2]) -> (Network, [Vec<f64>; 2]) {
    let parameters = Parameters {
        hidden: vec![WIDTHS[1]],
        lr: RATE,
        optimizer: Optimizer::Sgd,
        anchor: Anchor::None,
        precision,
        ..Parameters::of(Learner::Vcl)
    };
    let architecture = parameters.architecture(WIDTHS[0], WIDTHS[2]);
    let mut network = Network::random(&architecture, parameters.weights(), 0.8, 4, 0).unwrap();
    network.set_beta(BETA as f32);
    let mut trainer = Trainer::new(&parameters, network.clone()).unwrap();
    let labels: Vec<u8> = (0..BATCH).map(|b| label(b) as u8).collect();
    let moment = Moment { beta: BETA as f32, meta: 0.0, rate: 1.0, examples: 40 };
    let mut noise = |l: usize, out: &mut [f32]| out.copy_from_slice(&noise[l]);
    trainer.step(images, &labels, &moment, &mut noise).unwrap();
    let gradient = [0, 1].map(|l| {
        let (before, after) = (network.layers()[l].theta(), trainer.network().layers()[l].theta());
        before.iter().zip(after).map(|(&b, &a)| (f64::from(b) - f64::from(a)) / RATE).collect()
    });
    (network, gradient)
}

#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[test]
fn gradients_are_derivatives_within_the_rounding_of_inputs() {
    let images = normals(WIDTHS[0] * BATCH, 1);
    let noise = [normals(WIDTHS[1] * BATCH, 2), normals(WIDTHS[2] * BATCH, 3)];
    let (network, reduced) = found(Precision::Bf16, &images, &noise);
    let (_, single) = found(Precision::F32, &images, &noise);
    let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let mut problem = Problem {
        theta: [0, 1].map(|l| wide(network.layers()[l].theta())),
        images: wide(&images),
        noise: [wide(&noise[0]), wide(&noise[1])],
    };
    let seen = problem.forward();
    let k = problem.backward(&seen);
    for l in 0..2 {
        let largest = single[l].iter().fold(0.0_f64, |size, g| size.max(g.abs()));
        let (mut moved, mut bounds) = (0.0_f64, 0.0);
        let count = problem.theta[l].len();
        for at in 0..count {
            let expected = problem.gradient(l, at, &seen, &k);
            let theta = problem.theta[l][at];
            let mut loss = |shift: f64| {
                problem.theta[l][at] = theta + shift;
                problem.loss()
            };
            let difference = (loss(1e-5) - loss(-1e-5)) / 2e-5;
            problem.theta[l][at] = theta;
            let off = (reduced[l][at] - difference).abs();
            let bound = expected.error + 1e-5 * largest;
            assert!(off <= bound, "layer {l}, weight {at}: {off} above {bound}");
            assert!((expected.value - difference).abs() < 1e-6 * largest, "{l} {at}");
            moved = moved.max((reduced[l][at] - single[l][at]).abs());
            bounds += expected.error / count as f64;
        }
        // The products were rounded, and the bounds would find a wrong factor.
        assert!(moved > 1e-4 * largest, "layer {l}: {moved}");
        assert!(bounds < 0.3 * largest, "layer {l}: {bounds} of {largest}");
    }
}
