//! Frame, grid, ticks and labels.

use super::prepare::{Prepared, with_factor};
use super::{Frame, LABEL_SIZE, TICK_SIZE, TITLE_SIZE, TO_BASELINE};
use crate::clip::Rect;
use crate::layer::Layer;
use crate::panel::Panel;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg, line};
use crate::text::width;
use crate::ticks::{Ticks, ticks};

/// Height of a row of labels of vertical lines.
pub(super) const GUIDE_ROW: f64 = 15.0;
pub(super) const INK: &str = r##"stroke="#333" fill="none""##;
const MAJOR: f64 = 5.0;
const MINOR: f64 = 3.0;

/// Ticks, about one every `spacing` pixels of an axis, whose labels leave each
/// other the room they need. Fewer ticks are tried first; where that changes
/// nothing, as for the 2 and 5 of a short logarithmic axis, labels are dropped.
pub(super) fn fitting(
    scale: &Scale,
    length: f64,
    spacing: f64,
    room: impl Fn(&str) -> f64,
) -> Ticks {
    let most = (length / spacing).floor().max(2.0) as usize;
    let free = |(a, left): &(f64, String), (b, right): &(f64, String)| {
        (b - a) * length >= 0.5 * (room(left) + room(right))
    };
    let fits = |found: &Ticks| found.major.windows(2).all(|pair| free(&pair[0], &pair[1]));
    let found = (2..=most).rev().map(|target| ticks(scale, target)).find(fits);
    found.unwrap_or_else(|| {
        let all = ticks(scale, 2);
        let mut kept: Vec<(f64, String)> = Vec::new();
        let mut minor = all.minor;
        for tick in all.major {
            if kept.last().is_none_or(|last| free(last, &tick)) {
                kept.push(tick);
            } else {
                minor.push(tick.0);
            }
        }
        Ticks { major: kept, minor, factor: all.factor }
    })
}

