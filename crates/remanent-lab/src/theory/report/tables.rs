//! Solutions as rows of a table.

use remanent_plot::{Cell, Table};
use remanent_theory::chain::TaskResult;
use remanent_theory::solution::Solution;

use super::Conclusion;
use crate::experiment::Detail;

/// A column: its name and what it holds.
pub(super) type Column = (&'static str, fn(&Solution) -> Cell);

pub(super) const ALL: [Column; 21] = [
    ("alpha", |s| Cell::Number(s.alpha)),
    ("beta", |s| Cell::Number(s.beta)),
    ("branch", |s| Cell::Text(s.branch.to_string())),
    ("q_d", |s| Cell::Number(s.q_d)),
    ("q_0", |s| Cell::Number(s.q_0)),
    ("r", |s| Cell::Number(s.r)),
    ("q_d_hat", |s| Cell::Number(s.q_d_hat)),
    ("q_0_hat", |s| Cell::Number(s.q_0_hat)),
    ("r_hat", |s| Cell::Number(s.r_hat)),
    ("p", |s| Cell::Number(s.p)),
    ("eps", |s| Cell::Number(s.eps)),
    ("ln_eps", |s| Cell::Number(s.ln_eps)),
    ("one_minus_p", |s| Cell::Number(s.one_minus_p)),
    ("one_minus_q_d", |s| Cell::Number(s.one_minus_q_d)),
    ("q_d_minus_q_0", |s| Cell::Number(s.q_d_minus_q_0)),
    ("q_0_minus_r2", |s| Cell::Number(s.q_0_minus_r2)),
    ("minus_beta_f", |s| Cell::Number(s.minus_beta_f)),
    ("replicon", |s| Cell::Number(s.replicon)),
    ("residual", |s| Cell::Number(s.residual)),
    ("quadrature_error", |s| Cell::Number(s.quadrature_error)),
    ("termination", |s| Cell::Text(s.termination.to_string())),
];

/// What fits on a terminal.
const SHORT: [&str; 11] = [
    "alpha",
    "beta",
    "branch",
    "q_d",
    "q_0",
    "r",
    "p",
    "eps",
    "minus_beta_f",
    "replicon",
    "termination",
];

/// The columns of a table of these rows. On a terminal the estimate of the error is shown
/// where some row is inaccurate.
fn columns<'a>(detail: Detail, rows: impl IntoIterator<Item = &'a Solution>) -> Vec<Column> {
    let inaccurate = rows.into_iter().any(|s| s.is_found() && !s.is_converged());
    let shown = |c: &Column| {
        detail == Detail::Full || SHORT.contains(&c.0) || (inaccurate && c.0 == "quadrature_error")
    };
    ALL.into_iter().filter(shown).collect()
}

/// One row per solution.
pub(super) fn solutions<'a>(rows: impl IntoIterator<Item = &'a Solution>, detail: Detail) -> Table {
    let rows: Vec<&Solution> = rows.into_iter().collect();
    let columns = columns(detail, rows.iter().copied());
    let mut table = Table::new(columns.iter().map(|c| c.0));
    for row in rows {
        table.push(columns.iter().map(|c| (c.1)(row)).collect());
    }
    table
}

/// The solutions of a chain's tasks from which it does not continue.
pub(super) fn others(tasks: &[TaskResult]) -> Table {
    let columns = columns(Detail::Short, tasks.iter().flat_map(|t| &t.other_solutions));
    let names = ["other solution of task"].into_iter().chain(columns.iter().map(|c| c.0));
    let mut table = Table::new(names);
    for task in tasks {
        for solution in &task.other_solutions {
            let mut cells = vec![Cell::Integer(task.task as i64)];
            cells.extend(columns.iter().map(|c| (c.1)(solution)));
            table.push(cells);
        }
    }
    table
}

/// A task of a chain as a row: the scanned values, the number of the task, the cells of its own columns, and the
/// error on every task.
pub(super) struct TaskRow {
    pub(super) at: Vec<f64>,
    pub(super) task: usize,
    pub(super) cells: Vec<Cell>,
    pub(super) errors: Vec<f64>,
}

/// Tasks of one or more chains. A leading name that is among the columns as well stands there once: a scan of
/// `alpha` sets that of every task.
pub(super) fn task_rows(
    leading: &[String],
    columns: Vec<String>,
    rows: impl IntoIterator<Item = TaskRow>,
    tasks: usize,
) -> Table {
    let leads: Vec<bool> = leading.iter().map(|name| !columns.contains(name)).collect();
    let names = leading
        .iter()
        .zip(&leads)
        .filter(|(_, leads)| **leads)
        .map(|(name, _)| name.clone())
        .chain(["task".to_owned()])
        .chain(columns)
        .chain((1..=tasks).map(|k| format!("eps_{k}")));
    let mut table = Table::new(names);
    for row in rows {
        let at = row.at.into_iter().zip(&leads).filter_map(|(value, leads)| leads.then_some(value));
        let mut cells: Vec<Cell> = at.map(Cell::Number).collect();
        cells.push(Cell::Integer(row.task as i64));
        cells.extend(row.cells);
        let errors = row.errors.into_iter().chain(std::iter::repeat(f64::NAN));
        cells.extend(errors.take(tasks).map(Cell::Number));
        table.push(cells);
    }
    table
}

/// Tasks of one or more chains with their potentials and solutions.
pub(super) fn tasks<'a>(
    leading: &[String],
    rows: impl IntoIterator<Item = (Vec<f64>, &'a TaskResult)>,
    tasks: usize,
    detail: Detail,
) -> Table {
    let rows: Vec<(Vec<f64>, &TaskResult)> = rows.into_iter().collect();
    let columns: Vec<Column> = columns(detail, rows.iter().map(|(_, task)| &task.solution))
        .into_iter()
        .filter(|column| keep(column.0))
        .collect();
    let names = ["potential"].into_iter().chain(columns.iter().map(|c| c.0)).map(str::to_owned);
    let row = |(at, task): (Vec<f64>, &TaskResult)| {
        let own = columns.iter().map(|c| (c.1)(&task.solution));
        TaskRow {
            at,
            task: task.task,
            cells: [Cell::Number(task.potential)].into_iter().chain(own).collect(),
            errors: task.eps_by_task.clone(),
        }
    };
    task_rows(leading, names.collect(), rows.into_iter().map(row), tasks)
}

/// The potential has a column of its own, and the own error is among the errors.
fn keep(name: &str) -> bool {
    !["minus_beta_f", "eps"].contains(&name)
}

/// How many of `expected` rows have no solution, and how many are inaccurate.
pub(super) fn conclusion<'a>(
    rows: impl IntoIterator<Item = &'a Solution>,
    expected: usize,
) -> Conclusion {
    let (mut found, mut converged) = (0, 0);
    for row in rows {
        found += usize::from(row.is_found());
        converged += usize::from(row.is_converged());
    }
    let mut conclusion = Conclusion::default();
    if found > converged {
        let text = "are inaccurate: quadrature_error says how far they can be trusted";
        conclusion.missing(format!("{} of {expected} rows {text}", found - converged));
    }
    if expected > found {
        conclusion.missing(format!("{} of {expected} rows have no solution", expected - found));
    }
    conclusion
}
