//! The curve of broken solutions as α varies, and every solution on it at one α.
//!
//! The curve leaves a less broken one where a stability vanishes, with a new gap
//! q_l_hat − q_{l−1}_hat that grows from 0, may turn back in α (the spinodal of the
//! broken branch), and ends where the gap closes again. Parisi's parameter is not
//! kept below 1 on the way: where the onset is discontinuous the curve leaves with
//! x > 1 and comes to x = 1 at a finite gap, which is where it begins to matter.

use std::sync::OnceLock;

use remanent_math::continuation::{Point, TraceEnd, Tracer, advance, point_at};
use remanent_math::linear::{axpy, max_norm};
use remanent_math::newton::{Outcome, Root};
use remanent_math::scalar;

use super::equations::System;
use super::report::{RsbSolution, finish};
use super::solve::{Hold, solve};
use super::state::gap_index;
use crate::overlaps::Resolution;

/// The gap, relative to the field variance it splits from, at which a trace begins
/// and ends.
pub(super) const FIRST_GAP: f64 = 0.01;
/// Nearer to a fold than this in ln α, solutions are started from the fold itself.
const NEAR_FOLD: f64 = 0.004;

/// A place where α is extremal along a curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold<const M: usize> {
    pub(super) point: Point<M>,
    /// d² ln α / ds².
    bend: f64,
}

/// A traced curve of solutions with (M − 4)/2 steps.
#[derive(Debug)]
pub(super) struct Trace<const M: usize> {
    system: System,
    pub(super) points: Vec<Point<M>>,
    pub(super) end: TraceEnd,
    folds: Vec<OnceLock<Option<Fold<M>>>>,
    /// Where the gap is 0, if that is known: coordinates without meaning for the gap.
    origin: Option<[f64; M]>,
}

/// A start for Newton's method at a given α.
struct Start<const M: usize> {
    y: [f64; M],
    jacobian: [[f64; M]; M],
    rises: bool,
}

/// How finely to trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Coarse quadrature, long steps: to find one's way.
    Quick,
    /// Full quadrature, short steps: for drawing.
    Drawn,
}

impl Care {
    /// The fraction of the nodes that is used.
    fn fraction(self) -> f64 {
        match self {
            Self::Quick => 0.55,
            Self::Drawn => 1.0,
        }
    }

    fn tracer(self) -> Tracer {
        let drawn = self == Self::Drawn;
        Tracer {
            first_step: if drawn { 0.1 } else { 0.3 },
            max_step: if drawn { 0.1 } else { 1.2 },
            min_step: 1e-5,
            tolerance: if drawn { 1e-9 } else { 1e-5 },
            max_turn: if drawn { 0.1 } else { 0.35 },
            max_points: 600,
        }
    }
}

impl<const M: usize> Trace<M> {
    /// Follows the curve from near `origin`, where the gap of level `level` opens in
    /// a field of variance `variance`, and the coordinates of x_level are a guess.
    pub(super) fn new(
        system: System,
        origin: [f64; M],
        level: usize,
        ln_variance: f64,
        care: Care,
    ) -> Option<Self> {
        let coarse = Resolution(care.fraction() * system.resolution.0);
        let rough = system.with_resolution(coarse);
        let index = gap_index(level);
        let smallest = FIRST_GAP.ln() + ln_variance;
        let mut start = origin;
        start[index] = smallest;
        let root = solve(&rough, Hold::LnGap(level, smallest), start, None);
        if root.residual.is_nan() || root.residual > 1e-6 {
            return None;
        }
        let mut f = rough.equations::<M>();
        let mut towards = [0.0; M];
        towards[index] = 1.0;
        let first = point_at(&mut f, root.x, &towards, 1e-6)?;
        let ratio = |y: &[f64; M]| y[index] - y[1];
        let closes = |p: &Point<M>| ratio(&p.y) < ratio(&root.x) && p.tangent[index] < 0.0;
        let mut stop = |p: &Point<M>| closes(p) || p.y[M - 1] > 100_f64.ln();
        let (points, end) = care.tracer().trace(&mut f, first, &mut stop);
        let folds = points.iter().map(|_| OnceLock::new()).collect();
        Some(Self { system, points, end, folds, origin: Some(origin) })
    }

