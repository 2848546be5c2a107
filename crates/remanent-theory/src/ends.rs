//! The two ends of the curve, where a solution is found without a start: α so
//! small, or so large, that iterating the equations leads to it.

use remanent_math::{linear, scalar};

use crate::energy::energy;
use crate::fields::site_averages;
use crate::overlaps::{Conjugates, Overlaps};
use crate::resolution::Resolution;
use crate::task::{Task, constraint};

/// How often the equations are iterated at most.
const ITERATIONS: usize = 12;
/// And until no coordinate moves by more than this.
const SETTLED: f64 = 1e-3;
/// The fraction of the nodes with which they are.
const COARSE: f64 = 0.34;

/// Iterations that go to and fro around the solution without coming nearer: at fixed q_d a strong field may leave so
/// little to the spread of the means that q̂_0 falls with itself, and faster than in proportion.
#[derive(Default)]
struct Oscillation {
    /// ln q̂_0 before an iteration that made it larger, how much larger, and ln r̂ after it.
    low: Option<[f64; 3]>,
    /// The same of one that made it smaller.
    high: Option<[f64; 3]>,
    /// How far the last iteration moved ln q̂_0.
    last: f64,
}

impl Oscillation {
    /// Replaces the conjugates `c` after an iteration from ln q̂_0 = `before` by those between the ends of the
    /// oscillation, if there is one.
    fn is_stopped(&mut self, before: f64, c: &mut Conjugates) -> bool {
        let moved = c.q_0_hat.ln() - before;
        let here = Some([before, moved, c.r_hat.ln()]);
        if moved > 0.0 {
            self.low = here;
        } else {
            self.high = here;
        }
        let (is_slow, last) = (moved.abs() > 0.5 * self.last.abs(), self.last);
        self.last = moved;
        let (Some(low), Some(high)) = (self.low, self.high) else { return false };
        if !is_slow || last == 0.0 {
            return false;
        }
        let fraction = low[1] / (low[1] - high[1]);
        let between = |k: usize| (low[k] + fraction * (high[k] - low[k])).exp();
        let (q_0_hat, r_hat) = (between(0), between(2));
        let is_possible = q_0_hat.is_finite() && r_hat.is_finite();
        if is_possible {
            *c = Conjugates { q_0_hat, r_hat, ..*c };
        }
        is_possible
    }
}

/// Iterates the equations from `c`, with few nodes: the result is polished. None if it leaves the states that are `wanted`.
fn iterate(
    task: &Task,
    mut c: Conjugates,
    alpha: f64,
    resolution: Resolution,
    wanted: impl Fn(&Overlaps) -> bool,
) -> Option<Conjugates> {
    let resolution = Resolution::unchecked(COARSE.min(resolution.factor()));
    let mut oscillation = Oscillation::default();
    for _ in 0..ITERATIONS {
        let before = task.coordinates(&c);
        if task.one_minus_q_star.is_some() {
            c.stiffness = constrained_stiffness(task, &c, resolution)?;
        }
        let iteration = task.iterate(&c, resolution)?;
        wanted(&iteration.site.overlaps).then_some(())?;
        if task.one_minus_q_star.is_none() {
            c.stiffness = alpha * iteration.energy.stiffness;
        }
        c.q_0_hat = alpha * iteration.energy.q_0_hat;
        c.r_hat = alpha * iteration.energy.r_hat;
        if task.one_minus_q_star.is_some() && oscillation.is_stopped(before[1], &mut c) {
            continue;
        }
        let moved = linear::max_norm(&linear::axpy(&task.coordinates(&c), -1.0, &before));
        if moved < SETTLED {
            break;
        }
    }
    Some(c)
}

/// The stiffness at which the self-overlap has its prescribed value; 1 − q_d
/// rises with it. It is sought around that of `c` first.
fn constrained_stiffness(task: &Task, c: &Conjugates, resolution: Resolution) -> Option<f64> {
    let wanted = task.one_minus_q_star?;
    let excess = |y: f64| {
        let trial = Conjugates { stiffness: y.sinh(), ..*c };
        let averages = site_averages(&task.site(&trial), &task.fields(&trial), resolution);
        constraint(&averages.overlaps, wanted)
    };
    let (near, farthest) = (c.stiffness.asinh(), 1e10_f64.asinh());
    [0.5, 4.0, 2.0 * farthest]
        .into_iter()
        .find_map(|reach| {
            let (low, high) = ((near - reach).max(-farthest), (near + reach).min(farthest));
            scalar::root(excess, low, high, 1e-3)
        })
        .map(f64::sinh)
}

