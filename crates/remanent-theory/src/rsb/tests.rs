//! The two sides against finite differences and their limits.

use super::energy::{StepEnergy, step_energy};
use super::equations::{System, d_phi_d_x, phi, stabilities};
use super::narrow::Width;
use super::report::finish;
use super::site::{StepSite, Surroundings};
use super::solve::{Hold, solve};
use super::state::{State, StepConjugates, StepOverlaps};
use super::task::BrokenTask;
use crate::energy::energy;
use crate::fields::{Fields, site_averages};
use crate::inherited::InheritedLaw;
use crate::overlaps::{Conjugates, Overlaps};
use crate::posterior::Posterior;
use crate::resolution::Resolution;
use crate::single::SingleTask;
use crate::site::{Moments, Site};
use crate::solution::Termination;
use crate::task::Task;

const RESOLUTION: Resolution = Resolution::STANDARD;

/// Overlaps from (q_d, r, q_0, …, q_K).
fn overlaps(values: &[f64]) -> StepOverlaps {
    let (q_d, r, q) = (values[0], values[1], &values[2..]);
    StepOverlaps {
        one_minus_q_d: 1.0 - q_d,
        q_d_minus_q_k: q_d - q[q.len() - 1],
        gaps: q.windows(2).map(|w| w[1] - w[0]).collect(),
        q_0_minus_r2: q[0] - r * r,
        r,
    }
}

/// Conjugates from (q_d_hat, r_hat, q_0_hat, …, q_K_hat).
fn conjugates(values: &[f64]) -> StepConjugates {
    let (q_d_hat, r_hat, q) = (values[0], values[1], &values[2..]);
    StepConjugates {
        stiffness: q[q.len() - 1] - q_d_hat,
        q_0_hat: q[0],
        gaps: q.windows(2).map(|w| w[1] - w[0]).collect(),
        r_hat,
    }
}

fn energy_at(values: &[f64], x: &[f64], beta: f64) -> StepEnergy {
    step_energy(&overlaps(values), x, beta, Width::Any, RESOLUTION)
}

fn site_at(values: &[f64], x: &[f64], entropy: f64) -> StepSite {
    let alone = Surroundings { coupling: entropy, inherited: None };
    alone.step_site(&conjugates(values), x, false, Width::Any, RESOLUTION)
}

/// The derivative of `f` by entry `k`, from four points.
fn derivative(values: &[f64], k: usize, h: f64, f: impl Fn(&[f64]) -> f64) -> f64 {
    let at = |steps: f64| {
        let mut shifted = values.to_vec();
        shifted[k] += steps * h;
        f(&shifted)
    };
    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h)
}

fn close(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() < 2e-8 * (1.0 + b.abs()), "{what}: {a} against {b}");
}

/// x_{l+1} − x_l, with x_0 = 0 and x_{K+1} = 1.
fn weight(x: &[f64], l: usize) -> f64 {
    let at = |l: usize| match l {
        0 => 0.0,
        l if l > x.len() => 1.0,
        l => x[l - 1],
    };
    at(l + 1) - at(l)
}

/// q_d_hat, r_hat and q_l_hat are derivatives of g_E, and ∂g_E/∂x_l is what the
/// excess says, at points that solve nothing.
#[test]
fn conjugates_are_derivatives_of_the_energy() {
    let cases: [(&[f64], &[f64], f64); 4] = [
        (&[0.87, 0.58, 0.74, 0.85], &[0.48], 20.0),
        (&[0.979, 0.78, 0.80, 0.978], &[0.05], 50.0),
        (&[0.90, 0.66, 0.77, 0.892, 0.896], &[0.28, 0.36], 20.0),
        (&[0.6, 0.3, 0.4, 0.5, 0.52], &[0.4, 0.7], 5.0),
    ];
    for (values, x, beta) in cases {
        let e = energy_at(values, x, beta);
        let g = |v: &[f64]| energy_at(v, x, beta).g_e;
        let mut q_hat = vec![e.q_0_hat];
        e.gaps.iter().for_each(|gap| q_hat.push(q_hat[q_hat.len() - 1] + gap));
        let q_d_hat = q_hat[x.len()] - e.stiffness;
        let mut levels = values[2..].to_vec();
        levels.extend([values[0], 1.0]);
        let h = 0.02 * levels.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
        close(2.0 * derivative(values, 0, h, g), q_d_hat, "q_d_hat");
        close(derivative(values, 1, h, g), e.r_hat, "r_hat");
        for (l, q_hat) in q_hat.iter().enumerate() {
            let wanted = -0.5 * weight(x, l) * q_hat;
            close(derivative(values, 2 + l, h, g), wanted, "q_l_hat");
        }
        for l in 1..=x.len() {
            let by_x = derivative(x, l - 1, 5e-3 * x[l - 1], |x| energy_at(values, x, beta).g_e);
            let gap = values[2 + l] - values[1 + l];
            close(by_x, e.excess[l - 1] + 0.5 * gap * q_hat[l - 1], "d g_E / d x");
        }
    }
}

