//! Figure B3: the factor γ that the theory recommends.

use remanent_lab::theory::known;
use remanent_math::statistics::Summary;
use remanent_plot::{Axis, Cell, Color, Curve, Figure, Panel, Points, Table, VerticalLine};
use remanent_theory::tune::Tuned;
use serde::{Deserialize, Serialize};

use super::one_step::Breaking;
use super::recommendation::{Recommendation, Tried};
use super::words::{error, list};
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::verdict::{Answer, Estimate, Findings};

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
    let recommendation = Recommendation {
        symbol: "γ",
        aim: match objective {
            Objective::Worst => "worst error",
            Objective::Mean => "mean error",
        },
        value: recommended.gamma,
        error: recommended.objective,
        at_edge: recommended.at_edge,
    };
    let tried: Option<Vec<Tried>> = measured
        .simulated
        .iter()
        .map(|errors| Some(Tried { value: errors.gamma, errors: objective.of(&errors.eps)? }))
        .collect();
    recommendation.answer(&tried.unwrap_or_default(), |a, b| (a.ln() - b.ln()).abs())
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

    #[test]
    fn both_aims_are_answered_by_their_own_errors() {
        let recommended = |gamma| Recommended {
            gamma: Some(gamma),
            objective: Some(0.3),
            eps_by_task: vec![Some(0.3), Some(0.2)],
            at_edge: false,
        };
        let errors = |gamma, first: f64, second: f64| Errors {
            gamma,
            eps: [first, second].map(|eps| vec![eps, eps + 0.01, eps + 0.02]).to_vec(),
        };
        // γ = 0.5 has the lower worst error, γ = 1 the lower mean.
        let measured = Measured {
            worst: recommended(0.5),
            mean: recommended(0.5),
            simulated: vec![errors(0.5, 0.3, 0.3), errors(1.0, 0.4, 0.1)],
            breaking: None,
        };
        let Findings::Answers(answers) = Gamma::judge(&measured).findings else {
            unreachable!("beyond the paper")
        };
        assert!(answers[0].answer.contains("the best of the simulated"), "{}", answers[0].answer);
        assert!(answers[1].answer.contains("the best is γ = 1"), "{}", answers[1].answer);
    }

    #[test]
    fn the_worst_error_is_that_of_a_task() {
        let eps = [vec![0.3, 0.1], vec![0.1, 0.4]];
        assert_eq!(Objective::Worst.of(&eps).unwrap(), [0.1, 0.4]);
        let mean = Objective::Mean.of(&eps).unwrap();
        assert!((mean[0] - 0.2).abs() < 1e-12 && (mean[1] - 0.25).abs() < 1e-12);
    }
}
