//! Moments without entropy (c = 0), where the measure is e^{−A m²/2 + B m} on [−1, 1]: a piece of a
//! Gaussian, or of its inverse. In u = 1 − m and b = B − A it is e^{−bu − A u²/2} from u = 0 on, and
//! most fields need no integral over a grid:
//!
//! | field | moments |
//! |---|---|
//! | strong: \|A\| ≤ b²/100 | an exponential, corrected in powers of A/b² ([`Series`]) |
//! | A > 0, mode inside or near the corner | a Gaussian cut at u = 0 ([`cut_gaussian`]) |
//! | neither end is negligible | Gauss–Legendre panels in u, both signs of m at once ([`Halves`]) |
//!
//! The first two hold if the other end, u = 2, does not matter. What is left is integrated outwards
//! from the mode, as with entropy.

use std::sync::LazyLock;

use remanent_math::{elementary, legendre};

use super::outwards::{LANES, Lanes};
use super::shape::SitePoint;
use super::{Moments, Site};

/// How moments in a field are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By [`Series`].
    Series,
    /// By [`cut_gaussian`].
    CutGaussian,
    /// By [`Halves`].
    Halves,
    /// Outwards from the mode.
    Outwards,
}

/// The largest |A|/b² of the series: its terms fall until the 50th, and below 1e-17.
const SMALL: f64 = 0.01;
/// The stiffness from which the end m = −1 is negligible in all fields B ≥ 0: more than 9.4 standard
/// deviations away.
const STIFF: f64 = 89.0;
/// How many standard deviations beyond the corner the mode may be for [`cut_gaussian`]: farther out
/// its differences cancel.
const OUTSIDE: f64 = 2.0;

impl Site {
    /// The way to the moments in a field B ≥ 0 that is not weak.
    pub(super) fn way(&self, field: f64) -> Way {
        let (a, b) = (self.stiffness, field - self.stiffness);
        // The other end holds e^{−2B} of the mass, against a variance of 1/b² here.
        let decided = field > 22.0 + (1.0 + a.abs() + field).ln();
        if decided && b > 0.0 && a.abs() <= SMALL * b * b {
            Way::Series
        } else if a > 0.0 && (decided || a > STIFF) && b <= OUTSIDE * a.sqrt() {
            Way::CutGaussian
        } else if a < STIFF && !decided {
            Way::Halves
        } else {
            Way::Outwards
        }
    }

    /// Moments from ln Z relative to the corner, the mean of u and its variance.
    #[inline(always)]
    fn plain_moments(&self, field: f64, ln_z: f64, gap: f64, mean: f64, variance: f64) -> Moments {
        let reference = 0.5 * elementary::ln((2.0 - gap) / gap).max(0.0);
        let exponent = self.corner_exponent(&SitePoint::at::<false>(reference), field);
        Moments {
            ln_z_from_corner: ln_z,
            gap,
            mean,
            variance,
            one_minus_m2: gap * (2.0 - gap) - variance,
            reference,
            ln_z_from_reference: ln_z - exponent,
        }
    }
}

/// Mean and variance of v under e^{−v + w v²/2} as series in w, for w = −A/b² and v = bu. They are
/// asymptotic: for |w| ≤ 0.01 the terms fall below rounding before they rise again.
pub(super) struct Series {
    mean: [f64; TERMS],
    variance: [f64; TERMS],
}

const TERMS: usize = 28;

impl Series {
    /// The ratio of ∫ v e^{…} = Σ (2k+1)!! w^k and ∫ e^{…} = Σ (2k−1)!! w^k, term by term; and
    /// ⟨v²⟩ = (⟨v⟩ − 1)/w, which is an integration by parts.
    fn new() -> Self {
        let mut double = [1.0; TERMS + 2];
        for k in 1..TERMS + 2 {
            double[k] = double[k - 1] * (2 * k - 1) as f64;
        }
        let mut ratio = [0.0; TERMS + 1];
        for k in 0..=TERMS {
            let known: f64 = (0..k).map(|j| ratio[j] * double[k - j]).sum();
            ratio[k] = double[k + 1] - known;
        }
        let square = |k: usize| (0..=k).map(|j| ratio[j] * ratio[k - j]).sum::<f64>();
        Self {
            mean: std::array::from_fn(|k| ratio[k]),
            variance: std::array::from_fn(|k| ratio[k + 1] - square(k)),
        }
    }

    /// How many terms matter for |w| up to `largest`.
    fn terms(&self, largest: f64) -> usize {
        let mut power = 1.0;
        for (k, coefficient) in self.variance.iter().enumerate() {
            if coefficient * power < 1e-17 {
                return k.max(1);
            }
            power *= largest;
        }
        TERMS
    }

