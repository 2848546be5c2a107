//! Limits in which the answer is known.

use remanent_theory::chain::{ChainParameters, ChainResult};
use remanent_theory::curve::Branch;
use remanent_theory::parameters::{Choice, Prior};
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Termination;

fn chain(alpha: &[f64], beta: f64, r_0: &[f64], gamma: &[f64]) -> ChainResult {
    let parameters = ChainParameters {
        alpha: alpha.to_vec(),
        beta: vec![beta],
        r_0: r_0.to_vec(),
        gamma: gamma.to_vec(),
        ..Default::default()
    };
    let result = parameters.check().unwrap().solve();
    assert!(result.is_converged());
    result
}

fn overlap(eps: f64) -> f64 {
    (std::f64::consts::PI * eps).cos()
}

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1e-30), "{a} {b}");
}

/// Without data the magnetisations are uniform on the cube.
#[test]
fn alpha_to_zero_gives_the_uniform_measure() {
    let s = SingleTask::new(3.0).unwrap().solve(1e-4, Choice::Stable).unwrap();
    close(s.q_d, 1.0 / 3.0, 1e-4);
    assert!(s.q_0 < 1e-4 && s.r < 1e-3);
    close(s.eps, 0.5, 1e-3);
    close(s.minus_beta_f, std::f64::consts::LN_2, 1e-3);
}

#[test]
fn gamma_zero_forgets_the_past() {
    let single = SingleTask::new(20.0).unwrap().solve(2.5, Choice::Stable).unwrap();
    let result = chain(&[2.0, 1.2, 2.5], 20.0, &[0.5, 0.3], &[0.7, 0.0]);
    let last = &result.tasks[2];
    for (a, b) in [
        (last.solution.q_d, single.q_d),
        (last.solution.q_0_hat, single.q_0_hat),
        (last.solution.r_hat, single.r_hat),
        (last.solution.minus_beta_f, single.minus_beta_f),
        (last.solution.eps, single.eps),
    ] {
        close(a, b, 1e-9);
    }
    // The older teachers are known only through the last one.
    close(overlap(last.eps_by_task[1]), 0.3 * last.solution.p, 1e-8);
    close(overlap(last.eps_by_task[0]), 0.15 * last.solution.p, 1e-8);
}

#[test]
fn future_tasks_follow_from_the_teachers_correlation() {
    let result = chain(&[1.5, 2.0, 1.0], 10.0, &[0.5, -0.4], &[1.0]);
    let first = &result.tasks[0];
    close(overlap(first.eps_by_task[1]), 0.5 * first.solution.p, 1e-9);
    close(overlap(first.eps_by_task[2]), -0.2 * first.solution.p, 1e-9);
    let second = &result.tasks[1];
    close(overlap(second.eps_by_task[2]), -0.4 * second.solution.p, 1e-9);
}

#[test]
fn equal_and_opposite_teachers_are_one_system() {
    let same = chain(&[1.5, 2.0], 10.0, &[1.0], &[1.0]);
    close(same.tasks[1].eps_by_task[0], same.tasks[1].eps_by_task[1], 1e-9);
    let opposite = chain(&[1.5, 2.0], 10.0, &[-1.0], &[1.0]);
    close(opposite.tasks[1].eps_by_task[0], 1.0 - opposite.tasks[1].eps_by_task[1], 1e-9);
    // Reversing the teacher once more gives the first case seen in a mirror.
    let back = chain(&[1.5, 2.0, 1.0], 10.0, &[-1.0, -1.0], &[0.5]);
    let third = &back.tasks[2];
    close(third.eps_by_task[0], third.eps_by_task[2], 1e-9);
    close(third.eps_by_task[1], 1.0 - third.eps_by_task[2], 1e-9);
}

/// Overlaps of older tasks where the chain has equal teachers: all errors are the same.
#[test]
fn equal_teachers_leave_one_error() {
    let result = chain(&[1.0, 0.5, 0.7, 1.0], 10.0, &[1.0], &[1.0]);
    for task in &result.tasks {
        for eps in &task.eps_by_task {
            close(*eps, task.solution.eps, 1e-9);
        }
    }
}

