//! The four ways to ask a network, against their definitions.

use remanent_data::dataset::{Part, Pixels, View};
use remanent_data::digits;
use remanent_math::philox::Stream;
use remanent_network::architecture::{Activation, Architecture, Normalisation};
use remanent_network::binary::{Affine, BinaryNetwork, Workspace};
use remanent_network::network::{Network, Weights};
use remanent_network::pass::Pass;
use remanent_network::predictor::{Predictor, Probabilities, predict, test_stream};

const NORMALISATIONS: [Normalisation; 3] =
    [Normalisation::None, Normalisation::Layer, Normalisation::Batch];

fn architecture(hidden: &[usize], normalisation: Normalisation) -> Architecture {
    let widths = [&[64], hidden, &[10]].concat();
    Architecture { widths, activation: Activation::Relu, normalisation }
}

/// A network with averages and an output scale that are not those it began with.
fn network(architecture: &Architecture, weights: Weights, beta: f32) -> Network {
    let mut network = Network::random(architecture, weights, 1.0, 6, 0).unwrap();
    for (l, norm) in network.batch_norms_mut().iter_mut().enumerate() {
        let [gain, shift, mean, variance] = norm.arrays_mut();
        for (part, values) in [gain, shift, mean, &mut *variance].into_iter().enumerate() {
            Stream::new(6, 7 + part as u32, 0, l as u32).fill_normals(0, values);
        }
        variance.iter_mut().for_each(|v| *v = 0.5 + v.abs());
    }
    network.set_log_scale(0.4);
    network.set_beta(beta);
    network
}

fn ask(network: &Network, view: &View<'_>, predictor: Predictor, draws: usize) -> Probabilities {
    predict(network, &[*view], predictor, draws, test_stream(9, 0, 3)).remove(0)
}

