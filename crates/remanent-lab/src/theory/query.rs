//! A question to the theory as a configuration states it: its keys, their defaults, and the
//! checks, so that a question that makes no sense is refused before anything is computed.

use remanent_theory::chain::ChainParameters;
use remanent_theory::parameters::{
    Choice, ParameterError, Prior, check_alpha, check_beta, check_gamma, check_q_star,
};
use remanent_theory::scan::{ScanAxis, ScanError, cases};
use remanent_theory::tune::Objective;
use serde_json::{Value, json};
use thiserror::Error;
use toml::{Table, Value as Setting};

use super::monte_carlo::{self, Study};
use crate::config::{ConfigError, check_keys};
use crate::lists::Interval;
use crate::values::{self, ValueError};

/// Raised whenever the same question gets another answer than before, so that records of an
/// earlier program are not taken for those of this one.
const REVISION: u32 = 2;

/// What can be asked.
pub const ASKS: [&str; 7] =
    ["single", "constrained", "chain", "branches", "phase-diagram", "tune", "monte-carlo"];

/// The keys of a question; none if there is no such question.
pub fn keys(ask: &str) -> Option<&'static [&'static str]> {
    Some(match ask {
        "single" => &["ask", "alpha", "beta", "prior", "branch"],
        "constrained" => &["ask", "alpha", "beta", "q_star", "prior", "branch"],
        "chain" => &["ask", "alpha", "beta", "r0", "gamma", "prior", "q_star", "branch", "scan"],
        "branches" => &["ask", "alpha", "beta", "prior"],
        "phase-diagram" => &["ask", "beta", "prior"],
        "tune" => &["ask", "alpha", "beta", "r0", "gamma", "objective", "prior", "branch"],
        "monte-carlo" => &monte_carlo::KEYS,
        _ => return None,
    })
}

/// Why a configuration is no question.
#[derive(Debug, Error)]
pub enum QueryError {
    /// A key that the question does not have.
    #[error(transparent)]
    Key(#[from] ConfigError),
    /// A value of the wrong kind.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A number out of range, or a list of the wrong length.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A scan that makes no sense.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A key that is needed.
    #[error("{0} is missing; {1}")]
    Missing(&'static str, &'static str),
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
    Tune { parameters: ChainParameters, gamma: Vec<f64>, objective: Objective },
    MonteCarlo(Study),
}

impl Query {
    /// Reads and checks a question.
    pub fn from_table(table: &Table) -> Result<Self, QueryError> {
        let ask = values::word(table, "ask", &ASKS)?.ok_or(QueryError::Missing(
            "ask",
            "state what is asked of the theory, e.g. ask = \"single\"",
        ))?;
        check_keys(table, keys(ask).unwrap_or(&["ask"]), &format!("the question '{ask}'"))?;
        Ok(Self(match ask {
            "single" => single(table)?,
            "constrained" => constrained(table)?,
            "chain" => chain(table)?,
            "branches" => branches(table)?,
            "phase-diagram" => phase_diagram(table)?,
            "tune" => tune(table)?,
            _ => Ask::MonteCarlo(Study::from_table(table)?),
        }))
    }

