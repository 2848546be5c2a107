//! Insets: small panels inside the frame of another.

use crate::panel::Panel;

/// Width and height of an inset, in those of the frame around it.
const SIZE: (f64, f64) = (0.44, 0.44);
/// Sums of fractions such as 0.7 + 0.3 may exceed 1 by rounding.
const SLACK: f64 = 1e-9;

/// A corner of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// Above, to the right.
    TopRight,
    /// Above, to the left.
    TopLeft,
    /// Below, to the right.
    BottomRight,
    /// Below, to the left.
    BottomLeft,
}

impl Corner {
    /// In the order in which they are tried.
    pub(crate) const ALL: [Self; 4] =
        [Self::TopRight, Self::TopLeft, Self::BottomRight, Self::BottomLeft];
}

/// Where an inset is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// In the corner where it hides least.
    Free,
    /// In this corner.
    Corner(Corner),
    /// Left and lower end, in fractions of the frame.
    At(f64, f64),
}

/// A panel inside the frame of another, on white and in smaller type. Its place
/// and size are those of the whole inset with its labels, so that all of it is
/// inside. Legends keep out of its way; data do not, so axes may have to leave room.
#[derive(Clone, Debug, PartialEq)]
pub struct Inset {
    /// What is drawn.
    pub panel: Panel,
    pub(crate) size: (f64, f64),
    pub(crate) place: Place,
}

impl Inset {
    /// An inset of 0.44 by 0.44 of the frame, in the corner where it hides least.
    pub fn new(panel: Panel) -> Self {
        Self { panel, size: SIZE, place: Place::Free }
    }

    /// Puts it into a corner.
    pub fn at(mut self, corner: Corner) -> Self {
        self.place = Place::Corner(corner);
        self
    }

    /// Sets width and height in fractions of the frame.
    pub fn size(mut self, width: f64, height: f64) -> Self {
        self.size = (width, height);
        self
    }

    /// Sets left and lower end, width and height, in fractions of the frame.
    pub fn place(mut self, left: f64, bottom: f64, width: f64, height: f64) -> Self {
        self.place = Place::At(left, bottom);
        self.size(width, height)
    }

    /// Panics if a part of the inset is outside the frame, or has insets itself.
    pub(crate) fn check(&self) {
        let (left, bottom) = match self.place {
            Place::At(left, bottom) => (left, bottom),
            Place::Free | Place::Corner(_) => (0.0, 0.0),
        };
        let inside =
            |from: f64, length: f64| from >= 0.0 && length > 0.0 && from + length <= 1.0 + SLACK;
        assert!(
            inside(left, self.size.0) && inside(bottom, self.size.1),
            "an inset must lie inside the frame"
        );
        assert!(self.panel.insets().is_empty(), "an inset cannot have insets");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;

    fn panel() -> Panel {
        Panel::new("", Axis::linear("x"), Axis::linear("y"))
    }

    #[test]
    fn all_of_the_frame_may_be_taken() {
        let outer = panel()
            .inset(Inset::new(panel()).place(0.7, 0.9, 0.3, 0.1))
            .inset(Inset::new(panel()).at(Corner::TopLeft).size(1.0, 1.0));
        assert_eq!(outer.insets().len(), 2);
    }

    #[test]
    #[should_panic(expected = "inside the frame")]
    fn an_inset_outside_the_frame_is_refused() {
        let _ = panel().inset(Inset::new(panel()).place(0.7, 0.0, 0.4, 0.4));
    }

    #[test]
    #[should_panic(expected = "inside the frame")]
    fn an_inset_without_size_is_refused() {
        let _ = panel().inset(Inset::new(panel()).size(f64::NAN, 0.4));
    }

    #[test]
    #[should_panic(expected = "cannot have insets")]
    fn an_inset_of_an_inset_is_refused() {
        let inner = panel().inset(Inset::new(panel()));
        let _ = panel().inset(Inset::new(inner));
    }
}
