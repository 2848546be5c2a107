//! The curve of broken solutions as α varies, and every solution on it at one α.
//!
//! The curve leaves a less broken one where a stability vanishes, with a new gap
//! q_l_hat − q_{l−1}_hat that grows from 0, may turn back in α (the spinodal of the
//! broken branch), and ends where the gap closes again. Parisi's parameter is not
//! kept below 1 on the way: where the onset is discontinuous the curve leaves with
//! x > 1 and comes to x = 1 at a finite gap, which is where it begins to matter.

use std::sync::OnceLock;

use remanent_math::continuation::{Point, Tracer, advance, point_at};
use remanent_math::linear::{axpy, max_norm};
use remanent_math::newton::{Outcome, Root};
use remanent_math::scalar;

use super::equations::System;
use super::report::{RsbSolution, finish};
use super::solve::{Hold, solve};
use super::state::{gap_index, x_index};
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
    pub(super) system: System,
    pub(super) points: Vec<Point<M>>,
    folds: Vec<OnceLock<Option<Fold<M>>>>,
    /// Where the gap opens; its coordinates of that gap and its x have no meaning.
    origin: [f64; M],
    /// The level that opens.
    level: usize,
    /// ln of the variance of which the first gap is a small part.
    ln_variance: f64,
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
    /// The fraction of the nodes that is used. The equations of inner steps are
    /// differences of smaller numbers.
    fn fraction(self, steps: usize) -> f64 {
        match self {
            Self::Quick if steps == 1 => 0.55,
            Self::Quick => 0.8,
            Self::Drawn => 1.0,
        }
    }

    fn tracer(self, steps: usize) -> Tracer {
        let drawn = self == Self::Drawn;
        Tracer {
            first_step: if drawn { 0.1 } else { 0.3 },
            max_step: if drawn { 0.1 } else { 1.2 },
            min_step: 1e-5,
            tolerance: match self {
                Self::Quick if steps == 1 => 1e-5,
                Self::Quick => 1e-6,
                Self::Drawn => 1e-9,
            },
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
        let coarse = Resolution(care.fraction((M - 4) / 2) * system.resolution.0);
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
        // Where a gap has become as small as the first was, it is about to close.
        let ratio = |y: &[f64; M], l: usize| y[gap_index(l)] - y[1];
        let limit = |l: usize| ratio(&root.x, l).min(FIRST_GAP.ln());
        let closes = |p: &Point<M>| {
            let closing = |l| ratio(&p.y, l) < limit(l) && p.tangent[gap_index(l)] < 0.0;
            (1..=(M - 4) / 2).any(closing)
        };
        let mut stop = |p: &Point<M>| closes(p) || p.y[M - 1] > 100_f64.ln();
        let (points, _) = care.tracer((M - 4) / 2).trace(&mut f, first, &mut stop);
        let folds = points.iter().map(|_| OnceLock::new()).collect();
        Some(Self { system, points, folds, origin, level, ln_variance })
    }

    /// The same curve in short steps at full resolution.
    pub(super) fn redrawn(&self) -> Option<Self> {
        let mut origin = self.origin;
        let steps = (M - 4) / 2;
        origin[x_index(steps, self.level)] = self.points[0].y[x_index(steps, self.level)];
        Self::new(self.system, origin, self.level, self.ln_variance, Care::Drawn)
    }

    /// The largest residual at `y`.
    pub(super) fn residual(&self, y: &[f64; M]) -> f64 {
        self.system.equations::<M>()(y).map_or(f64::NAN, |r| max_norm(&r))
    }

    /// What is reported of the traced points.
    pub(super) fn solutions(&self) -> Vec<RsbSolution> {
        self.points
            .iter()
            .map(|p| {
                let residual = self.residual(&p.y);
                let outcome =
                    if residual < 1e-7 { Outcome::Converged } else { Outcome::MaxIterations };
                let root = Root { x: p.y, residual, jacobian: p.jacobian, outcome };
                finish(&self.system, &root, p.tangent[M - 1] < 0.0, true)
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

    /// The points where `value` changes its sign along the curve.
    pub(super) fn zeros(&self, mut value: impl FnMut(&[f64; M]) -> f64) -> Vec<Point<M>> {
        let values: Vec<f64> = self.points.iter().map(|p| value(&p.y)).collect();
        let mut zeros = Vec::new();
        for i in 0..self.points.len().max(1) - 1 {
            if values[i] * values[i + 1] < 0.0 {
                let at = |x: f64| self.between(i, x).map_or(f64::NAN, |p| value(&p.y));
                let share = scalar::root(at, 0.0, 1.0, 1e-10);
                zeros.extend(share.and_then(|x| self.between(i, x)));
            }
        }
        zeros
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
            if along.abs() < 3e-5 {
                return self.polished_fold(point, bend);
            }
        }
        None
    }

    /// The tangent is known to the accuracy of finite differences; α on both sides of
    /// a fold is known far better, and says where the fold is.
    fn polished_fold(&self, point: Point<M>, bend: f64) -> Option<Fold<M>> {
        let h = 5e-4;
        let mut f = self.system.equations::<M>();
        let ahead = advance(&mut f, &point, h, 1e-12)?.y[M - 1];
        let behind = advance(&mut f, &point, -h, 1e-12)?.y[M - 1];
        let point = advance(&mut f, &point, -(ahead - behind) / (2.0 * h * bend), 1e-12)?;
        Some(Fold { point, bend })
    }

    /// Every solution at `alpha`, in the order of the curve, and whether α rises along
    /// the curve there.
    pub(super) fn roots(&self, alpha: f64) -> Vec<(Root<M>, bool)> {
        let target = alpha.ln();
        let mut starts = Vec::new();
        for i in 0..self.points.len().max(1) - 1 {
            self.starts_between(i, target, &mut starts);
        }
        let near_onset = self.near_onset(target).map(|root| {
            let rises = self.points[0].tangent[M - 1] > 0.0;
            (root, rises)
        });
        let others = starts.into_iter().map(|Start { y, jacobian, rises }| {
            let mut root = solve(&self.system, Hold::LnAlpha(target), y, Some(&jacobian));
            // A root far from its start lies on another part of the curve.
            if max_norm(&axpy(&root.x, -1.0, &y)) > 1.5 {
                root.outcome = Outcome::LeftDomain;
            }
            (root, rises)
        });
        near_onset.into_iter().chain(others).collect()
    }

    /// The solution between the origin and the first point. The gap is nearly
    /// proportional to the distance in α there, and Newton's method is better led by
    /// the gap: α is a smooth function of it, while x is hardly determined.
    fn near_onset(&self, target: f64) -> Option<Root<M>> {
        let (origin, first) = (&self.origin, &self.points.first()?.y);
        let distance = |y: &[f64; M]| y[M - 1] - origin[M - 1];
        let wanted = target - origin[M - 1];
        let share = wanted / distance(first);
        if !(share > 0.0 && share < 1.0) {
            return None;
        }
        let steps = (M - 4) / 2;
        let (gap, x) = (gap_index(self.level), x_index(steps, self.level));
        let mut start: [f64; M] =
            std::array::from_fn(|k| origin[k] + share * (first[k] - origin[k]));
        (start[gap], start[x]) = (first[gap] + share.ln(), first[x]);
        let mut before = (first[gap], distance(first).abs().ln());
        let mut jacobian = None;
        for _ in 0..12 {
            let hold = Hold::LnGap(self.level, start[gap]);
            let mut root = solve(&self.system, hold, start, jacobian.as_ref());
            if root.outcome != Outcome::Converged || distance(&root.x) / wanted <= 0.0 {
                return Some(Root { outcome: Outcome::LeftDomain, ..root });
            }
            let error = target - root.x[M - 1];
            if error.abs() < 1e-12 + 1e-9 * wanted.abs() + 10.0 * root.residual {
                root.x[M - 1] = target;
                root.residual = root.residual.max(error.abs());
                return Some(root);
            }
            // A secant in the logarithms.
            let here = (root.x[gap], distance(&root.x).abs().ln());
            let slope = (here.1 - before.1) / (here.0 - before.0);
            let slope = if (0.3..3.0).contains(&slope) { slope } else { 1.0 };
            start = root.x;
            start[gap] += (wanted.abs().ln() - distance(&root.x).abs().ln()) / slope;
            (before, jacobian) = (here, Some(root.jacobian));
        }
        None
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
