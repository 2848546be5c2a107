//! The step of whole layers beside that of [`fused::learn`](crate::fused::learn), from gradients in double precision.

use remanent_math::adam::AdamStep;
use remanent_math::philox::Stream;

use super::*;
use crate::fused::previous::Previous;
use crate::fused::{self, Piece};
use crate::kernels;
use crate::trainer::Memory;

const BETA: f32 = 1.3;
const FACTORS: (f32, f32) = (0.31, 0.11);

fn normals(index: u32, count: usize) -> Vec<f32> {
    let mut x = vec![0.0; count];
    Stream::new(3, 1, 5, index).fill_normals(0, &mut x);
    x
}

/// scale Σ_b h_i^power k_j.
fn gradient(scale: f32, power: i32, batch: usize, h: &[f32], k: &[f32]) -> Vec<f32> {
    let term = |h: &f32, k: &f32| f64::from(*h).powi(power) * f64::from(*k);
    let sum = |h: &[f32], k: &[f32]| h.iter().zip(k).map(|(h, k)| term(h, k)).sum::<f64>();
    let rows = h.chunks_exact(batch);
    rows.flat_map(|h| k.chunks_exact(batch).map(move |k| (f64::from(scale) * sum(h, k)) as f32))
        .collect()
}

fn close(found: &[f32], expected: &[f32], size: f32) {
    for (found, expected) in found.iter().zip(expected) {
        let bound = 3e-6 * (expected.abs() + size);
        assert!((found - expected).abs() <= bound, "{found} {expected}");
    }
}

#[test]
fn the_gradient_is_the_sum_over_the_samples() {
    if !Instructions::all().any(|instructions| instructions == Instructions::Avx2) {
        return;
    }
    let mut downstream = Downstream::with(Some(Instructions::Avx2));
    assert!(downstream.sums_gradient(32) && !downstream.sums_gradient(31) && !downstream.learns());
    for (inputs, outputs, batch) in
        [(1, 1, 2), (15, 32, 64), (16, 64, 16), (17, 65, 33), (33, 100, 130), (40, 31, 65)]
    {
        let mut h = normals(1, inputs * batch);
        h.iter_mut().step_by(3).for_each(|h| *h = 0.0);
        let (k, k_ratio) = (normals(2, outputs * batch), normals(3, outputs * batch));
        downstream.set(batch, &k, &k_ratio);
        let [mut by_mean, mut by_variance] = [(); 2].map(|()| vec![f32::NAN; inputs * outputs]);
        let tile = GradientTile { by_mean: &mut by_mean, by_variance: &mut by_variance };
        downstream.gradient(&h, FACTORS, tile);
        let size = (batch as f32).sqrt();
        close(&by_mean, &gradient(FACTORS.0, 1, batch, &h, &k), size);
        close(&by_variance, &gradient(FACTORS.1, 2, batch, &h, &k_ratio), size);
    }
}

#[test]
fn a_step_of_a_layer_is_that_of_the_gradient() {
    if !Downstream::default().learns() {
        return;
    }
    assert_eq!(Constants::example().beta, BETA);
    let mut downstream = Downstream::default();
    for (keeps, anchored) in [(false, false), (false, true), (true, false), (true, true)] {
        let constants = Constants { metaplastic: anchored, ..Constants::example() };
        for (inputs, outputs, batch) in
            [(1, 1, 2), (15, 10, 64), (16, 64, 16), (17, 65, 33), (33, 100, 130), (40, 17, 65)]
        {
            let count = inputs * outputs;
            let state = |wanted: bool| if wanted { vec![0.0; count] } else { Vec::new() };
            let mut memory = Memory {
                first: state(true),
                second: state(true),
                kept: state(keeps),
                anchor: if anchored { normals(5, count) } else { Vec::new() },
                fisher: Vec::new(),
            };
            let mut theta = normals(1, count);
            let (mut mean, mut variance) = (state(true), state(true));
            kernels::moments(BETA, &theta, &mut mean, &mut variance);
            for step in 0..4 {
                let mut h = normals(10 + step, inputs * batch);
                h.iter_mut().step_by(3).for_each(|h| *h = 0.0);
                let k = normals(20 + step, outputs * batch);
                let k_ratio = normals(30 + step, outputs * batch);
                let (mut other, mut fields) = (memory.clone(), theta.clone());
                let (mut means, mut variances) = (mean.clone(), variance.clone());

                downstream.set(batch, &k, &k_ratio);
                let layer = Layer {
                    upstream: &h,
                    factors: FACTORS,
                    mean: &mut mean,
                    variance: &mut variance,
                };
                downstream.learn(&constants, layer, memory.learned(&mut theta));

                let mut g = gradient(FACTORS.0, 1, batch, &h, &k);
                let by_variance = gradient(FACTORS.1, 2, batch, &h, &k_ratio);
                kernels::field_gradient(BETA, &means, &variances, &by_variance, &mut g);
                let learned = other.learned(&mut fields);
                let (mean_after, variance_after) = (&mut means, &mut variances);
                let piece = Piece { g: &g, mean: mean_after, variance: variance_after, learned };
                fused::learn(&constants, piece);

                // A gradient is a sum of terms of about one; Adam divides by its size.
                let size = (batch as f32).sqrt();
                close(&theta, &fields, 0.1);
                close(&memory.first, &other.first, size);
                close(&memory.second, &other.second, size * size);
                close(&memory.kept, &other.kept, 1e-1);
                close(&mean, &means, 0.1);
                close(&variance, &variances, 0.1);
            }
        }
    }
}

