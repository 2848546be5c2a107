//! The picture of figure B8.

use remanent_plot::{Axis, Color, Curve, Dash, Figure, Marker, Panel, Points, Table, VerticalLine};

use super::{Aim, By, Measured, Simulation};
use crate::results::Drawing;
use crate::verdict::Estimate;

pub fn draw(measured: &Measured) -> Drawing {
    let panels = vec![memory(measured), errors(measured), best(measured)];
    Drawing { figure: Figure::grid(panels, 3), table: table(measured) }
}

/// The memory of the learners at the λ that SGD has, too.
fn memory(measured: &Measured) -> Panel {
    let title = format!("memory of a stream, r_0 = {}", measured.r0);
    let mut panel =
        Panel::new(title, Axis::linear("tasks back"), Axis::linear("ε").range(0.0, 0.55));
    for (index, sgd) in measured.of(By::Gradient).enumerate() {
        let sampled = measured.of(By::Sampling).find(|s| s.lambda == sgd.lambda);
        for simulation in sampled.into_iter().chain([sgd]) {
            draw_memory(&mut panel, simulation, index);
        }
    }
    panel
}

fn draw_memory(panel: &mut Panel, simulation: &Simulation, index: usize) {
    let (name, color, marker) = match simulation.learner {
        By::Sampling => ("samples", Color::Palette(2 * index), Marker::Circle),
        By::Gradient => ("SGD", Color::Palette(2 * index + 1), Marker::Diamond),
    };
    let found: Vec<(f64, Estimate)> = simulation
        .back
        .iter()
        .enumerate()
        .filter_map(|(back, r)| Some((back as f64, Estimate::of(r.errors.iter().copied())?)))
        .collect();
    panel.push(
        points(&found)
            .marker(marker)
            .color(color)
            .label(format!("{name}, λ = {}", simulation.lambda)),
    );
    let x = (0..simulation.back.len()).map(|back| back as f64).collect();
    let theory = simulation.back.iter().map(|r| r.theory.unwrap_or(f64::NAN)).collect();
    panel.push(Curve::new(x, theory).color(color));
}

fn points(found: &[(f64, Estimate)]) -> Points {
    let (x, y) = found.iter().map(|(x, estimate)| (*x, estimate.value)).unzip();
    Points::new(x, y).error(found.iter().map(|(_, e)| e.standard_error.unwrap_or(0.0)).collect())
}

/// Errors against λ.
fn errors(measured: &Measured) -> Panel {
    let title = format!("error against λ, r_0 = {}", measured.r0);
    let mut panel = Panel::new(title, Axis::linear("λ"), Axis::linear("ε"));
    for (index, aim) in Aim::ALL.into_iter().enumerate() {
        let color = Color::Palette(2 * index);
        let (x, y) = measured.curve(measured.r0, aim).into_iter().unzip();
        panel.push(Curve::new(x, y).color(color).label(format!("theory, {}", label(aim))));
        let found: Vec<(f64, Estimate)> = measured
            .of(By::Sampling)
            .filter_map(|s| Some((s.lambda, Estimate::of(s.trials(aim)?)?)))
            .collect();
        panel.push(points(&found).color(color).label(format!("samples, {}", label(aim))));
        if let Some((lambda, _)) = measured.best(measured.r0, aim) {
            panel.push(VerticalLine::new(lambda));
        }
    }
    panel
}

/// The best λ against r_0.
fn best(measured: &Measured) -> Panel {
    let mut panel =
        Panel::new("best λ in theory", Axis::linear("r_0"), Axis::linear("λ").range(0.0, 1.05));
    for (index, aim) in Aim::ALL.into_iter().enumerate() {
        let (x, y) = measured
            .overlaps()
            .into_iter()
            .filter_map(|r0| Some((r0, measured.best(r0, aim)?.0)))
            .unzip();
        panel.push(Curve::new(x, y).color(Color::Palette(2 * index)).label(label(aim)));
    }
    let last = measured.overlaps().last().copied().unwrap_or(1.0);
    panel.push(
        Curve::new(vec![0.0, last], vec![0.0, last])
            .color(Color::GREY)
            .dash(Dash::Dashed)
            .label("λ = r_0"),
    );
    panel
}

fn label(aim: Aim) -> &'static str {
    match aim {
        Aim::Newest => "newest task",
        Aim::LatestThree => "mean of the latest 3",
    }
}

fn table(measured: &Measured) -> Table {
    let mut table = Table::new(["source", "r0", "lambda", "back", "eps", "eps_se", "theory"]);
    for stationary in &measured.stationary {
        for (back, eps) in stationary.memory.iter().enumerate() {
            table.push(vec![
                "stationary theory".into(),
                stationary.r0.into(),
                stationary.lambda.into(),
                (back as i64).into(),
                (*eps).into(),
                None::<f64>.into(),
                None::<f64>.into(),
            ]);
        }
    }
    for simulation in &measured.simulated {
        let source = if simulation.learner == By::Sampling { "samples" } else { "SGD" };
        for (back, remembered) in simulation.back.iter().enumerate() {
            let found = Estimate::of(remembered.errors.iter().copied());
            table.push(vec![
                source.into(),
                measured.r0.into(),
                simulation.lambda.into(),
                (back as i64).into(),
                found.map(|e| e.value).into(),
                found.and_then(|e| e.standard_error).into(),
                remembered.theory.into(),
            ]);
        }
    }
    table
}
