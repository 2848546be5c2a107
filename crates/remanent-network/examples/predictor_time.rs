//! Measures images per second of each predictor against the matrix products of numbers that a binary
//! network of the same widths would need, on one thread.
//!
//! `predictor_time [--images 2000] [--draws 10] [--rounds 5] [--only ROW] [--first 0] [--end 3]` prints a
//! Markdown table of some or all of three networks. Rounds alternate between the rows, times are processor
//! times, and the best round counts. An image counts once for every pass or sampled network. Of the pixels
//! of an image a fifth is lit, as in handwritten digits, and each image has other places.

use std::time::Duration;

use cpu_time::ThreadTime;
use remanent_data::dataset::{Part, Pixels, View};
use remanent_math::philox::Stream;
use remanent_network::architecture::{Activation, Architecture, Normalisation};
use remanent_network::binary::{BinaryNetwork, Workspace};
use remanent_network::network::{Network, Weights};
use remanent_network::predictor::{Predictor, predict};
use remanent_network::product::{Matrix, instructions, multiply};

const WIDTHS: [&[usize]; 3] = [&[784, 100, 10], &[784, 512, 512, 10], &[784, 2048, 2048, 10]];
/// Networks that are sampled with weights as numbers.
const AS_NUMBERS: u32 = 3;
/// Rows of a network.
const ROWS: usize = 7;
/// Images in a product, as in prediction.
const BATCH: usize = 256;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: usize| -> usize {
        let at = arguments.iter().position(|a| a == name);
        at.map_or(default, |at| {
            let value = arguments.get(at + 1).and_then(|value| value.parse().ok());
            value.unwrap_or_else(|| panic!("{name} must be a number"))
        })
    };
    let (images, draws) = (number("--images", 2000), number("--draws", 10));
    let rounds = number("--rounds", 5);
    println!(
        "Instructions: {}. Images: {images}. Draws: {draws}. Rounds: {rounds}.\n",
        instructions()
    );
    println!("| network | row | images/s | times the product |\n|---|---|---|---|");
    let data = digits(images);
    let only = arguments.iter().position(|a| a == "--only").map(|at| arguments[at + 1].as_str());
    let networks = number("--first", 0)..WIDTHS.len().min(number("--end", WIDTHS.len()));
    for widths in &WIDTHS[networks] {
        table(widths, data.view(784), draws, rounds, only);
    }
}

fn table(widths: &[usize], view: View<'_>, draws: usize, rounds: usize, only: Option<&str>) {
    let architecture = Architecture {
        widths: widths.to_vec(),
        activation: Activation::Relu,
        normalisation: Normalisation::None,
    };
    let network = Network::random(&architecture, Weights::Field, 1.0, 1, 0).expect("is valid");
    let stream = |step| Stream::new(1, 2, 3, step);
    let asked = |predictor, draws| {
        let answers = predict(&network, &[view], predictor, draws, stream);
        assert!(answers[0].values.iter().all(|p| p.is_finite()));
    };
    let as_numbers = || {
        for draw in 0..AS_NUMBERS {
            let sampled = network.sampled(&stream(draw));
            let answers = predict(&sampled, &[view], Predictor::Hard, 1, stream);
            assert!(answers[0].values.iter().all(|p| p.is_finite()));
        }
    };
    let rows: [(&str, usize, &dyn Fn()); ROWS] = [
        ("product", 1, &|| products(&network, view)),
        ("hard", 1, &|| asked(Predictor::Hard, 1)),
        ("hard, packed", 1, &|| packed(&network, view)),
        ("sampled, as numbers", AS_NUMBERS as usize, &as_numbers),
        ("sampled", draws, &|| asked(Predictor::Sampled, draws)),
        ("mean-field", draws, &|| asked(Predictor::MeanField, draws)),
        ("stochastic", 1, &|| asked(Predictor::Stochastic, 1)),
    ];
    let asked_for = |row: &str| only.is_none_or(|only| only == row);
    let mut best = [Duration::MAX; ROWS];
    for _ in 0..rounds {
        for (best, (_, _, work)) in best.iter_mut().zip(&rows).filter(|(_, row)| asked_for(row.0)) {
            let start = ThreadTime::now();
            work();
            *best = (*best).min(start.elapsed());
        }
    }
    let rate = |k: usize| (view.len() * rows[k].1) as f64 / best[k].as_secs_f64();
    for (k, (name, ..)) in rows.iter().enumerate().filter(|(_, row)| asked_for(row.0)) {
        let ratio = rate(k) / rate(0);
        println!("| {widths:?} | {name} | {:.0} | {ratio:.2} |", rate(k));
    }
}

/// Probabilities of the packed network, with its bits.
fn packed(network: &Network, view: View<'_>) {
    let packed = BinaryNetwork::hard(network).expect("is binary");
    let (mut workspace, mut images) = (Workspace::new(), vec![0.0; BATCH * view.inputs()]);
    let mut probabilities = vec![0.0; BATCH * packed.architecture().outputs()];
    for start in (0..view.len()).step_by(BATCH) {
        let chosen: Vec<u32> = (start..view.len().min(start + BATCH)).map(|i| i as u32).collect();
        let images = &mut images[..chosen.len() * view.inputs()];
        view.batch(&chosen, images);
        let probabilities = &mut probabilities[..chosen.len() * packed.architecture().outputs()];
        packed.probabilities(images, probabilities, &mut workspace);
        assert!(probabilities.iter().all(|p| p.is_finite()));
    }
}

/// The products of a binary network as numbers, with the layout and the batches of prediction.
fn products(network: &Network, view: View<'_>) {
    let hard = network.hard();
    let widest = network.architecture().widths.iter().max().expect("has layers");
    let (mut h, mut z) = (vec![0.5; widest * BATCH], vec![0.0; widest * BATCH]);
    for start in (0..view.len()).step_by(BATCH) {
        let batch = BATCH.min(view.len() - start);
        for layer in hard.layers() {
            let (inputs, outputs) = (layer.inputs(), layer.outputs());
            let weights = Matrix::new(layer.mean(), inputs, outputs).transposed();
            let out = &mut z[..outputs * batch];
            let factor = (inputs as f32).sqrt().recip();
            multiply(out, factor, weights, Matrix::new(&h[..inputs * batch], inputs, batch));
            std::mem::swap(&mut h, &mut z);
        }
    }
}

/// Images with a stroke of random grey values, each at another place and with another slope.
fn digits(count: usize) -> Part {
    let stream = Stream::new(7, 0, 0, 0);
    let pixel = |place: usize| {
        let (image, row, column) = (place / 784, place % 784 / 28, place % 28);
        let (shift, slope) = (image * 7 % 11, image % 5);
        let middle = 3 + shift + (row * slope).div_ceil(4) / 2;
        let lit = (4..24).contains(&row) && column.abs_diff(middle) < 4;
        if lit { (stream.uniform(place as u32) * 255.0) as u8 } else { 0 }
    };
    Part {
        pixels: Pixels::Bytes { values: (0..count * 784).map(pixel).collect(), white: 255 },
        labels: (0..count).map(|i| (i % 10) as u8).collect(),
    }
}
