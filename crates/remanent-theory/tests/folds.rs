//! Folds that long steps along the curve of solutions would miss.

use remanent_theory::chain::{Chain, ChainParameters};
use remanent_theory::curve::{Branch, Curve, Strand};
use remanent_theory::parameters::{Choice, Prior};
use remanent_theory::phase::phase_diagram;
use remanent_theory::resolution::Resolution;
use remanent_theory::roots::roots;
use remanent_theory::single::SingleTask;
use remanent_theory::task::Task;

/// How many folds a trace finds, and how many one with short steps.
fn folds(task: Task, alpha: f64) -> (usize, usize) {
    let count = |curve: Curve| curve.strands().iter().map(Strand::fold_count).sum();
    let quick = Curve::trace(task, alpha, Resolution::STANDARD).unwrap();
    let fine = Curve::trace_finely(task, alpha, alpha, Resolution::STANDARD).unwrap();
    (count(quick), count(fine))
}

fn chain(alpha: &[f64], beta: f64, gamma: f64, r_0: f64, q_star: &[f64]) -> Chain {
    let parameters = ChainParameters {
        alpha: alpha.to_vec(),
        beta: vec![beta],
        gamma: vec![gamma],
        r_0: vec![r_0],
        q_star: q_star.to_vec(),
        ..ChainParameters::default()
    };
    parameters.check().unwrap()
}

/// Steps that would lead past both folds, or tangents that would not show them.
#[test]
fn no_step_leads_past_two_folds() {
    for (beta, kappa) in [
        (1.0, 0.02),
        (1.0, 0.0099),
        (2.0, 0.03),
        (0.4533, 0.015419),
        (0.8542, 0.0069577),
        (1.3452, 0.032108),
        (14.43, 5.1051e-5),
        (196.4, 1.61755e-6),
    ] {
        let chain = chain(&[1.0], beta, 1.0, 0.0, &[1.0 - kappa]);
        let (quick, fine) = folds(chain.task(0, None).unwrap(), 60.0);
        assert!(quick == fine && fine > 0, "beta {beta}, 1 - q_star {kappa}: {quick}, {fine}");
    }
}

/// Two folds 0.15 % apart in α, where the curve of a coarse trace rises slowly at best.
#[test]
fn a_narrow_pair_of_folds_is_found_by_exact_tangents() {
    let parameters = ChainParameters {
        alpha: vec![107.81],
        beta: vec![21.751281432644543],
        q_star: vec![1.0 - 0.0959256555632425],
        prior: Prior::Uniform,
        ..ChainParameters::default()
    };
    let chain = parameters.check().unwrap();
    assert_eq!(folds(chain.task(0, None).unwrap(), 107.81), (2, 2));
}

/// The same after another task, where the pairs are narrow.
#[test]
fn no_step_of_a_second_task_leads_past_two_folds() {
    for (beta, alpha, gamma, r_0) in [
        (1.657653, [0.376343, 0.01508], 10.770408, -0.647404),
        (2.101426, [3.781162, 1.731], 6.205605, 0.238814),
    ] {
        let chain = chain(&alpha, beta, gamma, r_0, &[]);
        let first = chain.task(0, None).unwrap();
        let curve = Curve::trace(first, alpha[0], Resolution::STANDARD).unwrap();
        let found = roots(&curve, alpha[0], Resolution::STANDARD)[0];
        let law = found.posterior(&first, Resolution::STANDARD).inherited(r_0);
        assert_eq!(folds(chain.task(1, Some(&law)).unwrap(), alpha[1]), (2, 2), "beta {beta}");
    }
}

/// Three solutions, of which a trace with long steps finds one and calls it the only one.
#[test]
fn all_solutions_between_such_folds_are_found() {
    let task = SingleTask::new(1.0).unwrap().with_q_star(0.98).unwrap();
    for (choice, branch) in [
        (Choice::Poor, Branch::Poor),
        (Choice::Middle, Branch::Middle),
        (Choice::Good, Branch::Good),
    ] {
        let solution = task.solve(1.4, choice).unwrap();
        assert!(solution.is_converged() && solution.branch == branch, "{solution:?}");
    }
}

/// Just above the β at which replica symmetry first breaks, 11.62599, the replicon is negative between two zeros close together.
#[test]
fn both_zeros_of_the_replicon_are_found() {
    let rows = phase_diagram(&[11.6, 11.63, 11.64, 11.7, 12.0], Prior::None, &|| ()).unwrap().rows;
    let zeros: Vec<Vec<f64>> =
        rows.iter().map(|row| row.replicon_zeros.iter().map(|zero| zero.alpha).collect()).collect();
    assert!(zeros[0].is_empty());
    // The distance from the first breaking grows with the root of that in β.
    for (zeros, beta) in zeros[1..].iter().zip([11.63, 11.64, 11.7, 12.0]) {
        assert_eq!(zeros.len(), 2, "beta {beta}");
        let width = (zeros[1] - zeros[0]) / (beta - 11.62599_f64).sqrt();
        assert!((width / 0.522 - 1.0).abs() < 0.06, "beta {beta}: {width}");
    }
}
