//! Synaptic intelligence: Zenke, Poole and Ganguli, "Continual learning through synaptic
//! intelligence", ICML 2017.
//!
//! Over a task every weight collects its part in the fall of the loss, ω = −∫ (∂L/∂θ) dθ. At the end
//! of the task the importance grows, Ω ← max(0, Ω + ω/((θ − θ*)² + ξ)), with θ* at the last switch,
//! and θ* moves to θ. The loss of the next task has the term c Ω (θ − θ*)². L is the loss without
//! this term, and the mean over a batch.

use remanent_math::multiversioned;

use crate::trainer::Memory;

multiversioned! {
    /// g ← g + 2 c Ω (θ − θ*).
    pub fn add_pull(c: f32, theta: &[f32], anchor: &[f32], importance: &[f32], g: &mut [f32]) {
        for (((g, &t), &a), &omega) in g.iter_mut().zip(theta).zip(anchor).zip(importance) {
            *g += 2.0 * c * omega * (t - a);
        }
    }

    /// ω ← ω + (∂L/∂θ) step, where θ moves by −step.
    pub fn add_to_path(by_loss: &[f32], step: &[f32], path: &mut [f32]) {
        for ((path, &g), &step) in path.iter_mut().zip(by_loss).zip(step) {
            *path += g * step;
        }
    }

    fn consolidate(
        damping: f32,
        theta: &[f32],
        anchor: &mut [f32],
        path: &mut [f32],
        importance: &mut [f32],
    ) {
        let weights = theta.iter().zip(anchor).zip(path).zip(importance);
        for (((&t, anchor), path), importance) in weights {
            let moved = t - *anchor;
            let sum = *importance + *path / (moved * moved + damping);
            *importance = if sum < 0.0 { 0.0 } else { sum };
            *path = 0.0;
            *anchor = t;
        }
    }
}

/// Ends a task: Ω, ω and θ* of a layer.
pub fn end_task(damping: f32, theta: &[f32], memory: &mut Memory) {
    let Memory { anchor, kept, fisher, .. } = memory;
    consolidate(damping, theta, anchor, kept, fisher);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a quadratic loss ½ h θ² the path integral is the fall of the loss, and the pull is the
    /// gradient of c Ω (θ − θ*)².
    #[test]
    fn importance_is_the_fall_of_the_loss_over_the_squared_distance() {
        let (curvature, rate, start) = (3.0_f32, 1e-3_f32, 1.5_f32);
        let mut memory = Memory {
            anchor: vec![start],
            kept: vec![0.0],
            fisher: vec![0.25],
            ..Memory::default()
        };
        let mut theta = [start];
        for _ in 0..500 {
            let gradient = [curvature * theta[0]];
            let step = [rate * gradient[0]];
            add_to_path(&gradient, &step, &mut memory.kept);
            theta[0] -= step[0];
        }
        let (from, to) = (f64::from(start), f64::from(theta[0]));
        let fall = 1.5 * (from * from - to * to);
        assert!((f64::from(memory.kept[0]) - fall).abs() < 0.005 * fall);
        let path = f64::from(memory.kept[0]);
        end_task(0.1, &theta, &mut memory);
        let wanted = 0.25 + path / ((from - to).powi(2) + 0.1);
        assert!((f64::from(memory.fisher[0]) - wanted).abs() < 1e-5 * wanted);
        assert_eq!((memory.kept[0], memory.anchor[0]), (0.0, theta[0]));

        let at = [theta[0] + 0.2];
        let mut g = [0.0];
        add_pull(0.7, &at, &memory.anchor, &memory.fisher, &mut g);
        let potential = |t: f64| 0.7 * f64::from(memory.fisher[0]) * (t - to).powi(2);
        let t = f64::from(at[0]);
        let difference = (potential(t + 1e-4) - potential(t - 1e-4)) / 2e-4;
        assert!((f64::from(g[0]) - difference).abs() < 1e-5 * difference);
    }

    #[test]
    fn a_weight_that_raised_the_loss_loses_importance() {
        let mut memory =
            Memory { anchor: vec![0.0], kept: vec![-2.0], fisher: vec![1.0], ..Memory::default() };
        end_task(0.1, &[0.5], &mut memory);
        assert_eq!(memory.fisher, [0.0]);
    }
}
