//! What a task leaves behind: the law of its magnetisations, and how the next
//! task sees it.
//!
//! A [`Posterior`] is the law of θ_t = artanh(m_t W^t) after task t, jointly with
//! W^k W^t = ±1 for every older task k, so that the error on each of them can be
//! followed. An [`Anchor`] is the same law in the gauge of the next task, whose
//! teacher agrees with W^t on a weight with probability (1 + r_0)/2.

use std::sync::OnceLock;

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

/// A law given by its masses on the nodes (k − half) · spacing.
#[derive(Clone, Debug)]
pub struct Masses {
    /// Distance of the nodes.
    pub spacing: f64,
    /// Number of nodes on either side of 0.
    pub half: usize,
    /// The law of θ.
    pub total: Vec<f64>,
    /// For every older task k: the law of θ restricted to W^k W^t = +1 and −1.
    pub joint: Vec<[Vec<f64>; 2]>,
}

impl Masses {
    /// E[f(θ)].
    pub fn mean(&self, f: impl Fn(f64) -> f64) -> f64 {
        let theta = |k: usize| (k as f64 - self.half as f64) * self.spacing;
        self.total.iter().enumerate().map(|(k, p)| p * f(theta(k))).sum()
    }

    /// The same law as the next task sees it, and with the task just ended
    /// counted among the older ones.
    fn seen_by_next(&self, r_0: f64) -> Self {
        let (same, other) = (0.5 * (1.0 + r_0), 0.5 * (1.0 - r_0));
        // Where the new teacher differs, θ changes its sign and so does W^k W^t.
        let mix = |stays: &[f64], flips: &[f64]| -> Vec<f64> {
            stays.iter().zip(flips.iter().rev()).map(|(s, f)| same * s + other * f).collect()
        };
        let nothing = vec![0.0; self.total.len()];
        let just_ended = [mix(&self.total, &nothing), mix(&nothing, &self.total)];
        let mut joint: Vec<_> = self
            .joint
            .iter()
            .map(|[plus, minus]| [mix(plus, minus), mix(minus, plus)])
            .collect();
        joint.push(just_ended);
        Self { total: mix(&self.total, &self.total), joint, ..*self }
    }
}

