//! The energetic side with K steps of breaking.
//!
//! In the scaled variables of [`crate::energy`] (fields in units of √κ, κ = 1 − q_d)
//! the innermost level is L(x) with δ = (q_d − q_K)/κ. Each level is log-concave, so
//! the integrand of a level has one mode, at which its nodes cluster, and a second
//! cluster where a wide Gaussian meets the wall of Φ^β. The outermost level is
//! averaged over the teacher,
//!
//! ```text
//! E_T[·] = ∫ Dz 2Φ(r z/√(q_0 − r²)) (·),         g_E = E_T[ψ_0(√q_0 z)]
//! q_0_hat = α E_T[ψ_0'²],     q_l_hat − q_{l−1}_hat = α E_T⟨Var ψ_l'⟩
//! r_hat = (2α/√(2π)) ∫ Dz ψ_0'(√(q_0 − r²) z)
//! ```

use remanent_math::elementary;
use remanent_math::grid::{Cluster, Nodes, Spread};

use super::level::{ADDED, BEND, Level, SLOPE, Work};
use super::state::StepOverlaps;
use super::table::Table;
use crate::energy::{potentials, wall_of};
use crate::overlaps::Resolution;

/// Averages of the energetic side for one pattern per weight (α = 1).
#[derive(Clone, Debug, PartialEq)]
pub struct StepEnergy {
    /// g_E.
    pub g_e: f64,
    /// (q_K_hat − q_d_hat)/α.
    pub stiffness: f64,
    /// q_0_hat/α.
    pub q_0_hat: f64,
    /// (q_l_hat − q_{l−1}_hat)/α, l = 1 … K.
    pub gaps: Vec<f64>,
    /// r_hat/α.
    pub r_hat: f64,
    /// E_T⟨ψ_l''²⟩, l = 0 … K.
    pub curvature2: Vec<f64>,
    /// ∂g_E/∂x_l − ½ (q_l − q_{l−1}) q_{l−1}_hat/α, l = 1 … K.
    pub excess: Vec<f64>,
}

/// Gaussian tails are cut at this many standard deviations.
const REACH: f64 = 8.8;
/// Columns of the innermost table: L, L_x, L_xx and ⟨y Γ_y⟩.
const INNERMOST: usize = 4;
/// Steps of the grid of tables, of the integral over y, and of the outermost one.
const TABLE_STEP: f64 = 0.05;
const INNER_STEP: f64 = 0.09;
const OUTER_STEP: f64 = 0.095;
/// Width of the Gaussian of a level, in units of the wall's thickness, from which
/// the wall has a cluster of its own.
const WIDE: f64 = 6.0;

struct Scaled<'a> {
    beta: f64,
    delta: f64,
    /// (q_l − q_{l−1})/κ, l = 1 … K.
    gaps: Vec<f64>,
    x: &'a [f64],
    v: f64,
    q: f64,
    slope: f64,
    wall: f64,
    resolution: f64,
}

/// Computes the averages at inverse temperature `beta` and Parisi parameters `x`.
pub fn step_energy(o: &StepOverlaps, x: &[f64], beta: f64, resolution: Resolution) -> StepEnergy {
    let kappa = o.one_minus_q_d;
    let q_0 = o.q_0_minus_r2 + o.r * o.r;
    let s = Scaled {
        beta,
        delta: o.q_d_minus_q_k / kappa,
        gaps: o.gaps.iter().map(|g| g / kappa).collect(),
        x,
        v: o.q_0_minus_r2 / kappa,
        q: q_0 / kappa,
        slope: o.r / (q_0 * o.q_0_minus_r2 / kappa).sqrt(),
        wall: wall_of(beta),
        resolution: resolution.0,
    };
    let steps = x.len();
    let mut table = (steps > 0).then(|| s.innermost());
    for l in (2..=steps).rev() {
        table = table.map(|table| s.outwards(&table, l));
    }
    let nodes = s.outermost();
    let columns = INNERMOST + ADDED * steps;
    let mut rows = vec![0.0; columns * nodes.x.len()];
    match &table {
        Some(table) => s.level(table, 1).rows(&s, &nodes.x, &mut rows),
        None => {
            for (row, value) in
                rows.chunks_mut(columns).zip(potentials(beta, s.delta, &nodes.x, s.resolution))
            {
                row.copy_from_slice(&value);
            }
        }
    }
    s.average(&nodes, &rows, columns, kappa)
}

