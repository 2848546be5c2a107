//! The site measure: one weight's magnetisation in a field.
//!
//! The weight is e^{−A m²/2 + B m + c S(m)} on [−1, 1], with S the entropy of a
//! spin of mean m. It is 𝓘 of Eq. (sd-task1-gs) of arXiv:2212.02846 for c = 0,
//! and 𝒥^± of its second task for c = γβ, because
//! −γβ KL(m, m̃) = c [S(m) + m artanh m̃ + ½ ln((1 − m̃²)/4)]: the previous task
//! enters B only.
//!
//! Integrals are done in θ = artanh m, where 1 − m is carried as
//! u = 2e^{−2θ}/(1 + e^{−2θ}) and never as a difference. In θ the integrand is
//! e^f with
//!
//! ```text
//! f(θ) = −A m²/2 + B m + c S + ln(1 − m²),      f'(θ) = (1 − m²) (B − A m − cθ − sinh 2θ)
//! ```
//!
//! It has one mode if A + c + 2 ≥ 0, and otherwise up to two, one on each side
//! of 0. A single mode, or two with a deep valley between them, are integrated
//! outwards from the mode by the trapezoid rule in t, θ = θ* + s sinh(kt)/k; two
//! modes with a shallow valley outwards from 0 by the same rule; and the
//! probability of either sign alone by Gauss–Legendre panels over each half of
//! the line. In a field too weak to move the measure by its own width, the two
//! halves are taken together, as e^{Bm} = cosh Bm + sinh Bm: a mean of 1e-12 then
//! is an average of positive numbers.

mod centred;
mod densities;
mod halves;
mod outwards;
mod plain;
mod shape;

use remanent_math::multiversioned;

pub(crate) use self::densities::Densities;
use self::halves::all_sign_probabilities;
use self::outwards::all_moments;
use self::shape::{DEPTH, Hyperbolic, Origin};

multiversioned! {
    fn from_prior(site: &Site, fields: &[f64], moments: &[Moments], values: &mut [f64]) {
        for ((value, field), moments) in values.iter_mut().zip(fields).zip(moments) {
            *value = site.ln_z_from_prior(*field, moments);
        }
    }
}

/// The measure, for every field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// A = q̂_0 − q̂_d.
    pub stiffness: f64,
    /// c, the weight of the entropy: γβ, or 0 for a first task without prior.
    pub entropy: f64,
}

/// Moments of the magnetisation in a field B; for B < 0 those of −m in −B.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// ln Z(B) − (|B| − A/2): the logarithm of the integral relative to the
    /// weight at the corner m = sign B.
    pub ln_z_from_corner: f64,
    /// 1 − ⟨m⟩ sign B.
    pub gap: f64,
    /// ⟨m⟩ sign B, to full relative accuracy where it is tiny.
    pub mean: f64,
    /// ⟨m²⟩ − ⟨m⟩².
    pub variance: f64,
    /// ⟨1 − m²⟩.
    pub one_minus_m2: f64,
    /// A place θ ≥ 0 inside the measure, from which exponents are taken.
    pub reference: f64,
    /// ln of the integral relative to the weight at `reference`.
    pub ln_z_from_reference: f64,
}

/// From this entropy on, differences of exponents are taken from a place inside
/// the measure: relative to the corner they would be lost in rounding.
const STRONG_ENTROPY: f64 = 3e3;
/// And from this stiffness on.
const STRONG_STIFFNESS: f64 = 1e5;
/// From this entropy on, free energies are taken relative to the prior ([`Site::ln_z_from_prior`]).
pub(crate) const STRONG_PRIOR: f64 = 30.0;

impl Site {
    /// Moments in the fields `fields`, which are best given in rising order.
    pub fn moments(&self, fields: &[f64], resolution: f64, moments: &mut Vec<Moments>) {
        moments.clear();
        if self.entropy == 0.0 {
            all_moments::<false>(self, fields, resolution, moments);
        } else {
            all_moments::<true>(self, fields, resolution, moments);
        }
    }

    /// (ln P(m < 0), ln P(m > 0)) in each field.
    pub fn ln_sign_probabilities(&self, fields: &[f64], resolution: f64) -> Vec<(f64, f64)> {
        let mut out = Vec::with_capacity(fields.len());
        if self.entropy == 0.0 {
            all_sign_probabilities::<false>(self, fields, resolution, &mut out);
        } else {
            all_sign_probabilities::<true>(self, fields, resolution, &mut out);
        }
        out
    }

