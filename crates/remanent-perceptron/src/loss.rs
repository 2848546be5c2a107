//! The loss of arXiv:2212.02846 and its gradient.
//!
//! With s = y x, V = Σ(1 − m²) and u_μ = Σ s_i^μ m_i, the loss of a task is
//!
//! ```text
//! L = −Σ_μ ln H(−u_μ/√V) = −Σ_μ ln Φ(u_μ/√V)
//! ∂L/∂m_j = −(G_j + m_j K)/√V,    G_j = Σ_μ h_μ s_j^μ,   K = Σ_μ h_μ u_μ/V,   h = φ/Φ at u/√V
//! ```
//!
//! (both task gradients of the paper; H' < 0), and the divergence from the
//! distribution of an anchor with fields ã is, with a = artanh m,
//!
//! ```text
//! KL = Σ_i [ m_i (a_i − ã_i) − ln cosh a_i + ln cosh ã_i ],    ∂KL/∂m_j = a_j − ã_j
//! ```
//!
//! In field space both are multiplied by ∂m/∂θ = b σ². h is computed with erfcx in double precision,
//! which is accurate at the arguments of ±40 that occur at the start of a new task.

use remanent_math::{elementary, multiversioned};

use crate::patterns::Patterns;
use crate::student::{Space, Student};

/// The KL term of a step.
#[derive(Clone, Copy, Debug)]
pub struct Pull<'a> {
    /// The fields artanh m̃ of the anchor.
    pub fields: &'a [f32],
    /// The factor of the KL term in this step.
    pub weight: f32,
}

/// Buffers for the gradient of a batch, reused between steps.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    u: Vec<f32>,
    hazards: Vec<f32>,
    sums: Vec<f32>,
    gradient: Vec<f32>,
}

impl Workspace {
    /// The gradient of L over the patterns in `chosen`, plus that of the KL term, with respect to
    /// the student's parameters.
    pub fn gradient(
        &mut self,
        student: &Student,
        patterns: &Patterns,
        chosen: &[u32],
        pull: Option<Pull>,
    ) -> &mut [f32] {
        let m = student.padded_magnetisations();
        self.u.resize(chosen.len(), 0.0);
        self.hazards.resize(chosen.len(), 0.0);
        self.sums.resize(m.len(), 0.0);
        self.gradient.resize(student.sites(), 0.0);
        patterns.fields(chosen, m, &mut self.u);
        let variance = f64::from(student.total_variance());
        let alignment = hazards(&self.u, variance.sqrt().recip(), &mut self.hazards) / variance;
        patterns.sums(chosen, &self.hazards, &mut self.sums);
        let terms = Terms {
            sums: &self.sums,
            m,
            variances: student.variances(),
            alignment: alignment as f32,
            inverse: variance.sqrt().recip() as f32,
            scale: student.field_scale(),
        };
        match student.space() {
            Space::Field => field_gradient(&terms, &mut self.gradient),
            Space::Magnetisation => magnetisation_gradient(&terms, &mut self.gradient),
        }
        if let Some(pull) = pull {
            add_pull(student, pull, &mut self.gradient);
        }
        &mut self.gradient
    }

    /// L over the patterns in `chosen`.
    pub fn loss(&mut self, student: &Student, patterns: &Patterns, chosen: &[u32]) -> f64 {
        self.u.resize(chosen.len(), 0.0);
        patterns.fields(chosen, student.padded_magnetisations(), &mut self.u);
        let inverse = f64::from(student.total_variance()).sqrt().recip();
        total_loss(&self.u, inverse)
    }
}

/// KL(m ‖ m̃) for an anchor with fields artanh m̃.
pub fn divergence(student: &Student, anchor: &[f32]) -> f64 {
    let ln_cosh = |a: f64| a.abs() + (-2.0 * a.abs()).exp().ln_1p() - std::f64::consts::LN_2;
    let term = |(site, &anchor): (usize, &f32)| {
        let (a, anchor) = (student.field(site), f64::from(anchor));
        a.tanh() * (a - anchor) - ln_cosh(a) + ln_cosh(anchor)
    };
    anchor.iter().enumerate().map(term).sum()
}

/// The terms of the gradient.
struct Terms<'a> {
    sums: &'a [f32],
    m: &'a [f32],
    variances: &'a [f32],
    alignment: f32,
    inverse: f32,
    scale: f32,
}

