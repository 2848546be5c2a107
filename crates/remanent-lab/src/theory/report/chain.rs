//! What is shown of `theory chain`.

use remanent_plot::{Axis, Color, Curve, Figure, Map, Panel, Table};
use remanent_theory::chain::TaskResult;
use remanent_theory::curve::Branch;
use remanent_theory::scan::{ScanAxis, ScanPoint};
use serde_json::{Value, json};

use super::{Conclusion, tables as rows};
use crate::experiment::Detail;
use crate::theory::{BrokenChain, BrokenTaskRow};

/// The name of a scanned parameter in a column: `alpha2` for `alpha.2`, `r0_1` for `r0.1`.
pub(super) fn column(name: &str) -> String {
    name.replace('.', if name.starts_with("r0") { "_" } else { "" })
}

/// A chain, or all points of a scan.
pub(in crate::theory) fn json(points: &[ScanPoint], is_scanned: bool) -> Value {
    match points {
        [point] if !is_scanned => json!(point.chain),
        points => json!(points.iter().map(shown).collect::<Vec<_>>()),
    }
}

/// A point with the scanned parameters under the names of columns.
fn shown(point: &ScanPoint) -> ScanPoint {
    let at = point.at.iter().map(|(name, value)| (column(name), *value)).collect();
    ScanPoint { at, chain: point.chain.clone() }
}

pub(super) fn conclusion(points: &[ScanPoint], tasks: usize, is_scanned: bool) -> Conclusion {
    let all = points.iter().flat_map(|point| &point.chain.tasks);
    let unstable = all.clone().filter(|task| task.solution.replicon < 0.0).count();
    let note = format!(
        "replica symmetry is broken in {unstable} of {} tasks (replicon < 0); --rsb 1 takes a step of breaking \
         where it is needed",
        all.count()
    );
    let with_note = |mut conclusion: Conclusion| {
        if unstable > 0 {
            conclusion.note(note);
        }
        conclusion
    };
    if !is_scanned && let [point] = points {
        return with_note(rows::conclusion(point.chain.tasks.iter().map(|t| &t.solution), tasks));
    }
    let complete = |p: &&ScanPoint| p.chain.tasks.len() == tasks && p.chain.is_converged();
    let missing = points.len() - points.iter().filter(complete).count();
    let mut conclusion = Conclusion::default();
    if missing > 0 {
        conclusion.missing(format!("{missing} of {} rows have no solution", points.len()));
    }
    with_note(conclusion)
}

pub(super) fn tables(
    points: &[ScanPoint],
    axes: &[ScanAxis],
    tasks: usize,
    detail: Detail,
) -> Vec<Table> {
    let names: Vec<String> = axes.iter().map(|axis| column(&axis.name)).collect();
    let tasks_of = points.iter().flat_map(|p| {
        let at: Vec<f64> = p.at.iter().map(|(_, value)| *value).collect();
        p.chain.tasks.iter().map(move |task| (at.clone(), task))
    });
    let mut all = vec![rows::tasks(&names, tasks_of, tasks, detail)];
    if let ([], [point], Detail::Short) = (axes, points, detail)
        && point.chain.tasks.iter().any(|task| !task.other_solutions.is_empty())
    {
        all.push(rows::others(&point.chain.tasks));
    }
    all
}

/// What is drawn of a chain, whatever its symmetry.
pub(super) struct Drawn {
    tasks: Vec<DrawnTask>,
}

struct DrawnTask {
    task: usize,
    /// The error on every task.
    errors: Vec<f64>,
    /// q_d, r and p.
    overlaps: [f64; 3],
    /// Where it changes, a line ends.
    branch: Branch,
}

impl From<&ScanPoint> for Drawn {
    fn from(point: &ScanPoint) -> Self {
        let task = |t: &TaskResult| DrawnTask {
            task: t.task,
            errors: t.eps_by_task.clone(),
            overlaps: [t.solution.q_d, t.solution.r, t.solution.p],
            branch: t.solution.branch,
        };
        Self { tasks: point.chain.tasks.iter().map(task).collect() }
    }
}

impl From<&BrokenChain> for Drawn {
    fn from(chain: &BrokenChain) -> Self {
        let task = |t: &BrokenTaskRow| {
            let s = &t.row.solution;
            DrawnTask {
                task: t.task,
                errors: t.eps_by_task.iter().map(|eps| eps.unwrap_or(f64::NAN)).collect(),
                overlaps: [s.q_d, s.r, s.p],
                branch: s.branch,
            }
        };
        Self { tasks: chain.tasks.iter().map(task).collect() }
    }
}

