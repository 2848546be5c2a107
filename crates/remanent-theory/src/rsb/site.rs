//! The entropic side with K steps of breaking.
//!
//! The innermost level is F(B), the logarithm of the site measure's integral
//! ([`crate::site`]) with A = q_K_hat − q_d_hat. The integrand of a level may have
//! two modes, near ±x√c, with a switch at B = 0 between them and corners at
//! B = ±A where the magnetisation saturates: the nodes cluster there. The fields of
//! the outermost level are r_hat + √q_0_hat z, and c θ̃ more after an earlier task
//! (∫ Dz then stands for the average over z and θ̃):
//!
//! ```text
//! g_S = ∫ Dz ψ_0(r_hat + √q_0_hat z)
//! 1 − q_d = ∫ Dz ⟨⟨1 − m²⟩⟩,    q_d − q_K = ∫ Dz ⟨Var m⟩,   q_l − q_{l−1} = ∫ Dz ⟨Var ψ_l'⟩
//! r = ∫ Dz ψ_0',               q_0 − r² = Var_z ψ_0'
//! ```
//!
//! The column of ψ' holds −(1 − m), so that weights near the corner keep their
//! relative accuracy.

use remanent_math::grid::{Cluster, Nodes, Spread};

use super::level::{ADDED, BEND, Lattice, Level, SLOPE};
use super::narrow::{Narrow, Width};
use super::state::{StepConjugates, StepOverlaps};
use crate::fields::{Fields, Purpose};
use crate::inherited::InheritedLaw;
use crate::overlaps::Conjugates;
use crate::resolution::Resolution;
use crate::site::Site;

/// Averages of the entropic side.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSite {
    /// The order parameters.
    pub overlaps: StepOverlaps,
    /// g_S.
    pub g_s: f64,
    /// ∫ Dz ⟨ψ_l''²⟩, l = 0 … K.
    pub variance2: Vec<f64>,
    /// ∂g_S/∂x_l − ½ (q_l_hat − q_{l−1}_hat) q_{l−1}, l = 1 … K.
    pub excess: Vec<f64>,
    /// The part of `excess` beyond ¼ (q_l_hat − q_{l−1}_hat)(q_l − q_{l−1}), which is of third order in a gap.
    pub third_order: Vec<f64>,
    /// ∫ Dz ⟨P(m < 0)⟩ = (1 − p)/2, if it was asked for.
    pub negative: Option<f64>,
}

/// Gaussian tails are cut at this many standard deviations above the mean,
const REACH: f64 = 9.0;
/// and below it, where rare fields turn a weight against its teacher.
const REACH_BELOW: f64 = 11.0;
/// Functions of the innermost level: F, −(1 − ⟨m⟩), Var m, ⟨1 − m²⟩, and P(m < 0) if
/// it was asked for.
const INNERMOST: usize = 4;
/// Trapezoid step in units of a cluster's scale.
const STEP: f64 = 0.16;
/// Distance of nodes in units of a Gaussian's width.
const SPACING: f64 = 0.55;

/// What a weight sees besides the patterns of its task.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// c, the weight of the entropy and of what the previous task left.
    pub coupling: f64,
    /// The law of what it left.
    pub inherited: Option<&'a InheritedLaw>,
}

pub(super) struct Levels<'a> {
    site: Site,
    c: &'a StepConjugates,
    x: &'a [f64],
    signs: bool,
    resolution: f64,
    /// The smallest and the largest field of the outermost level.
    outer: (f64, f64),
    /// Whether its law is broader than the Gaussian of q_0_hat.
    mixed: bool,
}

impl Surroundings<'_> {
    /// The averages at given conjugates.
    pub fn step_site(
        &self,
        c: &StepConjugates,
        x: &[f64],
        signs: bool,
        width: Width,
        resolution: Resolution,
    ) -> StepSite {
        let steps = x.len();
        let site = Site { stiffness: c.stiffness, entropy: self.coupling };
        let mut levels = Levels::new(site, c, x, signs, resolution);
        let (fields, probabilities) = self.outermost(&mut levels, resolution);
        if width != Width::Any {
            let narrow = Narrow::new(x[0], c.gaps[0], 1.0, (width, levels.resolution));
            let rows = narrow.rows(&fields, levels.columns(1), |fields| levels.innermost(fields));
            return levels.average(&probabilities, &rows, width);
        }
        let mut lattice: Option<Lattice> = None;
        for l in (1..=steps).rev() {
            let nodes = levels.nodes(l, c.gaps[l - 1].sqrt(), &levels.clusters(l));
            let rows = levels.rows(lattice.as_ref(), l, &nodes.x);
            lattice = Some(Lattice::new(nodes, &rows, levels.columns(l)));
        }
        let rows = levels.rows(lattice.as_ref(), 0, &fields);
        levels.average(&probabilities, &rows, width)
    }

    /// The fields of the outermost level and their probabilities.
    fn outermost(&self, levels: &mut Levels, resolution: Resolution) -> (Vec<f64>, Vec<f64>) {
        let fields = self.fields(levels.c);
        if fields.mixing().is_some() {
            let purpose = if levels.signs { Purpose::Signs } else { Purpose::Moments };
            let grid = fields.grid(&levels.site, purpose, resolution);
            let probabilities = fields.probabilities(&grid, purpose);
            levels.surround(&grid.fields);
            return (grid.fields, probabilities);
        }
        let deviation = levels.c.q_0_hat.sqrt();
        let nodes = levels.nodes(0, deviation, &levels.clusters(0));
        let mut p: Vec<f64> = nodes
            .x
            .iter()
            .zip(&nodes.weights)
            .map(|(b, w)| {
                let z = (b - levels.c.r_hat) / deviation;
                w * (-0.5 * z * z).exp()
            })
            .collect();
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= total);
        (nodes.x, p)
    }

    /// The law of the field of the outermost level, r_hat + √q_0_hat z + c θ̃.
    pub(super) fn fields(&self, c: &StepConjugates) -> Fields<'_> {
        let conjugates = Conjugates { stiffness: c.stiffness, q_0_hat: c.q_0_hat, r_hat: c.r_hat };
        Fields::new(&conjugates, self.coupling, self.inherited)
    }
}