    /// The moments in fields for which [`Site::way`] is `Series`.
    #[inline(always)]
    pub(super) fn moments(site: &Site, fields: &Lanes, indices: &[usize], out: &mut [Moments]) {
        let series = &*SERIES;
        let (mut b, mut w) = ([0.0; LANES], [0.0; LANES]);
        for i in 0..LANES {
            b[i] = fields[i] - site.stiffness;
            w[i] = -site.stiffness / (b[i] * b[i]);
        }
        let terms = series.terms(w.iter().fold(0.0, |m: f64, w| m.max(w.abs())));
        let (mut mean, mut variance) = ([0.0; LANES], [0.0; LANES]);
        for k in (0..terms).rev() {
            for i in 0..LANES {
                mean[i] = mean[i] * w[i] + series.mean[k];
                variance[i] = variance[i] * w[i] + series.variance[k];
            }
        }
        let mut moments = [Moments::default(); LANES];
        for i in 0..LANES {
            let inverse = 1.0 / b[i];
            let gap = mean[i] * inverse;
            // ∫ e^{−v + w v²/2} (1 − w v) = 1.
            let ln_z = -elementary::ln(b[i]) - elementary::ln_1p(-w[i] * mean[i]);
            let variance = variance[i] * inverse * inverse;
            moments[i] = site.plain_moments(fields[i], ln_z, gap, 1.0 - gap, variance);
        }
        scatter(&moments, indices, out);
    }
}

static SERIES: LazyLock<Series> = LazyLock::new(Series::new);

/// The moments of a Gaussian of variance 1/A cut at the corner, which lies b/√A standard deviations
/// above its mode.
#[inline(always)]
pub(super) fn cut_gaussian(site: &Site, fields: &Lanes, indices: &[usize], out: &mut [Moments]) {
    const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_7;
    let a = site.stiffness;
    let width = 1.0 / a.sqrt();
    let half_ln_a = 0.5 * a.ln();
    let mut moments = [Moments::default(); LANES];
    for i in 0..LANES {
        let x = (fields[i] - a) * width;
        let at = elementary::ln_cdf(-x);
        let from_mode = at.hazard - x;
        let gap = from_mode * width;
        let ln_z = (0.5 * x * x + at.quadratic) + at.rest + HALF_LN_2_PI - half_ln_a;
        let mean = fields[i] * (width * width) - at.hazard * width;
        let variance = (1.0 - at.hazard * from_mode) * (width * width);
        moments[i] = site.plain_moments(fields[i], ln_z, gap, mean, variance);
        // The reference is the mean, `hazard` widths from the mode: no difference of large exponents.
        moments[i].ln_z_from_reference =
            (at.quadratic + at.rest) + 0.5 * at.hazard * at.hazard + HALF_LN_2_PI - half_ln_a;
    }
    scatter(&moments, indices, out);
}

/// Nodes in u over m ≥ 0, where u ≤ 1; each stands for the two magnetisations ±(1 − u).
pub(super) struct Halves {
    u: Vec<f64>,
    /// Quadrature weight times e^{Au − Au²/2}.
    weight: Vec<f64>,
}

static FINE: LazyLock<([f64; 16], [f64; 16])> = LazyLock::new(legendre::rule::<16>);
static COARSE: LazyLock<([f64; 8], [f64; 8])> = LazyLock::new(legendre::rule::<8>);

impl Halves {
    /// Nodes for fields up to `strongest`.
    #[inline(always)]
    pub(super) fn new(site: &Site, strongest: f64, resolution: f64) -> Self {
        let coarse = resolution < 0.6;
        let (nodes, weights): (&[f64], &[f64]) =
            if coarse { (&COARSE.0, &COARSE.1) } else { (&FINE.0, &FINE.1) };
        let a = site.stiffness;
        // The exponent falls at this rate at most: panels over which it falls by 10, 24 and 60, each
        // divided for more nodes.
        let rate = strongest + a.abs();
        let parts = resolution.ceil();
        let mut halves = Self { u: vec![], weight: vec![] };
        let mut from = 0.0;
        for edge in [10.0 / rate, 24.0 / rate, 60.0 / rate, 1.0] {
            let to = f64::min(edge, 1.0);
            let negligible = a * from * (1.0 - 0.5 * from) < -45.0;
            if to <= from || negligible {
                break;
            }
            let half = 0.5 * (to - from) / parts;
            for part in 0..parts as usize {
                let middle = from + half * (2 * part + 1) as f64;
                for (x, w) in nodes.iter().zip(weights) {
                    let u = middle + half * x;
                    halves.u.push(u);
                    halves.weight.push(half * w * (a * u * (1.0 - 0.5 * u)).exp());
                }
            }
            from = to;
        }
        halves
    }