impl Drawn {
    /// The error on task `k` at the end of the chain.
    fn final_error(&self, tasks: usize, k: usize) -> f64 {
        let last = self.tasks.get(tasks.wrapping_sub(1));
        last.and_then(|t| t.errors.get(k)).copied().unwrap_or(f64::NAN)
    }

    /// The branch of the last task.
    fn last_branch(&self) -> Option<Branch> {
        self.tasks.last().map(|t| t.branch)
    }
}

/// Errors over the tasks, over the scanned parameter, or as maps over two.
pub(super) fn figure(points: &[Drawn], axes: &[ScanAxis], tasks: usize) -> Figure {
    match axes {
        [] => points.first().map(|p| chain_figure(p, tasks)).unwrap_or_default(),
        [x, y, ..] => map_figure(points, x, y, tasks),
        [x] => scan_figure(points, x, tasks),
    }
}

fn chain_figure(chain: &Drawn, tasks: usize) -> Figure {
    let axis = || Axis::linear("after task");
    let mut errors = Panel::new("error on every task", axis(), Axis::linear("ε"));
    let after: Vec<f64> = chain.tasks.iter().map(|t| t.task as f64).collect();
    for k in 0..tasks {
        let of = |t: &DrawnTask| t.errors.get(k).copied().unwrap_or(f64::NAN);
        let y = chain.tasks.iter().map(of).collect();
        let curve = Curve::new(after.clone(), y).color(Color::Palette(k)).markers();
        errors.push(curve.label(format!("task {}", k + 1)));
    }
    let mut order = Panel::new("order parameters", axis(), Axis::linear("overlap"));
    for (color, name) in ["q_d", "r", "p"].into_iter().enumerate() {
        let y = chain.tasks.iter().map(|t| t.overlaps[color]).collect();
        let curve = Curve::new(after.clone(), y).color(Color::Palette(color)).markers();
        order.push(curve.label(name));
    }
    Figure { panels: vec![errors, order], columns: 2, title: None }
}

fn scan_figure(points: &[Drawn], axis: &ScanAxis, tasks: usize) -> Figure {
    let x = Axis::linear(symbol(&axis.name));
    let mut panel = Panel::new(format!("errors after task {tasks}"), x, Axis::linear("ε"));
    let rows: Vec<(f64, &Drawn)> = axis.values.iter().copied().zip(points).collect();
    for k in 0..tasks {
        // A line ends where the chain jumps to another branch.
        let runs = rows.chunk_by(|a, b| a.1.last_branch() == b.1.last_branch());
        for (number, run) in runs.enumerate() {
            let xs: Vec<f64> = run.iter().map(|r| r.0).collect();
            let ys = run.iter().map(|r| r.1.final_error(tasks, k)).collect();
            let mut curve = Curve::new(xs, ys).color(Color::Palette(k));
            if number == 0 {
                curve = curve.label(format!("ε_{}", k + 1));
            }
            if run.len() == 1 {
                curve = curve.markers();
            }
            panel.push(curve);
        }
    }
    Figure::single(panel)
}

/// One map per task. The points vary fastest along the second axis.
fn map_figure(points: &[Drawn], x: &ScanAxis, y: &ScanAxis, tasks: usize) -> Figure {
    let panel = |k: usize| {
        let (columns, rows) = (x.values.len(), y.values.len());
        let mut values = vec![f64::NAN; columns * rows];
        for (i, point) in points.iter().enumerate() {
            values[(i % rows) * columns + i / rows] = point.final_error(tasks, k);
        }
        let title = format!("task {} after task {tasks}", k + 1);
        let axes = (Axis::linear(symbol(&x.name)), Axis::linear(symbol(&y.name)));
        let map = Map::new(x.values.clone(), y.values.clone(), values);
        Panel::new(title, axes.0, axes.1).with(map.label(format!("ε_{}", k + 1)))
    };
    Figure { panels: (0..tasks).map(panel).collect(), columns: 2, title: None }
}

/// A scanned name as it is written in formulas.
pub(super) fn symbol(name: &str) -> String {
    for (word, letter) in
        [("alpha", "α"), ("beta", "β"), ("gamma", "γ"), ("lambda", "λ"), ("rho", "ρ")]
    {
        if let Some(index) = name.strip_prefix(word) {
            let index = index.trim_start_matches(['.', '_']);
            return if index.is_empty() { letter.into() } else { format!("{letter}_{{{index}}}") };
        }
    }
    name.strip_prefix("r0").map_or(name.into(), |_| "r_0".into())
}
