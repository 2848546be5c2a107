//! The figures themselves: how each is drawn, what was found, and what decides its verdict.

// TODO pub mod binary;
pub mod bound;
// TODO pub mod chain_of_tasks;
pub mod convergence_time;
// TODO pub mod data_of_task_two;
pub mod ensemble;
pub mod error_curve;
// TODO pub mod gamma;
// TODO pub mod limit;
pub mod norm;
pub mod one_task;
pub mod order_parameters;
pub mod overlap;
// TODO pub mod permuted;
// TODO pub mod phases;
// TODO pub mod prior;
// TODO pub mod sequences;
// TODO pub mod time_course;
pub mod two_tasks;
// TODO pub mod uncertainty;

// TODO mod learning;
mod solutions;
mod ways;
mod words;
