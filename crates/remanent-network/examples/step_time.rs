//! Measures the time of a training step, for the benchmark in bench/network.
//!
//! `step_time --widths 784,512,512,10 --batch 64 --precision f32 --clock wall --seconds 3 --seeds 1 --threads 1` prints one
//! line of JSON: seconds a step (for all seeds together), how much of it the six matrix products of
//! each layer take alone in single precision, and the time of a plain copy of the numbers that a step changes (five for each
//! weight: θ, its mean and variance, two moments; with bf16 four, because mean and variance share one; with one image six, because
//! the divergence from the last step is stored).

use std::sync::OnceLock;
use std::time::Instant;

use cpu_time::ThreadTime;
use remanent_math::philox::Stream;
use remanent_network::architecture::{Activation, Architecture, Normalisation};
use remanent_network::learner::{Learner, Parameters};
use remanent_network::network::{Network, Weights};
use remanent_network::pass::normal_noise;
use remanent_network::product::{Matrix, Precision, multiply};
use remanent_network::trainer::{Moment, Trainer};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str, default: &str| -> String {
        let at = arguments.iter().position(|a| a == name);
        at.and_then(|at| arguments.get(at + 1)).map_or(default, String::as_str).to_owned()
    };
    let number = |name: &str, default: &str| -> f64 {
        value(name, default).parse().unwrap_or_else(|_| panic!("{name} must be a number"))
    };
    let widths: Vec<usize> = value("--widths", "784,512,512,10")
        .split(',')
        .map(|x| x.parse().expect("--widths must be numbers with commas between"))
        .collect();
    let batch = number("--batch", "64") as usize;
    let seconds = number("--seconds", "3");
    let precision = match value("--precision", "f32").as_str() {
        "f32" => Precision::F32,
        "bf16" => Precision::Bf16,
        other => panic!("--precision must be f32 or bf16, not {other}"),
    };
    let clock = match value("--clock", "wall").as_str() {
        "wall" => Clock::Wall,
        "processor" => Clock::Processor,
        other => panic!("--clock must be wall or processor, not {other}"),
    };
    let train = |seed: u64| train(&widths, batch, precision, (clock, seconds), seed);
    let (seeds, threads) = (number("--seeds", "1") as u64, number("--threads", "1") as u64);
    assert!(threads >= seeds || threads == 1, "one thread a seed");

    let results: Vec<(f64, u64, f64)> = if threads == 1 {
        (0..seeds).map(train).collect()
    } else {
        std::thread::scope(|scope| {
            let train = &train;
            let run = |seed| scope.spawn(move || train(seed));
            let handles: Vec<_> = (0..seeds).map(run).collect();
            handles.into_iter().map(|handle| handle.join().expect("no panic")).collect()
        })
    };
    let numbers = match (batch, precision) {
        (1, _) => 6,
        (_, Precision::F32) => 5,
        (_, Precision::Bf16) => 4,
    };
    let slowest = results.iter().map(|r| r.0).fold(0.0, f64::max);
    let per_step = if threads == 1 { results.iter().map(|r| r.0).sum() } else { slowest };
    let steps: u64 = results.iter().map(|r| r.1).sum();
    println!(
        "{{\"name\": \"remanent\", \"widths\": {widths:?}, \"batch\": {batch}, \
         \"precision\": \"{}\", \"instructions\": \"{}\", \
         \"threads\": {threads}, \"seeds\": {seeds}, \"seconds_per_step\": {per_step:.9}, \
         \"gemm_seconds_per_step\": {:.9}, \"copy_seconds_per_step\": {:.9}, \
         \"steps\": {steps}, \"final_loss\": {:.6}}}",
        if precision.is_single() { "f32" } else { "bf16" },
        precision.instructions(),
        products(&widths, batch, clock),
        copy(&widths, numbers, clock),
        results[0].2
    );
}

