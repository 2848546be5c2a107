//! The one-step curve at small gaps, with the gap as its parameter.
//!
//! A trace begins and ends at a gap of about 1e-3 of the fields' variance. Two landmarks
//! can lie beyond, because the points at which they appear have a vanishing gap:
//!
//! - Above the β at which the jump begins, the gap closes on the middle branch. With u the gap,
//!   α(u) = α_c + a_1 u + a_2 u² + …, where α_c is the replica-symmetric zero of λ. a_1 changes its sign
//!   at that β and a_2 < 0, so the fold has a gap u = −a_1/(2 a_2) ∝ β − β_c and lies only
//!   a_1²/(4|a_2|) above α_c.
//! - Above the β at which the onset becomes discontinuous, x(u) = x_onset − |x'| u + … passes 1 at
//!   u = (x_onset − 1)/|x'| ∝ β − β_t.
//!
//! α(u) and x(u) are smooth at u = 0, unlike the length of the curve in ln u, whose tangent has a
//! component along ln α of the order of u.

use remanent_math::newton::{Outcome, Root};
use remanent_math::scalar;

use super::landmarks::BrokenCrossing;
use super::report::{RsbSolution, finish};
use super::roots::{End, FoundRoot};
use super::solve::{Hold, solve};
use super::state::{alpha_index, gap_index, x_index};
use super::task::{AnyTrace, BrokenTask, with_vanishing_gap};
use super::trace::FIRST_GAP;
use crate::branches::folds;
use crate::curve::Branch;
use crate::parameters::Choice;

/// The smallest gap, relative to q_0_hat, that is solved for.
const SMALLEST: f64 = 1e-8;
/// The longest step in the logarithm of the gap.
const LONGEST: f64 = 1.2;
/// The gap around which a fold is first looked for.
const FIRST: f64 = 2e-3;

/// Solutions next to the place where the gap opens or closes, by the ratio u of the gap to q_0_hat.
struct SmallGaps<'a, 'b> {
    task: &'b BrokenTask<'a>,
    /// ln q_0_hat there.
    ln_variance: f64,
    /// A solution near by.
    near: Root<6>,
}

impl SmallGaps<'_, '_> {
    /// The solution at a gap, in steps: x is hardly determined at a small one.
    fn at(&self, ratio: f64) -> Option<Root<6>> {
        let (system, target) = (self.task.system(), self.ln_variance + ratio.ln());
        let mut root = self.near;
        loop {
            let from = root.x[gap_index(1)];
            let ln_gap = target.clamp(from - LONGEST, from + LONGEST);
            let mut start = root.x;
            start[gap_index(1)] = ln_gap;
            root = solve(&system, Hold::LnGap(1, ln_gap), start, None);
            if root.outcome != Outcome::Converged {
                return None;
            }
            if ln_gap == target {
                return Some(root);
            }
        }
    }

    fn ln_alpha(&self, ratio: f64) -> Option<f64> {
        Some(self.at(ratio)?.x[alpha_index(1)])
    }

    fn report(&self, root: &Root<6>) -> RsbSolution {
        finish(&self.task.system(), root, false, true)
    }

    /// The ratio at which α is largest, if ln α is `closing` at ratio 0.
    fn summit(&self, closing: f64) -> Option<f64> {
        let mut middle = FIRST;
        for _ in 0..12 {
            // A cubic through the closing and three gaps, (ln α − closing)/u = a_1 + a_2 v + a_3 v² in v = u/middle.
            let slope = |v: f64| Some((self.ln_alpha(v * middle)? - closing) / v);
            let (low, centre, high) = (slope(0.6)?, slope(1.0)?, slope(1.6)?);
            let (first, second) = ((centre - low) / 0.4, (high - centre) / 0.6);
            let a_3 = second - first;
            let a_2 = first - 1.6 * a_3;
            let a_1 = centre - a_2 - a_3;
            // Of a_1 + 2 a_2 v + 3 a_3 v² the zero that tends to −a_1/(2 a_2).
            let discriminant = a_2 * a_2 - 3.0 * a_1 * a_3;
            let v = a_1 / (discriminant.max(0.0).sqrt() - a_2);
            if a_1 <= 0.0 || a_2 >= 0.0 || discriminant < 0.0 {
                return None;
            }
            let before = middle;
            middle = (middle * v).clamp(0.25 * before, 4.0 * before);
            if !(SMALLEST..0.1).contains(&middle) {
                return None;
            }
            if (v - 1.0).abs() < 1e-4 {
                return Some(middle);
            }
        }
        None
    }
}

impl<'a> BrokenTask<'a> {
    /// The solutions next to the place where the gap closes on the middle branch, and ln α of it; none if it
    /// closes elsewhere.
    fn closing_gaps(&self) -> Option<(SmallGaps<'a, '_>, f64)> {
        let AnyTrace::One(trace) = self.trace(1)? else { return None };
        let closing = self.closing()?;
        if closing.branch != Branch::Middle {
            return None;
        }
        let last = trace.points.last()?;
        let ln_variance = closing.y[1];
        if last.y[gap_index(1)] - ln_variance > FIRST_GAP.ln() {
            return None;
        }
        let hold = Hold::LnGap(1, last.y[gap_index(1)]);
        let near = solve(&self.system(), hold, last.y, None);
        let gaps = SmallGaps { task: self, ln_variance, near };
        (near.outcome == Outcome::Converged).then_some((gaps, closing.y[3]))
    }

