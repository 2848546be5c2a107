//! A connected piece of the curve of solutions, and how it is traced.

use std::sync::OnceLock;

use remanent_math::continuation::{Point, TraceEnd, Tracer, advance, point_at};

use crate::ends::{start_of_good, start_of_poor};
use crate::resolution::Resolution;
use crate::task::{Coordinates, Iteration, Task};

/// Coordinates of a point of the curve: those of the conjugates, and ln α.
pub type CurvePoint = Point<4>;

/// A fold of the curve.
#[derive(Clone, Copy, Debug)]
pub struct Fold {
    /// The point where α is extremal.
    pub point: CurvePoint,
    /// d² ln α / ds² along the curve: negative where the poor branch ends.
    pub bend: f64,
}

impl Fold {
    /// α at the fold.
    pub fn alpha(&self) -> f64 {
        self.point.y[3].exp()
    }
}

/// Where a strand ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandEnd {
    /// At the largest (or smallest) α of the trace.
    Reached,
    /// A strand from α → 0, behind a fold, at the smallest α of the trace: the middle branch goes on to
    /// smaller α, where it joins the good one.
    Below,
    /// In the corner of the cube: q_d → 1 at a finite α.
    Corner,
    /// Where the equations could not be followed farther.
    Lost,
}

/// A connected piece of the curve.
#[derive(Debug)]
pub struct Strand {
    /// The traced points: from small α on, or from large α down.
    pub points: Vec<CurvePoint>,
    /// Whether it was traced from α → ∞.
    pub from_above: bool,
    /// How it ends.
    pub end: StrandEnd,
    /// Indices i such that a fold lies between points i and i + 1.
    pub(crate) before_folds: Vec<usize>,
    /// ln of the fields from which slopes are too small to be told from noise, and more.
    corner_fields: f64,
    /// Whether q_d is held fixed.
    is_held: bool,
    pub(crate) folds: Vec<OnceLock<Option<Fold>>>,
}

/// α is traced up to this value, or twice the largest one asked for.
const FARTHEST_ALPHA: f64 = 60.0;
/// Where ln α moves less than this per unit of length, folds are to be expected.
const SLOW: f64 = 0.03;
/// A strand whose ln α moves less than this per unit of length, at fields of
/// more than `CORNER_FIELDS`, is on its way into the corner.
const CORNER_SLOPE: f64 = 3e-4;
const CORNER_FIELDS: f64 = 1e8;

/// ln of the fields from which a strand may be on its way into the corner. With a
/// prescribed q_⋆ there is no corner, only fields of the order of 1/(1 − q_⋆)².
fn corner_fields(task: &Task) -> f64 {
    CORNER_FIELDS.ln() - 2.0 * task.one_minus_q_star.map_or(0.0, f64::ln)
}

/// The fraction of the nodes wanted that is enough to find one's way along a curve.
const COARSE: f64 = 0.34;

/// How much of the curve is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Extent {
    /// All branches.
    Whole,
    /// The poor and the good branch for ln α from this value on. Most of the work on the good branch's
    /// own strand is behind its fold, where the middle branch runs into the corner.
    Ends {
        /// ln of the smallest α.
        from: f64,
    },
}

/// How far in ln α a strand is traced beyond the smallest α wanted: farther than a fold matters to
/// the solutions near it.
const BEYOND: f64 = 0.1;

impl Extent {
    /// Whether a strand that comes down from α → ∞ has passed all that is wanted of it.
    fn is_passed_from_above(self, p: &CurvePoint) -> bool {
        match self {
            Self::Whole => false,
            Self::Ends { from } => p.y[3] < from - BEYOND || p.tangent[3] > SLOW,
        }
    }
}