impl<'a> Levels<'a> {
    /// The levels of a first task.
    pub(super) fn new(
        site: Site,
        c: &'a StepConjugates,
        x: &'a [f64],
        signs: bool,
        resolution: Resolution,
    ) -> Self {
        let deviation = c.q_0_hat.sqrt();
        let outer = (c.r_hat - REACH_BELOW * deviation, c.r_hat + REACH * deviation);
        Self { site, c, x, signs, resolution: resolution.factor(), outer, mixed: false }
    }

    /// Takes notice of the rising fields of the outermost level.
    pub(super) fn surround(&mut self, fields: &[f64]) {
        self.outer = (fields[0], fields[fields.len() - 1]);
        self.mixed = true;
    }

    /// Columns of the rows of level l.
    pub(super) fn columns(&self, l: usize) -> usize {
        INNERMOST + usize::from(self.signs) + ADDED * (self.x.len() - l)
    }

    /// Where the functions of level l change quickly, and how quickly.
    fn clusters(&self, l: usize) -> Vec<Cluster> {
        let (a, firmness) = (self.site.stiffness, self.site.stiffness + self.site.entropy + 2.0);
        // Every level smooths a switch by its Gaussian, or over 1/x if that is less.
        let smoothing: f64 =
            (l..self.x.len()).map(|j| 1.0 / (1.0 / self.c.gaps[j] + self.x[j] * self.x[j])).sum();
        let smoothed = |scale: f64| (scale * scale + smoothing).sqrt();
        let mut clusters = Vec::with_capacity(3);
        if firmness < 30.0 || a < 4.0 || self.signs {
            clusters.push(Cluster {
                centre: 0.0,
                scale: smoothed(firmness.max(1.0).sqrt()),
                strength: 1.0,
            });
        }
        if a > 4.0 {
            let scale = smoothed((a + 2.0).sqrt() + 0.5 * self.site.entropy);
            clusters.push(Cluster { centre: a, scale, strength: 1.0 });
            clusters.push(Cluster { centre: -a, scale, strength: 1.0 });
        }
        clusters
    }

    /// How far the tilted Gaussian of level l reaches, in its standard deviations.
    pub(super) fn reach(&self, l: usize) -> f64 {
        REACH + self.x[l - 1] * self.c.gaps[l - 1].sqrt()
    }

    /// The fields of level l that matter: the sum of the Gaussians of the outer levels,
    /// each displaced by its tilt.
    fn range(&self, l: usize) -> (f64, f64) {
        let outer = &self.c.gaps[..l];
        let tilt: f64 = outer.iter().zip(self.x).map(|(c, x)| c * x).sum();
        let added: f64 = outer.iter().sum();
        if self.mixed {
            let margin = REACH * added.sqrt() + tilt;
            return (self.outer.0 - margin, self.outer.1 + margin);
        }
        let deviation = (self.c.q_0_hat + added).sqrt();
        (self.c.r_hat - REACH_BELOW * deviation - tilt, self.c.r_hat + REACH * deviation + tilt)
    }

    /// Nodes for the functions of level l that resolve a Gaussian of the given width.
    pub(super) fn nodes(&self, l: usize, deviation: f64, clusters: &[Cluster]) -> Nodes {
        let (low, high) = self.range(l);
        let spread = Spread {
            spacing: SPACING * deviation / self.resolution,
            step: STEP / self.resolution,
            clusters,
        };
        let mut nodes = spread.nodes(low, high);
        mirror(&mut nodes);
        nodes
    }

