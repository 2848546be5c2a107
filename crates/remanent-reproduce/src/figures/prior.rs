//! Figure B6: the first task with a uniform prior, and with none.

use remanent_math::statistics::Summary;
use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Panel, Points, Table};
use remanent_theory::solution::Solution;
use serde::{Deserialize, Serialize};

use super::words::list;
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::{CLOSE, LEARNED};
use crate::verdict::{Agreement, Answer, Estimate, Findings, Outcome, Pair, Test, Threshold};
use remanent_lab::simulation::Learner;
use remanent_lab::theory::known;

/// Figure B6.
pub struct Prior;

/// Errors with no prior and with a uniform one, in this order wherever there are two.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    theory: Vec<Lines>,
    sgd: [Vec<Errors>; 2],
    samples: Vec<Sampled>,
}

#[derive(Serialize, Deserialize)]
struct Lines {
    beta: f64,
    /// α and ε, by rising α.
    lines: [Vec<(f64, f64)>; 2],
}

#[derive(Serialize, Deserialize)]
struct Errors {
    alpha: f64,
    /// ε of every trial; all α, and both priors, share their seeds.
    eps: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Sampled {
    alpha: f64,
    prior: bool,
    eps: Estimate,
    theory: Option<f64>,
}

/// Whether a case has the prior, and whether it is sampled.
fn kind(case: &Simulated) -> (bool, bool) {
    match &case.simulation.learner {
        Learner::Gradient(learner) => (learner.uniform_prior, false),
        Learner::Boltzmann(learner) => (learner.uniform_prior, true),
    }
}

fn alpha(case: &Simulated) -> f64 {
    case.simulation.setting.alpha[0]
}

/// The cases of a kind, by rising α.
fn cases(results: &Results, wanted: (bool, bool)) -> Vec<&Simulated> {
    let mut found: Vec<&Simulated> =
        results.simulated.iter().filter(|case| kind(case) == wanted).collect();
    found.sort_by(|a, b| alpha(a).total_cmp(&alpha(b)));
    found
}

/// The theory's curves by β.
fn theory(results: &Results) -> Option<Vec<Lines>> {
    let points: [&[Solution]; 2] =
        [results.theory.first()?.as_single()?, results.theory.get(1)?.as_single()?];
    let mut betas: Vec<f64> = points[0].iter().map(|point| point.beta).collect();
    betas.dedup();
    let line = |points: &[Solution], beta: f64| -> Vec<(f64, f64)> {
        let same = points.iter().filter(|point| point.beta == beta);
        same.filter_map(|point| Some((point.alpha, known(point.eps)?))).collect()
    };
    Some(betas.iter().map(|&beta| Lines { beta, lines: points.map(|p| line(p, beta)) }).collect())
}

impl Study for Prior {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let sgd = |prior| -> Option<Vec<Errors>> {
            cases(results, (prior, false))
                .into_iter()
                .map(|case| Some(Errors { alpha: alpha(case), eps: case.final_errors(0)? }))
                .collect()
        };
        let sampled = |case: &Simulated, prior: bool| {
            let compared = case.compared()?;
            let found = compared.iter().find(|c| c.quantity == "eps_1")?;
            let eps = found.estimate(case.trials.len());
            Some(Sampled { alpha: alpha(case), prior, eps, theory: found.theory })
        };
        let samples = [false, true]
            .into_iter()
            .flat_map(|prior| {
                cases(results, (prior, true)).into_iter().map(move |case| (case, prior))
            })
            .map(|(case, prior)| sampled(case, prior))
            .collect::<Option<_>>()?;
        Some(Measured { theory: theory(results)?, sgd: [sgd(false)?, sgd(true)?], samples })
    }