/// How a curve is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Coarse quadrature, long steps: to find one's way.
    Quick,
    /// Less coarse quadrature: where the first was not smooth enough to follow.
    Better,
    /// Quadrature good to 1e-9, long and rough steps: where coarse quadrature is never smooth enough.
    Smooth,
    /// Quadrature good to 1e-9, long steps: where the others cannot tell.
    Exact,
    /// Full quadrature, short steps: for drawing.
    Drawn,
}

impl Care {
    fn resolution(self, wanted: Resolution) -> Resolution {
        let most = wanted.factor().min(1.0);
        Resolution::unchecked(match self {
            Self::Quick => most * COARSE,
            Self::Better => most * 1.7 * COARSE,
            Self::Smooth | Self::Exact => most * 0.75,
            Self::Drawn => return wanted,
        })
    }

    /// How a curve is traced at first.
    pub(crate) fn first(task: &Task) -> Self {
        // Near the corners of the cube coarse quadrature is not smooth enough to follow, nor where a strong entropy
        // leaves little to the stiffness that holds q_d fixed.
        let is_delicate = |kappa: f64| kappa < 1e-2 || task.coupling > 1e4;
        if task.one_minus_q_star.is_some_and(is_delicate) { Self::Smooth } else { Self::Quick }
    }

    /// How a trace that leaves something open is repeated.
    pub(crate) fn more(self) -> Option<Self> {
        match self {
            Self::Quick => Some(Self::Better),
            Self::Better | Self::Smooth => Some(Self::Exact),
            Self::Exact | Self::Drawn => None,
        }
    }

    /// Where the curve rises less steeply than this without a fold, or falls
    /// back by less, such a trace cannot tell whether there are folds.
    fn undecided(self) -> f64 {
        match self {
            Self::Quick => 0.004,
            Self::Better => 3e-4,
            Self::Smooth | Self::Exact | Self::Drawn => 1e-6,
        }
    }

    fn tracer(self) -> Tracer {
        let drawn = self == Self::Drawn;
        Tracer {
            first_step: 0.7,
            max_step: if drawn { 0.5 } else { 3.0 },
            min_step: 1e-5,
            fraction: 3e-4,
            tolerance: match self {
                Self::Quick | Self::Better | Self::Smooth => 1e-4,
                Self::Exact => 1e-7,
                Self::Drawn => 1e-10,
            },
            max_angle: match self {
                Self::Quick | Self::Smooth => 0.5,
                Self::Better | Self::Exact => 0.3,
                Self::Drawn => 0.15,
            },
            max_points: 2000,
        }
    }
}

