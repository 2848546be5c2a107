//! Figure 4: the errors of two tasks against the amount of data of the second.

use remanent_math::statistics::Summary;
use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Panel, Points, Table};

use super::words::{also, decides, error, list};
use crate::report::Check;
use crate::reproduce::results::{Results, Shown, Simulated};
use crate::theory::ChainPoint;

/// The most that the median distance of simulation and theory may be.
const AGREES: f64 = 0.03;
/// The most that it may be anywhere, away from the transition.
const AGREES_EVERYWHERE: f64 = 0.1;
/// So near in α_2 to a jump of the theory is around the transition.
const AROUND: f64 = 0.5;
/// A fall of the theory's error between neighbouring α_2 that makes a jump.
const JUMP: f64 = 0.05;
/// Below this error the second task counts as learned.
const LEARNED: f64 = 0.1;
/// By so much the memory of the first task must be worse to be strongly degraded.
const STRONGLY: f64 = 0.05;

/// One panel: simulations and theory with a factor γ, and the task whose error is shown, from 0.
struct View<'a> {
    results: &'a Results,
    theory: &'a [ChainPoint],
    gamma: f64,
    task: usize,
}

fn r_0(case: &Simulated) -> f64 {
    case.simulation.setting.r_0[0]
}

fn alpha_2(case: &Simulated) -> f64 {
    case.simulation.setting.alpha[1]
}

fn scanned(point: &ChainPoint, key: &str) -> f64 {
    point.scanned.get(key).copied().unwrap_or(f64::NAN)
}

/// The error on a task after the second.
fn predicted(point: &ChainPoint, task: usize) -> Option<f64> {
    *point.tasks.get(1)?.eps_by_task.get(task)?
}

impl<'a> View<'a> {
    fn new(results: &'a Results, question: usize, gamma: f64, task: usize) -> Option<Self> {
        Some(Self { results, theory: results.theory.get(question)?.as_chain()?, gamma, task })
    }

