//! What a task leaves behind: the law of its magnetisations, and how the next
//! task sees it.
//!
//! A [`Posterior`] is the law of θ_t = artanh(m_t W^t) after task t, jointly with
//! W^k W^t = ±1 for every older task k, so that the error on each of them can be
//! followed. An [`Anchor`] is the same law in the gauge of the next task, whose
//! teacher agrees with W^t on a weight with probability (1 + r_0)/2.

use std::sync::OnceLock;

use multiversion::multiversion;

use crate::fields::{FieldGrid, Fields, Purpose};
use crate::overlaps::Resolution;
use crate::site::{Moments, Site};

/// Distance of the nodes in θ. The density is analytic for |Im θ| < π/4, so the
/// trapezoid rule is good to e^{−39} at this spacing.
const SPACING: f64 = 0.125;
/// The grid in θ reaches this far before it is trimmed.
const FARTHEST: f64 = 45.0;
/// Mass that may be cut off at either end.
const TRIMMED: f64 = 1e-18;
/// How many times the spacing may be halved.
const LEVELS: usize = 8;

/// A uniform grid in θ: the nodes (k − half) · spacing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThetaGrid {
    /// Distance of the nodes.
    pub spacing: f64,
    /// Number of nodes on either side of 0.
    pub half: usize,
}

impl ThetaGrid {
    fn thetas(self) -> impl Iterator<Item = f64> {
        (0..=2 * self.half).map(move |k| (k as f64 - self.half as f64) * self.spacing)
    }
}

/// A law of θ by its masses on a grid.
#[derive(Clone, Debug)]
pub struct Masses {
    /// Where the masses are.
    pub grid: ThetaGrid,
    /// The masses.
    pub total: Vec<f64>,
}

/// For every older task k: the law of θ restricted to W^k W^t = +1 and to −1.
pub type JointMasses = Vec<[Vec<f64>; 2]>;

/// The law of θ after a task: the site measure averaged over the field.
#[derive(Clone, Debug)]
pub struct Posterior {
    site: Site,
    grid: FieldGrid,
    /// Moments in each field, computed when a next task asks for them.
    moments: OnceLock<Vec<Moments>>,
    resolution: Resolution,
    /// Probability of each field.
    total: Vec<f64>,
    /// The same jointly with W^k W^t = ±1 for every older task k.
    joint: JointMasses,
}

impl Posterior {
    /// The law that a solved task leaves.
    pub fn new(site: Site, fields: &Fields, resolution: Resolution) -> Self {
        let grid = fields.grid(&site, Purpose::Densities, resolution);
        let total = fields.probabilities(&grid, resolution);
        let joint = match (fields.anchor, fields.mixing()) {
            (None, _) => vec![],
            (Some(_), Some(anchor)) => {
                let level = anchor.level(fields.coupling, fields.deviation, resolution);
                let law = |masses: &Vec<f64>| fields.mixed(&grid, masses, anchor.at(level).grid);
                anchor.joint(level).iter().map(|pair| [law(&pair[0]), law(&pair[1])]).collect()
            }
            // The past is forgotten: only the teachers' own correlation is left.
            (Some(anchor), None) => {
                let scaled = |masses: &Vec<f64>| {
                    let share: f64 = masses.iter().sum();
                    total.iter().map(|p| p * share).collect::<Vec<f64>>()
                };
                anchor.joint(0).iter().map(|pair| [scaled(&pair[0]), scaled(&pair[1])]).collect()
            }
        };
        Self { site, grid, moments: OnceLock::new(), resolution, total, joint }
    }

    /// The densities of θ in each field, at one θ.
    fn densities(&self, theta: f64, densities: &mut [f64]) {
        let moments = self.moments.get_or_init(|| {
            let mut moments = Vec::with_capacity(self.grid.fields.len());
            self.site.moments(&self.grid.fields, self.resolution.0, &mut moments);
            moments
        });
        self.site.density(theta, &self.grid.fields, moments, densities);
    }

    /// ln(1 − p_t) for this task's own teacher, where 1 − p = 2 P(m W < 0), and
    /// 1 − p_k for every older one.
    pub fn flips(&self, fields: &Fields, resolution: Resolution) -> (f64, Vec<f64>) {
        // In logarithms: far above the transition 1 − p is e^{−1000} and less.
        let ln_law = |k: usize| match fields.mixing() {
            None => self.grid.weights[k].ln() + fields.ln_gaussian(self.grid.fields[k]),
            Some(_) => self.total[k].ln(),
        };
        let mut signs: Vec<(f64, f64)> = Vec::with_capacity(self.grid.fields.len());
        let mut own = f64::NEG_INFINITY;
        for chunk in self.grid.fields.chunks(32) {
            let first = signs.len();
            signs.extend(self.site.ln_sign_probabilities(chunk, resolution.0));
            let terms = (first..signs.len()).map(|k| ln_law(k) + signs[k].0);
            own = ln_sum_exp(terms.chain([own]));
            // P(m < 0) falls with the field: from here on it adds nothing.
            if chunk[0] > 0.0 && signs[first].0 < own - 60.0 {
                signs.resize(self.grid.fields.len(), (f64::NEG_INFINITY, 0.0));
                break;
            }
        }
        let old = self.joint.iter().map(|[plus, minus]| {
            let wrong = plus.iter().zip(minus).zip(&signs);
            2.0 * wrong.map(|((p, m), s)| p * s.0.exp() + m * s.1.exp()).sum::<f64>()
        });
        (std::f64::consts::LN_2 + own, old.collect())
    }

