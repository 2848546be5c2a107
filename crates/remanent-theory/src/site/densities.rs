//! Densities of θ in each of many fields: what the law that a task leaves is made of.
//!
//! A law needs the density at every node of its panels in every field that can have put a weight there: up to
//! millions of values. So what depends on the field alone is computed once, in one array for each quantity, and only
//! those fields are visited whose density is not negligible.

use std::ops::Range;

use remanent_math::elementary;
use remanent_math::multiversioned;

use super::shape::{Origin, SitePoint};
use super::{Moments, Site};

/// Values treated at once.
const LANES: usize = 16;
/// Fields in which the density of θ is below e^{−110} are left out: next to 1e-36 of the mass, which
/// is the least that a law keeps, they do not matter in the tenth digit.
const LEFT_OUT: f64 = 110.0;
/// Up to this many fields are all visited: that is faster than to look for those that matter.
const FEW: usize = 600;

/// What the densities of θ in many fields have in common.
#[derive(Clone, Debug)]
pub(crate) struct Densities {
    site: Site,
    /// Rising.
    fields: Vec<f64>,
    /// 1 − |⟨m⟩| in each field.
    gaps: Vec<f64>,
    /// All of these are as long as the fields and filled up to whole blocks.
    columns: Columns,
}

/// For each field: where its measure is. In a negative field that of −θ is meant.
#[derive(Clone, Debug, Default)]
struct Columns {
    field: Vec<f64>,
    /// A place inside the measure, from which exponents are taken: see [`Origin`].
    theta: Vec<f64>,
    gap: Vec<f64>,
    decay: Vec<f64>,
    share: Vec<f64>,
    /// |B| − A − cθ* at that place θ*.
    slope: Vec<f64>,
    /// ln of the integral relative to the weight there.
    ln_z: Vec<f64>,
    /// The same relative to the corner.
    ln_z_from_corner: Vec<f64>,
}

impl Densities {
    /// For rising `fields`, in which the moments are known.
    pub(crate) fn new(site: Site, fields: &[f64], moments: &[Moments]) -> Self {
        let mut columns = Columns::default();
        for (field, m) in fields.iter().zip(moments) {
            let origin = Origin::at(m.reference);
            columns.field.push(*field);
            columns.theta.push(origin.theta);
            columns.gap.push(origin.gap);
            columns.decay.push(origin.decay);
            columns.share.push(origin.share);
            columns.slope.push(field.abs() - site.stiffness - site.entropy * origin.theta);
            columns.ln_z.push(m.ln_z_from_reference);
            columns.ln_z_from_corner.push(m.ln_z_from_corner);
        }
        let Columns { field, theta, gap, decay, share, slope, ln_z, ln_z_from_corner } =
            &mut columns;
        for column in [field, theta, gap, decay, share, slope, ln_z, ln_z_from_corner] {
            column.resize(fields.len() + LANES, 0.0);
        }
        let gaps = moments.iter().map(|m| m.gap).collect();
        Self { site, fields: fields.to_vec(), gaps, columns }
    }

    /// Room for the densities in all fields.
    pub(crate) fn room(&self) -> Vec<f64> {
        vec![0.0; self.fields.len() + LANES]
    }

    /// Writes the densities at θ in all fields that matter into their places in `densities`, and says which these are.
    pub(crate) fn at(&self, theta: f64, densities: &mut [f64]) -> Range<usize> {
        let window = self.window(theta);
        if self.site.is_narrow() {
            from_inside(&self.site, &self.columns, theta, window.clone(), densities);
        } else {
            from_corner(&self.site, self, theta, window.clone(), densities);
        }
        window
    }

    /// Which fields can have put a weight at θ: they are next to each other.
    fn window(&self, theta: f64) -> Range<usize> {
        let count = self.fields.len();
        if count < FEW {
            return 0..count;
        }
        // ln P(θ|B) is concave in B, with its maximum where ⟨m⟩ = tanh θ. If there is one mode, that is about where it is at θ.
        let Site { stiffness, entropy } = self.site;
        let peak = if stiffness + entropy < 0.0 {
            self.of_mean(theta)
        } else {
            let best = stiffness * theta.tanh() + entropy * theta + (2.0 * theta).sinh();
            self.fields.partition_point(|b| *b < best)
        };
        let below = self.reach(theta, peak, |distance| peak - distance);
        let above = self.reach(theta, count - peak, |distance| peak + distance - 1);
        peak - below..peak + above
    }

    /// The first field in which ⟨m⟩ ≥ tanh θ.
    fn of_mean(&self, theta: f64) -> usize {
        let gap = SitePoint::at::<false>(theta.abs()).gap;
        let positive = self.fields.partition_point(|b| *b < 0.0);
        if theta >= 0.0 {
            positive + self.gaps[positive..].partition_point(|g| *g > gap)
        } else {
            self.gaps[..positive].partition_point(|g| *g < gap)
        }
    }

