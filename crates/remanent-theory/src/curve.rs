//! The curve of all solutions of one task as its α runs from 0 to ∞.
//!
//! With everything but α fixed, the solutions form a curve in the space of the
//! conjugates and ln α. It starts at α → 0, where there is one solution, and
//! may fold back on its way to α → ∞; the folds are the spinodals. Above a
//! certain β it never comes back: the poor branch then runs into the corner of
//! the cube (q_d → 1, q̂_0 → ∞) at a finite α, and the good branch is a strand
//! of its own that comes down from α → ∞. Tracing the strands once finds every
//! solution at every α that is connected to either limit, names its branch,
//! and provides starting points that need no luck.

use remanent_math::continuation::{Point, TraceEnd, Tracer, advance, settle};
use remanent_math::scalar;
use serde::{Deserialize, Serialize};

use crate::points::{hermite, summit};
use crate::resolution::Resolution;
use crate::strand::{Care, Extent, equations, strands};
pub use crate::strand::{CurvePoint, Fold, Strand, StrandEnd};
use crate::task::{Coordinates, Task};

/// Which part of the curve a solution lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Branch {
    /// The curve has no fold.
    Only,
    /// Connected to α → 0 without passing a fold.
    Poor,
    /// Between the first and the last fold: a saddle, unless there are more than two folds.
    Middle,
    /// Connected to α → ∞ without passing a fold.
    Good,
}

impl std::fmt::Display for Branch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Only => "only",
            Self::Poor => "poor",
            Self::Middle => "middle",
            Self::Good => "good",
        })
    }
}

/// A start for Newton's method at a given α, and the branch it lies on.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The branch.
    pub branch: Branch,
    /// Whether α falls along the curve here (read from α → 0): such a solution is a saddle.
    pub is_saddle: bool,
    /// Where to start.
    pub coordinates: Coordinates,
    /// The Jacobian there, by the first three coordinates.
    pub jacobian: [[f64; 3]; 3],
    /// The points of the curve between which it was interpolated.
    pub between: Option<(CurvePoint, CurvePoint)>,
}

/// The traced curve: one strand from α → 0, and a second one from α → ∞ if the
/// first does not lead there.
#[derive(Debug)]
pub struct Curve<'a> {
    task: Task<'a>,
    resolution: Resolution,
    strands: Vec<Strand>,
}

/// Solutions this near to a fold in ln α are started from the fold itself.
const NEAR_FOLD: f64 = 0.012;

impl<'a> Curve<'a> {
    /// Traces the curve from α → 0 to beyond `alpha`; results will be computed
    /// at `resolution`. `None` if not even a start can be found.
    pub fn trace(task: Task<'a>, alpha: f64, resolution: Resolution) -> Option<Self> {
        Self::trace_extent(task, alpha, Extent::Whole, resolution)
    }

    /// The same without the middle branch where it is a strand with the good one, and of the good
    /// branch only what lies above `low`.
    pub fn trace_ends(
        task: Task<'a>,
        low: f64,
        alpha: f64,
        resolution: Resolution,
    ) -> Option<Self> {
        Self::trace_extent(task, alpha, Extent::Ends { from: low.ln() }, resolution)
    }

    fn trace_extent(
        task: Task<'a>,
        alpha: f64,
        extent: Extent,
        resolution: Resolution,
    ) -> Option<Self> {
        let mut care = Care::first(&task);
        let mut strands = self::strands(&task, (alpha, alpha), extent, care, resolution);
        while let Some(more) = care.more()
            && strands.iter().any(|s| s.is_undecided(care))
        {
            care = more;
            strands = self::strands(&task, (alpha, alpha), extent, care, resolution);
        }
        (!strands.is_empty()).then_some(Self { task, resolution, strands })
    }

    /// The same from `low` or below, at full resolution with short steps, for drawing.
    pub fn trace_finely(
        task: Task<'a>,
        low: f64,
        alpha: f64,
        resolution: Resolution,
    ) -> Option<Self> {
        let strands = strands(&task, (low, alpha), Extent::Whole, Care::Drawn, resolution);
        (!strands.is_empty()).then_some(Self { task, resolution, strands })
    }

    /// Whether `alpha` is smaller than where the curve begins: far below the α that it was traced for.
    pub(crate) fn begins_above(&self, alpha: f64) -> bool {
        let first = self.strands.first().filter(|strand| !strand.from_above);
        first.is_some_and(|strand| strand.points[0].y[3] > alpha.ln())
    }

    /// The same trace, with results at another resolution.
    pub(crate) fn with_resolution(self, resolution: Resolution) -> Self {
        Self { resolution, ..self }
    }

