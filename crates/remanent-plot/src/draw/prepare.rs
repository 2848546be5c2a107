//! What is known of a panel before its place on the page is.

use super::axes::{self, fitting};
use super::heat::Colors;
use super::legend::{self, Entry};
use super::{Frame, LABEL_SIZE, TICK_SIZE};
use crate::clip::Rect;
use crate::layer::Layer;
use crate::panel::Panel;
use crate::scale::Scale;
use crate::text::width;
use crate::ticks::Ticks;

/// How far apart things stand in and around a frame, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    /// Right of and above a frame with nothing there but half a tick's label.
    right: f64,
    top: f64,
    /// From the frame down to the baseline of the horizontal axis's label.
    pub(super) x_label: f64,
    /// From the ends of the vertical ticks' labels to the frame and the axis's label.
    pub(super) y_label: f64,
    /// Between ticks.
    x_ticks: f64,
    y_ticks: f64,
    /// What labels above and below the frame take of the cell when the vertical
    /// ticks are chosen: their widths decide the frame's width, so they cannot
    /// wait for it.
    labels: f64,
}

const USUAL: Spacing = Spacing {
    right: 18.0,
    top: 14.0,
    x_label: 38.0,
    y_label: 18.0,
    x_ticks: 50.0,
    y_ticks: 34.0,
    labels: 90.0,
};

/// For insets, which have no space to give away.
const CLOSE: Spacing = Spacing {
    right: 11.0,
    top: 8.0,
    x_label: 33.0,
    y_label: 15.0,
    x_ticks: 32.0,
    y_ticks: 21.0,
    labels: 60.0,
};

/// Space around the frame inside the cell of a panel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Margins {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

/// A panel with its scales, vertical ticks, colours and legend.
pub(crate) struct Prepared<'a> {
    pub(crate) panel: &'a Panel,
    pub(crate) margins: Margins,
    pub(super) spacing: Spacing,
    pub(super) x: Scale,
    pub(super) y: Scale,
    /// Whether there is anything to show.
    pub(super) data: bool,
    pub(super) y_ticks: Ticks,
    pub(super) colors: Option<Colors>,
    pub(super) entries: Vec<Entry<'a>>,
    /// Rows of the legend below the panel; 0 if it is inside.
    pub(super) legend_rows: usize,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(panel: &'a Panel, cell: &Rect) -> Self {
        Self::spaced(panel, cell, USUAL)
    }

    /// A panel that is an inset.
    pub(super) fn inset(panel: &'a Panel, cell: &Rect) -> Self {
        Self::spaced(panel, cell, CLOSE)
    }

    fn spaced(panel: &'a Panel, cell: &Rect, spacing: Spacing) -> Self {
        let (x, y, data) = panel.scales();
        let height = cell.height() - spacing.labels;
        let y_ticks = fitting(&y, height, spacing.y_ticks, |_| TICK_SIZE + 3.0);
        let mut prepared = Self {
            panel,
            margins: Margins::default(),
            spacing,
            x,
            y,
            data,
            y_ticks,
            colors: Colors::of(panel, height),
            entries: legend::entries(panel),
            legend_rows: 0,
        };
        prepared.margins = prepared.measure();
        let frame = prepared.frame(cell, &prepared.margins);
        // The labels above the frame need its width, and are counted last.
        prepared.margins.top += axes::vertical_rows(panel, &frame, cell) as f64 * axes::GUIDE_ROW;
        let frame = prepared.frame(cell, &prepared.margins);
        prepared.move_legend(&frame, cell);
        prepared
    }

    /// Puts a legend inside the frame below it if the frame that these margins
    /// leave has no room for it; says whether it did.
    pub(crate) fn settle_legend(&mut self, cell: &Rect, margins: &Margins) -> bool {
        self.legend_rows == 0 && self.move_legend(&self.frame(cell, margins), cell)
    }

    fn move_legend(&mut self, frame: &Frame, cell: &Rect) -> bool {
        self.legend_rows = legend::rows_below(self, frame, cell);
        self.margins.bottom += legend::height_below(self.legend_rows);
        self.legend_rows > 0
    }

    fn measure(&self) -> Margins {
        let labels = self.y_ticks.major.iter().map(|(_, label)| width(label, TICK_SIZE));
        let widest = labels.fold(0.0, f64::max);
        let spacing = &self.spacing;
        let line = |shown: bool| if shown { LABEL_SIZE + 6.0 } else { 0.0 };
        Margins {
            left: spacing.y_label - 2.0 + widest + line(!self.y_label().is_empty()),
            right: spacing.right
                + self.guide_width().unwrap_or(0.0)
                + self.colors.as_ref().map_or(0.0, Colors::width),
            top: spacing.top + if self.panel.title.is_empty() { 0.0 } else { 20.0 },
            bottom: spacing.x_label - 8.0 + line(!self.panel.x.label.is_empty()),
        }
    }

    /// The label of the vertical axis with the factor of its ticks.
    pub(super) fn y_label(&self) -> String {
        with_factor(&self.panel.y.label, &self.y_ticks)
    }

    /// Width of the labels to the right of the frame, if there are any.
    pub(super) fn guide_width(&self) -> Option<f64> {
        let widths = self.panel.layers().iter().filter_map(|layer| match layer {
            Layer::HorizontalLine(line) => {
                line.label.as_deref().map(|label| width(label, TICK_SIZE))
            }
            _ => None,
        });
        widths.reduce(f64::max).map(|widest| widest + 6.0)
    }

    pub(super) fn frame(&self, cell: &Rect, margins: &Margins) -> Frame {
        let rect = Rect {
            left: cell.left + margins.left,
            top: cell.top + margins.top,
            right: cell.right - margins.right,
            bottom: cell.bottom - margins.bottom,
        };
        // Labels may ask for more space than there is: the frame keeps a quarter.
        let rect = Rect {
            right: rect.right.max(rect.left + 0.25 * cell.width()),
            bottom: rect.bottom.max(rect.top + 0.25 * cell.height()),
            ..rect
        };
        Frame { rect, x: self.x, y: self.y }
    }

    pub(super) fn x_ticks(&self, frame: &Frame) -> Ticks {
        let spacing = self.spacing.x_ticks;
        fitting(&self.x, frame.rect.width(), spacing, |label| width(label, TICK_SIZE) + 12.0)
    }
}

/// A label and the factor common to the ticks of its axis.
pub(super) fn with_factor(label: &str, ticks: &Ticks) -> String {
    match &ticks.factor {
        None => label.to_owned(),
        Some(factor) if label.is_empty() => factor.clone(),
        Some(factor) => format!("{label} ({factor})"),
    }
}
