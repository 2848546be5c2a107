//! What one figure asks for: its configuration, read and checked.

use thiserror::Error;
use toml::{Table, Value};

use crate::bound::{self, BoundStudy};
use crate::config::{self, ConfigError};
use crate::convergence::{self, ConvergenceStudy};
use crate::plan::{Layers, Plan, PlanError};
use crate::report::Size;
use crate::reproduce::catalogue::Entry;
use crate::simulation::{self, SettingError, Simulation};
use crate::theory::{Query, QueryError};
use crate::training::{self, Training, TrainingError};

/// Why a configuration is no figure.
#[derive(Debug, Error)]
pub enum WorkError {
    /// It cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its cases make no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A simulation makes no sense.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A training makes no sense.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// A question to the theory makes no sense.
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// The experiment of a figure; one entry a case.
#[derive(Clone, Debug)]
pub enum Experiment {
    /// None: it is theory alone.
    Theory,
    /// Perceptrons.
    Simulate(Vec<Simulation>),
    /// The bound by enumeration.
    Bound(Vec<BoundStudy>),
    /// Convergence times.
    Convergence(Vec<ConvergenceStudy>),
    /// Networks.
    Train(Vec<Training>),
}

/// A figure that shall be made.
#[derive(Clone, Debug)]
pub struct Work {
    /// The figure.
    pub entry: &'static Entry,
    /// Its cases and seeds.
    pub plan: Plan,
    /// What is computed for each case.
    pub experiment: Experiment,
    /// What the theory is asked.
    pub queries: Vec<Query>,
    /// How large it is.
    pub size: Size,
    /// Whether it is the small version.
    pub quick: bool,
    /// The most trials of a case that were asked for.
    pub seeds: Option<u32>,
}

impl Work {
    /// Reads the configuration of a figure: its small version if `quick`, and at most so many seeds.
    pub fn read(entry: &'static Entry, quick: bool, seeds: Option<u32>) -> Result<Self, WorkError> {
        let file = config::parse_text(entry.config, &format!("figures/{}", entry.folder))?;
        let (plan, experiment) = plan(&file, quick, seeds)?;
        let (whole, whole_experiment) = self::plan(&file, false, None)?;
        let queries = self::queries(&file, quick)?;
        let smaller = plan.seeds < whole.seeds
            || !plan.cases.iter().map(|c| &c.table).eq(whole.cases.iter().map(|c| &c.table));
        let coarser = queries != self::queries(&file, false)?;
        let size = Size {
            text: describe(&plan, &experiment, coarser),
            full: (smaller || coarser).then(|| describe(&whole, &whole_experiment, false)),
            fewer_points: coarser,
        };
        Ok(Self { entry, plan, experiment, queries, size, quick, seeds })
    }

    /// The command that makes the figure again.
    pub fn command(&self) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        let seeds = match self.seeds {
            Some(seeds) if self.size.is_reduced() => format!(" --seeds {seeds}"),
            _ => String::new(),
        };
        format!("remanent reproduce {}{quick}{seeds}", self.entry.id)
    }
}

/// The cases of a file, and what is computed for each.
fn plan(file: &Table, quick: bool, seeds: Option<u32>) -> Result<(Plan, Experiment), WorkError> {
    let kind = file.get("experiment").and_then(Value::as_str).unwrap_or_default().to_owned();
    let keys = match kind.as_str() {
        "simulate" => simulation::keys(),
        "bound" => bound::keys(),
        "convergence-time" => convergence::keys(),
        "train" => training::KEYS.to_vec(),
        _ => Vec::new(),
    };
    let quick = quick && file.contains_key("quick");
    let layers = Layers { file: file.clone(), quick, ..Layers::default() };
    let mut plan = Plan::new(layers, &kind, &keys)?;
    if let Some(most) = seeds {
        plan.seeds = plan.seeds.min(most as usize);
    }
    let tables = plan.cases.iter().map(|case| &case.table);
    let experiment = match kind.as_str() {
        "simulate" => {
            Experiment::Simulate(tables.map(Simulation::from_table).collect::<Result<_, _>>()?)
        }
        "bound" => Experiment::Bound(tables.map(BoundStudy::from_table).collect::<Result<_, _>>()?),
        "convergence-time" => Experiment::Convergence(
            tables.map(ConvergenceStudy::from_table).collect::<Result<_, _>>()?,
        ),
        "train" => Experiment::Train(tables.map(Training::from_table).collect::<Result<_, _>>()?),
        _ => Experiment::Theory,
    };
    Ok((plan, experiment))
}

/// What a file asks of the theory; a question may have a `quick` of its own.
fn queries(file: &Table, quick: bool) -> Result<Vec<Query>, WorkError> {
    let listed = file.get("theory").and_then(Value::as_array).map(Vec::as_slice);
    let mut queries = Vec::new();
    for table in listed.unwrap_or_default().iter().filter_map(Value::as_table) {
        let mut table = table.clone();
        if let Some(Value::Table(own)) = table.remove("quick")
            && quick
        {
            config::merge(&mut table, own);
        }
        queries.push(Query::from_table(&table)?);
    }
    Ok(queries)
}

/// The size of an experiment in words: what all cases share is said once, what they differ in is
/// given as a list.
fn describe(plan: &Plan, experiment: &Experiment, coarser: bool) -> String {
    let text = extent(plan, experiment);
    if coarser { format!("{text}, fewer points of the theory") } else { text }
}

fn extent(plan: &Plan, experiment: &Experiment) -> String {
    let trials = match plan.seeds {
        1 => "1 trial".to_owned(),
        n => format!("{n} trials"),
    };
    let listed = |values: Vec<String>| {
        let mut seen: Vec<String> = Vec::new();
        for value in values {
            if !seen.contains(&value) {
                seen.push(value);
            }
        }
        seen.join(" or ")
    };
    match experiment {
        Experiment::Theory => "exact, N → ∞".into(),
        Experiment::Bound(_) | Experiment::Convergence(_) | Experiment::Simulate(_) => {
            let of = |key: &str| {
                let values = plan.cases.iter().filter_map(|case| case.table.get(key));
                listed(values.map(Value::to_string).collect())
            };
            let epochs = of("epochs");
            let epochs = if epochs.is_empty() { epochs } else { format!(", epochs {epochs}") };
            format!("N = {}{epochs}, {trials}", of("n"))
        }
        Experiment::Train(trainings) => {
            let streams =
                trainings.iter().map(|t| t.stream.trim().replace('\n', " then ")).collect();
            let widths = trainings.iter().map(|t| format!("{:?}", t.parameters.hidden)).collect();
            let epochs = trainings.iter().map(|t| listed_counts(&t.epochs)).collect();
            let images = trainings.iter().filter_map(|t| t.train_images).map(|n| n.to_string());
            let images: Vec<String> = images.collect();
            let images = match images.as_slice() {
                [] => String::new(),
                _ => format!(", {} images", listed(images)),
            };
            format!(
                "{}, hidden layers {}, {} epochs a task{images}, {trials}",
                listed(streams),
                listed(widths),
                listed(epochs)
            )
        }
    }
}

fn listed_counts(counts: &[usize]) -> String {
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
