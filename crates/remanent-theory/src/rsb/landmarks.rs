//! The landmarks of a broken branch: where it begins, where it ends, where it
//! exchanges stability with the good branch, and where it wants to break once more.

use remanent_math::continuation::Point;
use remanent_math::newton::{Outcome, Root};
use remanent_math::scalar;
use serde::{Deserialize, Serialize};

use super::equations::stabilities;
use super::report::{RsbSolution, finish};
use super::state::{State, x_index};
use super::task::{BrokenTask, each};
use super::trace::{Care, Trace};
use crate::branches::folds;
use crate::curve::Branch;
use crate::parameters::Choice;

/// Stabilities of a narrow gap are not known to better than this.
const NOISE: f64 = 1e-9;

/// Where φ of a broken poor branch equals that of the replica-symmetric good one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenCrossing {
    /// α there.
    pub alpha: f64,
    /// Their common φ.
    pub minus_beta_f: f64,
    /// The poor solution.
    pub poor: RsbSolution,
    /// The good one.
    pub good: RsbSolution,
}

/// What is reported of a point of a trace.
fn report<const M: usize>(trace: &Trace<'_, M>, point: &Point<M>) -> RsbSolution {
    let mut jacobian = point.jacobian;
    jacobian[M - 1] = point.tangent;
    let residual = trace.residual(&point.y);
    let root = Root { x: point.y, residual, jacobian, outcome: Outcome::Converged };
    finish(&trace.system, &root, point.tangent[M - 1] < 0.0, true)
}

impl BrokenTask<'_> {
    /// Where clusters first carry the measure: the replica-symmetric solution at the
    /// zero of its replicon if the onset is continuous, and the one-step solution at
    /// x = 1 if it is discontinuous.
    pub fn beginning(&self) -> Option<RsbSolution> {
        let trace = self.trace(1)?;
        each!(trace, trace => {
            let first = trace.points.first()?;
            let steps = 1;
            if first.y[x_index(steps, 1)] < 0.0 {
                return self.unit_x_at_small_gap().or_else(|| self.onset());
            }
            let zeros = trace.zeros(|y| y[x_index(steps, 1)]);
            zeros.first().map(|point| report(trace, point))
        })
    }

    /// The spinodal of the broken poor branch: where its α is largest.
    pub fn fold(&self, steps: usize) -> Option<RsbSolution> {
        let traced = each!(self.trace(steps)?, trace => trace
            .all_folds()
            .iter()
            .map(|fold| RsbSolution {
                is_saddle: false,
                branch: Branch::Poor,
                ..report(trace, &fold.point)
            })
            .filter(RsbSolution::is_physical)
            .max_by(|a, b| a.alpha.total_cmp(&b.alpha)));
        traced.or_else(|| if steps == 1 { self.fold_at_small_gap() } else { None })
    }

    /// Where λ_l of the branch with `steps` steps vanishes, in the order of the curve.
    pub fn stability_zeros(&self, steps: usize, l: usize) -> Vec<RsbSolution> {
        let Some(trace) = self.trace(steps) else { return vec![] };
        let mut zeros: Vec<RsbSolution> = each!(trace, trace => {
            let value = |y: &[f64]| {
                let state = State::from_coordinates(y);
                let turn = trace.system.turn(&state, false);
                let found = turn.map_or(f64::NAN, |turn| stabilities(&state, &turn)[l]);
                // λ is of second order in a narrow gap, and its sign may be that of its rounding errors.
                let is_noise = trace.care == Care::Narrow && found.abs() < NOISE;
                if is_noise { f64::NAN } else { found }
            };
            trace.zeros(|y| value(y)).iter().map(|point| report(trace, point)).collect()
        });
        zeros.retain(RsbSolution::is_physical);
        zeros
    }

    /// Where the broken poor branch and the good branch have the same φ.
    pub fn crossing(&self, steps: usize) -> Option<BrokenCrossing> {
        let curve = self.curve()?;
        let resolution = self.resolution();
        let low = folds(curve, resolution).into_iter().find(|f| f.ends == Branch::Good)?.alpha;
        let high = self.fold(steps)?.alpha;
        let value = |s: Result<RsbSolution, _>| s.map_or(f64::NAN, |s| s.minus_beta_f);
        let gap = |alpha: f64| {
            value(self.symmetric(alpha, Choice::Good)) - value(self.poor(alpha, steps))
        };
        let margin = 1e-6 * (high - low);
        let Some(alpha) = scalar::root(gap, low + margin, high - margin, 1e-10) else {
            return if steps == 1 { self.crossing_at_small_gap() } else { None };
        };
        let (poor, good) =
            (self.poor(alpha, steps).ok()?, self.symmetric(alpha, Choice::Good).ok()?);
        Some(BrokenCrossing { alpha, minus_beta_f: good.minus_beta_f, poor, good })
    }
}
