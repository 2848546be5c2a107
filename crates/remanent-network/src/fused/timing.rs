//! The time of the passes over the weights, beside a copy of the same bytes. Not a test of anything:
//!
//! `cargo test --release -p remanent-network --lib passes_and_copies -- --ignored --nocapture`

use cpu_time::ThreadTime;

use super::layer::{Downstream, Layer as Tiles};
use super::previous::Previous;
use super::{Constants, Piece, learn};
use crate::bf16::Path;
use crate::bf16::moments::{Gradients, Moments};
use crate::network::Layer;
use crate::pages::filled;
use crate::tiles::{SIDE, Sums};
use crate::trainer::Memory;

const SHAPES: [(usize, usize); 5] =
    [(784, 100), (512, 512), (784, 512), (2048, 2048), (1024, 1024)];

/// Seconds of processor time, the best of as many calls as fit into half a second.
fn best(mut call: impl FnMut()) -> f64 {
    let (mut best, mut sum) = (f64::INFINITY, 0.0);
    while sum < 0.5 {
        let started = ThreadTime::now();
        call();
        let time = started.elapsed().as_secs_f64();
        best = best.min(time);
        sum += time;
    }
    best
}

/// Numbers for each weight in one pass: read and written.
fn copy(count: usize) -> f64 {
    let from = filled(count, 0.5_f32);
    let mut to = filled(count, 0.0_f32);
    best(|| {
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
    })
}

fn report(what: &str, numbers: usize, weights: usize, seconds: f64) {
    let plain = copy(numbers * weights);
    println!("  {what:28} {:8.3} ms, {:.2} copies", 1e3 * seconds, seconds / plain);
}

#[test]
#[ignore = "it measures"]
fn passes_and_copies() {
    let previous = Some(Previous { rate: 0.05, spread: 1.7, beta: 1.3, estimated: true });
    for (inputs, outputs) in SHAPES {
        println!("{inputs} × {outputs}");
        let weights = inputs * outputs;
        let state = |wanted: bool| filled(if wanted { weights } else { 0 }, 1e-3);
        for (name, keeps, previous) in
            [("none", false, None), ("stored", true, None), ("recalled", false, previous)]
        {
            let constants = Constants { previous, ..Constants::example() };
            let mut memory = Memory {
                first: state(true),
                second: state(true),
                kept: state(keeps),
                ..Memory::default()
            };
            let [mut theta, mut mean, mut variance] = [(); 3].map(|()| filled(weights, 0.5));
            let numbers = 5 + usize::from(keeps);

            let g = filled(512, 1e-3_f32);
            let seconds = best(|| {
                let mut learned = memory.learned(&mut theta);
                for from in (0..weights).step_by(g.len()) {
                    let at = from..weights.min(from + g.len());
                    let piece = Piece {
                        g: &g[..at.len()],
                        mean: &mut mean[at.clone()],
                        variance: &mut variance[at.clone()],
                        learned: learned.part(at),
                    };
                    learn(&constants, piece);
                }
            });
            report(&format!("pieces, {name}"), numbers, weights, seconds);

            let mut downstream = Downstream::default();
            if downstream.learns() {
                let zeros = vec![0.0; 2 * outputs];
                downstream.set(2, &zeros, &zeros);
                // The sums over samples are empty.
                let upstream = vec![0.0; 2 * inputs];
                let seconds = best(|| {
                    let (upstream, factors) = (&upstream[..], (1.0, 1.0));
                    let (mean, variance) = (&mut mean[..], &mut variance[..]);
                    let tiles = Tiles { upstream, factors, mean, variance };
                    downstream.learn(&constants, tiles, memory.learned(&mut theta));
                });
                report(&format!("tiles, {name}"), numbers, weights, seconds);
            }

            if Moments::are_available(Path::best()) {
                let layer = Layer { inputs, outputs, theta, mean, variance };
                let mut moments = Moments::pack(&layer, 1.3);
                let Layer { mut theta, .. } = layer;
                let sums = vec![Sums::ZERO; Moments::BLOCK / SIDE * moments.panels()];
                let seconds = best(|| {
                    let mut learned = memory.learned(&mut theta);
                    for block in 0..moments.blocks() {
                        let factors = (1.0, 1.0);
                        let gradients = Gradients { by_mean: &sums, by_variance: &sums, factors };
                        moments.learn(&constants, block, gradients, &mut learned);
                    }
                });
                report(&format!("packed, {name}"), numbers - 1, weights, seconds);
            }
        }
    }
}
