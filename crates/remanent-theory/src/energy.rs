//! The energetic term: what the patterns of one task do to the order parameters.
//!
//! With κ = 1 − q_d, δ = (q_d − q_0)/κ and Γ(y) = β ln Φ(y), everything rests on
//! one function of one variable,
//!
//! ```text
//! L(x) = ln ∫ dy N(y; x, δ) e^{Γ(y)},     x = √(q_0/κ) z,  y = (√(q_d − q_0) σ + √q_0 z)/√κ
//! ```
//!
//! the logarithm of `∫Dσ H^β(…)` in Eq. (Energy-term-t1) of arXiv:2212.02846. In
//! these scaled variables neither κ → 0 nor q_0 − r² → 0 produces a large number.
//! The conjugate parameters of Eq. (sd-task1-ge) are averages of its derivatives
//! after integration by parts:
//!
//! ```text
//! q̂_0 = (α/κ) E[L_x²]
//! q̂_0 − q̂_d = −(α/κ) E[L_xx + ⟨y Γ_y⟩]
//! r̂ = (2α/√(2πκ)) ∫ dx N(x; 0, V/κ) L_x(x),      V = q_0 − r²
//! ```
//!
//! with E the average over x ~ N(0, q_0/κ) weighted by 2Φ(r x/√(q_0 V/κ)), which
//! is a step of width √(V/κ) at x = 0. One grid, clustered there, serves them all.
//!
//! Neighbouring nodes x fill the lanes of one vector. Their integrals over y run
//! in step, each with its own centre and scale, until nothing is left to add in
//! any of them. The centre is the mode of the integrand; where a wide Gaussian is
//! cut by the wall of Φ^β it is the wall; and where most of the Gaussian lies
//! behind the wall, what is integrated is the part that is missing.

use remanent_math::elementary;
use remanent_math::multiversioned;
use remanent_math::normal;

use crate::overlaps::Overlaps;
use crate::resolution::Resolution;

/// Averages of the energetic term for one pattern per weight (α = 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energy {
    /// g_E, the energetic part of −βf divided by α.
    pub g_e: f64,
    /// A/α = (q̂_0 − q̂_d)/α.
    pub stiffness: f64,
    /// q̂_0/α.
    pub q_0_hat: f64,
    /// r̂/α.
    pub r_hat: f64,
    /// E[(L'')²], the energetic factor of the replicon.
    pub curvature2: f64,
}

/// Gaussian tails are cut at this many standard deviations (e^{−38} of the maximum).
const REACH: f64 = 8.8;

/// Computes the averages at inverse temperature `beta`.
pub fn energy(overlaps: &Overlaps, beta: f64, resolution: Resolution) -> Energy {
    let kappa = overlaps.one_minus_q_d;
    let scaled = Scaled {
        beta,
        delta: overlaps.q_d_minus_q_0 / kappa,
        v: overlaps.q_0_minus_r2 / kappa,
        q: overlaps.q_0() / kappa,
        slope: overlaps.r / (overlaps.q_0() * overlaps.q_0_minus_r2 / kappa).sqrt(),
        wall: if beta > 2.0 { wall(beta) } else { 0.0 },
    };
    let sums = integrate(&scaled, resolution.factor());
    Energy {
        g_e: sums.l,
        stiffness: -(sums.l_xx + sums.y_gamma) / kappa,
        q_0_hat: sums.l_x2 / kappa,
        r_hat: sums.teacher * 2.0 / (2.0 * std::f64::consts::PI * kappa).sqrt(),
        curvature2: sums.l_xx2 / (kappa * kappa),
    }
}

/// The arguments of the integral, in scaled variables.
#[derive(Clone, Copy, Debug)]
struct Scaled {
    beta: f64,
    /// Variance of y around x.
    delta: f64,
    /// V/κ, the squared width of the step.
    v: f64,
    /// q_0/κ, the variance of x.
    q: f64,
    /// Slope of the argument of the step.
    slope: f64,
    /// Where Φ^β rises from 0 to 1.
    wall: f64,
}