    /// Σ_B law(B) P(θ|B), times the spacing, on a grid, for several laws at once.
    fn on_grid(&self, grid: ThetaGrid, laws: &[&[f64]]) -> Vec<Vec<f64>> {
        let mut columns = vec![Vec::with_capacity(2 * grid.half + 1); laws.len()];
        let mut densities = vec![0.0; self.grid.fields.len()];
        for theta in grid.thetas() {
            self.densities(theta, &mut densities);
            for (column, law) in columns.iter_mut().zip(laws) {
                column.push(grid.spacing * dot(law, &densities));
            }
        }
        columns
    }

    /// The extent beyond which no mass is left on either side. The grid is
    /// symmetric, so that a change of sign maps it on itself.
    fn extent(&self) -> f64 {
        let step = 0.5;
        let mut reached = 0.0;
        let mut densities = vec![0.0; self.grid.fields.len()];
        let mut mass = |theta: f64| {
            self.densities(theta, &mut densities);
            step * dot(&self.total, &densities)
        };
        let mut seen = 0.0;
        while reached < FARTHEST {
            reached += step;
            let here = mass(reached) + mass(-reached);
            seen += here;
            // Tails fall like e^{−2|θ|} at the slowest.
            if seen > 0.3 && here < TRIMMED {
                break;
            }
        }
        reached
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for i in 0..LANES {
            sums[i] += x[i] * y[i];
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn ln_sum_exp(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + terms.map(|t| (t - top).exp()).sum::<f64>().ln()
}

/// The law of θ̃ in the gauge of the task that comes next.
#[derive(Debug)]
pub struct Anchor {
    posterior: Posterior,
    r_0: f64,
    extent: f64,
    totals: [OnceLock<Masses>; LEVELS],
    joints: [OnceLock<JointMasses>; LEVELS],
}

impl Anchor {
    /// What the next task sees, if its teacher has overlap `r_0` with the last one.
    pub fn new(posterior: Posterior, r_0: f64) -> Self {
        let extent = posterior.extent();
        Self { posterior, r_0, extent, totals: Default::default(), joints: Default::default() }
    }

    fn grid(&self, level: usize) -> ThetaGrid {
        let spacing = SPACING / (1_u32 << level) as f64;
        ThetaGrid { spacing, half: (self.extent / spacing).ceil() as usize }
    }

    /// Where the new teacher differs from the last, θ changes its sign.
    fn mix(&self, stays: &[f64], flips: &[f64]) -> Vec<f64> {
        let (same, other) = (0.5 * (1.0 + self.r_0), 0.5 * (1.0 - self.r_0));
        stays.iter().zip(flips.iter().rev()).map(|(s, f)| same * s + other * f).collect()
    }

    /// The law at one level of refinement.
    pub fn at(&self, level: usize) -> &Masses {
        self.totals[level].get_or_init(|| {
            let grid = self.grid(level);
            let mut total = self.posterior.on_grid(grid, &[&self.posterior.total]).remove(0);
            let norm: f64 = total.iter().sum();
            total.iter_mut().for_each(|p| *p /= norm);
            Masses { grid, total: self.mix(&total, &total) }
        })
    }

    /// The same jointly with every older task, the one just ended included, in
    /// the order of the tasks.
    pub fn joint(&self, level: usize) -> &JointMasses {
        self.joints[level].get_or_init(|| {
            let posterior = &self.posterior;
            let mut laws: Vec<&[f64]> = vec![&posterior.total];
            for pair in &posterior.joint {
                laws.push(&pair[0]);
                laws.push(&pair[1]);
            }
            let mut columns = posterior.on_grid(self.grid(level), &laws);
            let norm: f64 = columns[0].iter().sum();
            columns.iter_mut().flatten().for_each(|p| *p /= norm);
            let nothing = vec![0.0; columns[0].len()];
            // A flip of the teacher changes the sign of W^k W^t as well.
            let mut joint: JointMasses = columns[1..]
                .chunks_exact(2)
                .map(|c| [self.mix(&c[0], &c[1]), self.mix(&c[1], &c[0])])
                .collect();
            joint.push([self.mix(&columns[0], &nothing), self.mix(&nothing, &columns[0])]);
            joint
        })
    }

    /// The level of refinement at which sums over Gaussians of width
    /// `deviation` at distances `coupling` · spacing are smooth.
    pub fn level(&self, coupling: f64, deviation: f64, resolution: Resolution) -> usize {
        let needed = coupling * SPACING * resolution.0 / (0.6 * deviation);
        (needed.log2().ceil().max(0.0) as usize).min(LEVELS - 1)
    }

    /// Where the law has its mass.
    pub fn support(&self) -> (f64, f64) {
        let masses = self.at(0);
        let empty = |tail: &mut dyn Iterator<Item = &f64>| {
            let mut sum = 0.0;
            let spent = tail.take_while(|p| {
                sum += **p;
                sum < 10.0 * TRIMMED
            });
            spent.count() as f64 * masses.grid.spacing
        };
        let edge = masses.grid.half as f64 * masses.grid.spacing;
        let below = empty(&mut masses.total.iter());
        let above = empty(&mut masses.total.iter().rev());
        (below - edge, edge - above)
    }

    /// E[½ ln((1 − m̃²)/4)], the constant of the KL divergence.
    pub fn kl_constant(&self) -> f64 {
        let masses = self.at(0);
        let ln_2_cosh = |theta: f64| theta.abs() + (-2.0 * theta.abs()).exp().ln_1p();
        masses.grid.thetas().zip(&masses.total).map(|(theta, p)| -p * ln_2_cosh(theta)).sum()
    }
}
