//! The paper, figure by figure: every figure of arXiv:2212.02846 and what lies beyond it, from its
//! configuration to a picture, a sentence and a verdict.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use remanent_data::sources::Cache;
//! use remanent_reproduce::{Place, Reproduction, Request};
//! use remanent_store::Silent;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let temporary = tempfile::tempdir()?;
//! # let directory = temporary.path();
//! let request = Request { figures: vec!["1".into()], quick: true, seeds: Some(2) };
//! let reproduction = Reproduction::new(request, &Cache::at("not-needed-for-perceptrons"))?;
//! let run = directory.join("run"); // continued by the next call
//! let interrupt = AtomicBool::new(false); // set by Ctrl-C in a program
//! let report = reproduction.run(&Place::new(&run), |_stage| Silent, &interrupt)?;
//! for figure in &report.exhibits {
//!     println!("{}: {:?}, {}", figure.id, figure.verdict(), figure.found);
//! }
//! let page = report.write(directory)?; // index.html, in one file
//! # assert_eq!(report.exhibits.len(), 1);
//! # assert!(std::fs::read_to_string(&page)?.contains("fig-1"));
//! # Ok(())
//! # }
//! ```
//!
//! The way of a figure:
//!
//! ```text
//! CATALOGUE ─▶ Work (a configuration, checked) ─▶ Batch of cells, one a kind
//!           ─▶ records ─▶ Results ─▶ Study: measurements ─▶ judgement; picture and table
//!           ─▶ report::Exhibit ─▶ report (HTML), kept files, tables of verdicts
//! ```
//!
//! Cells are named by their own parameters, so that figures share what they have in common, and
//! what another command or another machine has computed need not be computed again.

mod benchmark;
mod catalogue;
mod exhibit;
mod figures;
mod keep;
mod parts;
mod reproduction;
mod results;
mod study;
mod summary;
mod thresholds;
mod work;

pub mod report;
pub mod verdict;

pub use benchmark::{
    ALL, Benchmark, BenchmarkError, BenchmarkReport, BenchmarkRequest, PROTOCOLS, Protocol,
    Published, Row, Source,
};
pub use catalogue::{CATALOGUE, Entry, UnknownFigure, select};
pub use exhibit::judge;
pub use keep::{KeepError, keep};
pub use parts::{Parts, Records};
pub use reproduction::{Cost, Place, Reproduction, Request, RequestError, Stage};
pub use results::{Converged, Drawing, Judgement, Results, Simulated, Trained};
pub use study::Study;
pub use summary::summarise;
pub use work::Work;
