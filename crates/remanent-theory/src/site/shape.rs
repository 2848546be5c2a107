//! The shape of the site measure along θ: its exponent, its slope, its modes.

use remanent_math::elementary;

use super::Site;

/// Exponents this far below the largest are dropped.
pub(super) const DEPTH: f64 = 42.0;

/// A point of the line, with what the measure needs to know of it.
#[derive(Clone, Copy)]
pub(super) struct SitePoint {
    /// u = 1 − tanh θ.
    pub(super) gap: f64,
    /// 1 − tanh² θ.
    pub(super) one_minus_m2: f64,
    /// S(tanh θ), or 0 where it has no weight.
    pub(super) entropy: f64,
}

impl SitePoint {
    #[inline(always)]
    pub(super) fn at<const ENTROPY: bool>(theta: f64) -> Self {
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

/// A place from which other places are reached by a distance in θ. With it, differences of
/// exponents are not differences of rounded exponents.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    pub(super) theta: f64,
    pub(super) gap: f64,
    /// e^{−2θ}, and 1/(1 + e^{−2θ}).
    pub(super) decay: f64,
    pub(super) share: f64,
}

/// A place at a distance from an origin.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    /// u = 1 − tanh θ.
    pub(super) gap: f64,
    /// u minus that of the origin.
    pub(super) moved: f64,
    /// 1 − tanh² θ.
    pub(super) one_minus_m2: f64,
    /// KL(m, m*) between spins of these means, or 0 where it has no weight.
    pub(super) divergence: f64,
    /// 1/(1 + e^{−2θ}).
    pub(super) share: f64,
}

impl Origin {
    /// The origin at θ ≥ 0.
    #[inline(always)]
    pub(super) fn at(theta: f64) -> Self {
        let decay = elementary::exp(-2.0 * theta);
        let share = 1.0 / (1.0 + decay);
        let gap = 2.0 * decay * share;
        Self { theta, gap, decay, share }
    }

    /// The place at θ + `distance`.
    #[inline(always)]
    pub(super) fn moved<const ENTROPY: bool>(&self, distance: f64) -> Moved {
        let growth = elementary::exp_m1(-2.0 * distance);
        let mut place = self.grown(growth);
        if ENTROPY {
            place.divergence = self.divergence(distance, growth, place.gap, place.share);
        }
        place
    }

    /// The place without its divergence, from `growth` = e^{−2·distance} − 1.
    #[inline(always)]
    pub(super) fn grown(&self, growth: f64) -> Moved {
        let decay = self.decay * (1.0 + growth);
        let share = 1.0 / (1.0 + decay);
        let gap = 2.0 * decay * share;
        Moved {
            gap,
            moved: 2.0 * self.decay * growth * share * self.share,
            one_minus_m2: 2.0 * gap * share,
            divergence: 0.0,
            share,
        }
    }

    /// KL(m, m*) = m δ − ln(cosh θ/cosh θ*) with m = 1 − u, at a distance δ.
    #[inline(always)]
    pub(super) fn divergence(&self, distance: f64, growth: f64, gap: f64, share: f64) -> f64 {
        // As `ln_1p` does it, with 1/(1 + x) known: a division less.
        let x = 0.5 * self.gap * growth;
        let rounded = 1.0 + x;
        let lost = (x - (rounded - 1.0)) * (share * (1.0 + self.decay));
        -gap * distance - (elementary::ln(rounded) + lost)
    }

    /// The origin as a place.
    #[inline(always)]
    pub(super) fn place<const ENTROPY: bool>(&self) -> SitePoint {
        SitePoint::at::<ENTROPY>(self.theta)
    }
}

/// How the measure is shaped when no field acts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// One mode for every field.
    OneMode,
    /// Two modes, with less than e^{−42} between them.
    DeepValley,
    /// Two modes, not so far apart.
    ShallowValley,
}

