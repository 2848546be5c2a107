//! What a task inherits: the law of the magnetisations before it, in the gauge of its own teacher.

use std::sync::OnceLock;

use crate::law::{NODES, Panel, Panels};

/// Panels with less than this fraction of the mass are left out. In a later task they may hold all weights with the wrong
/// sign, of which 1e-25 count, and which near q_d = 1 may be all of a q_0 − r² of 1e-25.
pub(crate) const TRIMMED: f64 = 1e-36;

/// Powers of 2 between which panels are merged for Gaussians of this width.
const NARROWEST: i32 = -20;
const WIDEST: i32 = 7;

/// Panels with less of the mass need not be known to the grids of the next task one by one.
const MASSIVE: f64 = 1e-10;
/// Half the length of a panel that is short for its distance from the bound of an anchor, in units of that distance.
/// With a jump at the bound, panels of a third and more of it are resolved.
const NARROW: f64 = 0.1;
/// Half the length of a panel in units of the scale on which the density changes there.
const HALF_PANEL: f64 = 1.8;

/// Peaks narrower than this fraction of the bound are points to the grids of the next task: no number of nodes that is
/// worth its time would resolve them.
const POINT: f64 = 1e-6;

/// For every older task k: the law of θ restricted to W^k W^t = +1 and to −1.
pub(crate) type JointMasses = Vec<[Vec<f64>; 2]>;

/// The law of θ̃ = artanh m̃, where m̃ W is the magnetisation that the previous task left and W the
/// teacher of the task that comes next.
#[derive(Clone, Debug)]
pub struct InheritedLaw {
    panels: Panels,
    /// Masses at the nodes of the panels.
    total: Vec<f64>,
    /// The same as polynomials on the panels.
    polynomials: OnceLock<Vec<[f64; NODES]>>,
    /// The finest scale on which the density changes.
    finest: OnceLock<f64>,
    /// Fewer nodes and masses, for Gaussians of at least 2^k from k = [`NARROWEST`] on.
    merged: Vec<OnceLock<(Vec<f64>, Vec<f64>)>>,
    /// The masses jointly with every older task, the one just ended included,
    /// in the order of the tasks.
    joint: JointMasses,
    /// The largest |a|, if there is one: the density may end there with a jump.
    bound: Option<f64>,
    /// How far from 1 the masses were before they were normalised, here or in an earlier task.
    defect: f64,
}

impl InheritedLaw {
    /// The law that the next task sees, if its teacher has overlap `r_0` with the last one.
    ///
    /// `columns` are masses at the nodes of `panels`, which are symmetric around 0: those of θ after
    /// the last task, and for every older task k those with W^k W^t = +1 and −1.
    /// `bound` is the largest anchor, if there is one, and `defect` how far from 1 the masses of the fields were.
    pub(crate) fn new(
        panels: &Panels,
        mut columns: Vec<Vec<f64>>,
        r_0: f64,
        bound: Option<f64>,
        defect: f64,
    ) -> Self {
        let norm: f64 = columns[0].iter().sum();
        let defect = defect.max((norm - 1.0).abs());
        columns.iter_mut().flatten().for_each(|p| *p /= norm);
        // Where the new teacher differs from the last, θ changes its sign.
        let (same, other) = (0.5 * (1.0 + r_0), 0.5 * (1.0 - r_0));
        let mix = |stays: &[f64], flips: &[f64]| -> Vec<f64> {
            stays.iter().zip(flips.iter().rev()).map(|(s, f)| same * s + other * f).collect()
        };
        let nothing = vec![0.0; columns[0].len()];
        // A flip of the teacher changes the sign of W^k W^t as well.
        let mut joint: JointMasses =
            columns[1..].chunks_exact(2).map(|c| [mix(&c[0], &c[1]), mix(&c[1], &c[0])]).collect();
        joint.push([mix(&columns[0], &nothing), mix(&nothing, &columns[0])]);
        let total = mix(&columns[0], &columns[0]);
        if panels.panels.is_empty() {
            return Self { joint, defect, ..Self::nothing() };
        }
        let kept: Vec<bool> =
            total.chunks_exact(NODES).map(|m| m.iter().sum::<f64>() > TRIMMED).collect();
        let keep = |masses: &[f64]| -> Vec<f64> {
            let chunks = masses.chunks_exact(NODES).zip(&kept);
            chunks.filter(|(_, kept)| **kept).flat_map(|(m, _)| m.iter().copied()).collect()
        };
        let chosen = panels.panels.iter().zip(&kept).filter(|(_, kept)| **kept);
        Self {
            panels: Panels::new(chosen.map(|(p, _)| *p).collect()),
            total: keep(&total),
            polynomials: OnceLock::new(),
            finest: OnceLock::new(),
            merged: Self::unmerged(),
            joint: joint.iter().map(|pair| [keep(&pair[0]), keep(&pair[1])]).collect(),
            bound,
            defect,
        }
    }

