//! The judge of figure 3b, tested with numbers that must fail it.

use remanent_theory::curve::Branch;
use remanent_theory::solution::{Solution, Termination};

use super::*;
use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

/// As the paper says.
fn agreeing() -> Measured {
    let at = |alpha: f64, eps: f64| AtAlpha {
        alpha,
        eps: (0..8).map(|i| eps * (1.0 + 0.01 * f64::from(i % 3 - 1))).collect(),
        theory: Some(eps + 0.01),
        one_step: Some(eps + 0.005),
    };
    Measured {
        beta: 20.0,
        simulated: vec![at(0.5, 0.4), at(1.0, 0.3), at(1.7, 0.0)],
        crossing: None,
        jump: Some(0.2),
        one_step: OneStep { onset: Some(0.7), crossing: None, jump: Some(0.0) },
        exponents: Some([12.5, 13.5]),
        fit: Some(13.0),
        critical_eps: Some(0.005),
    }
}

/// What the judge says of a claim if something is different.
fn outcome(claim: usize, change: impl Fn(&mut Measured)) -> Outcome {
    let mut measured = agreeing();
    change(&mut measured);
    match ErrorCurve::judge(&measured).findings {
        Findings::Claims(claims) => claims[claim].outcome,
        Findings::Answers(_) => unreachable!("a figure of the paper"),
    }
}

#[test]
fn all_claims_can_hold() {
    for claim in 0..5 {
        assert_eq!(outcome(claim, |_| ()), Supported, "{claim}");
    }
}

#[test]
fn sgd_far_from_the_theory_contradicts_and_a_missing_theory_is_open() {
    let theory =
        |value: Option<f64>| move |measured: &mut Measured| measured.simulated[0].theory = value;
    assert_eq!(outcome(0, theory(Some(0.1))), Contradicted);
    assert_eq!(outcome(0, theory(None)), Undecided);
    assert_eq!(outcome(0, |measured| measured.simulated[0].eps.truncate(2)), Undecided);
    let vague = |measured: &mut Measured| measured.simulated[0].eps = vec![0.2, 0.5, 0.5, 0.2];
    assert_eq!(outcome(0, vague), Undecided);
}

#[test]
fn a_jump_is_not_continuous() {
    // That in replica symmetry does not count.
    let jump = |jump: Option<f64>| move |measured: &mut Measured| measured.one_step.jump = jump;
    assert_eq!(outcome(1, jump(Some(0.009))), Supported);
    assert_eq!(outcome(1, jump(Some(0.1))), Contradicted);
    assert_eq!(outcome(1, jump(None)), Undecided);
}

#[test]
fn exponents_far_from_the_published_one_are_no_such_law() {
    assert_eq!(outcome(2, |measured| measured.exponents = Some([5.0, 13.1])), Contradicted);
    assert_eq!(outcome(2, |measured| measured.exponents = Some([13.1, 20.0])), Contradicted);
    assert_eq!(outcome(2, |measured| measured.exponents = None), Undecided);
}

#[test]
fn most_trials_must_be_without_error() {
    let perfect = |count: usize| {
        move |measured: &mut Measured| {
            measured.simulated[2].eps = (0..8).map(|i| if i < count { 0.0 } else { 0.1 }).collect();
        }
    };
    assert_eq!(outcome(3, perfect(8)), Supported);
    assert_eq!(outcome(3, perfect(0)), Contradicted);
    assert_eq!(outcome(3, perfect(5)), Undecided);
}

#[test]
fn a_theory_with_errors_after_the_transition_contradicts() {
    assert_eq!(outcome(4, |measured| measured.critical_eps = Some(0.1)), Contradicted);
    assert_eq!(outcome(4, |measured| measured.critical_eps = None), Undecided);
}

#[test]
fn a_power_law_has_one_exponent_and_is_fitted_by_it() {
    let point = |alpha: f64| Solution {
        ln_eps: (3.0 * alpha.powf(-13.1)).ln(),
        ..Solution::none(alpha, 20.0, Branch::Good, Termination::Converged)
    };
    let points: Vec<Solution> = (0..20).map(|i| point(1.7 + 0.05 * f64::from(i))).collect();
    assert!((fitted_exponent(&points).unwrap() - 13.1).abs() < 1e-9);
    assert!(local_exponents(&points).iter().all(|(_, slope)| (slope - 13.1).abs() < 1e-9));
    assert_eq!(fitted_exponent(&points[..1]), None);
    assert_eq!(fitted_exponent(&[]), None);
}
