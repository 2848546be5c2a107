//! Integrals over the whole line: moments of the magnetisation.
//!
//! [`all_moments`] sorts the fields by the shape that the measure has in them:
//!
//! | field | measure | integral |
//! |---|---|---|
//! | weak | even but for a little | both halves together, [`Centred`] |
//! | strong enough for one mode | one peak | outwards from its mode, [`Site::peaks`] |
//! | two modes, a shallow valley between | two joined peaks | outwards from θ = 0, [`Site::across`] |
//! | two modes, a deep valley between | two separate peaks | each side by [`Site::peaks`], then added |
//!
//! The speed of the whole theory is decided here, so the code is written for vector units. Sixteen
//! fields fill the lanes of one block ([`Lanes`]); the last block is filled up with copies. Loops over
//! lanes have no branches: conditions choose between values (`if … { a } else { b }`), and whether any
//! lane still has something to do is collected in the bits of `open`. All lanes take as many steps as
//! the slowest one; steps that a lane does not need change nothing.
//!
//! Sums are taken relative to a reference point of each lane (its mode): `Sums` holds moments of
//! u − u*, with u = 1 − m, so that a variance of 1e-12 is not the difference of two numbers near 1.

use remanent_math::elementary;
use remanent_math::multiversioned;

use super::centred::Centred;
use super::plain::{Halves, Series, Way, cut_gaussian};
use super::shape::{Hyperbolic, Moved, Origin, Shape, SitePoint, TurningPoint};
use super::{Moments, Site};

/// Weights below this fraction of the largest are dropped.
const NEGLIGIBLE: f64 = 1e-17;
/// Nodes treated at once.
pub(super) const LANES: usize = 16;

/// How fast nodes spread out from a mode: θ = θ* + s sinh(kt)/k. Near the corner
/// m = 1 the integrand falls double-exponentially on one side of its mode, and
/// k = 1 would leave too few nodes there.
pub(super) const SPREADING: f64 = 0.4;
/// The same from the bottom of a shallow valley, slow enough to resolve the modes.
const VALLEY_SPREADING: f64 = 0.03;
/// How many nodes reach beyond the modes of any shallow valley.
const VALLEY_REACH: f64 = 150.0;
/// Trapezoid step of the integral outwards from a mode.
pub(super) const STEP: f64 = 0.145;
/// Width below which the step may be longer.
pub(super) const NARROW: f64 = 0.2;
/// How many times longer it may be.
pub(super) const COARSEST: f64 = 2.0;
/// How far the trapezoid rule may go in t.
pub(super) const REACH: f64 = 16.0;
/// Distance of the nodes at the bottom of a valley between modes half a unit wide.
const VALLEY_SPACING: f64 = 0.12;

/// How many terms are added between two looks at how large they still are.
pub(super) const STRIDE: usize = 4;

pub(super) type Lanes = [f64; LANES];

/// sinh(kt)/k and h cosh(kt) at multiples t of the trapezoid step h.
pub(super) struct Steps {
    pub(super) offset: Vec<f64>,
    pub(super) weight: Vec<f64>,
}

impl Steps {
    #[inline(always)]
    pub(super) fn new(step: f64, spreading: f64, reach: f64) -> Self {
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
    /// The reference, and ln of the integral relative to the weight there.
    reference: Lanes,
    ln_mass_from_reference: Lanes,
    gap: Lanes,
    variance: Lanes,
    one_minus_m2: Lanes,
}

impl Parts {
    fn moments(&self, i: usize) -> Moments {
        Moments {
            ln_z_from_corner: self.ln_mass[i],
            gap: self.gap[i],
            mean: 1.0 - self.gap[i],
            variance: self.variance[i],
            one_minus_m2: self.one_minus_m2[i],
            reference: self.reference[i],
            ln_z_from_reference: self.ln_mass_from_reference[i],
        }
    }

