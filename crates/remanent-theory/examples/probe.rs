#![allow(missing_docs)]
#[path = "../tests/campaign/mod.rs"]
#[allow(dead_code, unused_imports)]
mod campaign;
use remanent_theory::curve::Curve;
use remanent_theory::overlaps::Resolution;
use remanent_theory::anchor::Anchor;
use remanent_theory::solution::{roots, finish, posterior};
fn main() {
    let a: Vec<u32> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    let p = campaign::problem(a[0] as u64, a[1]);
    println!("{:?}", p.parameters);
    let chain = p.parameters.check().unwrap();
    let mut anchor: Option<Anchor> = None;
    for t in 0..chain.tasks() {
        let task = chain.task(t, anchor.as_ref());
        let alpha = p.parameters.alpha[t];
        let now = cpu_time::ThreadTime::now();
        let curve = Curve::trace(task, alpha, Resolution::STANDARD);
        println!("task {t}: trace {:?}", now.elapsed());
        let Some(curve) = curve else { println!("no curve"); return };
        for s in curve.strands() {
            println!("  strand {} points, above {}, end {:?}, folds {}", s.points.len(), s.from_above, s.end, s.fold_count());
            let n = s.points.len();
            for (i, q) in s.points.iter().enumerate() {
                if n < 60 || i % (n / 30) == 0 || i + 3 > n { println!("    {:?} t3 {:.4}", q.y.map(|v| (v * 1e4).round() / 1e4), q.tangent[3]); }
            }
        }
        let now = cpu_time::ThreadTime::now();
        let found = roots(&curve, alpha, Resolution::STANDARD);
        println!("  roots {:?}", now.elapsed());
        let mut next = None;
        for f in &found {
            println!("  {:?} {:?} {:?}", f.branch, f.root.outcome, f.root.residual);
            let now = cpu_time::ThreadTime::now();
            let s = finish(&task, alpha, f, Resolution::STANDARD); let left = Some((posterior(&task, f, Resolution::STANDARD), ()));
            println!("  finish {:?} err {:.1e} qd {} q0 {} r {} A {} q0h {} rh {} c {}", now.elapsed(), s.quadrature_error, s.q_d, s.q_0, s.r, s.q_0_hat - s.q_d_hat, s.q_0_hat, s.r_hat, task.coupling);
            if next.is_none() { next = left; }
        }
        let Some((posterior, _)) = next else { return };
        if t + 1 < chain.tasks() {
            let new = Anchor::new(posterior, p.parameters.r_0.get(t).copied().unwrap_or(p.parameters.r_0[0]));
            println!("  {} panels: {:?}", new.panels().panels.len(), new.panels().panels.iter().map(|p| (p.middle, p.half)).take(80).collect::<Vec<_>>());
            println!("  anchor support {:?}", new.panels().intervals());
            anchor = Some(new);
        }
    }
}
