//! Lines and polygons cut to a rectangle.
//!
//! The SVG has clip paths too. Cutting beforehand keeps coordinates of data far
//! outside the axes out of the file, where renderers lose precision on them.

/// A point in pixels.
pub(crate) type Point = (f64, f64);

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Rect {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) fn grown(&self, by: f64) -> Self {
        Self {
            left: self.left - by,
            top: self.top - by,
            right: self.right + by,
            bottom: self.bottom + by,
        }
    }

    pub(crate) fn contains(&self, (x, y): Point) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    /// Whether two rectangles have a point in common.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.left <= other.right
            && other.left <= self.right
            && self.top <= other.bottom
            && other.top <= self.bottom
    }
}

/// The part of a segment inside a rectangle (Liang and Barsky).
pub(crate) fn segment(from: Point, to: Point, rect: &Rect) -> Option<(Point, Point)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    let borders = [
        (-dx, from.0 - rect.left),
        (dx, rect.right - from.0),
        (-dy, from.1 - rect.top),
        (dy, rect.bottom - from.1),
    ];
    for (speed, distance) in borders {
        if speed == 0.0 {
            if distance < 0.0 {
                return None;
            }
        } else if speed < 0.0 {
            enter = enter.max(distance / speed);
        } else {
            leave = leave.min(distance / speed);
        }
    }
    // Ends that are inside are returned as they came, so that pieces join.
    let at = |t: f64| match t {
        0.0 => from,
        1.0 => to,
        _ => (from.0 + t * dx, from.1 + t * dy),
    };
    (enter <= leave).then(|| (at(enter), at(leave)))
}

/// The parts of a polyline inside a rectangle. A single point is kept.
pub(crate) fn polyline(points: &[Point], rect: &Rect) -> Vec<Vec<Point>> {
    if let [point] = points {
        return if rect.contains(*point) { vec![vec![*point]] } else { Vec::new() };
    }
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    for pair in points.windows(2) {
        let Some((from, to)) = segment(pair[0], pair[1], rect) else {
            continue;
        };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&from) => piece.push(to),
            _ => pieces.push(vec![from, to]),
        }
    }
    pieces
}

/// The part of a polygon inside a rectangle (Sutherland and Hodgman).
pub(crate) fn polygon(points: &[Point], rect: &Rect) -> Vec<Point> {
    // Signed distance to the inside of each border.
    let borders: [&dyn Fn(Point) -> f64; 4] =
        [&|p| p.0 - rect.left, &|p| rect.right - p.0, &|p| p.1 - rect.top, &|p| rect.bottom - p.1];
    let mut kept = points.to_vec();
    for distance in borders {
        let mut next = Vec::with_capacity(kept.len() + 2);
        for (index, &to) in kept.iter().enumerate() {
            let from = kept[(index + kept.len() - 1) % kept.len()];
            let (before, after) = (distance(from), distance(to));
            if (before < 0.0) != (after < 0.0) {
                let t = before / (before - after);
                next.push((from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1)));
            }
            if after >= 0.0 {
                next.push(to);
            }
        }
        kept = next;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Rect = Rect { left: 0.0, top: 0.0, right: 1.0, bottom: 1.0 };

    #[test]
    fn rectangles_meet_if_they_meet_on_both_axes() {
        let at = |left: f64, top: f64| Rect { left, top, right: left + 0.5, bottom: top + 0.5 };
        assert!(UNIT.meets(&at(0.2, 0.2)) && at(0.2, 0.2).meets(&UNIT));
        assert!(UNIT.meets(&at(1.0, -0.3)));
        assert!(!UNIT.meets(&at(0.2, 1.1)) && !UNIT.meets(&at(-0.6, 0.2)));
    }

    #[test]
    fn a_line_that_leaves_and_returns_is_two_pieces() {
        let pieces = polyline(&[(0.5, 0.5), (0.5, 2.5), (0.7, 2.5), (0.7, 0.5)], &UNIT);
        assert_eq!(pieces, [vec![(0.5, 0.5), (0.5, 1.0)], vec![(0.7, 1.0), (0.7, 0.5)]]);
    }

    #[test]
    fn inside_lines_are_kept_and_outside_lines_are_not() {
        let line = [(0.1, 0.1), (0.9, 0.2), (0.3, 0.8)];
        assert_eq!(polyline(&line, &UNIT), [line.to_vec()]);
        assert!(polyline(&[(2.0, 0.0), (3.0, 1.0)], &UNIT).is_empty());
        assert_eq!(polyline(&[(0.5, 0.5)], &UNIT), [vec![(0.5, 0.5)]]);
    }

    #[test]
    fn a_polygon_is_cut_to_the_rectangle() {
        let cut = polygon(&[(-5.0, 0.2), (5.0, 0.2), (5.0, 0.6), (-5.0, 0.6)], &UNIT);
        assert_eq!(cut.len(), 4);
        assert!(cut.iter().all(|&p| UNIT.contains(p)), "{cut:?}");
        assert!(polygon(&[(2.0, 2.0), (3.0, 2.0), (3.0, 3.0)], &UNIT).is_empty());
    }
}
