//! The solver against values of an independent one, to 1e-7 relative (errors to 1e-6).

use std::collections::HashMap;

use remanent_theory::chain::ChainParameters;
use remanent_theory::parameters::Choice;
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Solution;

type Row = HashMap<String, String>;

fn rows(csv: &str) -> Vec<Row> {
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            header.iter().map(|h| (*h).to_owned()).zip(line.split(',').map(str::to_owned)).collect()
        })
        .collect()
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

fn close(row: &Row, column: &str, computed: f64) {
    let expected = number(row, column);
    let tolerance = if column.starts_with("eps") { 1e-6 } else { 1e-7 };
    let error = (computed / expected - 1.0).abs();
    assert!(error < tolerance, "{column}: {computed} against {expected} ({error:.1e}) in {row:?}");
}

fn compare(row: &Row, solution: &Solution, columns: &[&str]) {
    assert!(solution.is_converged(), "{row:?}");
    assert!(solution.residual < 1e-10, "{row:?}");
    for column in columns {
        let value = match *column {
            "qd" => solution.q_d,
            "q0" => solution.q_0,
            "r" => solution.r,
            "qdh" => solution.q_d_hat,
            "q0h" => solution.q_0_hat,
            "rh" => solution.r_hat,
            "p1" | "p2" => solution.p,
            "eps" | "eps2" => solution.eps,
            "bf" | "pot" => solution.minus_beta_f,
            "replicon" => solution.replicon,
            other => panic!("no column {other}"),
        };
        close(row, column, value);
    }
}

const SINGLE: [&str; 10] = ["qd", "q0", "r", "qdh", "q0h", "rh", "p1", "eps", "bf", "replicon"];

fn check_single_task(csv: &str) {
    for row in rows(csv) {
        let choice = match row["branch"].as_str() {
            "poor" => Choice::Poor,
            "good" => Choice::Good,
            _ => Choice::Stable,
        };
        let task = SingleTask::new(number(&row, "beta")).unwrap();
        let solution = task.solve(number(&row, "alpha"), choice).unwrap();
        assert_eq!(solution.branch.to_string(), row["branch"], "{row:?}");
        compare(&row, &solution, &SINGLE);
    }
}

#[test]
fn single_task_matches_the_reference() {
    check_single_task(include_str!("reference/single_task.csv"));
}

#[test]
fn both_branches_match_the_reference() {
    check_single_task(include_str!("reference/branches_beta20.csv"));
}

#[test]
fn the_constrained_system_matches_the_reference() {
    for row in rows(include_str!("reference/constrained.csv")) {
        let task = SingleTask::new(number(&row, "beta")).unwrap();
        let task = task.with_q_star(number(&row, "qd")).unwrap();
        let solution = task.solve(number(&row, "alpha"), Choice::Stable).unwrap();
        compare(&row, &solution, &SINGLE[..9]);
    }
}

#[test]
fn two_tasks_match_the_reference() {
    for row in rows(include_str!("reference/two_task.csv")) {
        let chain = ChainParameters {
            alpha: vec![number(&row, "alpha1"), number(&row, "alpha2")],
            beta: vec![number(&row, "beta")],
            gamma: vec![number(&row, "gamma")],
            r_0: vec![number(&row, "r0")],
            ..Default::default()
        };
        let result = chain.check().unwrap().solve();
        let second = &result.tasks[1];
        let columns = ["qd", "q0", "r", "qdh", "q0h", "rh", "p2", "eps2", "pot"];
        compare(&row, &second.solution, &columns);
        close(&row, "eps1", second.eps_by_task[0]);
    }
}

#[test]
fn a_chain_of_four_matches_the_reference() {
    let chain = ChainParameters {
        alpha: vec![2.0, 3.0, 3.0, 3.0],
        beta: vec![20.0],
        gamma: vec![1.0],
        r_0: vec![0.5],
        ..Default::default()
    };
    let result = chain.check().unwrap().solve();
    for row in rows(include_str!("reference/chain.csv")) {
        let task = &result.tasks[number(&row, "after_task") as usize - 1];
        compare(&row, &task.solution, &["qd", "q0", "r", "qdh", "q0h", "rh"]);
        close(&row, "eps", task.eps_by_task[number(&row, "on_task") as usize - 1]);
    }
}
