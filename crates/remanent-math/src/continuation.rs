//! Pseudo-arclength continuation: follows a curve of solutions around its folds.
//!
//! A curve is given by M − 1 equations in M unknowns (the last of which is
//! usually a control parameter). A step predicts along the tangent and
//! corrects in the plane across it, so the curve may turn back in any of its
//! unknowns. See H. B. Keller, *Lectures on Numerical Methods in Bifurcation
//! Problems* (1987), ch. 4.

use crate::linear::{axpy, broyden_update, dot, max_norm, solve};
use crate::newton::differences;

/// The equations of a curve: the first M − 1 entries are residuals, the last
/// one is ignored. `None` outside the domain.
pub type Equations<'a, const M: usize> = &'a mut dyn FnMut(&[f64; M]) -> Option<[f64; M]>;

/// A point of a traced curve.
#[derive(Clone, Copy, Debug)]
pub struct Point<const M: usize> {
    /// The unknowns.
    pub y: [f64; M],
    /// The unit tangent, in the direction of tracing.
    pub tangent: [f64; M],
    /// Derivatives of the equations by the unknowns; the last row is the tangent.
    pub jacobian: [[f64; M]; M],
}

/// Step sizes and limits of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Tracer {
    /// Length of the first step.
    pub first_step: f64,
    /// Longest step.
    pub max_step: f64,
    /// Shortest step; the trace ends where a shorter one would be needed.
    pub min_step: f64,
    /// Residual to which every point is corrected.
    pub tolerance: f64,
    /// And to this fraction of the step. Tangents are those of the chords between points, so the shorter the step
    /// the nearer to the curve its ends must be. But no residual need be smaller than 1e-3 of `tolerance`.
    pub fraction: f64,
    /// Largest angle between the tangents of neighbouring points, in radians.
    pub max_angle: f64,
    /// Largest number of points.
    pub max_points: usize,
}

/// Why a trace ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEnd {
    /// The `stop` condition held.
    Stopped,
    /// The limit of points was reached.
    MaxPoints,
    /// No step down to the shortest finds the next point.
    Lost,
    /// It came back to where it had been and went the same way again. A curve with an end does not: a step
    /// has led to a closed one.
    Closed,
}

/// A point is on an earlier chord if it is nearer to it than this fraction of its length.
const ON_CHORD: f64 = 0.05;
/// And if their directions differ by less than an angle with this cosine.
const SAME_WAY: f64 = 0.98;
/// Chords of the last points are not earlier ones.
const LATELY: usize = 10;
/// So many points in a row on earlier chords are no chance.
const LAPPED: usize = 4;

/// Whether the last of the points lies on a chord between earlier ones, and goes the same way.
fn is_on_earlier<const M: usize>(points: &[Point<M>]) -> bool {
    let Some((last, before)) = points.split_last() else { return false };
    let earlier = &before[..before.len().saturating_sub(LATELY)];
    earlier.windows(2).any(|w| {
        let (chord, from) = (axpy(&w[1].y, -1.0, &w[0].y), axpy(&last.y, -1.0, &w[0].y));
        let square = dot(&chord, &chord);
        let along = dot(&from, &chord) / square;
        let across = axpy(&from, -along, &chord);
        (0.0..=1.0).contains(&along)
            && dot(&across, &across) < ON_CHORD * ON_CHORD * square
            && dot(&last.tangent, &chord) > SAME_WAY * square.sqrt()
    })
}

/// Sets the last entry of a residual to the arclength condition.
fn across<const M: usize>(
    f: Equations<M>,
    y: &[f64; M],
    predicted: &[f64; M],
    tangent: &[f64; M],
) -> Option<[f64; M]> {
    let mut r = f(y)?;
    r[M - 1] = dot(tangent, &axpy(y, -1.0, predicted));
    r.iter().all(|v| v.is_finite()).then_some(r)
}

/// The unit tangent that the Jacobian implies, on the side of `towards`.
fn tangent_of<const M: usize>(mut jacobian: [[f64; M]; M], towards: &[f64; M]) -> Option<[f64; M]> {
    jacobian[M - 1] = *towards;
    let mut rhs = [0.0; M];
    rhs[M - 1] = 1.0;
    let t = solve(jacobian, rhs)?;
    let length = dot(&t, &t).sqrt();
    let sign = dot(&t, towards).signum();
    Some(t.map(|v| v * sign / length))
}

