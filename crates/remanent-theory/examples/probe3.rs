//! probe3
use remanent_theory::{chain::*, parameters::*, single::*};
use std::time::Instant;
fn rows(f: &str) -> Vec<Vec<String>> { std::fs::read_to_string(format!("../shared/reference/{f}.csv")).unwrap().lines().skip(1).map(|l| l.split(',').map(|s| s.to_string()).collect()).collect() }
fn rel(a: f64, b: f64) -> f64 { (a / b - 1.0).abs() }
fn main() {
    for f in ["branches_beta20", "single_task"] { for r in rows(f) {
        let v: Vec<f64> = r[1..].iter().map(|x| x.parse().unwrap()).collect();
        let ch = match r[0].as_str() { "poor" => Choice::Poor, "good" => Choice::Good, _ => Choice::Stable };
        let t = Instant::now();
        let s = SingleTask::new(v[0]).unwrap().solve(v[1], ch).unwrap();
        let dt = t.elapsed();
        let errs = [rel(s.q_d, v[2]), rel(s.q_0, v[3]), rel(s.r, v[4]), rel(s.q_d_hat, v[5]), rel(s.q_0_hat, v[6]), rel(s.r_hat, v[7]), rel(s.p, v[8]), rel(s.eps, v[9]), rel(s.minus_beta_f, v[10]), rel(s.replicon, v[11])];
        println!("{} {} {} {:?} {}", r[0], v[0], v[1], dt, errs.iter().map(|e| format!("{e:.0e}")).collect::<Vec<_>>().join(" ") + &format!(" res {:.0e} qe {:.0e}", s.residual, s.quadrature_error));
    }}
    for r in rows("constrained") {
        let v: Vec<f64> = r.iter().map(|x| x.parse().unwrap()).collect();
        let t = Instant::now();
        let s = SingleTask::new(v[0]).unwrap().with_q_star(v[2]).unwrap().solve(v[1], Choice::Stable).unwrap();
        let dt = t.elapsed();
        let errs = [rel(s.q_0, v[3]), rel(s.r, v[4]), rel(s.q_d_hat, v[5]), rel(s.q_0_hat, v[6]), rel(s.r_hat, v[7]), rel(s.p, v[8]), rel(s.eps, v[9]), rel(s.minus_beta_f, v[10])];
        println!("constrained {:?} {} {:?} {}", s.branch, v[2], dt, errs.iter().map(|e| format!("{e:.0e}")).collect::<Vec<_>>().join(" "));
    }
    for r in rows("two_task") {
        let v: Vec<f64> = r.iter().map(|x| x.parse().unwrap()).collect();
        let t = Instant::now();
        let c = ChainParameters { alpha: vec![v[1], v[2]], beta: vec![v[0]], r_0: vec![v[3]], gamma: vec![v[4]], ..Default::default() }.check().unwrap().solve();
        let dt = t.elapsed();
        let s = c.tasks[1].solution;
        let errs = [rel(s.q_d, v[5]), rel(s.q_0, v[6]), rel(s.r, v[7]), rel(s.q_d_hat, v[8]), rel(s.q_0_hat, v[9]), rel(s.r_hat, v[10]), rel(s.p, v[12]), rel(c.tasks[1].eps_by_task[0], v[13]), rel(c.tasks[1].eps_by_task[1], v[14]), rel(s.minus_beta_f, v[15])];
        println!("two {:?} others {} {:?} {:?} {}", s.branch, c.tasks[1].other_solutions.len(), &v[2..5], dt, errs.iter().map(|e| format!("{e:.0e}")).collect::<Vec<_>>().join(" ") + &format!(" res {:.0e} qe {:.0e} rep {:.3}", s.residual, s.quadrature_error, s.replicon));
    }
    let t = Instant::now();
    let c = ChainParameters { alpha: vec![2.0, 3.0, 3.0, 3.0], beta: vec![20.0], r_0: vec![0.5], gamma: vec![1.0], ..Default::default() }.check().unwrap().solve();
    println!("chain {:?}", t.elapsed());
    for r in rows("chain") { let (a, o): (usize, usize) = (r[0].parse().unwrap(), r[1].parse().unwrap()); println!("{a} {o} {:.1e}", rel(c.tasks[a-1].eps_by_task[o-1], r[2].parse().unwrap())); }
    println!("{:?}", c.tasks.iter().map(|t| t.eps_by_task.clone()).collect::<Vec<_>>());
}