#[test]
fn order_parameters_are_derivatives_of_the_entropy() {
    let cases: [(&[f64], &[f64], f64); 4] = [
        (&[64.0, 6.0, 49.0, 60.0], &[0.5], 0.0),
        (&[4000.0, 52.0, 1440.0, 4030.0], &[0.05], 0.0),
        (&[200.0, 13.0, 140.0, 197.0, 201.0], &[0.23, 0.29], 0.0),
        (&[40.0, 6.0, 30.0, 38.0], &[0.6], 3.0),
    ];
    for (values, x, entropy) in cases {
        let s = site_at(values, x, entropy);
        let g = |v: &[f64]| site_at(v, x, entropy).g_s;
        let (o, q) = (&s.overlaps, s.overlaps.q());
        let h = 0.02;
        close(2.0 * derivative(values, 0, h, g), 1.0 - o.one_minus_q_d, "q_d");
        close(derivative(values, 1, h, g), o.r, "r");
        for (l, q) in q.iter().enumerate() {
            close(derivative(values, 2 + l, h, g), -0.5 * weight(x, l) * q, "q_l");
        }
        for l in 1..=x.len() {
            let by_x = derivative(x, l - 1, 1e-3, |x| site_at(values, x, entropy).g_s);
            let gap = values[2 + l] - values[1 + l];
            close(by_x, s.excess[l - 1] + 0.5 * gap * q[l - 1], "d g_S / d x");
        }
    }
}

/// x → 1 removes the inner level, x → 0 the outer one; without a gap x does not matter.
#[test]
fn limits_of_the_energy_are_replica_symmetric() {
    let (beta, q_d, r, q_1, q_0) = (20.0, 0.87, 0.58, 0.85, 0.74);
    let symmetric = |q: f64| {
        let o = Overlaps {
            one_minus_q_d: 1.0 - q_d,
            q_d_minus_q_0: q_d - q,
            q_0_minus_r2: q - r * r,
            r,
        };
        energy(&o, beta, RESOLUTION)
    };
    let at_one = energy_at(&[q_d, r, q_0, q_1], &[1.0], beta);
    close(at_one.g_e, symmetric(q_0).g_e, "g_E at x = 1");
    close(at_one.q_0_hat, symmetric(q_0).q_0_hat, "q_0_hat at x = 1");
    close(at_one.r_hat, symmetric(q_0).r_hat, "r_hat at x = 1");
    close(at_one.curvature2[0], symmetric(q_0).curvature2, "curvature at x = 1");
    // For small x everything is linear in x, with slopes up to 1e4.
    let at_zero = |value: fn(&StepEnergy) -> f64, x: f64| {
        let small = |x: f64| value(&energy_at(&[q_d, r, q_0, q_1], &[x], beta));
        2.0 * small(x) - small(2.0 * x)
    };
    let rs = symmetric(q_1);
    close(at_zero(|e| e.g_e, 1e-6), rs.g_e, "g_E at x = 0");
    close(at_zero(|e| e.q_0_hat + e.gaps[0], 1e-8), rs.q_0_hat, "q_1_hat at x = 0");
    close(at_zero(|e| e.r_hat, 1e-8), rs.r_hat, "r_hat at x = 0");
    close(at_zero(|e| e.curvature2[1], 1e-8), rs.curvature2, "curvature at x = 0");
    for x in [0.2, 0.9] {
        let narrow = energy_at(&[q_d, r, q_0, q_0 + 1e-5], &[x], beta);
        let rs = symmetric(q_0);
        assert!((narrow.g_e - rs.g_e).abs() < 2e-4, "{} {}", narrow.g_e, rs.g_e);
        assert!((narrow.curvature2[1] / narrow.curvature2[0] - 1.0).abs() < 1e-3);
        // q_1_hat − q_0_hat = (q_1 − q_0) E[L''²] to first order.
        assert!((narrow.gaps[0] / (1e-5 * rs.curvature2) - 1.0).abs() < 1e-3);
    }
}

