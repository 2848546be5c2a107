//! The law of the field on a weight, and averages over it.
//!
//! In the gauge where the task's teacher is all ones, the field on a weight is
//! B = r̂ + √q̂_0 z + c θ̃, where z is a standard Gaussian and θ̃ = artanh m̃ is
//! what the previous task left there (nothing, for a first task). So the four
//! nested integrals of the paper's second task are one integral over B of
//! functions of B alone, against a density that is a mixture of Gaussians of
//! width √q̂_0.

use std::borrow::Cow;

use remanent_math::grid::{Cluster, Nodes, Spread};

use crate::inherited::InheritedLaw;
use crate::law::{Field, NODES, Panel, Panels, fold_nodes};
use crate::overlaps::{Conjugates, Overlaps};
use crate::resolution::Resolution;
use crate::site::{Moments, STRONG_PRIOR, Site};
use crate::smoothness::Smoothness;

/// Gaussian tails are cut at this many standard deviations above the mean.
const REACH: f64 = 9.0;
/// And below it, where rare fields set a weight against its teacher.
const REACH_BELOW: f64 = 11.0;

/// If B = 0 is between so many standard deviations below the mean, they are cut beyond: near the corner all weights are nearly
/// the same, and q_0 − r² of 1e-24 may be due to the few that have the wrong sign.
const DECISIVE: (f64, f64) = (8.0, 13.5);

/// No law of θ knows of fields beyond this many, which have e^{−84} of the mass.
const REACH_OF_LAWS: f64 = 13.0;
/// Beyond this many standard deviations a Gaussian is 0.
const UNDERFLOW: f64 = 37.0;
/// Beyond this many it has e^{−98} of the mass, and leaves nothing that a law keeps.
const UNSEEN: f64 = 14.0;
/// Beyond this many it does not matter to an average. Near the corner a spread q_0 − r² of 1e-16 may be that of
/// few weights in rare fields.
const NEGLIGIBLE: f64 = 13.0;

/// A law longer than this many of its finest scales is worth being looked at place by place.
const LONG: f64 = 2500.0;
/// Grids of more nodes than this are worth being fitted to the law of the field place by place.
const MANY: f64 = 1000.0;
/// The length of a panel of 16 nodes in units of the width of a Gaussian, of the scale of a law on panels, and of
/// that of a cluster.
const OF_GAUSSIAN: f64 = 5.0;
const OF_PANEL: f64 = 7.0;
const OF_CLUSTER: f64 = 1.6;
/// Panels are not longer than this at a coarse resolution.
const COARSEST: f64 = 0.6;

/// Means that differ by less than this fraction are nearly equal: their differences lose digits.
const NEARLY_EQUAL: f64 = 1e-5;

/// The law of B.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    /// r̂.
    pub(crate) mean: f64,
    /// √q̂_0.
    pub(crate) deviation: f64,
    /// c.
    pub(crate) coupling: f64,
    /// The law of θ̃, if there was a previous task.
    pub(crate) inherited: Option<&'a InheritedLaw>,
}

/// What a grid of fields is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Averages of smooth moments.
    Moments,
    /// The probabilities of either sign.
    Signs,
    /// Densities of θ, which vary faster with the field.
    Densities,
}

impl Purpose {
    /// How many standard deviations of a Gaussian matter.
    fn reach(self) -> f64 {
        match self {
            Self::Moments => NEGLIGIBLE,
            Self::Signs => UNDERFLOW,
            Self::Densities => UNSEEN,
        }
    }
}

/// Averages over the field of what the site measure says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiteAverages {
    /// The order parameters.
    pub overlaps: Overlaps,
    /// E[ln Z(B)].
    pub ln_z: f64,
    /// E[ln Z(B) − B] + A/2, which is not a small difference of large numbers where
    /// most weights are close to their teachers'.
    pub ln_z_rest: f64,
    /// E[ln Z(B) − c ln 2cosh(B/c)] + A/2: the same from the weight that the field alone would put at tanh(B/c). 0 where
    /// c is small.
    pub ln_z_from_prior: f64,
    /// E[(⟨m²⟩ − ⟨m⟩²)²], the entropic factor of the replicon.
    pub variance2: f64,
    /// How far the probabilities of all fields of the grid were from 1.
    pub defect: f64,
}

