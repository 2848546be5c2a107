//! A question to the theory, read from its options and checked, so that an invalid question
//! is refused before anything is computed.

use remanent_theory::chain::ChainParameters;
use remanent_theory::parameters::{Choice, DomainError, Prior};
use remanent_theory::scan::{ScanAxis, ScanError, cases};
use remanent_theory::stationary::Stream;
use remanent_theory::tune::{Search, usual_gammas};
use serde_json::{Value, json};
use thiserror::Error;
use toml::{Table, Value as Setting};

use super::broken::BrokenAsk;
use super::monte_carlo::Study;
use super::options::{
    BranchesOptions, ChainOptions, ComplexityOptions, ConstrainedOptions, PhaseDiagramOptions,
    Question, QuestionOptions, Rsb, SingleOptions, StreamOptions, TasksOptions, TuneOptions,
};
use super::stream::StreamAsk;
use crate::config::{ConfigError, check_keys};
use crate::lists::{self, Interval, TooManyCases};
use crate::options::{Options, Words};
use crate::values::{self, ValueError};

/// Raised whenever the same question gets another answer than before, so that records of an
/// earlier program are not taken for those of this one: 5, stiffnesses that hardly matter and errors near 1 are known to 1e-8,
/// and the estimate counts what grids do not resolve; 6, branches of constrained tasks are named and found anew, and q_0 − r² is
/// known to 1e-8 where all weights are nearly the same; 7, laws of anchors have other panels, and those of two modes near
/// q_⋆ = 1 are smooth; 8, Newton's method takes its last step, and laws reach further;
/// 9, they reach so far that rare weights with the wrong sign are known, and poor branches at fixed q_d are found;
/// 10, −βf behind strong anchors is known to rounding; 11, traces find folds that long steps led past;
/// 12, zeros of the replicon between two traced points are found; 13, good branches above a poor one that goes on are
/// found, and narrow peaks of bounded anchors are resolved; 14, a curve for several α begins below the smallest of them.
const REVISION: u32 = 14;
/// The same for `tune`.
const TUNE_REVISION: u32 = 14;
/// The same for questions with broken replica symmetry: 4, folds are located to fourth order, and landmarks at small gaps
/// are found; 5, the moments of a first task have other rounding; 6, Newton's method takes its last step;
/// 7, replica-symmetric traces have other points; 8, second steps on every unstable stretch and solutions just behind a
/// discontinuous onset are found, and drawn points are accurate.
const BROKEN_REVISION: u32 = 8;
/// The same for phase diagrams with broken replica symmetry: 6, x at the onset is exact, and lines reach the points at
/// which they begin; 7, 8 and 9, as 6, 7 and 8 of the other questions.
const BROKEN_PHASES_REVISION: u32 = 9;
/// The same for studies by Monte Carlo.
const MONTE_CARLO_REVISION: u32 = 2;

/// The inverse temperatures of a phase diagram with broken symmetry: denser where lines begin.
const BROKEN_BETAS: [f64; 40] = [
    5.0, 8.0, 10.0, 11.0, 11.65, 11.8, 12.0, 12.5, 13.0, 13.5, 14.0, 15.0, 16.0, 16.5, 17.2, 17.5,
    18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.5, 26.0, 28.0, 30.0, 32.0, 35.0, 38.0, 42.0, 46.0,
    50.0, 60.0, 70.0, 80.0, 100.0, 120.0, 150.0, 200.0,
];

/// The longest chain: the errors on every task after every task are kept.
const MOST_TASKS: usize = 100;

