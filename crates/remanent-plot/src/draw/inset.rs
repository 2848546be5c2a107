//! Insets in their places.
//!
//! An inset is drawn as a panel is, in a cell larger than its place, and then
//! made smaller as a whole: type, lines and marks keep their proportions.

use super::free::{Taken, in_corner};
use super::{Frame, Prepared, panel};
use crate::clip::Rect;
use crate::inset::{Inset, Place};
use crate::number::coordinate;
use crate::panel::Panel;
use crate::svg::Svg;

/// Size of everything in an inset, in that of everything outside.
const SHRINK: f64 = 0.8;
/// Distance from the frame of an inset in a corner: a hair, so that the frame's
/// line is seen and no stubs of the grid are.
const GAP: f64 = 1.0;

/// The places of the insets of a panel, in their order. Those whose place is
/// given come first: the others keep out of their way.
pub(super) fn places(panel: &Panel, frame: &Frame, taken: &mut Taken) -> Vec<Rect> {
    let given: Vec<Option<Rect>> =
        panel.insets().iter().map(|inset| given_place(inset, &frame.rect)).collect();
    given.iter().flatten().for_each(|place| taken.put(*place));
    let choose = |(inset, given): (&Inset, Option<Rect>)| {
        given.unwrap_or_else(|| {
            let (size, gap) = size_and_gap(inset, &frame.rect);
            let (place, _) = taken.best_corner(&frame.rect, size, gap);
            taken.put(place);
            place
        })
    };
    panel.insets().iter().zip(given).map(choose).collect()
}

fn given_place(inset: &Inset, frame: &Rect) -> Option<Rect> {
    let (size, gap) = size_and_gap(inset, frame);
    match inset.place {
        Place::Free => None,
        Place::Corner(corner) => Some(in_corner(corner, frame, size, gap)),
        Place::At(left, bottom) => {
            let left = frame.left + left * frame.width();
            let bottom = frame.bottom - bottom * frame.height();
            Some(Rect { left, bottom, right: left + size.0, top: bottom - size.1 })
        }
    }
}

/// Width and height in pixels, and the distance from the sides of the frame:
/// none for an inset that needs all of it.
fn size_and_gap(inset: &Inset, frame: &Rect) -> ((f64, f64), f64) {
    let (width, height) = (inset.size.0 * frame.width(), inset.size.1 * frame.height());
    let free = (frame.width() - width).min(frame.height() - height);
    ((width, height), (0.5 * free).clamp(0.0, GAP))
}

/// Draws the insets of a panel.
pub(super) fn draw(svg: &mut Svg, outer: &Panel, frame: &Frame) {
    if outer.insets().is_empty() {
        return;
    }
    let mut taken = Taken::by_layers(outer, frame);
    for (inset, place) in outer.insets().iter().zip(places(outer, frame, &mut taken)) {
        svg.rect(&place, r##"fill="#fff""##);
        let [left, top] = [place.left, place.top].map(coordinate);
        svg.group(&format!(r#"transform="translate({left} {top}) scale({SHRINK})""#));
        let cell = Rect {
            left: 0.0,
            top: 0.0,
            right: place.width() / SHRINK,
            bottom: place.height() / SHRINK,
        };
        let prepared = Prepared::inset(&inset.panel, &cell);
        panel(svg, &prepared, &cell, &prepared.margins);
        svg.end();
    }
}
