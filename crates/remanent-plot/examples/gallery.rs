//! Draws one figure of every sort into a directory, to be looked at:
//! `cargo run -p remanent-plot --example gallery -- DIRECTORY`.

use std::error::Error;
use std::path::Path;

use remanent_plot::{
    Axis, Band, Color, Curve, Dash, Figure, HorizontalLine, Map, Marker, Panel, Points,
    VerticalLine,
};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).ok_or("usage: gallery DIRECTORY")?;
    let directory = Path::new(&directory);
    let grid = vec![s_curves(), band(), map(), edge_cases()];
    let figures = [
        ("s-curves", Figure::single(s_curves())),
        ("band", Figure::single(band())),
        ("map", Figure::single(map())),
        ("crowded", Figure::single(crowded())),
        ("grid", Figure::grid(grid, 2).title("A grid of panels: γ = 1, r_0 = 0.9")),
        ("small", Figure::grid(vec![tiny_values(), short_log(), empty(), log_map()], 2)),
    ];
    for (name, figure) in figures {
        for extension in ["svg", "png"] {
            figure.write(&directory.join(name).with_extension(extension))?;
        }
    }
    Ok(())
}

fn span(lo: f64, hi: f64, count: usize) -> Vec<f64> {
    (0..count).map(|k| lo + (hi - lo) * k as f64 / (count - 1) as f64).collect()
}

/// α(q) of a first-order transition: the branch between the folds is unstable.
fn s_curves() -> Panel {
    let mut panel = Panel::new("first-order transition", Axis::linear("α"), Axis::log("ε_1"));
    for (k, shift) in [0.0, 0.35].into_iter().enumerate() {
        let alpha = |u: f64| 1.0 + shift + 0.9 * (u * u * u - 0.6 * u);
        let error = |u: f64| 10f64.powf(-2.0 - 1.8 * u);
        let fold = (0.2_f64).sqrt();
        let parts =
            [(-1.1, -fold, Dash::Solid), (-fold, fold, Dash::Dashed), (fold, 1.1, Dash::Solid)];
        for (from, to, dash) in parts {
            let u = span(from, to, 80);
            let curve = Curve::new(
                u.iter().map(|&u| alpha(u)).collect(),
                u.iter().map(|&u| error(u)).collect(),
            );
            panel.push(curve.label(format!("β = {}", k + 1)).color(Color::Palette(k)).dash(dash));
        }
        panel.push(VerticalLine::new(alpha(-fold)).label(format!("α_{{c,{}}}", k + 1)));
    }
    panel
}

fn band() -> Panel {
    let x = span(0.0, 10.0, 200);
    let mean: Vec<f64> = x.iter().map(|x| (0.6 * x).sin() * (-0.1 * x).exp()).collect();
    let low = mean.iter().zip(&x).map(|(y, x)| y - 0.05 - 0.02 * x).collect();
    let high = mean.iter().zip(&x).map(|(y, x)| y + 0.05 + 0.02 * x).collect();
    let at = span(0.5, 9.5, 13);
    let y =
        at.iter().map(|x| (0.6 * x).sin() * (-0.1 * x).exp() + 0.08 * (7.0 * x).sin()).collect();
    let error = at.iter().map(|x| 0.06 + 0.008 * x).collect();
    Panel::new("theory and experiment", Axis::linear("time t"), Axis::linear("magnetisation ⟨m⟩_t"))
        .with(Band::new(x.clone(), low, high).label("theory ± σ"))
        .with(Curve::new(x, mean).label("theory ± σ"))
        .with(
            Points::new(at, y)
                .label("N = 10^4, 50 runs")
                .color(Color::Palette(1))
                .marker(Marker::Diamond)
                .error(error),
        )
        .with(HorizontalLine::new(0.0).label("m_⋆"))
}

