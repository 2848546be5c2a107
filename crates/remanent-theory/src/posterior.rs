//! What a task leaves behind: the law of its magnetisations.
//!
//! A [`Posterior`] is the law of θ_t = artanh(m_t W^t) after task t, jointly with
//! W^k W^t = ±1 for every older task k, so that the error on each of them can be
//! followed. In the gauge of the next task, whose teacher agrees with W^t on a weight with
//! probability (1 + r_0)/2, it is an [`InheritedLaw`].

use remanent_math::multiversioned;
use std::sync::OnceLock;

use crate::agreement::Agreement;
use crate::condensed::condensed;
use crate::fading::{Fading, Image};
use crate::fields::{FieldGrid, Fields, Purpose};
use crate::inherited::{InheritedLaw, JointMasses, TRIMMED};
use crate::law::{NODES, Panel, Panels, coefficients};
use crate::resolution::Resolution;
use crate::site::{Densities, Moments, Site};
use crate::smoothness::Smoothness;

/// No θ lies beyond this.
const FARTHEST: f64 = 50.0;
/// Fields less probable than this leave nothing that a law keeps.
const UNLIKELY: f64 = 1e-40;
/// How many widths a narrow measure reaches: beyond them are e^{−87} of its mass,
const NARROW_REACH: f64 = 13.2;
/// which also holds so far from a place inside a wide one: its tail falls like e^{−2|θ|}.
const WIDE_REACH: f64 = 43.0;
/// The same before a bounded anchor, which does not tell the largest θ from each other.
const BOUNDED_REACH: f64 = 21.0;
/// Panels with less than this fraction of the mass need not be resolved.
const UNSEEN: f64 = 1e-30;
/// The largest scale on which the density of θ changes: its tails fall like e^{−2|θ|}.
const WIDEST: f64 = 0.5;
/// Length of a panel in units of the scale on which the density changes.
const PANEL: f64 = 3.6;
/// Panels on which the last coefficients of the density are larger than this
/// fraction of its size are halved.
const UNRESOLVED: f64 = 1e-11;
/// How often.
const HALVINGS: usize = 11;
/// Where they are smaller than this fraction, the next panel may be twice as long as this one,
const SMOOTH: f64 = 1e-13;
/// but not longer than this many times what the scale asks for on which the density may change.
const LONGEST: f64 = 8.0;

/// A panel on the side a ≥ 0, and the values of each law there and at its mirror image.
type Pair = (Panel, [Vec<[f64; NODES]>; 2]);

/// The law of θ after a task: the site measure averaged over the field.
#[derive(Clone, Debug)]
pub struct Posterior {
    site: Site,
    /// Rising.
    fields: Vec<f64>,
    /// Moments in each field, computed when a next task asks for them.
    moments: OnceLock<Vec<Moments>>,
    resolution: Resolution,
    /// On what scale the law of the field changes.
    smoothness: Smoothness,
    /// Probability of each field.
    total: Vec<f64>,
    /// The same jointly with W^k W^t = ±1 for every older task k.
    joint: JointMasses,
    /// How far from 1 the probabilities were, here or in an earlier task.
    defect: f64,
}

impl Posterior {
    /// The law that a solved task leaves.
    pub fn new(site: Site, fields: &Fields, resolution: Resolution) -> Self {
        let grid = fields.grid(&site, Purpose::Densities, resolution);
        let (total, defect) = fields.normalised(&grid, Purpose::Densities);
        let joint = joint_laws(fields, &grid, &total);
        let defect = defect.max(fields.inherited.map_or(0.0, InheritedLaw::defect));
        let laws = std::iter::once(total).chain(joint.into_iter().flatten()).collect();
        let (nodes, laws) = condensed(&site, grid.fields, laws, resolution);
        let mut laws = laws.into_iter();
        let total = laws.next().unwrap_or_default();
        let joint = std::iter::from_fn(|| Some([laws.next()?, laws.next()?])).collect();
        let law = Self::of_law(site, nodes, total, joint, fields.smoothness(), resolution);
        Self { defect, smoothness: fields.local_smoothness(), ..law }
    }

