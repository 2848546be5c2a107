//! Functions of one variable, several at once, by interpolation.
//!
//! Every level of broken replica symmetry is a function of one field. It is
//! computed at the nodes of a clustered grid ([`grid::Spread`]), which are
//! equidistant in the coordinate t of that grid, and looked up in between by
//! Lagrange's polynomial through the nearest [`POINTS`] nodes, as a polynomial in
//! t. A function whose nearest singularity lies d steps off the real axis of t is
//! then known to about 3e4/d^12; the steps of the tables make that 1e-13.

use multiversion::multiversion;
use remanent_math::grid::{Cluster, Spread};

/// Nodes that the interpolating polynomial goes through.
const POINTS: usize = 12;
/// Functions are stored in groups of this many.
pub(super) const GROUP: usize = 4;

/// Values of `columns` functions at the nodes of a grid.
#[derive(Clone, Debug)]
pub(super) struct Table {
    spacing: f64,
    step: f64,
    clusters: Vec<Cluster>,
    /// The coordinate of the first node.
    first: f64,
    /// The abscissae.
    nodes: Vec<f64>,
    /// Number of functions.
    columns: usize,
    /// The same, rounded up to whole groups.
    width: usize,
    rows: Vec<f64>,
}

impl Table {
    /// An empty table over [low, high], of at least [`POINTS`] nodes.
    pub(super) fn new(spread: &Spread, low: f64, high: f64, columns: usize) -> Self {
        let mut nodes = spread.nodes(low, high).x;
        let mut finer = *spread;
        while nodes.len() < POINTS + 2 {
            finer = Spread { spacing: 0.5 * finer.spacing, step: 0.5 * finer.step, ..finer };
            nodes = finer.nodes(low, high).x;
        }
        let first = finer.coordinate(low).ceil();
        let width = columns.div_ceil(GROUP) * GROUP;
        let rows = vec![0.0; width * nodes.len()];
        let clusters = spread.clusters.to_vec();
        Self { spacing: finer.spacing, step: finer.step, clusters, first, nodes, columns, width, rows }
    }

    /// Number of functions.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Distance from one looked-up row to the next.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The abscissae.
    pub(super) fn nodes(&self) -> &[f64] {
        &self.nodes
    }

    /// The row of the functions' values at node `i`.
    pub(super) fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.rows[i * self.width..][..self.columns]
    }

    fn spread(&self) -> Spread<'_> {
        Spread { spacing: self.spacing, step: self.step, clusters: &self.clusters }
    }

    /// The functions' values at each of `x`, as rows of [`Self::width`] numbers.
    /// Beyond its ends the table has the values of its last nodes.
    pub(super) fn look_up(&self, x: &[f64], t: &mut Vec<f64>, rows: &mut Vec<f64>) {
        self.spread().coordinates(x, t);
        rows.clear();
        rows.resize(x.len() * self.width, 0.0);
        let last = (self.nodes.len() - 1) as f64;
        for t in t.iter_mut() {
            *t = (*t - self.first).clamp(0.0, last);
        }
        match self.width {
            4 => interpolate::<4>(&self.rows, t, rows),
            8 => interpolate::<8>(&self.rows, t, rows),
            12 => interpolate::<12>(&self.rows, t, rows),
            width => {
                // Groups of columns one after the other.
                for from in (0..width).step_by(GROUP) {
                    interpolate_group(&self.rows[from..], width, t, &mut rows[from..]);
                }
            }
        }
    }
}

/// (−1)^{P−1−k} / (k! (P−1−k)!): the constant factors of Lagrange's polynomials.
const FACTORS: [f64; POINTS] = {
    let mut factors = [0.0; POINTS];
    let mut k = 0;
    while k < POINTS {
        let mut product = 1.0;
        let mut j = 0;
        while j < POINTS {
            if j != k {
                product *= k as f64 - j as f64;
            }
            j += 1;
        }
        factors[k] = 1.0 / product;
        k += 1;
    }
    factors
};

/// Where the polynomial for coordinate `t` begins, and its weights.
#[inline(always)]
fn weights(t: f64, count: usize) -> (usize, [f64; POINTS]) {
    let base = ((t as usize).max(POINTS / 2 - 1) - (POINTS / 2 - 1)).min(count - POINTS);
    let s = t - base as f64;
    let (mut below, mut above) = ([1.0; POINTS], [1.0; POINTS]);
    for k in 1..POINTS {
        below[k] = below[k - 1] * (s - (k - 1) as f64);
        above[POINTS - 1 - k] = above[POINTS - k] * (s - (POINTS - k) as f64);
    }
    let mut weights = [0.0; POINTS];
    for k in 0..POINTS {
        weights[k] = FACTORS[k] * below[k] * above[k];
    }
    (base, weights)
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn interpolate<const W: usize>(table: &[f64], t: &[f64], rows: &mut [f64]) {
    let count = table.len() / W;
    for (t, row) in t.iter().zip(rows.chunks_exact_mut(W)) {
        let (base, weights) = weights(*t, count);
        let mut sums = [0.0; W];
        for (weight, node) in weights.iter().zip(table[base * W..].chunks_exact(W)) {
            for (sum, value) in sums.iter_mut().zip(node) {
                *sum += weight * value;
            }
        }
        row.copy_from_slice(&sums);
    }
}

fn interpolate_group(table: &[f64], width: usize, t: &[f64], rows: &mut [f64]) {
    let count = table.len().div_ceil(width);
    for (i, t) in t.iter().enumerate() {
        let (base, weights) = weights(*t, count);
        for j in 0..GROUP {
            rows[i * width + j] =
                (0..POINTS).map(|k| weights[k] * table[(base + k) * width + j]).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smooth_functions_are_looked_up_to_thirteen_digits() {
        let clusters = [Cluster { centre: 0.0, scale: 1.4 }];
        let spread = Spread { spacing: 50.0, step: 0.05, clusters: &clusters };
        for columns in [2, 7, 11, 14] {
            let mut table = Table::new(&spread, -40.0, 12.0, columns);
            for (i, x) in table.nodes().to_vec().into_iter().enumerate() {
                let row = table.row_mut(i);
                row.fill(x);
                row[0] = x.tanh();
                row[columns - 1] = 1.0 / (4.0 + x * x);
            }
            let x: Vec<f64> = (0..500).map(|i| -39.9 + 0.1037 * f64::from(i)).collect();
            let (mut t, mut rows) = (vec![], vec![]);
            table.look_up(&x, &mut t, &mut rows);
            for (x, row) in x.iter().zip(rows.chunks(table.width())) {
                assert!((row[0] - x.tanh()).abs() < 1e-12, "{x}");
                assert!((row[columns - 1] * (4.0 + x * x) - 1.0).abs() < 1e-11, "{x}");
            }
        }
    }
}
