//! Figure B2: ten tasks, theory against simulation.

use remanent_lab::simulation::{Against, Comparison, Learner};
use remanent_plot::{Axis, Color, Curve, Figure, Marker, Panel, Points, Table};
use serde::{Deserialize, Serialize};

use super::one_step::Breaking;
use super::words::{agreement, error};
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::CLOSE;
use crate::verdict::{Agreement, Answer, Estimate, Findings, Pair};

/// Figure B2.
pub struct ChainOfTasks;

/// Errors on all tasks after each of them, beside the theory's.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    tasks: usize,
    learners: Vec<Remembered>,
    /// What one step of replica-symmetry breaking does in the free chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    breaking: Option<Breaking>,
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    name: String,
    errors: Vec<TaskError>,
}

#[derive(Serialize, Deserialize)]
struct TaskError {
    /// After which task, from 1.
    after: usize,
    /// On which task, from 1.
    task: usize,
    simulation: Estimate,
    theory: Option<f64>,
}

impl Remembered {
    /// Theory and simulation, on tasks that are learned or on those still to come.
    fn agreement(&self, learned: bool) -> Agreement {
        let which = if learned { "tasks learned so far" } else { "tasks still to come" };
        let pairs = self
            .errors
            .iter()
            .filter(|e| (e.task <= e.after) == learned)
            .map(|e| Pair { simulation: e.simulation, theory: e.theory });
        // All numbers are of the same trials.
        Agreement::new(format!("{} and theory, {which}", self.name), pairs.collect(), 1)
    }

    /// ε of a task after the last, and the theory's.
    fn at_end(&self, tasks: usize, task: usize) -> String {
        let found = self.errors.iter().find(|e| e.after == tasks && e.task == task);
        let Some(found) = found else { return "not measured".into() };
        let theory = found.theory.map_or("none".into(), error);
        format!("{} (theory {theory})", found.simulation.text())
    }
}

struct Side<'a> {
    case: &'a Simulated,
    against: Against,
    name: &'static str,
    comparison: Vec<Comparison>,
}

impl Side<'_> {
    /// The error on one task (from 0) after another (from 1): simulation and theory.
    fn error(&self, after: usize, task: usize) -> Option<&Comparison> {
        let quantity = format!("eps_{}", task + 1);
        let same = |c: &&Comparison| {
            c.against == self.against && c.task == after && c.quantity == quantity
        };
        self.comparison.iter().find(same)
    }

    /// All errors: after which task and on which, both from 1.
    fn errors(&self) -> Vec<(usize, usize, &Comparison)> {
        let tasks = self.case.summary.ends.len();
        let places = (1..=tasks).flat_map(|after| (0..tasks).map(move |task| (after, task)));
        places
            .filter_map(|(after, task)| Some((after, task + 1, self.error(after, task)?)))
            .collect()
    }
}

fn sides(results: &Results) -> Option<Vec<Side<'_>>> {
    let side = |case| {
        let comparison = Simulated::compared(case)?;
        let (against, name) = match case.simulation.learner {
            Learner::Boltzmann(_) => (Against::Ensemble, "sampled"),
            Learner::Gradient(_) => (Against::Constrained, "SGD"),
        };
        Some(Side { case, against, name, comparison })
    };
    results.simulated.iter().map(side).collect()
}