#[test]
fn limits_of_the_entropy_are_replica_symmetric() {
    let (q_d_hat, r_hat, q_1_hat, q_0_hat) = (64.0, 6.0, 60.0, 49.0);
    let symmetric = |q: f64| {
        let c = Conjugates { stiffness: q - q_d_hat, q_0_hat: q, r_hat };
        let site = Site { stiffness: c.stiffness, entropy: 0.0 };
        site_averages(&site, &Fields::new(&c, 0.0, None), RESOLUTION)
    };
    let values = [q_d_hat, r_hat, q_0_hat, q_1_hat];
    for (x, q) in [(1.0, q_0_hat), (1e-8, q_1_hat)] {
        let (s, rs) = (site_at(&values, &[x], 0.0), symmetric(q));
        close(s.g_s, rs.ln_z, "g_S");
        close(s.overlaps.one_minus_q_d, rs.overlaps.one_minus_q_d, "1 - q_d");
        close(s.overlaps.r, rs.overlaps.r, "r");
    }
    let narrow = site_at(&[q_d_hat, r_hat, q_0_hat, q_0_hat + 1e-3], &[0.7], 0.0);
    let rs = symmetric(q_0_hat);
    assert!((narrow.overlaps.gaps[0] / (1e-3 * rs.variance2) - 1.0).abs() < 1e-3);
}

/// Every derivative of φ vanishes at a static solution; at a fixed x the total
/// derivative of φ by x is the partial one.
#[test]
fn phi_is_stationary() {
    let task = BrokenTask::new(SingleTask::new(20.0).unwrap());
    for (alpha, steps) in [(0.8, 1), (1.2, 1), (1.52, 1), (1.1, 2)] {
        let s = task.poor(alpha, steps).unwrap();
        assert!(s.is_converged());
        let x = s.x.clone();
        let mut q = vec![s.q_d, s.r];
        q.extend(&s.q);
        let mut hats = vec![s.q_d_hat, s.r_hat];
        hats.extend(&s.q_hat);
        let value = |q: &[f64], hats: &[f64], x: &[f64]| {
            let levels: f64 = (0..=steps).map(|l| weight(x, l) * q[2 + l] * hats[2 + l]).sum();
            -0.5 * q[0] * hats[0] + 0.5 * levels - q[1] * hats[1]
                + site_at(hats, x, 0.0).g_s
                + alpha * energy_at(q, x, 20.0).g_e
        };
        assert!((value(&q, &hats, &x) / s.minus_beta_f - 1.0).abs() < 1e-10);
        for k in 0..q.len() {
            let h = 1e-4 * s.q_d_minus_q_k / 0.005;
            let slope = derivative(&q, k, h, |q| value(q, &hats, &x));
            assert!(slope.abs() < 1e-5 * hats[0], "{alpha} q {k}: {slope}");
            let slope = derivative(&hats, k, 0.02, |hats| value(&q, hats, &x));
            assert!(slope.abs() < 1e-7, "{alpha} hat {k}: {slope}");
        }
        for k in 0..steps {
            let slope = derivative(&x, k, 1e-3, |x| value(&q, &hats, x));
            assert!(slope.abs() < 1e-7, "{alpha} x {k}: {slope}");
        }
    }
    let from = task.poor(1.2, 1).unwrap();
    let at = |x: f64| task.at_x(&from, 1.2, x);
    let (x, h) = (0.5, 1e-3);
    let slope = derivative(&[x], 0, h, |x| at(x[0]).minus_beta_f);
    let middle = at(x);
    assert!((slope - middle.d_phi_d_x[0]).abs() < 1e-8, "{slope} {middle:?}");
    assert!((middle.complexity + x * x * slope).abs() < 1e-8);
    assert!((middle.cluster_minus_beta_f - middle.minus_beta_f - x * slope).abs() < 1e-8);
}

/// A broken first task's law of the magnetisations, seen by a task with r_0 = 0.4.
fn inherited(alpha: f64) -> InheritedLaw {
    let task = BrokenTask::new(SingleTask::new(20.0).unwrap());
    let s = task.poor(alpha, 1).unwrap();
    let law = task.system().surroundings().law(&s.state().conjugates, s.x[0], RESOLUTION);
    law.posterior(RESOLUTION).inherited(0.4)
}

