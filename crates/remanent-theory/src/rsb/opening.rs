//! The solutions between the place where a gap opens and the first point of a trace.
//!
//! Where α is nearly linear in the gap, Newton's method finds the one solution there
//! ([`Trace::near_end`]). Near the β at which the onset becomes discontinuous, α first falls with the gap and then
//! rises, or the other way round, within that distance. There the gap leads: α is computed for a row of gaps, and
//! every crossing of the wanted α between two of them is a solution.

use remanent_math::newton::{Outcome, Root};
use remanent_math::scalar;

use super::roots::{End, FoundRoot};
use super::solve::{Hold, solve};
use super::state::gap_index;
use super::trace::{Origin, Trace};

/// Where d ln α/d ln gap at the first point, relative to its distance in ln α, is outside of this range, α is not
/// linear in the gap.
const NEARLY_LINEAR: std::ops::Range<f64> = 0.6..1.6;
/// How far from the onset solutions are looked for by the gap, in distances of the first point,
const FAR: f64 = 4.0;
/// and at least, in ln α.
const NEAR: f64 = 1e-3;
/// The step in the logarithm of the gap,
const STEP: f64 = 0.6;
/// and the largest and the smallest gap, relative to the first. The first point is one of coarse quadrature, so that
/// the trace may begin a little behind it.
const LARGEST: f64 = 1.4;
const SMALLEST: f64 = 1e-5;

impl<const M: usize> Trace<'_, M> {
    /// The solutions between the origin and the first point.
    pub(super) fn near_onset(&self, target: f64) -> Vec<FoundRoot<M>> {
        let (Origin::Opening { y: origin, level, .. }, Some(first)) =
            (&self.origin, self.points.first())
        else {
            return vec![];
        };
        let distance = first.y[M - 1] - origin[M - 1];
        let slope = first.tangent[M - 1] / first.tangent[gap_index(*level)];
        if NEARLY_LINEAR.contains(&(slope / distance)) {
            let found = self.near_end(origin, *level, (End::Opening, &first.y), target);
            if found.is_none_or(|found| found.root.outcome == Outcome::Converged) {
                return found.into_iter().collect();
            }
        }
        match (target - origin[M - 1]).abs() < (FAR * distance.abs()).max(NEAR) {
            true => self.roots_by_gap(*level, target),
            false => vec![],
        }
    }

    fn at_gap(&self, level: usize, ln_gap: f64, near: &Root<M>) -> Root<M> {
        let mut start = near.x;
        start[gap_index(level)] = ln_gap;
        solve(&self.system, Hold::LnGap(level, ln_gap), start, Some(&near.jacobian))
    }

    fn roots_by_gap(&self, level: usize, target: f64) -> Vec<FoundRoot<M>> {
        let gap = gap_index(level);
        let first = &self.points[0];
        let first = solve(&self.system, Hold::LnGap(level, first.y[gap]), first.y, None);
        let smallest = first.x[gap] + SMALLEST.ln();
        // From the largest gap to the smallest.
        let mut known: Vec<Root<M>> = vec![];
        let mut next = self.at_gap(level, first.x[gap] + LARGEST.ln(), &first);
        while next.outcome == Outcome::Converged && next.x[gap] > smallest {
            known.push(next);
            next = self.at_gap(level, next.x[gap] - STEP, &next);
        }
        let excess = |root: &Root<M>| match root.outcome {
            Outcome::Converged => root.x[M - 1] - target,
            _ => f64::NAN,
        };
        // α may be extremal between two gaps.
        let mut places = known.clone();
        for w in known.windows(3) {
            let [a, b, c] = [excess(&w[0]), excess(&w[1]), excess(&w[2])];
            let sign = b.signum();
            let is_lowest = sign * b < (sign * a).min(sign * c) && a * c > 0.0;
            if is_lowest {
                let value = |ln_gap: f64| sign * excess(&self.at_gap(level, ln_gap, &w[1]));
                let (place, lowest) = scalar::minimum(value, w[2].x[gap], w[0].x[gap], 1e-6);
                if lowest < 0.0 {
                    places.push(self.at_gap(level, place, &w[1]));
                }
            }
        }
        places.sort_by(|a, b| b.x[gap].total_cmp(&a.x[gap]));
        let crossings = places.windows(2).filter(|w| excess(&w[0]) * excess(&w[1]) <= 0.0);
        crossings
            .filter_map(|w| {
                let beyond = |ln_gap: f64| excess(&self.at_gap(level, ln_gap, &w[0]));
                let ln_gap = scalar::root(beyond, w[1].x[gap], w[0].x[gap], 1e-11)?;
                let mut root = self.at_gap(level, ln_gap, &w[0]);
                root.residual = root.residual.max(excess(&root).abs());
                root.x[M - 1] = target;
                // The curve leads from small gaps to large ones.
                Some(FoundRoot { root, rises: excess(&w[0]) > excess(&w[1]) })
            })
            .collect()
    }
}
