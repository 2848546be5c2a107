//! A figure: panels on a grid, and its files.

use std::path::Path;

use crate::clip::Rect;
use crate::draw::{self, Margins, Prepared};
use crate::error::PlotError;
use crate::output::{PlotFormat, write_whole};
use crate::panel::Panel;
use crate::svg::{Anchor, Svg};

/// Size of the cell of one panel, labels included, in pixels.
const CELL: (f64, f64) = (460.0, 340.0);
const TITLE_HEIGHT: f64 = 34.0;
const TITLE_SIZE: f64 = 16.0;
/// Pixels per unit of the PNG that [`Figure::write`] makes.
#[cfg(feature = "png")]
const PNG_SCALE: f32 = 2.0;

/// Panels on a grid, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The panels.
    pub panels: Vec<Panel>,
    /// Number of columns; 0 counts as 1.
    pub columns: usize,
    /// What stands on top, in the markup of [`crate::text`].
    pub title: Option<String>,
}

impl Figure {
    /// A figure of one panel.
    pub fn single(panel: Panel) -> Self {
        Self::grid(vec![panel], 1)
    }

    /// A figure of panels in `columns` columns.
    pub fn grid(panels: Vec<Panel>, columns: usize) -> Self {
        Self { panels, columns, title: None }
    }

    /// Sets the title, if there is one.
    pub fn titled(self, title: Option<&str>) -> Self {
        match title {
            Some(title) => self.title(title),
            None => self,
        }
    }

    /// Sets the title.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The figure as an SVG document. The same figure gives the same text.
    pub fn to_svg(&self) -> String {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let rows = self.panels.len().div_ceil(columns).max(1);
        let title = self.title.as_deref().filter(|title| !title.is_empty());
        let top = if title.is_some() { TITLE_HEIGHT } else { 0.0 };
        let wanted = self.panels.iter().filter_map(|panel| panel.size);
        let cell_size = wanted.fold(CELL, |a, b| (a.0.max(b.0), a.1.max(b.1)));
        let (width, height) = (cell_size.0 * columns as f64, cell_size.1 * rows as f64 + top);
        let mut svg = Svg::default();
        if let Some(title) = title {
            let size = draw::shrunk(title, TITLE_SIZE, width - 20.0);
            svg.text((0.5 * width, 25.0), title, size, Anchor::Middle);
        }
        let cell = |index: usize| {
            let (left, top) = (
                cell_size.0 * (index % columns) as f64,
                top + cell_size.1 * (index / columns) as f64,
            );
            Rect { left, top, right: left + cell_size.0, bottom: top + cell_size.1 }
        };
        let mut prepared: Vec<Prepared<'_>> = self
            .panels
            .iter()
            .enumerate()
            .map(|(index, panel)| Prepared::new(panel, &cell(index)))
            .collect();
        let mut margins = aligned(&prepared, columns);
        // A frame made smaller by its neighbours may have lost the room for its
        // legend. A legend moves out at most once, so this ends.
        loop {
            let mut moved = false;
            for (index, panel) in prepared.iter_mut().enumerate() {
                moved |= panel.settle_legend(&cell(index), &margins[index]);
            }
            if !moved {
                break;
            }
            margins = aligned(&prepared, columns);
        }
        for (index, panel) in prepared.iter().enumerate() {
            draw::panel(&mut svg, panel, &cell(index), &margins[index]);
        }
        svg.finish(width, height)
    }

    /// The figure as a PNG of `scale` pixels per unit: a single panel has
    /// 460 by 340 units. Fails if a side would be empty or over 16384 pixels.
    #[cfg(feature = "png")]
    pub fn to_png(&self, scale: f32) -> Result<Vec<u8>, PlotError> {
        crate::raster::to_png(&self.to_svg(), scale)
    }

    /// Writes the figure in the format of the extension, `.svg` or `.png`.
    /// The file is there whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), PlotError> {
        match PlotFormat::from_path(path)? {
            PlotFormat::Svg => write_whole(path, self.to_svg().as_bytes()),
            #[cfg(feature = "png")]
            PlotFormat::Png => write_whole(path, &self.to_png(PNG_SCALE)?),
        }
    }
}

/// The margins that align the frames of every column and every row.
fn aligned(prepared: &[Prepared<'_>], columns: usize) -> Vec<Margins> {
    let one = |(index, panel): (usize, &Prepared<'_>)| {
        let largest = |same: &dyn Fn(usize) -> bool, side: fn(&Margins) -> f64| {
            let others = prepared.iter().enumerate().filter(|(other, _)| same(*other));
            others.map(|(_, panel)| side(&panel.margins)).fold(0.0, f64::max)
        };
        let column = |other: usize| other % columns == index % columns;
        let row = |other: usize| other / columns == index / columns;
        Margins {
            left: largest(&column, |margins| margins.left),
            // Not aligned: a colour bar takes its space from its own panel alone.
            right: panel.margins.right,
            top: largest(&row, |margins| margins.top),
            bottom: largest(&row, |margins| margins.bottom),
        }
    };
    prepared.iter().enumerate().map(one).collect()
}
