//! probe2
use remanent_theory::{overlaps::*, task::*, curve::*};
use std::time::Instant;
fn main() {
    let betas: Vec<f64> = std::env::args().skip(1).map(|v| v.parse().unwrap()).collect();
    for beta in betas {
        let task = Task { beta, coupling: 0.0, anchor: None, one_minus_q_star: None };
        let t = Instant::now();
        let curve = Curve::trace(task, 3.0, Resolution(1.0)).unwrap();
        let dt = t.elapsed();
        println!("beta {beta} {dt:?} corner {:?}", curve.corner_alpha());
        for st in curve.strands() { println!("   strand points {} {:?} folds {}", st.points.len(), st.end, st.fold_count());
        if std::env::var("V").is_ok() { for p in &st.points { 
            let turn = task.turn(&from_coordinates(&[p.y[0],p.y[1],p.y[2]]), Resolution(1.0)).unwrap(); let o=turn.site.overlaps;
            println!("   alpha {:.5} A {:.5} q0h {:.5} rh {:.5} r {:.5} kappa {:.3e} D {:.3e} V {:.3e} tan {:.3}", p.y[3].exp(), p.y[0].sinh(), p.y[1].exp(), p.y[2].exp(), o.r, o.one_minus_q_d, o.q_d_minus_q_0, o.q_0_minus_r2, p.tangent[3]); } } }
        let t = Instant::now();
        for f in curve.folds() { println!("   fold {:.10} bend {:.3}", f.alpha(), f.bend); }
        println!("   folds took {:?}", t.elapsed());
        for alpha in [0.01, 0.5, 1.0, 1.4989, 1.5, 1.7, 1.9, 1.9059, 2.0, 3.0, 20.0] {
            let t = Instant::now();
            let s = curve.starts(alpha);
            let t1 = t.elapsed();
            for s in s { let t = Instant::now(); let root = task.solve(alpha, s.coordinates, Some(s.jacobian), Resolution(1.0)); println!("   {alpha} {:?} res {:.1e} {:?} A {:.6} starts {t1:?} {:?}", s.branch, root.residual, root.outcome, root.x[0].sinh(), t.elapsed()); }
        }
    }
}
