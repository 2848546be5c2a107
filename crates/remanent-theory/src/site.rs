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
//! the line.

use multiversion::multiversion;
use remanent_math::{elementary, legendre};
use std::sync::LazyLock;

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
    /// ⟨m²⟩ − ⟨m⟩².
    pub variance: f64,
    /// ⟨1 − m²⟩.
    pub one_minus_m2: f64,
}

/// Weights below this fraction of the largest are dropped.
const NEGLIGIBLE: f64 = 1e-17;
/// Exponents this far below the largest are dropped.
const DEPTH: f64 = 42.0;
/// Nodes treated at once.
const LANES: usize = 16;

static LEGENDRE: LazyLock<([f64; LANES], [f64; LANES])> = LazyLock::new(legendre::rule::<LANES>);

/// How fast nodes spread out from a mode: θ = θ* + s sinh(kt)/k. Near the corner
/// m = 1 the integrand falls double-exponentially on one side of its mode, and
/// k = 1 would leave too few nodes there.
const SPREADING: f64 = 0.5;
/// The same from the bottom of a shallow valley, slow enough to resolve the modes.
const VALLEY_SPREADING: f64 = 0.03;
/// Distance of the nodes at the bottom of a valley between modes half a unit wide.
const VALLEY_SPACING: f64 = 0.12;

/// sinh(kt)/k and cosh(kt) at multiples of the trapezoid step.
struct Steps {
    step: f64,
    sinh: Vec<f64>,
    cosh: Vec<f64>,
}

impl Steps {
    fn new(step: f64, spreading: f64, reach: f64) -> Self {
        let count = (reach / step) as usize + LANES;
        let at = |f: fn(f64) -> f64, scale: f64| {
            (0..count).map(|j| f(spreading * step * j as f64) * scale).collect()
        };
        Self { step, sinh: at(f64::sinh, 1.0 / spreading), cosh: at(f64::cosh, 1.0) }
    }
}

/// An unnormalised integral over part of the line, and its moments in u = 1 − m
/// (u = 1 + m on the side of negative m).
#[derive(Clone, Copy, Debug)]
struct Part {
    /// ln of the integral relative to the corner m = 1 (m = −1).
    ln_mass: f64,
    gap: f64,
    variance: f64,
    one_minus_m2: f64,
}

impl Part {
    const EMPTY: Self =
        Self { ln_mass: f64::NEG_INFINITY, gap: 0.0, variance: 0.0, one_minus_m2: 0.0 };

    fn moments(self) -> Moments {
        Moments {
            ln_z_from_corner: self.ln_mass,
            gap: self.gap,
            variance: self.variance,
            one_minus_m2: self.one_minus_m2,
        }
    }

    /// This part together with one on the other side of 0, whose corner lies
    /// e^{−2B} lower.
    fn with_other_side(self, other: Self, field: f64) -> Moments {
        let ratio = (other.ln_mass - 2.0 * field - self.ln_mass).exp();
        let (here, there) = (1.0 / (1.0 + ratio), ratio / (1.0 + ratio));
        let other_gap = 2.0 - other.gap;
        let distance = other_gap - self.gap;
        Moments {
            ln_z_from_corner: self.ln_mass + ratio.ln_1p(),
            gap: here * self.gap + there * other_gap,
            variance: here * self.variance
                + there * other.variance
                + here * there * distance * distance,
            one_minus_m2: here * self.one_minus_m2 + there * other.one_minus_m2,
        }
    }
}

/// Running sums of one part, relative to a reference point.
struct Accumulator {
    reference_gap: f64,
    total: [f64; LANES],
    offset: [f64; LANES],
    offset2: [f64; LANES],
    one_minus_m2: [f64; LANES],
}

impl Accumulator {
    #[inline(always)]
    fn new(reference_gap: f64) -> Self {
        let zero = [0.0; LANES];
        Self { reference_gap, total: zero, offset: zero, offset2: zero, one_minus_m2: zero }
    }

    /// Adds nodes θ with quadrature weights `jacobian`; answers the weight of the last.
    #[inline(always)]
    fn add<const ENTROPY: bool>(
        &mut self,
        site: &Site,
        field: f64,
        reference: &Place,
        theta: &[f64; LANES],
        jacobian: &[f64; LANES],
    ) -> f64 {
        let (a, c) = (site.stiffness, site.entropy);
        let slope = field - a;
        let (mut weight, mut gap, mut one_minus_m2) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for i in 0..LANES {
            let place = Place::at::<ENTROPY>(theta[i]);
            let moved = place.gap - reference.gap;
            let mut exponent = -moved * (slope + 0.5 * a * (place.gap + reference.gap));
            if ENTROPY {
                exponent += c * (place.entropy - reference.entropy);
            }
            weight[i] = elementary::exp(exponent) * place.one_minus_m2 * jacobian[i];
            gap[i] = place.gap - self.reference_gap;
            one_minus_m2[i] = place.one_minus_m2;
        }
        for i in 0..LANES {
            self.total[i] += weight[i];
            self.offset[i] += weight[i] * gap[i];
            self.offset2[i] += weight[i] * gap[i] * gap[i];
            self.one_minus_m2[i] += weight[i] * one_minus_m2[i];
        }
        weight[LANES - 1]
    }

