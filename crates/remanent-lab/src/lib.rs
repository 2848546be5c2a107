//! The experiments of Remanent: what they are called in a configuration, the cells they are made of, and
//! the summaries, tables and figures of their records.
//!
//! ```text
//! configuration ─▶ Plan: cases and seeds ─▶ cells ─▶ Store::run ─▶ records ─▶ summary ─▶ tables, figures
//! ```
//!
//! Cells and records are those of [`remanent_store`]. An experiment is [`theory`], [`simulation`],
//! [`bound`], [`convergence`], [`tempering`] or [`training`]; [`plan`] reads the layers of its configuration.

pub mod bound;
pub mod config;
pub mod convergence;
pub mod elsewhere;
pub mod estimate;
pub mod experiment;
pub mod found;
pub mod lines;
pub mod lists;
pub mod options;
pub mod plan;
pub mod runs;
pub mod simulation;
pub mod tempering;
pub mod tensorboard;
pub mod theory;
mod timing;
pub mod training;
pub mod values;
