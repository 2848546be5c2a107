//! Figure 4: the errors of two tasks against the amount of data of the second.

use remanent_math::statistics::Summary;
use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Panel, Points, Table};

use super::words::{also, decides, error, list};
use crate::report::Check;
use crate::reproduce::results::{Results, Shown, Simulated};
use crate::theory::ChainPoint;

/// The most that the median distance of simulation and theory may be.
const AGREES: f64 = 0.03;
/// Below this error the second task counts as learned.
const LEARNED: f64 = 0.1;

/// The error of one of two tasks after the second.
#[derive(Clone, Copy)]
struct Of(usize);

impl Of {
    fn theory(self, point: &ChainPoint) -> Option<f64> {
        *point.tasks.get(1)?.eps_by_task.get(self.0)?
    }

    fn simulated(self, case: &Simulated) -> Option<Summary> {
        case.summary.ends.get(1)?.eps.get(self.0).copied()
    }
}

fn r_0(case: &Simulated) -> f64 {
    case.simulation.setting.r_0[0]
}

fn alpha_2(case: &Simulated) -> f64 {
    case.simulation.setting.alpha[1]
}

/// The value of a scanned key.
fn scanned(point: &ChainPoint, key: &str) -> Option<f64> {
    point.scanned.get(key).copied()
}

/// The similarities of the tasks, rising.
fn similarities(results: &Results) -> Vec<f64> {
    let mut values: Vec<f64> = results.simulated.iter().map(r_0).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The theory's points of one similarity, by rising α_2.
fn line(points: &[ChainPoint], r: f64) -> Vec<&ChainPoint> {
    let mut line: Vec<&ChainPoint> =
        points.iter().filter(|p| scanned(p, "r0") == Some(r)).collect();
    line.sort_by(|a, b| {
        scanned(a, "alpha.2").unwrap_or(0.0).total_cmp(&scanned(b, "alpha.2").unwrap_or(0.0))
    });
    line
}

/// The trials of one similarity, by rising α_2.
fn trials(results: &Results, r: f64) -> Vec<&Simulated> {
    let mut cases: Vec<&Simulated> =
        results.simulated.iter().filter(|case| r_0(case) == r).collect();
    cases.sort_by(|a, b| alpha_2(a).total_cmp(&alpha_2(b)));
    cases
}

/// Simulation less theory at every case that has one.
fn distances(results: &Results, points: &[ChainPoint], of: Of) -> Vec<f64> {
    let at = |case: &Simulated| {
        let line = line(points, r_0(case));
        let near = |p: &&&ChainPoint| {
            (scanned(p, "alpha.2").unwrap_or(f64::NAN) - alpha_2(case)).abs() < 1e-6
        };
        let theory = of.theory(line.iter().find(near)?)?;
        Some(of.simulated(case)?.mean - theory)
    };
    results.simulated.iter().filter_map(at).collect()
}

/// Picture and table.
fn draw(results: &Results, points: &[ChainPoint], of: Of) -> (Figure, Table) {
    let task = of.0 + 1;
    let title = format!("error of task {task} after task 2");
    let mut panel =
        Panel::new(title, Axis::linear("α_2"), Axis::linear(format!("ε_{task}")).lower(0.0));
    let mut table = Table::new(["source", "r0", "alpha_2", "eps", "eps_se", "replicon"]);
    for (index, r) in similarities(results).into_iter().enumerate() {
        let color = Color::Palette(index);
        let line = line(points, r);
        let x: Vec<f64> = line.iter().filter_map(|p| scanned(p, "alpha.2")).collect();
        let y: Vec<f64> = line.iter().map(|p| of.theory(p).unwrap_or(f64::NAN)).collect();
        let curve = Curve::new(x.clone(), y.clone()).color(color);
        panel.push(if index == 0 { curve.label("theory, β = 20") } else { curve });
        for ((point, x), y) in line.iter().zip(x).zip(y) {
            let replicon = point.tasks.get(1).and_then(|task| task.replicon);
            table.push(vec![
                "theory".into(),
                r.into(),
                x.into(),
                y.into(),
                Cell::Missing,
                replicon.into(),
            ]);
        }
        let found: Vec<(f64, Summary)> = trials(results, r)
            .into_iter()
            .filter_map(|case| Some((alpha_2(case), of.simulated(case)?)))
            .collect();
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
                r.into(),
                alpha.into(),
                eps.mean.into(),
                eps.standard_error.into(),
                Cell::Missing,
            ]);
        }
    }
    (Figure::single(panel), table)
}

/// How near simulation and theory are, as a statement.
fn agreement(results: &Results, points: &[ChainPoint], of: Of) -> Option<(Check, Check, f64, f64)> {
    let mut apart: Vec<f64> = distances(results, points, of).into_iter().map(f64::abs).collect();
    apart.sort_by(f64::total_cmp);
    let median = *apart.get(apart.len() / 2)?;
    let worst = *apart.last()?;
    Some((
        decides(
            format!(
                "gradient descent agrees with the theory: the median distance {} is below {AGREES}",
                error(median)
            ),
            median <= AGREES,
        ),
        also(
            format!("it does so everywhere: the largest distance {} is below 0.1", error(worst)),
            worst <= 0.1,
        ),
        median,
        worst,
    ))
}

/// The smallest α_2 with which the theory learns the second task.
fn learned_from(points: &[ChainPoint], r: f64) -> Option<f64> {
    let line = line(points, r);
    let learned = line.iter().find(|p| Of(1).theory(p).is_some_and(|eps| eps < LEARNED));
    learned.and_then(|p| scanned(p, "alpha.2"))
}

