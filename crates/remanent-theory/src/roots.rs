//! The solutions of one task at one α: roots of its equations, started from its curve.

use remanent_math::linear;
use remanent_math::newton::{Newton, Outcome, Root, differences};

use crate::curve::{Branch, Curve, Start};
use crate::free_energy::free_energy;
use crate::posterior::Posterior;
use crate::resolution::Resolution;
use crate::task::{Coordinates, Task};

/// A root of the equations before its observables are computed.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The branch.
    pub branch: Branch,
    /// Whether it is a saddle between two other solutions.
    pub is_saddle: bool,
    /// Where Newton's method ended.
    pub root: Root<3>,
}

impl Found {
    /// The law of the magnetisations that the task leaves.
    pub fn posterior(&self, task: &Task, resolution: Resolution) -> Posterior {
        let c = task.conjugates(&self.root.x);
        Posterior::new(task.site(&c), &task.fields(&c), resolution)
    }

    /// −βf (or the potential) per weight.
    pub fn minus_beta_f(&self, task: &Task, alpha: f64, resolution: Resolution) -> f64 {
        let c = task.conjugates(&self.root.x);
        task.iterate(&c, resolution)
            .map_or(f64::NAN, |iteration| free_energy(task, alpha, &c, &iteration))
    }
}

/// The fraction of the nodes with which a start is improved.
const COARSE: f64 = 0.34;
/// The residual to which it is: coarse quadrature is not better.
const ROUGH: Newton = Newton {
    tolerance: 1e-6,
    acceptable: 1e-5,
    remaining: f64::INFINITY,
    takes_last: false,
    max_iterations: 8,
    max_step: 0.3,
    difference: 1e-5,
};

/// The root near a start. Where the start was interpolated, most of the way is gone with few nodes,
/// which also provide the Jacobian.
fn polished(task: &Task, alpha: f64, start: &Start, resolution: Resolution) -> Root<3> {
    let (mut x, mut jacobian) = (start.coordinates, start.jacobian);
    if start.between.is_some() {
        let coarse = Resolution::unchecked(COARSE * resolution.factor().min(1.0));
        let mut f = |y: &Coordinates| task.residual(y, alpha.ln(), coarse);
        let rough = ROUGH.solve(&mut f, x, Some(jacobian));
        let moved = linear::max_norm(&linear::axpy(&rough.x, -1.0, &x));
        if rough.outcome == Outcome::Converged
            && moved < ROUGH.max_step
            && let Some(r) = f(&rough.x)
            && let Some(fresh) = differences(&mut f, &rough.x, &r, ROUGH.difference)
        {
            (x, jacobian) = (rough.x, fresh);
        }
    }
    task.solve(alpha, x, Some(jacobian), resolution)
}

/// Every solution on the curve at `alpha`, in the order of the curve.
pub fn roots(curve: &Curve, alpha: f64, resolution: Resolution) -> Vec<Found> {
    roots_on(curve, alpha, resolution, |_| true)
}

/// The solutions on the wanted branches.
pub fn roots_on(
    curve: &Curve,
    alpha: f64,
    resolution: Resolution,
    wanted: impl Fn(Branch) -> bool,
) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for start in curve.starts(alpha).into_iter().filter(|s| wanted(s.branch)) {
        // A root far from its start lies on another branch.
        let solve = |start: &Start| {
            let mut root = polished(curve.task(), alpha, start, resolution);
            if linear::max_norm(&linear::axpy(&root.x, -1.0, &start.coordinates)) > 1.0 {
                root.outcome = Outcome::LeftDomain;
            }
            root
        };
        let mut root = solve(&start);
        if root.outcome != Outcome::Converged
            && let Some(better) = curve.retraced(&start, alpha)
        {
            root = solve(&better);
        }
        found.push(Found { branch: start.branch, is_saddle: start.is_saddle, root });
    }
    found
}
