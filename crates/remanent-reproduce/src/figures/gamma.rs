//! Figure B3: the factor γ that the theory recommends.

use remanent_lab::theory::known;
use remanent_math::statistics::Summary;
use remanent_plot::{Axis, Cell, Color, Curve, Figure, Panel, Points, Table, VerticalLine};
use remanent_theory::tune::Tuned;
use serde::{Deserialize, Serialize};

use super::one_step::Breaking;
use super::words::{capital, error, list};
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::CLOSE;
use crate::verdict::{Answer, Estimate, Findings, Outcome, Test, Threshold};

/// Figure B3.
pub struct Gamma;

/// What the theory recommends, and the errors at every simulated γ.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// For the lowest worst error.
    worst: Recommended,
    /// For the lowest mean error.
    mean: Recommended,
    /// By rising γ.
    simulated: Vec<Errors>,
    /// What one step of replica-symmetry breaking does at these γ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    breaking: Option<Breaking>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Recommended {
    gamma: Option<f64>,
    objective: Option<f64>,
    eps_by_task: Vec<Option<f64>>,
    at_edge: bool,
}

#[derive(Serialize, Deserialize)]
struct Errors {
    gamma: f64,
    /// ε of every task, trial by trial; the trials of all γ share their seeds.
    eps: Vec<Vec<f64>>,
}

/// What is to be kept low.
#[derive(Clone, Copy, PartialEq)]
enum Objective {
    Worst,
    Mean,
}

impl Objective {
    fn name(self) -> &'static str {
        match self {
            Self::Worst => "worst",
            Self::Mean => "mean",
        }
    }

    /// Trial by trial. The worst error is that of the task whose mean error is largest: the largest error
    /// of every single trial would be larger by chance.
    fn of(self, eps: &[Vec<f64>]) -> Option<Vec<f64>> {
        let mean = |task: &Vec<f64>| Estimate::of(task.iter().copied()).map(|e| e.value);
        match self {
            Self::Worst => eps
                .iter()
                .filter_map(|task| Some((mean(task)?, task)))
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, task)| task.clone()),
            Self::Mean => {
                let trials = eps.first()?.len();
                let of = |trial: usize| -> Option<f64> {
                    let sum: Option<f64> = eps.iter().map(|task| task.get(trial)).sum();
                    Some(sum? / eps.len() as f64)
                };
                (0..trials).map(of).collect()
            }
        }
    }
}

impl From<&Tuned> for Recommended {
    fn from(tuned: &Tuned) -> Self {
        Self {
            gamma: known(tuned.gamma),
            objective: known(tuned.objective),
            eps_by_task: tuned.eps_by_task.iter().map(|eps| known(*eps)).collect(),
            at_edge: tuned.at_edge,
        }
    }
}

/// The cases by rising γ.
fn cases(results: &Results) -> Vec<&Simulated> {
    let mut cases: Vec<&Simulated> = results.simulated.iter().collect();
    cases.sort_by(|a, b| a.gamma().total_cmp(&b.gamma()));
    cases
}

fn tuned(results: &Results) -> Option<[&Tuned; 2]> {
    Some([results.theory.first()?.as_tune()?, results.theory.get(1)?.as_tune()?])
}

fn errors_of_trials(case: &Simulated) -> Option<Errors> {
    let tasks = case.simulation.setting.alpha.len();
    let eps = (0..tasks).map(|task| case.final_errors(task)).collect::<Option<_>>()?;
    Some(Errors { gamma: case.gamma(), eps })
}

impl Study for Gamma {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let [worst, mean] = tuned(results)?.map(Recommended::from);
        let simulated = cases(results).into_iter().map(errors_of_trials).collect::<Option<_>>()?;
        let breaking = Breaking::of(results, 2);
        Some(Measured { worst, mean, simulated, breaking })
    }

    fn judge(measured: &Measured) -> Judgement {
        let answers: Vec<Answer> =
            [(Objective::Worst, &measured.worst), (Objective::Mean, &measured.mean)]
                .into_iter()
                .map(|(objective, recommended)| answer(measured, objective, recommended))
                .collect();
        let found: Vec<&str> = answers.iter().map(|answer| answer.answer.as_str()).collect();
        Judgement {
            found: found.join(" "),
            notes: vec![
                format!(
                    "The two aims differ: at the γ of the lowest worst error the theory's errors are {}, at that of the lowest \
                     mean error {}.",
                    errors_of(&measured.worst),
                    errors_of(&measured.mean)
                ),
                "The lowest simulated value was chosen after the fact, and is therefore a little too low.".into(),
            ]
            .into_iter()
            .chain(measured.breaking.map(|breaking| breaking.note()))
            .collect(),
            findings: Findings::Answers(answers),
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let (cases, tuned) = (cases(results), tuned(results)?);
        let figure =
            Figure::grid(vec![draw_errors(&cases, tuned[0]), draw_objectives(&cases, tuned)], 2);
        Some(Drawing { figure, table: table(&cases, tuned[0])? })
    }
}

