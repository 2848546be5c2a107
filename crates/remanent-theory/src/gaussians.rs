//! Sums of many Gaussians of one width, in each of many fields.
//!
//! Their centres are the nodes of panels. In units of the width, let d be the distance of a field from the middle of a
//! panel, and s that of a node:
//!
//! ```text
//! e^{−(d − s)²/2} = e^{−d²/2} · e^{−s²/2} · e^{ds}
//! ```
//!
//! So the nodes of a panel together are e^{−d²/2} times a power series in d, whose coefficients are the same in all
//! fields: one exponential instead of one for each node. Where d times half the length of the panel is large, its terms
//! would cancel; there the Gaussians are added one by one.

use remanent_math::{elementary, multiversioned};

/// Fields treated at once.
const LANES: usize = 16;
/// How many power series of d⁴ the series of d is made of: they are summed next to each other.
const WAYS: usize = 4;
/// The largest d · s for which the first 8, 12, 16, … terms of e^{ds} are enough: what is left is below 1e-17.
const LARGEST: [f64; 10] = [0.0282, 0.202, 0.588, 1.17, 1.91, 2.79, 3.76, 4.81, 5.92, 7.08];
const FEWEST_TERMS: usize = 8;
const MOST_TERMS: usize = FEWEST_TERMS + WAYS * (LARGEST.len() - 1);
/// In fewer fields than this, Gaussians are added one by one.
const FEW: usize = 8;

/// How many terms are enough up to this d · s; none if the terms would cancel.
#[inline(always)]
fn terms(product: f64) -> Option<usize> {
    let enough = LARGEST.iter().position(|largest| product <= *largest)?;
    Some(FEWEST_TERMS + WAYS * enough)
}

/// The coefficients of the powers of d, for masses at distances `s` from the middle of a panel.
#[inline(always)]
fn coefficients<const NODES: usize>(
    s: &[f64; NODES],
    masses: &[f64],
    count: usize,
) -> [f64; MOST_TERMS] {
    let mut power = [0.0; NODES];
    for j in 0..NODES {
        power[j] = masses[j] * elementary::exp(-0.5 * s[j] * s[j]);
    }
    let mut coefficients = [0.0; MOST_TERMS];
    for (k, coefficient) in coefficients[..count].iter_mut().enumerate() {
        *coefficient = sum_of(power);
        let next = 1.0 / (k as f64 + 1.0);
        for j in 0..NODES {
            power[j] *= s[j] * next;
        }
    }
    coefficients
}

multiversioned! {
    /// Σ_k masses[k] e^{−(centre_k − at)²/2} at each of the rising places `at`, added to `sums`. Centres rise, and each
    /// `NODES` of them are those of a panel, which are symmetric around its middle; panels that are
    /// farther than `reach` from a place do not matter there.
    pub(crate) fn add_panels<const NODES: usize>(
        centres: &[f64],
        masses: &[f64],
        reach: f64,
        at: &[f64],
        sums: &mut [f64],
    ) {
        let panels = centres.chunks_exact(NODES).zip(masses.chunks_exact(NODES));
        let (mut from, mut to) = (0, 0);
        for (centres, masses) in panels {
            let (first, last) = (centres[0], centres[NODES - 1]);
            from += at[from..].iter().take_while(|at| **at < first - reach).count();
            to += at[to..].iter().take_while(|at| **at <= last + reach).count();
            let (middle, half) = (0.5 * (first + last), 0.5 * (last - first));
            let mut s = [0.0; NODES];
            for j in 0..NODES {
                s[j] = centres[j] - middle;
            }
            // The coefficients, as many as the farthest block so far has needed.
            let (mut series, mut known) = ([0.0; MOST_TERMS], 0);
            let mut start = from;
            while start < to {
                let end = (start + LANES).min(to);
                let farthest = (at[start] - middle).abs().max((at[end - 1] - middle).abs());
                let count = if to - from < FEW { None } else { terms(half * farthest) };
                let Some(count) = count else {
                    for (at, sum) in at[start..end].iter().zip(&mut sums[start..end]) {
                        *sum += one_by_one::<NODES>(&s, masses, at - middle);
                    }
                    start = end;
                    continue;
                };
                if count > known {
                    (series, known) = (coefficients::<NODES>(&s, masses, count), count);
                }
                let mut d = [0.0; LANES];
                for (d, at) in d.iter_mut().zip(&at[start..end]) {
                    *d = at - middle;
                }
                let values = block(&series[..count], &d);
                for (sum, value) in sums[start..end].iter_mut().zip(values) {
                    *sum += value;
                }
                start = end;
            }
        }
    }
}

