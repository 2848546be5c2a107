//! What is drawn in a panel: data with a look.
//!
//! Every layer is a plain struct with a constructor for the data and methods
//! for the look. Values that an axis cannot show, among them NaN, are gaps.
//! Lists that belong together must have the same length: a panel panics on
//! others when the layer is pushed, since they are a fault of the program.

use crate::color::Color;
use crate::scale::Kind;
use crate::style::{Dash, Marker};

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Abscissas.
    pub x: Vec<f64>,
    /// Ordinates; one that is not finite, or not positive on a logarithmic
    /// axis, breaks the line.
    pub y: Vec<f64>,
    /// Entry in the legend.
    pub label: Option<String>,
    /// Colour.
    pub color: Color,
    /// Solid, dashed or dotted.
    pub dash: Dash,
    /// Width in pixels.
    pub width: f64,
    /// Whether every point has a small circle.
    pub markers: bool,
}

/// The region between two curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Abscissas.
    pub x: Vec<f64>,
    /// Lower border; on a logarithmic axis one that is not positive lies below the panel.
    pub low: Vec<f64>,
    /// Upper border.
    pub high: Vec<f64>,
    /// Entry in the legend.
    pub label: Option<String>,
    /// Colour, drawn pale.
    pub color: Color,
}

/// Points, with or without error bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// Abscissas.
    pub x: Vec<f64>,
    /// Ordinates.
    pub y: Vec<f64>,
    /// Entry in the legend.
    pub label: Option<String>,
    /// Colour.
    pub color: Color,
    /// Shape.
    pub marker: Marker,
    /// Half the height of each error bar.
    pub error: Option<Vec<f64>>,
    /// The thin line from each point to the next, if there is one.
    pub line: Option<Dash>,
    /// Whether only the outlines have the colour, and the inside is white.
    pub hollow: bool,
}

/// A vertical line across the panel, its label above the panel.
#[derive(Clone, Debug, PartialEq)]
pub struct VerticalLine {
    /// Where.
    pub x: f64,
    /// What it marks.
    pub label: Option<String>,
}

/// A region of x shaded over the whole height, behind everything else.
#[derive(Clone, Debug, PartialEq)]
pub struct VerticalSpan {
    /// One end; an infinite one is the edge of the panel, whatever the data.
    pub from: f64,
    /// The other end.
    pub to: f64,
    /// Entry in the legend.
    pub label: Option<String>,
    /// Colour, drawn pale.
    pub color: Color,
}

/// A horizontal line across the panel, its label to the right of the panel.
#[derive(Clone, Debug, PartialEq)]
pub struct HorizontalLine {
    /// Where.
    pub y: f64,
    /// What it marks.
    pub label: Option<String>,
}

/// A value on every point of a grid, as colours. The cell of a point ends
/// half-way to its neighbours; one whose value is not a number is grey.
/// The maps of one panel share one colour scale, that of the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Abscissas of the columns.
    pub x: Vec<f64>,
    /// Ordinates of the rows.
    pub y: Vec<f64>,
    /// The values, row after row: the one at `(x[i], y[j])` is `values[j * x.len() + i]`.
    pub values: Vec<f64>,
    /// Label of the colour bar.
    pub label: Option<String>,
    /// Values at the ends of the colour scale; those of the data if `None`.
    pub range: Option<(f64, f64)>,
    pub(crate) kind: Kind,
}

/// Which part of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Side {
    /// The text begins there.
    #[default]
    Right,
    /// Its middle is there.
    Middle,
    /// It ends there.
    Left,
}

/// A text inside the panel, for labels that stand at what they name. It may have several lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Abscissa of its place.
    pub x: f64,
    /// Ordinate of its place: half the height of the text.
    pub y: f64,
    /// The text, in the markup of [`crate::text`].
    pub text: String,
    /// Colour.
    pub color: Color,
    /// On which side of its place it stands.
    pub side: Side,
}

impl Note {
    /// A black text to the right of a place.
    pub fn new(x: f64, y: f64, text: impl Into<String>) -> Self {
        Self { x, y, text: text.into(), color: Color::Palette(6), side: Side::Right }
    }

    /// Sets the colour.
    pub fn color(mut self, color: Color) -> Self {
        self.color = color;
        self
    }

    /// Sets the side of its place on which it stands.
    pub fn side(mut self, side: Side) -> Self {
        self.side = side;
        self
    }
}

/// Any of the layers.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// A line through points.
    Curve(Curve),
    /// The region between two curves.
    Band(Band),
    /// Points.
    Points(Points),
    /// A vertical line.
    VerticalLine(VerticalLine),
    /// A shaded region of x.
    VerticalSpan(VerticalSpan),
    /// A horizontal line.
    HorizontalLine(HorizontalLine),
    /// A map.
    Map(Map),
    /// A text.
    Note(Note),
}

