//! Questions with broken replica symmetry, and their answers.

use rayon::prelude::*;
use remanent_store::{Context, Stopped};
use remanent_theory::agreement::Agreement;
use remanent_theory::branches::{Branches, branches};
use remanent_theory::chain::ChainParameters;
use remanent_theory::curve::Branch;
use remanent_theory::parameters::{Choice, DomainError, Prior};
use remanent_theory::phase::{PhaseDiagram, phase_diagram};
use remanent_theory::rsb::{
    BrokenPhaseDiagram, BrokenTask, MOST_STEPS, RsbSolution, TOLERANCE, broken_phase_diagram,
};
use remanent_theory::scan::{ScanAxis, cases};
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Solution;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cell::{PIECE, piecewise};
use super::options::Rsb;
use super::query::{constrained_json, scanned_json, single_json};
use crate::options::Words;

/// A question with broken symmetry. A `choice` of `None` asks for all solutions.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum BrokenAsk {
    Single {
        alpha: Vec<f64>,
        beta: Vec<f64>,
        prior: Prior,
        choice: Option<Choice>,
        rsb: Rsb,
    },
    Constrained {
        alpha: f64,
        beta: Vec<f64>,
        q_star: Vec<f64>,
        prior: Prior,
        choice: Choice,
        rsb: Rsb,
    },
    Chain {
        parameters: ChainParameters,
        axes: Vec<ScanAxis>,
    },
    Branches {
        beta: f64,
        low: f64,
        high: f64,
        prior: Prior,
        steps: usize,
    },
    PhaseDiagram {
        beta: Vec<f64>,
        prior: Prior,
    },
    Complexity {
        alpha: f64,
        beta: f64,
        rows: usize,
        prior: Prior,
    },
}

/// A solution with its number of steps. The columns of a [`Solution`] keep their meaning: `q_0` is
/// the overlap of states in different clusters, and `replicon` the smallest of the stabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenRow {
    /// What every solution has.
    #[serde(flatten)]
    pub solution: Solution,
    /// The number of steps; 0 is replica symmetry.
    pub rsb: usize,
    /// Overlap of two states in the same cluster.
    pub q_1: Option<f64>,
    /// Overlap of two states in the same inner cluster, with two steps.
    pub q_2: Option<f64>,
    /// Parisi's parameter x_1.
    pub x: Option<f64>,
    /// Parisi's parameter x_2, with two steps.
    pub x_2: Option<f64>,
    /// Complexity of the clusters; 0 at a static solution.
    pub complexity: Option<f64>,
    /// −βf of one cluster.
    pub cluster_minus_beta_f: Option<f64>,
    /// Stability of the overlap of different clusters; the replicon without breaking.
    pub lambda_0: Option<f64>,
    /// Stability inside the clusters.
    pub lambda_1: Option<f64>,
    /// Stability inside the inner clusters, with two steps.
    pub lambda_2: Option<f64>,
    /// Whether all stabilities are above −1e-5; `None` without a solution.
    pub is_stable: Option<bool>,
}

impl AsRef<Solution> for BrokenRow {
    fn as_ref(&self) -> &Solution {
        &self.solution
    }
}

impl BrokenRow {
    /// A replica-symmetric solution.
    pub(super) fn symmetric(solution: &Solution) -> Self {
        let replicon = Some(solution.replicon).filter(|value| value.is_finite());
        Self {
            solution: *solution,
            rsb: 0,
            q_1: None,
            q_2: None,
            x: None,
            x_2: None,
            complexity: None,
            cluster_minus_beta_f: None,
            lambda_0: replicon,
            lambda_1: None,
            lambda_2: None,
            is_stable: replicon.map(|replicon| replicon > -TOLERANCE),
        }
    }

