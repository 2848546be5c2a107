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
//! handed out is averaged on. A row of a table holds, in this order, ψ, ψ' less a
//! constant, ψ'', what the innermost level hands out, and for every level passed
//!
//! ```text
//! Var ψ_l',   ⟨ψ_l''⟩,   ⟨ψ_l''²⟩,   ∂ψ_{l−1}/∂x − ½ c ψ_{l−1}'²
//! ```
//!
//! The last one is the relative entropy between the tilted measure and a Gaussian
//! of unit width around its mean, divided by x²: ∂ψ_{l−1}/∂x is that relative to
//! the Gaussian around 0, and the mean of y is x √c ψ_{l−1}' by parts. It is never
//! negative and of order c².

use remanent_math::elementary;
use remanent_math::grid::Nodes;

use super::table::Table;

/// Columns that every level adds to a row.
pub(super) const ADDED: usize = 4;
/// Column of ψ' less its constant.
pub(super) const SLOPE: usize = 1;
/// Column of ψ''.
pub(super) const BEND: usize = 2;

/// What one level needs to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level<'a> {
    /// The functions of level l.
    pub(super) table: &'a Table,
    /// x_l.
    pub(super) x: f64,
    /// √(q_l − q_{l−1}).
    pub(super) deviation: f64,
    /// The constant by which ψ' exceeds its column.
    pub(super) offset: f64,
}

/// Room to work in.
#[derive(Debug, Default)]
pub(super) struct Work {
    fields: Vec<f64>,
    t: Vec<f64>,
    rows: Vec<f64>,
    weights: Vec<f64>,
}

impl Level<'_> {
    /// ψ, ψ' and ψ'' of level l at ω + √c y.
    pub(super) fn local(&self, omega: f64, y: f64, work: &mut Work) -> [f64; 3] {
        let Work { t, rows, .. } = work;
        self.table.look_up(&[omega + self.deviation * y], t, rows);
        [rows[0], rows[SLOPE] + self.offset, rows[BEND]]
    }

    /// The row of level l − 1 at ω, by the quadrature `nodes` in y.
    pub(super) fn row(&self, omega: f64, nodes: &Nodes, work: &mut Work, row: &mut [f64]) {
        let Work { fields, t, rows, weights } = work;
        fields.clear();
        fields.extend(nodes.x.iter().map(|y| omega + self.deviation * y));
        self.table.look_up(fields, t, rows);
        let (columns, width) = (self.table.columns(), self.table.width());
        let inner = |j: usize| &rows[j * width..][..columns];

        // The logarithm of the integrand, from its largest value.
        weights.clear();
        weights.extend(nodes.x.iter().enumerate().map(|(j, y)| self.x * inner(j)[0] - 0.5 * y * y));
        let (top, summit) = weights
            .iter()
            .enumerate()
            .fold((0, f64::NEG_INFINITY), |m, (j, v)| if *v > m.1 { (j, *v) } else { m });
        let reference = inner(top)[0];
        let mut total = 0.0;
        for (w, node) in weights.iter_mut().zip(&nodes.weights) {
            *w = node * elementary::exp(*w - summit);
            total += *w;
        }
        let inverse = 1.0 / total;
        row.fill(0.0);
        let (added, mut excess) = (columns, 0.0);
        for (j, w) in weights.iter_mut().enumerate() {
            *w *= inverse;
            let inner = inner(j);
            for (sum, value) in row.iter_mut().zip(inner) {
                *sum += *w * value;
            }
            row[added + 2] += *w * inner[BEND] * inner[BEND];
            excess += *w * (inner[0] - reference);
        }
        let slope = row[SLOPE];
        row[added] = weights
            .iter()
            .enumerate()
            .map(|(j, w)| w * (inner(j)[SLOPE] - slope).powi(2))
            .sum();
        row[added + 1] = row[BEND];
        row[BEND] += self.x * row[added];
        // ln ∫ Dy e^{x (ψ_l − reference)}.
        let y = nodes.x[top];
        let ln_z = elementary::ln(total / (2.0 * std::f64::consts::PI).sqrt()) - 0.5 * y * y;
        row[0] = reference + ln_z / self.x;
        let mean = self.deviation * (slope + self.offset);
        row[added + 3] = (self.x * excess - ln_z) / (self.x * self.x) - 0.5 * mean * mean;
    }
}
