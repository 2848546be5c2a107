//! Figure B5: every learner as a really binary network.

use remanent_lab::training::{Mean, PredictorSummary, TrialRecord};
use remanent_network::learner::{Fisher, Learner};
use remanent_network::metrics::Scores;
use remanent_network::predictor::Predictor;
use remanent_plot::{Axis, Color, Curve, Dash, Figure, Marker, Panel, Points, Table};
use serde::{Deserialize, Serialize};

use super::words::{capital, list, percent_of};
use crate::results::{Drawing, Judgement, Results, Trained};
use crate::study::Study;
use crate::thresholds::SMALL_LOSS;
use crate::verdict::{Answer, Estimate, Findings, Outcome, Test, Threshold};

const PRESET: &str = "preset remanent";
const JOINT: &str = "all tasks at once";

/// Figure B5.
pub struct Binary;

/// What is left of every learner.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    learners: Vec<Left>,
}

/// One learner, trial by trial, at the end and averaged over the tasks. The trials of all learners share
/// their tasks.
#[derive(Serialize, Deserialize)]
struct Left {
    name: String,
    /// Accuracies.
    stochastic: Vec<f64>,
    hard: Vec<f64>,
    sampled: Vec<f64>,
    /// Expected calibration error of sampled networks.
    calibration: Vec<f64>,
    /// Area under the curve for images of no task, of sampled networks; none if there are no such images.
    recognition: Option<Vec<f64>>,
}

/// A learner's name.
fn name(case: &Trained) -> &'static str {
    let parameters = &case.training.parameters;
    match parameters.learner {
        Learner::Vcl if parameters.learned_scale => PRESET,
        Learner::Vcl => "VCL, the paper's",
        Learner::Ewc if parameters.fisher == Fisher::Empirical => "EWC, empirical",
        Learner::Ewc => "EWC, the paper's",
        Learner::Metaplasticity => "metaplasticity",
        Learner::Ste => "no protection",
        Learner::Joint => JOINT,
        Learner::BayesBinn => "BayesBiNN",
        Learner::Bimu => "BiMU",
        Learner::Si => "SI",
        Learner::Mesu => "MESU",
        Learner::Sgd => "SGD, real weights",
    }
}

/// A score at the end, averaged over the tasks, trial by trial.
fn scores(case: &Trained, predictor: Predictor, of: fn(&Scores) -> f64) -> Option<Vec<f64>> {
    let one = |trial: &TrialRecord| {
        let scores = trial.ends.last()?.scores.get(&predictor)?;
        Some(Estimate::of(scores.iter().map(of))?.value)
    };
    case.trials.iter().map(one).collect()
}

