//! Clusters at x = 1, and at any other x.
//!
//! At x = 1 the one-step equations for q_d, q_0, r are those of replica symmetry,
//! because ∫Dy e^{F(b + √c y)} with A = q_1_hat − q_d_hat is e^F with q_0_hat − q_d_hat.
//! What is left is one equation for the gap g = q_1_hat − q_0_hat,
//!
//! ```text
//! G(g) = ln( α E_T⟨Var L'⟩ / g ) = 0
//! ```
//!
//! with q_1 − q_0 = ∫Dz⟨Var⟨m⟩⟩ at g. G(0) = ln(1 − λ), so with a positive replicon
//! there are no roots or pairs of them; the larger of a pair are the clusters of
//! states into which the measure has shattered, if their complexity is positive. The
//! pair is born where the largest G is 0: the dynamical transition.
//!
//! At any x the equations without ∂φ/∂x = 0 describe the clusters whose s = −βf maximises
//! Σ(s) + x s: xφ(x) is the Legendre transform of the complexity Σ(s), so
//! s = ∂(xφ)/∂x, Σ = −x² ∂φ/∂x and dΣ/ds = −x. The clusters that carry the measure are
//! those of the static x, where Σ = 0, or of x = 1 if Σ > 0 there; smaller x lead to
//! clusters that are more numerous and lighter.

use remanent_math::newton::{Outcome, Root};
use remanent_math::scalar;

use super::equations::System;
use super::report::{RsbSolution, finish};
use super::solve::solve_at_x;
use super::state::{State, StepConjugates, gap_index, x_index};
use super::task::BrokenTask;
use crate::parameters::{Choice, DomainError};
use crate::ranges::ALPHA;
use crate::solution::Termination;

/// Gaps are looked for between these multiples of q_0_hat.
const SMALLEST: f64 = 3e-3;
const LARGEST: f64 = 300.0;
/// The smallest x of a complexity curve, in units of its largest.
const LIGHTEST: f64 = 0.02;
/// Distance of the logarithms of neighbouring gaps in the search.
const STEP: f64 = 0.3;

