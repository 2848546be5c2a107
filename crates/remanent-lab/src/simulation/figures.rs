//! Pictures of simulations: over time, over q_⋆, or over what the cases differ in.

use remanent_math::statistics::Summary;
use remanent_plot::{
    Axis, Band, Color, Curve, Dash, Figure, HorizontalLine, Layer, Panel, Points, VerticalLine,
};

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

/// The picture that fits: over a number in which many cases differ; over q_⋆ for a slow
/// learner; scores for samples that have nothing else in common; over time otherwise.
pub fn figure(cases: &[Drawn], scanned: bool, title: Option<&str>) -> Figure {
    let slow = |drawn: &Drawn| match &drawn.simulation.learner {
        Learner::Gradient(learner) => learner.rise.is_some() && drawn.summary.ends.len() == 1,
        Learner::Boltzmann(_) => false,
    };
    let sampled = |drawn: &Drawn| matches!(drawn.simulation.learner, Learner::Boltzmann(_));
    let all_sampled = cases.iter().all(sampled);
    let figure = match coordinate(cases) {
        _ if cases.iter().all(slow) => over_norm(cases),
        Some(key) if scanned || all_sampled || cases.len() > FEW => over_coordinate(cases, &key),
        _ if cases.len() > 1 && all_sampled => scores(cases),
        _ if cases.len() > 1 => compared_in_time(cases),
        _ => along_time(cases),
    };
    figure.titled(title)
}

/// So many cases can be told apart by their colours.
const FEW: usize = 6;

/// Keys of the training, which are no axis if there is another.
const TRAINING: [&str; 7] =
    ["batch", "lr", "momentum", "weight_decay", "epochs", "record_every", "field_scale"];

/// The keys in which cases differ, but for those of the training if there are others.
fn physical(case: &Case) -> Vec<&String> {
    let name = |key: &str| key.split('.').next().unwrap_or_default().to_owned();
    let keys: Vec<&String> = case.differs.keys().collect();
    let kept: Vec<&String> =
        keys.iter().filter(|key| !TRAINING.contains(&name(key).as_str())).copied().collect();
    if kept.is_empty() { keys } else { kept }
}

/// The key with the most values, if all cases have a number there and those that differ in
/// nothing else make lines of three points or more.
fn coordinate(cases: &[Drawn]) -> Option<String> {
    let values = |key: &str| -> Option<usize> {
        let values = cases.iter().map(|drawn| drawn.case.number(key));
        let mut values: Vec<f64> = values.collect::<Option<_>>()?;
        values.sort_by(f64::total_cmp);
        values.dedup();
        Some(values.len())
    };
    let keys = physical(cases.first()?.case);
    let counted = keys.into_iter().filter_map(|key| Some((values(key)?, key)));
    let (_, key) = counted.max_by_key(|(count, _)| *count)?;
    (cases.len() >= 3 * groups(cases, key).len()).then(|| key.clone())
}

/// Cases that differ in nothing but a key, with what they share.
fn groups<'a>(cases: &'a [Drawn<'a>], key: &str) -> Vec<(String, Vec<&'a Drawn<'a>>)> {
    let mut groups: Vec<(String, Vec<&Drawn>)> = Vec::new();
    for drawn in cases {
        let name = case_label(drawn.case, Some(key));
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, members)) => members.push(drawn),
            None => groups.push((name, vec![drawn])),
        }
    }
    groups
}

fn label(parts: [&str; 2]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

/// What tells a case from the others, but for one key, as a plot writes it.
fn case_label(case: &Case, without: Option<&str>) -> String {
    let parts: Vec<String> = physical(case)
        .into_iter()
        .filter(|key| Some(key.as_str()) != without)
        .map(|key| match &case.differs[key] {
            toml::Value::String(text) => text.clone(),
            value => format!("{} = {value}", axis_name(key)),
        })
        .collect();
    parts.join(", ")
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
            key => remanent_plot::text::plain(key),
        },
    }
}

fn time_axis(drawn: &Drawn) -> Axis {
    let sampled = matches!(drawn.simulation.learner, Learner::Boltzmann(_));
    Axis::linear(if sampled { "sweep" } else { "epoch" })
}

fn epochs(rows: &[SummaryRow]) -> Vec<f64> {
    rows.iter().map(|row| row.epoch as f64).collect()
}

/// ε of one task over time: the mean, and a band from the smallest to the largest trial.
fn draw_error(panel: &mut Panel, drawn: &Drawn, task: usize, text: &str, color: usize) {
    let rows = &drawn.summary.rows;
    let of = |list: fn(&SummaryRow) -> &Vec<f64>| {
        rows.iter().map(|row| list(row)[task]).collect::<Vec<f64>>()
    };
    let (x, color_of) = (epochs(rows), Color::Palette(color));
    if drawn.summary.ends[0].r.count > 1 {
        let band = Band::new(x.clone(), of(|r| &r.eps_min), of(|r| &r.eps_max));
        panel.push(band.color(color_of));
    }
    panel.push(Curve::new(x, of(|r| &r.eps)).label(text).color(color_of));
    mark_theory(panel, drawn, task, color);
}

