//! The curve of broken solutions as α varies, and every solution on it at one α.
//!
//! The curve leaves a less broken one where a stability vanishes, with a new gap
//! q_l_hat − q_{l−1}_hat that grows from 0, may turn back in α (the spinodal of the
//! broken branch), and ends where the gap closes again. Parisi's parameter is not
//! kept below 1 on the way: where the onset is discontinuous the curve leaves with
//! x > 1 and comes to x = 1 at a finite gap, which is where it begins to matter.

use std::sync::OnceLock;

use remanent_math::continuation::{Point, Tracer, advance, point_at, settle};
use remanent_math::linear::max_norm;
use remanent_math::newton::{Outcome, Root};
use remanent_math::scalar;

use super::equations::System;
use super::fold::Fold;
use super::report::{RsbSolution, finish, refined};
use super::solve::{Hold, solve};
use super::state::{gap_index, x_index};
use crate::points::hermite;
use crate::resolution::Resolution;
use crate::solution::Termination;

/// The gap, relative to the field variance it splits from, at which a trace begins.
pub(super) const FIRST_GAP: f64 = 0.01;
/// Parts of it that are tried in turn: next to the β at which replica symmetry first breaks, the largest gap of the
/// curve is proportional to the distance in β.
pub(super) const SMALLER: [f64; 3] = [1.0, 0.2, 0.04];

/// The first gap of a trace that is narrow all along.
pub(super) const FIRST_NARROW_GAP: f64 = 1e-5;

/// And its largest one.
const LARGEST_NARROW_GAP: f64 = 0.02;

/// A trace ends at a gap of this part of the first. Coarse quadrature does not determine x at much smaller ones;
/// those of one step follow from the place where the gap closes.
const CLOSED: [f64; 2] = [0.6, 0.1];

/// The residual to which points are corrected before they are reported.
const REPORTED: f64 = 1e-11;

/// A traced curve of solutions with (M − 4)/2 steps.
#[derive(Debug)]
pub(super) struct Trace<'a, const M: usize> {
    pub(super) system: System<'a>,
    pub(super) points: Vec<Point<M>>,
    pub(super) folds: Vec<OnceLock<Option<Fold<M>>>>,
    /// Where it was begun.
    pub(super) origin: Origin<M>,
    /// How it was traced.
    pub(super) care: Care,
}

/// Where a trace begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<const M: usize> {
    /// Where the gap of a level opens.
    Opening {
        /// The coordinates there; those of the gap and of its x have no meaning.
        y: [f64; M],
        /// The level.
        level: usize,
        /// ln of the variance of which the first gap is a small part.
        ln_variance: f64,
    },
    /// Near a solution in the middle of the curve, from which it is followed both ways.
    Middle([f64; M]),
}

/// How far to trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Extent {
    /// To the end of the curve.
    Whole,
    /// Until it has risen past this ln α with a gap that is not narrow: the part on which the first solution there
    /// lies, and one point more, which the tangent at its last point depends on.
    Past(f64),
}

/// How finely to trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Coarse quadrature, long steps: to find one's way.
    Quick,
    /// Full quadrature, short steps: for drawing.
    Drawn,
    /// Full quadrature and points that lie on the curve, for a curve whose gap is small all along: it is not
    /// larger than the shifts that coarseness causes.
    Narrow,
}

impl Care {
    /// The fraction of the nodes that is used. The equations of inner steps are
    /// differences of smaller numbers.
    fn fraction(self, steps: usize) -> f64 {
        match self {
            Self::Quick if steps == 1 => 0.55,
            Self::Quick => 0.8,
            Self::Drawn | Self::Narrow => 1.0,
        }
    }

    fn tracer(self, steps: usize) -> Tracer {
        let drawn = self == Self::Drawn;
        Tracer {
            first_step: if drawn { 0.1 } else { 0.3 },
            max_step: match self {
                Self::Quick => 1.2,
                Self::Drawn => 0.1,
                Self::Narrow => 0.3,
            },
            min_step: 1e-5,
            fraction: f64::INFINITY,
            tolerance: match self {
                Self::Quick if steps == 1 => 1e-5,
                Self::Quick => 1e-6,
                Self::Drawn => 1e-9,
                Self::Narrow => 1e-10,
            },
            max_angle: if drawn { 0.1 } else { 0.35 },
            max_points: 600,
        }
    }
}

impl<'a, const M: usize> Trace<'a, M> {
    /// Follows the curve from its origin to its end.
    pub(super) fn new(system: System<'a>, origin: Origin<M>, care: Care) -> Option<Self> {
        Self::as_far_as(Extent::Whole, system, origin, care)
    }

    /// Follows the curve from its origin.
    pub(super) fn as_far_as(
        extent: Extent,
        system: System<'a>,
        origin: Origin<M>,
        care: Care,
    ) -> Option<Self> {
        let parts = if let Origin::Opening { .. } = origin { &SMALLER[..] } else { &[1.0] };
        let with = |gap: f64| Self::with_first_gap(system, origin, (care, extent), gap);
        parts.iter().find_map(|part| with(part * FIRST_GAP))
    }

