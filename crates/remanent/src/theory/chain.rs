//! `remanent theory chain`.

use std::str::FromStr;

use clap::Args;
use remanent_lab::lists::{self, Values, ValuesError};
use remanent_plot::{Axis, Color, Curve, Figure, Map, Panel};
use remanent_theory::chain::{ChainParameters, ChainResult, TaskResult};
use remanent_theory::curve::Branch;
use remanent_theory::parameters::Choice;
use remanent_theory::scan::{ScanAxis, ScanError, ScanPoint, scan};

use super::{BranchArgument, PriorArgument, check_tasks, tables};
use crate::output::{Outcome, Output, conclude, progress, usage};

/// Solves a chain of any number of tasks, learned one after the other.
///
/// The teachers form a Markov chain: neighbours have overlap r0, distant ones
/// the product. After each task the errors on all tasks are reported, old and
/// still to come. A scan repeats this over values of one or two parameters.
///
/// Examples: remanent theory chain --alpha 2,3,3,3 --beta 20 --r0 0.5 --gamma 1
///
/// remanent theory chain --alpha 2,2 --r0 0.5 --scan alpha2=0.1:5:0.1 --plot scan.svg
#[derive(Args)]
pub struct ChainCommand {
    /// Patterns per weight, one value per task
    #[arg(long, allow_hyphen_values = true)]
    alpha: Values,
    /// Inverse temperature: one value, or one per task
    #[arg(long, default_value = "20", allow_hyphen_values = true)]
    beta: Values,
    /// Overlap of neighbouring teachers, from -1 to 1: one value, or one per step
    #[arg(long, allow_hyphen_values = true)]
    r0: Values,
    /// Factor of the KL term to the previous task: one value, or one per step
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    gamma: Values,
    /// Which solution each task continues from: one name, or one per task
    #[arg(long, value_enum, value_delimiter = ',', default_value = "stable")]
    branch: Vec<BranchArgument>,
    /// Prior of the first task
    #[arg(long, value_enum, default_value_t)]
    prior: PriorArgument,
    /// Scan a parameter, e.g. alpha2=0.1:5:0.1, r0=-1:1:0.1, gamma=0:1:0.1 or beta=5,10,20; twice for a map
    #[arg(long, value_name = "NAME=VALUES")]
    scan: Vec<ScanArgument>,
    #[command(flatten)]
    output: Output,
}

/// `name=values`.
#[derive(Clone, Debug)]
struct ScanArgument(ScanAxis);

impl FromStr for ScanArgument {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((name, values)) = text.split_once('=') else {
            anyhow::bail!("write NAME=VALUES, e.g. alpha2=0.1:5:0.1");
        };
        let values: Result<Values, ValuesError> = values.parse();
        let axis: Result<ScanAxis, ScanError> = ScanAxis::new(name.trim(), values?.0);
        Ok(Self(axis?))
    }
}

impl ChainCommand {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        usage(self.scan.len() <= 2, || {
            format!("--scan was given {} times; a map has two axes at most", self.scan.len())
        })?;
        check_tasks(&self.alpha)?;
        let parameters = ChainParameters {
            alpha: self.alpha.0,
            beta: self.beta.0,
            gamma: self.gamma.0,
            r_0: self.r0.0,
            prior: self.prior.into(),
            q_star: vec![],
            choice: self.branch.into_iter().map(Choice::from).collect(),
        };
        let axes: Vec<ScanAxis> = self.scan.into_iter().map(|a| a.0).collect();
        let sizes = axes.iter().map(|axis| (axis.name.clone(), axis.values.len()));
        lists::combinations("points", sizes.collect())?;
        if axes.is_empty() {
            emit_chain(&parameters, &self.output, quiet)
        } else {
            emit_scan(&parameters, &axes, &self.output, quiet)
        }
    }
}

/// Solves one chain and reports it.
pub fn emit_chain(
    parameters: &ChainParameters,
    output: &Output,
    quiet: bool,
) -> anyhow::Result<Outcome> {
    let chain = parameters.check()?;
    let result = chain.solve();
    output.emit(
        &result,
        |format| {
            let rows = result.tasks.iter().map(|t| (vec![], t));
            let mut all = vec![tables::tasks(&[], rows, chain.tasks(), format)];
            if format == crate::output::Format::Table
                && result.tasks.iter().any(|t| !t.other_solutions.is_empty())
            {
                all.push(tables::others(&result.tasks));
            }
            all
        },
        || chain_figure(&result, chain.tasks()),
    )?;
    let solutions = result.tasks.iter().map(|t| &t.solution);
    Ok(tables::conclude_rows(solutions, chain.tasks(), quiet))
}

