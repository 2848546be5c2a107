//! An answer laid beside another one with twice the nodes in every direction.
//!
//! The estimate of a row is honest if no converged row moves by more than 1e-8 and the estimate of the finer row, or
//! three times its own if that is smaller. All rows are compared: those from which a chain continues, also after a row that is `inaccurate`, and the other solutions.

use remanent_theory::chain::{ChainResult, TaskResult};
use remanent_theory::solution::Solution;

use super::ACCURACY;

/// What a comparison finds.
#[derive(Default)]
pub struct Comparison {
    /// The largest change of a converged row.
    pub largest: f64,
    /// What must not be, in words.
    pub violations: Vec<String>,
}

impl Comparison {
    /// Of an answer with a finer one.
    pub fn new(result: &ChainResult, fine: &ChainResult) -> Self {
        let mut found = Self::default();
        for (a, b) in result.tasks.iter().zip(&fine.tasks) {
            if !a.solution.is_found() {
                break;
            }
            let is_same = found.continues(a, b);
            if is_same {
                found.row(a.task, &a.solution, &b.solution, difference(a, b));
            }
            found.others(a, b);
            if !is_same {
                break;
            }
        }
        found
    }

    /// Whether both chains continue from the same solution.
    fn continues(&mut self, a: &TaskResult, b: &TaskResult) -> bool {
        if a.solution.branch == b.solution.branch && b.solution.is_found() {
            return true;
        }
        // Two solutions of the same potential: a chain may continue from either.
        let tied = (a.potential - b.potential).abs() < 1e-7 * (1.0 + b.potential.abs());
        if a.solution.is_converged() && !tied {
            self.violations.push(format!(
                "task {}: {} here, {} ({}) with twice the nodes",
                a.task, a.solution.branch, b.solution.branch, b.solution.termination
            ));
        }
        false
    }

    /// The solutions from which the chain does not continue, branch by branch in their order.
    fn others(&mut self, a: &TaskResult, b: &TaskResult) {
        for (i, x) in a.other_solutions.iter().enumerate().filter(|(_, x)| x.is_converged()) {
            let of_branch = |s: &&Solution| s.branch == x.branch;
            let place = a.other_solutions[..i].iter().filter(of_branch).count();
            match b.other_solutions.iter().filter(of_branch).nth(place) {
                Some(y) if y.is_found() => {
                    self.row(a.task, x, y, distance(x, y, &[(x.eps, y.eps)], rare(a)));
                }
                // The two of a tie have changed their roles.
                _ if b.solution.branch == x.branch => {}
                _ => self.violations.push(format!(
                    "task {}: the {} solution is not found with twice the nodes",
                    a.task, x.branch
                )),
            }
        }
    }

    /// A row that differs by `change` from that with twice the nodes.
    fn row(&mut self, task: usize, coarse: &Solution, fine: &Solution, change: f64) {
        if !coarse.is_converged() {
            return;
        }
        self.largest = f64::max(self.largest, change);
        let (estimate, of_fine) = (coarse.quadrature_error, fine.quadrature_error);
        if change > ACCURACY + f64::min(3.0 * estimate, of_fine) {
            self.violations.push(format!(
                "task {task}: the {} solution moved by {change:.1e}, estimate {estimate:.1e}, with twice the nodes \
                 {of_fine:.1e}",
                coarse.branch
            ));
        }
    }
}

/// The largest relative difference of the solutions from which chains continue, and of the errors on all tasks.
fn difference(a: &TaskResult, b: &TaskResult) -> f64 {
    let errors: Vec<_> = a.eps_by_task.iter().copied().zip(b.eps_by_task.iter().copied()).collect();
    distance(&a.solution, &b.solution, &errors, rare(a))
}

/// Squares of errors below this count as this: ε² is (2/π²)(1 − p) where it is small, and after an anchor 1 − p is
/// known to 1e-25.
fn rare(task: &TaskResult) -> f64 {
    if task.eps_by_task.len() > 1 { 1e-18 } else { 1e-140 }
}

/// The largest relative difference of two rows. Positive numbers and the conjugates
/// count by their own size; r, p, A, −βf and the replicon by one that does not
/// vanish where they change their sign.
fn distance(x: &Solution, y: &Solution, errors: &[(f64, f64)], rare: f64) -> f64 {
    let stiffness = |s: &Solution| s.q_0_hat - s.q_d_hat;
    let mut pairs = vec![
        (x.one_minus_q_d, y.one_minus_q_d, 0.0),
        (x.q_d_minus_q_0, y.q_d_minus_q_0, 0.0),
        (x.q_0_minus_r2, y.q_0_minus_r2, 0.0),
        (x.q_d, y.q_d, 0.0),
        (x.q_0, y.q_0, 0.0),
        (x.r, y.r, 0.01 * y.q_0.sqrt()),
        (x.q_0_hat, y.q_0_hat, 0.0),
        (x.r_hat, y.r_hat, 0.0),
        (stiffness(x), stiffness(y), (1.0 + y.q_0_hat).sqrt()),
        (x.p, y.p, 1e-3),
        (x.minus_beta_f, y.minus_beta_f, 0.01),
        (x.replicon, y.replicon, 1.0),
    ];
    pairs.extend(errors.iter().map(|(x, y)| (x * x, y * y, rare)));
    pairs
        .iter()
        .map(|(x, y, size)| (x - y).abs() / y.abs().max(*size).max(1e-300))
        .fold(0.0, |worst, d| if d.is_nan() { f64::INFINITY } else { f64::max(worst, d) })
}