/// Where β H(y) = 1: to the left of it Φ^β is negligible, to the right it is 1.
fn wall(beta: f64) -> f64 {
    let mut y = (2.0 * beta.ln()).sqrt();
    for _ in 0..8 {
        y += (beta.ln() + normal::ln_upper_tail(y)) / -normal::ln_upper_tail_slope(y);
    }
    y
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    l: f64,
    l_x2: f64,
    l_xx: f64,
    y_gamma: f64,
    l_xx2: f64,
    teacher: f64,
}

/// How many values of x are treated at once.
const LANES: usize = 16;
type Lanes = [f64; LANES];

/// How fast nodes spread out from their centre: y = centre + s sinh(kt)/k with
/// the trapezoid rule in t. With k = 1 too few would fall on the wall of Φ^β, one
/// or two widths from the mode.
const SPREADING: f64 = 0.5;
/// Trapezoid step of the integral over x.
const OUTER_STEP: f64 = 0.19;
/// Trapezoid step of the integral over y.
const INNER_STEP: f64 = 0.18;
/// Variance of the Gaussian of y, in units of the wall's squared thickness, from
/// which the wall cuts it sharply.
const SHARP: f64 = 3.5;
/// Terms below this fraction of the largest are dropped.
const NEGLIGIBLE: f64 = 1e-17;
/// How many terms are added between two looks at how large they still are.
const STRIDE: usize = 4;

/// sinh(kt)/k and h cosh(kt) at multiples t of the trapezoid step h.
struct Steps {
    offset: Vec<f64>,
    weight: Vec<f64>,
}

impl Steps {
    #[inline(always)]
    fn new(step: f64) -> Self {
        // e^{16} widths are enough for the widest Gaussian behind the wall.
        let count = (32.0 / step) as usize / STRIDE * STRIDE + 1;
        let (mut offset, mut weight) = (vec![0.0; count], vec![0.0; count]);
        for j in 0..count {
            let e = elementary::exp(SPREADING * step * j as f64);
            offset[j] = 0.5 / SPREADING * (e - 1.0 / e);
            weight[j] = 0.5 * step * (e + 1.0 / e);
        }
        Self { offset, weight }
    }
}

/// L and its derivatives at several x.
struct Local {
    l: Lanes,
    l_x: Lanes,
    l_xx: Lanes,
    y_gamma: Lanes,
}

multiversioned! {
    fn integrate(s: &Scaled, resolution: f64) -> Sums {
        let outer_step = OUTER_STEP / resolution;
        let steps = Steps::new(INNER_STEP / resolution);
        // L varies on a scale of about 1, or more if the Gaussian of y is wide.
        let cluster = s.v.sqrt().min(0.7 * (1.0 + s.delta).sqrt()) / SPREADING;
        // One side of the step is cut off by it, on the scale √v; the other reaches
        // to where the Gaussian ends, or on the right to where L vanishes.
        let (mut left, mut right) = (REACH * s.v.sqrt(), REACH * s.q.sqrt());
        if s.slope < 0.0 {
            (left, right) = (right, left);
        }
        right = right.min(s.wall + 10.0 * (1.0 + s.delta).sqrt());
        let index = |x: f64| ((x / cluster).asinh() / (SPREADING * outer_step)).ceil() as i64;
        let (first, end) = (index(-left), index(right) + 1);
        let cut = s.cut_by_wall();
        let behind = if cut { index(s.wall + s.delta.sqrt()).clamp(first, end) } else { end };
        // To the right of this x the mode lies behind the wall.
        let at_wall = if cut {
            s.wall - s.delta * s.beta * elementary::ln_cdf(s.wall).hazard
        } else {
            f64::INFINITY
        };

        let mut sums = [[0.0; LANES]; 6];
        for (range, is_behind) in [(first..behind, false), (behind..end, true)] {
            for start in range.clone().step_by(LANES) {
                let (mut x, mut dx) = ([0.0; LANES], [0.0; LANES]);
                for i in 0..LANES {
                    // The last block is filled up with copies of its last node, of weight 0.
                    let j = start + i as i64;
                    let t = outer_step * j.min(range.end - 1) as f64;
                    let e = elementary::exp(SPREADING * t);
                    x[i] = 0.5 * cluster * (e - 1.0 / e);
                    let within = if j < range.end { outer_step } else { 0.0 };
                    dx[i] = 0.5 * SPREADING * cluster * (e + 1.0 / e) * within;
                }
                let local = if is_behind {
                    behind_the_wall(s, &x, &steps)
                } else {
                    around_the_mode(s, &x, at_wall, &steps)
                };
                add(s, &x, &dx, &local, &mut sums);
            }
        }
        let [l, l_x2, l_xx, y_gamma, l_xx2, teacher] = sums.map(|lanes| lanes.iter().sum());
        Sums { l, l_x2, l_xx, y_gamma, l_xx2, teacher }
    }
}

