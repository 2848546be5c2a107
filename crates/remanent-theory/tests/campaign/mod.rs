//! Random theory problems over the whole domain, and what must hold for their answers.

use std::collections::BTreeMap;

use cpu_time::ThreadTime;
use rayon::prelude::*;
use remanent_math::philox::Stream;
use remanent_theory::chain::{ChainParameters, ChainResult, TaskResult};
use remanent_theory::parameters::{Choice, Prior};
use remanent_theory::resolution::Resolution;
use remanent_theory::solution::Solution;

/// The kinds of problems; all but streams are drawn in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Single,
    Constrained,
    Chain,
    ConstrainedChain,
    Stream,
}

impl Kind {
    pub const ALL: [Self; 5] =
        [Self::Single, Self::Constrained, Self::Chain, Self::ConstrainedChain, Self::Stream];

    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Constrained => "constrained",
            Self::Chain => "chain",
            Self::ConstrainedChain => "constrained chain",
            Self::Stream => "stationary stream",
        }
    }
}

/// A problem: a chain of one task or more.
#[derive(Clone, Debug)]
pub struct Problem {
    pub kind: Kind,
    pub parameters: ChainParameters,
}

/// Draws one number after another from a stream.
struct Draw {
    stream: Stream,
    index: u32,
}

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.index += 1;
        self.stream.uniform(self.index)
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    fn one_of(&mut self, values: &[f64]) -> f64 {
        values[((values.len() as f64 * self.uniform()) as usize).min(values.len() - 1)]
    }

    /// Log-uniform, and often one of the ends.
    fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        if self.chance(0.1) {
            return self.one_of(&[low, high]);
        }
        (low.ln() + self.uniform() * (high / low).ln()).exp().clamp(low, high)
    }

    fn gamma(&mut self) -> f64 {
        if self.chance(0.2) { self.one_of(&[0.0, 1.0]) } else { self.log_uniform(1e-4, 1e4) }
    }

    fn r_0(&mut self) -> f64 {
        if self.chance(0.4) {
            self.one_of(&[-1.0, -0.999_999, -1e-9, 0.0, 0.5, 0.999_999, 1.0 - 1e-12, 1.0])
        } else {
            2.0 * self.uniform() - 1.0
        }
    }

    fn q_star(&mut self) -> f64 {
        match (4.0 * self.uniform()) as u32 {
            0 => self.log_uniform(1e-6, 0.5),
            1 => 1.0 - self.log_uniform(1e-9, 0.5),
            2 => self.one_of(&[1e-6, 1e-4, 0.5, 0.999_999, 1.0 - 1e-9]),
            _ => 0.01 + 0.98 * self.uniform(),
        }
    }

    fn lambda(&mut self) -> f64 {
        let u = self.uniform();
        match (10.0 * u) as u32 {
            0 => 1.0,
            1 => 0.0,
            2..=5 => 1.0 - self.log_uniform(1e-6, 0.5),
            _ => 2.0 * self.uniform() - 1.0,
        }
    }

    fn rho(&mut self) -> f64 {
        if self.chance(0.5) { 1.0 } else { self.uniform() }
    }

    fn many(&mut self, count: usize, same: f64, draw: fn(&mut Self) -> f64) -> Vec<f64> {
        if self.chance(same) {
            vec![draw(self); count]
        } else {
            (0..count).map(|_| draw(self)).collect()
        }
    }
}

/// The problem of one number in the campaign of one seed, of at most `longest` tasks.
pub fn problem(seed: u64, number: u32, longest: usize) -> Problem {
    let mut draw = Draw { stream: Stream::new(seed, 77, number, 0), index: 0 };
    let kind = Kind::ALL[number as usize % 4];
    let tasks = match kind {
        Kind::Single | Kind::Constrained | Kind::Stream => 1,
        Kind::Chain | Kind::ConstrainedChain => {
            let u = draw.uniform();
            (2 + (9.0 * u * u * u) as usize).min(longest)
        }
    };
    let alpha = draw.many(tasks, 0.2, |d| d.log_uniform(1e-4, 1e3));
    let beta = draw.many(tasks, 0.7, |d| d.log_uniform(1e-2, 1e3));
    let r_0 = draw.many(tasks - 1, 0.5, Draw::r_0);
    let gamma = draw.many(tasks - 1, 0.5, Draw::gamma);
    let q_star = match kind {
        Kind::Constrained | Kind::ConstrainedChain => draw.many(tasks, 0.2, Draw::q_star),
        Kind::Single | Kind::Chain | Kind::Stream => vec![],
    };
    let prior = if draw.chance(0.2) { Prior::Uniform } else { Prior::None };
    let choice = if draw.chance(0.1) { Choice::Poor } else { Choice::Stable };
    let fades = draw.chance(0.3);
    let mut fading = |factor: fn(&mut Draw) -> f64| {
        if fades { draw.many(tasks - 1, 0.5, factor) } else { vec![] }
    };
    let (lambda, rho) = (fading(Draw::lambda), fading(Draw::rho));
    let choice = vec![choice];
    let parameters =
        ChainParameters { alpha, beta, gamma, r_0, lambda, rho, prior, q_star, choice };
    Problem { kind, parameters }
}

