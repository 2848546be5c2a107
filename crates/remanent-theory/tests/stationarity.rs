//! Every conjugate is the derivative of its term of the free energy, and −βf is
//! stationary at a solution.

use remanent_theory::chain::{Chain, ChainParameters};
use remanent_theory::curve::Curve;
use remanent_theory::energy::energy;
use remanent_theory::fields::site_averages;
use remanent_theory::inherited::InheritedLaw;
use remanent_theory::overlaps::{Conjugates, Overlaps};
use remanent_theory::resolution::Resolution;
use remanent_theory::roots::{Found, roots};
use remanent_theory::task::Task;

fn fine() -> Resolution {
    Resolution::new(1.5).unwrap()
}

/// Overlaps with q_d, q_0 and r moved, the others fixed.
fn moved(o: &Overlaps, q_d: f64, q_0: f64, r: f64) -> Overlaps {
    Overlaps {
        one_minus_q_d: o.one_minus_q_d - q_d,
        q_d_minus_q_0: o.q_d_minus_q_0 + q_d - q_0,
        q_0_minus_r2: o.q_0_minus_r2 + q_0 - r * (2.0 * o.r + r),
        r: o.r + r,
    }
}

/// A central difference of fourth order.
fn slope(f: impl Fn(f64) -> f64, h: f64) -> f64 {
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

#[test]
fn the_conjugates_are_derivatives_of_the_energetic_term() {
    for (kappa, d, v, r, beta) in [
        (0.3, 0.2, 0.1, 0.632, 20.0),
        (0.0216, 1.6e-4, 1.2e-4, 0.98892, 20.0),
        (0.6, 0.3, 0.05, -0.22, 5.0),
        (0.01, 0.05, 0.4, 0.734, 50.0),
        (0.5, 0.3, 0.15, 0.22, 0.5),
    ] {
        let r = f64::copysign((1.0_f64 - kappa - d - v).sqrt(), r);
        let o = Overlaps { one_minus_q_d: kappa, q_d_minus_q_0: d, q_0_minus_r2: v, r };
        let e = energy(&o, beta, fine());
        let g = |o: Overlaps| energy(&o, beta, fine()).g_e;
        let h = 2e-3 * kappa.min(d).min(v);
        let scale = e.q_0_hat.abs();
        let q_d_hat = 2.0 * slope(|x| g(moved(&o, x, 0.0, 0.0)), h);
        let q_0_hat = -2.0 * slope(|x| g(moved(&o, 0.0, x, 0.0)), h);
        let r_hat = slope(|x| g(moved(&o, 0.0, 0.0, x)), h);
        let expected = e.q_0_hat - e.stiffness;
        assert!((q_d_hat - expected).abs() < 1e-7 * scale.max(expected.abs()), "{o:?}");
        assert!((q_0_hat - e.q_0_hat).abs() < 1e-7 * scale, "{o:?} {q_0_hat} {}", e.q_0_hat);
        assert!((r_hat - e.r_hat).abs() < 1e-7 * scale, "{o:?} {r_hat} {}", e.r_hat);
    }
}

fn check_entropic_term(task: &Task, c: &Conjugates) {
    // In terms of q̂_d: A = q̂_0 − q̂_d.
    let g = |q_d_hat: f64, q_0_hat: f64, r_hat: f64| {
        let c = Conjugates {
            stiffness: c.stiffness + q_0_hat - q_d_hat,
            q_0_hat: c.q_0_hat + q_0_hat,
            r_hat: c.r_hat + r_hat,
        };
        site_averages(&task.site(&c), &task.fields(&c), fine()).ln_z
    };
    let o = site_averages(&task.site(c), &task.fields(c), fine()).overlaps;
    let h = 1e-3 * c.q_0_hat.min(1.0 + c.stiffness.abs());
    let q_d = 2.0 * slope(|x| g(x, 0.0, 0.0), h);
    let q_0 = -2.0 * slope(|x| g(0.0, x, 0.0), h);
    let r = slope(|x| g(0.0, 0.0, x), h);
    assert!((q_d - o.q_d()).abs() < 1e-8, "{c:?} {q_d} {}", o.q_d());
    assert!((q_0 - o.q_0()).abs() < 1e-8, "{c:?} {q_0} {}", o.q_0());
    assert!((r - o.r).abs() < 1e-8, "{c:?} {r} {}", o.r);
}

fn two_tasks(gamma: f64, r_0: f64) -> Chain {
    let parameters = ChainParameters {
        alpha: vec![2.0, 1.0],
        beta: vec![20.0],
        gamma: vec![gamma],
        r_0: vec![r_0],
        ..Default::default()
    };
    parameters.check().unwrap()
}

fn after_first_task(chain: &Chain, r_0: f64) -> InheritedLaw {
    let task = chain.task(0, None).unwrap();
    let curve = Curve::trace(task, 2.0, Resolution::STANDARD).unwrap();
    let found = roots(&curve, 2.0, Resolution::STANDARD);
    found[0].posterior(&task, Resolution::STANDARD).inherited(r_0)
}

#[test]
fn the_order_parameters_are_derivatives_of_the_entropic_term() {
    let free = Task::new(20.0).unwrap();
    for (stiffness, q_0_hat, r_hat) in
        [(52.8, 1228.0, 159.0), (-15.9, 66.4, 7.4), (-158.0, 1262.0, 44.0), (0.3, 7.4, 2.7)]
    {
        check_entropic_term(&free, &Conjugates { stiffness, q_0_hat, r_hat });
    }
    for (gamma, r_0) in [(1.0, 0.5), (0.1, -0.5)] {
        let chain = two_tasks(gamma, r_0);
        let inherited = after_first_task(&chain, r_0);
        let task = chain.task(1, Some(&inherited)).unwrap();
        for (stiffness, q_0_hat, r_hat) in [(38.9, 941.0, 44.0), (-11.0, 148.0, 12.0)] {
            check_entropic_term(&task, &Conjugates { stiffness, q_0_hat, r_hat });
        }
    }
}

/// −βf (without the constant of the KL term) as a function of all six parameters.
fn free_energy(task: &Task, alpha: f64, o: &Overlaps, c: &Conjugates) -> f64 {
    let site = site_averages(&task.site(c), &task.fields(c), fine());
    0.5 * c.stiffness * o.q_d() - 0.5 * c.q_0_hat * o.q_d_minus_q_0 - c.r_hat * o.r
        + site.ln_z
        + alpha * energy(o, task.beta(), fine()).g_e
}

fn check_stationary(task: &Task, alpha: f64, found: &Found) {
    let c = task.conjugates(&found.root.x);
    let o = site_averages(&task.site(&c), &task.fields(&c), fine()).overlaps;
    let h = 2e-3 * o.one_minus_q_d.min(o.q_d_minus_q_0).min(o.q_0_minus_r2);
    let by_overlaps = [
        slope(|x| free_energy(task, alpha, &moved(&o, x, 0.0, 0.0), &c), h),
        slope(|x| free_energy(task, alpha, &moved(&o, 0.0, x, 0.0), &c), h),
        slope(|x| free_energy(task, alpha, &moved(&o, 0.0, 0.0, x), &c), h),
    ];
    let k = 1e-3 * c.q_0_hat.min(1.0 + c.stiffness.abs());
    let at = |a: f64, q: f64, r: f64| {
        let c =
            Conjugates { stiffness: c.stiffness + a, q_0_hat: c.q_0_hat + q, r_hat: c.r_hat + r };
        free_energy(task, alpha, &o, &c)
    };
    let by_conjugates = [
        slope(|x| at(x, 0.0, 0.0), k),
        slope(|x| at(0.0, x, 0.0), k),
        slope(|x| at(0.0, 0.0, x), k),
    ];
    for derivative in by_overlaps {
        assert!(derivative.abs() < 3e-7 * c.q_0_hat, "{alpha} {:?} {derivative}", found.branch);
    }
    for derivative in by_conjugates {
        assert!(derivative.abs() < 1e-8, "{alpha} {:?} {derivative}", found.branch);
    }
}

#[test]
fn minus_beta_f_is_stationary_on_every_branch() {
    let task = Task::new(20.0).unwrap();
    let curve = Curve::trace(task, 3.0, Resolution::STANDARD).unwrap();
    for alpha in [0.3, 1.2, 1.7, 1.85, 2.5] {
        let found = roots(&curve, alpha, Resolution::STANDARD);
        assert_eq!(found.len(), if (1.5..1.9).contains(&alpha) { 3 } else { 1 });
        for f in &found {
            check_stationary(&task, alpha, f);
        }
    }
}

/// γ = 0.1, α_1 = 2: the second task has several solutions.
#[test]
fn the_potential_is_stationary_on_every_branch_of_a_second_task() {
    let mut several = 0;
    for r_0 in [0.5, -0.5] {
        let chain = two_tasks(0.1, r_0);
        let inherited = after_first_task(&chain, r_0);
        let task = chain.task(1, Some(&inherited)).unwrap();
        let curve = Curve::trace(task, 3.0, Resolution::STANDARD).unwrap();
        for alpha in [0.5, 1.0, 1.43, 1.9, 3.0] {
            let found = roots(&curve, alpha, Resolution::STANDARD);
            several += usize::from(found.len() > 1);
            for f in &found {
                check_stationary(&task, alpha, f);
            }
        }
    }
    assert!(several >= 2);
}