    /// The same from a law of the field on rising `fields`, which changes on the scale `smooth`.
    pub(crate) fn of_law(
        site: Site,
        fields: Vec<f64>,
        total: Vec<f64>,
        joint: JointMasses,
        smooth: f64,
        resolution: Resolution,
    ) -> Self {
        let (moments, smoothness) = (OnceLock::new(), Smoothness::uniform(smooth));
        Self { site, fields, moments, resolution, smoothness, total, joint, defect: 0.0 }
    }

    /// The law that the next task inherits, if its teacher has overlap `r_0` with this one.
    pub fn inherited(&self, r_0: f64) -> InheritedLaw {
        self.faded(r_0, Fading::NONE)
    }

    /// The same if it fades before.
    pub fn faded(&self, r_0: f64, fading: Fading) -> InheritedLaw {
        let mut laws: Vec<&[f64]> = vec![&self.total];
        laws.extend(self.joint.iter().flatten().map(Vec::as_slice));
        let (panels, mut columns) = self.panels(&laws, fading);
        if fading.reverses() {
            columns.iter_mut().for_each(|column| column.reverse());
        }
        InheritedLaw::new(&panels, columns, r_0, fading.bound(), self.defect)
    }

    /// The moments in each field.
    fn moments(&self) -> &[Moments] {
        self.moments.get_or_init(|| {
            let mut moments = Vec::with_capacity(self.fields.len());
            self.site.moments(&self.fields, self.resolution.factor(), &mut moments);
            moments
        })
    }

    /// The density of the anchor, Σ_B law(B) P(θ|B) dθ/da, at the nodes of a panel, for several laws. `room` is for
    /// the densities in all fields.
    fn at_nodes(
        densities: &Densities,
        image: &Image,
        laws: &[&[f64]],
        room: &mut [f64],
    ) -> Vec<[f64; NODES]> {
        let mut values = vec![[0.0; NODES]; laws.len()];
        for (j, (theta, stretch)) in image.thetas.into_iter().zip(image.stretch).enumerate() {
            let window = densities.at(theta, room);
            for (values, law) in values.iter_mut().zip(laws) {
                values[j] = stretch * dot(&law[window.clone()], &room[window.clone()]);
            }
        }
        values
    }

    /// Intervals of |θ| outside of which there is nothing, in rising order. What is left out must be little next to
    /// the rarest weights that count: in a later task they may be all that have the wrong sign.
    fn intervals(&self, fading: Fading) -> Vec<(f64, f64)> {
        let wide_reach = if fading.bound().is_some() { BOUNDED_REACH } else { WIDE_REACH };
        let mut spans: Vec<(f64, f64)> = Vec::with_capacity(self.fields.len());
        let fields = self.fields.iter().zip(self.moments());
        for ((field, moments), p) in fields.zip(&self.total) {
            if *p < UNLIKELY {
                continue;
            }
            let (width, _) = self.site.scales(moments.reference);
            // A narrow measure has the tails of a Gaussian, a wide one those of 1 − m² on the side of the corner.
            let reach = if width > 0.1 {
                wide_reach
            } else {
                let narrow = NARROW_REACH * width;
                self.site.reach_above(moments.reference, field.abs(), narrow).min(wide_reach)
            };
            let below = if width > 0.1 {
                self.site.reach_below(moments.reference, field.abs()).unwrap_or(reach)
            } else {
                reach
            };
            let span = (moments.reference - below, moments.reference + reach);
            spans.push((span.0.max(0.0), span.1.min(FARTHEST)));
        }
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut intervals: Vec<(f64, f64)> = Vec::new();
        for span in spans {
            match intervals.last_mut() {
                Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
                _ => intervals.push(span),
            }
        }
        intervals
    }

    /// On what scale the density of θ changes around θ ≥ 0: the site measure
    /// is that wide, or the law of its field is that smooth.
    fn scale(&self, theta: f64) -> f64 {
        let (width, response) = self.site.scales(theta);
        // The fields that put a weight at θ, or at −θ, are around that of which θ is the mode, within 1/⟨Δm²⟩^½.
        let smooth = self.site.field_of_mode(theta).map_or_else(
            || self.smoothness.between(f64::NEG_INFINITY, f64::INFINITY),
            |(field, reach)| {
                let at = |field: f64| self.smoothness.between(field - reach, field + reach);
                at(field).min(at(-field))
            },
        );
        let moved = 0.7 * smooth * response;
        (width * width + moved * moved).sqrt().min(WIDEST)
    }

