//! The theory beside the samples: replica symmetry, and one step of breaking.

use remanent_math::statistics::Summary;
use remanent_theory::parameters::{Choice, DomainError};
use remanent_theory::rsb::{BrokenTask, RsbSolution, TOLERANCE};
use remanent_theory::single::SingleTask;
use serde::Serialize;

use crate::tempering::options::Steps;
use crate::tempering::summary::TemperingSummary;

/// Half the distance in β over which φ is differentiated.
const SHIFT: f64 = 0.01;

/// What the theory says of one case.
#[derive(Clone, Debug, Serialize)]
pub struct TheoryPoint {
    /// The solution; with 0 steps where no broken one exists.
    pub solution: RsbSolution,
    /// ⟨L⟩ per weight: −dφ/dβ.
    pub energy: f64,
    /// φ(β) − φ(β_low).
    pub phi_difference: f64,
}

/// One number of the samples beside the same of the theory.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Steps of breaking of the theory.
    pub steps: usize,
    /// `q_d`, `q` (mean overlap of two states), `r`, `eps`, `energy`, `phi_difference`.
    pub quantity: &'static str,
    /// The theory's value.
    pub theory: f64,
    /// The mean over draws.
    pub simulation: f64,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// (simulation − theory)/standard error.
    pub z: Option<f64>,
}

impl TheoryPoint {
    /// Solves the theory with at most this many steps at α, β, and at the hot end.
    pub fn solve(alpha: f64, beta: f64, beta_low: f64, steps: usize) -> Result<Self, DomainError> {
        let solution = best(alpha, beta, steps)?;
        let phi = |beta: f64| Ok::<_, DomainError>(best(alpha, beta, steps)?.minus_beta_f);
        let energy = -(phi(beta + SHIFT)? - phi(beta - SHIFT)?) / (2.0 * SHIFT);
        let phi_difference = solution.minus_beta_f - phi(beta_low)?;
        Ok(Self { solution, energy, phi_difference })
    }
}

/// The replica-symmetric solution with the larger φ. Where it is on the poor branch, or the broken
/// poor branch has a larger φ than the good one, the broken solution instead, if there is one. Behind
/// the end of the broken branch the good one.
fn best(alpha: f64, beta: f64, steps: usize) -> Result<RsbSolution, DomainError> {
    let task = BrokenTask::new(SingleTask::new(beta)?);
    if steps == 0 {
        return task.symmetric(alpha, Choice::Stable);
    }
    let broken = task.poor(alpha, steps)?;
    let good = task.symmetric(alpha, Choice::Good)?;
    if !broken.is_converged() {
        // Replica symmetry has a poor solution there, which is unstable: φ of it is too large to be compared.
        let symmetric = task.symmetric(alpha, Choice::Stable)?;
        let has_ended = !symmetric.is_stable(TOLERANCE) && good.is_converged();
        return Ok(if has_ended { good } else { symmetric });
    }
    let is_good = good.is_converged() && good.minus_beta_f > broken.minus_beta_f;
    Ok(if is_good { good } else { broken })
}

/// Compares a case with replica symmetry, and with one step of breaking if asked for.
pub fn compare(
    summary: &TemperingSummary,
    steps: Steps,
) -> Result<(Vec<TheoryPoint>, Vec<Comparison>), DomainError> {
    let most = if steps == Steps::One { 1 } else { 0 };
    let (mut points, mut rows) = (Vec::new(), Vec::new());
    for steps in 0..=most {
        let point = TheoryPoint::solve(summary.alpha, summary.beta, summary.beta_low, steps)?;
        if points.last().is_some_and(|last: &TheoryPoint| last.solution == point.solution) {
            // Nothing is broken there: the rows of replica symmetry say it already.
            continue;
        }
        let solution = &point.solution;
        let mut push = |quantity, theory: f64, found: Option<Summary>| {
            if let Some(found) = found.filter(|_| theory.is_finite()) {
                let error = found.standard_error.filter(|error| *error > 0.0);
                rows.push(Comparison {
                    steps,
                    quantity,
                    theory,
                    simulation: found.mean,
                    standard_error: found.standard_error,
                    z: error.map(|error| (found.mean - theory) / error),
                });
            }
        };
        let mean_q = if solution.is_converged() { solution.mean_q() } else { f64::NAN };
        push("q_d", solution.q_d, Some(summary.all.q_d));
        push("q", mean_q, summary.all.q);
        push("r", solution.r, Some(summary.all.r));
        push("eps", solution.eps, Some(summary.eps));
        push("energy", point.energy, Some(summary.all.energy));
        push("phi_difference", point.phi_difference, Some(summary.phi_difference));
        points.push(point);
    }
    Ok((points, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_energy_is_that_of_the_reference() {
        // Values of an independent solver, α = 1 and 1.4 at β = 20.
        for (alpha, steps, expected) in
            [(1.0, 0, 0.0451), (1.0, 1, 0.0598), (1.4, 0, 0.0496), (1.4, 1, 0.1117)]
        {
            let point = TheoryPoint::solve(alpha, 20.0, 8.0, steps).unwrap();
            assert!((point.energy - expected).abs() < 1e-4, "{alpha} {steps} {}", point.energy);
            assert_eq!(point.solution.steps, steps);
        }
    }

    #[test]
    fn where_nothing_is_broken_the_symmetric_solution_is_taken() {
        let broken = TheoryPoint::solve(0.5, 20.0, 8.0, 1).unwrap();
        let symmetric = TheoryPoint::solve(0.5, 20.0, 8.0, 0).unwrap();
        assert_eq!(broken.solution, symmetric.solution);
        // Beyond the crossing of the broken branch the good one.
        let good = TheoryPoint::solve(1.525, 20.0, 8.0, 1).unwrap();
        assert!(good.solution.steps == 0 && good.solution.r > 0.9, "{good:?}");
        // Behind the end of the broken branch (1.5315) too, up to where replica symmetry agrees (1.6502).
        for (alpha, symmetric) in [(1.55, false), (1.6, false), (1.7, true)] {
            let one_step = TheoryPoint::solve(alpha, 20.0, 8.0, 1).unwrap();
            assert!(one_step.solution.r > 0.95, "{alpha} {one_step:?}");
            let without = TheoryPoint::solve(alpha, 20.0, 8.0, 0).unwrap();
            assert_eq!(without.solution == one_step.solution, symmetric, "{alpha} {without:?}");
        }
    }
}
