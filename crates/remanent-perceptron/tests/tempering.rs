//! Parallel tempering against numerical integration over the whole cube, and resumption.
//!
//! The weights of the ensemble are continuous, so the exact averages of a small system are integrals
//! over m ∈ (−1, 1)^N, not sums over 2^N corners.

use remanent_math::normal;
use remanent_math::statistics::Summary;
use remanent_perceptron::parameters::Setting;
use remanent_perceptron::randomness::Trial;
use remanent_perceptron::tempering::{
    BINS, Shortcoming, Tempering, TemperingLearner, TemperingRecord,
};
use remanent_perceptron::world::World;

fn world(n: usize, alpha: f64, trial: u32) -> World {
    let setting = Setting { n, alpha: vec![alpha], r_0: vec![0.0], fresh_patterns: 0 };
    World::draw(&setting, Trial { seed: 3, trial }).unwrap()
}

fn run(learner: &TemperingLearner, world: &World, trial: u32) -> TemperingRecord {
    let mut tempering = Tempering::new(learner, world, Trial { seed: 5, trial }).unwrap();
    while !tempering.is_finished() {
        tempering.sweep();
    }
    tempering.into_record()
}

/// The measure on a grid: fields a_i in steps of `step`, with the volume element dm = (1 − m²) da.
struct Exact {
    points: Vec<(Vec<f64>, f64, f64)>,
}

impl Exact {
    fn new(world: &World, beta: f64, nodes: usize, step: f64) -> Self {
        let n = world.sites();
        let patterns = world.patterns(0);
        let field = |k: usize| (k as f64 - 0.5 * (nodes as f64 - 1.0)) * step;
        let mut points: Vec<(Vec<f64>, f64, f64)> = (0..nodes.pow(n as u32))
            .map(|index| {
                let a: Vec<f64> =
                    (0..n).map(|i| field(index / nodes.pow(i as u32) % nodes)).collect();
                let m: Vec<f64> = a.iter().map(|a| a.tanh()).collect();
                let volume: f64 = a.iter().map(|a| a.cosh().powi(-2)).product();
                let variance: f64 = a.iter().map(|a| a.cosh().powi(-2)).sum();
                let energy: f64 = (0..patterns.len())
                    .map(|p| {
                        let u: f64 = (0..n).map(|i| f64::from(patterns.sign(p, i)) * m[i]).sum();
                        -normal::ln_cdf(u / variance.sqrt())
                    })
                    .sum();
                (m, energy, volume * (-beta * energy).exp())
            })
            .collect();
        let total: f64 = points.iter().map(|(_, _, weight)| weight).sum();
        points.iter_mut().for_each(|(_, _, weight)| *weight /= total);
        Self { points }
    }

    fn mean(&self, value: impl Fn(&[f64], f64) -> f64) -> f64 {
        self.points.iter().map(|(m, energy, weight)| weight * value(m, *energy)).sum()
    }

    /// ⟨q⟩ and ⟨q²⟩ of two independent states, from ⟨m_i⟩ and ⟨m_i m_j⟩.
    fn overlaps(&self) -> [f64; 2] {
        let n = self.points[0].0.len();
        let first: f64 = (0..n).map(|i| self.mean(|m, _| m[i]).powi(2)).sum();
        let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let second: f64 = pairs.map(|(i, j)| self.mean(|m, _| m[i] * m[j]).powi(2)).sum();
        [first / n as f64, second / (n * n) as f64]
    }

    /// P(q) of two independent states in `bins` bins from −1 to 1.
    fn histogram(&self, bins: usize) -> Vec<f64> {
        let n = self.points[0].0.len() as f64;
        let mut found = vec![0.0; bins];
        let heavy: Vec<_> = self.points.iter().filter(|point| point.2 > 1e-7).collect();
        for a in &heavy {
            for b in &heavy {
                let q = a.0.iter().zip(&b.0).map(|(a, b)| a * b).sum::<f64>() / n;
                found[((q + 1.0) * 0.5 * bins as f64) as usize] += a.2 * b.2;
            }
        }
        found
    }
}

/// Within four standard errors of the exact value, or within the accuracy of the grid.
fn assert_agrees(name: &str, exact: f64, values: impl Iterator<Item = f64>) {
    let found = Summary::of(values).unwrap();
    let error = found.standard_error.unwrap();
    assert!(error < 0.05, "{name}: the standard error {error} decides nothing");
    let away = (found.mean - exact).abs();
    assert!(away < 4.0 * error + 5e-4, "{name}: {} ± {error}, exact {exact}", found.mean);
}

fn learner(beta: f64) -> TemperingLearner {
    TemperingLearner {
        beta,
        beta_low: 0.2 * beta,
        temperatures: Some(4),
        replicas: 4,
        warmup: 200,
        sweeps: 2000,
    }
}