    /// Panels that resolve the density of the anchor on both sides of 0, in rising order,
    /// each with its mirror image, and the masses of each law at their nodes.
    fn panels(&self, laws: &[&[f64]], fading: Fading) -> (Panels, Vec<Vec<f64>>) {
        if fading.forgets() {
            let masses = laws.iter().map(|law| vec![law.iter().sum::<f64>()]).collect();
            return (Panels::at_zero(), masses);
        }
        let pairs = self.pairs(laws, fading);
        let mut columns = vec![Vec::with_capacity(2 * NODES * pairs.len()); laws.len()];
        let mirrored = pairs.iter().rev().map(|(panel, sides)| (panel.mirrored(), &sides[1]));
        let straight = pairs.iter().map(|(panel, sides)| (*panel, &sides[0]));
        let mut panels = Vec::with_capacity(2 * pairs.len());
        for (panel, values) in mirrored.chain(straight) {
            let weights = panel.weights();
            for (column, values) in columns.iter_mut().zip(values) {
                column.extend(values.iter().zip(&weights).map(|(v, w)| v * w));
            }
            panels.push(panel);
        }
        (Panels::new(panels), columns)
    }

    /// The panels on the side θ ≥ 0, as long as the density is smooth on them and its mirror image.
    fn pairs(&self, laws: &[&[f64]], fading: Fading) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = Vec::new();
        let densities = Densities::new(self.site, &self.fields, self.moments());
        let mut room = densities.room();
        let mut seen = 0.0_f64;
        let refinement = self.resolution.factor() / Resolution::STANDARD.factor();
        let farthest = self.moments().iter().zip(&self.total).filter(|(_, p)| **p > UNLIKELY);
        let farthest = farthest.fold(0.0, |m, (moments, _)| f64::max(m, moments.reference));
        // The density may be smoother than it must be: panels are tried that are longer than the scale asks for, as
        // long as that works. A bounded anchor crowds all large θ into the end of a panel, where no node would see them.
        let longest = if fading.bound().is_some() { 1.0 } else { LONGEST };
        let mut stretch = 1.0;
        for (start, end) in self.intervals(fading) {
            let mut from = start;
            while from < end {
                let near = self.scale(from);
                let length = |scale: f64| PANEL * (stretch * scale).min(WIDEST) / refinement;
                let ahead = self.scale(from + length(near));
                let scale = near.min(ahead).min(self.scale(from + 0.5 * length(near)));
                let to = (from + length(scale)).min(end);
                let panel = Panel { middle: 0.5 * (from + to), half: 0.5 * (to - from), scale };
                from = to;
                let mut values = |image: &Image| Self::at_nodes(&densities, image, laws, &mut room);
                let (here, rough) = self.halve(panel, fading, seen, &mut values, &mut pairs);
                seen += here;
                stretch = if rough > UNRESOLVED {
                    f64::max(0.5 * stretch, 1.0)
                } else if rough < SMOOTH {
                    f64::min(2.0 * stretch, longest)
                } else {
                    stretch
                };
                // Tails fall like e^{−2|θ|} at the slowest.
                if from > farthest && seen > 0.3 && here < TRIMMED {
                    break;
                }
            }
        }
        pairs
    }

    /// Adds the image of a panel of θ to `pairs`, halved until a polynomial resolves the density on both of
    /// its sides. Answers its mass, and how rough the density is on the whole of it. `seen` is the mass of the panels
    /// before it; `values` gives those of each law at the nodes of a panel.
    fn halve(
        &self,
        panel: Panel,
        fading: Fading,
        seen: f64,
        values: &mut dyn FnMut(&Image) -> Vec<[f64; NODES]>,
        pairs: &mut Vec<Pair>,
    ) -> (f64, f64) {
        let refinement = self.resolution.factor() / Resolution::STANDARD.factor();
        let mut open = vec![(panel, 0, f64::INFINITY)];
        let (mut mass, mut roughness) = (0.0, 0.0);
        while let Some((panel, depth, before)) = open.pop() {
            let image = fading.image(&panel);
            let sides = [values(&image), values(&image.mirrored())];
            // The last coefficients relative to the size of the density. A panel longer than its scale must resolve the
            // smallest values too: next to larger ones the few weights with the wrong sign would be lost.
            let is_long = 2.0 * panel.half > 1.01 * PANEL * panel.scale / refinement;
            let rough = sides.iter().fold(0.0, |worst: f64, side| {
                let size = side[0].iter().fold(0.0, |m, v| f64::max(m, *v));
                let least = side[0].iter().fold(size, |m, v| f64::min(m, *v));
                let last = coefficients(&side[0]);
                let tail = last[NODES - 2..].iter().map(|c| c.abs()).sum::<f64>();
                let matters = size * image.panel.half > UNSEEN * seen.max(1e-3);
                let reference = if is_long { least.max(0.0) } else { size };
                if matters { worst.max(tail / reference) } else { worst }
            });
            if depth == 0 {
                roughness = rough;
            }
            // Rounding does not become smaller on a shorter panel. Nor does what is much narrower than it, but that is
            // larger than rounding.
            let falls = rough < 0.3 * before || rough > self.site.rounding_of_densities();
            if rough > UNRESOLVED && falls && depth < HALVINGS {
                let [low, high] = panel.halves();
                open.push((high, depth + 1, rough));
                open.push((low, depth + 1, rough));
                continue;
            }
            let weights = image.panel.weights();
            for side in &sides {
                mass += side[0].iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>();
            }
            // A panel that was stretched changes on a larger scale than it seemed, a halved one on a smaller.
            let mut panel = image.panel;
            let resolved = 2.0 * panel.half * refinement / PANEL;
            if resolved > panel.scale || (self.smoothness.varies() && fading.bound().is_none()) {
                panel.scale = if depth > 0 { resolved } else { panel.scale.max(resolved) };
            } else if depth > 0 && self.site.has_two_modes() && fading.bound().is_none() {
                // Between two modes there is nothing, and next to that the density falls on the scale of one of them,
                // however smooth the law of the field is.
                let finest = fading.rho() * self.site.width_of_one_mode();
                panel.scale = panel.scale.min(resolved.max(finest));
            }
            pairs.push((panel, sides));
        }
        (mass, roughness)
    }
}

