//! What is shown of answers with broken replica symmetry.

use remanent_plot::{Axis, Cell, Figure, HorizontalLine, Panel, Table, VerticalLine};
use remanent_theory::curve::Branch;
use remanent_theory::rsb::MOST_STEPS;
use serde_json::{Map, Value, json};

use super::figures::by_branch;
use super::{Conclusion, branches, broken_phases, chain, tables as rows};
use crate::experiment::Detail;
use crate::theory::broken::BrokenAsk;
use crate::theory::{
    BrokenAnswer, BrokenBranches, BrokenChain, BrokenRow, BrokenTaskRow, Complexity,
};

/// A column that a [`BrokenRow`] has besides those of a solution.
type Column = (&'static str, fn(&BrokenRow) -> Cell);

const NEW: [Column; 11] = [
    ("rsb", |row| Cell::Integer(row.rsb as i64)),
    ("q_1", |row| number(row.q_1)),
    ("q_2", |row| number(row.q_2)),
    ("x", |row| number(row.x)),
    ("x_2", |row| number(row.x_2)),
    ("complexity", |row| number(row.complexity)),
    ("cluster_minus_beta_f", |row| number(row.cluster_minus_beta_f)),
    ("lambda_0", |row| number(row.lambda_0)),
    ("lambda_1", |row| number(row.lambda_1)),
    ("lambda_2", |row| number(row.lambda_2)),
    ("is_stable", |row| row.is_stable.map_or(Cell::Missing, |is| Cell::Text(is.to_string()))),
];

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Missing, Cell::Number)
}

