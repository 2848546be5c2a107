//! Doubling every node count moves nothing, and threads do not matter.

use remanent_math::philox::Stream;
use remanent_theory::chain::ChainParameters;
use remanent_theory::energy::energy;
use remanent_theory::fields::site_averages;
use remanent_theory::overlaps::{Conjugates, Overlaps};
use remanent_theory::parameters::Choice;
use remanent_theory::resolution::Resolution;
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Solution;
use remanent_theory::task::Task;

/// The numbers of a solution that must not move; ε by its relative error.
fn numbers(s: &Solution) -> [(&'static str, f64); 14] {
    [
        ("q_d", s.q_d),
        ("q_0", s.q_0),
        ("r", s.r),
        ("q_d_hat", s.q_d_hat),
        ("q_0_hat", s.q_0_hat),
        ("r_hat", s.r_hat),
        ("p", s.p),
        ("eps", s.eps),
        ("one_minus_p", s.one_minus_p),
        ("one_minus_q_d", s.one_minus_q_d),
        ("q_d_minus_q_0", s.q_d_minus_q_0),
        ("q_0_minus_r2", s.q_0_minus_r2),
        ("minus_beta_f", s.minus_beta_f),
        ("replicon", s.replicon),
    ]
}

/// The largest relative change, and of what.
fn largest_change(a: &Solution, b: &Solution) -> (f64, &'static str) {
    numbers(a)
        .iter()
        .zip(numbers(b))
        .map(|((name, x), (_, y))| ((x - y).abs() / y.abs().max(1e-3), *name))
        .map(|(change, name)| {
            // Small positive numbers by their own size.
            let small = ["eps", "one_minus_p", "one_minus_q_d", "q_d_minus_q_0", "q_0_minus_r2"];
            if small.contains(&name) {
                let pick = |s: &Solution| numbers(s).iter().find(|n| n.0 == name).unwrap().1;
                let (x, y) = (pick(a), pick(b));
                return (if y < 1e-280 { 0.0 } else { (x / y - 1.0).abs() }, name);
            }
            (change, name)
        })
        .fold((0.0, ""), |m, c| if c.0 > m.0 || c.0.is_nan() { c } else { m })
}

fn log_uniform(u: f64, low: f64, high: f64) -> f64 {
    (low.ln() + u * (high / low).ln()).exp()
}

#[test]
fn doubling_the_nodes_moves_no_single_task_solution() {
    let stream = Stream::new(2022, 1, 0, 0);
    let mut fixed = vec![(20.0, 1.5), (20.0, 1.7), (20.0, 1.89), (60.0, 1.2), (200.0, 20.0)];
    let random = (0..24).map(|i| {
        let beta = log_uniform(stream.uniform(2 * i), 0.1, 200.0);
        (beta, log_uniform(stream.uniform(2 * i + 1), 0.01, 20.0))
    });
    fixed.extend(random);
    let mut checked = 0;
    for (beta, alpha) in fixed {
        let task = SingleTask::new(beta).unwrap();
        let coarse = task.all(alpha).unwrap();
        let fine = task.with_resolution(Resolution::STANDARD.doubled()).all(alpha).unwrap();
        assert_eq!(coarse.len(), fine.len(), "{beta} {alpha}");
        assert!(!coarse.is_empty(), "{beta} {alpha}");
        for (a, b) in coarse.iter().zip(&fine) {
            assert!(a.is_converged() && b.is_converged(), "{beta} {alpha} {:?}", a.branch);
            assert!(a.residual < 1e-10, "{beta} {alpha} {:?} {}", a.branch, a.residual);
            let (change, what) = largest_change(a, b);
            assert!(change < 1e-8, "{beta} {alpha} {:?}: {what} {change:.1e}", a.branch);
            checked += 1;
        }
    }
    assert!(checked > 30);
}

/// γ = 0.1, α_1 = 2, where the second task has several solutions, and longer chains.
#[test]
fn doubling_the_nodes_moves_no_chain() {
    let mut cases: Vec<(Vec<f64>, f64, f64, f64)> = vec![
        (vec![2.0, 2.0, 3.0], 20.0, 0.5, 1.0),
        (vec![0.5, 0.01, 1.0], 5.0, -0.3, 10.0),
        (vec![1.5, 2.0, 2.0], 10.0, 0.9, 0.3),
    ];
    for alpha in [0.5, 1.43, 1.85, 1.95, 3.0] {
        cases.push((vec![2.0, alpha], 20.0, if alpha == 1.43 { 0.5 } else { -0.5 }, 0.1));
    }
    let mut several = 0;
    for (alpha, beta, r_0, gamma) in cases {
        let parameters = ChainParameters {
            alpha: alpha.clone(),
            beta: vec![beta],
            r_0: vec![r_0],
            gamma: vec![gamma],
            ..Default::default()
        };
        let chain = parameters.check().unwrap();
        let coarse = chain.solve();
        let fine = chain.with_resolution(Resolution::STANDARD.doubled()).solve();
        for (a, b) in coarse.tasks.iter().zip(&fine.tasks) {
            let (change, what) = largest_change(&a.solution, &b.solution);
            assert!(change < 1e-8, "{alpha:?} {r_0} {gamma} task {}: {what} {change:.1e}", a.task);
            for (x, y) in a.eps_by_task.iter().zip(&b.eps_by_task) {
                assert!((x / y - 1.0).abs() < 1e-8, "{alpha:?} {r_0} {gamma}");
            }
            assert_eq!(a.other_solutions.len(), b.other_solutions.len());
            several += usize::from(!a.other_solutions.is_empty());
            for (x, y) in a.other_solutions.iter().zip(&b.other_solutions) {
                let (change, what) = largest_change(x, y);
                assert!(change < 1e-8, "{alpha:?} {r_0} {gamma}: {what} {change:.1e}");
            }
        }
    }
    assert!(several >= 3);
}

/// The two building blocks over their whole domain, V ~ 1e-6 and κ ~ 1e-4 and far beyond included.
#[test]
fn doubling_the_nodes_moves_neither_building_block() {
    let stream = Stream::new(2023, 2, 0, 0);
    for i in 0..120 {
        let u = |k: u32| stream.uniform(8 * i + k);
        let beta = log_uniform(u(0), 0.1, 200.0);
        let kappa = log_uniform(u(1), 1e-6, 0.6);
        let d = log_uniform(u(2), 1e-3, 1e3) * kappa;
        let v = log_uniform(u(3), 1e-4, 1e4) * kappa;
        let rest = 1.0 - kappa;
        let crowd = ((d + v) / (0.9 * rest)).max(1.0);
        let (d, v) = (d / crowd, v / crowd);
        let r = (rest - d - v).sqrt() * if u(4) < 0.2 { -1.0 } else { 1.0 };
        let o = Overlaps { one_minus_q_d: kappa, q_d_minus_q_0: d, q_0_minus_r2: v, r };
        let a = energy(&o, beta, Resolution::STANDARD);
        let b = energy(&o, beta, Resolution::STANDARD.doubled());
        for (name, x, y, scale) in [
            ("g_e", a.g_e, b.g_e, b.g_e),
            ("stiffness", a.stiffness, b.stiffness, b.stiffness.abs().max(b.q_0_hat)),
            ("q_0_hat", a.q_0_hat, b.q_0_hat, b.q_0_hat),
            ("r_hat", a.r_hat, b.r_hat, b.r_hat),
            ("curvature2", a.curvature2, b.curvature2, b.curvature2),
        ] {
            let change = ((x - y) / scale).abs();
            assert!(change < 1e-9, "{name} {change:.1e} at beta {beta} {o:?}");
        }
    }
    for i in 200..320 {
        let u = |k: u32| stream.uniform(8 * i + k);
        let coupling = [0.0, 0.0, 0.02, 2.0, 20.0, 200.0][(6.0 * u(0)) as usize];
        let task = Task::new(20.0).unwrap().with_coupling(coupling, None).unwrap();
        let c = Conjugates {
            stiffness: ((2.0 * u(1) - 1.0) * 10.0).sinh(),
            q_0_hat: log_uniform(u(2), 1e-2, 1e6),
            r_hat: log_uniform(u(3), 1e-2, 1e5),
        };
        let at = |r| site_averages(&task.site(&c), &task.fields(&c), r);
        let (a, b) = (at(Resolution::STANDARD), at(Resolution::STANDARD.doubled()));
        for (name, x, y) in [
            ("one_minus_q_d", a.overlaps.one_minus_q_d, b.overlaps.one_minus_q_d),
            ("q_d_minus_q_0", a.overlaps.q_d_minus_q_0, b.overlaps.q_d_minus_q_0),
            ("q_0_minus_r2", a.overlaps.q_0_minus_r2, b.overlaps.q_0_minus_r2),
            ("r", a.overlaps.r, b.overlaps.r),
            ("variance2", a.variance2, b.variance2),
        ] {
            let change = (x / y - 1.0).abs();
            assert!(change < 1e-9, "{name} {change:.1e} at c {coupling} {c:?}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let alphas: Vec<f64> = (1..30).map(|i| 0.1 * f64::from(i)).collect();
            SingleTask::new(20.0).unwrap().scan(&alphas, Choice::Stable).unwrap()
        })
    };
    let bits = |rows: Vec<Solution>| -> Vec<u64> {
        rows.iter().flat_map(|s| numbers(s).map(|(_, v)| v.to_bits())).collect()
    };
    let one = bits(run(1));
    assert_eq!(one, bits(run(2)));
    assert_eq!(one, bits(run(5)));
}
