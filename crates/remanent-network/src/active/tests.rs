//! The sums against their definition, in double precision.

use remanent_math::philox::Stream;

use super::*;

fn normals(index: u32, count: usize) -> Vec<f32> {
    let mut x = vec![0.0; count];
    Stream::new(4, 1, 5, index).fill_normals(0, &mut x);
    x
}

/// Numbers of which about one in `every` is not zero.
fn sparse(index: u32, count: usize, every: usize) -> Vec<f32> {
    let mut x = normals(index, count);
    for (i, x) in x.iter_mut().enumerate() {
        *x = if (i * 7 + i / 13) % every == 0 { *x } else { 0.0 };
    }
    x
}

#[test]
fn sums_over_active_inputs_are_those_over_all() {
    for instructions in Instructions::all() {
        sums_are_those_over_all(Active::with(Some(instructions)));
    }
}

fn sums_are_those_over_all(mut active: Active) {
    for (inputs, outputs) in [(1, 32), (15, 33), (63, 64), (64, 65), (65, 100), (200, 130)] {
        for (batch, every) in [(2, 2), (17, 3), (64, 5), (65, 2), (130, 9)] {
            let (mean, variance) = (normals(1, inputs * outputs), normals(2, inputs * outputs));
            let h = sparse(3, inputs * batch, every);
            let weights =
                Weights { outputs, mean: &mean, variance: &variance, factors: (0.7, 0.3) };
            let [mut first, mut second] = [(); 2].map(|()| vec![f32::NAN; outputs * batch]);
            let done = active.forward(weights, batch, &h, (&mut first, &mut second));
            assert!(done, "{inputs} {outputs} {batch}");
            for j in 0..outputs {
                for b in 0..batch {
                    let sum = |w: &[f32], power: i32| -> (f64, f64) {
                        let terms = (0..inputs).map(|i| {
                            f64::from(w[i * outputs + j]) * f64::from(h[i * batch + b]).powi(power)
                        });
                        terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()))
                    };
                    for (found, (w, power, scale)) in [
                        (first[j * batch + b], (&mean, 1, 0.7_f32)),
                        (second[j * batch + b], (&variance, 2, 0.3)),
                    ] {
                        let (sum, size) = sum(w, power);
                        let error = f64::from(found) - f64::from(scale) * sum;
                        // Each of the terms rounds once, and the factors twice.
                        let bound = f64::from(f32::EPSILON) * size * (inputs + 2) as f64;
                        assert!(error.abs() <= bound, "{found} {sum}");
                    }
                }
            }
        }
    }
}

#[test]
fn dense_inputs_and_few_outputs_are_left_to_the_product() {
    let mut active = Active::default();
    let mut forward = |inputs: usize, outputs: usize, h: &[f32]| {
        let w = vec![1.0; inputs * outputs];
        let weights = Weights { outputs, mean: &w, variance: &w, factors: (1.0, 1.0) };
        let [mut first, mut second] = [(); 2].map(|()| vec![0.0; outputs * 4]);
        active.forward(weights, 4, h, (&mut first, &mut second))
    };
    assert!(!forward(64, 64, &[1.0; 64 * 4]));
    assert!(!forward(64, 10, &[0.0; 64 * 4]));
    assert_eq!(forward(64, 64, &[0.0; 64 * 4]), Instructions::best().is_some());
}

/// `found` against a sum of terms in double precision. Each of the terms rounds once, and the factor twice.
fn assert_sum(found: f32, scale: f32, terms: impl Iterator<Item = f64>) {
    let mut count = 2.0;
    let (mut sum, mut size) = (0.0, 0.0);
    for term in terms {
        sum += term;
        size += term.abs();
        count += 1.0;
    }
    let bound = f64::from(f32::EPSILON) * size * count;
    assert!((f64::from(found) - f64::from(scale) * sum).abs() <= bound, "{found} {sum}");
}

#[test]
fn weights_without_variance_have_the_sums_and_gradients_of_the_definition() {
    for instructions in Instructions::all().map(Some) {
        let gradient = gradient::Gradient::with(instructions);
        sums_and_gradients_are_those_of_the_definition(Active::with(instructions), gradient);
    }
}

fn sums_and_gradients_are_those_of_the_definition(
    mut active: Active,
    mut gradient: gradient::Gradient,
) {
    for (inputs, outputs) in [(1, 32), (15, 65), (63, 127), (64, 128), (65, 129), (130, 300)] {
        for (batch, every) in [(2, 2), (17, 3), (64, 5), (65, 2), (130, 9)] {
            let (weights, k) = (normals(1, inputs * outputs), normals(2, outputs * batch));
            let h = sparse(3, inputs * batch, every);
            let term = |x: f32, y: f32| f64::from(x) * f64::from(y);

            let mut z = vec![f32::NAN; outputs * batch];
            let fixed = Fixed { outputs, weights: &weights, factor: 0.7 };
            assert!(active.forward_fixed(fixed, batch, &h, &mut z), "{inputs} {outputs} {batch}");
            for (at, &found) in z.iter().enumerate() {
                let (j, b) = (at / batch, at % batch);
                let of = |i: usize| term(weights[i * outputs + j], h[i * batch + b]);
                assert_sum(found, 0.7, (0..inputs).map(of));
            }

            gradient.set(batch, &h, &k);
            assert!(gradient.is_faster(), "{inputs} {outputs} {batch}");
            // From the second neuron on, if there is one.
            let first = 1.min(inputs - 1);
            let mut g = vec![f32::NAN; (inputs - first) * outputs];
            gradient.rows(first, 0.7, &h[first * batch..], &mut g);
            for (at, &found) in g.iter().enumerate() {
                let (i, j) = (first + at / outputs, at % outputs);
                let of = |b: usize| term(h[i * batch + b], k[j * batch + b]);
                assert_sum(found, 0.7, (0..batch).map(of));
            }
        }
    }
}

#[test]
fn gradients_of_dense_or_few_neurons_are_left_to_the_product() {
    let mut gradient = gradient::Gradient::default();
    let mut is_faster = |h: f32, outputs: usize| {
        gradient.set(4, &[h; 64 * 4], &vec![1.0; outputs * 4]);
        gradient.is_faster()
    };
    assert!(!is_faster(1.0, 64));
    assert!(!is_faster(0.0, 10));
    assert_eq!(is_faster(0.0, 64), Instructions::best().is_some());
}