fn distance(a: &Probabilities, b: &Probabilities) -> f32 {
    assert_eq!((a.classes, a.values.len()), (b.classes, b.values.len()));
    a.values.iter().zip(&b.values).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

#[test]
fn probabilities_are_probabilities() {
    let digits = digits::load();
    for normalisation in NORMALISATIONS {
        for weights in [Weights::Field, Weights::Sign] {
            let network = network(&architecture(&[30, 20], normalisation), weights, 1.5);
            for predictor in Predictor::ALL {
                let answers = ask(&network, &digits.test(), predictor, 5);
                assert_eq!(answers.values.len(), 360 * 10);
                for row in answers.values.chunks_exact(10) {
                    assert!(row.iter().all(|p| (0.0..=1.000_001).contains(p)), "{row:?}");
                    let sum: f32 = row.iter().sum();
                    assert!((sum - 1.0).abs() < 2e-6, "{predictor:?}, {normalisation:?}: {sum}");
                }
            }
        }
    }
}

#[test]
fn the_hard_predictor_is_the_network_of_signs() {
    let digits = digits::load();
    let view = digits.test();
    let mut images = vec![0.0; view.len() * 64];
    view.batch(&(0..view.len() as u32).collect::<Vec<_>>(), &mut images);
    for normalisation in NORMALISATIONS {
        let architecture = architecture(&[33, 21], normalisation);
        let field = network(&architecture, Weights::Field, 0.7);
        let answers = ask(&field, &view, Predictor::Hard, 3);

        let sign = network(&architecture, Weights::Sign, 1.0);
        assert_eq!(sign.layers()[1].theta(), field.layers()[1].theta());
        for predictor in Predictor::ALL {
            assert_eq!(ask(&sign, &view, predictor, 3), answers, "{predictor:?}");
            assert_eq!(ask(&field.hard(), &view, predictor, 3), answers, "{predictor:?}");
        }

        // And of the packed weights, which are computed with in another way.
        let affine = field.batch_norms().iter().map(|norm| {
            let (scale, shift) = norm.affine();
            Affine { scale, shift }
        });
        let thetas: Vec<&[f32]> = field.layers().iter().map(|l| l.theta()).collect();
        let scale = field.log_scale().exp();
        let packed =
            BinaryNetwork::from_signs(architecture, &thetas, affine.collect(), scale).unwrap();
        let mut values = vec![0.0; view.len() * 10];
        packed.probabilities(&images, &mut values, &mut Workspace::new());
        let off = distance(&answers, &Probabilities { classes: 10, values });
        println!("{normalisation:?}: {off:.1e}");
        assert!(off < 1e-5, "{normalisation:?}: packed weights answer otherwise, by {off}");
    }
}

#[test]
fn a_network_of_certain_weights_is_hard_however_it_is_asked() {
    let digits = digits::load();
    for normalisation in NORMALISATIONS {
        let mut network = network(&architecture(&[30, 20], normalisation), Weights::Field, 1.0);
        network.update_theta(|_, theta| {
            theta.iter_mut().for_each(|t| *t += 0.1_f32.copysign(*t));
        });
        network.set_beta(1e4);
        let hard = ask(&network, &digits.test(), Predictor::Hard, 1);
        for predictor in [Predictor::Stochastic, Predictor::MeanField, Predictor::Sampled] {
            let off = distance(&ask(&network, &digits.test(), predictor, 7), &hard);
            assert!(off < 1e-6, "{predictor:?}, {normalisation:?}: {off}");
        }
    }
}

#[test]
fn sampled_weights_follow_their_measure() {
    const DRAWS: usize = 20_000;
    let network = network(&architecture(&[17], Normalisation::None), Weights::Field, 0.8);
    let mut sums: Vec<Vec<f64>> =
        network.layers().iter().map(|layer| vec![0.0; layer.theta().len()]).collect();
    // Products of neighbours: what is drawn together is independent.
    let mut products = sums.clone();
    for draw in 0..DRAWS {
        let sampled = network.sampled(&Stream::new(1, 2, 3, draw as u32));
        assert_eq!(sampled.weights(), Weights::Sign);
        for (l, layer) in sampled.layers().iter().enumerate() {
            assert!(layer.mean().iter().all(|w| w.abs() == 1.0));
            for i in 0..layer.mean().len() {
                let next = layer.mean()[(i + 1) % layer.mean().len()];
                sums[l][i] += f64::from(layer.mean()[i]);
                products[l][i] += f64::from(layer.mean()[i] * next);
            }
        }
    }
    let draws = DRAWS as f64;
    let (mut square, mut count, mut worst) = (0.0, 0.0, 0.0_f64);
    for (l, layer) in network.layers().iter().enumerate() {
        let mean = |i: usize| f64::from(0.8 * layer.theta()[i % layer.theta().len()]).tanh();
        for i in 0..layer.theta().len() {
            let both = mean(i) * mean(i + 1);
            for (found, exact) in [(sums[l][i], mean(i)), (products[l][i], both)] {
                // Deviations of nearly certain weights are not Gaussian.
                if exact.abs() < 0.9 {
                    let sigma = ((1.0 - exact * exact) / draws).sqrt();
                    let deviation = (found / draws - exact) / sigma;
                    worst = worst.max(deviation.abs());
                    square += deviation * deviation;
                    count += 1.0;
                }
            }
        }
    }
    println!("{count} numbers: worst {worst:.2} sigma, mean square {:.3}", square / count);
    // Of 2420 deviations the largest is beyond 4 sigma in one case of seven, beyond 5 in one of seven hundred.
    assert!(worst < 5.0, "{worst} sigma");
    assert!((square / count - 1.0).abs() < 4.0 * (2.0_f64 / count).sqrt(), "{}", square / count);
}

#[test]
fn a_certain_weight_is_never_drawn_wrong() {
    let architecture = architecture(&[], Normalisation::None);
    for sign in [1.0, -1.0] {
        let thetas = vec![vec![20.0 * sign; 640]];
        let network = Network::new(&architecture, Weights::Field, thetas).unwrap();
        assert!(network.layers()[0].mean().iter().all(|&m| m == sign));
        // The first bits of this stream are those of a number that rounds to the end of its range.
        let stream = Stream::new(1, 2, 3, 21_874_919);
        assert_eq!(stream.bits(0)[0], 0x7fff_ffd4);
        assert!(network.sampled(&stream).layers()[0].mean().iter().all(|&w| w == sign));
    }
}

#[test]
fn means_over_passes_and_over_binary_networks_agree_where_the_theorem_holds() {
    // One layer: its preactivations are Gaussian by the central limit theorem, for images with many
    // bright pixels, and the two predictors average the same.
    let digits = digits::load();
    let view = digits.test().first(40).unwrap();
    let mut network = network(&architecture(&[], Normalisation::None), Weights::Field, 0.5);
    network.set_log_scale(1.0);
    network.set_beta(0.5);
    let passes = ask(&network, &view, Predictor::MeanField, 16_000);
    let networks = ask(&network, &view, Predictor::Sampled, 16_000);
    let off = distance(&passes, &networks);
    println!("{off:.1e}");
    // Each mean is good to 0.3/√16000 = 0.0024, and the worst of 400 is looked at.
    assert!(off < 0.02, "{off}");
    let one = ask(&network, &view, Predictor::Stochastic, 1);
    assert!(distance(&one, &passes) > 0.05, "one pass is not the mean of many");
}

#[test]
fn later_passes_of_a_batch_are_as_the_first() {
    let images: Vec<f32> = (0..5 * 64).map(|i| (i * 37 % 64) as f32 / 64.0).collect();
    for normalisation in NORMALISATIONS {
        let network = network(&architecture(&[30, 20], normalisation), Weights::Field, 1.5);
        let logits = |pass: &mut Pass, first: bool, step: u32| {
            let mut noise = |l: usize, out: &mut [f32]| {
                Stream::new(1, 1, l as u32, step).fill_normals(0, out);
            };
            pass.test(&network, first, &mut noise);
            let mut out = Vec::new();
            pass.logits(&network, &mut out);
            out
        };
        let mut pass = Pass::default();
        pass.load(&network, &images);
        let mut fresh = pass.clone();
        assert_eq!(logits(&mut pass, true, 0), logits(&mut fresh, true, 0));
        for step in 1..4 {
            let again = logits(&mut pass, false, step);
            assert_eq!(again, logits(&mut fresh, true, step), "{normalisation:?}, pass {step}");
            assert_ne!(again, logits(&mut fresh, true, 0));
        }
    }
}

/// The mean over the same sampled networks, with weights and products in floating point.
fn as_numbers(network: &Network, view: &View<'_>, draws: u32) -> Probabilities {
    let stream = test_stream(9, 0, 3);
    let mut sum = vec![0.0_f64; view.len() * 10];
    for draw in 0..draws {
        let sampled = network.sampled(&stream(u32::MAX - draw));
        let answers = ask(&sampled, view, Predictor::Hard, 1);
        sum.iter_mut().zip(&answers.values).for_each(|(s, &p)| *s += f64::from(p));
    }
    let values = sum.iter().map(|s| (s / f64::from(draws)) as f32).collect();
    Probabilities { classes: 10, values }
}

/// Of 18 bits, rounding moves a preactivation by 1.1e-6 of the largest activation (standard
/// deviation), which is 3 to 5 times the preactivation's own size. Two such layers and the scale of
/// the logits, 1.5, make about 1e-5 in the logits, at most a quarter of that in a probability, and
/// less in a mean over networks. The largest of some thousand is looked at.
const ROUNDING: f32 = 1e-5;

#[test]
fn sampled_networks_have_the_probabilities_of_their_products() {
    let digits = digits::load();
    let view = digits.test().first(50).unwrap();
    let all = [
        Normalisation::None,
        Normalisation::Layer,
        Normalisation::LayerAll,
        Normalisation::Batch,
        Normalisation::BatchPlain,
    ];
    for normalisation in all {
        for activation in [Activation::Relu, Activation::Sign, Activation::Gate] {
            // Wide and narrow layers in turns: the first are computed from whole numbers.
            for hidden in [&[130, 70][..], &[30, 100], &[65, 20], &[]] {
                let architecture =
                    Architecture { activation, ..architecture(hidden, normalisation) };
                let mut network = network(&architecture, Weights::Field, 1.5);
                for standardise in [None, Some([0.3, 0.4])] {
                    network.set_standardise(standardise);
                    let found = ask(&network, &view, Predictor::Sampled, 7);
                    let numbers = as_numbers(&network, &view, 7);
                    let images = found.values.chunks(10).zip(numbers.values.chunks(10));
                    let differ = |(a, b): &(&[f32], &[f32])| {
                        a.iter().zip(*b).any(|(a, b)| (a - b).abs() >= ROUNDING)
                    };
                    let share = images.filter(differ).count() as f64 / view.len() as f64;
                    // A preactivation on the threshold of a sign or a gate may fall on either side.
                    // Here these are whole multiples of one number. The mean over a layer of 65
                    // neurons is such a multiple, too, in one case of 65, and there are seven
                    // networks and up to two layers.
                    let normalised = normalisation.is_layer(0, 2);
                    let most = match activation {
                        Activation::Relu => 0.0,
                        Activation::Sign | Activation::Gate if normalised => 0.3,
                        Activation::Sign | Activation::Gate => 0.05,
                    };
                    assert!(
                        share <= most,
                        "{normalisation:?} {activation:?} {hidden:?} {standardise:?}: {share}"
                    );
                }
            }
        }
    }
}

/// 784 pixels: bytes as in MNIST, or real numbers of either sign.
fn images(count: usize, bytes: bool) -> Part {
    let stream = Stream::new(3, 1, 0, 0);
    let lit = |place: usize| place % 784 / 28 % 7 < 3;
    let uniform = |place: usize| if lit(place) { stream.uniform(place as u32) } else { 0.0 };
    let places = 0..count * 784;
    let pixels = if bytes {
        let values = places.map(|place| (uniform(place) * 255.9) as u8).collect();
        Pixels::Bytes { values, white: 255 }
    } else {
        Pixels::Floats(places.map(|place| (3.0 * uniform(place) - 0.5) as f32).collect())
    };
    Part { pixels, labels: vec![0; count] }
}

#[test]
fn sampled_networks_of_bytes_and_of_real_pixels() {
    let widths = vec![784, 200, 150, 10];
    let architecture = Architecture { widths, ..architecture(&[], Normalisation::None) };
    let network = network(&architecture, Weights::Field, 1.5);
    for bytes in [true, false] {
        // More than are prepared together, and not a whole number of tiles.
        let part = images(1027, bytes);
        let view = part.view(784);
        let found = ask(&network, &view, Predictor::Sampled, 3);
        let off = distance(&found, &as_numbers(&network, &view, 3));
        println!("bytes {bytes}: {off:e}");
        assert!(off < ROUNDING, "{off:e}");
    }
}

#[test]
fn views_are_predicted_together_as_alone() {
    let digits = digits::load();
    let (train, test) = (digits.train(), digits.test());
    let mut order: Vec<u32> = (0..64).collect();
    Stream::new(8, 0, 0, 0).shuffle(&mut order);
    assert!(train.len() > 512 && test.len() < 512);
    let network = network(&architecture(&[100, 80], Normalisation::None), Weights::Field, 1.5);
    let views = [train, train.permuted(&order), test, test.permuted(&order)];
    let together = predict(&network, &views, Predictor::Sampled, 4, test_stream(9, 0, 3));
    for (view, together) in views.iter().zip(&together) {
        assert_eq!(*together, ask(&network, view, Predictor::Sampled, 4));
        assert!(distance(together, &as_numbers(&network, view, 4)) < ROUNDING);
    }
    assert_ne!(together[0], together[1]);
}

#[test]
fn a_pixel_that_is_not_finite_spoils_its_image_only() {
    let network = network(&architecture(&[100, 80], Normalisation::None), Weights::Field, 1.5);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values: Vec<f32> = (0..6 * 64).map(|i| (i * 37 % 64) as f32 / 64.0).collect();
        let good = Part { pixels: Pixels::Floats(values.clone()), labels: vec![0; 6] };
        values[64 + 5] = bad;
        let spoiled = Part { pixels: Pixels::Floats(values), labels: vec![0; 6] };
        let good = ask(&network, &good.view(64), Predictor::Sampled, 3);
        let spoiled = ask(&network, &spoiled.view(64), Predictor::Sampled, 3);
        for (image, (a, b)) in good.values.chunks(10).zip(spoiled.values.chunks(10)).enumerate() {
            if image == 1 {
                assert!(b.iter().all(|p| p.is_nan()), "{bad}: {b:?}");
            } else {
                assert_eq!(a, b);
            }
        }
    }
}
