//! The gradients of the learners that sample weights, against differences of the loss of the sampled
//! networks, which is stated here once more in double precision.

use remanent_math::philox::Stream;
use remanent_network::architecture::{Activation, Normalisation};
use remanent_network::learner::{Learner, Parameters};
use remanent_network::network::Network;
use remanent_network::rivals::Rival;
use remanent_network::trainer::{Moment, Trainer};

const WIDTHS: [usize; 3] = [6, 7, 3];
const BATCH: usize = 4;
const SAMPLES: usize = 2;
const TEMPERATURE: f64 = 0.75;
const PIXELS: [f64; 2] = [0.2, 0.5];
const MOMENT: Moment = Moment { beta: 1.0, meta: 0.0, rate: 1.0, examples: 40 };

fn normals(count: usize, purpose: u32) -> Vec<f32> {
    let mut out = vec![0.0; count];
    Stream::new(5, purpose, 0, 0).fill_normals(0, &mut out);
    out
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

fn labels() -> Vec<u8> {
    (0..BATCH).map(|b| (b * 2 % 3) as u8).collect()
}

/// The noise of weight sample `s` in layer l: uniform for binary weights, else normal.
fn noise(s: usize, l: usize, binary: bool) -> Vec<f32> {
    let mut out = normals(WIDTHS[l] * WIDTHS[l + 1], (10 + 2 * s + l) as u32);
    if binary {
        out.iter_mut().for_each(|x| *x = 1.0 / (1.0 + (-1.5 * *x).exp()));
    }
    out
}

/// Cross entropy of a batch with these weights, summed; all layers are normalised over their neurons.
fn loss(weights: &[Vec<f64>], images: &[f64], is_normalised: bool) -> f64 {
    let mut sum = 0.0;
    for (image, label) in images.chunks(WIDTHS[0]).zip(labels()) {
        let mut h: Vec<f64> = image.iter().map(|x| (x - PIXELS[0]) / PIXELS[1]).collect();
        for (l, w) in weights.iter().enumerate() {
            let (n, m) = (WIDTHS[l], WIDTHS[l + 1]);
            let mut z: Vec<f64> =
                (0..m).map(|j| (0..n).map(|i| w[i * m + j] * h[i]).sum()).collect();
            if is_normalised {
                // A binary network has the factor N^{-1/2}, which only the small constant notices.
                z.iter_mut().for_each(|z| *z /= (n as f64).sqrt());
                let mean = z.iter().sum::<f64>() / m as f64;
                let variance = z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / m as f64;
                z.iter_mut().for_each(|z| *z = (*z - mean) / (variance + 1e-5).sqrt());
            }
            if l + 1 < weights.len() {
                z.iter_mut().for_each(|z| *z = z.max(0.0));
            }
            h = z;
        }
        sum += h.iter().map(|z| z.exp()).sum::<f64>().ln() - h[usize::from(label)];
    }
    sum
}

/// The mean loss over the samples as a function of the parameters of the weights. Binary networks are
/// normalised here, those of real weights not.
fn mean_loss(weight: impl Fn(usize, usize, f64) -> f64, images: &[f64], normalised: bool) -> f64 {
    let sample = |s: usize| {
        let layer = |l: usize| {
            let noise = noise(s, l, normalised);
            (0..noise.len()).map(|i| weight(l, i, f64::from(noise[i]))).collect()
        };
        loss(&[layer(0), layer(1)], images, normalised)
    };
    (0..SAMPLES).map(sample).sum::<f64>() / SAMPLES as f64
}

fn difference(f: impl Fn(f64) -> f64) -> f64 {
    (f(1e-5) - f(-1e-5)) / 2e-5
}

/// Makes one step; gives the network before and after it.
fn step(parameters: &Parameters, images: &[f32]) -> (Network, Network) {
    let architecture = parameters.architecture(WIDTHS[0], WIDTHS[2]);
    let network = Network::random(&architecture, parameters.weights(), 0.8, 4, 0).unwrap();
    let mut trainer = Trainer::new(parameters, network).unwrap();
    let before = trainer.network().clone();
    let mut calls = 0;
    let mut noise = |l: usize, out: &mut [f32]| {
        out.copy_from_slice(&noise(calls / 2, l, parameters.learner != Learner::Mesu));
        calls += 1;
    };
    let found = trainer.step(images, &labels(), &MOMENT, &mut noise).unwrap();
    assert_eq!(calls, 2 * SAMPLES);
    assert!(found > 0.0);
    (before, trainer.network().clone())
}

fn binary(learner: Learner, lr: f64, rival: Rival) -> Parameters {
    Parameters {
        hidden: vec![WIDTHS[1]],
        activation: Activation::Relu,
        normalisation: Normalisation::LayerAll,
        standardise: Some(PIXELS),
        lr,
        rival: Rival { samples: Some(SAMPLES), temperature: Some(TEMPERATURE), ..rival },
        ..Parameters::of(learner)
    }
}

/// ∂L/∂λ of every weight, by differences.
fn exact_by_field(before: &Network, images: &[f64]) -> Vec<Vec<f64>> {
    let fields: Vec<Vec<f64>> = before.layers().iter().map(|layer| wide(layer.theta())).collect();
    let by = |l: usize, i: usize| {
        difference(|x| {
            let weight = |at: usize, j: usize, u: f64| {
                let moved = if (at, j) == (l, i) { x } else { 0.0 };
                let noise = 0.5 * (u / (1.0 - u)).ln();
                ((fields[at][j] + moved + noise) / TEMPERATURE).tanh()
            };
            mean_loss(weight, images, true)
        })
    };
    (0..2).map(|l| (0..fields[l].len()).map(|i| by(l, i)).collect()).collect()
}

fn assert_same(found: &[f64], exact: &[f64], what: &str) {
    let largest = exact.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(largest > 1e-3, "{what}: there is no gradient to speak of");
    for (f, e) in found.iter().zip(exact) {
        assert!((f - e).abs() < 3e-5 * largest, "{what}: {f} instead of {e}");
    }
}

#[test]
fn bimu_descends_the_mean_loss_of_relaxed_networks() {
    // With so small a largest rate the divisor is its inverse, and the step the gradient.
    let (max_rate, rate) = (2_f64.powi(-24), 2_f64.powi(34));
    let rival = Rival {
        likelihood: Some(1.0),
        kl: Some(0.0),
        max_rate: Some(max_rate),
        ..Rival::default()
    };
    let parameters = binary(Learner::Bimu, rate, rival);
    let images = normals(BATCH * WIDTHS[0], 1);
    let (before, after) = step(&parameters, &images);
    let exact = exact_by_field(&before, &wide(&images));
    for (l, (before, after)) in before.layers().iter().zip(after.layers()).enumerate() {
        let pairs = before.theta().iter().zip(after.theta());
        let found: Vec<f64> =
            pairs.map(|(&b, &a)| (f64::from(b) - f64::from(a)) / (rate * max_rate)).collect();
        assert_same(&found, &exact[l], &format!("layer {l}"));
    }
}

#[test]
fn bimu_does_not_forget_without_a_gradient() {
    let parameters = binary(Learner::Bimu, 1.0, Parameters::of(Learner::Bimu).rival);
    // Pixels at their mean: no weight has to do with the loss.
    let images = vec![PIXELS[0] as f32; BATCH * WIDTHS[0]];
    let (before, after) = step(&parameters, &images);
    for (before, after) in before.layers().iter().zip(after.layers()) {
        assert_eq!(before.theta(), after.theta());
    }
}

/// The gradient is that by the mean weight: ∂L/∂μ = (∂L/∂λ)/(1 − μ²), averaged over samples.
#[test]
fn bayesbinn_descends_by_the_mean_weights() {
    let rate = 1024.0;
    let rival = Rival { likelihood: Some(1.0), prior_strength: Some(0.0), ..Rival::default() };
    let parameters = binary(Learner::BayesBinn, rate, rival);
    let images = normals(BATCH * WIDTHS[0], 1);
    let (before, after) = step(&parameters, &images);
    let exact = exact_by_field(&before, &wide(&images));
    for (l, (before, after)) in before.layers().iter().zip(after.layers()).enumerate() {
        let pairs = before.theta().iter().zip(after.theta());
        let found: Vec<f64> = pairs
            .map(|(&b, &a)| {
                let b = f64::from(b);
                (b - f64::from(a)) / rate / b.cosh().powi(2)
            })
            .collect();
        assert_same(&found, &exact[l], &format!("layer {l}"));
    }
}

#[test]
fn bayesbinn_is_pulled_to_its_prior_and_by_the_images_of_the_task() {
    let rival = Rival { prior_strength: Some(0.5), ..Rival::default() };
    let parameters = binary(Learner::BayesBinn, 0.25, rival);
    let black = vec![PIXELS[0] as f32; BATCH * WIDTHS[0]];
    let (before, after) = step(&parameters, &black);
    for (before, after) in before.layers().iter().zip(after.layers()) {
        for (b, a) in before.theta().iter().zip(after.theta()) {
            assert!((a - b * (1.0 - 0.25 * 0.5)).abs() < 1e-6);
        }
    }
    // Without a factor, the loss counts once for every image of the task.
    let images = normals(BATCH * WIDTHS[0], 1);
    let free = |likelihood| {
        let rival = Rival { prior_strength: Some(0.0), likelihood, ..Rival::default() };
        step(&binary(Learner::BayesBinn, 0.25, rival), &images).1
    };
    let (default, ten) = (free(None), free(Some(MOMENT.examples as f64 / BATCH as f64)));
    assert_eq!(default.layers()[0].theta(), ten.layers()[0].theta());
}

#[test]
fn mesu_descends_the_mean_loss_of_sampled_networks() {
    let (rate, rate_sigma) = (1024.0, 256.0);
    let parameters = Parameters {
        hidden: vec![WIDTHS[1]],
        standardise: Some(PIXELS),
        lr: rate,
        // The prior is so wide that it does not pull.
        rival: Rival {
            samples: Some(SAMPLES),
            sigma: Some(1.0),
            lr_sigma: Some(rate_sigma),
            prior_sigma: Some(1e9),
            clip: Some(0.0),
            ..Rival::default()
        },
        window: Some(1_000_000_000_000),
        ..Parameters::of(Learner::Mesu)
    };
    let images = normals(BATCH * WIDTHS[0], 1);
    let (before, after) = step(&parameters, &images);
    let wide_images = wide(&images);
    let means: Vec<Vec<f64>> = before.layers().iter().map(|l| wide(l.theta())).collect();
    let sigmas: Vec<Vec<f64>> = before
        .layers()
        .iter()
        .map(|l| l.variance().iter().map(|&v| f64::from(v).sqrt()).collect())
        .collect();
    for l in 0..2 {
        let by = |i: usize, of_sigma: bool| {
            difference(|x| {
                let weight = |at: usize, j: usize, noise: f64| {
                    let moved = if (at, j) == (l, i) { x } else { 0.0 };
                    let (m, s) = if of_sigma { (0.0, moved) } else { (moved, 0.0) };
                    means[at][j] + m + (sigmas[at][j] + s) * noise
                };
                mean_loss(weight, &wide_images, false)
            })
        };
        let (before, after) = (&before.layers()[l], &after.layers()[l]);
        let count = means[l].len();
        let found: Vec<f64> = (0..count)
            .map(|i| {
                let moved = f64::from(before.theta()[i]) - f64::from(after.theta()[i]);
                moved / (rate * sigmas[l][i].powi(2))
            })
            .collect();
        let exact: Vec<f64> = (0..count).map(|i| by(i, false)).collect();
        assert_same(&found, &exact, &format!("means of layer {l}"));
        // Only |σ| is kept: σ' = σ − ½ η_σ σ² g.
        for (i, &sigma) in sigmas[l].iter().enumerate() {
            let wanted = (sigma - 0.5 * rate_sigma * sigma * sigma * by(i, true)).abs();
            let found = f64::from(after.variance()[i]).sqrt();
            assert!((found - wanted).abs() < 1e-4 * (1.0 + wanted), "{found} {wanted}");
        }
    }
}
