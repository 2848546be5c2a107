//! Integrals over one half of the line: the probability of either sign.

use remanent_math::multiversioned;
use std::sync::LazyLock;

use remanent_math::{elementary, legendre};

use super::outwards::gather;
use super::plain::{Halves, Way};
use super::shape::{DEPTH, Hyperbolic, SitePoint, TurningPoint};
use super::{STRONG_ENTROPY, Site};

/// Nodes of a panel.
const LANES: usize = 16;

static LEGENDRE: LazyLock<([f64; LANES], [f64; LANES])> = LazyLock::new(legendre::rule::<LANES>);

impl Site {
    /// The integral over θ > 0 in a field of either sign: a place, and ln of the
    /// integral relative to the weight there.
    #[inline(always)]
    fn ln_half<const ENTROPY: bool>(
        &self,
        field: f64,
        turning_point: &TurningPoint,
        refinement: f64,
    ) -> (SitePoint, f64) {
        let (nodes, weights) = &*LEGENDRE;
        let mode = self.mode(field, turning_point).unwrap_or(0.0);
        let at_zero = self.exponent(0.0, field);
        let at_mode = self.exponent(mode, field);
        let top = at_zero.max(at_mode);
        let highest = if at_mode >= at_zero { mode } else { 0.0 };
        let reference = SitePoint::at::<ENTROPY>(highest);
        let mut total = [0.0; LANES];
        // From the highest point outwards; and if there is another hill beyond a valley, from there.
        // A walk in one loop: a function compiled for this instruction set, not called from it.
        let is_hill = at_mode >= at_zero;
        let mut bottom = f64::INFINITY;
        for part in 0..3 {
            let (start, side, limit) = match (is_hill, part) {
                (true, 0) => (mode, 1.0, f64::INFINITY),
                (true, 1) => (mode, -1.0, 0.0),
                (true, _) => (0.0, 1.0, bottom),
                (false, 0) => (0.0, 1.0, f64::INFINITY),
                (false, _) if bottom >= mode => break,
                (false, 1) => (mode, -1.0, bottom),
                (false, _) => (mode, 1.0, f64::INFINITY),
            };
            // Panels from `start` to where nothing is left to add, or to `limit`.
            let mut from = start;
            while (limit - from) * side > 0.0 && self.exponent(from, field) > top - DEPTH {
                // A panel as long as the integrand's own scale where it begins.
                let h = Hyperbolic::at(from);
                let slope = (h.sech2 * self.pull(from, &h, field)).abs().max(1e-12);
                let bend = (h.sech2 * self.restoring(&h)).abs().max(1e-12);
                let length = 1.2_f64.min(4.0 / bend.sqrt()).min(9.0 / slope) / refinement;
                let to = if side > 0.0 {
                    (from + length).min(limit)
                } else {
                    (from - length).max(limit)
                };
                let (middle, half) = (0.5 * (from + to), 0.5 * (to - from).abs());
                for i in 0..LANES {
                    let place = SitePoint::at::<ENTROPY>(middle + half * nodes[i]);
                    let exponent = self.exponent_from::<ENTROPY>(&place, &reference, field);
                    total[i] += half * weights[i] * elementary::exp(exponent) * place.one_minus_m2;
                }
                from = to;
            }
            if part == usize::from(is_hill) {
                bottom = from;
            }
        }
        (reference, total.iter().sum::<f64>().ln())
    }

    /// ln of the ratio of the integrals over θ > 0 and over θ < 0.
    #[inline(always)]
    fn ln_ratio<const ENTROPY: bool>(
        &self,
        field: f64,
        turning_point: &TurningPoint,
        refinement: f64,
    ) -> f64 {
        let (there, with) = self.ln_half::<ENTROPY>(field, turning_point, refinement);
        let (here, against) = self.ln_half::<ENTROPY>(-field, turning_point, refinement);
        // The exponents at the two places, one of them mirrored, as differences.
        let sum = 2.0 - there.gap - here.gap;
        let squares = (here.gap - there.gap) * sum;
        (with - against) + field * sum - 0.5 * self.stiffness * squares
            + self.entropy * (there.entropy - here.entropy)
    }
}

/// The ratios of a measure without entropy in those fields in which nodes can be shared, and NaN in
/// the others.
#[inline(always)]
fn shared_ratios(site: &Site, fields: &[f64], resolution: f64) -> Vec<f64> {
    let shares = |field: f64| site.way(field.abs()) == Way::Halves;
    let indices: Vec<usize> = (0..fields.len()).filter(|&k| shares(fields[k])).collect();
    let mut ratios = vec![f64::NAN; fields.len()];
    if indices.is_empty() {
        return ratios;
    }
    let strongest = indices.iter().fold(0.0, |m: f64, &k| m.max(fields[k].abs()));
    let halves = Halves::new(site, strongest, resolution);
    for block in indices.chunks(LANES) {
        let found = halves.ln_ratios(&gather(fields, block));
        for (ratio, &k) in found.iter().zip(block) {
            ratios[k] = *ratio;
        }
    }
    ratios
}

multiversioned! {
    pub(super) fn all_sign_probabilities<const ENTROPY: bool>(
        site: &Site,
        fields: &[f64],
        resolution: f64,
        out: &mut Vec<(f64, f64)>,
    ) {
        let turning_point = site.turning_point();
        // Beyond this field the smaller probability is e^{−100} and less of the other, in a
        // measure too narrow for anyone to ask how much less.
        let firmness = site.stiffness + site.entropy + 2.0;
        let decided = if ENTROPY && site.entropy > STRONG_ENTROPY && firmness > STRONG_ENTROPY {
            15.0 * firmness.sqrt()
        } else {
            f64::INFINITY
        };
        let mut ratios = if ENTROPY { vec![] } else { shared_ratios(site, fields, resolution) };
        ratios.resize(fields.len(), f64::NAN);
        for (&signed, &known) in fields.iter().zip(&ratios) {
            let field = signed.abs();
            if field > decided {
                let sure = (f64::NEG_INFINITY, 0.0);
                out.push(if signed >= 0.0 { sure } else { (sure.1, sure.0) });
                continue;
            }
            let ratio = if known.is_nan() {
                site.ln_ratio::<ENTROPY>(field, &turning_point, resolution)
            } else {
                known
            };
            let total = ratio.max(0.0) + (-ratio.abs()).exp().ln_1p();
            let (minor, major) = (-total, ratio - total);
            out.push(if signed >= 0.0 { (minor, major) } else { (major, minor) });
        }
    }
}
