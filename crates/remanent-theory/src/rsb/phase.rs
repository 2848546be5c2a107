//! The phase diagram with one step of breaking, in the (α, β) plane.
//!
//! The broken poor branch begins at the zero λ = 0 of the replicon and ends at a second one,
//! `closing`. The gap q_1 − q_0 opens there with
//!
//! ```text
//! x = ½ (E_T[L'''²]/E_T[L''²] + E[V'²]/E[V²]²) / (E_T[L''³]/E_T[L''²] + E[V³]/E[V²]²),    V = Var m
//! ```
//!
//! (the derivative of the marginal stability along Parisi's flow), which is computed from
//! two small gaps. Three points organise the diagram:
//!
//! - [`BrokenPhaseDiagram::first_breaking`]: below its β the replicon never vanishes; there
//!   the onset and the closing meet.
//! - [`BrokenPhaseDiagram::end_of_jump`]: where the closing meets the fold of the good
//!   branch. The gap exists on the side λ < 0, which is that of smaller α if the closing
//!   lies on the good branch: the broken branch rises to it and passes over into the
//!   good one. If the closing lies on the middle branch, the broken branch has a
//!   fold before, and the transition is a jump.
//! - [`BrokenPhaseDiagram::discontinuous_onset`]: where x = 1 at the onset. Above its β clusters
//!   appear at a distance: first in numbers e^{NΣ} without weight on the
//!   thermodynamics (`dynamical`), then with Σ = 0 at x = 1 (`condensation`), both
//!   before λ = 0.

use rayon::prelude::*;
use remanent_math::newton::Outcome;
use remanent_math::scalar;
use serde::{Deserialize, Serialize};

use super::equations::stabilities;
use super::onset::Lowest;
use super::solve::{Hold, solve};
use super::state::{State, gap_index, x_index};
use super::task::{BrokenTask, with_vanishing_gap};
use super::trace::SMALLER;
use crate::branches::folds;
use crate::curve::Branch;
use crate::parameters::{DomainError, Prior};
use crate::single::SingleTask;

/// The smaller of the two gaps, relative to q_0_hat, from which x at the onset follows.
const OPENING: f64 = 1e-3;
/// The gap at which x is that of the onset.
const NARROW_OPENING: f64 = 1e-7;

/// The lines at one β; `None` where a line does not exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenPhaseRow {
    /// Inverse temperature β.
    pub beta: f64,
    /// λ = 0 on the branch connected to α → 0.
    pub onset: Option<f64>,
    /// x with which the gap opens there; above 1 the onset is discontinuous.
    pub onset_x: Option<f64>,
    /// Whether one step is stable just behind the onset (λ_1 > 0).
    pub is_stable_at_onset: Option<bool>,
    /// Where the typical state first belongs to a cluster (x = 1); equal to `onset` if
    /// that is continuous.
    pub dynamical: Option<f64>,
    /// Complexity of the clusters at `dynamical`; 0 if the onset is continuous.
    pub dynamical_complexity: Option<f64>,
    /// Where few clusters carry the measure; equal to `onset` if that is continuous.
    pub condensation: Option<f64>,
    /// q_1 − q_0 at `condensation`; 0 if the onset is continuous.
    pub condensation_gap: Option<f64>,
    /// Where λ_1 of the one-step poor branch vanishes, by rising α.
    pub inner_instability: Vec<f64>,
    /// Where λ_0 does.
    pub outer_instability: Vec<f64>,
    /// Where the good branch begins, in a fold of the replica-symmetric curve.
    pub good_from: Option<f64>,
    /// Where φ of the one-step poor branch equals that of the good one.
    pub crossing: Option<f64>,
    /// Where the one-step poor branch ends, in a fold.
    pub poor_until: Option<f64>,
    /// λ = 0 where the gap closes again.
    pub closing: Option<f64>,
    /// The replica-symmetric branch on which it closes.
    pub closing_branch: Option<Branch>,
}