/// The γ that the theory recommends beside the one that simulations find best.
fn answer(measured: &Measured, objective: Objective, recommended: &Recommended) -> Answer {
    let name = objective.name();
    let question = format!(
        "Is the γ that the theory recommends for a low {name} error the one that simulations find best?"
    );
    let open = |why: &str| Answer::new(question.clone(), capital(why));
    let Some(gamma) = recommended.gamma else {
        return open(&format!(
            "for the {name} error the theory recommends no γ: it has no solution."
        ));
    };
    if recommended.at_edge {
        return open(&format!(
            "for the {name} error the theory recommends no γ: its lowest value is at the edge of the range, γ = {gamma:.3}."
        ));
    }
    let found: Option<Vec<(f64, Vec<f64>, Estimate)>> = measured
        .simulated
        .iter()
        .map(|errors| {
            let trials = objective.of(&errors.eps)?;
            let mean = Estimate::of(trials.iter().copied())?;
            Some((errors.gamma, trials, mean))
        })
        .collect();
    let found = found.unwrap_or_default();
    let apart = |gamma_2: f64| (gamma_2.ln() - gamma.ln()).abs();
    let best = found.iter().min_by(|a, b| a.2.value.total_cmp(&b.2.value));
    let nearest = found.iter().min_by(|a, b| apart(a.0).total_cmp(&apart(b.0)));
    let (Some(best), Some(nearest)) = (best, nearest) else {
        return open(&format!("the {name} error was not simulated."));
    };
    let difference = Estimate::paired(&nearest.1, &best.1);
    let quantity = format!("{name} error at γ = {} less the lowest, at γ = {}", nearest.0, best.0);
    let mut tests = vec![Test::below(quantity.as_str(), difference, CLOSE)];
    if best.0 != nearest.0 {
        tests.push(Test::above(quantity, difference, Threshold::ZERO));
    }
    let said = format!(
        "for the {name} error the theory recommends γ = {gamma:.3} (error {}). At the nearest simulated γ = {} the error is {}; {}.",
        recommended.objective.map_or("unknown".into(), error),
        nearest.0,
        nearest.2.text(),
        compared((best.0, &best.2), nearest.0, difference, &tests)
    );
    open(&said).tested(tests)
}

/// The recommended γ against the best one in words.
fn compared(
    (best, lowest): (f64, &Estimate),
    nearest: f64,
    difference: Option<Estimate>,
    tests: &[Test],
) -> String {
    if best == nearest {
        return "that is the best of the simulated ones".into();
    }
    let matters = match tests[0].outcome {
        Outcome::Supported => "too little to matter",
        Outcome::Contradicted => "enough to matter",
        Outcome::Undecided => "whether that matters is open",
    };
    let certain = match tests.get(1).map(|test| test.outcome) {
        Some(Outcome::Supported) => "more than chance",
        _ => "it can be chance",
    };
    format!(
        "the best is γ = {best} with {}, lower by {} ({matters}; {certain})",
        lowest.text(),
        difference.map_or("an unknown difference".into(), |d| d.text())
    )
}

/// The errors of the tasks at the recommended γ.
fn errors_of(recommended: &Recommended) -> String {
    let eps = recommended.eps_by_task.iter().map(|eps| eps.map_or("unknown".into(), error));
    list(&eps.collect::<Vec<_>>())
}

fn axis() -> Axis {
    Axis::log("γ").range(0.01, 6.0)
}

fn draw_errors(cases: &[&Simulated], worst: &Tuned) -> Panel {
    let mut errors = Panel::new("errors of both tasks", axis(), Axis::linear("ε").lower(0.0));
    let x: Vec<f64> = cases.iter().map(|case| case.gamma()).collect();
    let curve: Vec<_> = worst.curve.iter().filter(|point| point.gamma > 0.0).collect();
    let theory_x: Vec<f64> = curve.iter().map(|point| point.gamma).collect();
    for task in 0..2 {
        let color = Color::Palette(task);
        let theory = curve
            .iter()
            .map(|point| point.eps_by_task.get(task).copied().unwrap_or(f64::NAN))
            .collect();
        errors.push(
            Curve::new(theory_x.clone(), theory)
                .color(color)
                .label(format!("theory, task {}", task + 1)),
        );
        let found: Vec<Summary> = cases
            .iter()
            .filter_map(|case| case.summary.ends.last()?.eps.get(task).copied())
            .collect();
        errors.push(
            Points::new(x.clone(), found.iter().map(|s| s.mean).collect())
                .error(found.iter().map(|s| s.standard_error.unwrap_or(0.0)).collect())
                .color(color)
                .label(format!("sampled, task {}", task + 1)),
        );
    }
    errors
}

