//! probe4
use remanent_theory::{branches::*, phase::*, tune::*, chain::*, single::*};
use std::time::Instant;
fn main() {
    for beta in [20.0, 10.0, 50.0] {
        let t = Instant::now();
        let b = branches(&SingleTask::new(beta).unwrap(), 0.01, 5.0).unwrap();
        println!("beta {beta} {:?} rows {} maxres {:.1e} maxqe {:.1e}", t.elapsed(), b.rows.len(), b.rows.iter().map(|r| r.residual).fold(0.0, f64::max), b.rows.iter().map(|r| r.quadrature_error).fold(0.0, f64::max));
        for f in &b.folds { println!("fold {:.8} {:?} res {:.1e} qe {:.1e}", f.alpha, f.ends, f.solution.residual, f.solution.quadrature_error); }
        if let Some(c) = b.crossing { println!("crossing {:.8} {:.8} rs {} poor {:.3} good {:.3}", c.alpha, c.minus_beta_f, c.replica_symmetry_holds, c.poor.replicon, c.good.replicon); }
        for z in &b.replicon_zeros { println!("zero {:.8} {:?} {:.1e}", z.alpha, z.branch, z.solution.replicon); }
        println!("corner {:?}", b.corner);
    }
    let t = Instant::now();
    let betas: Vec<f64> = (0..40).map(|i| 8.0 + i as f64).collect();
    let d = phase_diagram(&SingleTask::new(20.0).unwrap(), &betas, &|| ()).unwrap();
    println!("phase {:?} {:?}", t.elapsed(), d.critical_point);
    for r in d.rows { println!("{} {:?} {:?} {:?} {:?} {:?}", r.beta, r.good_from, r.crossing, r.poor_until, r.corner, r.replicon_zeros.iter().map(|z| (z.alpha, z.branch)).collect::<Vec<_>>()); }
    let t = Instant::now();
    let gammas: Vec<f64> = std::iter::once(0.0).chain((0..41).map(|i| 10f64.powf(-3.0 + 4.0 * i as f64 / 40.0))).collect();
    let u = tune(&ChainParameters { alpha: vec![2.0, 2.0], beta: vec![20.0], r_0: vec![0.5], ..Default::default() }, &gammas, Objective::Mean, &|| ()).unwrap();
    println!("tune {:?} gamma {} obj {} {:?}", t.elapsed(), u.gamma, u.objective, u.eps_by_task);
    for p in u.curve { println!("  {:.5} {:.6} {:?}", p.gamma, p.objective, p.eps_by_task); }
}
