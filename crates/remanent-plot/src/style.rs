//! Looks of lines and points that are not colours.

/// How a line is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    /// Not at all.
    #[default]
    Solid,
    /// Into dashes.
    Dashed,
    /// Into dots.
    Dotted,
}

/// The shape of a point, filled unless the points are hollow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marker {
    /// A circle.
    #[default]
    Circle,
    /// A square.
    Square,
    /// A square on its corner.
    Diamond,
    /// A triangle.
    Triangle,
    /// Two crossed strokes.
    Cross,
}

impl Marker {
    /// All shapes.
    pub const ALL: [Self; 5] =
        [Self::Circle, Self::Square, Self::Diamond, Self::Triangle, Self::Cross];

    /// The shape of the n-th of several, from 0; after the last the first comes again.
    pub fn of(index: usize) -> Self {
        Self::ALL[index % Self::ALL.len()]
    }
}
