//! One level whose Gaussian is narrow against the functions that it smooths: next to the
//! place where a gap opens or closes.
//!
//! A [`super::level::Lattice`] needs a number of nodes that grows with 1/√c, and loses digits twice: the equation
//! of x is the small difference of terms of order c², each of which is a difference of terms of order c.
//! Here every outer field has its own Gauss–Hermite nodes around the mean of its tilted Gaussian, and the
//! difference is taken in closed form. Let ψ_t be the function after a part t of the variance c has been added,
//! and v(t) = ⟨ψ_t''²⟩. By Parisi's flow
//!
//! ```text
//! Var ψ' = ∫_0^c v(t) dt,     ∂ψ/∂x − ½ c ⟨ψ'⟩² = ½ ∫_0^c t v(t) dt = ¼ c Var ψ' + ½ ∫_0^c (t − c/2) v(t) dt
//! v(c) − v(0) = −Var ψ'' + 2x ⟨ψ''⟩ Var ψ' + x² (Var ψ')²,     v'(t) = −⟨ψ_t'''² − 2x ψ_t''³⟩
//! ```
//!
//! The terms ¼ c Var ψ' of the two sides cancel against ½ (q_1_hat − q_0_hat)(q_1 − q_0) of ∂φ/∂x. What remains, of third
//! order, follows from v and v' at both ends, up to a relative error of the order of 1e-3 (c/τ)⁴ where v changes
//! over τ. It is known to nearly full relative accuracy however small c is. Where c is not that small the subtraction
//! costs few digits and is done, with the relative entropy taken from exponents that are themselves of order c.

use std::sync::Arc;

use remanent_math::hermite::Rule;

use super::level::{ADDED, BEND, SLOPE};

/// How the integral over a level is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// On a lattice that serves every outer field.
    Any,
    /// Around every outer field by itself, for one step with a small gap.
    Narrow,
    /// The same for one so small that the difference of third order is taken in closed form.
    Narrowest,
}

impl Width {
    /// The excesses of all levels and their third-order parts. `column(l)` is c Var ψ_l' and the last column that
    /// the level added to a row.
    pub(super) fn excess(
        self,
        steps: usize,
        column: impl Fn(usize) -> (f64, f64),
    ) -> (Vec<f64>, Vec<f64>) {
        let of_level = |l| match (self, column(l)) {
            (Self::Any, (area, excess)) => (excess, excess - 0.25 * area),
            (Self::Narrow | Self::Narrowest, (area, third)) => (0.25 * area + third, third),
        };
        (1..=steps).map(of_level).unzip()
    }
}

/// Nodes at resolution 1.
const NODES: f64 = 14.0;

/// The step from a level to the next outer one, for a small variance.
pub(super) struct Narrow {
    rule: Arc<Rule>,
    x: f64,
    variance: f64,
    /// The constant by which ψ' exceeds its column.
    offset: f64,
    width: Width,
}

impl Narrow {
    pub(super) fn new(
        x: f64,
        variance: f64,
        offset: f64,
        (width, resolution): (Width, f64),
    ) -> Self {
        let nodes = (NODES * resolution).ceil().clamp(6.0, 40.0) as usize;
        Self { rule: Rule::shared(nodes), x, variance, offset, width }
    }