    /// The one-step solutions at `alpha` between the end of the trace and the place where the gap closes.
    pub(super) fn roots_at_closing(&self, alpha: f64) -> Vec<FoundRoot<6>> {
        let Some(AnyTrace::One(trace)) = self.trace(1) else { return vec![] };
        let (Some(closing), Some(last)) = (self.closing(), trace.points.last()) else {
            return vec![];
        };
        let (target, ends) = (alpha.ln(), [last.y[alpha_index(1)], closing.y[3]]);
        let is_closing = last.y[gap_index(1)] - closing.y[1] < FIRST_GAP.ln();
        if !is_closing {
            return vec![];
        }
        // A fold behind the end of the trace.
        let has_fold = (0..trace.points.len() - 1).any(|i| trace.turns(i));
        if closing.branch == Branch::Middle && !has_fold {
            let beyond = 0.1 * (ends[1] - ends[0]).abs();
            let is_near = target > ends[0] && target < ends[1] + beyond;
            return if is_near { self.roots_around_summit(target) } else { vec![] };
        }
        let origin = with_vanishing_gap(&closing.y);
        trace.near_end(&origin, 1, (End::Closing, &last.y), target).into_iter().collect()
    }

    /// The solutions on both sides of a fold at a small gap.
    fn roots_around_summit(&self, target: f64) -> Vec<FoundRoot<6>> {
        let Some((gaps, closing)) = self.closing_gaps() else { return vec![] };
        let Some(summit) = gaps.summit(closing) else { return vec![] };
        let far = gaps.near.x[gap_index(1)] - gaps.ln_variance;
        let beyond = |ln_ratio: f64| {
            gaps.ln_alpha(ln_ratio.exp()).map_or(f64::NAN, |ln_alpha| ln_alpha - target)
        };
        [(summit.ln(), far, true), (SMALLEST.ln(), summit.ln(), false)]
            .into_iter()
            .filter_map(|(low, high, rises)| {
                let at = scalar::root(beyond, low, high, 1e-11)?;
                let mut root = gaps.at(at.exp())?;
                root.x[alpha_index(1)] = target;
                Some(FoundRoot { root, rises })
            })
            .collect()
    }

    /// The fold of the one-step branch at a gap that is too small for its trace.
    pub(super) fn fold_at_small_gap(&self) -> Option<RsbSolution> {
        let (gaps, closing) = self.closing_gaps()?;
        Some(gaps.report(&gaps.at(gaps.summit(closing)?)?))
    }

    /// Where the one-step branch with a fold at a small gap and the good branch have the same φ.
    pub(super) fn crossing_at_small_gap(&self) -> Option<BrokenCrossing> {
        let (gaps, closing) = self.closing_gaps()?;
        let fold = gaps.summit(closing)?;
        let low = folds(self.curve()?, self.resolution())
            .into_iter()
            .find(|fold| fold.ends == Branch::Good)?
            .alpha;
        let difference = |ln_ratio: f64| {
            let poor = gaps.at(ln_ratio.exp()).map(|root| gaps.report(&root));
            poor.map_or(f64::NAN, |poor| {
                let good = self.symmetric(poor.alpha, Choice::Good);
                good.map_or(f64::NAN, |good| good.minus_beta_f) - poor.minus_beta_f
            })
        };
        // Larger gaps than that of the fold, as long as the good branch exists.
        let beyond =
            |ln_ratio: f64| gaps.ln_alpha(ln_ratio.exp()).map_or(f64::NAN, |a| a - low.ln());
        let far = scalar::root(beyond, fold.ln(), fold.ln() + 3.0, 1e-6)?;
        let margin = 1e-4 * (far - fold.ln());
        let at = scalar::root(difference, fold.ln(), far - margin, 1e-8)?;
        let poor = gaps.report(&gaps.at(at.exp())?);
        let good = self.symmetric(poor.alpha, Choice::Good).ok()?;
        Some(BrokenCrossing { alpha: poor.alpha, minus_beta_f: good.minus_beta_f, poor, good })
    }

    /// The one-step solution at x = 1 with a gap between 0 and the first of the trace, if x at the onset is
    /// larger than 1 and that of the trace smaller.
    pub(super) fn unit_x_at_small_gap(&self) -> Option<RsbSolution> {
        let AnyTrace::One(trace) = self.trace(1)? else { return None };
        let first = trace.points.first()?;
        let index = x_index(1, 1);
        let (at_onset, at_first) = (self.opening()?.x, first.y[index].exp());
        if at_onset <= 1.0 || at_first >= 1.0 {
            return None;
        }
        let ln_variance = self.onset_root()?.x[1];
        let hold = Hold::LnGap(1, first.y[gap_index(1)]);
        let near = solve(&self.system(), hold, first.y, None);
        let gaps = SmallGaps { task: self, ln_variance, near };
        // Secants from the onset.
        let mut ratio = FIRST_GAP * (at_onset - 1.0) / (at_onset - at_first);
        for _ in 0..20 {
            let root = (ratio > SMALLEST).then(|| gaps.at(ratio))??;
            let x = root.x[index].exp();
            if (x - 1.0).abs() < 1e-9 {
                return Some(gaps.report(&root));
            }
            ratio *= (at_onset - 1.0) / (at_onset - x);
        }
        None
    }
}
