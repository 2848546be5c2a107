//! The phase diagram in the (α, β) plane: two spinodal lines that meet in a
//! critical point, the line between them on which −βf crosses, and the lines
//! on which the replicon vanishes.

use rayon::prelude::*;
use serde::Serialize;

use crate::branches::{crossing, folds, replicon_zeros};
use crate::curve::Branch;
use crate::parameters::{ParameterError, check_beta};
use crate::single::SingleTask;

/// The lines of the phase diagram at one β; null where a line does not exist.
#[derive(Clone, Debug, Serialize)]
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
}

/// A zero of the replicon.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RepliconLine {
    /// α there.
    pub alpha: f64,
    /// The branch.
    pub branch: Branch,
}

/// Where the two spinodals meet.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CriticalPoint {
    /// α there.
    pub alpha: f64,
    /// β there.
    pub beta: f64,
}

/// The whole diagram.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseDiagram {
    /// One row per β.
    pub rows: Vec<PhaseRow>,
    /// The critical point, if it lies between the given β.
    pub critical_point: Option<CriticalPoint>,
}

/// Computes the diagram; `single.beta` is ignored. `done` is called after each
/// β, from any thread.
pub fn phase_diagram(
    single: &SingleTask,
    betas: &[f64],
    done: &(dyn Fn() + Sync),
) -> Result<PhaseDiagram, ParameterError> {
    for beta in betas {
        check_beta(*beta)?;
    }
    let rows: Vec<PhaseRow> = betas
        .par_iter()
        .map(|beta| {
            let row = row(single, *beta);
            done();
            row
        })
        .collect();
    let without = rows.iter().filter(|r| r.good_from.is_none()).map(|r| r.beta);
    let with = rows.iter().filter(|r| r.good_from.is_some()).map(|r| r.beta);
    let critical_point = match (without.reduce(f64::max), with.reduce(f64::min)) {
        (Some(below), Some(above)) if below < above => critical_point(single, below, above),
        _ => None,
    };
    Ok(PhaseDiagram { rows, critical_point })
}

fn row(single: &SingleTask, beta: f64) -> PhaseRow {
    let single = SingleTask { beta, ..*single };
    let resolution = single.resolution;
    let Some(curve) = single.curve(3.0) else {
        return PhaseRow {
            beta,
            good_from: None,
            crossing: None,
            poor_until: None,
            corner: None,
            replicon_zeros: vec![],
        };
    };
    let folds = folds(&curve, resolution);
    let end_of = |branch| folds.iter().find(|f| f.ends == branch).map(|f| f.alpha);
    PhaseRow {
        beta,
        good_from: end_of(Branch::Good),
        crossing: crossing(&curve, resolution).map(|c| c.alpha),
        poor_until: end_of(Branch::Poor),
        corner: curve.corner_alpha(),
        replicon_zeros: replicon_zeros(&curve, resolution)
            .into_iter()
            .map(|z| RepliconLine { alpha: z.alpha, branch: z.branch })
            .collect(),
    }
}

/// Both folds at one β, as logarithms of α.
fn fold_pair(single: &SingleTask, beta: f64) -> Option<(f64, f64)> {
    let curve = SingleTask { beta, ..*single }.curve(3.0)?;
    match curve.folds().as_slice() {
        [poor, good] => Some((good.point.y[3], poor.point.y[3])),
        _ => None,
    }
}

/// Near the critical point the folds are (β − β_c)^{3/2} apart, so the distance
/// to the power 2/3 is a straight line: extrapolate it to zero, step closer,
/// and repeat.
fn critical_point(single: &SingleTask, below: f64, above: f64) -> Option<CriticalPoint> {
    let at = |beta: f64| {
        let (low, high) = fold_pair(single, beta)?;
        Some((beta, (high - low).powf(2.0 / 3.0), 0.5 * (low + high)))
    };
    // Two values of β with both folds, the higher one not far above.
    let near = [above, below + 0.8 * (above - below), below + 0.6 * (above - below)];
    let mut second = near.into_iter().rev().find_map(at).or_else(|| at(above))?;
    let mut first = at(second.0 + 0.3 * (second.0 - below).max(0.02 * second.0))?;
    let mut critical = None;
    for _ in 0..8 {
        let slope = (first.1 - second.1) / (first.0 - second.0);
        let beta_c = second.0 - second.1 / slope;
        let ln_alpha_c =
            second.2 + (beta_c - second.0) * (first.2 - second.2) / (first.0 - second.0);
        critical = Some(CriticalPoint { alpha: ln_alpha_c.exp(), beta: beta_c });
        let distance = second.0 - beta_c;
        if distance < 1e-3 * beta_c {
            break;
        }
        let Some(next) = at(beta_c + 0.35 * distance) else { break };
        (first, second) = (second, next);
    }
    critical
}
