//! Curves, bands, points, shaded regions and lines across the panel.

use super::Frame;
use crate::clip::{self, Point, Rect};
use crate::color::Color;
use crate::layer::{Band, Curve, Layer, Note, Points, Side, VerticalSpan};
use crate::panel::zip;
use crate::style::{Dash, Marker};
use crate::svg::{Anchor, Svg, line, polyline};

const BAND_OPACITY: f64 = 0.22;
/// Fainter than a band, which is data.
const SPAN_OPACITY: f64 = 0.13;
const RADIUS: f64 = 3.4;
const SMALL_RADIUS: f64 = 2.4;
/// Width of the line that joins points.
const LINK: f64 = 1.0;
/// Half the width of the end of an error bar.
const CAP: f64 = 3.0;
/// Size of texts inside a panel, and the distance of their lines.
const NOTE_SIZE: f64 = 10.5;
const NOTE_LINE: f64 = 13.0;
/// Lines are cut this far outside the frame, beyond their own width.
const BEYOND: f64 = 8.0;

/// Draws what lies behind even the grid: shaded regions.
pub(super) fn spans(svg: &mut Svg, layers: &[Layer], frame: &Frame) {
    for layer in layers {
        if let Layer::VerticalSpan(span) = layer
            && let Some(area) = span_area(span, frame)
        {
            svg.rect(&area, &span_style(span.color));
        }
    }
}

