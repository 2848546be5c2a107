//! The curve of solutions as a user sees it: its branches, where they end,
//! where they exchange stability, and where replica symmetry breaks.

use rayon::prelude::*;
use remanent_math::newton::Outcome;
use remanent_math::scalar;
use serde::{Deserialize, Serialize};

use crate::curve::{Branch, Curve, CurvePoint, Strand, StrandEnd};
use crate::number;
use crate::parameters::DomainError;
use crate::ranges::ALPHA;
use crate::resolution::Resolution;
use crate::roots::roots_on;
use crate::single::SingleTask;
use crate::solution::{Solution, Termination};
use crate::stage::{Stage, climb, conclude, finish};
use crate::task::Task;

/// A fold (spinodal): the end of the poor or of the good branch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldReport {
    /// α at the fold.
    pub alpha: f64,
    /// The branch that ends here.
    pub ends: Branch,
    /// The solution there.
    pub solution: Solution,
}

/// Where −βf of the poor and of the good branch are equal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossing {
    /// α at the crossing.
    pub alpha: f64,
    /// Their common −βf.
    #[serde(with = "number")]
    pub minus_beta_f: f64,
    /// The poor solution there.
    pub poor: Solution,
    /// The good solution there.
    pub good: Solution,
    /// Whether both replicons are positive. If not, the crossing is a
    /// replica-symmetric statement about a phase whose symmetry is broken.
    pub replica_symmetry_holds: bool,
}

/// Where the replicon changes its sign.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepliconZero {
    /// α there.
    pub alpha: f64,
    /// The branch on which it happens.
    pub branch: Branch,
    /// The solution there.
    pub solution: Solution,
}

/// The poor branch's end in the corner of the cube, where q_d → 1 at finite α.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corner {
    /// The α at which q_d = 1.
    pub alpha: f64,
}

/// All that `theory branches` reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Branches {
    /// Solutions along the curve, in its own order.
    pub rows: Vec<Solution>,
    /// The folds, by rising α.
    pub folds: Vec<FoldReport>,
    /// Where the branches exchange stability, if they overlap.
    pub crossing: Option<Crossing>,
    /// Where the replicon vanishes, in the order of the curve.
    pub replicon_zeros: Vec<RepliconZero>,
    /// Where the poor branch ends without a fold, if it does.
    pub corner: Option<Corner>,
}

/// Into how many parts a step of the trace is divided that leaps over the interval asked for.
const DIVISIONS: u32 = 10;

/// Traces the curve finely and reports it between two values of α.
pub fn branches(single: &SingleTask, low: f64, high: f64) -> Result<Branches, DomainError> {
    let low = ALPHA.check("alpha", low)?;
    let high = ALPHA.check("alpha", high)?;
    let resolution = single.resolution();
    // The drawn curve stops short of the corner; landmarks need the way to its end.
    let (Some(curve), Some(landmarks)) =
        (Curve::trace_finely(single.task(), low, high, resolution), single.curve(high))
    else {
        return Ok(Branches::default());
    };
    let rows = curve
        .strands()
        .iter()
        .flat_map(|strand| inside(&curve, &stations(&curve, strand), low.ln(), high.ln()))
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|(branch, p)| solution_at(curve.task(), &p, branch, resolution))
        .collect();
    Ok(Branches {
        rows,
        folds: folds(&curve, resolution),
        crossing: crossing(&landmarks, resolution),
        replicon_zeros: replicon_zeros(&curve, resolution),
        corner: landmarks.corner_alpha().map(|alpha| Corner { alpha }),
    })
}

/// A point of the curve and the branch it lies on.
pub(crate) type Station = (Branch, CurvePoint);

/// The points of a strand with their branches; a fold belongs to both of its branches.
pub(crate) fn stations(curve: &Curve, strand: &Strand) -> Vec<Station> {
    let mut stations = Vec::new();
    let mut before = 0;
    for (i, point) in strand.points.iter().enumerate() {
        let mut passed = strand.passed(i);
        if before < passed {
            match curve.fold(strand, passed - 1) {
                Some(fold) => stations.extend([
                    (curve.branch(strand, passed - 1), fold.point),
                    (curve.branch(strand, passed), fold.point),
                ]),
                // In the corner the sign of the slope is noise.
                None if strand.end == StrandEnd::Corner => passed = before,
                None => {}
            }
        }
        stations.push((curve.branch(strand, passed), *point));
        before = passed;
    }
    stations
}

