//! What the theory answers, in the form in which it is kept.
//!
//! JSON has no NaN: a number that does not exist, because there is no solution, is `None`, and
//! `termination` says why.

use std::collections::BTreeMap;

use remanent_theory::solution::Solution;
use remanent_theory::{branches, chain, phase, scan, tune};
use serde::{Deserialize, Serialize};

use super::monte_carlo::MonteCarlo;

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Solutions of one task: for each β, for each α, in the order poor, middle, good.
    Single(Vec<Point>),
    /// Solutions with q_d held fixed: for each β, for each q_⋆.
    Constrained(Vec<Point>),
    /// Chains: one, or one for each combination of the scanned values.
    Chain(Vec<ChainPoint>),
    /// The curve of solutions, and its landmarks.
    Branches(Box<Branches>),
    /// The phase diagram.
    PhaseDiagram(PhaseDiagram),
    /// The best γ.
    Tune(Tuned),
    /// The published estimator against the exact values.
    MonteCarlo(MonteCarlo),
}

impl Answer {
    /// The points of `ask = "single"`.
    pub fn as_single(&self) -> Option<&[Point]> {
        if let Self::Single(points) = self { Some(points) } else { None }
    }

    /// The points of `ask = "constrained"`.
    pub fn as_constrained(&self) -> Option<&[Point]> {
        if let Self::Constrained(points) = self { Some(points) } else { None }
    }

    /// The chains of `ask = "chain"`.
    pub fn as_chain(&self) -> Option<&[ChainPoint]> {
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

    /// The γ of `ask = "tune"`.
    pub fn as_tune(&self) -> Option<&Tuned> {
        if let Self::Tune(tuned) = self { Some(tuned) } else { None }
    }

    /// The study of `ask = "monte-carlo"`.
    pub fn as_monte_carlo(&self) -> Option<&MonteCarlo> {
        if let Self::MonteCarlo(study) = self { Some(study) } else { None }
    }
}

/// One solution of one task.
#[derive(Default, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Patterns per weight α.
    pub alpha: f64,
    /// Inverse temperature β.
    pub beta: f64,
    /// The q_⋆ at which q_d was held, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q_star: Option<f64>,
    /// `only`, `poor`, `middle` or `good`.
    pub branch: String,
    /// Self-overlap.
    pub q_d: Option<f64>,
    /// Overlap of two states.
    pub q_0: Option<f64>,
    /// Overlap with the teacher.
    pub r: Option<f64>,
    /// Overlap of the decoded weights with the teacher.
    pub p: Option<f64>,
    /// Generalisation error.
    pub eps: Option<f64>,
    /// Its logarithm, which does not underflow.
    pub ln_eps: Option<f64>,
    /// 1 − q_d.
    pub one_minus_q_d: Option<f64>,
    /// −βf per weight.
    pub minus_beta_f: Option<f64>,
    /// The replicon; negative where replica symmetry is broken.
    pub replicon: Option<f64>,
    /// `converged`, `inaccurate`, `max_iterations`, `left_domain` or `no_solution`.
    pub termination: String,
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn all_finite(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().map(|v| finite(*v)).collect()
}

impl From<&Solution> for Point {
    fn from(s: &Solution) -> Self {
        Self {
            alpha: s.alpha,
            beta: s.beta,
            q_star: None,
            branch: s.branch.to_string(),
            q_d: finite(s.q_d),
            q_0: finite(s.q_0),
            r: finite(s.r),
            p: finite(s.p),
            eps: finite(s.eps),
            ln_eps: finite(s.ln_eps),
            one_minus_q_d: finite(s.one_minus_q_d),
            minus_beta_f: finite(s.minus_beta_f),
            replicon: finite(s.replicon),
            termination: s.termination.to_string(),
        }
    }
}

impl Point {
    /// The solution at which q_d was held at `q_star`.
    pub(super) fn at_q_star(solution: &Solution, q_star: f64) -> Self {
        Self { q_star: Some(q_star), ..solution.into() }
    }
}

/// A chain at one point of a scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainPoint {
    /// The scanned values by name; empty without a scan.
    pub scanned: BTreeMap<String, f64>,
    /// The chain after each of its tasks; it ends with the first that has no solution.
    pub tasks: Vec<TaskPoint>,
}

/// A chain after one of its tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskPoint {
    /// The number of the task, from 1.
    pub task: usize,
    /// Self-overlap.
    pub q_d: Option<f64>,
    /// Overlap of two states.
    pub q_0: Option<f64>,
    /// Overlap with the task's teacher.
    pub r: Option<f64>,
    /// Overlap of the decoded weights with it.
    pub p: Option<f64>,
    /// The error on every task, old and still to come.
    pub eps_by_task: Vec<Option<f64>>,
    /// The potential, per weight.
    pub potential: Option<f64>,
    /// The replicon.
    pub replicon: Option<f64>,
    /// The branch of the solution from which the chain continues.
    pub branch: String,
    /// The other solutions of this task. `eps` is their error on this task; the errors on older
    /// tasks are known only for the solution from which the chain continues.
    pub others: Vec<Point>,
    /// How the search ended.
    pub termination: String,
}

impl From<&scan::ScanPoint> for ChainPoint {
    fn from(point: &scan::ScanPoint) -> Self {
        let scanned = point.at.iter().cloned().collect();
        Self { scanned, tasks: point.chain.tasks.iter().map(TaskPoint::from).collect() }
    }
}

