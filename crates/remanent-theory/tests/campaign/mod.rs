//! Random theory problems over the whole domain, and what must hold for their answers.

mod comparison;
mod problems;

use std::collections::BTreeMap;

use cpu_time::ThreadTime;
use rayon::prelude::*;
use remanent_theory::chain::ChainParameters;
use remanent_theory::resolution::Resolution;
use remanent_theory::solution::Solution;
use serde::{Deserialize, Serialize};

use comparison::Comparison;
pub use problems::{Kind, Problem, problem, stream};

/// Length of the memory curves that are compared.
const REMEMBERED: usize = 6;
/// The longest chain that a stream is compared with.
const LONGEST_CHAIN: usize = 30;

/// No converged row may have a larger estimate of its error.
pub const ACCURACY: f64 = 1e-8;
/// No problem should take longer, in seconds of processor time.
pub const SLOWEST: f64 = 1.0;

/// What came of one problem.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    pub number: u32,
    pub kind: Kind,
    /// Of the rows, how many ended in which way.
    pub terminations: BTreeMap<String, usize>,
    /// The largest estimate of a converged row.
    pub estimate: f64,
    /// The largest change of a converged row with twice the nodes, if that was tried.
    pub change: Option<f64>,
    /// Processor time of the answer, and of the one with twice the nodes.
    pub seconds: f64,
    pub doubled_seconds: f64,
    /// What must not be, in words.
    pub violations: Vec<String>,
    /// The parameters as options of the command.
    pub options: String,
}

/// Numbers of a row that must exist if it was found.
fn numbers(s: &Solution) -> [f64; 18] {
    [
        s.q_d,
        s.q_0,
        s.r,
        s.q_d_hat,
        s.q_0_hat,
        s.r_hat,
        s.p,
        s.eps,
        s.ln_eps,
        s.one_minus_p,
        s.one_minus_q_d,
        s.q_d_minus_q_0,
        s.q_0_minus_r2,
        s.minus_beta_f,
        s.replicon,
        s.residual,
        s.alpha,
        s.beta,
    ]
}

/// Solves one problem and says what is wrong with its answer.
pub fn examine(seed: u64, number: u32, longest: usize, doubled: bool) -> Finding {
    let problem = problem(seed, number, longest);
    let mut finding = Finding::new(number, problem.kind, problem.options());
    let start = ThreadTime::now();
    let solved = std::panic::catch_unwind(|| problem.solve(Resolution::STANDARD));
    finding.seconds = start.elapsed().as_secs_f64();
    let Ok(result) = solved else {
        finding.violations.push("panic".into());
        return finding;
    };
    for task in &result.tasks {
        let rows = std::iter::once(&task.solution).chain(&task.other_solutions);
        for s in rows {
            *finding.terminations.entry(s.termination.to_string()).or_default() += 1;
            if s.is_found() && !numbers(s).iter().all(|v| v.is_finite() || *v == f64::NEG_INFINITY)
            {
                finding.violations.push(format!("task {}: not a number", task.task));
            }
            let bounded = |v: f64| v.is_nan() || v.abs() <= 1.0;
            if ![s.p, s.r, s.q_d, s.q_0, s.eps].into_iter().all(bounded) {
                finding.violations.push(format!("task {}: an overlap beyond 1", task.task));
            }
            if s.is_converged() {
                finding.estimate = finding.estimate.max(s.quadrature_error);
                if s.quadrature_error.is_nan() || s.quadrature_error > ACCURACY {
                    finding.violations.push(format!(
                        "task {}: converged with an error of {:.1e}",
                        task.task, s.quadrature_error
                    ));
                }
            }
        }
        let errors = &task.eps_by_task;
        let bounded = errors.iter().all(|e| (0.0..=1.0).contains(e));
        if task.solution.is_found() && (errors.len() != problem.parameters.alpha.len() || !bounded)
        {
            finding.violations.push(format!("task {}: errors {errors:?}", task.task));
        }
    }
    if doubled {
        let start = ThreadTime::now();
        let fine = std::panic::catch_unwind(|| problem.solve(Resolution::STANDARD.doubled()));
        finding.doubled_seconds = start.elapsed().as_secs_f64();
        match fine {
            Ok(fine) => {
                let Comparison { largest, violations } = Comparison::new(&result, &fine);
                finding.change = Some(largest);
                finding.violations.extend(violations);
            }
            Err(_) => finding.violations.push("panic with twice the nodes".into()),
        }
    }
    finding
}