impl Layer {
    /// The entry of the layer in the legend. Lines across the panel and maps
    /// have their labels elsewhere.
    pub(crate) fn legend_label(&self) -> Option<&str> {
        match self {
            Self::Curve(curve) => curve.label.as_deref(),
            Self::Band(band) => band.label.as_deref(),
            Self::Points(points) => points.label.as_deref(),
            Self::VerticalSpan(span) => span.label.as_deref(),
            Self::VerticalLine(_) | Self::HorizontalLine(_) | Self::Map(_) | Self::Note(_) => None,
        }
        .filter(|label| !label.is_empty())
    }

    /// Panics if lists that belong together differ in length.
    pub(crate) fn check(&self) {
        let same = |what: &str, found: usize, wanted: usize| {
            assert_eq!(found, wanted, "{what} must have as many values as the layer has points");
        };
        match self {
            Self::Curve(curve) => same("y of a curve", curve.y.len(), curve.x.len()),
            Self::Band(band) => {
                same("low of a band", band.low.len(), band.x.len());
                same("high of a band", band.high.len(), band.x.len());
            }
            Self::Points(points) => {
                same("y of points", points.y.len(), points.x.len());
                if let Some(error) = &points.error {
                    same("error of points", error.len(), points.x.len());
                }
            }
            Self::Map(map) => same("values of a map", map.values.len(), map.x.len() * map.y.len()),
            Self::VerticalLine(_)
            | Self::VerticalSpan(_)
            | Self::HorizontalLine(_)
            | Self::Note(_) => {}
        }
    }
}

impl Curve {
    /// A solid line in the first colour of the palette.
    pub fn new(x: Vec<f64>, y: Vec<f64>) -> Self {
        let (color, dash) = (Color::default(), Dash::default());
        Self { x, y, label: None, color, dash, width: 1.8, markers: false }
    }

    /// Sets the entry in the legend.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the colour.
    pub fn color(mut self, color: Color) -> Self {
        self.color = color;
        self
    }

    /// Sets how the line is broken.
    pub fn dash(mut self, dash: Dash) -> Self {
        self.dash = dash;
        self
    }

    /// Sets the width in pixels.
    pub fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }

    /// Marks every point.
    pub fn markers(mut self) -> Self {
        self.markers = true;
        self
    }
}

impl Band {
    /// A band in the first colour of the palette.
    pub fn new(x: Vec<f64>, low: Vec<f64>, high: Vec<f64>) -> Self {
        Self { x, low, high, label: None, color: Color::default() }
    }

    /// Sets the entry in the legend.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the colour.
    pub fn color(mut self, color: Color) -> Self {
        self.color = color;
        self
    }
}

impl Points {
    /// Circles in the first colour of the palette.
    pub fn new(x: Vec<f64>, y: Vec<f64>) -> Self {
        let (color, marker) = (Color::default(), Marker::default());
        Self { x, y, label: None, color, marker, error: None, line: None, hollow: false }
    }

    /// Sets the entry in the legend.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the colour.
    pub fn color(mut self, color: Color) -> Self {
        self.color = color;
        self
    }

    /// Sets the shape.
    pub fn marker(mut self, marker: Marker) -> Self {
        self.marker = marker;
        self
    }

    /// Gives every point an error bar of this half-height; none where it is not a number.
    pub fn error(mut self, error: Vec<f64>) -> Self {
        self.error = Some(error);
        self
    }

    /// Joins the points by a thin line under them, broken where a point is missing.
    pub fn connected(mut self, dash: Dash) -> Self {
        self.line = Some(dash);
        self
    }

    /// Leaves the inside of the points white; crosses, which have none, stay as they are.
    pub fn hollow(mut self) -> Self {
        self.hollow = true;
        self
    }
}

impl VerticalLine {
    /// A line at x.
    pub fn new(x: f64) -> Self {
        Self { x, label: None }
    }

    /// Sets what stands above it.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}

impl VerticalSpan {
    /// A grey region between two ends, in either order; none if one is not a number.
    pub fn new(from: f64, to: f64) -> Self {
        Self { from, to, label: None, color: Color::GREY }
    }

    /// Sets the entry in the legend.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the colour.
    pub fn color(mut self, color: Color) -> Self {
        self.color = color;
        self
    }
}

impl HorizontalLine {
    /// A line at y.
    pub fn new(y: f64) -> Self {
        Self { y, label: None }
    }

    /// Sets what stands to its right.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}

impl Map {
    /// A map with a linear colour scale over its values.
    pub fn new(x: Vec<f64>, y: Vec<f64>, values: Vec<f64>) -> Self {
        Self { x, y, values, label: None, range: None, kind: Kind::Linear }
    }

    /// Sets the label of the colour bar.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the values at the ends of the colour scale.
    pub fn range(mut self, lo: f64, hi: f64) -> Self {
        self.range = Some((lo, hi));
        self
    }

    /// Makes the colour scale logarithmic.
    pub fn log(mut self) -> Self {
        self.kind = Kind::Log;
        self
    }
}

macro_rules! layer_from {
    ($($layer:ident),*) => {
        $(impl From<$layer> for Layer {
            fn from(layer: $layer) -> Self {
                Self::$layer(layer)
            }
        })*
    };
}

layer_from!(Curve, Band, Points, VerticalLine, VerticalSpan, HorizontalLine, Map, Note);