/// Fields with quadrature weights (without the density).
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldGrid {
    /// Abscissae, rising.
    pub fields: Vec<f64>,
    /// Quadrature weights.
    pub weights: Vec<f64>,
}

impl<'a> Fields<'a> {
    /// The law that the conjugate parameters imply.
    pub fn new(
        conjugates: &Conjugates,
        coupling: f64,
        inherited: Option<&'a InheritedLaw>,
    ) -> Self {
        Self { mean: conjugates.r_hat, deviation: conjugates.q_0_hat.sqrt(), coupling, inherited }
    }

    /// The law of θ̃, if it moves the field.
    pub(crate) fn mixing(&self) -> Option<&'a InheritedLaw> {
        self.inherited.filter(|law| self.coupling > 0.0 && law.moves())
    }

    /// On what scale the law of the field changes.
    pub(crate) fn smoothness(&self) -> f64 {
        let inherited = self.mixing().map_or(0.0, |law| 0.46 * self.coupling * law.finest());
        self.deviation.max(inherited)
    }

    /// The same place by place, if the whole law is much longer than its finest place. Laws of bounded anchors are: their
    /// panels are graded towards the jump at the bound, down to where anchors differ by rounding.
    pub(crate) fn local_smoothness(&self) -> Smoothness {
        let finest = self.smoothness();
        let is_long = |law: &InheritedLaw| {
            let panels = &law.panels().panels;
            let ends = panels.first().zip(panels.last());
            let length = ends.map_or(0.0, |(first, last)| last.middle - first.middle);
            self.coupling * length > LONG * finest
        };
        match self.mixing() {
            Some(law) if is_long(law) => {
                Smoothness::new(&law.panels().panels, self.mean, self.coupling, self.deviation)
            }
            _ => Smoothness::uniform(finest),
        }
    }

    /// Intervals outside of which there is no field, in rising order. Except for moments, they
    /// reach to where B = 0 is improbable for good.
    fn intervals(&self, purpose: Purpose) -> Vec<(f64, f64)> {
        let variance = self.deviation * self.deviation;
        let mut ends: Vec<(f64, f64)> = match self.mixing() {
            None => vec![(self.mean, self.mean)],
            Some(law) => {
                let of = |theta: f64| self.mean + self.coupling * theta;
                law.panels().intervals().iter().map(|(from, to)| (of(*from), of(*to))).collect()
            }
        };
        for (low, high) in &mut ends {
            let (from, to) = (*low, *high);
            let is_decisive =
                from > DECISIVE.0 * self.deviation && from < DECISIVE.1 * self.deviation;
            let below = if is_decisive { DECISIVE.1 } else { REACH_BELOW };
            *low = from - below * self.deviation;
            *high = to + REACH * self.deviation;
            // Whether a weight has flipped is decided around B = 0, however rare that
            // is; beyond it the density must fall by e^{−40} once more.
            let decides_sign = |towards: f64| (towards.max(0.0).powi(2) + 80.0 * variance).sqrt();
            let farthest = match purpose {
                Purpose::Moments => 0.0,
                Purpose::Densities => REACH_OF_LAWS * self.deviation,
                Purpose::Signs => f64::INFINITY,
            };
            *low = low.min(from - decides_sign(from).min(farthest));
            *high = high.max(to + decides_sign(-to).min(farthest));
        }
        let mut joined: Vec<(f64, f64)> = Vec::with_capacity(ends.len());
        for (low, high) in ends {
            match joined.last_mut() {
                Some(last) if low <= last.1 => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        joined
    }

    /// A grid fit for averages of functions of the site measure.
    pub(crate) fn grid(&self, site: &Site, purpose: Purpose, resolution: Resolution) -> FieldGrid {
        let intervals = self.intervals(purpose);
        let (low, high) = (intervals[0].0, intervals[intervals.len() - 1].1);
        let smooth = self.smoothness();
        let (a, firmness) = (site.stiffness, site.stiffness + site.entropy + 2.0);
        let switch = firmness.max(1.0).sqrt();
        let mut clusters = Vec::with_capacity(5);
        let mut add = |centre: f64, scale: f64, strength: f64| {
            clusters.push(Cluster { centre, scale, strength });
        };
        let mut spacing = 0.6 * smooth;
        let smoothness = self.local_smoothness();
        match purpose {
            Purpose::Moments => {
                // Around B = 0 the magnetisation switches, unless it is stiff enough to
                // follow the field up to the corner. (A cluster wider than the law of the
                // field adds few nodes, so it need not be taken away.)
                if firmness < 30.0 || a < 4.0 {
                    add(0.0, switch, 1.0);
                }
                // Where the magnetisation saturates, on the scale of its fluctuation.
                if a > 4.0 {
                    let corner = (a + 2.0).sqrt() + 0.5 * site.entropy;
                    add(a, corner, 1.0);
                    add(-a, corner, 1.0);
                }
            }
            Purpose::Signs | Purpose::Densities => {
                add(0.0, switch, 1.0);
                // The density at a given θ changes with the field on the scale `switch`, up to where the magnetisation
                // saturates. With two modes it does on that of one of them, and the weight of the two around B = 0.
                let scale = if firmness >= 0.0 {
                    spacing = 0.5 * smooth;
                    switch
                } else {
                    site.scale_of_one_mode()
                };
                // A grid that is fitted to the law may be coarser than its finest scale.
                let may_be_coarse = smooth > scale || smoothness.varies();
                if purpose == Purpose::Densities && may_be_coarse {
                    let extent = a.max(0.0) + site.entropy + scale;
                    add(0.0, extent, 0.32 * extent / scale);
                }
            }
        }
        // The law of a bounded anchor ends with a jump, which the Gaussian smooths.
        if let Some(bound) = self.mixing().and_then(InheritedLaw::bound) {
            for edge in [-bound, bound] {
                add(self.mean + self.coupling * edge, self.deviation, 1.0);
            }
        }
        clusters.retain(|c| c.centre > low - 10.0 * c.scale && c.centre < high + 10.0 * c.scale);
        let spread = Spread {
            spacing: spacing / resolution.factor(),
            step: 0.16 / resolution.factor(),
            clusters: &clusters,
        };
        let mut grid = FieldGrid::default();
        for (low, high) in intervals {
            let many = (high - low) / spread.spacing;
            let panels = if smoothness.varies() && many > MANY {
                fitted_panels(low, high, &smoothness, &spread, resolution)
            } else {
                vec![]
            };
            if panels.is_empty() || (NODES * panels.len()) as f64 > 0.5 * many {
                let Nodes { x, weights } = spread.nodes(low, high);
                grid.fields.extend(x);
                grid.weights.extend(weights);
            } else {
                grid.fields.extend(panels.iter().flat_map(Panel::thetas));
                grid.weights.extend(panels.iter().flat_map(Panel::weights));
            }
        }
        grid
    }

    /// The probability of each node of a grid, normalised to 1.
    pub(crate) fn probabilities(&self, grid: &FieldGrid, purpose: Purpose) -> Vec<f64> {
        self.normalised(grid, purpose).0
    }

    /// The same, and by how much they missed 1 before: what the grid does not resolve of the law.
    pub(crate) fn normalised(&self, grid: &FieldGrid, purpose: Purpose) -> (Vec<f64>, f64) {
        let mut p = match self.mixing() {
            None => {
                let mut p = vec![0.0; grid.fields.len()];
                for ((p, b), w) in p.iter_mut().zip(&grid.fields).zip(&grid.weights) {
                    *p = w * self.gaussian(*b);
                }
                p
            }
            Some(law) => self.mixed(grid, law.panels(), law.masses(), purpose),
        };
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|v| *v /= total);
        (p, (total - 1.0).abs())
    }

    fn gaussian(&self, field: f64) -> f64 {
        let z = (field - self.mean) / self.deviation;
        (-0.5 * z * z).exp() / (self.deviation * (2.0 * std::f64::consts::PI).sqrt())
    }

    /// ln of the density of a Gaussian field (nothing inherited).
    pub(crate) fn ln_gaussian(&self, field: f64) -> f64 {
        let z = (field - self.mean) / self.deviation;
        -0.5 * z * z - (self.deviation * (2.0 * std::f64::consts::PI).sqrt()).ln()
    }

    /// The probability of each node when θ̃ has `masses` at the nodes of `panels`.
    pub(crate) fn mixed(
        &self,
        grid: &FieldGrid,
        panels: &Panels,
        masses: &[f64],
        purpose: Purpose,
    ) -> Vec<f64> {
        let (reach, field) = (purpose.reach(), self.field());
        let own = self.inherited.filter(|a| std::ptr::eq(a.masses(), masses));
        let width = self.deviation / self.coupling;
        let mut p = if panels.folds_masses(width) {
            // Far in the tails of a Gaussian all nodes are needed.
            let (thetas, masses) = match own {
                Some(law) if purpose == Purpose::Moments => law.merged(width),
                _ => (panels.thetas.as_slice(), masses),
            };
            let mut p = vec![0.0; grid.fields.len()];
            fold_nodes(thetas, masses, &field, reach, &grid.fields, &mut p);
            p
        } else {
            let polynomials: Cow<[[f64; NODES]]> = match own {
                Some(law) => law.polynomials().into(),
                None => panels.densities(masses).into(),
            };
            panels.fold_densities(&[&polynomials], &field, &grid.fields).remove(0)
        };
        p.iter_mut().zip(&grid.weights).for_each(|(p, w)| *p *= w);
        p
    }

    /// The same for several laws on the same panels, where they matter to the law that a task leaves.
    pub(crate) fn all_mixed(
        &self,
        grid: &FieldGrid,
        panels: &Panels,
        columns: &[&[f64]],
    ) -> Vec<Vec<f64>> {
        let mut all = if panels.folds_masses(self.deviation / self.coupling) {
            panels.fold_all_masses(columns, &self.field(), UNSEEN, &grid.fields)
        } else {
            let laws: Vec<_> = columns.iter().map(|masses| panels.densities(masses)).collect();
            let laws: Vec<&[[f64; NODES]]> = laws.iter().map(Vec::as_slice).collect();
            panels.fold_densities(&laws, &self.field(), &grid.fields)
        };
        for p in &mut all {
            p.iter_mut().zip(&grid.weights).for_each(|(p, w)| *p *= w);
        }
        all
    }

    fn field(&self) -> Field {
        Field { mean: self.mean, coupling: self.coupling, deviation: self.deviation }
    }
}