/// Length of the memory curves that are compared.
const REMEMBERED: usize = 6;
/// The longest chain that a stream is compared with.
const LONGEST_CHAIN: usize = 30;

/// No converged row may have a larger estimate of its error.
pub const ACCURACY: f64 = 1e-8;
/// No problem should take longer, in seconds of processor time.
pub const SLOWEST: f64 = 1.0;

/// What came of one problem.
#[derive(Clone, Debug)]
pub struct Finding {
    pub number: u32,
    pub kind: Kind,
    /// Of the rows, how many ended in which way.
    pub terminations: BTreeMap<String, usize>,
    /// The largest estimate of a converged row.
    pub estimate: f64,
    /// The largest change of a converged row with twice the nodes, if that was tried.
    pub change: Option<f64>,
    pub seconds: f64,
    /// What must not be, in words.
    pub violations: Vec<String>,
    /// The parameters as options of the command.
    pub options: String,
}

impl Problem {
    /// The options of `remanent theory chain` (`constrained`) that ask for the same.
    pub fn options(&self) -> String {
        let p = &self.parameters;
        let list =
            |values: &[f64]| values.iter().map(|v| format!("{v:e}")).collect::<Vec<_>>().join(",");
        let mut text = format!("--alpha {} --beta {}", list(&p.alpha), list(&p.beta));
        for (name, values) in [
            ("r0", &p.r_0),
            ("gamma", &p.gamma),
            ("lambda", &p.lambda),
            ("rho", &p.rho),
            ("q-star", &p.q_star),
        ] {
            if !values.is_empty() {
                text += &format!(" --{name}={}", list(values));
            }
        }
        if p.prior == Prior::Uniform {
            text += " --prior uniform";
        }
        if p.choice == [Choice::Poor] {
            text += " --branch poor";
        }
        text
    }

    fn solve(&self, resolution: Resolution) -> ChainResult {
        self.parameters
            .check()
            .expect("drawn within the domain")
            .with_resolution(resolution)
            .solve()
    }
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

/// The largest relative difference of two rows. Positive numbers and the conjugates
/// count by their own size; r, p, A, −βf and the replicon by one that does not
/// vanish where they change their sign.
fn difference(a: &TaskResult, b: &TaskResult) -> f64 {
    let (x, y) = (&a.solution, &b.solution);
    let stiffness = |s: &Solution| s.q_0_hat - s.q_d_hat;
    let mut pairs = vec![
        (x.one_minus_q_d, y.one_minus_q_d, 0.0),
        (x.q_d_minus_q_0, y.q_d_minus_q_0, 0.0),
        (x.q_0_minus_r2, y.q_0_minus_r2, 0.0),
        (x.q_d, y.q_d, 0.0),
        (x.q_0, y.q_0, 0.0),
        (x.r, y.r, 0.01 * y.q_0.sqrt()),
        (x.q_0_hat, y.q_0_hat, 0.0),
        (x.r_hat, y.r_hat, 0.0),
        (stiffness(x), stiffness(y), (1.0 + y.q_0_hat).sqrt()),
        (x.p, y.p, 1e-3),
        (x.minus_beta_f, y.minus_beta_f, 0.01),
        (x.replicon, y.replicon, 1.0),
    ];
    // ε² is (2/π²)(1 − p) where it is small; after an anchor 1 − p is known to 1e-25.
    let rare = if a.eps_by_task.len() > 1 { 1e-18 } else { 1e-140 };
    pairs.extend(a.eps_by_task.iter().zip(&b.eps_by_task).map(|(x, y)| (x * x, y * y, rare)));
    pairs
        .iter()
        .map(|(x, y, size)| (x - y).abs() / y.abs().max(*size).max(1e-300))
        .fold(0.0, |worst, d| if d.is_nan() { f64::INFINITY } else { f64::max(worst, d) })
}

/// Solves one problem and says what is wrong with its answer.
pub fn examine(seed: u64, number: u32, longest: usize, doubled: bool) -> Finding {
    let problem = problem(seed, number, longest);
    let mut finding = Finding {
        number,
        kind: problem.kind,
        terminations: BTreeMap::new(),
        estimate: 0.0,
        change: None,
        seconds: 0.0,
        violations: vec![],
        options: problem.options(),
    };
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
        finding.compare(&result, &problem.solve(Resolution::STANDARD.doubled()));
    }
    finding
}

