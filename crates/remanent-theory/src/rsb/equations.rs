//! The saddle point of a first task with K steps of breaking.
//!
//! The unknowns are the conjugates, Parisi's parameters and α. One turn leads from
//! conjugates to order parameters ([`super::site`]) and back ([`super::energy`]);
//! how far it moves are the residuals of the conjugates. The remaining equations,
//! ∂φ/∂x_l = 0, use the identity
//!
//! ```text
//! ∂φ/∂x_l = −½ (q_l_hat − q_{l−1}_hat)(q_l − q_{l−1}) + s_l + α e_l
//! ```
//!
//! where s_l and e_l are the excesses of the two sides: what ∂g_S/∂x_l and ∂g_E/∂x_l
//! are beyond ½ (q_l_hat − q_{l−1}_hat) q_{l−1} and ½ (q_l − q_{l−1}) q_{l−1}_hat/α.
//! Each term is of second order in the breaking, and their sum of third.

use super::energy::{StepEnergy, step_energy};
use super::narrow::Width;
use super::site::{StepSite, Surroundings};
use super::state::{State, StepConjugates, StepOverlaps, alpha_index, x_index};
use crate::inherited::{InheritedLaw, average};
use crate::resolution::Resolution;

/// Fields change the moments of a site measure over a distance √(1 + A) at least. A variance below this part of
/// its square is narrow,
pub const NARROW: f64 = 0.3;
/// and below this one the expansion of its third order is good to 1e-9.
const NARROWEST: f64 = 0.05;
/// And this part of q_0_hat is what a lattice resolves.
const SMALL: f64 = 5e-3;

/// Everything that defines the saddle point but α and K.
#[derive(Clone, Copy, Debug)]
pub struct System<'a> {
    /// β.
    pub beta: f64,
    /// The weight c of the entropy of the prior, or of the field that the previous task
    /// left; 0 without either.
    pub coupling: f64,
    /// What the previous task left; `None` for a first task.
    pub inherited: Option<&'a InheritedLaw>,
    /// 1 − q_⋆, if the self-overlap is held fixed.
    pub one_minus_q_star: Option<f64>,
    /// One step is integrated around every field by itself where its [`narrowness`] is below this.
    pub narrow_below: f64,
    /// Node counts.
    pub resolution: Resolution,
}

/// One turn of the saddle-point equations.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The entropic side, at given conjugates.
    pub site: StepSite,
    /// ln((1 − q_d)/(1 − q_⋆)), if the self-overlap is held at q_⋆.
    pub excess_q_d: Option<f64>,
    /// The energetic side, at the order parameters that follow, for α = 1.
    pub energy: StepEnergy,
    /// How the integrals over a step were done.
    pub width: Width,
    /// The factor of the equations of x: that of a narrow gap is divided by it once more, so that x stays
    /// determined.
    pub scale: f64,
}

impl<'a> System<'a> {
    /// From conjugates to order parameters to conjugates; `None` outside the domain.
    pub fn turn(&self, state: &State, signs: bool) -> Option<Turn> {
        let narrowness = narrowness(&state.conjugates);
        let is_small = narrowness < self.narrow_below && relative_gap(&state.conjugates) < SMALL;
        let is_narrow = state.x.len() == 1 && is_small;
        let width = match is_narrow {
            true if narrowness < NARROWEST => Width::Narrowest,
            true => Width::Narrow,
            false => Width::Any,
        };
        let scale = if is_narrow { self.narrow_below / narrowness } else { 1.0 };
        if !state.is_possible(width) {
            return None;
        }
        let (c, x) = (&state.conjugates, &state.x);
        let mut site = self.surroundings().step_site(c, x, signs, width, self.resolution);
        let excess_q_d =
            self.one_minus_q_star.map(|kappa| (site.overlaps.one_minus_q_d / kappa).ln());
        if let Some(kappa) = self.one_minus_q_star {
            site.overlaps.one_minus_q_d = kappa;
        }
        if !site.overlaps.are_possible() {
            return None;
        }
        let is_wide = || self.energy_narrowness(&site.overlaps) > self.narrow_below;
        let energy_width = if is_narrow && is_wide() { Width::Any } else { width };
        let energy = step_energy(&site.overlaps, x, self.beta, energy_width, self.resolution);
        Some(Turn { site, excess_q_d, energy, width, scale })
    }

    /// The variance of a narrow step of the energy, in units of the largest inverse curvature of L.
    fn energy_narrowness(&self, o: &StepOverlaps) -> f64 {
        let kappa = o.one_minus_q_d;
        let bend = self.beta / (1.0 + self.beta * o.q_d_minus_q_k / kappa);
        o.gaps[0] / kappa * bend
    }

    /// What a weight sees besides the patterns.
    pub fn surroundings(&self) -> Surroundings<'a> {
        Surroundings { coupling: self.coupling, inherited: self.inherited }
    }

    /// The equations of the curve of all solutions, for Newton's method and for the
    /// tracer; the last residual, of α, is 0. A turn does not depend on α, so two
    /// calls that differ in α alone cost one.
    pub fn equations<const M: usize>(
        &self,
    ) -> impl FnMut(&[f64; M]) -> Option<[f64; M]> + use<'a, M> {
        let system = *self;
        let mut known: Option<([f64; M], Turn)> = None;
        move |y| {
            let mut place = *y;
            place[M - 1] = 0.0;
            let state = State::from_coordinates(y);
            let turn = match known.take() {
                Some((before, turn)) if before == place => turn,
                _ => system.turn(&state, false)?,
            };
            let r = residual_of(y, &state, &turn);
            known = Some((place, turn));
            r
        }
    }

    /// The same at other node counts.
    pub fn with_resolution(self, resolution: Resolution) -> Self {
        Self { resolution, ..self }
    }
}

