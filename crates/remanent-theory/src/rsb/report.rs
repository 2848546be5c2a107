//! A solution with K steps of breaking, as it is reported.

use remanent_math::linear::{self, axpy, max_norm};
use remanent_math::newton::{Outcome, Root};
use serde::{Deserialize, Serialize};

use super::equations::{System, Turn, d_phi_d_x, phi, residual_of, stabilities};
use super::narrow::Width;
use super::solve::{Hold, solve};
use super::state::State;
use crate::agreement::generalisation_error;
use crate::curve::Branch;
use crate::number;
use crate::resolution::Resolution;
use crate::solution::{Solution, Termination};
use crate::stage::ACCURACY;

/// Narrow gaps are measured relative to this part of q_0.
const SMALL_GAP: f64 = 0.01;

/// How often the number of nodes is doubled for a solution that is inaccurate.
const REFINEMENTS: usize = 1;

/// One solution with K steps. Where there is none, the numbers are NaN (null in
/// JSON), the lists are empty, and `termination` says why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RsbSolution {
    /// Patterns per weight α.
    pub alpha: f64,
    /// Inverse temperature β.
    pub beta: f64,
    /// K, the number of steps; 0 is replica symmetry.
    pub steps: usize,
    /// The branch it lies on; a broken solution is on the poor one, or on the middle one behind
    /// the fold.
    pub branch: Branch,
    /// Whether α falls along the curve here, read from the onset: behind the fold.
    pub is_saddle: bool,
    /// Self-overlap q_d.
    #[serde(with = "number")]
    pub q_d: f64,
    /// q_0, q_1, …, q_K: overlaps of two states in different clusters, …, in the same one.
    pub q: Vec<f64>,
    /// Overlap r with the teacher.
    #[serde(with = "number")]
    pub r: f64,
    /// Parisi's parameters x_1, …, x_K.
    pub x: Vec<f64>,
    /// Conjugate of q_d.
    #[serde(with = "number")]
    pub q_d_hat: f64,
    /// Conjugates of q_0, …, q_K (without their factors x_{l+1} − x_l).
    pub q_hat: Vec<f64>,
    /// Conjugate of r.
    #[serde(with = "number")]
    pub r_hat: f64,
    /// Overlap p of the decoded weights sign(m) with the teacher.
    #[serde(with = "number")]
    pub p: f64,
    /// Generalisation error ε = arccos(p)/π.
    #[serde(with = "number")]
    pub eps: f64,
    /// ln ε.
    #[serde(with = "number")]
    pub ln_eps: f64,
    /// φ = −βf per weight.
    #[serde(with = "number")]
    pub minus_beta_f: f64,
    /// ∂φ/∂x_l, l = 1 … K: 0 at a static solution, to its residual.
    pub d_phi_d_x: Vec<f64>,
    /// Complexity Σ = −x² ∂φ/∂x of the clusters of the outermost step (0 for K = 0).
    #[serde(with = "number")]
    pub complexity: f64,
    /// −βf of one such cluster, ∂(xφ)/∂x = φ + x ∂φ/∂x.
    #[serde(with = "number")]
    pub cluster_minus_beta_f: f64,
    /// λ_0, …, λ_K; negative where a level wants to break once more.
    pub stability: Vec<f64>,
    /// 1 − q_d.
    #[serde(with = "number")]
    pub one_minus_q_d: f64,
    /// q_d − q_K.
    #[serde(with = "number")]
    pub q_d_minus_q_k: f64,
    /// q_l − q_{l−1}, l = 1 … K.
    pub q_gaps: Vec<f64>,
    /// q_0 − r².
    #[serde(with = "number")]
    pub q_0_minus_r2: f64,
    /// q_K_hat − q_d_hat.
    #[serde(with = "number")]
    pub stiffness: f64,
    /// q_l_hat − q_{l−1}_hat, l = 1 … K.
    pub q_hat_gaps: Vec<f64>,
    /// Largest relative mismatch of the equations.
    #[serde(with = "number")]
    pub residual: f64,
    /// Estimate of the largest relative error that is due to quadrature.
    #[serde(with = "number")]
    pub quadrature_error: f64,
    /// How the search ended.
    pub termination: Termination,
}

