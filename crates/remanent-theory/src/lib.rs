//! x
#![allow(missing_docs)]
pub mod anchor;
pub mod curve;
pub mod energy;
pub mod fields;
pub mod overlaps;
pub mod site;
pub mod task;