    #[inline(always)]
    fn finish(&self, ln_reference: f64) -> Part {
        let sum = |lanes: &[f64; LANES]| lanes.iter().sum::<f64>();
        let total = sum(&self.total);
        let offset = sum(&self.offset) / total;
        Part {
            ln_mass: ln_reference + total.ln(),
            gap: self.reference_gap + offset,
            variance: sum(&self.offset2) / total - offset * offset,
            one_minus_m2: sum(&self.one_minus_m2) / total,
        }
    }
}

/// A point of the line, with what the measure needs to know of it.
#[derive(Clone, Copy)]
struct Place {
    /// u = 1 − tanh θ.
    gap: f64,
    /// 1 − tanh² θ.
    one_minus_m2: f64,
    /// S(tanh θ), or 0 where it has no weight.
    entropy: f64,
}

impl Place {
    #[inline(always)]
    fn at<const ENTROPY: bool>(theta: f64) -> Self {
        let size = theta.abs();
        let e = elementary::exp(-2.0 * size);
        let share = 1.0 / (1.0 + e);
        let near = 2.0 * e * share;
        let entropy = if ENTROPY { size * near + elementary::ln_1p(e) } else { 0.0 };
        Self {
            gap: if theta >= 0.0 { near } else { 2.0 * share },
            one_minus_m2: 2.0 * near * share,
            entropy,
        }
    }
}

/// How the measure is shaped when no field acts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// One mode for every field.
    OneMode,
    /// Two modes, with less than e^{−42} between them.
    DeepValley,
    /// Two modes, not so far apart.
    ShallowValley,
}

/// The hyperbolic functions of θ that the exponent and its derivatives need.
struct Hyperbolic {
    tanh: f64,
    sech2: f64,
    sinh_2: f64,
    cosh_2: f64,
}

impl Hyperbolic {
    #[inline(always)]
    fn at(theta: f64) -> Self {
        let e = elementary::exp(2.0 * theta);
        let (inverse, share) = (1.0 / e, 1.0 / (1.0 + e));
        Self {
            tanh: (e - 1.0) * share,
            sech2: 4.0 * e * share * share,
            sinh_2: 0.5 * (e - inverse),
            cosh_2: 0.5 * (e + inverse),
        }
    }
}

/// Where the pull on θ ≥ 0 is largest, and how large it is without a field.
#[derive(Clone, Copy)]
struct TurningPoint {
    theta: f64,
    pull: f64,
}

impl Site {
    /// B − A m − cθ − sinh 2θ, which is f' without its positive factor.
    #[inline(always)]
    fn pull(&self, theta: f64, h: &Hyperbolic, field: f64) -> f64 {
        field - self.stiffness * h.tanh - self.entropy * theta - h.sinh_2
    }

    /// −d(pull)/dθ.
    #[inline(always)]
    fn restoring(&self, h: &Hyperbolic) -> f64 {
        self.stiffness * h.sech2 + self.entropy + 2.0 * h.cosh_2
    }

    /// The place on θ ≥ 0 where the pull is largest: 0 if there is one mode.
    fn turning_point(&self) -> TurningPoint {
        let (a, c) = (self.stiffness, self.entropy);
        let theta = if a + c + 2.0 >= 0.0 {
            0.0
        } else {
            // A/C + c + 2(2C − 1) = 0 for C = cosh² θ.
            let root = ((c - 2.0) * (c - 2.0) - 16.0 * a).sqrt();
            ((root - (c - 2.0)) / 8.0).max(1.0).sqrt().acosh()
        };
        TurningPoint { theta, pull: self.pull(theta, &Hyperbolic::at(theta), 0.0) }
    }

