//! Pictures of simulations: over time, over q_⋆, or over what the cases differ in.

use remanent_math::statistics::Summary;
use remanent_plot::{Axis, Band, Color, Curve, Dash, Figure, Panel, Points, VerticalLine};

use crate::plan::Case;
use crate::simulation::compare::{Against, Comparison};
use crate::simulation::config::{Learner, Simulation};
use crate::simulation::summary::{CaseSummary, SummaryRow, TaskEnd};

/// One case with all that is known of it.
pub struct Drawn<'a> {
    /// The case.
    pub case: &'a Case,
    /// What was simulated.
    pub simulation: &'a Simulation,
    /// What was found.
    pub summary: &'a CaseSummary,
    /// The theory beside it, if asked for.
    pub comparison: &'a [Comparison],
}

/// The picture that fits: over the number in which the cases differ; over q_⋆ for
/// a slow learner; over time otherwise.
pub fn figure(cases: &[Drawn], title: Option<&str>) -> Figure {
    let coordinates: Option<Vec<(String, f64)>> =
        cases.iter().map(|drawn| drawn.case.coordinate()).collect();
    let slow = |drawn: &Drawn| match &drawn.simulation.learner {
        Learner::Gradient(learner) => learner.rise.is_some() && drawn.summary.ends.len() == 1,
        Learner::Boltzmann(_) => false,
    };
    let figure = match coordinates {
        Some(at) if cases.len() > 4 || (cases.len() > 1 && !over_time(cases)) => {
            over_coordinate(cases, &at)
        }
        _ if cases.iter().all(slow) => over_norm(cases),
        _ => along_time(cases),
    };
    match title {
        Some(title) => figure.title(title),
        None => figure,
    }
}

/// Few gradient learners are best seen over time; samples have no time.
fn over_time(cases: &[Drawn]) -> bool {
    cases.iter().all(|drawn| matches!(drawn.simulation.learner, Learner::Gradient(_)))
}

