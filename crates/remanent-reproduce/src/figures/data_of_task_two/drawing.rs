//! The picture of one panel.

use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Panel, Points, Table};

use super::view::{Line, View};
use crate::results::Drawing;

/// Picture and table.
pub fn draw(view: &View) -> Drawing {
    let task = view.task;
    let mut panel = Panel::new(
        format!("error of task {task} after task 2"),
        Axis::linear("α_2"),
        Axis::linear(format!("ε_{task}")).lower(0.0),
    );
    let mut table = Table::new(["source", "gamma", "r0", "alpha_2", "eps", "eps_se"]);
    for (index, line) in view.lines.iter().enumerate() {
        draw_line(&mut panel, line, index);
        write_line(&mut table, line, view.gamma);
    }
    Drawing { figure: Figure::single(panel), table }
}

fn draw_line(panel: &mut Panel, line: &Line, index: usize) {
    let color = Color::Palette(index);
    let x = line.theory.iter().map(|point| point.alpha_2).collect();
    let y = line.theory.iter().map(|point| point.eps.unwrap_or(f64::NAN)).collect();
    let curve = Curve::new(x, y).color(color);
    panel.push(if index == 0 { curve.label("theory, RS") } else { curve });
    if line.change().is_some() {
        let x = line.one_step.iter().map(|point| point.alpha_2).collect();
        let y = line.one_step.iter().map(|point| point.eps.unwrap_or(f64::NAN)).collect();
        let curve = Curve::new(x, y).color(color).dash(Dash::Dotted).width(2.2);
        panel.push(if index == 0 { curve.label("theory, 1RSB") } else { curve });
    }
    let found = || line.found.iter().filter_map(|found| Some((found.alpha_2, found.mean()?)));
    let error = found().map(|(_, eps)| eps.standard_error.unwrap_or(0.0)).collect();
    panel.push(
        Points::new(found().map(|p| p.0).collect(), found().map(|p| p.1.value).collect())
            .error(error)
            .connected(Dash::Dashed)
            .label(format!("r_0 = {}", line.r_0))
            .color(color),
    );
}

fn write_line(table: &mut Table, line: &Line, gamma: f64) {
    let theory = line.theory.iter().map(|point| {
        let eps = point.eps.unwrap_or(f64::NAN);
        ("theory", point.alpha_2, Cell::from(eps), Cell::Missing)
    });
    let found = line.found.iter().filter_map(|found| {
        let eps = found.mean()?;
        Some(("gd", found.alpha_2, eps.value.into(), eps.standard_error.into()))
    });
    let one_step = line.one_step.iter().map(|point| {
        let source = if point.rsb > 0 { "theory, one step" } else { "theory, no step needed" };
        (source, point.alpha_2, Cell::from(point.eps.unwrap_or(f64::NAN)), Cell::Missing)
    });
    for (source, alpha_2, eps, error) in theory.chain(one_step).chain(found) {
        table.push(vec![source.into(), gamma.into(), line.r_0.into(), alpha_2.into(), eps, error]);
    }
}
