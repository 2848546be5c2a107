//! Moments in weak fields, by the halves of the measure together.
//!
//! Without a field the measure is even. In a field so weak that it moves the
//! measure by less than its width, integrals over the line are integrals over
//! θ ≥ 0 with cosh Bm and sinh Bm in place of e^{Bm}: the nodes are the same in
//! all fields, and no sum has terms of both signs.

use remanent_math::elementary;

use super::outwards::{
    COARSEST, LANES, Lanes, NARROW, REACH, SPREADING, STEP, STRIDE, Steps, Valley,
};
use super::shape::{Moved, Origin, Shape, TurningPoint};
use super::{Moments, Site};

/// Fields are weak up to this fraction of the inverse width of the measure in m.
const WEAK: f64 = 0.25;
/// Terms below this fraction of the largest are dropped.
const NEGLIGIBLE: f64 = 1e-18;

/// Nodes on θ ≥ 0 with their weights without a field.
pub(super) struct Centred {
    m: Vec<f64>,
    one_minus_m2: Vec<f64>,
    weight: Vec<f64>,
    /// Exponents are relative to this place,
    origin: Origin,
    /// and this is ln(weight there / weight at the corner m = 1) without a field.
    from_corner: f64,
}

impl Site {
    /// Fields below this are weak.
    pub(super) fn weak_field(&self, shape: Shape) -> f64 {
        match shape {
            Shape::OneMode => WEAK / self.width(0.0).min(1.0),
            Shape::ShallowValley | Shape::DeepValley => WEAK,
        }
    }
}

impl Centred {
    #[inline(always)]
    pub(super) fn new<const ENTROPY: bool>(
        site: &Site,
        shape: Shape,
        turning_point: &TurningPoint,
        valley: Option<&Valley>,
        resolution: f64,
    ) -> Self {
        let centre = match shape {
            Shape::DeepValley => site.mode(0.0, turning_point).unwrap_or(0.0),
            Shape::OneMode | Shape::ShallowValley => 0.0,
        };
        let origin = Origin::at(centre);
        let from_corner = site.corner_exponent(&origin.place::<ENTROPY>(), 0.0);
        let mut nodes =
            Self { m: vec![], one_minus_m2: vec![], weight: vec![], origin, from_corner };
        let width = site.width(centre);
        match (shape, valley) {
            (Shape::ShallowValley, Some(valley)) => {
                for (k, (theta, weight)) in valley.theta.iter().zip(&valley.weight).enumerate() {
                    let place = origin.moved::<ENTROPY>(*theta);
                    let exponent = site.exponent_moved::<ENTROPY>(&place, &origin, 0.0);
                    let share = if k == 0 { 0.5 } else { 1.0 };
                    nodes.push(&place, share * weight, exponent);
                }
            }
            _ => {
                let step = STEP * (NARROW / width).clamp(1.0, COARSEST);
                let steps = Steps::new(step / resolution, SPREADING, REACH);
                let deep = shape == Shape::DeepValley;
                for side in if deep { &[1.0, -1.0][..] } else { &[1.0][..] } {
                    let first = if *side > 0.0 { 0 } else { 1 };
                    for k in first..steps.offset.len() {
                        let distance = side * width * steps.offset[k];
                        if centre + distance < 0.0 {
                            break;
                        }
                        let place = origin.moved::<ENTROPY>(distance);
                        let exponent = site.exponent_moved::<ENTROPY>(&place, &origin, 0.0);
                        let share = if k == 0 && !deep { 0.5 } else { 1.0 };
                        let weight = share * width * steps.weight[k] * place.one_minus_m2;
                        if !nodes.push(&place, weight, exponent) {
                            break;
                        }
                    }
                }
            }
        }
        // Filled up with nothing, so that sums may run in strides.
        while !nodes.m.len().is_multiple_of(STRIDE) {
            nodes.m.push(0.0);
            nodes.one_minus_m2.push(0.0);
            nodes.weight.push(0.0);
        }
        nodes
    }

    /// Adds a node; `false` if it has nothing to add.
    #[inline(always)]
    fn push(&mut self, place: &Moved, weight: f64, exponent: f64) -> bool {
        let weight = weight * elementary::exp(exponent);
        if weight < NEGLIGIBLE * self.weight.first().copied().unwrap_or(0.0) {
            return false;
        }
        self.m.push((1.0 - self.origin.gap) - place.moved);
        self.one_minus_m2.push(place.one_minus_m2);
        self.weight.push(weight);
        true
    }

    /// The moments in weak fields of either sign.
    #[inline(always)]
    pub(super) fn moments(&self, fields: &Lanes, indices: &[usize], out: &mut [Moments]) {
        let zero = [0.0; LANES];
        let (mut total, mut first, mut second, mut left) = (zero, zero, zero, zero);
        for ((m, one_minus_m2), weight) in self.m.iter().zip(&self.one_minus_m2).zip(&self.weight) {
            for i in 0..LANES {
                let growth = elementary::exp_m1(m * fields[i]);
                let inverse = 1.0 / (1.0 + growth);
                let cosh = 1.0 + 0.5 * growth * growth * inverse;
                let sinh = 0.5 * (growth + growth * inverse);
                total[i] += weight * cosh;
                first[i] += weight * m * sinh;
                second[i] += weight * m * m * cosh;
                left[i] += weight * one_minus_m2 * cosh;
            }
        }
        for (i, &k) in indices.iter().enumerate() {
            let mean = first[i] / total[i];
            // Both halves; without a field for the part that the reference leaves out.
            let ln_both = elementary::ln(2.0 * total[i]);
            out[k] = Moments {
                ln_z_from_corner: self.from_corner + ln_both - fields[i],
                gap: 1.0 - mean,
                mean,
                variance: second[i] / total[i] - mean * mean,
                one_minus_m2: left[i] / total[i],
                reference: self.origin.theta,
                ln_z_from_reference: ln_both - fields[i] * (1.0 - self.origin.gap),
            };
        }
    }
}
