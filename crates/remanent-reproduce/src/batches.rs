//! The cells of all figures, kind by kind, and their records dealt back to the figures.
//!
//! Cells of one kind lie in one store, whatever figure asks for them: one that two figures share is
//! computed once, and all cores have work until the last figure is done.

use remanent_perceptron::bound::BoundRow;
use remanent_perceptron::convergence::Convergence;

use crate::work::{Experiment, Work};
use remanent_lab::bound::BoundTrial;
use remanent_lab::convergence::ConvergenceTrial;
use remanent_lab::theory::{Answer, QueryCell};
use remanent_lab::training::Material;
use remanent_lab::{simulation, training};
use remanent_store::Cell;

/// Cells of one kind, each with the figure that asks for it.
#[derive(Clone, Debug)]
pub struct Batch<C> {
    /// The cells.
    pub cells: Vec<C>,
    /// The index of the figure that each belongs to.
    pub owners: Vec<usize>,
}

impl<C> Default for Batch<C> {
    fn default() -> Self {
        Self { cells: Vec::new(), owners: Vec::new() }
    }
}

/// What was computed for one figure.
#[derive(Debug, Default)]
pub struct Records {
    /// Answers of the theory.
    pub theory: Vec<Answer>,
    /// Trials of the bound.
    pub bound: Vec<Vec<BoundRow>>,
    /// Trials of perceptrons, case by case.
    pub simulate: Vec<simulation::TrialRecord>,
    /// Trials of convergence times, case by case.
    pub convergence: Vec<Convergence>,
    /// Trials of networks, case by case.
    pub train: Vec<training::TrialRecord>,
    /// The time of all its cells, each on one thread.
    pub seconds: f64,
    /// The number of its cells.
    pub cells: usize,
}

impl<C: Cell> Batch<C> {
    fn push(&mut self, owner: usize, cell: C) {
        self.owners.push(owner);
        self.cells.push(cell);
    }

    /// Deals records back to the figures that asked for them.
    pub fn deal(
        &self,
        found: Vec<C::Record>,
        seconds: &[Option<f64>],
        records: &mut [Records],
        put: impl Fn(&mut Records, C::Record),
    ) {
        for ((record, seconds), &owner) in found.into_iter().zip(seconds).zip(&self.owners) {
            records[owner].seconds += seconds.unwrap_or(0.0);
            records[owner].cells += 1;
            put(&mut records[owner], record);
        }
    }
}

/// The cells of some figures.
#[derive(Default)]
pub struct Batches<'a> {
    /// Questions to the theory.
    pub theory: Batch<QueryCell<'a>>,
    /// Trials of the bound.
    pub bound: Batch<BoundTrial<'a>>,
    /// Trials of perceptrons.
    pub simulate: Batch<simulation::Trial<'a>>,
    /// Trials of convergence times.
    pub convergence: Batch<ConvergenceTrial<'a>>,
    /// Trials of networks.
    pub train: Batch<training::Trial<'a>>,
}

impl<'a> Batches<'a> {
    /// All cells of the figures. `materials` are the images of the trainings, figure by figure and case
    /// by case.
    pub fn new(works: &'a [Work], materials: &'a [Vec<Material>]) -> Self {
        let mut batches = Self::default();
        for (owner, work) in works.iter().enumerate() {
            for query in &work.queries {
                batches.theory.push(owner, QueryCell { query });
            }
            let trials = || work.plan.trials();
            match &work.experiment {
                Experiment::Theory => {}
                Experiment::Bound(studies) => studies.iter().for_each(|study| {
                    trials()
                        .for_each(|trial| batches.bound.push(owner, BoundTrial { study, trial }));
                }),
                Experiment::Simulate(simulations) => simulations.iter().for_each(|simulation| {
                    trials().for_each(|trial| {
                        batches.simulate.push(owner, simulation::Trial { simulation, trial });
                    });
                }),
                Experiment::Convergence(studies) => studies.iter().for_each(|study| {
                    trials().for_each(|trial| {
                        batches.convergence.push(owner, ConvergenceTrial { study, trial });
                    });
                }),
                Experiment::Train(trainings) => {
                    for (training, material) in trainings.iter().zip(&materials[owner]) {
                        trials().for_each(|t| {
                            let (seed, trial) = (t.seed, t.trial);
                            let trial = training::Trial { training, material, seed, trial };
                            batches.train.push(owner, trial);
                        });
                    }
                }
            }
        }
        batches
    }
}
