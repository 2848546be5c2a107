//! The student: one parameter for each weight, in one of two spaces.
//!
//! In *field* space the parameter is θ and the magnetisation is m = tanh(b θ),
//! with b the field scale (the paper's first β; 1 in every published run). In
//! *magnetisation* space the parameter is m itself, kept inside the open cube.

use remanent_math::elementary32::tanh_and_variance;
use remanent_math::multiversioned;
use serde::{Deserialize, Serialize};

use crate::patterns::{LANES, padded};
use crate::randomness::{Purpose, Trial};

/// The space of the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// θ, with m = tanh(b θ).
    #[default]
    Field,
    /// m, clipped to the open cube.
    Magnetisation,
}

/// Magnetisations are clipped to ±(1 − this): the open cube of the traditional algorithms.
pub const CUBE_MARGIN: f32 = 1.0 / 1_048_576.0;

/// A student: its parameters, magnetisations and variances.
#[derive(Clone, Debug)]
pub struct Student {
    sites: usize,
    space: Space,
    field_scale: f32,
    /// θ or m of each site.
    pub(crate) parameters: Vec<f32>,
    /// m, padded with zeros.
    magnetisations: Vec<f32>,
    /// σ² = 1 − m², padded with zeros.
    variances: Vec<f32>,
}

impl Student {
    /// A student with given parameters.
    pub fn new(space: Space, field_scale: f32, parameters: Vec<f32>) -> Self {
        let sites = parameters.len();
        let (magnetisations, variances) = (vec![0.0; padded(sites)], vec![0.0; padded(sites)]);
        let mut student = Self { sites, space, field_scale, parameters, magnetisations, variances };
        student.refresh();
        student
    }

    /// An untrained student: θ ~ N(0, 1), or m = tanh(b θ).
    pub fn random(space: Space, field_scale: f32, sites: usize, trial: Trial) -> Self {
        let stream = trial.stream(Purpose::InitialField, 0, 0);
        let fields = (0..sites).map(|i| stream.normal(i as u32) as f32);
        let parameters = match space {
            Space::Field => fields.collect(),
            Space::Magnetisation => {
                fields.map(|theta| tanh_and_variance(field_scale * theta).0).collect()
            }
        };
        Self::new(space, field_scale, parameters)
    }

    /// Recomputes magnetisations and variances after the parameters have changed.
    pub(crate) fn refresh(&mut self) {
        let (m, variances) =
            (&mut self.magnetisations[..self.sites], &mut self.variances[..self.sites]);
        match self.space {
            Space::Field => magnetise(&self.parameters, self.field_scale, m, variances),
            Space::Magnetisation => clip(&mut self.parameters, m, variances),
        }
    }

    /// Rescales magnetisations to the mean square `q_star`, as the slow SGD of the
    /// paper does: m ← m √(q_⋆/q), clipped, and repeated until it holds.
    ///
    /// The limit of that repetition is m ← clip(f m) with one factor f, and a clipped site stays
    /// clipped. So f is computed from the unclipped sites until their number does not change. Only
    /// in magnetisation space.
    pub(crate) fn rescale(&mut self, q_star: f64) {
        debug_assert_eq!(self.space, Space::Magnetisation);
        let edge = f64::from(1.0 - CUBE_MARGIN);
        let wanted = q_star * self.sites as f64;
        let (mut factor, mut clipped) = (0.0, usize::MAX);
        loop {
            let (mut count, mut free) = (0, 0.0);
            for m in &self.parameters {
                let m = f64::from(*m);
                if (factor * m).abs() >= edge {
                    count += 1;
                } else {
                    free += m * m;
                }
            }
            let left = wanted - count as f64 * edge * edge;
            if count == clipped || free == 0.0 || left.is_nan() || left <= 0.0 {
                break;
            }
            (factor, clipped) = ((left / free).sqrt(), count);
        }
        if factor > 0.0 {
            self.parameters.iter_mut().for_each(|m| *m = (f64::from(*m) * factor) as f32);
            self.refresh();
        }
    }

    /// N.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// The space of the parameters.
    pub fn space(&self) -> Space {
        self.space
    }

    /// b in m = tanh(b θ).
    pub fn field_scale(&self) -> f32 {
        self.field_scale
    }

    /// m.
    pub fn magnetisations(&self) -> &[f32] {
        &self.magnetisations[..self.sites]
    }

    /// m, padded for the kernels.
    pub(crate) fn padded_magnetisations(&self) -> &[f32] {
        &self.magnetisations
    }

    /// σ² = 1 − m².
    pub fn variances(&self) -> &[f32] {
        &self.variances[..self.sites]
    }

    /// Σ σ², never zero.
    pub fn total_variance(&self) -> f32 {
        total(&self.variances).max(1e-30)
    }

    /// The field artanh m = b θ of one weight.
    ///
    /// # Panics
    ///
    /// If there is no such site.
    pub fn field(&self, site: usize) -> f64 {
        match self.space {
            Space::Field => f64::from(self.field_scale) * f64::from(self.parameters[site]),
            Space::Magnetisation => f64::from(self.parameters[site]).atanh(),
        }
    }

    /// q_⋆ = Σ m²/N.
    pub fn q_star(&self) -> f64 {
        1.0 - self.variances().iter().map(|&v| f64::from(v)).sum::<f64>() / self.sites as f64
    }

    /// The first site whose parameter is not finite.
    pub fn diverged(&self) -> Option<usize> {
        self.parameters.iter().position(|p| !p.is_finite())
    }
}

multiversioned! {
    fn magnetise(theta: &[f32], scale: f32, m: &mut [f32], variances: &mut [f32]) {
        for ((&theta, m), variance) in theta.iter().zip(m).zip(variances) {
            (*m, *variance) = tanh_and_variance(scale * theta);
        }
    }
}

fn clip(parameters: &mut [f32], magnetisations: &mut [f32], variances: &mut [f32]) {
    let edge = 1.0 - CUBE_MARGIN;
    for ((p, m), variance) in parameters.iter_mut().zip(magnetisations).zip(variances) {
        // NaN propagates, so that divergence is detected.
        *p = p.clamp(-edge, edge);
        *m = *p;
        *variance = (1.0 - *p) * (1.0 + *p);
    }
}

multiversioned! {
    /// The sum of a padded vector, in a fixed order.
    fn total(values: &[f32]) -> f32 {
        let mut partial = [0f32; LANES];
        for group in values.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                partial[lane] += group[lane];
            }
        }
        partial.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rescaling_reaches_any_norm_inside_the_cube() {
        let trial = Trial { seed: 2, trial: 0 };
        for q_star in [0.01, 0.3, 0.9, 0.99] {
            let mut student = Student::random(Space::Magnetisation, 1.0, 300, trial);
            student.rescale(q_star);
            assert!((student.q_star() - q_star).abs() < 1e-6, "{q_star} {}", student.q_star());
            assert!(student.magnetisations().iter().all(|m| m.abs() < 1.0));
        }
    }

    #[test]
    fn variances_stay_positive_at_large_fields() {
        let student = Student::new(Space::Field, 1.0, vec![30.0, -40.0, 5.0]);
        assert!(student.variances().iter().all(|v| *v > 0.0));
        assert!((f64::from(student.variances()[0]) / 30f64.cosh().powi(-2) - 1.0).abs() < 1e-5);
    }
}
