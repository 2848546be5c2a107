//! The energetic side with K steps of breaking.
//!
//! In the scaled variables of [`crate::energy`] (fields in units of √κ, κ = 1 − q_d)
//! the innermost level is L(x) with δ = (q_d − q_K)/κ. Each level is log-concave, so
//! the integrand of a level has one mode, which moves to the right with ω, and is
//! nowhere wider than the Gaussian of that level. How narrow it can be is known as
//! well: 0 ≤ −L'' ≤ β/(1 + βδ), and if −ψ_l'' ≤ b then −ψ_{l−1}'' ≤ b/(1 + x c b). The
//! outermost level is averaged over the teacher,
//!
//! ```text
//! E_T[·] = ∫ Dz 2Φ(r z/√(q_0 − r²)) (·),         g_E = E_T[ψ_0(√q_0 z)]
//! q_0_hat = α E_T[ψ_0'²],     q_l_hat − q_{l−1}_hat = α E_T⟨Var ψ_l'⟩
//! r_hat = (2α/√(2π)) ∫ Dz ψ_0'(√(q_0 − r²) z)
//! ```

use remanent_math::elementary;
use remanent_math::grid::{Cluster, Nodes, Spread};

use super::level::{ADDED, BEND, Lattice, Level, SLOPE};
use super::narrow::{Narrow, Width};
use super::state::StepOverlaps;
use crate::cancel;
use crate::energy::{potentials, wall_of};
use crate::resolution::Resolution;

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
    /// The part of `excess` beyond ¼ (q_l − q_{l−1})(q_l_hat − q_{l−1}_hat)/α, which is of third order in a gap.
    pub third_order: Vec<f64>,
}

/// Gaussian tails are cut at this many standard deviations.
const REACH: f64 = 8.8;
/// Functions of the innermost level: L, L_x, L_xx and ⟨y Γ_y⟩.
const INNERMOST: usize = 4;
/// Distance of a lattice's nodes, in units of the narrowest tilted Gaussian.
const SPACING: f64 = 0.5;
/// And in units of the scale of L itself.
const SMOOTH_SPACING: f64 = 0.25;
/// Trapezoid step of the outermost integral.
const STEP: f64 = 0.095;

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
pub fn step_energy(
    o: &StepOverlaps,
    x: &[f64],
    beta: f64,
    width: Width,
    resolution: Resolution,
) -> StepEnergy {
    cancel::check();
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
        resolution: resolution.factor(),
    };
    let steps = x.len();
    if width != Width::Any {
        let nodes = s.outermost();
        let narrow = Narrow::new(x[0], s.gaps[0], 0.0, (width, s.resolution));
        let rows = narrow.rows(&nodes.x, INNERMOST, |fields| s.rows(None, 1, fields));
        return s.average(&nodes, &rows, INNERMOST + ADDED, (kappa, width));
    }
    let mut lattice: Option<Lattice> = None;
    for l in (1..=steps).rev() {
        let nodes = s.lattice(l);
        let rows = s.rows(lattice.as_ref(), l, &nodes.x);
        lattice = Some(Lattice::new(nodes, &rows, INNERMOST + ADDED * (steps - l)));
    }
    let nodes = s.outermost();
    let columns = INNERMOST + ADDED * steps;
    let rows = s.rows(lattice.as_ref(), 0, &nodes.x);
    s.average(&nodes, &rows, columns, (kappa, width))
}

