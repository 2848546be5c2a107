//! The figures themselves: how each is drawn, what was found, and what decides its verdict.

// TODO pub mod binary;
// TODO pub mod bound;
// TODO pub mod chain_of_tasks;
// TODO pub mod convergence_time;
pub mod data_of_task_two;
pub mod ensemble;
// TODO pub mod error_curve;
// TODO pub mod gamma;
// TODO pub mod limit;
// TODO pub mod norm;
pub mod one_task;
// TODO pub mod order_parameters;
// TODO pub mod overlap;
pub mod permuted;
// TODO pub mod phases;
// TODO pub mod prior;
pub mod sequences;
pub mod time_course;
// TODO pub mod two_tasks;
pub mod uncertainty;

mod learning;
// TODO mod solutions;
// TODO mod ways;
mod words;
