//! Broken replica symmetry.

mod energy;
mod equations;
mod level;
mod report;
mod site;
mod solve;
mod state;
mod task;
mod trace;

pub use self::report::RsbSolution;
pub use self::task::{BrokenCrossing, BrokenTask, MAX_STEPS};
