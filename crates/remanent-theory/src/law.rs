//! A law of θ on panels: what a task hands to the next one.
//!
//! The density of θ may have features of any width: a hundredth where a weight
//! is held by a strong entropy or by a large stiffness, half a unit where it is
//! free, and nothing between two narrow peaks. Gauss–Legendre panels cover the
//! places where there is mass, each as long as the density is smooth there. On a
//! panel the density is a polynomial as well as a set of masses: a Gaussian
//! wider than the panels is folded with the masses, a narrower one with the
//! polynomials.

use remanent_math::multiversioned;
use std::sync::LazyLock;

use remanent_math::{elementary, legendre};

use crate::gaussians::{add_panels, sum_of};

/// Nodes of a panel.
pub const NODES: usize = 16;
/// Values treated at once.
const LANES: usize = 16;
/// Panels up to this many widths of a Gaussian are folded with it by their masses.
const FOLDED: f64 = 5.0;
/// Panels are merged up to this many widths of a Gaussian. Nodes with the same sixteen moments then stand for all
/// masses to 1e-8 even ten widths away.
const MERGED: f64 = 1.0;
/// How many widths of a Gaussian that is folded with polynomials matter. Beyond are e^{−84} of the mass, which is little next
/// to the rarest weights with the wrong sign that count.
const NARROW_REACH: f64 = 13.0;

static LEGENDRE: LazyLock<([f64; NODES], [f64; NODES])> = LazyLock::new(legendre::rule::<NODES>);

/// (2k + 1)/2 · P_k(x_j) · w_j: from values at the nodes to Legendre coefficients.
static TRANSFORM: LazyLock<[[f64; NODES]; NODES]> = LazyLock::new(|| {
    let (nodes, weights) = &*LEGENDRE;
    let mut transform = [[0.0; NODES]; NODES];
    for j in 0..NODES {
        let (mut p, mut before) = (1.0, 0.0);
        for (k, row) in transform.iter_mut().enumerate() {
            row[j] = (k as f64 + 0.5) * p * weights[j];
            (p, before) = (legendre_after(k, nodes[j], p, before), p);
        }
    }
    transform
});

/// P_{k+1}(x) from P_k and P_{k−1}.
#[inline(always)]
fn legendre_after(k: usize, x: f64, p: f64, before: f64) -> f64 {
    let order = k as f64;
    ((2.0 * order + 1.0) * x * p - order * before) / (order + 1.0)
}

/// An interval of θ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Panel {
    /// Its middle.
    pub middle: f64,
    /// Half its length.
    pub half: f64,
    /// On what scale the density changes there.
    pub scale: f64,
}

impl Panel {
    /// The nodes.
    pub fn thetas(&self) -> [f64; NODES] {
        LEGENDRE.0.map(|x| self.middle + self.half * x)
    }

    /// Quadrature weights.
    pub fn weights(&self) -> [f64; NODES] {
        LEGENDRE.1.map(|w| self.half * w)
    }

    /// The half length, in units of that of the panel, of its inner part: of what lies farther from its ends than a
    /// Gaussian whose mean is near one of them reaches. Negative if there is none.
    fn inner(&self, width: f64) -> f64 {
        1.0 - 2.0 * NARROW_REACH * width / self.half
    }

    /// Masses at the nodes that have the moments of those at `places` on the panel, for several laws.
    pub fn gathered(&self, places: &[f64], laws: &[&[f64]]) -> Vec<[f64; NODES]> {
        let x: Vec<f64> = places.iter().map(|place| (place - self.middle) / self.half).collect();
        let mut polynomials = vec![[0.0; NODES]; x.len()];
        all_legendre(&x, &mut polynomials);
        let masses = |law: &&[f64]| {
            let moments = moments(law, &polynomials);
            std::array::from_fn(|j| (0..NODES).map(|k| TRANSFORM[k][j] * moments[k]).sum::<f64>())
        };
        laws.iter().map(masses).collect()
    }

    /// The two halves.
    pub fn halves(&self) -> [Self; 2] {
        let half = 0.5 * self.half;
        [-half, half].map(|moved| Self { middle: self.middle + moved, half, ..*self })
    }