impl Strand {
    /// Traces the strand from `start`. `of_two`: whether there is another one, from α → 0.
    fn trace(
        task: &Task,
        start: [f64; 4],
        farthest: f64,
        extent: Extent,
        care: Care,
        wanted: Resolution,
        of_two: bool,
    ) -> Option<Self> {
        let resolution = care.resolution(wanted);
        let from_above = start[3] > 0.5 * farthest;
        let mut f = equations(task, resolution);
        let towards = [0.0, 0.0, 0.0, if from_above { -1.0 } else { 1.0 }];
        let first = point_at(&mut f, start, &towards, 1e-6)?;
        let lowest = start[3].min(-6.0);
        let corner_fields = corner_fields(task);
        let outside_corner = |p: &CurvePoint| p.y[1] < corner_fields - 6.0;
        let (mut corner, mut cut) = (false, false);
        let mut done = |p: &CurvePoint| {
            cut = from_above && extent.is_passed_from_above(p);
            // A picture need not go so far into the corner.
            let (fields, slope) = match care {
                Care::Drawn => (corner_fields - 100_f64.ln(), 10.0 * CORNER_SLOPE),
                _ => (corner_fields, CORNER_SLOPE),
            };
            corner = p.y[1] > fields && p.tangent[3].abs() < slope;
            corner || cut || p.y[3] > farthest || p.y[3] < lowest
        };
        let (mut points, end) = care.tracer().trace(&mut f, first, &mut done);
        // Where α hardly moves, whether it rises or falls is worth a Jacobian.
        for p in &mut points {
            if p.tangent[3].abs() < SLOW && outside_corner(p) {
                let exact = (care == Care::Smooth).then(|| advance(&mut f, p, 0.0, 1e-7)).flatten();
                let near = || point_at(&mut f, p.y, &p.tangent, 1e-6);
                *p = exact.or_else(near).unwrap_or(*p);
            }
        }
        let y = points[points.len() - 1].y;
        let returned = if from_above { y[3] > farthest } else { y[3] < lowest };
        // A strand that comes back to where it began, where q̂_0 is proportional to α, was turned round by
        // too long a step. Elsewhere it is another branch.
        let elsewhere = ((y[1] - start[1]) - (y[3] - start[3])).abs() > 1.0;
        let end = match end {
            _ if corner => StrandEnd::Corner,
            TraceEnd::Stopped if !returned => StrandEnd::Reached,
            TraceEnd::Stopped if !from_above && elsewhere => StrandEnd::Below,
            _ => StrandEnd::Lost,
        };
        // A strand that comes down to where the other should have begun stands for it.
        let whole = from_above && !of_two && end == StrandEnd::Reached && !cut && y[3] < 0.0;
        if whole {
            points.reverse();
            points.iter_mut().for_each(|p| p.tangent = p.tangent.map(|v| -v));
        }
        let from_above = from_above && !whole;
        let rises = |p: &CurvePoint| p.tangent[3] > 0.0;
        let before_folds: Vec<usize> =
            (0..points.len() - 1).filter(|&i| rises(&points[i]) != rises(&points[i + 1])).collect();
        let folds = before_folds.iter().map(|_| OnceLock::new()).collect();
        let is_held = task.one_minus_q_star.is_some();
        Some(Self { points, from_above, end, before_folds, folds, corner_fields, is_held })
    }

    /// Whether a trace with this care leaves open how many folds there are.
    pub(crate) fn is_undecided(&self, care: Care) -> bool {
        let limit = care.undecided();
        let outside_corner = |p: &CurvePoint| p.y[1] < self.corner_fields - 6.0;
        let outside: Vec<&CurvePoint> = self.points.iter().filter(|p| outside_corner(p)).collect();
        let nearly_folds = outside.windows(3).any(|w| {
            let (slopes, lengths) = if self.is_held { slopes_along_a(w) } else { slopes(w) };
            slopes[1] <= slopes[0]
                && slopes[1] <= slopes[2]
                && slopes[0].min(slopes[2]) > 0.0
                && lowest(lengths, slopes) < limit
        });
        let barely_folds = self
            .before_folds
            .windows(2)
            .any(|pair| (self.rough_fold(pair[0]) - self.rough_fold(pair[1])).abs() < limit);
        // A chord much flatter than the tangents at both of its ends hides a pair of folds.
        let hides_a_pair = self.points.windows(2).any(|w| {
            let (a, b) = (&w[0], &w[1]);
            let length = (0..4).map(|k| (b.y[k] - a.y[k]).powi(2)).sum::<f64>().sqrt();
            let slope = (b.y[3] - a.y[3]) / length;
            let (low, high) = (a.tangent[3].min(b.tangent[3]), a.tangent[3].max(b.tangent[3]));
            outside_corner(b)
                && ((low > 0.0 && slope < 0.3 * low) || (high < 0.0 && slope > 0.3 * high))
        });
        nearly_folds || barely_folds || hides_a_pair || self.end == StrandEnd::Lost
    }

    /// ln α of the fold after point i, within the trace's step.
    fn rough_fold(&self, i: usize) -> f64 {
        let (a, b) = (&self.points[i], &self.points[i + 1]);
        let extreme = if a.tangent[3] > 0.0 { f64::max } else { f64::min };
        extreme(a.y[3], b.y[3])
    }

    /// Number of folds.
    pub fn fold_count(&self) -> usize {
        self.before_folds.len()
    }