fn polished(task: &Task, c: Conjugates, alpha: f64, resolution: Resolution) -> Option<[f64; 4]> {
    let root = task.solve(alpha, task.coordinates(&c), None, resolution);
    // Coarse quadrature has noise of its own.
    (root.residual < 1e-5).then_some([root.x[0], root.x[1], root.x[2], alpha.ln()])
}

/// The solution at an α so small that iterating the equations finds it.
pub(crate) fn start_of_poor(task: &Task, alpha: f64, resolution: Resolution) -> Option<[f64; 4]> {
    // A field from the previous task makes any α of order 0.01 a small one.
    let usual = if task.coupling > 0.0 { 2e-2 } else { 2e-3 };
    let smallest = (usual * (20.0 / task.beta).min(1.0)).min(0.5 * alpha);
    (0..10).find_map(|k| {
        let alpha = smallest * 0.3_f64.powi(k);
        // If a strong anchor meets so little else that its law is hardly resolved, more is tried.
        [1.0, 100.0].into_iter().find_map(|factor| {
            let q_0_hat = factor * alpha;
            let c = Conjugates { stiffness: 0.0, q_0_hat, r_hat: 0.3 * q_0_hat };
            polished(task, iterate(task, c, alpha, resolution, |_| true)?, alpha, resolution)
        })
    })
}

/// The conjugates to which a state near the teacher leads: the nearer, the smaller `small` is.
fn after_teacher(task: &Task, small: f64, alpha: f64, resolution: Resolution) -> Conjugates {
    let kappa = task.one_minus_q_star.unwrap_or(small);
    let (d, v) = (0.01 * small * (1.0 - kappa), 0.01 * small * small * (1.0 - kappa));
    let near = Overlaps {
        one_minus_q_d: kappa,
        q_d_minus_q_0: d,
        q_0_minus_r2: v,
        r: (1.0 - kappa - d - v).sqrt(),
    };
    let energy = energy(&near, task.beta, resolution);
    Conjugates {
        stiffness: alpha * energy.stiffness,
        q_0_hat: alpha * energy.q_0_hat,
        r_hat: alpha * energy.r_hat,
    }
}

/// Whether a state is near the teacher.
fn is_good(task: &Task, overlaps: &Overlaps) -> bool {
    let largest = task.one_minus_q_star.map_or(1.0, |kappa| (1.0 - kappa).sqrt());
    overlaps.r > 0.9 * largest
}

/// Whether the solution at these coordinates is near the teacher.
fn is_good_at(task: &Task, y: &[f64; 4], resolution: Resolution) -> Option<bool> {
    let iteration = task.iterate(&task.conjugates(&[y[0], y[1], y[2]]), resolution)?;
    Some(is_good(task, &iteration.site.overlaps))
}

/// The solution at an α so large that the equations draw any state close to
/// the teacher towards it.
pub(crate) fn start_of_good(
    task: &Task,
    ln_alpha: f64,
    resolution: Resolution,
) -> Option<[f64; 4]> {
    let alpha = ln_alpha.exp();
    (1..12).find_map(|k| {
        let c = after_teacher(task, 0.3_f64.powi(k), alpha, resolution);
        let y = polished(task, iterate(task, c, alpha, resolution, |_| true)?, alpha, resolution)?;
        is_good_at(task, &y, resolution)?.then_some(y)
    })
}

/// The same if the solution `end` at a larger α is not close to the teacher: then there may be two. States that the
/// equations draw away from the teacher are given up at once.
pub(crate) fn start_of_another(
    task: &Task,
    end: &[f64; 4],
    ln_alpha: f64,
    resolution: Resolution,
) -> Option<[f64; 4]> {
    if is_good_at(task, end, resolution)? {
        return None;
    }
    let (alpha, stays) = (ln_alpha.exp(), |overlaps: &Overlaps| is_good(task, overlaps));
    [2, 5, 8, 11].into_iter().find_map(|k| {
        let c = after_teacher(task, 0.3_f64.powi(k), alpha, resolution);
        let y = polished(task, iterate(task, c, alpha, resolution, stays)?, alpha, resolution)?;
        is_good_at(task, &y, resolution)?.then_some(y)
    })
}