/// The last points of a trace with their lengths along the curve, and the
/// polynomial through them.
struct Recent<const M: usize> {
    points: Vec<(f64, [f64; M])>,
}

impl<const M: usize> Recent<M> {
    /// Points that the polynomial goes through.
    const DEGREE_PLUS_ONE: usize = 3;

    fn push(&mut self, y: [f64; M]) {
        let length = self.points.last().map_or(0.0, |(s, before)| {
            let chord = axpy(&y, -1.0, before);
            s + dot(&chord, &chord).sqrt()
        });
        self.points.push((length, y));
        if self.points.len() > Self::DEGREE_PLUS_ONE {
            self.points.remove(0);
        }
    }

    /// Position and unit tangent of the polynomial `ahead` of the last point.
    /// One point alone is continued along `tangent`.
    fn extrapolate(&self, ahead: f64, tangent: &[f64; M]) -> ([f64; M], [f64; M]) {
        let (last, y) = self.points[self.points.len() - 1];
        if self.points.len() == 1 {
            return (axpy(&y, ahead, tangent), *tangent);
        }
        let s = last + ahead;
        let (mut position, mut slope) = ([0.0; M], [0.0; M]);
        for (i, (s_i, y_i)) in self.points.iter().enumerate() {
            // Lagrange's polynomial of this point and its derivative.
            let (mut value, mut derivative) = (1.0, 0.0);
            for (j, (s_j, _)) in self.points.iter().enumerate() {
                if i != j {
                    let factor = (s - s_j) / (s_i - s_j);
                    derivative = derivative * factor + value / (s_i - s_j);
                    value *= factor;
                }
            }
            position = axpy(&position, value, y_i);
            slope = axpy(&slope, derivative, y_i);
        }
        let norm = dot(&slope, &slope).sqrt();
        (position, slope.map(|v| v / norm))
    }
}

/// Corrects `predicted` onto the curve within the plane across `tangent`.
/// Returns the point, the corrected Jacobian, and the number of evaluations.
fn correct<const M: usize>(
    f: Equations<M>,
    predicted: &[f64; M],
    tangent: &[f64; M],
    jacobian: &[[f64; M]; M],
    tolerance: f64,
    max_evaluations: usize,
) -> Option<([f64; M], [[f64; M]; M], usize)> {
    let mut j = *jacobian;
    j[M - 1] = *tangent;
    let mut y = *predicted;
    let mut r = across(f, &y, predicted, tangent)?;
    let mut norm = max_norm(&r);
    for evaluation in 1..=max_evaluations {
        if norm <= tolerance {
            return Some((y, j, evaluation));
        }
        let step = solve(j, r)?.map(|v| -v);
        if max_norm(&step) > 1.0 {
            return None;
        }
        let next = axpy(&y, 1.0, &step);
        let rn = across(f, &next, predicted, tangent)?;
        let nn = max_norm(&rn);
        if nn > 2.0 * norm {
            return None;
        }
        broyden_update(&mut j, &step, &axpy(&rn, -1.0, &r));
        (y, r, norm) = (next, rn, nn);
    }
    None
}

/// A point of the curve, from a solution known to good accuracy; its Jacobian
/// is taken by differences and its tangent points towards `towards`.
pub fn point_at<const M: usize>(
    f: Equations<M>,
    y: [f64; M],
    towards: &[f64; M],
    difference: f64,
) -> Option<Point<M>> {
    let r = f(&y)?;
    let mut jacobian = differences(f, &y, &r, difference)?;
    let tangent = tangent_of(jacobian, towards)?;
    jacobian[M - 1] = tangent;
    Some(Point { y, tangent, jacobian })
}

/// The point of the curve whose projection on the tangent of `from` lies
/// `distance` away.
pub fn advance<const M: usize>(
    f: Equations<M>,
    from: &Point<M>,
    distance: f64,
    tolerance: f64,
) -> Option<Point<M>> {
    let predicted = Point { y: axpy(&from.y, distance, &from.tangent), ..*from };
    let Point { y, jacobian, .. } = settle_within(f, &predicted, tolerance, 12)?;
    point_at(f, y, &from.tangent, 1e-6).or_else(|| {
        let tangent = tangent_of(jacobian, &from.tangent)?;
        Some(Point { y, tangent, jacobian })
    })
}

