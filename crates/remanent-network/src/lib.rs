//! Deep networks of binary weights that learn task after task.

mod checkpoint;
mod fisher;
mod kernels;
mod product;
mod purposes;

pub mod architecture;
pub mod archive;
pub mod binary;
pub mod course;
pub mod learner;
pub mod metrics;
pub mod model;
pub mod network;
pub mod normalisation;
pub mod parameters;
pub mod pass;
pub mod predictor;
pub mod protobuf;
pub mod schedule;
pub mod tensors;
pub mod trainer;