/// Lines of the grid at the labelled ticks.
pub(super) fn grid(svg: &mut Svg, frame: &Frame, x: &Ticks, y: &Ticks) {
    let rect = &frame.rect;
    let mut data = String::new();
    for (place, _) in &x.major {
        data += &line((frame.x_at(*place), rect.top), (frame.x_at(*place), rect.bottom));
    }
    for (place, _) in &y.major {
        data += &line((rect.left, frame.y_at(*place)), (rect.right, frame.y_at(*place)));
    }
    svg.path(&data, r##"stroke="#e6e6e6" stroke-width="0.8" fill="none""##);
}

/// The frame with its ticks, the labels of the axes, and the title.
pub(super) fn axes(svg: &mut Svg, prepared: &Prepared<'_>, frame: &Frame, x: &Ticks, cell: &Rect) {
    let rect = &frame.rect;
    let y = &prepared.y_ticks;
    let mut data = String::new();
    let mut down = |place: f64, length: f64| {
        let at = frame.x_at(place);
        data += &line((at, rect.bottom), (at, rect.bottom + length));
    };
    x.major.iter().for_each(|(place, _)| down(*place, MAJOR));
    x.minor.iter().for_each(|place| down(*place, MINOR));
    let mut out = |place: f64, length: f64| {
        let at = frame.y_at(place);
        data += &line((rect.left, at), (rect.left - length, at));
    };
    y.major.iter().for_each(|(place, _)| out(*place, MAJOR));
    y.minor.iter().for_each(|place| out(*place, MINOR));
    svg.path(&data, &format!(r#"stroke-width="0.9" {INK}"#));
    svg.rect(rect, &format!(r#"stroke-width="0.9" {INK}"#));
    for (place, label) in &x.major {
        svg.text((frame.x_at(*place), rect.bottom + 19.0), label, TICK_SIZE, Anchor::Middle);
    }
    for (place, label) in &y.major {
        let at = (rect.left - 8.0, frame.y_at(*place) + TO_BASELINE * TICK_SIZE);
        svg.text(at, label, TICK_SIZE, Anchor::End);
    }
    let middle = 0.5 * (rect.left + rect.right);
    let x_label = with_factor(&prepared.panel.x.label, x);
    if !x_label.is_empty() {
        let size = shrunk(&x_label, LABEL_SIZE, cell.width() - 20.0);
        svg.text((middle, rect.bottom + prepared.spacing.x_label), &x_label, size, Anchor::Middle);
    }
    let y_label = prepared.y_label();
    if !y_label.is_empty() {
        let size = shrunk(&y_label, LABEL_SIZE, cell.height() - 20.0);
        let tick = y.major.iter().map(|(_, label)| width(label, TICK_SIZE)).fold(0.0, f64::max);
        let at = rect.left - prepared.spacing.y_label - tick;
        svg.upright((at, 0.5 * (rect.top + rect.bottom)), &y_label, size);
    }
    let guides = vertical_labels(prepared.panel, frame, cell);
    let rows = rows(&guides);
    if !prepared.panel.title.is_empty() {
        let title = &prepared.panel.title;
        let size = shrunk(title, TITLE_SIZE, cell.width() - 16.0);
        let half = 0.5 * width(title, size) + 4.0;
        let at = (inside(middle, half, cell), rect.top - 12.0 - rows as f64 * GUIDE_ROW);
        svg.text(at, title, size, Anchor::Middle);
    }
    for (label, at, row) in guides {
        svg.text((at, rect.top - 6.0 - row as f64 * GUIDE_ROW), label, TICK_SIZE, Anchor::Middle);
    }
}

/// The font size at which a label is at most `room` pixels wide.
pub(crate) fn shrunk(label: &str, size: f64, room: f64) -> f64 {
    size * (room / width(label, size)).min(1.0)
}

/// The middle of a label of half-width `half`, moved into the cell.
fn inside(middle: f64, half: f64, cell: &Rect) -> f64 {
    middle.min(cell.right - half).max(cell.left + half)
}

/// The labels of vertical lines with their middles and rows, counted upwards
/// from the frame: each in the lowest row where it is free of the ones before.
fn vertical_labels<'a>(panel: &'a Panel, frame: &Frame, cell: &Rect) -> Vec<(&'a str, f64, usize)> {
    let mut labels: Vec<(&str, f64)> = panel
        .layers()
        .iter()
        .filter_map(|layer| match layer {
            Layer::VerticalLine(line) => Some((line.label.as_deref()?, frame.x.place(line.x))),
            _ => None,
        })
        .filter(|(label, place)| !label.is_empty() && (0.0..=1.0).contains(place))
        .map(|(label, place)| (label, frame.x_at(place)))
        .collect();
    labels.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut ends: Vec<f64> = Vec::new();
    labels
        .into_iter()
        .map(|(label, at)| {
            let half = 0.5 * width(label, TICK_SIZE);
            let at = inside(at, half + 2.0, cell);
            let row = ends.iter().position(|&end| end + 8.0 <= at - half).unwrap_or(ends.len());
            if row == ends.len() {
                ends.push(at + half);
            } else {
                ends[row] = at + half;
            }
            (label, at, row)
        })
        .collect()
}

fn rows(labels: &[(&str, f64, usize)]) -> usize {
    labels.iter().map(|&(_, _, row)| row + 1).max().unwrap_or(0)
}

/// How many rows the labels of vertical lines need.
pub(super) fn vertical_rows(panel: &Panel, frame: &Frame, cell: &Rect) -> usize {
    rows(&vertical_labels(panel, frame, cell))
}

/// The labels of horizontal lines to the right of the frame, moved apart where
/// lines are close.
pub(super) fn horizontal_labels(svg: &mut Svg, panel: &Panel, frame: &Frame) {
    let mut labels: Vec<(f64, &str)> = panel
        .layers()
        .iter()
        .filter_map(|layer| match layer {
            Layer::HorizontalLine(line) => Some((frame.y.place(line.y), line.label.as_deref()?)),
            _ => None,
        })
        .filter(|(place, _)| (0.0..=1.0).contains(place))
        .map(|(place, label)| (frame.y_at(place), label))
        .collect();
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let gap = TICK_SIZE + 2.0;
    for k in 1..labels.len() {
        labels[k].0 = labels[k].0.max(labels[k - 1].0 + gap);
    }
    // What was pushed below the frame is pushed back up.
    let mut lowest = frame.rect.bottom;
    for (at, _) in labels.iter_mut().rev() {
        *at = at.min(lowest);
        lowest = *at - gap;
    }
    for (at, label) in labels {
        let point = (frame.rect.right + 6.0, at + TO_BASELINE * TICK_SIZE);
        svg.text(point, label, TICK_SIZE, Anchor::Start);
    }
}

/// Says that there is nothing to see.
pub(super) fn no_data(svg: &mut Svg, rect: &Rect) {
    svg.group(r##"fill="#767676""##);
    let middle = (0.5 * (rect.left + rect.right), 0.5 * (rect.top + rect.bottom));
    svg.text(middle, "no data", TITLE_SIZE, Anchor::Middle);
    svg.end();
}