#[test]
fn a_strong_anchor_and_no_data_leave_the_old_task_untouched() {
    let mut before = f64::INFINITY;
    for gamma in [1.0, 10.0, 100.0] {
        let result = chain(&[2.0, 1e-3], 20.0, &[0.5], &[gamma]);
        let change = (result.tasks[1].eps_by_task[0] / result.tasks[0].eps_by_task[0] - 1.0).abs();
        assert!(change < 0.3 * before, "{gamma} {change}");
        before = change;
    }
    assert!(before < 1e-2, "{before}");
}

/// KL(m, 0) = ln 2 − S(m): the uniform prior is a strong preference for small |m|,
/// so the same data teach less.
#[test]
fn the_uniform_prior_makes_learning_harder() {
    let free = SingleTask::new(10.0).unwrap();
    let tied = free.with_prior(Prior::Uniform);
    for alpha in [0.5, 1.0, 2.0] {
        let a = free.solve(alpha, Choice::Stable).unwrap();
        let b = tied.solve(alpha, Choice::Stable).unwrap();
        assert!(b.q_d < a.q_d && b.eps > a.eps, "{alpha}");
        assert!(b.is_converged() && b.residual < 1e-10);
    }
}

/// Holding q_d at the value it takes by itself changes nothing.
#[test]
fn a_constraint_at_the_free_value_does_not_constrain() {
    let single = SingleTask::new(20.0).unwrap();
    let free = single.solve(2.0, Choice::Good).unwrap();
    let held = single.with_q_star(free.q_d).unwrap().solve(2.0, Choice::Stable).unwrap();
    close(held.q_d_hat, free.q_d_hat, 1e-6);
    close(held.minus_beta_f, free.minus_beta_f, 1e-10);
    let chain = ChainParameters {
        alpha: vec![2.0, 3.0],
        beta: vec![20.0],
        r_0: vec![0.5],
        gamma: vec![1.0],
        ..Default::default()
    };
    let free = chain.check().unwrap().solve();
    let q_star: Vec<f64> = free.tasks.iter().map(|t| t.solution.q_d).collect();
    let held = ChainParameters { q_star, ..chain }.check().unwrap().solve();
    for (a, b) in held.tasks[1].eps_by_task.iter().zip(&free.tasks[1].eps_by_task) {
        close(*a, *b, 1e-6);
    }
}

#[test]
fn the_constraint_may_be_a_millionth_from_one() {
    for (alpha, choice) in [(2.0, Choice::Stable), (0.5, Choice::Stable), (1.2, Choice::Poor)] {
        let task = SingleTask::new(20.0).unwrap().with_q_star(0.999_999).unwrap();
        let s = task.solve(alpha, choice).unwrap();
        assert_eq!(s.termination, Termination::Converged, "{alpha} {choice:?}");
        assert!(s.residual < 1e-10 && s.quadrature_error < 1e-8, "{alpha} {s:?}");
        close(s.one_minus_q_d, 1e-6, 1e-9);
        // The differences are carried, so the four parts of the unit add up.
        let sum = s.one_minus_q_d + s.q_d_minus_q_0 + s.q_0_minus_r2 + s.r * s.r;
        close(sum, 1.0, 1e-8);
    }
}

#[test]
fn tiny_errors_keep_their_logarithm() {
    let s = SingleTask::new(100.0).unwrap().solve(20.0, Choice::Stable).unwrap();
    assert!(s.is_converged());
    assert!(s.ln_eps.is_finite() && s.ln_eps < -50.0, "{}", s.ln_eps);
    let s = SingleTask::new(20.0).unwrap().solve(3.0, Choice::Stable).unwrap();
    close(s.ln_eps, s.eps.ln(), 1e-12);
}

#[test]
fn a_missing_branch_is_a_value_and_not_an_error() {
    let task = SingleTask::new(20.0).unwrap();
    let rows = task.scan(&[1.0, 1.7, 2.5], Choice::Poor).unwrap();
    let ends: Vec<_> = rows.iter().map(|s| s.termination).collect();
    assert_eq!(ends, [Termination::Converged, Termination::Converged, Termination::NoSolution]);
    assert!(rows[2].eps.is_nan() && rows[2].branch == Branch::Poor && rows[2].alpha == 2.5);
    // Below the critical point there is one curve, and either name gives it.
    for choice in [Choice::Poor, Choice::Good] {
        let s = SingleTask::new(10.0).unwrap().solve(1.5, choice).unwrap();
        assert_eq!(s.branch, Branch::Only);
    }
}
