//! A task with broken replica symmetry, for any α and K.

use std::sync::OnceLock;

use remanent_math::continuation::Point;
use remanent_math::newton::Root;
use remanent_math::scalar;

use super::auto::TOLERANCE;
use super::equations::{NARROW, System, stabilities};
use super::onset::{Closing, closing, replicon_zero};
use super::report::{RsbSolution, finish, refined};
use super::roots::FoundRoot;
use super::solve::Hold;
use super::state::{State, alpha_index, gap_index, x_index};
use super::trace::{Care, Extent, FIRST_GAP, FIRST_NARROW_GAP, Origin, Trace};
use crate::curve::{Branch, Curve};
use crate::parameters::{Choice, DomainError};
use crate::points::hermite;
use crate::ranges::ALPHA;
use crate::resolution::Resolution;
use crate::roots::{Found, roots};
use crate::single::{SingleTask, choose, why_none};
use crate::solution::Termination;
use crate::stage::finish as finish_symmetric;
use crate::task::Task;

/// The largest number of steps that can be asked for.
pub const MAX_STEPS: usize = 3;

/// The replica-symmetric curve of a first task is traced up to this α.
const TRACED: f64 = 3.0;

/// A curve for any number of steps.
#[derive(Debug)]
pub(super) enum AnyTrace<'a> {
    One(Trace<'a, 6>),
    Two(Trace<'a, 8>),
    Three(Trace<'a, 10>),
}

macro_rules! each {
    ($any:expr, $trace:ident => $value:expr) => {
        match $any {
            $crate::rsb::task::AnyTrace::One($trace) => $value,
            $crate::rsb::task::AnyTrace::Two($trace) => $value,
            $crate::rsb::task::AnyTrace::Three($trace) => $value,
        }
    };
}
pub(super) use each;

/// The curves of a task's solutions with 0, 1, … steps, each traced when it is first
/// needed.
#[derive(Debug)]
pub struct BrokenTask<'a> {
    task: Task<'a>,
    resolution: Resolution,
    /// The replica-symmetric curve is traced up to this α.
    reach: f64,
    /// Whether one α alone is asked for, so that the rest of a broken curve would be traced in vain.
    is_for_one_alpha: bool,
    curve: OnceLock<Option<Curve<'a>>>,
    onset: OnceLock<Option<Root<4>>>,
    closing: OnceLock<Option<Closing>>,
    traces: [OnceLock<Option<AnyTrace<'a>>>; MAX_STEPS],
}

impl BrokenTask<'static> {
    /// A first task, with nothing computed yet.
    pub fn new(single: SingleTask) -> Self {
        Self::of(single.task(), TRACED, single.resolution())
    }
}

impl<'a> BrokenTask<'a> {
    /// Any task, for α up to about `reach`.
    pub fn of(task: Task<'a>, reach: f64, resolution: Resolution) -> Self {
        Self {
            task,
            resolution,
            reach,
            is_for_one_alpha: false,
            curve: OnceLock::new(),
            onset: OnceLock::new(),
            closing: OnceLock::new(),
            traces: std::array::from_fn(|_| OnceLock::new()),
        }
    }

    /// The same, faster where the stable or the poor solution at one α alone is wanted: [`Self::poor`] then traces
    /// the curve of the most steps no farther than there.
    pub fn for_one_alpha(self) -> Self {
        Self { is_for_one_alpha: true, ..self }
    }

    pub(super) fn resolution(&self) -> Resolution {
        self.resolution
    }

    pub(super) fn system(&self) -> System<'a> {
        System {
            beta: self.task.beta,
            coupling: self.task.coupling,
            inherited: self.task.inherited,
            one_minus_q_star: self.task.one_minus_q_star,
            narrow_below: NARROW,
            resolution: self.resolution,
        }
    }

    pub(super) fn curve(&self) -> Option<&Curve<'a>> {
        let traced = || Curve::trace(self.task, self.reach, self.resolution);
        self.curve.get_or_init(traced).as_ref()
    }

    /// All replica-symmetric solutions, in the order of their curve, each with its branch
    /// and whether it is a saddle.
    pub(super) fn all_symmetric(&self, alpha: f64) -> Vec<(RsbSolution, Branch)> {
        let on = |curve: &Curve| {
            let report = |found: &Found| {
                let solution = finish_symmetric(curve.task(), alpha, found, self.resolution);
                (RsbSolution::symmetric(&solution, found.is_saddle), found.branch)
            };
            roots(curve, alpha, self.resolution).iter().map(report).collect()
        };
        self.with_curve_at(alpha, |curve| curve.map_or(vec![], on))
    }

    /// Does something with a replica-symmetric curve that `alpha` is on.
    fn with_curve_at<T>(&self, alpha: f64, work: impl FnOnce(Option<&Curve>) -> T) -> T {
        let serves = |curve: &&Curve| !curve.begins_above(alpha);
        if alpha <= self.reach
            && let Some(curve) = self.curve().filter(serves)
        {
            return work(Some(curve));
        }
        work(Curve::trace(self.task, alpha, self.resolution).as_ref())
    }

    /// The replica-symmetric solution of choice; a row that says so if there is none.
    pub fn symmetric(&self, alpha: f64, choice: Choice) -> Result<RsbSolution, DomainError> {
        let alpha = ALPHA.check("alpha", alpha)?;
        let none = |why| RsbSolution::none(alpha, self.task.beta, 0, why);
        Ok(self.with_curve_at(alpha, |curve| {
            let Some(curve) = curve else { return none(Termination::LeftDomain) };
            let found = roots(curve, alpha, self.resolution);
            match choose(curve, &found, alpha, choice, self.resolution) {
                Some(found) => {
                    let s = finish_symmetric(&self.task, alpha, found, self.resolution);
                    RsbSolution::symmetric(&s, found.is_saddle)
                }
                None => none(why_none(curve, alpha, choice)),
            }
        }))
    }

    pub(super) fn onset_root(&self) -> Option<&Root<4>> {
        let found = || replicon_zero(&self.task, self.resolution, || self.curve());
        self.onset.get_or_init(found).as_ref()
    }

    /// Where the replicon of the curve from α → 0 vanishes for the second time.
    pub(super) fn closing(&self) -> Option<&Closing> {
        let found = || {
            self.onset_root()?;
            closing(self.curve()?, self.resolution)
        };
        self.closing.get_or_init(found).as_ref()
    }

    /// The replica-symmetric solution where the replicon of the branch connected to
    /// α → 0 vanishes first; `None` where replica symmetry never breaks.
    pub fn onset(&self) -> Option<RsbSolution> {
        Some(finish(&self.system(), self.onset_root()?, false, true))
    }

    pub(super) fn trace(&self, steps: usize) -> Option<&AnyTrace<'a>> {
        let slot = self.traces.get(steps.checked_sub(1)?)?;
        let traced = || match steps {
            1 => self.first_trace().map(AnyTrace::One),
            2 => match self.trace(1)? {
                AnyTrace::One(trace) => self.next_trace(trace, Extent::Whole).map(AnyTrace::Two),
                _ => None,
            },
            _ => match self.trace(2)? {
                AnyTrace::Two(trace) => self.next_trace(trace, Extent::Whole).map(AnyTrace::Three),
                _ => None,
            },
        };
        slot.get_or_init(traced).as_ref()
    }

    /// One step, from where the replicon vanishes.
    fn first_trace(&self) -> Option<Trace<'a, 6>> {
        let mut y = with_vanishing_gap(&self.onset_root()?.x);
        let system = self.system();
        let origin = |y: [f64; 6]| Origin::Opening { y, level: 1, ln_variance: y[1] };
        let (quick, narrow) = ((Care::Quick, Extent::Whole), (Care::Narrow, Extent::Whole));
        let traced = Trace::with_first_gap(system, origin(y), quick, FIRST_GAP);
        if traced.as_ref().is_some_and(Trace::is_complete) {
            return traced;
        }
        // From x = 1 the first gap is not always found, and next to the β at which replica symmetry first
        // breaks it is too large.
        y[x_index(1, 1)] = self.opening()?.x.ln();
        Trace::with_first_gap(system, origin(y), quick, FIRST_GAP)
            .filter(Trace::is_complete)
            .or_else(|| {
                Trace::with_first_gap(system, origin(y), narrow, FIRST_NARROW_GAP)
                    .filter(Trace::is_complete)
            })
            .or_else(|| Trace::new(system, origin(y), Care::Quick))
            .or(traced)
    }

    /// One step more, from where the innermost stability vanishes first; if the gap does not open there, or the
    /// stability is negative all along, from where it is most so, and then the whole curve.
    fn next_trace<const M: usize, const N: usize>(
        &self,
        trace: &Trace<'a, M>,
        extent: Extent,
    ) -> Option<Trace<'a, N>> {
        let steps = (M - 4) / 2;
        let system = self.system();
        let innermost = |y: &[f64; M]| {
            let state = State::from_coordinates(y);
            system.turn(&state, false).map_or(f64::NAN, |turn| stabilities(&state, &turn)[steps])
        };
        let is_physical = |p: &Point<M>| p.y[x_index(steps, steps)] < 0.0;
        let mut values = Vec::with_capacity(trace.points.len());
        for (i, point) in trace.points.iter().enumerate() {
            values.push(if is_physical(point) { innermost(&point.y) } else { f64::NAN });
            if i > 0 && values[i - 1] > 0.0 && values[i] <= 0.0 {
                let (from, to) = (&trace.points[i - 1], point);
                let x = scalar::root(|x| innermost(&hermite(from, to, x)), 0.0, 1.0, 1e-3)?;
                let y = trace.between(i - 1, x)?.y;
                let mut origin = with_one_step_more(&y);
                origin[x_index(steps + 1, steps + 1)] = 0.5 * y[x_index(steps, steps)];
                let ln_variance = y[gap_index(steps)];
                let origin = Origin::Opening { y: origin, level: steps + 1, ln_variance };
                let opened = Trace::as_far_as(extent, system, origin, Care::Quick);
                if opened.is_some() || extent != Extent::Whole {
                    return opened;
                }
            }
        }
        let is_negative = |i: &usize| values[*i] < 0.0;
        let lowest = (0..values.len())
            .filter(is_negative)
            .min_by(|i, j| values[*i].total_cmp(&values[*j]))?;
        self.trace_through(&trace.points[lowest].y)
    }

    /// The whole curve of one step more through a solution near `y`, with a part of the innermost gap split off.
    fn trace_through<const M: usize, const N: usize>(&self, y: &[f64; M]) -> Option<Trace<'a, N>> {
        let (steps, system) = ((M - 4) / 2, self.system());
        [0.15, 0.3, 0.07].into_iter().find_map(|share: f64| {
            let mut start = with_one_step_more::<M, N>(y);
            start[gap_index(steps)] += (1.0 - share).ln();
            start[gap_index(steps + 1)] += share.ln();
            start[x_index(steps + 1, steps + 1)] += 0.18;
            let found = Trace::new(system, Origin::Middle(start), Care::Quick)?;
            let ordered = |p: &Point<N>| {
                (1..=steps).all(|l| p.y[x_index(steps + 1, l)] < p.y[x_index(steps + 1, l + 1)])
            };
            (found.points.len() > 3 && found.points.iter().all(ordered)).then_some(found)
        })
    }

    /// All solutions with `steps` steps at `alpha`, in the order of their curve; for
    /// 0 steps those of the replica-symmetric equations. With x_K > 1 they are of
    /// no measure over clusters and are left out.
    pub fn solve(&self, alpha: f64, steps: usize) -> Result<Vec<RsbSolution>, DomainError> {
        let alpha = ALPHA.check("alpha", alpha)?;
        if steps == 0 {
            return Ok(self.all_symmetric(alpha).into_iter().map(|(s, _)| s).collect());
        }
        let mut solutions = self.roots(alpha, steps);
        solutions.retain(|s| !s.is_found() || s.is_physical());
        Ok(solutions)
    }

    fn roots(&self, alpha: f64, steps: usize) -> Vec<RsbSolution> {
        let system = self.system();
        let Some(trace) = self.trace(steps) else { return vec![] };
        let mut solutions = each!(trace, trace => refined_roots(&system, trace, alpha));
        if steps == 1 {
            let found = self.roots_at_closing(alpha);
            solutions.extend(found.iter().map(|found| at_its_alpha(&system, found)));
        }
        solutions
    }

    /// The solution with `steps` steps at `alpha` on the poor branch: before the
    /// fold of the broken curve. A row that says so if there is none.
    pub fn poor(&self, alpha: f64, steps: usize) -> Result<RsbSolution, DomainError> {
        let alpha = ALPHA.check("alpha", alpha)?;
        if steps == 0 {
            return self.symmetric(alpha, Choice::Poor);
        }
        if let Some(solution) = self.first_passing(alpha, steps) {
            return Ok(solution);
        }
        let mut all = self.solve(alpha, steps)?;
        let chosen = all.iter().position(is_before_fold);
        let chosen = match chosen {
            Some(i) => Some(all.swap_remove(i)),
            None => self.beside_fewer_steps(alpha, steps)?,
        };
        Ok(match chosen {
            Some(solution) => solution,
            None => {
                let why = all.first().map_or(Termination::NoSolution, |s| s.termination);
                let found = matches!(why, Termination::Converged | Termination::Inaccurate);
                let why = if found { Termination::NoSolution } else { why };
                RsbSolution::none(alpha, self.task.beta, steps, why)
            }
        })
    }

    /// The solution next to an unstable one with a step less at the same α. The innermost stability may be negative
    /// on more than one stretch of a curve, and a trace follows the solutions beside one of them.
    fn beside_fewer_steps(
        &self,
        alpha: f64,
        steps: usize,
    ) -> Result<Option<RsbSolution>, DomainError> {
        if steps < 2 {
            return Ok(None);
        }
        let fewer = self.poor(alpha, steps - 1)?;
        if !fewer.is_found() || fewer.is_stable(TOLERANCE) {
            return Ok(None);
        }
        let (system, state) = (self.system(), fewer.state());
        let all = match steps {
            2 => self
                .trace_through::<6, 8>(&state.to_coordinates())
                .map(|trace| refined_roots(&system, &trace, alpha)),
            _ => self
                .trace_through::<8, 10>(&state.to_coordinates())
                .map(|trace| refined_roots(&system, &trace, alpha)),
        };
        Ok(all.unwrap_or_default().into_iter().find(|s| is_before_fold(s) && s.is_physical()))
    }

    /// The solution of [`Self::poor`] from the beginning of the curve, if one α alone is asked for, the curve is not
    /// known yet and its beginning leads there.
    fn first_passing(&self, alpha: f64, steps: usize) -> Option<RsbSolution> {
        let is_known = self.traces.get(steps.checked_sub(1)?)?.get().is_some();
        if is_known || !self.is_for_one_alpha {
            return None;
        }
        let (system, extent) = (self.system(), Extent::Past(alpha.ln()));
        let all = match steps {
            1 => {
                let y = with_vanishing_gap(&self.onset_root()?.x);
                let origin = Origin::Opening { y, level: 1, ln_variance: y[1] };
                let care = (Care::Quick, extent);
                let begun = Trace::with_first_gap(system, origin, care, FIRST_GAP)?;
                refined_roots(&system, &begun, alpha)
            }
            2 => {
                let AnyTrace::One(trace) = self.trace(1)? else { return None };
                let begun: Trace<8> = self.next_trace(trace, extent)?;
                refined_roots(&system, &begun, alpha)
            }
            _ => return None,
        };
        all.into_iter().find(|s| is_before_fold(s) && s.is_physical())
    }

    /// The solutions with `steps` steps along their curve, in short steps from its
    /// onset, those of x_K > 1 left out.
    pub fn branch(&self, steps: usize) -> Vec<RsbSolution> {
        let Some(trace) = self.trace(steps) else { return vec![] };
        let mut rows = each!(trace, trace => {
            trace.redrawn().map_or(vec![], |drawn| drawn.solutions())
        });
        rows.retain(RsbSolution::is_physical);
        rows
    }
}