    /// How many folds lie before the traced point `index`.
    pub fn passed(&self, index: usize) -> usize {
        self.before_folds.iter().filter(|&&i| index > i).count()
    }
}

/// d ln α / ds at three neighbouring points, and the lengths between them.
fn slopes(points: &[&CurvePoint]) -> ([f64; 3], [f64; 2]) {
    let length = |i: usize| {
        (0..4).map(|k| (points[i + 1].y[k] - points[i].y[k]).powi(2)).sum::<f64>().sqrt()
    };
    ([0, 1, 2].map(|i| points[i].tangent[3]), [0, 1].map(length))
}

/// The same if q_d is held fixed. Then A goes through 0 while it is small against all else: the coordinate asinh(A/A_0)
/// takes many steps there, and nothing changes. Lengths are measured along A itself, in the unit that it has at the
/// largest of the three; otherwise ln α would seem to come to rest.
fn slopes_along_a(points: &[&CurvePoint]) -> ([f64; 3], [f64; 2]) {
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
fn lowest([a, b]: [f64; 2], slopes: [f64; 3]) -> f64 {
    let (left, right) = ((slopes[1] - slopes[0]) / a, (slopes[2] - slopes[1]) / b);
    let bend = 2.0 * (right - left) / (a + b);
    let slope = (left * b + right * a) / (a + b);
    if bend > 0.0 { slopes[1] - 0.5 * slope * slope / bend } else { slopes[1] }
}

/// The strand from α → 0, and the one from α → ∞ if the first does not lead there.
pub(crate) fn strands(
    task: &Task,
    alpha: f64,
    extent: Extent,
    care: Care,
    wanted: Resolution,
) -> Vec<Strand> {
    let farthest = FARTHEST_ALPHA.max(2.0 * alpha).ln();
    let resolution = care.resolution(wanted);
    let upward = start_of_poor(task, alpha, resolution)
        .and_then(|y| Strand::trace(task, y, farthest, Extent::Whole, care, wanted, false));
    let end = upward.as_ref().map(|s| s.end);
    // A strand that was lost is traced again with more care, and only then the other one.
    let is_repeated = end == Some(StrandEnd::Lost) && care.more().is_some();
    let downward = if end == Some(StrandEnd::Reached) || is_repeated {
        None
    } else {
        // A strand that may have to stand for the other is traced to its end.
        let extent = if end == Some(StrandEnd::Corner) { extent } else { Extent::Whole };
        let of_two = end == Some(StrandEnd::Below);
        start_of_good(task, farthest, resolution)
            .and_then(|y| Strand::trace(task, y, farthest, extent, care, wanted, of_two))
    };
    upward.into_iter().chain(downward).collect()
}

/// The equations of the curve, for the tracer. The last iterations are remembered: a point that is looked at again, and
/// the derivative by ln α, on which iterations do not depend, cost nothing.
pub(crate) fn equations<'t>(
    task: &'t Task,
    resolution: Resolution,
) -> impl FnMut(&[f64; 4]) -> Option<[f64; 4]> + 't {
    let mut known: [Option<(Coordinates, Option<Iteration>)>; REMEMBERED] = [None; REMEMBERED];
    let mut oldest = 0;
    move |y: &[f64; 4]| {
        let x = [y[0], y[1], y[2]];
        let again =
            known.iter().flatten().find(|(at, _)| *at == x).map(|(_, iteration)| *iteration);
        let iteration = again.unwrap_or_else(|| {
            let iteration = task.iterate(&task.conjugates(&x), resolution);
            known[oldest] = Some((x, iteration));
            oldest = (oldest + 1) % REMEMBERED;
            iteration
        });
        let r = task.residual_of(&x, y[3], &iteration?)?;
        Some([r[0], r[1], r[2], 0.0])
    }
}

/// How many iterations are remembered: those of a Jacobian, and the one before.
const REMEMBERED: usize = 5;