/// e^{−d²/2} times the series.
#[inline(always)]
fn block(series: &[f64], d: &[f64; LANES]) -> [f64; LANES] {
    let mut d4 = [0.0; LANES];
    for i in 0..LANES {
        let d2 = d[i] * d[i];
        d4[i] = d2 * d2;
    }
    let mut parts = [[0.0; LANES]; WAYS];
    for four in series.chunks_exact(WAYS).rev() {
        for (part, coefficient) in parts.iter_mut().zip(four) {
            for i in 0..LANES {
                part[i] = part[i] * d4[i] + coefficient;
            }
        }
    }
    let mut values = [0.0; LANES];
    for i in 0..LANES {
        let (d, d2) = (d[i], d[i] * d[i]);
        let series = (parts[0][i] + d * parts[1][i]) + d2 * (parts[2][i] + d * parts[3][i]);
        values[i] = elementary::exp(-0.5 * d2) * series;
    }
    values
}

/// The sum over the nodes of a panel in one field.
#[inline(always)]
fn one_by_one<const NODES: usize>(s: &[f64; NODES], masses: &[f64], d: f64) -> f64 {
    let mut terms = [0.0; NODES];
    for j in 0..NODES {
        let z = s[j] - d;
        terms[j] = masses[j] * elementary::exp(-0.5 * z * z);
    }
    sum_of(terms)
}

/// The sum, half of the terms added to the other half at once, and so on.
#[inline(always)]
pub(crate) fn sum_of<const NODES: usize>(mut terms: [f64; NODES]) -> f64 {
    let mut left = NODES;
    while left > 1 {
        let half = left.div_ceil(2);
        for j in half..left {
            terms[j - half] += terms[j];
        }
        left = half;
    }
    terms[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panels from much shorter to longer than a Gaussian, with all mass at one end or spread out, from near and from far.
    #[test]
    fn series_and_single_gaussians_give_the_same() {
        const NODES: usize = 5;
        let at: Vec<f64> = (-600..600).map(|k| 0.02 * f64::from(k)).collect();
        for half in [0.001, 0.1, 0.5, 0.9, 2.5] {
            let centres = [-1.0, -0.6, 0.0, 0.6, 1.0].map(|x| 1.3 + half * x);
            for masses in [[0.1, 0.2, 0.4, 0.2, 0.1], [1.0, 0.0, 0.0, 0.0, 0.0]] {
                let mut sums = vec![0.0; at.len()];
                add_panels::<NODES>(&centres, &masses, 20.0, &at, &mut sums);
                for (at, sum) in at.iter().zip(&sums) {
                    let gaussians = centres.iter().zip(masses);
                    let exact: f64 =
                        gaussians.map(|(c, m)| m * (-0.5 * (c - at).powi(2)).exp()).sum();
                    assert!((sum / exact - 1.0).abs() < 2e-10, "{half} {at}: {sum} {exact}");
                    let near = (at - 1.3).abs() < 4.0 && half < 0.6;
                    assert!(!near || (sum / exact - 1.0).abs() < 1e-13, "{half} {at}: {sum}");
                }
            }
        }
    }
}
