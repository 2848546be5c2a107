//! Parallel tempering of the theory's ensemble: one task, several replicas of the same data, and the
//! overlap distribution between them.

mod cell;
mod compare;
mod config;
mod figures;
mod options;
mod report;
mod summary;
mod tables;
mod trend;

pub use cell::TemperingTrial;
pub use compare::{Comparison, TheoryPoint, compare};
pub use config::TemperingStudy;
pub use figures::figure;
pub use options::{Steps, Temperatures, TemperingOptions, TemperingView};
pub use report::TemperingReport;
pub use summary::{Bin, TemperingSummary, summarise};
pub use tables::{comparison_table, overlap_table, quality_table, result_table};
pub use trend::{
    CONSISTENT, Decision, EXCLUDED, FEWEST_SIZES, Limit, MOST_FAILED, POWERS, SizePoint,
    is_provisional,
};
