//! How strongly should old tasks be protected, and how fast should they fade? The γ, λ and ρ that
//! minimise the errors at the end of a chain, or of a stream without end.

use rayon::prelude::*;
use remanent_math::scalar;
use serde::{Deserialize, Serialize};

use crate::chain::ChainParameters;
use crate::number;
use crate::parameters::DomainError;
use crate::ranges::{GAMMA, LAMBDA, RHO};
use crate::solution::Termination;
use crate::stationary::Stream;

/// What is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The mean of the errors.
    #[default]
    Mean,
    /// The largest of the errors.
    Max,
    /// The error on the newest task.
    Newest,
}

impl Objective {
    /// The value for given errors, those of the newest task last.
    pub fn of(self, errors: &[f64]) -> f64 {
        match self {
            Self::Mean => errors.iter().sum::<f64>() / errors.len() as f64,
            // An error that is not known makes the largest unknown, wherever it stands.
            Self::Max => errors.iter().fold(f64::NEG_INFINITY, |m, e| {
                if m.is_nan() || e.is_nan() { f64::NAN } else { m.max(*e) }
            }),
            Self::Newest => errors.last().copied().unwrap_or(f64::NAN),
        }
    }
}

/// What is searched, and what is minimised.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Values of γ, rising; one value is not searched.
    pub gamma: Vec<f64>,
    /// Values of λ, rising; one value is not searched.
    pub lambda: Vec<f64>,
    /// Values of ρ, rising; one value is not searched.
    pub rho: Vec<f64>,
    /// What is minimised.
    pub objective: Objective,
    /// Over how many of the latest tasks; all if `None`.
    pub last: Option<usize>,
    /// Whether it is the stationary state of an endless stream that counts, instead of a chain.
    pub stationary: bool,
}

/// The tasks that count in a stationary stream if nothing else is said.
const LATEST: usize = 5;

/// One point of the curve from which the best was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunePoint {
    /// γ, the same between all tasks.
    pub gamma: f64,
    /// λ, the same between all tasks.
    #[serde(default = "one")]
    pub lambda: f64,
    /// ρ, the same between all tasks.
    #[serde(default = "one")]
    pub rho: f64,
    /// The objective there (null if the chain has no accurate solution).
    #[serde(with = "number")]
    pub objective: f64,
    /// How the chain ended: as the first of its tasks that is not `converged`.
    pub termination: Termination,
    /// The errors on all tasks at the end, the newest last.
    #[serde(with = "number::list")]
    pub eps_by_task: Vec<f64>,
}

/// Values of older programs, which had no fading.
fn one() -> f64 {
    1.0
}

impl TunePoint {
    /// Plasticity and memory: the error on the newest task, and the mean error on the older ones that
    /// count.
    pub fn trade_off(&self, last: Option<usize>) -> (f64, f64) {
        let errors = latest(&self.eps_by_task, last);
        let (newest, older) = match errors {
            [older @ .., newest] => (*newest, older),
            [] => return (f64::NAN, f64::NAN),
        };
        (newest, Objective::Mean.of(older))
    }

    fn at(&self) -> [f64; 3] {
        [self.gamma, self.lambda, self.rho]
    }
}

fn latest(errors: &[f64], last: Option<usize>) -> &[f64] {
    &errors[errors.len().saturating_sub(last.unwrap_or(errors.len()))..]
}

/// The best γ, λ and ρ and what they were chosen from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The γ of smallest objective; NaN if no chain has an accurate solution.
    #[serde(with = "number")]
    pub gamma: f64,
    /// The λ of smallest objective.
    #[serde(with = "number", default = "one")]
    pub lambda: f64,
    /// The ρ of smallest objective.
    #[serde(with = "number", default = "one")]
    pub rho: f64,
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
    /// All points that were computed on the grid, and the best; by rising γ, then λ, then ρ.
    pub curve: Vec<TunePoint>,
    /// The points of the curve that no other point beats both in the error on the newest task and in
    /// the mean error on the older ones; by rising error on the newest.
    #[serde(default)]
    pub pareto: Vec<TunePoint>,
}