    fn new(s: &RsbSolution) -> Self {
        let number = |value: f64| Some(value).filter(|value| value.is_finite());
        let at = |values: &[f64], l: usize| values.get(l).copied();
        let or_nan = |values: &[f64], l: usize| at(values, l).unwrap_or(f64::NAN);
        let solution = Solution {
            q_d: s.q_d,
            q_0: or_nan(&s.q, 0),
            r: s.r,
            q_d_hat: s.q_d_hat,
            q_0_hat: or_nan(&s.q_hat, 0),
            r_hat: s.r_hat,
            p: s.p,
            eps: s.eps,
            ln_eps: s.ln_eps,
            one_minus_p: Agreement::of_error(s.eps).one_minus_p,
            one_minus_q_d: s.one_minus_q_d,
            q_d_minus_q_0: s.q_d_minus_q_k + s.q_gaps.iter().sum::<f64>(),
            q_0_minus_r2: s.q_0_minus_r2,
            minus_beta_f: s.minus_beta_f,
            replicon: s.stability.iter().copied().reduce(f64::min).unwrap_or(f64::NAN),
            residual: s.residual,
            quadrature_error: s.quadrature_error,
            ..Solution::none(s.alpha, s.beta, s.branch, s.termination)
        };
        Self {
            solution,
            rsb: s.steps,
            q_1: at(&s.q, 1),
            q_2: at(&s.q, 2),
            x: at(&s.x, 0),
            x_2: at(&s.x, 1),
            complexity: number(s.complexity),
            cluster_minus_beta_f: number(s.cluster_minus_beta_f),
            lambda_0: at(&s.stability, 0),
            lambda_1: at(&s.stability, 1),
            lambda_2: at(&s.stability, 2),
            is_stable: s.is_found().then(|| s.is_stable(TOLERANCE)),
        }
    }
}

/// A task of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenTaskRow {
    /// The number of the task, from 1.
    pub task: usize,
    /// The solution from which the chain continues.
    #[serde(flatten)]
    pub row: BrokenRow,
    /// The error on every task after this one; `None` where it is not known.
    pub eps_by_task: Vec<Option<f64>>,
}

/// A chain at one point of a scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenChain {
    /// The scanned values, by name.
    pub at: Vec<(String, f64)>,
    /// Its tasks.
    pub tasks: Vec<BrokenTaskRow>,
}

impl BrokenChain {
    /// The value of a scanned parameter.
    pub fn scanned(&self, name: &str) -> Option<f64> {
        self.at.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }

    /// The solutions of its tasks.
    pub fn rows(&self) -> impl Iterator<Item = &BrokenRow> {
        self.tasks.iter().map(|task| &task.row)
    }
}

/// Where a broken branch changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landmark {
    /// What changes there.
    pub name: String,
    /// The solution there.
    #[serde(flatten)]
    pub row: BrokenRow,
}

/// The broken curve beside the symmetric one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenBranches {
    /// The replica-symmetric curve with its landmarks.
    #[serde(flatten)]
    pub symmetric: Branches,
    /// The broken one.
    pub broken: BrokenCurve,
}

/// A broken curve with its landmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenCurve {
    /// Its number of steps.
    pub rsb: usize,
    /// Solutions in the order of the curve.
    pub rows: Vec<BrokenRow>,
    /// `onset`, `fold`, `crossing` (poor and good) and the zeros of the stabilities.
    pub landmarks: Vec<Landmark>,
}

impl BrokenCurve {
    /// The landmarks of this name.
    pub fn landmarks(&self, name: &str) -> impl Iterator<Item = &BrokenRow> {
        self.landmarks.iter().filter(move |landmark| landmark.name == name).map(|l| &l.row)
    }

    /// The poor and the good solution where they exchange stability.
    pub fn crossing(&self) -> Option<[&BrokenRow; 2]> {
        let mut both = self.landmarks("crossing");
        Some([both.next()?, both.next()?])
    }
}

/// The phase diagram with one step, and the symmetric one for comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenPhases {
    /// With one step.
    #[serde(flatten)]
    pub broken: BrokenPhaseDiagram,
    /// Without.
    pub symmetric: PhaseDiagram,
}

/// The complexity of the clusters at one α and β.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Complexity {
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
    /// From the clusters that carry the measure to the lightest.
    pub rows: Vec<BrokenRow>,
    /// α at which the measure shatters into clusters.
    pub dynamical: Option<f64>,
    /// α at which few clusters carry it.
    pub condensation: Option<f64>,
}

/// The answer to a question with broken symmetry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BrokenAnswer {
    /// Solutions of one task: for each β, for each α.
    Single(Vec<BrokenRow>),
    /// Chains: one, or one for each combination of the scanned values.
    Chain(Vec<BrokenChain>),
    /// The curves of solutions.
    Branches(Box<BrokenBranches>),
    /// The phase diagram.
    PhaseDiagram(Box<BrokenPhases>),
    /// The complexity.
    Complexity(Complexity),
}

impl BrokenAnswer {
    /// The rows of `ask = "single"` and `"constrained"`.
    pub fn as_single(&self) -> Option<&[BrokenRow]> {
        if let Self::Single(rows) = self { Some(rows) } else { None }
    }

    /// The chains of `ask = "chain"`.
    pub fn as_chain(&self) -> Option<&[BrokenChain]> {
        if let Self::Chain(chains) = self { Some(chains) } else { None }
    }

