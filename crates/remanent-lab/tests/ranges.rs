//! The range that an option declares is the range that is enforced: the number just outside is refused by it,
//! and no check behind it refuses its ends.

use std::ops::Bound;

use remanent_lab::bound::BoundStudy;
use remanent_lab::convergence::ConvergenceStudy;
use remanent_lab::experiment::Experiment;
use remanent_lab::options::{Kind, OptionInfo, Options, Words};
use remanent_lab::simulation::Simulation;
use remanent_lab::tempering::TemperingStudy;
use remanent_lab::theory::{Query, Question};
use remanent_lab::training::Training;
use remanent_network::learner::Learner;
use toml::{Table, Value};

type Read = fn(&Table) -> Result<(), String>;

fn read<E: Experiment>(table: &Table) -> Result<(), String> {
    E::read(table).map(drop).map_err(|error| error.to_string())
}

fn read_training(table: &Table) -> Result<(), String> {
    let training = Training::from_table(table).map_err(|error| error.to_string())?;
    training.check(2).map_err(|error| error.to_string())
}

/// The nearest numbers inside and outside a bound, upwards or downwards.
fn around(bound: Bound<f64>, outwards: f64, by_one: bool) -> Option<[f64; 2]> {
    let beside = |end: f64, side: f64| match (by_one, side > 0.0) {
        (true, _) => end + side,
        (false, true) => end.next_up(),
        (false, false) => end.next_down(),
    };
    match bound {
        Bound::Included(end) => Some([end, beside(end, outwards)]),
        Bound::Excluded(end) => Some([beside(end, -outwards), end]),
        Bound::Unbounded => None,
    }
}

/// The number as a value of the option.
fn value(kind: Kind, number: f64, low: f64) -> Value {
    match kind {
        Kind::Count | Kind::Counts => Value::Integer(number as i64),
        // The other end is inside.
        Kind::Interval if number > 1.0 => Value::from(vec![low, number]),
        Kind::Interval => Value::from(vec![number, 1.0]),
        _ => Value::Float(number),
    }
}

/// Other conditions than a range, which an end may violate.
fn is_another_condition(message: &str) -> bool {
    ["alpha times n", "above 0, below beta"].iter().any(|part| message.contains(part))
}

fn check(name: &str, options: &[OptionInfo], bases: &[String], read: Read) {
    for info in options {
        let Some(range) = info.range else { continue };
        let by_one = matches!(info.kind, Kind::Count | Kind::Counts | Kind::NumberOrText)
            && !matches!(range.low, Bound::Excluded(_));
        let low = if let Bound::Included(low) = range.low { low } else { 0.0 };
        for [end, outside] in
            [around(range.low, -1.0, by_one), around(range.high, 1.0, by_one)].into_iter().flatten()
        {
            let answers = |number: f64| {
                let answer = |base: &String| {
                    let mut table: Table = base.parse().unwrap();
                    table.insert(info.key.into(), value(info.kind, number, low));
                    read(&table)
                };
                bases.iter().map(answer).collect::<Vec<_>>()
            };
            let place = format!("{name}: {} = {outside} outside {range}", info.key);
            // A negative count is refused by its type.
            let wanted = match info.kind {
                Kind::Count | Kind::Counts if outside < 0.0 => "0 or above".into(),
                _ => format!("is out of range: it must be {range}"),
            };
            for answer in answers(outside) {
                let message = answer.expect_err(&place);
                let starts = message.starts_with(&format!("{} = ", info.key));
                assert!(starts && message.ends_with(&wanted), "{place}: {message}");
            }
            let place = format!("{name}: {} = {end} inside {range}", info.key);
            let found = answers(end);
            for message in found.iter().filter_map(|answer| answer.as_ref().err()) {
                let is_refused = message.contains("is out of range");
                assert!(!is_refused || is_another_condition(message), "{place}: {message}");
            }
            // In one case at least, the learner uses the option and its check has seen the number.
            let is_accepted = |answer: &Result<(), String>| match answer {
                Ok(()) => true,
                Err(message) => is_another_condition(message) || message.contains("no pattern"),
            };
            assert!(found.iter().any(is_accepted), "{place}: {found:?}");
        }
    }
}

#[test]
fn questions() {
    let bases = |question: Question| -> Vec<&str> {
        match question {
            Question::Single | Question::Complexity => vec!["alpha = 1"],
            Question::Constrained => {
                vec!["alpha = 1\nq_star = 0.5", "alpha = [1, 1]\nr0 = 0.5\nq_star = 0.5"]
            }
            Question::Chain => {
                vec!["alpha = [1, 1]\nr0 = 0.5", "alpha = 1\nr0 = 0.5\nstationary = true"]
            }
            Question::Tune => {
                vec!["alpha = [1, 1]\nr0 = 0.5", "alpha = 1\nr0 = 0.5\nstationary = true"]
            }
            Question::Branches | Question::PhaseDiagram | Question::MonteCarlo => vec![""],
        }
    };
    for question in Question::VALUES {
        let name = question.word();
        let bases: Vec<String> =
            bases(*question).iter().map(|base| format!("ask = '{name}'\n{base}")).collect();
        check(name, &question.options(), &bases, read::<Query>);
    }
}

#[test]
fn simulations() {
    let with = |base: &str| {
        let learner = |learner| format!("{base}\nlearner = '{learner}'");
        ["sgd", "slow-sgd", "boltzmann"].map(learner)
    };
    check(
        "simulate",
        &<Simulation as Experiment>::Options::list(),
        &with("alpha = 1"),
        read::<Simulation>,
    );
    let gradient = &with("alpha = 1")[..1];
    check("bound", &<BoundStudy as Experiment>::Options::list(), gradient, read::<BoundStudy>);
    let options = <ConvergenceStudy as Experiment>::Options::list();
    check("convergence-time", &options, gradient, read::<ConvergenceStudy>);
    let options = <TemperingStudy as Experiment>::Options::list();
    check("tempering", &options, &["alpha = 1".into()], read::<TemperingStudy>);
}

#[test]
fn trainings() {
    let stream = "stream = 'permuted:digits:2'";
    let mut bases: Vec<String> = Learner::VALUES
        .iter()
        .map(|learner| format!("{stream}\nlearner = '{}'", learner.word()))
        .collect();
    bases.push(format!("{stream}\nanchor = 'both'"));
    bases.push(format!("{stream}\nlearned_scale = true"));
    check("train", &<Training as Experiment>::Options::list(), &bases, read_training);
}

/// Defaults are used as they are.
#[test]
fn defaults_are_in_range() {
    let questions = Question::VALUES.iter().flat_map(|question| question.options());
    let of_all = [
        <Simulation as Experiment>::Options::list(),
        <BoundStudy as Experiment>::Options::list(),
        <ConvergenceStudy as Experiment>::Options::list(),
        <TemperingStudy as Experiment>::Options::list(),
        <Training as Experiment>::Options::list(),
    ];
    for info in questions.chain(of_all.into_iter().flatten()) {
        let Some((range, default)) = info.range.zip(info.default.as_ref()) else { continue };
        for number in default.split([',', ':']).filter_map(|part| part.parse().ok()) {
            assert!(range.check(info.key, number).is_ok(), "{} = {default}", info.key);
        }
    }
}