impl Finding {
    /// Whether it took longer than it should. Not a violation: it depends on the machine.
    pub fn is_slow(&self) -> bool {
        self.seconds > SLOWEST
    }

    /// Lays beside the answer another one with twice the nodes in every direction. The
    /// estimate is honest if no converged row has moved by more than it and 1e-8.
    fn compare(&mut self, result: &ChainResult, fine: &ChainResult) {
        let mut largest = 0.0;
        for (a, b) in result.tasks.iter().zip(&fine.tasks) {
            if !a.solution.is_converged() || !b.solution.is_found() {
                break;
            }
            // Two solutions of the same potential: a chain may continue from either.
            if a.solution.branch != b.solution.branch {
                let tied = (a.potential - b.potential).abs() < 1e-7 * (1.0 + b.potential.abs());
                if !tied {
                    self.violations.push(format!(
                        "task {}: {} here, {} with twice the nodes",
                        a.task, a.solution.branch, b.solution.branch
                    ));
                }
                break;
            }
            let change = difference(a, b);
            largest = f64::max(largest, change);
            if change > 3.0 * a.solution.quadrature_error + ACCURACY {
                self.violations.push(format!(
                    "task {}: moved by {change:.1e}, estimate {:.1e}",
                    a.task, a.solution.quadrature_error
                ));
            }
        }
        self.change = Some(largest);
    }
}

/// A stream without end whose anchors fade. Its temperatures and loads are those at which a task is neither
/// impossible nor trivial.
fn stream(seed: u64, number: u32) -> Problem {
    let mut draw = Draw { stream: Stream::new(seed, 78, number, 0), index: 0 };
    let alpha = vec![draw.log_uniform(0.03, 10.0)];
    let beta = vec![draw.log_uniform(0.3, 50.0)];
    let gamma = vec![draw.log_uniform(0.03, 10.0)];
    let r_0 = vec![draw.r_0()];
    // One of the two must fade, or the stream has no stationary state.
    let by_lambda = draw.chance(0.5);
    let factor = 0.97 * draw.uniform();
    let (lambda, rho) = if by_lambda {
        (if draw.chance(0.2) { -factor } else { factor }, draw.rho())
    } else {
        (1.0, factor)
    };
    let (lambda, rho) = (vec![lambda], vec![rho]);
    let parameters = ChainParameters { alpha, beta, gamma, r_0, lambda, rho, ..Default::default() };
    Problem { kind: Kind::Stream, parameters }
}

/// Finds the stationary state of a stream and compares it with the end of a chain of as many tasks as it took.
pub fn examine_stream(seed: u64, number: u32) -> Finding {
    let problem = stream(seed, number);
    let mut finding = Finding {
        number,
        kind: Kind::Stream,
        terminations: BTreeMap::new(),
        estimate: 0.0,
        change: None,
        seconds: 0.0,
        violations: vec![],
        options: format!("{} --stationary", problem.options()),
    };
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

/// The findings of `count` problems; every `every`-th is solved with twice the nodes too.
pub fn campaign(
    seed: u64,
    count: u32,
    every: u32,
    longest: usize,
    done: &(dyn Fn(&Finding) + Sync),
) -> Vec<Finding> {
    (0..count)
        .into_par_iter()
        .map(|number| {
            // Kinds alternate by four: all of them are to be doubled.
            let finding = examine(seed, number, longest, every > 0 && (number / 4) % every == 0);
            done(&finding);
            finding
        })
        .collect()
}