impl Scaled<'_> {
    /// δ + Σ_{j > l} c_j, the variance of y around the field of level l.
    fn variance_below(&self, l: usize) -> f64 {
        self.delta + self.gaps[l..].iter().sum::<f64>()
    }

    /// Where ψ_l has vanished on the right.
    fn vanishing(&self, l: usize) -> f64 {
        self.wall + 10.0 * (1.0 + self.variance_below(l)).sqrt()
    }

    /// The fields of level l that matter: those of the outermost level are cut off on
    /// one side by the step, and on the right where ψ_0 has vanished; every further
    /// level adds its Gaussian.
    fn range(&self, l: usize) -> (f64, f64) {
        let (mut left, mut right) = (REACH * self.v.sqrt(), REACH * self.q.sqrt());
        if self.slope < 0.0 {
            (left, right) = (right, left);
        }
        let outer: f64 = self.gaps[..l].iter().sum();
        (-left.hypot(REACH * outer.sqrt()), right.min(self.vanishing(0)) + REACH * outer.sqrt())
    }

    /// A lattice for the functions of level l ≥ 1, that resolves the step to l − 1.
    fn lattice(&self, l: usize) -> Nodes {
        let mut bend = self.beta / (1.0 + self.beta * self.delta);
        for j in (l..self.x.len()).rev() {
            bend /= 1.0 + self.x[j] * self.gaps[j] * bend;
        }
        let width = (1.0 / self.gaps[l - 1] + self.x[l - 1] * bend).sqrt().recip();
        let smooth = (1.0 + self.variance_below(l)).sqrt();
        let spacing = (SPACING * width).min(SMOOTH_SPACING * smooth) / self.resolution;
        let (low, high) = self.range(l);
        let (first, count) = ((low / spacing).ceil(), ((high - low) / spacing) as usize + 1);
        let x = (0..count).map(|j| (first + j as f64) * spacing).collect();
        Nodes { x, weights: vec![spacing; count] }
    }

    /// Rows of the functions of level l at rising fields, from the lattice of level
    /// l + 1, or from L itself if l is the innermost level.
    fn rows(&self, inner: Option<&Lattice>, l: usize, fields: &[f64]) -> Vec<f64> {
        let Some(lattice) = inner else {
            let there = fields.partition_point(|u| *u < self.vanishing(l));
            let mut rows =
                potentials(self.beta, self.delta, &fields[..there], self.resolution).concat();
            rows.resize(INNERMOST * fields.len(), 0.0);
            return rows;
        };
        let (x, variance) = (self.x[l], self.gaps[l]);
        let level = Level { lattice, x, variance, offset: 0.0 };
        let reach = REACH * variance.sqrt();
        let length = level.row_length();
        let mut rows = vec![0.0; length * fields.len()];
        let mut weights = Vec::new();
        let (mut mode, last) = (0, lattice.nodes.x.len() - 1);
        for (omega, row) in fields.iter().zip(rows.chunks_mut(length)) {
            while mode < last && level.exponent(*omega, mode + 1) > level.exponent(*omega, mode) {
                mode += 1;
            }
            let centre = lattice.nodes.x[mode];
            let range = level.within(centre - reach, centre + reach);
            level.row(*omega, range, &mut weights, row);
        }
        rows
    }

    /// Nodes of the outermost level, clustered at the teacher's step.
    fn outermost(&self) -> Nodes {
        let scale = 2.0 * self.v.sqrt().min(0.7 * (1.0 + self.delta).sqrt());
        let clusters = [Cluster { centre: 0.0, scale, strength: 1.0 }];
        let step = STEP / self.resolution;
        let (low, high) = self.range(0);
        Spread { spacing: 1e9, step, clusters: &clusters }.nodes(low, high)
    }

    /// Averages over the teacher.
    fn average(
        &self,
        nodes: &Nodes,
        rows: &[f64],
        columns: usize,
        (kappa, width): (f64, Width),
    ) -> StepEnergy {
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
        let (excess, third_order) =
            width.excess(steps, |l| (self.gaps[l - 1] * added(l, 0), added(l, 3)));
        StepEnergy {
            g_e: sums[0],
            stiffness: -(l_xx + sums[3]) / kappa,
            q_0_hat: slope2 / kappa,
            gaps: (1..=steps).map(|l| added(l, 0) / kappa).collect(),
            r_hat: teacher * 2.0 / (2.0 * std::f64::consts::PI * kappa).sqrt(),
            curvature2,
            excess,
            third_order,
        }
    }
}
