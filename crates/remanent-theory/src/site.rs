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
//!
//! Several fields fill the lanes of one vector: their modes are found together,
//! and their integrals run in step, each with its own centre and scale, until
//! nothing is left to add in any of them.

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
const SPREADING: f64 = 0.4;
/// The same from the bottom of a shallow valley, slow enough to resolve the modes.
const VALLEY_SPREADING: f64 = 0.03;
/// How many nodes reach beyond the modes of any shallow valley.
const VALLEY_REACH: f64 = 150.0;
/// Trapezoid step of the integral outwards from a mode.
const STEP: f64 = 0.145;
/// Width below which the step may be longer.
const NARROW: f64 = 0.2;
/// How many times longer it may be.
const COARSEST: f64 = 2.0;
/// How far the trapezoid rule may go in t.
const REACH: f64 = 16.0;
/// Distance of the nodes at the bottom of a valley between modes half a unit wide.
const VALLEY_SPACING: f64 = 0.12;

/// How many terms are added between two looks at how large they still are.
const STRIDE: usize = 4;

type Lanes = [f64; LANES];

/// sinh(kt)/k and h cosh(kt) at multiples t of the trapezoid step h.
struct Steps {
    offset: Vec<f64>,
    weight: Vec<f64>,
}

impl Steps {
    #[inline(always)]
    fn new(step: f64, spreading: f64, reach: f64) -> Self {
        let count = (reach / step) as usize / STRIDE * STRIDE + STRIDE + 1;
        let (mut offset, mut weight) = (vec![0.0; count], vec![0.0; count]);
        for j in 0..count {
            let e = elementary::exp(spreading * step * j as f64);
            offset[j] = 0.5 / spreading * (e - 1.0 / e);
            weight[j] = 0.5 * step * (e + 1.0 / e);
        }
        Self { offset, weight }
    }
}

/// Unnormalised integrals over part of the line in several fields, and their
/// moments in u = 1 − m (u = 1 + m on the side of negative m).
struct Parts {
    /// ln of the integral relative to the corner m = 1 (m = −1).
    ln_mass: Lanes,
    gap: Lanes,
    variance: Lanes,
    one_minus_m2: Lanes,
}

impl Parts {
    fn moments(&self, i: usize) -> Moments {
        Moments {
            ln_z_from_corner: self.ln_mass[i],
            gap: self.gap[i],
            variance: self.variance[i],
            one_minus_m2: self.one_minus_m2[i],
        }
    }

    /// These parts together with those on the other side of 0, whose corner lies
    /// e^{−2B} lower.
    fn with_other_side(&self, other: &Self, fields: &Lanes, i: usize) -> Moments {
        let ratio = (other.ln_mass[i] - 2.0 * fields[i] - self.ln_mass[i]).exp();
        let (here, there) = (1.0 / (1.0 + ratio), ratio / (1.0 + ratio));
        let other_gap = 2.0 - other.gap[i];
        let distance = other_gap - self.gap[i];
        Moments {
            ln_z_from_corner: self.ln_mass[i] + ratio.ln_1p(),
            gap: here * self.gap[i] + there * other_gap,
            variance: here * self.variance[i]
                + there * other.variance[i]
                + here * there * distance * distance,
            one_minus_m2: here * self.one_minus_m2[i] + there * other.one_minus_m2[i],
        }
    }
}

/// Running sums in several fields, each relative to its own reference point.
struct Sums {
    total: Lanes,
    offset: Lanes,
    offset2: Lanes,
    one_minus_m2: Lanes,
}

impl Sums {
    #[inline(always)]
    fn new() -> Self {
        let zero = [0.0; LANES];
        Self { total: zero, offset: zero, offset2: zero, one_minus_m2: zero }
    }

    #[inline(always)]
    fn add(&mut self, i: usize, weight: f64, moved: f64, one_minus_m2: f64) {
        self.total[i] += weight;
        self.offset[i] += weight * moved;
        self.offset2[i] += weight * moved * moved;
        self.one_minus_m2[i] += weight * one_minus_m2;
    }