impl Study for Binary {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let learner = |case: &Trained| {
            let accuracy = |predictor| scores(case, predictor, |s| s.accuracy);
            let area =
                |trial: &TrialRecord| trial.ends.last()?.ood_auc.get(&Predictor::Sampled).copied();
            Some(Left {
                name: name(case).into(),
                stochastic: accuracy(Predictor::Stochastic)?,
                hard: accuracy(Predictor::Hard)?,
                sampled: accuracy(Predictor::Sampled)?,
                calibration: scores(case, Predictor::Sampled, |s| s.ece)?,
                recognition: case.trials.iter().map(area).collect(),
            })
        };
        Some(Measured { learners: results.trained.iter().map(learner).collect::<Option<_>>()? })
    }

    fn judge(measured: &Measured) -> Judgement {
        let learners = &measured.learners;
        let hard = |left: &Left| Some(percent(left.hard.iter().copied()));
        Judgement {
            found: format!("As hard binary networks: {}.", named(learners, hard, "; ")),
            findings: Findings::Answers(vec![
                accuracy(learners, "hard", |left| Some(&left.hard)),
                accuracy(learners, "sampled", |left| Some(&left.sampled)),
                loss(learners),
                calibration(learners),
                recognition(learners),
            ]),
            notes: vec![
                "Two predictors make binary networks: hard (the sign of every field) and sampled (weights drawn from the \
                 measure, several networks averaged). Calibration and recognition are those of sampled networks."
                    .into(),
                "All tasks at once is compared with none: it sees what the others have to remember. The preset was tuned by us, \
                 the others run as published; so the best is named with the preset and without."
                    .into(),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let cases = &results.trained;
        let mut panels = vec![draw_binary(cases)];
        let mut against = |title: &str, y: Axis, of: &dyn Fn(&PredictorSummary) -> Option<Mean>| {
            if cases
                .iter()
                .any(|case| asked(case, Predictor::Sampled).is_some_and(|p| of(p).is_some()))
            {
                let mut panel = Panel::new(title, Axis::linear("accuracy, sampled"), y);
                let sampled = |case: &Trained| of(asked(case, Predictor::Sampled)?);
                scatter(&mut panel, cases, accuracy_of(Predictor::Sampled), sampled);
                panels.push(panel);
            }
        };
        let error = Axis::linear("expected calibration error").lower(0.0);
        against("calibration of sampled binary networks", error, &|p| Some(p.ece));
        let area = Axis::linear("area under the curve");
        against("images of no task, sampled binary networks", area, &|p| p.ood_auc);
        Some(Drawing { figure: Figure::grid(panels, 2), table: table(cases) })
    }
}

/// `86.4 ± 0.5 %`.
fn percent(trials: impl IntoIterator<Item = f64>) -> String {
    Estimate::of(trials).as_ref().map_or("not measured".into(), percent_of)
}

/// `name value; name value`, of those that have one.
fn named(learners: &[Left], of: impl Fn(&Left) -> Option<String>, between: &str) -> String {
    let said = learners.iter().filter_map(|left| Some(format!("{} {}", left.name, of(left)?)));
    said.collect::<Vec<_>>().join(between)
}

/// The trials of a learner in some quantity.
type Trials = fn(&Left) -> Option<&Vec<f64>>;

/// Who is best, in words, and the test of it.
struct Best {
    said: String,
    tests: Vec<Test>,
}

/// The best of learners that learn one task after another, against the second: with our preset, and
/// without it if it is the best or the second.
fn best(learners: &[Left], what: &str, of: Trials, largest: bool) -> Best {
    let rivals: Vec<&Left> = learners.iter().filter(|left| left.name != JOINT).collect();
    let published: Vec<&Left> = rivals.iter().filter(|left| left.name != PRESET).copied().collect();
    let mut said = Vec::new();
    let mut tests: Vec<Test> = Vec::new();
    for (whom, candidates) in
        [("one task after another", rivals), ("the published learners", published)]
    {
        let Some((words, test)) = first_of(&candidates, what, of, largest) else { continue };
        if !tests.contains(&test) {
            said.push(format!("of {whom}, {words}"));
            tests.push(test);
        }
    }
    Best { said: said.join("; "), tests }
}

/// The first of some learners against the second.
fn first_of(candidates: &[&Left], what: &str, of: Trials, largest: bool) -> Option<(String, Test)> {
    let mut ranked: Vec<(f64, &Left, &Vec<f64>)> = candidates
        .iter()
        .filter_map(|left| {
            let trials = of(left)?;
            Some((Estimate::of(trials.iter().copied())?.value, *left, trials))
        })
        .collect();
    ranked.sort_by(|a, b| if largest { b.0.total_cmp(&a.0) } else { a.0.total_cmp(&b.0) });
    let [first, second, ..] = ranked.as_slice() else { return None };
    // Positive if the first is better.
    let ahead = |other: &Vec<f64>| {
        if largest { Estimate::paired(first.2, other) } else { Estimate::paired(other, first.2) }
    };
    let difference = ahead(second.2);
    let (a, b) = if largest { (first, second) } else { (second, first) };
    let quantity = format!("{what}: {} less {}", a.1.name, b.1.name);
    let test = Test::above(quantity, difference, Threshold::ZERO);
    let words = if test.outcome == Outcome::Supported {
        let errors = difference
            .and_then(|d| Some(d.value / d.standard_error.filter(|error| *error > 0.0)?))
            .map_or("in every trial".into(), |errors| format!("by {errors:.1} standard errors"));
        format!("{} is best, {errors} ahead of {}", first.1.name, second.1.name)
    } else {
        let tied = ranked[1..].iter().filter(|other| {
            Test::above("", ahead(other.2), Threshold::ZERO).outcome != Outcome::Supported
        });
        let names: Vec<String> =
            std::iter::once(first).chain(tied).map(|left| left.1.name.clone()).collect();
        format!("{} are tied for the best", list(&names))
    };
    Some((words, test))
}

fn accuracy(learners: &[Left], kind: &str, of: Trials) -> Answer {
    let values = named(learners, |left| Some(percent(of(left)?.iter().copied())), "; ");
    let best = best(learners, &format!("accuracy, {kind}"), of, true);
    Answer::new(
        format!("How accurate is each learner as a {kind} binary network?"),
        sentences([values, best.said]),
    )
    .tested(best.tests)
}

fn loss(learners: &[Left]) -> Answer {
    let lost = |left: &Left| Estimate::paired(&left.stochastic, &left.hard);
    let test =
        |left: &Left| Test::below(format!("accuracy lost, {}", left.name), lost(left), SMALL_LOSS);
    let tests: Vec<Test> = learners.iter().map(test).collect();
    let values = named(learners, |left| Some(lost(left)?.text()), "; ");
    let of = |outcome: Outcome, words: &str| {
        let names: Vec<String> = learners
            .iter()
            .zip(&tests)
            .filter(|(_, test)| test.outcome == outcome)
            .map(|(left, _)| left.name.clone())
            .collect();
        (!names.is_empty()).then(|| format!("{words}: {}", names.join("; ")))
    };
    let said: Vec<String> = [
        of(Outcome::Supported, "little is lost by"),
        of(Outcome::Contradicted, "more than little is lost by"),
        of(Outcome::Undecided, "it is open for"),
    ]
    .into_iter()
    .flatten()
    .collect();
    Answer::new(
        "How much accuracy does each learner lose from the stochastic test to the hard network?",
        sentences([format!("accuracy lost: {values}")].into_iter().chain(said)),
    )
    .tested(tests)
}

fn calibration(learners: &[Left]) -> Answer {
    let of: Trials = |left| Some(&left.calibration);
    let values = named(learners, |left| text(of(left)?), "; ");
    let best = best(learners, "calibration error", of, false);
    Answer::new(
        "How well is each learner calibrated?",
        sentences([format!("expected calibration error: {values}"), best.said]),
    )
    .tested(best.tests)
}

fn recognition(learners: &[Left]) -> Answer {
    let question = "How well does each learner recognise images of no task?";
    if learners.iter().all(|left| left.recognition.is_none()) {
        return Answer::new(question, "Not measured at this size: there are no such images.");
    }
    let of: Trials = |left| left.recognition.as_ref();
    let values = named(learners, |left| text(of(left)?), "; ");
    let best = best(learners, "area under the curve", of, true);
    Answer::new(question, sentences([format!("area under the curve: {values}"), best.said]))
        .tested(best.tests)
}

fn text(trials: &[f64]) -> Option<String> {
    Some(Estimate::of(trials.iter().copied())?.text())
}

/// Sentences of texts, empty ones left out.
fn sentences(texts: impl IntoIterator<Item = String>) -> String {
    let of = |text: String| (!text.is_empty()).then(|| capital(&text) + ".");
    texts.into_iter().filter_map(of).collect::<Vec<_>>().join(" ")
}

fn asked(case: &Trained, predictor: Predictor) -> Option<&PredictorSummary> {
    case.summary.predictors.get(&predictor)
}

fn accuracy_of(predictor: Predictor) -> impl Fn(&Trained) -> Option<Mean> {
    move |case| Some(asked(case, predictor)?.average_accuracy)
}

/// A symbol for each learner.
fn scatter(
    panel: &mut Panel,
    cases: &[Trained],
    x: impl Fn(&Trained) -> Option<Mean>,
    y: impl Fn(&Trained) -> Option<Mean>,
) {
    for (index, case) in cases.iter().enumerate() {
        let (Some(x), Some(y)) = (x(case), y(case)) else { continue };
        panel.push(
            Points::new(vec![x.mean], vec![y.mean])
                .error(vec![y.standard_error.unwrap_or(0.0)])
                .label(name(case))
                .marker(Marker::of(index))
                .color(Color::Palette(index)),
        );
    }
}

fn draw_binary(cases: &[Trained]) -> Panel {
    let mut binary = Panel::new(
        "binary against stochastic test",
        Axis::linear("accuracy, stochastic pass"),
        Axis::linear("accuracy, hard binary"),
    );
    let stochastic = accuracy_of(Predictor::Stochastic);
    let ends: Vec<f64> = cases.iter().filter_map(&stochastic).map(|mean| mean.mean).collect();
    let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ends.iter().copied().fold(0.0, f64::max);
    binary.push(
        Curve::new(vec![low, high], vec![low, high])
            .color(Color::GREY)
            .dash(Dash::Dotted)
            .width(1.0),
    );
    scatter(&mut binary, cases, stochastic, accuracy_of(Predictor::Hard));
    binary
}

fn table(cases: &[Trained]) -> Table {
    let mut table = Table::new([
        "learner",
        "predictor",
        "accuracy",
        "accuracy_se",
        "forgetting",
        "nll",
        "ece",
        "ece_se",
        "ood_auc",
        "ood_auc_se",
        "trials",
    ]);
    for case in cases {
        for (predictor, summary) in &case.summary.predictors {
            table.push(vec![
                name(case).into(),
                predictor.name().into(),
                summary.average_accuracy.mean.into(),
                summary.average_accuracy.standard_error.into(),
                summary.forgetting.map(|mean| mean.mean).into(),
                summary.nll.mean.into(),
                summary.ece.mean.into(),
                summary.ece.standard_error.into(),
                summary.ood_auc.map(|mean| mean.mean).into(),
                summary.ood_auc.and_then(|mean| mean.standard_error).into(),
                (summary.average_accuracy.n as i64).into(),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: [f64; 5] = [0.0, 0.01, -0.01, 0.02, -0.02];
    const SMALL: [f64; 5] = [0.001, -0.001, 0.0, 0.002, -0.002];

    /// A learner whose values are these, with noise that all share.
    fn left(name: &str, hard: f64, lost: f64, own: f64) -> Left {
        let with = |value: f64, own: f64| -> Vec<f64> {
            NOISE.iter().zip(SMALL).map(|(noise, small)| value + noise + own * small).collect()
        };
        let hard = with(hard, own);
        Left {
            name: name.into(),
            stochastic: hard.iter().zip(SMALL).map(|(hard, s)| hard + lost + s).collect(),
            sampled: hard.clone(),
            calibration: hard.iter().map(|hard| 1.0 - hard).collect(),
            recognition: Some(hard.clone()),
            hard,
        }
    }

    fn answers(learners: Vec<Left>) -> Vec<Answer> {
        match Binary::judge(&Measured { learners }).findings {
            Findings::Answers(answers) => answers,
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    fn check(answer: &Answer, outcomes: &[Outcome], texts: &[&str]) {
        let found: Vec<Outcome> = answer.tests.iter().map(|test| test.outcome).collect();
        assert_eq!(found, outcomes, "{}", answer.answer);
        for text in texts {
            assert!(answer.answer.contains(text), "{text} in {}", answer.answer);
        }
    }

    #[test]
    fn losses_can_be_small_large_and_open() {
        use Outcome::{Contradicted, Supported, Undecided};
        let learners = vec![
            left("a", 0.8, 0.001, 0.0),
            left("b", 0.7, 0.05, 1.0),
            left("c", 0.6, 0.0101, 1.0),
        ];
        let said =
            ["Little is lost by: a.", "More than little is lost by: b.", "It is open for: c."];
        check(&answers(learners)[2], &[Supported, Contradicted, Undecided], &said);
    }

    #[test]
    fn the_best_is_ahead_of_the_second_or_tied() {
        use Outcome::{Supported, Undecided};
        // All tasks at once is no rival; of our preset the others are told apart.
        let ahead = || {
            vec![
                left(JOINT, 0.99, 0.0, 1.0),
                left(PRESET, 0.9, 0.0, -1.0),
                left("a", 0.8, 0.0, 1.0),
                left("b", 0.7, 0.0, 0.0),
            ]
        };
        let said = [
            "Of one task after another, preset remanent is best, by 70",
            "published learners, a is best, by",
        ];
        for index in [0, 1, 3, 4] {
            check(&answers(ahead())[index], &[Supported, Supported], &said);
        }
        let tied = || {
            vec![left("a", 0.8, 0.0, 1.0), left("b", 0.8001, 0.0, 0.0), left("c", 0.5, 0.0, 0.5)]
        };
        for index in [0, 1, 3, 4] {
            check(&answers(tied())[index], &[Undecided], &["b and a are tied for the best"]);
        }
        // Few trials leave everything open.
        let mut few = ahead();
        for left in &mut few {
            left.hard.truncate(2);
        }
        check(&answers(few)[0], &[Undecided, Undecided], &["tied"]);
    }

    #[test]
    fn what_was_not_measured_is_said() {
        let mut learners = vec![left("a", 0.8, 0.0, 1.0), left("b", 0.7, 0.0, 0.0)];
        learners.iter_mut().for_each(|left| left.recognition = None);
        check(&answers(learners)[4], &[], &["Not measured at this size"]);
    }
}