/// The γ from which a search usually starts: 0 and 41 values from 0.001 to 10.
pub fn usual_gammas() -> Vec<f64> {
    let grid = (0..=40).map(|i| 10f64.powf(-3.0 + 0.1 * f64::from(i)));
    std::iter::once(0.0).chain(grid).collect()
}

/// Finds the point of the grid that minimises the objective, and refines it between its
/// neighbours, one parameter after the other. The objective may jump where a task changes its
/// branch, so the whole grid is computed first. `done` is called after each point, from any thread.
pub fn tune(
    parameters: &ChainParameters,
    search: &Search,
    done: &(dyn Fn() + Sync),
) -> Result<Tuned, DomainError> {
    GAMMA.check_all("gamma", search.gamma.iter().copied())?;
    LAMBDA.check_all("lambda", search.lambda.iter().copied())?;
    RHO.check_all("rho", search.rho.iter().copied())?;
    let at = |place: [f64; 3]| -> Result<TunePoint, DomainError> {
        let point = evaluate(parameters, search, place);
        done();
        point
    };
    let axes = [&search.gamma, &search.lambda, &search.rho];
    let places: Vec<[usize; 3]> = (0..axes.iter().map(|a| a.len()).product())
        .map(|i| {
            let (rho, rest) = (i % axes[2].len(), i / axes[2].len());
            [rest / axes[1].len(), rest % axes[1].len(), rho]
        })
        .collect();
    let value = |index: &[usize; 3]| std::array::from_fn(|k| axes[k][index[k]]);
    let mut curve: Vec<TunePoint> =
        places.par_iter().map(|index| at(value(index))).collect::<Result<_, DomainError>>()?;
    let best = (0..curve.len())
        .filter(|i| curve[*i].objective.is_finite())
        .min_by(|a, b| curve[*a].objective.total_cmp(&curve[*b].objective));
    let Some(best) = best else {
        return Ok(Tuned {
            gamma: f64::NAN,
            lambda: f64::NAN,
            rho: f64::NAN,
            objective: f64::NAN,
            kind: search.objective,
            eps_by_task: vec![],
            at_edge: false,
            curve,
            pareto: vec![],
        });
    };
    let index = places[best];
    let searched: Vec<usize> = (0..3).filter(|k| axes[*k].len() > 1).collect();
    let edge = |k: usize| index[k] == 0 || index[k] + 1 == axes[k].len();
    let inner: Vec<usize> = searched.iter().copied().filter(|k| !edge(*k)).collect();
    let mut winner = curve[best].clone();
    let rounds = if inner.len() > 1 { 3 } else { 1 };
    for k in inner.iter().copied().cycle().take(rounds * inner.len()) {
        let (low, high) = (axes[k][index[k] - 1], axes[k][index[k] + 1]);
        let along = |value: f64| {
            let mut place = winner.at();
            place[k] = value;
            at(place)
        };
        let better = refine(along, low, high).into_iter();
        winner = better
            .fold(winner.clone(), |best, p| if p.objective < best.objective { p } else { best });
    }
    if !inner.is_empty() {
        curve.push(winner.clone());
        curve.sort_by(|a, b| {
            let pairs = a.at().into_iter().zip(b.at());
            pairs
                .map(|(a, b)| a.total_cmp(&b))
                .find(|o| o.is_ne())
                .unwrap_or(a.gamma.total_cmp(&b.gamma))
        });
        curve.dedup_by(|a, b| a.at() == b.at());
    }
    let pareto = front(&curve, search.last);
    let TunePoint { gamma, lambda, rho, objective, eps_by_task, .. } = winner;
    let (kind, at_edge) = (search.objective, searched.iter().any(|k| edge(*k)));
    Ok(Tuned { gamma, lambda, rho, objective, kind, eps_by_task, at_edge, curve, pareto })
}