/// The law of the field in which a weight lives gives the order parameters back, and
/// so does the law of θ that follows.
#[test]
fn the_law_of_the_field_has_the_order_parameters_as_moments() {
    let task = BrokenTask::new(SingleTask::new(20.0).unwrap());
    for alpha in [0.74, 1.0, 1.4] {
        let s = task.poor(alpha, 1).unwrap();
        let law = task.system().surroundings().law(&s.state().conjugates, s.x[0], RESOLUTION);
        let mut moments = vec![];
        law.site.moments(&law.grid.fields, RESOLUTION.factor(), &mut moments);
        let average = |f: &dyn Fn(f64, &Moments) -> f64| -> f64 {
            let nodes = law.grid.fields.iter().zip(&law.total).zip(&moments);
            nodes.map(|((b, q), m)| q * f(*b, m)).sum()
        };
        close(average(&|_, _| 1.0), 1.0, "norm");
        close(average(&|_, m| m.one_minus_m2), s.one_minus_q_d, "1 - q_d");
        close(average(&|b, m| b.signum() * m.mean), s.r, "r");
        close(average(&|_, m| m.mean * m.mean), s.q[1], "q_1");
        let inherited = law.posterior(RESOLUTION).inherited(1.0);
        let average = |f: fn(f64) -> f64| -> f64 {
            inherited.panels().thetas.iter().zip(inherited.masses()).map(|(t, p)| p * f(*t)).sum()
        };
        close(average(f64::tanh), s.r, "r of the inherited");
        close(average(|t| t.tanh().powi(2)), s.q_d, "q_d of the inherited");
        close(average(f64::signum), s.p, "p of the inherited");
    }
}

/// At x = 1 the clusters do not show in the law of one state.
#[test]
fn the_law_at_x_1_is_replica_symmetric() {
    let (q_d_hat, r_hat, q_1_hat, q_0_hat) = (64.0, 6.0, 60.0, 49.0);
    let c = conjugates(&[q_d_hat, r_hat, q_0_hat, q_1_hat]);
    let alone = Surroundings { coupling: 0.0, inherited: None };
    let broken = alone.law(&c, 1.0, RESOLUTION).posterior(RESOLUTION).inherited(0.7);
    let c = Conjugates { stiffness: q_0_hat - q_d_hat, q_0_hat, r_hat };
    let site = Site { stiffness: c.stiffness, entropy: 0.0 };
    let fields = Fields::new(&c, 0.0, None);
    let symmetric = Posterior::new(site, &fields, RESOLUTION).inherited(0.7);
    for k in 1..=6 {
        let moment = |inherited: &InheritedLaw| -> f64 {
            let nodes = inherited.panels().thetas.iter().zip(inherited.masses());
            nodes.map(|(t, p)| p * t.tanh().powi(k)).sum()
        };
        close(moment(&broken), moment(&symmetric), "moment of m");
    }
}

/// With what a broken task left, order parameters are still derivatives of g_S, and at a
/// solution dφ/dα = g_E.
#[test]
fn a_later_task_is_stationary_too() {
    let inherited = inherited(1.0);
    let surroundings = Surroundings { coupling: 4.0, inherited: Some(&inherited) };
    let values = [64.0, 6.0, 49.0, 60.0];
    let at = |v: &[f64], x: f64| {
        surroundings.step_site(&conjugates(v), &[x], false, Width::Any, RESOLUTION)
    };
    let (s, x) = (at(&values, 0.5), 0.5);
    let g = |v: &[f64]| at(v, x).g_s;
    let q = s.overlaps.q();
    close(2.0 * derivative(&values, 0, 0.02, g), 1.0 - s.overlaps.one_minus_q_d, "q_d");
    close(derivative(&values, 1, 0.02, g), s.overlaps.r, "r");
    close(-2.0 * derivative(&values, 2, 0.02, g), x * q[0], "q_0");
    close(-2.0 * derivative(&values, 3, 0.02, g), (1.0 - x) * q[1], "q_1");
    let by_x = derivative(&[x], 0, 1e-3, |x| at(&values, x[0]).g_s);
    close(by_x, s.excess[0] + 0.5 * 11.0 * q[0], "d g_S / d x");

    let task =
        Task { beta: 20.0, coupling: 2.0, inherited: Some(&inherited), one_minus_q_star: None };
    let broken = BrokenTask::of(task, 1.4, RESOLUTION);
    let onset = broken.onset().unwrap();
    let alpha = 1.3 * onset.alpha;
    let at = |alpha: f64| broken.poor(alpha, 1).unwrap();
    let middle = at(alpha);
    assert!(middle.is_converged() && middle.q_gaps[0] > 1e-3, "{onset:?} {middle:?}");
    let state = middle.state();
    let g_e = broken.system().turn(&state, false).unwrap().energy.g_e;
    let slope = derivative(&[alpha], 0, 1e-3, |a| at(a[0]).minus_beta_f);
    assert!((slope / g_e - 1.0).abs() < 1e-7, "{slope} {g_e}");
}

