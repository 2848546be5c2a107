//! Solutions are found wherever they are asked for, without a start chosen by hand.

use remanent_math::philox::Stream;
use remanent_theory::branches::branches;
use remanent_theory::chain::ChainParameters;
use remanent_theory::curve::Branch;
use remanent_theory::parameters::{Choice, Prior};
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Solution;

fn log_uniform(u: f64, low: f64, high: f64) -> f64 {
    (low.ln() + u * (high / low).ln()).exp()
}

#[track_caller]
fn assert_sound(s: &Solution, what: &str) {
    assert!(s.is_converged(), "{what}: {:?}", s.termination);
    assert!(s.residual < 1e-10, "{what}: residual {:.1e}", s.residual);
    assert!(s.quadrature_error < 1e-8, "{what}: quadrature error {:.1e}", s.quadrature_error);
    let sum = s.one_minus_q_d + s.q_d_minus_q_0 + s.q_0_minus_r2 + s.r * s.r;
    assert!((sum - 1.0).abs() < 1e-8, "{what}: parts add up to {sum}");
}

#[test]
fn single_tasks_all_over_the_domain() {
    let stream = Stream::new(11, 1, 0, 0);
    for i in 0..40 {
        let u = |k: u32| stream.uniform(4 * i + k);
        let (alpha, beta) = (log_uniform(u(0), 0.01, 20.0), log_uniform(u(1), 0.1, 200.0));
        let prior = if u(2) < 0.3 { Prior::Uniform } else { Prior::None };
        let all = SingleTask::new(beta).unwrap().with_prior(prior).all(alpha).unwrap();
        assert!(!all.is_empty(), "alpha {alpha} beta {beta} {prior:?}");
        for s in &all {
            assert_sound(s, &format!("alpha {alpha} beta {beta} {prior:?} {:?}", s.branch));
        }
    }
}

#[test]
fn constrained_systems_up_to_a_millionth_from_one() {
    let stream = Stream::new(12, 1, 0, 0);
    for i in 0..40 {
        let u = |k: u32| stream.uniform(4 * i + k);
        let (alpha, beta) = (log_uniform(u(0), 0.01, 20.0), log_uniform(u(1), 0.1, 200.0));
        let q_star =
            if u(2) < 0.5 { 0.005 + 0.98 * u(3) } else { 1.0 - log_uniform(u(3), 1e-6, 0.1) };
        let task = SingleTask::new(beta).unwrap().with_q_star(q_star).unwrap();
        let s = task.solve(alpha, Choice::Stable).unwrap();
        assert_sound(&s, &format!("alpha {alpha} beta {beta} q_star {q_star}"));
    }
}

#[test]
fn chains_with_any_similarity_and_protection() {
    let stream = Stream::new(13, 1, 0, 0);
    for i in 0..30 {
        let u = |k: u32| stream.uniform(16 * i + k);
        let tasks = 2 + (3.0 * u(0)) as u32;
        let parameters = ChainParameters {
            alpha: (0..tasks).map(|t| log_uniform(u(4 + t), 0.03, 8.0)).collect(),
            beta: vec![log_uniform(u(1), 1.0, 100.0)],
            r_0: vec![2.0 * u(2) - 1.0],
            gamma: vec![log_uniform(u(3), 0.01, 10.0)],
            ..Default::default()
        };
        let result = parameters.check().unwrap().solve();
        assert_eq!(result.tasks.len(), tasks as usize);
        for task in &result.tasks {
            assert_sound(&task.solution, &format!("task {} of {parameters:?}", task.task));
        }
    }
}

/// Where the error falls steeply without a fold, interpolation between traced
/// points starts Newton's method too far away: these chains once had no solution.
#[test]
fn steep_curves_without_folds() {
    for (alpha, r_0, gamma) in [
        (vec![2.0, 1.9], 0.5, 0.3),
        (vec![2.0, 0.3, 3.0, 3.0], 0.8, 1.0),
        (vec![2.0, 0.31, 2.9, 3.01], 0.8, 1.0),
        (vec![2.0, 0.4, 3.0], 0.8, 1.0),
    ] {
        let parameters = ChainParameters {
            alpha: alpha.clone(),
            beta: vec![20.0],
            r_0: vec![r_0],
            gamma: vec![gamma],
            ..Default::default()
        };
        let result = parameters.check().unwrap().solve();
        assert_eq!(result.tasks.len(), alpha.len(), "{alpha:?}");
        for task in &result.tasks {
            assert_sound(&task.solution, &format!("task {} of {alpha:?}", task.task));
        }
    }
}

/// However near to a fold, on one side there are two solutions, on the other none.
#[test]
fn solutions_meet_at_the_folds() {
    let single = SingleTask::new(20.0).unwrap();
    let result = branches(&single, 1.4, 2.0).unwrap();
    let [good, poor] = result.folds.as_slice() else { panic!("two folds") };
    assert_eq!((good.ends, poor.ends), (Branch::Good, Branch::Poor));
    for distance in [1e-2, 1e-4, 1e-6, 1e-8] {
        for (inside, outside, branch) in [
            (good.alpha + distance, good.alpha - distance, Branch::Good),
            (poor.alpha - distance, poor.alpha + distance, Branch::Poor),
        ] {
            let all = single.all(inside).unwrap();
            assert_eq!(all.len(), 3, "{branch:?} {distance:e}");
            for s in &all {
                assert!(s.is_converged() && s.residual < 1e-10, "{branch:?} {distance:e}");
            }
            let end = all.iter().find(|s| s.branch == branch).unwrap();
            let middle = all.iter().find(|s| s.branch == Branch::Middle).unwrap();
            // They approach one another like the square root of the distance.
            let gap = (end.r - middle.r).abs() / distance.sqrt();
            assert!((0.05..1.5).contains(&gap), "{branch:?} {distance:e}: {gap}");
            let left = single.all(outside).unwrap();
            assert!(left.len() == 1 && left[0].branch != branch, "{branch:?} {distance:e}");
        }
    }
}

/// The folds and the crossing do not depend on the node counts.
#[test]
fn landmarks_stand_still_under_refinement() {
    use remanent_theory::resolution::Resolution;
    let single = SingleTask::new(22.0).unwrap();
    let a = branches(&single, 1.0, 2.5).unwrap();
    let b = branches(&single.with_resolution(Resolution::new(1.5).unwrap()), 1.0, 2.5).unwrap();
    for (x, y) in a.folds.iter().zip(&b.folds) {
        assert!((x.alpha - y.alpha).abs() < 1e-8);
    }
    assert!((a.crossing.unwrap().alpha - b.crossing.unwrap().alpha).abs() < 1e-8);
    assert!((a.replicon_zeros[0].alpha - b.replicon_zeros[0].alpha).abs() < 1e-7);
}

/// Above β ≈ 24.4 the poor branch has no fold: it runs into the corner q_d = 1
/// at an α that does not depend on β.
#[test]
fn the_poor_branch_ends_in_the_corner_at_large_beta() {
    for beta in [25.0, 60.0] {
        let result = branches(&SingleTask::new(beta).unwrap(), 1.0, 3.0).unwrap();
        assert!(result.folds.iter().all(|f| f.ends == Branch::Good));
        let corner = result.corner.expect("a corner").alpha;
        assert!((corner - 2.3675).abs() < 2e-4, "{beta} {corner}");
    }
}