/// The probability of each field jointly with W^k W^t = ±1 for every older task k.
pub(crate) fn joint_laws(fields: &Fields, grid: &FieldGrid, total: &[f64]) -> JointMasses {
    match (fields.inherited, fields.mixing()) {
        (None, _) => vec![],
        (Some(_), Some(law_before)) => {
            let columns: Vec<&[f64]> =
                law_before.joint().iter().flatten().map(Vec::as_slice).collect();
            let laws = fields.all_mixed(grid, law_before.panels(), &columns);
            let mut laws = laws.into_iter();
            std::iter::from_fn(|| Some([laws.next()?, laws.next()?])).collect()
        }
        // The past is forgotten: only the teachers' own correlation is left.
        (Some(law_before), None) => {
            let scaled = |masses: &Vec<f64>| {
                let share: f64 = masses.iter().sum();
                total.iter().map(|p| p * share).collect::<Vec<f64>>()
            };
            law_before.joint().iter().map(|pair| [scaled(&pair[0]), scaled(&pair[1])]).collect()
        }
    }
}

/// How the signs of the weights agree with the teachers after a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Signs {
    /// ln(1 − p) for the teacher of the task, where 1 − p = 2 P(m W < 0).
    pub ln_one_minus_p: f64,
    /// ln(1 + p).
    pub ln_one_plus_p: f64,
    /// The same for every older teacher.
    pub older: Vec<Agreement>,
}