/// The innermost gap, in units of the square of the distance over which fields change the site measure.
fn narrowness(c: &StepConjugates) -> f64 {
    c.gaps.last().map_or(f64::INFINITY, |gap| gap / (1.0 + c.stiffness.max(0.0)))
}

/// The innermost gap relative to q_0_hat.
fn relative_gap(c: &StepConjugates) -> f64 {
    c.gaps.last().map_or(f64::INFINITY, |gap| gap / c.q_0_hat)
}

/// The residuals, if the turn from `state` is known.
pub fn residual_of<const M: usize>(y: &[f64; M], state: &State, turn: &Turn) -> Option<[f64; M]> {
    let steps = state.x.len();
    let (alpha, e) = (state.alpha, &turn.energy);
    let returned = State {
        conjugates: StepConjugates {
            stiffness: alpha * e.stiffness,
            q_0_hat: alpha * e.q_0_hat,
            gaps: e.gaps.iter().map(|g| alpha * g).collect(),
            r_hat: alpha * e.r_hat,
        },
        x: state.x.clone(),
        alpha,
    };
    let back: [f64; M] = returned.to_coordinates();
    let mut r: [f64; M] = std::array::from_fn(|i| y[i] - back[i]);
    if let Some(excess) = turn.excess_q_d {
        r[0] = excess;
    }
    for l in 1..=steps {
        let c = &state.conjugates;
        let area = c.gaps[l - 1] * turn.site.overlaps.gaps[l - 1];
        let slope = match turn.width {
            Width::Any => d_phi_d_x(state, turn, l),
            Width::Narrow | Width::Narrowest => third_order(state, turn, l) * turn.scale,
        };
        r[x_index(steps, l)] = slope / area;
    }
    r[alpha_index(steps)] = 0.0;
    r.iter().all(|v| v.is_finite()).then_some(r)
}

/// The part of ∂φ/∂x_l that is left where the gap's own equation holds.
fn third_order(state: &State, turn: &Turn, l: usize) -> f64 {
    turn.site.third_order[l - 1] + state.alpha * turn.energy.third_order[l - 1]
}

/// ∂φ/∂x_l at fixed order parameters.
pub fn d_phi_d_x(state: &State, turn: &Turn, l: usize) -> f64 {
    let (gap, gap_hat) = (turn.site.overlaps.gaps[l - 1], state.conjugates.gaps[l - 1]);
    if turn.width != Width::Any {
        let mismatch = state.alpha * turn.energy.gaps[l - 1] - gap_hat;
        return third_order(state, turn, l) + 0.25 * gap * mismatch;
    }
    let area = gap_hat * gap;
    turn.site.excess[l - 1] + state.alpha * turn.energy.excess[l - 1] - 0.5 * area
}

/// φ = −βf per weight,
///
/// ```text
/// φ = ½ A q_d − ½ q_K_hat (q_d − q_K) − ½ Σ_l x_l (q_l_hat q_l − q_{l−1}_hat q_{l−1}) − r_hat r + g_S + α g_E
/// ```
///
/// and the constant of the KL divergence, c E[½ ln((1 − m̃²)/4)] (−c ln 2 with a uniform prior).
pub fn phi(system: &System, state: &State, turn: &Turn) -> f64 {
    let (c, o) = (&state.conjugates, &turn.site.overlaps);
    let (q, q_hat) = (o.q(), c.q_hat());
    let steps = state.x.len();
    let broken: f64 = (1..=steps)
        .map(|l| {
            let (gap, gap_hat) = (o.gaps[l - 1], c.gaps[l - 1]);
            state.x[l - 1] * (q_hat[l] * gap + gap_hat * q[l - 1])
        })
        .sum();
    0.5 * c.stiffness * (1.0 - o.one_minus_q_d)
        - 0.5 * (q_hat[steps] * o.q_d_minus_q_k + broken)
        - c.r_hat * o.r
        + turn.site.g_s
        + system.coupling * kl_constant(system.inherited)
        + state.alpha * turn.energy.g_e
}

/// E[½ ln((1 − m̃²)/4)] = −E[ln 2cosh θ̃].
fn kl_constant(inherited: Option<&InheritedLaw>) -> f64 {
    average(inherited, |theta| -theta.abs() - (-2.0 * theta.abs()).exp().ln_1p())
}

/// λ_l = 1 − α E_T⟨ψ_l''²⟩ ∫Dz⟨ψ_l''²⟩, for l = 0 … K.
pub fn stabilities(state: &State, turn: &Turn) -> Vec<f64> {
    let pairs = turn.energy.curvature2.iter().zip(&turn.site.variance2);
    pairs.map(|(e, s)| 1.0 - state.alpha * e * s).collect()
}
