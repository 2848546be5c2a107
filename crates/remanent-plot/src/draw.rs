//! From a panel to SVG.
//!
//! First every panel is prepared: scales, ticks, and the space that its labels
//! need. Then the figure aligns the panels of a column and of a row by giving
//! each the largest of their margins, and every panel is drawn in its frame.

mod axes;
mod free;
mod heat;
mod inset;
mod legend;
mod marks;
mod prepare;

pub(crate) use axes::shrunk;
pub(crate) use prepare::{Margins, Prepared};

use crate::clip::{Point, Rect};
use crate::scale::Scale;
use crate::svg::Svg;

/// Font sizes in pixels.
const TICK_SIZE: f64 = 12.0;
const LABEL_SIZE: f64 = 13.0;
const TITLE_SIZE: f64 = 14.0;
/// From the middle of a line of text down to its baseline, in font sizes.
const TO_BASELINE: f64 = 0.36;

/// The area between the axes, with its scales.
#[derive(Clone, Copy, Debug)]
struct Frame {
    rect: Rect,
    x: Scale,
    y: Scale,
}

impl Frame {
    fn x_at(&self, place: f64) -> f64 {
        self.rect.left + place * self.rect.width()
    }

    fn y_at(&self, place: f64) -> f64 {
        self.rect.bottom - place * self.rect.height()
    }

    /// Where a pair of values is; `None` if either has no place on its axis.
    fn point(&self, x: f64, y: f64) -> Option<Point> {
        let point = (self.x_at(self.x.place(x)), self.y_at(self.y.place(y)));
        (point.0.is_finite() && point.1.is_finite()).then_some(point)
    }
}

/// Draws a prepared panel into its cell of the figure.
pub(crate) fn panel(svg: &mut Svg, prepared: &Prepared<'_>, cell: &Rect, margins: &Margins) {
    let frame = prepared.frame(cell, margins);
    let has_map = prepared.colors.is_some();
    let x_ticks = prepared.x_ticks(&frame);
    marks::spans(svg, prepared.panel.layers(), &frame);
    if !has_map {
        axes::grid(svg, &frame, &x_ticks, &prepared.y_ticks);
    }
    svg.clipped(&frame.rect);
    if let Some(colors) = &prepared.colors {
        prepared.panel.maps().for_each(|map| heat::map(svg, &frame, map, colors));
    }
    marks::lines(svg, prepared.panel.layers(), &frame);
    svg.end();
    marks::markers(svg, prepared.panel.layers(), &frame);
    axes::axes(svg, prepared, &frame, &x_ticks, cell);
    let mut right = frame.rect.right;
    if let Some(width) = prepared.guide_width() {
        axes::horizontal_labels(svg, prepared.panel, &frame);
        right += width;
    }
    if let Some(colors) = &prepared.colors {
        heat::bar(svg, colors, &frame.rect, right);
    }
    if !prepared.data {
        axes::no_data(svg, &frame.rect);
    }
    inset::draw(svg, prepared.panel, &frame);
    legend::draw(svg, prepared, &frame, cell);
}