/// A point of the diagram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhasePoint {
    /// α there.
    pub alpha: f64,
    /// β there.
    pub beta: f64,
}

/// The whole diagram; a point is `None` if it does not lie between the given β.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenPhaseDiagram {
    /// One row per β.
    pub rows: Vec<BrokenPhaseRow>,
    /// The smallest β at which replica symmetry breaks.
    pub first_breaking: Option<PhasePoint>,
    /// Where the jump from the poor to the good state begins; below its β the transition
    /// is continuous.
    pub end_of_jump: Option<PhasePoint>,
    /// Where the onset becomes discontinuous.
    pub discontinuous_onset: Option<PhasePoint>,
}

/// Computes the diagram of a task with this prior. `done` is called after each β, from any
/// thread.
pub fn broken_phase_diagram(
    betas: &[f64],
    prior: Prior,
    done: &(dyn Fn() + Sync),
) -> Result<BrokenPhaseDiagram, DomainError> {
    let rows: Vec<BrokenPhaseRow> = betas
        .par_iter()
        .map(|beta| {
            let row = BrokenTask::new(SingleTask::new(*beta)?.with_prior(prior)).phase_row();
            done();
            Ok(row)
        })
        .collect::<Result<_, DomainError>>()?;
    let between = |is_above: &dyn Fn(&BrokenPhaseRow) -> bool| {
        let below = rows.iter().filter(|r| !is_above(r)).map(|r| r.beta).reduce(f64::max)?;
        let above = rows.iter().filter(|r| is_above(r)).map(|r| r.beta).reduce(f64::min)?;
        (below < above).then_some((below, above))
    };
    Ok(BrokenPhaseDiagram {
        first_breaking: between(&|r| r.onset.is_some())
            .and_then(|(a, b)| first_breaking(prior, a, b)),
        end_of_jump: between(&|r| r.closing_branch == Some(Branch::Middle))
            .and_then(|(a, b)| end_of_jump(prior, a, b)),
        discontinuous_onset: between(&|r| r.onset_x.is_some_and(|x| x > 1.0))
            .and_then(|(a, b)| discontinuous_onset(prior, a, b)),
        rows,
    })
}

impl BrokenTask<'_> {
    /// The lines of the phase diagram at this β.
    pub fn phase_row(&self) -> BrokenPhaseRow {
        let resolution = self.resolution();
        let opening = self.opening();
        let good_from = self.curve().and_then(|curve| {
            folds(curve, resolution).into_iter().find(|f| f.ends == Branch::Good).map(|f| f.alpha)
        });
        let onset = self.onset_root().map(|root| root.x[3].exp());
        let closing = self.closing();
        // Where it begins with one step already, the onset is discontinuous.
        let condensation = self.beginning();
        let dynamical = match &condensation {
            Some(s) if s.steps == 1 => self.dynamical(s),
            other => other.clone(),
        };
        let unstable = |l: usize| {
            let mut alphas: Vec<f64> = self
                .stability_zeros(1, l)
                .iter()
                .filter(|s| !s.is_saddle)
                .map(|s| s.alpha)
                .collect();
            alphas.sort_by(f64::total_cmp);
            alphas
        };
        BrokenPhaseRow {
            beta: self.system().beta,
            onset,
            onset_x: opening.map(|o| o.x),
            is_stable_at_onset: opening.map(|o| o.is_stable),
            dynamical: dynamical.as_ref().map(|s| s.alpha),
            dynamical_complexity: dynamical.as_ref().map(|s| s.complexity),
            condensation: condensation.as_ref().map(|s| s.alpha),
            condensation_gap: condensation.map(|s| s.q_gaps.first().copied().unwrap_or(0.0)),
            inner_instability: unstable(1),
            outer_instability: unstable(0),
            good_from,
            crossing: self.crossing(1).map(|c| c.alpha),
            poor_until: self.fold(1).map(|s| s.alpha),
            closing: closing.map(|c| c.y[3].exp()),
            closing_branch: closing.map(|c| c.branch),
        }
    }
}