    /// The task whose solutions these are.
    pub fn task(&self) -> &Task<'a> {
        &self.task
    }

    /// The connected pieces.
    pub fn strands(&self) -> &[Strand] {
        &self.strands
    }

    /// The branch of the part of a strand behind `passed` folds.
    pub fn branch(&self, strand: &Strand, passed: usize) -> Branch {
        let alone = self.strands.len() == 1 && strand.end == StrandEnd::Reached;
        match passed {
            0 if alone && strand.before_folds.is_empty() => Branch::Only,
            0 if strand.from_above => Branch::Good,
            0 => Branch::Poor,
            n if alone && n == strand.before_folds.len() && n % 2 == 0 => Branch::Good,
            _ => Branch::Middle,
        }
    }

    /// The branch behind `passed` folds, and whether it consists of saddles:
    /// every second part of a strand does.
    fn part(&self, strand: &Strand, passed: usize) -> (Branch, bool) {
        (self.branch(strand, passed), passed % 2 == 1)
    }

    fn equations(&self) -> impl FnMut(&[f64; 4]) -> Option<[f64; 4]> + '_ {
        equations(&self.task, self.resolution)
    }

    /// The `number`-th fold of a strand, located at full resolution.
    pub fn fold(&self, strand: &Strand, number: usize) -> Option<Fold> {
        let i = *strand.before_folds.get(number)?;
        *strand.folds[number]
            .get_or_init(|| self.locate_fold(&strand.points[i], &strand.points[i + 1]))
    }

    /// All folds, in the order of the strands.
    pub fn folds(&self) -> Vec<Fold> {
        let of = |s: &Strand| {
            (0..s.before_folds.len()).filter_map(|n| self.fold(s, n)).collect::<Vec<_>>()
        };
        self.strands.iter().flat_map(of).collect()
    }

    /// The α at which the poor branch runs into the corner, if it does: it
    /// ends there without a fold.
    pub fn corner_alpha(&self) -> Option<f64> {
        let strand = self.strands.iter().find(|s| s.end == StrandEnd::Corner && !s.from_above)?;
        let mut f = self.equations();
        let last = advance(&mut f, &strand.points[strand.points.len() - 1], 0.0, 1e-10)?;
        let before = advance(&mut f, &last, -3.0, 1e-10)?;
        // d ln α / d ln q̂_0 falls like a power of q̂_0: sum the rest of the way.
        let slope = |p: &CurvePoint| p.tangent[3] / p.tangent[1];
        let rate = (slope(&before) / slope(&last)).ln() / (last.y[1] - before.y[1]);
        Some((last.y[3] + slope(&last) / rate).exp())
    }

    /// The point of the curve a fraction `x` of the way from `a` to `b`, corrected
    /// at full resolution.
    pub fn between(&self, a: &CurvePoint, b: &CurvePoint, x: f64) -> Option<CurvePoint> {
        let near = if x < 0.5 { a } else { b };
        let guess = Point { y: hermite(a, b, x), ..*near };
        advance(&mut self.equations(), &guess, 0.0, 1e-11)
    }

    /// The same to the width of a line, with the tangent of the nearer of the two.
    pub(crate) fn roughly_between(
        &self,
        a: &CurvePoint,
        b: &CurvePoint,
        x: f64,
    ) -> Option<CurvePoint> {
        let near = if x < 0.5 { a } else { b };
        let y = if a.y == b.y { a.y } else { hermite(a, b, x) };
        settle(&mut self.equations(), &Point { y, ..*near }, 1e-6)
    }

    /// The point of a strand at a place: an index of traced points, with a fraction.
    pub(crate) fn at_place(&self, strand: &Strand, place: f64) -> Option<CurvePoint> {
        let i = strand.before_place(place);
        self.between(&strand.points[i], &strand.points[i + 1], place - i as f64)
    }

    /// The fold between two points: where the tangent has no component along ln α.
    fn locate_fold(&self, a: &CurvePoint, b: &CurvePoint) -> Option<Fold> {
        let guess = self.between(a, b, summit(a, b));
        guess.and_then(|p| self.fold_near(p)).or_else(|| {
            // A sharp fold is cornered first.
            let slope = |x: f64| self.between(a, b, x).map_or(f64::NAN, |p| p.tangent[3]);
            let x = scalar::root(slope, 0.0, 1.0, 1e-4)?;
            self.fold_near(self.between(a, b, x)?)
        })
    }

    /// A secant iteration along the curve.
    fn fold_near(&self, mut point: CurvePoint) -> Option<Fold> {
        let mut f = self.equations();
        let mut bend = {
            let ahead = advance(&mut f, &point, 0.01, 1e-10)?;
            (ahead.tangent[3] - point.tangent[3]) / 0.01
        };
        for _ in 0..20 {
            let along = (-point.tangent[3] / bend).clamp(-0.2, 0.2);
            let next = advance(&mut f, &point, along, 1e-12)?;
            if along.abs() > 1e-5 {
                bend = (next.tangent[3] - point.tangent[3]) / along;
            }
            point = next;
            if along.abs() < 1e-7 {
                return Some(Fold { point, bend });
            }
        }
        None
    }

    /// Starting points for all solutions at `alpha`, in the order of the
    /// strands. Between two folds α is monotone, so each part of a strand has
    /// one solution at most.
    pub fn starts(&self, alpha: f64) -> Vec<Start> {
        let of_strand = |strand: &Strand| {
            let parts = 0..=strand.fold_count();
            parts.filter_map(|k| self.start_in_part(strand, k, alpha.ln())).collect::<Vec<_>>()
        };
        self.strands.iter().flat_map(of_strand).collect()
    }

    /// The crossing of `target` in the part of a strand behind `passed` folds.
    fn start_in_part(&self, strand: &Strand, passed: usize, target: f64) -> Option<Start> {
        let part = self.part(strand, passed);
        let fold_before = passed.checked_sub(1).and_then(|n| self.fold_around(strand, n, target));
        let fold_after = (passed < strand.fold_count())
            .then(|| self.fold_around(strand, passed, target))
            .flatten();
        for (fold, side) in [(&fold_before, 1.0), (&fold_after, -1.0)] {
            if let Some(fold) = fold
                && (fold.point.y[3] - target).abs() < NEAR_FOLD
            {
                return self.start_at_fold(fold, side, target, part);
            }
        }
        // The traced points of this part, and the folds at its ends if they matter.
        let from = passed.checked_sub(1).map_or(0, |n| strand.before_folds[n] + 1);
        let to = strand.before_folds.get(passed).map_or(strand.points.len() - 1, |t| *t);
        let knots: Vec<&CurvePoint> = fold_before
            .iter()
            .map(|f| &f.point)
            .chain(&strand.points[from..=to])
            .chain(fold_after.iter().map(|f| &f.point))
            .collect();
        knots
            .windows(2)
            .find(|w| (w[0].y[3] - target) * (w[1].y[3] - target) <= 0.0)
            .map(|w| start_between(w[0], w[1], target, part))
    }

    /// A better start, where the curve is too steep for the first one: the way
    /// between its two points is gone again in short steps at full resolution.
    pub fn retraced(&self, start: &Start, alpha: f64) -> Option<Start> {
        let (from, _) = start.between?;
        let target = alpha.ln();
        let mut f = self.equations();
        let first = advance(&mut f, &from, 0.0, 1e-9)?;
        let tracer = Tracer {
            first_step: 0.03,
            max_step: 0.15,
            min_step: 1e-6,
            tolerance: 1e-9,
            fraction: f64::INFINITY,
            max_angle: 0.15,
            max_points: 300,
        };
        let mut crossed = |p: &CurvePoint| (p.y[3] - target) * (first.y[3] - target) <= 0.0;
        let (points, end) = tracer.trace(&mut f, first, &mut crossed);
        match (points.as_slice(), end) {
            ([.., a, b], TraceEnd::Stopped) => {
                Some(start_between(a, b, target, (start.branch, start.is_saddle)))
            }
            _ => None,
        }
    }

    /// The fold `number`, if `target` may lie within the step that contains it.
    fn fold_around(&self, strand: &Strand, number: usize, target: f64) -> Option<Fold> {
        let i = strand.before_folds[number];
        let (a, b) = (&strand.points[i], &strand.points[i + 1]);
        // Interpolated, with a margin for its error.
        let summit = hermite(a, b, summit(a, b))[3];
        let margin = NEAR_FOLD + 0.5 * (summit - a.y[3]).abs().max((summit - b.y[3]).abs());
        let (low, high) = [a.y[3], b.y[3], summit]
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        if target < low - margin || target > high + margin {
            return None;
        }
        self.fold(strand, number)
    }

    /// Near a fold ln α − ln α_f ≈ ½ bend · s²: two solutions on one side, none on
    /// the other. `side` says on which side of the fold along the strand.
    fn start_at_fold(
        &self,
        fold: &Fold,
        side: f64,
        target: f64,
        part: (Branch, bool),
    ) -> Option<Start> {
        let s2 = 2.0 * (target - fold.point.y[3]) / fold.bend;
        if s2 < 0.0 {
            return None;
        }
        let mut f = self.equations();
        let s = side * s2.sqrt();
        let p = advance(&mut f, &fold.point, s, 1e-9)?;
        // Newton along the curve, whose slope dlnα/ds is now known.
        let q = if p.tangent[3].abs() > 1e-6 {
            let along = (target - p.y[3]) / p.tangent[3];
            advance(&mut f, &p, along.clamp(-0.3 * s.abs(), 0.3 * s.abs()), 1e-9)?
        } else {
            p
        };
        Some(start(part, q.y, &q.jacobian))
    }
}

/// The crossing of `target` between two points of the curve.
fn start_between(a: &CurvePoint, b: &CurvePoint, target: f64, part: (Branch, bool)) -> Start {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        let y = hermite(a, b, middle);
        if (y[3] - target) * (a.y[3] - target) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let fraction = 0.5 * (low + high);
    let near = if fraction < 0.5 { a } else { b };
    Start { between: Some((*a, *b)), ..start(part, hermite(a, b, fraction), &near.jacobian) }
}

fn start(part: (Branch, bool), y: [f64; 4], jacobian: &[[f64; 4]; 4]) -> Start {
    Start {
        branch: part.0,
        is_saddle: part.1,
        coordinates: [y[0], y[1], y[2]],
        jacobian: std::array::from_fn(|i| std::array::from_fn(|j| jacobian[i][j])),
        between: None,
    }
}
