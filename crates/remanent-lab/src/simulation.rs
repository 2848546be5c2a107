//! Simulations of the perceptron: configuration, cells, summaries, and the
//! comparison with the theory.

mod cell;
mod compare;
mod config;
mod figures;
mod options;
mod report;
mod summary;
mod tables;

pub(crate) use tables::with_error;

pub use cell::{Trial, TrialRecord};
pub use compare::{Against, CompareError, Comparison, TheoryChoice, compare};
pub use config::{Learner, SettingError, Simulation};
pub use figures::{Drawn, figure};
pub use options::{
    BoundOptions, ConvergenceOptions, GradientOptions, Method, SimulationOptions, SimulationView,
    With,
};
pub use report::SimulationReport;
pub use summary::{CaseSummary, SampledTask, SummaryRow, TaskEnd, divergence, summarise};
pub use tables::{Named, comparison_table, end_table, row_table, sampling_table};
