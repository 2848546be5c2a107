//! How the state that a task left fades before it becomes the anchor of the next one.

use remanent_math::elementary::artanh_of_scaled_tanh;

use crate::parameters::{ParameterError, list_of, nth};
use crate::ranges;

/// The anchor of a weight with field θ is a = ρ artanh(λ tanh θ). Lists hold one value, or one for
/// each switch of tasks; λ = ρ = 1 is no fading.
#[derive(Clone, Debug, PartialEq)]
pub struct Fading {
    /// λ.
    pub lambda: Vec<f64>,
    /// ρ.
    pub rho: Vec<f64>,
}

impl Default for Fading {
    fn default() -> Self {
        Self { lambda: vec![1.0], rho: vec![1.0] }
    }
}

impl Fading {
    /// Checks ranges and lengths.
    pub fn check(&self, tasks: usize) -> Result<(), ParameterError> {
        let switches = tasks.saturating_sub(1);
        list_of("lambda", self.lambda.len(), switches, tasks)?;
        ranges::LAMBDA.check_all("lambda", self.lambda.iter().copied())?;
        list_of("rho", self.rho.len(), switches, tasks)?;
        ranges::RHO.check_all("rho", self.rho.iter().copied())?;
        Ok(())
    }

    /// Whether nothing fades.
    pub fn is_none(&self) -> bool {
        self.lambda.iter().chain(&self.rho).all(|factor| *factor == 1.0)
    }

    /// The anchor that a field becomes at a switch of tasks.
    pub(crate) fn anchor(&self, switch: usize, field: f64) -> f64 {
        let (lambda, rho) = (nth(&self.lambda, switch), nth(&self.rho, switch));
        rho * artanh_of_scaled_tanh(lambda, field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_switch_has_its_factors() {
        let fading = Fading { lambda: vec![0.9, -0.5], rho: vec![1.0, 0.7] };
        for field in [-3.0, -0.2, 0.0, 0.7, 5.0_f64] {
            for (switch, (lambda, rho)) in [(0.9, 1.0), (-0.5, 0.7)].into_iter().enumerate() {
                let exact = rho * f64::atanh(lambda * field.tanh());
                assert!((fading.anchor(switch, field) - exact).abs() < 1e-12, "{switch} {field}");
            }
        }
        assert_eq!(Fading::default().anchor(3, 0.123), 0.123);
    }

    #[test]
    fn ranges() {
        let fading = |lambda: f64, rho: f64| Fading { lambda: vec![lambda], rho: vec![rho] };
        assert!(fading(1.1, 1.0).check(3).is_err() && fading(1.0, -0.1).check(3).is_err());
        let list = Fading { lambda: vec![0.5; 2], ..Fading::default() };
        assert!(list.check(3).is_ok() && list.check(4).is_err());
    }
}
