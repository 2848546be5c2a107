//! Figure 5: accuracies of large perceptrons over time, and the theory's.

use remanent_lab::lines;
use remanent_lab::simulation::{self, Against, Comparison};
use remanent_plot::{Axis, Cell, Color, Figure, Marker, Panel, Points, Table, VerticalLine};
use serde::{Deserialize, Serialize};

use super::one_step::Breaking;
use super::words::{error, list};
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::CLOSE;
use crate::verdict::{Agreement, Claim, Estimate, Findings, Pair};

/// Figures 5a and 5b.
pub struct TimeCourse;

/// The errors at the end of each task, beside both theories.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    errors: Vec<Ended>,
    norms: Vec<Norm>,
    /// What one step of replica-symmetry breaking does in the free chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    breaking: Option<Breaking>,
}

/// The error on a task after another, both from 1.
#[derive(Serialize, Deserialize)]
struct Ended {
    after: usize,
    task: usize,
    /// ε of every trial.
    eps: Vec<f64>,
    /// The theory with q_⋆ free; none without a solution.
    free: Option<f64>,
    /// The same with at most one step of replica-symmetry breaking in each task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    one_step: Option<f64>,
    /// The theory at the q_⋆ that training reaches.
    held: Option<f64>,
}

/// q_⋆ at the end of a task.
#[derive(Serialize, Deserialize)]
struct Norm {
    after: usize,
    reached: Estimate,
    /// That of the theory with q_⋆ free.
    free: Option<f64>,
}

/// A theory, and how the picture shows it.
const THEORIES: [(Against, Marker, &str); 2] = [
    (Against::Constrained, Marker::Circle, "theory at the q_⋆ reached"),
    (Against::Chain, Marker::Diamond, "theory, β = 20"),
];

impl Ended {
    /// Whether the task was learned by then. What is still to come is known without theory or training:
    /// it is no test of either.
    fn is_learned(&self) -> bool {
        self.task <= self.after
    }
}

impl Measured {
    /// Training beside one of the theories. All numbers are from the same trials: one experiment.
    fn agreement(&self, against: Against, learned: bool) -> Agreement {
        let theory = |ended: &Ended| match against {
            Against::Chain => ended.free,
            Against::Constrained | Against::Ensemble => ended.held,
        };
        let pair = |ended: &Ended| {
            let simulation = Estimate::of(ended.eps.iter().copied())?;
            Some(Pair { simulation, theory: theory(ended) })
        };
        let pairs = self.errors.iter().filter(|ended| ended.is_learned() == learned);
        let which = match against {
            Against::Chain => "the free chain at β = 20",
            Against::Constrained | Against::Ensemble => "the theory at the q_⋆ reached",
        };
        let tasks = if learned { "learned" } else { "still to come" };
        let what = format!("errors on tasks {tasks}, training and {which}");
        Agreement::new(what, pairs.filter_map(pair).collect(), 1)
    }

    fn found(&self) -> String {
        let distance = |against| {
            let distance = self.agreement(against, true).distance();
            distance.map_or("an unknown distance".into(), |distance| distance.text())
        };
        let reached: Vec<String> = self
            .norms
            .iter()
            .map(|norm| {
                let free = norm.free.map_or("unknown".into(), |q| format!("{q:.4}"));
                format!("{} after task {} (free: {free})", norm.reached.text(), norm.after)
            })
            .collect();
        format!(
            "The errors on the tasks learned so far are {} (root mean square) from the free chain at β = 20, and {} from \
             the theory at the q_⋆ that training reaches. This q_⋆ is {}.",
            distance(Against::Chain),
            distance(Against::Constrained),
            list(&reached)
        )
    }

    /// What one step changes in the free chain.
    fn breaking(&self) -> Option<String> {
        let changes = self
            .errors
            .iter()
            .filter_map(|e| Some((e.one_step? - e.free?).abs()))
            .reduce(f64::max)?;
        Some(format!(
            "{} The errors of the free chain with and without it differ by {changes:.1e} at most.",
            self.breaking?.note()
        ))
    }