/// One case: all errors in one panel, all overlaps in another.
fn along_time(cases: &[Drawn]) -> Figure {
    let Some(drawn) = cases.first() else { return Figure::grid(Vec::new(), 1) };
    let tasks = drawn.summary.ends.len();
    let mut errors = Panel::new("test error", time_axis(drawn), Axis::linear("ε").lower(0.0));
    for task in 0..tasks {
        let text = match task_label(task, tasks) {
            text if text.is_empty() => "simulation".into(),
            text => text,
        };
        draw_error(&mut errors, drawn, task, &text, task);
    }
    let mut overlaps = Panel::new("overlaps", time_axis(drawn), Axis::linear("overlap"));
    type Quantity = (&'static str, fn(&SummaryRow) -> f64);
    let mut quantities: Vec<Quantity> = vec![("q_⋆", |r| r.q_star), ("r", |r| r.r)];
    if tasks > 1 {
        quantities.push(("q_{com}", |r| r.q_com.unwrap_or(f64::NAN)));
    }
    for (color, (name, value)) in quantities.into_iter().enumerate() {
        let rows = &drawn.summary.rows;
        let curve = Curve::new(epochs(rows), rows.iter().map(value).collect());
        overlaps.push(curve.label(name).color(Color::Palette(color)));
    }
    with_switches(vec![errors, overlaps], cases)
}

/// Several cases: one panel a task, and one for the overlap that tells them apart.
fn compared_in_time(cases: &[Drawn]) -> Figure {
    let tasks = cases.iter().map(|drawn| drawn.summary.ends.len()).max().unwrap_or(0);
    let mut panels = Vec::new();
    for task in 0..tasks {
        let title = label(["test error", &task_label(task, tasks)]);
        let mut panel = Panel::new(title, time_axis(&cases[0]), Axis::linear("ε").lower(0.0));
        for (color, drawn) in cases.iter().enumerate() {
            if task < drawn.summary.ends.len() {
                draw_error(&mut panel, drawn, task, &case_label(drawn.case, None), color);
            }
        }
        panels.push(panel);
    }
    type Quantity = (&'static str, &'static str, fn(&SummaryRow) -> f64);
    let mut quantities: Vec<Quantity> = vec![("self-overlap", "q_⋆", |r| r.q_star)];
    if tasks > 1 {
        let of = |r: &SummaryRow| r.q_com.unwrap_or(f64::NAN);
        quantities.push(("overlap with what the teachers share", "q_{com}", of));
    }
    for (title, name, value) in quantities {
        let mut panel = Panel::new(title, time_axis(&cases[0]), Axis::linear(name));
        for (color, drawn) in cases.iter().enumerate() {
            let rows = &drawn.summary.rows;
            let curve = Curve::new(epochs(rows), rows.iter().map(value).collect());
            panel.push(curve.label(case_label(drawn.case, None)).color(Color::Palette(color)));
        }
        panels.push(panel);
    }
    with_switches(panels, cases)
}

/// Lines where tasks change.
fn with_switches(mut panels: Vec<Panel>, cases: &[Drawn]) -> Figure {
    for panel in &mut panels {
        for switch in switches(cases) {
            panel.push(VerticalLine::new(switch));
        }
    }
    Figure::grid(panels, 2)
}

/// How far samples are from the theory, in standard errors, case by case.
fn scores(cases: &[Drawn]) -> Figure {
    let mut panel = Panel::new(
        "simulation against theory",
        Axis::linear("case").range(0.5, cases.len() as f64 + 0.5),
        Axis::linear("z = (simulation − theory)/standard error"),
    );
    for (color, quantity) in ["q_d", "q_0", "r", "p"].into_iter().enumerate() {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (number, drawn) in cases.iter().enumerate() {
            for c in drawn.comparison.iter().filter(|c| c.quantity == quantity) {
                if let Some(z) = c.z {
                    // Side by side, so that no symbol hides another.
                    x.push(
                        number as f64 + 1.0 + 0.12 * (color as f64 - 1.5) + 0.03 * c.task as f64,
                    );
                    y.push(z);
                }
            }
        }
        if !x.is_empty() {
            panel.push(Points::new(x, y).label(quantity).color(Color::Palette(color)));
        }
    }
    for edge in [-3.0, 0.0, 3.0] {
        panel.push(HorizontalLine::new(edge));
    }
    Figure::single(panel)
}

/// The theory's error on a task after each task, as a marker at the task's end.
fn mark_theory(panel: &mut Panel, drawn: &Drawn, task: usize, color: usize) {
    let quantity = format!("eps_{}", task + 1);
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
        let (name, several) = (case_label(drawn.case, None), cases.len() > 1);
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

/// One symbol a case, one colour for all that differ in nothing but the key.
fn over_coordinate(cases: &[Drawn], key: &str) -> Figure {
    let groups = groups(cases, key);
    let x: Vec<f64> = cases.iter().filter_map(|drawn| drawn.case.number(key)).collect();
    let axis = || match key {
        "n" | "gamma" | "beta" | "lr" if spans_decade(&x) => Axis::log(axis_name(key)),
        _ => Axis::linear(axis_name(key)),
    };
    let tasks = cases.iter().map(|drawn| drawn.summary.ends.len()).min().unwrap_or(0);
    let mut panels = Vec::new();
    for task in 0..tasks {
        let title = label(["test error at the end", &task_label(task, tasks)]);
        let mut panel = Panel::new(title, axis(), Axis::linear("ε").lower(0.0));
        for (color, (name, members)) in groups.iter().enumerate() {
            let eps = |end: &TaskEnd| end.eps.get(task).copied();
            let text = if name.is_empty() { "simulation" } else { name };
            let series = Series { members, key, color, text };
            series.draw(&mut panel, &eps, &format!("eps_{}", task + 1));
        }
        panels.push(panel);
    }
    if let [(_, members)] = groups.as_slice() {
        let mut panel = Panel::new("overlaps at the end", axis(), Axis::linear("overlap"));
        type Quantity = (&'static str, fn(&TaskEnd) -> Option<Summary>);
        let quantities: [Quantity; 4] = [
            ("q_d", |end| Some(end.q_star)),
            ("q_0", |end| end.sampled.map(|s| s.q_0)),
            ("r", |end| Some(end.r)),
            ("p", |end| Some(end.p)),
        ];
        for (color, (text, value)) in quantities.into_iter().enumerate() {
            Series { members, key, color, text }.draw(&mut panel, &value, text);
        }
        panels.push(panel);
    }
    Figure::grid(panels, 2)
}

fn spans_decade(x: &[f64]) -> bool {
    let low = x.iter().copied().fold(f64::INFINITY, f64::min);
    let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    low > 0.0 && high / low >= 8.0
}

/// Cases that are drawn in one colour.
struct Series<'a> {
    members: &'a [&'a Drawn<'a>],
    key: &'a str,
    color: usize,
    text: &'a str,
}

impl Series<'_> {
    /// Symbols with error bars for the simulation, lines for the theory.
    fn draw(&self, panel: &mut Panel, value: &dyn Fn(&TaskEnd) -> Option<Summary>, quantity: &str) {
        let found: Option<Vec<Summary>> =
            self.members.iter().map(|drawn| drawn.summary.ends.last().and_then(value)).collect();
        let Some(found) = found else { return };
        let x: Vec<f64> =
            self.members.iter().filter_map(|drawn| drawn.case.number(self.key)).collect();
        let color = Color::Palette(self.color);
        panel.push(
            Points::new(x.clone(), found.iter().map(|s| s.mean).collect())
                .error(found.iter().map(|s| s.standard_error.unwrap_or(0.0)).collect())
                .label(self.text)
                .color(color),
        );
        for (against, dash) in [
            (Against::Ensemble, Dash::Solid),
            (Against::Constrained, Dash::Solid),
            (Against::Chain, Dash::Dashed),
        ] {
            let theory: Vec<f64> =
                self.members.iter().map(|drawn| theory_of(drawn, against, quantity)).collect();
            if theory.iter().any(|y| y.is_finite()) {
                let curve = Curve::new(x.clone(), theory).color(color).dash(dash);
                // The theory is named once; colours tell the rest.
                let name = theory_name(against);
                let is_named = panel.layers().iter().any(|layer| match layer {
                    Layer::Curve(curve) => curve.label.as_deref() == Some(name),
                    _ => false,
                });
                panel.push(if is_named { curve } else { curve.label(name) });
            }
        }
    }
}

fn theory_of(drawn: &Drawn, against: Against, quantity: &str) -> f64 {
    let last = drawn.summary.ends.len();
    let same = |c: &&Comparison| c.against == against && c.quantity == quantity && c.task == last;
    drawn.comparison.iter().find(same).and_then(|c| c.theory).unwrap_or(f64::NAN)
}

fn theory_name(against: Against) -> &'static str {
    match against {
        Against::Ensemble => "theory",
        Against::Constrained => "theory at q_⋆",
        Against::Chain => "theory, q_⋆ free",
    }
}
