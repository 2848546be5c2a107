//! A connected piece of the curve of solutions, and how it is traced.

use std::sync::OnceLock;

use remanent_math::continuation::{Point, TraceEnd, Tracer, advance, point_at};

use crate::ends::{start_of_another, start_of_good, start_of_poor};
pub use crate::points::CurvePoint;
use crate::points::{distance, hermite, lowest, slopes, slopes_along_a, without_detours};
use crate::resolution::Resolution;
use crate::task::{Coordinates, Iteration, Task};

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
    /// A strand from α → ∞, behind a fold, at the largest α of the trace: the middle branch goes on to larger α,
    /// where it joins the poor one.
    Above,
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
    /// Whether the curve was not found between some of the points.
    has_gap: bool,
    pub(crate) folds: Vec<OnceLock<Option<Fold>>>,
}

/// α is traced up to this value, or twice the largest one asked for.
const FARTHEST_ALPHA: f64 = 60.0;
/// Where ln α moves less than this per unit of length, folds are to be expected.
const SLOW: f64 = 0.03;
/// The same where tangents are rough.
const RATHER_SLOW: f64 = 0.2;
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

/// How often points are added where a trace leaves open how many folds there are.
const CLOSER: usize = 4;
/// Changes of ln q̂_0, ln r̂ and ln α that are too small to hold a pair of folds that matters.
const STILL: f64 = 1e-5;
/// Where more chords than these are open, the trace is too rough for that.
const MANY: usize = 8;

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
            Self::Smooth => most * 0.5,
            Self::Exact => most * 0.75,
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
            max_step: if drawn { 0.5 } else { 1.5 },
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
        let mut has_gap = false;
        if care != Care::Drawn {
            (points, has_gap) = without_detours(&mut f, &points, &outside_corner);
        }
        // Where α hardly moves, whether it rises or falls is worth a Jacobian.
        let is_flat = flat_points(&points, care);
        for (p, _) in points.iter_mut().zip(is_flat).filter(|(_, is_flat)| *is_flat) {
            if outside_corner(p) {
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
            TraceEnd::Stopped if of_two && elsewhere => StrandEnd::Above,
            _ => StrandEnd::Lost,
        };
        // A strand that comes down to where the other should have begun stands for it.
        let whole = from_above && !of_two && end == StrandEnd::Reached && !cut && y[3] < 0.0;
        if whole {
            points.reverse();
            points.iter_mut().for_each(|p| p.tangent = p.tangent.map(|v| -v));
        }
        let from_above = from_above && !whole;
        let is_held = task.one_minus_q_star.is_some();
        let (before_folds, folds) = (vec![], vec![]);
        let mut strand =
            Self { points, from_above, end, before_folds, folds, corner_fields, is_held, has_gap };
        strand.count_folds();
        if care == Care::Smooth {
            strand.look_closer(task, care, wanted);
        }
        Some(strand)
    }

    fn count_folds(&mut self) {
        let rises = |p: &CurvePoint| p.tangent[3] > 0.0;
        let turns = |i: &usize| rises(&self.points[*i]) != rises(&self.points[i + 1]);
        self.before_folds = (0..self.points.len() - 1).filter(turns).collect();
        self.folds = self.before_folds.iter().map(|_| OnceLock::new()).collect();
    }

    /// Adds points with exact tangents where the trace leaves open how many folds there are. That is much less work than
    /// to trace the whole strand again.
    fn look_closer(&mut self, task: &Task, care: Care, wanted: Resolution) {
        let mut f = equations(task, Care::Exact.resolution(wanted));
        for _ in 0..CLOSER {
            let open = self.open_chords(care.undecided());
            if open.is_empty() || open.len() > MANY {
                break;
            }
            for &i in open.iter().rev() {
                let (a, b) = (&self.points[i], &self.points[i + 1]);
                let guess = Point { y: hermite(a, b, 0.5), ..*a };
                let Some(between) = advance(&mut f, &guess, 0.0, 1e-7) else { continue };
                let ends = [a, b].map(|p| advance(&mut f, p, 0.0, 1e-7).unwrap_or(*p));
                [self.points[i], self.points[i + 1]] = ends;
                self.points.insert(i + 1, between);
            }
            self.count_folds();
        }
    }

    /// Whether a trace with this care leaves open how many folds there are.
    pub(crate) fn is_undecided(&self, care: Care) -> bool {
        let limit = care.undecided();
        let barely_folds = self
            .before_folds
            .windows(2)
            .any(|pair| (self.rough_fold(pair[0]) - self.rough_fold(pair[1])).abs() < limit);
        // What comes from one end of α and reaches the other turns twice, or not at all.
        let turns_once = self.end == StrandEnd::Reached && self.fold_count() % 2 == 1;
        barely_folds
            || turns_once
            || self.has_gap
            || self.end == StrandEnd::Lost
            || !self.open_chords(limit).is_empty()
    }

    /// The chords that may hide a pair of folds, each by the index of its first point, in rising order.
    fn open_chords(&self, limit: f64) -> Vec<usize> {
        let is_outside_corner = |i: usize| self.points[i].y[1] < self.corner_fields - 6.0;
        let outside: Vec<usize> =
            (0..self.points.len()).filter(|i| is_outside_corner(*i)).collect();
        let nearly_folds = |w: &&[usize]| {
            let points = [w[0], w[1], w[2]].map(|i| &self.points[i]);
            let (slopes, lengths) =
                if self.is_held { slopes_along_a(&points) } else { slopes(&points) };
            slopes[1] <= slopes[0]
                && slopes[1] <= slopes[2]
                && slopes[0].min(slopes[2]) > 0.0
                && lowest(lengths, slopes) < limit
        };
        // A chord much flatter than the tangents at both of its ends hides a pair of folds.
        let hides_a_pair = |i: &usize| {
            let (a, b) = (&self.points[*i], &self.points[i + 1]);
            let slope = (b.y[3] - a.y[3]) / distance(a, b);
            let (low, high) = (a.tangent[3].min(b.tangent[3]), a.tangent[3].max(b.tangent[3]));
            is_outside_corner(i + 1)
                && ((low > 0.0 && slope < 0.3 * low) || (high < 0.0 && slope > 0.3 * high))
        };
        let around = outside.windows(3).filter(nearly_folds).flat_map(|w| [w[1] - 1, w[1]]);
        let hiding = (0..self.points.len() - 1).filter(hides_a_pair);
        let mut open: Vec<usize> = around.chain(hiding).filter(|i| !self.is_still(*i)).collect();
        open.sort_unstable();
        open.dedup();
        open
    }

    /// Whether nothing changes between point i and the next: if q_d is held fixed, A goes through 0 while it is small against
    /// all else, and takes several steps for that.
    fn is_still(&self, i: usize) -> bool {
        let (a, b) = (&self.points[i].y, &self.points[i + 1].y);
        self.is_held && (1..4).all(|k| (b[k] - a[k]).abs() < STILL)
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

    /// The traced point before a place: an index with a fraction.
    pub(crate) fn before_place(&self, place: f64) -> usize {
        (place as usize).min(self.points.len() - 2)
    }

    /// How many folds lie before the traced point `index`.
    pub fn passed(&self, index: usize) -> usize {
        self.before_folds.iter().filter(|&&i| index > i).count()
    }
}

