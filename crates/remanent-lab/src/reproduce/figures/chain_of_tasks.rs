//! Figure B2: ten tasks, theory against simulation.

use remanent_plot::{Axis, Color, Curve, Figure, Marker, Panel, Points, Table};

use super::words::{also, decides, error, root_mean_square};
use crate::reproduce::results::{Results, Shown, Simulated};
use crate::simulation::{Against, Comparison, Learner};

/// How far the theory may be from what it predicts.
const AGREES: f64 = 0.02;

struct Side<'a> {
    case: &'a Simulated,
    against: Against,
    name: &'static str,
    comparison: Vec<Comparison>,
}

impl Side<'_> {
    /// The error on one task (from 0) after another (from 1): simulation and theory.
    fn error(&self, after: usize, task: usize) -> Option<&Comparison> {
        let quantity = format!("eps.{}", task + 1);
        let same = |c: &&Comparison| {
            c.against == self.against && c.task == after && c.quantity == quantity
        };
        self.comparison.iter().find(same)
    }
}

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let sides: Vec<Side> = results
        .simulated
        .iter()
        .map(|case| {
            let comparison = case.compared()?;
            let (against, name) = match case.simulation.learner {
                Learner::Boltzmann(_) => (Against::Ensemble, "sampled"),
                Learner::Gradient(_) => (Against::Constrained, "SGD"),
            };
            Some(Side { case, against, name, comparison })
        })
        .collect::<Option<_>>()?;
    let tasks = sides.first()?.case.summary.ends.len();
    let mut ages = Panel::new(
        "error on each task after the last",
        Axis::linear("task"),
        Axis::linear("ε").range(0.0, 0.55),
    );
    let mut courses = Panel::new(
        "error on some tasks after each task",
        Axis::linear("after task"),
        Axis::linear("ε").range(0.0, 0.55),
    );
    let mut table = Table::new(["learner", "after_task", "task", "eps", "eps_se", "theory"]);
    let (mut apart, mut rms_all) = (Vec::new(), Vec::new());
    for (index, side) in sides.iter().enumerate() {
        let color = Color::Palette(index);
        let marker = if index == 0 { Marker::Circle } else { Marker::Diamond };
        let at_end: Vec<&Comparison> =
            (0..tasks).filter_map(|task| side.error(tasks, task)).collect();
        let x: Vec<f64> = (1..=at_end.len()).map(|task| task as f64).collect();
        ages.push(
            Points::new(x.clone(), at_end.iter().map(|c| c.simulation).collect())
                .error(at_end.iter().map(|c| c.standard_error.unwrap_or(0.0)).collect())
                .label(side.name)
                .marker(marker)
                .color(color),
        );
        let theory = if index == 0 { "theory" } else { "theory at its q_⋆" };
        ages.push(
            Curve::new(x, at_end.iter().map(|c| c.theory.unwrap_or(f64::NAN)).collect())
                .label(theory)
                .color(color),
        );
        for (number, task) in [0, tasks / 2].into_iter().enumerate() {
            let found: Vec<(f64, &Comparison)> = (1..=tasks)
                .filter_map(|after| Some((after as f64, side.error(after, task)?)))
                .collect();
            let x: Vec<f64> = found.iter().map(|f| f.0).collect();
            let color = Color::Palette(index + 2 * number);
            courses.push(
                Points::new(x.clone(), found.iter().map(|f| f.1.simulation).collect())
                    .label(format!("{}, task {}", side.name, task + 1))
                    .marker(marker)
                    .color(color),
            );
            courses.push(
                Curve::new(x, found.iter().map(|f| f.1.theory.unwrap_or(f64::NAN)).collect())
                    .color(color),
            );
        }
        let mut differences = Vec::new();
        for after in 1..=tasks {
            for task in 0..tasks {
                let Some(c) = side.error(after, task) else { continue };
                table.push(vec![
                    side.name.into(),
                    (after as i64).into(),
                    (task as i64 + 1).into(),
                    c.simulation.into(),
                    c.standard_error.into(),
                    c.theory.into(),
                ]);
                if let Some(theory) = c.theory {
                    differences.push(c.simulation - theory);
                }
            }
        }
        apart.push(differences.iter().fold(0.0, |worst: f64, d| worst.max(d.abs())));
        rms_all.push(root_mean_square(differences));
    }
    let sampled = sides.first()?;
    let oldest = sampled.error(tasks, 0)?;
    let newest = sampled.error(tasks, tasks - 1)?;
    let mut checks = vec![
        decides(
            format!(
                "samples and theory differ by {} (root mean square over all tasks and times), less than {AGREES}",
                error(rms_all[0])
            ),
            rms_all[0] <= AGREES,
        ),
        also(
            format!("nowhere do they differ by more than 0.05 ({})", error(apart[0])),
            apart[0] <= 0.05,
        ),
    ];
    if let (Some(rms), Some(worst)) = (rms_all.get(1), apart.get(1)) {
        checks.push(also(
            format!(
                "SGD and the theory at its q_⋆ differ by {} (root mean square, less than {AGREES}; {} at most)",
                error(*rms),
                error(*worst)
            ),
            *rms <= AGREES,
        ));
    }
    Some(Shown {
        figure: Figure::grid(vec![ages, courses], 2),
        table,
        found: format!(
            "After {tasks} tasks the newest has an error of {} (theory {}) and the oldest of {} (theory {}); over all tasks \
             and times samples and theory differ by {}.",
            error(newest.simulation),
            error(newest.theory?),
            error(oldest.simulation),
            error(oldest.theory?),
            error(rms_all[0])
        ),
        checks,
        notes: vec!["Lines: theory. The lines of SGD are the theory with q_d held at the q_⋆ that it has at the end of each task.".into()],
    })
}
