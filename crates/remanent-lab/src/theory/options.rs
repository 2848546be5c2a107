//! The options of the questions.

use remanent_theory::parameters::{Choice, Prior};
use remanent_theory::ranges::{self, Range};
use remanent_theory::tune::Objective;

use super::monte_carlo::MonteCarloOptions;
use crate::lists::Interval;
use crate::options::{OptionInfo, Options, Words};
use crate::{options, words};

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// One task.
    Single,
    /// One task or a chain with the self-overlap held.
    Constrained,
    /// A chain of tasks.
    Chain,
    /// The curve of solutions.
    Branches,
    /// The phase diagram.
    PhaseDiagram,
    /// The best γ, λ and ρ.
    Tune,
    /// The complexity of clusters.
    Complexity,
    /// The published estimator.
    MonteCarlo,
}

/// How many steps of replica-symmetry breaking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rsb {
    /// Replica symmetry.
    Zero,
    /// One step.
    One,
    /// Two steps.
    Two,
    /// As many as are needed.
    Auto,
}

impl Rsb {
    /// The number of steps; none if it is to be found.
    pub fn steps(self) -> Option<usize> {
        match self {
            Self::Zero => Some(0),
            Self::One => Some(1),
            Self::Two => Some(2),
            Self::Auto => None,
        }
    }
}

/// Which solutions of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The one of largest −βf.
    Stable,
    /// The one connected to α → 0.
    Poor,
    /// The unstable one between the folds.
    Middle,
    /// The one connected to α → ∞.
    Good,
    /// All that exist.
    All,
}

impl Wanted {
    /// The branch; none if all are wanted.
    pub fn choice(self) -> Option<Choice> {
        Choice::VALUES.iter().copied().find(|choice| choice.word() == self.word())
    }
}

words! {
    Question {
        "single" => Single, "one task";
        "constrained" => Constrained, "one task or a chain with the self-overlap held at q_star";
        "chain" => Chain, "a chain of tasks";
        "branches" => Branches, "the curve of solutions with its folds";
        "phase-diagram" => PhaseDiagram, "spinodals, crossing and replicon lines over beta";
        "tune" => Tune, "the best gamma, lambda and rho";
        "complexity" => Complexity, "the complexity of clusters over their free energy";
        "monte-carlo" => MonteCarlo, "the published estimator against exact values";
    }
}
words! {
    Rsb {
        "0" => Zero, "replica symmetry";
        "1" => One, "one step";
        "2" => Two, "two steps";
        "auto" => Auto, "the smallest number, at most 2, that is stable";
    }
}
words! {
    Wanted {
        "stable" => Stable, "the solution with the largest -beta f";
        "poor" => Poor, "the branch connected to alpha -> 0";
        "middle" => Middle, "the unstable branch between the folds";
        "good" => Good, "the branch connected to alpha -> infinity";
        "all" => All, "all that exist";
    }
}
words! {
    Objective {
        "mean" => Mean, "the mean of the errors";
        "max" => Max, "the largest error";
        "newest" => Newest, "the error on the newest task";
    }
}

options! {
    /// Options of `theory single`.
    pub struct SingleOptions {
        "Question" {
            /// Patterns per weight
            alpha: Option<Vec<f64>> = None, in ranges::ALPHA,
            /// Inverse temperature
            beta: Vec<f64> = vec![20.0], in ranges::BETA,
            /// Which solutions
            branch: Wanted = Wanted::Stable,
            /// Steps of replica-symmetry breaking: exactly so many with --branch poor, at most so many with stable
            /// and all; --branch good and middle show symmetric solutions (all shows broken middle ones too)
            rsb: Rsb = Rsb::Zero,
            /// Prior of the weights
            prior: Prior = Prior::None,
        }
    }
}

options! {
    /// What all chains of tasks have.
    pub struct TasksOptions {
        "Question" {
            /// Patterns per weight, one value per task
            alpha: Option<Vec<f64>> = None, in ranges::ALPHA,
            /// Inverse temperature: one value, or one per task
            beta: Vec<f64> = vec![20.0], in ranges::BETA,
            /// Overlap of neighbouring teachers: one value, or one per step
            r0: Option<Vec<f64>> = None, in ranges::R_0,
            /// Which solution each task continues from: one word, or one per task
            branch: Vec<Choice> = vec![Choice::Stable],
            /// Prior of the first task
            prior: Prior = Prior::None,
        }
    }
}

options! {
    /// Options of `theory constrained`.
    pub struct ConstrainedOptions {
        ..tasks: TasksOptions,
        "Question" {
            /// The self-overlap: any number of values, or for a chain one per task
            q_star: Option<Vec<f64>> = None, in ranges::Q_STAR,
            /// Factor of the KL term to the previous task: one value, or one per step (chains only)
            /// [default: 1]
            gamma: Option<Vec<f64>> = None, in ranges::GAMMA,
            /// Steps of replica-symmetry breaking, for one task; a chain takes 0 or 1
            rsb: Rsb = Rsb::Zero,
        }
    }
}

