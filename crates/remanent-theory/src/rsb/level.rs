//! One level of replica-symmetry breaking: a Gaussian convolution of an
//! exponential, and what is averaged on the way.
//!
//! Going outwards from level l to level l − 1,
//!
//! ```text
//! ψ_{l−1}(ω) = (1/x) ln ∫ Dy e^{x ψ_l(ω + √c y)},     x = x_l,  c = q_l − q_{l−1}
//! ```
//!
//! With ⟨·⟩ the average under Dy e^{x ψ_l}, the derivatives are ψ_{l−1}' = ⟨ψ_l'⟩
//! and ψ_{l−1}'' = ⟨ψ_l''⟩ + x Var ψ_l', and every quantity that inner levels
//! handed out is averaged on. So a level is a row of functions of ω: in this order ψ,
//! ψ' less a constant, ψ'', what the innermost level hands out, and for every level
//! passed
//!
//! ```text
//! Var ψ_l',   ⟨ψ_l''⟩,   ⟨ψ_l''²⟩,   ∂ψ_{l−1}/∂x − ½ c ψ_{l−1}'²
//! ```
//!
//! The last one is the relative entropy between the tilted measure and a Gaussian
//! of unit width around its mean, divided by x²: ∂ψ_{l−1}/∂x is that relative to
//! the Gaussian around 0, and the mean of y is x √c ψ_{l−1}' by parts. It is never
//! negative and of order c².
//!
//! The functions of level l are known on a [`Lattice`] of fields ω + √c y that serves
//! every ω: it is fine enough for the trapezoid rule to resolve the narrowest tilted
//! Gaussian, so nothing is ever interpolated.

use remanent_math::multiversioned;
use std::ops::Range;

use remanent_math::elementary;
use remanent_math::grid::Nodes;

/// Functions that every level adds to a row.
pub(super) const ADDED: usize = 4;
/// Place of ψ' less its constant in a row.
pub(super) const SLOPE: usize = 1;
/// Place of ψ'' in a row.
pub(super) const BEND: usize = 2;

/// The functions of a level at the nodes of a quadrature rule.
#[derive(Clone, Debug)]
pub(super) struct Lattice {
    /// The rule.
    pub(super) nodes: Nodes,
    /// The values of one function after the other.
    pub(super) columns: Vec<Vec<f64>>,
}

impl Lattice {
    /// A lattice from its rows, one after the other.
    pub(super) fn new(nodes: Nodes, rows: &[f64], columns: usize) -> Self {
        let column = |k: usize| rows.iter().skip(k).step_by(columns).copied().collect();
        Self { nodes, columns: (0..columns).map(column).collect() }
    }
}

/// The step from level l to level l − 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level<'a> {
    /// The functions of level l.
    pub(super) lattice: &'a Lattice,
    /// x_l.
    pub(super) x: f64,
    /// c = q_l − q_{l−1}.
    pub(super) variance: f64,
    /// The constant by which ψ' exceeds its column.
    pub(super) offset: f64,
}

