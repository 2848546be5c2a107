//! A solution at one number of nodes after the other, until more nodes change nothing.
//!
//! A [`Stage`] is a root of the equations and all that is reported of it at one
//! resolution. The next stage is polished from it with √2 times the nodes in
//! every direction, and with what the previous task left at that resolution: so
//! the difference of two stages contains every error of quadrature, also the
//! inherited ones. The finer of the two is reported, and their difference as its
//! error, which is an estimate on the safe side. Where the equations hardly depend on an
//! unknown, both stages may be wrong alike, because neither moves it: so the step that
//! Newton's method would still take, and what rounding may do to the root, count as well.
//! And so does what the probabilities of all fields, or of all anchors, miss of 1.

use remanent_math::continuation::settle;
use remanent_math::linear;
use remanent_math::newton::{Outcome, Root};

use crate::agreement::{Agreement, generalisation_error};
use crate::curve::{Branch, CurvePoint};
use crate::free_energy::free_energy;
use crate::inherited::{InheritedLaw, TRIMMED};
use crate::overlaps::Conjugates;
use crate::posterior::{Posterior, Signs, signs};
use crate::resolution::Resolution;
use crate::roots::Found;
use crate::solution::{Solution, Termination};
use crate::strand::equations;
use crate::task::{Iteration, Task};

/// The largest relative change between two stages at which a solution is converged.
pub const ACCURACY: f64 = 1e-8;
/// Stages that agree to this do not by chance.
const SURE: f64 = 3e-10;
/// Errors of quadrature fall at least by this factor from one difference to the next.
const FALLS: f64 = 0.1;
/// By how much noise may exceed the larger of two samples of it.
const NOISE: f64 = 3.0;
/// Differences of more than this that hardly fall are no errors of quadrature: the root itself is not found well enough.
const HOPELESS: f64 = 1e-6;
/// How many stages there are at most.
const STAGES: usize = 7;
/// The size by which smaller values of 1 − p count if a task inherits something.
const RARE: f64 = 1e-17;
/// How much q_0 − r² may be due to anchors in the tails that are cut.
const UNKNOWN: f64 = 10.0 * TRIMMED;
/// A root with a larger residual is none; with a smaller one it is judged by how much it moves.
const TOLERATED: f64 = 1e-6;

/// By how much rounding changes a residual: the sums of some thousand terms of the equations, and
/// their logarithms.
const ROUNDING: f64 = 1e-14;

/// A solution at one resolution.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The root.
    pub root: Root<3>,
    conjugates: Conjugates,
    /// What is reported; without an estimate of its error.
    pub solution: Solution,
    /// The overlaps with the teachers of all older tasks, and with its own.
    pub agreements: Vec<Agreement>,
    /// Probabilities below this are known to this accuracy only.
    floor: f64,
    /// How far the root may be from where the equations hold, in coordinates, and how much of the laws is not resolved.
    uncertainty: f64,
    /// The part of it that rounding leaves, whatever the number of nodes.
    rounding: f64,
}

impl Stage {
    /// The stage of a root that was found at `resolution`.
    pub fn of(
        task: &Task,
        alpha: f64,
        found: &Found,
        resolution: Resolution,
    ) -> Result<Self, Termination> {
        let holds = found.root.residual <= TOLERATED;
        match found.root.outcome {
            Outcome::MaxIterations if !holds => return Err(Termination::MaxIterations),
            Outcome::LeftDomain if !holds => return Err(Termination::LeftDomain),
            _ => {}
        }
        Self::at(task, alpha, found.branch, found.root, resolution).ok_or(Termination::LeftDomain)
    }

    /// The stage of a root that is known to be one.
    pub fn at(
        task: &Task,
        alpha: f64,
        branch: Branch,
        root: Root<3>,
        resolution: Resolution,
    ) -> Option<Self> {
        let iteration = task.iterate(&task.conjugates(&root.x), resolution)?;
        let residual = task.residual_of(&root.x, alpha.ln(), &iteration)?;
        let step = linear::solve(root.jacobian, residual).as_ref().map_or(0.0, linear::max_norm);
        let unresolved = iteration.site.defect + task.inherited.map_or(0.0, InheritedLaw::defect);
        let rounding = ROUNDING * linear::inverse_norm(&root.jacobian);
        let stage = Self::after(task, alpha, branch, root, &iteration, resolution);
        let uncertainty = step + rounding + unresolved + stage.rarest();
        Some(Self { uncertainty, rounding, ..stage })
    }

    /// The fraction of q_0 − r² that is due to anchors which the law does not know, if weights with the wrong sign matter to it.
    fn rarest(&self) -> f64 {
        let (spread, wrong) = (self.solution.q_0_minus_r2, 2.0 * self.solution.one_minus_p);
        if self.floor > 0.0 && wrong > 1e-9 * spread { UNKNOWN / spread } else { 0.0 }
    }

