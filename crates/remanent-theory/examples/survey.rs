#[path = "../tests/campaign/mod.rs"]
#[allow(dead_code, unused_imports)]
mod campaign;
use campaign::*;
fn main() {
    let a: Vec<u32> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for i in a[1]..a[2] {
            let p = problem(a[0] as u64, i);
            let t = cpu_time::ThreadTime::now();
            let r = std::panic::catch_unwind(|| p.parameters.check().unwrap().solve());
            let dt = t.elapsed().as_secs_f64();
            let Ok(r) = r else { println!("{i} PANIC {:?}", p); continue };
            let err = r.tasks.iter().map(|t| t.solution.quadrature_error).fold(0.0, |a: f64, b| if b.is_nan() { a } else { a.max(b) });
            let last = r.tasks.last().unwrap();
            println!("{i} {:18} {dt:7.3} s  err {err:8.1e} task {}/{} {} {}", p.kind.name(), last.task, p.parameters.alpha.len(), last.solution.termination,
               if err > 1e-8 || dt > 1.0 || last.solution.termination.to_string() != "converged" { format!("{:?}", p.parameters) } else { String::new() });
        }
    });
}
