//! What is shown of `theory tune`.

use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Panel, Points, Table, VerticalLine};
use remanent_theory::tune::{Objective, Search, TunePoint, Tuned};

use super::Conclusion;
use super::chain::symbol;
use crate::experiment::Detail;

/// A parameter that can be searched: its name and where it stands in a point.
type Parameter = (&'static str, fn(&TunePoint) -> f64);

const PARAMETERS: [Parameter; 3] =
    [("gamma", |p| p.gamma), ("lambda", |p| p.lambda), ("rho", |p| p.rho)];

/// The parameters that differ between the points; γ if none does.
fn searched(points: &[TunePoint]) -> Vec<Parameter> {
    let differs = |(_, of): &Parameter| points.windows(2).any(|w| of(&w[0]) != of(&w[1]));
    let searched: Vec<Parameter> = PARAMETERS.into_iter().filter(differs).collect();
    if searched.is_empty() { vec![PARAMETERS[0]] } else { searched }
}

pub(super) fn conclusion(tuned: &Tuned) -> Conclusion {
    let mut conclusion = Conclusion::default();
    if tuned.at_edge {
        let place: Vec<String> = searched(&tuned.curve)
            .iter()
            .map(|(name, _)| match *name {
                "gamma" => format!("gamma = {}", tuned.gamma),
                "lambda" => format!("lambda = {}", tuned.lambda),
                _ => format!("rho = {}", tuned.rho),
            })
            .collect();
        let place = place.join(", ");
        conclusion.note(format!("the minimum is at the edge of the searched range ({place})"));
    }
    let missing = tuned.curve.iter().filter(|p| p.objective.is_nan()).count();
    if missing > 0 {
        conclusion.missing(format!("{missing} of {} rows have no solution", tuned.curve.len()));
    }
    conclusion
}

fn points(rows: &[TunePoint], parameters: &[Parameter], tasks: usize) -> Table {
    let errors = (1..=tasks).map(|k| format!("eps_{k}"));
    let names = parameters.iter().map(|(name, _)| (*name).to_owned());
    let mut table = Table::new(names.chain(["objective".to_owned()]).chain(errors));
    for p in rows {
        let own = parameters.iter().map(|(_, of)| of(p)).chain([p.objective]);
        let errors = p.eps_by_task.iter().copied().chain(std::iter::repeat(f64::NAN)).take(tasks);
        table.push(own.chain(errors).map(Cell::Number).collect());
    }
    table
}

pub(super) fn tables(tuned: &Tuned, detail: Detail) -> Vec<Table> {
    let tasks = tuned.curve.iter().map(|p| p.eps_by_task.len()).max().unwrap_or(0);
    let parameters = searched(&tuned.curve);
    let curve = points(&tuned.curve, &parameters, tasks);
    if detail == Detail::Full {
        return vec![curve];
    }
    let names = parameters.iter().map(|(name, _)| format!("best_{name}"));
    let mut best = Table::new(names.chain(["objective".to_owned()]));
    let value = |name: &str| match name {
        "gamma" => tuned.gamma,
        "lambda" => tuned.lambda,
        _ => tuned.rho,
    };
    let own = parameters.iter().map(|(name, _)| value(name)).chain([tuned.objective]);
    best.push(own.map(Cell::Number).collect());
    match parameters.len() {
        1 => vec![curve, best],
        // A grid is too long to be read: the best trade-offs of it are shown.
        _ => vec![points(&tuned.pareto, &parameters, tasks), best],
    }
}

/// Errors over the searched parameter; for several the trade-off of new and old tasks.
pub(super) fn figure(tuned: &Tuned, search: &Search) -> Figure {
    match &searched(&tuned.curve)[..] {
        [parameter] => curve_figure(tuned, *parameter),
        _ => trade_off_figure(tuned, search),
    }
}

fn curve_figure(tuned: &Tuned, (name, of): Parameter) -> Figure {
    let (axis, best) = match name {
        "gamma" => (Axis::log("γ"), tuned.gamma),
        "lambda" => (Axis::linear("λ"), tuned.lambda),
        _ => (Axis::linear("ρ"), tuned.rho),
    };
    // γ = 0 has no place on a logarithmic axis; the curve is flat there.
    let points: Vec<_> = tuned.curve.iter().filter(|p| name != "gamma" || of(p) > 0.0).collect();
    let x: Vec<f64> = points.iter().map(|p| of(p)).collect();
    let tasks = points.iter().map(|p| p.eps_by_task.len()).max().unwrap_or(0);
    let mut panel = Panel::new("errors at the end of the chain", axis, Axis::linear("ε"));
    for k in 0..tasks {
        let y = points.iter().map(|p| p.eps_by_task.get(k).copied().unwrap_or(f64::NAN)).collect();
        let curve = Curve::new(x.clone(), y).color(Color::Palette(k));
        panel.push(curve.label(format!("task {}", k + 1)));
    }
    let label = match tuned.kind {
        Objective::Mean => "mean",
        Objective::Max => "largest",
        Objective::Newest => "newest",
    };
    let y = points.iter().map(|p| p.objective).collect();
    let objective = Curve::new(x, y).color(Color::Palette(6)).dash(Dash::Dashed);
    panel.push(objective.label(label));
    if best > 0.0 || name != "gamma" {
        panel.push(VerticalLine::new(best).label(format!("{} = {best:.4}", symbol(name))));
    }
    Figure::single(panel)
}

/// The error on older tasks over that on the newest one: all points, and those that none beats.
fn trade_off_figure(tuned: &Tuned, search: &Search) -> Figure {
    let axes = (Axis::linear("ε on the newest task"), Axis::linear("mean ε on older tasks"));
    let mut panel = Panel::new("plasticity and memory", axes.0, axes.1);
    let both = |points: &[TunePoint]| -> (Vec<f64>, Vec<f64>) {
        points.iter().map(|p| p.trade_off(search.last)).unzip()
    };
    let (x, y) = both(&tuned.curve);
    panel.push(Points::new(x, y).color(Color::Palette(0)).label("all"));
    let (x, y) = both(&tuned.pareto);
    panel.push(Curve::new(x, y).color(Color::Palette(1)).markers().label("best trade-offs"));
    Figure::single(panel)
}