/// Draws what is clipped to the frame: bands, lines across the panel, curves.
pub(super) fn lines(svg: &mut Svg, layers: &[Layer], frame: &Frame) {
    for layer in layers {
        if let Layer::Band(band) = layer {
            let data: String =
                band_areas(band, frame).iter().map(|area| polyline(area, true)).collect();
            svg.path(&data, &band_style(band.color));
        }
    }
    let data: String =
        layers.iter().filter_map(|layer| across(layer, frame)).map(|(a, b)| line(a, b)).collect();
    if layers.iter().any(|layer| matches!(layer, Layer::Map(_))) {
        // Grey alone is lost on the dark colours of a map.
        svg.path(&data, r##"stroke="#fff" stroke-width="2" stroke-opacity="0.7""##);
    }
    svg.path(
        &data,
        &format!(r#"fill="none" stroke="{}" stroke-width="1" stroke-dasharray="5 3""#, Color::GREY),
    );
    for layer in layers {
        let (pieces, style) = match layer {
            Layer::Curve(curve) => (curve_pieces(curve, frame), curve_style(curve)),
            Layer::Points(points) => match link_style(points) {
                Some(style) => (link_pieces(points, frame), style),
                None => continue,
            },
            _ => continue,
        };
        let data: String = pieces.iter().map(|piece| polyline(piece, false)).collect();
        svg.path(&data, &style);
    }
}

/// Draws what lies on top and is not cut: a point on the border is seen whole.
pub(super) fn markers(svg: &mut Svg, layers: &[Layer], frame: &Frame) {
    for layer in layers {
        match layer {
            Layer::Curve(curve) if curve.markers => {
                let data: String = visible(&curve.x, &curve.y, frame)
                    .map(|(_, at)| marker(Marker::Circle, at, SMALL_RADIUS))
                    .collect();
                svg.path(&data, &format!(r#"fill="{}""#, curve.color));
            }
            Layer::Points(points) => {
                let bars: String = error_bars(points, frame).collect();
                svg.path(
                    &bars,
                    &format!(r#"fill="none" stroke="{}" stroke-width="1.2""#, points.color),
                );
                let data: String = visible(&points.x, &points.y, frame)
                    .map(|(_, at)| marker(points.marker, at, RADIUS))
                    .collect();
                svg.path(&data, &marker_style(points));
            }
            Layer::Note(note) => draw_note(svg, note, frame),
            _ => {}
        }
    }
}

/// Draws the lines of a text around its place, if that is inside.
fn draw_note(svg: &mut Svg, note: &Note, frame: &Frame) {
    let inside = frame.x.place(note.x).clamp(0.0, 1.0) == frame.x.place(note.x)
        && frame.y.place(note.y).clamp(0.0, 1.0) == frame.y.place(note.y);
    let Some((x, y)) = frame.point(note.x, note.y).filter(|_| inside) else { return };
    let anchor = match note.side {
        Side::Right => Anchor::Start,
        Side::Middle => Anchor::Middle,
        Side::Left => Anchor::End,
    };
    let count = note.text.lines().count() as f64;
    svg.group(&format!(r#"fill="{}""#, note.color));
    for (k, line) in note.text.lines().enumerate() {
        // The middle of a line of small letters is about a third of its size above the baseline.
        let below = (k as f64 - 0.5 * (count - 1.0)) * NOTE_LINE + 0.35 * NOTE_SIZE;
        svg.text((x, y + below), line, NOTE_SIZE, anchor);
    }
    svg.end();
}

pub(super) fn band_style(color: Color) -> String {
    format!(r#"fill="{color}" fill-opacity="{BAND_OPACITY}""#)
}

pub(super) fn span_style(color: Color) -> String {
    format!(r#"fill="{color}" fill-opacity="{SPAN_OPACITY}""#)
}

pub(super) fn curve_style(curve: &Curve) -> String {
    line_style(curve.color, curve.width, curve.dash)
}

/// The look of the line that joins points, if they have one.
pub(super) fn link_style(points: &Points) -> Option<String> {
    Some(line_style(points.color, LINK, points.line?))
}

fn line_style(color: Color, width: f64, dash: Dash) -> String {
    let broken = match dash {
        Dash::Solid => r#" stroke-linecap="round""#.to_owned(),
        Dash::Dashed => {
            format!(r#" stroke-dasharray="{} {}""#, 2.0 + 2.2 * width, 1.0 + 1.4 * width)
        }
        Dash::Dotted => format!(r#" stroke-dasharray="{} {}""#, width, 1.5 * width),
    };
    format!(
        r#"fill="none" stroke="{color}" stroke-width="{width}" stroke-linejoin="round"{broken}"#
    )
}

pub(super) fn marker_style(points: &Points) -> String {
    let color = points.color;
    match points.marker {
        Marker::Cross => format!(r#"fill="none" stroke="{color}" stroke-width="1.6""#),
        _ if points.hollow => format!(r##"fill="#fff" stroke="{color}" stroke-width="1.3""##),
        _ => format!(r##"fill="{color}" stroke="#fff" stroke-width="0.6""##),
    }
}

/// The outline of a marker; the shapes have about the same area.
pub(super) fn marker(marker: Marker, (x, y): Point, radius: f64) -> String {
    let corners = |corners: &[Point]| {
        let points: Vec<Point> =
            corners.iter().map(|(a, b)| (x + a * radius, y + b * radius)).collect();
        polyline(&points, true)
    };
    match marker {
        Marker::Circle => {
            // Two arcs: one arc cannot end where it begins.
            let start = crate::number::coordinate(x - radius);
            let [y, r, d] = [y, radius, 2.0 * radius].map(crate::number::coordinate);
            format!("M{start} {y}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z")
        }
        Marker::Square => corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Marker::Diamond => corners(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        Marker::Triangle => corners(&[(0.0, -1.3), (1.2, 0.8), (-1.2, 0.8)]),
        Marker::Cross => {
            let arm = radius;
            line((x - arm, y - arm), (x + arm, y + arm))
                + &line((x - arm, y + arm), (x + arm, y - arm))
        }
    }
}

/// The points of a layer inside the frame, with their indices.
fn visible<'a>(
    x: &'a [f64],
    y: &'a [f64],
    frame: &'a Frame,
) -> impl Iterator<Item = (usize, Point)> + 'a {
    // Half a pixel lets points at the very ends of a held range through.
    let rect = frame.rect.grown(0.5);
    zip(x, y)
        .enumerate()
        .filter_map(|(index, (x, y))| Some((index, frame.point(x, y)?)))
        .filter(move |(_, at)| rect.contains(*at))
}

fn error_bars<'a>(points: &'a Points, frame: &'a Frame) -> impl Iterator<Item = String> + 'a {
    let rect = frame.rect;
    let errors = points.error.iter().flatten();
    zip(&points.x, &points.y).zip(errors).filter_map(move |((x, y), &error)| {
        let (at, _) = frame.point(x, y)?;
        let end = |value: f64| frame.point(x, value).map(|(_, height)| height);
        let high = end(y + error)?;
        // On a logarithmic axis a bar down to zero leaves the frame below.
        let low = end(y - error).unwrap_or(rect.bottom + 1.0);
        if error.is_nan() {
            return None;
        }
        let (from, to) = clip::segment((at, low), (at, high), &rect)?;
        let caps =
            [low, high].into_iter().filter(|height| (rect.top..=rect.bottom).contains(height));
        Some(
            line(from, to)
                + &caps
                    .map(|height| line((at - CAP, height), (at + CAP, height)))
                    .collect::<String>(),
        )
    })
}

/// Runs of consecutive values that have a place.
fn runs(points: impl Iterator<Item = Option<Point>>) -> Vec<Vec<Point>> {
    let mut runs = vec![Vec::new()];
    for point in points {
        match (point, runs.last_mut()) {
            (Some(point), Some(run)) => run.push(point),
            (None, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// The pieces of a curve between its gaps, cut to the neighbourhood of the frame.
pub(super) fn curve_pieces(curve: &Curve, frame: &Frame) -> Vec<Vec<Point>> {
    line_pieces(&curve.x, &curve.y, curve.width, frame)
}

/// The same of the line that joins points.
fn link_pieces(points: &Points, frame: &Frame) -> Vec<Vec<Point>> {
    line_pieces(&points.x, &points.y, LINK, frame)
}

fn line_pieces(x: &[f64], y: &[f64], width: f64, frame: &Frame) -> Vec<Vec<Point>> {
    let rect = frame.rect.grown(BEYOND + width);
    let whole = runs(zip(x, y).map(|(x, y)| frame.point(x, y)));
    whole.iter().flat_map(|run| clip::polyline(run, &rect)).collect()
}

/// The outlines of the parts of a band between its gaps.
pub(super) fn band_areas(band: &Band, frame: &Frame) -> Vec<Vec<Point>> {
    let rect: Rect = frame.rect.grown(BEYOND);
    let borders = |index: usize| {
        let (x, high) = frame.point(band.x[index], band.high[index])?;
        let low = match frame.point(band.x[index], band.low[index]) {
            Some((_, low)) => low,
            // Not positive on a logarithmic axis.
            None if band.low[index].is_finite() => rect.bottom,
            None => return None,
        };
        Some((x, low, high))
    };
    let found: Vec<_> = (0..band.x.len()).map(borders).collect();
    found
        .split(Option::is_none)
        .map(|part| {
            let there = part.iter().flatten().map(|&(x, low, _)| (x, low));
            let back = part.iter().flatten().rev().map(|&(x, _, high)| (x, high));
            clip::polygon(&there.chain(back).collect::<Vec<_>>(), &rect)
        })
        .filter(|area| area.len() > 2)
        .collect()
}

/// The part of a shaded region inside the frame, if there is one.
fn span_area(span: &VerticalSpan, frame: &Frame) -> Option<Rect> {
    let place = |end: f64| {
        let place = frame.x.place(end);
        // Infinite, or below every value of a logarithmic axis.
        let place = if place.is_finite() { place } else { f64::from(u8::from(end > 0.0)) };
        (!end.is_nan()).then_some(place.clamp(0.0, 1.0))
    };
    let (from, to) = (place(span.from)?, place(span.to)?);
    let (left, right) = (frame.x_at(from.min(to)), frame.x_at(from.max(to)));
    (left < right).then_some(Rect { left, right, ..frame.rect })
}

/// The ends of a line across the panel, if it is one and inside.
pub(super) fn across(layer: &Layer, frame: &Frame) -> Option<(Point, Point)> {
    let rect = &frame.rect;
    let inside = |place: &f64| (0.0..=1.0).contains(place);
    match layer {
        Layer::VerticalLine(line) => {
            let x = frame.x_at(Some(frame.x.place(line.x)).filter(inside)?);
            Some(((x, rect.bottom), (x, rect.top)))
        }
        Layer::HorizontalLine(line) => {
            let y = frame.y_at(Some(frame.y.place(line.y)).filter(inside)?);
            Some(((rect.left, y), (rect.right, y)))
        }
        _ => None,
    }
}

/// Points, a few pixels apart, that the data cover; for finding free space.
pub(super) fn covered(layer: &Layer, frame: &Frame) -> Vec<Point> {
    match layer {
        Layer::Curve(curve) => {
            let pieces = curve_pieces(curve, frame);
            pieces.iter().flat_map(|piece| spread(piece)).collect()
        }
        Layer::Points(points) => {
            let bars = visible(&points.x, &points.y, frame).flat_map(|(index, at)| {
                let error = points.error.as_ref().map_or(0.0, |error| error[index]);
                let end = |value: f64| frame.point(points.x[index], value).unwrap_or(at);
                let y = points.y[index];
                spread(&[end(y - error), at, end(y + error)])
            });
            let links = if points.line.is_some() { link_pieces(points, frame) } else { Vec::new() };
            bars.chain(links.iter().flat_map(|piece| spread(piece))).collect()
        }
        Layer::Band(band) => {
            band_areas(band, frame).iter().flat_map(|area| filling(area)).collect()
        }
        Layer::Map(_) => spread(&[
            (frame.rect.left, frame.rect.top),
            (frame.rect.right, frame.rect.bottom),
            (frame.rect.right, frame.rect.top),
            (frame.rect.left, frame.rect.bottom),
        ]),
        Layer::VerticalLine(_)
        | Layer::VerticalSpan(_)
        | Layer::HorizontalLine(_)
        | Layer::Note(_) => Vec::new(),
    }
}

/// Points at most three pixels apart along a line.
fn spread(points: &[Point]) -> Vec<Point> {
    let mut along: Vec<Point> = points.first().copied().into_iter().collect();
    for pair in points.windows(2) {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        // An error bar may end far outside; its samples need not be dense.
        let steps = (dx.hypot(dy) / 3.0).ceil().clamp(1.0, 1000.0);
        along.extend((1..=steps as usize).map(|k| {
            let part = k as f64 / steps;
            (pair[0].0 + part * dx, pair[0].1 + part * dy)
        }));
    }
    along
}

/// Points inside the outline of a band, on lines between facing points of its borders.
fn filling(area: &[Point]) -> Vec<Point> {
    let outline = spread(area);
    let mut inside = outline.clone();
    let half = outline.len() / 2;
    for k in 0..half {
        inside.extend(spread(&[outline[k], outline[outline.len() - 1 - k]]));
    }
    inside
}