fn label(parts: [&str; 2]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

fn task_label(task: usize, tasks: usize) -> String {
    if tasks == 1 { String::new() } else { format!("task {}", task + 1) }
}

fn axis_name(key: &str) -> String {
    match key.split_once('.') {
        Some((name, entry)) => format!("{}_{entry}", axis_name(name)),
        None => match key {
            "alpha" => "α".into(),
            "beta" => "β".into(),
            "gamma" => "γ".into(),
            "r0" => "r_0".into(),
            "n" => "N".into(),
            key => key.into(),
        },
    }
}

fn along_time(cases: &[Drawn]) -> Figure {
    let sampled = cases.iter().any(|d| matches!(d.simulation.learner, Learner::Boltzmann(_)));
    let time = || Axis::linear(if sampled { "sweep" } else { "epoch" });
    let mut errors = Panel::new("test error", time(), Axis::linear("ε").lower(0.0));
    let mut overlaps = Panel::new("overlaps", time(), Axis::linear("overlap"));
    let mut color = 0;
    for drawn in cases {
        let tasks = drawn.summary.ends.len();
        let name = drawn.case.label();
        let rows = &drawn.summary.rows;
        let x: Vec<f64> = rows.iter().map(|row| row.epoch as f64).collect();
        for task in 0..tasks {
            let of = |list: fn(&SummaryRow) -> &Vec<f64>| {
                rows.iter().map(|row| list(row)[task]).collect::<Vec<f64>>()
            };
            let text = match label([&name, &task_label(task, tasks)]) {
                text if text.is_empty() => "simulation".into(),
                text => text,
            };
            if drawn.summary.ends[0].r.count > 1 {
                errors.push(
                    Band::new(x.clone(), of(|r| &r.eps_min), of(|r| &r.eps_max))
                        .color(Color::Palette(color)),
                );
            }
            errors.push(
                Curve::new(x.clone(), of(|r| &r.eps)).label(text).color(Color::Palette(color)),
            );
            mark_theory(&mut errors, drawn, task, color);
            color += 1;
        }
    }
    let several = cases.len() > 1;
    for (number, drawn) in cases.iter().enumerate() {
        let rows = &drawn.summary.rows;
        let x: Vec<f64> = rows.iter().map(|row| row.epoch as f64).collect();
        type Quantity = (&'static str, fn(&SummaryRow) -> f64, Dash);
        let mut quantities: Vec<Quantity> =
            vec![("q_⋆", |r| r.q_star, Dash::Solid), ("r", |r| r.r, Dash::Dashed)];
        if drawn.summary.ends.len() > 1 {
            quantities.push(("q_{com}", |r| r.q_com.unwrap_or(f64::NAN), Dash::Dotted));
        }
        for (color, (quantity, value, dash)) in quantities.into_iter().enumerate() {
            let y: Vec<f64> = rows.iter().map(value).collect();
            let curve = Curve::new(x.clone(), y).label(label([quantity, &drawn.case.label()]));
            overlaps.push(if several {
                curve.color(Color::Palette(number)).dash(dash)
            } else {
                curve.color(Color::Palette(color))
            });
        }
    }
    for panel in [&mut errors, &mut overlaps] {
        for switch in switches(cases) {
            panel.push(VerticalLine::new(switch));
        }
    }
    Figure::grid(vec![errors, overlaps], 2)
}

/// The theory's error on a task after each task, as a marker at the task's end.
fn mark_theory(panel: &mut Panel, drawn: &Drawn, task: usize, color: usize) {
    let quantity = format!("eps.{}", task + 1);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for c in drawn.comparison.iter().filter(|c| {
        c.quantity == quantity && matches!(c.against, Against::Ensemble | Against::Constrained)
    }) {
        let end = drawn.summary.ends.iter().find(|end| end.task == c.task);
        if let (Some(end), Some(theory)) = (end, c.theory) {
            x.push(end.epoch as f64);
            y.push(theory);
        }
    }
    if !x.is_empty() {
        panel.push(Points::new(x, y).label("theory").color(Color::Palette(color)));
    }
}

/// The epochs at which tasks change, if all cases change there.
fn switches(cases: &[Drawn]) -> Vec<f64> {
    let of = |drawn: &Drawn| -> Vec<usize> {
        let ends = &drawn.summary.ends;
        ends[..ends.len() - 1].iter().map(|end| end.epoch).collect()
    };
    match cases.split_first() {
        Some((first, rest)) if rest.iter().all(|drawn| of(drawn) == of(first)) => {
            of(first).into_iter().map(|epoch| epoch as f64).collect()
        }
        _ => Vec::new(),
    }
}

fn over_norm(cases: &[Drawn]) -> Figure {
    let mut panel = Panel::new("test error", Axis::linear("q_⋆"), Axis::linear("ε").lower(0.0));
    for (number, drawn) in cases.iter().enumerate() {
        let color = Color::Palette(number);
        let (name, several) = (drawn.case.label(), cases.len() > 1);
        // Few enough symbols that each can be told from the next.
        let stride = drawn.summary.rows.len().div_ceil(40).max(1);
        let rows: Vec<&SummaryRow> =
            drawn.summary.rows.iter().filter(|row| row.epoch > 0).step_by(stride).collect();
        let text = if several { label(["simulation", &name]) } else { "simulation".into() };
        let points = Points::new(
            rows.iter().map(|row| row.q_star).collect(),
            rows.iter().map(|row| row.eps[0]).collect(),
        )
        .error(rows.iter().map(|row| row.eps_se[0].unwrap_or(0.0)).collect());
        panel.push(points.label(text).color(color));
        let theory: Vec<(f64, f64)> =
            drawn.comparison.iter().filter_map(|c| Some((c.q_star?, c.theory?))).collect();
        if !theory.is_empty() {
            let text = format!("theory, β = {}", drawn.simulation.theory_beta);
            let (x, y) = theory.into_iter().unzip();
            panel.push(Curve::new(x, y).label(label([&text, &name])).color(color));
        }
    }
    Figure::single(panel)
}

fn over_coordinate(cases: &[Drawn], at: &[(String, f64)]) -> Figure {
    let key = &at[0].0;
    let x: Vec<f64> = at.iter().map(|(_, x)| *x).collect();
    let axis = || match key.as_str() {
        "n" | "gamma" | "beta" | "lr" if spans_decade(&x) => Axis::log(axis_name(key)),
        _ => Axis::linear(axis_name(key)),
    };
    let tasks = cases.iter().map(|drawn| drawn.summary.ends.len()).min().unwrap_or(0);
    let mut errors = Panel::new("test error at the end", axis(), Axis::linear("ε").lower(0.0));
    let mut overlaps = Panel::new("overlaps at the end", axis(), Axis::linear("overlap"));
    for task in 0..tasks {
        let name = task_label(task, tasks);
        let quantity = format!("eps.{}", task + 1);
        let eps = |end: &TaskEnd| Some(end.eps[task]);
        let text = if name.is_empty() { "simulation" } else { &name };
        draw_quantity(&mut errors, cases, &x, &eps, &quantity, text, task);
    }
    type Quantity = (&'static str, fn(&TaskEnd) -> Option<Summary>);
    let quantities: [Quantity; 4] = [
        ("q_d", |end| Some(end.q_star)),
        ("q_0", |end| end.sampled.map(|s| s.q_0)),
        ("r", |end| Some(end.r)),
        ("p", |end| Some(end.p)),
    ];
    for (color, (name, value)) in quantities.into_iter().enumerate() {
        draw_quantity(&mut overlaps, cases, &x, &value, name, name, color);
    }
    Figure::grid(vec![errors, overlaps], 2)
}

fn spans_decade(x: &[f64]) -> bool {
    let low = x.iter().copied().fold(f64::INFINITY, f64::min);
    let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    low > 0.0 && high / low >= 8.0
}

/// Symbols with error bars for the simulation, lines for the theory.
fn draw_quantity(
    panel: &mut Panel,
    cases: &[Drawn],
    x: &[f64],
    value: &dyn Fn(&TaskEnd) -> Option<Summary>,
    quantity: &str,
    text: &str,
    color: usize,
) {
    let found: Option<Vec<Summary>> =
        cases.iter().map(|drawn| drawn.summary.ends.last().and_then(value)).collect();
    let Some(found) = found else { return };
    panel.push(
        Points::new(x.to_vec(), found.iter().map(|s| s.mean).collect())
            .error(found.iter().map(|s| s.standard_error.unwrap_or(0.0)).collect())
            .label(text)
            .color(Color::Palette(color)),
    );
    for (against, dash) in [
        (Against::Ensemble, Dash::Solid),
        (Against::Constrained, Dash::Solid),
        (Against::Chain, Dash::Dashed),
    ] {
        let theory: Vec<f64> = cases
            .iter()
            .map(|drawn| {
                let last = drawn.summary.ends.len();
                let same = |c: &&Comparison| {
                    c.against == against && c.quantity == quantity && c.task == last
                };
                drawn.comparison.iter().find(same).and_then(|c| c.theory).unwrap_or(f64::NAN)
            })
            .collect();
        if theory.iter().any(|y| y.is_finite()) {
            let curve = Curve::new(x.to_vec(), theory)
                .label(format!("{text}, {}", theory_name(against)))
                .color(Color::Palette(color))
                .dash(dash);
            panel.push(if x.len() == 1 { curve.markers() } else { curve });
        }
    }
}

fn theory_name(against: Against) -> &'static str {
    match against {
        Against::Ensemble => "theory",
        Against::Constrained => "theory at q_⋆",
        Against::Chain => "theory, q_⋆ free",
    }
}