    /// The largest residual at `y`.
    pub(super) fn residual(&self, y: &[f64; M]) -> f64 {
        self.system.equations::<M>()(y).map_or(f64::NAN, |r| max_norm(&r))
    }

    /// What is reported of the traced points.
    pub(super) fn solutions(&self, system: &System) -> Vec<RsbSolution> {
        self.points
            .iter()
            .map(|p| {
                let residual = self.residual(&p.y);
                let outcome =
                    if residual < 1e-7 { Outcome::Converged } else { Outcome::MaxIterations };
                let root = Root { x: p.y, residual, jacobian: p.jacobian, outcome };
                finish(system, &root, p.tangent[M - 1] < 0.0, true)
            })
            .collect()
    }

    fn turns(&self, i: usize) -> bool {
        self.points[i].tangent[M - 1] * self.points[i + 1].tangent[M - 1] < 0.0
    }

    /// The point between points i and i + 1 of the trace, corrected at full resolution.
    pub(super) fn between(&self, i: usize, fraction: f64) -> Option<Point<M>> {
        let (a, b) = (&self.points[i], &self.points[i + 1]);
        let near = if fraction < 0.5 { a } else { b };
        let guess = Point { y: hermite(a, b, fraction), ..*near };
        advance(&mut self.system.equations::<M>(), &guess, 0.0, 1e-10)
    }

    /// All folds, in the order of the curve.
    pub(super) fn all_folds(&self) -> Vec<Fold<M>> {
        (0..self.points.len() - 1).filter(|&i| self.turns(i)).filter_map(|i| self.fold(i)).collect()
    }

    /// The fold between points i and i + 1, located at full resolution.
    fn fold(&self, i: usize) -> Option<Fold<M>> {
        *self.folds[i].get_or_init(|| {
            let summit = summit(&self.points[i], &self.points[i + 1]);
            self.fold_near(self.between(i, summit)?)
        })
    }

    /// A secant iteration along the curve for the place where α is extremal.
    fn fold_near(&self, mut point: Point<M>) -> Option<Fold<M>> {
        let mut f = self.system.equations::<M>();
        let mut bend = {
            let ahead = advance(&mut f, &point, 0.02, 1e-10)?;
            (ahead.tangent[M - 1] - point.tangent[M - 1]) / 0.02
        };
        for _ in 0..20 {
            let along = (-point.tangent[M - 1] / bend).clamp(-0.2, 0.2);
            let next = advance(&mut f, &point, along, 1e-10)?;
            if along.abs() > 1e-3 {
                bend = (next.tangent[M - 1] - point.tangent[M - 1]) / along;
            }
            point = next;
            // α errs by the square of this.
            if along.abs() < 3e-5 {
                return Some(Fold { point, bend });
            }
        }
        None
    }

    /// Every solution at `alpha`, in the order of the curve, and whether α rises along
    /// the curve there.
    pub(super) fn roots(&self, alpha: f64) -> Vec<(Root<M>, bool)> {
        let target = alpha.ln();
        let mut starts = Vec::new();
        if let Some(y) = self.before_first(target) {
            let Point { jacobian, tangent, .. } = self.points[0];
            starts.push(Start { y, jacobian, rises: tangent[M - 1] > 0.0 });
        }
        for i in 0..self.points.len().max(1) - 1 {
            self.starts_between(i, target, &mut starts);
        }
        starts
            .into_iter()
            .map(|Start { y, jacobian, rises }| {
                let mut root = solve(&self.system, Hold::LnAlpha(target), y, Some(&jacobian));
                // A root far from its start lies on another part of the curve.
                if max_norm(&axpy(&root.x, -1.0, &y)) > 1.5 {
                    root.outcome = Outcome::LeftDomain;
                }
                (root, rises)
            })
            .collect()
    }

