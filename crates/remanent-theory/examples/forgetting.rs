//! How much is left of the first of four tasks, for three strengths of protection.
//!
//! `cargo run --release -p remanent-theory --example forgetting`

use remanent_theory::chain::ChainParameters;
use remanent_theory::parameters::DomainError;

fn main() -> Result<(), DomainError> {
    println!("{:>6}  errors on the four tasks after the last one", "gamma");
    for gamma in [0.0, 0.3, 1.0, 3.0] {
        let chain = ChainParameters {
            alpha: vec![2.0; 4],
            beta: vec![20.0],
            r_0: vec![0.5],
            gamma: vec![gamma],
            ..Default::default()
        };
        let result = chain.check()?.solve();
        let errors: Vec<String> =
            result.final_errors().iter().map(|eps| format!("{eps:.4}")).collect();
        println!("{gamma:>6}  {}", errors.join("  "));
    }
    Ok(())
}