/// Adds the integrands at `x` with quadrature weights `dx`.
#[inline(always)]
fn add(s: &Scaled, x: &Lanes, dx: &Lanes, local: &Local, sums: &mut [Lanes; 6]) {
    let norm = |variance: f64| 1.0 / (2.0 * std::f64::consts::PI * variance).sqrt();
    let (norm_q, norm_v) = (2.0 * norm(s.q), norm(s.v));
    for i in 0..LANES {
        let step = elementary::ln_cdf(s.slope * x[i]);
        let square = -0.5 * x[i] * x[i];
        let weight = dx[i] * norm_q * elementary::exp(square / s.q + (step.quadratic + step.rest));
        let at_step = dx[i] * norm_v * elementary::exp(square / s.v);
        sums[0][i] += weight * local.l[i];
        sums[1][i] += weight * local.l_x[i] * local.l_x[i];
        sums[2][i] += weight * local.l_xx[i];
        sums[3][i] += weight * local.y_gamma[i];
        sums[4][i] += weight * local.l_xx[i] * local.l_xx[i];
        sums[5][i] += at_step * local.l_x[i];
    }
}

impl Scaled {
    /// Whether the Gaussian of y is wide enough for the wall to cut it sharply.
    fn cut_by_wall(&self) -> bool {
        self.delta * (1.0 + self.wall) * (1.0 + self.wall) > SHARP
    }

    /// The scale of the wall.
    fn thickness(&self) -> f64 {
        1.0 / (1.0 + self.wall)
    }

    /// The modes y = x + d of the exponent −(y − x)²/2δ + β ln Φ(y), or the wall
    /// if it is nearer; and the scale on which the exponent bends there. A fifth
    /// of its width is near enough.
    #[inline(always)]
    fn centres(&self, x: &Lanes, at_wall: f64) -> (Lanes, Lanes) {
        let inverse_delta = 1.0 / self.delta;
        // Here d = δ β (ln Φ)'(y) > −δ β y. Newton's method rises from this bound
        // monotonically, because the hazard (ln Φ)' is convex.
        let bound = self.beta / (inverse_delta + self.beta);
        let (mut d, mut scale) = ([0.0; LANES], [0.0; LANES]);
        for i in 0..LANES {
            d[i] = (-bound * x[i]).max(0.0);
        }
        for _ in 0..60 {
            let mut open = 0_u64;
            for i in 0..LANES {
                let y = x[i] + d[i];
                let hazard = elementary::ln_cdf(y).hazard;
                let softness = (hazard * (hazard + y)).clamp(0.0, 1.0);
                let curvature = inverse_delta + self.beta * softness;
                let change = (self.beta * hazard - d[i] * inverse_delta) / curvature;
                d[i] = (d[i] + change).max(0.0);
                scale[i] = 1.0 / curvature.sqrt();
                let far = change * change * curvature > 0.04 && x[i] < at_wall;
                open |= u64::from(far);
            }
            if open == 0 {
                break;
            }
        }
        for i in 0..LANES {
            let behind = x[i] >= at_wall;
            d[i] = if behind { self.wall - x[i] } else { d[i] };
            scale[i] = if behind { self.thickness() } else { scale[i] };
        }
        (d, scale)
    }
}

