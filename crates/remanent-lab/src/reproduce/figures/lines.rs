//! A line that every figure over time draws: means, and how sure they are.

use remanent_plot::{Band, Curve, Panel};

/// A mean with its standard error, at some time.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// When.
    pub x: f64,
    /// The mean.
    pub mean: f64,
    /// Its standard error; none for a single trial.
    pub error: Option<f64>,
}

/// Draws a line through means over a band of one standard error on either side; `look` sets colour,
/// label and dashes of the line, and the band takes its colour.
pub fn draw(panel: &mut Panel, measured: &[Measured], look: impl Fn(Curve) -> Curve) {
    let x: Vec<f64> = measured.iter().map(|m| m.x).collect();
    let edge =
        |sign: f64| measured.iter().map(|m| m.mean + sign * m.error.unwrap_or(0.0)).collect();
    let line = look(Curve::new(x.clone(), measured.iter().map(|m| m.mean).collect()));
    panel.push(Band::new(x, edge(-1.0), edge(1.0)).color(line.color));
    panel.push(line);
}