    /// Everything the answer depends on.
    pub fn to_json(&self) -> Value {
        let mut value = match &self.0 {
            Ask::Single { alpha, beta, prior, choice } => json!({
                "ask": "single",
                "alpha": alpha,
                "beta": beta,
                "prior": prior_name(*prior),
                "branch": choice.map_or("all", choice_name),
            }),
            Ask::Constrained { alpha, beta, q_star, prior, choice } => json!({
                "ask": "constrained",
                "alpha": alpha,
                "beta": beta,
                "q_star": q_star,
                "prior": prior_name(*prior),
                "branch": choice_name(*choice),
            }),
            Ask::Chain { parameters, axes } => {
                let scan: Vec<_> = axes.iter().map(|a| json!([a.name, a.values])).collect();
                let mut value = chain_json(parameters, "chain");
                value["gamma"] = json!(parameters.gamma);
                value["q_star"] = json!(parameters.q_star);
                value["scan"] = json!(scan);
                value
            }
            Ask::Branches { beta, low, high, prior } => json!({
                "ask": "branches",
                "beta": beta,
                "alpha": [low, high],
                "prior": prior_name(*prior),
            }),
            Ask::PhaseDiagram { beta, prior } => json!({
                "ask": "phase-diagram",
                "beta": beta,
                "prior": prior_name(*prior),
            }),
            Ask::Tune { parameters, gamma, objective } => {
                let mut value = chain_json(parameters, "tune");
                value["gamma"] = json!(gamma);
                value["objective"] = json!(objective);
                value
            }
            Ask::MonteCarlo(study) => study.to_json(),
        };
        value["revision"] = REVISION.into();
        value
    }
}

fn chain_json(parameters: &ChainParameters, ask: &str) -> Value {
    let branch: Vec<_> = parameters.choice.iter().map(|c| choice_name(*c)).collect();
    json!({
        "ask": ask,
        "alpha": parameters.alpha,
        "beta": parameters.beta,
        "r0": parameters.r_0,
        "prior": prior_name(parameters.prior),
        "branch": branch,
    })
}

fn single(table: &Table) -> Result<Ask, QueryError> {
    let choice = match values::word(table, "branch", &["stable", "all", "poor", "middle", "good"])?
    {
        Some("all") => None,
        other => Some(other.map_or(Choice::Stable, choice_named)),
    };
    let alpha = every(alphas(table)?, check_alpha)?;
    Ok(Ask::Single { alpha, beta: betas(table, "20")?, prior: prior(table)?, choice })
}

fn constrained(table: &Table) -> Result<Ask, QueryError> {
    let missing = QueryError::Missing("q_star", "state the self-overlaps, e.g. \"0.1:0.98:0.02\"");
    Ok(Ask::Constrained {
        alpha: check_alpha(values::number(table, "alpha")?.ok_or(NO_ALPHA)?)?,
        beta: betas(table, "20")?,
        q_star: every(values::list(table, "q_star")?.ok_or(missing)?, check_q_star)?,
        prior: prior(table)?,
        choice: values::word(table, "branch", &CHOICES)?.map_or(Choice::Stable, choice_named),
    })
}

fn chain(table: &Table) -> Result<Ask, QueryError> {
    let parameters = ChainParameters {
        gamma: values::list(table, "gamma")?.unwrap_or(vec![1.0]),
        q_star: values::list(table, "q_star")?.unwrap_or_default(),
        ..chain_parameters(table)?
    };
    let axes = axes(table)?;
    cases(&parameters, &axes)?;
    Ok(Ask::Chain { parameters, axes })
}

/// The axes of a scan, sorted by name. `"alpha.2"` is the α of the second task; without the
/// quotes it is a table in TOML, and means the same.
fn axes(table: &Table) -> Result<Vec<ScanAxis>, QueryError> {
    let Some(value) = table.get("scan") else { return Ok(vec![]) };
    let Setting::Table(scan) = value else {
        let expected = "a table of lists, e.g. { \"alpha.2\" = \"0.1:4:0.05\" }";
        return Err(ValueError::new("scan", value, expected).into());
    };
    let mut axes = Vec::new();
    let mut add = |name: &str, value: &Setting| -> Result<(), QueryError> {
        let values = values::as_list(name, value)?;
        let axis = ScanAxis::new(&name.replace('.', "_"), values);
        // Named as the user did, in the axis and in the error.
        let axis = axis.map_err(|_| ScanError::UnknownName(name.to_owned()))?;
        axes.push(ScanAxis { name: name.to_owned(), ..axis });
        Ok(())
    };
    for (name, value) in scan {
        match value {
            Setting::Table(entries) => {
                for (index, value) in entries {
                    add(&format!("{name}.{index}"), value)?;
                }
            }
            value => add(name, value)?,
        }
    }
    Ok(axes)
}

fn branches(table: &Table) -> Result<Ask, QueryError> {
    let Interval { low, high } = match table.get("alpha") {
        None => Interval { low: 0.05, high: 3.0 },
        Some(value) => interval(value).ok_or_else(|| {
            ValueError::new("alpha", value, "an interval: \"low:high\" or [low, high]")
        })?,
    };
    Ok(Ask::Branches {
        beta: check_beta(values::number(table, "beta")?.unwrap_or(20.0))?,
        low: check_alpha(low)?,
        high: check_alpha(high)?,
        prior: prior(table)?,
    })
}

fn interval(value: &Setting) -> Option<Interval> {
    if let Setting::String(text) = value {
        return text.parse().ok();
    }
    match values::as_list("alpha", value).ok()?.as_slice() {
        [low, high] if low < high => Some(Interval { low: *low, high: *high }),
        _ => None,
    }
}

fn phase_diagram(table: &Table) -> Result<Ask, QueryError> {
    let mut beta = betas(table, "6:45:1")?;
    beta.sort_by(f64::total_cmp);
    Ok(Ask::PhaseDiagram { beta, prior: prior(table)? })
}

fn tune(table: &Table) -> Result<Ask, QueryError> {
    // 0 and 41 values from 0.001 to 10.
    let grid = || (0..=40).map(|i| 10f64.powf(-3.0 + 0.1 * f64::from(i)));
    let gamma = values::list(table, "gamma")?;
    let gamma = gamma.unwrap_or_else(|| std::iter::once(0.0).chain(grid()).collect());
    let mut gamma = every(gamma, check_gamma)?;
    gamma.sort_by(f64::total_cmp);
    let parameters = chain_parameters(table)?;
    ChainParameters { gamma: vec![1.0], ..parameters.clone() }.check()?;
    let objective = match values::word(table, "objective", &["mean", "max"])? {
        Some("max") => Objective::Max,
        _ => Objective::Mean,
    };
    Ok(Ask::Tune { parameters, gamma, objective })
}

const NO_ALPHA: QueryError =
    QueryError::Missing("alpha", "state the patterns per weight, e.g. alpha = [2, 2]");

fn alphas(table: &Table) -> Result<Vec<f64>, QueryError> {
    values::list(table, "alpha")?.ok_or(NO_ALPHA)
}

/// β, unless stated what `default` says.
fn betas(table: &Table, default: &str) -> Result<Vec<f64>, QueryError> {
    let beta = match values::list(table, "beta")? {
        Some(beta) => beta,
        None => values::as_list("beta", &Setting::String(default.to_owned()))?,
    };
    every(beta, check_beta)
}

fn every(
    values: Vec<f64>,
    check: fn(f64) -> Result<f64, ParameterError>,
) -> Result<Vec<f64>, QueryError> {
    Ok(values.into_iter().map(check).collect::<Result<_, _>>()?)
}

/// A chain's own keys, without γ.
fn chain_parameters(table: &Table) -> Result<ChainParameters, QueryError> {
    let missing = QueryError::Missing("r0", "state the overlap of neighbouring teachers");
    Ok(ChainParameters {
        alpha: alphas(table)?,
        beta: betas(table, "20")?,
        gamma: vec![],
        r_0: values::list(table, "r0")?.ok_or(missing)?,
        prior: prior(table)?,
        q_star: vec![],
        choice: choices(table)?,
    })
}

fn prior(table: &Table) -> Result<Prior, ValueError> {
    Ok(match values::word(table, "prior", &["none", "uniform"])? {
        Some("uniform") => Prior::Uniform,
        _ => Prior::None,
    })
}

fn prior_name(prior: Prior) -> &'static str {
    match prior {
        Prior::None => "none",
        Prior::Uniform => "uniform",
    }
}

