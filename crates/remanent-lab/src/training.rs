//! Networks that learn a stream of tasks: from a configuration to accuracies,
//! forgetting and uncertainty, with their errors over seeds.
//!
//! ```text
//! Training::from_table ─▶ Material::load ─▶ Trial (a cell) ─▶ TrialRecord
//!                      ─▶ TrainingSummary ─▶ summary.json, tables, figures
//! ```

mod arrays;
mod cell;
mod config;
mod evaluation;
mod figures;
mod found;
mod history;
mod material;
mod options;
mod presets;
mod report;
mod summary;
mod tables;

pub use arrays::{events, results_npz};
pub use cell::Trial;
pub use config::{Training, TrainingError, read_parameters, unused_of_preset};
pub use evaluation::Evaluate;
pub use figures::figure;
pub use figures::mark_switches;
pub use found::{FoundCase, FoundTrial, found_cases};
pub use history::{EpochRow, PhaseEnd, TrialRecord};
pub use material::{Material, MaterialError, digests};
pub use options::{TrainingOptions, TrainingView};
pub use presets::{PRESETS, Preset};
pub use report::TrainingReport;
pub use summary::{
    Entry, EpochSummary, Mean, MemoryPoint, PredictorSummary, TrainingSummary, summarise,
};
pub use summary::{accuracies, forgetting, plasticity};
pub use tables::{accuracy_table, epoch_table, matrix_table, memory_table, summary_table};
