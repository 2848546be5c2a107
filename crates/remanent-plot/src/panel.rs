//! A panel: two axes and what is drawn between them.

use crate::axis::Axis;
use crate::grid::cells;
use crate::inset::Inset;
use crate::layer::{Layer, Map};
use crate::scale::Scale;

/// One pair of axes with its layers. Shaded regions of x are drawn first, then
/// maps, then bands, then lines across the panel, then everything else in the
/// order of pushing, and insets on top.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What stands above the panel, in the markup of [`crate::text`]; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    pub(crate) size: Option<(f64, f64)>,
    layers: Vec<Layer>,
    insets: Vec<Inset>,
}

/// The smallest interval with all values seen so far.
#[derive(Clone, Copy, Debug, Default)]
struct Extent(Option<(f64, f64)>);

impl Extent {
    fn add(&mut self, value: f64) {
        self.0 = Some(self.0.map_or((value, value), |(lo, hi)| (lo.min(value), hi.max(value))));
    }
}

impl Panel {
    /// A panel without layers.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, size: None, layers: Vec::new(), insets: Vec::new() }
    }

    /// Asks for a cell of at least this width and height, labels included, in pixels; 460 by 340 is
    /// usual. All panels of a figure have cells of one size.
    pub fn size(mut self, width: f64, height: f64) -> Self {
        self.size = Some((width, height));
        self
    }

    /// Adds a layer.
    ///
    /// # Panics
    ///
    /// If lists of the layer that belong together differ in length.
    pub fn push(&mut self, layer: impl Into<Layer>) {
        let layer = layer.into();
        layer.check();
        self.layers.push(layer);
    }

    /// The panel with one more layer; panics as [`Panel::push`] does.
    pub fn with(mut self, layer: impl Into<Layer>) -> Self {
        self.push(layer);
        self
    }

    /// The layers in the order of pushing.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Adds an inset.
    ///
    /// # Panics
    ///
    /// If a part of the inset is outside the frame, or the inset has insets itself.
    pub fn push_inset(&mut self, inset: Inset) {
        inset.check();
        self.insets.push(inset);
    }

    /// The panel with one more inset; panics as [`Panel::push_inset`] does.
    pub fn inset(mut self, inset: Inset) -> Self {
        self.push_inset(inset);
        self
    }

    /// The insets in the order of pushing.
    pub fn insets(&self) -> &[Inset] {
        &self.insets
    }

    pub(crate) fn maps(&self) -> impl Iterator<Item = &Map> {
        self.layers.iter().filter_map(|layer| match layer {
            Layer::Map(map) => Some(map),
            _ => None,
        })
    }

    /// The scales of both axes, and whether there is anything to show on them.
    /// Values outside a held range do not count for the other axis: a curve
    /// seen in a window fills the window.
    pub(crate) fn scales(&self) -> (Scale, Scale, bool) {
        let (mut xs, mut ys) = (Extent::default(), Extent::default());
        let mut data = false;
        for layer in &self.layers {
            let mut seen = |x: f64, y: f64| {
                if self.x.admits(x) && self.y.admits(y) {
                    xs.add(x);
                    ys.add(y);
                    data = true;
                }
            };
            match layer {
                Layer::Curve(curve) => zip(&curve.x, &curve.y).for_each(|(x, y)| seen(x, y)),
                Layer::Band(band) => {
                    zip(&band.x, &band.low)
                        .chain(zip(&band.x, &band.high))
                        .for_each(|(x, y)| seen(x, y));
                }
                Layer::Points(points) => {
                    zip(&points.x, &points.y).for_each(|(x, y)| seen(x, y));
                    for ((x, y), &error) in
                        zip(&points.x, &points.y).zip(points.error.iter().flatten())
                    {
                        seen(x, y - error);
                        seen(x, y + error);
                    }
                }
                Layer::Map(map) if map.values.iter().any(|value| value.is_finite()) => {
                    let rows = cells(&map.y, self.y.kind);
                    for column in cells(&map.x, self.x.kind) {
                        for row in &rows {
                            seen(column.from, row.from);
                            seen(column.to, row.to);
                        }
                    }
                }
                Layer::Map(_) => {}
                // A text does not widen the range.
                Layer::VerticalLine(_)
                | Layer::VerticalSpan(_)
                | Layer::HorizontalLine(_)
                | Layer::Note(_) => {}
            }
        }
        for layer in &self.layers {
            match layer {
                Layer::VerticalLine(line) if self.x.admits(line.x) => xs.add(line.x),
                Layer::VerticalSpan(span) => {
                    let ends = [span.from, span.to].into_iter();
                    ends.filter(|&end| self.x.admits(end)).for_each(|end| xs.add(end));
                }
                Layer::HorizontalLine(line) if self.y.admits(line.y) => ys.add(line.y),
                _ => {}
            }
        }
        let padded = self.maps().next().is_none();
        (self.x.scale(xs.0, padded), self.y.scale(ys.0, padded), data)
    }
}