/// The previous step is computed again, by the same operations.
#[test]
fn a_recalled_step_has_the_bits_of_a_stored_one() {
    if !Downstream::default().learns() {
        return;
    }
    let mut downstream = Downstream::default();
    for (inputs, outputs, batch) in [(15, 10, 64), (17, 65, 33), (20, 2200, 2)] {
        for anchored in [false, true] {
            let count = inputs * outputs;
            let zeros = vec![0.0; count];
            let memory = Memory {
                first: zeros.clone(),
                second: zeros.clone(),
                kept: zeros.clone(),
                anchor: if anchored { normals(5, count) } else { Vec::new() },
                fisher: Vec::new(),
            };
            let theta = normals(1, count);
            let (mut mean, mut variance) = (zeros.clone(), zeros);
            kernels::moments(BETA, &theta, &mut mean, &mut variance);
            let mut recalled =
                (theta, mean, variance, Memory { kept: Vec::new(), ..memory.clone() });
            let mut stored = recalled.clone();
            stored.3 = memory;
            let mut previous = None;
            for step in 0..4 {
                let rate = 0.02 + 0.01 * step as f32;
                let adam = AdamStep { rate, spread: 1.9 - rate, ..Constants::example().adam };
                let upstream = normals(10 + step, inputs * batch);
                downstream.set(
                    batch,
                    &normals(20 + step, outputs * batch),
                    &normals(30 + step, outputs * batch),
                );
                for (previous, state) in [(previous, &mut recalled), (None, &mut stored)] {
                    let constants = Constants { adam, previous, ..Constants::example() };
                    let (theta, mean, variance, memory) = state;
                    let layer = Layer { upstream: &upstream, factors: FACTORS, mean, variance };
                    downstream.learn(&constants, layer, memory.learned(theta));
                }
                let last = Previous::of(&adam, BETA, true);
                previous = Some(last);
                let (theta, _, _, memory) = &recalled;
                let kept = last.divergence(&adam, theta, [&memory.first, &memory.second]);
                assert_eq!(kept, stored.3.kept);
                assert_eq!((theta, &recalled.1, &recalled.2), (&stored.0, &stored.1, &stored.2));
                assert_eq!(memory.second, stored.3.second);
            }
        }
    }
}

/// A run that continues computes the moments again, from the fields.
#[test]
fn moments_of_learned_fields_have_the_bits_of_the_kernel() {
    if !Downstream::default().learns() {
        return;
    }
    let (inputs, outputs, batch) = (20, 65, 2);
    let fields = (0..inputs * outputs).map(|i| (i as f32 - 640.0) * (i % 7) as f32 * 2e-2);
    let mut theta: Vec<f32> = fields.collect();
    let zeros = vec![0.0; theta.len()];
    let mut memory = Memory { first: zeros.clone(), second: zeros, ..Memory::default() };
    let [mut mean, mut variance] = [(); 2].map(|()| vec![0.5; theta.len()]);
    let adam =
        AdamStep { rate: 0.1, spread: 1.0, b1: 0.9, b2: 0.99, epsilon: 1e-8, negligible: 1e-18 };
    let constants = Constants {
        beta: BETA,
        gamma_step: 0.0,
        gamma_anchor: 0.0,
        adam,
        metaplastic: false,
        previous: None,
    };
    let mut downstream = Downstream::default();
    downstream.set(batch, &normals(1, outputs * batch), &normals(2, outputs * batch));
    let upstream = normals(3, inputs * batch);
    let layer = Layer {
        upstream: &upstream,
        factors: (1.0, 1.0),
        mean: &mut mean,
        variance: &mut variance,
    };
    downstream.learn(&constants, layer, memory.learned(&mut theta));
    let [mut means, mut variances] = [(); 2].map(|()| vec![0.0; theta.len()]);
    kernels::moments(BETA, &theta, &mut means, &mut variances);
    assert!(mean == means && variance == variances);
}
