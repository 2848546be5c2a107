//! Times of the kernels: `cargo bench -p remanent-perceptron`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use remanent_math::philox::Stream;
use remanent_perceptron::gradient::{Batch, GradientLearner, Trainer};
use remanent_perceptron::optimizer::Rule;
use remanent_perceptron::parameters::Setting;
use remanent_perceptron::patterns::{Patterns, padded};
use remanent_perceptron::randomness::Trial;
use remanent_perceptron::student::Space;
use remanent_perceptron::world::World;

fn passes(criterion: &mut Criterion) {
    for (n, patterns) in [(1000, 2000), (5000, 20_000)] {
        let stream = Stream::new(1, 0, 0, 0);
        let s = Patterns::random(patterns, n, |p, k| stream.bits((p * n + k) as u32));
        let all: Vec<u32> = (0..patterns as u32).collect();
        let m = vec![0.5; padded(n)];
        let mut u = vec![0.0; patterns];
        let mut group = criterion.benchmark_group(format!("n {n}, {patterns} patterns"));
        group.bench_function("fields", |b| b.iter(|| s.fields(black_box(&all), &m, &mut u)));
        let h = vec![0.5; patterns];
        let mut sums = vec![0.0; padded(n)];
        group.bench_function("sums", |b| b.iter(|| s.sums(black_box(&all), &h, &mut sums)));
        group.finish();
    }
}

/// Epochs of the published protocols: SGD with batch 32, and full-batch Adam.
fn epochs(criterion: &mut Criterion) {
    let setting = Setting { n: 1000, alpha: vec![2.0], r_0: vec![0.0], fresh_patterns: 0 };
    let trial = Trial { seed: 1, trial: 0 };
    let world = World::draw(&setting, trial).expect("the setting is valid");
    let sgd = GradientLearner {
        space: Space::Field,
        field_scale: 1.0,
        rule: Rule::Momentum,
        learning_rate: vec![0.001],
        momentum: 0.9,
        weight_decay: 0.0,
        batch: Batch::Size(32),
        gamma: vec![1.0],
        fading: Default::default(),
        uniform_prior: false,
        rise: None,
        epochs: vec![100_000_000],
        record_every: usize::MAX,
    };
    let adam = GradientLearner { rule: Rule::Adam, batch: Batch::Full, ..sgd.clone() };
    for (name, learner) in [("sgd, batch 32", &sgd), ("adam, full batch", &adam)] {
        let mut trainer = Trainer::new(learner, &world, trial).expect("the learner is valid");
        criterion.bench_function(&format!("epoch: {name}"), |b| b.iter(|| trainer.epoch()));
    }
}

criterion_group!(benches, passes, epochs);
criterion_main!(benches);