    /// The mode beyond the turning point in a field of either sign, if there is
    /// one; a fifth of its width is near enough.
    #[inline(always)]
    fn mode(&self, field: f64, turning_point: &TurningPoint, guess: f64) -> Option<f64> {
        if turning_point.pull + field <= 0.0 {
            return None;
        }
        let mut low = turning_point.theta;
        // sinh 2θ ≤ B + |A|, because A tanh θ ≥ −|A| and cθ ≥ 0.
        let reach = field.max(0.0) + (-self.stiffness).max(0.0);
        let mut high = 0.5 * elementary::ln(2.0 * reach + 1.0) + 1e-9;
        let mut theta = if guess > low && guess < high { guess } else { 0.5 * (low + high) };
        for _ in 0..200 {
            let h = Hyperbolic::at(theta);
            let pull = self.pull(theta, &h, field);
            if pull > 0.0 {
                low = theta;
            } else {
                high = theta;
            }
            let restoring = self.restoring(&h);
            let mut next = theta + pull / restoring;
            if !(next > low && next < high) {
                next = 0.5 * (low + high);
            }
            let moved = next - theta;
            theta = next;
            if moved * moved * restoring.abs() * h.sech2 < 0.04 || high - low < 1e-12 * (1.0 + high)
            {
                break;
            }
        }
        Some(theta)
    }

    /// The width of the integrand around its mode. A flat top is still only as
    /// wide as the range of m.
    #[inline(always)]
    fn width(&self, mode: f64) -> f64 {
        let h = Hyperbolic::at(mode);
        (self.restoring(&h) * h.sech2).max(1e-12).sqrt().recip().min(0.6)
    }

    fn shape(&self) -> Shape {
        if self.stiffness + self.entropy + 2.0 >= 0.0 {
            return Shape::OneMode;
        }
        match self.mode(0.0, &self.turning_point(), f64::NAN) {
            Some(mode) if self.exponent(mode, 0.0) - self.exponent(0.0, 0.0) > DEPTH => {
                Shape::DeepValley
            }
            _ => Shape::ShallowValley,
        }
    }

    /// f(θ) relative to the corner m = 1, for a field of either sign.
    #[inline(always)]
    fn exponent(&self, theta: f64, field: f64) -> f64 {
        let place = Place::at::<true>(theta);
        self.corner_exponent(&place, field) + elementary::ln(place.one_minus_m2)
    }

    #[inline(always)]
    fn corner_exponent(&self, place: &Place, field: f64) -> f64 {
        -place.gap * ((field - self.stiffness) + 0.5 * self.stiffness * place.gap)
            + self.entropy * place.entropy
    }

    /// The integral outwards from `centre`, with nodes `width` · step apart
    /// there, down to θ = `floor`. It falls on both sides from a distance
    /// `hill` on.
    #[inline(always)]
    fn outwards<const ENTROPY: bool>(
        &self,
        field: f64,
        centre: f64,
        width: f64,
        floor: f64,
        hill: f64,
        reference: &Place,
        steps: &Steps,
    ) -> Part {
        let mut sums = Accumulator::new(reference.gap);
        let negligible = NEGLIGIBLE * reference.one_minus_m2;
        for side in [1.0, -1.0] {
            let mut start = if side > 0.0 { 0 } else { 1 };
            while start + LANES <= steps.sinh.len() {
                let mut theta = [0.0; LANES];
                let mut jacobian = [0.0; LANES];
                for i in 0..LANES {
                    theta[i] = centre + side * width * steps.sinh[start + i];
                    jacobian[i] = if theta[i] > floor { steps.cosh[start + i] } else { 0.0 };
                }
                let outermost = sums.add::<ENTROPY>(self, field, reference, &theta, &jacobian);
                start += LANES;
                if outermost < negligible && (theta[LANES - 1] - centre).abs() > hill {
                    break;
                }
            }
        }
        sums.finish(self.corner_exponent(reference, field) + (steps.step * width).ln())
    }

    /// The integral outwards from a mode.
    #[inline(always)]
    fn peak<const ENTROPY: bool>(&self, field: f64, mode: f64, floor: f64, steps: &Steps) -> Part {
        let reference = Place::at::<ENTROPY>(mode);
        self.outwards::<ENTROPY>(field, mode, self.width(mode), floor, 0.0, &reference, steps)
    }

    /// The integral over θ > 0 in a field of either sign.
    #[inline(always)]
    fn half<const ENTROPY: bool>(
        &self,
        field: f64,
        turning_point: &TurningPoint,
        refinement: f64,
    ) -> Part {
        let (nodes, weights) = &*LEGENDRE;
        let mode = self.mode(field, turning_point, f64::NAN).unwrap_or(0.0);
        let at_zero = self.exponent(0.0, field);
        let at_mode = self.exponent(mode, field);
        let top = at_zero.max(at_mode);
        let start = if at_mode >= at_zero { mode } else { 0.0 };
        let reference = Place::at::<ENTROPY>(start);
        let mut sums = Accumulator::new(reference.gap);
        for side in [1.0, -1.0] {
            let mut from = start;
            loop {
                let here = self.exponent(from, field);
                let more = if side > 0.0 {
                    here > top - DEPTH || from < mode
                } else {
                    from > 0.0 && here.max(at_zero) > top - DEPTH
                };
                if !more {
                    break;
                }
                // A panel as long as the integrand's own scale where it begins.
                let h = Hyperbolic::at(from);
                let slope = (h.sech2 * self.pull(from, &h, field)).abs().max(1e-12);
                let bend = (h.sech2 * self.restoring(&h)).abs().max(1e-12);
                let length = 0.8_f64.min(3.0 / bend.sqrt()).min(6.0 / slope) / refinement;
                let to = (from + side * length).max(0.0);
                let (middle, half) = (0.5 * (from + to), 0.5 * (to - from).abs());
                let (mut theta, mut jacobian) = ([0.0; LANES], [0.0; LANES]);
                for i in 0..LANES {
                    theta[i] = middle + half * nodes[i];
                    jacobian[i] = half * weights[i];
                }
                sums.add::<ENTROPY>(self, field, &reference, &theta, &jacobian);
                from = to;
            }
        }
        sums.finish(self.corner_exponent(&reference, field))
    }

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

