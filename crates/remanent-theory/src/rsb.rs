//! Broken replica symmetry.

mod auto;
mod clusters;
mod energy;
mod equations;
mod landmarks;
mod level;
mod onset;
mod report;
mod site;
mod solve;
mod state;
mod task;
mod trace;

pub use self::auto::{AutoSolution, MOST_STEPS, TOLERANCE};
pub use self::landmarks::BrokenCrossing;
pub use self::report::RsbSolution;
pub use self::task::{BrokenTask, MAX_STEPS};

#[cfg(test)]
mod tests;