/// How the gap opens at the onset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// α.
    pub(super) alpha: f64,
    /// x at the vanishing gap.
    pub(super) x: f64,
    /// Whether λ_1 > 0 behind it.
    pub(super) is_stable: bool,
}

impl BrokenTask<'_> {
    pub(super) fn opening(&self) -> Option<Opening> {
        let narrow = self.opening_at(NARROW_OPENING)?;
        // λ_1 is of second order in the gap; its sign is that at a gap which can be told from none.
        let mut parts = SMALLER.iter();
        let wide = parts.find_map(|part| self.opening_at(part * OPENING));
        Some(Opening { is_stable: wide.map_or(narrow.is_stable, |wide| wide.is_stable), ..narrow })
    }

    fn opening_at(&self, first: f64) -> Option<Opening> {
        let system = self.system();
        let onset = self.onset_root()?.x;
        let mut y = with_vanishing_gap(&onset);
        let mut solve_at = |gap: f64| {
            y[gap_index(1)] = onset[1] + gap.ln();
            let root = solve(&system, Hold::LnGap(1, y[gap_index(1)]), y, None);
            y = root.x;
            (root.outcome == Outcome::Converged).then_some(y)
        };
        // From a larger gap, where x is easily found.
        let state = State::from_coordinates(&solve_at(10.0 * first)?);
        let stability = stabilities(&state, &system.turn(&state, false)?);
        let mut x_at = |gap: f64| solve_at(gap).map(|y| y[x_index(1, 1)].exp());
        let (twice, once) = (x_at(2.0 * first)?, x_at(first)?);
        Some(Opening {
            alpha: onset[3].exp(),
            x: 2.0 * once - twice,
            is_stable: stability[1] > 0.0,
        })
    }
}

fn first_task(beta: f64, prior: Prior) -> Option<SingleTask> {
    Some(SingleTask::new(beta).ok()?.with_prior(prior))
}

/// Where x at the onset is 1.
fn discontinuous_onset(prior: Prior, below: f64, above: f64) -> Option<PhasePoint> {
    let at = |beta: f64| BrokenTask::new(first_task(beta, prior)?).opening();
    let beta = scalar::root(|b| at(b).map_or(f64::NAN, |o| o.x - 1.0), below, above, 1e-8)?;
    Some(PhasePoint { alpha: at(beta)?.alpha, beta })
}

/// Where the replicon vanishes at the fold of the good branch.
fn end_of_jump(prior: Prior, below: f64, above: f64) -> Option<PhasePoint> {
    let fold = |beta: f64| {
        let single = first_task(beta, prior)?;
        folds(&single.curve(3.0)?, single.resolution()).into_iter().find(|f| f.ends == Branch::Good)
    };
    let replicon = |beta: f64| fold(beta).map_or(f64::NAN, |f| f.solution.replicon);
    // The replica-symmetric fold may be gone at the smaller β.
    let mut low = below;
    while replicon(low).is_nan() && above - low > 1e-3 {
        low += 0.25 * (above - low);
    }
    let beta = scalar::root(replicon, low, above, 1e-8)?;
    Some(PhasePoint { alpha: fold(beta)?.alpha, beta })
}

/// Where the smallest replicon along the curve is 0.
fn first_breaking(prior: Prior, below: f64, above: f64) -> Option<PhasePoint> {
    let smallest = |beta: f64| {
        let single = first_task(beta, prior)?;
        let curve = single.curve(3.0)?;
        let lowest = Lowest::of(&curve, single.resolution())?;
        Some((lowest.value, lowest.alpha()?))
    };
    let replicon = |beta: f64| smallest(beta).map_or(f64::NAN, |(replicon, _)| replicon);
    let beta = scalar::root(replicon, below, above, 1e-8)?;
    Some(PhasePoint { alpha: smallest(beta)?.1, beta })
}