    /// ln Z(B) of the whole integral, given the moments at B.
    pub fn ln_z(&self, field: f64, moments: &Moments) -> f64 {
        field.abs() - 0.5 * self.stiffness + moments.ln_z_from_corner
    }

    /// ln Z(B) − c ln 2cosh(B/c) + A/2 in each field, given the moments there, with entropy.
    pub(crate) fn all_ln_z_from_prior(&self, fields: &[f64], moments: &[Moments]) -> Vec<f64> {
        let mut values = vec![0.0; fields.len()];
        from_prior(self, fields, moments, &mut values);
        values
    }

    /// The same in one field. At any place it is −c KL(m, tanh B/c) that
    /// enters instead of B m + c S(m), two large numbers that cancel where an anchor is strong.
    #[inline(always)]
    fn ln_z_from_prior(&self, field: f64, moments: &Moments) -> f64 {
        let prior = Origin::at(field.abs() / self.entropy);
        let place = prior.moved::<true>(moments.reference - prior.theta);
        moments.ln_z_from_reference + 0.5 * self.stiffness * place.one_minus_m2
            - self.entropy * place.divergence
    }

    /// The width of the measure around its mode, if that is at θ, and how far the
    /// mode moves with the field.
    pub fn scales(&self, theta: f64) -> (f64, f64) {
        let restoring = self.restoring(&Hyperbolic::at(theta));
        (self.width(theta), 1.0 / restoring.abs().max(1e-12))
    }

    /// The field in which the mode is at θ, and how far around it fields put weights there too, if the
    /// measure has one mode.
    pub(crate) fn field_of_mode(&self, theta: f64) -> Option<(f64, f64)> {
        (self.stiffness + self.entropy + 2.0 >= 0.0).then_some(())?;
        let h = Hyperbolic::at(theta);
        let field = self.stiffness * h.tanh + self.entropy * theta + h.sinh_2;
        Some((field, 3.0 / (h.sech2 * self.width(theta))))
    }

    /// The scale on which the measure changes with the field, around this field and all stronger ones: one over the
    /// width of m.
    pub(crate) fn scale_of_fields(&self, field: f64) -> f64 {
        // Between two modes it changes as tanh B does.
        if self.has_two_modes() {
            return 1.0;
        }
        self.scale_around(self.mode_in(field.abs()))
    }

    /// One over the width of m around a mode.
    fn scale_around(&self, mode: f64) -> f64 {
        1.0 / (Hyperbolic::at(mode).sech2 * self.width(mode))
    }

    /// The mode in a field ≥ 0, the upper one if there are two.
    fn mode_in(&self, field: f64) -> f64 {
        self.mode(field, &self.turning_point()).unwrap_or(0.0)
    }

    /// Whether there are two modes if no field acts.
    pub(crate) fn has_two_modes(&self) -> bool {
        self.stiffness + self.entropy + 2.0 < 0.0
    }

    /// The scale on which the density at a given θ changes with the field, around B = 0, where it is smallest. If there are
    /// two modes, that of one of them.
    pub(crate) fn scale_of_one_mode(&self) -> f64 {
        self.scale_around(self.mode_in(0.0))
    }

    /// The width of the measure around one of two modes if no field acts.
    pub(crate) fn width_of_one_mode(&self) -> f64 {
        self.width(self.mode_in(0.0))
    }

    /// How far below θ, a place inside the measure in a field ≥ 0, the measure reaches, if it has one mode: at
    /// most to 0, beyond which its other tail is smaller still.
    pub(crate) fn reach_below(&self, theta: f64, field: f64) -> Option<f64> {
        (self.stiffness + self.entropy + 2.0 >= 0.0).then_some(())?;
        let lowest = self.exponent(theta, field) - 2.0 * DEPTH;
        let mut reach = 0.25;
        while reach < theta && self.exponent(theta - reach, field) > lowest {
            reach *= 1.3;
        }
        Some(reach)
    }

    /// How far above θ, a place inside the measure in a field ≥ 0, the measure reaches: at least `least`.
    pub(crate) fn reach_above(&self, theta: f64, field: f64, least: f64) -> f64 {
        let lowest = self.exponent(theta, field) - 2.0 * DEPTH;
        let mut reach = least;
        while reach < 100.0 && self.exponent(theta + reach, field) > lowest {
            reach *= 1.3;
        }
        reach
    }

    /// Whether exponents are taken from a place inside the measure.
    fn is_narrow(&self) -> bool {
        self.entropy > STRONG_ENTROPY || self.stiffness > STRONG_STIFFNESS
    }

