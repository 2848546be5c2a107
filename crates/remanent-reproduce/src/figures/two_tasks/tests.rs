//! Judges of figures 2b and 2c, tested with numbers that must fail them.

use super::*;
use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

/// Four trials about a value.
fn about(value: f64) -> Vec<f64> {
    [0.001, -0.002, 0.002, -0.001].iter().map(|noise| value + noise).collect()
}

/// Four trials about a value that is hardly known.
fn vaguely(value: f64) -> Vec<f64> {
    [0.1, -0.2, 0.2, -0.1].iter().map(|noise| value + noise).collect()
}

fn outcomes(findings: Findings) -> Vec<Outcome> {
    match findings {
        Findings::Claims(claims) => claims.iter().map(|claim| claim.outcome).collect(),
        Findings::Answers(_) => unreachable!("a figure of the paper"),
    }
}

/// As the paper says.
fn first() -> FirstCase {
    FirstCase {
        alpha_2: 1.0,
        switch: about(0.05),
        late: about(0.201),
        end: about(0.2),
        traditional_switch: about(0.1),
        traditional_end: about(0.4),
    }
}

fn judge_first(other: FirstCase) -> Vec<Outcome> {
    outcomes(FirstTask::judge(&First { cases: vec![first(), other] }).findings)
}

#[test]
fn the_first_task_is_judged_by_every_alpha() {
    assert_eq!(judge_first(first()), [Supported; 3]);
    let few = || vec![0.2, 0.3];
    let short = FirstCase { switch: few(), late: few(), end: few(), ..first() };
    assert_eq!(judge_first(short), [Undecided; 3]);
}

#[test]
fn an_error_that_falls_or_hardly_rises_does_not_rise() {
    assert_eq!(judge_first(FirstCase { switch: about(0.3), ..first() })[0], Contradicted);
    assert_eq!(judge_first(FirstCase { switch: vaguely(0.15), ..first() })[0], Undecided);
}

#[test]
fn an_error_that_drifts_is_not_stable() {
    for late in [0.17, 0.23] {
        assert_eq!(judge_first(FirstCase { late: about(late), ..first() })[1], Contradicted);
    }
    assert_eq!(judge_first(FirstCase { late: vaguely(0.2), ..first() })[1], Undecided);
}

#[test]
fn traditional_learning_that_remembers_is_not_poor() {
    let traditional = |eps| judge_first(FirstCase { traditional_end: eps, ..first() })[2];
    assert_eq!(traditional(about(0.15)), Contradicted);
    assert_eq!(traditional(vaguely(0.25)), Undecided);
}

/// As the paper says.
fn second(alpha_2: f64) -> SecondCase {
    let end = 0.4 - 0.1 * alpha_2;
    SecondCase {
        alpha_2,
        switch: about(0.5),
        end: about(end),
        traditional_end: about(end + 0.1),
        alone_end: about(end - 0.1),
    }
}

fn judge_second(other: SecondCase) -> Vec<Outcome> {
    outcomes(SecondTask::judge(&Second { cases: vec![second(1.0), other] }).findings)
}

#[test]
fn the_second_task_is_judged_by_every_alpha() {
    assert_eq!(judge_second(second(2.0)), [Supported; 4]);
    let few = || vec![0.2, 0.3];
    let short = SecondCase { switch: few(), end: few(), ..second(2.0) };
    assert_eq!(judge_second(short), [Undecided; 4]);
}

#[test]
fn every_claim_on_the_second_task_can_fail_and_be_open() {
    type Change = fn(&mut SecondCase, Vec<f64>);
    // The claim, what is changed, and a value that fails it; a vague value near the end leaves it open.
    let changes: [(usize, Change, f64); 3] = [
        (0, |case, eps| case.switch = eps, 0.1),
        (1, |case, eps| case.alone_end = eps, 0.3),
        (3, |case, eps| case.traditional_end = eps, 0.1),
    ];
    for (claim, change, fails) in changes {
        for (eps, outcome) in [(about(fails), Contradicted), (vaguely(0.2), Undecided)] {
            let mut case = second(2.0);
            change(&mut case, eps);
            assert_eq!(judge_second(case)[claim], outcome, "{claim}");
        }
    }
    // More examples, and a larger error.
    assert_eq!(judge_second(SecondCase { alpha_2: 2.0, ..second(0.5) })[2], Contradicted);
    assert_eq!(judge_second(SecondCase { end: vaguely(0.3), ..second(2.0) })[2], Undecided);
}