/// Gauss–Legendre panels for fields from `low` to `high`, each as long as the law of the field is smooth there and
/// the clusters of `spread` allow.
fn fitted_panels(
    low: f64,
    high: f64,
    smoothness: &Smoothness,
    spread: &Spread,
    resolution: Resolution,
) -> Vec<Panel> {
    let refinement = (resolution.factor() / Resolution::STANDARD.factor()).max(COARSEST);
    let longest = |from: f64, to: f64| {
        let scale = smoothness.between(from, to);
        let of_law = if smoothness.is_width(scale) { OF_GAUSSIAN } else { OF_PANEL } * scale;
        let of_clusters = spread.clusters.iter().map(|c| {
            let distance = (from - c.centre).max(c.centre - to).max(0.0);
            OF_CLUSTER * (c.scale * c.scale + distance * distance).sqrt() / c.strength
        });
        of_clusters.fold(of_law, f64::min) / refinement
    };
    let mut panels = vec![];
    let mut from = low;
    while from < high {
        let mut length = longest(from, from);
        for _ in 0..8 {
            let allowed = longest(from, from + length);
            if allowed >= length {
                break;
            }
            length = allowed.max(0.5 * length);
        }
        let to = (from + length).min(high);
        panels.push(Panel { middle: 0.5 * (from + to), half: 0.5 * (to - from), scale: 0.0 });
        from = to;
    }
    panels
}