options! {
    /// What is asked of a stationary stream.
    pub struct StreamOptions {
        "Question" {
            /// With --stationary: follow the memory curve so many tasks back [default: until the error is
            /// within 0.001 of 1/2]
            memory: Option<usize> = None, in ranges::MEMORY,
            /// With --stationary: error below which a task counts as remembered
            remembered: f64 = 0.4, in ranges::REMEMBERED,
        }
    }
}

options! {
    /// Options of `theory chain`.
    pub struct ChainOptions {
        ..tasks: TasksOptions,
        ..stream: StreamOptions,
        "Question" {
            /// Factor of the KL term to the previous task: one value, or one per step
            gamma: Vec<f64> = vec![1.0], in ranges::GAMMA,
            /// Factor of the magnetisations before they become the anchor of the next task: one value, or one
            /// per step
            lambda: Vec<f64> = vec![1.0], in ranges::LAMBDA,
            /// Factor of the field of the anchor: one value, or one per step
            rho: Vec<f64> = vec![1.0], in ranges::RHO,
            /// Hold the self-overlap of each task at this value
            q_star: Option<Vec<f64>> = None, in ranges::Q_STAR,
            /// Steps of replica-symmetry breaking in each task, 0 or 1 (not 2 or auto): at most so many
            rsb: Rsb = Rsb::Zero,
            /// Solve the stationary state of an endless stream of like tasks, and its memory curve
            stationary: bool = false,
        }
    }
}

options! {
    /// Options of `theory branches`.
    pub struct BranchesOptions {
        "Question" {
            /// Inverse temperature
            beta: Vec<f64> = vec![20.0], in ranges::BETA,
            /// Range of alpha that is reported
            alpha: Interval = Interval { low: 0.05, high: 3.0 }, in ranges::ALPHA,
            /// Steps of replica-symmetry breaking, 0, 1 or 2 (not auto): the broken curve is shown beside the
            /// symmetric one
            rsb: Rsb = Rsb::Zero,
            /// Prior of the weights
            prior: Prior = Prior::None,
        }
    }
}

options! {
    /// Options of `theory phase-diagram`.
    pub struct PhaseDiagramOptions {
        "Question" {
            /// Inverse temperatures [default: 6:45:1, and with --rsb 1 40 values from 5 to 200]
            beta: Option<Vec<f64>> = None, in ranges::BETA,
            /// Steps of replica-symmetry breaking, 0 or 1 (not 2 or auto)
            rsb: Rsb = Rsb::Zero,
            /// Prior of the weights
            prior: Prior = Prior::None,
        }
    }
}

options! {
    /// Options of `theory complexity`.
    pub struct ComplexityOptions {
        "Question" {
            /// Patterns per weight
            alpha: Option<f64> = None, in ranges::ALPHA,
            /// Inverse temperature
            beta: f64 = 20.0, in ranges::BETA,
            /// Number of rows
            rows: usize = 40, in Range::between(2.0, 1000.0),
            /// Prior of the weights
            prior: Prior = Prior::None,
        }
    }
}

options! {
    /// Options of `theory tune`.
    pub struct TuneOptions {
        ..tasks: TasksOptions,
        "Question" {
            /// What is minimised
            objective: Objective = Objective::Mean,
            /// Values of gamma from which the search starts; one value is not searched [default: 0 and 41
            /// values from 0.001 to 10]
            gamma: Option<Vec<f64>> = None, in ranges::GAMMA,
            /// Values of lambda from which the search starts; one value is not searched
            lambda: Vec<f64> = vec![1.0], in ranges::LAMBDA,
            /// Values of rho from which the search starts; one value is not searched
            rho: Vec<f64> = vec![1.0], in ranges::RHO,
            /// Count only the errors on the latest tasks, so many [default: all tasks, 5 with --stationary]
            last: Option<usize> = None, in ranges::LAST,
            /// Tune the stationary state of an endless stream of like tasks
            stationary: bool = false,
        }
    }
}

options! {
    /// The question itself.
    pub struct QuestionOptions {
        "Question" {
            /// What is asked of the theory
            ask: Option<Question> = None,
        }
    }
}

impl Question {
    /// The options of this question.
    pub fn options(self) -> Vec<OptionInfo> {
        match self {
            Self::Single => SingleOptions::list(),
            Self::Constrained => ConstrainedOptions::list(),
            Self::Chain => ChainOptions::list(),
            Self::Branches => BranchesOptions::list(),
            Self::PhaseDiagram => PhaseDiagramOptions::list(),
            Self::Tune => TuneOptions::list(),
            Self::Complexity => ComplexityOptions::list(),
            Self::MonteCarlo => MonteCarloOptions::list(),
        }
    }
}
