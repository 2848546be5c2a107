//! Maps and their colour bar.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::axes::{INK, fitting};
use super::prepare::with_factor;
use super::{Frame, LABEL_SIZE, TICK_SIZE, TO_BASELINE};
use crate::axis::Axis;
use crate::clip::Rect;
use crate::color::Color;
use crate::grid::{Cell, cells};
use crate::layer::Map;
use crate::number::coordinate;
use crate::panel::Panel;
use crate::scale::{Kind, Scale};
use crate::svg::{Anchor, Svg, line};
use crate::text::width;
use crate::ticks::Ticks;

/// Number of colours: no eye tells more apart, and cells of one colour are one path.
const SHADES: usize = 256;
const MISSING: &str = "#d0d0d0";
/// Space left of the bar, and width of the bar.
const GAP: f64 = 14.0;
const BAR: f64 = 14.0;

/// The colour scale of a panel.
pub(super) struct Colors {
    scale: Scale,
    ticks: Ticks,
    label: String,
}

impl Colors {
    /// The scale of the maps of a panel; `None` if there is no map.
    pub(super) fn of(panel: &Panel, height: f64) -> Option<Self> {
        let first = panel.maps().next()?;
        let axis = match first.kind {
            Kind::Linear => Axis::linear(""),
            Kind::Log => Axis::log(""),
        };
        let axis = match first.range {
            Some((lo, hi)) => axis.range(lo, hi),
            None => axis,
        };
        let values = panel.maps().flat_map(|map| map.values.iter().copied());
        let shown = values.filter(|&value| first.kind.forward(value).is_finite());
        let extent = shown.map(|value| (value, value)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let scale = axis.scale(extent, false);
        let ticks = fitting(&scale, height, 34.0, |_| TICK_SIZE + 3.0);
        let label = with_factor(first.label.as_deref().unwrap_or(""), &ticks);
        Some(Self { scale, ticks, label })
    }

    fn widest(&self) -> f64 {
        self.ticks.major.iter().map(|(_, label)| width(label, TICK_SIZE)).fold(0.0, f64::max)
    }

    /// Width of the bar with its labels.
    pub(super) fn width(&self) -> f64 {
        let label = if self.label.is_empty() { 0.0 } else { LABEL_SIZE + 5.0 };
        GAP + BAR + 8.0 + self.widest() + label
    }

    /// The shade of a value; `None` for one that has none.
    fn shade(&self, value: f64) -> Option<usize> {
        // Infinite values have a colour, that of the end they are beyond.
        let place = match (self.scale.kind, value) {
            (_, f64::INFINITY) => 1.0,
            (Kind::Linear, f64::NEG_INFINITY) => 0.0,
            _ => self.scale.place(value),
        };
        (!place.is_nan()).then(|| (place.clamp(0.0, 1.0) * (SHADES - 1) as f64).round() as usize)
    }
}

/// Draws the cells of a map, all cells of one colour as one path.
pub(super) fn map(svg: &mut Svg, frame: &Frame, map: &Map, colors: &Colors) {
    let columns = cells(&map.x, frame.x.kind);
    let ends = |cell: &Cell| {
        [frame.x.place(cell.from), frame.x.place(cell.to)].map(|place| frame.x_at(place))
    };
    let mut paths: BTreeMap<Option<usize>, String> = BTreeMap::new();
    for row in cells(&map.y, frame.y.kind) {
        let shade =
            |column: &Cell| colors.shade(map.values[row.index * map.x.len() + column.index]);
        let (bottom, top) =
            (frame.y_at(frame.y.place(row.from)), frame.y_at(frame.y.place(row.to)));
        if top > frame.rect.bottom || bottom < frame.rect.top {
            continue;
        }
        let [top, bottom] = [top, bottom]
            .map(|y| coordinate(y.clamp(frame.rect.top - 1.0, frame.rect.bottom + 1.0)));
        for run in columns.chunk_by(|a, b| shade(a) == shade(b)) {
            let (left, right) = (ends(&run[0])[0], ends(&run[run.len() - 1])[1]);
            if left > frame.rect.right || right < frame.rect.left {
                continue;
            }
            let [left, right] = [left, right]
                .map(|x| coordinate(x.clamp(frame.rect.left - 1.0, frame.rect.right + 1.0)));
            let path = paths.entry(shade(&run[0])).or_default();
            // Absolute coordinates, rounded once, so that neighbours meet exactly.
            let _ = write!(path, "M{left} {top}H{right}V{bottom}H{left}z");
        }
    }
    // Without crisp edges the seams of neighbouring cells shine through.
    svg.group(r#"shape-rendering="crispEdges""#);
    for (shade, path) in &paths {
        let fill = match shade {
            Some(shade) => Color::viridis(*shade as f64 / (SHADES - 1) as f64).to_string(),
            None => MISSING.to_owned(),
        };
        svg.path(path, &format!(r#"fill="{fill}""#));
    }
    svg.end();
}

/// Draws the colour bar to the right of `after`, as high as the frame.
pub(super) fn bar(svg: &mut Svg, colors: &Colors, frame: &Rect, after: f64) {
    let rect = Rect { left: after + GAP, right: after + GAP + BAR, ..*frame };
    // One strip per pixel and a half: as smooth as a gradient, and needs no definitions.
    let strips = (rect.height() / 1.5).ceil().max(1.0) as usize;
    svg.group(r#"shape-rendering="crispEdges""#);
    for strip in 0..strips {
        let part = |k: usize| k as f64 / strips as f64;
        let color = Color::viridis(1.0 - part(2 * strip + 1) / 2.0);
        let top = rect.top + part(strip) * rect.height();
        let bottom = rect.top + part(strip + 1) * rect.height();
        svg.rect(&Rect { top, bottom, ..rect }, &format!(r#"fill="{color}""#));
    }
    svg.end();
    let at = |place: f64| rect.bottom - place * rect.height();
    let mut data = String::new();
    for (place, label) in &colors.ticks.major {
        data += &line((rect.right, at(*place)), (rect.right + 4.0, at(*place)));
        let point = (rect.right + 7.0, at(*place) + TO_BASELINE * TICK_SIZE);
        svg.text(point, label, TICK_SIZE, Anchor::Start);
    }
    for place in &colors.ticks.minor {
        data += &line((rect.right, at(*place)), (rect.right + 2.5, at(*place)));
    }
    svg.path(&data, &format!(r#"stroke-width="0.9" {INK}"#));
    svg.rect(&rect, &format!(r#"stroke-width="0.9" {INK}"#));
    if !colors.label.is_empty() {
        let x = rect.right + 8.0 + colors.widest() + LABEL_SIZE;
        svg.upright((x, 0.5 * (rect.top + rect.bottom)), &colors.label, LABEL_SIZE);
    }
}
