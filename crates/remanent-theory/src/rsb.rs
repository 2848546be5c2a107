//! Broken replica symmetry.

mod auto;
mod clusters;
mod energy;
mod equations;
mod level;
mod onset;
mod report;
mod site;
mod solve;
mod state;
mod task;
mod trace;

pub use self::auto::{AutoSolution, MOST_STEPS, TOLERANCE};
pub use self::report::RsbSolution;
pub use self::task::{BrokenCrossing, BrokenTask, MAX_STEPS};