    /// The curves of `ask = "branches"`.
    pub fn as_branches(&self) -> Option<&BrokenBranches> {
        if let Self::Branches(branches) = self { Some(branches) } else { None }
    }

    /// The diagram of `ask = "phase-diagram"`.
    pub fn as_phase_diagram(&self) -> Option<&BrokenPhases> {
        if let Self::PhaseDiagram(phases) = self { Some(phases) } else { None }
    }
}

impl BrokenAsk {
    pub(super) fn to_json(&self) -> Value {
        let with = |mut value: Value, rsb: &str| {
            value["rsb"] = rsb.into();
            value
        };
        match self {
            Self::Single { alpha, beta, prior, choice, rsb } => {
                with(single_json(alpha, beta, *prior, *choice), rsb.word())
            }
            Self::Constrained { alpha, beta, q_star, prior, choice, rsb } => {
                with(constrained_json(*alpha, beta, q_star, *prior, *choice), rsb.word())
            }
            Self::Chain { parameters, axes } => with(scanned_json(parameters, axes, "chain"), "1"),
            Self::Branches { beta, low, high, prior, steps } => json!({
                "ask": "branches",
                "beta": beta,
                "alpha": [low, high],
                "prior": prior.word(),
                "rsb": steps.to_string(),
            }),
            Self::PhaseDiagram { beta, prior } => json!({
                "ask": "phase-diagram",
                "beta": beta,
                "prior": prior.word(),
                "rsb": "1",
            }),
            Self::Complexity { alpha, beta, rows, prior } => json!({
                "ask": "complexity",
                "alpha": alpha,
                "beta": beta,
                "rows": rows,
                "prior": prior.word(),
            }),
        }
    }

    /// Whether a chain is repeated over values of a parameter.
    pub(super) fn is_scanned(&self) -> bool {
        matches!(self, Self::Chain { axes, .. } if !axes.is_empty())
    }

    pub(super) fn work(&self) -> usize {
        match self {
            Self::Single { beta, .. } => beta.len(),
            Self::PhaseDiagram { beta, .. } => 2 * beta.len(),
            Self::Constrained { beta, q_star, .. } => beta.len() * q_star.len(),
            Self::Chain { axes, .. } => axes.iter().map(|a| a.values.len()).product(),
            Self::Branches { .. } | Self::Complexity { .. } => 1,
        }
    }

    pub(super) fn run(&self, context: &mut Context<'_>) -> Result<BrokenAnswer, Stopped> {
        let failed = |error: DomainError| Stopped::failed(error);
        Ok(match self {
            Self::Single { alpha, beta, prior, choice, rsb } => {
                let at = |beta: &f64| {
                    let mut task = BrokenTask::new(SingleTask::new(*beta)?.with_prior(*prior));
                    if alpha.len() == 1 {
                        task = task.for_one_alpha();
                    }
                    let rows = alpha.par_iter().map(|alpha| solve(&task, *alpha, *choice, *rsb));
                    rows.collect::<Result<Vec<_>, _>>()
                };
                let curves = piecewise(context, beta, 1, |beta| at(beta).map_err(failed))?;
                BrokenAnswer::Single(curves.into_iter().flatten().flatten().collect())
            }
            Self::Constrained { alpha, beta, q_star, prior, choice, rsb } => {
                let places: Vec<(f64, f64)> =
                    beta.iter().flat_map(|b| q_star.iter().map(|q| (*b, *q))).collect();
                let at = |&(beta, q_star): &(f64, f64)| {
                    let task = SingleTask::new(beta)?.with_prior(*prior).with_q_star(q_star)?;
                    solve(&BrokenTask::new(task).for_one_alpha(), *alpha, Some(*choice), *rsb)
                };
                let rows = piecewise(context, &places, PIECE, |place| at(place).map_err(failed))?;
                BrokenAnswer::Single(rows.into_iter().flatten().collect())
            }
            Self::Chain { parameters, axes } => {
                let cases = cases(parameters, axes).map_err(Stopped::failed)?;
                BrokenAnswer::Chain(piecewise(context, &cases, PIECE, |(at, chain)| {
                    let tasks = chain.solve_broken(1).map_err(failed)?;
                    let row = |t: &remanent_theory::rsb::BrokenTaskResult| BrokenTaskRow {
                        task: t.task,
                        row: BrokenRow::new(&t.solution),
                        eps_by_task: t.eps_by_task.iter().map(|e| super::known(*e)).collect(),
                    };
                    Ok(BrokenChain { at: at.clone(), tasks: tasks.iter().map(row).collect() })
                })?)
            }
            Self::Branches { beta, low, high, prior, steps } => {
                let single = SingleTask::new(*beta).map_err(failed)?.with_prior(*prior);
                let symmetric = branches(&single, *low, *high).map_err(failed)?;
                let broken = curve(&BrokenTask::new(single), *steps, *low, *high);
                context.advance(1);
                BrokenAnswer::Branches(Box::new(BrokenBranches { symmetric, broken }))
            }
            Self::PhaseDiagram { beta, prior } => {
                let done = || context.advance(1);
                let broken = broken_phase_diagram(beta, *prior, &done).map_err(failed)?;
                let symmetric = phase_diagram(beta, *prior, &done).map_err(failed)?;
                BrokenAnswer::PhaseDiagram(Box::new(BrokenPhases { broken, symmetric }))
            }
            Self::Complexity { alpha, beta, rows, prior } => {
                let task = SingleTask::new(*beta).map_err(failed)?.with_prior(*prior);
                let task = BrokenTask::new(task);
                let found = task.complexity(*alpha, *rows).map_err(failed)?;
                let lines = task.phase_row();
                context.advance(1);
                BrokenAnswer::Complexity(Complexity {
                    alpha: *alpha,
                    beta: *beta,
                    rows: found.iter().map(BrokenRow::new).collect(),
                    dynamical: lines.dynamical,
                    condensation: lines.condensation,
                })
            }
        })
    }
}