    /// The same on the other side of 0.
    pub fn mirrored(&self) -> Self {
        Self { middle: -self.middle, ..*self }
    }
}

multiversioned! {
    /// P_k(x) for k from 0 at each x.
    fn all_legendre(x: &[f64], polynomials: &mut [[f64; NODES]]) {
        for (x, rows) in x.chunks(LANES).zip(polynomials.chunks_mut(LANES)) {
            let (mut at, mut p, mut before) = ([0.0; LANES], [1.0; LANES], [0.0; LANES]);
            at[..x.len()].copy_from_slice(x);
            for k in 0..NODES {
                for (row, p) in rows.iter_mut().zip(&p) {
                    row[k] = *p;
                }
                for i in 0..LANES {
                    (p[i], before[i]) = (legendre_after(k, at[i], p[i], before[i]), p[i]);
                }
            }
        }
    }

    /// Σ masses · P_k for each k.
    fn moments(masses: &[f64], polynomials: &[[f64; NODES]]) -> [f64; NODES] {
        let mut moments = [0.0; NODES];
        for (mass, polynomials) in masses.iter().zip(polynomials) {
            for k in 0..NODES {
                moments[k] += mass * polynomials[k];
            }
        }
        moments
    }
}

/// Legendre coefficients of the polynomial with these values at the nodes.
pub fn coefficients(values: &[f64]) -> [f64; NODES] {
    let transform = &*TRANSFORM;
    std::array::from_fn(|k| transform[k].iter().zip(values).map(|(t, v)| t * v).sum())
}

/// Panels in rising order, which do not overlap.
#[derive(Clone, Debug, Default)]
pub struct Panels {
    /// The panels.
    pub panels: Vec<Panel>,
    /// Their nodes.
    pub thetas: Vec<f64>,
}

impl Panels {
    /// Panels given in rising order.
    pub fn new(panels: Vec<Panel>) -> Self {
        let thetas = panels.iter().flat_map(Panel::thetas).collect();
        Self { panels, thetas }
    }

    /// No panel, and one node at 0, where all the mass is.
    pub fn at_zero() -> Self {
        Self { panels: vec![], thetas: vec![0.0] }
    }

    /// The length of the longest panel.
    fn longest(&self) -> f64 {
        self.panels.iter().fold(0.0, |m, p| f64::max(m, 2.0 * p.half))
    }

    /// The finest scale on which the density changes.
    pub fn finest(&self) -> f64 {
        self.panels.iter().fold(0.5, |m, p| f64::min(m, p.scale))
    }

    /// Intervals of θ that are covered, in rising order, neighbours joined.
    pub fn intervals(&self) -> Vec<(f64, f64)> {
        let mut intervals: Vec<(f64, f64)> = Vec::new();
        for p in &self.panels {
            let (from, to) = (p.middle - p.half, p.middle + p.half);
            match intervals.last_mut() {
                Some(last) if from - last.1 < 1e-9 * (1.0 + to.abs()) => last.1 = to,
                _ => intervals.push((from, to)),
            }
        }
        intervals
    }

    /// Legendre coefficients of the density that has `masses` at the nodes.
    pub fn densities(&self, masses: &[f64]) -> Vec<[f64; NODES]> {
        self.panels
            .iter()
            .zip(masses.chunks_exact(NODES))
            .map(|(panel, masses)| {
                let weights = panel.weights();
                let values: [f64; NODES] = std::array::from_fn(|j| masses[j] / weights[j]);
                coefficients(&values)
            })
            .collect()
    }

    /// Whether a Gaussian of this width in θ is folded with the masses.
    pub fn folds_masses(&self, width: f64) -> bool {
        self.longest() <= FOLDED * width
    }

