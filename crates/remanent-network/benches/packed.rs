//! Logits from bits against products of matrices with the same weights as numbers:
//! `cargo bench -p remanent-network --bench packed`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use remanent_math::philox::Stream;
use remanent_network::architecture::{Activation, Architecture, Normalisation};
use remanent_network::binary::{BinaryNetwork, Workspace};
use remanent_network::product::{Matrix, multiply};

const WIDTHS: [usize; 4] = [784, 512, 512, 10];

/// ReLU networks without normalisation, as numbers: what a program without the bits would do.
struct Dense {
    layers: Vec<Vec<f32>>,
    h: Vec<f32>,
    z: Vec<f32>,
}

impl Dense {
    fn logits(&mut self, batch: usize, images: &[f32], logits: &mut [f32]) {
        self.h[..images.len()].copy_from_slice(images);
        for (layer, weights) in self.layers.iter().enumerate() {
            let (inputs, outputs) = (WIDTHS[layer], WIDTHS[layer + 1]);
            product(batch, inputs, outputs, &self.h, weights, &mut self.z);
            if layer + 1 < self.layers.len() {
                for (h, z) in self.h.iter_mut().zip(&self.z[..batch * outputs]) {
                    *h = z.max(0.0);
                }
            }
        }
        logits.copy_from_slice(&self.z[..logits.len()]);
    }
}

/// z = N^{-1/2} h w, all row by row.
fn product(batch: usize, inputs: usize, outputs: usize, h: &[f32], w: &[f32], z: &mut [f32]) {
    let (h, w) = (&h[..batch * inputs], Matrix::new(w, inputs, outputs));
    let z = &mut z[..batch * outputs];
    multiply(z, (inputs as f32).sqrt().recip(), Matrix::new(h, batch, inputs), w);
}

fn forward(criterion: &mut Criterion) {
    let architecture = Architecture {
        widths: WIDTHS.to_vec(),
        activation: Activation::Relu,
        normalisation: Normalisation::None,
    };
    let stream = Stream::new(1, 0, 0, 0);
    let sign = |index| if stream.uniform(index) < 0.5 { -1.0 } else { 1.0 };
    let layers: Vec<Vec<f32>> =
        architecture.shapes().map(|(n, m)| (0..(n * m) as u32).map(sign).collect()).collect();
    let slices: Vec<&[f32]> = layers.iter().map(Vec::as_slice).collect();
    let network = BinaryNetwork::from_signs(architecture, &slices, vec![], 1.0).expect("is valid");
    let mut workspace = Workspace::new();

    // All pixels lit, or the share and the place of lit ones that digits have: a stroke across the
    // middle of every row but the outer ones.
    let lit = |pixel: usize| {
        let (row, column) = (pixel / 28, pixel % 28);
        (4..24).contains(&row) && column.abs_diff(24 - row * 2 / 3) < 4
    };
    for batch in [1, 16, 256] {
        let room = batch * WIDTHS[0];
        let mut dense = Dense { layers: layers.clone(), h: vec![0.0; room], z: vec![0.0; room] };
        let value = |index| stream.uniform(index + 1_000_000) as f32;
        let full: Vec<f32> = (0..room as u32).map(value).collect();
        let digits: Vec<f32> =
            full.iter().enumerate().map(|(i, &x)| if lit(i % 784) { x } else { 0.0 }).collect();
        let mut logits = vec![0.0; batch * WIDTHS[3]];
        let mut check = logits.clone();
        dense.logits(batch, &full, &mut logits);
        network.logits(&full, &mut check, &mut workspace);
        assert!(logits.iter().zip(&check).all(|(a, b)| (a - b).abs() < 1e-4));
        let mut group = criterion.benchmark_group(format!("batch {batch}"));
        group.throughput(Throughput::Elements(batch as u64));
        group.bench_function("gemm", |b| {
            b.iter(|| dense.logits(batch, black_box(&full), &mut logits));
        });
        for (name, images) in [("bits, all pixels lit", &full), ("bits, a fifth lit", &digits)] {
            group.bench_function(name, |b| {
                b.iter(|| network.logits(black_box(images), &mut logits, &mut workspace));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, forward);
criterion_main!(benches);
