//! Solutions with one step of replica-symmetry breaking (1RSB), beside the replica-symmetric ones (RS).

use remanent_lab::theory::{BrokenBranches, BrokenChain, BrokenCurve, BrokenRow, known};
use remanent_plot::{Color, Curve, Dash, Panel};
use remanent_theory::curve::Branch;
use remanent_theory::parameters::Choice;
use remanent_theory::rsb::{BrokenTask, TOLERANCE};
use remanent_theory::single::SingleTask;

use serde::{Deserialize, Serialize};

use crate::results::Results;

/// The answer to a question of `branches` with `rsb`.
pub fn curves(results: &Results, question: usize) -> Option<&BrokenBranches> {
    results.theory.get(question)?.as_broken()?.as_branches()
}

/// By how much ε falls where the broken poor and the good solution exchange stability; 0 if they never
/// do, none if there is no error on one side.
pub fn jump(curve: &BrokenCurve) -> Option<f64> {
    match curve.crossing() {
        Some([poor, good]) => Some(known(poor.solution.eps)? - known(good.solution.eps)?),
        None => Some(0.0),
    }
}

/// ε of the stable state at each α with at most one step; none if there is no solution.
pub fn stable_errors(beta: f64, alphas: impl IntoIterator<Item = f64>) -> Vec<Option<f64>> {
    let task = SingleTask::new(beta).ok().map(BrokenTask::new);
    let error = |alpha: f64| {
        let found = task.as_ref()?.as_needed(alpha, Choice::Stable, TOLERANCE, 1).ok()?;
        Some(found.solution.eps).filter(|eps| found.solution.is_found() && eps.is_finite())
    };
    alphas.into_iter().map(error).collect()
}

/// What one step of replica-symmetry breaking does in the tasks of one or more chains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breaking {
    /// All tasks of all chains.
    tasks: usize,
    /// Those that take a step.
    broken: usize,
    /// The smallest stability of those that take none.
    smallest: Option<f64>,
}

impl Breaking {
    /// Reads the answer to a question of `chain` with `rsb`; none if it was not asked.
    pub fn of(results: &Results, question: usize) -> Option<Self> {
        let chains = results.theory.get(question)?.as_broken()?.as_chain()?;
        let rows = || chains.iter().flat_map(BrokenChain::rows);
        let smallest = rows().filter(|row| row.rsb == 0).filter_map(|row| row.lambda_0);
        Some(Self {
            tasks: rows().count(),
            broken: rows().filter(|row| row.rsb > 0).count(),
            smallest: smallest.reduce(f64::min),
        })
    }

    /// What it says of the numbers of a figure, which are replica-symmetric.
    pub fn note(&self) -> String {
        let Self { tasks, broken, smallest } = self;
        let smallest = smallest.map_or(String::new(), |value| {
            format!(": the smallest replicon of a task that takes none is {value:.3}")
        });
        match broken {
            0 => format!(
                "One step of replica-symmetry breaking changes nothing here. None of the {tasks} tasks of the free chains takes \
                 a step{smallest}."
            ),
            _ => format!(
                "{broken} of the {tasks} tasks of the free chains take a step of replica-symmetry breaking{smallest}."
            ),
        }
    }
}

/// The rows of the broken poor branch that are stable, from its onset to where it exchanges stability with
/// the good branch, and the others, from there to its end and back.
fn parts(curve: &BrokenCurve) -> [Vec<&BrokenRow>; 2] {
    let crossing = curve.crossing().map(|[poor, _]| poor);
    let is_stable = |row: &BrokenRow| {
        row.solution.branch == Branch::Poor
            && crossing.is_none_or(|at| row.solution.alpha < at.solution.alpha)
    };
    let begins = curve.landmarks("condensation").next().or_else(|| curve.landmarks("onset").next());
    let before = curve.rows.iter().filter(|row| is_stable(row));
    let after = curve.rows.iter().filter(|row| !is_stable(row));
    [
        begins.into_iter().chain(before).chain(crossing).collect(),
        crossing.into_iter().chain(after).collect(),
    ]
}

fn line(rows: &[&BrokenRow], of: impl Fn(&BrokenRow) -> f64) -> Curve {
    let (x, y) = rows.iter().map(|row| (row.solution.alpha, of(row))).unzip();
    Curve::new(x, y)
}

/// Draws a quantity along the broken poor branch where it is stable.
pub fn draw_stable(
    panel: &mut Panel,
    curve: &BrokenCurve,
    of: impl Fn(&BrokenRow) -> f64,
    label: Option<&str>,
    color: Color,
    dash: Dash,
) {
    let drawn = line(&parts(curve)[0], of).color(color).dash(dash);
    panel.push(match label {
        Some(label) => drawn.label(label),
        None => drawn,
    });
}

/// The same, with a thin broken line from there to its end and back.
pub fn draw(
    panel: &mut Panel,
    curve: &BrokenCurve,
    of: impl Fn(&BrokenRow) -> f64,
    label: Option<&str>,
    color: Color,
    dash: Dash,
) {
    draw_stable(panel, curve, &of, label, color, dash);
    panel.push(line(&parts(curve)[1], &of).color(color).dash(Dash::Dashed).width(1.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_lowers_the_error_where_symmetry_is_broken_and_only_there() {
        let alphas = [0.5, 1.4, 1.6];
        let one_step = stable_errors(20.0, alphas);
        let symmetric = alphas.map(|alpha| super::super::solutions::stable_error(20.0, alpha));
        let near = |i: usize| (one_step[i].unwrap() - symmetric[i].unwrap()).abs() < 1e-8;
        assert!(near(0) && !near(1) && !near(2));
        assert!((one_step[1].unwrap() - 0.19195).abs() < 1e-5);
        // Beyond the crossing with one step the good solution is the stable one.
        assert!(one_step[2].unwrap() < 0.03 && symmetric[2].unwrap() > 0.2);
        assert_eq!(stable_errors(-1.0, [1.0]), [None]);
    }

    #[test]
    fn a_note_says_whether_any_task_is_broken() {
        let whole = Breaking { tasks: 4, broken: 0, smallest: Some(0.25) };
        assert!(whole.note().contains("changes nothing") && whole.note().contains("0.250"));
        let broken = Breaking { tasks: 4, broken: 3, smallest: None };
        assert!(
            broken.note().starts_with("3 of the 4 tasks") && broken.note().ends_with("breaking.")
        );
    }
}