impl Level<'_> {
    /// Length of a row of level l − 1.
    pub(super) fn row_length(&self) -> usize {
        self.lattice.columns.len() + ADDED
    }

    /// The nodes between two fields.
    pub(super) fn within(&self, low: f64, high: f64) -> Range<usize> {
        let fields = &self.lattice.nodes.x;
        fields.partition_point(|u| *u < low)..fields.partition_point(|u| *u <= high)
    }

    /// The logarithm of the integrand at node j.
    pub(super) fn exponent(&self, omega: f64, j: usize) -> f64 {
        let distance = self.lattice.nodes.x[j] - omega;
        self.x * self.lattice.columns[0][j] - 0.5 * distance * distance / self.variance
    }

    /// The probabilities of the nodes `range` under the tilted measure at ω.
    pub(super) fn probabilities(&self, omega: f64, range: Range<usize>, weights: &mut Vec<f64>) {
        self.tilted(omega, range, weights);
    }

    fn tilted(&self, omega: f64, range: Range<usize>, weights: &mut Vec<f64>) -> Tilted {
        let Lattice { nodes, columns } = self.lattice;
        weights.clear();
        weights.resize(range.len(), 0.0);
        let scale = Scale { omega, x: self.x, precision: 1.0 / self.variance };
        let (fields, rule) = (&nodes.x[range.clone()], &nodes.weights[range.clone()]);
        tilt(&scale, fields, rule, &columns[0][range], weights)
    }

    /// The row of level l − 1 at ω, from the nodes `range`.
    pub(super) fn row(
        &self,
        omega: f64,
        range: Range<usize>,
        weights: &mut Vec<f64>,
        row: &mut [f64],
    ) {
        let columns = &self.lattice.columns;
        let tilted = self.tilted(omega, range.clone(), weights);
        for (value, column) in row.iter_mut().zip(columns) {
            *value = dot(weights, &column[range.clone()]);
        }
        let added = columns.len();
        let slope = row[SLOPE];
        let (variance, bend2) =
            squares(weights, &columns[SLOPE][range.clone()], slope, &columns[BEND][range]);
        let ln_z =
            elementary::ln(tilted.total / (2.0 * std::f64::consts::PI * self.variance).sqrt())
                + tilted.summit;
        row[added] = variance;
        row[added + 1] = row[BEND];
        row[added + 2] = bend2;
        row[BEND] += self.x * variance;
        row[0] = tilted.reference + ln_z / self.x;
        let mean2 = self.variance * (slope + self.offset) * (slope + self.offset);
        row[added + 3] = (self.x * tilted.mean - ln_z) / (self.x * self.x) - 0.5 * mean2;
    }
}

struct Scale {
    omega: f64,
    x: f64,
    precision: f64,
}

/// The tilted measure on a lattice.
struct Tilted {
    /// ψ where the integrand is largest.
    reference: f64,
    /// −(u − ω)²/2c there.
    summit: f64,
    /// The integral of the integrand, relative to its largest value.
    total: f64,
    /// ⟨ψ − reference⟩.
    mean: f64,
}

multiversioned! {
    /// Fills `weights` with the probabilities of the nodes.
    fn tilt(s: &Scale, fields: &[f64], nodes: &[f64], psi: &[f64], weights: &mut [f64]) -> Tilted {
        let half = 0.5 * s.precision;
        for ((w, u), psi) in weights.iter_mut().zip(fields).zip(psi) {
            let distance = u - s.omega;
            *w = s.x * psi - distance * distance * half;
        }
        let (mut top, mut largest) = (0, f64::NEG_INFINITY);
        for (j, w) in weights.iter().enumerate() {
            if *w > largest {
                (top, largest) = (j, *w);
            }
        }
        let reference = psi[top];
        for (w, node) in weights.iter_mut().zip(nodes) {
            *w = node * elementary::exp(*w - largest);
        }
        let total: f64 = sum_of(weights.len(), |j| weights[j]);
        let inverse = 1.0 / total;
        weights.iter_mut().for_each(|w| *w *= inverse);
        let mean = sum_of(weights.len(), |j| weights[j] * (psi[j] - reference));
        let distance = fields[top] - s.omega;
        Tilted { reference, summit: -distance * distance * half, total, mean }
    }
}

multiversioned! {
    fn dot(weights: &[f64], values: &[f64]) -> f64 {
        let values = &values[..weights.len()];
        sum_of(weights.len(), |j| weights[j] * values[j])
    }
}

multiversioned! {
    /// Σ w (a − mean)² and Σ w b².
    fn squares(weights: &[f64], a: &[f64], mean: f64, b: &[f64]) -> (f64, f64) {
        let (a, b) = (&a[..weights.len()], &b[..weights.len()]);
        (
            sum_of(weights.len(), |j| weights[j] * (a[j] - mean) * (a[j] - mean)),
            sum_of(weights.len(), |j| weights[j] * b[j] * b[j]),
        )
    }
}

/// A sum over 0 … count − 1 in an order that fills the lanes of a vector.
#[inline(always)]
fn sum_of(count: usize, term: impl Fn(usize) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let whole = count / LANES * LANES;
    for start in (0..whole).step_by(LANES) {
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane += term(start + i);
        }
    }
    lanes.iter().sum::<f64>() + (whole..count).map(term).sum::<f64>()
}
