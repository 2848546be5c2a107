//! The convergence time T_c of arXiv:2212.02846: the first step after which the
//! error falls by less than 0.0005 in the next 1000 steps.

use serde::{Deserialize, Serialize};

use crate::gradient::{Progress, Trainer};
use crate::observables::{generalisation_error, sign_overlap};

/// Criterion of convergence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// Number of steps over which the drop of ε is measured (the paper: 1000).
    pub window: usize,
    /// Learning has converged when ε drops by less than this over the window (the paper: 0.0005).
    pub drop: f64,
}

/// How long learning took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// T_c; none if the limit of steps was reached first.
    pub time: Option<usize>,
    /// ε at T_c, or at the end.
    pub eps: f64,
    /// Number of steps made.
    pub steps: usize,
}

/// Trains until the error of the first task converges.
pub struct Watch<'a> {
    trainer: Trainer<'a>,
    criterion: Criterion,
    eps: Vec<f64>,
}

/// The state of a [`Watch`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WatchProgress {
    /// The training.
    pub training: Progress,
    /// ε from step 0 on.
    pub eps: Vec<f64>,
}

impl<'a> Watch<'a> {
    /// Watches a trainer. `eps` holds the errors measured so far: none at the start.
    pub fn new(trainer: Trainer<'a>, criterion: Criterion, eps: Vec<f64>) -> Self {
        let mut watch = Self { trainer, criterion, eps };
        if watch.eps.is_empty() {
            watch.measure();
        }
        watch
    }

    /// The state to save.
    pub fn progress(&self) -> WatchProgress {
        WatchProgress { training: self.trainer.progress(), eps: self.eps.clone() }
    }

    fn measure(&mut self) {
        let m = self.trainer.student().magnetisations();
        self.eps.push(generalisation_error(sign_overlap(m, self.trainer.world().teacher(0))));
    }

    /// Runs one epoch. Returns the result once learning has converged or ended.
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
