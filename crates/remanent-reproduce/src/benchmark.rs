//! Learners against learners on published protocols.
//!
//! A protocol is a configuration of `train` whose cases have names, with the published results beside it
//! (`protocols/NAME.toml`). All cells lie in one store and are named by their own parameters, so that
//! protocols and learners can be added to a benchmark one after the other.

mod protocol;
mod report;

use std::sync::atomic::AtomicBool;

use remanent_data::sources::Cache;
use remanent_lab::experiment::{Error, ErrorKind, Experiment, Resources};
use remanent_lab::plan::Case;
use remanent_lab::training::{self, Training, Trial};
use remanent_store::{Finished, RunError, Share, Shared, StoreError, Watcher};
use serde_json::{Value, json};
use thiserror::Error;

use crate::reproduction::{Cost, Place, Stage, cost_of_missing};

pub use protocol::{PROTOCOLS, Protocol, Published, Source};
pub use report::{BenchmarkReport, Row};

/// The name that stands for all protocols.
pub const ALL: &str = "all";

/// Which protocols and learners, and how large.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BenchmarkRequest {
    /// Names of protocols; [`ALL`] stands for all of them.
    pub protocols: Vec<String>,
    /// Names of learners as the protocols have them, upper and lower case alike; all if there are none.
    pub learners: Vec<String>,
    /// Whether the sizes are reduced, and digits inside the program replace MNIST.
    pub quick: bool,
    /// The number of trials of every learner; without it that of the protocol.
    pub seeds: Option<u32>,
}

/// Why a benchmark cannot be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchmarkError {
    /// There is no such protocol.
    #[error("there is no protocol '{name}'; the protocols are {}", known_protocols())]
    Protocol {
        /// What was asked for.
        name: String,
    },
    /// No chosen protocol has such a learner.
    #[error("there is no learner '{name}' in {protocols}; the learners there are {known}")]
    Learner {
        /// What was asked for.
        name: String,
        /// The protocols that were chosen.
        protocols: String,
        /// The learners of these.
        known: String,
    },
    /// A configuration is invalid at this size, or images are missing.
    #[error(transparent)]
    Experiment(#[from] Error),
}

fn known_protocols() -> String {
    let names: Vec<&str> = PROTOCOLS.iter().map(|source| source.name).collect();
    format!("{} and {ALL}", names.join(", "))
}

impl BenchmarkError {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Experiment(error) => error.kind(),
            Self::Protocol { .. } | Self::Learner { .. } => ErrorKind::Usage,
        }
    }
}

/// Protocols whose configurations are read and whose images are loaded.
pub struct Benchmark {
    protocols: Vec<Protocol>,
    quick: bool,
}

impl Benchmark {
    /// Reads the protocols, and loads the images that they need from the cache.
    pub fn new(request: &BenchmarkRequest, cache: &Cache) -> Result<Self, BenchmarkError> {
        for name in &request.protocols {
            if name != ALL && PROTOCOLS.iter().all(|source| source.name != name) {
                return Err(BenchmarkError::Protocol { name: name.clone() });
            }
        }
        let is_asked = |name: &str| request.protocols.iter().any(|asked| asked == name);
        let mut protocols = PROTOCOLS
            .iter()
            .filter(|source| is_asked(ALL) || is_asked(source.name))
            .map(|source| Protocol::read(source, request.quick, request.seeds))
            .collect::<Result<Vec<_>, _>>()?;
        choose_learners(&mut protocols, &request.learners)?;
        let cases: Vec<Training> =
            protocols.iter().flat_map(|protocol| protocol.prepared.cases.clone()).collect();
        let resources = Resources { cache: Some(cache.clone()) };
        let mut materials = Training::prepare(&cases, &resources)?.into_iter();
        for protocol in &mut protocols {
            let prepared = &mut protocol.prepared;
            prepared.materials = materials.by_ref().take(prepared.cases.len()).collect();
        }
        Ok(Self { protocols, quick: request.quick })
    }

    /// The protocols.
    pub fn protocols(&self) -> &[Protocol] {
        &self.protocols
    }