/// The order parameters and what else the free energy needs, from the law of the field.
///
/// Most nodes of a law with long tails are in them. Fields are taken in order of their probability, until what is left
/// cannot matter to any average.
pub fn site_averages(site: &Site, fields: &Fields, resolution: Resolution) -> SiteAverages {
    let grid = fields.grid(site, Purpose::Moments, resolution);
    let (probabilities, defect) = fields.normalised(&grid, Purpose::Moments);
    let count = grid.fields.len();
    let (mut moments, mut part) = (vec![Moments::default(); count], vec![]);
    // The moments in the fields whose probability is above `least`, and not above `most`.
    let mut compute = |moments: &mut [Moments], least: f64, most: f64| {
        let is_new = |k: &usize| probabilities[*k] > least && probabilities[*k] <= most;
        let new: Vec<usize> = (0..count).filter(is_new).collect();
        let at: Vec<f64> = new.iter().map(|&k| grid.fields[k]).collect();
        site.moments(&at, resolution.factor(), &mut part);
        new.iter().zip(&part).for_each(|(&k, m)| moments[k] = *m);
    };
    let mut more_probable = f64::INFINITY;
    for least in PARTS {
        let taken: Vec<usize> = (0..count).filter(|&k| probabilities[k] > least).collect();
        if taken.is_empty() || taken.len() > MOST * count / 100 {
            break;
        }
        compute(&mut moments, least, more_probable);
        more_probable = least;
        let of = |values: &[f64]| taken.iter().map(|&k| values[k]).collect::<Vec<f64>>();
        let moments: Vec<Moments> = taken.iter().map(|&k| moments[k]).collect();
        let averages = average(site, &of(&grid.fields), &of(&probabilities), &moments);
        let left: f64 = probabilities.iter().filter(|p| **p <= least).sum();
        let strongest = f64::max(grid.fields[0].abs(), grid.fields[count - 1].abs());
        if is_negligible(left, strongest, site, &averages) {
            return SiteAverages { defect, ..averages };
        }
    }
    compute(&mut moments, f64::NEG_INFINITY, more_probable);
    SiteAverages { defect, ..average(site, &grid.fields, &probabilities, &moments) }
}

