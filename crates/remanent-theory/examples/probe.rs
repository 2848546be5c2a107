use remanent_theory::rsb::BrokenTask;
use remanent_theory::single::SingleTask;
fn main() {
    for b in std::env::args().skip(1) {
        let beta: f64 = b.parse().unwrap();
        let task = BrokenTask::new(SingleTask::new(beta).unwrap());
        if beta == 20.0 || beta == 50.0 || beta == 200.0 {
            let mut worst: f64 = 0.0;
            for i in 0..60 {
                let alpha = 0.4 + 0.02 * f64::from(i);
                for k in 1..=2 {
                    let s = task.poor(alpha, k).unwrap();
                    if s.is_found() {
                    worst = worst.max(s.quadrature_error);
                    if s.quadrature_error > 1e-9 { println!("{beta} {alpha:.3} K {k} error {:.1e} {} residual {:.1e}", s.quadrature_error, s.termination, s.residual); } }
                }
            }
            println!("{beta} worst {worst:.1e}");
            continue;
        }
        let row = task.phase_row();
        println!("beta {beta} onset {:?} x {:?} dyn {:?} cond {:?} gap {:?}", row.onset, row.onset_x, row.dynamical, row.condensation, row.condensation_gap);
        println!("   good {:?} cross {:?} until {:?} closing {:?} {:?}", row.good_from, row.crossing, row.poor_until, row.closing, row.closing_branch);
    }
}
