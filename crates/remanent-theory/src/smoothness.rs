//! On what scale the law of a field changes, place by place.
//!
//! The law is that of the anchors, on panels, folded with a Gaussian. Where a strong anchor is folded with a narrow
//! Gaussian, the law may be a thousand times smoother in one place than in another; a grid as fine as
//! the finest place would have millions of nodes.

use crate::law::Panel;

/// How many widths of the Gaussian around a place matter to the law there.
const REACH: f64 = 8.0;
/// The scale of a law in units of that of the panel: a panel is 3.6 scales long.
const SHARE: f64 = 0.46;

/// The scale of the law of a field as a function of the field.
#[derive(Clone, Debug)]
pub(crate) struct Smoothness {
    /// The panels of the anchors as intervals of the field, rising, each with its scale.
    panels: Vec<(f64, f64, f64)>,
    /// The width of the Gaussian: no scale is smaller.
    width: f64,
}

impl Smoothness {
    /// The same scale everywhere.
    pub(crate) fn uniform(scale: f64) -> Self {
        Self { panels: vec![], width: scale }
    }

    /// That of mean + coupling · θ + width · z, with θ on these panels.
    pub(crate) fn new(panels: &[Panel], mean: f64, coupling: f64, width: f64) -> Self {
        let of = |p: &Panel| {
            let (middle, half) = (mean + coupling * p.middle, coupling * p.half);
            (middle - half, middle + half, SHARE * coupling * p.scale)
        };
        Self { panels: panels.iter().map(of).collect(), width }
    }

    /// The smallest scale between two fields.
    pub(crate) fn between(&self, low: f64, high: f64) -> f64 {
        let (low, high) = (low - REACH * self.width, high + REACH * self.width);
        let after = self.panels.partition_point(|p| p.1 < low);
        let mut scale = f64::INFINITY;
        for panel in &self.panels[after..] {
            if panel.0 > high || scale <= self.width {
                break;
            }
            scale = scale.min(panel.2);
        }
        // Where there is no anchor, tails of the Gaussian.
        if scale.is_finite() { scale.max(self.width) } else { self.width }
    }

    /// Whether it differs from place to place.
    pub(crate) fn varies(&self) -> bool {
        !self.panels.is_empty()
    }

    /// Whether it is the width of the Gaussian.
    pub(crate) fn is_width(&self, scale: f64) -> bool {
        scale <= self.width
    }
}