const HAZARDS: usize = 16;

multiversioned! {
    /// −Σ ln Φ(u/√V), in double precision for any type of u.
    pub(crate) fn total_loss<T: Copy + Into<f64>>(u: &[T], inverse: f64) -> f64 {
        let mut partial = [0f64; HAZARDS];
        let (groups, rest) = u.as_chunks::<HAZARDS>();
        for u in groups {
            for lane in 0..HAZARDS {
                let parts = elementary::ln_cdf(u[lane].into() * inverse);
                partial[lane] -= parts.quadratic + parts.rest;
            }
        }
        let mut total: f64 = partial.iter().sum();
        for &u in rest {
            let parts = elementary::ln_cdf(u.into() * inverse);
            total -= parts.quadratic + parts.rest;
        }
        total
    }

    /// h at u/√V for every pattern; returns Σ h u.
    pub(crate) fn hazards(u: &[f32], inverse: f64, hazards: &mut [f32]) -> f64 {
        let mut partial = [0f64; HAZARDS];
        let (u, u_rest) = u.as_chunks::<HAZARDS>();
        let (h, h_rest) = hazards.as_chunks_mut::<HAZARDS>();
        for (u, h) in u.iter().zip(h) {
            for lane in 0..HAZARDS {
                let u = f64::from(u[lane]);
                let hazard = elementary::ln_cdf(u * inverse).hazard;
                partial[lane] += hazard * u;
                h[lane] = hazard as f32;
            }
        }
        let mut rest = 0.0;
        for (&u, h) in u_rest.iter().zip(h_rest) {
            let hazard = elementary::ln_cdf(f64::from(u) * inverse).hazard;
            rest += hazard * f64::from(u);
            *h = hazard as f32;
        }
        partial.iter().sum::<f64>() + rest
    }

    fn field_gradient(terms: &Terms, gradient: &mut [f32]) {
        let factor = -terms.scale * terms.inverse;
        let sites = terms.sums.iter().zip(terms.m).zip(terms.variances);
        for (((&sum, &m), &variance), g) in sites.zip(gradient) {
            *g = factor * variance * (sum + m * terms.alignment);
        }
    }
}

fn magnetisation_gradient(terms: &Terms, gradient: &mut [f32]) {
    for ((&sum, &m), g) in terms.sums.iter().zip(terms.m).zip(gradient) {
        *g = -terms.inverse * (sum + m * terms.alignment);
    }
}

fn add_pull(student: &Student, pull: Pull, gradient: &mut [f32]) {
    match student.space() {
        Space::Field => field_pull(
            &student.parameters,
            student.variances(),
            student.field_scale(),
            pull.fields,
            pull.weight,
            gradient,
        ),
        Space::Magnetisation => {
            for (site, (g, &anchor)) in gradient.iter_mut().zip(pull.fields).enumerate() {
                *g += pull.weight * (student.field(site) as f32 - anchor);
            }
        }
    }
}

