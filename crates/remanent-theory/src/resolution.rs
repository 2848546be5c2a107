//! How many nodes every quadrature uses.

use crate::parameters::DomainError;
use crate::ranges::RESOLUTION;

/// How many nodes every quadrature uses, as a factor; twice the factor doubles all counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution(f64);

impl Resolution {
    /// The default: building blocks good to 1e-9 over the whole domain, and mostly to 1e-13.
    pub const STANDARD: Self = Self(0.88);

    /// A factor in the range [`RESOLUTION`].
    pub fn new(factor: f64) -> Result<Self, DomainError> {
        Ok(Self(RESOLUTION.check("resolution", factor)?))
    }

    /// The factor.
    pub fn factor(self) -> f64 {
        self.0
    }

    /// √2 times the nodes for every level.
    pub(crate) fn level(self, level: usize) -> Self {
        Self(self.0 * std::f64::consts::SQRT_2.powi(level as i32))
    }

    /// Twice the nodes in every direction.
    pub fn doubled(self) -> Self {
        Self(2.0 * self.0)
    }

    /// A factor that the crate itself chose.
    pub(crate) fn unchecked(factor: f64) -> Self {
        Self(factor)
    }
}
