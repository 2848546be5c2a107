//! Every gradient is the derivative of what it should be.
//!
//! The loss is stated here once more, from its definition and in double precision, where central
//! differences are good to nine digits. The program's loss is this function, and its gradients are
//! the differences of it, to what single precision allows: sums of a few hundred products, each
//! rounded to 6e-8, and hence 1e-5 of the largest entry.
//!
//! Gradients are read from one step of gradient descent, θ − lr g, with a power of two for the
//! learning rate, so large that the rounding of the difference does not count; and from the first
//! moment of Adam, which is (1 − b_1) g after one step, for what is not a weight.
//!
//! Where a function has no derivative, the convention is stated as a function that has: a sign
//! weight is a free number w, taken at w = sign θ, and a sign activation is the constant sign z_0
//! plus the change of clip(z, −1, 1) from z_0, where z_0 is what it was in the pass at hand. A gate is
//! likewise its value at z_0 plus the change of clip(|z|, 1/2, 3/2).

use remanent_math::philox::Stream;
use remanent_network::architecture::{Activation, Architecture, Normalisation};
use remanent_network::fading::Fading;
use remanent_network::learner::{
    Anchor, FirstPrior, Fisher, GammaRule, Learner, Optimizer, Parameters,
};
use remanent_network::network::{Network, Weights};
use remanent_network::pass::Pass;
use remanent_network::product::Precision;
use remanent_network::trainer::{Moment, Trainer};

const WIDTHS: [usize; 4] = [6, 5, 4, 3];
const LAYERS: usize = 3;
const BATCH: usize = 4;
const BETA: f32 = 1.25;
const RATE: f64 = 1024.0;
const SCALE: f64 = 1.5;
const EXAMPLES: usize = 40;