    fn numbers(&self) -> Vec<String> {
        let text = |theory: Option<f64>| theory.map_or("unknown".into(), error);
        let number = |ended: &Ended| {
            Some(format!(
                "After task {} the error on task {} is {}; {} in the free chain, {} at the q_⋆ reached.",
                ended.after,
                ended.task,
                Estimate::of(ended.eps.iter().copied())?.text(),
                text(ended.free),
                text(ended.held)
            ))
        };
        self.errors.iter().filter(|ended| ended.is_learned()).filter_map(number).collect()
    }
}

impl Study for TimeCourse {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let case = results.simulated.first()?;
        let comparison = case.compared()?;
        let theory = |against, after: usize, quantity: &str| {
            let same =
                |c: &&Comparison| c.against == against && c.task == after && c.quantity == quantity;
            comparison.iter().find(same)?.theory
        };
        let tasks = case.summary.ends.len();
        let (mut errors, mut norms) = (Vec::new(), Vec::new());
        for after in 1..=tasks {
            let reached = case.summary.ends[after - 1].q_star.into();
            norms.push(Norm { after, reached, free: theory(Against::Chain, after, "q_d") });
            for task in 1..=tasks {
                let quantity = format!("eps_{task}");
                errors.push(Ended {
                    after,
                    task,
                    eps: case.errors_after(after - 1, task - 1)?,
                    free: theory(Against::Chain, after, &quantity),
                    one_step: one_step(results, after, task),
                    held: theory(Against::Constrained, after, &quantity),
                });
            }
        }
        Some(Measured { errors, norms, breaking: Breaking::of(results, 0) })
    }

    fn judge(measured: &Measured) -> Judgement {
        let learned =
            [Against::Chain, Against::Constrained].map(|against| measured.agreement(against, true));
        let to_come = [Against::Chain, Against::Constrained]
            .map(|against| measured.agreement(against, false));
        let claim = Claim::new(
            "Theory and training are in excellent agreement.",
            "Sec. II C, Fig. 5",
            learned.iter().map(|agreement| agreement.close(CLOSE)).collect(),
        )
        .remark(learned.iter().map(Agreement::consistent))
        .remark(to_come.iter().map(|agreement| agreement.close(CLOSE)));
        let mut notes = measured.numbers();
        notes.push(
            "Two theories decide: training does not stop at the q_⋆ of the free chain, so that an agreement with it alone \
             can be chance."
                .into(),
        );
        notes.extend(measured.breaking());
        notes.push("Ours: momentum and the number of epochs, which no source states.".into());
        Judgement { found: measured.found(), findings: Findings::Claims(vec![claim]), notes }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let case = results.simulated.first()?;
        let ends = &case.summary.ends;
        let comparison = case.compared()?;
        let mut panel = Panel::new(
            "accuracy on both tasks",
            Axis::linear("epoch"),
            Axis::linear("accuracy 1 − ε").upper(1.02),
        );
        for end in &ends[..ends.len() - 1] {
            panel.push(VerticalLine::new(end.epoch as f64));
        }
        let mut table = Table::new(["source", "epoch", "task", "accuracy", "accuracy_se"]);
        for task in 0..ends.len() {
            draw_training(&mut panel, &mut table, case, task);
            for theory in THEORIES {
                draw_theory(
                    &mut panel,
                    &mut table,
                    case,
                    errors(&comparison, theory.0, task),
                    theory,
                    task,
                );
            }
            draw_one_step(&mut panel, &mut table, results, ends, task);
        }
        Some(Drawing { figure: Figure::single(panel), table })
    }
}

