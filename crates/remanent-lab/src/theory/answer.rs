//! The answer to a question, as it is recorded: results of the theory in its own types.

use remanent_theory::branches::Branches;
use remanent_theory::phase::PhaseDiagram;
use remanent_theory::scan::ScanPoint;
use remanent_theory::solution::Solution;
use remanent_theory::tune::Tuned;
use serde::{Deserialize, Serialize};

use super::broken::BrokenAnswer;
use super::monte_carlo::MonteCarlo;
use super::stream::StreamPoint;

/// A number of a result, if it exists and is finite.
pub fn known(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// A solution with the self-overlap q_d held at q_⋆.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constrained {
    /// q_⋆.
    pub q_star: f64,
    /// The solution.
    #[serde(flatten)]
    pub solution: Solution,
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Solutions of one task: for each β, for each α, in the order poor, middle, good.
    Single(Vec<Solution>),
    /// Solutions with q_d held fixed: for each β, for each q_⋆.
    Constrained(Vec<Constrained>),
    /// Chains: one, or one for each combination of the scanned values.
    Chain(Vec<ScanPoint>),
    /// The curve of solutions, and its landmarks.
    Branches(Box<Branches>),
    /// The phase diagram.
    PhaseDiagram(PhaseDiagram),
    /// Stationary states of streams: one, or one for each combination of the scanned values.
    Stationary(Vec<StreamPoint>),
    /// The best γ, λ and ρ.
    Tune(Tuned),
    /// Any of these with broken replica symmetry.
    Broken(BrokenAnswer),
    /// The published estimator against the exact values.
    MonteCarlo(MonteCarlo),
}

impl Answer {
    /// The points of `ask = "single"`.
    pub fn as_single(&self) -> Option<&[Solution]> {
        if let Self::Single(points) = self { Some(points) } else { None }
    }

    /// The points of `ask = "constrained"`.
    pub fn as_constrained(&self) -> Option<&[Constrained]> {
        if let Self::Constrained(points) = self { Some(points) } else { None }
    }

    /// The chains of `ask = "chain"`.
    pub fn as_chain(&self) -> Option<&[ScanPoint]> {
        if let Self::Chain(points) = self { Some(points) } else { None }
    }

    /// The curve of `ask = "branches"`.
    pub fn as_branches(&self) -> Option<&Branches> {
        if let Self::Branches(branches) = self { Some(branches) } else { None }
    }

    /// The diagram of `ask = "phase-diagram"`.
    pub fn as_phase_diagram(&self) -> Option<&PhaseDiagram> {
        if let Self::PhaseDiagram(diagram) = self { Some(diagram) } else { None }
    }

    /// The streams of `ask = "chain"` with `stationary`.
    pub fn as_stationary(&self) -> Option<&[StreamPoint]> {
        if let Self::Stationary(points) = self { Some(points) } else { None }
    }

    /// The γ, λ and ρ of `ask = "tune"`.
    pub fn as_tune(&self) -> Option<&Tuned> {
        if let Self::Tune(tuned) = self { Some(tuned) } else { None }
    }

    /// The answer of a question with `rsb`, and of `ask = "complexity"`.
    pub fn as_broken(&self) -> Option<&BrokenAnswer> {
        if let Self::Broken(answer) = self { Some(answer) } else { None }
    }

    /// The study of `ask = "monte-carlo"`.
    pub fn as_monte_carlo(&self) -> Option<&MonteCarlo> {
        if let Self::MonteCarlo(study) = self { Some(study) } else { None }
    }
}