/// The integrals over y, outwards from the mode of the exponent, or from the
/// wall where that cuts off the left half of a wide Gaussian.
#[inline(always)]
fn around_the_mode(s: &Scaled, x: &Lanes, at_wall: f64, steps: &Steps) -> Local {
    let (beta, inverse_delta) = (s.beta, 1.0 / s.delta);
    let (d, scale) = s.centres(x, at_wall);
    let (mut centre, mut linear) = ([0.0; LANES], [0.0; LANES]);
    let (mut quadratic, mut rest, mut hazard) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for i in 0..LANES {
        centre[i] = x[i] + d[i];
        linear[i] = d[i] * inverse_delta + beta * centre[i];
        let at = elementary::ln_cdf(centre[i]);
        (quadratic[i], rest[i]) = (at.quadratic, at.rest);
        // Differences of the hazard are taken from here, or, if the integral
        // reaches far behind the wall, from its value 0 there.
        hazard[i] = if x[i] < at_wall { at.hazard } else { 0.0 };
    }
    let (mut total, mut offset) = ([0.0; LANES], [0.0; LANES]);
    let (mut slope, mut product) = ([0.0; LANES], [0.0; LANES]);
    for side in [1.0, -1.0] {
        let from = if side > 0.0 { 0 } else { 1 };
        let nodes = steps.offset[from..].chunks_exact(STRIDE);
        let weights = steps.weight[from..].chunks_exact(STRIDE);
        for (nodes, weights) in nodes.zip(weights) {
            let mut weight = [0.0; LANES];
            for (node, node_weight) in nodes.iter().zip(weights) {
                for i in 0..LANES {
                    let moved = side * scale[i] * node;
                    let y = centre[i] + moved;
                    let at = elementary::ln_cdf(y);
                    // Far to the left both Gaussians are huge and nearly cancel: combine them.
                    let together = -moved * (linear[i] + 0.5 * moved * (inverse_delta + beta));
                    let apart = -moved * (0.5 * moved + d[i]) * inverse_delta
                        + beta * (at.quadratic - quadratic[i]);
                    let both_left = y < 0.0 && centre[i] < 0.0;
                    let gaussians = if both_left { together } else { apart };
                    let exponent = gaussians + beta * (at.rest - rest[i]);
                    weight[i] = node_weight * elementary::exp(exponent);
                    let excess = weight[i] * (at.hazard - hazard[i]);
                    total[i] += weight[i];
                    offset[i] += weight[i] * moved;
                    slope[i] += excess;
                    product[i] += excess * moved;
                }
            }
            if all_negligible(&weight) {
                break;
            }
        }
    }
    let zero = [0.0; LANES];
    let mut local = Local { l: zero, l_x: zero, l_xx: zero, y_gamma: zero };
    let norm = 1.0 / (2.0 * std::f64::consts::PI * s.delta).sqrt();
    for i in 0..LANES {
        let inverse = 1.0 / total[i];
        let (offset, slope) = (offset[i] * inverse, slope[i] * inverse);
        let product = product[i] * inverse;
        let mean_hazard = hazard[i] + slope;
        local.l[i] = -0.5 * d[i] * d[i] * inverse_delta
            + beta * (quadratic[i] + rest[i])
            + elementary::ln(total[i] * scale[i] * norm);
        local.l_x[i] = beta * mean_hazard;
        // Cov(Γ_y, y)/δ: Γ_y falls with y, so the terms of this sum have one sign.
        local.l_xx[i] = beta * (product - slope * offset) * inverse_delta;
        local.y_gamma[i] = beta * (mean_hazard * centre[i] + hazard[i] * offset + product);
    }
    local
}

