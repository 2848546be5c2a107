//! What is shown of `theory chain --stationary`.

use remanent_plot::{Axis, Cell, Color, Curve, Figure, Panel, Table};
use serde_json::{Value, json};

use super::chain::{column, symbol};
use super::{Conclusion, tables as rows};
use crate::experiment::Detail;
use crate::theory::stream::{StreamAsk, StreamPoint};

/// The largest number of memory curves in one panel.
const MOST_CURVES: usize = 8;

pub(super) fn conclusion(ask: &StreamAsk, points: &[StreamPoint]) -> Conclusion {
    let mut conclusion = rows::conclusion(points.iter().map(|p| &p.stream.state), points.len());
    let restless = points.iter().any(|p| {
        p.stream.state.termination == remanent_theory::solution::Termination::MaxIterations
    });
    if restless {
        let text = "a stream is not stationary after 1000 tasks: certainty grows without bound where \
                    lambda = rho = 1";
        conclusion.note(text.into());
    }
    if let ([point], []) = (points, &ask.axes[..])
        && point.stream.state.is_found()
    {
        let (horizon, error) = (point.horizon, ask.remembered);
        conclusion.note(format!(
            "{horizon} latest {} remembered with an error below {error}",
            if horizon == 1 { "task is" } else { "tasks are" }
        ));
    }
    conclusion
}

/// One object, or a list of objects with the scanned values.
pub(super) fn json(ask: &StreamAsk, points: &[StreamPoint]) -> Value {
    let shown = |point: &StreamPoint| {
        let mut value = json!(point.stream);
        value["horizon"] = point.horizon.into();
        for (name, at) in &point.at {
            value[column(name)] = (*at).into();
        }
        value
    };
    match points {
        [point] if ask.axes.is_empty() => shown(point),
        points => points.iter().map(shown).collect(),
    }
}

pub(super) fn tables(ask: &StreamAsk, points: &[StreamPoint], detail: Detail) -> Vec<Table> {
    let names: Vec<String> = ask.axes.iter().map(|axis| column(&axis.name)).collect();
    let solutions = rows::solutions(points.iter().map(|p| &p.stream.state), detail);
    let own = ["horizon", "tasks", "rate"].map(str::to_owned);
    // A scanned alpha or beta has a column among those of the solution.
    let leads: Vec<bool> = names.iter().map(|name| !solutions.headers().contains(name)).collect();
    let leading = names.iter().zip(&leads).filter(|(_, leads)| **leads).map(|(name, _)| name);
    let headers = leading.cloned().chain(own).chain(solutions.headers().iter().cloned());
    let mut states = Table::new(headers);
    for (p, row) in points.iter().zip(solutions.rows()) {
        let at = p.at.iter().zip(&leads).filter(|(_, leads)| **leads);
        let mut cells: Vec<Cell> = at.map(|((_, value), _)| Cell::Number(*value)).collect();
        cells.push(Cell::Integer(p.horizon as i64));
        cells.push(Cell::Integer(p.stream.tasks as i64));
        cells.push(Cell::Number(p.stream.rate));
        cells.extend(row.iter().cloned());
        states.push(cells);
    }
    let mut memory = Table::new(names.into_iter().chain(["back".to_owned(), "eps".to_owned()]));
    for point in points {
        for (back, eps) in point.stream.memory.iter().enumerate() {
            let at = point.at.iter().map(|(_, value)| Cell::Number(*value));
            let own = [Cell::Integer(back as i64), Cell::Number(*eps)];
            memory.push(at.chain(own).collect());
        }
    }
    vec![states, memory]
}

/// Memory curves, and over a scanned parameter plasticity and horizon.
pub(super) fn figure(ask: &StreamAsk, points: &[StreamPoint]) -> Figure {
    let mut memory =
        Panel::new("memory", Axis::linear("tasks back"), Axis::linear("ε on that task"));
    let step = points.len().div_ceil(MOST_CURVES).max(1);
    for (color, point) in points.iter().step_by(step).enumerate() {
        let x: Vec<f64> = (0..point.stream.memory.len()).map(|back| back as f64).collect();
        let mut curve = Curve::new(x, point.stream.memory.clone()).color(Color::Palette(color));
        let at: Vec<String> =
            point.at.iter().map(|(name, value)| format!("{} = {value}", symbol(name))).collect();
        if !at.is_empty() {
            curve = curve.label(at.join(", "));
        }
        memory.push(curve.markers());
    }
    let [axis] = &ask.axes[..] else { return Figure::single(memory) };
    let x = || Axis::linear(symbol(&axis.name));
    let mut plasticity = Panel::new("plasticity", x(), Axis::linear("ε on the newest task"));
    let mut horizon = Panel::new(
        format!("tasks with ε < {}", ask.remembered),
        x(),
        Axis::linear("number of tasks"),
    );
    let eps = points.iter().map(|p| p.stream.state.eps).collect();
    plasticity.push(Curve::new(axis.values.clone(), eps));
    let tasks = points.iter().map(|p| p.horizon as f64).collect();
    horizon.push(Curve::new(axis.values.clone(), tasks).markers());
    Figure { panels: vec![memory, plasticity, horizon], columns: 3, title: None }
}