pub(crate) fn zip<'a>(x: &'a [f64], y: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + Clone + 'a {
    x.iter().copied().zip(y.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Curve, Points, VerticalLine, VerticalSpan};

    fn panel() -> Panel {
        Panel::new("", Axis::linear("x"), Axis::linear("y"))
    }

    #[test]
    fn gaps_do_not_count_for_the_range() {
        let y = vec![0.0, f64::NAN, f64::INFINITY, 1.0];
        let (x, y, data) = panel().with(Curve::new(vec![0.0, 10.0, 20.0, 1.0], y)).scales();
        assert_eq!((x.ends(), y.ends(), data), ((-0.04, 1.04), (-0.04, 1.04), true));
    }

    #[test]
    fn error_bars_and_lines_count_for_the_range() {
        let points = Points::new(vec![0.0], vec![1.0]).error(vec![3.0]);
        let (x, y, _) = panel().with(points).with(VerticalLine::new(50.0)).scales();
        assert!(y.place(-2.0) > 0.0 && y.place(4.0) < 1.0);
        assert!(x.place(50.0) < 1.0);
    }

    #[test]
    fn only_finite_ends_of_spans_count_for_the_range() {
        let curve = || Curve::new(vec![0.0, 1.0], vec![0.0, 1.0]);
        let range = |from: f64, to: f64| {
            panel().with(curve()).with(VerticalSpan::new(from, to)).scales().0.ends()
        };
        assert_eq!(range(f64::NEG_INFINITY, 0.5), (-0.04, 1.04));
        assert_eq!(range(f64::NEG_INFINITY, f64::INFINITY), (-0.04, 1.04));
        assert_eq!(range(f64::INFINITY, -99.0), (-103.0, 5.0));
        let mut held = panel().with(curve()).with(VerticalSpan::new(-99.0, 0.5));
        held.x = held.x.range(0.0, 1.0);
        assert_eq!(held.scales().0.ends(), (0.0, 1.0));
    }

    #[test]
    fn a_window_on_x_sets_the_range_of_y() {
        let mut panel = panel().with(Curve::new(vec![0.0, 1.0, 2.0], vec![0.0, 1.0, 1000.0]));
        panel.x = panel.x.range(0.0, 1.0);
        assert_eq!(panel.scales().1.ends(), (-0.04, 1.04));
    }

    #[test]
    fn maps_fill_the_panel() {
        let map = Map::new(vec![0.0, 1.0], vec![0.0, 1.0], vec![0.0; 4]);
        assert_eq!(panel().with(map).scales().0.ends(), (-0.5, 1.5));
        let empty = Map::new(vec![0.0, 1.0], vec![0.0], vec![f64::NAN; 2]);
        assert!(!panel().with(empty).scales().2);
    }

    #[test]
    #[should_panic(expected = "y of a curve")]
    fn lists_of_different_lengths_are_refused() {
        let _ = panel().with(Curve::new(vec![0.0, 1.0], vec![0.0]));
    }
}
