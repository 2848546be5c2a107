//! The law of the field on a weight, and averages over it.
//!
//! In the gauge where the task's teacher is all ones, the field on a weight is
//! B = r̂ + √q̂_0 z + c θ̃, where z is a standard Gaussian and θ̃ = artanh m̃ is
//! what the previous task left there (nothing, for a first task). So the four
//! nested integrals of the paper's second task are one integral over B of
//! functions of B alone, against a density that is a mixture of Gaussians of
//! width √q̂_0.

use multiversion::multiversion;
use remanent_math::elementary;
use remanent_math::grid::{Cluster, Nodes, Spread};

use crate::anchor::{Anchor, ThetaGrid};
use crate::overlaps::{Conjugates, Overlaps, Resolution};
use crate::site::{Moments, Site};

/// Gaussian tails are cut at this many standard deviations above the mean.
const REACH: f64 = 9.0;
/// And below it, where rare fields turn a weight against its teacher.
const REACH_BELOW: f64 = 11.0;

/// The law of B.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    /// r̂.
    pub mean: f64,
    /// √q̂_0.
    pub deviation: f64,
    /// c.
    pub coupling: f64,
    /// The law of θ̃, if there was a previous task.
    pub anchor: Option<&'a Anchor>,
}

/// What a grid of fields is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Averages of smooth moments.
    Moments,
    /// Densities and signs, which vary faster with the field.
    Densities,
}

/// Averages over the field of what the site measure says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiteAverages {
    /// The order parameters.
    pub overlaps: Overlaps,
    /// E[ln Z(B)].
    pub ln_z: f64,
    /// E[(⟨m²⟩ − ⟨m⟩²)²], the entropic factor of the replicon.
    pub variance2: f64,
}

/// Fields with quadrature weights (without the density).
#[derive(Clone, Debug, Default)]
pub struct FieldGrid {
    /// Abscissae, rising.
    pub fields: Vec<f64>,
    /// Quadrature weights.
    pub weights: Vec<f64>,
}

impl<'a> Fields<'a> {
    /// The law that the conjugate parameters imply.
    pub fn new(conjugates: &Conjugates, coupling: f64, anchor: Option<&'a Anchor>) -> Self {
        Self { mean: conjugates.r_hat, deviation: conjugates.q_0_hat.sqrt(), coupling, anchor }
    }

    /// The law of θ̃, if it moves the field.
    pub fn mixing(&self) -> Option<&'a Anchor> {
        self.anchor.filter(|_| self.coupling > 0.0)
    }

    /// A grid fit for averages of functions of the site measure.
    pub fn grid(&self, site: &Site, purpose: Purpose, resolution: Resolution) -> FieldGrid {
        let (mut low, mut high) =
            (self.mean - REACH_BELOW * self.deviation, self.mean + REACH * self.deviation);
        let mut smooth = self.deviation;
        if let Some(anchor) = self.mixing() {
            let (from, to) = anchor.support();
            low += self.coupling * from;
            high += self.coupling * to;
            // The density of θ̃ is itself smooth on a scale of about a quarter.
            smooth = smooth.max(0.23 * self.coupling);
        }
        let (a, firmness) = (site.stiffness, site.stiffness + site.entropy + 2.0);
        let switch = firmness.max(1.0).sqrt();
        let mut clusters = Vec::with_capacity(3);
        let mut spacing = 0.6 * smooth;
        match purpose {
            Purpose::Moments => {
                // Around B = 0 the magnetisation switches, unless it is stiff enough to
                // follow the field up to the corner. (A cluster wider than the law of the
                // field adds few nodes, so it need not be taken away.)
                if firmness < 30.0 || a < 4.0 {
                    clusters.push(Cluster { centre: 0.0, scale: switch });
                }
                // Where the magnetisation saturates, on the scale of its fluctuation.
                if a > 4.0 {
                    let corner = (a + 2.0).sqrt() + 0.5 * site.entropy;
                    clusters.push(Cluster { centre: a, scale: corner });
                    clusters.push(Cluster { centre: -a, scale: corner });
                }
            }
            Purpose::Densities => {
                // Whether a weight has flipped is decided around B = 0, however rare that
                // is; to the left of it the density must fall by e^{−40} once more.
                let (mean, variance) = (self.mean, self.deviation * self.deviation);
                low = low.min(mean - (mean * mean + 80.0 * variance).sqrt()).min(-15.0 * switch);
                high = high.max(15.0 * switch);
                if firmness >= 0.0 {
                    spacing = 0.5 * smooth.min(switch);
                }
                clusters.push(Cluster { centre: 0.0, scale: switch });
            }
        }
        clusters.retain(|c| c.centre > low - 10.0 * c.scale && c.centre < high + 10.0 * c.scale);
        let spread = Spread {
            spacing: spacing / resolution.0,
            step: 0.16 / resolution.0,
            clusters: &clusters,
        };
        let Nodes { x: fields, weights } = spread.nodes(low, high);
        FieldGrid { fields, weights }
    }

    /// The probability of each node of a grid, normalised to 1.
    pub fn probabilities(&self, grid: &FieldGrid, resolution: Resolution) -> Vec<f64> {
        let mut p = match self.mixing() {
            None => {
                let mut p = vec![0.0; grid.fields.len()];
                for ((p, b), w) in p.iter_mut().zip(&grid.fields).zip(&grid.weights) {
                    *p = w * self.gaussian(*b);
                }
                p
            }
            Some(anchor) => {
                let level = anchor.level(self.coupling, self.deviation, resolution);
                let masses = anchor.at(level);
                self.mixed(grid, &masses.total, masses.grid)
            }
        };
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|v| *v /= total);
        p
    }

    fn gaussian(&self, field: f64) -> f64 {
        let z = (field - self.mean) / self.deviation;
        (-0.5 * z * z).exp() / (self.deviation * (2.0 * std::f64::consts::PI).sqrt())
    }

    /// ln of the density of a Gaussian field (no anchor).
    pub fn ln_gaussian(&self, field: f64) -> f64 {
        let z = (field - self.mean) / self.deviation;
        -0.5 * z * z - (self.deviation * (2.0 * std::f64::consts::PI).sqrt()).ln()
    }

    /// The probability of each node when θ̃ has masses `masses` on `thetas`.
    pub fn mixed(&self, grid: &FieldGrid, masses: &[f64], thetas: ThetaGrid) -> Vec<f64> {
        let pitch = self.coupling * thetas.spacing;
        let mut p = vec![0.0; grid.fields.len()];
        mixture_density(
            &grid.fields,
            self.mean - pitch * thetas.half as f64,
            pitch,
            self.deviation,
            masses,
            &mut p,
        );
        p.iter_mut().zip(&grid.weights).for_each(|(p, w)| *p *= w);
        p
    }
}