/// The probabilities above which fields are taken, one part after the other; at last all.
const PARTS: [f64; 2] = [1e-20, 1e-25];
/// Parts with more percent of the fields than this are not worth being tried.
const MOST: usize = 85;

/// Whether fields of this probability, none of them larger than `strongest`, cannot change an average in its thirteenth
/// digit, or the free energy by 1e-12.
fn is_negligible(probability: f64, strongest: f64, site: &Site, averages: &SiteAverages) -> bool {
    let o = &averages.overlaps;
    // The measure is at least as narrow as a Gaussian with the stiffness A + c.
    let variance = 1.0 / (site.stiffness + site.entropy).max(1.0);
    // Where all means are nearly the same, their differences are sums over neighbouring fields.
    let differs = o.q_0_minus_r2 > 10.0 * NEARLY_EQUAL * NEARLY_EQUAL;
    let matters = |largest: f64, sum: f64| largest * probability > 1e-13 * sum;
    differs
        && !matters(4.0, o.q_0_minus_r2)
        && !matters(2.0, o.one_minus_q_d)
        && !matters(variance, o.q_d_minus_q_0)
        && !matters(variance * variance, averages.variance2)
        && !matters(3.0 * (1.0 + strongest), 10.0)
}

/// The variance of ⟨m⟩ over the fields, where its values are so near to each other that their differences are lost in
/// the rounding of `size`. They are also sums of d⟨m⟩/dB, the variance of m in a field, and in each field the way
/// with the smaller error is taken.
fn spread_of_means(fields: &[f64], probabilities: &[f64], moments: &[Moments], size: f64) -> f64 {
    let count = fields.len();
    let likeliest =
        (0..count).fold(0, |best, k| if probabilities[k] > probabilities[best] { k } else { best });
    // From gaps or means, whichever keeps its accuracy.
    let apart = |k: usize| {
        let (a, b) = (&moments[k], &moments[likeliest]);
        let sign = if fields[k] >= 0.0 { 1.0 } else { -1.0 };
        sign * if (fields[k] >= 0.0) != (fields[likeliest] >= 0.0) {
            a.mean + b.mean
        } else if b.mean < 0.5 {
            a.mean - b.mean
        } else {
            b.gap - a.gap
        }
    };
    // The trapezoid rule from field k to the next, less h³ v''/12; what is left is of the size of the change of v''.
    let length = |k: usize| fields[k + 1] - fields[k];
    let slope = |k: usize| (moments[k + 1].variance - moments[k].variance) / length(k);
    let bend = |k: usize| {
        let inside = k > 0 && k + 1 < count;
        if inside { 2.0 * (slope(k) - slope(k - 1)) / (length(k) + length(k - 1)) } else { 0.0 }
    };
    let step = |k: usize| {
        let (here, there) = (bend(k), bend(k + 1));
        let factor = length(k).powi(3) / 12.0;
        let area = 0.5 * length(k) * (moments[k].variance + moments[k + 1].variance);
        let larger = here.abs().max(there.abs()).max(f64::MIN_POSITIVE);
        let change = (there - here) / larger;
        (area - 0.5 * factor * (here + there), 0.25 * factor * change * change * larger)
    };
    let mut deviations = vec![0.0; count];
    let rounding = f64::EPSILON * size;
    for downwards in [false, true] {
        let (mut sum, mut error) = (0.0, 0.0);
        let way = if downwards { likeliest } else { count - 1 - likeliest };
        for distance in 1..=way {
            let (k, from) = if downwards {
                (likeliest - distance, likeliest - distance)
            } else {
                (likeliest + distance, likeliest + distance - 1)
            };
            let (area, missed) = step(from);
            sum += if downwards { -area } else { area };
            error += missed;
            deviations[k] = if error < rounding { sum } else { apart(k) };
        }
    }
    let nodes = || deviations.iter().zip(probabilities);
    let mean: f64 = nodes().map(|(d, p)| p * d).sum();
    nodes().map(|(d, p)| p * (d - mean).powi(2)).sum()
}