impl From<&chain::TaskResult> for TaskPoint {
    fn from(result: &chain::TaskResult) -> Self {
        let s = &result.solution;
        Self {
            task: result.task,
            q_d: finite(s.q_d),
            q_0: finite(s.q_0),
            r: finite(s.r),
            p: finite(s.p),
            eps_by_task: all_finite(&result.eps_by_task),
            potential: finite(result.potential),
            replicon: finite(s.replicon),
            branch: s.branch.to_string(),
            others: result.other_solutions.iter().map(Point::from).collect(),
            termination: s.termination.to_string(),
        }
    }
}

/// The curve of solutions at one β, and its landmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Branches {
    /// Solutions in the order of the curve.
    pub rows: Vec<Point>,
    /// The folds, by rising α.
    pub folds: Vec<Fold>,
    /// Where −βf of the poor and the good branch are equal, if they overlap.
    pub crossing: Option<Crossing>,
    /// Where the replicon changes its sign, in the order of the curve.
    pub replicon_zeros: Vec<RepliconZero>,
    /// The α at which the poor branch ends in the corner q_d = 1, if it does.
    pub corner: Option<f64>,
}

/// A fold (spinodal).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// α there.
    pub alpha: f64,
    /// The branch that ends there.
    pub ends: String,
    /// The solution there.
    pub point: Point,
}

/// Where −βf of the poor and the good branch are equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossing {
    /// α there.
    pub alpha: f64,
    /// Their common −βf.
    pub minus_beta_f: f64,
    /// The poor solution there.
    pub poor: Point,
    /// The good solution there.
    pub good: Point,
    /// Whether both replicons are positive; if not, the crossing is a replica-symmetric
    /// statement about a phase whose symmetry is broken.
    pub replica_symmetry_holds: bool,
}

/// Where the replicon changes its sign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepliconZero {
    /// α there.
    pub alpha: f64,
    /// The branch on which it happens.
    pub branch: String,
}

impl From<&branches::Branches> for Branches {
    fn from(found: &branches::Branches) -> Self {
        let fold = |f: &branches::FoldReport| Fold {
            alpha: f.alpha,
            ends: f.ends.to_string(),
            point: (&f.solution).into(),
        };
        Self {
            rows: found.rows.iter().map(Point::from).collect(),
            folds: found.folds.iter().map(fold).collect(),
            crossing: found.crossing.as_ref().map(|c| Crossing {
                alpha: c.alpha,
                minus_beta_f: c.minus_beta_f,
                poor: (&c.poor).into(),
                good: (&c.good).into(),
                replica_symmetry_holds: c.replica_symmetry_holds,
            }),
            replicon_zeros: found
                .replicon_zeros
                .iter()
                .map(|z| RepliconZero { alpha: z.alpha, branch: z.branch.to_string() })
                .collect(),
            corner: found.corner.map(|c| c.alpha),
        }
    }
}

/// The phase diagram in the plane of α and β.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseDiagram {
    /// One row per β, by rising β.
    pub rows: Vec<PhaseRow>,
    /// Where the spinodals meet, if that is between the given β.
    pub critical_point: Option<Place>,
}

/// The lines of the phase diagram at one β.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRow {
    /// Inverse temperature β.
    pub beta: f64,
    /// α at which the good branch begins.
    pub good_from: Option<f64>,
    /// α at which −βf of the two branches are equal.
    pub crossing: Option<f64>,
    /// α at which the poor branch ends in a fold.
    pub poor_until: Option<f64>,
    /// α at which the poor branch ends in the corner q_d = 1.
    pub corner: Option<f64>,
    /// Where the replicon vanishes.
    pub replicon_zeros: Vec<RepliconZero>,
}

/// A place in the plane of α and β.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
}

impl From<&phase::PhaseDiagram> for PhaseDiagram {
    fn from(diagram: &phase::PhaseDiagram) -> Self {
        let row = |r: &phase::PhaseRow| PhaseRow {
            beta: r.beta,
            good_from: r.good_from,
            crossing: r.crossing,
            poor_until: r.poor_until,
            corner: r.corner,
            replicon_zeros: r
                .replicon_zeros
                .iter()
                .map(|z| RepliconZero { alpha: z.alpha, branch: z.branch.to_string() })
                .collect(),
        };
        Self {
            rows: diagram.rows.iter().map(row).collect(),
            critical_point: diagram.critical_point.map(|c| Place { alpha: c.alpha, beta: c.beta }),
        }
    }
}

/// The best γ, and the curve from which it was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The γ of smallest objective; none if no chain has a solution.
    pub gamma: Option<f64>,
    /// The objective there.
    pub objective: Option<f64>,
    /// The errors on all tasks there.
    pub eps_by_task: Vec<Option<f64>>,
    /// Whether the minimum lies at the edge of the range searched.
    pub at_edge: bool,
    /// The curve, by rising γ.
    pub curve: Vec<TunePoint>,
}

/// One γ of the curve from which the best was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunePoint {
    /// γ.
    pub gamma: f64,
    /// The objective there.
    pub objective: Option<f64>,
    /// The errors on all tasks there.
    pub eps_by_task: Vec<Option<f64>>,
}

impl From<&tune::Tuned> for Tuned {
    fn from(tuned: &tune::Tuned) -> Self {
        let point = |p: &tune::TunePoint| TunePoint {
            gamma: p.gamma,
            objective: finite(p.objective),
            eps_by_task: all_finite(&p.eps_by_task),
        };
        Self {
            gamma: finite(tuned.gamma),
            objective: finite(tuned.objective),
            eps_by_task: all_finite(&tuned.eps_by_task),
            at_edge: tuned.at_edge,
            curve: tuned.curve.iter().map(point).collect(),
        }
    }
}
