//! Broken replica symmetry against values of an independent solver, and what must
//! hold besides.

use std::collections::HashMap;

use remanent_theory::overlaps::Resolution;
use remanent_theory::parameters::{Choice, Prior};
use remanent_theory::rsb::{BrokenTask, RsbSolution, TOLERANCE};
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Termination;

type Row = HashMap<String, String>;

fn rows() -> Vec<Row> {
    let mut lines = include_str!("reference/rsb.csv").lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            header.iter().map(|h| (*h).to_owned()).zip(line.split(',').map(str::to_owned)).collect()
        })
        .collect()
}

fn number(row: &Row, column: &str) -> Option<f64> {
    row[column].parse().ok()
}

fn task(beta: f64) -> BrokenTask {
    BrokenTask::new(SingleTask::new(beta).unwrap())
}

fn columns(s: &RsbSolution) -> Vec<(&'static str, f64)> {
    const Q: [&str; 3] = ["q0", "q1", "q2"];
    const HATS: [&str; 3] = ["q0h", "q1h", "q2h"];
    const LAMBDAS: [&str; 3] = ["lam0", "lam1", "lam2"];
    const X: [&str; 2] = ["x1", "x2"];
    let mut columns = vec![
        ("qd", s.q_d),
        ("r", s.r),
        ("qdh", s.q_d_hat),
        ("rh", s.r_hat),
        ("phi", s.minus_beta_f),
        ("p", s.p),
        ("eps", s.eps),
    ];
    for l in 0..=s.steps {
        columns.push((Q[l], s.q[l]));
        columns.push((HATS[l], s.q_hat[l]));
        columns.push((LAMBDAS[l], s.stability[l]));
    }
    for l in 0..s.steps {
        columns.push((X[l], s.x[l]));
    }
    columns
}

/// The largest error of a row in units of its tolerance.
fn compare(row: &Row, s: &RsbSolution, relative: f64) -> f64 {
    assert!(s.is_converged(), "{row:?} {s:?}");
    let acc = number(row, "acc").unwrap();
    let mut worst: f64 = 0.0;
    for (column, computed) in columns(s) {
        let expected = number(row, column).unwrap_or_else(|| panic!("{column} in {row:?}"));
        // A stability may vanish; the others are compared by their ratio.
        let is_stability = column.starts_with("lam");
        let size = if is_stability { expected.abs() + 1e-2 } else { expected.abs() };
        let error = (computed - expected).abs() / size;
        let tolerance = relative + 3.0 * acc;
        worst = worst.max(error);
        assert!(
            error < tolerance,
            "{column}: {computed} against {expected} ({error:.1e} > {tolerance:.1e}) in {row:?}"
        );
    }
    worst
}

fn check_reference(beta: f64, steps: usize) {
    let task = task(beta);
    for row in rows() {
        let of = |column: &str| number(&row, column).unwrap();
        if of("beta") != beta || of("K") != steps as f64 {
            continue;
        }
        let alpha = of("alpha");
        let near = |found: f64| assert!((found / alpha - 1.0).abs() < 1e-8, "{found} {row:?}");
        let (solution, tolerance) = match (row["kind"].as_str(), row["branch"].as_str()) {
            ("point", "poor") => (task.poor(alpha, steps).unwrap(), 1e-7),
            ("lam_1=0", _) => {
                let s = task.stability_zeros(1, 1).remove(0);
                (s, 1e-6)
            }
            ("lam_0=0", _) => {
                let s = task.stability_zeros(1, 0).into_iter().find(|s| s.alpha > 1.0).unwrap();
                (s, 1e-6)
            }
            ("onset lam=0", _) => (task.onset().unwrap(), 1e-7),
            ("crossing", "poor") if steps > 0 => (task.crossing(steps).unwrap().poor, 1e-7),
            // The solution moves with the square root of the distance to a fold: the
            // reference values are those at about 1e-11 from it in α.
            ("fold", "poor") if steps > 0 => (task.fold(steps).unwrap(), 1e-5),
            (_, branch) => {
                let choice = if branch == "poor" { Choice::Poor } else { Choice::Good };
                let s = task.single().solve(alpha, choice).unwrap();
                (RsbSolution::symmetric(&s, false), if row["kind"] == "fold" { 1e-4 } else { 1e-7 })
            }
        };
        if row["kind"] == "crossing" || row["kind"] == "fold" || row["kind"].starts_with("onset") {
            near(solution.alpha);
        } else {
            assert!((solution.alpha / alpha - 1.0).abs() < 1e-6, "{row:?}");
        }
        // A fold given to ten digits fixes the solution there to five.
        if steps == 0 && row["kind"] == "fold" && !solution.is_converged() {
            continue;
        }
        let worst = compare(&row, &solution, tolerance);
        println!("{:12} K {steps} beta {beta:3} alpha {alpha:<13} {worst:.1e}", row["kind"]);
    }
}

#[test]
fn replica_symmetric_rows() {
    check_reference(20.0, 0);
    check_reference(50.0, 0);
}