multiversioned! {
    fn field_pull(
        theta: &[f32],
        variances: &[f32],
        scale: f32,
        anchor: &[f32],
        weight: f32,
        gradient: &mut [f32],
    ) {
        let sites = theta.iter().zip(variances).zip(anchor);
        for (((&theta, &variance), &anchor), g) in sites.zip(gradient) {
            *g += weight * scale * variance * (scale * theta - anchor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Setting;
    use crate::randomness::Trial;
    use crate::world::World;

    /// L + w KL in double precision, straight from the formula.
    fn objective(m: &[f64], patterns: &Patterns, chosen: &[u32], anchor: &[f32], w: f64) -> f64 {
        let variance: f64 = m.iter().map(|m| 1.0 - m * m).sum();
        let loss: f64 = chosen
            .iter()
            .map(|&p| {
                let u: f64 = m
                    .iter()
                    .enumerate()
                    .map(|(i, m)| f64::from(patterns.sign(p as usize, i)) * m)
                    .sum();
                -remanent_math::normal::ln_upper_tail(-u / variance.sqrt())
            })
            .sum();
        let divergence: f64 = m
            .iter()
            .zip(anchor)
            .map(|(m, &a)| {
                let t = f64::from(a).tanh();
                (1.0 + m) / 2.0 * ((1.0 + m) / (1.0 + t)).ln()
                    + (1.0 - m) / 2.0 * ((1.0 - m) / (1.0 - t)).ln()
            })
            .sum();
        loss + w * divergence
    }

    #[test]
    fn gradients_equal_finite_differences_in_both_spaces() {
        let setting = Setting { n: 83, alpha: vec![1.3], r_0: vec![0.0], fresh_patterns: 0 };
        let trial = Trial { seed: 9, trial: 1 };
        let world = World::draw(&setting, trial).unwrap();
        let chosen: Vec<u32> = (3..50).collect();
        let anchor: Vec<f32> = (0..83).map(|i| (i as f32).sin()).collect();
        for (space, scale) in
            [(Space::Field, 1.0), (Space::Field, 0.6), (Space::Magnetisation, 1.0)]
        {
            for weight in [0.0f32, 0.7] {
                let student = Student::random(space, scale, 83, trial);
                let mut workspace = Workspace::default();
                let pull = Some(Pull { fields: &anchor, weight });
                let gradient =
                    workspace.gradient(&student, world.patterns(0), &chosen, pull).to_vec();
                let at = |site: usize, shift: f64| {
                    let mut p: Vec<f64> = student.parameters.iter().map(|&p| p.into()).collect();
                    p[site] += shift;
                    if space == Space::Field {
                        p.iter_mut().for_each(|p| *p = (f64::from(scale) * *p).tanh());
                    }
                    objective(&p, world.patterns(0), &chosen, &anchor, weight.into())
                };
                for site in [0, 1, 40, 82] {
                    let h = 1e-5;
                    let slope = (at(site, h) - at(site, -h)) / (2.0 * h);
                    let error = (f64::from(gradient[site]) - slope).abs();
                    assert!(error < 2e-5 * (1.0 + slope.abs()), "{space:?} {site} {slope}");
                }
                let loss = workspace.loss(&student, world.patterns(0), &chosen)
                    + f64::from(weight) * divergence(&student, &anchor);
                assert!((loss - at(0, 0.0)).abs() < 1e-4 * loss.abs());
            }
        }
    }

    #[test]
    fn hazards_are_exact_where_a_new_task_starts() {
        let u: Vec<f32> = (-40..=40).map(|i| i as f32).collect();
        let mut h = vec![0.0; u.len()];
        hazards(&u, 1.0, &mut h);
        for (u, h) in u.iter().zip(h) {
            let exact = remanent_math::normal::hazard(f64::from(*u));
            assert!((f64::from(h) - exact).abs() <= 1e-7 * exact.max(1e-38), "{u}");
        }
        assert!((h_at(-40.0) - 40.024_968_8).abs() < 1e-5);
    }

    /// This function is compiled for the baseline of the target, the kernels for the processor at
    /// hand: they would differ if a product and a sum were fused, or if the order of additions
    /// depended on the width of registers.
    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for count in [1, 15, 16, 17, 100, 1037] {
            let u: Vec<f32> = (0..count).map(|i| 40.0 * (i as f32 * 0.7).sin()).collect();
            let inverse = 0.37;
            let mut h = vec![0.0; count];
            let aligned = hazards(&u, inverse, &mut h);
            let (mut losses, mut products) = ([0f64; HAZARDS], [0f64; HAZARDS]);
            let (mut loss_rest, mut product_rest) = (Vec::new(), 0.0);
            for (i, &u) in u.iter().enumerate() {
                let parts = elementary::ln_cdf(f64::from(u) * inverse);
                assert_eq!(h[i].to_bits(), (parts.hazard as f32).to_bits());
                if i < count / HAZARDS * HAZARDS {
                    losses[i % HAZARDS] -= parts.quadratic + parts.rest;
                    products[i % HAZARDS] += parts.hazard * f64::from(u);
                } else {
                    loss_rest.push(parts.quadratic + parts.rest);
                    product_rest += parts.hazard * f64::from(u);
                }
            }
            let loss = loss_rest.iter().fold(losses.iter().sum(), |sum: f64, term| sum - term);
            assert_eq!(total_loss(&u, inverse).to_bits(), loss.to_bits(), "{count}");
            let product = products.iter().sum::<f64>() + product_rest;
            assert_eq!(aligned.to_bits(), product.to_bits(), "{count}");
        }
    }

    fn h_at(u: f32) -> f64 {
        let mut h = [0.0];
        hazards(&[u], 1.0, &mut h);
        f64::from(h[0])
    }
}
