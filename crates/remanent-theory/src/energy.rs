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

use multiversion::multiversion;
use remanent_math::elementary;
use remanent_math::normal;

use crate::overlaps::{Overlaps, Resolution};

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
    let sums = integrate(&scaled, resolution.0);
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

/// L and its derivatives at one x.
#[derive(Clone, Copy, Debug)]
struct Local {
    l: f64,
    l_x: f64,
    l_xx: f64,
    y_gamma: f64,
    /// Distance from x to the mode of the integrand, and its slope in x.
    mode: (f64, f64),
}

/// sinh and cosh at multiples of a step, for nodes spread by x = centre + s sinh t.
struct HyperbolicTable {
    step: f64,
    sinh: Vec<f64>,
    cosh: Vec<f64>,
}

impl HyperbolicTable {
    fn new(step: f64) -> Self {
        let count = (16.0 / step) as usize;
        let at = |f: fn(f64) -> f64| (0..count).map(|j| f(step * j as f64)).collect();
        Self { step, sinh: at(f64::sinh), cosh: at(f64::cosh) }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn integrate(s: &Scaled, resolution: f64) -> Sums {
    let outer_step = 0.12 / resolution;
    let inner_step = 0.125 / resolution;
    let table = HyperbolicTable::new(inner_step);
    // Behind the wall a wide Gaussian may need more nodes.
    let finer = (s.delta > 1.0).then(|| HyperbolicTable::new(inner_step / 3.0));
    let cluster = s.v.sqrt().min((1.0 + s.delta).sqrt());
    // One side of the step is cut off by it, on the scale √v; the other reaches
    // to where the Gaussian ends, or on the right to where L vanishes.
    let (mut left, mut right) = (REACH * s.v.sqrt(), REACH * s.q.sqrt());
    if s.slope < 0.0 {
        (left, right) = (right, left);
    }
    right = right.min(s.wall + 10.0 * (1.0 + s.delta).sqrt());
    let first = -((left / cluster).asinh() / outer_step).ceil() as i64;
    let last = ((right / cluster).asinh() / outer_step).ceil() as i64;
    let mut sums = Sums::default();
    let (mut mode, mut x_before) = ((0.0, 0.0), 0.0);
    for j in first..=last {
        let t = outer_step * j as f64;
        let x = cluster * t.sinh();
        let dx = cluster * t.cosh() * outer_step;
        // The mode moves with x at a known rate.
        let guess = mode.0 + mode.1 * (x - x_before);
        let local = local(s, x, guess, &table, finer.as_ref());
        (mode, x_before) = (local.mode, x);
        let weight = 2.0 * dx * normal::cdf(s.slope * x) * gaussian(x, s.q);
        sums.l += weight * local.l;
        sums.l_x2 += weight * local.l_x * local.l_x;
        sums.l_xx += weight * local.l_xx;
        sums.y_gamma += weight * local.y_gamma;
        sums.l_xx2 += weight * local.l_xx * local.l_xx;
        sums.teacher += dx * gaussian(x, s.v) * local.l_x;
    }
    sums
}

#[inline(always)]
fn gaussian(x: f64, variance: f64) -> f64 {
    (-0.5 * x * x / variance).exp() / (2.0 * std::f64::consts::PI * variance).sqrt()
}

/// How many nodes the inner loop treats at once.
const LANES: usize = 16;

/// The sum of the lanes, in a fixed order.
#[inline(always)]
fn sum(lanes: [f64; LANES]) -> f64 {
    lanes.iter().sum()
}

/// The integral over y at one x. The exponent −(y − x)²/2δ + β ln Φ(y) is
/// concave: nodes are spread from its mode on the scale of its curvature, or,
/// where a wide Gaussian is cut by the wall of Φ^β, from the wall.
#[inline(always)]
fn local(
    s: &Scaled,
    x: f64,
    guess: f64,
    table: &HyperbolicTable,
    finer: Option<&HyperbolicTable>,
) -> Local {
    let (beta, delta) = (s.beta, s.delta);
    // The mode is at y = x + d with d = δ β (ln Φ)'(y) > 0. A fifth of its width is near enough.
    let mut d = guess.max(0.0);
    let mut curvature = 0.0;
    for _ in 0..60 {
        let y = x + d;
        let hazard = elementary::ln_cdf(y).hazard;
        let softness = (hazard * (hazard + y)).clamp(0.0, 1.0);
        curvature = 1.0 / delta + beta * softness;
        let change = (d / delta - beta * hazard) / curvature;
        d = (d - change).max(0.0);
        if change * change * curvature < 0.04 {
            break;
        }
    }
    let y_mode = x + d;
    let at_mode = elementary::ln_cdf(y_mode);
    let width = curvature.sqrt().recip();

    let root_delta = delta.sqrt();
    let (centre, scale, table) = match finer {
        Some(finer) if y_mode > s.wall && x - s.wall < 9.0 * root_delta => {
            // Nodes half a standard deviation apart where the Gaussian has its mass.
            let far = (x - s.wall) * 0.125 > 0.55 * root_delta;
            (s.wall, 1.0 / (1.0 + s.wall), if far { finer } else { table })
        }
        _ => (y_mode, width, table),
    };

    let inverse_delta = 1.0 / delta;
    let linear = d * inverse_delta + beta * y_mode;
    let mut total = [0.0; LANES];
    let mut offset = [0.0; LANES];
    let mut slope = [0.0; LANES];
    let mut product = [0.0; LANES];
    for side in [1.0, -1.0] {
        let mut start = if side > 0.0 { 0 } else { 1 };
        while start + LANES <= table.sinh.len() {
            let mut moved = [0.0; LANES];
            let mut weight = [0.0; LANES];
            let mut hazard = [0.0; LANES];
            for i in 0..LANES {
                moved[i] = side * scale * table.sinh[start + i];
                weight[i] = table.cosh[start + i];
            }
            for i in 0..LANES {
                let y = centre + moved[i];
                let at = elementary::ln_cdf(y);
                let from_mode = (centre - y_mode) + moved[i];
                // Far to the left both Gaussians are huge and nearly cancel: combine them.
                let together = -from_mode * (linear + 0.5 * from_mode * (inverse_delta + beta));
                let apart = -from_mode * (0.5 * from_mode + d) * inverse_delta
                    + beta * (at.quadratic - at_mode.quadratic);
                let both_left = y < 0.0 && y_mode < 0.0;
                let gaussians = if both_left { together } else { apart };
                weight[i] *= elementary::exp(gaussians + beta * (at.rest - at_mode.rest));
                hazard[i] = at.hazard - at_mode.hazard;
            }
            for i in 0..LANES {
                total[i] += weight[i];
                offset[i] += weight[i] * moved[i];
                slope[i] += weight[i] * hazard[i];
                product[i] += weight[i] * hazard[i] * moved[i];
            }
            start += LANES;
            let past_mode = side < 0.0 || centre + moved[LANES - 1] > y_mode;
            if weight[LANES - 1] < 1e-17 && past_mode {
                break;
            }
        }
    }
    let total = sum(total);
    let offset = sum(offset) / total;
    let slope = sum(slope) / total;
    let product = sum(product) / total;
    let hazard = at_mode.hazard + slope;
    let mass = total * table.step * scale / (2.0 * std::f64::consts::PI * delta).sqrt();
    Local {
        l: -0.5 * d * d / delta + beta * (at_mode.quadratic + at_mode.rest) + mass.ln(),
        l_x: beta * hazard,
        // Cov(Γ_y, y)/δ: Γ_y falls with y, so the terms of this sum have one sign.
        l_xx: beta * (product - slope * offset) / delta,
        y_gamma: beta * (hazard * centre + at_mode.hazard * offset + product),
        mode: (d, 1.0 / (delta * curvature) - 1.0),
    }
}
