//! probe
use remanent_theory::{overlaps::*, task::*};
use std::time::Instant;
fn main() {
    let data = std::fs::read_to_string("../shared/reference/branches_beta20.csv").unwrap() + &std::fs::read_to_string("../shared/reference/single_task.csv").unwrap();
    for line in data.lines().filter(|l| !l.starts_with("branch")) {
        let v: Vec<f64> = line.split(',').skip(1).map(|x| x.parse().unwrap()).collect();
        let (beta, alpha, qd, q0, r, qdh, q0h, rh) = (v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
        let task = Task { beta, coupling: 0.0, anchor: None, one_minus_q_star: None };
        let start = Conjugates { stiffness: (q0h - qdh)*1.002, q_0_hat: q0h*1.001, r_hat: rh*0.999 };
        let res = Resolution(std::env::var("RES").map(|v| v.parse().unwrap()).unwrap_or(1.0));
        let t = Instant::now();
        let root = task.solve(alpha, to_coordinates(&start), None, res);
        let dt = t.elapsed();
        let c = from_coordinates(&root.x);
        let t = Instant::now();
        let turn = task.turn(&c, res).unwrap();
        let t1 = t.elapsed();
        let t = Instant::now();
        let _ = remanent_theory::fields::site_averages(&task.site(&c), &task.fields(&c), res);
        let t2 = t.elapsed();
        let o = turn.site.overlaps;
        println!("{beta} {alpha} dqd {:.1e} dq0 {:.1e} dr {:.1e} dq0h {:.1e} drh {:.1e} dA {:.1e} res {:.1e} {:?} inv {:.1e} {dt:?} turn {t1:?} site {t2:?}", o.q_d()/qd-1.0, o.q_0()/q0-1.0, o.r/r-1.0, c.q_0_hat/q0h-1.0, c.r_hat/rh-1.0, c.q_d_hat()/qdh-1.0, root.residual, root.outcome, o.one_minus_q_d+o.q_d_minus_q_0+o.q_0_minus_r2+o.r*o.r-1.0);
    }
}