    /// Whether rounding may change q_0 − r² by more than the accuracy that is asked for: the means of all weights differ from their average
    /// by its root, and each is known to the rounding of 1 − q_d.
    fn has_noise(&self) -> bool {
        let (spread, kappa) = (self.solution.q_0_minus_r2, self.solution.one_minus_q_d);
        0.5 * f64::EPSILON * kappa > ACCURACY * spread.max(0.0).sqrt()
    }

    /// The same, if the iteration from the root is known.
    fn after(
        task: &Task,
        alpha: f64,
        branch: Branch,
        root: Root<3>,
        iteration: &Iteration,
        resolution: Resolution,
    ) -> Self {
        let c = task.conjugates(&root.x);
        let fields = task.fields(&c);
        let Signs { ln_one_minus_p, ln_one_plus_p, older } =
            signs(&task.site(&c), &fields, resolution);
        let (eps, ln_eps) = generalisation_error(ln_one_minus_p, ln_one_plus_p);
        let own = Agreement::from_logarithms(ln_one_minus_p, ln_one_plus_p);
        let o = iteration.site.overlaps;
        let one_minus_q_d = task.one_minus_q_star.unwrap_or(o.one_minus_q_d);
        let solution = Solution {
            alpha,
            beta: task.beta,
            branch,
            q_d: 1.0 - one_minus_q_d,
            q_0: o.q_0(),
            r: o.r,
            q_d_hat: c.q_d_hat(),
            q_0_hat: c.q_0_hat,
            r_hat: c.r_hat,
            p: own.p(),
            eps,
            ln_eps,
            one_minus_p: own.one_minus_p,
            one_minus_q_d,
            q_d_minus_q_0: o.q_d_minus_q_0,
            q_0_minus_r2: o.q_0_minus_r2,
            minus_beta_f: free_energy(task, alpha, &c, iteration),
            replicon: 1.0 - alpha * iteration.energy.curvature2 * iteration.site.variance2,
            residual: root.residual,
            quadrature_error: f64::NAN,
            termination: Termination::Inaccurate,
        };
        let agreements = older.into_iter().chain([own]).collect();
        let floor = if fields.mixing().is_some() { RARE } else { 0.0 };
        Self { root, conjugates: c, solution, agreements, floor, uncertainty: 0.0, rounding: 0.0 }
    }

    /// The same with other older tasks.
    pub fn with_older(self, older: Vec<Agreement>) -> Self {
        let own = self.agreements.last().copied();
        Self { agreements: older.into_iter().chain(own).collect(), ..self }
    }

    /// The conjugates.
    pub fn conjugates(&self) -> Conjugates {
        self.conjugates
    }

    /// The law of the magnetisations that the task leaves.
    pub fn posterior(&self, task: &Task, resolution: Resolution) -> Posterior {
        posterior(task, &self.root, resolution)
    }

    /// The next stage: the same solution at a finer `resolution`, of `task` with
    /// what it inherits at that resolution.
    pub fn refined(&self, task: &Task, alpha: f64, resolution: Resolution) -> Option<Self> {
        let root = refined_root(task, alpha, &self.root, resolution)?;
        Self::at(task, alpha, self.solution.branch, root, resolution)
    }

    /// The stage of a point of the curve, where α is not prescribed but found
    /// together with the rest: the nearest point of the curve at `resolution`,
    /// and the point itself.
    pub fn on_curve(
        task: &Task,
        point: &CurvePoint,
        branch: Branch,
        resolution: Resolution,
    ) -> Option<(Self, CurvePoint)> {
        let mut f = equations(task, resolution);
        let near =
            settle(&mut f, point, 1e-12).or_else(|| settle(&mut f, point, 1e-10)).unwrap_or(*point);
        let x = [near.y[0], near.y[1], near.y[2]];
        let iteration = task.iterate(&task.conjugates(&x), resolution)?;
        let residual = linear::max_norm(&task.residual_of(&x, near.y[3], &iteration)?);
        let jacobian = std::array::from_fn(|i| std::array::from_fn(|j| near.jacobian[i][j]));
        let root = Root { x, residual, jacobian, outcome: Outcome::Converged };
        (residual <= TOLERATED).then_some(())?;
        Some((Self::after(task, near.y[3].exp(), branch, root, &iteration, resolution), near))
    }