/// The point of the curve nearest to `near`, which is close to it: in the plane across its tangent.
/// Unlike [`advance`] it keeps the tangent, and costs no derivatives if those of `near` serve.
pub fn settle<const M: usize>(
    f: Equations<M>,
    near: &Point<M>,
    tolerance: f64,
) -> Option<Point<M>> {
    settle_within(f, near, tolerance, 6)
}

/// [`settle`] with at most so many evaluations before the derivatives are computed again.
fn settle_within<const M: usize>(
    f: Equations<M>,
    near: &Point<M>,
    tolerance: f64,
    evaluations: usize,
) -> Option<Point<M>> {
    let corrected = correct(f, &near.y, &near.tangent, &near.jacobian, tolerance, evaluations);
    let (y, jacobian, _) = corrected.or_else(|| {
        let r = f(&near.y)?;
        let fresh = differences(f, &near.y, &r, 1e-6)?;
        correct(f, &near.y, &near.tangent, &fresh, tolerance, 20)
    })?;
    Some(Point { y, jacobian, ..*near })
}

/// Replaces the tangents inside a trace, which were extrapolated on the way, by
/// those of the parabolas through each point and its two neighbours. These are
/// averages of the two chords, so a coordinate that rises along both has a
/// rising tangent too.
fn centre_tangents<const M: usize>(points: &mut [Point<M>]) {
    let positions: Vec<[f64; M]> = points.iter().map(|p| p.y).collect();
    for i in 1..points.len().max(1) - 1 {
        let (before, after) = (
            axpy(&positions[i], -1.0, &positions[i - 1]),
            axpy(&positions[i + 1], -1.0, &positions[i]),
        );
        let (a, b) = (dot(&before, &before), dot(&after, &after));
        // Slopes of the chords, each weighted by the length of the other.
        let tangent: [f64; M] =
            std::array::from_fn(|k| before[k] * (b / a).sqrt() + after[k] * (a / b).sqrt());
        let norm = dot(&tangent, &tangent).sqrt();
        if norm > 0.0 {
            points[i].tangent = tangent.map(|v| v / norm);
            points[i].jacobian[M - 1] = points[i].tangent;
        }
    }
}

impl Tracer {
    /// Follows the curve from `start` until `stop` holds. The first point is `start`.
    pub fn trace<const M: usize>(
        &self,
        f: Equations<M>,
        start: Point<M>,
        stop: &mut dyn FnMut(&Point<M>) -> bool,
    ) -> (Vec<Point<M>>, TraceEnd) {
        let (mut points, end) = self.follow(f, start, stop);
        centre_tangents(&mut points);
        (points, end)
    }

    /// The residual to which the point at the end of a step is corrected.
    fn tolerance_of(&self, step: f64) -> f64 {
        self.tolerance.min((self.fraction * step).max(1e-3 * self.tolerance))
    }