impl RsbSolution {
    /// The row that says that there is none.
    pub fn none(alpha: f64, beta: f64, steps: usize, termination: Termination) -> Self {
        let nan = f64::NAN;
        Self {
            alpha,
            beta,
            steps,
            branch: Branch::Poor,
            is_saddle: false,
            q_d: nan,
            q: vec![],
            r: nan,
            x: vec![],
            q_d_hat: nan,
            q_hat: vec![],
            r_hat: nan,
            p: nan,
            eps: nan,
            ln_eps: nan,
            minus_beta_f: nan,
            d_phi_d_x: vec![],
            complexity: nan,
            cluster_minus_beta_f: nan,
            stability: vec![],
            one_minus_q_d: nan,
            q_d_minus_q_k: nan,
            q_gaps: vec![],
            q_0_minus_r2: nan,
            stiffness: nan,
            q_hat_gaps: vec![],
            residual: nan,
            quadrature_error: nan,
            termination,
        }
    }

    /// A replica-symmetric solution in this form.
    pub fn symmetric(s: &Solution, is_saddle: bool) -> Self {
        if !s.is_found() {
            return Self::none(s.alpha, s.beta, 0, s.termination);
        }
        Self {
            branch: s.branch,
            is_saddle,
            q_d: s.q_d,
            q: vec![s.q_0],
            r: s.r,
            q_d_hat: s.q_d_hat,
            q_hat: vec![s.q_0_hat],
            r_hat: s.r_hat,
            p: s.p,
            eps: s.eps,
            ln_eps: s.ln_eps,
            minus_beta_f: s.minus_beta_f,
            complexity: 0.0,
            cluster_minus_beta_f: s.minus_beta_f,
            stability: vec![s.replicon],
            one_minus_q_d: s.one_minus_q_d,
            q_d_minus_q_k: s.q_d_minus_q_0,
            q_0_minus_r2: s.q_0_minus_r2,
            stiffness: s.q_0_hat - s.q_d_hat,
            residual: s.residual,
            quadrature_error: s.quadrature_error,
            ..Self::none(s.alpha, s.beta, 0, s.termination)
        }
    }

    /// Whether the numbers are those of a solution, and accurate.
    pub fn is_converged(&self) -> bool {
        self.termination == Termination::Converged
    }

    /// Whether the numbers are those of a solution, accurate or not.
    pub fn is_found(&self) -> bool {
        matches!(self.termination, Termination::Converged | Termination::Inaccurate)
    }

    /// Whether 0 < x_1 < … < x_K ≤ 1, as for a measure over clusters.
    pub fn is_physical(&self) -> bool {
        let rising = self.x.windows(2).all(|w| w[0] < w[1]);
        self.is_found() && rising && self.x.last().is_none_or(|x| *x <= 1.0 + 1e-9)
    }

    /// Whether no level wants to break once more, to within `tolerance`.
    pub fn is_stable(&self, tolerance: f64) -> bool {
        self.is_found() && self.stability.iter().all(|l| *l > -tolerance)
    }

    /// Overlap of two states drawn from the whole measure,
    /// ⟨q⟩ = Σ_l (x_{l+1} − x_l) q_l.
    pub fn mean_q(&self) -> f64 {
        let x = |l: usize| match l {
            0 => 0.0,
            l if l > self.steps => 1.0,
            l => self.x[l - 1],
        };
        self.q.iter().enumerate().map(|(l, q)| (x(l + 1) - x(l)) * q).sum()
    }

    /// Where it lies for the solver.
    pub(super) fn state(&self) -> State {
        State {
            conjugates: super::state::StepConjugates {
                stiffness: self.stiffness,
                q_0_hat: self.q_hat[0],
                gaps: self.q_hat_gaps.clone(),
                r_hat: self.r_hat,
            },
            x: self.x.clone(),
            alpha: self.alpha,
        }
    }
}

/// What is reported of a root of the static equations, with more nodes while it is inaccurate; `hold` stays fixed then.
pub(super) fn refined<const M: usize>(
    system: &System,
    root: &Root<M>,
    hold: Hold,
    is_saddle: bool,
) -> RsbSolution {
    let mut solution = finish(system, root, is_saddle, true);
    for level in (2..=2 * REFINEMENTS).step_by(2) {
        if solution.termination != Termination::Inaccurate {
            break;
        }
        let finer = system.with_resolution(system.resolution.level(level));
        let next = solve(&finer, hold, root.x, Some(&root.jacobian));
        // A root elsewhere is another solution.
        if max_norm(&axpy(&next.x, -1.0, &root.x)) > 0.1 {
            break;
        }
        let next = finish(&finer, &next, is_saddle, true);
        let improves = next.quadrature_error < solution.quadrature_error;
        if !improves {
            break;
        }
        solution = next;
    }
    solution
}

