//! The outlines of rectangles, paths and text.

use tiny_skia::{Path, PathBuilder, Rect, Transform};
use ttf_parser::{GlyphId, OutlineBuilder};

use super::{Element, failed, number};
use crate::error::PlotError;
use crate::text::{FONT, unescape};

/// Distance of the control points of a quarter circle from its ends, in radii.
const QUARTER: f32 = 0.552_284_8;

/// A rectangle, with round corners if it has `rx`. `None` if it is empty, here and below.
pub(super) fn rectangle(element: &Element<'_>) -> Result<Option<Path>, PlotError> {
    let (x, y) = (element.number_or_zero("x")?, element.number_or_zero("y")?);
    let (width, height) = (element.number("width")?, element.number("height")?);
    let radius = element.number_or_zero("rx")?.min(0.5 * width).min(0.5 * height);
    let Some(rect) = Rect::from_xywh(x, y, width, height) else { return Ok(None) };
    if radius <= 0.0 {
        return Ok(Some(PathBuilder::from_rect(rect)));
    }
    let mut path = PathBuilder::new();
    // Each corner: where its arc begins, the corner itself, where its arc ends.
    let (right, bottom, r) = (rect.right(), rect.bottom(), radius);
    path.move_to(x + r, y);
    for [from, corner, to] in [
        [(right - r, y), (right, y), (right, y + r)],
        [(right, bottom - r), (right, bottom), (right - r, bottom)],
        [(x + r, bottom), (x, bottom), (x, bottom - r)],
        [(x, y + r), (x, y), (x + r, y)],
    ] {
        path.line_to(from.0, from.1);
        curve_round(&mut path, from, corner, to);
    }
    path.close();
    Ok(path.finish())
}

/// A quarter of a circle, inside the corner of the square around it.
fn curve_round(path: &mut PathBuilder, from: (f32, f32), corner: (f32, f32), to: (f32, f32)) {
    let towards = |a: f32, b: f32| a + QUARTER * (b - a);
    path.cubic_to(
        towards(from.0, corner.0),
        towards(from.1, corner.1),
        towards(to.0, corner.0),
        towards(to.1, corner.1),
        to.0,
        to.1,
    );
}

/// Path data of the commands `M`, `L`, `H`, `V`, `h`, `z`, and `a` for half circles.
pub(super) fn path(data: &str) -> Result<Option<Path>, PlotError> {
    let mut path = PathBuilder::new();
    let (mut x, mut y) = (0.0, 0.0);
    let mut rest = data;
    while let Some(command) = rest.chars().next() {
        let tail = &rest[command.len_utf8()..];
        let end = tail.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let arguments =
            tail[..end].split_whitespace().map(number).collect::<Result<Vec<_>, _>>()?;
        rest = &tail[end..];
        match (command, &arguments[..]) {
            ('M', &[to_x, to_y]) => {
                (x, y) = (to_x, to_y);
                path.move_to(x, y);
                continue;
            }
            ('L', &[to_x, to_y]) => (x, y) = (to_x, to_y),
            ('H', &[to_x]) => x = to_x,
            ('V', &[to_y]) => y = to_y,
            ('h', &[by]) => x += by,
            ('a', &[radius, _, _, _, _, across, _]) => {
                // Half a circle below the diameter that goes right, above the one that goes left.
                let deep = y + radius.copysign(across);
                let middle = x + 0.5 * across;
                curve_round(&mut path, (x, y), (x, deep), (middle, deep));
                x += across;
                curve_round(&mut path, (middle, deep), (x, deep), (x, y));
                continue;
            }
            ('z', &[]) => {
                path.close();
                continue;
            }
            _ => return Err(failed(format!("unknown path command in {data:?}"))),
        }
        path.line_to(x, y);
    }
    Ok(path.finish())
}

/// The glyphs of a text, kerned, with the shifts and sizes of its spans.
pub(super) fn text(element: &Element<'_>) -> Result<Option<Path>, PlotError> {
    let size = element.number("font-size")?;
    let mut line = Line::default();
    let mut rest = element.content.strip_suffix("</text>").unwrap_or(element.content);
    while !rest.is_empty() {
        if rest.starts_with("<tspan") {
            let (span, tail) =
                rest.split_once("</tspan>").ok_or_else(|| failed("a span without end"))?;
            let span = Element::parse(span)?;
            line.y += span.number("dy")?;
            line.put(span.content, span.attribute("font-size").map_or(Ok(size), number)?);
            rest = tail;
        } else {
            let end = rest.find('<').unwrap_or(rest.len());
            line.put(&rest[..end], size);
            rest = &rest[end..];
        }
    }
    let start = match element.attribute("text-anchor") {
        None => 0.0,
        Some("middle") => -0.5 * line.x,
        Some("end") => -line.x,
        Some(other) => return Err(failed(format!("unknown text-anchor {other:?}"))),
    };
    let place = Transform::from_translate(element.number("x")? + start, element.number("y")?);
    Ok(line.path.finish().and_then(|path| path.transform(place)))
}

/// Glyphs put one after another, and where the next one stands.
#[derive(Default)]
struct Line {
    path: PathBuilder,
    x: f32,
    y: f32,
    after_space: bool,
}

impl Line {
    fn put(&mut self, escaped: &str, size: f32) {
        let scale = size / f32::from(FONT.units_per_em());
        let mut before = None;
        for character in unescape(escaped).chars() {
            // XML joins spaces and drops those at the start.
            let is_space = character == ' ';
            if is_space && (self.after_space || self.x == 0.0) {
                continue;
            }
            self.after_space = is_space;
            let glyph = FONT.glyph_index(character).unwrap_or(GlyphId(0));
            if let Some(before) = before {
                self.x += scale * f32::from(kerning(before, glyph));
            }
            let mut pen = Pen { path: &mut self.path, x: self.x, y: self.y, scale };
            FONT.outline_glyph(glyph, &mut pen);
            self.x += scale * f32::from(FONT.glyph_hor_advance(glyph).unwrap_or(0));
            before = Some(glyph);
        }
    }
}

/// What is added to the distance of two glyphs, in units of the font.
fn kerning(left: GlyphId, right: GlyphId) -> i16 {
    let tables = FONT.tables().kern.into_iter().flat_map(|kern| kern.subtables);
    tables
        .filter(|table| table.horizontal && !table.variable)
        .find_map(|table| table.glyphs_kerning(left, right))
        .unwrap_or(0)
}

/// Adds the outline of a glyph to a path; y points up in the font and down in the image.
struct Pen<'a> {
    path: &'a mut PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.scale * x, self.y - self.scale * y)
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