/// The stations with ln α from `low` to `high`. A step of the trace that leaps over the whole
/// interval is divided.
fn inside(curve: &Curve, stations: &[Station], low: f64, high: f64) -> Vec<Station> {
    let is_inside = |p: &CurvePoint| p.y[3] >= low - 1e-12 && p.y[3] <= high + 1e-12;
    let mut found = Vec::new();
    for (i, (branch, b)) in stations.iter().enumerate() {
        if let Some((_, a)) = i.checked_sub(1).map(|before| stations[before]) {
            let ends = (a.y[3].min(b.y[3]), a.y[3].max(b.y[3]));
            if ends.0 < low && ends.1 > high {
                let [first, last] = if a.y[3] < b.y[3] { [low, high] } else { [high, low] };
                let points = divided(curve, &a, b, [first, last]);
                found.extend(points.into_iter().map(|p| (*branch, p)));
            }
        }
        if is_inside(b) {
            found.push((*branch, *b));
        }
    }
    found
}

/// Points of the curve between `a` and `b`, from one value of ln α to another.
fn divided(curve: &Curve, a: &CurvePoint, b: &CurvePoint, ends: [f64; 2]) -> Vec<CurvePoint> {
    let fraction = |target: f64| {
        let excess = |x| curve.between(a, b, x).map_or(f64::NAN, |p| p.y[3] - target);
        scalar::root(excess, 0.0, 1.0, 1e-12)
    };
    let (Some(first), Some(last)) = (fraction(ends[0]), fraction(ends[1])) else { return vec![] };
    let at = |k: u32| first + (last - first) * f64::from(k) / f64::from(DIVISIONS);
    (0..=DIVISIONS).filter_map(|k| curve.between(a, b, at(k))).collect()
}

/// A row of the curve. Its α is found together with its order parameters, so
/// that its error is its distance from the curve, also at a fold.
fn solution_at(task: &Task, p: &CurvePoint, branch: Branch, resolution: Resolution) -> Solution {
    let none = || Solution::none(p.y[3].exp(), task.beta, branch, Termination::LeftDomain);
    let mut point = *p;
    let mut at = |level: usize| {
        let (stage, near) = Stage::on_curve(task, &point, branch, resolution.level(level))?;
        point = near;
        Some(stage)
    };
    let Some(first) = at(0) else { return none() };
    let mut stages = vec![first];
    let estimate = climb(&mut stages, |_, level| at(level));
    conclude(&stages, estimate)
}

/// The folds of a curve, by rising α.
pub fn folds(curve: &Curve, resolution: Resolution) -> Vec<FoldReport> {
    let mut reports: Vec<FoldReport> = curve
        .strands()
        .iter()
        .flat_map(|strand| {
            (0..strand.fold_count()).filter_map(|n| {
                let fold = curve.fold(strand, n)?;
                let sides = [curve.branch(strand, n), curve.branch(strand, n + 1)];
                let ends = *sides.iter().find(|b| **b != Branch::Middle).unwrap_or(&sides[0]);
                let solution = solution_at(curve.task(), &fold.point, ends, resolution);
                Some(FoldReport { alpha: fold.alpha(), ends, solution })
            })
        })
        .collect();
    reports.sort_by(|a, b| a.alpha.total_cmp(&b.alpha));
    reports
}

