//! The few elements of SVG that a figure is made of.

use std::fmt::Write;

use crate::clip::{Point, Rect};
use crate::number::coordinate;
use crate::text::to_spans;

/// Typefaces in the order of preference; the first is the one embedded for PNG.
const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// Which end of a text stands at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing under construction.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    body: String,
    clips: usize,
}

impl Svg {
    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{arguments}");
    }

    /// A rectangle; `style` is a list of attributes, here and below.
    pub(crate) fn rect(&mut self, rect: &Rect, style: &str) {
        let [x, y, width, height] =
            [rect.left, rect.top, rect.width(), rect.height()].map(coordinate);
        self.put(format_args!(
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" {style}/>"#
        ));
    }

    /// A path of pieces of straight line.
    pub(crate) fn path(&mut self, data: &str, style: &str) {
        if !data.is_empty() {
            self.put(format_args!(r#"<path d="{data}" {style}/>"#));
        }
    }

    /// A group with common attributes, to be closed with [`Svg::end`].
    pub(crate) fn group(&mut self, style: &str) {
        self.put(format_args!("<g {style}>"));
    }

    /// A group of which only the inside of a rectangle is seen.
    pub(crate) fn clipped(&mut self, rect: &Rect) {
        let id = format!("clip{}", self.clips);
        self.clips += 1;
        self.put(format_args!(r#"<clipPath id="{id}">"#));
        self.rect(rect, "");
        self.put(format_args!("</clipPath>"));
        self.group(&format!(r#"clip-path="url(#{id})""#));
    }

    /// Closes the innermost group.
    pub(crate) fn end(&mut self) {
        self.put(format_args!("</g>"));
    }

    /// A label with its baseline at a point.
    pub(crate) fn text(&mut self, at: Point, markup: &str, size: f64, anchor: Anchor) {
        self.label(at, markup, size, anchor, "");
    }

    /// A label with its middle at a point, read from below.
    pub(crate) fn upright(&mut self, at: Point, markup: &str, size: f64) {
        let turned =
            format!(r#" transform="rotate(-90 {} {})""#, coordinate(at.0), coordinate(at.1));
        self.label(at, markup, size, Anchor::Middle, &turned);
    }

    fn label(&mut self, at: Point, markup: &str, size: f64, anchor: Anchor, more: &str) {
        let [x, y, font] = [at.0, at.1, size].map(coordinate);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let spans = to_spans(markup, size);
        self.put(format_args!(
            r#"<text x="{x}" y="{y}" font-size="{font}"{anchor}{more}>{spans}</text>"#
        ));
    }

    /// The whole document, on white.
    pub(crate) fn finish(self, width: f64, height: f64) -> String {
        let [width, height] = [width, height].map(coordinate);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILY}\" fill=\"#1a1a1a\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// The path through points, closed or not. Points closer than a tenth of a
/// pixel to the one before are left out, except the last.
pub(crate) fn polyline(points: &[Point], closed: bool) -> String {
    let mut data = String::new();
    let mut before: Option<Point> = None;
    for (index, &(x, y)) in points.iter().enumerate() {
        let near = before.is_some_and(|(a, b)| (x - a).abs() < 0.1 && (y - b).abs() < 0.1);
        if near && index + 1 < points.len() {
            continue;
        }
        let command = if before.is_none() { 'M' } else { 'L' };
        let _ = write!(data, "{command}{} {}", coordinate(x), coordinate(y));
        before = Some((x, y));
    }
    if points.len() == 1 && !closed {
        // A line of no length, which a round cap turns into a dot.
        data.push_str("h0");
    }
    if closed && !data.is_empty() {
        data.push('z');
    }
    data
}

/// The path of one straight line.
pub(crate) fn line(from: Point, to: Point) -> String {
    let [x0, y0, x1, y1] = [from.0, from.1, to.0, to.1].map(coordinate);
    format!("M{x0} {y0}L{x1} {y1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_points_are_left_out_and_the_last_is_kept() {
        let points = [(0.0, 0.0), (0.01, 0.0), (5.0, 1.5), (5.05, 1.5)];
        assert_eq!(polyline(&points, false), "M0 0L5 1.5L5.05 1.5");
        assert_eq!(polyline(&[(1.0, 2.0)], false), "M1 2h0");
        assert_eq!(polyline(&[], true), "");
    }
}