impl Study for ChainOfTasks {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let sides = sides(results)?;
        let remembered = |side: &Side| Remembered {
            name: if side.against == Against::Ensemble { "samples" } else { side.name }.into(),
            errors: side
                .errors()
                .into_iter()
                .map(|(after, task, c)| TaskError {
                    after,
                    task,
                    simulation: c.estimate(side.case.trials.len()),
                    theory: c.theory,
                })
                .collect(),
        };
        Some(Measured {
            tasks: sides.first()?.case.summary.ends.len(),
            learners: sides.iter().map(remembered).collect(),
            breaking: Breaking::of(results, 0),
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let tasks = measured.tasks;
        let mut said = Vec::new();
        let mut answers = Vec::new();
        for learner in &measured.learners {
            let learned = learner.agreement(true);
            let tests = [learned.close(CLOSE), learned.consistent()];
            let name = &learner.name;
            let at = if name == "SGD" { " at its q_⋆" } else { "" };
            let distance = learned.distance().map_or("unknown".into(), |d| d.text());
            let text = format!(
                "After {tasks} tasks the error of {name} is {} on the newest and {} on the oldest. On all tasks learned so far \
                 the theory{at} is {distance} away (root mean square): {}.",
                learner.at_end(tasks, tasks),
                learner.at_end(tasks, 1),
                agreement(&tests)
            );
            said.push(format!("{distance} from {name}{at} ({})", agreement(&tests)));
            let question = format!(
                "Does the theory{at}, continued to {tasks} tasks, predict the memory of {name}?"
            );
            answers.push(Answer::new(question, text).tested(tests));
        }
        answers.push(to_come(measured));
        Judgement {
            found: format!("On the tasks learned so far the theory is {}.", said.join(" and ")),
            findings: Findings::Answers(answers),
            notes: vec![
                "Lines: theory. The lines of SGD are the theory with q_d held at the q_⋆ that it has at the end of each task.".into(),
                "All errors of a learner come from the same trials and count as one experiment.".into(),
            ]
            .into_iter()
            .chain(measured.breaking.map(|breaking| breaking.note()))
            .collect(),
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let sides = sides(results)?;
        let mut table = Table::new(["learner", "after_task", "task", "eps", "eps_se", "theory"]);
        for side in &sides {
            for (after, task, c) in side.errors() {
                table.push(vec![
                    side.name.into(),
                    (after as i64).into(),
                    (task as i64).into(),
                    c.simulation.into(),
                    c.standard_error.into(),
                    c.theory.into(),
                ]);
            }
        }
        Some(Drawing {
            figure: Figure::grid(vec![draw_ages(&sides), draw_courses(&sides)], 2),
            table,
        })
    }
}

/// Whether the theory also knows what is not learned yet.
fn to_come(measured: &Measured) -> Answer {
    let agreements: Vec<Agreement> =
        measured.learners.iter().map(|learner| learner.agreement(false)).collect();
    let said: Vec<String> = measured
        .learners
        .iter()
        .zip(&agreements)
        .map(|(learner, agreement)| {
            let distance = agreement.distance().map_or("unknown".into(), |d| d.text());
            format!("{distance} from {}", learner.name)
        })
        .collect();
    let tests = agreements.iter().flat_map(|a| [a.close(CLOSE), a.consistent()]);
    Answer::new(
        "And the error on tasks still to come, which resemble those that were learned?",
        format!("There the theory is {} (root mean square).", said.join(" and ")),
    )
    .tested(tests)
}

fn panel(title: &str, x: &str) -> Panel {
    Panel::new(title, Axis::linear(x), Axis::linear("ε").range(0.0, 0.55))
}

fn marker(index: usize) -> Marker {
    if index == 0 { Marker::Circle } else { Marker::Diamond }
}

/// The error on each task after the last.
fn draw_ages(sides: &[Side]) -> Panel {
    let mut ages = panel("error on each task after the last", "task");
    for (index, side) in sides.iter().enumerate() {
        let (color, tasks) = (Color::Palette(index), side.case.summary.ends.len());
        let at_end: Vec<&Comparison> =
            (0..tasks).filter_map(|task| side.error(tasks, task)).collect();
        let x: Vec<f64> = (1..=at_end.len()).map(|task| task as f64).collect();
        ages.push(
            Points::new(x.clone(), at_end.iter().map(|c| c.simulation).collect())
                .error(at_end.iter().map(|c| c.standard_error.unwrap_or(0.0)).collect())
                .label(side.name)
                .marker(marker(index))
                .color(color),
        );
        let theory = if index == 0 { "theory" } else { "theory at its q_⋆" };
        ages.push(
            Curve::new(x, at_end.iter().map(|c| c.theory.unwrap_or(f64::NAN)).collect())
                .label(theory)
                .color(color),
        );
    }
    ages
}

/// The error on two tasks after each task.
fn draw_courses(sides: &[Side]) -> Panel {
    let mut courses = panel("error on some tasks after each task", "after task");
    for (index, side) in sides.iter().enumerate() {
        let tasks = side.case.summary.ends.len();
        for (number, task) in [0, tasks / 2].into_iter().enumerate() {
            let found: Vec<(f64, &Comparison)> = (1..=tasks)
                .filter_map(|after| Some((after as f64, side.error(after, task)?)))
                .collect();
            let x: Vec<f64> = found.iter().map(|f| f.0).collect();
            let color = Color::Palette(index + 2 * number);
            courses.push(
                Points::new(x.clone(), found.iter().map(|f| f.1.simulation).collect())
                    .label(format!("{}, task {}", side.name, task + 1))
                    .marker(marker(index))
                    .color(color),
            );
            courses.push(
                Curve::new(x, found.iter().map(|f| f.1.theory.unwrap_or(f64::NAN)).collect())
                    .color(color),
            );
        }
    }
    courses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome;

    /// Samples and SGD that differ by so much from the theory on tasks that are learned.
    fn judge(difference: f64, se: f64, theory: Option<f64>) -> Vec<Answer> {
        let places = (1..=3).flat_map(|after| (1..=3).map(move |task| (after, task)));
        let error = |(after, task): (usize, usize)| {
            let apart = if task <= after { difference } else { 0.0 };
            let value = 0.3 + if (after + task) % 2 == 0 { apart } else { -apart };
            let simulation = Estimate { value, standard_error: Some(se), trials: Some(10) };
            TaskError { after, task, simulation, theory }
        };
        let learner = |name: &str| Remembered {
            name: name.into(),
            errors: places.clone().map(error).collect(),
        };
        let learners = vec![learner("samples"), learner("SGD")];
        let measured = Measured { tasks: 3, learners, breaking: None };
        match ChainOfTasks::judge(&measured).findings {
            Findings::Answers(answers) => answers,
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    fn outcomes(answer: &Answer) -> Vec<Outcome> {
        answer.tests.iter().map(|test| test.outcome).collect()
    }

    #[test]
    fn agreement_can_fail_in_either_way_and_be_open() {
        use Outcome::{Contradicted, Supported, Undecided};
        let said = |answers: &[Answer], text: &str| {
            assert!(answers[0].answer.contains(text), "{}", answers[0].answer);
        };
        let near = judge(0.002, 0.002, Some(0.3));
        assert_eq!(outcomes(&near[0]), [Supported, Supported]);
        said(&near, ": close, and it can be chance");
        let precise = judge(0.01, 0.001, Some(0.3));
        assert_eq!(outcomes(&precise[1]), [Supported, Contradicted]);
        said(&precise, ": close, and it is more than chance");
        let far = judge(0.1, 0.002, Some(0.3));
        assert_eq!(outcomes(&far[0]), [Contradicted, Contradicted]);
        said(&far, ": not close");
        // What is still to come is judged apart.
        assert_eq!(outcomes(&far[2])[0], Supported);
        let open = judge(0.02, 0.02, Some(0.3));
        assert_eq!(outcomes(&open[0]), [Undecided, Supported]);
        said(&open, "whether that is close is open, and it can be chance");
        let none = judge(0.002, 0.002, None);
        assert_eq!(outcomes(&none[0]), [Undecided, Undecided]);
        said(&none, "(theory none)");
    }
}
