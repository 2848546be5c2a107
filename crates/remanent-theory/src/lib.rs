//! x
#![allow(missing_docs)]
pub mod anchor;
pub mod branches;
pub mod chain;
pub mod curve;
pub mod energy;
pub mod fields;
pub mod overlaps;
pub mod parameters;
pub mod phase;
pub mod scan;
pub mod single;
pub mod site;
pub mod solution;
pub mod task;
pub mod tune;
