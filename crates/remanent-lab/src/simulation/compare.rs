//! Theory beside simulation.
//!
//! The sampler is compared with the theory of its own ensemble, and must agree.
//! A gradient learner samples no ensemble; it is compared with the constrained
//! theory at the q_⋆ that it was measured to have at the end of each task, and, as the
//! paper does, with the unconstrained chain at the same inverse temperature. α is that
//! of the run, the number of patterns over N.

use remanent_math::statistics::Summary;
use remanent_perceptron::observables::generalisation_error;
use remanent_perceptron::parameters::nth;
use remanent_theory::chain::{ChainParameters, ChainResult};
use remanent_theory::parameters::{Choice, DomainError, Prior};
use serde::Serialize;
use thiserror::Error;

use crate::estimate::Estimate;
use crate::simulation::config::{Learner, Simulation};
use crate::simulation::summary::{CaseSummary, SummaryRow};

/// Which theory a number is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// The theory of the ensemble that is sampled.
    Ensemble,
    /// The theory at the measured q_⋆.
    Constrained,
    /// The chain of tasks with q_⋆ free.
    Chain,
}

impl Against {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ensemble => "ensemble",
            Self::Constrained => "constrained",
            Self::Chain => "chain",
        }
    }
}

/// One number of the simulation beside the same of the theory.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The theory.
    pub against: Against,
    /// After which task, from 1.
    pub task: usize,
    /// `q_d`, `q_0`, `r`, `p`, or `eps_k` for the error on task k.
    pub quantity: String,
    /// The q_⋆ at which the theory was solved, if it is the constrained one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_star: Option<f64>,
    /// The theory's value; null if it has no solution.
    pub theory: Option<f64>,
    /// The mean over trials.
    pub simulation: f64,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// (simulation − theory)/standard error.
    pub z: Option<f64>,
}

impl Comparison {
    /// The simulated number with its uncertainty over this number of trials.
    pub fn estimate(&self, trials: usize) -> Estimate {
        Estimate {
            value: self.simulation,
            standard_error: self.standard_error,
            trials: Some(trials),
        }
    }
}

/// What a user may choose of the theory.
#[derive(Clone, Copy, Debug, Default)]
pub struct TheoryChoice {
    /// Which of several solutions.
    pub branch: Choice,
}