    /// The similarities of the tasks, rising.
    fn similarities(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.results.simulated.iter().map(r_0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// The theory at one similarity, by rising α_2.
    fn line(&self, r: f64) -> Vec<(f64, f64)> {
        self.line_of(r, self.task)
    }

    fn line_of(&self, r: f64, task: usize) -> Vec<(f64, f64)> {
        let points = self.theory.iter().filter(|point| scanned(point, "r0") == r);
        let mut line: Vec<(f64, f64)> = points
            .map(|point| (scanned(point, "alpha.2"), predicted(point, task).unwrap_or(f64::NAN)))
            .collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        line
    }

    /// The simulations at one similarity, by rising α_2.
    fn found(&self, r: f64) -> Vec<(f64, Summary)> {
        let cases = self.results.simulated.iter();
        let mut found: Vec<(f64, Summary)> = cases
            .filter(|case| r_0(case) == r && case.gamma() == self.gamma)
            .filter_map(|case| {
                Some((alpha_2(case), *case.summary.ends.get(1)?.eps.get(self.task)?))
            })
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found
    }

    /// Where the theory's error of the second task jumps, if it does.
    fn jump(&self, r: f64) -> Option<f64> {
        let line = self.line_of(r, 1);
        let falls =
            line.windows(2).map(|pair| (pair[0].1 - pair[1].1, 0.5 * (pair[0].0 + pair[1].0)));
        falls.filter(|fall| fall.0 > JUMP).max_by(|a, b| a.0.total_cmp(&b.0)).map(|fall| fall.1)
    }

    /// Distances of simulation and theory, and whether each is around the transition. None if the
    /// theory lacks one of the simulated α_2.
    fn distances(&self) -> Option<Vec<(f64, bool)>> {
        let mut distances = Vec::new();
        for r in self.similarities() {
            let (line, jump) = (self.line(r), self.jump(r));
            for (alpha, eps) in self.found(r) {
                let theory = line.iter().find(|point| (point.0 - alpha).abs() < 1e-6)?.1;
                let around = jump.is_some_and(|at| (at - alpha).abs() <= AROUND);
                distances.push(((eps.mean - theory).abs(), around));
            }
        }
        Some(distances)
    }

    /// Two statements on how near simulation and theory are, and the numbers behind them in words.
    fn agreement(&self) -> Option<([Check; 2], String)> {
        let distances = self.distances()?;
        let mut all: Vec<f64> = distances.iter().map(|d| d.0).collect();
        all.sort_by(f64::total_cmp);
        let median = *all.get(all.len() / 2)?;
        let away = distances.iter().filter(|d| !d.1).map(|d| d.0).fold(0.0, f64::max);
        let checks = [
            decides(
                format!(
                    "gradient descent agrees with the theory: the median distance {} is below {AGREES}",
                    error(median)
                ),
                median <= AGREES,
            ),
            also(
                format!(
                    "away from the transition it does so everywhere: the largest distance there, {}, is below \
                     {AGREES_EVERYWHERE}",
                    error(away)
                ),
                away <= AGREES_EVERYWHERE,
            ),
        ];
        let text = format!(
            "gradient descent is {} from the theory in the median and {} at most, {} away from the transition",
            error(median),
            error(*all.last()?),
            error(away)
        );
        Some((checks, text))
    }

    /// Picture and table.
    fn draw(&self) -> (Figure, Table) {
        let task = self.task + 1;
        let mut panel = Panel::new(
            format!("error of task {task} after task 2"),
            Axis::linear("α_2"),
            Axis::linear(format!("ε_{task}")).lower(0.0),
        );
        let mut table = Table::new(["source", "gamma", "r0", "alpha_2", "eps", "eps_se"]);
        for (index, r) in self.similarities().into_iter().enumerate() {
            let color = Color::Palette(index);
            let (x, y): (Vec<f64>, Vec<f64>) = self.line(r).into_iter().unzip();
            for (x, y) in x.iter().zip(&y) {
                table.push(vec![
                    "theory".into(),
                    self.gamma.into(),
                    r.into(),
                    (*x).into(),
                    (*y).into(),
                    Cell::Missing,
                ]);
            }
            let curve = Curve::new(x, y).color(color);
            panel.push(if index == 0 { curve.label("theory") } else { curve });
            let found = self.found(r);
            panel.push(
                Points::new(
                    found.iter().map(|p| p.0).collect(),
                    found.iter().map(|p| p.1.mean).collect(),
                )
                .error(found.iter().map(|p| p.1.standard_error.unwrap_or(0.0)).collect())
                .connected(Dash::Dashed)
                .label(format!("r_0 = {r}"))
                .color(color),
            );
            for (alpha, eps) in found {
                table.push(vec![
                    "gd".into(),
                    self.gamma.into(),
                    r.into(),
                    alpha.into(),
                    eps.mean.into(),
                    eps.standard_error.into(),
                ]);
            }
        }
        (Figure::single(panel), table)
    }

    /// Puts the parts together.
    fn show(&self, statements: Vec<Check>, words: &str) -> Option<Shown> {
        let (agreement, apart) = self.agreement()?;
        let (figure, table) = self.draw();
        let norms = self.results.simulated.iter().filter(|case| case.gamma() == self.gamma);
        let norms: Vec<f64> = norms.map(|case| case.summary.ends[0].q_star.mean).collect();
        let least = norms.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Shown {
            figure,
            table,
            found: format!("{words}; {apart}."),
            checks: statements.into_iter().chain(agreement).collect(),
            notes: vec![
                "Lines: the exact theory at β = 20, stable solution. Symbols: gradient descent. Ours: the grid of α_2.".into(),
                format!(
                    "Gradient descent samples no ensemble: at the end of the first task its q_⋆ is {least:.3} or more, and the \
                     anchor of the second is as hard."
                ),
            ],
        })
    }
}

fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Summary::of(values).map(|summary| summary.mean)
}

/// The smallest α_2 with which the second task is learned.
fn learned_from(points: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    points.into_iter().find(|point| point.1 < LEARNED).map(|point| point.0)
}