/// The hyperbolic functions of θ that the exponent and its derivatives need.
pub(super) struct Hyperbolic {
    pub(super) tanh: f64,
    pub(super) sech2: f64,
    pub(super) sinh_2: f64,
    pub(super) cosh_2: f64,
}

impl Hyperbolic {
    #[inline(always)]
    pub(super) fn at(theta: f64) -> Self {
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
pub(super) struct TurningPoint {
    pub(super) theta: f64,
    pub(super) pull: f64,
}

impl Site {
    /// B − A m − cθ − sinh 2θ, which is f' without its positive factor.
    #[inline(always)]
    pub(super) fn pull(&self, theta: f64, h: &Hyperbolic, field: f64) -> f64 {
        field - self.stiffness * h.tanh - self.entropy * theta - h.sinh_2
    }

    /// −d(pull)/dθ.
    #[inline(always)]
    pub(super) fn restoring(&self, h: &Hyperbolic) -> f64 {
        self.stiffness * h.sech2 + self.entropy + 2.0 * h.cosh_2
    }

    /// The place on θ ≥ 0 where the pull is largest: 0 if there is one mode.
    pub(super) fn turning_point(&self) -> TurningPoint {
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
    pub(super) fn mode(&self, field: f64, turning_point: &TurningPoint) -> Option<f64> {
        if turning_point.pull + field <= 0.0 {
            return None;
        }
        let mut low = turning_point.theta;
        // sinh 2θ ≤ B + |A|, because A tanh θ ≥ −|A| and cθ ≥ 0.
        let reach = field.max(0.0) + (-self.stiffness).max(0.0);
        let mut high = 0.5 * elementary::ln(2.0 * reach + 1.0) + 1e-9;
        let mut theta = 0.5 * (low + high);
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
    pub(super) fn width(&self, mode: f64) -> f64 {
        let h = Hyperbolic::at(mode);
        (self.restoring(&h) * h.sech2).max(1e-12).sqrt().recip().min(0.6)
    }

    pub(super) fn shape(&self) -> Shape {
        if self.stiffness + self.entropy + 2.0 >= 0.0 {
            return Shape::OneMode;
        }
        match self.mode(0.0, &self.turning_point()) {
            Some(mode) if self.exponent(mode, 0.0) - self.exponent(0.0, 0.0) > DEPTH => {
                Shape::DeepValley
            }
            _ => Shape::ShallowValley,
        }
    }

    /// f(θ) relative to the corner m = 1, for a field of either sign.
    #[inline(always)]
    pub(super) fn exponent(&self, theta: f64, field: f64) -> f64 {
        let place = SitePoint::at::<true>(theta);
        self.corner_exponent(&place, field) + elementary::ln(place.one_minus_m2)
    }

    #[inline(always)]
    pub(super) fn corner_exponent(&self, place: &SitePoint, field: f64) -> f64 {
        -place.gap * ((field - self.stiffness) + 0.5 * self.stiffness * place.gap)
            + self.entropy * place.entropy
    }

    /// The exponent −A m²/2 + B m + c S at a place, relative to its origin.
    #[inline(always)]
    pub(super) fn exponent_moved<const ENTROPY: bool>(
        &self,
        place: &Moved,
        origin: &Origin,
        field: f64,
    ) -> f64 {
        let a = self.stiffness;
        // S − S* = −KL − θ* (m − m*).
        let held = if ENTROPY { self.entropy * origin.theta } else { 0.0 };
        let slope = (field - a - held) + 0.5 * a * (place.gap + origin.gap);
        let exponent = -place.moved * slope;
        if ENTROPY { exponent - self.entropy * place.divergence } else { exponent }
    }

    /// The exponent −A m²/2 + B m + c S at a place, relative to another.
    #[inline(always)]
    pub(super) fn exponent_from<const ENTROPY: bool>(
        &self,
        place: &SitePoint,
        reference: &SitePoint,
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
}
