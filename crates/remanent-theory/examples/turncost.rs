#![allow(missing_docs)]
use remanent_theory::overlaps::*;
use remanent_theory::task::*;
use remanent_theory::energy::energy;
use remanent_theory::fields::*;
fn main() {
    for (beta, y) in [(23.64, [-3.5, 10.0, 5.2]), (23.64, [-0.7, 7.7, 4.35]), (20.0, [0.8, 7.1, 5.0]), (20.0, [-0.3, 3.0, 1.0]), (1000.0, [-0.3, 3.0, 1.0]), (0.02, [0.0,-15.0,-12.0])] {
        let task = Task { beta, coupling: 0.0, anchor: None, one_minus_q_star: None };
        let c = from_coordinates(&y);
        for res in [0.3, 0.88] {
            let r = Resolution(res);
            let t = cpu_time::ThreadTime::now();
            let mut o = None;
            for _ in 0..50 { o = Some(site_averages(&task.site(&c), &task.fields(&c), r)); }
            let ts = t.elapsed() / 50;
            let o = o.unwrap();
            let n = task.fields(&c).grid(&task.site(&c), Purpose::Moments, r).fields.len();
            let t = cpu_time::ThreadTime::now();
            for _ in 0..50 { std::hint::black_box(energy(&o.overlaps, beta, r)); }
            println!("beta {beta} y {y:?} res {res}: site {ts:?} ({n} fields) energy {:?}", t.elapsed() / 50);
        }
    }
}