fn chain_figure(result: &ChainResult, tasks: usize) -> Figure {
    let axis = || Axis::linear("after task");
    let mut errors = Panel::new("error on every task", axis(), Axis::linear("ε"));
    let after: Vec<f64> = result.tasks.iter().map(|t| t.task as f64).collect();
    for k in 0..tasks {
        let of = |t: &TaskResult| t.eps_by_task.get(k).copied().unwrap_or(f64::NAN);
        let y = result.tasks.iter().map(of).collect();
        let curve = Curve::new(after.clone(), y).color(Color::Palette(k)).markers();
        errors.push(curve.label(format!("task {}", k + 1)));
    }
    let mut order = Panel::new("order parameters", axis(), Axis::linear("overlap"));
    type Quantity = (&'static str, fn(&TaskResult) -> f64);
    let quantities: [Quantity; 3] =
        [("q_d", |t| t.solution.q_d), ("r", |t| t.solution.r), ("p", |t| t.solution.p)];
    for (color, (name, y)) in quantities.into_iter().enumerate() {
        let y = result.tasks.iter().map(y).collect();
        let curve = Curve::new(after.clone(), y).color(Color::Palette(color)).markers();
        order.push(curve.label(name));
    }
    Figure { panels: vec![errors, order], columns: 2, title: None }
}

fn emit_scan(
    parameters: &ChainParameters,
    axes: &[ScanAxis],
    output: &Output,
    quiet: bool,
) -> anyhow::Result<Outcome> {
    let tasks = parameters.alpha.len();
    let bar = progress(axes.iter().map(|a| a.values.len()).product(), quiet);
    let points = scan(parameters, axes, &|| bar.inc(1))?;
    bar.finish_and_clear();
    let names: Vec<String> = axes.iter().map(|a| a.name.clone()).collect();
    output.emit(
        &points,
        |format| {
            let rows = points.iter().flat_map(|p| {
                let at: Vec<f64> = p.at.iter().map(|(_, v)| *v).collect();
                p.chain.tasks.iter().map(move |t| (at.clone(), t))
            });
            vec![tables::tasks(&names, rows, tasks, format)]
        },
        || match axes {
            [x, y] => map_figure(&points, x, y, tasks),
            _ => scan_figure(&points, &axes[0], tasks),
        },
    )?;
    let complete = |p: &ScanPoint| p.chain.tasks.len() == tasks && p.chain.is_converged();
    let missing = points.iter().filter(|p| !complete(p)).count();
    Ok(conclude(missing, points.len(), quiet))
}

/// The error on task `k` at the end of the chain.
fn final_error(point: &ScanPoint, tasks: usize, k: usize) -> f64 {
    if point.chain.tasks.len() < tasks {
        return f64::NAN;
    }
    point.chain.final_errors().get(k).copied().unwrap_or(f64::NAN)
}

/// The branch of the last task.
fn last_branch(point: &ScanPoint) -> Option<Branch> {
    point.chain.tasks.last().map(|t| t.solution.branch)
}

fn scan_figure(points: &[ScanPoint], axis: &ScanAxis, tasks: usize) -> Figure {
    let x = Axis::linear(symbol(&axis.name));
    let mut panel = Panel::new(format!("errors after task {tasks}"), x, Axis::linear("ε"));
    let rows: Vec<(f64, &ScanPoint)> = axis.values.iter().copied().zip(points).collect();
    for k in 0..tasks {
        // A line ends where the chain jumps to another branch.
        for (number, run) in rows.chunk_by(|a, b| last_branch(a.1) == last_branch(b.1)).enumerate()
        {
            let xs: Vec<f64> = run.iter().map(|r| r.0).collect();
            let ys = run.iter().map(|r| final_error(r.1, tasks, k)).collect();
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
fn map_figure(points: &[ScanPoint], x: &ScanAxis, y: &ScanAxis, tasks: usize) -> Figure {
    let panel = |k: usize| {
        let (columns, rows) = (x.values.len(), y.values.len());
        let mut values = vec![f64::NAN; columns * rows];
        for (i, point) in points.iter().enumerate() {
            values[(i % rows) * columns + i / rows] = final_error(point, tasks, k);
        }
        let title = format!("task {} after task {tasks}", k + 1);
        let axes = (Axis::linear(symbol(&x.name)), Axis::linear(symbol(&y.name)));
        let map = Map::new(x.values.clone(), y.values.clone(), values);
        Panel::new(title, axes.0, axes.1).with(map.label(format!("ε_{}", k + 1)))
    };
    Figure { panels: (0..tasks).map(panel).collect(), columns: 2, title: None }
}

/// A scanned name as it is written in formulas.
fn symbol(name: &str) -> String {
    for (word, letter) in [("alpha", "α"), ("beta", "β"), ("gamma", "γ")] {
        if let Some(index) = name.strip_prefix(word) {
            return if index.is_empty() { letter.into() } else { format!("{letter}_{{{index}}}") };
        }
    }
    name.strip_prefix("r0").map_or(name.into(), |_| "r_0".into())
}
