//! How what a task left fades before the next task begins.
//!
//! The prior of a task is not the posterior of the task before it but a weaker law: the
//! anchor of a weight with magnetisation m̃ = tanh θ is the field
//!
//! ```text
//! a(θ) = ρ artanh(λ tanh θ),        |λ| ≤ 1,  0 ≤ ρ ≤ 1.
//! ```
//!
//! λ is the exact prior of a world in which every weight flips with probability (1 − λ)/2
//! between tasks, and bounds the anchor by ρ artanh|λ|. ρ is an exponential window over the
//! evidence of the past. λ = ρ = 1 is the chain of the paper.

use crate::law::{NODES, Panel};
use crate::parameters::DomainError;
use crate::ranges::{LAMBDA, RHO};

/// λ and ρ between two tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    lambda: f64,
    rho: f64,
}

/// A panel of θ ≥ 0 seen from the anchor: the panel of a, and θ and dθ/da at its nodes.
pub(crate) struct Image {
    pub panel: Panel,
    pub thetas: [f64; NODES],
    pub stretch: [f64; NODES],
}

impl Image {
    /// The same on the other side of 0.
    pub fn mirrored(&self) -> Self {
        let backwards = |values: &[f64; NODES]| std::array::from_fn(|j| values[NODES - 1 - j]);
        Self {
            panel: self.panel.mirrored(),
            thetas: backwards(&self.thetas.map(|theta| -theta)),
            stretch: backwards(&self.stretch),
        }
    }
}

impl Fading {
    /// No fading: the anchor is the posterior.
    pub const NONE: Self = Self { lambda: 1.0, rho: 1.0 };

    /// Checks λ and ρ.
    pub fn new(lambda: f64, rho: f64) -> Result<Self, DomainError> {
        Ok(Self { lambda: LAMBDA.check("lambda", lambda)?, rho: RHO.check("rho", rho)? })
    }

    /// λ.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// ρ.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// Whether nothing of the past is left: the prior is uniform.
    pub(crate) fn forgets(&self) -> bool {
        self.lambda == 0.0 || self.rho == 0.0
    }

    /// Whether an anchor has the sign opposite to that of its weight.
    pub(crate) fn reverses(&self) -> bool {
        self.lambda < 0.0
    }

    /// The largest |a|, if there is one.
    pub(crate) fn bound(&self) -> Option<f64> {
        let lambda = self.lambda.abs();
        (lambda < 1.0).then(|| self.rho * lambda.atanh())
    }

    /// The panel of |a| that belongs to a panel of θ ≥ 0.
    pub(crate) fn image(&self, panel: &Panel) -> Image {
        let thetas = panel.thetas();
        match self.bound() {
            None if self.rho == 1.0 => Image { panel: *panel, thetas, stretch: [1.0; NODES] },
            None => {
                let Panel { middle, half, scale } = *panel;
                let scaled = [middle, half, scale].map(|v| self.rho * v);
                let panel = Panel { middle: scaled[0], half: scaled[1], scale: scaled[2] };
                Image { panel, thetas, stretch: [1.0 / self.rho; NODES] }
            }
            Some(bound) => {
                // Distances from the bound: close to it they are all that distinguishes anchors.
                let (far, near) =
                    (self.gap(panel.middle - panel.half), self.gap(panel.middle + panel.half));
                let (gap, half) = (0.5 * (far + near), 0.5 * (far - near));
                let image =
                    Panel { middle: bound - gap, half, scale: panel.scale * half / panel.half };
                let unit = Panel { middle: 0.0, half: 1.0, scale: 1.0 };
                let gaps = unit.thetas().map(|x| gap - half * x);
                let thetas = gaps.map(|gap| self.theta(gap));
                Image { panel: image, thetas, stretch: thetas.map(|t| 1.0 / self.slope(t)) }
            }
        }
    }

    /// Bound − a(θ) for θ ≥ 0.
    fn gap(&self, theta: f64) -> f64 {
        let lambda = self.lambda.abs();
        let missing = lambda * one_minus_tanh(theta);
        let (up, down) = (missing / (1.0 - lambda), missing / (1.0 + lambda));
        0.5 * self.rho * (up.ln_1p() - (-down).ln_1p())
    }

    /// θ ≥ 0 at a distance from the bound.
    fn theta(&self, gap: f64) -> f64 {
        let lambda = self.lambda.abs();
        let twice = 2.0 * gap / self.rho;
        let missing = twice.exp_m1() / (1.0 / (1.0 - lambda) + twice.exp() / (1.0 + lambda));
        let missing = (missing / lambda).min(1.0);
        0.5 * (2.0 * (1.0 - missing) / missing).ln_1p()
    }

    /// da/dθ for θ ≥ 0.
    fn slope(&self, theta: f64) -> f64 {
        let lambda = self.lambda.abs();
        let missing = one_minus_tanh(theta);
        let (less, more) = ((1.0 - lambda) + lambda * missing, (1.0 + lambda) - lambda * missing);
        self.rho * lambda * missing * (2.0 - missing) / (less * more)
    }
}

/// 1 − tanh θ for θ ≥ 0.
fn one_minus_tanh(theta: f64) -> f64 {
    2.0 / ((2.0 * theta).exp() + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_the_map_at_its_nodes() {
        for (lambda, rho) in [(0.9, 1.0), (0.3, 0.5), (1.0, 0.8), (-0.999, 1.0), (1.0, 1.0)] {
            let fading = Fading::new(lambda, rho).unwrap();
            for (middle, half) in [(0.01, 0.01), (1.0, 0.2), (6.0, 0.2)] {
                let image = fading.image(&Panel { middle, half, scale: 0.5 });
                for (a, theta) in image.panel.thetas().into_iter().zip(image.thetas) {
                    let x = f64::abs(lambda) * theta.tanh();
                    let exact = rho * if x < 1.0 { x.atanh() } else { theta };
                    assert!((a - exact).abs() < 3e-10 * (1.0 + exact), "{lambda} {theta} {a}");
                }
                // The stretches are the derivative of θ: they add up to the length in θ.
                let weights = image.panel.weights();
                let length: f64 = image.stretch.iter().zip(weights).map(|(s, w)| s * w).sum();
                assert!((length - 2.0 * half).abs() < 1e-8 * half, "{lambda} {middle}: {length}");
            }
        }
    }

    #[test]
    fn far_from_zero_anchors_are_distinguished_by_their_distance_from_the_bound() {
        let fading = Fading::new(0.9, 1.0).unwrap();
        let image = fading.image(&Panel { middle: 25.0, half: 0.5, scale: 0.5 });
        for (theta, stretch) in image.thetas.into_iter().zip(image.stretch) {
            assert!((24.5..=25.5).contains(&theta) && stretch > 1e19, "{theta} {stretch}");
        }
        let weights = image.panel.weights();
        let length: f64 = image.stretch.iter().zip(weights).map(|(s, w)| s * w).sum();
        assert!((length - 1.0).abs() < 1e-6, "{length}");
    }

    #[test]
    fn out_of_range() {
        assert!(Fading::new(1.1, 1.0).is_err() && Fading::new(-1.1, 1.0).is_err());
        assert!(Fading::new(1.0, -0.1).is_err() && Fading::new(1.0, f64::NAN).is_err());
    }
}
