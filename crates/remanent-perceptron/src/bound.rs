//! The expected log-likelihood and its upper bound, exactly, in a small network.
//!
//! The variational principle of the paper maximises E_q ln P(D|ξ); its algorithm maximises the upper
//! bound ln E_q P(D|ξ) (Jensen) in its large-network form −L (central limit theorem). With the
//! likelihood P(y|x, ξ) = e^{κz}/(2 cosh κz), z = y Σ ξ x, both expectations are sums over 2^N
//! weights.

use serde::{Deserialize, Serialize};

use crate::gradient::Trainer;
use crate::loss::Workspace;
use crate::parameters::{ParameterError, within};
use crate::patterns::Patterns;
use crate::ranges;
use crate::student::Student;

/// The log-likelihood of the data and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likelihoods {
    /// E_q ln P(D|ξ), Eq. (taskone) of arXiv:2212.02846.
    pub expected_log_likelihood: f64,
    /// ln E_q P(D|ξ), Eq. (opt1).
    pub upper_bound: f64,
    /// −L, the bound for many weights and κ → ∞.
    pub large_network: f64,
}

/// Enumerates all weights of a network.
///
/// # Errors
///
/// If the number of weights is not in the range [`ranges::ENUMERATED_N`], or the patterns have
/// another number of sites.
pub fn likelihoods(
    student: &Student,
    patterns: &Patterns,
    kappa: f64,
) -> Result<Likelihoods, ParameterError> {
    let n = student.sites();
    ranges::ENUMERATED_N.check("n", n as f64)?;
    let sites = patterns.sites();
    within("sites of the patterns", sites as f64, sites == n, "the number of weights")?;
    let signs: Vec<Vec<f64>> = (0..patterns.len())
        .map(|pattern| (0..n).map(|site| f64::from(patterns.sign(pattern, site))).collect())
        .collect();
    // ln of the probabilities (1 ± m)/2, exact where m is close to ±1.
    let ln_half = |a: f64| -(-2.0 * a).exp().ln_1p();
    let ln_q: Vec<[f64; 2]> =
        (0..n).map(|i| [ln_half(student.field(i)), ln_half(-student.field(i))]).collect();
    let (mut expected, mut terms) = (0.0, Vec::with_capacity(1 << n));
    for weights in 0usize..1 << n {
        let negative = |site: usize| weights >> site & 1;
        let ln_q: f64 = (0..n).map(|site| ln_q[site][negative(site)]).sum();
        let ln_p: f64 = signs
            .iter()
            .map(|s| {
                let z: f64 = (0..n).map(|i| s[i] * (1.0 - 2.0 * negative(i) as f64)).sum();
                ln_likelihood(kappa * z)
            })
            .sum();
        expected += ln_q.exp() * ln_p;
        terms.push(ln_q + ln_p);
    }
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let upper_bound = top + terms.iter().map(|t| (t - top).exp()).sum::<f64>().ln();
    let all: Vec<u32> = (0..patterns.len() as u32).collect();
    let large_network = -Workspace::default().loss(student, patterns, &all);
    Ok(Likelihoods { expected_log_likelihood: expected, upper_bound, large_network })
}

/// ln e^z/(2 cosh z).
fn ln_likelihood(z: f64) -> f64 {
    if z > 0.0 { -(-2.0 * z).exp().ln_1p() } else { 2.0 * z - (2.0 * z).exp().ln_1p() }
}

/// The likelihoods after one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundRow {
    /// The epoch; 0 is before learning.
    pub epoch: usize,
    /// The likelihoods.
    #[serde(flatten)]
    pub likelihoods: Likelihoods,
    /// ε.
    pub eps: f64,
}

/// Trains to the end and computes the likelihoods of the first task every `every` epochs.
///
/// # Errors
///
/// If the network is too large to enumerate.
pub fn along_training(
    mut trainer: Trainer,
    kappa: f64,
    every: usize,
) -> Result<Vec<BoundRow>, ParameterError> {
    let (patterns, teacher) = (trainer.world().patterns(0), trainer.world().teacher(0));
    let mut rows = Vec::new();
    loop {
        let epoch = trainer.epochs_done();
        if epoch.is_multiple_of(every) || trainer.is_finished() {
            let student = trainer.student();
            let p = crate::observables::sign_overlap(student.magnetisations(), teacher);
            rows.push(BoundRow {
                epoch,
                likelihoods: likelihoods(student, patterns, kappa)?,
                eps: crate::observables::generalisation_error(p),
            });
        }
        if trainer.is_finished() {
            return Ok(rows);
        }
        trainer.epoch();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student::Space;

    /// Two weights, one pattern: the sums written out.
    #[test]
    fn the_smallest_network_by_hand() {
        let student = Student::new(Space::Field, 1.0, vec![0.5, -0.2]);
        let patterns = Patterns::from_signs(1, 2, |_, site| site == 1);
        let kappa = 0.7;
        let (m0, m1) = (0.5f64.tanh(), (-0.2f64).tanh());
        let p = |z: f64| (kappa * z).exp() / (2.0 * (kappa * z).cosh());
        // z = ξ_0 − ξ_1.
        let both = (1.0 + m0) / 2.0 * (1.0 - m1) / 2.0;
        let none = (1.0 - m0) / 2.0 * (1.0 + m1) / 2.0;
        let expected = both * p(2.0).ln() + none * p(-2.0).ln() + (1.0 - both - none) * p(0.0).ln();
        let bound = (both * p(2.0) + none * p(-2.0) + (1.0 - both - none) * 0.5).ln();
        let found = likelihoods(&student, &patterns, kappa).unwrap();
        assert!((found.expected_log_likelihood - expected).abs() < 1e-7, "{found:?} {expected}");
        assert!((found.upper_bound - bound).abs() < 1e-7, "{found:?} {bound}");
        assert!(found.expected_log_likelihood < found.upper_bound);
    }

    #[test]
    fn a_frozen_network_meets_its_bound() {
        let student = Student::new(Space::Field, 1.0, vec![20.0; 9]);
        let patterns = Patterns::from_signs(7, 9, |p, s| (p * s) % 3 == 1);
        let found = likelihoods(&student, &patterns, 10.0).unwrap();
        assert!((found.expected_log_likelihood - found.upper_bound).abs() < 1e-6, "{found:?}");
    }
}
