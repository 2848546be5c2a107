//! The legend: in the corner where it hides nothing, or else below the panel.

use super::free::Taken;
use super::inset;
use super::marks::{band_style, curve_style, link_style, marker, marker_style, span_style};
use super::prepare::Prepared;
use super::{Frame, TICK_SIZE, TO_BASELINE};
use crate::clip::{Point, Rect};
use crate::color::Color;
use crate::layer::Layer;
use crate::panel::Panel;
use crate::style::Marker;
use crate::svg::{Anchor, Svg, line, polyline};
use crate::text::width;

const ROW: f64 = 17.0;
/// Width of the sample of a line, and its distance from the text.
const KEY: f64 = 26.0;
const GAP: f64 = 7.0;
const PADDING: f64 = 6.0;
/// Distance from the frame.
const DISTANCE: f64 = 8.0;
/// Distance of the columns of a legend below the panel.
const COLUMN: f64 = 18.0;

/// A label with the layers that carry it.
pub(super) struct Entry<'a> {
    label: &'a str,
    layers: Vec<&'a Layer>,
}

impl Entry<'_> {
    fn width(&self) -> f64 {
        KEY + GAP + width(self.label, TICK_SIZE)
    }
}

/// The entries in the order of their first layer, one for each label.
pub(super) fn entries(panel: &Panel) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for layer in panel.layers() {
        let Some(label) = layer.legend_label() else {
            continue;
        };
        match entries.iter_mut().find(|entry| entry.label == label) {
            Some(entry) => entry.layers.push(layer),
            None => entries.push(Entry { label, layers: vec![layer] }),
        }
    }
    entries
}

fn size(entries: &[Entry<'_>]) -> (f64, f64) {
    let widest = entries.iter().map(Entry::width).fold(0.0, f64::max);
    (widest + 2.0 * PADDING, ROW * entries.len() as f64 + PADDING)
}

/// The best place inside the frame, and whether it hides nothing there.
fn best_place(prepared: &Prepared<'_>, frame: &Frame) -> (Rect, bool) {
    let mut taken = Taken::by_layers(prepared.panel, frame);
    inset::places(prepared.panel, frame, &mut taken);
    let (wide, high) = size(&prepared.entries);
    let (best, hidden) = taken.best_corner(&frame.rect, (wide, high), DISTANCE);
    let fits =
        wide + 2.0 * DISTANCE <= frame.rect.width() && high + 2.0 * DISTANCE <= frame.rect.height();
    (best, fits && hidden.is_harmless())
}

/// The entries in rows that fit the cell.
fn rows<'a, 'b>(entries: &'b [Entry<'a>], room: f64) -> Vec<Vec<&'b Entry<'a>>> {
    let mut rows: Vec<Vec<&Entry<'_>>> = Vec::new();
    let mut used = f64::INFINITY;
    for entry in entries {
        let wide = entry.width() + COLUMN;
        used += wide;
        match rows.last_mut() {
            Some(row) if used <= room + COLUMN => row.push(entry),
            _ => {
                rows.push(vec![entry]);
                used = wide;
            }
        }
    }
    rows
}

/// Rows of the legend below the panel; 0 if there is room inside.
pub(super) fn rows_below(prepared: &Prepared<'_>, frame: &Frame, cell: &Rect) -> usize {
    if prepared.entries.is_empty() || best_place(prepared, frame).1 {
        return 0;
    }
    rows(&prepared.entries, cell.width() - 2.0 * PADDING).len()
}

/// Space that a legend below the panel takes.
pub(super) fn height_below(rows: usize) -> f64 {
    if rows == 0 { 0.0 } else { ROW * rows as f64 + PADDING }
}

/// Draws the legend, if there is one.
pub(super) fn draw(svg: &mut Svg, prepared: &Prepared<'_>, frame: &Frame, cell: &Rect) {
    if prepared.entries.is_empty() {
        return;
    }
    if prepared.legend_rows == 0 {
        let (place, _) = best_place(prepared, frame);
        let style = r##"fill="#fff" fill-opacity="0.85" stroke="#ccc" stroke-width="0.6" rx="3""##;
        svg.rect(&place, style);
        for (k, entry) in prepared.entries.iter().enumerate() {
            let middle = place.top + 0.5 * PADDING + (k as f64 + 0.5) * ROW;
            draw_entry(svg, entry, (place.left + PADDING, middle));
        }
        return;
    }
    let below = frame.rect.bottom + prepared.margins.bottom - height_below(prepared.legend_rows);
    for (k, row) in rows(&prepared.entries, cell.width() - 2.0 * PADDING).iter().enumerate() {
        let wide = row.iter().map(|entry| entry.width() + COLUMN).sum::<f64>() - COLUMN;
        let middle = 0.5 * (frame.rect.left + frame.rect.right);
        let mut left =
            (middle - 0.5 * wide).min(cell.right - PADDING - wide).max(cell.left + PADDING);
        for entry in row {
            draw_entry(svg, entry, (left, below + (k as f64 + 0.5) * ROW));
            left += entry.width() + COLUMN;
        }
    }
}

fn color(layer: &Layer) -> Option<Color> {
    match layer {
        Layer::Curve(curve) => Some(curve.color),
        Layer::Points(points) => Some(points.color),
        _ => None,
    }
}

/// Draws the samples of an entry, one of each sort, and its label.
fn draw_entry(svg: &mut Svg, entry: &Entry<'_>, (left, middle): Point) {
    let centre = (left + 0.5 * KEY, middle);
    if entry.layers.iter().any(|layer| color(layer).is_some_and(Color::is_pale)) {
        // Pale lines are meant for maps: their sample gets a dark ground too.
        let ground = Rect { left, top: middle - 6.0, right: left + KEY, bottom: middle + 6.0 };
        svg.rect(&ground, r##"fill="#5f6b7a" rx="2""##);
    }
    let area = |svg: &mut Svg, style: &str| {
        let (top, bottom, right) = (middle - 5.0, middle + 5.0, left + KEY);
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
        svg.path(&polyline(&corners, true), style);
    };
    let span = entry.layers.iter().find_map(|layer| match layer {
        Layer::VerticalSpan(span) => Some(span),
        _ => None,
    });
    if let Some(span) = span {
        area(svg, &span_style(span.color));
    }
    let band = entry.layers.iter().find_map(|layer| match layer {
        Layer::Band(band) => Some(band),
        _ => None,
    });
    if let Some(band) = band {
        area(svg, &band_style(band.color));
    }
    let curve = entry.layers.iter().find_map(|layer| match layer {
        Layer::Curve(curve) => Some(curve),
        _ => None,
    });
    if let Some(curve) = curve {
        svg.path(&line((left, middle), (left + KEY, middle)), &curve_style(curve));
        if curve.markers {
            svg.path(&marker(Marker::Circle, centre, 2.4), &format!(r#"fill="{}""#, curve.color));
        }
    }
    let points = entry.layers.iter().find_map(|layer| match layer {
        Layer::Points(points) => Some(points),
        _ => None,
    });
    if let Some(points) = points {
        if let Some(style) = link_style(points) {
            svg.path(&line((left, middle), (left + KEY, middle)), &style);
        }
        if points.error.is_some() {
            let bar = line((centre.0, middle - 6.5), (centre.0, middle + 6.5));
            svg.path(&bar, &format!(r#"stroke="{}" stroke-width="1.2""#, points.color));
        }
        svg.path(&marker(points.marker, centre, 3.4), &marker_style(points));
    }
    let at = (left + KEY + GAP, middle + TO_BASELINE * TICK_SIZE);
    svg.text(at, entry.label, TICK_SIZE, Anchor::Start);
}