/// The law of θ after a task: the site measure averaged over the field.
#[derive(Clone, Debug)]
pub struct Posterior {
    site: Site,
    grid: FieldGrid,
    moments: Vec<Moments>,
    /// Probability of each field.
    total: Vec<f64>,
    /// The same jointly with W^k W^t = ±1 for every older task k.
    joint: Vec<[Vec<f64>; 2]>,
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
                let law = |masses: &Vec<f64>| fields.mixed(&grid, masses, level.spacing, level.half);
                level.joint.iter().map(|pair| [law(&pair[0]), law(&pair[1])]).collect()
            }
            // The past is forgotten: only the teachers' own correlation is left.
            (Some(anchor), None) => {
                let scaled = |masses: &Vec<f64>| {
                    let share: f64 = masses.iter().sum();
                    total.iter().map(|p| p * share).collect::<Vec<f64>>()
                };
                let pairs = anchor.at(0).joint.iter();
                pairs.map(|pair| [scaled(&pair[0]), scaled(&pair[1])]).collect()
            }
        };
        let mut moments = Vec::with_capacity(grid.fields.len());
        site.moments(&grid.fields, resolution.0, &mut moments);
        Self { site, grid, moments, total, joint }
    }

    /// ln(1 − p_t) for this task's own teacher, where 1 − p = 2 P(m W < 0), and
    /// 1 − p_k for every older one.
    pub fn flips(&self, fields: &Fields, resolution: Resolution) -> (f64, Vec<f64>) {
        let signs = self.site.ln_sign_probabilities(&self.grid.fields, resolution.0);
        let own = if fields.mixing().is_none() {
            // In logarithms: far above the transition this is e^{−1000} and less.
            let terms = self.grid.fields.iter().zip(&self.grid.weights).zip(&signs);
            ln_sum_exp(terms.map(|((b, w), s)| w.ln() + fields.ln_gaussian(*b) + s.0))
        } else {
            ln_sum_exp(self.total.iter().zip(&signs).map(|(p, s)| p.ln() + s.0))
        };
        let old = self.joint.iter().map(|[plus, minus]| {
            let wrong = plus.iter().zip(minus).zip(&signs);
            2.0 * wrong.map(|((p, m), s)| p * s.0.exp() + m * s.1.exp()).sum::<f64>()
        });
        (std::f64::consts::LN_2 + own, old.collect())
    }

    fn masses(&self, spacing: f64) -> Masses {
        let fields = &self.grid.fields;
        let mut densities = vec![0.0; fields.len()];
        let mut at = |theta: f64, laws: &[&[f64]], out: &mut Vec<f64>| {
            self.site.density(theta, fields, &self.moments, &mut densities);
            out.clear();
            for law in laws {
                let dot: f64 = law.iter().zip(&densities).map(|(p, d)| p * d).sum();
                out.push(spacing * dot);
            }
        };
        let mut laws: Vec<&[f64]> = vec![&self.total];
        for pair in &self.joint {
            laws.push(&pair[0]);
            laws.push(&pair[1]);
        }
        // Outwards from 0 until both tails are spent; the law is symmetric in
        // its extent so that a change of sign maps the grid on itself.
        let farthest = (FARTHEST / spacing) as usize;
        let mut rows: Vec<[Vec<f64>; 2]> = Vec::new();
        let mut row = Vec::new();
        at(0.0, &laws, &mut row);
        let centre = row.clone();
        let mut seen = centre[0];
        for k in 1..=farthest {
            let mut both: [Vec<f64>; 2] = Default::default();
            for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                at(sign * k as f64 * spacing, &laws, &mut both[side]);
            }
            let step = both[0][0] + both[1][0];
            seen += step;
            rows.push(both);
            // Tails fall like e^{−2|θ|} at the slowest.
            if seen > 0.5 && step < TRIMMED * spacing {
                break;
            }
        }
        let half = rows.len();
        let column = |law: usize| -> Vec<f64> {
            let below = rows.iter().rev().map(|r| r[1][law]);
            let above = rows.iter().map(|r| r[0][law]);
            below.chain([centre[law]]).chain(above).collect()
        };
        let mut total = column(0);
        let norm: f64 = total.iter().sum();
        let scaled = |mut v: Vec<f64>| {
            v.iter_mut().for_each(|p| *p /= norm);
            v
        };
        let joint = (0..self.joint.len())
            .map(|k| [scaled(column(1 + 2 * k)), scaled(column(2 + 2 * k))])
            .collect();
        total = scaled(total);
        Masses { spacing, half, total, joint }
    }
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
    levels: [OnceLock<Masses>; LEVELS],
}

impl Anchor {
    /// What the next task sees, if its teacher has overlap `r_0` with the last one.
    pub fn new(posterior: Posterior, r_0: f64) -> Self {
        Self { posterior, r_0, levels: Default::default() }
    }

    fn at(&self, level: usize) -> &Masses {
        self.levels[level].get_or_init(|| {
            let spacing = SPACING / (1_u32 << level) as f64;
            self.posterior.masses(spacing).seen_by_next(self.r_0)
        })
    }

    /// The law on a grid fine enough for sums over Gaussians of width
    /// `deviation` at distances `coupling` · spacing.
    pub fn level(&self, coupling: f64, deviation: f64, resolution: Resolution) -> &Masses {
        let needed = coupling * SPACING * resolution.0.max(1.0) / (0.6 * deviation);
        self.at((needed.log2().ceil().max(0.0) as usize).min(LEVELS - 1))
    }

    /// Where the law has its mass.
    pub fn support(&self) -> (f64, f64) {
        let masses = self.at(0);
        let edge = masses.half as f64 * masses.spacing;
        let cut = |mut p: Box<dyn Iterator<Item = &f64> + '_>| {
            let mut sum = 0.0;
            p.by_ref().take_while(|v| { sum += **v; sum < 10.0 * TRIMMED }).count()
        };
        let below = cut(Box::new(masses.total.iter()));
        let above = cut(Box::new(masses.total.iter().rev()));
        (-edge + below as f64 * masses.spacing, edge - above as f64 * masses.spacing)
    }

    /// E[½ ln((1 − m̃²)/4)], the constant of the KL divergence.
    pub fn kl_constant(&self) -> f64 {
        self.at(0).mean(|theta| -(theta.abs() + (-2.0 * theta.abs()).exp().ln_1p()))
    }
}