    /// Between the origin and the first point the gap is proportional to the
    /// distance in α.
    fn before_first(&self, target: f64) -> Option<[f64; M]> {
        let (origin, first) = (self.origin?, self.points.first()?.y);
        let fraction = (target - origin[M - 1]) / (first[M - 1] - origin[M - 1]);
        if !(fraction > 0.0 && fraction < 1.0) {
            return None;
        }
        let mut start: [f64; M] =
            std::array::from_fn(|k| origin[k] + fraction * (first[k] - origin[k]));
        let steps = (M - 4) / 2;
        // The origin says nothing of the newest gap and its x.
        start[gap_index(steps)] = first[gap_index(steps)] + fraction.ln();
        start[M - 2] = first[M - 2];
        Some(start)
    }

    fn starts_between(&self, i: usize, target: f64, starts: &mut Vec<Start<M>>) {
        let (a, b) = (&self.points[i], &self.points[i + 1]);
        if !self.turns(i) {
            if (a.y[M - 1] - target) * (b.y[M - 1] - target) <= 0.0 {
                starts.push(start_between(a, b, (0.0, 1.0), target));
            }
            return;
        }
        let top = summit(a, b);
        let rough = hermite(a, b, top)[M - 1];
        let rises = a.tangent[M - 1] > 0.0;
        // Beyond the fold, even if it lies a little farther than it seems.
        let beyond = if rises { target - rough } else { rough - target };
        if beyond > NEAR_FOLD {
            return;
        }
        if beyond < -NEAR_FOLD {
            for (end, range) in [(a, (0.0, top)), (b, (top, 1.0))] {
                if (end.y[M - 1] - target) * (rough - target) <= 0.0 {
                    starts.push(start_between(a, b, range, target));
                }
            }
            return;
        }
        let Some(fold) = self.fold(i) else { return };
        let s2 = 2.0 * (target - fold.point.y[M - 1]) / fold.bend;
        if s2 < 0.0 {
            return;
        }
        for (end, side) in [(a, -1.0), (b, 1.0)] {
            let within = (end.y[M - 1] - target) * (fold.point.y[M - 1] - target) <= 0.0;
            let mut f = self.system.equations::<M>();
            if within && let Some(p) = advance(&mut f, &fold.point, side * s2.sqrt(), 1e-9) {
                let rises = (side < 0.0) == rises;
                starts.push(Start { y: p.y, jacobian: p.jacobian, rises });
            }
        }
    }
}

/// The crossing of `target` between two points, where α is monotone within `range`.
fn start_between<const M: usize>(
    a: &Point<M>,
    b: &Point<M>,
    range: (f64, f64),
    target: f64,
) -> Start<M> {
    let (mut low, mut high) = range;
    let first = hermite(a, b, low)[M - 1] - target;
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if (hermite(a, b, middle)[M - 1] - target) * first > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let fraction = 0.5 * (low + high);
    let near = if fraction < 0.5 { a } else { b };
    Start { y: hermite(a, b, fraction), jacobian: near.jacobian, rises: first < 0.0 }
}

/// The fraction of the way from `a` to `b` at which α is extremal.
fn summit<const M: usize>(a: &Point<M>, b: &Point<M>) -> f64 {
    let sign = a.tangent[M - 1].signum();
    scalar::minimum(|x| -sign * hermite(a, b, x)[M - 1], 0.0, 1.0, 1e-6).0
}

/// Cubic interpolation between two points of the curve, by their tangents.
pub(super) fn hermite<const M: usize>(a: &Point<M>, b: &Point<M>, x: f64) -> [f64; M] {
    let length = (0..M).map(|k| (b.y[k] - a.y[k]).powi(2)).sum::<f64>().sqrt();
    let (x2, x3) = (x * x, x * x * x);
    std::array::from_fn(|k| {
        (2.0 * x3 - 3.0 * x2 + 1.0) * a.y[k]
            + (x3 - 2.0 * x2 + x) * length * a.tangent[k]
            + (3.0 * x2 - 2.0 * x3) * b.y[k]
            + (x3 - x2) * length * b.tangent[k]
    })
}
