//! Where replica symmetry breaks: the first zero of the replicon on the branch that
//! is connected to α → 0.
//!
//! The replica-symmetric curve is followed coarsely from α → 0 until its replicon
//! λ = 1 − α E_T[L''²] ∫Dz (Var m)² is negative; then its three equations and λ = 0
//! are solved together for the three conjugates and α. If it is nowhere negative but
//! small, the curve is searched around its minimum.

use remanent_math::continuation::{Tracer, advance, point_at};
use remanent_math::linear::{axpy, max_norm};
use remanent_math::newton::{Newton, Outcome, Root};
use remanent_math::scalar;

use crate::ends::start_of_poor;
use crate::resolution::Resolution;
use crate::strand::{CurvePoint, equations};
use crate::task::{Task, from_coordinates};

/// The largest α and the largest ln q_0_hat at which the zero is looked for.
const FARTHEST: f64 = 60.0;
const LARGEST_FIELDS: f64 = 19.0;
/// Where the smallest replicon of the coarse curve is below this, it is looked at closely.
const NEARLY: f64 = 0.3;

fn replicon(task: &Task, y: &[f64; 4], resolution: Resolution) -> Option<f64> {
    let turn = task.iterate(&from_coordinates(&[y[0], y[1], y[2]]), resolution)?;
    Some(1.0 - y[3].exp() * turn.energy.curvature2 * turn.site.variance2)
}

/// The coordinates of the zero: those of the conjugates, and ln α.
pub(super) fn replicon_zero(task: &Task, resolution: Resolution) -> Option<Root<4>> {
    let coarse = Resolution::unchecked(resolution.factor().min(1.0) * 1.4 * 0.34);
    let start = start_of_poor(task, 1.0, coarse)?;
    let mut f = |y: &[f64; 4]| equations(task, y, coarse);
    let first = point_at(&mut f, start, &[0.0, 0.0, 0.0, 1.0], 1e-6)?;
    let tracer = Tracer {
        first_step: 0.7,
        max_step: 1.5,
        min_step: 1e-5,
        tolerance: 1e-4,
        max_angle: 0.4,
        max_points: 300,
    };
    let mut values = vec![replicon(task, &first.y, coarse)?];
    let mut stop = |p: &CurvePoint| {
        let value = replicon(task, &p.y, coarse).unwrap_or(f64::NAN);
        values.push(value);
        let beyond = p.y[3] > FARTHEST.ln() || p.y[1] > LARGEST_FIELDS;
        value.is_nan() || value < 0.0 || beyond
    };
    let (points, _) = tracer.trace(&mut f, first, &mut stop);
    let last = points.len() - 1;
    let between: [f64; 4] = if values[last] < 0.0 {
        let (before, after) = (*values.get(last.checked_sub(1)?)?, values[last]);
        let share = before / (before - after);
        let (a, b) = (&points[last - 1].y, &points[last].y);
        std::array::from_fn(|k| a[k] + share * (b[k] - a[k]))
    } else {
        // Two zeros may lie close together, between two points.
        let i = (1..last).min_by(|i, j| values[*i].total_cmp(&values[*j]))?;
        if values[i].is_nan() || values[i] > NEARLY {
            return None;
        }
        let span = |k: usize| max_norm(&axpy(&points[k].y, -1.0, &points[k - 1].y));
        let mut at = |s: f64| {
            let point = advance(&mut f, &points[i], s, 1e-6)?;
            Some((point.y, replicon(task, &point.y, coarse)?))
        };
        let mut value = |s: f64| at(s).map_or(f64::INFINITY, |(_, value)| value);
        let first = -2.0 * span(i);
        let (lowest, low) = scalar::minimum(&mut value, first, 2.0 * span(i + 1), 1e-4);
        if low > 0.0 {
            return None;
        }
        let zero = scalar::root(value, first, lowest, 1e-4)?;
        at(zero)?.0
    };
    let mut closed = |y: &[f64; 4]| {
        let turn = task.iterate(&from_coordinates(&[y[0], y[1], y[2]]), resolution)?;
        let r = task.residual_of(&[y[0], y[1], y[2]], y[3], &turn)?;
        let replicon = 1.0 - y[3].exp() * turn.energy.curvature2 * turn.site.variance2;
        Some([r[0], r[1], r[2], replicon])
    };
    let root = Newton::default().solve(&mut closed, between, None);
    (root.outcome == Outcome::Converged).then_some(root)
}