    /// Whether the trace ends next to a place where a gap closes, and is narrow all along if it should be.
    pub(super) fn is_complete(&self) -> bool {
        let ratio = |p: &Point<M>| (p.y[gap_index((M - 4) / 2)] - p.y[1]).exp();
        let is_narrow = |p: &Point<M>| ratio(p) < LARGEST_NARROW_GAP;
        self.points.last().is_some_and(|last| ratio(last) < FIRST_GAP)
            && (self.care != Care::Narrow || self.points.iter().all(is_narrow))
    }

    pub(super) fn with_first_gap(
        system: System<'a>,
        origin: Origin<M>,
        (care, extent): (Care, Extent),
        first_gap: f64,
    ) -> Option<Self> {
        let coarse = Resolution::unchecked(care.fraction((M - 4) / 2) * system.resolution.factor());
        let rough = system.with_resolution(coarse);
        let (hold, start, index) = match origin {
            Origin::Opening { mut y, level, ln_variance } => {
                y[gap_index(level)] = first_gap.ln() + ln_variance;
                (Hold::LnGap(level, y[gap_index(level)]), y, gap_index(level))
            }
            Origin::Middle(y) => (Hold::LnAlpha(y[M - 1]), y, M - 1),
        };
        let root = solve(&rough, hold, start, None);
        if root.residual.is_nan() || root.residual > 1e-6 {
            return None;
        }
        let mut f = rough.equations::<M>();
        let mut towards = [0.0; M];
        towards[index] = 1.0;
        let first = point_at(&mut f, root.x, &towards, 1e-6)?;
        // Where a gap has become smaller than the first was, it is about to close.
        let ratio = |y: &[f64; M], l: usize| y[gap_index(l)] - y[1];
        let closed = if M == 6 && care == Care::Quick { CLOSED[0] } else { CLOSED[1] };
        let limit = |l: usize| ratio(&root.x, l).min(FIRST_GAP.ln()) + closed.ln();
        let closes = |p: &Point<M>| {
            let closing = |l| ratio(&p.y, l) < limit(l) && p.tangent[gap_index(l)] < 0.0;
            (1..=(M - 4) / 2).any(closing)
        };
        let steps = (M - 4) / 2;
        let is_past = |p: &Point<M>, ln_alpha: f64| {
            let is_physical = p.y[x_index(steps, steps)] < 0.0;
            let is_wide = ratio(&p.y, steps) > LARGEST_NARROW_GAP.ln();
            p.y[M - 1] > ln_alpha && p.tangent[M - 1] > 0.0 && is_physical && is_wide
        };
        let mut past = 0;
        let mut stop = |p: &Point<M>| {
            past = match extent {
                Extent::Past(ln_alpha) if is_past(p, ln_alpha) => past + 1,
                _ => 0,
            };
            past == 2 || closes(p) || p.y[M - 1] > 100_f64.ln()
        };
        let tracer = care.tracer((M - 4) / 2);
        let mut points = Vec::new();
        if let Origin::Middle(_) = origin {
            let turned = |p: Point<M>| Point { tangent: p.tangent.map(|t| -t), ..p };
            let (before, _) = tracer.trace(&mut f, turned(first), &mut stop);
            points.extend(before.into_iter().skip(1).rev().map(turned));
        }
        points.extend(tracer.trace(&mut f, first, &mut stop).0);
        let folds = points.iter().map(|_| OnceLock::new()).collect();
        Some(Self { system, points, folds, origin, care })
    }

    /// The same curve in short steps at full resolution.
    pub(super) fn redrawn(&self) -> Option<Self> {
        let mut origin = self.origin;
        if let Origin::Opening { y, level, .. } = &mut origin {
            let x = x_index((M - 4) / 2, *level);
            y[x] = self.points[0].y[x];
        }
        if self.care == Care::Narrow {
            let care = (Care::Narrow, Extent::Whole);
            return Self::with_first_gap(self.system, origin, care, FIRST_NARROW_GAP);
        }
        Self::new(self.system, origin, Care::Drawn)
    }

    /// The largest residual at `y`.
    pub(super) fn residual(&self, y: &[f64; M]) -> f64 {
        self.system.equations::<M>()(y).map_or(f64::NAN, |r| max_norm(&r))
    }

    /// What is reported of the traced points.
    pub(super) fn solutions(&self) -> Vec<RsbSolution> {
        let mut f = self.system.equations::<M>();
        let innermost = (M - 4) / 2;
        self.points
            .iter()
            .map(|p| {
                let p = &settle(&mut f, p, REPORTED).unwrap_or(*p);
                let is_saddle = p.tangent[M - 1] < 0.0;
                let residual = self.residual(&p.y);
                let outcome =
                    if residual < 1e-7 { Outcome::Converged } else { Outcome::MaxIterations };
                let root = Root { x: p.y, residual, jacobian: p.jacobian, outcome };
                let solution = finish(&self.system, &root, is_saddle, true);
                if solution.termination != Termination::Inaccurate {
                    return solution;
                }
                // Derivatives at the point itself, and a narrow gap is known to more digits than α.
                let hold = Hold::LnGap(innermost, p.y[gap_index(innermost)]);
                let root = solve(&self.system, hold, p.y, None);
                refined(&self.system, &root, hold, is_saddle)
            })
            .collect()
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
        let mut f = self.system.equations::<M>();
        let corrected = |p: &Point<M>| advance(&mut f, p, 0.0, 1e-10).map_or(p.y, |p| p.y);
        let values: Vec<f64> = self.points.iter().map(corrected).map(|y| value(&y)).collect();
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
}
