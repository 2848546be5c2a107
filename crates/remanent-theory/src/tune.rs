//! How strongly should the old task be protected? The γ that minimises the
//! errors at the end of a chain.

use rayon::prelude::*;
use remanent_math::scalar;
use serde::{Deserialize, Serialize};

use crate::chain::ChainParameters;
use crate::number;
use crate::parameters::{DomainError, check_gamma};
use crate::solution::Termination;

/// What is minimised over γ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The mean of the errors over all tasks.
    #[default]
    Mean,
    /// The largest of the errors.
    Max,
}

impl Objective {
    /// The value for given errors.
    pub fn of(self, errors: &[f64]) -> f64 {
        match self {
            Self::Mean => errors.iter().sum::<f64>() / errors.len() as f64,
            // An error that is not known makes the largest unknown, wherever it stands.
            Self::Max => errors.iter().fold(f64::NEG_INFINITY, |m, e| {
                if m.is_nan() || e.is_nan() { f64::NAN } else { m.max(*e) }
            }),
        }
    }
}

/// One point of the curve from which γ was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunePoint {
    /// γ, the same between all tasks.
    pub gamma: f64,
    /// The objective there (null if the chain has no accurate solution).
    #[serde(with = "number")]
    pub objective: f64,
    /// How the chain ended: as the first of its tasks that is not `converged`.
    pub termination: Termination,
    /// The errors on all tasks at the end.
    #[serde(with = "number::list")]
    pub eps_by_task: Vec<f64>,
}

/// The best γ and what it was chosen from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The γ of smallest objective; NaN if no chain has an accurate solution.
    #[serde(with = "number")]
    pub gamma: f64,
    /// The objective there.
    #[serde(with = "number")]
    pub objective: f64,
    /// What the objective is.
    pub kind: Objective,
    /// The errors on all tasks there.
    #[serde(with = "number::list")]
    pub eps_by_task: Vec<f64>,
    /// Whether the minimum lies at the edge of the range searched.
    pub at_edge: bool,
    /// The curve, by rising γ.
    pub curve: Vec<TunePoint>,
}

/// The γ from which a search usually starts: 0 and 41 values from 0.001 to 10.
pub fn usual_gammas() -> Vec<f64> {
    let grid = (0..=40).map(|i| 10f64.powf(-3.0 + 0.1 * f64::from(i)));
    std::iter::once(0.0).chain(grid).collect()
}

/// Finds the γ among `gammas` (rising) that minimises the objective, and
/// refines it between its neighbours. The objective may jump where a task
/// changes its branch, so the curve is computed on the whole grid first. `done`
/// is called after each γ, from any thread.
pub fn tune(
    parameters: &ChainParameters,
    gammas: &[f64],
    kind: Objective,
    done: &(dyn Fn() + Sync),
) -> Result<Tuned, DomainError> {
    for gamma in gammas {
        check_gamma(*gamma)?;
    }
    let at = |gamma: f64| -> Result<TunePoint, DomainError> {
        let chain = ChainParameters { gamma: vec![gamma], ..parameters.clone() }.check()?;
        let result = chain.solve();
        let complete = result.tasks.len() == chain.tasks() && result.is_converged();
        let eps_by_task = result.final_errors().to_vec();
        let objective = if complete { kind.of(&eps_by_task) } else { f64::NAN };
        let ended = result.tasks.iter().map(|t| t.solution.termination);
        let termination =
            ended.clone().find(|t| *t != Termination::Converged).unwrap_or(Termination::Converged);
        done();
        Ok(TunePoint { gamma, objective, termination, eps_by_task })
    };
    let mut curve: Vec<TunePoint> =
        gammas.par_iter().map(|g| at(*g)).collect::<Result<_, DomainError>>()?;
    let best = curve
        .iter()
        .enumerate()
        .filter(|(_, p)| p.objective.is_finite())
        .min_by(|a, b| a.1.objective.total_cmp(&b.1.objective))
        .map(|(i, _)| i);
    let Some(best) = best else {
        let nan = f64::NAN;
        let eps_by_task = vec![];
        return Ok(Tuned { gamma: nan, objective: nan, kind, eps_by_task, at_edge: false, curve });
    };
    let at_edge = best == 0 || best + 1 == curve.len();
    let mut winner = curve[best].clone();
    if !at_edge {
        let (low, high) = (curve[best - 1].gamma, curve[best + 1].gamma);
        let better = refine(at, low, high).into_iter();
        winner = better.fold(winner, |best, p| if p.objective < best.objective { p } else { best });
        curve.push(winner.clone());
        curve.sort_by(|a, b| a.gamma.total_cmp(&b.gamma));
        curve.dedup_by(|a, b| a.gamma == b.gamma);
    }
    let TunePoint { gamma, objective, eps_by_task, .. } = winner;
    Ok(Tuned { gamma, objective, kind, eps_by_task, at_edge, curve })
}

/// The points that a search for the minimum between `low` and `high` tries.
fn refine(
    at: impl Fn(f64) -> Result<TunePoint, DomainError>,
    low: f64,
    high: f64,
) -> Vec<TunePoint> {
    let mut tried = Vec::new();
    let objective = |gamma| {
        let Ok(point) = at(gamma) else { return f64::INFINITY };
        let value = point.objective;
        tried.push(point);
        if value.is_nan() { f64::INFINITY } else { value }
    };
    scalar::minimum(objective, low, high, 1e-4 * high);
    tried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_error_is_never_swallowed() {
        for kind in [Objective::Mean, Objective::Max] {
            for errors in [[f64::NAN, 0.1, 0.2], [0.1, f64::NAN, 0.2], [0.1, 0.2, f64::NAN]] {
                assert!(kind.of(&errors).is_nan(), "{kind:?} {errors:?}");
            }
        }
        assert_eq!(Objective::Max.of(&[0.1, 0.3, 0.2]), 0.3);
    }
}
