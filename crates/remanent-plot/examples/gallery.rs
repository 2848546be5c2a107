//! Draws one figure of every sort into a directory, to be looked at:
//! `cargo run -p remanent-plot --example gallery -- DIRECTORY`.

use std::error::Error;
use std::path::Path;

use remanent_plot::{
    Axis, Band, Color, Corner, Curve, Dash, Figure, HorizontalLine, Inset, Map, Marker, Panel,
    Points, VerticalLine, VerticalSpan,
};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).ok_or("usage: gallery DIRECTORY")?;
    let directory = Path::new(&directory);
    let grid = vec![s_curves(), band(), map(), edge_cases()];
    let insets = vec![inset(), connected(), placed_inset(), palette()];
    let figures = [
        ("s-curves", Figure::single(s_curves())),
        ("band", Figure::single(band())),
        ("map", Figure::single(map())),
        ("crowded", Figure::single(crowded())),
        ("grid", Figure::grid(grid, 2).title("A grid of panels: γ = 1, r_0 = 0.9")),
        ("small", Figure::grid(vec![tiny_values(), short_log(), empty(), log_map()], 2)),
        ("insets", Figure::grid(insets, 2).title("Insets, shaded regions, joined points")),
        ("inset", Figure::single(inset())),
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
    for (k, marker) in Marker::ALL.into_iter().enumerate() {
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

/// The inset finds the free corner, the legend the next one.
fn inset() -> Panel {
    let x = span(0.0, 6.0, 200);
    let error = |beta: f64| x.iter().map(|x| 0.5 * (-beta * x).exp()).collect::<Vec<f64>>();
    let mut outer = Panel::new("learning", Axis::linear("α"), Axis::linear("ε_1").range(0.0, 0.5))
        .with(VerticalSpan::new(f64::NEG_INFINITY, 0.8).label("poor branch"));
    let mut inner = Panel::new("", Axis::linear("α"), Axis::log("ε_1"))
        .with(VerticalLine::new(3.0).label("α_c"));
    for (k, beta) in [0.6, 1.0, 1.8].into_iter().enumerate() {
        let curve = Curve::new(x.clone(), error(beta)).color(Color::Palette(k));
        inner.push(curve.clone());
        outer.push(curve.label(format!("β = {beta}")));
    }
    outer.inset(Inset::new(inner))
}

/// Symbols joined by dashed lines, an inset in a given corner, the legend in another.
fn connected() -> Panel {
    let tasks = span(1.0, 10.0, 10);
    let accuracy =
        |k: usize| tasks.iter().map(move |t| 0.97 - 0.012 * (k as f64 + 1.0) * (t - 1.0));
    let markers = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond];
    let mut panel = Panel::new("", Axis::linear("task"), Axis::linear("accuracy").range(0.2, 1.0));
    for (k, marker) in markers.into_iter().enumerate() {
        let points = Points::new(tasks.clone(), accuracy(k).collect())
            .label(format!("N = 10^{}", k + 2))
            .color(Color::Palette(k))
            .marker(marker)
            .connected(if k < 3 { Dash::Dashed } else { Dash::Dotted });
        panel.push(if k % 2 == 0 { points.hollow() } else { points.error(vec![0.015; 10]) });
    }
    let n: Vec<f64> = (2..=5).map(|k| 10f64.powi(k)).collect();
    let loss = Points::new(n, vec![0.1, 0.22, 0.32, 0.43]).connected(Dash::Solid).hollow();
    let inner = Panel::new("", Axis::log("N"), Axis::linear("loss")).with(loss);
    panel.inset(Inset::new(inner).at(Corner::BottomLeft))
}

/// An inset in the middle of a map, with a legend of its own.
fn placed_inset() -> Panel {
    let x = span(-1.0, 1.0, 60);
    let inner = Panel::new("cut at y = 0", Axis::linear("x"), Axis::linear(""))
        .with(VerticalSpan::new(0.2, 0.6).color(Color::Palette(2)).label("stable"))
        .with(Curve::new(x.clone(), x.iter().map(|x| x * x).collect()).label("x^2"));
    map().inset(Inset::new(inner).place(0.3, 0.2, 0.6, 0.6))
}

fn palette() -> Panel {
    let mut panel = Panel::new("ten colours", Axis::linear("x"), Axis::linear(""))
        .with(VerticalSpan::new(0.2, 0.4).color(Color::Palette(0)).label("0.2 to 0.4"))
        .with(VerticalSpan::new(0.9, f64::INFINITY).color(Color::Palette(1)).label("over 0.9"));
    for k in 0..10 {
        let level = k as f64;
        panel.push(Curve::new(vec![0.0, 1.0], vec![level, level]).color(Color::Palette(k)));
        panel.push(
            Points::new(vec![0.1, 0.3, 0.5], vec![level; 3])
                .color(Color::Palette(k))
                .connected(Dash::Dotted),
        );
    }
    panel
}
