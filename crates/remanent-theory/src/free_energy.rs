//! −βf (or the potential) per weight of one task.
//!
//! With the conjugates A, q̂_0, r̂ and the coupling c = γβ it is
//!
//! ```text
//! −½ q̂_d q_d + ½ q̂_0 q_0 − r̂ r + E[ln Z(B)] − c E[ln 2cosh θ̃] + α g_E,     B = r̂ + √q̂_0 z + c θ̃,
//! ```
//!
//! where q̂_d = q̂_0 − A and θ̃ is the anchor. Two of its terms may be much larger than the sum. Near the corner
//! m = 1 they are E[ln Z] and r̂: both are taken relative to the corner ([`from_corner`]). Behind strong anchors they
//! are E[ln Z] and c E[ln 2cosh θ̃]: both are taken relative to c ln 2cosh(B/c) ([`from_anchors`]), so that only
//! divergences enter.

use remanent_math::hermite::Rule;

use crate::inherited::{InheritedLaw, average};
use crate::overlaps::Conjugates;
use crate::site::STRONG_PRIOR;
use crate::task::{Iteration, Task};

/// Free energies are taken relative to strong anchors if the rest of the field moves weights from them by less than
/// this in θ, with a spread of less than [`WIDEST`].
const FARTHEST: f64 = 5.0;
const WIDEST: f64 = 0.5;

/// −βf (or the potential) per weight after one iteration from the conjugates `c`.
pub(crate) fn free_energy(task: &Task, alpha: f64, c: &Conjugates, iteration: &Iteration) -> f64 {
    let o = &iteration.site.overlaps;
    let kappa = task.one_minus_q_star.unwrap_or(o.one_minus_q_d);
    // 1 − r from the parts of 1 − r².
    let one_minus_r = if o.r > 0.0 {
        (o.one_minus_q_d + o.q_d_minus_q_0 + o.q_0_minus_r2) / (1.0 + o.r)
    } else {
        1.0 - o.r
    };
    let (mean, deviation) = (c.r_hat / task.coupling, c.q_0_hat.sqrt() / task.coupling);
    let weights = if task.coupling > STRONG_PRIOR && mean < FARTHEST && deviation < WIDEST {
        iteration.site.ln_z_from_prior
            + task.coupling * from_anchors(task.inherited, mean, deviation)
    } else {
        iteration.site.ln_z_rest + task.coupling * from_corner(task.inherited)
    };
    // ½ A q_d − ½ A = −½ A (1 − q_d), and E[B] = r̂ + c E[θ̃].
    -0.5 * c.stiffness * kappa - 0.5 * c.q_0_hat * o.q_d_minus_q_0
        + c.r_hat * one_minus_r
        + weights
        + alpha * iteration.energy.g_e
}

/// E[θ̃ − ln 2cosh θ̃]: the constant of the KL divergence, and what the mean of B takes from ln Z.
fn from_corner(inherited: Option<&InheritedLaw>) -> f64 {
    average(inherited, |theta| -((-2.0 * theta).max(0.0) + (-2.0 * theta.abs()).exp().ln_1p()))
}

/// E[ln cosh(θ̃ + δ) − ln cosh θ̃ − δ] over anchors θ̃ and Gaussian δ.
fn from_anchors(inherited: Option<&InheritedLaw>, mean: f64, deviation: f64) -> f64 {
    // It is analytic in δ up to iπ/2.
    let rule = Rule::shared(if deviation < 0.02 {
        8
    } else if deviation < 0.15 {
        16
    } else {
        48
    });
    let moved: Vec<(f64, f64)> =
        rule.nodes.iter().zip(&rule.weights).map(|(y, w)| (mean + deviation * y, *w)).collect();
    average(inherited, |theta| {
        let decay = (-2.0 * theta.abs()).exp();
        // ½ (1 − |tanh θ|).
        let gap = decay / (1.0 + decay);
        let rest = |delta: f64| {
            if theta >= 0.0 {
                (gap * (-2.0 * delta).exp_m1()).ln_1p()
            } else {
                (gap * (2.0 * delta).exp_m1()).ln_1p() - 2.0 * delta
            }
        };
        moved.iter().map(|(delta, w)| w * rest(*delta)).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Fields;
    use crate::posterior::Posterior;
    use crate::resolution::Resolution;
    use crate::site::Site;

    const RESOLUTION: Resolution = Resolution::STANDARD;

    /// A law of anchors of both signs.
    fn law() -> InheritedLaw {
        let c = Conjugates { stiffness: 2.0, q_0_hat: 3.0, r_hat: 1.5 };
        let site = Site { stiffness: c.stiffness, entropy: 0.0 };
        Posterior::new(site, &Fields::new(&c, 0.0, None), RESOLUTION).inherited(0.5)
    }

    /// Relative to the corner and relative to the anchors, ln Z and the constant of the KL divergence have the same sum.
    #[test]
    fn both_ways_give_the_same() {
        let law = law();
        for (coupling, stiffness, q_0_hat, r_hat) in [
            (40.0, 1.0, 2.0, 0.7),
            (60.0, -20.0, 400.0, 9.0),
            (300.0, 50.0, 1e4, 900.0),
            (35.0, -60.0, 200.0, 1.0),
        ] {
            for inherited in [None, Some(&law)] {
                let task = Task::new(1.0).unwrap().with_coupling(coupling, inherited).unwrap();
                let c = Conjugates { stiffness, q_0_hat, r_hat };
                let site = task.iterate(&c, RESOLUTION).unwrap().site;
                let (mean, deviation) = (r_hat / coupling, q_0_hat.sqrt() / coupling);
                assert!(mean < FARTHEST && deviation < WIDEST);
                let anchors =
                    coupling * from_anchors(inherited, mean, deviation) + site.ln_z_from_prior;
                let corner = coupling * from_corner(inherited) + site.ln_z_rest;
                assert!(
                    (anchors - corner).abs() < 1e-13 * coupling * 10.0,
                    "{c:?} {anchors} {corner}"
                );
            }
        }
    }

    /// Behind anchors that nothing moves, a weight gains the entropy of its Gaussian around them and no more: the
    /// integral of e^{−c KL} over m is √(2π (1 − m̃²)/c) for c → ∞.
    #[test]
    fn strong_anchors_leave_the_width_of_the_measure() {
        let (law, coupling) = (law(), 1e7);
        let task = Task::new(1.0).unwrap().with_coupling(coupling, Some(&law)).unwrap();
        let c = Conjugates { stiffness: 1e-9, q_0_hat: 1e-9, r_hat: 1e-9 };
        let site = task.iterate(&c, RESOLUTION).unwrap().site;
        let sum = site.ln_z_from_prior
            + coupling * from_anchors(Some(&law), c.r_hat / coupling, c.q_0_hat.sqrt() / coupling);
        let width = |theta: f64| 0.5 * (std::f64::consts::TAU / coupling).ln() - theta.cosh().ln();
        let expected = average(Some(&law), width);
        assert!((sum / expected - 1.0).abs() < 1e-6, "{sum} {expected}");
    }
}