fn map() -> Panel {
    let (x, y) = (span(0.0, 2.0, 81), span(-1.0, 1.0, 61));
    let values = y
        .iter()
        .flat_map(|&y| {
            x.iter().map(move |&x| {
                if x * x + y * y < 0.15 { f64::NAN } else { (3.0 * x).sin() * (2.0 * y).cos() }
            })
        })
        .collect();
    let border =
        Curve::new(span(0.4, 2.0, 60), span(0.4, 2.0, 60).iter().map(|x| 0.8 - 0.5 * x).collect());
    Panel::new("phase diagram", Axis::linear("γ"), Axis::linear("r_0"))
        .with(Map::new(x, y, values).label("free energy φ"))
        .with(border.color(Color::Rgb(255, 255, 255)).label("transition"))
}

fn log_map() -> Panel {
    let x: Vec<f64> = (-6..=6).map(|k| 10f64.powf(0.5 * f64::from(k))).collect();
    let y: Vec<f64> = (0..9).map(|k| 2f64.powi(k)).collect();
    let values = y.iter().flat_map(|&y| x.iter().map(move |&x| 1e-4 * x * y.sqrt())).collect();
    Panel::new("logarithmic grid", Axis::log("learning rate η"), Axis::log("batch"))
        .with(Map::new(x, y, values).log().label("ε"))
        .with(HorizontalLine::new(100.0).label("B_{max}"))
}

/// Data in every corner, so that the legend has to go below.
fn crowded() -> Panel {
    let x = span(0.0, 1.0, 200);
    let mut panel =
        Panel::new("no free corner: a < b & “c”", Axis::linear("x"), Axis::linear("f_k(x)"));
    for k in 0..6 {
        let y = x.iter().map(|x| (6.3 * x * (1.0 + k as f64) + k as f64).sin()).collect();
        panel.push(
            Curve::new(x.clone(), y).label(format!("k = {k}, ω_{k}")).color(Color::Palette(k)),
        );
    }
    panel
}

/// Gaps, points at the border, lines that leave the window, close labels.
fn edge_cases() -> Panel {
    let x = span(0.0, 4.0, 161);
    let tangent =
        x.iter().map(|&x| if (x - 3.0).abs() < 0.2 { f64::NAN } else { (1.5 * x).tan() }).collect();
    let mut panel = Panel::new(
        "gaps and window",
        Axis::linear("x").range(0.0, 4.0),
        Axis::linear("tan").range(-5.0, 5.0),
    )
    .with(Curve::new(x, tangent).label("tan(1.5x)"))
    .with(
        Curve::new(span(0.0, 4.0, 9), span(-4.0, -2.0, 9))
            .markers()
            .dash(Dash::Dotted)
            .color(Color::Palette(2))
            .label("dotted"),
    )
    .with(HorizontalLine::new(1.0).label("upper"))
    .with(HorizontalLine::new(0.8).label("lower"));
    let markers =
        [Marker::Circle, Marker::Square, Marker::Diamond, Marker::Triangle, Marker::Cross];
    for (k, marker) in markers.into_iter().enumerate() {
        let points = Points::new(vec![k as f64], vec![3.5]).marker(marker).color(Color::Palette(k));
        panel.push(points);
    }
    for (k, x) in [1.0, 1.1, 1.2].into_iter().enumerate() {
        panel.push(VerticalLine::new(x).label(format!("line {k}")));
    }
    panel
}

fn tiny_values() -> Panel {
    let x = span(0.0, 5e6, 50);
    let y = x.iter().map(|x| 3e-7 * (1.0 - (-x / 1e6).exp())).collect();
    Panel::new("common factors", Axis::linear("steps"), Axis::linear("Δq_d"))
        .with(Curve::new(x, y).width(2.5).label("q_d^{∞} − q_d"))
}

fn short_log() -> Panel {
    let x = span(0.003, 0.04, 50);
    let y = x.iter().map(|x| 2e-6 * (x / 0.003).sqrt()).collect();
    Panel::new("short logarithmic axes", Axis::log("x"), Axis::log("y")).with(Curve::new(x, y))
}

fn empty() -> Panel {
    Panel::new(
        "nothing, under a title so long that it has to be shrunk to the width of its panel",
        Axis::linear("x"),
        Axis::log("y"),
    )
    .with(Curve::new(vec![1.0], vec![f64::NAN]).label("missing"))
}
