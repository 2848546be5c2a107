//! Observables: overlaps of a student with the teachers, and errors.

use serde::{Deserialize, Serialize};

use crate::patterns::{Patterns, padded};
use crate::world::World;

/// The error ε = arccos(p)/π of a perceptron whose signs overlap by p with the teacher's.
///
/// Computed from 1 − p, which keeps small errors accurate.
pub fn generalisation_error(p: f64) -> f64 {
    let half = (0.5 * (1.0 - p)).clamp(0.0, 1.0);
    2.0 * half.sqrt().asin() / std::f64::consts::PI
}

/// Overlaps of magnetisations with the teachers of all tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlaps {
    /// r_t = Σ m W^t/N.
    pub r: Vec<f64>,
    /// p_t = Σ sign(m) W^t/N.
    pub p: Vec<f64>,
    /// Overlap with the teachers on the sites where all teachers agree; none without such sites.
    pub q_com: Option<f64>,
}

impl Overlaps {
    /// Measures the magnetisations m(i).
    pub fn measure(world: &World, m: impl Fn(usize) -> f64) -> Self {
        let n = world.sites();
        let mut overlaps = Self::default();
        for task in 0..world.len() {
            let (mut r, mut p) = (0.0, 0i64);
            for (site, &w) in world.teacher(task).iter().enumerate() {
                let m = m(site);
                r += m * f64::from(w);
                p += if (m < 0.0) == (w < 0.0) { 1 } else { -1 };
            }
            overlaps.r.push(r / n as f64);
            overlaps.p.push(p as f64 / n as f64);
        }
        let common = world.common();
        if !common.is_empty() {
            let sum: f64 = common.iter().map(|&i| m(i) * f64::from(world.teacher(0)[i])).sum();
            overlaps.q_com = Some(sum / common.len() as f64);
        }
        overlaps
    }

    /// ε of every task.
    pub fn errors(&self) -> Vec<f64> {
        self.p.iter().map(|&p| generalisation_error(p)).collect()
    }
}

/// Overlap p of sign(m) with one teacher.
pub fn sign_overlap(m: &[f32], teacher: &[f32]) -> f64 {
    let agree = m.iter().zip(teacher).filter(|(m, w)| (**m < 0.0) == (**w < 0.0)).count();
    (2.0 * agree as f64 - teacher.len() as f64) / teacher.len() as f64
}

/// The fraction of `patterns` that the binary weights sign(m) misclassify. A field of exactly zero
/// counts one half.
pub fn error_on(patterns: &Patterns, m: &[f32]) -> f64 {
    let mut signs: Vec<f32> = m.iter().map(|m| 1f32.copysign(*m)).collect();
    signs.resize(padded(m.len()), 0.0);
    let all: Vec<u32> = (0..patterns.len() as u32).collect();
    let mut fields = vec![0.0; patterns.len()];
    patterns.fields(&all, &signs, &mut fields);
    let wrong = |&u: &f32| {
        if u < 0.0 {
            1.0
        } else if u == 0.0 {
            0.5
        } else {
            0.0
        }
    };
    fields.iter().map(wrong).sum::<f64>() / patterns.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Setting;
    use crate::randomness::Trial;

    #[test]
    fn errors_at_known_overlaps() {
        assert_eq!(generalisation_error(1.0), 0.0);
        assert!((generalisation_error(0.0) - 0.5).abs() < 1e-15);
        assert!((generalisation_error(-1.0) - 1.0).abs() < 1e-15);
        assert!((generalisation_error(0.5) - 1.0 / 3.0).abs() < 1e-15);
        let small = generalisation_error(1.0 - 2e-12);
        assert!((small / (2e-6 / std::f64::consts::PI) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn the_error_on_fresh_patterns_is_the_arccosine_of_the_overlap() {
        let setting = Setting { n: 1001, alpha: vec![0.1], r_0: vec![0.0], fresh_patterns: 40_000 };
        let world = World::draw(&setting, Trial { seed: 4, trial: 0 }).unwrap();
        for wrong in [0, 50, 300] {
            let m: Vec<f32> = world
                .teacher(0)
                .iter()
                .enumerate()
                .map(|(i, w)| if i < wrong { -w } else { 0.3 * w })
                .collect();
            let expected = generalisation_error(sign_overlap(&m, world.teacher(0)));
            let measured = error_on(world.fresh_patterns(0).unwrap(), &m);
            let tolerance = 4.0 * (expected * (1.0 - expected) / 40_000.0).sqrt();
            assert!((measured - expected).abs() <= tolerance + 0.001, "{measured} {expected}");
            let overlaps = Overlaps::measure(&world, |i| f64::from(m[i]));
            assert_eq!(overlaps.p[0], sign_overlap(&m, world.teacher(0)));
        }
    }
}