fn average(
    site: &Site,
    fields: &[f64],
    probabilities: &[f64],
    moments: &[Moments],
) -> SiteAverages {
    // 1 − ⟨m⟩ and ⟨m⟩, whatever the sign of the field.
    let gap = |b: f64, m: &Moments| if b >= 0.0 { m.gap } else { 2.0 - m.gap };
    let mean = |b: f64, m: &Moments| if b >= 0.0 { m.mean } else { -m.mean };
    let (mut one_minus_q_d, mut q_d_minus_q_0, mut one_minus_r) = (0.0, 0.0, 0.0);
    let (mut ln_z, mut ln_z_rest, mut variance2, mut r) = (0.0, 0.0, 0.0, 0.0);
    let mut ln_z_from_prior = 0.0;
    for ((b, p), m) in fields.iter().zip(probabilities).zip(moments) {
        one_minus_q_d += p * m.one_minus_m2;
        q_d_minus_q_0 += p * m.variance;
        one_minus_r += p * gap(*b, m);
        r += p * mean(*b, m);
        ln_z += p * site.ln_z(*b, m);
        ln_z_rest += p * ((b.abs() - b) + m.ln_z_from_corner);
        variance2 += p * m.variance * m.variance;
    }
    if site.entropy > STRONG_PRIOR {
        let values = site.all_ln_z_from_prior(fields, moments);
        ln_z_from_prior = probabilities.iter().zip(values).map(|(p, value)| p * value).sum();
    }
    let nodes = fields.iter().zip(probabilities).zip(moments);
    // Relative accuracy where r is near 1, and where it is tiny.
    let (of_r, mut q_0_minus_r2) = if r.abs() < 0.5 {
        (r.abs(), nodes.map(|((b, p), m)| p * (mean(*b, m) - r).powi(2)).sum::<f64>())
    } else {
        r = 1.0 - one_minus_r;
        (one_minus_r, nodes.map(|((b, p), m)| p * (gap(*b, m) - one_minus_r).powi(2)).sum())
    };
    if q_0_minus_r2.sqrt() < NEARLY_EQUAL * of_r {
        q_0_minus_r2 = spread_of_means(fields, probabilities, moments, of_r);
    }
    SiteAverages {
        overlaps: Overlaps { one_minus_q_d, q_d_minus_q_0, q_0_minus_r2, r },
        ln_z,
        ln_z_rest,
        ln_z_from_prior,
        variance2,
        defect: 0.0,
    }
}