/// With no steps the levels are the replica-symmetric solver's equations.
#[test]
fn no_steps_are_replica_symmetry() {
    let single = SingleTask::new(20.0).unwrap();
    let s = single.solve(1.0, crate::parameters::Choice::Poor).unwrap();
    let state = State {
        conjugates: StepConjugates {
            stiffness: s.q_0_hat - s.q_d_hat,
            q_0_hat: s.q_0_hat,
            gaps: vec![],
            r_hat: s.r_hat,
        },
        x: vec![],
        alpha: 1.0,
    };
    let system = System {
        beta: 20.0,
        coupling: 0.0,
        inherited: None,
        one_minus_q_star: None,
        narrow_below: 0.0,
        resolution: RESOLUTION,
    };
    let turn = system.turn(&state, true).unwrap();
    close(phi(&system, &state, &turn), s.minus_beta_f, "phi");
    close(stabilities(&state, &turn)[0], s.replicon, "replicon");
    close(1.0 - 2.0 * turn.site.negative.unwrap(), s.p, "p");
    close(turn.energy.q_0_hat, s.q_0_hat, "q_0_hat");
}

/// The x with which a gap opens makes the product of the two sides' ⟨ψ''²⟩ the same at
/// both ends of a small gap: the derivative of marginal stability along Parisi's flow.
#[test]
fn the_gap_opens_with_the_x_of_the_flow() {
    for beta in [14.0, 20.0, 30.0] {
        let task = BrokenTask::new(SingleTask::new(beta).unwrap());
        let onset = task.onset().unwrap().state();
        let x_at = |gap: f64| {
            let mut state = onset.clone();
            state.conjugates.gaps = vec![gap * onset.conjugates.q_0_hat];
            state.conjugates.stiffness += state.conjugates.gaps[0];
            let mut drift = |x: f64| {
                state.x = vec![x];
                let turn = task.system().turn(&state, false).unwrap();
                let ratio = |v: &[f64]| v[1] / v[0] - 1.0;
                ratio(&turn.energy.curvature2) + ratio(&turn.site.variance2)
            };
            let (a, b) = (drift(0.5), drift(1.0));
            0.5 + 0.5 * a / (a - b)
        };
        let x = 2.0 * x_at(3e-4) - x_at(6e-4);
        let found = task.opening().unwrap().x;
        assert!((found - x).abs() < 1e-3, "{beta}: {found} {x}");
    }
}

/// The relative entropies that make up ∂φ/∂x stay accurate when the gap is tiny.
#[test]
fn the_equation_of_x_is_of_third_order_at_the_onset() {
    let task = BrokenTask::new(SingleTask::new(20.0).unwrap());
    let onset = task.onset().unwrap();
    let system = task.system();
    for gap in [0.3, 0.03] {
        let mut state = onset.state();
        state.conjugates.gaps = vec![gap];
        state.x = vec![0.9];
        let turn = system.turn(&state, false).unwrap();
        let area = gap * turn.site.overlaps.gaps[0];
        assert!(d_phi_d_x(&state, &turn, 1).abs() < 0.05 * gap * area);
    }
}

/// A solution on too few nodes says so; with enough of them it is accurate.
/// Before the onset, next to it, on the way, before and behind the fold, and at a discontinuous onset.
#[test]
fn the_beginning_of_a_curve_leads_to_the_poor_solution() {
    let places = [
        (20.0, 1, &[0.6, 0.735, 1.0, 1.5309, 1.6][..]),
        (16.0, 1, &[1.2]),
        (100.0, 1, &[0.65, 1.2]),
        (20.0, 2, &[1.2]),
    ];
    for (beta, steps, alphas) in places {
        let single = SingleTask::new(beta).unwrap();
        let whole = BrokenTask::new(single);
        for alpha in alphas {
            let alone = BrokenTask::new(single).for_one_alpha().poor(*alpha, steps).unwrap();
            let among = whole.poor(*alpha, steps).unwrap();
            let what = format!("beta {beta}, K = {steps}, alpha {alpha}");
            assert_eq!(alone.termination, among.termination, "{what}");
            if among.is_found() {
                close(alone.eps, among.eps, &what);
                close(alone.x[steps - 1], among.x[steps - 1], &what);
            }
        }
    }
}

