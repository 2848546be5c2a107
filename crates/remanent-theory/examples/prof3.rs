//! prof3
use remanent_theory::{overlaps::*, solution::*, parameters::*, chain::*, anchor::*, curve::*};
use std::time::Instant;
fn main() {
    let ch = ChainParameters { alpha: vec![2.0; 10], beta: vec![20.0], r_0: vec![0.5], gamma: vec![1.0], ..Default::default() }.check().unwrap();
    let mut anchor: Option<Anchor> = None;
    let res = Resolution(1.0);
    for t in 0..10 {
        let tt = Instant::now();
        if let Some(a) = &anchor { a.support(); }
        let t0 = tt.elapsed();
        let task = ch.task(t, anchor.as_ref());
        let tt = Instant::now();
        let c = Curve::trace(task, 2.0, res).unwrap();
        let t1 = tt.elapsed();
        let tt = Instant::now();
        let r = roots(&c, 2.0, res);
        let t2 = tt.elapsed();
        let tt = Instant::now();
        let (s, l) = finish(&task, 2.0, r.last().unwrap(), res);
        let t3 = tt.elapsed();
        println!("{t} support {t0:?} curve {t1:?} roots {} {t2:?} finish {t3:?} {:?} A {:.2} q0h {:.2} {:?} folds {}", r.len(), c.strands().iter().map(|s| (s.points.len(), s.end)).collect::<Vec<_>>(), s.q_0_hat - s.q_d_hat, s.q_0_hat, s.branch, c.strands()[0].fold_count());
        drop(c);
        anchor = Some(Anchor::new(l.unwrap().0, 0.5));
    }
}