/// How the signs of the weights agree with the teachers after a solved task.
pub fn signs(site: &Site, fields: &Fields, resolution: Resolution) -> Signs {
    let grid = fields.grid(site, Purpose::Signs, resolution);
    let total = fields.probabilities(&grid, Purpose::Signs);
    // In logarithms: far above the transition 1 − p is e^{−1000} and less.
    let ln_law: Vec<f64> = match fields.mixing() {
        None => {
            let nodes = grid.fields.iter().zip(&grid.weights);
            nodes.map(|(field, weight)| weight.ln() + fields.ln_gaussian(*field)).collect()
        }
        Some(_) => total.iter().map(|p| p.ln()).collect(),
    };
    let is_mixed = fields.mixing().is_some();
    let (signs, wrong) = ln_signs(site, &grid.fields, &total, &ln_law, is_mixed, resolution);
    let joint = joint_laws(fields, &grid, &total);
    let signs: Vec<(f64, f64)> = signs.into_iter().map(|(n, p)| (n.exp(), p.exp())).collect();
    let right: f64 = total.iter().zip(&signs).map(|(p, s)| p * s.1).sum();
    Signs {
        ln_one_minus_p: std::f64::consts::LN_2 + wrong,
        ln_one_plus_p: std::f64::consts::LN_2 + right.ln(),
        older: joint.iter().map(|[plus, minus]| agreement(plus, minus, &signs)).collect(),
    }
}

/// How many fields are taken or left together.
const BLOCK: usize = 32;
/// Fields that hold less than e^{−60} of what is sought are left out.
const LEFT_OUT: f64 = 60.0;
/// Fields less probable than this do not matter to overlaps with older teachers.
const IMPROBABLE: f64 = 1e-40;

/// (ln P(m < 0), ln P(m > 0)) in each of the rising `fields`, and ln P(m < 0) of all of them together. Where the
/// grid has to reach to B = 0 through many widths of a Gaussian, few fields matter: P(m < 0) falls with the
/// field, so its value in the first field of a block bounds what the block can add. After an anchor (`is_mixed`) as
/// many weights may be in fields against the teacher; what is left of the other sign there, if it is e^{−60} and less, is
/// little next to the 1e-17 of all weights that count.
fn ln_signs(
    site: &Site,
    fields: &[f64],
    total: &[f64],
    ln_law: &[f64],
    is_mixed: bool,
    resolution: Resolution,
) -> (Vec<(f64, f64)>, f64) {
    let heads: Vec<f64> = fields.iter().step_by(BLOCK).copied().collect();
    let at_heads = site.ln_sign_probabilities(&heads, resolution.factor());
    let terms = at_heads.iter().zip(ln_law.iter().step_by(BLOCK)).map(|(s, law)| s.0 + law);
    let negligible = terms.fold(f64::NEG_INFINITY, f64::max) - LEFT_OUT;
    let largest = |values: &[f64]| values.iter().fold(f64::NEG_INFINITY, |m, v| f64::max(m, *v));
    let mut signs: Vec<(f64, f64)> = Vec::with_capacity(fields.len());
    let mut wrong = f64::NEG_INFINITY;
    let blocks = ln_law.chunks(BLOCK).zip(total.chunks(BLOCK)).zip(fields.chunks(BLOCK));
    for (number, (((ln_law, total), block), head)) in blocks.zip(&at_heads).enumerate() {
        // P(m > 0) rises with the field: up to the first of the next block it is smaller than there.
        if is_mixed && at_heads.get(number + 1).is_some_and(|next| next.1 < -LEFT_OUT) {
            signs.resize(signs.len() + block.len(), (0.0, f64::NEG_INFINITY));
            // Far from all anchors the law is rounding, of either sign.
            if largest(ln_law) > negligible {
                let terms = ln_law.iter().copied().filter(|law| !law.is_nan());
                wrong = ln_sum_exp(terms.chain([wrong]));
            }
            continue;
        }
        let is_decided = block[0] > 0.0 && head.0 < negligible;
        let adds = head.0 + largest(ln_law) > negligible || largest(total) > IMPROBABLE;
        if is_decided || !adds {
            signs.resize(signs.len() + block.len(), (f64::NEG_INFINITY, 0.0));
            continue;
        }
        let first = signs.len();
        signs.extend(site.ln_sign_probabilities(block, resolution.factor()));
        let terms = signs[first..].iter().zip(ln_law).map(|(s, law)| s.0 + law);
        wrong = ln_sum_exp(terms.chain([wrong]));
    }
    (signs, wrong)
}