fn data(alpha: Option<f64>) -> String {
    alpha.map_or("beyond the range".into(), |alpha| format!("α_2 = {alpha:.2}"))
}

/// Figure 4a.
pub fn show_second(results: &Results) -> Option<Shown> {
    let view = View::new(results, 0, 1.0, 1)?;
    let means: Vec<(f64, f64)> = view
        .similarities()
        .into_iter()
        .map(|r| Some((r, mean(view.found(r).into_iter().map(|p| p.1.mean))?)))
        .collect::<Option<_>>()?;
    let ordered = means.windows(2).all(|pair| pair[1].1 < pair[0].1);
    let said: Vec<String> =
        means.iter().map(|(r, eps)| format!("{} for r_0 = {r}", error(*eps))).collect();
    view.show(
        vec![decides("the more alike the tasks are, the lower is the error", ordered)],
        &format!("The error of the second task, averaged over α_2, is {}", list(&said)),
    )
}

/// Figure 4b.
pub fn show_first(results: &Results) -> Option<Shown> {
    let view = View::new(results, 0, 1.0, 0)?;
    let (mut checks, mut said) = (Vec::new(), Vec::new());
    for r in view.similarities() {
        let found = view.found(r);
        let (few, many) = (found.first()?.1.mean, found.last()?.1.mean);
        let text = format!("from {} to {} for r_0 = {r}", error(few), error(many));
        checks.push(decides(
            format!("the error of the first task rises with α_2, {text}"),
            many > few,
        ));
        said.push(text);
    }
    view.show(
        checks,
        &format!("With the data of the second task the error of the first goes {}", list(&said)),
    )
}

/// Figure 4c.
pub fn show_second_weakly(results: &Results) -> Option<Shown> {
    let (weak, whole) = (View::new(results, 0, 0.1, 1)?, View::new(results, 1, 1.0, 1)?);
    let (mut checks, mut said) = (Vec::new(), Vec::new());
    for r in weak.similarities() {
        let simulated =
            |view: &View| learned_from(view.found(r).into_iter().map(|p| (p.0, p.1.mean)));
        for (name, less, more) in [
            ("the theory", learned_from(weak.line(r)), learned_from(whole.line(r))),
            ("gradient descent", simulated(&weak), simulated(&whole)),
        ] {
            checks.push(decides(
                format!(
                    "r_0 = {r}: {name} learns the second task (ε_2 < {LEARNED}) from {} on, with γ = 1 from {}",
                    data(less),
                    data(more)
                ),
                less.is_some_and(|less| more.is_none_or(|more| less < more)),
            ));
        }
        said.push(format!("{} for r_0 = {r}", data(learned_from(weak.line(r)))));
    }
    weak.show(
        checks,
        &format!("With γ = 0.1 the theory learns the second task from {}", list(&said)),
    )
}

/// Figure 4d.
pub fn show_first_weakly(results: &Results) -> Option<Shown> {
    let (weak, whole) = (View::new(results, 0, 0.1, 0)?, View::new(results, 1, 1.0, 0)?);
    let (mut checks, mut said) = (Vec::new(), Vec::new());
    for r in weak.similarities() {
        // Averaged over α_2: with much data the first task is forgotten whatever γ is.
        let simulated = |view: &View| mean(view.found(r).into_iter().map(|p| p.1.mean));
        let theory = |view: &View| mean(view.line(r).into_iter().map(|p| p.1));
        for (name, more, less) in [
            ("the theory", theory(&weak)?, theory(&whole)?),
            ("gradient descent", simulated(&weak)?, simulated(&whole)?),
        ] {
            checks.push(decides(
                format!(
                    "r_0 = {r}: averaged over α_2 the error of {name} on the first task is {}, higher by more than {STRONGLY} than \
                     {} with γ = 1",
                    error(more),
                    error(less)
                ),
                more - less > STRONGLY,
            ));
        }
        said.push(format!("{} for r_0 = {r}", error(simulated(&weak)?)));
    }
    weak.show(
        checks,
        &format!("With γ = 0.1 the error of the first task, averaged over α_2, is {}", list(&said)),
    )
}