/// The integrals over y where most of the Gaussian lies to the right of the
/// wall: e^L = 1 − ∫ dy N(y; x, δ) (1 − e^Γ), and the integrands are large near
/// the wall only. No term of L_xx = ⟨Γ_y (y − x)⟩/δ − L_x² is positive here.
#[inline(always)]
fn behind_the_wall(s: &Scaled, x: &Lanes, steps: &Steps) -> Local {
    let scale = s.thickness();
    let norm = scale / (2.0 * std::f64::consts::PI * s.delta).sqrt();
    let half_precision = 0.5 / s.delta;
    let mut missing = [0.0; LANES];
    let (mut slope, mut product) = ([0.0; LANES], [0.0; LANES]);
    for side in [1.0, -1.0] {
        let from = if side > 0.0 { 0 } else { 1 };
        let nodes = steps.offset[from..].chunks_exact(STRIDE);
        let weights = steps.weight[from..].chunks_exact(STRIDE);
        for (nodes, weights) in nodes.zip(weights) {
            let mut lost = [0.0; LANES];
            for (node, node_weight) in nodes.iter().zip(weights) {
                let y = s.wall + side * scale * node;
                let at = elementary::ln_cdf(y);
                let passed = elementary::exp(s.beta * (at.quadratic + at.rest));
                let gamma_y = passed * s.beta * at.hazard;
                for i in 0..LANES {
                    let distance = y - x[i];
                    let weight =
                        node_weight * elementary::exp(-distance * distance * half_precision);
                    lost[i] = weight * (1.0 - passed);
                    missing[i] += lost[i];
                    slope[i] += weight * gamma_y;
                    product[i] += weight * gamma_y * distance;
                }
            }
            if all_negligible(&lost) {
                break;
            }
        }
    }
    let zero = [0.0; LANES];
    let mut local = Local { l: zero, l_x: zero, l_xx: zero, y_gamma: zero };
    for i in 0..LANES {
        let lost = norm * missing[i];
        let factor = norm / (1.0 - lost);
        let l_x = slope[i] * factor;
        local.l[i] = elementary::ln_1p(-lost);
        local.l_x[i] = l_x;
        local.l_xx[i] = product[i] * factor / s.delta - l_x * l_x;
        local.y_gamma[i] = product[i] * factor + x[i] * l_x;
    }
    local
}

/// L(x), L_x, L_xx and ⟨y Γ_y⟩ at given rising scaled x, for a Gaussian of y of variance
/// δ = `delta`: what a level of broken replica symmetry is built on.
pub(crate) fn potentials(beta: f64, delta: f64, x: &[f64], resolution: f64) -> Vec<[f64; 4]> {
    let mut rows = vec![[0.0; 4]; x.len()];
    let s = Scaled { beta, delta, v: 1.0, q: 1.0, slope: 0.0, wall: wall_of(beta) };
    all_potentials(&s, x, resolution, &mut rows);
    rows
}

/// Where Φ^β rises from 0 to 1, or 0 where it has no sharp rise.
pub(crate) fn wall_of(beta: f64) -> f64 {
    if beta > 2.0 { wall(beta) } else { 0.0 }
}

multiversioned! {
    fn all_potentials(s: &Scaled, x: &[f64], resolution: f64, rows: &mut [[f64; 4]]) {
        let steps = Steps::new(INNER_STEP / resolution);
        let cut = s.cut_by_wall();
        let behind = if cut { s.wall + s.delta.sqrt() } else { f64::INFINITY };
        let at_wall = if cut {
            s.wall - s.delta * s.beta * elementary::ln_cdf(s.wall).hazard
        } else {
            f64::INFINITY
        };
        let split = x.partition_point(|x| *x <= behind);
        let (before, after) = x.split_at(split);
        let (rows_before, rows_after) = rows.split_at_mut(split);
        for (x, rows, is_behind) in [(before, rows_before, false), (after, rows_after, true)] {
            for (block, rows) in x.chunks(LANES).zip(rows.chunks_mut(LANES)) {
                let mut lanes = [block[block.len() - 1]; LANES];
                lanes[..block.len()].copy_from_slice(block);
                let local = if is_behind {
                    behind_the_wall(s, &lanes, &steps)
                } else {
                    around_the_mode(s, &lanes, at_wall, &steps)
                };
                for (i, row) in rows.iter_mut().enumerate() {
                    *row = [local.l[i], local.l_x[i], local.l_xx[i], local.y_gamma[i]];
                }
            }
        }
    }
}

/// Whether no lane holds anything worth adding.
#[inline(always)]
fn all_negligible(weights: &Lanes) -> bool {
    let mut open = 0_u64;
    for weight in weights {
        open |= u64::from(*weight > NEGLIGIBLE);
    }
    open == 0
}
