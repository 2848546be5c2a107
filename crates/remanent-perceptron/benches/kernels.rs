//! Times of the kernels: `cargo bench -p remanent-perceptron`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use remanent_math::philox::Stream;
use remanent_perceptron::patterns::{Patterns, padded};

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

criterion_group!(benches, passes);
criterion_main!(benches);
