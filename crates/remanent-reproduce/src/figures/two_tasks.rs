//! Figures 2b and 2c: the errors of two tasks over time.

mod picture;

use remanent_perceptron::observables::generalisation_error;
use serde::{Deserialize, Serialize};

use super::ways::{Way, alpha_2, cases};
use super::words::list;
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::STEADY;
use crate::verdict::{Claim, Estimate, Findings, Test, Threshold};

const RATE: &str = "Ours: the learning rate in magnetisation space, which no source states.";

/// Figure 2b.
pub struct FirstTask;

/// Figure 2c.
pub struct SecondTask;

/// Errors of the first task, by α_2. All lists are ε_1 trial by trial.
#[derive(Serialize, Deserialize)]
pub struct First {
    cases: Vec<FirstCase>,
}

#[derive(Serialize, Deserialize)]
struct FirstCase {
    alpha_2: f64,
    /// When the task changes.
    switch: Vec<f64>,
    /// When the last tenth of the epochs begins.
    late: Vec<f64>,
    end: Vec<f64>,
    /// Traditional SGD, when the task changes.
    traditional_switch: Vec<f64>,
    /// Traditional SGD, at the end.
    traditional_end: Vec<f64>,
}

/// Errors of the second task, by α_2. All lists are ε_2 trial by trial.
#[derive(Serialize, Deserialize)]
pub struct Second {
    cases: Vec<SecondCase>,
}

#[derive(Serialize, Deserialize)]
struct SecondCase {
    alpha_2: f64,
    /// When the task changes.
    switch: Vec<f64>,
    end: Vec<f64>,
    /// Traditional SGD, at the end.
    traditional_end: Vec<f64>,
    /// The task alone, at the end.
    alone_end: Vec<f64>,
}

/// ε of a task (from 0) at the first recorded moment of the last tenth of all epochs, trial by trial.
fn late_errors(case: &Simulated, task: usize) -> Option<Vec<f64>> {
    let of = |rows: &[remanent_perceptron::gradient::Row]| {
        let end = rows.last()?.time;
        let row = rows.iter().find(|row| row.time * 10 >= end * 9)?;
        row.overlaps.p.get(task).map(|&p| generalisation_error(p))
    };
    case.trials.iter().map(|trial| of(&trial.rows)).collect()
}

/// The case that learns as much of the second task in another way.
fn beside<'a>(results: &'a Results, case: &Simulated, way: Way) -> Option<&'a Simulated> {
    cases(results, way).into_iter().find(|other| alpha_2(other) == alpha_2(case))
}

/// `0.21 ± 0.01 (α_2 = 1) and 0.22 ± 0.02 (α_2 = 2)`.
fn by_alpha<'a>(errors: impl Iterator<Item = (f64, &'a [f64])>) -> String {
    let said = errors.filter_map(|(alpha, eps)| {
        let mean = Estimate::of(eps.iter().copied())?;
        Some(format!("{} (α_2 = {alpha})", mean.text()))
    });
    list(&said.collect::<Vec<_>>())
}

impl Study for FirstTask {
    type Measured = First;

    fn measure(results: &Results) -> Option<First> {
        let measure = |case: &Simulated| {
            let traditional = beside(results, case, Way::Traditional)?;
            Some(FirstCase {
                alpha_2: alpha_2(case),
                switch: case.errors_after(0, 0)?,
                late: late_errors(case, 0)?,
                end: case.final_errors(0)?,
                traditional_switch: traditional.errors_after(0, 0)?,
                traditional_end: traditional.final_errors(0)?,
            })
        };
        let variational = cases(results, Way::Variational);
        Some(First { cases: variational.into_iter().map(measure).collect::<Option<_>>()? })
    }

