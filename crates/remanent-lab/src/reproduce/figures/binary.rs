//! Figure B5: every learner as a really binary network.

use remanent_network::learner::{Fisher, Learner};
use remanent_network::predictor::Predictor;
use remanent_plot::{Axis, Color, Curve, Dash, Figure, Marker, Panel, Points, Table};

use super::words::{also, decides, percent, percent_of};
use crate::reproduce::results::{Results, Shown, Trained};
use crate::training::{Mean, PredictorSummary};

const PAPER: &str = "VCL, the paper's";
const PRESET: &str = "preset remanent";
const JOINT: &str = "all tasks at once";

/// How much accuracy the hard network may lose.
const LOSS: f64 = 0.01;

/// A learner's name.
fn name(case: &Trained) -> &'static str {
    let parameters = &case.training.parameters;
    match parameters.learner {
        Learner::Vcl if parameters.learned_scale => PRESET,
        Learner::Vcl => PAPER,
        Learner::Ewc if parameters.fisher == Fisher::Empirical => "EWC, empirical",
        Learner::Ewc => "EWC, the paper's",
        Learner::Metaplasticity => "metaplasticity",
        Learner::Ste => "no protection",
        Learner::Joint => JOINT,
    }
}

fn asked(case: &Trained, predictor: Predictor) -> Option<&PredictorSummary> {
    case.summary.predictors.get(&predictor)
}

/// A symbol for each learner.
fn scatter(
    panel: &mut Panel,
    cases: &[Trained],
    x: impl Fn(&Trained) -> Option<Mean>,
    y: impl Fn(&Trained) -> Option<Mean>,
) {
    let markers =
        [Marker::Circle, Marker::Square, Marker::Diamond, Marker::Triangle, Marker::Cross];
    for (index, case) in cases.iter().enumerate() {
        let (Some(x), Some(y)) = (x(case), y(case)) else { continue };
        panel.push(
            Points::new(vec![x.mean], vec![y.mean])
                .error(vec![y.standard_error.unwrap_or(0.0)])
                .label(name(case))
                .marker(markers[index % markers.len()])
                .color(Color::Palette(index)),
        );
    }
}

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let cases = &results.trained;
    let accuracy =
        |predictor: Predictor| move |case: &Trained| Some(asked(case, predictor)?.average_accuracy);
    let mut binary = Panel::new(
        "binary against stochastic test",
        Axis::linear("accuracy, stochastic pass"),
        Axis::linear("accuracy, hard binary"),
    );
    let ends: Vec<f64> =
        cases.iter().filter_map(accuracy(Predictor::Stochastic)).map(|mean| mean.mean).collect();
    let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ends.iter().copied().fold(0.0, f64::max);
    binary.push(
        Curve::new(vec![low, high], vec![low, high])
            .color(Color::GREY)
            .dash(Dash::Dotted)
            .width(1.0),
    );
    scatter(&mut binary, cases, accuracy(Predictor::Stochastic), accuracy(Predictor::Hard));
    let mut calibration = Panel::new(
        "calibration of sampled binary networks",
        Axis::linear("accuracy, sampled"),
        Axis::linear("expected calibration error").lower(0.0),
    );
    let ece = |case: &Trained| Some(asked(case, Predictor::Sampled)?.ece);
    scatter(&mut calibration, cases, accuracy(Predictor::Sampled), ece);
    let mut unknown = Panel::new(
        "images of no task, sampled binary networks",
        Axis::linear("accuracy, sampled"),
        Axis::linear("area under the curve"),
    );
    let area = |case: &Trained| asked(case, Predictor::Sampled)?.ood_auc;
    scatter(&mut unknown, cases, accuracy(Predictor::Sampled), area);

    let mut table = Table::new([
        "learner",
        "predictor",
        "accuracy",
        "accuracy_se",
        "forgetting",
        "nll",
        "ece",
        "ood_auc",
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
                summary.ood_auc.map(|mean| mean.mean).into(),
                (summary.average_accuracy.n as i64).into(),
            ]);
        }
    }
    let lost = |case: &Trained| {
        Some(accuracy(Predictor::Stochastic)(case)?.mean - accuracy(Predictor::Hard)(case)?.mean)
    };
    let paper = cases.iter().find(|case| name(case) == PAPER)?;
    let worst = cases
        .iter()
        .filter_map(|case| Some((lost(case)?, name(case))))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    // All tasks at once is no rival: it sees what the others have to remember. Nor is our preset, which
    // was tuned and the others were not.
    let is_rival = |case: &&Trained| !matches!(name(case), JOINT | PRESET);
    let rivals = || cases.iter().filter(is_rival);
    let best = |of: &dyn Fn(&Trained) -> Option<f64>| {
        rivals().filter_map(|case| Some((of(case)?, name(case)))).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let most = best(&|case| Some(accuracy(Predictor::Hard)(case)?.mean))?;
    let calibrated = best(&|case| Some(-ece(case)?.mean))?;
    let recognised = best(&|case| Some(area(case)?.mean));
    let mut checks = vec![
        decides(
            format!(
                "the paper's algorithm keeps its accuracy as a hard binary network: it loses {} (at most {})",
                percent(lost(paper)?),
                percent(LOSS)
            ),
            lost(paper)? <= LOSS,
        ),
        also(
            format!("so does every learner (the worst, {}, loses {})", worst.1, percent(worst.0)),
            worst.0 <= LOSS,
        ),
        also(
            format!(
                "of the learners as they are published it is the most accurate as a hard network (best: {}, {})",
                most.1,
                percent(most.0)
            ),
            most.1 == PAPER,
        ),
        also(
            format!("it is the best calibrated (best: {}, {:.3})", calibrated.1, -calibrated.0),
            calibrated.1 == PAPER,
        ),
    ];
    if let Some((value, name)) = recognised {
        checks.push(also(
            format!("it recognises images of no task best (best: {name}, {value:.3})"),
            name == PAPER,
        ));
    }
    let hard: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            Some(format!("{} {}", name(case), percent_of(&accuracy(Predictor::Hard)(case)?)))
        })
        .collect();
    Some(Shown {
        figure: Figure::grid(vec![binary, calibration, unknown], 2),
        table,
        found: format!("As hard binary networks: {}.", hard.join(", ")),
        checks,
        notes: vec!["Two predictors make binary networks: hard (the sign of every field) and sampled (weights drawn \
                     from the measure, several networks averaged).".into()],
    })
}
