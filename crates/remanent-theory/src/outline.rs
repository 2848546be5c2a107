//! Sketches of the curve of solutions and of a chain: for pictures that follow a slider.
//!
//! [`branches`](crate::branches::branches) solves every row again with more and more nodes, which takes about a hundred
//! times as long as tracing the curve. A sketch takes the points of the trace as they are, and settles points between
//! them with fewer nodes. A sketch of a chain solves each task once, with fewer nodes.
//! Rows say so: `termination` is `inaccurate`, and `quadrature_error` is not known. Errors are below the
//! width of a line (the tests compare the two).

use rayon::prelude::*;
use remanent_math::newton::{Outcome, Root};

use crate::branches::{Branches, Corner, FoldReport, Station, stations};
use crate::chain::{Chain, ChainResult};
use crate::curve::{Branch, CurvePoint};
use crate::parameters::DomainError;
use crate::ranges::ALPHA;
use crate::resolution::Resolution;
use crate::single::SingleTask;
use crate::solution::{Solution, Termination};
use crate::stage::Stage;
use crate::task::Task;

/// Node counts of a sketch: of the points, and of what is reported of them.
const FACTOR: f64 = 0.5;
const REPORTED: f64 = 0.3;
/// Steps of the trace longer than this in ln α are divided.
const SPACING: f64 = 0.08;
/// Into how many parts at the most.
const MOST: f64 = 200.0;

/// Sketches the curve between two values of α: rows, folds and corner. The crossing and the zeros of the
/// replicon are left out.
pub fn outline(single: &SingleTask, low: f64, high: f64) -> Result<Branches, DomainError> {
    let (low, high) = (ALPHA.check("alpha", low)?, ALPHA.check("alpha", high)?);
    let resolution = Resolution::unchecked(FACTOR);
    let Some(curve) = single.curve(high) else {
        return Ok(Branches::default());
    };
    let curve = curve.with_resolution(resolution);
    let at = |branch: Branch, point: &CurvePoint| row(curve.task(), branch, point);
    let (from, to) = (low.ln(), high.ln());
    let strands = curve.strands().iter();
    let rows = strands
        .flat_map(|strand| pieces(&stations(&curve, strand), from, to))
        .collect::<Vec<_>>()
        .into_par_iter()
        .filter_map(|(branch, a, b, x)| {
            // Also a point of the trace is not on the curve: fewer nodes were enough to find the way.
            curve.roughly_between(&a, &b, x).map(|point| (branch, point))
        })
        .filter(|(_, point)| (from - 1e-9..=to + 1e-9).contains(&point.y[3]))
        .map(|(branch, point)| at(branch, &point))
        .collect();
    let mut folds = Vec::new();
    for strand in curve.strands() {
        for number in 0..strand.fold_count() {
            let Some(fold) = curve.fold(strand, number) else { continue };
            let sides = [curve.branch(strand, number), curve.branch(strand, number + 1)];
            let ends = *sides.iter().find(|b| **b != Branch::Middle).unwrap_or(&sides[0]);
            folds.push(FoldReport { alpha: fold.alpha(), ends, solution: at(ends, &fold.point) });
        }
    }
    folds.sort_by(|a, b| a.alpha.total_cmp(&b.alpha));
    let corner = curve.corner_alpha().map(|alpha| Corner { alpha });
    Ok(Branches { rows, folds, corner, ..Branches::default() })
}

/// Sketches chains: the solutions from which they continue, without the others.
pub fn outline_of_chains(chains: Vec<Chain>) -> Vec<ChainResult> {
    let sketched = |chain: Chain| chain.sketched(Resolution::unchecked(FACTOR));
    Chain::solve_all(&chains.into_iter().map(sketched).collect::<Vec<_>>())
}

/// Places between two points of the trace: the branch, the points, and how far from the first.
type Place = (Branch, CurvePoint, CurvePoint, f64);

/// Places along a strand where ln α is between `from` and `to`. The steps of the trace are long, so they are
/// divided.
fn pieces(stations: &[Station], from: f64, to: f64) -> Vec<Place> {
    let mut places = Vec::new();
    for pair in stations.windows(2) {
        let [(_, a), (branch, b)] = pair else { continue };
        let (low, high) = (a.y[3].min(b.y[3]), a.y[3].max(b.y[3]));
        if high < from || low > to || a.y == b.y {
            continue;
        }
        let count = ((high - low) / SPACING).ceil().clamp(1.0, MOST);
        // Only the places inside: a step may begin far below the interval.
        let place = |k: u32| (*branch, *a, *b, f64::from(k) / count);
        let inside = |(.., x): &Place| {
            let reached = a.y[3] + x * (b.y[3] - a.y[3]);
            (from - 2.0 * SPACING..=to + 2.0 * SPACING).contains(&reached)
        };
        places.extend((0..count as u32).map(place).filter(inside));
    }
    if let Some((branch, last)) = stations.last() {
        places.push((*branch, *last, *last, 0.0));
    }
    places
}

