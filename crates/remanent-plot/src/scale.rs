//! From a value to its place between the ends of an axis.

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Linear,
    Log,
}

impl Kind {
    /// The value in the coordinate in which the axis is uniform; not finite if
    /// the value has no place on it.
    pub(crate) fn forward(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log if value > 0.0 => value.log10(),
            Self::Log => f64::NAN,
        }
    }

    /// The value at a point of that coordinate.
    pub(crate) fn back(self, uniform: f64) -> f64 {
        match self {
            Self::Linear => uniform,
            // The ends of the floating-point range are kept inside it.
            Self::Log => 10f64.powf(uniform).clamp(f64::MIN_POSITIVE, f64::MAX),
        }
    }
}

/// An axis whose ends are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) kind: Kind,
    /// The ends in the uniform coordinate.
    lo: f64,
    hi: f64,
}

impl Scale {
    /// Takes the ends in the uniform coordinate, `lo < hi`.
    pub(crate) fn new(kind: Kind, lo: f64, hi: f64) -> Self {
        Self { kind, lo, hi }
    }

    /// The ends as values.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.kind.back(self.lo), self.kind.back(self.hi))
    }

    /// The ends in the uniform coordinate.
    pub(crate) fn uniform_ends(&self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// Place of a value: 0 at the lower end, 1 at the upper, not finite if none.
    pub(crate) fn place(&self, value: f64) -> f64 {
        self.place_uniform(self.kind.forward(value))
    }

    /// Place of a point given in the uniform coordinate.
    pub(crate) fn place_uniform(&self, uniform: f64) -> f64 {
        // Halved so that a span wider than the largest double does not overflow.
        (0.5 * uniform - 0.5 * self.lo) / (0.5 * self.hi - 0.5 * self.lo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_run_from_zero_to_one() {
        let linear = Scale::new(Kind::Linear, -1.0, 3.0);
        assert_eq!([-1.0, 1.0, 3.0].map(|x| linear.place(x)), [0.0, 0.5, 1.0]);
        let log = Scale::new(Kind::Log, -4.0, 0.0);
        assert_eq!([1e-4, 1e-2, 1.0].map(|x| log.place(x)), [0.0, 0.5, 1.0]);
        assert!(!log.place(0.0).is_finite() && !log.place(-1.0).is_finite());
        assert_eq!(Scale::new(Kind::Linear, -1e308, 1e308).place(0.0), 0.5);
    }
}
