//! The figures themselves: how each is drawn, what was found, and what decides its verdict.

pub mod binary;
// TODO pub mod bound;
pub mod chain_of_tasks;
// TODO pub mod convergence_time;
// TODO pub mod data_of_task_two;
pub mod ensemble;
// TODO pub mod error_curve;
pub mod gamma;
pub mod limit;
// TODO pub mod norm;
pub mod one_task;
// TODO pub mod order_parameters;
// TODO pub mod overlap;
// TODO pub mod permuted;
pub mod phases;
pub mod prior;
// TODO pub mod sequences;
// TODO pub mod time_course;
// TODO pub mod two_tasks;
// TODO pub mod uncertainty;

// TODO mod learning;
mod solutions;
// TODO mod ways;
mod words;
