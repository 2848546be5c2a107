//! Points of the curve of solutions, and what lies between those of a trace.

use remanent_math::continuation::{Point, advance};
use remanent_math::{linear, scalar};

/// Coordinates of a point of the curve: those of the conjugates, and ln α.
pub type CurvePoint = Point<4>;

/// How far the curve is from where it is interpolated between two points of a trace, and how large the residual is
/// there, if it may go another way.
const OFF: f64 = 0.003;
/// Shorter steps than this lead past nothing.
const LONG: f64 = 0.5;
/// How often a step is divided where the curve goes another way.
const HALVINGS: usize = 4;

/// The distance between two points.
pub(crate) fn distance<const M: usize>(a: &Point<M>, b: &Point<M>) -> f64 {
    (0..M).map(|k| (b.y[k] - a.y[k]).powi(2)).sum::<f64>().sqrt()
}

/// Cubic interpolation between two points of the curve, by their tangents.
pub(crate) fn hermite<const M: usize>(a: &Point<M>, b: &Point<M>, x: f64) -> [f64; M] {
    let length = distance(a, b);
    let (x2, x3) = (x * x, x * x * x);
    std::array::from_fn(|k| {
        (2.0 * x3 - 3.0 * x2 + 1.0) * a.y[k]
            + (x3 - 2.0 * x2 + x) * length * a.tangent[k]
            + (3.0 * x2 - 2.0 * x3) * b.y[k]
            + (x3 - x2) * length * b.tangent[k]
    })
}

/// The fraction of the way from `a` to `b` at which α, whose logarithm is the last coordinate, is extremal.
pub(crate) fn summit<const M: usize>(a: &Point<M>, b: &Point<M>) -> f64 {
    let sign = a.tangent[M - 1].signum();
    scalar::minimum(|x| -sign * hermite(a, b, x)[M - 1], 0.0, 1.0, 1e-6).0
}

/// The points of a trace and more between them, where the curve is not what the points imply: a long step may lead past two folds
/// to a place where the curve has the same direction again. And whether the curve was not found somewhere.
pub(crate) fn without_detours(
    f: &mut impl FnMut(&[f64; 4]) -> Option<[f64; 4]>,
    points: &[CurvePoint],
    outside_corner: &impl Fn(&CurvePoint) -> bool,
) -> (Vec<CurvePoint>, bool) {
    let mut all = vec![points[0]];
    // The points still to be reached, the nearest last, and how often the way to each was halved.
    let mut ahead: Vec<(CurvePoint, usize)> = points[1..].iter().rev().map(|p| (*p, 0)).collect();
    let mut has_gap = false;
    while let Some((to, halved)) = ahead.pop() {
        let from = all[all.len() - 1];
        let (mut is_off, mut found) = (false, None);
        let length = distance(&from, &to);
        if halved < HALVINGS && length > LONG && outside_corner(&to) {
            // Not in the middle at first: two folds around it are symmetric.
            for x in [0.3, 0.7, 0.5] {
                let y = hermite(&from, &to, x);
                if f(&y).is_none_or(|r| is_far(&from, &to, &r)) {
                    is_off = true;
                    found = advance(f, &Point { y, ..from }, 0.0, 1e-5);
                }
                if found.is_some() || (x == 0.7 && !is_off) {
                    break;
                }
            }
        }
        has_gap |= is_off && found.is_none();
        match found {
            Some(between) => ahead.extend([(to, halved + 1), (between, halved + 1)]),
            None => all.push(to),
        }
    }
    (all, has_gap)
}

/// Whether residuals `r` between two points imply that the curve is not there. An equation that is much steeper than the
/// others has a large residual near the curve too, so the derivatives at both points are asked how far it is.
fn is_far(from: &CurvePoint, to: &CurvePoint, r: &[f64; 4]) -> bool {
    let across = [r[0], r[1], r[2], 0.0];
    linear::max_norm(&across) > OFF
        && [from, to].iter().any(|point| {
            let distance = linear::solve(point.jacobian, across);
            distance.is_none_or(|d| d.iter().any(|v| v.is_nan() || v.abs() > OFF))
        })
}

/// d ln α / ds at three neighbouring points, and the lengths between them.
pub(crate) fn slopes(points: &[&CurvePoint]) -> ([f64; 3], [f64; 2]) {
    let length = |i: usize| distance(points[i], points[i + 1]);
    ([0, 1, 2].map(|i| points[i].tangent[3]), [0, 1].map(length))
}

/// The same if q_d is held fixed. Then A goes through 0 while it is small against all else: the coordinate asinh(A/A_0)
/// takes many steps there, and nothing changes. Lengths are measured along A itself, in the unit that it has at the
/// largest of the three; otherwise ln α would seem to come to rest.
pub(crate) fn slopes_along_a(points: &[&CurvePoint]) -> ([f64; 3], [f64; 2]) {
    let largest = points.iter().map(|p| p.y[0].abs()).fold(0.0, f64::max);
    let unit = largest.cosh();
    let slope = |p: &CurvePoint| {
        let along_a = p.y[0].cosh() / unit * p.tangent[0];
        let others: f64 = p.tangent[1..].iter().map(|t| t * t).sum();
        p.tangent[3] / (along_a * along_a + others).sqrt().max(f64::MIN_POSITIVE)
    };
    let length = |i: usize| {
        let (a, b) = (points[i], points[i + 1]);
        let along_a = (b.y[0].sinh() - a.y[0].sinh()) / unit;
        let others = (1..4).map(|k| (b.y[k] - a.y[k]).powi(2)).sum::<f64>();
        (along_a * along_a + others).sqrt()
    };
    ([0, 1, 2].map(|i| slope(points[i])), [0, 1].map(length))
}

/// The smallest value of the parabola through the slopes at three points at these distances.
pub(crate) fn lowest([a, b]: [f64; 2], slopes: [f64; 3]) -> f64 {
    let (left, right) = ((slopes[1] - slopes[0]) / a, (slopes[2] - slopes[1]) / b);
    let bend = 2.0 * (right - left) / (a + b);
    let slope = (left * b + right * a) / (a + b);
    if bend > 0.0 { slopes[1] - 0.5 * slope * slope / bend } else { slopes[1] }
}