    /// How many of the `most` fields on one side of the maximum matter; `index` is that of the n-th of them, from 1.
    fn reach(&self, theta: f64, most: usize, index: impl Fn(usize) -> usize) -> usize {
        let matters = |distance: usize| self.ln_density(theta, index(distance)) > -LEFT_OUT;
        let (mut inside, mut outside) = (0, LANES);
        while outside <= most && matters(outside) {
            (inside, outside) = (outside, 2 * outside);
        }
        outside = outside.min(most + 1);
        while outside - inside > 1 + inside / 8 {
            let middle = (inside + outside) / 2;
            if matters(middle) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        outside - 1
    }

    /// ln P(θ|B) without its factor 1 − m² in one field.
    fn ln_density(&self, theta: f64, k: usize) -> f64 {
        let columns = &self.columns;
        let origin = Origin {
            theta: columns.theta[k],
            gap: columns.gap[k],
            decay: columns.decay[k],
            share: columns.share[k],
        };
        let field = self.fields[k];
        let place = origin.moved::<true>(theta.abs() - origin.theta);
        self.site.exponent_moved::<true>(&place, &origin, field.abs())
            - 2.0 * (-field * theta.tanh()).max(0.0)
            - columns.ln_z[k]
    }
}

/// One block of a column.
#[inline(always)]
fn block(column: &[f64], start: usize) -> &[f64; LANES] {
    column[start..].first_chunk().expect("columns are filled up")
}

multiversioned! {
    /// Exponents relative to a place inside the measure of each field, as in `Site::exponent_moved`: relative to the
    /// corner, those of a narrow measure would be lost in rounding. Where the field points away from θ, they are those
    /// of −θ, less 2|B m|: from one mode of a measure to the other A m² would cancel.
    fn from_inside(
        site: &Site,
        columns: &Columns,
        theta: f64,
        window: Range<usize>,
        densities: &mut [f64],
    ) {
        let (half_a, c) = (0.5 * site.stiffness, site.entropy);
        let one_minus_m2 = SitePoint::at::<false>(theta).one_minus_m2;
        let (size, twice_m) = (theta.abs(), 2.0 * theta.tanh());
        for start in window.step_by(LANES) {
            let (field, origin) = (block(&columns.field, start), block(&columns.theta, start));
            let (gap, decay) = (block(&columns.gap, start), block(&columns.decay, start));
            let (share, slope) = (block(&columns.share, start), block(&columns.slope, start));
            let ln_z = block(&columns.ln_z, start);
            let (mut distance, mut growth) = ([0.0; LANES], [0.0; LANES]);
            let (mut kept, mut exponent) = ([0.0; LANES], [0.0; LANES]);
            // In loops of their own, so that each of them vectorises.
            for i in 0..LANES {
                distance[i] = size - origin[i];
                growth[i] = elementary::exp_m1(-2.0 * distance[i]);
            }
            for i in 0..LANES {
                kept[i] = elementary::ln_1p(0.5 * gap[i] * growth[i]);
            }
            for i in 0..LANES {
                let here = decay[i] * (1.0 + growth[i]);
                let share_here = 1.0 / (1.0 + here);
                let gap_here = 2.0 * here * share_here;
                let moved = 2.0 * decay[i] * growth[i] * share_here * share[i];
                let divergence = -gap_here * distance[i] - kept[i];
                let pull = slope[i] + half_a * (gap_here + gap[i]);
                let away = (-field[i] * twice_m).max(0.0);
                exponent[i] = -moved * pull - c * divergence - (away + ln_z[i]);
            }
            let out: &mut [f64; LANES] =
                densities[start..].first_chunk_mut().expect("room is filled up");
            for i in 0..LANES {
                out[i] = elementary::exp(exponent[i]) * one_minus_m2;
            }
        }
    }
}

multiversioned! {
    /// Exponents relative to the corner on the side of θ, which lies 2|B| lower if the field points away.
    fn from_corner(
        site: &Site,
        table: &Densities,
        theta: f64,
        window: Range<usize>,
        densities: &mut [f64],
    ) {
        let near = SitePoint::at::<true>(theta.abs());
        let (a, gap, side) = (site.stiffness, near.gap, 1.0_f64.copysign(theta));
        let entropy = site.entropy * near.entropy;
        let fields = &table.fields[window.clone()];
        let ln_z = &table.columns.ln_z_from_corner[window.clone()];
        for ((density, field), ln_z) in densities[window].iter_mut().zip(fields).zip(ln_z) {
            let towards = side * field;
            let exponent = (towards - towards.abs()) - gap * ((towards - a) + 0.5 * a * gap);
            *density = elementary::exp(exponent + entropy - ln_z) * near.one_minus_m2;
        }
    }
}