    /// The largest relative difference of a number from that of another stage.
    ///
    /// Numbers that are positive and may be tiny count by their own size, and so
    /// do the conjugates. Numbers of either sign count by a size that does not
    /// vanish with them: r by √q_0, p by 1e-3, A by the spread of the fields,
    /// −βf by 0.01, the replicon by 1. With an inherited law 1 − p and 1 + p count by 1e-17 at the
    /// least: what it inherits is a law whose tails are cut.
    pub fn difference(&self, other: &Self) -> f64 {
        let (a, b) = (&self.solution, &other.solution);
        let relative = |x: f64, y: f64, size: f64| {
            let difference = (x - y).abs() / y.abs().max(size);
            // Equal zeros, and what has underflown on both sides.
            if x == y || x.abs().max(y.abs()) < 1e-140 { 0.0 } else { difference }
        };
        let stiffness = |s: &Solution| s.q_0_hat - s.q_d_hat;
        let spread = (1.0 + b.q_0_hat).sqrt();
        let mut worst = 0.0_f64;
        for (x, y, size) in [
            (a.one_minus_q_d, b.one_minus_q_d, 0.0),
            (a.q_d_minus_q_0, b.q_d_minus_q_0, 0.0),
            (a.q_0_minus_r2, b.q_0_minus_r2, 0.0),
            (a.q_d, b.q_d, 0.0),
            (a.q_0, b.q_0, 0.0),
            (a.r, b.r, 0.01 * b.q_0.sqrt()),
            (a.q_0_hat, b.q_0_hat, 0.0),
            (a.r_hat, b.r_hat, 0.0),
            (stiffness(a), stiffness(b), spread),
            (a.p, b.p, 1e-3),
            (a.minus_beta_f, b.minus_beta_f, 0.01),
            (a.replicon, b.replicon, 1.0),
        ] {
            let change = relative(x, y, size);
            worst = if change.is_nan() { f64::INFINITY } else { worst.max(change) };
        }
        for (x, y) in self.agreements.iter().zip(&other.agreements) {
            for (x, y) in [(x.one_minus_p, y.one_minus_p), (x.one_plus_p, y.one_plus_p)] {
                let change = relative(x, y, other.floor);
                worst = if change.is_nan() { f64::INFINITY } else { worst.max(change) };
            }
        }
        worst
    }
}

/// The same root with more nodes, from a `coarse` one: all that a later task needs to know of a stage that is not
/// reported.
pub fn refined_root(
    task: &Task,
    alpha: f64,
    coarse: &Root<3>,
    resolution: Resolution,
) -> Option<Root<3>> {
    let root = task.solve(alpha, coarse.x, Some(coarse.jacobian), resolution);
    let moved = linear::max_norm(&linear::axpy(&root.x, -1.0, &coarse.x));
    // A root elsewhere is another solution.
    (root.residual <= TOLERATED && moved < 0.1).then_some(root)
}

/// The law of the magnetisations that a task leaves in the state of a root.
pub fn posterior(task: &Task, root: &Root<3>, resolution: Resolution) -> Posterior {
    let c = task.conjugates(&root.x);
    Posterior::new(task.site(&c), &task.fields(&c), resolution)
}

/// Adds stage after stage until the last two agree to [`ACCURACY`], and answers
/// by how much they differ. `next` makes the stage of a level from those below.
///
/// Two stages may agree by chance, or because √2 times the nodes are not enough to change what is wrong with both. So
/// unless they agree to [`SURE`] a third one is asked: if it differs less by far, errors fall with the number of nodes, and the
/// last difference bounds what is left. If it does not, the differences are noise, and the estimate is [`NOISE`] times
/// the larger one. So it is if rounding may be what is seen.
pub fn climb(
    stages: &mut Vec<Stage>,
    mut next: impl FnMut(&[Stage], usize) -> Option<Stage>,
) -> f64 {
    let mut smallest = f64::INFINITY;
    let mut best = stages.len() - 1;
    let mut before = f64::INFINITY;
    let mut is_sure = true;
    let mut first = None;
    while stages.len() < STAGES {
        let Some(stage) = next(stages, stages.len()) else { break };
        let difference = stages[stages.len() - 1].difference(&stage);
        let uncertainty = stage.uncertainty;
        let is_at_floor = difference <= ACCURACY && stage.rounding.max(stage.rarest()) > ACCURACY;
        let may_fall = !stage.has_noise();
        stages.push(stage);
        let falls = difference <= SURE || (may_fall && difference <= FALLS * before);
        let is_noise = !falls && difference <= ACCURACY;
        let bound =
            if is_noise { NOISE * difference.max(before.min(ACCURACY)) } else { difference };
        let estimate = bound.max(uncertainty);
        // A difference that was small by chance is refuted by the next.
        let is_refuted = !falls && before <= ACCURACY;
        if estimate < smallest || is_refuted {
            (smallest, best) = (estimate, stages.len() - 1);
        }
        is_sure = difference <= SURE || before.is_finite();
        let stays = is_noise && before <= ACCURACY;
        // Nor do more nodes help where 2.8 times as many as at first brought next to nothing.
        let at_first = *first.get_or_insert(difference);
        let is_hopeless = stages.len() > 3 && difference > HOPELESS && difference > 0.3 * at_first;
        // More nodes than these bring in rounding only, or leave what no number of nodes resolves.
        let is_done = estimate <= ACCURACY && is_sure;
        if is_done || estimate > 3.0 * smallest || is_at_floor || stays || is_hopeless {
            break;
        }
        before = difference;
    }
    stages.truncate(best + 1);
    if is_sure { smallest } else { NOISE * smallest }
}