/// The overlap with a teacher W^k, from the laws of the field where W^k W^t = 1 and −1 and from the
/// probabilities of a negative and of a positive weight in each field.
pub(crate) fn agreement(plus: &[f64], minus: &[f64], signs: &[(f64, f64)]) -> Agreement {
    let twice = |probability: f64| (2.0 * probability).clamp(0.0, 2.0);
    let nodes = || plus.iter().zip(minus).zip(signs);
    Agreement {
        one_minus_p: twice(nodes().map(|((p, m), s)| p * s.0 + m * s.1).sum()),
        one_plus_p: twice(nodes().map(|((p, m), s)| p * s.1 + m * s.0).sum()),
    }
}

multiversioned! {
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
}

fn ln_sum_exp(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + terms.map(|t| (t - top).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::site_averages;
    use crate::overlaps::Conjugates;

    /// A bounded anchor ends with a jump, which a narrow Gaussian and a strong entropy hardly smooth: the density
    /// of θ has a step much narrower than the first panels.
    #[test]
    fn a_step_in_the_density_is_resolved() {
        let resolution = Resolution::STANDARD;
        let task = |coupling, stiffness, q_0_hat, r_hat, law| {
            let fields = Fields::new(&Conjugates { stiffness, q_0_hat, r_hat }, coupling, law);
            Posterior::new(Site { stiffness, entropy: coupling }, &fields, resolution)
        };
        let first = task(0.0, -50.0, 100.0, 30.0, None);
        let law = first.faded(1.0, Fading::new(0.97, 1.0).unwrap());
        for (coupling, stiffness, q_0_hat) in [(1.5e6, 1.3e6, 1.3e9), (2e4, 10.0, 1e3)] {
            let left = task(coupling, stiffness, q_0_hat, 3e3, Some(&law)).inherited(0.5);
            assert!(left.defect() < 1e-9, "{coupling} {:e}", left.defect());
        }
    }

    /// A free weight in no field has a uniform m, and ⟨e^{sθ}⟩ = (πs/2)/sin(πs/2). Weights beyond θ = 21 were left out: 1e-5 of
    /// this average for s = 1.5.
    #[test]
    fn the_tail_of_a_law_is_kept() {
        let (site, weak) = (Site { stiffness: 0.0, entropy: 0.0 }, 1e-9);
        let conjugates = Conjugates { stiffness: 0.0, q_0_hat: weak * weak, r_hat: weak };
        let fields = Fields::new(&conjugates, 0.0, None);
        let law = Posterior::new(site, &fields, Resolution::STANDARD).inherited(1.0);
        let (s, nodes) = (1.5, law.panels().thetas.iter().zip(law.masses()));
        let found: f64 = nodes.map(|(theta, mass)| mass * (s * theta).exp()).sum();
        let angle = 0.5 * std::f64::consts::PI * s;
        assert!((found * angle.sin() / angle - 1.0).abs() < 1e-7, "{found}");
    }

    /// Two modes in a smooth law of the field: around each of them the density of θ changes on a much smaller scale with the
    /// field, and next to what lies between the modes it falls on that scale.
    #[test]
    fn a_law_of_two_modes_is_resolved() {
        let resolution = Resolution::STANDARD;
        let first = Conjugates { stiffness: 1e5, q_0_hat: 1.5e7, r_hat: 7e4 };
        let none = Site { stiffness: first.stiffness, entropy: 0.0 };
        let before =
            Posterior::new(none, &Fields::new(&first, 0.0, None), resolution).inherited(0.5);
        for (coupling, stiffness) in [(4e6, -8e6), (2.9e4, -4.1e4)] {
            let second = Conjugates { stiffness, q_0_hat: 1e6, r_hat: 1e3 };
            let site = Site { stiffness, entropy: coupling };
            let fields = Fields::new(&second, coupling, Some(&before));
            let law = Posterior::new(site, &fields, resolution).inherited(0.5);
            assert!(law.defect() < 1e-9, "{coupling} {:e}", law.defect());
            let third = Conjugates { stiffness: 1e6, q_0_hat: 1e4, r_hat: 1e3 };
            let fields = Fields::new(&third, 5e5, Some(&law));
            let site = Site { stiffness: third.stiffness, entropy: 5e5 };
            let defect = site_averages(&site, &fields, resolution).defect;
            assert!(defect < 1e-9, "{coupling} {defect:e}");
        }
    }
}