    /// Rows of the innermost level at the given mirrored fields. The site measure in
    /// the field −B is that in B turned round, so each pair is computed once.
    pub(super) fn innermost(&self, fields: &[f64]) -> Vec<f64> {
        let middle = fields.partition_point(|b| *b < 0.0);
        let paired = |k: usize| fields[middle - k] == -fields[middle + k];
        let pairs = (1..fields.len() - middle).take_while(|k| *k <= middle && paired(*k)).count();
        // The fields without a mirror image to their right, and those from 0 on.
        let alone = middle - pairs;
        let sizes: Vec<f64> =
            fields[..alone].iter().rev().chain(&fields[middle..]).map(|b| b.abs()).collect();
        let place = |i: usize| match i {
            _ if i < alone => alone - 1 - i,
            _ if i < middle => alone + (middle - i),
            _ => alone + (i - middle),
        };
        let mut moments = Vec::with_capacity(sizes.len());
        self.site.moments(&sizes, self.resolution, &mut moments);
        let signs = if self.signs { self.minorities(&sizes) } else { vec![] };
        let columns = self.columns(self.x.len());
        let mut rows = vec![0.0; columns * fields.len()];
        for (i, row) in rows.chunks_mut(columns).enumerate() {
            let (b, m) = (fields[i], &moments[place(i)]);
            row[0] = self.site.ln_z(b, m);
            row[SLOPE] = if b >= 0.0 { -m.gap } else { m.gap - 2.0 };
            row[BEND] = m.variance;
            row[3] = m.one_minus_m2;
            if self.signs {
                let minority = signs[place(i)];
                row[INNERMOST] = if b >= 0.0 { minority } else { 1.0 - minority };
            }
        }
        rows
    }

    /// P(m < 0) in fields of the given sizes; 0 where the sign is certain.
    fn minorities(&self, sizes: &[f64]) -> Vec<f64> {
        let firmness = (self.site.stiffness + self.site.entropy + 2.0).max(1.0);
        let certain = 20.0 + 9.5 * firmness.sqrt();
        let open: Vec<f64> = sizes.iter().copied().filter(|b| *b < certain).collect();
        let mut found = self.site.ln_sign_probabilities(&open, self.resolution).into_iter();
        let mut minority = |b: &f64| match *b < certain {
            true => found.next().map_or(f64::NAN, |(negative, _)| negative.exp()),
            false => 0.0,
        };
        sizes.iter().map(&mut minority).collect()
    }

    /// Rows of the functions of level l at rising fields, from the lattice of level
    /// l + 1, or from F itself if l is the innermost level.
    fn rows(&self, inner: Option<&Lattice>, l: usize, fields: &[f64]) -> Vec<f64> {
        let Some(lattice) = inner else { return self.innermost(fields) };
        let (x, variance) = (self.x[l], self.c.gaps[l]);
        let level = Level { lattice, x, variance, offset: 1.0 };
        let reach = self.reach(l + 1) * variance.sqrt();
        let length = level.row_length();
        let mut rows = vec![0.0; length * fields.len()];
        let mut weights = Vec::new();
        for (b, row) in fields.iter().zip(rows.chunks_mut(length)) {
            level.row(*b, level.within(b - reach, b + reach), &mut weights, row);
        }
        rows
    }

    /// Averages over the fields of the outermost level.
    fn average(&self, p: &[f64], rows: &[f64], width: Width) -> StepSite {
        let (columns, steps) = (self.columns(0), self.x.len());
        let mut sums = vec![0.0; columns];
        let mut bend2 = 0.0;
        for (p, row) in p.iter().zip(rows.chunks(columns)) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += p * value;
            }
            bend2 += p * row[BEND] * row[BEND];
        }
        let slope = sums[SLOPE];
        let q_0_minus_r2 = p
            .iter()
            .zip(rows.chunks(columns))
            .map(|(p, row)| p * (row[SLOPE] - slope).powi(2))
            .sum();
        let innermost = INNERMOST + usize::from(self.signs);
        let added = |l: usize, column: usize| sums[innermost + ADDED * (steps - l) + column];
        let mut variance2 = vec![bend2];
        variance2.extend((1..=steps).map(|l| added(l, 2)));
        let (excess, third_order) =
            width.excess(steps, |l| (self.c.gaps[l - 1] * added(l, 0), added(l, 3)));
        StepSite {
            overlaps: StepOverlaps {
                one_minus_q_d: sums[3],
                q_d_minus_q_k: if steps == 0 { sums[BEND] } else { added(steps, 1) },
                gaps: (1..=steps).map(|l| added(l, 0)).collect(),
                q_0_minus_r2,
                r: 1.0 + slope,
            },
            g_s: sums[0],
            variance2,
            excess,
            third_order,
            negative: self.signs.then(|| sums[INNERMOST]),
        }
    }
}

/// Makes nodes on both sides of 0 each other's mirror images, which they are but for
/// rounding if there is one at 0.
fn mirror(nodes: &mut Nodes) {
    let middle = nodes.x.partition_point(|b| *b < -1e-9);
    if nodes.x.get(middle).is_none_or(|b| b.abs() > 1e-9) {
        return;
    }
    nodes.x[middle] = 0.0;
    for k in 1..=middle.min(nodes.x.len() - 1 - middle) {
        nodes.x[middle - k] = -nodes.x[middle + k];
        nodes.weights[middle - k] = nodes.weights[middle + k];
    }
}