    /// These parts together with those on the other side of 0, whose corner lies
    /// e^{−2B} lower.
    fn with_other_side(&self, other: &Self, fields: &Lanes, i: usize) -> Moments {
        let ratio = (other.ln_mass[i] - 2.0 * fields[i] - self.ln_mass[i]).exp();
        let (here, there) = (1.0 / (1.0 + ratio), ratio / (1.0 + ratio));
        let other_gap = 2.0 - other.gap[i];
        let distance = other_gap - self.gap[i];
        let gap = here * self.gap[i] + there * other_gap;
        Moments {
            ln_z_from_corner: self.ln_mass[i] + ratio.ln_1p(),
            reference: self.reference[i],
            ln_z_from_reference: self.ln_mass_from_reference[i] + ratio.ln_1p(),
            gap,
            mean: 1.0 - gap,
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
        let mut parts = Parts {
            ln_mass: zero,
            reference: at.theta,
            ln_mass_from_reference: zero,
            gap: zero,
            variance: zero,
            one_minus_m2: zero,
        };
        for i in 0..LANES {
            let inverse = 1.0 / self.total[i];
            let offset = self.offset[i] * inverse;
            parts.ln_mass_from_reference[i] = elementary::ln(self.total[i] * scale[i]);
            parts.ln_mass[i] =
                site.corner_exponent(&at.place(i), fields[i]) + parts.ln_mass_from_reference[i];
            parts.gap[i] = at.gap[i] + offset;
            parts.variance[i] = self.offset2[i] * inverse - offset * offset;
            parts.one_minus_m2[i] = self.one_minus_m2[i] * inverse;
        }
        parts
    }
}

/// The points of reference of several fields.
struct References {
    theta: Lanes,
    gap: Lanes,
    one_minus_m2: Lanes,
    entropy: Lanes,
}

impl References {
    #[inline(always)]
    fn at<const ENTROPY: bool>(theta: &Lanes) -> Self {
        let zero = [0.0; LANES];
        let mut references = Self { theta: *theta, gap: zero, one_minus_m2: zero, entropy: zero };
        for (i, theta) in theta.iter().enumerate() {
            let place = SitePoint::at::<ENTROPY>(*theta);
            references.gap[i] = place.gap;
            references.one_minus_m2[i] = place.one_minus_m2;
            references.entropy[i] = place.entropy;
        }
        references
    }

    #[inline(always)]
    fn place(&self, i: usize) -> SitePoint {
        SitePoint { gap: self.gap[i], one_minus_m2: self.one_minus_m2[i], entropy: self.entropy[i] }
    }

    /// Whether no weight is worth adding any more, in any lane. Bits instead of an early return: the
    /// loop then is one vector comparison.
    #[inline(always)]
    fn outweigh(&self, weights: &Lanes) -> bool {
        let mut open = 0_u64;
        for (weight, size) in weights.iter().zip(&self.one_minus_m2) {
            open |= u64::from(*weight > NEGLIGIBLE * size);
        }
        open == 0
    }
}

/// Nodes from the bottom of a shallow valley outwards, on the side θ ≥ 0.
pub(super) struct Valley {
    pub(super) theta: Vec<f64>,
    gap: Vec<f64>,
    one_minus_m2: Vec<f64>,
    entropy: Vec<f64>,
    /// Quadrature weight times 1 − m².
    pub(super) weight: Vec<f64>,
}

impl Valley {
    #[inline(always)]
    fn new<const ENTROPY: bool>(
        site: &Site,
        turning_point: &TurningPoint,
        resolution: f64,
    ) -> Self {
        let mode = site.mode(0.0, turning_point).unwrap_or(0.0);
        let scale = VALLEY_SPACING * (site.width(mode) / 0.5).min(1.0);
        let Steps { offset: mut theta, mut weight } =
            Steps::new(1.0 / resolution, VALLEY_SPREADING, VALLEY_REACH);
        let count = theta.len();
        let (mut gap, mut one_minus_m2, mut entropy) =
            (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
        for j in 0..count {
            theta[j] *= scale;
            let place = SitePoint::at::<ENTROPY>(theta[j]);
            gap[j] = place.gap;
            one_minus_m2[j] = place.one_minus_m2;
            entropy[j] = place.entropy;
            weight[j] *= scale * place.one_minus_m2;
        }
        Self { theta, gap, one_minus_m2, entropy, weight }
    }
}

impl Site {
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
            // Not `clamp`, which checks its bounds: the loop would not vectorise.
            theta[i] = guess.max(low[i].min(high[i])).min(high[i]);
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

