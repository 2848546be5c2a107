//! Broken replica symmetry.

mod energy;
mod equations;
mod level;
mod site;
mod state;
mod table;

#[cfg(test)]
mod scratch {
    use super::equations::*;
    use super::state::*;
    use crate::overlaps::Resolution;

    #[test]
    fn golden_residuals() {
        let csv = include_str!("../tests/reference/rsb.csv");
        for line in csv.lines().skip(1) {
            let f: Vec<&str> = line.split(',').collect();
            let v = |i: usize| f[i].parse::<f64>().unwrap_or(f64::NAN);
            let k: usize = f[2].parse().unwrap();
            let (qdh, q2h, q1h, q0h) = (v(12), v(13), v(14), v(15));
            let gaps = match k { 0 => vec![], 1 => vec![q1h - q0h], _ => vec![q1h - q0h, q2h - q1h] };
            let top = match k { 0 => q0h, 1 => q1h, _ => q2h };
            let x = match k { 0 => vec![], 1 => vec![v(10)], _ => vec![v(10), v(11)] };
            let state = State {
                conjugates: StepConjugates { stiffness: top - qdh, q_0_hat: q0h, gaps, r_hat: v(16) },
                x, alpha: v(4),
            };
            for res in [0.88, 1.76] {
                let system = System { beta: v(3), entropy: 0.0, resolution: Resolution(res) };
                let start = std::time::Instant::now();
                let turn = system.turn(&state, true).unwrap();
                let t = start.elapsed().as_secs_f64() * 1e3;
                let start = std::time::Instant::now();
                system.turn(&state, false).unwrap();
                let t2 = start.elapsed().as_secs_f64() * 1e3;
                let r = match k {
                    0 => residual_of::<4>(&state.to_coordinates(), &state, &turn).unwrap().to_vec(),
                    1 => residual_of::<6>(&state.to_coordinates(), &state, &turn).unwrap().to_vec(),
                    _ => residual_of::<8>(&state.to_coordinates(), &state, &turn).unwrap().to_vec(),
                };
                let p = phi(&system, &state, &turn);
                print!("{} K{k} b{} a{} t {t:.2} {t2:.2} phi {:.1e} p {:.1e} lam {:?} r", f[0], v(3), v(4), p / v(17) - 1.0, (1.0 - 2.0 * turn.site.negative.unwrap()) / v(18) - 1.0,
                    stabilities(&state, &turn));
                for r in r { print!(" {r:.1e}"); }
                println!();
            }
        }
    }
}