fn or_nan(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

/// What fits on a terminal; columns of a second step where some row has one.
const SHORT: [&str; 18] = [
    "alpha",
    "beta",
    "branch",
    "rsb",
    "q_d",
    "q_2",
    "q_1",
    "q_0",
    "r",
    "x",
    "x_2",
    "eps",
    "minus_beta_f",
    "lambda_0",
    "lambda_1",
    "lambda_2",
    "is_stable",
    "termination",
];
const CLUSTERS: [&str; 9] =
    ["x", "cluster_minus_beta_f", "complexity", "q_d", "q_1", "q_0", "r", "eps", "lambda_1"];

/// The cell of a row under a name.
fn cell(row: &BrokenRow, name: &str) -> Cell {
    let old = rows::ALL.iter().find(|c| c.0 == name).map(|c| (c.1)(&row.solution));
    let new = || NEW.iter().find(|c| c.0 == name).map(|c| (c.1)(row));
    old.or_else(new).unwrap_or(Cell::Missing)
}

/// The names of the columns of these rows.
fn names(rows_of: &[&BrokenRow], detail: Detail, short: &[&'static str]) -> Vec<&'static str> {
    let two = rows_of.iter().any(|row| row.rsb > 1);
    match detail {
        Detail::Full => rows::ALL.iter().map(|c| c.0).chain(NEW.iter().map(|c| c.0)).collect(),
        Detail::Short => {
            let shown = |name: &&&str| two || !name.ends_with("_2");
            short.iter().filter(shown).copied().collect()
        }
    }
}

fn table(rows_of: &[&BrokenRow], detail: Detail, short: &[&'static str]) -> Table {
    let names = names(rows_of, detail, short);
    let mut table = Table::new(names.iter().copied());
    for row in rows_of {
        table.push(names.iter().map(|name| cell(row, name)).collect());
    }
    table
}

pub(super) fn conclusion(ask: &BrokenAsk, answer: &BrokenAnswer) -> Conclusion {
    match answer {
        BrokenAnswer::Single(found) => {
            let mut conclusion = rows::conclusion(found.iter().map(|r| &r.solution), found.len());
            let most = |row: &BrokenRow| row.is_stable != Some(false) || row.rsb >= MOST_STEPS;
            let remedy = if found.iter().all(most) {
                format!("--rsb takes at most {MOST_STEPS} steps")
            } else {
                format!("--rsb auto takes the steps that they need, at most {MOST_STEPS}")
            };
            note_unstable(&mut conclusion, &found.iter().collect::<Vec<_>>(), &remedy);
            conclusion
        }
        BrokenAnswer::Chain(points) => {
            let tasks = if let BrokenAsk::Chain { parameters, .. } = ask {
                parameters.alpha.len()
            } else {
                0
            };
            let all: Vec<&BrokenRow> = points.iter().flat_map(BrokenChain::rows).collect();
            let solutions = all.iter().map(|row| &row.solution);
            let mut conclusion = rows::conclusion(solutions, points.len() * tasks);
            note_unstable(&mut conclusion, &all, "chains take at most one step in a task");
            conclusion
        }
        BrokenAnswer::Branches(found) => {
            let all = found.symmetric.rows.iter();
            let all = all.chain(found.broken.rows.iter().map(|row| &row.solution));
            let mut conclusion = rows::conclusion(all.clone(), all.count());
            if found.broken.rows.is_empty() {
                let steps = found.broken.rsb;
                conclusion
                    .missing(format!("no solution with {steps} steps in the given range of alpha"));
            }
            conclusion
        }
        BrokenAnswer::PhaseDiagram(phases) => broken_phases::conclusion(phases),
        BrokenAnswer::Complexity(found) => complexity_conclusion(found),
    }
}

/// Says how many solutions are unstable with the steps that they have.
fn note_unstable(conclusion: &mut Conclusion, rows: &[&BrokenRow], remedy: &str) {
    let unstable = rows.iter().filter(|row| row.is_stable == Some(false)).count();
    if unstable > 0 {
        conclusion.note(format!(
            "{unstable} of {} rows are unstable with the steps that they have (a lambda < 0): {remedy}",
            rows.len()
        ));
    }
}

fn complexity_conclusion(found: &Complexity) -> Conclusion {
    let mut conclusion = Conclusion::default();
    match (found.dynamical, found.condensation) {
        (Some(born), Some(condense)) if condense - born > 1e-9 => conclusion.note(format!(
            "at beta = {} the measure shatters into clusters at alpha = {born:.5}; few of them carry it \
             from alpha = {condense:.5} on",
            found.beta
        )),
        (Some(born), _) => conclusion.note(format!(
            "at beta = {} clusters appear continuously at alpha = {born:.5} and few of them carry the \
             measure at once",
            found.beta
        )),
        _ => conclusion.note(format!("at beta = {} replica symmetry never breaks", found.beta)),
    }
    if found.rows.is_empty() {
        let (alpha, beta) = (found.alpha, found.beta);
        conclusion.missing(format!("there are no clusters at alpha = {alpha}, beta = {beta}"));
    }
    if let Some((s, x)) = split(found) {
        conclusion.note(format!(
            "lambda_1 changes sign at about -beta f = {s:.4} of a cluster (x = {x:.3}), between two rows: \
             clusters with negative lambda_1 are not whole"
        ));
    } else if found.rows.first().is_some_and(is_split) {
        conclusion.note("lambda_1 is negative in all rows: the clusters are not whole".into());
    }
    conclusion
}

fn is_split(row: &BrokenRow) -> bool {
    or_nan(row.lambda_1) < 0.0
}

/// −βf of a cluster and x where the first sign change of λ_1 lies on the chord between two rows.
fn split(found: &Complexity) -> Option<(f64, f64)> {
    let w = found.rows.windows(2).find(|w| is_split(&w[0]) != is_split(&w[1]))?;
    let (a, b) = (or_nan(w[0].lambda_1), or_nan(w[1].lambda_1));
    let between = |of: fn(&BrokenRow) -> Option<f64>| {
        let (from, to) = (or_nan(of(&w[0])), or_nan(of(&w[1])));
        from + a / (a - b) * (to - from)
    };
    Some((between(|row| row.cluster_minus_beta_f), between(|row| row.x)))
}

pub(super) fn json(answer: &BrokenAnswer, is_scanned: bool) -> Value {
    match answer {
        BrokenAnswer::Single(rows) => json!(rows),
        BrokenAnswer::Chain(points) => match &points[..] {
            [point] if !is_scanned => json!({"tasks": point.tasks}),
            _ => points.iter().map(point_json).collect(),
        },
        BrokenAnswer::Branches(found) => json!(found),
        BrokenAnswer::PhaseDiagram(phases) => json!(phases),
        BrokenAnswer::Complexity(found) => json!(found),
    }
}

fn point_json(point: &BrokenChain) -> Value {
    let mut value = Map::new();
    for (name, at) in &point.at {
        value.insert(chain::column(name), json!(at));
    }
    value.insert("tasks".into(), json!(point.tasks));
    value.into()
}

pub(super) fn tables(ask: &BrokenAsk, answer: &BrokenAnswer, detail: Detail) -> Vec<Table> {
    match answer {
        BrokenAnswer::Single(rows) => vec![table(&rows.iter().collect::<Vec<_>>(), detail, &SHORT)],
        BrokenAnswer::Chain(points) => vec![chain_table(ask, points, detail)],
        BrokenAnswer::Branches(found) => branches_tables(found, detail),
        BrokenAnswer::PhaseDiagram(phases) => broken_phases::tables(phases, detail),
        BrokenAnswer::Complexity(found) => {
            vec![table(&found.rows.iter().collect::<Vec<_>>(), detail, &CLUSTERS)]
        }
    }
}

fn chain_table(ask: &BrokenAsk, points: &[BrokenChain], detail: Detail) -> Table {
    let BrokenAsk::Chain { parameters, axes } = ask else { return Table::new([""; 0]) };
    let all: Vec<&BrokenRow> = points.iter().flat_map(BrokenChain::rows).collect();
    // The own error is among the errors.
    let shown: Vec<&str> =
        names(&all, detail, &SHORT).into_iter().filter(|name| *name != "eps").collect();
    let leading: Vec<String> = axes.iter().map(|a| chain::column(&a.name)).collect();
    let tasks_of = points.iter().flat_map(|point| {
        let at: Vec<f64> = point.at.iter().map(|(_, value)| *value).collect();
        point.tasks.iter().map(move |task| (at.clone(), task))
    });
    let row = |(at, task): (Vec<f64>, &BrokenTaskRow)| rows::TaskRow {
        at,
        task: task.task,
        cells: shown.iter().map(|name| cell(&task.row, name)).collect(),
        errors: task.eps_by_task.iter().map(|eps| or_nan(*eps)).collect(),
    };
    let columns = shown.iter().map(|name| (*name).to_owned()).collect();
    rows::task_rows(&leading, columns, tasks_of.map(row), parameters.alpha.len())
}

fn branches_tables(found: &BrokenBranches, detail: Detail) -> Vec<Table> {
    let rows_of: Vec<&BrokenRow> = found.broken.rows.iter().collect();
    if detail == Detail::Full {
        let symmetric: Vec<BrokenRow> =
            found.symmetric.rows.iter().map(BrokenRow::symmetric).collect();
        let all: Vec<&BrokenRow> = symmetric.iter().chain(rows_of).collect();
        return vec![table(&all, detail, &SHORT)];
    }
    let broken = table(&rows_of, detail, &SHORT);
    let shown =
        ["alpha", "branch", "rsb", "eps", "minus_beta_f", "x", "lambda_0", "lambda_1", "lambda_2"];
    let mut landmarks = Table::new(["landmark"].into_iter().chain(shown));
    for landmark in &found.broken.landmarks {
        let mut cells = vec![Cell::Text(landmark.name.clone())];
        cells.extend(shown.iter().map(|name| cell(&landmark.row, name)));
        landmarks.push(cells);
    }
    let mut tables = branches::tables(&found.symmetric, detail);
    tables.extend([broken, landmarks]);
    tables
}

pub(super) fn figure(ask: &BrokenAsk, answer: &BrokenAnswer) -> Figure {
    match (ask, answer) {
        (BrokenAsk::Constrained { .. }, BrokenAnswer::Single(rows)) => {
            rows_figure(rows, "q_⋆", |row| row.solution.q_d)
        }
        (BrokenAsk::Single { alpha, beta, .. }, BrokenAnswer::Single(rows)) => {
            if alpha.len() == 1 && beta.len() > 1 {
                rows_figure(rows, "β", |row| row.solution.beta)
            } else {
                rows_figure(rows, "α", |row| row.solution.alpha)
            }
        }
        (BrokenAsk::Chain { parameters, axes }, BrokenAnswer::Chain(points)) => chain::figure(
            &points.iter().map(chain::Drawn::from).collect::<Vec<_>>(),
            axes,
            parameters.alpha.len(),
        ),
        (BrokenAsk::Branches { beta, .. }, BrokenAnswer::Branches(found)) => {
            branches_figure(found, *beta)
        }
        (_, BrokenAnswer::PhaseDiagram(phases)) => broken_phases::broken_phase_figure(phases),
        (_, BrokenAnswer::Complexity(found)) => complexity_figure(found),
        _ => Figure::default(),
    }
}

type Quantity = (&'static str, fn(&BrokenRow) -> f64);
const OVERLAPS: [Quantity; 5] = [
    ("q_d", |row| row.solution.q_d),
    ("q_2", |row| or_nan(row.q_2)),
    ("q_1", |row| or_nan(row.q_1)),
    ("q_0", |row| row.solution.q_0),
    ("r", |row| row.solution.r),
];
const STABILITIES: [Quantity; 3] = [
    ("λ_0", |row| or_nan(row.lambda_0)),
    ("λ_1", |row| or_nan(row.lambda_1)),
    ("λ_2", |row| or_nan(row.lambda_2)),
];

/// Order parameters, error, free energy, x and stabilities.
fn rows_figure(rows: &[BrokenRow], name: &str, x: fn(&BrokenRow) -> f64) -> Figure {
    let mut sorted: Vec<&BrokenRow> = rows.iter().collect();
    sorted.sort_by_key(|row| row.solution.branch);
    let axis = || Axis::linear(name);
    let mut order = Panel::new("order parameters", axis(), Axis::linear("overlap"));
    let mut error = Panel::new("generalisation error", axis(), Axis::log("ε"));
    let mut parisi = Panel::new("Parisi parameter", axis(), Axis::linear("x"));
    let mut stability = Panel::new("stability", axis(), Axis::linear("λ"));
    for (color, (name, y)) in OVERLAPS.into_iter().enumerate() {
        by_branch(&mut order, &sorted, x, y, Some(name), color);
    }
    by_branch(&mut error, &sorted, x, |row| row.solution.eps, None, 0);
    by_branch(&mut parisi, &sorted, x, |row| or_nan(row.x), Some("x_1"), 0);
    by_branch(&mut parisi, &sorted, x, |row| or_nan(row.x_2), Some("x_2"), 1);
    for (color, (name, y)) in STABILITIES.into_iter().enumerate() {
        by_branch(&mut stability, &sorted, x, y, Some(name), color);
    }
    stability.push(HorizontalLine::new(0.0));
    Figure { panels: vec![order, error, parisi, stability], columns: 2, title: None }
}

/// The symmetric curves with the broken ones over them, and x.
fn branches_figure(found: &BrokenBranches, beta: f64) -> Figure {
    let rows: Vec<&BrokenRow> = found.broken.rows.iter().collect();
    let steps = found.broken.rsb;
    let mut figure = branches::figure(&found.symmetric, beta);
    let alpha = |row: &BrokenRow| row.solution.alpha;
    let label = format!("{steps}RSB");
    let mut parisi = Panel::new("Parisi parameter", Axis::linear("α"), Axis::linear("x"));
    by_branch(&mut parisi, &rows, alpha, |row| or_nan(row.x), Some("x_1"), 5);
    by_branch(&mut parisi, &rows, alpha, |row| or_nan(row.x_2), Some("x_2"), 7);
    let mut levels =
        Panel::new(format!("stability, {label}"), Axis::linear("α"), Axis::linear("λ"));
    for (color, (name, y)) in STABILITIES.into_iter().enumerate() {
        by_branch(&mut levels, &rows, alpha, y, Some(name), color + 5);
    }
    levels.push(HorizontalLine::new(0.0));
    if let [error, order, energy, ..] = &mut figure.panels[..] {
        by_branch(error, &rows, alpha, |row| row.solution.eps, Some(&label), 5);
        by_branch(energy, &rows, alpha, |row| row.solution.minus_beta_f, Some(&label), 5);
        for (color, (name, y)) in OVERLAPS.into_iter().enumerate() {
            by_branch(order, &rows, alpha, y, Some(&format!("{name}, {label}")), color + 5);
        }
        for landmark in &found.broken.landmarks {
            let at = landmark.row.solution.alpha;
            match landmark.name.as_str() {
                "fold" => error.push(VerticalLine::new(at).label(format!("end {at:.3}"))),
                // A crossing is a landmark of both branches.
                "crossing" if landmark.row.solution.branch == Branch::Poor => {
                    let text = format!("crossing {at:.4}, {label}");
                    energy.push(VerticalLine::new(at).label(text));
                }
                _ => {}
            }
        }
    }
    figure.panels.extend([parisi, levels]);
    let steps = if steps == 1 { "one step".into() } else { format!("{steps} steps") };
    figure.title = Some(format!(
        "solutions at β = {beta}, replica-symmetric and with {steps}; dashed: the middle branch"
    ));
    figure
}

/// Σ over the free energy of a cluster, x and the stability inside clusters.
fn complexity_figure(found: &Complexity) -> Figure {
    let rows: Vec<&BrokenRow> = found.rows.iter().collect();
    let s = |row: &BrokenRow| or_nan(row.cluster_minus_beta_f);
    let axis = || Axis::linear("s = −βf of a cluster");
    let mut sigma = Panel::new("complexity", axis(), Axis::linear("Σ"));
    let mut parisi = Panel::new("slope", axis(), Axis::linear("x = −dΣ/ds"));
    let mut stability = Panel::new("stability inside clusters", axis(), Axis::linear("λ_1"));
    by_branch(&mut sigma, &rows, s, |row| or_nan(row.complexity), None, 0);
    by_branch(&mut parisi, &rows, s, |row| or_nan(row.x), None, 0);
    by_branch(&mut stability, &rows, s, |row| or_nan(row.lambda_1), None, 0);
    stability.push(HorizontalLine::new(0.0));
    if let Some((at, _)) = split(found) {
        sigma.push(VerticalLine::new(at).label("λ_1 = 0"));
    }
    let title = Some(format!("clusters at α = {}, β = {}", found.alpha, found.beta));
    Figure { panels: vec![sigma, parisi, stability], columns: 3, title }
}