    fn judge(measured: &First) -> Judgement {
        let cases = &measured.cases;
        let tests = |of: fn(&FirstCase) -> Test| cases.iter().map(of).collect();
        let rises = tests(|case| {
            let quantity = format!("ε_1 at the end less at the switch, α_2 = {}", case.alpha_2);
            Test::above(quantity, Estimate::paired(&case.end, &case.switch), Threshold::ZERO)
        });
        let settles = tests(|case| {
            let alpha = case.alpha_2;
            let quantity =
                format!("the change of ε_1 over the last tenth of the epochs, α_2 = {alpha}");
            Test::near(quantity, Estimate::paired(&case.end, &case.late), 0.0, STEADY)
        });
        let poorly = tests(|case| {
            let alpha = case.alpha_2;
            let quantity = format!("ε_1 at the end, traditional less variational, α_2 = {alpha}");
            let worse = Estimate::paired(&case.traditional_end, &case.end);
            Test::above(quantity, worse, Threshold::ZERO)
        });
        let place = "Sec. II B, Fig. 2b";
        Judgement {
            found: format!(
                "At the end the error of the first task is {} with the KL term, and {} with traditional SGD.",
                by_alpha(cases.iter().map(|case| (case.alpha_2, &case.end[..]))),
                by_alpha(cases.iter().map(|case| (case.alpha_2, &case.traditional_end[..])))
            ),
            findings: Findings::Claims(vec![
                Claim::new("The error of the first task rises at the switch.", place, rises),
                Claim::new("It settles at a stable value.", place, settles),
                Claim::new("Traditional SGD performs poorly.", "Sec. II B, Fig. 2b, c", poorly),
            ]),
            notes: vec![
                RATE.into(),
                format!(
                    "When the task changes, the error of traditional SGD on the first is {}.",
                    by_alpha(cases.iter().map(|case| (case.alpha_2, &case.traditional_switch[..])))
                ),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        picture::first(results)
    }
}

impl Study for SecondTask {
    type Measured = Second;

    fn measure(results: &Results) -> Option<Second> {
        let measure = |case: &Simulated| {
            Some(SecondCase {
                alpha_2: alpha_2(case),
                switch: case.errors_after(0, 1)?,
                end: case.final_errors(1)?,
                traditional_end: beside(results, case, Way::Traditional)?.final_errors(1)?,
                alone_end: beside(results, case, Way::Isolated)?.final_errors(0)?,
            })
        };
        let variational = cases(results, Way::Variational);
        Some(Second { cases: variational.into_iter().map(measure).collect::<Option<_>>()? })
    }

    fn judge(measured: &Second) -> Judgement {
        let cases = &measured.cases;
        let tests = |of: fn(&SecondCase) -> Test| cases.iter().map(of).collect();
        let falls = tests(|case| {
            let quantity =
                format!("change of ε_2 from the switch to the end, α_2 = {}", case.alpha_2);
            Test::below(quantity, Estimate::paired(&case.end, &case.switch), Threshold::ZERO)
        });
        let hindered = tests(|case| {
            let alpha = case.alpha_2;
            let quantity = format!("ε_2 at the end less that of the task alone, α_2 = {alpha}");
            Test::above(quantity, Estimate::paired(&case.end, &case.alone_end), Threshold::ZERO)
        });
        let more = cases.windows(2).map(|pair| {
            let (few, many) = (&pair[0], &pair[1]);
            let quantity = format!(
                "change of ε_2 at the end from α_2 = {} to α_2 = {}",
                few.alpha_2, many.alpha_2
            );
            Test::below(quantity, Estimate::paired(&many.end, &few.end), Threshold::ZERO)
        });
        let poorly = tests(|case| {
            let alpha = case.alpha_2;
            let quantity = format!("ε_2 at the end, traditional less variational, α_2 = {alpha}");
            let worse = Estimate::paired(&case.traditional_end, &case.end);
            Test::above(quantity, worse, Threshold::ZERO)
        });
        let place = "Sec. II B, Fig. 2c";
        let end = |of: fn(&SecondCase) -> &[f64]| {
            by_alpha(cases.iter().map(move |case| (case.alpha_2, of(case))))
        };
        Judgement {
            found: format!(
                "At the end the error of the second task is {} after the first, {} alone, and {} with traditional SGD.",
                end(|case| &case.end),
                end(|case| &case.alone_end),
                end(|case| &case.traditional_end)
            ),
            findings: Findings::Claims(vec![
                Claim::new("The error of the second task falls.", place, falls),
                Claim::new("It does not reach the level of the task alone.", place, hindered),
                Claim::new("More examples give a lower error.", "Sec. II B", more.collect()),
                Claim::new("Traditional SGD performs poorly.", "Sec. II B, Fig. 2b, c", poorly),
            ]),
            notes: vec![RATE.into()],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        picture::second(results)
    }
}

#[cfg(test)]
mod tests;