#[test]
fn one_step_at_beta_20() {
    check_reference(20.0, 1);
}

#[test]
fn two_steps_at_beta_20() {
    check_reference(20.0, 2);
}

#[test]
fn one_step_at_larger_beta() {
    check_reference(30.0, 1);
    check_reference(50.0, 1);
}

/// The crossings of rsb at β = 100 and 200 tend to the binary perceptron's 1.245.
#[test]
fn crossings_fall_with_beta() {
    let mut before = f64::INFINITY;
    for (beta, expected) in [(30.0, 1.437), (100.0, 1.307), (200.0, 1.273)] {
        let crossing = task(beta).crossing(1).unwrap();
        assert!((crossing.alpha - expected).abs() < 6e-4, "{beta}: {}", crossing.alpha);
        assert!(crossing.alpha < before && crossing.alpha > 1.245);
        before = crossing.alpha;
    }
}

#[test]
fn twice_the_nodes_move_nothing() {
    for (beta, alphas) in [(20.0, [0.735, 1.2, 1.52]), (50.0, [0.6, 1.0, 1.4])] {
        let (coarse, fine) = (
            task(beta),
            BrokenTask::new(
                SingleTask::new(beta).unwrap().with_resolution(Resolution::STANDARD.doubled()),
            ),
        );
        for alpha in alphas {
            let (a, b) = (coarse.poor(alpha, 1).unwrap(), fine.poor(alpha, 1).unwrap());
            assert!(a.quadrature_error < 1e-8, "{}", a.quadrature_error);
            for ((column, a), (_, b)) in columns(&a).into_iter().zip(columns(&b)) {
                assert!((a - b).abs() < 2e-9 * (0.1 + b.abs()), "{beta} {alpha} {column} {a} {b}");
            }
        }
    }
    let (coarse, fine) = (
        task(20.0),
        BrokenTask::new(SingleTask::new(20.0).unwrap().with_resolution(Resolution(1.3))),
    );
    let (a, b) = (coarse.poor(1.1, 2).unwrap(), fine.poor(1.1, 2).unwrap());
    for ((column, a), (_, b)) in columns(&a).into_iter().zip(columns(&b)) {
        assert!((a - b).abs() < 2e-8 * (0.1 + b.abs()), "{column} {a} {b}");
    }
}

/// Towards the onset everything goes to the replica-symmetric solution there, in
/// proportion to the distance in α, and nothing is ever not a number.
#[test]
fn the_broken_branch_joins_the_symmetric_one() {
    let task = task(20.0);
    let onset = task.onset().unwrap();
    let mut x = f64::NAN;
    for exponent in 2..=8 {
        let distance = 10f64.powi(-exponent);
        let s = task.poor(onset.alpha + distance, 1).unwrap();
        if exponent <= 4 {
            assert!(s.is_converged(), "{exponent}");
        }
        if !s.is_converged() {
            assert_eq!(s.termination, Termination::LeftDomain);
            continue;
        }
        let numbers = columns(&s);
        assert!(numbers.iter().all(|(_, v)| v.is_finite()), "{numbers:?}");
        assert!((s.q_d - onset.q_d).abs() < distance && (s.r - onset.r).abs() < distance);
        let gap = s.q_gaps[0] / distance;
        assert!((2.0..4.2).contains(&gap), "{exponent} {gap}");
        x = s.x[0];
    }
    assert!((x - 0.9027).abs() < 2e-3, "{x}");
    assert_eq!(task.poor(0.7, 1).unwrap().termination, Termination::NoSolution);
    assert_eq!(task.poor(1.54, 1).unwrap().termination, Termination::NoSolution);
}

/// Both sides of the fold, and nothing beyond it.
#[test]
fn two_solutions_meet_at_the_fold() {
    let task = task(20.0);
    let fold = task.fold(1).unwrap();
    for distance in [1e-2, 1e-4, 1e-7] {
        let all = task.solve(fold.alpha - distance, 1).unwrap();
        assert_eq!(all.len(), 2, "{distance}");
        assert!(all.iter().all(|s| s.is_converged() && s.residual < 1e-9));
        assert!(!all[0].is_saddle && all[1].is_saddle);
        assert!(all[0].r < fold.r && all[1].r > fold.r);
    }
    assert!(task.solve(fold.alpha + 1e-6, 1).unwrap().is_empty());
}