impl Scaled<'_> {
    /// δ + Σ_{j > l} c_j, the variance of y around the field of level l.
    fn variance_below(&self, l: usize) -> f64 {
        self.delta + self.gaps[l..].iter().sum::<f64>()
    }

    /// The fields of level l that matter: from outer levels, cut off on one side by
    /// the step, and on the right to where ψ vanishes.
    fn range(&self, l: usize) -> (f64, f64) {
        let (mut left, mut right) = (REACH * self.v.sqrt(), REACH * self.q.sqrt());
        if self.slope < 0.0 {
            (left, right) = (right, left);
        }
        let spread: f64 = self.gaps[..l].iter().map(|c| REACH * c.sqrt()).sum();
        let vanishing = self.wall + 10.0 * (1.0 + self.variance_below(l)).sqrt();
        (-left - spread, (right + spread).min(vanishing))
    }

    fn table(&self, l: usize) -> Table {
        let variance = self.variance_below(l);
        let thickness = 1.0 / (1.0 + self.wall);
        let clusters = [
            Cluster { centre: 0.0, scale: 1.4 * (1.0 + variance).sqrt() },
            Cluster { centre: self.wall, scale: 2.0 * (variance + thickness * thickness).sqrt() },
        ];
        let sharp = clusters[1].scale < 0.7 * clusters[0].scale;
        let spread = Spread {
            spacing: 1e3,
            step: TABLE_STEP / self.resolution,
            clusters: if sharp { &clusters } else { &clusters[..1] },
        };
        let (low, high) = self.range(l);
        Table::new(&spread, low, high, INNERMOST + ADDED * (self.x.len() - l))
    }

    /// L and its companions.
    fn innermost(&self) -> Table {
        let mut table = self.table(self.x.len());
        let rows = potentials(self.beta, self.delta, table.nodes(), self.resolution);
        for (i, row) in rows.iter().enumerate() {
            table.row_mut(i).copy_from_slice(row);
        }
        table
    }

    fn level<'t>(&self, table: &'t Table, l: usize) -> Level<'t> {
        Level { table, x: self.x[l - 1], deviation: self.gaps[l - 1].sqrt(), offset: 0.0 }
    }

    /// The table of level l − 1 from that of level l.
    fn outwards(&self, inner: &Table, l: usize) -> Table {
        let mut table = self.table(l - 1);
        let columns = table.columns();
        let mut rows = vec![0.0; columns * table.nodes().len()];
        self.level(inner, l).rows(self, table.nodes(), &mut rows);
        for (i, row) in rows.chunks(columns).enumerate() {
            table.row_mut(i).copy_from_slice(row);
        }
        table
    }

    /// Nodes of the outermost level, clustered at the teacher's step.
    fn outermost(&self) -> Nodes {
        let scale = 2.0 * self.v.sqrt().min(0.7 * (1.0 + self.delta).sqrt());
        let clusters = [Cluster { centre: 0.0, scale }];
        let step = OUTER_STEP / self.resolution;
        let (low, high) = self.range(0);
        Spread { spacing: 1e9, step, clusters: &clusters }.nodes(low, high)
    }

    /// Averages over the teacher.
    fn average(&self, nodes: &Nodes, rows: &[f64], columns: usize, kappa: f64) -> StepEnergy {
        let steps = self.x.len();
        let norm = |variance: f64| 1.0 / (2.0 * std::f64::consts::PI * variance).sqrt();
        let (norm_q, norm_v) = (2.0 * norm(self.q), norm(self.v));
        let mut sums = vec![0.0; columns];
        let (mut slope2, mut bend2, mut teacher) = (0.0, 0.0, 0.0);
        for ((x, dx), row) in nodes.x.iter().zip(&nodes.weights).zip(rows.chunks(columns)) {
            let step = elementary::ln_cdf(self.slope * x);
            let square = -0.5 * x * x;
            let weight =
                dx * norm_q * elementary::exp(square / self.q + (step.quadratic + step.rest));
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += weight * value;
            }
            slope2 += weight * row[SLOPE] * row[SLOPE];
            bend2 += weight * row[BEND] * row[BEND];
            teacher += dx * norm_v * elementary::exp(square / self.v) * row[SLOPE];
        }
        // The innermost level's columns come first.
        let added = |l: usize, column: usize| sums[INNERMOST + ADDED * (steps - l) + column];
        let l_xx = if steps == 0 { sums[BEND] } else { added(steps, 1) };
        let mut curvature2 = vec![bend2 / (kappa * kappa)];
        curvature2.extend((1..=steps).map(|l| added(l, 2) / (kappa * kappa)));
        StepEnergy {
            g_e: sums[0],
            stiffness: -(l_xx + sums[3]) / kappa,
            q_0_hat: slope2 / kappa,
            gaps: (1..=steps).map(|l| added(l, 0) / kappa).collect(),
            r_hat: teacher * 2.0 / (2.0 * std::f64::consts::PI * kappa).sqrt(),
            curvature2,
            excess: (1..=steps).map(|l| added(l, 3)).collect(),
        }
    }
}

impl Level<'_> {
    /// The rows of the next level at the rising fields `omegas`.
    fn rows(&self, s: &Scaled, omegas: &[f64], rows: &mut [f64]) {
        let columns = self.table.columns() + ADDED;
        let mut work = Work::default();
        let mut mode = 0.0;
        for (omega, row) in omegas.iter().zip(rows.chunks_mut(columns)) {
            let width;
            (mode, width) = self.mode(*omega, mode, &mut work);
            let nodes = self.nodes(s, *omega, mode, width);
            self.row(*omega, &nodes, &mut work, row);
        }
    }

    /// The mode of −y²/2 + x ψ_l(ω + √c y), to a tenth of its width, and the width.
    fn mode(&self, omega: f64, guess: f64, work: &mut Work) -> (f64, f64) {
        let mut y = guess;
        let mut width = 1.0;
        for _ in 0..40 {
            let [_, slope, bend] = self.local(omega, y, work);
            let pull = self.x * self.deviation * slope - y;
            let curvature = 1.0 - (self.x * self.deviation * self.deviation * bend).min(0.0);
            width = 1.0 / curvature.sqrt();
            let change = pull / curvature;
            y += change;
            if change.abs() < 0.1 * width {
                break;
            }
        }
        (y, width)
    }

    fn nodes(&self, s: &Scaled, omega: f64, mode: f64, width: f64) -> Nodes {
        let thickness = 1.0 / ((1.0 + s.wall) * self.deviation);
        let clusters = [
            Cluster { centre: mode, scale: 2.0 * width },
            Cluster { centre: (s.wall - omega) / self.deviation, scale: 2.0 * thickness },
        ];
        let wide = thickness * WIDE < 1.0;
        let spread = Spread {
            spacing: 1e3,
            step: INNER_STEP / s.resolution,
            clusters: if wide { &clusters } else { &clusters[..1] },
        };
        spread.nodes(mode - REACH, mode + REACH)
    }
}