/// Whether a solution is the one of its curve that the poor state has.
fn is_before_fold(solution: &RsbSolution) -> bool {
    !solution.is_saddle && solution.is_found()
}

/// What is reported of every solution at `alpha` on a curve.
fn refined_roots<const M: usize>(
    system: &System,
    trace: &Trace<M>,
    alpha: f64,
) -> Vec<RsbSolution> {
    trace.roots(alpha).iter().map(|found| at_its_alpha(system, found)).collect()
}

fn at_its_alpha<const M: usize>(system: &System, found: &FoundRoot<M>) -> RsbSolution {
    refined(system, &found.root, Hold::LnAlpha(found.root.x[M - 1]), !found.rises)
}

/// One-step coordinates of a replica-symmetric solution; those of the gap and of x have no meaning.
pub(super) fn with_vanishing_gap(symmetric: &[f64; 4]) -> [f64; 6] {
    let mut y = [0.0; 6];
    y[..3].copy_from_slice(&symmetric[..3]);
    y[alpha_index(1)] = symmetric[3];
    y
}

/// Coordinates with a level more inside of the innermost one, as wide as that and with
/// the same x.
fn with_one_step_more<const M: usize, const N: usize>(y: &[f64; M]) -> [f64; N] {
    let steps = (M - 4) / 2;
    let mut more = [0.0; N];
    more[..3 + steps].copy_from_slice(&y[..3 + steps]);
    more[gap_index(steps + 1)] = y[gap_index(steps)];
    for l in 1..=steps {
        more[x_index(steps + 1, l)] = y[x_index(steps, l)];
    }
    more[x_index(steps + 1, steps + 1)] = y[x_index(steps, steps)];
    more[N - 1] = y[M - 1];
    more
}