    /// The parts, for nodes `scale` times the tabulated steps apart.
    #[inline(always)]
    fn finish(&self, site: &Site, fields: &Lanes, at: &References, scale: &Lanes) -> Parts {
        let zero = [0.0; LANES];
        let mut parts = Parts { ln_mass: zero, gap: zero, variance: zero, one_minus_m2: zero };
        for i in 0..LANES {
            let inverse = 1.0 / self.total[i];
            let offset = self.offset[i] * inverse;
            parts.ln_mass[i] = site.corner_exponent(&at.place(i), fields[i])
                + elementary::ln(self.total[i] * scale[i]);
            parts.gap[i] = at.gap[i] + offset;
            parts.variance[i] = self.offset2[i] * inverse - offset * offset;
            parts.one_minus_m2[i] = self.one_minus_m2[i] * inverse;
        }
        parts
    }
}

/// The points of reference of several fields.
struct References {
    gap: Lanes,
    one_minus_m2: Lanes,
    entropy: Lanes,
}

impl References {
    #[inline(always)]
    fn at<const ENTROPY: bool>(theta: &Lanes) -> Self {
        let zero = [0.0; LANES];
        let mut references = Self { gap: zero, one_minus_m2: zero, entropy: zero };
        for (i, theta) in theta.iter().enumerate() {
            let place = Place::at::<ENTROPY>(*theta);
            references.gap[i] = place.gap;
            references.one_minus_m2[i] = place.one_minus_m2;
            references.entropy[i] = place.entropy;
        }
        references
    }

    #[inline(always)]
    fn place(&self, i: usize) -> Place {
        Place { gap: self.gap[i], one_minus_m2: self.one_minus_m2[i], entropy: self.entropy[i] }
    }

