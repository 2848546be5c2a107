//! The judge of figure 3d, tested with numbers that must fail it.

use super::*;
use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

/// Theory that falls from 0.5 to 0.3, and slow SGD that lies so far above it.
fn measured(above: f64, noise: f64) -> Measured {
    let theory = |beta: f64| Theory {
        beta,
        curve: (0..=4).map(|i| 0.25 * f64::from(i)).map(|q| (q, Some(0.5 - 0.2 * q))).collect(),
    };
    let row = |q_star: f64| Moment { q_star, eps: trials(0.5 - 0.2 * q_star + above, noise) };
    Measured { rows: [0.1, 0.3, 0.5, 0.9].map(row).into(), theory: vec![theory(5.0), theory(20.0)] }
}

/// Four trials about a value.
fn trials(eps: f64, noise: f64) -> Vec<f64> {
    [0.5, -0.5, 1.0, -1.0].iter().map(|part| eps + part * noise).collect()
}

fn claims(measured: &Measured) -> Vec<Claim> {
    match Norm::judge(measured).findings {
        Findings::Claims(claims) => claims,
        Findings::Answers(_) => unreachable!("a figure of the paper"),
    }
}

fn outcome(measured: &Measured, claim: usize) -> Outcome {
    claims(measured)[claim].outcome
}

#[test]
fn slow_sgd_is_near_the_published_theory_far_from_it_or_neither() {
    assert_eq!(outcome(&measured(0.01, 0.002), 0), Supported);
    assert_eq!(outcome(&measured(-0.2, 0.002), 0), Contradicted);
    assert_eq!(outcome(&measured(0.05, 0.02), 0), Undecided);
    // The theory of another β does not count, and is remarked.
    let mut other = measured(0.01, 0.002);
    other.theory[1].curve.iter_mut().for_each(|at| at.1 = at.1.map(|eps| eps - 0.2));
    let claim = claims(&other).remove(0);
    assert_eq!(claim.outcome, Supported);
    let remarks: Vec<Outcome> = claim.remarks.iter().map(|test| test.outcome).collect();
    // Consistent at β = 5, close and consistent at β = 20.
    assert_eq!(remarks, [Contradicted; 3]);
    assert!(Norm::judge(&other).notes[1].contains("β = 5."));
}

#[test]
fn a_theory_that_is_missing_somewhere_does_not_agree() {
    let mut some = measured(0.01, 0.002);
    some.theory[0].curve[1].1 = None;
    assert_eq!(outcome(&some, 0), Undecided);
    assert_eq!(outcome(&some, 1), Undecided);
    some.theory.remove(0);
    assert_eq!(outcome(&some, 0), Undecided);
    let mut outside = measured(0.01, 0.002);
    outside.rows[3].q_star = 1.1;
    assert_eq!(outcome(&outside, 0), Undecided);
    outside.rows[3].q_star = 1.0 + 1e-6;
    assert_eq!(outcome(&outside, 0), Supported);
}

#[test]
fn both_errors_must_fall() {
    assert_eq!(outcome(&measured(0.01, 0.002), 1), Supported);
    let mut rising = measured(0.01, 0.002);
    rising.rows[3].eps = trials(0.6, 0.002);
    assert_eq!(outcome(&rising, 1), Contradicted);
    let mut theory_rises = measured(0.01, 0.002);
    theory_rises.theory[0].curve[3].1 = Some(0.45);
    assert_eq!(outcome(&theory_rises, 1), Contradicted);
    let mut noisy = measured(0.01, 0.002);
    noisy.rows[3].eps = trials(0.4, 0.2);
    assert_eq!(outcome(&noisy, 1), Undecided);
    noisy.rows[3].eps.truncate(2);
    assert_eq!(outcome(&noisy, 1), Undecided);
}