/// Whether α hardly moves at each point. Tangents of a rough trace are averages over long steps: where they are flatter than
/// before and after, the curve itself may be much flatter, at this point or at a neighbour.
fn flat_points(points: &[CurvePoint], care: Care) -> Vec<bool> {
    let slope = |i: usize| points[i].tangent[3].abs();
    let mut flat: Vec<bool> = (0..points.len()).map(|i| slope(i) < SLOW).collect();
    if care != Care::Drawn {
        for i in 1..points.len().max(1) - 1 {
            if slope(i) < RATHER_SLOW && slope(i) <= slope(i - 1).min(slope(i + 1)) {
                flat[i - 1..=i + 1].fill(true);
            }
        }
    }
    flat
}

/// The strand from α → 0, which begins below `low`, and the one from α → ∞ if the first does not lead there, or not
/// within the trace.
pub(crate) fn strands(
    task: &Task,
    (low, alpha): (f64, f64),
    extent: Extent,
    care: Care,
    wanted: Resolution,
) -> Vec<Strand> {
    let farthest = FARTHEST_ALPHA.max(2.0 * alpha).ln();
    let resolution = care.resolution(wanted);
    let upward = start_of_poor(task, low, resolution)
        .and_then(|y| Strand::trace(task, y, farthest, Extent::Whole, care, wanted, false));
    let end = upward.as_ref().map(|s| s.end);
    // A strand that was lost is traced again with more care, and only then the other one.
    let is_repeated = end == Some(StrandEnd::Lost) && care.more().is_some();
    let downward = if is_repeated {
        None
    } else if let Some(strand) = upward.as_ref().filter(|s| s.end == StrandEnd::Reached) {
        // A strand may come so far without a fold, and another one from α → ∞ lie above it.
        let last = &strand.points[strand.points.len() - 1].y;
        start_of_another(task, last, farthest, resolution)
            .and_then(|y| Strand::trace(task, y, farthest, Extent::Whole, care, wanted, true))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closer_look_decides_where_nothing_but_the_stiffness_changes() {
        for (beta, kappa) in [(1e3, 1e-9), (354.0, 1e-9), (60.0, 1e-6), (5.0, 1e-4), (1.0, 1e-3)] {
            let task = Task { one_minus_q_star: Some(kappa), ..Task::new(beta).unwrap() };
            let trace =
                |care| strands(&task, (250.0, 250.0), Extent::Whole, care, Resolution::STANDARD);
            let count = |strands: &[Strand]| strands.iter().map(Strand::fold_count).sum::<usize>();
            let (smooth, exact) = (trace(Care::Smooth), trace(Care::Exact));
            assert!(!smooth.iter().any(|s| s.is_undecided(Care::Smooth)), "beta {beta}");
            assert_eq!(count(&smooth), count(&exact), "beta {beta}, 1 - q_star {kappa}");
        }
    }
}
