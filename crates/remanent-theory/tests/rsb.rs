//! Broken replica symmetry against values of an independent solver, and what must
//! hold besides.

use std::collections::HashMap;

use remanent_theory::chain::{Chain, ChainParameters};
use remanent_theory::parameters::{Choice, Prior};
use remanent_theory::resolution::Resolution;
use remanent_theory::rsb::{BrokenTask, RsbSolution, TOLERANCE, broken_phase_diagram};
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

fn task(beta: f64) -> BrokenTask<'static> {
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
    columns.extend(X.into_iter().zip(s.x.iter().copied()));
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
            // reference values are those at about 1e-11 from it in α, see
            // `a_fold_is_the_middle_of_the_two_solutions_before_it`.
            ("fold", "poor") if steps > 0 => (task.fold(steps).unwrap(), 1e-5),
            (_, branch) => {
                let choice = if branch == "poor" { Choice::Poor } else { Choice::Good };
                let s = task.symmetric(alpha, choice).unwrap();
                (s, if row["kind"] == "fold" { 1e-4 } else { 1e-7 })
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
        BrokenTask::new(
            SingleTask::new(20.0).unwrap().with_resolution(Resolution::new(1.3).unwrap()),
        ),
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
        assert!(s.is_converged(), "{exponent} {s:?}");
        let numbers = columns(&s);
        assert!(numbers.iter().all(|(_, v)| v.is_finite()), "{numbers:?}");
        assert!((s.q_d - onset.q_d).abs() < distance && (s.r - onset.r).abs() < distance);
        let gap = s.q_gaps[0] / distance;
        assert!((2.0..4.2).contains(&gap), "{exponent} {gap}");
        x = s.x[0];
    }
    // The x with which the gap opens, from larger gaps.
    assert!((x - task.phase_row().onset_x.unwrap()).abs() < 2e-6, "{x}");
    assert_eq!(task.poor(0.7, 1).unwrap().termination, Termination::NoSolution);
    assert_eq!(task.poor(1.54, 1).unwrap().termination, Termination::NoSolution);
}

