//! All solutions of a traced curve at one α.
//!
//! Between two points of the trace a cubic says where the curve crosses α, and Newton's
//! method leads from there to the solution; next to a fold, where Newton's matrix is
//! singular in α, the start is the parabola around the fold. Next to the place where a gap opens or closes
//! the gap is nearly proportional to the distance in α and leads Newton's method in place of α.

use remanent_math::continuation::{Point, advance};
use remanent_math::linear::{axpy, max_norm};
use remanent_math::newton::{Outcome, Root};
use remanent_math::scalar;

use super::solve::{Hold, solve};
use super::state::{gap_index, x_index};
use super::trace::Trace;
use crate::points::{hermite, summit};

/// Nearer to a fold than this in ln α, solutions are started from the fold itself.
const NEAR_FOLD: f64 = 0.004;

/// Solutions of two searches that are nearer to each other than this are one.
const SAME: f64 = 1e-6;

/// A solution at a given α.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundRoot<const M: usize> {
    pub(super) root: Root<M>,
    /// Whether α rises along the curve there.
    pub(super) rises: bool,
}

/// Which end of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The gap grows from 0.
    Opening,
    /// It shrinks to 0.
    Closing,
}

/// A start for Newton's method at a given α.
struct Start<const M: usize> {
    y: [f64; M],
    jacobian: [[f64; M]; M],
    rises: bool,
    /// Where on the trace it lies.
    place: Place,
}

/// The step of a trace, and the part of it in which α is monotone.
#[derive(Clone, Copy)]
struct Place {
    step: usize,
    range: (f64, f64),
}

impl<const M: usize> Trace<'_, M> {
    /// Every solution at `alpha` up to the end of the trace, in the order of the curve.
    pub(super) fn roots(&self, alpha: f64) -> Vec<FoundRoot<M>> {
        let target = alpha.ln();
        let mut starts = Vec::new();
        for i in 0..self.points.len().max(1) - 1 {
            self.starts_between(i, target, &mut starts);
        }
        let near_onset = self.near_onset(target);
        let others = starts.into_iter().map(|start| {
            let found = self.root_from(&start, target);
            let corrected = || self.corrected(&start, target).map(|s| self.root_from(&s, target));
            if found.root.outcome == Outcome::Converged {
                return found;
            }
            // With derivatives of its own.
            let again = solve(&self.system, Hold::LnAlpha(target), start.y, None);
            if again.outcome == Outcome::Converged {
                return FoundRoot { root: again, ..found };
            }
            corrected().unwrap_or(found)
        });
        // The gaps that are searched next to the onset reach a little into the trace.
        let is_new = |other: &FoundRoot<M>| {
            near_onset.iter().all(|f| max_norm(&axpy(&f.root.x, -1.0, &other.root.x)) > SAME)
        };
        let others: Vec<FoundRoot<M>> = others.filter(is_new).collect();
        near_onset.into_iter().chain(others).collect()
    }

    fn root_from(&self, start: &Start<M>, target: f64) -> FoundRoot<M> {
        let mut root = solve(&self.system, Hold::LnAlpha(target), start.y, Some(&start.jacobian));
        // A root far from its start lies on another part of the curve.
        if max_norm(&axpy(&root.x, -1.0, &start.y)) > 1.5 {
            root.outcome = Outcome::LeftDomain;
        }
        FoundRoot { root, rises: start.rises }
    }

    /// A start on the curve itself, where the cubic between two points of the trace does not lead to the solution.
    fn corrected(&self, start: &Start<M>, target: f64) -> Option<Start<M>> {
        let Place { step, range: (low, high) } = start.place;
        let beyond = |x: f64| self.between(step, x).map_or(f64::NAN, |p| p.y[M - 1] - target);
        let point = self.between(step, scalar::root(beyond, low, high, 1e-4)?)?;
        Some(Start { y: point.y, jacobian: point.jacobian, ..*start })
    }

    /// The solution between a place where the gap of a level vanishes and a point of the trace next to it. The gap
    /// is nearly proportional to the distance in α there, and Newton's method is better led by
    /// the gap: α is a smooth function of it, while x is hardly determined.
    pub(super) fn near_end(
        &self,
        origin: &[f64; M],
        level: usize,
        (end, first): (End, &[f64; M]),
        target: f64,
    ) -> Option<FoundRoot<M>> {
        let distance = |y: &[f64; M]| y[M - 1] - origin[M - 1];
        // The curve leads away from an opening and to a closing.
        let rises = (distance(first) > 0.0) == (end == End::Opening);
        let wanted = target - origin[M - 1];
        let share = wanted / distance(first);
        if !(share > 0.0 && share < 1.0) {
            return None;
        }
        let steps = (M - 4) / 2;
        let (gap, x) = (gap_index(level), x_index(steps, level));
        let mut start: [f64; M] =
            std::array::from_fn(|k| origin[k] + share * (first[k] - origin[k]));
        (start[gap], start[x]) = (first[gap] + share.ln(), first[x]);
        let found = |root: Root<M>| Some(FoundRoot { root, rises });
        let mut before = (first[gap], distance(first).abs().ln());
        let mut jacobian = None;
        for _ in 0..12 {
            let hold = Hold::LnGap(level, start[gap]);
            let mut root = solve(&self.system, hold, start, jacobian.as_ref());
            if root.outcome != Outcome::Converged || distance(&root.x) / wanted <= 0.0 {
                return found(Root { outcome: Outcome::LeftDomain, ..root });
            }
            let error = target - root.x[M - 1];
            if error.abs() < 1e-12 + 1e-9 * wanted.abs() + 10.0 * root.residual {
                root.x[M - 1] = target;
                root.residual = root.residual.max(error.abs());
                return found(root);
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
                starts.push(start_between(a, b, Place { step: i, range: (0.0, 1.0) }, target));
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
                    starts.push(start_between(a, b, Place { step: i, range }, target));
                }
            }
            return;
        }
        let Some(fold) = self.fold(i) else { return };
        let s2 = 2.0 * (target - fold.point.y[M - 1]) / fold.bend;
        if s2 < 0.0 {
            return;
        }
        for (end, side, range) in [(a, -1.0, (0.0, top)), (b, 1.0, (top, 1.0))] {
            let within = (end.y[M - 1] - target) * (fold.point.y[M - 1] - target) <= 0.0;
            let mut f = self.system.equations::<M>();
            if within && let Some(p) = advance(&mut f, &fold.point, side * s2.sqrt(), 1e-9) {
                let rises = (side < 0.0) == rises;
                let place = Place { step: i, range };
                starts.push(Start { y: p.y, jacobian: p.jacobian, rises, place });
            }
        }
    }
}

/// The crossing of `target` between two points, where α is monotone within `range`.
fn start_between<const M: usize>(
    a: &Point<M>,
    b: &Point<M>,
    place: Place,
    target: f64,
) -> Start<M> {
    let (mut low, mut high) = place.range;
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
    Start { y: hermite(a, b, fraction), jacobian: near.jacobian, rises: first < 0.0, place }
}
