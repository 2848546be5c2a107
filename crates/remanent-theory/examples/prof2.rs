//! prof2
use remanent_theory::{overlaps::*, single::*, solution::*, parameters::*, chain::*, anchor::*, curve::*, task::*};
use std::time::Instant;
fn main() {
    for (beta, alpha) in [(5.0, 1.0), (10.0, 1.5), (20.0, 0.5), (20.0, 1.7), (20.0, 2.0), (20.0, 1.9), (50.0, 1.5), (200.0, 2.0)] {
        let s = SingleTask::new(beta).unwrap();
        let n = 10;
        let t = Instant::now(); for _ in 0..n { s.solve(alpha, Choice::Stable).unwrap(); } let t0 = t.elapsed()/n;
        let t = Instant::now(); for _ in 0..n { s.curve(alpha).unwrap(); } let t1 = t.elapsed()/n;
        let c = s.curve(alpha).unwrap();
        let t = Instant::now(); for _ in 0..n { roots(&c, alpha, Resolution(1.0)); } let t2 = t.elapsed()/n;
        let r = roots(&c, alpha, Resolution(1.0));
        let t = Instant::now(); for _ in 0..n { finish(c.task(), alpha, &r[0], Resolution(1.0)); } let t3 = t.elapsed()/n;
        let pts: Vec<_> = c.strands().iter().map(|s| s.points.len()).collect();
        println!("{beta} {alpha} solve {t0:?} curve {t1:?} {pts:?} roots {} {t2:?} finish {t3:?} folds {:?}", r.len(), c.folds().iter().map(|f| f.alpha()).collect::<Vec<_>>());
    }
    for (g, r0) in [(1.0, 0.5), (0.1, 0.5), (0.1, -0.5)] {
        let n = 5;
        let s = SingleTask::new(20.0).unwrap();
        let c = s.curve(2.0).unwrap();
        let r = roots(&c, 2.0, Resolution(1.0));
        let post = finish(c.task(), 2.0, &r[0], Resolution(1.0)).1.unwrap().0;
        let t = Instant::now();
        let anchor = Anchor::new(post, r0); anchor.support();
        let ta = t.elapsed();
        let task = Task { beta: 20.0, coupling: 20.0*g, anchor: Some(&anchor), one_minus_q_star: None };
        let _ = Curve::trace(task, 2.0, Resolution(1.0));
        let t = Instant::now(); for _ in 0..n { Curve::trace(task, 2.0, Resolution(1.0)).unwrap(); } let t1 = t.elapsed()/n;
        let c = Curve::trace(task, 2.0, Resolution(1.0)).unwrap();
        let t = Instant::now(); for _ in 0..n { roots(&c, 2.0, Resolution(1.0)); } let t2 = t.elapsed()/n;
        let r = roots(&c, 2.0, Resolution(1.0));
        let t = Instant::now(); for _ in 0..n { finish(c.task(), 2.0, &r[0], Resolution(1.0)); } let t3 = t.elapsed()/n;
        let pts: Vec<_> = c.strands().iter().map(|s| (s.points.len(), s.end)).collect();
        let cj = from_coordinates(&r[0].root.x);
        let t = Instant::now(); for _ in 0..100 { task.turn(&cj, Resolution(1.0)); } let t4 = t.elapsed()/100;
        let t = Instant::now(); for _ in 0..100 { task.turn(&cj, Resolution(0.4)); } let t5 = t.elapsed()/100;
        println!("gamma {g} r0 {r0}: anchor {ta:?} curve {t1:?} {pts:?} roots {} {t2:?} finish {t3:?} turn {t4:?} coarse {t5:?} folds {:?}", r.len(), c.folds().iter().map(|f| f.alpha()).collect::<Vec<_>>());
    }
    let n = 3;
    let t = Instant::now(); for _ in 0..n { ChainParameters { alpha: vec![2.0; 10], beta: vec![20.0], r_0: vec![0.5], gamma: vec![1.0], ..Default::default() }.check().unwrap().solve(); }
    println!("10 tasks {:?}", t.elapsed()/n);
}
