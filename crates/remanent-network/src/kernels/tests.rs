//! Every kernel against its formula in double precision; and the same bits from whole vectors, from
//! single numbers and from code compiled for the baseline of the target.

use remanent_math::adam::{AdamStep, advance as adam};
use remanent_math::philox::Stream;

use super::*;

/// Whole vectors of any instruction set, and a rest.
const COUNT: usize = 1037;

/// Random numbers, and some that are special.
fn column(purpose: u32) -> Vec<f32> {
    let mut out = vec![0.0; COUNT];
    Stream::new(12, purpose, 0, 0).fill_normals(0, &mut out);
    let special = [0.0, -0.0, 1.0, -1.0, 1e-6, -1e-12, 3e-17, 1e-25, 12.0, -30.0, 300.0];
    // Another shift in each column, so that they meet others.
    for (i, &x) in special.iter().cycle().take(20 * special.len()).enumerate() {
        out[(i * 5 + purpose as usize * 7) % COUNT] = x;
    }
    out
}

/// Not negative, as a variance or a mean of squares.
fn positive(purpose: u32) -> Vec<f32> {
    column(purpose).iter().map(|x| x.abs()).collect()
}

/// What should come out of a row, and the size of what was summed up on the way.
struct Exact(Vec<f64>, f64);

/// Runs a kernel on some columns, and compares each row.
fn check(
    columns: &[Vec<f32>],
    kernel: impl Fn(&mut [Vec<f32>]),
    exact: impl Fn(&[f64], &[f32]) -> Exact,
) {
    let mut found = columns.to_vec();
    kernel(&mut found);
    for i in 0..COUNT {
        let row: Vec<f32> = columns.iter().map(|column| column[i]).collect();
        let wide: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
        let Exact(expected, size) = exact(&wide, &row);
        for (c, &expected) in expected.iter().enumerate() {
            let found = f64::from(found[c][i]);
            let tolerance = 1e-6 * size.max(expected.abs());
            assert!(
                (found - expected).abs() <= tolerance,
                "column {c} of {row:?}: {found:e}, exactly {expected:e}"
            );
        }
        let mut alone: Vec<Vec<f32>> = row.iter().map(|&x| vec![x]).collect();
        kernel(&mut alone);
        for (alone, found) in alone.iter().zip(&found) {
            assert_eq!(alone[0].to_bits(), found[i].to_bits(), "{row:?} alone and among others");
        }
    }
}

/// 1/cosh².
fn variance(a: f64) -> f64 {
    a.cosh().powi(-2)
}

#[test]
fn moments_of_a_measure() {
    for beta in [0.3, 1.0, 11.0] {
        check(
            &[column(1), column(2), column(3)],
            |c| {
                let [theta, mean, variance] = c else { unreachable!() };
                moments(beta, theta, mean, variance);
            },
            |x, narrow| {
                // The product as it is rounded: far out, its last digit counts.
                let a = f64::from(beta * narrow[0]);
                let s = variance(a);
                Exact(vec![x[0], a.tanh(), if s < 1e-18 { 0.0 } else { s }], 0.0)
            },
        );
    }
}

#[test]
fn signs_of_zeros_are_positive() {
    check(
        &[column(1), column(2)],
        |c| {
            let [theta, weight] = c else { unreachable!() };
            signs(theta, weight);
        },
        |x, _| Exact(vec![x[0], if x[0] < 0.0 { -1.0 } else { 1.0 }], 0.0),
    );
    let mut weight = [0.0];
    signs(&[f32::NAN], &mut weight);
    assert!(weight[0].is_nan(), "what is no number has no sign");
}

#[test]
fn gradient_of_a_field() {
    check(
        &[column(1), positive(2), column(3), column(4)],
        |c| {
            let [mean, variance, by_variance, g] = c else { unreachable!() };
            field_gradient(1.7, mean, variance, by_variance, g);
        },
        |x, _| {
            let factor = f64::from(1.7_f32) * x[1];
            let size = factor * x[3].abs().max((x[0] * x[2]).abs());
            Exact(vec![x[0], x[1], x[2], factor * (x[3] - x[0] * x[2])], size)
        },
    );
}

