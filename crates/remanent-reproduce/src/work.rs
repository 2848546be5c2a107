//! What one figure asks for: its configuration, read and checked.

use remanent_lab::bound::BoundStudy;
use remanent_lab::config;
use remanent_lab::convergence::ConvergenceStudy;
use remanent_lab::experiment::{Error, Experiment, Prepared};
use remanent_lab::options::Options;
use remanent_lab::plan::{Case, Layers, Plan, PlanError};
use remanent_lab::simulation::Simulation;
use remanent_lab::theory::Query;
use remanent_lab::training::Training;
use toml::{Table, Value};

use crate::catalogue::Entry;
use crate::parts::Parts;
use crate::report::Size;

/// A figure to be made.
pub struct Work {
    /// The figure.
    pub entry: &'static Entry,
    /// What is computed.
    pub parts: Parts,
    /// How large it is.
    pub size: Size,
    /// Whether it is the small version.
    pub quick: bool,
    /// The most trials of a case that were asked for.
    pub seeds: Option<u32>,
}

impl Work {
    /// Reads the configuration of a figure: its small version if `quick`, and at most this number of seeds.
    pub fn read(entry: &'static Entry, quick: bool, seeds: Option<u32>) -> Result<Self, Error> {
        let file = config::parse_text(entry.config, &format!("configs/{}", entry.file))?;
        let parts = parts(&file, quick, seeds)?;
        let whole = self::parts(&file, false, None)?;
        let coarser = parts.theory.cases != whole.theory.cases;
        let size = Size {
            text: describe(&parts, coarser),
            full: (is_smaller(&parts, &whole) || coarser).then(|| describe(&whole, false)),
            fewer_points: coarser,
        };
        Ok(Self { entry, parts, size, quick, seeds })
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

/// What a file computes.
fn parts(file: &Table, quick: bool, seeds: Option<u32>) -> Result<Parts, Error> {
    let mut parts = Parts { theory: queries(file, quick)?, ..Parts::default() };
    match file.get("experiment").and_then(Value::as_str) {
        Some(BoundStudy::NAME) => parts.bound = cases(file, quick, seeds)?,
        Some(Simulation::NAME) => parts.simulate = cases(file, quick, seeds)?,
        Some(ConvergenceStudy::NAME) => parts.convergence = cases(file, quick, seeds)?,
        Some(Training::NAME) => parts.train = cases(file, quick, seeds)?,
        Some(Query::NAME) => {}
        other => {
            let here = "bound, simulate, convergence-time, train or theory".to_owned();
            let there = other.unwrap_or_default().to_owned();
            return Err(PlanError::OtherExperiment { there, here }.into());
        }
    }
    Ok(parts)
}

/// The cases of a file. What their cells need is loaded for all figures together.
fn cases<E: Experiment>(
    file: &Table,
    quick: bool,
    seeds: Option<u32>,
) -> Result<Prepared<E>, Error> {
    let quick = quick && file.contains_key("quick");
    let layers = Layers { file: file.clone(), quick, ..Layers::default() };
    let mut plan = Plan::new(layers, E::NAME, &E::Options::list())?;
    if let Some(most) = seeds {
        plan.seeds = plan.seeds.min(most as usize);
    }
    Prepared::read(plan)
}

/// What a file asks of the theory; a question may have a `quick` of its own.
fn queries(file: &Table, quick: bool) -> Result<Prepared<Query>, Error> {
    let listed = file.get("theory").and_then(Value::as_array).map(Vec::as_slice);
    let mut prepared = Prepared::<Query>::default();
    for table in listed.unwrap_or_default().iter().filter_map(Value::as_table) {
        let mut table = table.clone();
        if let Some(Value::Table(own)) = table.remove("quick")
            && quick
        {
            config::merge(&mut table, own);
        }
        prepared.cases.push(Query::read(&table)?);
        prepared.plan.cases.push(Case::new(table));
    }
    Ok(prepared)
}

/// Whether a figure has fewer trials than at full size, or cases of another size.
fn is_smaller(parts: &Parts, whole: &Parts) -> bool {
    fn differs<E: Experiment>(part: &Prepared<E>, whole: &Prepared<E>) -> bool {
        part.plan.seeds < whole.plan.seeds || part.cases != whole.cases
    }
    differs(&parts.bound, &whole.bound)
        || differs(&parts.simulate, &whole.simulate)
        || differs(&parts.convergence, &whole.convergence)
        || differs(&parts.train, &whole.train)
}

/// The size of an experiment in words: what all cases share is said once, what they differ in is
/// given as a list.
fn describe(parts: &Parts, coarser: bool) -> String {
    let plans = [&parts.bound.plan, &parts.simulate.plan, &parts.convergence.plan];
    let text = if !parts.train.cases.is_empty() {
        extent_of_trainings(parts)
    } else if let Some(plan) = plans.into_iter().find(|plan| !plan.cases.is_empty()) {
        extent_of_perceptrons(plan)
    } else {
        "exact, N → ∞".into()
    };
    if coarser { format!("{text}, fewer points of the theory") } else { text }
}

fn trials(plan: &Plan) -> String {
    match plan.seeds {
        1 => "1 trial".to_owned(),
        n => format!("{n} trials"),
    }
}

/// Each value once.
fn listed(values: impl IntoIterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen.join(" or ")
}

fn extent_of_perceptrons(plan: &Plan) -> String {
    let of = |key: &str| {
        let values = plan.cases.iter().filter_map(|case| case.table.get(key));
        listed(values.map(Value::to_string))
    };
    let epochs = of("epochs");
    let epochs = if epochs.is_empty() { epochs } else { format!(", epochs {epochs}") };
    format!("N = {}{epochs}, {}", of("n"), trials(plan))
}

fn extent_of_trainings(parts: &Parts) -> String {
    let trainings = || parts.train.cases.iter();
    let images: Vec<String> =
        trainings().filter_map(|t| t.train_images).map(|n| n.to_string()).collect();
    let images = match images.as_slice() {
        [] => String::new(),
        _ => format!(", {} images", listed(images)),
    };
    format!(
        "{}, hidden layers {}, {} epochs a task{images}, {}",
        listed(trainings().map(|t| t.stream.trim().replace('\n', " then "))),
        listed(trainings().map(|t| format!("{:?}", t.parameters.hidden))),
        listed(trainings().map(|t| listed_counts(&t.epochs))),
        trials(&parts.train.plan)
    )
}

fn listed_counts(counts: &[usize]) -> String {
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
