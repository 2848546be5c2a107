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

use std::sync::OnceLock;

use remanent_math::continuation::{Point, TraceEnd, Tracer, advance, point_at};
use remanent_math::scalar;

use crate::energy::energy;
use crate::fields::site_averages;
use crate::overlaps::{Conjugates, Overlaps, Resolution};
use crate::task::{Coordinates, Task, from_coordinates, to_coordinates};

/// Coordinates of a point of the curve: those of the conjugates, and ln α.
pub type CurvePoint = Point<4>;

/// Which part of the curve a solution lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
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
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StrandEnd {
    /// At the largest (or smallest) α of the trace.
    Reached,
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
    turns: Vec<usize>,
    folds: Vec<OnceLock<Option<Fold>>>,
}

/// The traced curve: one strand from α → 0, and a second one from α → ∞ if the
/// first does not lead there.
#[derive(Debug)]
pub struct Curve<'a> {
    task: Task<'a>,
    resolution: Resolution,
    strands: Vec<Strand>,
}

/// α is traced up to this value, or twice the largest one asked for.
const FARTHEST_ALPHA: f64 = 60.0;
/// Solutions this near to a fold in ln α are started from the fold itself.
const NEAR_FOLD: f64 = 0.012;
/// Where the curve rises less steeply than this without turning, or turns
/// back by less, a coarse trace cannot tell whether there are folds.
const UNDECIDED: f64 = 0.004;
/// Where ln α moves less than this per unit of length, folds are to be expected.
const SLOW: f64 = 0.08;
/// A strand whose ln α moves less than this per unit of length, at fields of
/// more than `CORNER_FIELDS`, is on its way into the corner.
const CORNER_SLOPE: f64 = 3e-4;
const CORNER_FIELDS: f64 = 1e8;

/// How a curve is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Care {
    /// Coarse quadrature, long steps: to find one's way.
    Quick,
    /// Less coarse quadrature: where the first was not smooth enough to follow.
    Better,
    /// Full quadrature, long steps: where coarse quadrature cannot tell.
    Exact,
    /// Full quadrature, short steps: for drawing.
    Drawn,
}

impl Care {
    fn resolution(self, wanted: Resolution) -> Resolution {
        match self {
            Self::Quick => Resolution(wanted.0.min(1.0) * Resolution::COARSE.0),
            Self::Better => Resolution(wanted.0.min(1.0) * 1.7 * Resolution::COARSE.0),
            Self::Exact | Self::Drawn => wanted,
        }
    }

    fn tracer(self) -> Tracer {
        let drawn = self == Self::Drawn;
        Tracer {
            first_step: 0.7,
            max_step: if drawn { 0.5 } else { 3.0 },
            min_step: 1e-5,
            tolerance: match self {
                Self::Quick | Self::Better => 1e-4,
                Self::Exact => 1e-7,
                Self::Drawn => 1e-11,
            },
            max_turn: match self {
                Self::Quick => 0.5,
                Self::Better | Self::Exact => 0.3,
                Self::Drawn => 0.15,
            },
            max_points: 2000,
        }
    }
}