    fn judge(measured: &Measured) -> Judgement {
        let answers = vec![
            judge_theory(&measured.theory),
            judge_sgd(&measured.sgd),
            judge_samples(&measured.samples),
        ];
        Judgement {
            found: format!("{} {}", answers[0].answer, answers[1].answer),
            findings: Findings::Answers(answers),
            notes: vec![
                "Between neighbouring α errors are interpolated.".into(),
                "Samples with and without the prior share their data: each α counts as one experiment.".into(),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let theory = theory(results)?;
        let mut table = Table::new(["source", "prior", "beta", "alpha", "eps", "eps_se"]);
        let mut panels = Vec::new();
        for (title, lines, sampled) in [
            ("the theory's ensemble", theory.first()?, true),
            ("SGD, and the theory", theory.last()?, false),
        ] {
            let mut panel = Panel::new(title, Axis::linear("α"), Axis::linear("ε").lower(0.0));
            for prior in [false, true] {
                draw_theory(&mut panel, &mut table, lines, prior);
                draw_simulated(&mut panel, &mut table, results, (prior, sampled), lines.beta);
            }
            panels.push(panel);
        }
        Some(Drawing { figure: Figure::grid(panels, 2), table })
    }
}

/// The α at which the task becomes learned, of points by rising α, between which ε is interpolated.
fn learned_from(points: &[(f64, f64)]) -> Option<f64> {
    let after = points.iter().position(|(_, eps)| *eps < LEARNED.value)?;
    let Some(before) = after.checked_sub(1) else { return Some(points[after].0) };
    let ((a, high), (b, low)) = (points[before], points[after]);
    Some(a + (b - a) * (high - LEARNED.value) / (high - low))
}

/// The same for the mean over some of the trials.
fn learned_by(errors: &[Errors], trials: &[usize]) -> Option<f64> {
    let mean = |of: &Errors| -> Option<(f64, f64)> {
        let sum: Option<f64> = trials.iter().map(|&trial| of.eps.get(trial)).sum();
        Some((of.alpha, sum? / trials.len() as f64))
    };
    learned_from(&errors.iter().map(mean).collect::<Option<Vec<_>>>()?)
}

/// An amount of data in words.
fn data(alpha: Option<Estimate>) -> String {
    alpha.map_or("more than the range".into(), |alpha| match alpha.standard_error {
        Some(error) if error > 0.0 => format!("α = {}", alpha.text()),
        _ => format!("α = {:.3}", alpha.value),
    })
}

fn judge_theory(theory: &[Lines]) -> Answer {
    let mut tests = Vec::new();
    let mut said = Vec::new();
    for Lines { beta, lines } in theory {
        let [without, with] = [0, 1].map(|i| learned_from(&lines[i]).map(Estimate::exact));
        let difference = with.zip(without).map(|(with, without)| with.minus(&without));
        let quantity = format!(
            "theory, β = {beta}: α at which ε = {}, with less without prior",
            LEARNED.value
        );
        tests.push(Test::above(quantity, difference, Threshold::ZERO));
        said.push(format!("{} instead of {} at β = {beta}", data(with), data(without)));
    }
    let answer = format!(
        "In the theory an error of {} takes {} with the uniform prior: {}.",
        LEARNED.value,
        list(&said),
        needs(&tests)
    );
    Answer::new("Does a uniform prior for the first task need more data in the theory?", answer)
        .tested(tests)
}

fn judge_sgd(sgd: &[Vec<Errors>; 2]) -> Answer {
    let trials = sgd[0].first().map_or(0, |errors| errors.eps.len());
    // Trials are resampled together, which needs the same ones everywhere.
    let complete = sgd.iter().flatten().all(|errors| errors.eps.len() == trials) && trials > 0;
    let of = |statistic: &dyn Fn(&[usize]) -> Option<f64>| {
        complete.then(|| Estimate::bootstrap(trials, statistic)).flatten()
    };
    let [without, with] = [0, 1].map(|i| of(&|drawn| learned_by(&sgd[i], drawn)));
    let difference = of(&|drawn| Some(learned_by(&sgd[1], drawn)? - learned_by(&sgd[0], drawn)?));
    let quantity = format!("SGD: α at which ε = {}, with less without prior", LEARNED.value);
    let tests = [Test::above(quantity, difference, Threshold::ZERO)];
    let answer = format!(
        "SGD needs {} instead of {}, a difference of {}: {}.",
        data(with),
        data(without),
        difference.map_or("unknown size".into(), |d| d.text()),
        needs(&tests)
    );
    Answer::new("Does it with SGD?", answer).tested(tests)
}

/// Whether the prior needs more data, in words.
fn needs(tests: &[Test]) -> &'static str {
    match Outcome::of_all(tests.iter().map(|test| test.outcome)) {
        Outcome::Supported => "the prior needs more data",
        Outcome::Contradicted => "the prior does not always need more data",
        Outcome::Undecided => "whether the prior needs more data is open",
    }
}

fn judge_samples(samples: &[Sampled]) -> Answer {
    let mut alphas: Vec<f64> = samples.iter().map(|sample| sample.alpha).collect();
    alphas.sort_by(f64::total_cmp);
    alphas.dedup();
    let pairs = samples.iter().map(|s| Pair { simulation: s.eps, theory: s.theory }).collect();
    let agreement = Agreement::new("ε of samples and theory", pairs, alphas.len());
    let (close, consistent) = (agreement.close(CLOSE), agreement.consistent());
    let words = match close.outcome {
        Outcome::Supported => "they are close",
        Outcome::Contradicted => "they are not close",
        Outcome::Undecided => "whether they are close is open",
    };
    let chance = match consistent.outcome {
        Outcome::Supported => "the distance can be chance",
        Outcome::Contradicted => "the distance is more than chance",
        Outcome::Undecided => "whether the distance can be chance is open",
    };
    let distance = agreement.distance().map_or("an unknown distance".into(), |d| d.text());
    Answer::new(
        "Do samples of the ensemble agree with the theory, with the prior and without?",
        format!("They differ by {distance} (root mean square): {words}, and {chance}."),
    )
    .tested([close, consistent])
}

const NAMES: [&str; 2] = ["no prior", "uniform prior"];

fn draw_theory(panel: &mut Panel, table: &mut Table, lines: &Lines, prior: bool) {
    let (name, beta) = (NAMES[usize::from(prior)], lines.beta);
    let line = &lines.lines[usize::from(prior)];
    for (x, y) in line {
        let missing = Cell::Missing;
        table.push(vec![
            "theory".into(),
            name.into(),
            beta.into(),
            (*x).into(),
            (*y).into(),
            missing,
        ]);
    }
    let (x, y) = line.iter().copied().unzip();
    panel.push(
        Curve::new(x, y)
            .color(Color::Palette(usize::from(prior)))
            .label(format!("theory, β = {beta}, {name}")),
    );
}

fn draw_simulated(
    panel: &mut Panel,
    table: &mut Table,
    results: &Results,
    (prior, sampled): (bool, bool),
    beta: f64,
) {
    let (name, label) = (NAMES[usize::from(prior)], if sampled { "sampled" } else { "SGD" });
    let found: Vec<(f64, Summary)> = cases(results, (prior, sampled))
        .iter()
        .map(|case| (alpha(case), case.summary.ends[0].eps[0]))
        .collect();
    for (x, eps) in &found {
        table.push(vec![
            label.to_lowercase().into(),
            name.into(),
            if sampled { beta.into() } else { Cell::Missing },
            (*x).into(),
            eps.mean.into(),
            eps.standard_error.into(),
        ]);
    }
    let points =
        Points::new(found.iter().map(|f| f.0).collect(), found.iter().map(|f| f.1.mean).collect())
            .error(found.iter().map(|f| f.1.standard_error.unwrap_or(0.0)).collect())
            .color(Color::Palette(usize::from(prior)))
            .label(format!("{label}, {name}"));
    panel.push(if sampled { points } else { points.connected(Dash::Dashed) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_compared_where_the_task_becomes_learned() {
        assert_eq!(learned_from(&[(1.0, 0.1), (2.0, 0.0)]), Some(1.5));
        assert_eq!(learned_from(&[(1.0, 0.01)]), Some(1.0));
        assert_eq!(learned_from(&[(1.0, 0.1)]), None);
    }

    /// Errors of trials at α = 1, 2 and 3 that fall below the threshold halfway after `alpha`.
    fn errors(alpha: f64, noise: &[f64]) -> Vec<Errors> {
        let eps = |at: f64, noise: &f64| (0.1 * (alpha + 0.5 - at) + 0.05 + noise).max(0.0);
        [1.0, 2.0, 3.0, 4.0]
            .map(|at| Errors { alpha: at, eps: noise.iter().map(|n| eps(at, n)).collect() })
            .into()
    }

    /// The prior shifts the curves of theory and SGD by these; samples differ by so much from the theory.
    fn judge(theory: f64, sgd: f64, noise: &[f64], apart: f64, se: f64) -> Vec<Answer> {
        let line = |shift: f64| -> Vec<(f64, f64)> {
            [1.0, 2.0, 3.0, 4.0].map(|at| (at, (0.1 * (1.5 + shift - at) + 0.05).max(0.0))).into()
        };
        let quiet = vec![0.0; noise.len()];
        let sample = |i: usize| Sampled {
            alpha: (i / 2) as f64,
            prior: i % 2 == 1,
            eps: Estimate { value: 0.2 + apart, standard_error: Some(se), trials: Some(10) },
            theory: Some(0.2),
        };
        let measured = Measured {
            theory: vec![Lines { beta: 10.0, lines: [line(0.0), line(theory)] }],
            sgd: [errors(1.0, &quiet), errors(1.0 + sgd, noise)],
            samples: (0..14).map(sample).collect(),
        };
        match Prior::judge(&measured).findings {
            Findings::Answers(answers) => answers,
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    fn check(answer: &Answer, outcomes: &[Outcome], text: &str) {
        let found: Vec<Outcome> = answer.tests.iter().map(|test| test.outcome).collect();
        assert_eq!(found, outcomes, "{}", answer.answer);
        assert!(answer.answer.contains(text), "{}", answer.answer);
    }

    #[test]
    fn a_prior_can_need_more_data_or_less_and_be_open() {
        use Outcome::{Contradicted, Supported, Undecided};
        let little = [0.001, -0.001, 0.002, -0.002, 0.0, 0.001];
        let more = judge(0.5, 0.5, &little, 0.001, 0.002);
        check(&more[0], &[Supported], ": the prior needs more data");
        check(&more[1], &[Supported], ": the prior needs more data");
        check(&more[2], &[Supported, Supported], "close, and the distance can be chance");
        let less = judge(-0.5, -0.4, &little, 0.1, 0.002);
        check(&less[0], &[Contradicted], "does not always need");
        check(&less[1], &[Contradicted], "does not always need");
        check(&less[2], &[Contradicted, Contradicted], "not close, and the distance is more");
        let large = [0.05, -0.04, 0.03, -0.05, 0.01, 0.01];
        let open = judge(9.0, 0.05, &large, 0.015, 0.02);
        check(&open[0], &[Undecided], "more than the range");
        check(&open[1], &[Undecided], "is open");
        check(&open[2], &[Undecided, Supported], "whether they are close is open");
    }

    #[test]
    fn trials_that_are_missing_leave_sgd_open() {
        let mut sgd = [errors(1.0, &[0.0; 5]), errors(1.5, &[0.0; 5])];
        sgd[1][2].eps.pop();
        check(&judge_sgd(&sgd), &[Outcome::Undecided], "unknown size");
    }
}