/// Computes all that is reported of a root. `is_static`: whether ∂φ/∂x_l = 0 was
/// among its equations.
pub(super) fn finish<const M: usize>(
    system: &System,
    root: &Root<M>,
    is_saddle: bool,
    is_static: bool,
) -> RsbSolution {
    let steps = (M - 4) / 2;
    let state = State::from_coordinates(&root.x);
    let none = |termination| RsbSolution::none(state.alpha, system.beta, steps, termination);
    match root.outcome {
        Outcome::Converged => {}
        Outcome::MaxIterations => return none(Termination::MaxIterations),
        Outcome::LeftDomain => return none(Termination::LeftDomain),
    }
    let Some(turn) = system.turn(&state, true) else { return none(Termination::LeftDomain) };
    let o = &turn.site.overlaps;
    let one_minus_p = 2.0 * turn.site.negative.unwrap_or(f64::NAN);
    let (eps, ln_eps) = generalisation_error(one_minus_p.ln(), (2.0 - one_minus_p).ln());
    let value = phi(system, &state, &turn);
    let slopes: Vec<f64> = (1..=steps).map(|l| d_phi_d_x(&state, &turn, l)).collect();
    let pull = state.x.first().map_or(0.0, |x| x * slopes[0]);
    let quadrature_error = quadrature_error(system, root, &state, &turn, is_static);
    let is_accurate = quadrature_error <= ACCURACY;
    RsbSolution {
        alpha: state.alpha,
        beta: system.beta,
        steps,
        branch: if is_saddle { Branch::Middle } else { Branch::Poor },
        is_saddle,
        q_d: 1.0 - o.one_minus_q_d,
        q: o.q(),
        r: o.r,
        q_d_hat: state.conjugates.q_d_hat(),
        q_hat: state.conjugates.q_hat(),
        r_hat: state.conjugates.r_hat,
        p: 1.0 - one_minus_p,
        eps,
        ln_eps,
        minus_beta_f: value,
        complexity: state.x.first().map_or(0.0, |x| -x * pull),
        cluster_minus_beta_f: value + pull,
        d_phi_d_x: slopes,
        stability: stabilities(&state, &turn),
        one_minus_q_d: o.one_minus_q_d,
        q_d_minus_q_k: o.q_d_minus_q_k,
        q_gaps: o.gaps.clone(),
        q_0_minus_r2: o.q_0_minus_r2,
        stiffness: state.conjugates.stiffness,
        q_hat_gaps: state.conjugates.gaps.clone(),
        residual: root.residual,
        quadrature_error,
        x: state.x,
        termination: if is_accurate { Termination::Converged } else { Termination::Inaccurate },
    }
}

/// How far the root would move on a grid with √2 times the nodes, to first order,
/// and how much the order parameters change there at fixed conjugates.
fn quadrature_error<const M: usize>(
    system: &System,
    root: &Root<M>,
    state: &State,
    turn: &Turn,
    is_static: bool,
) -> f64 {
    let steps = (M - 4) / 2;
    let finer = Resolution::unchecked(system.resolution.factor() * std::f64::consts::SQRT_2);
    let Some(fine) = system.with_resolution(finer).turn(state, false) else { return f64::NAN };
    let Some(mut r) = residual_of(&root.x, state, &fine) else { return f64::NAN };
    if !is_static {
        (1..=steps).for_each(|l| r[super::state::x_index(steps, l)] = 0.0);
    }
    // A narrow gap is not known relative to itself: where it opens it is the distance from another number.
    let (a, b) = (&turn.site.overlaps, &fine.site.overlaps);
    let share = |l: usize| match turn.width {
        Width::Any => 1.0,
        Width::Narrow | Width::Narrowest => (a.gaps[l - 1] / (SMALL_GAP * a.q()[0])).min(1.0),
    };
    let moved = linear::solve(root.jacobian, r).map_or(f64::INFINITY, |mut s| {
        (1..=steps).for_each(|l| s[super::state::gap_index(l)] *= share(l));
        linear::max_norm(&s)
    });
    // Next to a fold the Jacobian is singular and the root moves with the square root.
    let moved = moved.min(10.0 * linear::max_norm(&r).sqrt());
    let pairs = [
        (a.one_minus_q_d, b.one_minus_q_d),
        (a.q_d_minus_q_k, b.q_d_minus_q_k),
        (a.q_0_minus_r2, b.q_0_minus_r2),
    ];
    let gaps = (1..=steps).map(|l| share(l) * (a.gaps[l - 1] / b.gaps[l - 1] - 1.0).abs());
    let others = pairs.iter().map(|(a, b)| (a / b - 1.0).abs());
    gaps.chain(others).fold(moved, f64::max)
}