/// At β = 50 clusters appear at a distance, with x = 1, while the replicon is positive.
#[test]
fn a_discontinuous_onset_is_noticed() {
    let task = task(50.0);
    let begin = task.beginning().unwrap();
    assert!((begin.alpha - 0.5194).abs() < 1e-4, "{}", begin.alpha);
    assert!((begin.x[0] - 1.0).abs() < 1e-8 && (begin.q_gaps[0] - 0.095).abs() < 1e-3);
    assert!(task.onset().unwrap().alpha > 0.534);
    // The same place, from the equation of the gap at x = 1.
    let clusters = task.at_one(begin.alpha).unwrap();
    assert!(clusters.complexity.abs() < 1e-9, "{}", clusters.complexity);
    assert!((clusters.q_gaps[0] / begin.q_gaps[0] - 1.0).abs() < 1e-6);
    assert!(
        (clusters.minus_beta_f / task.poor(begin.alpha, 0).unwrap().minus_beta_f - 1.0).abs()
            < 1e-9
    );
    let before = task.at_one(begin.alpha - 0.002).unwrap();
    assert!(before.complexity > 0.0, "{}", before.complexity);
    let auto = task.auto(0.525, Choice::Poor, TOLERANCE).unwrap();
    assert!(auto.is_discontinuous && auto.solution.steps == 1 && auto.is_stable);
    assert!(task.poor(0.525, 0).unwrap().stability[0] > 0.0);
    let auto = task.auto(0.515, Choice::Poor, TOLERANCE).unwrap();
    assert!(!auto.is_discontinuous && auto.solution.steps == 0);
}

#[test]
fn as_many_steps_as_needed() {
    let task = task(20.0);
    for (alpha, steps, stable) in [(0.5, 0, true), (0.8, 1, true), (1.0, 2, false)] {
        let auto = task.auto(alpha, Choice::Poor, TOLERANCE).unwrap();
        assert_eq!((auto.solution.steps, auto.is_stable), (steps, stable), "{alpha}");
        assert!(!auto.is_discontinuous);
    }
    // Across the crossing the stable state changes from the broken to the good one.
    let before = task.auto(1.517, Choice::Stable, TOLERANCE).unwrap();
    let after = task.auto(1.519, Choice::Stable, TOLERANCE).unwrap();
    assert_eq!((before.solution.steps, after.solution.steps), (2, 0));
    assert!(before.solution.eps > 0.1 && after.solution.eps < 0.05);
    assert!(!task.auto(1.6, Choice::Poor, TOLERANCE).unwrap().solution.is_converged());
    // At β = 5 replica symmetry never breaks.
    let quiet = self::task(5.0);
    assert!(quiet.onset().is_none() && quiet.solve(1.0, 1).unwrap().is_empty());
    assert_eq!(quiet.auto(1.0, Choice::Stable, TOLERANCE).unwrap().solution.steps, 0);
}

/// Below β ≈ 17 the broken branch joins the good one without a fold.
#[test]
fn the_transition_is_continuous_at_small_beta() {
    let task = task(16.0);
    assert!(task.fold(1).is_none() && task.crossing(1).is_none());
    let rows = task.branch(1);
    let last = rows.last().unwrap();
    assert!((last.alpha - 1.576).abs() < 2e-3 && last.q_gaps[0] < 5e-3, "{last:?}");
}

/// The branch as it is drawn: solutions of the equations, without large steps.
#[test]
fn a_drawn_branch_is_smooth() {
    let rows = task(20.0).branch(1);
    assert!(rows.len() > 80 && rows.iter().all(|s| s.residual < 2e-9));
    assert!(rows.windows(2).all(|w| (w[0].eps - w[1].eps).abs() < 0.01));
    let alphas: Vec<f64> = rows.iter().map(|s| s.alpha).collect();
    let turns = alphas.windows(3).filter(|w| (w[1] - w[0]) * (w[2] - w[1]) < 0.0).count();
    assert_eq!(turns, 1);
}

/// With a uniform prior, and with the self-overlap held fixed, the same machinery runs.
#[test]
fn priors_and_constraints() {
    let single = SingleTask::new(20.0).unwrap();
    let prior = BrokenTask::new(single.with_prior(Prior::Uniform));
    if let Some(onset) = prior.onset() {
        assert!(onset.stability[0].abs() < 1e-9);
        let s = prior.poor(onset.alpha * 1.05, 1).unwrap();
        assert!(s.is_converged() && s.q_gaps[0] > 0.0, "{s:?}");
    }
    let held = BrokenTask::new(single.with_q_star(0.89).unwrap());
    let onset = held.onset().unwrap();
    let s = held.poor(onset.alpha * 1.1, 1).unwrap();
    assert!(s.is_converged() && (s.q_d - 0.89).abs() < 1e-12, "{s:?}");
    // At the free solution's own q_d the constraint changes nothing.
    let free = task(20.0).poor(1.0, 1).unwrap();
    let held = BrokenTask::new(single.with_q_star(free.q_d).unwrap()).poor(1.0, 1).unwrap();
    assert!((held.r / free.r - 1.0).abs() < 1e-7 && (held.x[0] / free.x[0] - 1.0).abs() < 1e-6);
}

#[test]
fn rows_survive_json() {
    let s = task(20.0).poor(1.0, 1).unwrap();
    let back: RsbSolution = serde_json::from_str(&serde_json::to_string(&s).unwrap()).unwrap();
    assert_eq!(back, s);
    let none = RsbSolution::none(1.0, 20.0, 1, Termination::NoSolution);
    let back: RsbSolution = serde_json::from_str(&serde_json::to_string(&none).unwrap()).unwrap();
    assert!(back.q_d.is_nan() && back.termination == Termination::NoSolution);
}