    /// Whether no weight is worth adding any more.
    #[inline(always)]
    fn outweigh(&self, weights: &Lanes) -> bool {
        let mut open = 0_u64;
        for (weight, size) in weights.iter().zip(&self.one_minus_m2) {
            open |= u64::from(*weight > NEGLIGIBLE * size);
        }
        open == 0
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

/// Nodes from the bottom of a shallow valley outwards, on the side θ ≥ 0.
struct Valley {
    theta: Vec<f64>,
    gap: Vec<f64>,
    one_minus_m2: Vec<f64>,
    entropy: Vec<f64>,
    /// Quadrature weight times 1 − m².
    weight: Vec<f64>,
}

impl Valley {
    #[inline(always)]
    fn new<const ENTROPY: bool>(
        site: &Site,
        turning_point: &TurningPoint,
        resolution: f64,
    ) -> Self {
        let mode = site.mode(0.0, turning_point, f64::NAN).unwrap_or(0.0);
        let scale = VALLEY_SPACING * (site.width(mode) / 0.5).min(1.0);
        let Steps { offset: mut theta, mut weight } =
            Steps::new(1.0 / resolution, VALLEY_SPREADING, VALLEY_REACH);
        let count = theta.len();
        let (mut gap, mut one_minus_m2, mut entropy) =
            (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
        for j in 0..count {
            theta[j] *= scale;
            let place = Place::at::<ENTROPY>(theta[j]);
            gap[j] = place.gap;
            one_minus_m2[j] = place.one_minus_m2;
            entropy[j] = place.entropy;
            weight[j] *= scale * place.one_minus_m2;
        }
        Self { theta, gap, one_minus_m2, entropy, weight }
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

    /// The exponent −A m²/2 + B m + c S at a place, relative to another.
    #[inline(always)]
    fn exponent_from<const ENTROPY: bool>(
        &self,
        place: &Place,
        reference: &Place,
        field: f64,
    ) -> f64 {
        let a = self.stiffness;
        let moved = place.gap - reference.gap;
        let exponent = -moved * ((field - a) + 0.5 * a * (place.gap + reference.gap));
        if ENTROPY {
            exponent + self.entropy * (place.entropy - reference.entropy)
        } else {
            exponent
        }
    }

    /// The modes beyond the turning point in fields of either sign, and the
    /// widths there; the turning point itself where there is no mode. All lanes
    /// search together until the slowest has come within a fifth of its width.
    #[inline(always)]
    fn modes(&self, fields: &Lanes, turning_point: &TurningPoint) -> (Lanes, Lanes) {
        let (a, c) = (self.stiffness, self.entropy);
        let firmness = (a + c + 2.0).max(1e-9);
        let (mut low, mut high) = ([turning_point.theta; LANES], [0.0; LANES]);
        let mut theta = [0.0; LANES];
        for i in 0..LANES {
            // sinh 2θ ≤ B + |A|, because A tanh θ ≥ −|A| and cθ ≥ 0.
            let reach = fields[i].max(0.0) + (-a).max(0.0);
            high[i] = 0.5 * elementary::ln(2.0 * reach + 1.0) + 1e-9;
            // Far from the corner the pull is nearly linear in m, and close to it
            // what the stiffness leaves is balanced by sinh 2θ.
            let m = fields[i] / firmness;
            let inside = 0.5 * elementary::ln((1.0 + m.abs()) / (1.0 - m.min(0.8)));
            let outside = 0.5 * elementary::ln(2.0 * (fields[i] - a).max(0.0) + 2.0);
            let guess = if m.abs() < 0.8 { inside } else { outside };
            theta[i] = guess.clamp(low[i].min(high[i]), high[i]);
        }
        for _ in 0..100 {
            let mut open = 0_u64;
            for i in 0..LANES {
                let h = Hyperbolic::at(theta[i]);
                let pull = self.pull(theta[i], &h, fields[i]);
                let outwards = pull > 0.0;
                low[i] = if outwards { theta[i] } else { low[i] };
                high[i] = if outwards { high[i] } else { theta[i] };
                let restoring = self.restoring(&h);
                let newton = theta[i] + pull / restoring;
                let within = newton > low[i] && newton < high[i];
                let next = if within { newton } else { 0.5 * (low[i] + high[i]) };
                let moved = next - theta[i];
                theta[i] = next;
                let far = moved * moved * restoring.abs() * h.sech2 > 0.04;
                open |= u64::from(far && high[i] - low[i] > 1e-12 * (1.0 + high[i]));
            }
            if open == 0 {
                break;
            }
        }
        let mut width = [0.0; LANES];
        for i in 0..LANES {
            let none = turning_point.pull + fields[i] <= 0.0;
            theta[i] = if none { turning_point.theta } else { theta[i] };
            width[i] = self.width(theta[i]);
        }
        (theta, width)
    }

    /// The integrals outwards from the modes, down to θ = `floor`.
    #[inline(always)]
    fn peaks<const ENTROPY: bool>(
        &self,
        fields: &Lanes,
        turning_point: &TurningPoint,
        floor: f64,
        resolution: f64,
    ) -> Parts {
        let (mode, width) = self.modes(fields, turning_point);
        // Narrow peaks are nearly Gaussian and need fewer nodes.
        let widest = width.iter().fold(0.0, |a: f64, b| a.max(*b));
        let step = STEP * (NARROW / widest).clamp(1.0, COARSEST);
        let steps = Steps::new(step / resolution, SPREADING, REACH);
        let references = References::at::<ENTROPY>(&mode);
        let mut sums = Sums::new();
        for side in [1.0, -1.0] {
            let from = if side > 0.0 { 0 } else { 1 };
            let offsets = steps.offset[from..].chunks_exact(STRIDE);
            let jacobians = steps.weight[from..].chunks_exact(STRIDE);
            for (offsets, jacobians) in offsets.zip(jacobians) {
                let mut weight = [0.0; LANES];
                for (offset, jacobian) in offsets.iter().zip(jacobians) {
                    for i in 0..LANES {
                        let theta = mode[i] + side * width[i] * offset;
                        let place = Place::at::<ENTROPY>(theta);
                        let reference = references.place(i);
                        let exponent = self.exponent_from::<ENTROPY>(&place, &reference, fields[i]);
                        let jacobian = if theta > floor { *jacobian } else { 0.0 };
                        weight[i] = elementary::exp(exponent) * place.one_minus_m2 * jacobian;
                        sums.add(i, weight[i], place.gap - reference.gap, place.one_minus_m2);
                    }
                }
                if references.outweigh(&weight) {
                    break;
                }
            }
        }
        sums.finish(self, fields, &references, &width)
    }

    /// The integrals outwards from the bottom of a valley, whose nodes are the
    /// same in all fields.
    #[inline(always)]
    fn across<const ENTROPY: bool>(
        &self,
        fields: &Lanes,
        turning_point: &TurningPoint,
        valley: &Valley,
    ) -> Parts {
        let (mode, _) = self.modes(fields, turning_point);
        let hill = mode.iter().fold(0.0, |a: f64, b| a.max(*b));
        let references = References::at::<ENTROPY>(&mode);
        let mut sums = Sums::new();
        for side in [1.0, -1.0] {
            let mut start = if side > 0.0 { 0 } else { 1 };
            while start + STRIDE <= valley.theta.len() {
                let mut weight = [0.0; LANES];
                for j in start..start + STRIDE {
                    let near = valley.gap[j];
                    let place = Place {
                        gap: if side > 0.0 { near } else { 2.0 - near },
                        one_minus_m2: valley.one_minus_m2[j],
                        entropy: valley.entropy[j],
                    };
                    for i in 0..LANES {
                        let reference = references.place(i);
                        let exponent = self.exponent_from::<ENTROPY>(&place, &reference, fields[i]);
                        weight[i] = elementary::exp(exponent) * valley.weight[j];
                        sums.add(i, weight[i], place.gap - reference.gap, place.one_minus_m2);
                    }
                }
                if valley.theta[start] > hill && references.outweigh(&weight) {
                    break;
                }
                start += STRIDE;
            }
        }
        sums.finish(self, fields, &references, &[1.0; LANES])
    }

    /// ln of the integral over θ > 0, relative to the corner m = 1, in a field of
    /// either sign.
    #[inline(always)]
    fn ln_half<const ENTROPY: bool>(
        &self,
        field: f64,
        turning_point: &TurningPoint,
        refinement: f64,
    ) -> f64 {
        let (nodes, weights) = &*LEGENDRE;
        let mode = self.mode(field, turning_point, f64::NAN).unwrap_or(0.0);
        let at_zero = self.exponent(0.0, field);
        let at_mode = self.exponent(mode, field);
        let top = at_zero.max(at_mode);
        let start = if at_mode >= at_zero { mode } else { 0.0 };
        let reference = Place::at::<ENTROPY>(start);
        let mut total = [0.0; LANES];
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
                for i in 0..LANES {
                    let place = Place::at::<ENTROPY>(middle + half * nodes[i]);
                    let exponent = self.exponent_from::<ENTROPY>(&place, &reference, field);
                    total[i] += half * weights[i] * elementary::exp(exponent) * place.one_minus_m2;
                }
                from = to;
            }
        }
        self.corner_exponent(&reference, field) + total.iter().sum::<f64>().ln()
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
    let turning_point = site.turning_point();
    let shape = site.shape();
    let valley = (shape == Shape::ShallowValley)
        .then(|| Valley::new::<ENTROPY>(site, &turning_point, resolution));
    // Below this field there is a second mode, on the other side.
    let two_modes = turning_point.pull;
    let (double, single): (Vec<usize>, Vec<usize>) =
        (0..fields.len()).partition(|&k| fields[k].abs() < two_modes);
    out.resize(fields.len(), Moments::default());
    for indices in single.chunks(LANES) {
        let block = gather(fields, indices);
        let parts = site.peaks::<ENTROPY>(&block, &turning_point, f64::NEG_INFINITY, resolution);
        for (i, &k) in indices.iter().enumerate() {
            out[k] = parts.moments(i);
        }
    }
    for indices in double.chunks(LANES) {
        let block = gather(fields, indices);
        if let Some(valley) = &valley {
            let parts = site.across::<ENTROPY>(&block, &turning_point, valley);
            for (i, &k) in indices.iter().enumerate() {
                out[k] = parts.moments(i);
            }
            continue;
        }
        // Each side of a deep valley is integrated alone.
        let here = site.peaks::<ENTROPY>(&block, &turning_point, 0.0, resolution);
        // The other side holds e^{−2B}, against a variance of about 1/(A² + B²) here.
        let farthest = 20.0 + (1.0 - site.stiffness).ln();
        let matters = |field: f64| field < farthest;
        if !block.iter().any(|field| matters(*field)) {
            for (i, &k) in indices.iter().enumerate() {
                out[k] = here.moments(i);
            }
            continue;
        }
        let other = site.peaks::<ENTROPY>(&block.map(|b| -b), &turning_point, 0.0, resolution);
        for (i, &k) in indices.iter().enumerate() {
            out[k] = if matters(block[i]) && turning_point.pull > block[i] {
                here.with_other_side(&other, &block, i)
            } else {
                here.moments(i)
            };
        }
    }
}

/// The sizes of some of the fields; the last of them fills up the block.
#[inline(always)]
fn gather(fields: &[f64], indices: &[usize]) -> Lanes {
    let mut block = [fields[indices[indices.len() - 1]].abs(); LANES];
    for (b, &k) in block.iter_mut().zip(indices) {
        *b = fields[k].abs();
    }
    block
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
        let with = site.ln_half::<ENTROPY>(field, &turning_point, resolution);
        let against = site.ln_half::<ENTROPY>(-field, &turning_point, resolution) - 2.0 * field;
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