#[test]
fn averages_are_those_of_the_integral_over_the_cube() {
    for (n, alpha, beta, nodes, step) in
        [(3, 1.4, 20.0, 60, 0.22), (3, 2.4, 6.0, 60, 0.22), (5, 0.8, 20.0, 20, 0.5)]
    {
        let world = world(n, alpha, 1);
        let learner = learner(beta);
        let records: Vec<_> = (0..16).map(|trial| run(&learner, &world, trial)).collect();
        let of = |value: fn(&TemperingRecord) -> f64| records.iter().map(value);
        let exact = Exact::new(&world, beta, nodes, step);
        let sites = n as f64;
        let square = |m: &[f64]| m.iter().map(|m| m * m).sum::<f64>() / sites;
        assert_agrees("q_d", exact.mean(|m, _| square(m)), of(|r| r.all.q_d));
        assert_agrees("L", exact.mean(|_, energy| energy), of(|r| r.all.energy));
        let teacher = world.teacher(0).to_vec();
        let overlap =
            |m: &[f64]| m.iter().zip(&teacher).map(|(m, &w)| m * f64::from(w)).sum::<f64>() / sites;
        assert_agrees("r", exact.mean(|m, _| overlap(m)), of(|r| r.all.r));
        let [q, q_squared] = exact.overlaps();
        assert_agrees("q", q, of(|r| r.all.q.unwrap()));
        assert_agrees("q²", q_squared, of(|r| r.q_squared));
        assert_agrees("⟨q⟩²", q * q, of(|r| r.q_product.unwrap()));
        // The ends of the ladder are the same in every run.
        for rung in [0, 3] {
            let exact = Exact::new(&world, records[0].rungs[rung].beta, nodes, step);
            let energy = exact.mean(|_, energy| energy);
            let variance = exact.mean(|_, found| (found - energy).powi(2));
            assert_agrees("⟨L⟩", energy, records.iter().map(|r| r.rungs[rung].energy));
            assert_agrees("Var L", variance, records.iter().map(|r| r.rungs[rung].variance));
        }
    }
}

#[test]
fn the_overlap_distribution_is_that_of_two_independent_states() {
    let (beta, bins) = (20.0, 10);
    let world = world(3, 0.7, 1);
    let learner = learner(beta);
    let exact = Exact::new(&world, beta, 32, 0.35).histogram(bins);
    assert!(exact.iter().filter(|weight| **weight > 0.02).count() > 3, "{exact:?}");
    let records: Vec<_> = (0..16).map(|trial| run(&learner, &world, trial)).collect();
    for (bin, exact) in exact.iter().enumerate() {
        let share = |record: &TemperingRecord| {
            let width = BINS / bins;
            let all: u64 = record.histogram.iter().sum();
            let inside: u64 = record.histogram[bin * width..(bin + 1) * width].iter().sum();
            inside as f64 / all as f64
        };
        let found = Summary::of(records.iter().map(share)).unwrap();
        let error = found.standard_error.unwrap();
        assert!((found.mean - exact).abs() < 4.0 * error + 0.01, "{bin}: {found:?} {exact}");
    }
}

#[test]
fn fluctuations_give_the_change_of_the_energy() {
    let world = world(40, 1.0, 2);
    let learner = TemperingLearner { temperatures: None, ..learner(10.0) };
    let records: Vec<_> = (0..4).map(|trial| run(&learner, &world, trial)).collect();
    let residual = |record: &TemperingRecord| {
        record.energy_difference_from_fluctuations() / record.energy_difference() - 1.0
    };
    let found = Summary::of(records.iter().map(residual)).unwrap();
    let error = found.standard_error.unwrap();
    assert!(error < 0.02 && found.mean.abs() < 4.0 * error + 0.005, "{found:?}");
    // The starts are forgotten, and the criteria say so.
    for record in &records {
        assert_eq!(record.shortcomings(), []);
        assert!(record.rungs.iter().filter_map(|rung| rung.exchange).all(|a| a > 0.15));
    }
}

#[test]
fn chains_that_have_not_mixed_are_reported() {
    // A ladder whose hot end is as cold as its cold end.
    let world = world(101, 1.4, 0);
    let learner = TemperingLearner { beta_low: 19.0, warmup: 200, sweeps: 300, ..learner(20.0) };
    let found = run(&learner, &world, 0).shortcomings();
    assert!(found.contains(&Shortcoming::EffectiveSamples), "{found:?}");
    assert!(found.contains(&Shortcoming::HotEnd), "{found:?}");
}

#[test]
fn a_resumed_run_continues_bit_for_bit() {
    let world = world(31, 1.0, 0);
    let learner = TemperingLearner { temperatures: None, warmup: 80, sweeps: 60, ..learner(15.0) };
    let trial = Trial { seed: 5, trial: 0 };
    let whole = run(&learner, &world, 0);
    // In every phase: before the first placing of the ladder, between two, at the end of the warm-up,
    // and while measuring.
    for stop in [3, 10, 25, 79, 80, 81, 113] {
        let mut first = Tempering::new(&learner, &world, trial).unwrap();
        (0..stop).for_each(|_| first.sweep());
        let mut second = Tempering::resume(&learner, &world, trial, first.progress()).unwrap();
        while !second.is_finished() {
            second.sweep();
        }
        assert_eq!(second.into_record(), whole, "stopped after {stop} sweeps");
    }
    let other = TemperingLearner { replicas: 6, ..learner.clone() };
    let progress = Tempering::new(&learner, &world, trial).unwrap().progress();
    assert!(Tempering::resume(&other, &world, trial, progress).is_err());
}