impl Strand {
    fn trace(
        task: &Task,
        start: [f64; 4],
        farthest: f64,
        care: Care,
        wanted: Resolution,
    ) -> Option<Self> {
        let resolution = care.resolution(wanted);
        let from_above = start[3] > 0.5 * farthest;
        let mut f = |y: &[f64; 4]| equations(task, y, resolution);
        let towards = [0.0, 0.0, 0.0, if from_above { -1.0 } else { 1.0 }];
        let first = point_at(&mut f, start, &towards, 1e-6)?;
        let lowest = start[3].min(-6.0);
        let mut corner = false;
        let mut done = |p: &CurvePoint| {
            corner = p.y[1] > CORNER_FIELDS.ln() && p.tangent[3].abs() < CORNER_SLOPE;
            corner || p.y[3] > farthest || p.y[3] < lowest
        };
        let (mut points, end) = care.tracer().trace(&mut f, first, &mut done);
        // Where α hardly moves, whether it rises or falls is worth a Jacobian.
        for p in &mut points {
            if p.tangent[3].abs() < SLOW && p.y[1] < CORNER_FIELDS.ln() - 6.0 {
                *p = point_at(&mut f, p.y, &p.tangent, 1e-6).unwrap_or(*p);
            }
        }
        let end = match end {
            _ if corner => StrandEnd::Corner,
            TraceEnd::Stopped => StrandEnd::Reached,
            _ => StrandEnd::Lost,
        };
        // A strand that comes down to where the other should have begun stands for it.
        let whole = from_above && end == StrandEnd::Reached && points[points.len() - 1].y[3] < 0.0;
        if whole {
            points.reverse();
            points.iter_mut().for_each(|p| p.tangent = p.tangent.map(|v| -v));
        }
        let from_above = from_above && !whole;
        let rises = |p: &CurvePoint| p.tangent[3] > 0.0;
        let turns: Vec<usize> =
            (0..points.len() - 1).filter(|&i| rises(&points[i]) != rises(&points[i + 1])).collect();
        let folds = turns.iter().map(|_| OnceLock::new()).collect();
        Some(Self { points, from_above, end, turns, folds })
    }

    fn is_undecided(&self) -> bool {
        let outside_corner = self.points.iter().filter(|p| p.y[1] < CORNER_FIELDS.ln() - 6.0);
        let slopes: Vec<f64> = outside_corner.map(|p| p.tangent[3]).collect();
        let nearly_turns = slopes.windows(3).any(|w| {
            w[1] <= w[0] && w[1] <= w[2] && w[1].abs() < UNDECIDED && w[0].min(w[2]) > 0.0
        });
        let barely_turns = self
            .turns
            .windows(2)
            .any(|pair| (self.rough_fold(pair[0]) - self.rough_fold(pair[1])).abs() < UNDECIDED);
        // A chord much flatter than the tangents at both of its ends hides a pair of folds.
        let hides_a_pair = self.points.windows(2).any(|w| {
            let (a, b) = (&w[0], &w[1]);
            let length = (0..4).map(|k| (b.y[k] - a.y[k]).powi(2)).sum::<f64>().sqrt();
            let slope = (b.y[3] - a.y[3]) / length;
            let (low, high) = (a.tangent[3].min(b.tangent[3]), a.tangent[3].max(b.tangent[3]));
            b.y[1] < CORNER_FIELDS.ln() - 6.0
                && ((low > 0.0 && slope < 0.3 * low) || (high < 0.0 && slope > 0.3 * high))
        });
        nearly_turns || barely_turns || hides_a_pair || self.end == StrandEnd::Lost
    }

    /// ln α of the fold after point i, within the trace's step.
    fn rough_fold(&self, i: usize) -> f64 {
        let (a, b) = (&self.points[i], &self.points[i + 1]);
        let extreme = if a.tangent[3] > 0.0 { f64::max } else { f64::min };
        extreme(a.y[3], b.y[3])
    }

    /// Number of folds.
    pub fn fold_count(&self) -> usize {
        self.turns.len()
    }

    /// How many folds lie before the traced point `index`.
    pub fn passed(&self, index: usize) -> usize {
        self.turns.iter().filter(|&&i| index > i).count()
    }
}

impl<'a> Curve<'a> {
    /// Traces the curve from α → 0 to beyond `alpha`; results will be computed
    /// at `resolution`. `None` if not even a start can be found.
    pub fn trace(task: Task<'a>, alpha: f64, resolution: Resolution) -> Option<Self> {
        let mut strands = vec![];
        for care in [Care::Quick, Care::Better, Care::Exact] {
            strands = self::strands(&task, alpha, care, resolution);
            if !strands.iter().any(Strand::is_undecided) {
                break;
            }
        }
        (!strands.is_empty()).then_some(Self { task, resolution, strands })
    }