#[test]
fn regularisers() {
    let (c, beta) = (0.3_f32, 1.7_f32);
    let (wide_c, wide_beta) = (f64::from(c), f64::from(beta));
    check(
        &[column(1), column(2)],
        |x| {
            let [kept, g] = x else { unreachable!() };
            add_scaled(c, kept, g);
        },
        |x, _| Exact(vec![x[0], x[1] + wide_c * x[0]], x[1].abs()),
    );
    check(
        &[column(1), positive(2), column(3), column(4)],
        |x| {
            let [theta, variance, anchor, g] = x else { unreachable!() };
            add_divergence(c, beta, theta, variance, anchor, g);
        },
        |x, _| {
            let factor = wide_c * wide_beta * x[1];
            let size = (factor * wide_beta * x[0]).abs().max((factor * x[2]).abs());
            let sum = x[3] + factor * (wide_beta * x[0] - x[2]);
            Exact(vec![x[0], x[1], x[2], sum], size.max(x[3].abs()))
        },
    );
    check(
        &[column(1), column(2), column(3)],
        |x| {
            let [theta, anchor, g] = x else { unreachable!() };
            add_quadratic(c, beta, theta, anchor, g);
        },
        |x, _| {
            let factor = wide_c * wide_beta * variance(x[1]);
            let size = (factor * wide_beta * x[0]).abs().max((factor * x[1]).abs());
            // The variance stops at 1e-37, far below what counts.
            let sum = x[2] + factor * (wide_beta * x[0] - x[1]);
            Exact(vec![x[0], x[1], sum], size.max(x[2].abs()).max(1e-28))
        },
    );
    check(
        &[column(1), positive(2), column(3), column(4)],
        |x| {
            let [theta, fisher, pull, g] = x else { unreachable!() };
            add_elastic(c, theta, fisher, pull, g);
        },
        |x, _| {
            let size = wide_c * (x[1] * x[0]).abs().max(x[2].abs());
            let sum = x[3] + wide_c * (x[1] * x[0] - x[2]);
            Exact(vec![x[0], x[1], x[2], sum], size.max(x[3].abs()))
        },
    );
    check(
        &[positive(1), column(2), column(3)],
        |x| {
            let [variance, step, kept] = x else { unreachable!() };
            keep(beta, variance, step, kept);
        },
        |x, _| Exact(vec![x[0], x[1], -wide_beta * wide_beta * x[0] * x[1]], 0.0),
    );
}

const ADAM: AdamStep =
    AdamStep { rate: 0.02, spread: 3.0, b1: 0.9, b2: 0.99, epsilon: 1e-8, negligible: NEGLIGIBLE };

#[test]
fn steps_of_adam() {
    let columns = [column(1), positive(2), column(3)];
    check(
        &columns,
        |c| {
            let [first, second, g] = c else { unreachable!() };
            adam(&ADAM, first, second, g);
        },
        |x, _| {
            let [b1, b2] = [ADAM.b1, ADAM.b2].map(f64::from);
            let (old, new) = (b1 * x[0], (1.0 - b1) * x[2]);
            let second = b2 * x[1] + (1.0 - b2) * x[2] * x[2];
            // What is below 1e-18 counts as nothing.
            Exact(vec![old + new, second], old.abs().max(new.abs()).max(1e-12))
        },
    );
    let [mut first, mut second, mut step] = columns;
    adam(&ADAM, &mut first, &mut second, &mut step);
    for ((first, second), step) in first.into_iter().zip(second).zip(step) {
        let root = f64::from(second).sqrt() * f64::from(ADAM.spread) + f64::from(ADAM.epsilon);
        let exact = f64::from(ADAM.rate) * f64::from(first) / root;
        assert!((f64::from(step) - exact).abs() <= 1e-6 * exact.abs(), "{first} {second}: {step}");
    }
}

#[test]
fn moments_of_adam_decay_to_zero_and_not_to_subnormal_numbers() {
    let (mut first, mut second) = (vec![1e-3; 40], vec![1e-6; 40]);
    for _ in 0..20_000 {
        let mut g = vec![0.0; 40];
        adam(&ADAM, &mut first, &mut second, &mut g);
        let fine = |x: &f32| *x == 0.0 || x.is_normal();
        assert!(first.iter().chain(&second).chain(&g).all(fine));
    }
    assert!(first.iter().chain(&second).all(|&x| x == 0.0));
}

#[test]
fn consolidation_damps_what_shrinks_a_weight() {
    let m = 0.7_f32;
    check(
        &[column(1), column(2)],
        |c| {
            let [theta, step] = c else { unreachable!() };
            consolidate(m, theta, step);
        },
        |x, narrow| {
            let shrinks = if x[0] < 0.0 { x[1] < 0.0 } else { x[1] > 0.0 };
            let factor = if shrinks { variance(f64::from(m * narrow[0])) } else { 1.0 };
            // The factor stops at 1e-37.
            Exact(vec![x[0], x[1] * factor], 1e-28)
        },
    );
}

#[test]
fn samples_of_preactivations() {
    check(
        &[column(1), positive(2), column(3)],
        |c| {
            let [mean, variance, noise] = c else { unreachable!() };
            perturb(mean, variance, noise);
        },
        |x, _| {
            let v = x[1].sqrt();
            let ratio = if x[1] > 0.0 { x[2] / v } else { 0.0 };
            Exact(vec![x[0] + x[2] * v, x[1], ratio], x[0].abs())
        },
    );
}