/// What is reported of the last stage, given the estimate of its error.
pub fn conclude(stages: &[Stage], estimate: f64) -> Solution {
    judged(stages[stages.len() - 1].solution, estimate)
}

/// A solution with its error and the verdict on it.
pub fn judged(solution: Solution, estimate: f64) -> Solution {
    let termination =
        if estimate <= ACCURACY { Termination::Converged } else { Termination::Inaccurate };
    Solution { quadrature_error: estimate, termination, ..solution }
}

/// Computes all that is reported of a root. What the task inherits is taken as it is.
pub fn finish(task: &Task, alpha: f64, found: &Found, resolution: Resolution) -> Solution {
    let mut stages = match Stage::of(task, alpha, found, resolution) {
        Ok(stage) => vec![stage],
        Err(why) => return Solution::none(alpha, task.beta, found.branch, why),
    };
    let estimate = climb(&mut stages, |stages, level| {
        stages[level - 1].refined(task, alpha, resolution.level(level))
    });
    conclude(&stages, estimate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ends::start_of_poor;

    /// A stage of a solution at β = 5.
    fn stage() -> Stage {
        let task = Task::new(5.0).unwrap();
        let [a, b, c, ln_alpha] = start_of_poor(&task, 1.0, Resolution::STANDARD).unwrap();
        let alpha = ln_alpha.exp();
        let root = task.solve(alpha, [a, b, c], None, Resolution::STANDARD);
        Stage::at(&task, alpha, Branch::Only, root, Resolution::STANDARD).unwrap()
    }

    /// How many stages are added if each is `next` of the one before, and the estimate at the end.
    fn stages_added(first: Stage, next: impl Fn(&Stage) -> Stage) -> (usize, f64) {
        let mut added = 0;
        let estimate = climb(&mut vec![first], |stages, _| {
            added += 1;
            stages.last().map(&next)
        });
        (added, estimate)
    }

    #[test]
    fn stages_that_agree_are_enough() {
        let (added, estimate) = stages_added(stage(), Clone::clone);
        assert_eq!(added, 1);
        assert!(estimate <= ACCURACY);
    }

    #[test]
    fn no_stage_is_added_for_what_no_number_of_nodes_resolves() {
        let mut first = stage();
        first.floor = RARE;
        first.solution.q_0_minus_r2 = 1e-30;
        let rarest = first.rarest();
        assert!(rarest > ACCURACY);
        let (added, estimate) = stages_added(first, |s| Stage { uncertainty: rarest, ..s.clone() });
        assert_eq!(added, 1);
        assert_eq!(estimate, rarest);
    }

    #[test]
    fn few_stages_are_added_where_more_nodes_bring_nothing() {
        let moved = |s: &Stage| {
            let mut s = s.clone();
            s.solution.q_d += if s.solution.q_d > 0.3 { -0.05 } else { 0.05 };
            s
        };
        let mut first = stage();
        first.solution.q_d = 0.31;
        let (added, estimate) = stages_added(first, moved);
        assert_eq!(added, 3);
        assert!(estimate > 0.1);
        // Errors that fall are followed farther.
        let halved = |s: &Stage| {
            let mut s = s.clone();
            s.solution.q_d = 0.3 + 0.5 * (s.solution.q_d - 0.3);
            s
        };
        let mut first = stage();
        first.solution.q_d = 0.31;
        assert_eq!(stages_added(first, halved).0, STAGES - 1);
    }

    /// Differences of 3e-8 and 2e-9: errors that fall, unless rounding may be that large.
    #[test]
    fn rounding_does_not_pass_for_errors_that_fall() {
        let estimate = |spread: f64| {
            let mut first = stage();
            (first.solution.q_0_minus_r2, first.solution.one_minus_q_d) = (spread, 1e-9);
            let mut moves = [3e-8, 2e-9].into_iter();
            climb(&mut vec![first], |stages, _| {
                let mut next = stages.last()?.clone();
                next.solution.q_0_minus_r2 *= 1.0 + moves.next()?;
                Some(next)
            })
        };
        assert!(estimate(1e-20) <= ACCURACY);
        assert!(estimate(1e-38) > ACCURACY);
    }
}
