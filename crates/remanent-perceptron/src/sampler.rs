//! Hamiltonian Monte Carlo in the fields.
//!
//! A sweep draws momenta, integrates Hamilton's equations with the leapfrog for a random time, and
//! accepts or rejects the end point (Metropolis). The stationary distribution is exact for any step
//! size; the step size is adapted only during the warm-up.
//!
//! Acceptance and adaptation use `exp` and `powf` of the platform's math library, so a chain is
//! reproducible bit for bit only with the same library.

use remanent_math::philox::Stream;

use crate::ensemble::{Ensemble, Parts, Scratch};

/// One Markov chain.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The fields a = artanh m.
    pub position: Vec<f64>,
    /// The potential and its parts at the position.
    pub parts: Parts,
    /// Step of the leapfrog.
    pub step: f64,
}

/// Mean duration of a trajectory, in units of the fields.
const DURATION: f64 = 1.5;
/// The acceptance that the warm-up targets.
const WANTED_ACCEPTANCE: f64 = 0.8;
/// Largest number of steps of a trajectory.
const MOST_STEPS: f64 = 200.0;

/// Buffers of a trajectory.
#[derive(Clone, Debug, Default)]
pub struct Trajectory {
    scratch: Scratch,
    position: Vec<f64>,
    momentum: Vec<f64>,
    normals: Vec<f32>,
    gradient: Vec<f64>,
}

impl Chain {
    /// A chain at `position`.
    pub fn new(ensemble: &Ensemble, position: Vec<f64>, step: f64) -> Self {
        let parts = ensemble.potential(&position, &mut Scratch::default());
        Self { position, parts, step }
    }

    /// One sweep; returns the probability with which its end was accepted.
    /// `momenta` and `decisions` are this sweep's random numbers.
    pub fn sweep(
        &mut self,
        ensemble: &Ensemble,
        momenta: Stream,
        decisions: Stream,
        room: &mut Trajectory,
    ) -> f64 {
        let n = self.position.len();
        room.momentum.clear();
        room.momentum.extend((0..n).map(|i| momenta.normal(i as u32)));
        self.travel(ensemble, decisions, room)
    }

    /// Like [`Chain::sweep`], with momenta that are generated in groups: faster, and other numbers.
    pub fn quick_sweep(
        &mut self,
        ensemble: &Ensemble,
        momenta: Stream,
        decisions: Stream,
        room: &mut Trajectory,
    ) -> f64 {
        room.normals.resize(self.position.len(), 0.0);
        momenta.fill_normals(0, &mut room.normals);
        room.momentum.clear();
        room.momentum.extend(room.normals.iter().map(|&normal| f64::from(normal)));
        self.travel(ensemble, decisions, room)
    }

    /// A trajectory with the momenta in `room`, and the decision about its end.
    fn travel(&mut self, ensemble: &Ensemble, decisions: Stream, room: &mut Trajectory) -> f64 {
        room.gradient.resize(self.position.len(), 0.0);
        room.position.clone_from(&self.position);
        let duration = DURATION * (0.5 + decisions.uniform(0));
        let steps = (duration / self.step).ceil().min(MOST_STEPS);
        let step = self.step;
        let kinetic = |p: &[f64]| 0.5 * p.iter().map(|p| p * p).sum::<f64>();
        let start = self.parts.potential + kinetic(&room.momentum);
        ensemble.gradient(&room.position, &mut room.scratch, &mut room.gradient);
        for _ in 0..steps as usize {
            advance(&mut room.momentum, &room.gradient, -0.5 * step);
            advance(&mut room.position, &room.momentum, step);
            ensemble.gradient(&room.position, &mut room.scratch, &mut room.gradient);
            advance(&mut room.momentum, &room.gradient, -0.5 * step);
        }
        let parts = ensemble.potential(&room.position, &mut room.scratch);
        let gain = start - parts.potential - kinetic(&room.momentum);
        // The potential is NaN at the end of a trajectory that diverged.
        let acceptance = if gain.is_nan() { 0.0 } else { gain.exp().min(1.0) };
        if decisions.uniform(1) < acceptance {
            std::mem::swap(&mut self.position, &mut room.position);
            self.parts = parts;
        }
        acceptance
    }

    /// Adapts the step towards the target acceptance, with a gain that decreases with the sweep.
    pub fn adapt(&mut self, acceptance: f64, sweep: usize) {
        let gain = 1.0 / (1.0 + sweep as f64).powf(0.6);
        self.step *= (gain * (acceptance - WANTED_ACCEPTANCE)).exp();
    }
}

/// x ← x + factor · y.
fn advance(x: &mut [f64], y: &[f64], factor: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += factor * y;
    }
}