    /// The same at full resolution with short steps, for drawing.
    pub fn trace_finely(task: Task<'a>, alpha: f64, resolution: Resolution) -> Option<Self> {
        let strands = strands(&task, alpha, Care::Drawn, resolution);
        (!strands.is_empty()).then_some(Self { task, resolution, strands })
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
            0 if alone && strand.turns.is_empty() => Branch::Only,
            0 if strand.from_above => Branch::Good,
            0 => Branch::Poor,
            n if alone && n == strand.turns.len() && n % 2 == 0 => Branch::Good,
            _ => Branch::Middle,
        }
    }

    /// The branch behind `passed` folds, and whether it consists of saddles:
    /// every second part of a strand does.
    fn part(&self, strand: &Strand, passed: usize) -> (Branch, bool) {
        (self.branch(strand, passed), passed % 2 == 1)
    }

    fn equations(&self) -> impl FnMut(&[f64; 4]) -> Option<[f64; 4]> + '_ {
        |y: &[f64; 4]| equations(&self.task, y, self.resolution)
    }

    /// The `number`-th fold of a strand, located at full resolution.
    pub fn fold(&self, strand: &Strand, number: usize) -> Option<Fold> {
        let turn = strand.turns[number];
        *strand.folds[number]
            .get_or_init(|| self.locate_fold(&strand.points[turn], &strand.points[turn + 1]))
    }

    /// All folds, in the order of the strands.
    pub fn folds(&self) -> Vec<Fold> {
        let of =
            |s: &Strand| (0..s.turns.len()).filter_map(|n| self.fold(s, n)).collect::<Vec<_>>();
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
        let from = passed.checked_sub(1).map_or(0, |n| strand.turns[n] + 1);
        let to = strand.turns.get(passed).map_or(strand.points.len() - 1, |t| *t);
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

    /// The fold `number`, if `target` may lie within the step that contains it.
    fn fold_around(&self, strand: &Strand, number: usize, target: f64) -> Option<Fold> {
        let i = strand.turns[number];
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
    start(part, hermite(a, b, fraction), &near.jacobian)
}

/// The fraction of the way from `a` to `b` at which α is extremal.
fn summit(a: &CurvePoint, b: &CurvePoint) -> f64 {
    let sign = a.tangent[3].signum();
    scalar::minimum(|x| -sign * hermite(a, b, x)[3], 0.0, 1.0, 1e-6).0
}

/// The strand from α → 0, and the one from α → ∞ if the first does not lead there.
fn strands(task: &Task, alpha: f64, care: Care, wanted: Resolution) -> Vec<Strand> {
    let farthest = FARTHEST_ALPHA.max(2.0 * alpha).ln();
    let resolution = care.resolution(wanted);
    let upward = start_of_poor(task, alpha, resolution)
        .and_then(|y| Strand::trace(task, y, farthest, care, wanted));
    let connected = upward.as_ref().is_some_and(|s| s.end == StrandEnd::Reached);
    let downward = if connected {
        None
    } else {
        start_of_good(task, farthest, resolution)
            .and_then(|y| Strand::trace(task, y, farthest, care, wanted))
    };
    upward.into_iter().chain(downward).collect()
}

fn start(part: (Branch, bool), y: [f64; 4], jacobian: &[[f64; 4]; 4]) -> Start {
    Start {
        branch: part.0,
        is_saddle: part.1,
        coordinates: [y[0], y[1], y[2]],
        jacobian: std::array::from_fn(|i| std::array::from_fn(|j| jacobian[i][j])),
    }
}

fn equations(task: &Task, y: &[f64; 4], resolution: Resolution) -> Option<[f64; 4]> {
    let r = task.residual(&[y[0], y[1], y[2]], y[3], resolution)?;
    Some([r[0], r[1], r[2], 0.0])
}

/// Cubic interpolation between two points of the curve, by their tangents.
fn hermite(a: &CurvePoint, b: &CurvePoint, x: f64) -> [f64; 4] {
    let length = (0..4).map(|k| (b.y[k] - a.y[k]).powi(2)).sum::<f64>().sqrt();
    let (x2, x3) = (x * x, x * x * x);
    std::array::from_fn(|k| {
        (2.0 * x3 - 3.0 * x2 + 1.0) * a.y[k]
            + (x3 - 2.0 * x2 + x) * length * a.tangent[k]
            + (3.0 * x2 - 2.0 * x3) * b.y[k]
            + (x3 - x2) * length * b.tangent[k]
    })
}

/// Iterates the equations `turns` times from `c`.
fn iterate(
    task: &Task,
    mut c: Conjugates,
    alpha: f64,
    turns: usize,
    resolution: Resolution,
) -> Option<Conjugates> {
    for _ in 0..turns {
        if task.one_minus_q_star.is_some() {
            c.stiffness = constrained_stiffness(task, &c, resolution)?;
        }
        let turn = task.turn(&c, resolution)?;
        if task.one_minus_q_star.is_none() {
            c.stiffness = alpha * turn.energy.stiffness;
        }
        c.q_0_hat = alpha * turn.energy.q_0_hat;
        c.r_hat = alpha * turn.energy.r_hat;
    }
    Some(c)
}

/// The stiffness at which the self-overlap has its prescribed value; 1 − q_d
/// rises with it.
fn constrained_stiffness(task: &Task, c: &Conjugates, resolution: Resolution) -> Option<f64> {
    let wanted = task.one_minus_q_star?;
    let excess = |y: f64| {
        let trial = Conjugates { stiffness: y.sinh(), ..*c };
        let averages = site_averages(&task.site(&trial), &task.fields(&trial), resolution);
        (averages.overlaps.one_minus_q_d / wanted).ln()
    };
    scalar::root(excess, -1e10_f64.asinh(), 1e10_f64.asinh(), 1e-3).map(f64::sinh)
}

fn polished(task: &Task, c: Conjugates, alpha: f64, resolution: Resolution) -> Option<[f64; 4]> {
    let root = task.solve(alpha, to_coordinates(&c), None, resolution);
    // Coarse quadrature has noise of its own.
    (root.residual < 1e-5).then_some([root.x[0], root.x[1], root.x[2], alpha.ln()])
}

/// The solution at an α so small that iterating the equations finds it.
fn start_of_poor(task: &Task, alpha: f64, resolution: Resolution) -> Option<[f64; 4]> {
    // A field from the previous task makes any α of order 0.01 a small one.
    let usual = if task.coupling > 0.0 { 2e-2 } else { 2e-3 };
    let smallest = (usual * (20.0 / task.beta).min(1.0)).min(0.5 * alpha);
    (0..10).find_map(|k| {
        let alpha = smallest * 0.3_f64.powi(k);
        let c = Conjugates { stiffness: 0.0, q_0_hat: alpha, r_hat: 0.3 * alpha };
        polished(task, iterate(task, c, alpha, 12, resolution)?, alpha, resolution)
    })
}

/// The solution at an α so large that the equations draw any state close to
/// the teacher towards it.
fn start_of_good(task: &Task, ln_alpha: f64, resolution: Resolution) -> Option<[f64; 4]> {
    let alpha = ln_alpha.exp();
    (1..12).find_map(|k| {
        let small = 0.3_f64.powi(k);
        let kappa = task.one_minus_q_star.unwrap_or(small);
        let (d, v) = (0.01 * small * (1.0 - kappa), 0.01 * small * small * (1.0 - kappa));
        let near = Overlaps {
            one_minus_q_d: kappa,
            q_d_minus_q_0: d,
            q_0_minus_r2: v,
            r: (1.0 - kappa - d - v).sqrt(),
        };
        let energy = energy(&near, task.beta, resolution);
        let c = Conjugates {
            stiffness: alpha * energy.stiffness,
            q_0_hat: alpha * energy.q_0_hat,
            r_hat: alpha * energy.r_hat,
        };
        let y = polished(task, iterate(task, c, alpha, 12, resolution)?, alpha, resolution)?;
        let found = task.turn(&from_coordinates(&[y[0], y[1], y[2]]), resolution)?.site.overlaps;
        let largest = task.one_minus_q_star.map_or(1.0, |kappa| (1.0 - kappa).sqrt());
        (found.r > 0.9 * largest).then_some(y)
    })
}