/// Where −βf of the poor and the good branch cross.
pub fn crossing(curve: &Curve, resolution: Resolution) -> Option<Crossing> {
    let on = |alpha: f64, branch: Branch| {
        roots_on(curve, alpha, resolution, |b| b == branch)
            .into_iter()
            .find(|f| f.root.outcome == Outcome::Converged)
    };
    let ends = |branch: Branch| folds(curve, resolution).into_iter().find(|f| f.ends == branch);
    let low = ends(Branch::Good)?.alpha;
    let high = match ends(Branch::Poor) {
        Some(fold) => fold.alpha,
        None => curve.corner_alpha()?,
    };
    let margin = 1e-6 * (high - low);
    let gap = |alpha: f64| {
        let value = |branch| {
            on(alpha, branch).map_or(f64::NAN, |f| f.minus_beta_f(curve.task(), alpha, resolution))
        };
        value(Branch::Good) - value(Branch::Poor)
    };
    // The poor branch may run where it cannot be followed before its end.
    let farther = (0..8).map(|k| 1e-3 * f64::from(1 << k) * (high - low));
    let reach = [margin].into_iter().chain(farther).find(|m| gap(high - m).is_finite())?;
    let alpha = scalar::root(gap, low + margin, high - reach, 1e-10)?;
    let at = |branch| on(alpha, branch).map(|f| finish(curve.task(), alpha, &f, resolution));
    let (poor, good) = (at(Branch::Poor)?, at(Branch::Good)?);
    Some(Crossing {
        alpha,
        minus_beta_f: good.minus_beta_f,
        replica_symmetry_holds: poor.replicon > 0.0 && good.replicon > 0.0,
        poor,
        good,
    })
}

fn replicon(task: &Task, p: &CurvePoint, resolution: Resolution) -> f64 {
    let c = task.conjugates(&[p.y[0], p.y[1], p.y[2]]);
    task.iterate(&c, resolution).map_or(f64::NAN, |iteration| {
        1.0 - p.y[3].exp() * iteration.energy.curvature2 * iteration.site.variance2
    })
}

/// Replicons of at most this absolute value at a traced point may have another sign nearby.
const NEAR_ZERO: f64 = 0.3;

/// Intervals in which a function along traced points changes its sign once, as indices with a fraction: those between points of
/// different signs, and two where it changes its sign and back between neighbouring points.
fn sign_changes(values: &[f64], value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut changes = vec![];
    for i in 0..values.len().max(1) - 1 {
        if values[i] * values[i + 1] < 0.0 {
            changes.push((i as f64, (i + 1) as f64));
        }
        let Some([before, here, after]) =
            i.checked_sub(1).map(|j| [values[j], values[i], values[i + 1]])
        else {
            continue;
        };
        let sign = here.signum();
        let is_nearest =
            here.abs() <= NEAR_ZERO && sign * before >= here.abs() && sign * after >= here.abs();
        if is_nearest {
            let (low, high) = ((i - 1) as f64, (i + 1) as f64);
            let (place, least) = scalar::minimum(|x| sign * value(x), low, high, 1e-4);
            if least < 0.0 {
                changes.extend([(low, place), (place, high)]);
            }
        }
    }
    changes
}

/// Where the replicon changes its sign along the curve.
pub fn replicon_zeros(curve: &Curve, resolution: Resolution) -> Vec<RepliconZero> {
    let task = curve.task();
    let mut zeros = Vec::new();
    for strand in curve.strands() {
        let points = &strand.points;
        let at = |place: f64| curve.at_place(strand, place);
        let value = |place: f64| at(place).map_or(f64::NAN, |p| replicon(task, &p, resolution));
        // Traced points are near the curve only: where that may matter, the replicon is that of the curve.
        let of_point = |(i, p): (usize, &CurvePoint)| {
            let rough = replicon(task, p, resolution);
            if rough.abs() <= NEAR_ZERO { value(i as f64) } else { rough }
        };
        let values: Vec<f64> = points.par_iter().enumerate().map(of_point).collect();
        for (low, high) in sign_changes(&values, value) {
            let Some(place) = scalar::root(value, low, high, 1e-9) else { continue };
            let Some(point) = at(place) else { continue };
            // On which side of a fold inside this step the zero lies.
            let i = strand.before_place(place);
            let passed = match strand.passed(i + 1) {
                after
                    if after > strand.passed(i)
                        && point.tangent[3] * points[i].tangent[3] > 0.0 =>
                {
                    after - 1
                }
                after => after,
            };
            let branch = curve.branch(strand, passed);
            let solution = solution_at(task, &point, branch, resolution);
            zeros.push(RepliconZero { alpha: point.y[3].exp(), branch, solution });
        }
    }
    zeros
}
