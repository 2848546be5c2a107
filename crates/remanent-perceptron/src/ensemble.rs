//! The theory's own ensemble: P(m) ∝ e^{−βL(m) − c KL(m, m̃)} on the cube.
//!
//! The sampler moves in the fields a = artanh m, which are unbounded. With the Jacobian
//! dm = (1 − m²) da the potential is
//!
//! ```text
//! U(a) = β L(tanh a) + c KL(a, ã) + 2 Σ ln cosh a_i
//! ∂U/∂a_j = σ_j² [ −β (G_j + m_j K)/√V + c (a_j − ã_j) ] + 2 m_j
//! ```
//!
//! with G, K, V as in [`crate::loss`]. L and KL are summed in double precision. The gradient uses
//! the fast kernels in single precision: the leapfrog stays volume-preserving and reversible with
//! any deterministic function of the position, and the Metropolis test uses the accurate potential.

use remanent_math::{elementary, multiversioned};

use crate::patterns::{Patterns, padded};

/// c KL(m, m̃): a term that attracts the measure to a distribution with fields artanh m̃.
#[derive(Clone, Debug)]
pub struct KlTerm {
    /// artanh m̃.
    pub fields: Vec<f64>,
    /// c = γβ.
    pub coupling: f64,
}

/// The measure of one task.
pub struct Ensemble<'a> {
    patterns: &'a Patterns,
    all: Vec<u32>,
    beta: f64,
    kl: Option<KlTerm>,
}

/// The potential at one position, and its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// U.
    pub potential: f64,
    /// L.
    pub loss: f64,
    /// KL(m, m̃); 0 without a KL term.
    pub divergence: f64,
    /// −ln of the Jacobian: 2 Σ ln cosh a_i.
    pub jacobian: f64,
}

/// Buffers of an evaluation, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    m: Vec<f64>,
    variances: Vec<f64>,
    u: Vec<f64>,
    m_single: Vec<f32>,
    u_single: Vec<f32>,
    hazards: Vec<f32>,
    sums: Vec<f32>,
}

impl<'a> Ensemble<'a> {
    /// The measure e^{−βL} of these patterns, with or without a KL term.
    pub fn new(patterns: &'a Patterns, beta: f64, kl: Option<KlTerm>) -> Self {
        Self { patterns, all: (0..patterns.len() as u32).collect(), beta, kl }
    }

    /// The potential at fields `a`.
    pub fn potential(&self, a: &[f64], scratch: &mut Scratch) -> Parts {
        let n = a.len();
        scratch.m.resize(padded(n), 0.0);
        scratch.variances.resize(n, 0.0);
        scratch.u.resize(self.patterns.len(), 0.0);
        magnetise(a, &mut scratch.m[..n], &mut scratch.variances);
        let variance: f64 = scratch.variances.iter().sum();
        self.patterns.exact_fields(&scratch.m, &mut scratch.u);
        let loss = crate::loss::total_loss(&scratch.u, variance.sqrt().recip());
        let jacobian: f64 = a.iter().map(|&a| 2.0 * ln_cosh(a)).sum();
        let divergence = self.kl.as_ref().map_or(0.0, |kl| {
            let term = |((&a, &m), &b): ((&f64, &f64), &f64)| m * (a - b) - ln_cosh(a) + ln_cosh(b);
            a.iter().zip(&scratch.m).zip(&kl.fields).map(term).sum()
        });
        self.compose(Parts { potential: 0.0, loss, divergence, jacobian })
    }

    /// The same position in this ensemble: the potential of given parts.
    pub fn compose(&self, parts: Parts) -> Parts {
        let coupling = self.kl.as_ref().map_or(0.0, |kl| kl.coupling);
        let potential = self.beta * parts.loss + coupling * parts.divergence + parts.jacobian;
        Parts { potential, ..parts }
    }

    /// β.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// ∂U/∂a.
    pub fn gradient(&self, a: &[f64], scratch: &mut Scratch, gradient: &mut [f64]) {
        let n = a.len();
        scratch.m.resize(padded(n), 0.0);
        scratch.variances.resize(n, 0.0);
        scratch.m_single.resize(padded(n), 0.0);
        scratch.sums.resize(padded(n), 0.0);
        scratch.u_single.resize(self.patterns.len(), 0.0);
        scratch.hazards.resize(self.patterns.len(), 0.0);
        magnetise(a, &mut scratch.m[..n], &mut scratch.variances);
        for (single, double) in scratch.m_single.iter_mut().zip(&scratch.m) {
            *single = *double as f32;
        }
        let variance: f64 = scratch.variances.iter().sum();
        let inverse = variance.sqrt().recip();
        self.patterns.fields(&self.all, &scratch.m_single, &mut scratch.u_single);
        let aligned = crate::loss::hazards(&scratch.u_single, inverse, &mut scratch.hazards);
        self.patterns.sums(&self.all, &scratch.hazards, &mut scratch.sums);
        let (factor, alignment) = (-self.beta * inverse, aligned / variance);
        let sites = scratch.m.iter().zip(&scratch.variances).zip(&scratch.sums);
        for (((&m, &variance), &sum), g) in sites.zip(gradient.iter_mut()) {
            *g = variance * factor * (f64::from(sum) + m * alignment) + 2.0 * m;
        }
        if let Some(kl) = &self.kl {
            let sites = a.iter().zip(&kl.fields).zip(&scratch.variances);
            for (((&a, &b), &variance), g) in sites.zip(gradient) {
                *g += kl.coupling * variance * (a - b);
            }
        }
    }
}

#[inline(always)]
fn ln_cosh(a: f64) -> f64 {
    a.abs() + elementary::ln_1p(elementary::exp(-2.0 * a.abs())) - std::f64::consts::LN_2
}

multiversioned! {
    /// tanh a and 1 − tanh² a.
    fn magnetise(a: &[f64], m: &mut [f64], variances: &mut [f64]) {
        for ((&a, m), variance) in a.iter().zip(m).zip(variances) {
            let e = elementary::exp(-2.0 * a.abs());
            let inverse = 1.0 / (1.0 + e);
            *m = ((1.0 - e) * inverse).copysign(a);
            *variance = 4.0 * e * inverse * inverse;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Setting;
    use crate::randomness::Trial;
    use crate::world::World;

    #[test]
    fn the_gradient_is_that_of_the_potential() {
        let setting = Setting { n: 70, alpha: vec![1.5], r_0: vec![0.0], fresh_patterns: 0 };
        let world = World::draw(&setting, Trial { seed: 1, trial: 1 }).unwrap();
        let kl = KlTerm { fields: (0..70).map(|i| f64::from(i).cos()).collect(), coupling: 3.0 };
        for kl in [None, Some(kl)] {
            let ensemble = Ensemble::new(world.patterns(0), 7.0, kl);
            let a: Vec<f64> = (0..70).map(|i| 1.5 * f64::from(i * i).sin()).collect();
            let mut scratch = Scratch::default();
            let mut gradient = vec![0.0; 70];
            ensemble.gradient(&a, &mut scratch, &mut gradient);
            for site in [0, 9, 69] {
                let h = 1e-5;
                let mut at = |shift: f64| {
                    let mut a = a.clone();
                    a[site] += shift;
                    ensemble.potential(&a, &mut scratch).potential
                };
                let slope = (at(h) - at(-h)) / (2.0 * h);
                assert!((gradient[site] - slope).abs() < 1e-5 * (1.0 + slope.abs()), "{site}");
            }
        }
    }
}