    /// The densities of a field at each of `fields`, by several laws with masses at the nodes: the Gaussians are
    /// computed once.
    pub fn fold_all_masses(
        &self,
        columns: &[&[f64]],
        field: &Field,
        reach: f64,
        fields: &[f64],
    ) -> Vec<Vec<f64>> {
        let centres = centres(&self.thetas, field);
        let mut densities = vec![vec![0.0; fields.len()]; columns.len()];
        let mut out: Vec<&mut [f64]> = densities.iter_mut().map(Vec::as_mut_slice).collect();
        fold(&centres, columns, field.deviation, reach, fields, &mut out);
        densities
    }

    /// Fewer nodes and masses that are as good as `masses` at the nodes of the panels where they are folded with a
    /// Gaussian of at least this width: neighbouring panels are merged as long as the Gaussian is smooth on them.
    pub fn merged(&self, masses: &[f64], width: f64) -> (Vec<f64>, Vec<f64>) {
        let ends = |p: &Panel| (p.middle - p.half, p.middle + p.half);
        let (mut thetas, mut merged) = (vec![], vec![]);
        let mut from = 0;
        while from < self.panels.len() {
            let (low, mut high) = ends(&self.panels[from]);
            let mut to = from + 1;
            while to < self.panels.len() && ends(&self.panels[to]).1 - low <= MERGED * width {
                high = ends(&self.panels[to]).1;
                to += 1;
            }
            let nodes = from * NODES..to * NODES;
            if to == from + 1 {
                thetas.extend(&self.thetas[nodes.clone()]);
                merged.extend(&masses[nodes]);
            } else {
                let panel =
                    Panel { middle: 0.5 * (low + high), half: 0.5 * (high - low), scale: 0.0 };
                thetas.extend(panel.thetas());
                let places = &self.thetas[nodes.clone()];
                merged.extend(panel.gathered(places, &[&masses[nodes]]).concat());
            }
            from = to;
        }
        (thetas, merged)
    }

    /// The same by the polynomials of each law, for a Gaussian narrower than some panels, also where the density ends with
    /// a jump.
    pub fn fold_densities(
        &self,
        laws: &[&[[f64; NODES]]],
        field: &Field,
        fields: &[f64],
    ) -> Vec<Vec<f64>> {
        let mut densities = vec![vec![0.0; fields.len()]; laws.len()];
        let mut out: Vec<&mut [f64]> = densities.iter_mut().map(Vec::as_mut_slice).collect();
        interpolate(&self.panels, laws, field, fields, &mut out);
        densities
    }
}

/// The density of a field at each of the rising `fields`, by masses at rising nodes θ, each [`NODES`] of them those of a
/// panel; Gaussians are cut about `reach` standard deviations from their mean.
pub fn fold_nodes(
    thetas: &[f64],
    masses: &[f64],
    field: &Field,
    reach: f64,
    fields: &[f64],
    density: &mut [f64],
) {
    let at: Vec<f64> = fields.iter().map(|b| b / field.deviation).collect();
    density.fill(0.0);
    add_panels::<NODES>(&centres(thetas, field), masses, reach, &at, density);
    let norm = 1.0 / (field.deviation * (2.0 * std::f64::consts::PI).sqrt());
    density.iter_mut().for_each(|d| *d *= norm);
}

/// The mean fields at nodes θ, in units of the deviation.
fn centres(thetas: &[f64], field: &Field) -> Vec<f64> {
    let Field { mean, coupling, deviation } = *field;
    thetas.iter().map(|t| (mean + coupling * t) / deviation).collect()
}

/// A field that depends on θ: mean + coupling · θ + deviation · z with a Gaussian z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// The part that is the same for all.
    pub mean: f64,
    /// The factor of θ.
    pub coupling: f64,
    /// The width of the Gaussian.
    pub deviation: f64,
}