impl BrokenTask<'_> {
    /// The one-step solution at x = 1 and `alpha` with the largest gap: the clusters
    /// of the typical state. Its complexity is positive between the dynamical and
    /// the static transition. A row that says so if there is none.
    pub fn at_one(&self, alpha: f64) -> Result<RsbSolution, DomainError> {
        let alpha = ALPHA.check("alpha", alpha)?;
        let system = self.system();
        let none = |why| RsbSolution::none(alpha, system.beta, 1, why);
        let symmetric = self.symmetric(alpha, Choice::Poor)?;
        if !symmetric.is_found() {
            return Ok(none(symmetric.termination));
        }
        let growth = |ln_gap: f64| growth(&system, &split(&symmetric, ln_gap.exp()));
        // From the largest gap downwards, to where G becomes positive; next to the
        // dynamical transition that may be between two places.
        let ln_gap = |k: usize| (LARGEST * symmetric.q_hat[0]).ln() - STEP * k as f64;
        let places = ((LARGEST / SMALLEST).ln() / STEP) as usize;
        let mut values = vec![growth(ln_gap(0))];
        for k in 1..=places {
            values.push(growth(ln_gap(k)));
            let mut above = (values[k] > 0.0).then(|| ln_gap(k));
            if k > 1 && values[k - 1] > values[k].max(values[k - 2]) {
                let (top, low) = scalar::minimum(|x| -growth(x), ln_gap(k), ln_gap(k - 2), 1e-6);
                above = above.or((low < 0.0).then_some(top));
            }
            let Some(above) = above else { continue };
            let highest = ln_gap(k.saturating_sub(2));
            let Some(gap) = scalar::root(growth, above, highest, 1e-12) else { break };
            let y: [f64; 6] = split(&symmetric, gap.exp()).to_coordinates();
            return Ok(finish(&system, &solve_at_x(&system, y, None), false, false));
        }
        Ok(none(Termination::NoSolution))
    }

    /// The clusters at x = 1 where they are born, for a task whose clusters condense at
    /// `condensation` = [`BrokenTask::beginning`] with x = 1.
    pub(super) fn dynamical(&self, condensation: &RsbSolution) -> Option<RsbSolution> {
        let system = self.system();
        // The largest G at an α, and ln of the gap there.
        let mut ln_gap = condensation.q_hat_gaps[0].ln();
        let mut largest = |ln_alpha: f64| {
            let symmetric = self.symmetric(ln_alpha.exp(), Choice::Poor).ok()?;
            let value = |ln_gap: f64| growth(&system, &split(&symmetric, ln_gap.exp()));
            let (x, low) = scalar::minimum(|x| -value(x), ln_gap - 1.5, ln_gap + 0.5, 1e-6);
            ln_gap = x;
            Some((symmetric, x, -low))
        };
        let high = condensation.alpha.ln();
        let mut low = high;
        // Next to the point at which the onset becomes discontinuous the distances are of second order.
        let onset = self.onset_root().map_or(f64::INFINITY, |root| root.x[3]);
        let first = (onset - high).clamp(1e-11, 4e-4);
        for step in 0..12 {
            low -= first * f64::from(1 << step);
            if largest(low)?.2 < 0.0 {
                break;
            }
        }
        let value = |ln_alpha: f64| largest(ln_alpha).map_or(f64::NAN, |(_, _, g)| g);
        let ln_alpha = scalar::root(value, low, high, 1e-10_f64.min(1e-3 * first))?;
        let (symmetric, ln_gap, _) = largest(ln_alpha)?;
        let state = split(&symmetric, ln_gap.exp());
        let residual = growth(&system, &state).abs();
        let y: [f64; 6] = state.to_coordinates();
        let jacobian = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(i == j)));
        let root = Root { x: y, residual, jacobian, outcome: Outcome::Converged };
        Some(finish(&system, &root, false, false))
    }

    /// The complexity Σ(s) of the clusters at `alpha`: one-step solutions at falling x, from
    /// those that carry the measure (the static x, or x = 1 before clusters condense)
    /// to the lightest. Each row has s as `cluster_minus_beta_f`, Σ as `complexity`, and
    /// the stability λ_1 that says whether such clusters are themselves whole. Empty
    /// where there are no clusters.
    pub fn complexity(&self, alpha: f64, rows: usize) -> Result<Vec<RsbSolution>, DomainError> {
        let carried = self.poor(alpha, 1)?;
        let first = if carried.is_found() { carried } else { self.at_one(alpha)? };
        if !first.is_found() || first.complexity < -1e-9 {
            return Ok(vec![]);
        }
        // Down to where s would rise again, which no clusters do.
        let mut found = vec![first];
        let (mut ratio, smallest) = (0.8_f64, LIGHTEST * found[0].x[0]);
        while ratio < 0.998 && found[found.len() - 1].x[0] > smallest {
            let last = &found[found.len() - 1];
            let next = self.at_x(last, alpha, last.x[0] * ratio);
            if next.is_found() && next.cluster_minus_beta_f < last.cluster_minus_beta_f {
                found.push(next);
            } else {
                ratio = ratio.sqrt();
            }
        }
        let (high, low) = (found[0].x[0], found[found.len() - 1].x[0]);
        let mut curve = vec![found.remove(0)];
        for i in 1..rows {
            let x = high + (low - high) * i as f64 / (rows - 1) as f64;
            let last = &curve[curve.len() - 1];
            let next = self.at_x(last, alpha, x);
            if !(next.is_found() && next.cluster_minus_beta_f < last.cluster_minus_beta_f) {
                break;
            }
            curve.push(next);
        }
        Ok(curve)
    }

    /// The one-step solution at `alpha` and a given Parisi parameter x, which need
    /// not be the static one: its complexity is that of the clusters whose −βf it
    /// names. Followed from `from`, a one-step solution at any x and α.
    pub fn at_x(&self, from: &RsbSolution, alpha: f64, x: f64) -> RsbSolution {
        let system = self.system();
        let none = RsbSolution::none(alpha, system.beta, 1, Termination::NoSolution);
        if !(from.is_found() && from.steps == 1) {
            return none;
        }
        let mut y: [f64; 6] = from.state().to_coordinates();
        let (first, target) = ([y[x_index(1, 1)], y[5]], [x.ln(), alpha.ln()]);
        let (mut done, mut step) = (0.0, 1.0_f64);
        let mut jacobian = None;
        while step > 1e-3 {
            let next = (done + step).min(1.0);
            let mut start = y;
            start[x_index(1, 1)] = first[0] + next * (target[0] - first[0]);
            start[5] = first[1] + next * (target[1] - first[1]);
            let root = solve_at_x(&system, start, jacobian.as_ref());
            // A gap that closes is replica symmetry.
            if root.outcome != Outcome::Converged || root.x[gap_index(1)] < root.x[1] - 9.0 {
                step *= 0.5;
                continue;
            }
            (y, done, jacobian) = (root.x, next, Some(root.jacobian));
            if done >= 1.0 {
                return finish(&system, &root, false, false);
            }
            step *= 1.5;
        }
        none
    }
}

/// The replica-symmetric solution with its states grouped into clusters, at x = 1.
fn split(symmetric: &RsbSolution, gap: f64) -> State {
    State {
        conjugates: StepConjugates {
            stiffness: symmetric.stiffness + gap,
            q_0_hat: symmetric.q_hat[0],
            gaps: vec![gap],
            r_hat: symmetric.r_hat,
        },
        x: vec![1.0],
        alpha: symmetric.alpha,
    }
}

/// G, the logarithm of the factor by which one turn changes the gap.
fn growth(system: &System, state: &State) -> f64 {
    let turn = system.turn(state, false);
    turn.map_or(f64::NAN, |t| (state.alpha * t.energy.gaps[0] / state.conjugates.gaps[0]).ln())
}