    /// The densities of θ in each of `fields` (whose moments are given) at one
    /// θ, written into `densities`.
    pub fn density(&self, theta: f64, fields: &[f64], moments: &[Moments], densities: &mut [f64]) {
        all_densities(self, theta, fields, moments, densities);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn all_moments<const ENTROPY: bool>(
    site: &Site,
    fields: &[f64],
    resolution: f64,
    out: &mut Vec<Moments>,
) {
    let steps = Steps::new(0.16 / resolution, SPREADING, 20.0);
    let shape = site.shape();
    let turning_point = site.turning_point();
    // Below this field there is a second mode, on the other side.
    let two_modes = turning_point.pull;
    let valley = (shape == Shape::ShallowValley).then(|| {
        let mode = site.mode(0.0, &turning_point, f64::NAN).unwrap_or(0.0);
        let narrow = (site.width(mode) / 0.5).min(1.0);
        (Steps::new(1.0 / resolution, VALLEY_SPREADING, 200.0), VALLEY_SPACING * narrow)
    });
    let (mut guess, mut other_guess) = (f64::NAN, f64::NAN);
    let mut before = (0.0, f64::INFINITY);
    for &signed in fields {
        let field = signed.abs();
        // The mode moves by dB over the restoring force. At B = 0 a single one sits at 0.
        let predicted = guess + (field - before.0) / before.1;
        guess = site.mode(field, &turning_point, predicted).unwrap_or(0.0);
        before = (field, site.restoring(&Hyperbolic::at(guess)).abs());
        out.push(match &valley {
            Some((steps, width)) if field < two_modes => {
                let reference = Place::at::<ENTROPY>(guess);
                let everywhere = f64::NEG_INFINITY;
                site.outwards::<ENTROPY>(field, 0.0, *width, everywhere, guess, &reference, steps)
                    .moments()
            }
            None if field < two_modes => {
                // Each side of a deep valley is integrated alone.
                let here = site.peak::<ENTROPY>(field, guess, 0.0, &steps);
                match site.mode(-field, &turning_point, other_guess).filter(|_| field < 25.0) {
                    Some(mode) => {
                        other_guess = mode;
                        let other = site.peak::<ENTROPY>(-field, mode, 0.0, &steps);
                        here.with_other_side(other, field)
                    }
                    None => here.moments(),
                }
            }
            _ => site.peak::<ENTROPY>(field, guess, f64::NEG_INFINITY, &steps).moments(),
        });
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn all_sign_probabilities<const ENTROPY: bool>(
    site: &Site,
    fields: &[f64],
    resolution: f64,
    out: &mut Vec<(f64, f64)>,
) {
    let turning_point = site.turning_point();
    for &signed in fields {
        let field = signed.abs();
        let with = site.half::<ENTROPY>(field, &turning_point, resolution).ln_mass;
        let against =
            site.half::<ENTROPY>(-field, &turning_point, resolution).ln_mass - 2.0 * field;
        let total = with.max(against) + (-(with - against).abs()).exp().ln_1p();
        let (minor, major) = (against - total, with - total);
        out.push(if signed >= 0.0 { (minor, major) } else { (major, minor) });
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn all_densities(
    site: &Site,
    theta: f64,
    fields: &[f64],
    moments: &[Moments],
    densities: &mut [f64],
) {
    let (with, against) = (Place::at::<true>(theta), Place::at::<true>(-theta));
    let a = site.stiffness;
    let entropy = site.entropy * with.entropy;
    for ((density, &signed), m) in densities.iter_mut().zip(fields).zip(moments) {
        let gap = if signed >= 0.0 { with.gap } else { against.gap };
        let exponent = -gap * ((signed.abs() - a) + 0.5 * a * gap) + entropy - m.ln_z_from_corner;
        *density = elementary::exp(exponent) * with.one_minus_m2;
    }
}

#[cfg(test)]
mod tests {
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
                let place = Place::at::<false>(theta);
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