multiversioned! {
    /// Σ_k masses[k] N(field; centre_k, deviation²) at every field, for each column of masses; centres
    /// are in units of the deviation, in rising order.
    fn fold(
        centres: &[f64],
        columns: &[&[f64]],
        deviation: f64,
        reach: f64,
        fields: &[f64],
        densities: &mut [&mut [f64]],
    ) {
        let norm = 1.0 / (deviation * (2.0 * std::f64::consts::PI).sqrt());
        let mut gaussians = vec![0.0; centres.len()];
        for (k, field) in fields.iter().enumerate() {
            let at = field / deviation;
            let from = centres.partition_point(|c| *c < at - reach);
            let to = from + centres[from..].partition_point(|c| *c <= at + reach);
            let gaussians = &mut gaussians[from..to];
            for (gaussian, c) in gaussians.iter_mut().zip(&centres[from..to]) {
                let z = c - at;
                *gaussian = elementary::exp(-0.5 * z * z);
            }
            for (density, masses) in densities.iter_mut().zip(columns) {
                density[k] = product(&masses[from..to], gaussians) * norm;
            }
        }
    }
}

/// Σ a b, in lanes.
#[inline(always)]
fn product(a: &[f64], b: &[f64]) -> f64 {
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let mut total = 0.0;
    for (x, y) in a_chunks.remainder().iter().zip(b_chunks.remainder()) {
        total += x * y;
    }
    let mut sums = [0.0; LANES];
    for (x, y) in a_chunks.zip(b_chunks) {
        for i in 0..LANES {
            sums[i] += x[i] * y[i];
        }
    }
    total + sum_of(sums)
}

/// D² on Legendre coefficients: column k has the coefficients of P_k''.
static SECOND_DERIVATIVE: LazyLock<[[f64; NODES]; NODES]> = LazyLock::new(|| {
    // P_k' = Σ (2j + 1) P_j over j = k − 1, k − 3, …
    let first = |j: usize, k: usize| {
        if j < k && (k - j) % 2 == 1 { (2 * j + 1) as f64 } else { 0.0 }
    };
    std::array::from_fn(|j| {
        std::array::from_fn(|k| (0..NODES).map(|i| first(j, i) * first(i, k)).sum())
    })
});

/// The polynomial folded with a Gaussian of this width, in units of half the panel: e^{w²D²/2} g.
fn smoothed(polynomial: &[f64; NODES], width: f64) -> [f64; NODES] {
    let second = &*SECOND_DERIVATIVE;
    let (mut sum, mut term) = (*polynomial, *polynomial);
    for order in 1..NODES / 2 {
        let factor = 0.5 * width * width / order as f64;
        term = std::array::from_fn(|j| {
            factor * (j + 2..NODES).step_by(2).map(|k| second[j][k] * term[k]).sum::<f64>()
        });
        sum = std::array::from_fn(|j| sum[j] + term[j]);
    }
    sum
}

/// The factors of Clenshaw's recurrence for Legendre polynomials: (2k + 1)/(k + 1) and (k + 1)/(k + 2).
const CLENSHAW: [(f64, f64); NODES] = {
    let mut factors = [(0.0, 0.0); NODES];
    let mut k = 0;
    while k < NODES {
        let order = k as f64;
        factors[k] = ((2.0 * order + 1.0) / (order + 1.0), (order + 1.0) / (order + 2.0));
        k += 1;
    }
    factors
};

/// The value of a polynomial at each x, by Clenshaw's recurrence; `coefficient` gives its Legendre coefficients.
#[inline(always)]
fn clenshaw(x: &[f64; LANES], coefficient: impl Fn(usize, usize) -> f64) -> [f64; LANES] {
    let (mut b, mut b_next) = ([0.0; LANES], [0.0; LANES]);
    for k in (0..NODES).rev() {
        let (first, second) = CLENSHAW[k];
        for i in 0..LANES {
            let new = coefficient(i, k) + first * x[i] * b[i] - second * b_next[i];
            b_next[i] = b[i];
            b[i] = new;
        }
    }
    b
}