/// Σ_k masses[k] N(B; origin + k·pitch, deviation²) at every field.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn mixture_density(
    fields: &[f64],
    origin: f64,
    pitch: f64,
    deviation: f64,
    masses: &[f64],
    density: &mut [f64],
) {
    const LANES: usize = 16;
    let scaled_pitch = pitch / deviation;
    let reach = 37.0 / scaled_pitch;
    let norm = 1.0 / (deviation * (2.0 * std::f64::consts::PI).sqrt());
    for (density, field) in density.iter_mut().zip(fields) {
        let centre = (field - origin) / pitch;
        let from = (centre - reach).max(0.0) as usize;
        let to = ((centre + reach + 1.0).max(0.0) as usize).min(masses.len());
        if from >= to {
            continue;
        }
        let mut sums = [0.0; LANES];
        let chunks = masses[from..to].chunks_exact(LANES);
        let rest = chunks.remainder();
        let mut k = from as f64;
        for chunk in chunks {
            let mut weights = [0.0; LANES];
            for i in 0..LANES {
                let z = (k + i as f64 - centre) * scaled_pitch;
                weights[i] = chunk[i] * elementary::exp(-0.5 * z * z);
            }
            for i in 0..LANES {
                sums[i] += weights[i];
            }
            k += LANES as f64;
        }
        let mut total: f64 = sums.iter().sum();
        for (i, mass) in rest.iter().enumerate() {
            let z = (k + i as f64 - centre) * scaled_pitch;
            total += mass * elementary::exp(-0.5 * z * z);
        }
        *density = total * norm;
    }
}

/// The order parameters and what else the free energy needs, from the law of the field.
pub fn site_averages(site: &Site, fields: &Fields, resolution: Resolution) -> SiteAverages {
    let grid = fields.grid(site, Purpose::Moments, resolution);
    let probabilities = fields.probabilities(&grid, resolution);
    let mut moments = Vec::with_capacity(grid.fields.len());
    site.moments(&grid.fields, resolution.0, &mut moments);
    average(site, &grid.fields, &probabilities, &moments)
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
    let (mut ln_z, mut variance2, mut r) = (0.0, 0.0, 0.0);
    for ((b, p), m) in fields.iter().zip(probabilities).zip(moments) {
        one_minus_q_d += p * m.one_minus_m2;
        q_d_minus_q_0 += p * m.variance;
        one_minus_r += p * gap(*b, m);
        r += p * mean(*b, m);
        ln_z += p * site.ln_z(*b, m);
        variance2 += p * m.variance * m.variance;
    }
    let nodes = fields.iter().zip(probabilities).zip(moments);
    // Relative accuracy where r is near 1, and where it is tiny.
    let q_0_minus_r2 = if r.abs() < 0.5 {
        nodes.map(|((b, p), m)| p * (mean(*b, m) - r).powi(2)).sum()
    } else {
        r = 1.0 - one_minus_r;
        nodes.map(|((b, p), m)| p * (gap(*b, m) - one_minus_r).powi(2)).sum()
    };
    SiteAverages {
        overlaps: Overlaps { one_minus_q_d, q_d_minus_q_0, q_0_minus_r2, r },
        ln_z,
        variance2,
    }
}
