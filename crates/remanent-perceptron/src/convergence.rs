//! The convergence time T_c of arXiv:2212.02846: the first step after which the
//! error falls by less than 0.0005 in the next 1000 steps.

use serde::{Deserialize, Serialize};

use crate::gradient::{Progress, Trainer};
use crate::observables::{generalisation_error, sign_overlap};
use crate::world::World;

/// When learning counts as converged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// The steps over which the drop of ε is taken (the paper: 1000).
    pub window: usize,
    /// The drop of ε that is too small to wait for (the paper: 0.0005).
    pub drop: f64,
}

/// How long learning took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// T_c; none if the limit of steps came first.
    pub time: Option<usize>,
    /// ε at T_c, or at the end.
    pub eps: f64,
    /// Steps that were made.
    pub steps: usize,
}

/// The first task's error, step after step, until it converges.
pub struct Watch<'a> {
    trainer: Trainer<'a>,
    world: &'a World,
    criterion: Criterion,
    eps: Vec<f64>,
}

/// Where a [`Watch`] stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WatchProgress {
    /// The training.
    pub training: Progress,
    /// ε from step 0 on.
    pub eps: Vec<f64>,
}

impl<'a> Watch<'a> {
    /// Watches a trainer; `eps` holds the errors up to where it stands, empty at the start.
    pub fn new(
        trainer: Trainer<'a>,
        world: &'a World,
        criterion: Criterion,
        eps: Vec<f64>,
    ) -> Self {
        let mut watch = Self { trainer, world, criterion, eps };
        if watch.eps.is_empty() {
            watch.measure();
        }
        watch
    }

    /// Where the watch stands.
    pub fn progress(&self) -> WatchProgress {
        WatchProgress { training: self.trainer.progress(), eps: self.eps.clone() }
    }

    fn measure(&mut self) {
        let m = self.trainer.student().magnetisations();
        self.eps.push(generalisation_error(sign_overlap(m, self.world.teacher(0))));
    }

    /// One epoch; the result, once there is one.
    pub fn epoch(&mut self) -> Option<Convergence> {
        self.trainer.epoch();
        self.measure();
        let steps = self.eps.len() - 1;
        let converged = steps
            .checked_sub(self.criterion.window)
            .filter(|&time| self.eps[time] - self.eps[steps] < self.criterion.drop);
        if converged.is_none() && !self.trainer.is_finished() {
            return None;
        }
        let eps = self.eps[converged.unwrap_or(steps)];
        Some(Convergence { time: converged, eps, steps })
    }

    /// The trainer.
    pub fn trainer(&self) -> &Trainer<'a> {
        &self.trainer
    }
}
