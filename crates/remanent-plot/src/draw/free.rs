//! Where in a frame there is room, for legends and insets.

use super::Frame;
use super::marks::{across, covered};
use crate::clip::{Point, Rect, segment};
use crate::inset::Corner;
use crate::panel::Panel;

/// Distance that data keep from what is put next to them.
const CLEARANCE: f64 = 4.0;

/// What a frame holds already.
pub(super) struct Taken {
    /// Samples of the data, a few pixels apart.
    data: Vec<Point>,
    /// Lines across the panel.
    guides: Vec<(Point, Point)>,
    /// Insets.
    boxes: Vec<Rect>,
}

/// How much a box in the frame would hide, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hidden {
    boxes: usize,
    data: usize,
    guides: usize,
}

impl Hidden {
    /// Whether it is nothing, or lines that are understood without the part that is hidden.
    pub(super) fn is_harmless(self) -> bool {
        self.boxes == 0 && self.data == 0
    }
}

impl Taken {
    /// What the layers of a panel take; its insets are put in one by one.
    pub(super) fn by_layers(panel: &Panel, frame: &Frame) -> Self {
        let layers = panel.layers();
        Self {
            data: layers.iter().flat_map(|layer| covered(layer, frame)).collect(),
            guides: layers.iter().filter_map(|layer| across(layer, frame)).collect(),
            boxes: Vec::new(),
        }
    }

    pub(super) fn put(&mut self, place: Rect) {
        self.boxes.push(place);
    }

    fn hidden_by(&self, place: &Rect) -> Hidden {
        let near = place.grown(CLEARANCE);
        Hidden {
            boxes: self.boxes.iter().filter(|taken| taken.meets(&near)).count(),
            data: self.data.iter().filter(|&&point| near.contains(point)).count(),
            guides: self.guides.iter().filter(|(a, b)| segment(*a, *b, &near).is_some()).count(),
        }
    }

    /// The corner of a frame where a box of some size hides least, and what it hides there.
    pub(super) fn best_corner(&self, frame: &Rect, size: (f64, f64), gap: f64) -> (Rect, Hidden) {
        let found = Corner::ALL.map(|corner| {
            let place = in_corner(corner, frame, size, gap);
            (place, self.hidden_by(&place))
        });
        found.into_iter().min_by_key(|(_, hidden)| *hidden).unwrap_or(found[0])
    }
}

/// A box in a corner of a frame, `gap` pixels away from its sides.
pub(super) fn in_corner(
    corner: Corner,
    frame: &Rect,
    (width, height): (f64, f64),
    gap: f64,
) -> Rect {
    let left = match corner {
        Corner::TopLeft | Corner::BottomLeft => frame.left + gap,
        Corner::TopRight | Corner::BottomRight => frame.right - gap - width,
    };
    let top = match corner {
        Corner::TopLeft | Corner::TopRight => frame.top + gap,
        Corner::BottomLeft | Corner::BottomRight => frame.bottom - gap - height,
    };
    Rect { left, top, right: left + width, bottom: top + height }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Rect = Rect { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };

    #[test]
    fn insets_are_worse_to_hide_than_data_and_data_than_lines() {
        let mut taken = Taken {
            data: vec![(90.0, 10.0)],
            guides: vec![((0.0, 90.0), (100.0, 90.0))],
            boxes: Vec::new(),
        };
        let best = |taken: &Taken| taken.best_corner(&FRAME, (30.0, 30.0), 2.0);
        let place = in_corner(Corner::TopLeft, &FRAME, (30.0, 30.0), 2.0);
        assert_eq!(best(&taken).0, place);
        taken.put(place);
        let (place, hidden) = best(&taken);
        assert_eq!(place, Rect { left: 68.0, top: 68.0, right: 98.0, bottom: 98.0 });
        assert!(hidden.is_harmless());
        taken.put(place);
        taken.put(in_corner(Corner::BottomLeft, &FRAME, (30.0, 30.0), 2.0));
        let (place, hidden) = best(&taken);
        assert_eq!((place.left, place.top), (68.0, 2.0));
        assert!(!hidden.is_harmless());
    }
}
