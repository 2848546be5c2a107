//! What a user says about an axis.

use crate::scale::{Kind, Scale};

/// Part of the span of the data left free at either end of an automatic range.
const PADDING: f64 = 0.04;

/// An axis: its label, linear or logarithmic, and the ends it is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The label, in the markup of [`crate::text`].
    pub label: String,
    pub(crate) kind: Kind,
    lower: Option<f64>,
    upper: Option<f64>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), kind: Kind::Linear, lower: None, upper: None }
    }

    /// A logarithmic axis. Values that are not positive have no place on it.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), kind: Kind::Log, lower: None, upper: None }
    }

    /// Holds both ends. The order does not matter; an end that the axis cannot
    /// show (not finite, or not positive on a logarithmic axis) is automatic.
    pub fn range(self, lo: f64, hi: f64) -> Self {
        let (lo, hi) = if lo > hi { (hi, lo) } else { (lo, hi) };
        self.lower(lo).upper(hi)
    }

    /// Holds the lower end only.
    pub fn lower(mut self, lo: f64) -> Self {
        self.lower = Some(lo).filter(|&lo| self.kind.forward(lo).is_finite());
        self
    }

    /// Holds the upper end only.
    pub fn upper(mut self, hi: f64) -> Self {
        self.upper = Some(hi).filter(|&hi| self.kind.forward(hi).is_finite());
        self
    }

    /// Whether a value can be seen if only the ends that are held are known.
    pub(crate) fn admits(&self, value: f64) -> bool {
        self.kind.forward(value).is_finite()
            && self.lower.is_none_or(|lo| value >= lo)
            && self.upper.is_none_or(|hi| value <= hi)
    }

    /// The scale that shows the values, `None` standing for no data.
    pub(crate) fn scale(&self, extent: Option<(f64, f64)>, padded: bool) -> Scale {
        let kind = self.kind;
        let held = [self.lower, self.upper].map(|end| end.map(|value| kind.forward(value)));
        let (mut lo, mut hi) = match (extent, held) {
            (Some((lo, hi)), _) => (kind.forward(lo), kind.forward(hi)),
            (None, [Some(lo), Some(hi)]) => (lo, hi),
            (None, [Some(lo), None]) => (lo, lo + 1.0),
            (None, [None, Some(hi)]) => (hi - 1.0, hi),
            (None, [None, None]) => (0.0, 1.0),
        };
        // Values that differ by rounding alone are one value: ticks between
        // them could not be told apart.
        if hi - lo <= 1e-12 * lo.abs().max(hi.abs()).max(f64::MIN_POSITIVE) {
            let half = if kind == Kind::Log {
                0.5
            } else if lo == 0.0 {
                1.0
            } else {
                0.1 * lo.abs()
            };
            (lo, hi) = (lo - half, hi + half);
        } else if padded && extent.is_some() {
            let space = PADDING * (hi - lo);
            (lo, hi) = (lo - space, hi + space);
        }
        lo = held[0].unwrap_or(lo);
        hi = held[1].unwrap_or(hi);
        if hi <= lo {
            // A held end beyond all data: keep it, and show a unit next to it.
            let unit = if kind == Kind::Log || lo == 0.0 { 1.0 } else { 0.1 * lo.abs() };
            if held[0].is_some() { hi = lo + unit } else { lo = hi - unit }
        }
        Scale::new(kind, lo, hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(axis: &Axis, extent: Option<(f64, f64)>) -> (f64, f64) {
        axis.scale(extent, true).ends()
    }

    #[test]
    fn automatic_ends_are_padded_and_held_ends_are_not() {
        assert_eq!(ends(&Axis::linear(""), Some((0.0, 100.0))), (-4.0, 104.0));
        assert_eq!(ends(&Axis::linear("").range(0.0, 50.0), Some((0.0, 100.0))), (0.0, 50.0));
        assert_eq!(ends(&Axis::linear("").lower(0.0), Some((0.0, 100.0))), (0.0, 104.0));
        assert_eq!(ends(&Axis::linear("").range(9.0, 5.0), None), (5.0, 9.0));
    }

    #[test]
    fn every_axis_has_a_range() {
        for axis in [
            Axis::linear(""),
            Axis::log(""),
            Axis::log("").range(-1.0, 0.0),
            Axis::linear("").lower(1e9),
        ] {
            for extent in [None, Some((3.0, 3.0)), Some((1.0, 1.0 + 1e-15)), Some((1e-300, 1e300))]
            {
                let (lo, hi) = ends(&axis, extent);
                assert!(
                    lo < hi && lo.is_finite() && hi.is_finite(),
                    "{axis:?} {extent:?}: {lo} {hi}"
                );
            }
        }
    }

    #[test]
    fn a_held_range_says_which_values_count() {
        let axis = Axis::log("").range(1e-3, 1.0);
        assert!(axis.admits(0.5));
        assert!(!axis.admits(2.0) && !axis.admits(0.0) && !axis.admits(f64::NAN));
    }
}
