//! The law of the field in which a weight lives with one step of breaking, and what a
//! task leaves to the next one.
//!
//! Given the field b of the outermost level, a weight of a sampled state lives in the field
//! B = b + √c_1 y of its cluster, c_1 = q_1_hat − q_0_hat, with y tilted by e^{xF(B)}:
//!
//! ```text
//! Q(B) = ∫ db P(b) N(B; b, c_1) e^{x (F(B) − ψ_0(b))}
//! ```
//!
//! Its moments are the order parameters: ∫ Q ⟨m²⟩ = q_d, ∫ Q ⟨m⟩² = q_1, ∫ Q ⟨m⟩ = r.

use remanent_math::grid::{Cluster, Nodes};

use super::level::{Lattice, Level};
use super::site::{Levels, Surroundings};
use super::state::StepConjugates;
use crate::agreement::Agreement;
use crate::fields::{FieldGrid, Purpose};
use crate::inherited::JointMasses;
use crate::posterior::{Posterior, agreement, joint_laws};
use crate::resolution::Resolution;
use crate::site::Site;

/// The law of the field in which a weight lives, on a grid.
#[derive(Clone, Debug)]
pub struct FieldLaw {
    /// The site measure in a field.
    pub site: Site,
    /// The fields.
    pub grid: FieldGrid,
    /// Their probabilities.
    pub total: Vec<f64>,
    /// The same jointly with W^k W^t = ±1 for every older task k.
    pub joint: JointMasses,
    /// On what scale the law changes.
    pub smooth: f64,
}

impl FieldLaw {
    /// The overlaps with the teachers of all older tasks.
    pub fn agreements(&self, resolution: Resolution) -> Vec<Agreement> {
        let signs = self.site.ln_sign_probabilities(&self.grid.fields, resolution.factor());
        let signs: Vec<(f64, f64)> = signs.into_iter().map(|(n, p)| (n.exp(), p.exp())).collect();
        self.joint.iter().map(|[plus, minus]| agreement(plus, minus, &signs)).collect()
    }

    /// What the task leaves.
    pub fn posterior(self, resolution: Resolution) -> Posterior {
        Posterior::of_law(
            self.site,
            self.grid.fields,
            self.total,
            self.joint,
            self.smooth,
            resolution,
        )
    }
}

impl Surroundings<'_> {
    /// Q, and the same jointly with W^k W^t = ±1 for every older task k.
    pub fn law(&self, c: &StepConjugates, x: f64, resolution: Resolution) -> FieldLaw {
        let site = Site { stiffness: c.stiffness, entropy: self.coupling };
        let fields = self.fields(c);
        let deviation = c.gaps[0].sqrt();
        let switch = (c.stiffness + self.coupling + 2.0).max(1.0).sqrt();
        // A density of θ changes with b on the scale of the tilted Gaussian.
        let smooth = deviation.hypot(switch).min(fields.smoothness());
        let finer =
            Resolution::unchecked(resolution.factor() * (fields.smoothness() / smooth).min(30.0));
        let outer = fields.grid(&site, Purpose::Densities, finer);
        let total = fields.probabilities(&outer, Purpose::Densities);
        let mut laws = vec![total];
        for pair in joint_laws(&fields, &outer, &laws[0]) {
            laws.extend(pair);
        }
        let parameters = [x];
        let mut levels = Levels::new(site, c, &parameters, false, resolution);
        levels.surround(&outer.fields);
        let mut clusters = vec![Cluster { centre: 0.0, scale: switch, strength: 1.0 }];
        if deviation > switch {
            let extent = c.stiffness.max(0.0) + self.coupling + switch;
            let strength = 0.32 * extent / switch;
            clusters.push(Cluster { centre: 0.0, scale: extent, strength });
        }
        let nodes = levels.nodes(1, deviation, &clusters);
        let rows = levels.innermost(&nodes.x);
        let lattice = Lattice::new(nodes, &rows, levels.columns(1));
        let level = Level { lattice: &lattice, x, variance: c.gaps[0], offset: 1.0 };
        let reach = levels.reach(1) * deviation;
        let mut found = vec![vec![0.0; lattice.nodes.x.len()]; laws.len()];
        let mut weights = Vec::new();
        for (i, b) in outer.fields.iter().enumerate() {
            let range = level.within(b - reach, b + reach);
            level.probabilities(*b, range.clone(), &mut weights);
            for (found, law) in found.iter_mut().zip(&laws) {
                for (q, w) in found[range.clone()].iter_mut().zip(&weights) {
                    *q += law[i] * w;
                }
            }
        }
        let Nodes { x, weights } = lattice.nodes;
        let mut found = found.into_iter();
        let total = found.next().unwrap_or_default();
        let mut joint = JointMasses::new();
        while let (Some(plus), Some(minus)) = (found.next(), found.next()) {
            joint.push([plus, minus]);
        }
        let grid = FieldGrid { fields: x, weights };
        FieldLaw { site, grid, total, joint, smooth: deviation.min(fields.smoothness()) }
    }
}
