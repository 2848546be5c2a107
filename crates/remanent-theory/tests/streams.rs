//! Chains whose anchors fade: values of an independent solver, limits and symmetries.

use remanent_theory::chain::{ChainParameters, ChainResult};
use remanent_theory::parameters::Prior;
use remanent_theory::single::SingleTask;
use remanent_theory::stationary::{Stationary, Stream};

fn chain(alpha: &[f64], beta: f64, r_0: f64, gamma: f64, lambda: f64, rho: f64) -> ChainResult {
    let parameters = ChainParameters {
        alpha: alpha.to_vec(),
        beta: vec![beta],
        r_0: vec![r_0],
        gamma: vec![gamma],
        lambda: vec![lambda],
        rho: vec![rho],
        ..Default::default()
    };
    parameters.check().unwrap().solve()
}

fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1e-3), "{what}: {a} against {b}");
}

#[test]
fn the_reference() {
    let csv = include_str!("reference/streams.csv");
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let mut checked = 0;
    for stream in rows.chunk_by(|a, b| a[..6] == b[..6]) {
        let [alpha, beta, r_0, gamma, lambda, rho] =
            std::array::from_fn(|k| stream[0][k].parse::<f64>().unwrap());
        let solved = chain(&vec![alpha; stream.len()], beta, r_0, gamma, lambda, rho);
        for (row, task) in stream.iter().zip(&solved.tasks) {
            assert!(task.solution.is_converged(), "{row:?}: {:?}", task.solution);
            let s = &task.solution;
            for (value, column, name) in [(s.q_d, 7, "q_d"), (s.q_0, 8, "q_0"), (s.r, 9, "r")] {
                close(value, row[column].parse().unwrap(), 1e-7, &format!("{name} {row:?}"));
            }
            let errors = row[10].split(' ').map(|e| e.parse::<f64>().unwrap());
            for (value, expected) in task.eps_by_task.iter().zip(errors) {
                close(*value, expected, 1e-6, &format!("eps {row:?}"));
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 15 + 15 + 10);
}

#[test]
fn without_fading_it_is_the_chain() {
    let alpha = [1.0, 0.7, 1.3];
    let parameters = ChainParameters {
        alpha: alpha.to_vec(),
        beta: vec![8.0],
        r_0: vec![0.4],
        gamma: vec![0.6],
        ..Default::default()
    };
    assert_eq!(parameters.check().unwrap().solve(), chain(&alpha, 8.0, 0.4, 0.6, 1.0, 1.0));
}

#[test]
fn almost_no_fading_is_almost_the_chain() {
    let without = chain(&[1.0, 1.0, 1.0], 6.0, 0.3, 1.0, 1.0, 1.0);
    for (lambda, rho) in [(1.0 - 1e-9, 1.0), (1.0, 1.0 - 1e-9)] {
        let with = chain(&[1.0, 1.0, 1.0], 6.0, 0.3, 1.0, lambda, rho);
        assert!(with.is_converged());
        for (a, b) in with.tasks.iter().zip(&without.tasks) {
            close(a.solution.q_d, b.solution.q_d, 1e-7, "q_d");
            close(a.potential, b.potential, 1e-7, "potential");
            close(a.eps_by_task[0], b.eps_by_task[0], 1e-7, "eps_1");
        }
    }
}

#[test]
fn an_anchor_of_nothing_is_the_uniform_prior() {
    let alone = SingleTask::new(7.0).unwrap().with_prior(Prior::Uniform);
    let alone = alone.solve(1.2, Default::default()).unwrap();
    for (lambda, rho) in [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1e-7, 1.0), (0.9, 1e-7)] {
        let both = chain(&[2.0, 1.2], 7.0, 0.5, 1.0, lambda, rho);
        assert!(both.is_converged(), "{lambda} {rho}");
        let second = &both.tasks[1];
        close(second.solution.q_d, alone.q_d, 1e-6, "q_d");
        close(second.potential, alone.minus_beta_f, 1e-6, "potential");
        // All that is left of the first task is the correlation of the teachers.
        let eps_1 = (0.5 * second.solution.p).acos() / std::f64::consts::PI;
        close(second.eps_by_task[0], eps_1, 1e-6, "eps_1");
    }
}

/// With −λ every anchor changes its sign, as it does if the teachers are opposite.
#[test]
fn a_negative_factor_suits_opposite_teachers() {
    let one = chain(&[1.5, 1.0], 10.0, -0.6, 1.0, -0.8, 0.9);
    let other = chain(&[1.5, 1.0], 10.0, 0.6, 1.0, 0.8, 0.9);
    assert!(one.is_converged() && other.is_converged());
    let (a, b) = (&one.tasks[1], &other.tasks[1]);
    close(a.solution.q_d, b.solution.q_d, 1e-9, "q_d");
    close(a.solution.eps, b.solution.eps, 1e-9, "eps_2");
    close(a.eps_by_task[0], 1.0 - b.eps_by_task[0], 1e-9, "eps_1");
}

#[test]
fn no_corner_of_the_domain_fails() {
    for (alpha, beta, gamma) in
        [(0.01, 0.1, 1.0), (3.0, 20.0, 1.0), (2.0, 100.0, 0.1), (1.0, 20.0, 30.0), (5.0, 5.0, 2.0)]
    {
        for (lambda, rho) in
            [(0.5, 1.0), (0.99, 1.0), (-0.7, 0.5), (0.999_999, 1.0), (1.0, 0.3), (1e-3, 1.0)]
        {
            let solved = chain(&[alpha; 3], beta, 0.5, gamma, lambda, rho);
            let place = format!("alpha {alpha} beta {beta} gamma {gamma} λ {lambda} ρ {rho}");
            for task in &solved.tasks {
                let s = &task.solution;
                assert!(s.is_converged(), "{place}: {s:?}");
                assert!(task.eps_by_task.iter().all(|e| (0.0..=1.0).contains(e)), "{place}");
            }
            assert_eq!(solved.tasks.len(), 3, "{place}");
        }
    }
}

fn stream(alpha: f64, beta: f64, r_0: f64, gamma: f64, lambda: f64, rho: f64) -> Stationary {
    let parameters = ChainParameters {
        alpha: vec![alpha],
        beta: vec![beta],
        r_0: vec![r_0],
        gamma: vec![gamma],
        lambda: vec![lambda],
        rho: vec![rho],
        ..Default::default()
    };
    Stream::new(&parameters, None).unwrap().solve()
}

/// A long chain comes to the stationary state, and its errors are the memory curve.
#[test]
fn a_long_chain_becomes_stationary() {
    for (alpha, beta, r_0, gamma, lambda, rho) in [
        (1.0, 5.0, 0.5, 1.0, 0.9, 1.0),
        (1.0, 5.0, 0.0, 1.0, 1.0, 0.8),
        (2.0, 10.0, 0.0, 0.5, 0.95, 1.0),
    ] {
        let stationary = stream(alpha, beta, r_0, gamma, lambda, rho);
        assert!(stationary.state.is_converged(), "{stationary:?}");
        let long = chain(&[alpha; 24], beta, r_0, gamma, lambda, rho);
        let last = long.tasks.last().unwrap();
        close(last.solution.q_d, stationary.state.q_d, 1e-7, "q_d");
        close(last.potential, stationary.state.minus_beta_f, 1e-7, "potential");
        for (old, new) in last.eps_by_task.iter().rev().zip(&stationary.memory).take(6) {
            close(*old, *new, 1e-6, "memory");
        }
        assert!(stationary.rate < 0.6 && stationary.tasks < 60, "{stationary:?}");
        assert!((0.5 - stationary.memory.last().unwrap()).abs() < 1e-3);
        assert!(stationary.memory.is_sorted());
        assert_eq!(stationary.horizon(stationary.memory[2]), 2);
    }
}

#[test]
fn without_memory_every_task_is_the_first() {
    let stationary = stream(1.2, 7.0, 0.5, 1.0, 0.0, 1.0);
    let alone = SingleTask::new(7.0).unwrap().with_prior(Prior::Uniform);
    let alone = alone.solve(1.2, Default::default()).unwrap();
    close(stationary.state.eps, alone.eps, 1e-8, "eps");
    for (l, eps) in stationary.memory.iter().enumerate() {
        let p = 0.5_f64.powi(i32::try_from(l).unwrap()) * alone.p;
        close(*eps, p.acos() / std::f64::consts::PI, 1e-7, "memory");
    }
}

#[test]
fn lists_make_no_stationary_stream() {
    let parameters = ChainParameters {
        alpha: vec![1.0, 2.0],
        beta: vec![5.0],
        r_0: vec![0.5],
        gamma: vec![1.0],
        ..Default::default()
    };
    assert!(Stream::new(&parameters, None).unwrap_err().to_string().contains("alpha"));
}