#[test]
fn activations_and_their_derivatives() {
    check(&[column(1)], |c| rectify(&mut c[0]), |x, _| Exact(vec![x[0].max(0.0)], 0.0));
    let mut h = [f32::NAN];
    rectify(&mut h);
    assert!(h[0].is_nan(), "what is no number stays that");
    check(
        &[column(1), column(2)],
        |c| {
            let [h, g] = c else { unreachable!() };
            mask_rectified(h, g);
        },
        |x, _| Exact(vec![x[0], if x[0] > 0.0 { x[1] } else { 0.0 }], 0.0),
    );
    check(
        &[column(1), column(2)],
        |c| {
            let [z, g] = c else { unreachable!() };
            mask_sign(z, g);
        },
        |x, _| Exact(vec![x[0], if x[0].abs() <= 1.0 { x[1] } else { 0.0 }], 0.0),
    );
}

#[test]
fn sums_and_products() {
    check(
        &[column(1), column(2), column(3)],
        |c| {
            let [by_variance, h, by_mean] = c else { unreachable!() };
            join(by_variance, h, by_mean);
        },
        |x, _| Exact(vec![x[0], x[1], x[2] + x[0] * x[1]], x[2].abs()),
    );
    check(
        &[column(1), column(2), column(3)],
        |c| {
            let [x, y, out] = c else { unreachable!() };
            product(x, y, out);
        },
        |x, _| Exact(vec![x[0], x[1], x[0] * x[1]], 1e-36),
    );
    check(
        &[column(1), column(2)],
        |c| {
            let [x, out] = c else { unreachable!() };
            square(x, out);
        },
        |x, _| Exact(vec![x[0], x[0] * x[0]], 1e-36),
    );
    check(
        &[column(1), column(2)],
        |c| {
            let [step, theta] = c else { unreachable!() };
            subtract(step, theta);
        },
        |x, _| Exact(vec![x[0], x[1] - x[0]], x[0].abs()),
    );
    check(
        &[column(1)],
        |c| scale(0.3, &mut c[0]),
        |x, _| Exact(vec![f64::from(0.3_f32) * x[0]], 0.0),
    );
}

#[test]
fn wide_instructions_give_the_bits_of_plain_code() {
    // This function is compiled for any processor, the kernels for the one at hand: they would
    // differ if a product and a sum were fused.
    let (theta, step) = (column(1), column(2));
    let (mut mean, mut deviation) = (column(3), column(4));
    moments(1.3, &theta, &mut mean, &mut deviation);
    let mut damped = step.clone();
    consolidate(0.8, &theta, &mut damped);
    let (mut first, mut second, mut moved) = (column(5), positive(6), step.clone());
    adam(&ADAM, &mut first, &mut second, &mut moved);
    let mut g = column(7);
    add_divergence(0.3, 1.3, &theta, &deviation, &step, &mut g);
    let (old_first, old_second, old_g) = (column(5), positive(6), column(7));
    for i in 0..COUNT {
        let (t, s) = (theta[i], step[i]);
        let (m, v) = tanh_and_variance(1.3 * t);
        let v = if v < NEGLIGIBLE { 0.0 } else { v };
        assert_eq!((mean[i].to_bits(), deviation[i].to_bits()), (m.to_bits(), v.to_bits()));

        let shrinks = if t < 0.0 { s < 0.0 } else { s > 0.0 };
        let factor = if shrinks { tanh_and_variance(0.8 * t).1 } else { 1.0 };
        assert_eq!(damped[i].to_bits(), (s * factor).to_bits(), "{t} {s}");

        let sum = old_g[i] + 0.3 * 1.3 * v * (1.3 * t - s);
        assert_eq!(g[i].to_bits(), sum.to_bits(), "{t} {s}");

        let s = if s.abs() < NEGLIGIBLE { 0.0 } else { s };
        let mean = ADAM.b1 * old_first[i] + (1.0 - ADAM.b1) * s;
        let mean = if mean.abs() < NEGLIGIBLE { 0.0 } else { mean };
        let square = ADAM.b2 * old_second[i] + (1.0 - ADAM.b2) * (s * s);
        let square = if square < NEGLIGIBLE * NEGLIGIBLE { 0.0 } else { square };
        let exact = ADAM.rate * mean / (square.sqrt() * ADAM.spread + ADAM.epsilon);
        assert_eq!(first[i].to_bits(), mean.to_bits());
        assert_eq!(second[i].to_bits(), square.to_bits());
        assert_eq!(moved[i].to_bits(), exact.to_bits(), "{s}");
    }
}