fn draw_objectives(cases: &[&Simulated], [worst, mean]: [&Tuned; 2]) -> Panel {
    let mut objectives = Panel::new("worst and mean error", axis(), Axis::linear("ε").lower(0.0));
    for (color, objective, tune) in [(0, Objective::Worst, worst), (1, Objective::Mean, mean)] {
        let (color, name) = (Color::Palette(color), objective.name());
        let line: Vec<_> = tune.curve.iter().filter(|point| point.gamma > 0.0).collect();
        objectives.push(
            Curve::new(
                line.iter().map(|p| p.gamma).collect(),
                line.iter().map(|p| p.objective).collect(),
            )
            .color(color)
            .label(format!("theory, {name}")),
        );
        let found: Vec<(f64, Estimate)> = cases
            .iter()
            .filter_map(|case| {
                let trials = objective.of(&errors_of_trials(case)?.eps)?;
                Some((case.gamma(), Estimate::of(trials)?))
            })
            .collect();
        objectives.push(
            Points::new(
                found.iter().map(|f| f.0).collect(),
                found.iter().map(|f| f.1.value).collect(),
            )
            .error(found.iter().map(|f| f.1.standard_error.unwrap_or(0.0)).collect())
            .color(color)
            .label(format!("sampled, {name}")),
        );
        if let Some(gamma) = known(tune.gamma) {
            objectives.push(VerticalLine::new(gamma).label(name));
        }
    }
    objectives
}

fn table(cases: &[&Simulated], worst: &Tuned) -> Option<Table> {
    let mut table = Table::new(["source", "gamma", "eps_1", "eps_2", "eps_1_se", "eps_2_se"]);
    for point in &worst.curve {
        let eps = |task: usize| point.eps_by_task.get(task).copied();
        table.push(vec![
            "theory".into(),
            point.gamma.into(),
            eps(0).into(),
            eps(1).into(),
            Cell::Missing,
            Cell::Missing,
        ]);
    }
    for case in cases {
        let eps = &case.summary.ends.last()?.eps;
        table.push(vec![
            "sampled".into(),
            case.gamma().into(),
            eps[0].mean.into(),
            eps[1].mean.into(),
            eps[0].standard_error.into(),
            eps[1].standard_error.into(),
        ]);
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The theory recommends γ = 0.9; ε of both tasks at γ = 0.5 is 0.3, and at γ = 1 differs by this.
    fn judge(differences: &[f64], at_edge: bool) -> Vec<Answer> {
        let recommended = Recommended {
            gamma: Some(0.9),
            objective: Some(0.3),
            eps_by_task: vec![Some(0.3), Some(0.2)],
            at_edge,
        };
        let noise = |trial: usize| 0.02 * (trial % 3) as f64;
        let low: Vec<f64> = (0..differences.len()).map(|trial| 0.3 + noise(trial)).collect();
        let high: Vec<f64> = low.iter().zip(differences).map(|(low, d)| low + d).collect();
        let errors = |gamma, eps: &Vec<f64>| Errors {
            gamma,
            // The other task is better throughout.
            eps: vec![eps.clone(), eps.iter().map(|eps| eps - 0.2).collect()],
        };
        let measured = Measured {
            worst: recommended.clone(),
            mean: recommended,
            simulated: vec![errors(0.5, &low), errors(1.0, &high)],
            breaking: None,
        };
        match Gamma::judge(&measured).findings {
            Findings::Answers(answers) => answers,
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    #[test]
    fn a_recommendation_is_best_as_good_worse_or_open() {
        use Outcome::{Contradicted, Supported, Undecided};
        let check = |differences: &[f64], outcomes: &[Outcome], text: &str| {
            for answer in judge(differences, false) {
                let found: Vec<Outcome> = answer.tests.iter().map(|test| test.outcome).collect();
                assert_eq!(found, outcomes, "{differences:?}");
                assert!(answer.answer.contains(text), "{}", answer.answer);
            }
        };
        check(&[-0.01, -0.02, -0.01, -0.02], &[Supported], "that is the best of the simulated");
        check(
            &[0.004, 0.005, 0.006, 0.005],
            &[Supported, Supported],
            "too little to matter; more than",
        );
        check(
            &[0.05, 0.06, 0.05, 0.06],
            &[Contradicted, Supported],
            "(enough to matter; more than",
        );
        check(&[0.05, -0.04, 0.06, -0.01], &[Undecided, Undecided], "open; it can be chance");
        check(&[0.05, 0.06], &[Undecided, Undecided], "whether that matters is open");
    }

    #[test]
    fn the_edge_of_a_range_recommends_nothing() {
        let answers = judge(&[0.1; 4], true);
        assert!(answers.iter().all(|a| a.tests.is_empty() && a.answer.contains("edge")));
    }

    #[test]
    fn the_worst_error_is_that_of_a_task() {
        let eps = [vec![0.3, 0.1], vec![0.1, 0.4]];
        assert_eq!(Objective::Worst.of(&eps).unwrap(), [0.1, 0.4]);
        let mean = Objective::Mean.of(&eps).unwrap();
        assert!((mean[0] - 0.2).abs() < 1e-12 && (mean[1] - 0.25).abs() < 1e-12);
    }
}