/// The accuracy on a task (from 0) over epochs.
fn draw_training(panel: &mut Panel, table: &mut Table, case: &Simulated, task: usize) {
    let rows = &case.summary.rows;
    let measured = rows.iter().map(|row| lines::Measured {
        x: row.epoch as f64,
        mean: 1.0 - row.eps[task],
        error: row.eps_se[task],
    });
    let name = format!("SGD, task {}", task + 1);
    lines::draw(panel, &measured.collect::<Vec<_>>(), |line| {
        line.label(name.clone()).color(Color::Palette(task))
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
}

/// The accuracy of a theory on a task (from 0) at the end of each task.
fn draw_theory<'a>(
    panel: &mut Panel,
    table: &mut Table,
    case: &Simulated,
    errors: impl Iterator<Item = &'a Comparison>,
    (against, marker, name): (Against, Marker, &str),
    task: usize,
) {
    let ends = &case.summary.ends;
    let found: Vec<(f64, f64)> = errors
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
    let points = Points::new(x, y).marker(marker).color(Color::Palette(task));
    let points = if against == Against::Constrained { points.hollow() } else { points };
    // Colours tell the tasks.
    panel.push(if task == 0 { points.label(name) } else { points });
}

/// The error on a task after another, both from 1, with one step of breaking where it is needed.
fn one_step(results: &Results, after: usize, task: usize) -> Option<f64> {
    let chains = results.theory.first()?.as_broken()?.as_chain()?;
    *chains.first()?.tasks.get(after - 1)?.eps_by_task.get(task - 1)?
}

/// The accuracy of the free chain with one step of breaking on a task (from 0) at the end of each task.
fn draw_one_step(
    panel: &mut Panel,
    table: &mut Table,
    results: &Results,
    ends: &[simulation::TaskEnd],
    task: usize,
) {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (after, end) in ends.iter().enumerate() {
        let Some(eps) = one_step(results, after + 1, task + 1) else { continue };
        x.push(end.epoch as f64);
        y.push(1.0 - eps);
        table.push(vec![
            "theory, β = 20, one step".into(),
            (end.epoch as f64).into(),
            (task as i64 + 1).into(),
            (1.0 - eps).into(),
            Cell::Missing,
        ]);
    }
    let points = Points::new(x, y).marker(Marker::Square).hollow().color(Color::Palette(task));
    panel.push(if task == 0 { points.label("the same, 1RSB") } else { points });
}

/// The errors on one task (from 0) after each task.
fn errors(
    comparison: &[Comparison],
    against: Against,
    task: usize,
) -> impl Iterator<Item = &Comparison> {
    let quantity = format!("eps_{}", task + 1);
    comparison.iter().filter(move |c| c.against == against && c.quantity == quantity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

    /// Training after two tasks, at this distance from each theory, with this number of trials.
    fn measured(free: Option<f64>, held: Option<f64>, trials: usize) -> Measured {
        let noise = [0.002, -0.002, 0.001, -0.001, 0.0];
        let errors = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(after, task)| {
            // Tasks still to come are far from any theory.
            let eps = if task > after { 0.3 } else { 0.1 };
            Ended {
                after,
                task,
                eps: noise.iter().take(trials).map(|noise| eps + noise).collect(),
                free: free.map(|apart| 0.1 + apart),
                one_step: free.map(|apart| 0.1 + apart),
                held: held.map(|apart| 0.1 + apart),
            }
        });
        Measured { errors: errors.into(), norms: Vec::new(), breaking: None }
    }

    fn claim(measured: &Measured) -> Claim {
        match TimeCourse::judge(measured).findings {
            Findings::Claims(mut claims) => claims.remove(0),
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    fn outcome(free: Option<f64>, held: Option<f64>, trials: usize) -> Outcome {
        claim(&measured(free, held, trials)).outcome
    }

    #[test]
    fn both_theories_must_be_close() {
        assert_eq!(outcome(Some(0.005), Some(-0.005), 5), Supported);
        assert_eq!(outcome(Some(0.005), Some(0.05), 5), Contradicted);
        assert_eq!(outcome(Some(0.05), Some(0.005), 5), Contradicted);
        assert_eq!(outcome(Some(0.005), Some(0.0205), 5), Undecided);
        assert_eq!(outcome(Some(0.005), None, 5), Undecided);
        assert_eq!(outcome(Some(0.005), Some(0.005), 2), Undecided);
    }

    #[test]
    fn tasks_still_to_come_are_remarks() {
        let claim = claim(&measured(Some(0.001), Some(0.01), 5));
        let remarks: Vec<Outcome> = claim.remarks.iter().map(|test| test.outcome).collect();
        assert_eq!(remarks, [Supported, Contradicted, Contradicted, Contradicted]);
        assert_eq!(claim.outcome, Supported);
    }
}
