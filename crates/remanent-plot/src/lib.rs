//! Curves, bands and maps as SVG and PNG; tables as text and CSV.
//!
//! A [`Figure`] is a grid of [`Panel`]s. A panel has two axes and layers: curves, bands, points,
//! maps. An [`Inset`] is a small panel inside another. The same figure gives the same bytes on
//! every machine. A PNG (feature `png`, on by default) is the SVG rendered with an embedded font, so
//! that text appears where no font is installed.
//!
//! Labels support subscripts and superscripts, `q_d` and `10^{-3}`; see [`text`].
//!
//! ```
//! use remanent_plot::{Axis, Curve, Figure, Panel};
//!
//! let alpha: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
//! let error = alpha.iter().map(|a| (-a).exp()).collect();
//! let panel = Panel::new("learning curve", Axis::linear("α"), Axis::log("ε_1"))
//!     .with(Curve::new(alpha, error).label("theory"));
//! assert!(Figure::single(panel).to_svg().starts_with("<svg"));
//! ```

mod clip;
mod color;
mod draw;
mod error;
mod grid;
mod number;
#[cfg(feature = "png")]
mod raster;
mod scale;
mod style;
mod svg;
mod ticks;

pub mod axis;
pub mod figure;
pub mod inset;
pub mod layer;
pub mod output;
pub mod panel;
pub mod table;
pub mod text;

pub use axis::Axis;
pub use color::Color;
pub use error::PlotError;
pub use figure::Figure;
pub use inset::{Corner, Inset};
pub use layer::{
    Band, Curve, HorizontalLine, Layer, Map, Note, Points, Side, VerticalLine, VerticalSpan,
};
pub use output::{PlotFormat, check_picture, check_writable};
pub use panel::Panel;
pub use style::{Dash, Marker};
pub use table::{Cell, Table};