/// Why there is no theory to compare with.
#[derive(Debug, Error)]
#[error("the theory cannot be compared: {0}")]
pub struct CompareError(#[from] DomainError);

/// The most rows of a slow run that are compared one by one.
const MOST_ROWS: usize = 40;

/// Compares a case with the theory.
pub fn compare(
    simulation: &Simulation,
    summary: &CaseSummary,
    choice: TheoryChoice,
) -> Result<Vec<Comparison>, CompareError> {
    match &simulation.learner {
        Learner::Boltzmann(learner) => {
            let parameters = ChainParameters {
                beta: learner.beta.clone(),
                gamma: learner.gamma.clone(),
                prior: prior(learner.uniform_prior),
                ..parameters(simulation, choice)?
            };
            Ok(at_ends(summary, &parameters.check()?.solve(), Against::Ensemble, &[]))
        }
        Learner::Gradient(learner) => {
            let parameters = ChainParameters {
                beta: vec![simulation.theory_beta],
                gamma: learner.gamma.clone(),
                prior: prior(learner.uniform_prior),
                ..parameters(simulation, choice)?
            };
            if learner.rise.is_some() && summary.ends.len() == 1 {
                return along_rise(summary, &parameters);
            }
            let q_star: Vec<f64> = summary.ends.iter().map(|end| end.q_star.mean).collect();
            let constrained = ChainParameters { q_star: q_star.clone(), ..parameters.clone() };
            let constrained = constrained.check()?.solve();
            let mut found = at_ends(summary, &constrained, Against::Constrained, &q_star);
            let free = parameters.check()?.solve();
            found.extend(at_ends(summary, &free, Against::Chain, &[]));
            Ok(found)
        }
    }
}

fn prior(uniform: bool) -> Prior {
    if uniform { Prior::Uniform } else { Prior::None }
}

/// The problem of the run, as the theory states it.
fn parameters(
    simulation: &Simulation,
    choice: TheoryChoice,
) -> Result<ChainParameters, DomainError> {
    let setting = &simulation.setting;
    let n = setting.n as f64;
    let steps = setting.alpha.len() - 1;
    Ok(ChainParameters {
        alpha: setting.alpha.iter().map(|alpha| (alpha * n).round() / n).collect(),
        r_0: if steps == 0 {
            vec![0.0]
        } else {
            (0..steps).map(|step| nth(&setting.r_0, step)).collect()
        },
        lambda: simulation.fading().lambda.clone(),
        rho: simulation.fading().rho.clone(),
        choice: vec![choice.branch],
        ..ChainParameters::default()
    })
}

fn at_ends(
    summary: &CaseSummary,
    theory: &ChainResult,
    against: Against,
    q_star: &[f64],
) -> Vec<Comparison> {
    let mut found = Vec::new();
    for (index, end) in summary.ends.iter().enumerate() {
        let solved = theory.tasks.get(index).filter(|task| task.solution.is_converged());
        let mut push = |quantity: String, theory: Option<f64>, simulation: &Summary| {
            found.push(Comparison {
                against,
                task: end.task,
                quantity,
                q_star: q_star.get(index).copied(),
                theory,
                simulation: simulation.mean,
                standard_error: simulation.standard_error,
                z: theory
                    .and_then(|theory| score(simulation.mean, simulation.standard_error, theory)),
            });
        };
        let solution = solved.map(|task| &task.solution);
        if against != Against::Constrained {
            push("q_d".into(), solution.map(|s| s.q_d), &end.q_star);
        }
        if let Some(sampled) = &end.sampled {
            push("q_0".into(), solution.map(|s| s.q_0), &sampled.q_0);
        }
        push("r".into(), solution.map(|s| s.r), &end.r);
        push("p".into(), solution.map(|s| s.p), &end.p);
        for (task, eps) in end.eps.iter().enumerate() {
            let theory = solved.map(|solved| solved.eps_by_task[task]);
            let eps = match against {
                Against::Ensemble => error_of_mean(&end.p_by_task[task]),
                Against::Constrained | Against::Chain => *eps,
            };
            push(format!("eps_{}", task + 1), theory, &eps);
        }
    }
    found
}

/// ε of the mean overlap. The theory's ε is that of a p which does not fluctuate; the mean of
/// arccos p over draws falls short of it where a draw has no wrong weight or a few (p → 1).
fn error_of_mean(p: &Summary) -> Summary {
    let eps = generalisation_error(p.mean);
    let slope = 1.0 / (std::f64::consts::PI * (1.0 - p.mean * p.mean).max(1e-300).sqrt());
    Summary {
        mean: eps,
        standard_error: p.standard_error.map(|error| slope * error),
        min: generalisation_error(p.max),
        max: generalisation_error(p.min),
        count: p.count,
    }
}

/// (simulation − theory)/standard error; none if there is no error to divide by.
fn score(simulation: f64, standard_error: Option<f64>, theory: f64) -> Option<f64> {
    standard_error.filter(|se| *se > 0.0).map(|se| (simulation - theory) / se)
}

/// ε of a slow run against the theory at the norm of the moment.
fn along_rise(
    summary: &CaseSummary,
    parameters: &ChainParameters,
) -> Result<Vec<Comparison>, CompareError> {
    // The row before learning has no equilibrium to be compared with.
    let learned: Vec<&SummaryRow> = summary.rows.iter().filter(|row| row.epoch > 0).collect();
    let stride = learned.len().div_ceil(MOST_ROWS).max(1);
    let mut found = Vec::new();
    for row in learned.iter().rev().step_by(stride).rev() {
        let theory = ChainParameters { q_star: vec![row.q_star], ..parameters.clone() };
        let theory = theory.check()?.solve();
        let eps = theory.tasks.first().filter(|t| t.solution.is_converged());
        let eps = eps.map(|task| task.eps_by_task[0]);
        found.push(Comparison {
            against: Against::Constrained,
            task: 1,
            quantity: "eps_1".into(),
            q_star: Some(row.q_star),
            theory: eps,
            simulation: row.eps[0],
            standard_error: row.eps_se[0],
            z: eps.and_then(|theory| score(row.eps[0], row.eps_se[0], theory)),
        });
    }
    Ok(found)
}
