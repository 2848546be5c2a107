//! The experiments of a figure, kind by kind, and their records.
//!
//! A figure has cases of one kind of experiment or several, questions to the theory, or both. Cells of one kind lie
//! in one store, whatever figure asks for them: one that two figures share is computed once, and all
//! cores have work until the last figure is done.

use remanent_lab::bound::BoundStudy;
use remanent_lab::convergence::ConvergenceStudy;
use remanent_lab::experiment::{Error, Experiment, Prepared, Resources};
use remanent_lab::simulation::Simulation;
use remanent_lab::tempering::TemperingStudy;
use remanent_lab::theory::Query;
use remanent_lab::training::Training;

use crate::work::Work;

/// What a figure computes: for each kind of experiment its cases, mostly none.
#[derive(Default)]
pub struct Parts {
    /// Questions to the theory.
    pub theory: Prepared<Query>,
    /// The bound by enumeration.
    pub bound: Prepared<BoundStudy>,
    /// Perceptrons.
    pub simulate: Prepared<Simulation>,
    /// Convergence times.
    pub convergence: Prepared<ConvergenceStudy>,
    /// The ensemble by parallel tempering.
    pub tempering: Prepared<TemperingStudy>,
    /// Networks.
    pub train: Prepared<Training>,
}

/// What was computed for one figure.
#[derive(Default)]
pub struct Records {
    /// Answers of the theory.
    pub theory: Vec<<Query as Experiment>::Record>,
    /// Trials of the bound.
    pub bound: Vec<<BoundStudy as Experiment>::Record>,
    /// Trials of perceptrons, case by case.
    pub simulate: Vec<<Simulation as Experiment>::Record>,
    /// Trials of convergence times, case by case.
    pub convergence: Vec<<ConvergenceStudy as Experiment>::Record>,
    /// Draws of parallel tempering, case by case.
    pub tempering: Vec<<TemperingStudy as Experiment>::Record>,
    /// Trials of networks, case by case.
    pub train: Vec<<Training as Experiment>::Record>,
    /// The time of all cells, each on one thread.
    pub seconds: f64,
    /// The number of cells.
    pub cells: usize,
}

/// A kind of experiment that figures have.
pub trait Kind: Experiment {
    /// Its cases.
    fn part(parts: &Parts) -> &Prepared<Self>;
    /// The same, to be changed.
    fn part_mut(parts: &mut Parts) -> &mut Prepared<Self>;
    /// Its records.
    fn records(records: &mut Records) -> &mut Vec<Self::Record>;
}

macro_rules! kinds {
    ($($type:ty: $field:ident,)+) => {
        $(impl Kind for $type {
            fn part(parts: &Parts) -> &Prepared<Self> {
                &parts.$field
            }

            fn part_mut(parts: &mut Parts) -> &mut Prepared<Self> {
                &mut parts.$field
            }

            fn records(records: &mut Records) -> &mut Vec<Self::Record> {
                &mut records.$field
            }
        })+
    };
}

kinds! {
    Query: theory,
    BoundStudy: bound,
    Simulation: simulate,
    ConvergenceStudy: convergence,
    TemperingStudy: tempering,
    Training: train,
}

/// Cells of one kind, each with the index of the figure that asks for it.
pub struct Batch<'a, E: Experiment> {
    /// The cells.
    pub cells: Vec<E::Cell<'a>>,
    /// The figures.
    pub owners: Vec<usize>,
}

impl<'a, E: Kind> Batch<'a, E> {
    /// All cells of some figures.
    pub fn new(works: &'a [Work]) -> Self {
        let (mut cells, mut owners) = (Vec::new(), Vec::new());
        for (owner, work) in works.iter().enumerate() {
            cells.extend(E::part(&work.parts).cells());
            owners.resize(cells.len(), owner);
        }
        Self { cells, owners }
    }

    /// Deals records back to the figures that asked for them.
    pub fn deal(&self, found: Vec<E::Record>, seconds: &[Option<f64>], records: &mut [Records]) {
        for ((record, seconds), &owner) in found.into_iter().zip(seconds).zip(&self.owners) {
            records[owner].seconds += seconds.unwrap_or(0.0);
            records[owner].cells += 1;
            E::records(&mut records[owner]).push(record);
        }
    }
}

/// Loads what the cells of one kind need. Figures share what they have in common.
pub fn load<E: Kind>(works: &mut [Work], resources: &Resources) -> Result<(), Error> {
    let cases: Vec<E> = works.iter().flat_map(|work| E::part(&work.parts).cases.clone()).collect();
    if cases.is_empty() {
        return Ok(());
    }
    let mut loaded = E::prepare(&cases, resources)?.into_iter();
    for work in works {
        let part = E::part_mut(&mut work.parts);
        part.materials = loaded.by_ref().take(part.cases.len()).collect();
    }
    Ok(())
}