fn normals(count: usize, purpose: u32) -> Vec<f32> {
    let mut out = vec![0.0; count];
    Stream::new(3, purpose, 0, 0).fill_normals(0, &mut out);
    out
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

/// A batch and the noise of its pass, neuron by neuron.
#[derive(Clone)]
struct Batch {
    images: Vec<f32>,
    labels: Vec<u8>,
    noise: Vec<Vec<f32>>,
}

impl Batch {
    fn new(size: usize, noise: f32) -> Self {
        let layer = |l: usize| {
            normals(WIDTHS[l + 1] * size, 10 + l as u32).iter().map(|x| noise * x).collect()
        };
        Self {
            images: normals(WIDTHS[0] * size, 20),
            labels: (0..size).map(|b| (b * 2 % 3) as u8).collect(),
            noise: (0..LAYERS).map(layer).collect(),
        }
    }

    /// One image of it.
    fn alone(&self, b: usize) -> Self {
        let size = self.labels.len();
        Self {
            images: self.images[b * WIDTHS[0]..][..WIDTHS[0]].to_vec(),
            labels: vec![self.labels[b]],
            noise: self
                .noise
                .iter()
                .map(|noise| noise.iter().skip(b).step_by(size).copied().collect())
                .collect(),
        }
    }

    fn loss(&self, network: &Network) -> f64 {
        let mut pass = Pass::default();
        pass.load(network, &self.images);
        let mut noise = |l: usize, out: &mut [f32]| out.copy_from_slice(&self.noise[l]);
        pass.forward(&mut network.clone(), &mut noise);
        pass.loss(network, &self.labels)
    }

    fn step(&self, trainer: &mut Trainer, beta: f32) {
        let mut noise = |l: usize, out: &mut [f32]| out.copy_from_slice(&self.noise[l]);
        let moment = Moment { beta, meta: 0.0, rate: 1.0, examples: EXAMPLES };
        trainer.step(&self.images, &self.labels, &moment, &mut noise).unwrap();
    }
}

fn parameters(
    learner: Learner,
    activation: Activation,
    normalisation: Normalisation,
) -> Parameters {
    Parameters {
        hidden: WIDTHS[1..LAYERS].to_vec(),
        activation,
        normalisation,
        output_scale: SCALE,
        learned_scale: true,
        lr: RATE,
        optimizer: Optimizer::Sgd,
        adam: [0.5, 0.5, 1e-8],
        anchor: Anchor::None,
        gamma_step: 1.5,
        gamma_task: 2.5,
        ..Parameters::of(learner)
    }
}

fn trainer(parameters: &Parameters) -> Trainer {
    let architecture = parameters.architecture(WIDTHS[0], WIDTHS[LAYERS]);
    let mut network = Network::random(&architecture, parameters.weights(), 0.8, 4, 0).unwrap();
    for (l, norm) in network.batch_norms_mut().iter_mut().enumerate() {
        let [gain, shift, ..] = norm.arrays_mut();
        let neurons = gain.len();
        for (gain, x) in gain.iter_mut().zip(normals(neurons, 30 + l as u32)) {
            *gain = 1.0 + 0.3 * x;
        }
        for (shift, x) in shift.iter_mut().zip(normals(neurons, 40 + l as u32)) {
            *shift = 0.4 * x;
        }
    }
    network.set_beta(BETA);
    Trainer::new(parameters, network).unwrap()
}

/// (θ before − θ after)/lr, layer by layer.
fn descent(before: &Network, after: &Network) -> Vec<Vec<f64>> {
    let layers = before.layers().iter().zip(after.layers());
    let layer = |(before, after): (&[f32], &[f32])| {
        before.iter().zip(after).map(|(&b, &a)| (f64::from(b) - f64::from(a)) / RATE).collect()
    };
    layers.map(|(before, after)| layer((before.theta(), after.theta()))).collect()
}

/// What the gradient is taken by.
#[derive(Clone, Copy, Debug)]
enum Part {
    Theta(usize),
    LogScale,
    Gain(usize),
    Shift(usize),
}

/// The loss, from its definition.
#[derive(Clone)]
struct Reference {
    architecture: Architecture,
    weights: Weights,
    beta: f64,
    /// θ; in a sign network, the weights.
    theta: Vec<Vec<f64>>,
    gain: Vec<Vec<f64>>,
    shift: Vec<Vec<f64>>,
    log_scale: Vec<f64>,
    images: Vec<f64>,
    labels: Vec<u8>,
    noise: Vec<Vec<f64>>,
    /// What the sign activations are taken at.
    held: Vec<Vec<f64>>,
}

impl Reference {
    fn new(network: &Network, batch: &Batch) -> Self {
        let theta = network.layers().iter().map(|layer| match network.weights() {
            Weights::Field => wide(layer.theta()),
            Weights::Sign => layer.theta().iter().map(|&t| f64::from(t).signum()).collect(),
            Weights::Float | Weights::Gaussian => wide(layer.theta()),
        });
        let norms = network.batch_norms();
        let mut reference = Self {
            architecture: network.architecture().clone(),
            weights: network.weights(),
            beta: f64::from(network.beta()),
            theta: theta.collect(),
            gain: norms.iter().map(|norm| wide(norm.arrays()[0].1)).collect(),
            shift: norms.iter().map(|norm| wide(norm.arrays()[1].1)).collect(),
            log_scale: vec![f64::from(network.log_scale())],
            images: wide(&batch.images),
            labels: batch.labels.clone(),
            noise: batch.noise.iter().map(|noise| wide(noise)).collect(),
            held: Vec::new(),
        };
        reference.held = reference.pass().1;
        reference
    }

    fn loss(&self) -> f64 {
        self.pass().0
    }

    /// The loss, and what the activations of each layer were applied to. Arrays are neuron by neuron.
    fn pass(&self) -> (f64, Vec<Vec<f64>>) {
        let size = self.labels.len();
        let inputs = self.architecture.inputs();
        let mut h: Vec<f64> =
            (0..inputs * size).map(|at| self.images[at % size * inputs + at / size]).collect();
        let mut seen = Vec::new();
        for (l, (n, m)) in self.architecture.shapes().enumerate() {
            let mut z = vec![0.0; m * size];
            for (at, z) in z.iter_mut().enumerate() {
                let (j, b) = (at / size, at % size);
                let (mut mean, mut variance) = (0.0, 0.0);
                for i in 0..n {
                    let (theta, h) = (self.theta[l][i * m + j], h[i * size + b]);
                    match self.weights {
                        Weights::Field => {
                            let mu = (self.beta * theta).tanh();
                            mean += mu * h;
                            variance += (1.0 - mu * mu) * h * h;
                        }
                        Weights::Sign | Weights::Float => mean += theta * h,
                        Weights::Gaussian => unreachable!("not trained in this way"),
                    }
                }
                let n = if self.weights == Weights::Float { 1.0 } else { n as f64 };
                *z = mean / n.sqrt() + self.noise[l][at] * (variance / n).sqrt();
            }
            let last = l + 1 == self.architecture.layers();
            match self.architecture.normalisation {
                Normalisation::Layer if last => (),
                Normalisation::Layer | Normalisation::LayerAll => {
                    (0..size).for_each(|b| standardise(&mut z, |at| at % size == b));
                }
                Normalisation::Batch | Normalisation::BatchPlain => {
                    (0..m).for_each(|j| standardise(&mut z, |at| at / size == j));
                    for (at, z) in z.iter_mut().enumerate() {
                        *z = self.gain[l][at / size] * *z + self.shift[l][at / size];
                    }
                }
                Normalisation::None => (),
            }
            seen.push(z.clone());
            if !last {
                match self.architecture.activation {
                    Activation::Relu => z.iter_mut().for_each(|z| *z = z.max(0.0)),
                    Activation::Sign => {
                        let held = self.held.get(l).unwrap_or(&seen[l]);
                        let clip = |z: f64| z.clamp(-1.0, 1.0);
                        for (z, &at) in z.iter_mut().zip(held) {
                            *z = at.signum() + clip(*z) - clip(at);
                        }
                    }
                    Activation::Gate => {
                        let held = self.held.get(l).unwrap_or(&seen[l]);
                        let ramp = |z: f64| z.abs().clamp(0.5, 1.5);
                        for (z, &at) in z.iter_mut().zip(held) {
                            let open = if at.abs() > 1.0 { 1.0 } else { 0.0 };
                            *z = open + ramp(*z) - ramp(at);
                        }
                    }
                }
            }
            h = z;
        }
        let scale = self.log_scale[0].exp();
        let logit = |j: usize, b: usize| scale * h[j * size + b];
        let classes = self.architecture.outputs();
        let of = |(b, &label): (usize, &u8)| {
            (0..classes).map(|j| logit(j, b).exp()).sum::<f64>().ln() - logit(usize::from(label), b)
        };
        (self.labels.iter().enumerate().map(of).sum(), seen)
    }

    fn part(&mut self, part: Part) -> &mut Vec<f64> {
        match part {
            Part::Theta(l) => &mut self.theta[l],
            Part::LogScale => &mut self.log_scale,
            Part::Gain(l) => &mut self.gain[l],
            Part::Shift(l) => &mut self.shift[l],
        }
    }

    /// The gradient, by central differences.
    fn gradient(&mut self, part: Part) -> Vec<f64> {
        let count = self.part(part).len();
        (0..count)
            .map(|i| {
                let value = self.part(part)[i];
                difference(value, |x| {
                    self.part(part)[i] = x;
                    let loss = self.loss();
                    self.part(part)[i] = value;
                    loss
                })
            })
            .collect()
    }
}

/// Mean 0 and variance 1 over some of the numbers.
fn standardise(z: &mut [f64], belongs: impl Fn(usize) -> bool) {
    let places: Vec<usize> = (0..z.len()).filter(|&at| belongs(at)).collect();
    let count = places.len() as f64;
    let mean = places.iter().map(|&at| z[at]).sum::<f64>() / count;
    let variance = places.iter().map(|&at| (z[at] - mean).powi(2)).sum::<f64>() / count;
    places.iter().for_each(|&at| z[at] = (z[at] - mean) / (variance + 1e-5).sqrt());
}

/// f'(x).
fn difference(x: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    const STEP: f64 = 1e-5;
    (f(x + STEP) - f(x - STEP)) / (2.0 * STEP)
}

/// Fails unless two gradients are the same but for rounding; gives the deviation, in units of the
/// largest entry.
fn assert_same(found: &[f64], expected: &[f64], tolerance: f64, what: &str) -> f64 {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(largest > 1e-4, "{what}: there is no gradient to speak of");
    let worst = found.iter().zip(expected).fold(0.0, |m: f64, (f, e)| m.max((f - e).abs()));
    assert!(
        worst <= tolerance * largest,
        "{what}: {worst:e} of {largest}\n{found:?}\n{expected:?}"
    );
    worst / largest
}

/// All gradients of one step against the differences of the loss; gives the largest deviation.
fn check(parameters: &Parameters, batch: &Batch, what: &str) -> f64 {
    let mut trainer = trainer(parameters);
    let before = trainer.network().clone();
    let mut reference = Reference::new(&before, batch);
    let (loss, exact) = (batch.loss(&before), reference.loss());
    assert!((loss - exact).abs() < 2e-6 * exact, "{what}: loss {loss}, by definition {exact}");

    batch.step(&mut trainer, BETA);
    let mut worst: f64 = 0.0;
    // A network of real weights descends by the mean over the batch.
    let images = if before.weights() == Weights::Float { batch.labels.len() } else { 1 };
    for (l, found) in descent(&before, trainer.network()).iter().enumerate() {
        let exact = reference.gradient(Part::Theta(l));
        let found: Vec<f64> = found.iter().map(|g| g * images as f64).collect();
        worst = worst.max(assert_same(&found, &exact, 1e-5, &format!("{what}, layer {l}")));
    }
    // Output scale, then gain and shift of each layer.
    let mut parts = vec![Part::LogScale];
    if parameters.normalisation == Normalisation::Batch {
        parts.extend((0..LAYERS).flat_map(|l| [Part::Gain(l), Part::Shift(l)]));
    }
    let mut moments = trainer.extras().first.iter();
    for part in parts {
        let exact = reference.gradient(part);
        let found: Vec<f64> =
            moments.by_ref().take(exact.len()).map(|&m| 2.0 * f64::from(m)).collect();
        worst = worst.max(assert_same(&found, &exact, 1e-5, &format!("{what}, {part:?}")));
    }
    assert!(moments.next().is_none(), "{what}: more moments than parameters");
    worst
}

const NORMALISATIONS: [Normalisation; 5] = [
    Normalisation::None,
    Normalisation::Layer,
    Normalisation::Batch,
    Normalisation::LayerAll,
    Normalisation::BatchPlain,
];

#[test]
fn gradients_of_field_networks_are_derivatives_of_the_loss() {
    for normalisation in NORMALISATIONS {
        let parameters = parameters(Learner::Vcl, Activation::Relu, normalisation);
        // Without noise everything goes through the means; with much, almost all through the
        // variances.
        for noise in [0.0, 1.0, 10.0] {
            let what = format!("{normalisation:?}, noise {noise}");
            let worst = check(&parameters, &Batch::new(BATCH, noise), &what);
            println!("{what}: {worst:.1e}");
        }
    }
}

#[test]
fn straight_through_gradients_are_derivatives_of_what_they_stand_for() {
    for normalisation in NORMALISATIONS {
        for (learner, activation) in [
            (Learner::Ste, Activation::Relu),
            (Learner::Ste, Activation::Sign),
            (Learner::Ste, Activation::Gate),
            (Learner::Sgd, Activation::Relu),
            (Learner::Vcl, Activation::Sign),
        ] {
            let parameters = parameters(learner, activation, normalisation);
            let noise = if learner == Learner::Vcl { 1.0 } else { 0.0 };
            let what = format!("{learner:?}, {activation:?}, {normalisation:?}");
            // So many images that no neuron of a binary network answers the same to all: batch
            // normalisation would divide by next to nothing.
            let worst = check(&parameters, &Batch::new(4 * BATCH, noise), &what);
            println!("{what}: {worst:.1e}");
        }
    }
}

#[test]
fn the_loss_falls_along_the_gradient_as_the_gradient_says() {
    for normalisation in NORMALISATIONS {
        let parameters = parameters(Learner::Vcl, Activation::Relu, normalisation);
        let mut trainer = trainer(&parameters);
        let (before, batch) = (trainer.network().clone(), Batch::new(BATCH, 1.0));
        batch.step(&mut trainer, BETA);
        let gradient = descent(&before, trainer.network());
        let norm = gradient.iter().flatten().map(|g| g * g).sum::<f64>().sqrt();
        // Nothing but the program's own loss, in single precision: 1e-6 of rounding over 1e-2.
        let loss = |t: f64| {
            let mut moved = before.clone();
            moved.update_theta(|l, theta| {
                theta.iter_mut().zip(&gradient[l]).for_each(|(x, g)| *x += (t * g / norm) as f32);
            });
            moved.set_beta(BETA);
            batch.loss(&moved)
        };
        let slope = |t: f64| (loss(t) - loss(-t)) / (2.0 * t);
        let extrapolated = (4.0 * slope(5e-3) - slope(1e-2)) / 3.0;
        let deviation = (extrapolated - norm).abs() / norm;
        println!("{normalisation:?}: {deviation:.1e}");
        assert!(deviation < 5e-4, "{normalisation:?}: slope {extrapolated}, gradient {norm}");
    }
}

/// KL(q_a ‖ q_b) of two measures of a weight, a sum over its two values.
fn divergence(a: f64, b: f64) -> f64 {
    let probability = |field: f64, w: f64| 1.0 / (1.0 + (-2.0 * field * w).exp());
    let term = |w: f64| probability(a, w) * (probability(a, w) / probability(b, w)).ln();
    term(1.0) + term(-1.0)
}

/// A black batch: no weight has to do with its loss, and what is left are the regularisers.
fn black() -> Batch {
    Batch { images: vec![0.0; BATCH * WIDTHS[0]], ..Batch::new(BATCH, 1.0) }
}

/// A learner without normalisation that anchors.
fn anchored(learner: Learner, anchor: Anchor) -> Parameters {
    let plain = parameters(learner, Activation::Relu, Normalisation::None);
    Parameters { anchor, learned_scale: false, ..plain }
}

/// Each layer's weights, moved at random by about `by`.
fn scatter(trainer: &mut Trainer, by: f32) {
    trainer.update_theta(|l, theta| {
        let moves = normals(theta.len(), 50 + l as u32);
        theta.iter_mut().zip(moves).for_each(|(t, m)| *t += by * m);
    });
}

#[test]
fn a_black_batch_moves_no_weight() {
    let mut trainer = trainer(&anchored(Learner::Vcl, Anchor::None));
    let before = trainer.network().clone();
    black().step(&mut trainer, BETA);
    for (before, after) in before.layers().iter().zip(trainer.network().layers()) {
        assert_eq!(before.theta(), after.theta());
    }
}

#[test]
fn the_anchor_of_the_task_pulls_by_the_gradient_of_the_divergence() {
    // β is another one in the next task: what is anchored are the fields.
    const NEXT: f32 = 1.75;
    for learner in [Learner::Vcl, Learner::Ewc] {
        let mut trainer = trainer(&anchored(learner, Anchor::Task));
        let anchors: Vec<Vec<f64>> = trainer
            .network()
            .layers()
            .iter()
            .map(|layer| wide(layer.theta()).iter().map(|t| f64::from(BETA) * t).collect())
            .collect();
        trainer.set_anchor(0);
        scatter(&mut trainer, 0.5);
        trainer.set_beta(NEXT);
        let before = trainer.network().clone();
        black().step(&mut trainer, NEXT);
        let share = 2.5 * BATCH as f64 / EXAMPLES as f64;
        for (l, found) in descent(&before, trainer.network()).iter().enumerate() {
            let weights = before.layers()[l].theta().iter().zip(&anchors[l]);
            let exact: Vec<f64> = weights
                .map(|(&theta, &anchor)| {
                    let beta = f64::from(NEXT);
                    let penalty = |t: f64| match learner {
                        // With the information of the fields at the anchor.
                        Learner::Ewc => (beta * t - anchor).powi(2) / 2.0 / anchor.cosh().powi(2),
                        _ => divergence(beta * t, anchor),
                    };
                    share * difference(f64::from(theta), penalty)
                })
                .collect();
            let worst = assert_same(found, &exact, 2e-6, &format!("{learner:?}, layer {l}"));
            println!("{learner:?}, layer {l}: {worst:.1e}");
        }
    }
}

#[test]
fn the_anchor_of_the_step_pulls_by_the_gradient_of_the_divergence_from_the_step_before() {
    let beta = f64::from(BETA);
    for learner in [Learner::Vcl, Learner::Ewc] {
        let parameters = anchored(learner, Anchor::Step);
        // Two steps at a moderate rate, of which the second is a black batch.
        let mut trainer = trainer(&Parameters { lr: 0.5, ..parameters.clone() });
        let first = trainer.network().clone();
        Batch::new(BATCH, 1.0).step(&mut trainer, BETA);
        let second = trainer.network().clone();
        black().step(&mut trainer, BETA);
        for (l, found) in descent(&second, trainer.network()).iter().enumerate() {
            let found: Vec<f64> = found.iter().map(|g| g * RATE / 0.5).collect();
            let weights = first.layers()[l].theta().iter().zip(second.layers()[l].theta());
            let exact: Vec<f64> = weights
                .map(|(&old, &new)| {
                    let (old, new) = (f64::from(old), f64::from(new));
                    let penalty = |t: f64| match learner {
                        // With the information of the weight before the step.
                        Learner::Ewc => {
                            (beta * (t - old)).powi(2) / 2.0 / (beta * old).cosh().powi(2)
                        }
                        _ => divergence(beta * t, beta * old),
                    };
                    1.5 * difference(new, penalty)
                })
                .collect();
            // θ itself is rounded to 6e-8, and both steps are differences of it.
            let worst = assert_same(&found, &exact, 2e-5, &format!("{learner:?}, layer {l}"));
            println!("{learner:?}, layer {l}: {worst:.1e}");
        }
    }
}

/// With Adam the pull is computed from its moments. A black batch adds it, and nothing else, to the first moment.
#[test]
fn a_recalled_step_pulls_by_the_gradient_of_the_divergence_from_the_step_before() {
    // The divergence is that of the last step, also if β is another one now.
    for (next, precision) in
        [(BETA, Precision::F32), (1.75, Precision::F32), (BETA, Precision::Bf16)]
    {
        let beta = f64::from(BETA);
        let parameters = Parameters {
            optimizer: Optimizer::Adam,
            lr: 0.2,
            precision,
            ..anchored(Learner::Vcl, Anchor::Step)
        };
        assert!(parameters.recalls_steps());
        let mut trainer = trainer(&parameters);
        let first = trainer.network().clone();
        Batch::new(BATCH, 1.0).step(&mut trainer, BETA);
        let second = trainer.network().clone();
        let moments: Vec<Vec<f64>> = trainer.memories().iter().map(|m| wide(&m.first)).collect();
        assert!(trainer.memories().iter().all(|memory| memory.kept.is_empty()));
        black().step(&mut trainer, next);
        for (l, moments) in moments.iter().enumerate() {
            // b_1 is ½.
            let now = wide(&trainer.memories()[l].first);
            let found: Vec<f64> = now.iter().zip(moments).map(|(m, old)| 2.0 * m - old).collect();
            let weights = first.layers()[l].theta().iter().zip(second.layers()[l].theta());
            let exact: Vec<f64> = weights
                .map(|(&old, &new)| {
                    let (old, new) = (f64::from(old), f64::from(new));
                    1.5 * difference(new, |t| divergence(beta * t, beta * old))
                })
                .collect();
            // Moments are rounded to 6e-8 of their size, about that of the gradient; with bf16 σ² is rounded to 2^-9.
            let bound = if precision.is_single() { 2e-5 } else { 3e-3 };
            let what = format!("{precision:?}, β = {next}, layer {l}");
            let worst = assert_same(&found, &exact, bound, &what);
            println!("{what}: {worst:.1e}");
        }
    }
}

#[test]
fn the_divergence_is_the_quadratic_form_of_elastic_weight_consolidation_for_small_moves() {
    let deviations: Vec<f64> = [0.08, 0.04, 0.02, 0.01]
        .iter()
        .map(|&distance: &f32| {
            let mut trainer = trainer(&anchored(Learner::Ewc, Anchor::Task));
            let old = trainer.network().clone();
            trainer.set_anchor(0);
            // Outwards, so that the terms of third order have one sign.
            trainer.update_theta(|_, theta| {
                theta.iter_mut().for_each(|t| *t += distance.copysign(*t));
            });
            trainer.set_beta(BETA);
            let new = trainer.network().clone();
            black().step(&mut trainer, BETA);
            let share = 2.5 * BATCH as f64 / EXAMPLES as f64;
            let pulls = descent(&new, trainer.network());
            let (mut exact, mut form, mut by_variance) = (0.0, 0.0, 0.0);
            for ((old, new), pulls) in old.layers().iter().zip(new.layers()).zip(&pulls) {
                for (i, pull) in pulls.iter().enumerate() {
                    let (a, b) = (f64::from(old.theta()[i]), f64::from(new.theta()[i]));
                    let beta = f64::from(BETA);
                    exact += divergence(beta * b, beta * a);
                    // ½ Δᵀ F Δ, from its gradient F Δ; and with F = β²σ².
                    form += 0.5 * (b - a) * pull / share;
                    let information = beta * beta * f64::from(old.variance()[i]);
                    by_variance += 0.5 * (b - a).powi(2) * information;
                }
            }
            assert!((form / by_variance - 1.0).abs() < 1e-5, "{form} {by_variance}");
            (exact / form - 1.0).abs()
        })
        .collect();
    println!("{deviations:?}");
    assert!(deviations[3] < 0.01, "{deviations:?}");
    for pair in deviations.windows(2) {
        let rate = pair[0] / pair[1];
        assert!(
            (1.9..2.1).contains(&rate),
            "half the distance, half the deviation: {deviations:?}"
        );
    }
}

#[test]
fn empirical_information_is_the_sum_of_squared_gradients_of_single_examples() {
    const COUNT: usize = 9;
    for normalisation in [Normalisation::None, Normalisation::Layer] {
        for noise in [0.0, 1.0, 5.0] {
            let plain = parameters(Learner::Ewc, Activation::Relu, normalisation);
            let parameters = Parameters { fisher: Fisher::Empirical, ..plain };
            let batch = Batch::new(COUNT, noise);
            let mut whole = trainer(&parameters);
            let mut found = whole.empty_information();
            let mut draws = |l: usize, out: &mut [f32]| out.copy_from_slice(&batch.noise[l]);
            whole.add_information(&batch.images, &batch.labels, &mut draws, &mut found);

            let mut exact: Vec<Vec<f64>> = found.iter().map(|f| vec![0.0; f.len()]).collect();
            for b in 0..COUNT {
                let mut alone = trainer(&parameters);
                let before = alone.network().clone();
                batch.alone(b).step(&mut alone, BETA);
                for (sum, g) in exact.iter_mut().zip(descent(&before, alone.network())) {
                    sum.iter_mut().zip(g).for_each(|(sum, g)| *sum += g * g);
                }
            }
            for (l, (found, exact)) in found.iter().zip(&exact).enumerate() {
                let what = format!("{normalisation:?}, noise {noise}, layer {l}");
                let worst = assert_same(&wide(found), exact, 2e-6, &what);
                println!("{what}: {worst:.1e}");
            }
        }
    }
}

/// The gradient of γ `share` KL(q_βθ ‖ q_a) by the θ of a layer, by differences.
fn pull(theta: &[f32], share: f64, anchor: impl Fn(f64) -> f64) -> Vec<f64> {
    let beta = f64::from(BETA);
    let by = |&t: &f32| {
        let a = anchor(beta * f64::from(t));
        2.5 * share * difference(f64::from(t), |x| divergence(beta * x, a))
    };
    theta.iter().map(by).collect()
}

#[test]
fn a_faded_anchor_pulls_by_the_divergence_from_the_faded_posterior() {
    let fading = Fading { lambda: 0.9, rho: 0.7, ..Fading::default() };
    let parameters = Parameters { fading, ..anchored(Learner::Vcl, Anchor::Task) };
    let mut trainer = trainer(&parameters);
    trainer.set_anchor(0);
    let before = trainer.network().clone();
    black().step(&mut trainer, BETA);
    let share = BATCH as f64 / EXAMPLES as f64;
    for (l, found) in descent(&before, trainer.network()).iter().enumerate() {
        let exact = pull(before.layers()[l].theta(), share, |h| fading.field(h));
        assert_same(found, &exact, 1e-5, &format!("layer {l}"));
    }
}

#[test]
fn fields_that_move_to_the_anchor_are_not_pulled() {
    let fading = Fading { lambda: 0.9, rho: 0.7, ..Fading::default() };
    let reset = Parameters { fading, reset_fields: true, ..anchored(Learner::Vcl, Anchor::Task) };
    let mut trainer = trainer(&reset);
    let before = trainer.network().clone();
    trainer.set_anchor(0);
    let moved = trainer.network().clone();
    for (before, moved) in before.layers().iter().zip(moved.layers()) {
        for (&b, &m) in before.theta().iter().zip(moved.theta()) {
            let beta = f64::from(BETA);
            let wanted = fading.field(beta * f64::from(b)) / beta;
            assert!((f64::from(m) - wanted).abs() < 1e-6);
        }
    }
    black().step(&mut trainer, BETA);
    let largest = descent(&moved, trainer.network()).concat().into_iter().fold(0.0, f64::max);
    assert!(largest < 1e-6, "{largest}");
}

#[test]
fn the_first_prior_is_an_anchor_at_zero() {
    let plain = anchored(Learner::Vcl, Anchor::Task);
    let uniform = Parameters { first_prior: FirstPrior::Uniform, ..plain.clone() };
    let mut trainer = trainer(&uniform);
    let before = trainer.network().clone();
    black().step(&mut trainer, BETA);
    let share = BATCH as f64 / EXAMPLES as f64;
    for (l, found) in descent(&before, trainer.network()).iter().enumerate() {
        let exact = pull(before.layers()[l].theta(), share, |_| 0.0);
        assert_same(found, &exact, 1e-5, &format!("layer {l}"));
    }
    let mut free = self::trainer(&plain);
    black().step(&mut free, BETA);
    assert!(descent(&before, free.network()).concat().iter().all(|g| *g == 0.0));
}

/// The step of a weight counts with its variance before the step.
#[test]
fn a_metaplastic_step_is_that_of_the_optimizer_times_the_variance() {
    let plain = anchored(Learner::Vcl, Anchor::Task);
    for optimizer in [Optimizer::Sgd, Optimizer::Adam] {
        let plain = Parameters { first_prior: FirstPrior::Uniform, optimizer, ..plain.clone() };
        let [steps, weakened] = [false, true].map(|metaplastic| {
            let mut trainer = trainer(&Parameters { metaplastic, ..plain.clone() });
            let before = trainer.network().clone();
            black().step(&mut trainer, BETA);
            (descent(&before, trainer.network()), before)
        });
        for l in 0..LAYERS {
            let variance = |t: &f32| 1.0 - (f64::from(BETA) * f64::from(*t)).tanh().powi(2);
            let variances = weakened.1.layers()[l].theta().iter().map(variance);
            let wanted: Vec<f64> = steps.0[l].iter().zip(variances).map(|(s, v)| s * v).collect();
            assert_same(&weakened.0[l], &wanted, 1e-5, &format!("{optimizer:?}, layer {l}"));
        }
    }
}

/// Adam's first step is the learning rate, whatever the size of the gradient.
#[test]
fn moments_that_begin_anew_make_a_step_of_the_learning_rate() {
    let lr = 2f64.powi(-7);
    let optimizer = Optimizer::Adam;
    let adam =
        Parameters { optimizer, lr, learned_scale: true, ..anchored(Learner::Vcl, Anchor::Step) };
    let batch = Batch::new(BATCH, 1.0);
    let steps = |begins_anew: bool| {
        let mut trainer = trainer(&adam);
        (0..5).for_each(|_| batch.step(&mut trainer, BETA));
        if begins_anew {
            trainer.reset_moments();
        }
        let before = trainer.network().clone();
        batch.step(&mut trainer, BETA);
        let after = trainer.network();
        let mut steps = vec![after.log_scale() - before.log_scale()];
        for (before, after) in before.layers().iter().zip(after.layers()) {
            steps.extend(after.theta().iter().zip(before.theta()).map(|(a, b)| a - b));
        }
        steps.iter().map(|x| f64::from(x.abs()) / lr).filter(|x| *x > 0.0).collect::<Vec<_>>()
    };
    assert!(steps(true).iter().all(|x| (x - 1.0).abs() < 1e-3), "{:?}", steps(true));
    assert!(steps(false).iter().any(|x| (x - 1.0).abs() > 0.1));
}

/// The pull of γ M/W: every image has the share 1/W.
#[test]
fn gamma_may_count_weights() {
    let plain = anchored(Learner::Vcl, Anchor::Task);
    for optimizer in [Optimizer::Sgd, Optimizer::Adam] {
        let rule = Parameters {
            first_prior: FirstPrior::Uniform,
            gamma_rule: GammaRule::Weights,
            optimizer,
            ..plain.clone()
        };
        let mut trainer = trainer(&rule);
        let before = trainer.network().clone();
        black().step(&mut trainer, BETA);
        let share = BATCH as f64 / before.architecture().weights() as f64;
        for l in 0..LAYERS {
            let exact = pull(before.layers()[l].theta(), share, |_| 0.0);
            let found = match optimizer {
                Optimizer::Sgd => descent(&before, trainer.network())[l].clone(),
                // The gradient is in the first moment, times 1 − b_1.
                Optimizer::Adam => {
                    wide(&trainer.memories()[l].first).iter().map(|m| 2.0 * m).collect()
                }
            };
            assert_same(&found, &exact, 1e-5, &format!("{optimizer:?}, layer {l}"));
        }
    }
}

/// The pull counts once in a window, and the anchor moves by B/N of its way to the new posterior.
#[test]
fn an_anchor_with_a_window_follows_the_posterior() {
    let window = 16;
    let share = BATCH as f64 / window as f64;
    for fading in [Fading::default(), Fading { lambda: 0.8, rho: 0.9, ..Fading::default() }] {
        let plain = anchored(Learner::Vcl, Anchor::Task);
        let parameters = Parameters { fading, window: Some(window), lr: 0.125, ..plain };
        let mut trainer = trainer(&parameters);
        let before = trainer.network().clone();
        black().step(&mut trainer, BETA);
        for (l, layer) in trainer.network().layers().iter().enumerate() {
            let exact = pull(before.layers()[l].theta(), share, |_| 0.0);
            let thetas = before.layers()[l].theta().iter().zip(layer.theta());
            let found: Vec<f64> =
                thetas.map(|(&b, &a)| (f64::from(b) - f64::from(a)) / 0.125).collect();
            assert_same(&found, &exact, 1e-4, &format!("layer {l}"));
            let wanted: Vec<f64> = layer
                .theta()
                .iter()
                .map(|&t| share * fading.field(f64::from(BETA) * f64::from(t)))
                .collect();
            assert_same(&wide(&trainer.memories()[l].anchor), &wanted, 1e-5, "anchor");
        }
    }
}

/// Online, the information of old tasks fades, and all pull towards the end of the last one.
#[test]
fn online_information_has_one_centre_and_fades() {
    let fading = Fading { rho: 0.5, ..Fading::default() };
    let online = Parameters {
        fisher: Fisher::Online,
        fading,
        lr: 0.5,
        ..anchored(Learner::Ewc, Anchor::Task)
    };
    let mut trainer = trainer(&online);
    let ones = trainer.empty_information().into_iter().map(|f| vec![1.0; f.len()]);
    let ones: Vec<Vec<f32>> = ones.collect();
    trainer.set_elastic(ones.clone());
    trainer.update_theta(|_, theta| theta.iter_mut().for_each(|t| *t += 0.25));
    trainer.set_elastic(ones);
    assert!(trainer.memories().iter().all(|m| m.fisher.iter().all(|f| *f == 1.5)));
    // At the centre there is no pull; beside it, γ (B/M) F Δ.
    let before = trainer.network().clone();
    black().step(&mut trainer, BETA);
    let still = descent(&before, trainer.network()).concat();
    assert!(still.iter().all(|g| g.abs() < 1e-6));
    trainer.update_theta(|_, theta| theta.iter_mut().for_each(|t| *t += 1.0));
    let before = trainer.network().clone();
    black().step(&mut trainer, BETA);
    let factor = RATE / 0.5;
    for gradient in descent(&before, trainer.network()).concat() {
        let wanted = 2.5 * (BATCH as f64 / EXAMPLES as f64) * 1.5;
        assert!((factor * gradient - wanted).abs() < 1e-5, "{gradient}");
    }
}
