//! The studies of the figures: what each measures, how it is judged and how it is drawn.

pub mod binary;
pub mod bound;
pub mod broken_ensemble;
pub mod chain_of_tasks;
pub mod convergence_time;
pub mod data_of_task_two;
pub mod ensemble;
pub mod error_curve;
pub mod fading;
pub mod gamma;
pub mod limit;
pub mod norm;
pub mod one_task;
pub mod order_parameters;
pub mod overlap;
pub mod permuted;
pub mod phases;
pub mod prior;
pub mod sequences;
pub mod time_course;
pub mod two_tasks;
pub mod uncertainty;

mod learning;
mod one_step;
mod recommendation;
mod solutions;
mod ways;
mod words;
