//! What pictures of means share: a line over a band, and symbols with error bars.

use remanent_plot::{Band, Curve, Panel, Points};

/// A mean with its standard error, somewhere.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Where or when.
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
    let line = look(Curve::new(x.clone(), measured.iter().map(|m| m.mean).collect()));
    if measured.iter().any(|m| m.error.is_some()) {
        let edge =
            |sign: f64| measured.iter().map(|m| m.mean + sign * m.error.unwrap_or(0.0)).collect();
        panel.push(Band::new(x, edge(-1.0), edge(1.0)).color(line.color));
    }
    panel.push(line);
}

/// Symbols with error bars of one standard error.
pub fn points(measured: &[Measured]) -> Points {
    let of = |value: fn(&Measured) -> f64| measured.iter().map(value).collect();
    Points::new(of(|m| m.x), of(|m| m.mean)).error(of(|m| m.error.unwrap_or(0.0)))
}
