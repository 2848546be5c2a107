//! What a user waits for, on one thread.

use criterion::{Criterion, criterion_group, criterion_main};
use remanent_theory::chain::ChainParameters;
use remanent_theory::parameters::{Choice, Prior};
use remanent_theory::phase::phase_diagram;
use remanent_theory::rsb::{BrokenTask, broken_phase_diagram};
use remanent_theory::single::SingleTask;

fn chain(tasks: usize, alpha: f64) -> ChainParameters {
    ChainParameters {
        alpha: vec![alpha; tasks],
        beta: vec![20.0],
        r_0: vec![0.5],
        gamma: vec![1.0],
        ..Default::default()
    }
}

fn benches(c: &mut Criterion) {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let two_threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let task = SingleTask::new(20.0).unwrap();

    let mut group = c.benchmark_group("single task, cold");
    for (beta, alpha) in [(5.0, 1.0), (10.0, 1.5), (20.0, 0.5), (20.0, 2.0), (50.0, 1.5)] {
        let task = SingleTask::new(beta).unwrap();
        group.bench_function(format!("beta {beta} alpha {alpha}"), |b| {
            b.iter(|| one_thread.install(|| task.solve(alpha, Choice::Stable).unwrap()));
        });
    }
    group.finish();

    let mut group = c.benchmark_group("scans");
    group.sample_size(10);
    let alphas: Vec<f64> = (1..=300).map(|i| 0.01 * f64::from(i)).collect();
    group.bench_function("300 alpha, stable branch", |b| {
        b.iter(|| one_thread.install(|| task.scan(&alphas, Choice::Stable).unwrap()));
    });
    group.bench_function("300 alpha, both branches", |b| {
        b.iter(|| {
            one_thread.install(|| {
                let poor = task.scan(&alphas, Choice::Poor).unwrap();
                let good = task.scan(&alphas, Choice::Good).unwrap();
                (poor, good)
            })
        });
    });
    group.finish();

    let mut group = c.benchmark_group("chains");
    group.sample_size(10);
    for tasks in [2, 10] {
        let chain = chain(tasks, 2.0).check().unwrap();
        group.bench_function(format!("{tasks} tasks"), |b| {
            b.iter(|| one_thread.install(|| chain.solve()));
        });
    }
    group.finish();

    let mut group = c.benchmark_group("broken replica symmetry");
    group.sample_size(10);
    let warm = BrokenTask::new(task);
    for (steps, alpha) in [(1, 0.8), (1, 1.2), (2, 1.2)] {
        let cold = || BrokenTask::new(task).for_one_alpha().poor(alpha, steps).unwrap();
        group.bench_function(format!("K {steps} alpha {alpha}, cold"), |b| {
            b.iter(|| one_thread.install(cold));
        });
        group.bench_function(format!("K {steps} alpha {alpha}, warm"), |b| {
            b.iter(|| one_thread.install(|| warm.poor(alpha, steps).unwrap()));
        });
    }
    group.bench_function("K 1 branch of 150 points", |b| {
        b.iter(|| one_thread.install(|| warm.branch(1)));
    });
    group.bench_function("K 1 crossing, cold", |b| {
        b.iter(|| one_thread.install(|| BrokenTask::new(task).crossing(1)));
    });
    group.bench_function("complexity of 40 rows", |b| {
        b.iter(|| one_thread.install(|| warm.complexity(1.0, 40).unwrap()));
    });
    group.bench_function("two tasks with one step each", |b| {
        let chain = chain(2, 1.2).check().unwrap();
        b.iter(|| one_thread.install(|| chain.solve_broken(1).unwrap()));
    });
    let betas: Vec<f64> = (0..40).map(|i| 5.0 * 40_f64.powf(f64::from(i) / 39.0)).collect();
    group.bench_function("phase diagram over 40 beta, two threads", |b| {
        b.iter(|| {
            two_threads.install(|| broken_phase_diagram(&betas, Prior::None, &|| ()).unwrap())
        });
    });
    group.finish();

    let mut group = c.benchmark_group("phase diagram");
    group.sample_size(10);
    let betas: Vec<f64> = (6..46).map(f64::from).collect();
    group.bench_function("40 beta, two threads", |b| {
        b.iter(|| two_threads.install(|| phase_diagram(&betas, Prior::None, &|| ()).unwrap()));
    });
    group.finish();
}

criterion_group!(theory, benches);
criterion_main!(theory);
