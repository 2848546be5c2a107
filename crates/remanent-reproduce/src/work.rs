//! What one figure asks for: its configuration, read and checked.

use remanent_lab::bound::BoundStudy;
use remanent_lab::config;
use remanent_lab::convergence::ConvergenceStudy;
use remanent_lab::experiment::{Error, Experiment, Prepared};
use remanent_lab::options::Options;
use remanent_lab::plan::{Case, Layers, Plan, PlanError};
use remanent_lab::simulation::Simulation;
use remanent_lab::tempering::TemperingStudy;
use remanent_lab::theory::Query;
use remanent_lab::training::Training;
use toml::{Table, Value};

use crate::catalogue::Entry;
use crate::parts::{Kind, Parts};
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
    for table in std::iter::once(file).chain(tables(file, "also")) {
        match table.get("experiment").and_then(Value::as_str) {
            Some(BoundStudy::NAME) => add::<BoundStudy>(&mut parts, table, quick, seeds)?,
            Some(Simulation::NAME) => add::<Simulation>(&mut parts, table, quick, seeds)?,
            Some(ConvergenceStudy::NAME) => {
                add::<ConvergenceStudy>(&mut parts, table, quick, seeds)?;
            }
            Some(TemperingStudy::NAME) => add::<TemperingStudy>(&mut parts, table, quick, seeds)?,
            Some(Training::NAME) => add::<Training>(&mut parts, table, quick, seeds)?,
            Some(Query::NAME) => {}
            other => {
                let here = "bound, simulate, convergence-time, tempering, train or theory";
                let there = other.unwrap_or_default().to_owned();
                return Err(PlanError::OtherExperiment { there, here: here.into() }.into());
            }
        }
    }
    Ok(parts)
}

/// The tables of a list in a file; none if it is not there.
fn tables<'a>(file: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    let listed = file.get(key).and_then(Value::as_array).map(Vec::as_slice);
    listed.unwrap_or_default().iter().filter_map(Value::as_table)
}

/// Adds the cases of a file. A kind of experiment has one list of cases with the same number of trials.
fn add<E: Kind>(
    parts: &mut Parts,
    file: &Table,
    quick: bool,
    seeds: Option<u32>,
) -> Result<(), Error> {
    let part = E::part_mut(parts);
    assert!(part.cases.is_empty(), "a figure has one configuration of the experiment {}", E::NAME);
    *part = cases(file, quick, seeds)?;
    Ok(())
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
    let mut prepared = Prepared::<Query>::default();
    for table in tables(file, "theory") {
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
        || differs(&parts.tempering, &whole.tempering)
        || differs(&parts.train, &whole.train)
}

/// The size of an experiment in words: what all cases share is said once, what they differ in is
/// given as a list.
fn describe(parts: &Parts, coarser: bool) -> String {
    let plans = [&parts.bound.plan, &parts.simulate.plan, &parts.convergence.plan];
    let plans = plans.into_iter().filter(|plan| !plan.cases.is_empty());
    let mut extents: Vec<String> = plans.map(extent_of_perceptrons).collect();
    if !parts.tempering.cases.is_empty() {
        extents.push(extent_of_tempering(parts));
    }
    if !parts.train.cases.is_empty() {
        extents.push(extent_of_trainings(parts));
    }
    if extents.is_empty() {
        extents.push("exact, N → ∞".into());
    }
    let text = extents.join("; ");
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

fn extent_of_tempering(parts: &Parts) -> String {
    let studies = || parts.tempering.cases.iter();
    let draws = trials(&parts.tempering.plan).replace("trial", "draw");
    format!(
        "parallel tempering: N = {}, {} sweeps, {draws}",
        span(studies().map(|study| study.setting.n)),
        span(studies().map(|study| study.learner.sweeps)),
    )
}

/// `51 to 201`, or the value that all have.
fn span(values: impl Iterator<Item = usize> + Clone) -> String {
    let (least, most) = (values.clone().min().unwrap_or(0), values.max().unwrap_or(0));
    if least == most { least.to_string() } else { format!("{least} to {most}") }
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

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "experiment = 'simulate'\nseeds = 3\nn = 50\nalpha = 1\nlearner = 'sgd'\n\
                       [quick]\nseeds = 2\n\
                       [[also]]\nexperiment = 'tempering'\nseeds = 5\nbeta = 20\nalpha = 1\n\
                       case = [{ n = 21, quick.n = 11 }, { n = 31 }]\nquick = { sweeps = 9 }\n";

    fn read(text: &str, quick: bool, seeds: Option<u32>) -> Result<Parts, String> {
        parts(&text.parse().unwrap(), quick, seeds).map_err(|error| error.to_string())
    }

    #[test]
    fn a_figure_may_have_two_kinds_of_experiments() {
        let whole = read(TWO, false, None).unwrap();
        assert_eq!((whole.simulate.cases.len(), whole.simulate.plan.seeds), (1, 3));
        assert_eq!((whole.tempering.cases.len(), whole.tempering.plan.seeds), (2, 5));
        let said = describe(&whole, false);
        assert!(said.contains("N = 50, 3 trials; parallel tempering: N = 21 to 31, "), "{said}");
        assert!(said.ends_with(" sweeps, 5 draws"), "{said}");
        // Each has a small version of its own, and both have at most the trials that were asked for.
        let quick = read(TWO, true, Some(4)).unwrap();
        assert_eq!((quick.simulate.plan.seeds, quick.tempering.plan.seeds), (2, 4));
        let study = &quick.tempering.cases[0];
        assert_eq!((study.setting.n, study.learner.sweeps), (11, 9));
        assert!(is_smaller(&quick, &whole) && !is_smaller(&whole, &whole));
        // Fewer sweeps of the second kind alone make a figure smaller.
        let fewer = read(&TWO.replace("beta = 20", "beta = 20\nsweeps = 50"), false, None).unwrap();
        assert!(is_smaller(&fewer, &whole));
    }

    #[test]
    fn what_is_also_asked_for_is_checked() {
        let refused = |from: &str, to: &str| read(&TWO.replace(from, to), false, None).err();
        let message = refused("'tempering'", "'annealing'").unwrap();
        assert!(message.contains("annealing") && message.contains("tempering"), "{message}");
        assert!(refused("beta = 20", "bet = 20").unwrap().contains("bet"));
    }

    #[test]
    #[should_panic(expected = "one configuration of the experiment simulate")]
    fn one_kind_is_configured_once() {
        let second = "[[also]]\nexperiment = 'simulate'\nalpha = 2\nlearner = 'sgd'\n";
        let _ = read(&format!("{TWO}{second}"), false, None);
    }
}