    /// The moments in fields for which [`Site::way`] is `Halves`.
    #[inline(always)]
    pub(super) fn moments(
        &self,
        site: &Site,
        fields: &Lanes,
        indices: &[usize],
        out: &mut [Moments],
    ) {
        let zero = [0.0; LANES];
        let (mut total, mut first, mut second, mut across) = (zero, zero, zero, zero);
        let mut opposite = zero;
        for i in 0..LANES {
            opposite[i] = elementary::exp(-2.0 * fields[i]);
        }
        for (&u, &weight) in self.u.iter().zip(&self.weight) {
            let other = 2.0 - u;
            for i in 0..LANES {
                let decay = elementary::exp(-fields[i] * u);
                let here = weight * decay;
                // e^{−B(2 − u)}: the weight at −m relative to the corner m = 1.
                let there = weight * opposite[i] / decay;
                total[i] += here + there;
                first[i] += here * u + there * other;
                second[i] += here * u * u + there * other * other;
                across[i] += (here + there) * (u * other);
            }
        }
        let mut moments = [Moments::default(); LANES];
        for i in 0..LANES {
            let inverse = 1.0 / total[i];
            let gap = first[i] * inverse;
            let variance = second[i] * inverse - gap * gap;
            let ln_z = elementary::ln(total[i]);
            moments[i] = site.plain_moments(fields[i], ln_z, gap, 1.0 - gap, variance);
            moments[i].one_minus_m2 = across[i] * inverse;
        }
        scatter(&moments, indices, out);
    }
}

impl Halves {
    /// ln of the ratio of the masses at m > 0 and at m < 0.
    #[inline(always)]
    pub(super) fn ln_ratios(&self, fields: &Lanes) -> Lanes {
        let zero = [0.0; LANES];
        let (mut with, mut against, mut ratios) = (zero, zero, zero);
        for (&u, &weight) in self.u.iter().zip(&self.weight) {
            for i in 0..LANES {
                let decay = elementary::exp(-fields[i] * u);
                with[i] += weight * decay;
                against[i] += weight / decay;
            }
        }
        for i in 0..LANES {
            ratios[i] = elementary::ln(with[i] / against[i]) + 2.0 * fields[i];
        }
        ratios
    }
}

#[inline(always)]
fn scatter(moments: &[Moments; LANES], indices: &[usize], out: &mut [Moments]) {
    for (m, &k) in moments.iter().zip(indices) {
        out[k] = *m;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(site: &Site, field: f64, resolution: f64) -> Moments {
        let mut moments = Vec::new();
        site.moments(&[field], resolution, &mut moments);
        moments[0]
    }

    /// Relative differences of ln Z, ⟨u⟩ and the variance; that of ln Z absolute.
    fn difference(a: &Moments, b: &Moments) -> f64 {
        let relative = |a: f64, b: f64| (a / b - 1.0).abs();
        let ln_z = (a.ln_z_from_corner - b.ln_z_from_corner).abs();
        ln_z.max(relative(a.gap, b.gap)).max(relative(a.variance, b.variance))
    }

    const STIFFNESSES: [f64; 12] =
        [-300.0, -90.0, -12.0, -2.0, -0.1, 0.3, 5.0, 40.0, 88.9, 89.1, 300.0, 2000.0];

    #[test]
    fn ways_meet_at_their_borders() {
        let mut borders = 0;
        for stiffness in STIFFNESSES {
            let site = Site { stiffness, entropy: 0.0 };
            let fields: Vec<f64> = (1..6000).map(|i| 0.5 + 0.1 * f64::from(i)).collect();
            for pair in fields.windows(2) {
                let (mut low, mut high) = (pair[0], pair[1]);
                let (before, after) = (site.way(low), site.way(high));
                if before == after {
                    continue;
                }
                while high - low > 1e-11 * high {
                    let middle = 0.5 * (low + high);
                    if site.way(middle) == before { low = middle } else { high = middle }
                }
                let (a, b) = (moments(&site, low, 0.88), moments(&site, high, 0.88));
                let apart = difference(&a, &b);
                assert!(apart < 2e-9, "A {stiffness} B {low}: {before:?}, {after:?}: {apart:e}");
                borders += 1;
            }
        }
        assert!(borders > 12, "{borders}");
    }

    #[test]
    fn more_nodes_are_never_worse() {
        for stiffness in STIFFNESSES {
            let site = Site { stiffness, entropy: 0.0 };
            for field in [0.3, 1.0, 3.0, 10.0, 20.0, 26.0, 60.0] {
                let usual = moments(&site, field, 0.88);
                for resolution in [1.2, 1.8, 3.5, 7.0, 14.0] {
                    let apart = difference(&usual, &moments(&site, field, resolution));
                    assert!(apart < 1e-10, "A {stiffness} B {field} at {resolution}: {apart:e}");
                }
            }
        }
    }
}