/// A point of the trace as it is.
fn row(task: &Task, branch: Branch, point: &CurvePoint) -> Solution {
    let resolution = Resolution::unchecked(REPORTED);
    let alpha = point.y[3].exp();
    let x = [point.y[0], point.y[1], point.y[2]];
    let jacobian = std::array::from_fn(|i| std::array::from_fn(|j| point.jacobian[i][j]));
    let root = Root { x, residual: f64::NAN, jacobian, outcome: Outcome::Converged };
    Stage::at(task, alpha, branch, root, resolution).map_or_else(
        || Solution::none(alpha, task.beta, branch, Termination::LeftDomain),
        |stage| stage.solution,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ChainParameters;
    use crate::parameters::{Choice, Prior};

    #[test]
    fn a_sketch_lies_on_the_curve() {
        for beta in [5.0, 20.0, 45.0, 100.0] {
            let task = SingleTask::new(beta).unwrap();
            let sketch = outline(&task, 0.05, 3.0).unwrap();
            assert!(sketch.rows.len() > 30, "{}", sketch.rows.len());
            let folds = task.curve(3.0).unwrap().folds();
            assert_eq!(sketch.folds.len(), folds.len());
            // Some, and all near the corner, where two branches meet.
            let rows = sketch.rows.iter().enumerate();
            for (_, row) in
                rows.filter(|(i, row)| i % 5 == 0 || (row.alpha / 2.36 - 1.0).abs() < 0.01)
            {
                // At a fold α is not a parameter of the curve.
                if sketch.folds.iter().any(|fold| (fold.alpha / row.alpha - 1.0).abs() < 0.01) {
                    continue;
                }
                let choice = match row.branch {
                    Branch::Only => Choice::Stable,
                    Branch::Poor => Choice::Poor,
                    Branch::Middle => Choice::Middle,
                    Branch::Good => Choice::Good,
                };
                let exact = task.solve(row.alpha, choice).unwrap();
                if exact.eps.is_nan() {
                    continue; // in the corner, where the exact solver gives up
                }
                let off = (row.eps - exact.eps).abs();
                assert!(off < 1e-3, "beta {beta}, alpha {}: {off}", row.alpha);
            }
        }
    }

    #[test]
    fn a_sketch_of_a_chain_is_near_its_solution() {
        for (beta, gamma, prior) in
            [(5.0, 1.0, Prior::None), (20.0, 0.1, Prior::None), (45.0, 3.0, Prior::Uniform)]
        {
            let parameters = ChainParameters {
                alpha: vec![2.0, 0.7, 3.0],
                beta: vec![beta],
                gamma: vec![gamma],
                r_0: vec![0.5, -0.3],
                prior,
                ..ChainParameters::default()
            };
            let chain = parameters.check().unwrap();
            let exact = chain.solve();
            let sketch = outline_of_chains(vec![chain]).remove(0);
            assert_eq!(sketch.tasks.len(), exact.tasks.len());
            for (rough, exact) in sketch.tasks.iter().zip(&exact.tasks) {
                assert_eq!(rough.solution.branch, exact.solution.branch);
                assert_eq!(rough.solution.termination, Termination::Inaccurate);
                for (a, b) in rough.eps_by_task.iter().zip(&exact.eps_by_task) {
                    assert!((a - b).abs() < 1e-3, "beta {beta}, gamma {gamma}: {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn sketches_of_a_scan_are_those_of_its_chains() {
        let chain = |alpha: f64, gamma: f64| {
            let (alpha, beta, r_0) = (vec![alpha, 0.7, 2.0], vec![20.0], vec![0.5]);
            let gamma = vec![gamma, 1.0];
            let parameters = ChainParameters { alpha, beta, gamma, r_0, ..Default::default() };
            parameters.check().unwrap()
        };
        for alpha in [[2.0, 2.0, 2.0], [2.0, 2.0, 1.0]] {
            let chains: Vec<Chain> =
                alpha.iter().zip([0.0, 0.3, 5.0]).map(|(a, gamma)| chain(*a, gamma)).collect();
            let alone = chains.iter().map(|chain| outline_of_chains(vec![chain.clone()]).remove(0));
            let alone: Vec<String> = alone.map(|result| format!("{result:?}")).collect();
            let together = outline_of_chains(chains);
            // As text: fields that are not known are NaN.
            let together: Vec<String> = together.iter().map(|r| format!("{r:?}")).collect();
            assert_eq!(together, alone);
        }
    }
}