    /// What each protocol would cost. A cell of every learner is run for a moment to see how fast it is;
    /// nothing is written.
    pub fn survey(&self, place: &Place<'_>) -> Result<Vec<Cost>, StoreError> {
        let (directory, marker) = (place.directory.join(Training::NAME), marker());
        let request = place.request(&directory, Training::NAME, &marker);
        let cost = |protocol: &Protocol| {
            let prepared = &protocol.prepared;
            let cells = prepared.cells();
            let missing = request.survey(&cells)?.missing;
            let mut cost = Cost { cells: cells.len(), ..Cost::default() };
            let trials = prepared.plan.seeds;
            for case in 0..prepared.cases.len() {
                let of_case = missing.iter().filter(|&&i| i / trials == case);
                let cells: Vec<&Trial<'_>> = of_case.map(|&i| &cells[i]).collect();
                cost.add(&cost_of_missing(&cells));
            }
            Ok(cost)
        };
        self.protocols.iter().map(cost).collect()
    }

    /// Computes what is missing, on the current pool of rayon, and summarises all.
    pub fn run<W: Watcher>(
        &self,
        place: &Place<'_>,
        watch: impl Fn(&Stage<'_>) -> W,
        interrupt: &AtomicBool,
    ) -> Result<BenchmarkReport, RunError> {
        let finished = self.compute(place, watch, |request, cells, watcher| {
            request.run(cells, watcher, interrupt)
        })?;
        Ok(BenchmarkReport { rows: self.rows(finished), quick: self.quick })
    }

    /// Computes a share of what is missing. Nothing is summarised.
    pub fn run_share<W: Watcher>(
        &self,
        place: &Place<'_>,
        share: &Share<'_>,
        watch: impl Fn(&Stage<'_>) -> W,
        interrupt: &AtomicBool,
    ) -> Result<Shared, RunError> {
        self.compute(place, watch, |request, cells, watcher| {
            request.run_share(cells, share, watcher, interrupt)
        })
    }

    /// Does something with the cells of all protocols and their run directory.
    fn compute<W: Watcher, T>(
        &self,
        place: &Place<'_>,
        watch: impl Fn(&Stage<'_>) -> W,
        with: impl FnOnce(&remanent_store::Request<'_>, &[Trial<'_>], &W) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let cells: Vec<Trial<'_>> =
            self.protocols.iter().flat_map(|protocol| protocol.prepared.cells()).collect();
        let with =
            |request: &remanent_store::Request<'_>, watcher: &W| with(request, &cells, watcher);
        place.compute(Training::NAME, &marker(), &cells, watch, with)
    }

    /// Deals the records back to the learners that they are of.
    fn rows(&self, finished: Finished<training::TrialRecord>) -> Vec<Row> {
        let mut cells = finished.records.into_iter().zip(finished.seconds);
        let mut rows = Vec::new();
        for protocol in &self.protocols {
            let mut summaries = Vec::new();
            for _ in &protocol.prepared.cases {
                let trials = cells.by_ref().take(protocol.prepared.plan.seeds);
                let (records, seconds): (Vec<_>, Vec<_>) = trials.unzip();
                summaries.push(report::CaseResult::new(&records, &seconds));
            }
            rows.extend(report::rows(protocol, &summaries, self.quick));
        }
        rows
    }
}

/// What all run directories of benchmarks have in common.
fn marker() -> Value {
    json!({"benchmark": "published protocols"})
}

/// Keeps the learners that were asked for, and the protocols that have any of them.
fn choose_learners(
    protocols: &mut Vec<Protocol>,
    learners: &[String],
) -> Result<(), BenchmarkError> {
    if learners.is_empty() {
        return Ok(());
    }
    let mut known: Vec<String> = Vec::new();
    let cases = protocols.iter().flat_map(|protocol| &protocol.prepared.plan.cases);
    for label in cases.map(Case::label) {
        if !known.contains(&label) {
            known.push(label);
        }
    }
    let is_meant = |label: &str, name: &str| label.eq_ignore_ascii_case(name.trim());
    for name in learners {
        if !known.iter().any(|label| is_meant(label, name)) {
            let names: Vec<&str> = protocols.iter().map(|protocol| protocol.name).collect();
            let (protocols, known) = (names.join(", "), known.join("; "));
            return Err(BenchmarkError::Learner { name: name.clone(), protocols, known });
        }
    }
    for Protocol { prepared, .. } in protocols.iter_mut() {
        let cases = std::mem::take(&mut prepared.plan.cases).into_iter();
        let is_wanted = |label: &str| learners.iter().any(|name| is_meant(label, name));
        (prepared.plan.cases, prepared.cases) = cases
            .zip(std::mem::take(&mut prepared.cases))
            .filter(|(case, _)| is_wanted(&case.label()))
            .unzip();
    }
    protocols.retain(|protocol| !protocol.prepared.cases.is_empty());
    Ok(())
}