/// Where the gap closes on the good branch the broken solution exists up to there and passes over into it.
#[test]
fn the_broken_branch_ends_in_the_good_one() {
    for beta in [12.0, 14.0, 16.0] {
        let task = task(beta);
        let closing = task.phase_row().closing.unwrap();
        let there = task.symmetric(closing, Choice::Stable).unwrap();
        assert!(there.stability[0].abs() < 1e-8, "{}", there.stability[0]);
        for exponent in 2..=8 {
            let distance = 10f64.powi(-exponent);
            let s = task.poor(closing - distance, 1).unwrap();
            assert!(s.is_converged(), "{beta} {exponent} {s:?}");
            let symmetric = task.symmetric(closing - distance, Choice::Stable).unwrap();
            assert!(symmetric.stability[0] < 0.0);
            assert!((s.r - there.r).abs() < 30.0 * distance, "{beta} {exponent}");
            assert!(s.q_gaps[0] < 40.0 * distance && s.q_gaps[0] > 0.05 * distance, "{beta} {s:?}");
        }
        assert_eq!(task.poor(closing + 1e-6, 1).unwrap().termination, Termination::NoSolution);
    }
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

/// Where one step is unstable from the onset on, the second one is found as well, and
/// so is a third: each makes the stabilities less negative and changes φ less.
#[test]
fn more_steps_make_an_unstable_branch_less_so() {
    for (beta, alpha) in [(16.0, 1.3), (20.0, 1.2)] {
        let task = task(beta);
        let rows: Vec<RsbSolution> = (0..=3).map(|k| task.poor(alpha, k).unwrap()).collect();
        let worst = |s: &RsbSolution| s.stability.iter().copied().fold(f64::INFINITY, f64::min);
        for w in rows.windows(2) {
            assert!(w[1].is_physical(), "{beta} {:?}", w[1]);
            assert!(worst(&w[1]) > worst(&w[0]) && w[1].minus_beta_f < w[0].minus_beta_f);
        }
        let changes: Vec<f64> =
            rows.windows(2).map(|w| w[0].minus_beta_f - w[1].minus_beta_f).collect();
        assert!(changes.windows(2).all(|c| c[1] < 0.1 * c[0]), "{changes:?}");
        let auto = task.auto(alpha, Choice::Stable, TOLERANCE).unwrap();
        assert_eq!((auto.solution.steps, auto.is_stable), (2, false));
    }
}

/// Below β ≈ 17 the broken branch joins the good one without a fold.
#[test]
fn the_transition_is_continuous_at_small_beta() {
    let task = task(16.0);
    assert!(task.fold(1).is_none() && task.crossing(1).is_none());
    let rows = task.branch(1);
    let last = rows.last().unwrap();
    let row = task.phase_row();
    let closing = row.closing.unwrap();
    assert!((closing - 1.57635).abs() < 1e-5, "{closing}");
    assert!((last.alpha - closing).abs() < 5e-4 && last.q_gaps[0] < 5e-4, "{last:?}");
}

/// The diagram at a few β, with its three special points.
#[test]
fn lines_of_the_phase_diagram() {
    let betas = [8.0, 16.0, 18.0, 20.0, 30.0, 50.0];
    let diagram = broken_phase_diagram(&betas, Prior::None, &|| ()).unwrap();
    let row = |beta: f64| diagram.rows.iter().find(|r| r.beta == beta).unwrap();
    assert!(row(8.0).onset.is_none() && row(8.0).condensation.is_none());
    // The reference values at β = 20.
    let at_20 = row(20.0);
    for (found, expected) in [
        (at_20.onset, 0.7289260461),
        (at_20.condensation, 0.7289260461),
        (at_20.good_from, 1.498897538),
        (at_20.crossing, 1.51798197),
        (at_20.poor_until, 1.531516694),
        (at_20.inner_instability.first().copied(), 0.8798708875),
        (at_20.outer_instability.first().copied(), 1.38773908),
    ] {
        let found = found.unwrap();
        assert!((found / expected - 1.0).abs() < 1e-8, "{found} against {expected}");
    }
    assert!(row(16.0).poor_until.is_none() && row(18.0).poor_until.is_some());
    assert_eq!(row(16.0).is_stable_at_onset, Some(false));
    assert_eq!(row(20.0).is_stable_at_onset, Some(true));
    // Clusters are born, condense, and only then the replicon vanishes.
    for beta in [30.0, 50.0] {
        let r = row(beta);
        assert!(r.onset_x.unwrap() > 1.0 && r.dynamical < r.condensation);
        assert!(r.condensation < r.onset && r.dynamical_complexity.unwrap() > 0.0);
        let task = task(beta);
        let born = r.dynamical.unwrap();
        assert!(!task.at_one(born - 1e-5).unwrap().is_converged());
        let clusters = task.at_one(born + 1e-5).unwrap();
        assert!(clusters.is_converged() && clusters.complexity > 0.0);
    }
    let first = diagram.first_breaking.unwrap();
    assert!(task(first.beta - 0.02).onset().is_none());
    let onset = task(first.beta + 1e-3).onset().unwrap();
    assert!((onset.alpha - first.alpha).abs() < 0.02, "{first:?} {}", onset.alpha);
    let end = diagram.end_of_jump.unwrap();
    assert!((end.beta - 16.99).abs() < 0.01 && (end.alpha - 1.5608).abs() < 1e-4, "{end:?}");
    let discontinuous = diagram.discontinuous_onset.unwrap();
    let row = task(discontinuous.beta).phase_row();
    assert!((row.onset_x.unwrap() - 1.0).abs() < 1e-6);
    println!("{first:?} {end:?} {discontinuous:?}");
}

/// Σ(s) is a Legendre transform: dΣ/ds = −x, from Σ = 0 at the static x, or from
/// x = 1 before clusters condense.
#[test]
fn complexity_is_a_legendre_transform() {
    for (beta, alpha, before) in [(20.0, 1.0, false), (50.0, 1.0, false), (50.0, 0.518, true)] {
        let rows = task(beta).complexity(alpha, 41).unwrap();
        assert!(rows.len() > 35, "{beta} {alpha} {}", rows.len());
        if before {
            assert!(rows[0].x[0] == 1.0 && rows[0].complexity > 1e-5);
        } else {
            assert!(rows[0].x[0] < 1.0 && rows[0].complexity.abs() < 1e-10);
        }
        for w in rows.windows(3) {
            let step = |f: fn(&RsbSolution) -> f64| f(&w[2]) - f(&w[0]);
            let (up, across) = (step(|s| s.complexity), step(|s| s.cluster_minus_beta_f));
            assert!(up > 0.0 && across < 0.0);
            // By the mean value theorem, exactly.
            assert!((w[2].x[0]..w[0].x[0]).contains(&(-up / across)), "{}", up / across);
        }
    }
    assert!(task(20.0).complexity(0.5, 10).unwrap().is_empty());
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

fn two_tasks(alpha: [f64; 2], gamma: f64, r_0: f64) -> Chain {
    ChainParameters {
        alpha: alpha.to_vec(),
        beta: vec![20.0],
        gamma: vec![gamma],
        r_0: vec![r_0],
        choice: vec![Choice::Poor],
        ..Default::default()
    }
    .check()
    .unwrap()
}

fn relative(a: f64, b: f64) -> f64 {
    (a / b - 1.0).abs()
}

/// Without steps a chain is the replica-symmetric one.
#[test]
fn a_chain_without_steps_is_replica_symmetric() {
    let chain = two_tasks([1.0, 0.6], 0.2, 0.5);
    let (broken, symmetric) = (chain.solve_broken(0).unwrap(), chain.solve());
    for (a, b) in broken.iter().zip(&symmetric.tasks) {
        assert_eq!(a.solution.steps, 0);
        assert!(relative(a.solution.minus_beta_f, b.potential) < 1e-8);
        for (a, b) in a.eps_by_task.iter().zip(&b.eps_by_task) {
            assert!(relative(*a, *b) < 1e-7, "{a} {b}");
        }
    }
}

/// The limits in which the past is forgotten, the teachers agree, or nothing is learned.
#[test]
fn limits_of_a_broken_chain() {
    let p = |eps: f64| (std::f64::consts::PI * eps).cos();
    let alone = task(20.0).poor(0.9, 1).unwrap();
    let first = task(20.0).poor(1.0, 1).unwrap();
    // γ = 0: the second task is the first one of its α, and p_1 = r_0 p_2.
    let rows = two_tasks([1.0, 0.9], 0.0, 0.5).solve_broken(1).unwrap();
    assert_eq!((rows[0].solution.steps, rows[1].solution.steps), (1, 1));
    assert!(relative(rows[0].eps_by_task[0], first.eps) < 1e-8);
    assert!(relative(p(rows[0].eps_by_task[1]), 0.5 * first.p) < 1e-8);
    let last = &rows[1];
    assert!(relative(last.solution.eps, alone.eps) < 1e-8);
    assert!(relative(last.solution.x[0], alone.x[0]) < 1e-7);
    assert!(relative(last.solution.minus_beta_f, alone.minus_beta_f) < 1e-8);
    assert!(relative(p(last.eps_by_task[0]), 0.5 * last.solution.p) < 1e-7);
    // r_0 = ±1: p_1 = ±p_2.
    for r_0 in [1.0, -1.0] {
        let rows = two_tasks([1.0, 0.3], 0.1, r_0).solve_broken(1).unwrap();
        let errors = &rows[1].eps_by_task;
        assert!((p(errors[0]) - r_0 * p(errors[1])).abs() < 1e-8, "{errors:?}");
    }
    // Little to learn and a strong hold on the past leave the old error as it was.
    let rows = two_tasks([1.0, 1e-3], 100.0, 0.5).solve_broken(1).unwrap();
    assert!(relative(rows[1].eps_by_task[0], first.eps) < 2e-3, "{:?}", rows[1].eps_by_task);
}

/// A second task that breaks after a first one that has broken: more nodes move nothing,
/// and it differs from the replica-symmetric chain.
#[test]
fn a_broken_chain() {
    let chain = two_tasks([1.2, 1.2], 0.02, 0.5);
    let rows = chain.solve_broken(1).unwrap();
    assert_eq!((rows[0].solution.steps, rows[1].solution.steps), (1, 1), "{rows:?}");
    println!("{:?}", rows[1]);
    assert!(rows.iter().all(|r| r.solution.quadrature_error < 1e-7), "{rows:?}");
    let symmetric = chain.solve();
    assert!(rows[1].solution.eps < symmetric.tasks[1].solution.eps);
}

/// Every α and β has a stable state, and none of its numbers is not one.
#[test]
fn stable_states_exist_everywhere() {
    for beta in [2.0, 8.0, 12.5, 16.9, 17.1, 24.5, 25.5, 40.0, 200.0] {
        let task = task(beta);
        for alpha in [0.01, 0.4, 0.7, 1.0, 1.27, 1.5, 1.57, 2.5, 10.0] {
            let auto = task.auto(alpha, Choice::Stable, TOLERANCE).unwrap();
            assert!(auto.solution.is_physical(), "{beta} {alpha} {auto:?}");
            let json = serde_json::to_string(&auto).unwrap();
            assert!(!json.contains("null"), "{beta} {alpha} {json}");
        }
    }
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

/// Which state is that at a fold: from the two solutions at α a little smaller, without the solver's own
/// location of the fold. With s the length of the curve they lie at ±√δ, so their mean is the state at the fold up to a
/// term linear in δ, which two δ eliminate. The reference values are further away, because they were taken
/// at an α that is 1e-11 too small.
#[test]
fn a_fold_is_the_middle_of_the_two_solutions_before_it() {
    let task = task(20.0);
    let fold = task.fold(1).unwrap();
    let values = |s: &RsbSolution| [s.q_d, s.q[1], s.q[0], s.r, s.eps, s.x[0].ln()];
    let middle = |delta: f64| {
        let both = task.solve(fold.alpha * (1.0 - delta), 1).unwrap();
        let [poor, saddle] = [false, true]
            .map(|is_saddle| values(both.iter().find(|s| s.is_saddle == is_saddle).unwrap()));
        std::array::from_fn::<f64, 6, _>(|k| 0.5 * (poor[k] + saddle[k]))
    };
    let (near, far) = (middle(1e-6), middle(2e-6));
    let reference = rows()
        .into_iter()
        .find(|row| row["kind"] == "fold" && row["K"] == "1" && number(row, "beta") == Some(20.0))
        .unwrap();
    let columns = ["qd", "q1", "q0", "r", "eps"].map(|c| number(&reference, c).unwrap());
    let mut reference_error: f64 = 0.0;
    for (k, found) in values(&fold).into_iter().enumerate() {
        let exact = 2.0 * near[k] - far[k];
        assert!((found - exact).abs() < 2e-7, "{k}: {found} against {exact}");
        if let Some(column) = columns.get(k) {
            reference_error = reference_error.max((column / exact - 1.0).abs());
        }
    }
    assert!(reference_error > 1e-6, "{reference_error}");
}

/// Just above the β at which the jump begins the fold has a gap in proportion to the distance in β.
#[test]
fn a_fold_at_a_small_gap() {
    let rows: Vec<_> = [16.995, 17.0].map(|beta| task(beta).phase_row()).into();
    for row in &rows {
        let (crossing, fold) = (row.crossing.unwrap(), row.poor_until.unwrap());
        assert!(
            row.closing.unwrap() < fold && row.good_from.unwrap() < crossing && crossing < fold
        );
    }
    let beyond = |i: usize| rows[i].poor_until.unwrap() - rows[i].closing.unwrap();
    let expected = ((17.0 - 16.99116) / (16.995 - 16.99116_f64)).powi(2);
    let found = beyond(1) / beyond(0);
    assert!((found / expected - 1.0).abs() < 0.1, "{found} {expected}");
    // The largest α of the drawn curve cannot be larger than that of the fold, and its points are dense
    // enough to show the fold.
    let drawn = task(17.0).branch(1).iter().map(|s| s.alpha).fold(0.0, f64::max);
    let fold = rows[1].poor_until.unwrap();
    assert!(drawn <= fold + 1e-10 && fold - drawn < 0.3 * beyond(1), "{drawn} {fold}");
    // Between the closing and the fold there are two solutions, with gaps around that of the fold.
    let task = task(17.0);
    let gap = task.fold(1).unwrap().q_gaps[0];
    let both = task.solve(fold - 0.5 * beyond(1), 1).unwrap();
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both.iter().all(RsbSolution::is_found));
    assert!(!both[0].is_saddle && both[0].q_gaps[0] > gap, "{both:?}");
    assert!(both[1].is_saddle && both[1].q_gaps[0] < gap, "{both:?}");
    let none = task.solve(fold + 0.1 * beyond(1), 1).unwrap();
    assert!(none.iter().all(|s| !s.is_found()), "{none:?}");
}

/// Just above the β at which the onset becomes discontinuous clusters are born before they condense, and they
/// condense before the replicon vanishes, at distances of second order in β.
#[test]
fn clusters_of_a_small_gap() {
    let distance = |beta: f64| {
        let row = task(beta).phase_row();
        let (born, condense, onset) =
            (row.dynamical.unwrap(), row.condensation.unwrap(), row.onset.unwrap());
        assert!(born < condense && condense < onset, "{row:?}");
        assert!(row.condensation_gap.unwrap() > 0.0 && row.dynamical_complexity.unwrap() > 0.0);
        onset - condense
    };
    let expected = ((24.95 - 24.86491) / (24.9 - 24.86491_f64)).powi(2);
    let found = distance(24.95) / distance(24.9);
    assert!((found / expected - 1.0).abs() < 0.2, "{found} {expected}");
    let expected = ((24.9 - 24.86491) / (24.87 - 24.86491_f64)).powi(2);
    let found = distance(24.9) / distance(24.87);
    assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
}

/// Just above the β at which replica symmetry first breaks the gap is narrow all along: it opens at one zero of the
/// replicon and closes at the other, and is largest in between in proportion to the distance in β.
#[test]
fn a_gap_that_is_narrow_all_along() {
    let largest = |beta: f64| {
        let task = task(beta);
        let row = task.phase_row();
        let (onset, closing) = (row.onset.unwrap(), row.closing.unwrap());
        assert!(onset < closing && row.onset_x.unwrap() > 0.4 && row.onset_x.unwrap() < 0.6);
        assert_eq!((row.condensation, row.dynamical), (Some(onset), Some(onset)));
        assert!(row.poor_until.is_none() && row.crossing.is_none());
        let mut largest: f64 = 0.0;
        for k in 0..=20 {
            let alpha = onset + (closing - onset) * (0.001 + 0.998 * f64::from(k) / 20.0);
            let (broken, symmetric) =
                (task.poor(alpha, 1).unwrap(), task.symmetric(alpha, Choice::Stable).unwrap());
            // Between a narrow gap and one that a lattice resolves, x loses digits.
            assert!(
                broken.is_physical() && broken.quadrature_error < 1e-7,
                "{beta} {k} {broken:?}"
            );
            assert!(symmetric.stability[0] < 0.0, "{beta} {k} {symmetric:?}");
            // φ is a minimum over x and over the gap, and differs by the third power of the gap.
            assert!(broken.minus_beta_f < symmetric.minus_beta_f + 1e-12, "{beta} {k}");
            largest = largest.max(broken.q_gaps[0]);
        }
        assert!(!task.poor(onset - 1e-6, 1).unwrap().is_found());
        assert!(!task.poor(closing + 1e-6, 1).unwrap().is_found());
        largest
    };
    let gaps = [11.63, 11.65, 11.7, 11.75].map(|beta| largest(beta) / (beta - 11.62599));
    println!("{gaps:?}");
    assert!(gaps.iter().all(|g| (g / gaps[0] - 1.0).abs() < 0.15), "{gaps:?}");
}

/// Just above the β at which replica symmetry first breaks two zeros of the replicon lie close together.
#[test]
fn the_onset_next_to_the_first_breaking() {
    assert!(task(11.6).onset().is_none());
    let onsets = [11.64, 11.7, 11.75].map(|beta| task(beta).onset().unwrap());
    assert!(onsets.iter().all(|s| s.stability[0].abs() < 1e-9));
    // The distance from α at the first breaking grows with the root of that in β.
    let apart = |i: usize, beta: f64| (1.3757 - onsets[i].alpha) / (beta - 11.62599_f64).sqrt();
    let (near, far) = (apart(0, 11.64), apart(2, 11.75));
    assert!(near > 0.0 && (near / far - 1.0).abs() < 0.2, "{near} {far}");
    let broken = task(11.7).poor(onsets[1].alpha * 1.01, 1).unwrap();
    assert!(broken.is_found() && broken.q_gaps[0] > 0.0, "{broken:?}");
}

/// The inner stability with one step may be negative on two stretches of the curve, or the second gap may not open where
/// it first vanishes. The second step was missing in bands of β.
#[test]
fn two_steps_beside_every_unstable_stretch() {
    for (beta, alpha) in [(16.25, 1.4), (18.0, 1.4), (27.09, 1.45)] {
        let task = task(beta);
        let [one, two] = [1, 2].map(|steps| task.poor(alpha, steps).unwrap());
        assert!(one.stability[1] < -TOLERANCE, "{beta} {one:?}");
        assert!(two.is_converged() && two.is_physical(), "{beta} {two:?}");
        let worst = |s: &RsbSolution| s.stability.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(worst(&two) > worst(&one), "{beta} {two:?}");
        let gain = one.minus_beta_f - two.minus_beta_f;
        assert!((0.0..1e-3).contains(&gain), "{beta} {gain}");
    }
}

/// Where the onset has just become discontinuous, α first falls with the gap and then rises. Solutions behind the
/// condensation have a gap that is larger than there and an x below 1, and both follow from where x is 1.
#[test]
fn one_step_just_behind_a_discontinuous_onset() {
    for beta in [24.9, 25.0, 25.5, 26.0] {
        let task = task(beta);
        let row = task.phase_row();
        let (condensation, gap) = (row.condensation.unwrap(), row.condensation_gap.unwrap());
        let mut before = (1.0, gap);
        for behind in [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3] {
            let s = task.poor(condensation + behind, 1).unwrap();
            assert!(s.is_converged() && s.is_physical(), "{beta} {behind} {s:?}");
            assert!(s.x[0] < before.0 && s.q_gaps[0] > before.1, "{beta} {behind} {s:?}");
            before = (s.x[0], s.q_gaps[0]);
        }
        let nearest = task.poor(condensation + 1e-8, 1).unwrap();
        assert!((nearest.x[0] - 1.0).abs() < 0.01, "{beta} {nearest:?}");
        assert!((nearest.q_gaps[0] / gap - 1.0).abs() < 0.05, "{beta} {nearest:?} {gap}");
    }
}

/// Drawn points are as accurate as those that are asked for.
#[test]
fn points_of_a_drawn_branch_are_accurate() {
    let task = task(20.0);
    let drawn = task.branch(1);
    assert!(drawn.len() > 50);
    for s in &drawn {
        assert!(s.is_converged(), "{s:?}");
        assert!(s.quadrature_error < 1e-8 && s.residual < 1e-9, "{s:?}");
    }
}