/// Why a configuration is no question.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A key that the question does not have.
    #[error(transparent)]
    Key(#[from] ConfigError),
    /// A value of the wrong kind.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A number out of range, or a list of the wrong length.
    #[error(transparent)]
    Parameter(#[from] DomainError),
    /// An invalid scan.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// More points than one command computes.
    #[error(transparent)]
    TooMany(#[from] TooManyCases),
    /// A key that is needed.
    #[error("{0} is missing; {1}")]
    Missing(&'static str, &'static str),
    /// Something else is invalid.
    #[error("{0}")]
    Other(String),
}

/// A checked question.
#[derive(Clone, Debug, PartialEq)]
pub struct Query(pub(super) Ask);

/// The questions. A `choice` of `None` asks for all solutions.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    Single { alpha: Vec<f64>, beta: Vec<f64>, prior: Prior, choice: Option<Choice> },
    Constrained { alpha: f64, beta: Vec<f64>, q_star: Vec<f64>, prior: Prior, choice: Choice },
    Chain { parameters: ChainParameters, axes: Vec<ScanAxis> },
    Branches { beta: f64, low: f64, high: f64, prior: Prior },
    PhaseDiagram { beta: Vec<f64>, prior: Prior },
    Stationary(StreamAsk),
    Tune { parameters: ChainParameters, search: Search },
    Broken(BrokenAsk),
    MonteCarlo(Study),
}

impl Query {
    /// Reads and checks a question.
    pub fn from_table(table: &Table) -> Result<Self, QueryError> {
        let ask = QuestionOptions::read(table)?.ask.ok_or(QueryError::Missing(
            "ask",
            "state what is asked of the theory, e.g. ask = \"single\"",
        ))?;
        let options = ask.options();
        let mut known: Vec<&str> = options.iter().map(|info| info.key).collect();
        known.push("ask");
        if ask == Question::Chain {
            known.push("scan");
        }
        check_keys(table, &known, &format!("the question '{}'", ask.word()))?;
        Ok(Self(match ask {
            Question::Single => single(SingleOptions::read(table)?)?,
            Question::Constrained => constrained(ConstrainedOptions::read(table)?)?,
            Question::Chain => chain(ChainOptions::read(table)?, table.get("scan"))?,
            Question::Branches => branches(BranchesOptions::read(table)?)?,
            Question::PhaseDiagram => phase_diagram(PhaseDiagramOptions::read(table)?)?,
            Question::Tune => tune(TuneOptions::read(table)?)?,
            Question::Complexity => complexity(ComplexityOptions::read(table)?)?,
            Question::MonteCarlo => Ask::MonteCarlo(Study::from_table(table)?),
        }))
    }

    /// Everything the answer depends on.
    pub fn key(&self) -> Value {
        let mut value = match &self.0 {
            Ask::Single { alpha, beta, prior, choice } => single_json(alpha, beta, *prior, *choice),
            Ask::Constrained { alpha, beta, q_star, prior, choice } => {
                constrained_json(*alpha, beta, q_star, *prior, *choice)
            }
            Ask::Chain { parameters, axes } => scanned_json(parameters, axes, "chain"),
            Ask::Branches { beta, low, high, prior } => json!({
                "ask": "branches",
                "beta": beta,
                "alpha": [low, high],
                "prior": prior.word(),
            }),
            Ask::PhaseDiagram { beta, prior } => json!({
                "ask": "phase-diagram",
                "beta": beta,
                "prior": prior.word(),
            }),
            Ask::Stationary(ask) => ask.to_json(),
            Ask::Tune { parameters, search } => {
                let mut value = chain_json(parameters, "tune");
                value["gamma"] = json!(search.gamma);
                value["objective"] = json!(search.objective);
                // What was not there before is named only where it is used: earlier records stay valid.
                if search.lambda != [1.0] || search.rho != [1.0] {
                    value["lambda"] = json!(search.lambda);
                    value["rho"] = json!(search.rho);
                }
                if search.last.is_some() || search.stationary {
                    value["last"] = json!(search.last);
                    value["stationary"] = json!(search.stationary);
                }
                value
            }
            Ask::Broken(ask) => ask.to_json(),
            Ask::MonteCarlo(study) => study.to_json(),
        };
        let revision = match self.0 {
            Ask::MonteCarlo(_) => MONTE_CARLO_REVISION,
            Ask::Tune { .. } => TUNE_REVISION,
            Ask::Broken(BrokenAsk::PhaseDiagram { .. }) => BROKEN_PHASES_REVISION,
            Ask::Broken(_) => BROKEN_REVISION,
            _ => REVISION,
        };
        value["revision"] = revision.into();
        value
    }
}

pub(super) fn single_json(
    alpha: &[f64],
    beta: &[f64],
    prior: Prior,
    choice: Option<Choice>,
) -> Value {
    json!({
        "ask": "single",
        "alpha": alpha,
        "beta": beta,
        "prior": prior.word(),
        "branch": choice.map_or("all", Choice::word),
    })
}

pub(super) fn constrained_json(
    alpha: f64,
    beta: &[f64],
    q_star: &[f64],
    prior: Prior,
    choice: Choice,
) -> Value {
    json!({
        "ask": "constrained",
        "alpha": alpha,
        "beta": beta,
        "q_star": q_star,
        "prior": prior.word(),
        "branch": choice.word(),
    })
}

/// A chain whose γ is given, with the axes of its scan.
pub(super) fn scanned_json(parameters: &ChainParameters, axes: &[ScanAxis], ask: &str) -> Value {
    let mut value = chain_json(parameters, ask);
    value["gamma"] = json!(parameters.gamma);
    value["q_star"] = json!(parameters.q_star);
    value["scan"] = axes.iter().map(|a| json!([a.name, a.values])).collect();
    value
}

fn chain_json(parameters: &ChainParameters, ask: &str) -> Value {
    let branch: Vec<_> = parameters.choice.iter().map(|choice| choice.word()).collect();
    let mut value = json!({
        "ask": ask,
        "alpha": parameters.alpha,
        "beta": parameters.beta,
        "r0": parameters.r_0,
        "prior": parameters.prior.word(),
        "branch": branch,
    });
    for (name, factors) in [("lambda", &parameters.lambda), ("rho", &parameters.rho)] {
        if factors.iter().any(|factor| *factor != 1.0) {
            value[name] = json!(factors);
        }
    }
    value
}

fn single(options: SingleOptions) -> Result<Ask, QueryError> {
    let (alpha, beta) = (options.alpha.ok_or(NO_ALPHA)?, options.beta);
    points(&[("alpha", alpha.len()), ("beta", beta.len())])?;
    let (prior, choice) = (options.prior, options.branch.choice());
    Ok(match options.rsb {
        Rsb::Zero => Ask::Single { alpha, beta, prior, choice },
        rsb => Ask::Broken(BrokenAsk::Single { alpha, beta, prior, choice, rsb }),
    })
}

/// Refuses more points than one command computes.
fn points(sizes: &[(&str, usize)]) -> Result<(), TooManyCases> {
    let sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    lists::combinations("points", sizes).map(drop)
}

/// One task, or a chain if there are several values of α.
fn constrained(options: ConstrainedOptions) -> Result<Ask, QueryError> {
    let q_star = options
        .q_star
        .ok_or(QueryError::Missing("q_star", "state the self-overlaps, e.g. \"0.1:0.98:0.02\""))?;
    let tasks = options.tasks;
    let alpha = tasks.alpha.clone().ok_or(NO_ALPHA)?;
    if let &[alpha] = &alpha[..] {
        let &[choice] = &tasks.branch[..] else {
            return Err(QueryError::Other("one alpha takes one branch".into()));
        };
        if tasks.r0.is_some() || options.gamma.is_some() {
            let text = "r0 and gamma belong to a chain: give two or more values of alpha";
            return Err(QueryError::Other(text.into()));
        }
        let TasksOptions { beta, prior, .. } = tasks;
        return Ok(match options.rsb {
            Rsb::Zero => Ask::Constrained { alpha, beta, q_star, prior, choice },
            rsb => Ask::Broken(BrokenAsk::Constrained { alpha, beta, q_star, prior, choice, rsb }),
        });
    }
    let steps = most_steps("a chain", options.rsb, 1)?;
    let gamma = options.gamma.unwrap_or(vec![1.0]);
    let parameters = ChainParameters { gamma, q_star, ..chain_parameters(tasks)? };
    cases(&parameters, &[])?;
    Ok(chain_ask(parameters, Vec::new(), steps))
}

/// A chain with at most `steps` steps in each task.
fn chain_ask(parameters: ChainParameters, axes: Vec<ScanAxis>, steps: usize) -> Ask {
    match steps {
        0 => Ask::Chain { parameters, axes },
        _ => Ask::Broken(BrokenAsk::Chain { parameters, axes }),
    }
}

/// The steps of a question that takes a fixed number of them.
fn most_steps(question: &str, rsb: Rsb, most: usize) -> Result<usize, QueryError> {
    rsb.steps().filter(|steps| *steps <= most).ok_or_else(|| {
        let allowed = if most == 1 { "0 or 1" } else { "0, 1 or 2" };
        QueryError::Other(format!("{question} takes rsb {allowed}, not {}", rsb.word()))
    })
}

fn chain(options: ChainOptions, scan: Option<&Setting>) -> Result<Ask, QueryError> {
    let steps = most_steps("a chain", options.rsb, 1)?;
    let parameters = ChainParameters {
        gamma: options.gamma,
        lambda: options.lambda,
        rho: options.rho,
        q_star: options.q_star.unwrap_or_default(),
        ..chain_parameters(options.tasks)?
    };
    let axes = axes(scan)?;
    let sizes: Vec<_> = axes.iter().map(|axis| (axis.name.as_str(), axis.values.len())).collect();
    points(&sizes)?;
    if options.stationary {
        let StreamOptions { memory, remembered } = options.stream;
        if steps > 0 {
            return Err(QueryError::Other("a stationary stream takes rsb 0".into()));
        }
        return Ok(Ask::Stationary(StreamAsk::new(parameters, axes, memory, remembered)?));
    }
    if options.stream != StreamOptions::read(&Table::new())? {
        let text = "memory and remembered belong to a stationary stream: add --stationary";
        return Err(QueryError::Other(text.into()));
    }
    cases(&parameters, &axes)?;
    Ok(chain_ask(parameters, axes, steps))
}

/// The axes of a scan: a table, or a list of pairs if their order matters. `"alpha.2"` is the α of the
/// second task; without the quotes it is a table in TOML, and means the same.
fn axes(scan: Option<&Setting>) -> Result<Vec<ScanAxis>, QueryError> {
    let axis = |name: &str, value: &Setting| -> Result<ScanAxis, QueryError> {
        let values = values::as_list(name, value)?;
        let axis = ScanAxis::new(&name.replace('.', "_"), values);
        // Named as the user did, in the axis and in the error.
        let axis = axis.map_err(|_| ScanError::UnknownName(name.to_owned()))?;
        Ok(ScanAxis { name: name.to_owned(), ..axis })
    };
    let mut axes = Vec::new();
    match scan {
        None => {}
        Some(Setting::Table(scan)) => {
            for (name, value) in scan {
                match value {
                    Setting::Table(entries) => {
                        for (index, value) in entries {
                            axes.push(axis(&format!("{name}.{index}"), value)?);
                        }
                    }
                    value => axes.push(axis(name, value)?),
                }
            }
        }
        Some(value) => {
            let pair = |pair: &Setting| {
                let [name, values] = pair.as_array()?.as_slice() else { return None };
                Some((name.as_str()?.to_owned(), values.clone()))
            };
            let pairs: Option<Vec<(String, Setting)>> =
                value.as_array().and_then(|pairs| pairs.iter().map(pair).collect());
            let expected = "a table of lists, e.g. { \"alpha.2\" = \"0.1:4:0.05\" }";
            for (name, values) in pairs.ok_or_else(|| ValueError::new("scan", value, expected))? {
                axes.push(axis(&name, &values)?);
            }
        }
    }
    Ok(axes)
}

fn branches(options: BranchesOptions) -> Result<Ask, QueryError> {
    let &[beta] = &options.beta[..] else {
        let text = "branches takes one beta; phase-diagram takes many";
        return Err(QueryError::Other(text.into()));
    };
    let (Interval { low, high }, prior) = (options.alpha, options.prior);
    Ok(match most_steps("branches", options.rsb, 2)? {
        0 => Ask::Branches { beta, low, high, prior },
        steps => Ask::Broken(BrokenAsk::Branches { beta, low, high, prior, steps }),
    })
}

fn phase_diagram(options: PhaseDiagramOptions) -> Result<Ask, QueryError> {
    let steps = most_steps("phase-diagram", options.rsb, 1)?;
    let usual = || match steps {
        0 => (6..=45).map(f64::from).collect(),
        _ => BROKEN_BETAS.to_vec(),
    };
    let mut beta = options.beta.unwrap_or_else(usual);
    beta.sort_by(f64::total_cmp);
    let prior = options.prior;
    Ok(match steps {
        0 => Ask::PhaseDiagram { beta, prior },
        _ => Ask::Broken(BrokenAsk::PhaseDiagram { beta, prior }),
    })
}

fn complexity(options: ComplexityOptions) -> Result<Ask, QueryError> {
    Ok(Ask::Broken(BrokenAsk::Complexity {
        alpha: options.alpha.ok_or(NO_ALPHA)?,
        beta: options.beta,
        rows: options.rows,
        prior: options.prior,
    }))
}

fn tune(options: TuneOptions) -> Result<Ask, QueryError> {
    let rising = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let search = Search {
        gamma: rising(options.gamma.unwrap_or_else(usual_gammas)),
        lambda: rising(options.lambda),
        rho: rising(options.rho),
        objective: options.objective,
        last: options.last,
        stationary: options.stationary,
    };
    let Search { gamma, lambda, rho, .. } = &search;
    points(&[("gamma", gamma.len()), ("lambda", lambda.len()), ("rho", rho.len())])?;
    let parameters = chain_parameters(options.tasks)?;
    let one = ChainParameters { gamma: vec![1.0], ..parameters.clone() };
    if search.stationary {
        Stream::new(&one, None)?;
    } else {
        one.check()?;
    }
    Ok(Ask::Tune { parameters, search })
}

const NO_ALPHA: QueryError =
    QueryError::Missing("alpha", "state the patterns per weight, e.g. --alpha 2,2");

/// A chain's own options, without γ.
fn chain_parameters(options: TasksOptions) -> Result<ChainParameters, QueryError> {
    let alpha = options.alpha.ok_or(NO_ALPHA)?;
    if alpha.len() > MOST_TASKS {
        return Err(QueryError::Other(format!(
            "alpha has {} values, one a task, and a chain has at most {MOST_TASKS} tasks; \
             --scan alpha.1=VALUES repeats a chain over values of alpha",
            alpha.len()
        )));
    }
    let missing = QueryError::Missing(
        "r0",
        "state the overlap of neighbouring teachers, e.g. --r0 0.5: alpha has a value for each task",
    );
    Ok(ChainParameters {
        alpha,
        beta: options.beta,
        gamma: vec![],
        lambda: vec![],
        rho: vec![],
        r_0: options.r0.ok_or(missing)?,
        prior: options.prior,
        q_star: vec![],
        choice: options.branch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<Query, QueryError> {
        Query::from_table(&text.parse().unwrap())
    }

    #[test]
    fn a_question_that_makes_no_sense_is_refused_with_the_cure() {
        for (text, part) in [
            ("alpha = 1", "ask is missing"),
            ("ask = 'singel'", "did you mean 'single'?"),
            ("ask = 'single'\nalpa = 1", "did you mean 'alpha'?"),
            ("ask = 'single'\nalpha = 1\nq_star = 0.5", "unknown key 'q_star' in the question"),
            ("ask = 'single'", "alpha is missing"),
            ("ask = 'single'\nalpha = '1:2'", "from:to:step"),
            ("ask = 'single'\nalpha = 1\nbeta = -1", "beta = -1 is out of range"),
            ("ask = 'single'\nalpha = 1\nbranch = 'god'", "did you mean 'good'?"),
            ("ask = 'constrained'\nalpha = 1", "q_star is missing"),
            ("ask = 'constrained'\nalpha = 1\nq_star = 2", "q_star = 2 is out of range"),
            ("ask = 'chain'\nalpha = [1, 1]", "r0 is missing"),
            ("ask = 'chain'\nalpha = [1, 1]\nr0 = [0, 0, 0]", "r0 has 3 values"),
            ("ask = 'chain'\nalpha = [1, 1]\nr0 = 0\nscan = 3", "a table of lists"),
            ("ask = 'chain'\nalpha = [1, 1]\nr0 = 0\nscan = {'alpha.3' = 1}", "only 2"),
            ("ask = 'chain'\nalpha = [1, 1]\nr0 = 0\nscan = {'omega.3' = 1}", "'omega.3'"),
            ("ask = 'chain'\nalpha = [1, 1]\nr0 = 0\nscan = {'r0' = 2}", "r0 = 2 is out of"),
            ("ask = 'branches'\nalpha = 2", "an interval"),
            ("ask = 'branches'\nalpha = [2, 1]", "an interval"),
            ("ask = 'tune'\nalpha = [1, 1]\nr0 = 0\nobjective = 'min'", "one of mean, max"),
            ("ask = 'monte-carlo'\ndraw = 5", "did you mean 'draws'?"),
            ("ask = 'monte-carlo'\ndraws = 0", "draws = 0 is out of range"),
        ] {
            let message = query(text).expect_err(text).to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn what_means_the_same_has_the_same_name() {
        for (one, other) in [
            ("ask = 'single'\nalpha = '1:2:0.5'", "ask = 'single'\nalpha = [1, 1.5, 2]\nbeta = 20"),
            (
                "ask = 'chain'\nalpha = [1, 1]\nr0 = 0\nscan = {'alpha.2' = [1, 2]}",
                "ask = 'chain'\nalpha = [1, 1]\nr0 = 0.0\ngamma = 1\nscan.alpha.2 = '1:2:1'",
            ),
            ("ask = 'branches'", "ask = 'branches'\nalpha = '0.05:3'"),
            ("ask = 'phase-diagram'\nbeta = [9, 8]", "ask = 'phase-diagram'\nbeta = '8:9:1'"),
        ] {
            assert_eq!(query(one).unwrap().key(), query(other).unwrap().key(), "{one}");
        }
        let names: Vec<String> = [
            "ask = 'single'\nalpha = 1",
            "ask = 'single'\nalpha = 1\nbranch = 'all'",
            "ask = 'single'\nalpha = 1\nprior = 'uniform'",
            "ask = 'monte-carlo'",
            "ask = 'monte-carlo'\nseed = 2",
            "ask = 'monte-carlo'\nsettle = true",
            "ask = 'monte-carlo'\ninner = 'fresh'",
        ]
        .iter()
        .map(|text| query(text).unwrap().key().to_string())
        .collect();
        for (i, name) in names.iter().enumerate() {
            assert!(name.contains("revision") && !names[..i].contains(name), "{name}");
        }
    }
}