#[test]
fn too_few_nodes_are_inaccurate() {
    let task = BrokenTask::new(SingleTask::new(20.0).unwrap());
    let solution = task.poor(1.2, 1).unwrap();
    assert_eq!(solution.termination, Termination::Converged);
    let y: [f64; 6] = solution.state().to_coordinates();
    let at = |factor: f64| {
        let system = task.system().with_resolution(Resolution::unchecked(factor));
        finish(&system, &solve(&system, Hold::LnAlpha(y[5]), y, None), false, true)
    };
    let found = [0.3, 0.35, 0.4, 0.45, 0.5].map(at);
    let few = found.iter().find(|s| s.is_found() && s.quadrature_error > 1e-8).unwrap();
    assert_eq!(few.termination, Termination::Inaccurate);
    assert!(few.is_found() && !few.is_converged());
    assert_eq!(at(1.0).termination, Termination::Converged);
}

/// Around every field by itself or on a common lattice: the same numbers where the gap is small but not tiny, and a
/// third order that stays in proportion where the lattice has lost it.
#[test]
fn a_narrow_gap_agrees_with_a_lattice() {
    for beta in [12.5, 20.0, 50.0] {
        let task = BrokenTask::new(SingleTask::new(beta).unwrap());
        let onset = task.onset().unwrap();
        let narrow = System { narrow_below: 1.0, ..task.system() };
        let wide =
            System { narrow_below: 0.0, ..narrow }.with_resolution(Resolution::STANDARD.doubled());
        let mut ratios = vec![];
        for gap in [0.25, 0.1, 0.03, 1e-3, 1e-5, 1e-7] {
            let mut state = onset.state();
            state.conjugates.gaps = vec![gap];
            state.conjugates.stiffness += gap;
            state.x = vec![0.8];
            let narrow = narrow.turn(&state, true).unwrap();
            let (third_s, third_e) = (narrow.site.third_order[0], narrow.energy.third_order[0]);
            ratios.push((third_s / gap.powi(3), third_e / gap.powi(3)));
            if gap < 0.02 {
                continue;
            }
            let wide = wide.turn(&state, true).unwrap();
            let pairs = [
                (narrow.site.g_s, wide.site.g_s),
                (narrow.site.overlaps.one_minus_q_d, wide.site.overlaps.one_minus_q_d),
                (narrow.site.overlaps.q_d_minus_q_k, wide.site.overlaps.q_d_minus_q_k),
                (narrow.site.overlaps.gaps[0], wide.site.overlaps.gaps[0]),
                (narrow.site.overlaps.r, wide.site.overlaps.r),
                (narrow.site.variance2[0], wide.site.variance2[0]),
                (narrow.site.variance2[1], wide.site.variance2[1]),
                (narrow.site.negative.unwrap(), wide.site.negative.unwrap()),
                (narrow.energy.g_e, wide.energy.g_e),
                (narrow.energy.stiffness, wide.energy.stiffness),
                (narrow.energy.q_0_hat, wide.energy.q_0_hat),
                (narrow.energy.gaps[0], wide.energy.gaps[0]),
                (narrow.energy.r_hat, wide.energy.r_hat),
                (narrow.energy.curvature2[0], wide.energy.curvature2[0]),
                (narrow.energy.curvature2[1], wide.energy.curvature2[1]),
            ];
            for (k, (narrow, wide)) in pairs.iter().enumerate() {
                assert!((narrow / wide - 1.0).abs() < 3e-11, "{beta} {gap} {k} {narrow} {wide}");
            }
            // The lattice's own third order has lost digits: 1e-15 of c against c³.
            for (narrow, wide) in
                [(third_s, wide.site.third_order[0]), (third_e, wide.energy.third_order[0])]
            {
                assert!((narrow / wide - 1.0).abs() < 1e-6, "{beta} {gap} {narrow} {wide}");
            }
            let slopes = (d_phi_d_x(&state, &narrow, 1), d_phi_d_x(&state, &wide, 1));
            assert!((slopes.0 / slopes.1 - 1.0).abs() < 1e-6, "{beta} {gap} {slopes:?}");
        }
        let (a, b) = (ratios[4], ratios[5]);
        assert!(
            (a.0 / b.0 - 1.0).abs() < 2e-5 && (a.1 / b.1 - 1.0).abs() < 2e-5,
            "{beta} {a:?} {b:?}"
        );
    }
}