    /// A roughness of a density of θ that rounding does not reach.
    pub(crate) fn rounding_of_densities(&self) -> f64 {
        // Relative to the corner an exponent is the difference of numbers of this size.
        let size = if self.is_narrow() { 1e4 } else { 1e4 + self.stiffness.abs() };
        1e3 * f64::EPSILON * size
    }
}

#[cfg(test)]
mod tests {
    use remanent_math::legendre;

    use super::shape::SitePoint;
    use super::*;

    /// ln Z, ⟨1 − m⟩ and the variance by brute force: panels in θ over [−20, 20].
    fn brute_force(site: &Site, field: f64) -> (f64, f64, f64, f64) {
        let (nodes, weights) = legendre::rule::<16>();
        let mut sums = [0.0; 5];
        let panels = 40_000;
        let top = (0..4000)
            .map(|i| site.exponent(-20.0 + 0.01 * f64::from(i), field))
            .fold(f64::NEG_INFINITY, f64::max);
        for k in 0..panels {
            let half = 20.0 / f64::from(panels);
            let middle = -20.0 + half * f64::from(2 * k + 1);
            for (x, w) in nodes.iter().zip(&weights) {
                let theta = middle + half * x;
                let p = half * w * (site.exponent(theta, field) - top).exp();
                let place = SitePoint::at::<false>(theta);
                sums[0] += p;
                sums[1] += p * place.gap;
                sums[2] += p * place.gap * place.gap;
                sums[3] += p * place.one_minus_m2;
                sums[4] += if theta < 0.0 { p } else { 0.0 };
            }
        }
        let gap = sums[1] / sums[0];
        (top + sums[0].ln(), gap, sums[2] / sums[0] - gap * gap, sums[4] / sums[0])
    }

    #[test]
    fn moments_match_brute_force_in_every_shape() {
        for (stiffness, entropy) in [
            (0.0, 0.0),
            (50.0, 0.0),
            (400.0, 0.0),
            (-1.9, 0.0),
            (-2.1, 0.0),
            (-12.0, 0.0),
            (-90.0, 0.0),
            (-250.0, 0.0),
            (3.0, 2.0),
            (46.0, 20.0),
            (-11.0, 2.0),
            (-40.0, 20.0),
            (-15.0, 20.0),
            (-120.0, 20.0),
            (10.0, 200.0),
        ] {
            let site = Site { stiffness, entropy };
            let fields = [0.0, 0.3, 2.0, 9.0, 40.0, 160.0];
            let mut moments = Vec::new();
            site.moments(&fields, 1.0, &mut moments);
            let signs = site.ln_sign_probabilities(&fields, 1.0);
            for ((field, m), (negative, _)) in fields.iter().zip(&moments).zip(&signs) {
                let (ln_z, gap, variance, below) = brute_force(&site, *field);
                let what = format!("A {stiffness} c {entropy} B {field} {m:?}");
                assert!((m.ln_z_from_corner - ln_z).abs() < 2e-11, "{what} {ln_z}");
                assert!((m.gap / gap - 1.0).abs() < 2e-11, "{what} {gap}");
                assert!((m.variance / variance - 1.0).abs() < 1e-9, "{what} {variance}");
                if below > 1e-200 {
                    assert!((negative.exp() / below - 1.0).abs() < 1e-10, "{what} {below}");
                }
            }
        }
    }

    /// Without entropy and stiffness, ⟨m⟩ = coth B − 1/B.
    #[test]
    fn matches_the_langevin_function() {
        let site = Site { stiffness: 0.0, entropy: 0.0 };
        let fields: [f64; 4] = [0.5, 5.0, 500.0, 5e8];
        let mut moments = Vec::new();
        site.moments(&fields, 1.0, &mut moments);
        for (b, m) in fields.iter().zip(&moments) {
            let gap = 1.0 / b - 2.0 / ((2.0 * b).exp() - 1.0);
            assert!((m.gap / gap - 1.0).abs() < 1e-12, "{b}");
        }
    }

    #[test]
    fn a_negative_field_mirrors_a_positive_one() {
        let site = Site { stiffness: -30.0, entropy: 1.0 };
        let mut moments = Vec::new();
        site.moments(&[-1.3, 1.3], 1.0, &mut moments);
        assert!((moments[0].gap / moments[1].gap - 1.0).abs() < 1e-14);
        let signs = site.ln_sign_probabilities(&[-1.3, 1.3], 1.0);
        assert_eq!(signs[0].0, signs[1].1);
    }
}