    fn follow<const M: usize>(
        &self,
        f: Equations<M>,
        start: Point<M>,
        stop: &mut dyn FnMut(&Point<M>) -> bool,
    ) -> (Vec<Point<M>>, TraceEnd) {
        let mut points = vec![start];
        let mut here = start;
        let mut step = self.first_step;
        let mut fresh = true;
        let mut recent = Recent { points: vec![(0.0, start.y)] };
        let mut lapped = 0;
        while points.len() < self.max_points {
            let (predicted, across) = recent.extrapolate(step, &here.tangent);
            let tolerance = self.tolerance_of(step);
            let found = correct(f, &predicted, &across, &here.jacobian, tolerance, 8).and_then(
                |(y, mut jacobian, evaluations)| {
                    let mut with_new = Recent { points: recent.points.clone() };
                    with_new.push(y);
                    let tangent = with_new.extrapolate(0.0, &across).1;
                    let angle = dot(&tangent, &here.tangent).clamp(-1.0, 1.0).acos();
                    // The corrector moves across the curve only: tell its Jacobian of the bend.
                    broyden_update(&mut jacobian, &tangent, &[0.0; M]);
                    jacobian[M - 1] = tangent;
                    (angle <= self.max_angle).then_some((
                        Point { y, tangent, jacobian },
                        evaluations,
                        angle,
                    ))
                },
            );
            match found {
                Some((point, evaluations, angle)) => {
                    recent.push(point.y);
                    points.push(point);
                    here = point;
                    fresh = false;
                    if stop(&point) {
                        return (points, TraceEnd::Stopped);
                    }
                    lapped = if is_on_earlier(&points) { lapped + 1 } else { 0 };
                    if lapped == LAPPED {
                        return (points, TraceEnd::Closed);
                    }
                    if evaluations <= 3 && angle < 0.25 * self.max_angle {
                        step = (step * 2.5).min(self.max_step);
                    } else if evaluations <= 4 && angle < 0.5 * self.max_angle {
                        step = (step * 1.5).min(self.max_step);
                    } else if evaluations > 6 || angle > 0.8 * self.max_angle {
                        step = (step * 0.7).max(self.min_step);
                    }
                }
                None if !fresh => match point_at(f, here.y, &here.tangent, 1e-6) {
                    Some(point) => {
                        here = point;
                        fresh = true;
                        step *= 0.7;
                    }
                    None => return (points, TraceEnd::Lost),
                },
                None => {
                    step *= 0.4;
                    if step < self.min_step {
                        return (points, TraceEnd::Lost);
                    }
                }
            }
        }
        (points, TraceEnd::MaxPoints)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// λ = x³ − x has folds at x = ±1/√3.
    fn cubic(y: &[f64; 2]) -> Option<[f64; 2]> {
        Some([y[0].powi(3) - y[0] - y[1], 0.0])
    }

    const TRACER: Tracer = Tracer {
        first_step: 0.05,
        max_step: 0.3,
        min_step: 1e-6,
        tolerance: 1e-12,
        fraction: f64::INFINITY,
        max_angle: 0.3,
        max_points: 400,
    };

    #[test]
    fn goes_round_both_folds_of_a_cubic() {
        let start = point_at(&mut cubic, [-1.5, -1.875], &[1.0, 0.0], 1e-6).unwrap();
        let (points, end) = TRACER.trace(&mut cubic, start, &mut |p| p.y[0] > 1.5);
        assert_eq!(end, TraceEnd::Stopped);
        let turns = points.windows(2).filter(|w| w[0].tangent[1] * w[1].tangent[1] < 0.0);
        assert_eq!(turns.count(), 2);
        assert!(points.iter().all(|p| cubic(&p.y).unwrap()[0].abs() < 1e-11));
    }

    /// A circle has no end. A helix comes near to itself again and again, and goes on.
    #[test]
    fn says_when_the_curve_is_closed() {
        let mut circle = |y: &[f64; 2]| Some([y[0] * y[0] + y[1] * y[1] - 1.0, 0.0]);
        let start = point_at(&mut circle, [1.0, 0.0], &[0.0, 1.0], 1e-6).unwrap();
        let (points, end) = TRACER.trace(&mut circle, start, &mut |_| false);
        assert_eq!(end, TraceEnd::Closed);
        let chord = |w: &[Point<2>]| (w[1].y[0] - w[0].y[0]).hypot(w[1].y[1] - w[0].y[1]);
        let length: f64 = points.windows(2).map(chord).sum();
        assert!(length > 6.2 && length < 9.0, "{length}");
        let mut helix = |y: &[f64; 3]| {
            let angle = 30.0 * y[2];
            Some([y[0] - angle.cos(), y[1] - angle.sin(), 0.0])
        };
        let start = point_at(&mut helix, [1.0, 0.0, 0.0], &[0.0, 0.0, 1.0], 1e-6).unwrap();
        let (_, end) = TRACER.trace(&mut helix, start, &mut |p| p.y[2] > 0.43);
        assert_eq!(end, TraceEnd::Stopped);
    }

    #[test]
    fn says_when_the_curve_is_lost() {
        let mut half = |y: &[f64; 2]| if y[0] > 0.5 { None } else { cubic(y) };
        let start = point_at(&mut half, [-1.5, -1.875], &[1.0, 0.0], 1e-6).unwrap();
        let (_, end) = TRACER.trace(&mut half, start, &mut |p| p.y[0] > 1.5);
        assert_eq!(end, TraceEnd::Lost);
    }
}
