//! The phase diagram in the (α, β) plane: two spinodal lines that meet in a
//! critical point, the line between them on which −βf crosses, and the lines
//! on which the replicon vanishes.

use rayon::prelude::*;
use remanent_math::scalar;
use serde::{Deserialize, Serialize};

use crate::branches::{RepliconZero, crossing, folds, replicon_zeros};
use crate::curve::Branch;
use crate::number;
use crate::parameters::{DomainError, Prior};
use crate::ranges::BETA;
use crate::single::SingleTask;
use crate::solution::{Solution, Termination};

/// The lines of the phase diagram at one β; null where a line does not exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRow {
    /// Inverse temperature β.
    pub beta: f64,
    /// Where the good branch begins.
    pub good_from: Option<f64>,
    /// Where −βf of the two branches are equal.
    pub crossing: Option<f64>,
    /// Where the poor branch ends, in a fold.
    pub poor_until: Option<f64>,
    /// Where the poor branch ends, in the corner q_d = 1.
    pub corner: Option<f64>,
    /// Where the replicon vanishes, with the branch on which it does.
    pub replicon_zeros: Vec<RepliconLine>,
    /// The largest estimate of the error of a solution at one of these places.
    #[serde(with = "number")]
    pub quadrature_error: f64,
    /// `converged` if all of them are.
    pub termination: Termination,
}

/// A zero of the replicon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepliconLine {
    /// α there.
    pub alpha: f64,
    /// The branch.
    pub branch: Branch,
}

impl From<&RepliconZero> for RepliconLine {
    fn from(zero: &RepliconZero) -> Self {
        Self { alpha: zero.alpha, branch: zero.branch }
    }
}

/// Where the two spinodals meet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriticalPoint {
    /// α there.
    pub alpha: f64,
    /// β there.
    pub beta: f64,
}

/// The whole diagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseDiagram {
    /// One row per β.
    pub rows: Vec<PhaseRow>,
    /// The critical point, if it lies between the given β.
    pub critical_point: Option<CriticalPoint>,
}

/// Computes the diagram of a task with this prior. `done` is called after each β, from any thread.
pub fn phase_diagram(
    betas: &[f64],
    prior: Prior,
    done: &(dyn Fn() + Sync),
) -> Result<PhaseDiagram, DomainError> {
    BETA.check_all("beta", betas.iter().copied())?;
    let rows: Vec<PhaseRow> = betas
        .par_iter()
        .map(|beta| {
            let row = row(*beta, prior)?;
            done();
            Ok(row)
        })
        .collect::<Result<_, DomainError>>()?;
    let without = rows.iter().filter(|r| r.good_from.is_none()).map(|r| r.beta);
    let with = rows.iter().filter(|r| r.good_from.is_some()).map(|r| r.beta);
    let critical_point = match (without.reduce(f64::max), with.reduce(f64::min)) {
        (Some(below), Some(above)) if below < above => critical_point(below, above, prior),
        _ => None,
    };
    Ok(PhaseDiagram { rows, critical_point })
}

fn row(beta: f64, prior: Prior) -> Result<PhaseRow, DomainError> {
    let single = SingleTask::new(beta)?.with_prior(prior);
    let resolution = single.resolution();
    let Some(curve) = single.curve(3.0) else {
        return Ok(PhaseRow {
            beta,
            good_from: None,
            crossing: None,
            poor_until: None,
            corner: None,
            replicon_zeros: vec![],
            quadrature_error: f64::NAN,
            termination: Termination::LeftDomain,
        });
    };
    let folds = folds(&curve, resolution);
    let crossing = crossing(&curve, resolution);
    let zeros = replicon_zeros(&curve, resolution);
    let solutions = folds
        .iter()
        .map(|f| &f.solution)
        .chain(crossing.iter().flat_map(|c| [&c.poor, &c.good]))
        .chain(zeros.iter().map(|z| &z.solution));
    let quadrature_error = solutions
        .clone()
        .map(|s| s.quadrature_error)
        .fold(0.0, |m, e| if e.is_nan() { f64::INFINITY } else { f64::max(m, e) });
    let accurate = solutions.clone().all(Solution::is_converged);
    let end_of = |branch| folds.iter().find(|f| f.ends == branch).map(|f| f.alpha);
    Ok(PhaseRow {
        beta,
        good_from: end_of(Branch::Good),
        crossing: crossing.map(|c| c.alpha),
        poor_until: end_of(Branch::Poor),
        corner: curve.corner_alpha(),
        replicon_zeros: zeros.iter().map(RepliconLine::from).collect(),
        quadrature_error,
        termination: if accurate { Termination::Converged } else { Termination::Inaccurate },
    })
}

/// The smallest slope d ln α/ds along the curve at one β, and ln α there. It is
/// negative between two folds, positive where there are none, and a smooth
/// function of β on both sides of the critical point.
fn flattest(beta: f64, prior: Prior) -> Option<(f64, f64)> {
    let curve = SingleTask::new(beta).ok()?.with_prior(prior).curve(3.0)?;
    let points = &curve.strands().first()?.points;
    let i = (1..points.len().saturating_sub(1))
        .min_by(|&i, &j| points[i].tangent[3].total_cmp(&points[j].tangent[3]))?;
    // Over the two steps around the flattest point.
    let at = |x: f64| {
        if x < 0.0 {
            curve.between(&points[i - 1], &points[i], 1.0 + x)
        } else {
            curve.between(&points[i], &points[i + 1], x)
        }
    };
    let slope = |x: f64| at(x).map_or(f64::INFINITY, |p| p.tangent[3]);
    let (x, slope) = scalar::minimum(slope, -1.0, 1.0, 1e-4);
    Some((slope, at(x)?.y[3]))
}

/// Where the smallest slope vanishes, the two folds have merged.
fn critical_point(below: f64, above: f64, prior: Prior) -> Option<CriticalPoint> {
    let slope = |beta: f64| flattest(beta, prior).map_or(f64::NAN, |(slope, _)| slope);
    let beta = scalar::root(slope, below, above, 1e-8)?;
    let (_, ln_alpha) = flattest(beta, prior)?;
    Some(CriticalPoint { alpha: ln_alpha.exp(), beta })
}
