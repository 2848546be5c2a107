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