    /// The law of anchors that are all 0.
    pub(crate) fn nothing() -> Self {
        let panels = Panels::at_zero();
        Self {
            panels,
            total: vec![1.0],
            polynomials: OnceLock::new(),
            finest: OnceLock::new(),
            merged: Self::unmerged(),
            joint: vec![],
            bound: None,
            defect: 0.0,
        }
    }

    /// The same jointly with the first `count` older tasks only.
    pub(crate) fn with_tasks(mut self, count: usize) -> Self {
        self.joint.truncate(count);
        self
    }

    /// Whether it moves any field: not if every anchor is 0.
    pub(crate) fn moves(&self) -> bool {
        !self.panels.panels.is_empty()
    }

    /// How far from 1 the masses were before they were normalised, here or in an earlier task: what the
    /// panels and the grids of fields did not resolve.
    pub(crate) fn defect(&self) -> f64 {
        self.defect
    }

    /// The largest |a|, if there is one.
    pub(crate) fn bound(&self) -> Option<f64> {
        self.bound
    }

    /// The finest scale on which the density changes, its grading towards the bound apart.
    pub(crate) fn finest(&self) -> f64 {
        *self.finest.get_or_init(|| match self.bound {
            None => self.panels.finest(),
            Some(bound) => self.finest_within(bound),
        })
    }

    fn finest_within(&self, bound: f64) -> f64 {
        let panels = &self.panels.panels;
        let distance = |p: &Panel| bound - p.middle.abs();
        let of_its_own = |p: &&Panel| p.scale < 0.3 * distance(p);
        if let Some(finest) = panels.iter().filter(of_its_own).map(|p| p.scale).reduce(f64::min) {
            return finest.min(0.5 * bound);
        }
        // Peaks narrower than any panel was expected to be: those that hold mass and are much shorter than their distance
        // from the bound are not graded towards it.
        let masses = self.total.chunks_exact(NODES).map(|masses| masses.iter().sum::<f64>());
        let peaks = panels
            .iter()
            .zip(masses)
            .filter(|(p, mass)| *mass > MASSIVE && p.half < NARROW * distance(p));
        let finest = peaks.fold(0.5 * bound, |m, (p, _)| f64::min(m, p.half / HALF_PANEL));
        if finest > POINT * bound { finest } else { 0.5 * bound }
    }

    /// Where the law has its mass.
    pub(crate) fn panels(&self) -> &Panels {
        &self.panels
    }

    /// The masses at the nodes of the panels.
    pub(crate) fn masses(&self) -> &[f64] {
        &self.total
    }

    fn unmerged() -> Vec<OnceLock<(Vec<f64>, Vec<f64>)>> {
        vec![OnceLock::new(); (WIDEST - NARROWEST + 1) as usize]
    }

    /// Nodes and masses that are as good as all where they are folded with a Gaussian of this width, and fewer.
    pub(crate) fn merged(&self, width: f64) -> (&[f64], &[f64]) {
        let power = (width.log2().floor() as i32).min(WIDEST);
        if power < NARROWEST {
            return (&self.panels.thetas, &self.total);
        }
        let merge = || self.panels.merged(&self.total, 2_f64.powi(power));
        let (thetas, masses) = self.merged[(power - NARROWEST) as usize].get_or_init(merge);
        (thetas, masses)
    }

    /// The density as a polynomial on each panel.
    pub(crate) fn polynomials(&self) -> &[[f64; NODES]] {
        self.polynomials.get_or_init(|| self.panels.densities(&self.total))
    }

    /// The masses jointly with every older task, the one just ended included,
    /// in the order of the tasks.
    pub(crate) fn joint(&self) -> &JointMasses {
        &self.joint
    }
}

/// The average of a function of the anchor, which is 0 if nothing is inherited.
pub(crate) fn average(inherited: Option<&InheritedLaw>, f: impl Fn(f64) -> f64) -> f64 {
    let of = |law: &InheritedLaw| {
        law.panels.thetas.iter().zip(&law.total).map(|(theta, p)| p * f(*theta)).sum()
    };
    inherited.map_or_else(|| f(0.0), of)
}