fn notes() -> Vec<String> {
    vec![
        "Lines: the exact theory at β = 20 (stable solution). Symbols: gradient descent, twenty trials at full size.".into(),
        "Gradient descent samples no ensemble: with long training q_⋆ grows towards one and the anchor hardens, so \
         that it cannot agree everywhere. Ours: the grid of α_2.".into(),
    ]
}

/// Figure 4a.
pub fn show_second(results: &Results) -> Option<Shown> {
    let points = results.theory.first()?.as_chain()?;
    let of = Of(1);
    let (figure, table) = draw(results, points, of);
    let (near, everywhere, median, worst) = agreement(results, points, of)?;
    let means: Vec<(f64, f64)> = similarities(results)
        .into_iter()
        .filter_map(|r| {
            let values =
                trials(results, r).into_iter().filter_map(|case| Some(of.simulated(case)?.mean));
            Some((r, Summary::of(values)?.mean))
        })
        .collect();
    let ordered = |list: &[(f64, f64)]| list.windows(2).all(|pair| pair[1].1 < pair[0].1);
    let said: Vec<String> =
        means.iter().map(|(r, eps)| format!("{} for r_0 = {r}", error(*eps))).collect();
    Some(Shown {
        figure,
        table,
        found: format!(
            "The error of the second task, averaged over α_2, is {}; gradient descent is {} from the theory in the median \
             and {} at most.",
            list(&said),
            error(median),
            error(worst)
        ),
        checks: vec![
            decides("the more alike the tasks are, the lower is the error", ordered(&means)),
            near,
            everywhere,
        ],
        notes: notes(),
    })
}

/// Figure 4b.
pub fn show_first(results: &Results) -> Option<Shown> {
    let points = results.theory.first()?.as_chain()?;
    let of = Of(0);
    let (figure, table) = draw(results, points, of);
    let (near, everywhere, median, worst) = agreement(results, points, of)?;
    let (mut checks, mut said) = (Vec::new(), Vec::new());
    for r in similarities(results) {
        let cases = trials(results, r);
        let (few, many) = (of.simulated(cases.first()?)?.mean, of.simulated(cases.last()?)?.mean);
        checks.push(decides(
            format!(
                "r_0 = {r}: the error of the first task rises with α_2, from {} to {}",
                error(few),
                error(many)
            ),
            many > few,
        ));
        said.push(format!("to {} for r_0 = {r}", error(many)));
    }
    checks.extend([near, everywhere]);
    Some(Shown {
        figure,
        table,
        found: format!(
            "With the data of the second task the error of the first rises {}; gradient descent is {} from the theory in \
             the median and {} at most.",
            list(&said),
            error(median),
            error(worst)
        ),
        checks,
        notes: notes(),
    })
}

/// Figure 4c.
pub fn show_second_weakly(results: &Results) -> Option<Shown> {
    let points = results.theory.first()?.as_chain()?;
    let whole = results.theory.get(1)?.as_chain()?;
    let of = Of(1);
    let (figure, table) = draw(results, points, of);
    let (near, everywhere, median, worst) = agreement(results, points, of)?;
    let (mut checks, mut said) = (Vec::new(), Vec::new());
    for r in similarities(results) {
        let (weak, strong) = (learned_from(points, r), learned_from(whole, r));
        let text = |alpha: Option<f64>| {
            alpha.map_or("beyond the range".into(), |a| format!("α_2 = {a:.2}"))
        };
        checks.push(decides(
            format!("r_0 = {r}: the theory learns the second task (ε_2 < {LEARNED}) from {} on, with γ = 1 from {}", text(weak), text(strong)),
            weak.is_some_and(|weak| strong.is_none_or(|strong| weak < strong)),
        ));
        said.push(format!("{} for r_0 = {r}", text(weak)));
    }
    checks.extend([near, everywhere]);
    Some(Shown {
        figure,
        table,
        found: format!(
            "With γ = 0.1 the second task is learned from {}; gradient descent is {} from the theory in the median and {} \
             at most.",
            list(&said),
            error(median),
            error(worst)
        ),
        checks,
        notes: notes(),
    })
}

/// Figure 4d.
pub fn show_first_weakly(results: &Results) -> Option<Shown> {
    let points = results.theory.first()?.as_chain()?;
    let whole = results.theory.get(1)?.as_chain()?;
    let of = Of(0);
    let (figure, table) = draw(results, points, of);
    let (near, everywhere, median, worst) = agreement(results, points, of)?;
    let (mut checks, mut said) = (Vec::new(), Vec::new());
    for r in similarities(results) {
        // Averaged over α_2: with much data the first task is forgotten whatever γ is.
        let mean = |points: &[ChainPoint]| {
            Summary::of(line(points, r).into_iter().filter_map(|p| of.theory(p))).map(|s| s.mean)
        };
        let (weak, strong) = (mean(points)?, mean(whole)?);
        checks.push(decides(
            format!("r_0 = {r}: averaged over α_2 the first task is forgotten more, {} against {} with γ = 1", error(weak), error(strong)),
            weak > strong,
        ));
        said.push(format!("{} for r_0 = {r}", error(weak)));
    }
    checks.extend([near, everywhere]);
    Some(Shown {
        figure,
        table,
        found: format!(
            "With γ = 0.1 the error of the first task, averaged over α_2, is {}; gradient descent is {} from the theory in \
             the median and {} at most.",
            list(&said),
            error(median),
            error(worst)
        ),
        checks,
        notes: notes(),
    })
}