/// The errors at one place of the grid.
fn evaluate(
    parameters: &ChainParameters,
    search: &Search,
    [gamma, lambda, rho]: [f64; 3],
) -> Result<TunePoint, DomainError> {
    let parameters = ChainParameters {
        gamma: vec![gamma],
        lambda: vec![lambda],
        rho: vec![rho],
        ..parameters.clone()
    };
    let (eps_by_task, termination) = if search.stationary {
        let last = search.last.unwrap_or(LATEST).max(1);
        let stream = Stream::new(&parameters, Some(last - 1))?.solve();
        let mut errors = stream.memory;
        errors.reverse();
        (errors, stream.state.termination)
    } else {
        let chain = parameters.check()?;
        let result = chain.solve();
        let errors = result.final_errors().to_vec();
        let mut ended = result.tasks.iter().map(|t| t.solution.termination);
        (errors, ended.find(|t| *t != Termination::Converged).unwrap_or(Termination::Converged))
    };
    let complete = termination == Termination::Converged;
    let counted = latest(&eps_by_task, search.last);
    let objective = if complete { search.objective.of(counted) } else { f64::NAN };
    Ok(TunePoint { gamma, lambda, rho, objective, termination, eps_by_task })
}

/// The points that no other point beats in both parts of the trade-off.
fn front(points: &[TunePoint], last: Option<usize>) -> Vec<TunePoint> {
    let known = points.iter().filter(|p| p.objective.is_finite());
    let mut sorted: Vec<((f64, f64), &TunePoint)> =
        known.map(|p| (p.trade_off(last), p)).filter(|(t, _)| t.1.is_finite()).collect();
    sorted.sort_by(|a, b| a.0.0.total_cmp(&b.0.0).then(a.0.1.total_cmp(&b.0.1)));
    let mut lowest = f64::INFINITY;
    sorted.retain(|((_, older), _)| {
        let better = *older < lowest;
        lowest = lowest.min(*older);
        better
    });
    sorted.into_iter().map(|(_, p)| p.clone()).collect()
}

/// The points that a search for the minimum between `low` and `high` tries.
fn refine(
    at: impl Fn(f64) -> Result<TunePoint, DomainError>,
    low: f64,
    high: f64,
) -> Vec<TunePoint> {
    let mut tried = Vec::new();
    let objective = |value| {
        let Ok(point) = at(value) else { return f64::INFINITY };
        let value = point.objective;
        tried.push(point);
        if value.is_nan() { f64::INFINITY } else { value }
    };
    scalar::minimum(objective, low, high, 1e-4 * high.abs().max(low.abs()));
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

    #[test]
    fn the_front_holds_what_nothing_beats() {
        let point = |newest: f64, older: f64| TunePoint {
            gamma: 1.0,
            lambda: 1.0,
            rho: 1.0,
            objective: 0.0,
            termination: Termination::Converged,
            eps_by_task: vec![0.9, older, newest],
        };
        let points =
            [point(0.3, 0.1), point(0.1, 0.3), point(0.2, 0.2), point(0.25, 0.25), point(0.4, 0.4)];
        let newest: Vec<f64> =
            front(&points, Some(2)).iter().map(|p| *p.eps_by_task.last().unwrap()).collect();
        assert_eq!(newest, [0.1, 0.2, 0.3]);
    }

    /// Opposite teachers ask for opposite anchors.
    #[test]
    fn the_best_factor_has_the_sign_of_the_teachers_overlap() {
        let best = |r_0: f64| {
            let parameters = ChainParameters {
                alpha: vec![0.8, 0.8],
                beta: vec![5.0],
                r_0: vec![r_0],
                ..Default::default()
            };
            let search = Search {
                gamma: vec![1.0],
                lambda: vec![-1.0, -0.9, -0.5, 0.0, 0.5, 0.9, 1.0],
                rho: vec![1.0],
                objective: Objective::Newest,
                last: None,
                stationary: false,
            };
            tune(&parameters, &search, &|| ()).unwrap()
        };
        let (same, opposite) = (best(0.3), best(-0.3));
        assert!(same.lambda > 0.0, "{}", same.lambda);
        assert!((same.lambda + opposite.lambda).abs() < 1e-3, "{}", opposite.lambda);
        assert!((same.objective - opposite.objective).abs() < 1e-9 && same.pareto.len() > 1);
    }
}