const CHOICES: [&str; 4] = ["stable", "poor", "middle", "good"];

/// One branch for all tasks of a chain, or one for each.
fn choices(table: &Table) -> Result<Vec<Choice>, ValueError> {
    let words = match table.get("branch") {
        None => return Ok(vec![Choice::Stable]),
        Some(Setting::Array(words)) => words.clone(),
        Some(word) => vec![word.clone()],
    };
    let choice = |word: Setting| {
        let one = Table::from_iter([("branch".to_owned(), word)]);
        Ok(values::word(&one, "branch", &CHOICES)?.map_or(Choice::Stable, choice_named))
    };
    words.into_iter().map(choice).collect()
}

fn choice_named(name: &str) -> Choice {
    match name {
        "poor" => Choice::Poor,
        "middle" => Choice::Middle,
        "good" => Choice::Good,
        _ => Choice::Stable,
    }
}

fn choice_name(choice: Choice) -> &'static str {
    match choice {
        Choice::Stable => "stable",
        Choice::Poor => "poor",
        Choice::Middle => "middle",
        Choice::Good => "good",
    }
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
            ("ask = 'constrained'\nalpha = 1\nq_star = 2", "q-star = 2 is out of range"),
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
            assert_eq!(query(one).unwrap().to_json(), query(other).unwrap().to_json(), "{one}");
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
        .map(|text| query(text).unwrap().to_json().to_string())
        .collect();
        for (i, name) in names.iter().enumerate() {
            assert!(name.contains("revision") && !names[..i].contains(name), "{name}");
        }
    }
}
