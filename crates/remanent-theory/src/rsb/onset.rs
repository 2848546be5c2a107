//! Where replica symmetry breaks: the first zero of the replicon on the branch that
//! is connected to α → 0.
//!
//! The replica-symmetric curve is followed coarsely from α → 0 until its replicon
//! λ = 1 − α E_T[L''²] ∫Dz (Var m)² is negative; then its three equations and λ = 0
//! are solved together for the three conjugates and α. If it is nowhere negative but
//! small, the curve is searched around its minimum.

use remanent_math::continuation::{Tracer, point_at};
use remanent_math::newton::{Newton, Outcome, Root};
use remanent_math::scalar;

use crate::branches::replicon_zeros;
use crate::curve::{Branch, Curve};
use crate::ends::start_of_poor;
use crate::overlaps::Conjugates;
use crate::resolution::Resolution;
use crate::strand::{CurvePoint, equations};
use crate::task::Task;

/// The largest α and the largest ln q_0_hat at which the zero is looked for.
const FARTHEST: f64 = 60.0;
const LARGEST_FIELDS: f64 = 19.0;

fn replicon(task: &Task, y: &[f64; 4], resolution: Resolution) -> Option<f64> {
    let turn = task.iterate(&task.conjugates(&[y[0], y[1], y[2]]), resolution)?;
    Some(1.0 - y[3].exp() * turn.energy.curvature2 * turn.site.variance2)
}

/// The smallest replicon along a curve from α → 0.
pub(super) struct Lowest<'a, 'b> {
    curve: &'b Curve<'a>,
    resolution: Resolution,
    /// The replicon at the traced points.
    values: Vec<f64>,
    /// The traced point with the smallest replicon.
    nearest: usize,
    /// Where it is smallest: an index of traced points, with a fraction.
    place: f64,
    /// The replicon there.
    pub(super) value: f64,
}

impl<'a, 'b> Lowest<'a, 'b> {
    pub(super) fn of(curve: &'b Curve<'a>, resolution: Resolution) -> Option<Self> {
        let points = &curve.strands().first()?.points;
        let value = |y: &[f64; 4]| replicon(curve.task(), y, resolution).unwrap_or(f64::INFINITY);
        let values: Vec<f64> = points.iter().map(|p| value(&p.y)).collect();
        let nearest =
            (1..points.len().saturating_sub(1)).min_by(|&i, &j| values[i].total_cmp(&values[j]))?;
        let (place, value) = (nearest as f64, values[nearest]);
        let mut lowest = Self { curve, resolution, values, nearest, place, value };
        let around = |x: f64| lowest.replicon(x).unwrap_or(f64::INFINITY);
        let found = scalar::minimum(around, place - 1.0, place + 1.0, 1e-5);
        // The traced point itself may be lower than the place that was found.
        if found.1 < value {
            (lowest.place, lowest.value) = found;
        }
        Some(lowest)
    }

    /// The coordinates at a place.
    fn at(&self, place: f64) -> Option<[f64; 4]> {
        Some(self.curve.at_place(self.curve.strands().first()?, place)?.y)
    }

    fn replicon(&self, place: f64) -> Option<f64> {
        replicon(self.curve.task(), &self.at(place)?, self.resolution)
    }

    /// α at the smallest replicon.
    pub(super) fn alpha(&self) -> Option<f64> {
        Some(self.at(self.place)?[3].exp())
    }

    /// The last zero before the place of the smallest replicon.
    fn zero_before(&self) -> Option<[f64; 4]> {
        self.zero_between((0..self.nearest).rev().find(|i| self.values[*i] > 0.0)?)
    }

    /// The first zero behind it.
    fn zero_behind(&self) -> Option<[f64; 4]> {
        let mut behind = self.nearest + 1..self.values.len();
        self.zero_between(behind.find(|i| self.values[*i] > 0.0)?)
    }

    /// The zero between a traced point with a positive replicon and the place of the smallest.
    fn zero_between(&self, end: usize) -> Option<[f64; 4]> {
        let value = |place: f64| self.replicon(place).unwrap_or(f64::NAN);
        let (a, b) = ((end as f64).min(self.place), (end as f64).max(self.place));
        let zero = (self.value < 0.0).then(|| scalar::root(value, a, b, 1e-8))??;
        self.at(zero)
    }
}

/// Where the gap closes again: the second zero of the replicon along the curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    /// The coordinates of the conjugates, and ln α.
    pub(super) y: [f64; 4],
    /// The replica-symmetric branch on which it lies.
    pub(super) branch: Branch,
}

pub(super) fn closing(curve: &Curve, resolution: Resolution) -> Option<Closing> {
    let (y, branch) = match replicon_zeros(curve, resolution).get(1) {
        Some(zero) => {
            let s = &zero.solution;
            let c =
                Conjugates { stiffness: s.q_0_hat - s.q_d_hat, q_0_hat: s.q_0_hat, r_hat: s.r_hat };
            let [a, b, c] = curve.task().coordinates(&c);
            ([a, b, c, zero.alpha.ln()], zero.branch)
        }
        // Two zeros closer together than the points of a trace.
        None => {
            let lowest = Lowest::of(curve, resolution)?;
            let strand = curve.strands().first()?;
            let branch = curve.branch(strand, strand.passed(lowest.nearest));
            (lowest.zero_behind()?, branch)
        }
    };
    let root = polished(curve.task(), y, resolution);
    Some(Closing { y: if root.outcome == Outcome::Converged { root.x } else { y }, branch })
}

/// Solves the equations and λ = 0 for the conjugates and α.
fn polished(task: &Task, start: [f64; 4], resolution: Resolution) -> Root<4> {
    let mut closed = |y: &[f64; 4]| {
        let turn = task.iterate(&task.conjugates(&[y[0], y[1], y[2]]), resolution)?;
        let r = task.residual_of(&[y[0], y[1], y[2]], y[3], &turn)?;
        let replicon = 1.0 - y[3].exp() * turn.energy.curvature2 * turn.site.variance2;
        Some([r[0], r[1], r[2], replicon])
    };
    Newton::default().solve(&mut closed, start, None)
}

/// The coordinates of the zero: those of the conjugates, and ln α. `curve`, the solutions in shorter steps, is
/// needed where the zero is not seen on the way.
pub(super) fn replicon_zero<'a, 'b>(
    task: &Task<'a>,
    resolution: Resolution,
    curve: impl FnOnce() -> Option<&'b Curve<'a>>,
) -> Option<Root<4>>
where
    'a: 'b,
{
    let coarse = Resolution::unchecked(resolution.factor().min(1.0) * 1.4 * 0.34);
    let start = start_of_poor(task, 1.0, coarse)?;
    let mut f = equations(task, coarse);
    let first = point_at(&mut f, start, &[0.0, 0.0, 0.0, 1.0], 1e-6)?;
    let tracer = Tracer {
        first_step: 0.7,
        max_step: 1.5,
        min_step: 1e-5,
        tolerance: 1e-4,
        fraction: f64::INFINITY,
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
    let (before, after) = (*values.get(last.checked_sub(1)?)?, values[last]);
    // A pair of zeros between two points is not seen.
    let between = if after < 0.0 {
        let share = before / (before - after);
        let (a, b) = (&points[last - 1].y, &points[last].y);
        std::array::from_fn(|k| a[k] + share * (b[k] - a[k]))
    } else {
        Lowest::of(curve()?, resolution)?.zero_before()?
    };
    let root = polished(task, between, resolution);
    (root.outcome == Outcome::Converged).then_some(root)
}