    /// The integrals outwards from the modes, down to θ = `floor`. The steps of the last block, and how long they
    /// were, are kept: most often they are those of the next.
    #[inline(always)]
    fn peaks<const ENTROPY: bool>(
        &self,
        fields: &Lanes,
        turning_point: &TurningPoint,
        floor: f64,
        resolution: f64,
        (step_of, steps): &mut (f64, Steps),
    ) -> Parts {
        let (mode, width) = self.modes(fields, turning_point);
        // Narrow peaks are nearly Gaussian and need fewer nodes.
        let widest = width.iter().fold(0.0, |a: f64, b| a.max(*b));
        let step = STEP * (NARROW / widest).clamp(1.0, COARSEST) / resolution;
        if *step_of != step {
            (*step_of, *steps) = (step, Steps::new(step, SPREADING, REACH));
        }
        let references = References::at::<ENTROPY>(&mode);
        let (mut decay, mut shares) = ([0.0; LANES], [0.0; LANES]);
        for i in 0..LANES {
            let origin = Origin::at(mode[i]);
            (decay[i], shares[i]) = (origin.decay, origin.share);
        }
        let origin = |i: usize| Origin {
            theta: mode[i],
            gap: references.gap[i],
            decay: decay[i],
            share: shares[i],
        };
        let mut sums = Sums::new();
        for side in [1.0, -1.0] {
            let from = if side > 0.0 { 0 } else { 1 };
            let offsets = steps.offset[from..].chunks_exact(STRIDE);
            let jacobians = steps.weight[from..].chunks_exact(STRIDE);
            for (offsets, jacobians) in offsets.zip(jacobians) {
                let mut weight = [0.0; LANES];
                let (mut growth, mut exponent) = ([0.0; LANES], [0.0; LANES]);
                let (mut moved, mut one_minus_m2) = ([0.0; LANES], [0.0; LANES]);
                let (mut gap, mut share, mut divergence) =
                    ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
                for (offset, jacobian) in offsets.iter().zip(jacobians) {
                    // In loops of their own, so that each of them vectorises.
                    for i in 0..LANES {
                        growth[i] = elementary::exp_m1(-2.0 * side * width[i] * offset);
                    }
                    for i in 0..LANES {
                        let origin = origin(i);
                        let place = origin.grown(growth[i]);
                        share[i] = place.share;
                        gap[i] = place.gap;
                        moved[i] = place.moved;
                        one_minus_m2[i] = place.one_minus_m2;
                    }
                    for i in 0..LANES {
                        let distance = side * width[i] * offset;
                        let inside = mode[i] + distance > floor;
                        weight[i] = if inside { one_minus_m2[i] * *jacobian } else { 0.0 };
                    }
                    if ENTROPY {
                        for i in 0..LANES {
                            let distance = side * width[i] * offset;
                            divergence[i] =
                                origin(i).divergence(distance, growth[i], gap[i], share[i]);
                        }
                    }
                    for i in 0..LANES {
                        let place = Moved {
                            gap: gap[i],
                            moved: moved[i],
                            one_minus_m2: one_minus_m2[i],
                            divergence: divergence[i],
                            share: share[i],
                        };
                        exponent[i] = self.exponent_moved::<ENTROPY>(&place, &origin(i), fields[i]);
                    }
                    for i in 0..LANES {
                        weight[i] *= elementary::exp(exponent[i]);
                    }
                    for i in 0..LANES {
                        sums.add(i, weight[i], moved[i], one_minus_m2[i]);
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
                    let place = SitePoint {
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
}

multiversioned! {
    /// The moments in each field, by the way that the shape of the measure there asks for. Fields of
    /// either sign: the results for −B are those of −m in B.
    pub(super) fn all_moments<const ENTROPY: bool>(
        site: &Site,
        fields: &[f64],
        resolution: f64,
        out: &mut Vec<Moments>,
    ) {
        let turning_point = site.turning_point();
        let shape = site.shape();
        let valley = (shape == Shape::ShallowValley)
            .then(|| Valley::new::<ENTROPY>(site, &turning_point, resolution));
        out.resize(fields.len(), Moments::default());
        let weak_field = site.weak_field(shape);
        let (weak, strong): (Vec<usize>, Vec<usize>) =
            (0..fields.len()).partition(|&k| fields[k].abs() < weak_field);
        if !weak.is_empty() {
            let centred =
                Centred::new::<ENTROPY>(site, shape, &turning_point, valley.as_ref(), resolution);
            for indices in weak.chunks(LANES) {
                centred.moments(&gather(fields, indices), indices, out);
            }
        }
        let strong = if ENTROPY { strong } else { plain_moments(site, fields, strong, resolution, out) };
        let mut steps = (f64::NAN, Steps { offset: vec![], weight: vec![] });
        // Below this field there is a second mode, on the other side.
        let two_modes = turning_point.pull;
        let (double, single): (Vec<usize>, Vec<usize>) =
            strong.into_iter().partition(|&k| fields[k].abs() < two_modes);
        for indices in single.chunks(LANES) {
            let block = gather(fields, indices);
            let parts = site.peaks::<ENTROPY>(&block, &turning_point, f64::NEG_INFINITY, resolution, &mut steps);
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
            let here = site.peaks::<ENTROPY>(&block, &turning_point, 0.0, resolution, &mut steps);
            // The other side holds e^{−2B}, against a variance of about 1/(A² + B²) here.
            let farthest = 20.0 + (1.0 - site.stiffness).ln();
            let matters = |field: f64| field < farthest;
            if !block.iter().any(|field| matters(*field)) {
                for (i, &k) in indices.iter().enumerate() {
                    out[k] = here.moments(i);
                }
                continue;
            }
            let other = site.peaks::<ENTROPY>(&block.map(|b| -b), &turning_point, 0.0, resolution, &mut steps);
            for (i, &k) in indices.iter().enumerate() {
                out[k] = if matters(block[i]) && turning_point.pull > block[i] {
                    here.with_other_side(&other, &block, i)
                } else {
                    here.moments(i)
                };
            }
        }
    }
}

/// Writes the moments in those of the fields where a measure without entropy needs no integral
/// outwards from its mode; answers the others.
#[inline(always)]
fn plain_moments(
    site: &Site,
    fields: &[f64],
    strong: Vec<usize>,
    resolution: f64,
    out: &mut [Moments],
) -> Vec<usize> {
    let (mut series, mut cut, mut halves, mut others) = (vec![], vec![], vec![], vec![]);
    let mut strongest = 0.0_f64;
    for k in strong {
        let field = fields[k].abs();
        match site.way(field) {
            Way::Series => series.push(k),
            Way::CutGaussian => cut.push(k),
            Way::Halves => {
                strongest = strongest.max(field);
                halves.push(k);
            }
            Way::Outwards => others.push(k),
        }
    }
    for indices in series.chunks(LANES) {
        Series::moments(site, &gather(fields, indices), indices, out);
    }
    for indices in cut.chunks(LANES) {
        cut_gaussian(site, &gather(fields, indices), indices, out);
    }
    if !halves.is_empty() {
        let nodes = Halves::new(site, strongest, resolution);
        for indices in halves.chunks(LANES) {
            nodes.moments(site, &gather(fields, indices), indices, out);
        }
    }
    others
}

/// The sizes of some of the fields; the last of them fills up the block.
#[inline(always)]
pub(super) fn gather(fields: &[f64], indices: &[usize]) -> Lanes {
    let mut block = [fields[indices[indices.len() - 1]].abs(); LANES];
    for (b, &k) in block.iter_mut().zip(indices) {
        *b = fields[k].abs();
    }
    block
}