/// Nodes and masses of each law on the parts of panels that a Gaussian near the end of one sees: all of a short
/// panel, and the two ends of a long one, in pieces no longer than a few widths. Only those pieces that Gaussians around
/// the rising `means` reach.
#[inline(always)]
fn pieces(
    panels: &[Panel],
    laws: &[&[[f64; NODES]]],
    width: f64,
    means: &[f64],
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (nodes, weights) = &*LEGENDRE;
    let (mut thetas, mut masses) = (vec![], vec![vec![]; laws.len()]);
    // The first mean that reaches beyond the last part or piece: both rise.
    let mut next = 0;
    let mut is_reached = |from: f64, to: f64| {
        let reach = (NARROW_REACH + 0.01) * width;
        next += means[next..].iter().take_while(|mean| **mean < from - reach).count();
        means.get(next).is_some_and(|mean| *mean <= to + reach)
    };
    for (index, panel) in panels.iter().enumerate() {
        let inner = panel.inner(width);
        let parts =
            if inner > 0.0 { [(-1.0, -inner), (inner, 1.0)] } else { [(-1.0, 1.0), (1.0, 1.0)] };
        let at = |x: f64| panel.middle + panel.half * x;
        for (low, high) in parts.into_iter().filter(|(low, high)| low < high) {
            if !is_reached(at(low), at(high)) {
                continue;
            }
            let count = ((high - low) * panel.half / (FOLDED * width)).ceil();
            let half = 0.5 * (high - low) / count;
            for piece in 0..count as usize {
                let middle = low + (2.0 * piece as f64 + 1.0) * half;
                if !is_reached(at(middle - half), at(middle + half)) {
                    continue;
                }
                let x = nodes.map(|x| middle + half * x);
                thetas.extend(x.map(at));
                for (masses, law) in masses.iter_mut().zip(laws) {
                    let values = clenshaw(&x, |_, k| law[index][k]);
                    let nodes = values.iter().zip(weights);
                    masses.extend(nodes.map(|(v, w)| v * w * half * panel.half));
                }
            }
        }
    }
    (thetas, masses)
}

