//! prof
use remanent_theory::{overlaps::*, task::*, fields::*, energy::*};
use std::time::Instant;
fn main() {
    for res in [0.4, 1.0] {
    for (beta, al, qdh, q0h, rh) in [(20.0, 2.0, 1175.456607,1228.221777,159.171866), (20.0,1.0,82.35323555,66.41910449,7.370035881),(20.0,1.8,1420.850855,1262.565557,44.40136094),(5.0,1.0,7.096031634,7.402484246,2.668949722)] {
        let task = Task { beta, coupling: 0.0, anchor: None, one_minus_q_star: None };
        let c = Conjugates { stiffness: q0h - qdh, q_0_hat: q0h, r_hat: rh };
        let n = 300;
        let t = Instant::now();
        for _ in 0..n { std::hint::black_box(task.fields(&c).grid(&task.site(&c), Purpose::Moments, Resolution(res))); }
        let tg = t.elapsed() / n;
        let g = task.fields(&c).grid(&task.site(&c), Purpose::Moments, Resolution(res));
        let t = Instant::now();
        let mut m = vec![];
        for _ in 0..n { task.site(&c).moments(&g.fields, res, &mut m); }
        let tm = t.elapsed() / n;
        let o = task.turn(&c, Resolution(res)).unwrap().site.overlaps;
        let t = Instant::now();
        for _ in 0..n { std::hint::black_box(energy(&o, beta, Resolution(res))); }
        let te = t.elapsed() / n;
        let t = Instant::now();
        for _ in 0..n { std::hint::black_box(task.turn(&c, Resolution(res))); }
        let tt = t.elapsed() / n;
        println!("{res} {al} A {:.3} nodes {} grid {tg:?} moments {tm:?} energy {te:?} turn {tt:?}", c.stiffness, g.fields.len());
    } }
}
