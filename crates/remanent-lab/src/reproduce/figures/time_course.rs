//! Figure 5: accuracies of large perceptrons over time, and the theory's.

use remanent_plot::{Axis, Cell, Color, Figure, Marker, Panel, Points, Table, VerticalLine};

use super::words::{also, capital, decides, percent};
use crate::lines::{self, Measured};
use crate::reproduce::results::{Results, Shown};
use crate::simulation::{Against, Comparison};

/// How near is an excellent agreement.
const EXCELLENT: f64 = 0.02;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let case = results.simulated.first()?;
    let (rows, ends) = (&case.summary.rows, &case.summary.ends);
    let tasks = ends.len();
    let comparison = case.compared()?;
    let mut panel = Panel::new(
        "accuracy on both tasks",
        Axis::linear("epoch"),
        Axis::linear("accuracy 1 − ε").upper(1.02),
    );
    for end in &ends[..tasks - 1] {
        panel.push(VerticalLine::new(end.epoch as f64));
    }
    let mut table = Table::new(["source", "epoch", "task", "accuracy", "accuracy_se"]);
    for task in 0..tasks {
        let color = Color::Palette(task);
        let measured = rows.iter().map(|row| Measured {
            x: row.epoch as f64,
            mean: 1.0 - row.eps[task],
            error: row.eps_se[task],
        });
        let name = format!("SGD, task {}", task + 1);
        lines::draw(&mut panel, &measured.collect::<Vec<_>>(), |line| {
            line.label(name.clone()).color(color)
        });
        for row in rows {
            table.push(vec![
                "sgd".into(),
                (row.epoch as i64).into(),
                (task as i64 + 1).into(),
                (1.0 - row.eps[task]).into(),
                row.eps_se[task].into(),
            ]);
        }
        for (against, marker, name) in [
            (Against::Constrained, Marker::Circle, "theory at the q_⋆ reached"),
            (Against::Chain, Marker::Diamond, "theory, β = 20"),
        ] {
            let found: Vec<(f64, f64)> = errors(&comparison, against, task)
                .filter_map(|c| Some((ends.get(c.task - 1)?.epoch as f64, 1.0 - c.theory?)))
                .collect();
            for (epoch, accuracy) in &found {
                table.push(vec![
                    name.into(),
                    (*epoch).into(),
                    (task as i64 + 1).into(),
                    (*accuracy).into(),
                    Cell::Missing,
                ]);
            }
            let (x, y) = found.into_iter().unzip();
            let points = Points::new(x, y).marker(marker).color(color);
            let points = if against == Against::Constrained { points.hollow() } else { points };
            // Colours tell the tasks.
            panel.push(if task == 0 { points.label(name) } else { points });
        }
    }
    let (mut checks, mut said) = (Vec::new(), Vec::new());
    for task in 0..tasks {
        for c in errors(&comparison, Against::Chain, task) {
            let theory = c.theory?;
            let distance = (c.simulation - theory).abs();
            let text = format!(
                "after task {} the accuracy on task {} is {}, and {} in theory",
                c.task,
                task + 1,
                percent(1.0 - c.simulation),
                percent(1.0 - theory)
            );
            // What is not yet learned is known without theory or training: it is no test of either.
            let to_come = task >= c.task;
            let check = if to_come {
                also(&*text, distance <= EXCELLENT)
            } else {
                decides(&*text, distance <= EXCELLENT)
            };
            checks.push(check);
            if !to_come {
                said.push(text);
            }
        }
    }
    let apart = |against| {
        errors(&comparison, against, 0)
            .chain(errors(&comparison, against, 1))
            .filter_map(|c| Some((c.simulation - c.theory?).abs()))
            .fold(0.0, f64::max)
    };
    let (free, held) = (apart(Against::Chain), apart(Against::Constrained));
    Some(Shown {
        figure: Figure::single(panel),
        table,
        found: format!(
            "{}; the largest distance is {}, and {} from the theory at the q_⋆ that SGD reaches.",
            capital(&said.join("; ")),
            percent(free),
            percent(held)
        ),
        checks,
        notes: vec![
            format!(
                "Agreement counts as excellent within {}. The accuracy on the second task before it is learned is that of the task still to come.",
                percent(EXCELLENT)
            ),
            "Ours: momentum and the number of epochs, which no source states.".into(),
        ],
    })
}

/// The errors on one task (from 0) after each task.
fn errors(
    comparison: &[Comparison],
    against: Against,
    task: usize,
) -> impl Iterator<Item = &Comparison> {
    let quantity = format!("eps.{}", task + 1);
    comparison.iter().filter(move |c| c.against == against && c.quantity == quantity)
}