multiversioned! {
    /// ∫ dθ g(θ) N(field; mean + coupling θ, deviation²) at every field, where g is a polynomial on each
    /// panel, for several g. If a panel holds the whole Gaussian, that is a polynomial again; otherwise a sum over pieces.
    fn interpolate(
        panels: &[Panel],
        laws: &[&[[f64; NODES]]],
        field: &Field,
        fields: &[f64],
        densities: &mut [&mut [f64]],
    ) {
        let Field { mean, coupling, deviation } = *field;
        let width = deviation / coupling;
        let (mut inside, mut outside) = (vec![], vec![]);
        // The fields outside, and the θ that they are the means of.
        let (mut edge, mut edge_thetas) = (vec![], vec![]);
        // The first panel that does not end before θ: both rise.
        let mut after = 0;
        for (k, field) in fields.iter().enumerate() {
            let theta = (field - mean) / coupling;
            let ends_before = |p: &&Panel| p.middle + p.half < theta;
            after += panels[after..].iter().take_while(ends_before).count();
            let within = |p: &Panel| (theta - p.middle).abs() <= p.half - NARROW_REACH * width;
            match panels.get(after) {
                Some(p) if p.inner(width) > 0.0 && within(p) => {
                    inside.push((k, after, (theta - p.middle) / p.half));
                }
                _ => {
                    outside.push(k);
                    edge.push(*field);
                    edge_thetas.push(theta);
                }
            }
        }
        for (law, density) in laws.iter().zip(densities.iter_mut()) {
            // Those of the panels with fields inside, in the order of the fields: each after the one before.
            let mut smooth: Vec<[f64; NODES]> = vec![];
            let mut last = usize::MAX;
            for chunk in inside.chunks(LANES) {
                let (mut x, mut panel) = ([0.0; LANES], [smooth.len(); LANES]);
                for (i, (_, index, at)) in chunk.iter().enumerate() {
                    if *index != last {
                        smooth.push(smoothed(&law[*index], width / panels[*index].half));
                        last = *index;
                    }
                    (x[i], panel[i]) = (*at, smooth.len() - 1);
                }
                panel[chunk.len()..].fill(smooth.len() - 1);
                let values = clenshaw(&x, |i, k| smooth[panel[i]][k]);
                for ((k, _, _), value) in chunk.iter().zip(values) {
                    density[*k] = (value / coupling).max(0.0);
                }
            }
        }
        if !outside.is_empty() {
            let (thetas, masses) = pieces(panels, laws, width, &edge_thetas);
            let columns: Vec<&[f64]> = masses.iter().map(Vec::as_slice).collect();
            let mut found = vec![vec![0.0; edge.len()]; laws.len()];
            if let [masses] = columns.as_slice() {
                fold_nodes(&thetas, masses, field, NARROW_REACH, &edge, &mut found[0]);
            } else {
                let mut out: Vec<&mut [f64]> = found.iter_mut().map(Vec::as_mut_slice).collect();
                fold(&centres(&thetas, field), &columns, deviation, NARROW_REACH, &edge, &mut out);
            }
            for (found, density) in found.iter().zip(densities.iter_mut()) {
                for (k, value) in outside.iter().zip(found) {
                    density[*k] = value.max(0.0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Gaussian of width 0.5 around 0.3, folded with Gaussians of any width.
    #[test]
    fn both_ways_of_folding_give_the_gaussian_of_the_added_variances() {
        let panels: Vec<Panel> =
            (0..8).map(|k| Panel { middle: -3.5 + f64::from(k), half: 0.5, scale: 0.5 }).collect();
        let panels = Panels::new(panels);
        let gaussian =
            |x: f64, v: f64| (-0.5 * x * x / v).exp() / (2.0 * std::f64::consts::PI * v).sqrt();
        let masses: Vec<f64> = panels
            .panels
            .iter()
            .flat_map(|p| p.thetas().into_iter().zip(p.weights()))
            .map(|(t, w)| w * gaussian(t - 0.3, 0.25))
            .collect();
        let (mean, coupling) = (1.7, 20.0);
        let fields: Vec<f64> = (-30..60).map(f64::from).collect();
        let mut density = vec![0.0; fields.len()];
        for deviation in [1e-3, 0.3, 3.0, 4.5, 30.0] {
            let field = Field { mean, coupling, deviation };
            if panels.folds_masses(deviation / coupling) {
                fold_nodes(&panels.thetas, &masses, &field, 37.0, &fields, &mut density);
            } else {
                let polynomials = panels.densities(&masses);
                density = panels.fold_densities(&[&polynomials], &field, &fields).remove(0);
            }
            let variance = 0.25 * coupling * coupling + deviation * deviation;
            for (b, d) in fields.iter().zip(&density) {
                let exact = gaussian(b - mean - 0.3 * coupling, variance);
                assert!((d - exact).abs() < 2e-12 * gaussian(0.0, variance), "{deviation} {b}");
            }
        }
    }

    /// Two narrow peaks far apart on short panels, folded with Gaussians that are wider than the panels.
    #[test]
    fn merged_panels_are_as_good_as_all() {
        let peak = |k: i32| Panel { middle: 0.02 * f64::from(k), half: 0.01, scale: 0.01 };
        let panels = Panels::new((-60..-20).chain(45..80).map(peak).collect());
        let mass = |theta: &f64| (-0.5 * ((theta.abs() - 1.1) / 0.05).powi(2)).exp();
        let masses: Vec<f64> = panels
            .thetas
            .iter()
            .zip(panels.panels.iter().flat_map(Panel::weights))
            .map(|(t, w)| w * mass(t))
            .collect();
        let fields: Vec<f64> = (-90..90).map(|k| 0.1 * f64::from(k)).collect();
        for width in [0.02, 0.1, 0.5, 3.0] {
            let field = Field { mean: 0.4, coupling: 1.7, deviation: 1.7 * width };
            let (mut all, mut few) = (vec![0.0; fields.len()], vec![0.0; fields.len()]);
            fold_nodes(&panels.thetas, &masses, &field, 10.0, &fields, &mut all);
            let (thetas, merged) = panels.merged(&masses, width);
            fold_nodes(&thetas, &merged, &field, 10.0, &fields, &mut few);
            let largest = all.iter().fold(0.0, |m: f64, d| m.max(*d));
            for (a, b) in all.iter().zip(&few) {
                assert!((a - b).abs() < 1e-14 * largest, "{width} {a} {b}");
            }
            assert!(width < 0.1 || thetas.len() < panels.thetas.len() / 3, "{}", thetas.len());
        }
    }
}