impl Finding {
    /// Nothing is known yet.
    fn new(number: u32, kind: Kind, options: String) -> Self {
        Self {
            number,
            kind,
            terminations: BTreeMap::new(),
            estimate: 0.0,
            change: None,
            seconds: 0.0,
            doubled_seconds: 0.0,
            violations: vec![],
            options,
        }
    }

    /// Whether it took longer than it should. Not a violation: it depends on the machine.
    pub fn is_slow(&self) -> bool {
        self.seconds > SLOWEST
    }
}

/// Finds the stationary state of a stream and compares it with the end of a chain of as many tasks as it took.
pub fn examine_stream(seed: u64, number: u32) -> Finding {
    let problem = stream(seed, number);
    let options = format!("{} --stationary", problem.options());
    let mut finding = Finding::new(number, Kind::Stream, options);
    let endless = remanent_theory::stationary::Stream::new(&problem.parameters, Some(REMEMBERED));
    let start = ThreadTime::now();
    let solved = std::panic::catch_unwind(|| endless.expect("drawn within the domain").solve());
    finding.seconds = start.elapsed().as_secs_f64();
    let Ok(stationary) = solved else {
        finding.violations.push("panic".into());
        return finding;
    };
    let state = &stationary.state;
    *finding.terminations.entry(state.termination.to_string()).or_default() += 1;
    if !state.is_converged() {
        return finding;
    }
    finding.estimate = state.quadrature_error;
    if !numbers(state).iter().all(|v| v.is_finite() || *v == f64::NEG_INFINITY)
        || stationary.memory.iter().any(|e| !(0.0..=1.0).contains(e))
    {
        finding.violations.push("not a number".into());
    }
    if stationary.tasks <= LONGEST_CHAIN {
        let alpha = problem.parameters.alpha.repeat(stationary.tasks.max(REMEMBERED) + 1);
        let chain = ChainParameters { alpha, ..problem.parameters.clone() };
        let chain = Problem { kind: Kind::Stream, parameters: chain }.solve(Resolution::STANDARD);
        let last = chain.tasks.last().expect("a chain has a task");
        let errors: Vec<f64> = last.eps_by_task.iter().rev().copied().collect();
        // A chain may be on another branch, or its tasks may have no solution on the way.
        if last.solution.is_converged() && last.solution.branch == state.branch {
            let pairs = [(state.q_d, last.solution.q_d), (state.q_0, last.solution.q_0)];
            let distances = pairs.into_iter().chain(stationary.memory.iter().copied().zip(errors));
            let change =
                distances.map(|(a, b)| (a - b).abs() / b.abs().max(1e-3)).fold(0.0, f64::max);
            finding.change = Some(change);
            if change > 1e-7 {
                finding.violations.push(format!("{change:.1e} from the end of a chain"));
            }
        }
    }
    finding
}

/// The findings of some problems; every `every`-th is solved with twice the nodes too.
pub fn campaign(
    seed: u64,
    numbers: &[u32],
    every: u32,
    longest: usize,
    done: &(dyn Fn(&Finding) + Sync),
) -> Vec<Finding> {
    // One by one: their times differ much, and what is done of a campaign that is stopped is its beginning.
    let numbers = numbers.par_iter().with_max_len(1);
    numbers
        .map(|number| {
            // Kinds alternate by four: all of them are to be doubled.
            let doubled = every > 0 && (number / 4) % every == 0;
            let finding = examine(seed, *number, longest, doubled);
            done(&finding);
            finding
        })
        .collect()
}