/// The rows of one α: one of the chosen branch, or all that exist.
fn solve(
    task: &BrokenTask<'_>,
    alpha: f64,
    choice: Option<Choice>,
    rsb: Rsb,
) -> Result<Vec<BrokenRow>, DomainError> {
    let needed =
        |choice| task.as_needed(alpha, choice, TOLERANCE, rsb.steps().unwrap_or(MOST_STEPS));
    let row = |solution: &RsbSolution, branch: Branch| {
        let mut row = BrokenRow::new(solution);
        if !solution.is_found() {
            row.solution.branch = branch;
        }
        row
    };
    Ok(match (choice, rsb.steps()) {
        (Some(Choice::Poor), Some(steps)) => vec![row(&task.poor(alpha, steps)?, Branch::Poor)],
        (Some(choice), _) => {
            let branch = match choice {
                Choice::Stable | Choice::Poor => Branch::Poor,
                Choice::Middle => Branch::Middle,
                Choice::Good => Branch::Good,
            };
            vec![row(&needed(choice)?.solution, branch)]
        }
        (None, steps) => {
            // As many steps as the poor state has, which may be fewer than asked for.
            let steps = match steps {
                Some(0) => 0,
                _ => needed(Choice::Poor)?.solution.steps,
            };
            let mut all = if steps > 0 { task.solve(alpha, steps)? } else { vec![] };
            let symmetric = task.solve(alpha, 0)?;
            all.extend(symmetric.into_iter().filter(|s| s.is_saddle || s.is_stable(TOLERANCE)));
            all.retain(RsbSolution::is_found);
            all.iter().map(BrokenRow::new).collect()
        }
    })
}

/// A broken curve with its landmarks, both between `low` and `high`.
fn curve(task: &BrokenTask<'_>, steps: usize, low: f64, high: f64) -> BrokenCurve {
    let mut landmarks = Vec::new();
    let mut add = |name: &str, solution: &RsbSolution| {
        landmarks.push(Landmark { name: name.into(), row: BrokenRow::new(solution) });
    };
    if let Some(onset) = task.onset() {
        add("onset", &onset);
    }
    if let Some(first) = task.beginning().filter(|s| s.steps == 1) {
        add("condensation", &first);
    }
    if let Some(fold) = task.fold(steps) {
        add("fold", &fold);
    }
    if let Some(crossing) = task.crossing(steps) {
        add("crossing", &crossing.poor);
        add("crossing", &crossing.good);
    }
    for level in 0..=steps {
        for zero in task.stability_zeros(steps, level) {
            add(&format!("lambda_{level} zero"), &zero);
        }
    }
    let within = |row: &BrokenRow| (low..=high).contains(&row.solution.alpha);
    landmarks.retain(|landmark| within(&landmark.row));
    let mut rows: Vec<BrokenRow> = task.branch(steps).iter().map(BrokenRow::new).collect();
    rows.retain(within);
    BrokenCurve { rsb: steps, rows, landmarks }
}
