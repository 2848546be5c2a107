//! Questions to the theory, as cells of an experiment.
//!
//! A theory curve is computed as a simulation is: a configuration states what is asked, a
//! [`QueryCell`] computes it, and its record, an [`Answer`], is kept under the hash of the question.
//! So one report has theory, perceptron and network from one way of data, and a curve is
//! never computed twice. The key `ask` chooses the question:
//!
//! | `ask` | keys, besides `prior` and `branch` | answer |
//! |---|---|---|
//! | `single` | `alpha`, `beta` | every [`Solution`](remanent_theory::solution::Solution) |
//! | `constrained` | `alpha`, `beta`, `q_star` | the same with q_d held at q_⋆: [`Constrained`] |
//! | `chain` | `alpha`, `beta`, `r0`, `gamma`, `q_star`, `scan` | a [`ScanPoint`](remanent_theory::scan::ScanPoint) for each scanned value |
//! | `branches` | `alpha` (an interval), `beta` | [`Branches`](remanent_theory::branches::Branches) |
//! | `phase-diagram` | `beta` | [`PhaseDiagram`](remanent_theory::phase::PhaseDiagram) |
//! | `tune` | `alpha`, `beta`, `r0`, `gamma`, `objective` | [`Tuned`](remanent_theory::tune::Tuned) |
//! | `complexity` | `alpha`, `beta`, `rows` | [`Complexity`] |
//! | `monte-carlo` | `alpha`, `beta`, `draws`, `outer`, `repeats`, `seed`, `inner`, `settle` | [`MonteCarlo`](monte_carlo::MonteCarlo) |
//!
//! All but `tune`, `complexity` and `monte-carlo` take `rsb`, the steps of replica-symmetry breaking. With
//! one or more the answer is a [`BrokenAnswer`].
//!
//! ```
//! use remanent_lab::theory::{Query, QueryCell};
//! use remanent_store::{Cell, Context};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let query = Query::from_table(&"ask = 'single'\nalpha = '0.5:1.5:0.5'\nbeta = 20".parse()?)?;
//! let answer = QueryCell { query: &query }.run(&mut Context::detached())?;
//! let points = answer.as_single().expect("what was asked");
//! assert_eq!(points.len(), 3);
//! assert!(points[2].eps < points[0].eps);
//! # Ok(())
//! # }
//! ```

mod answer;
mod broken;
mod cell;
pub mod monte_carlo;
mod options;
mod query;
mod report;
mod sketch;
mod stream;

pub use answer::{Answer, Constrained, known};
pub use broken::{
    BrokenAnswer, BrokenBranches, BrokenChain, BrokenCurve, BrokenPhases, BrokenRow, BrokenTaskRow,
    Complexity, Landmark,
};
pub use cell::QueryCell;
pub use options::{
    BranchesOptions, ChainOptions, ComplexityOptions, ConstrainedOptions, PhaseDiagramOptions,
    Question, Rsb, SingleOptions, TasksOptions, TuneOptions, Wanted,
};
pub use query::{Query, QueryError};
pub use report::{TheoryReport, broken_phase_figure, broken_phase_panel};
pub use stream::StreamPoint;