    /// Rows of the outer level at rising fields, in the order of [`super::level::Level::row`]; the last column has only
    /// the third-order part of that one. `inner` gives rows of `columns` functions at rising fields.
    pub(super) fn rows(
        &self,
        fields: &[f64],
        columns: usize,
        inner: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Vec<f64> {
        let (n, deviation) = (self.rule.nodes.len(), self.variance.sqrt());
        let centres = inner(fields);
        let tilts: Vec<f64> = centres
            .chunks(columns)
            .map(|row| self.x * deviation * (row[SLOPE] + self.offset))
            .collect();
        let mut places: Vec<(f64, usize)> = Vec::with_capacity(n * fields.len());
        for (i, (field, tilt)) in fields.iter().zip(&tilts).enumerate() {
            let node = |(k, y): (usize, &f64)| (field + deviation * (tilt + y), n * i + k);
            places.extend(self.rule.nodes.iter().enumerate().map(node));
        }
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        let sorted: Vec<f64> = places.iter().map(|p| p.0).collect();
        let found = inner(&sorted);
        let mut values = vec![0.0; columns * places.len()];
        for ((_, place), row) in places.iter().zip(found.chunks(columns)) {
            values[columns * place..columns * (place + 1)].copy_from_slice(row);
        }
        let mut rows = vec![0.0; (columns + ADDED) * fields.len()];
        let around = centres.chunks(columns).zip(values.chunks(columns * n));
        for (((centre, values), tilt), row) in
            around.zip(&tilts).zip(rows.chunks_mut(columns + ADDED))
        {
            self.row(*tilt, centre, values, row);
        }
        rows
    }

    /// The row of one outer field, from the values at its nodes, the tilt of its Gaussian and the values there.
    fn row(&self, tilt: f64, centre: &[f64], values: &[f64], row: &mut [f64]) {
        let Rule { nodes, weights, .. } = &*self.rule;
        let (columns, n) = (row.len() - ADDED, nodes.len());
        let value = |k: usize, column: usize| values[k * columns + column];
        let exponents: Vec<f64> =
            (0..n).map(|k| self.x * (value(k, 0) - centre[0]) - tilt * nodes[k]).collect();
        let mut p: Vec<f64> = exponents.iter().zip(weights).map(|(e, w)| w * e.exp()).collect();
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= total);
        let mean = |f: &dyn Fn(usize) -> f64| (0..n).map(|k| p[k] * f(k)).sum::<f64>();
        for (column, average) in row[..columns].iter_mut().enumerate() {
            *average = mean(&|k| value(k, column));
        }
        let (slope, bend) = (row[SLOPE], row[BEND]);
        let variance = mean(&|k| (value(k, SLOPE) - slope).powi(2));
        row[0] = centre[0] + (total.ln() - 0.5 * tilt * tilt) / self.x;
        row[BEND] += self.x * variance;
        row[columns] = variance;
        row[columns + 1] = bend;
        row[columns + 2] = mean(&|k| value(k, BEND).powi(2));
        row[columns + 3] = if self.width == Width::Narrowest {
            self.third_order(&p, values, columns, (slope, bend, variance))
        } else {
            // Relative entropy to the Gaussian around the mean, whose place differs from that of the nodes.
            let excess = exponents.iter().zip(weights).map(|(e, w)| w * e.exp_m1()).sum::<f64>();
            let displaced = self.x * self.variance.sqrt() * (slope - centre[SLOPE]);
            let entropy = mean(&|k| exponents[k]) - excess.ln_1p() - 0.5 * displaced * displaced;
            entropy / (self.x * self.x) - 0.25 * self.variance * variance
        };
    }

    /// ½ ∫_0^c (t − c/2) v(t) dt, from v and v' at both ends.
    fn third_order(
        &self,
        p: &[f64],
        values: &[f64],
        columns: usize,
        (slope, bend, variance): (f64, f64, f64),
    ) -> f64 {
        let (x, c) = (self.x, self.variance);
        let (d, b) =
            (|k: usize| values[k * columns + SLOPE] - slope, |k: usize| values[k * columns + BEND]);
        let third = |k: usize| self.rule.derivative_at(k, b) / c.sqrt();
        let mut spread = 0.0;
        let (mut thirds, mut inner, mut skew, mut mixed) = (0.0, 0.0, 0.0, 0.0);
        for (k, p) in p.iter().enumerate() {
            let (d, b, third) = (d(k), b(k), third(k));
            spread += p * (b - bend).powi(2);
            thirds += p * third;
            inner -= p * (third * third - 2.0 * x * b.powi(3));
            skew += p * d.powi(3);
            mixed += p * d * (b - bend);
        }
        let outer_bend = bend + x * variance;
        let outer_third = thirds + 3.0 * x * mixed + x * x * skew;
        let outer = -(outer_third * outer_third - 2.0 * x * outer_bend.powi(3));
        let rise = -spread + x * variance * (bend + outer_bend);
        let moment = c * c * rise / 12.0 - c * c * (0.5 * c * (inner + outer) - rise) / 60.0;
        0.5 * moment
    }
}
