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
//! states into which the measure has shattered, if their complexity is positive.

use remanent_math::newton::Outcome;
use remanent_math::scalar;

use super::equations::System;
use super::report::{RsbSolution, finish};
use super::solve::solve_at_x;
use super::state::{State, StepConjugates, gap_index, x_index};
use super::task::BrokenTask;
use crate::parameters::{ParameterError, check_alpha};
use crate::solution::Termination;

/// Gaps are looked for between these multiples of q_0_hat.
const SMALLEST: f64 = 3e-3;
const LARGEST: f64 = 300.0;
/// Ratio of neighbouring gaps in the search.
const RATIO: f64 = 1.35;

impl BrokenTask {
    /// The one-step solution at x = 1 and `alpha` with the largest gap: the clusters
    /// of the typical state. Its complexity is positive between the dynamical and
    /// the static transition. A row that says so if there is none.
    pub fn at_one(&self, alpha: f64) -> Result<RsbSolution, ParameterError> {
        let alpha = check_alpha(alpha)?;
        let system = self.system();
        let none = |why| RsbSolution::none(alpha, system.beta, 1, why);
        let symmetric = self.poor(alpha, 0)?;
        if !symmetric.is_converged() {
            return Ok(none(symmetric.termination));
        }
        let state = |gap: f64| split(&symmetric, gap);
        let growth = |gap: f64| growth(&system, &state(gap));
        // From the largest gap downwards, to where G becomes positive.
        let mut high = LARGEST * symmetric.q_hat[0];
        while high > SMALLEST * symmetric.q_hat[0] {
            let low = high / RATIO;
            if growth(low) > 0.0 {
                let root = scalar::root(|g| growth(g.exp()), low.ln(), high.ln(), 1e-12);
                let Some(gap) = root.map(f64::exp) else { break };
                let y: [f64; 6] = state(gap).to_coordinates();
                return Ok(finish(&system, &solve_at_x(&system, y, None), false, false));
            }
            high = low;
        }
        Ok(none(Termination::NoSolution))
    }

    /// The one-step solution at `alpha` and a given Parisi parameter x, which need
    /// not be the static one: its complexity is that of the clusters whose −βf it
    /// names. Followed from `from`, a one-step solution at any x and α.
    pub fn at_x(&self, from: &RsbSolution, alpha: f64, x: f64) -> RsbSolution {
        let system = self.system();
        let none = RsbSolution::none(alpha, system.beta, 1, Termination::NoSolution);
        if !(from.is_converged() && from.steps == 1) {
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