/// Seconds a step, steps, and the loss of the last.
fn train(
    widths: &[usize],
    batch: usize,
    precision: Precision,
    (clock, seconds): (Clock, f64),
    seed: u64,
) -> (f64, u64, f64) {
    // The numbers of the other programs, though the time does not depend on them.
    let adam = [0.9, 0.999, 1e-8];
    let parameters = Parameters { adam, precision, batch, ..Parameters::of(Learner::Vcl) };
    let architecture = Architecture {
        widths: widths.to_vec(),
        activation: Activation::Relu,
        normalisation: Normalisation::None,
    };
    let network = Network::random(&architecture, Weights::Field, 0.1, seed, 0).expect("valid");
    let mut trainer = Trainer::new(&parameters, network).expect("valid");
    let (images, labels) = batches(widths, batch, seed);
    let moment = Moment { beta: 1.0, meta: 0.0, rate: 1.0, examples: 60_000 };
    let mut loss = 0.0;
    let mut step = |number: u64| {
        let mut noise = normal_noise(Stream::new(seed, 1, 0, number as u32));
        let which = number as usize % BATCHES;
        let images = &images[which * batch * widths[0]..][..batch * widths[0]];
        let labels = &labels[which * batch..][..batch];
        loss = trainer.advance(images, labels, &moment, &mut noise).expect("finite") / batch as f64;
    };
    (0..3).for_each(&mut step);
    let (started, from) = (Instant::now(), clock.now());
    let mut steps = 0;
    while steps < 3 || started.elapsed().as_secs_f64() < seconds {
        step(3 + steps);
        steps += 1;
    }
    ((clock.now() - from) / steps as f64, steps, loss)
}

/// Which time counts. Processor time is for a machine with other work.
#[derive(Clone, Copy)]
enum Clock {
    Wall,
    Processor,
}

impl Clock {
    /// Seconds since some beginning.
    fn now(self) -> f64 {
        static START: OnceLock<Instant> = OnceLock::new();
        match self {
            Self::Wall => START.get_or_init(Instant::now).elapsed().as_secs_f64(),
            Self::Processor => ThreadTime::now().as_duration().as_secs_f64(),
        }
    }
}

/// Batches that are gone through in turn.
const BATCHES: usize = 8;

/// Images with as many black pixels as handwritten digits have, 81 %, and random labels.
fn batches(widths: &[usize], batch: usize, seed: u64) -> (Vec<f32>, Vec<u8>) {
    let stream = Stream::new(seed, 2, 0, 0);
    let pixel = |i: usize| match stream.uniform(i as u32) as f32 {
        u if u < 0.81 => 0.0,
        u => (u - 0.81) / 0.19,
    };
    let classes = widths[widths.len() - 1] as f64;
    let labels = Stream::new(seed, 3, 0, 0);
    let label = |i: usize| (labels.uniform(i as u32) * classes) as u8;
    let count = BATCHES * batch;
    ((0..count * widths[0]).map(pixel).collect(), (0..count).map(label).collect())
}

/// Seconds that the matrix products of a step take alone, the best of several times.
fn products(widths: &[usize], batch: usize, clock: Clock) -> f64 {
    let mut total = 0.0;
    for (l, pair) in widths.windows(2).enumerate() {
        let (inputs, outputs) = (pair[0], pair[1]);
        // Forwards, gradient and (not in the first layer) backwards; each for mean and variance.
        let mut shapes = vec![(batch, outputs, inputs), (outputs, inputs, batch)];
        if l > 0 {
            shapes.push((batch, inputs, outputs));
        }
        for (m, n, k) in shapes {
            total += 2.0 * time_of_product(m, n, k, clock);
        }
    }
    total
}

/// Seconds of a copy of so many numbers for each weight, the best of several times.
fn copy(widths: &[usize], numbers: usize, clock: Clock) -> f64 {
    let weights: usize = widths.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let from = vec![0.5_f32; numbers * weights];
    let mut to = vec![0.0_f32; numbers * weights];
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let started = clock.now();
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        best = best.min(clock.now() - started);
    }
    best
}

/// Of an m × k with a k × n matrix, stored as the network stores them.
fn time_of_product(m: usize, n: usize, k: usize, clock: Clock) -> f64 {
    let (a, b) = (vec![0.5; m * k], vec![0.25; k * n]);
    let mut c = vec![0.0; m * n];
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let started = clock.now();
        multiply(&mut c, 1.0, Matrix::new(&a, k, m).transposed(), Matrix::new(&b, k, n));
        best = best.min(clock.now() - started);
    }
    best
}
