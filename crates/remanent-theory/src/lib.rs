//! Replica and Franz–Parisi theory of continual learning with binary weights.
//!
//! Solves the equations of *Statistical mechanics of continual learning:
//! variational principle and mean-field potential* (arXiv:2212.02846, PRE 108,
//! 014309) exactly, on every branch, for any number of tasks. A perceptron
//! whose binary weights have magnetisations m learns α patterns per weight from
//! a teacher, at inverse temperature β; later tasks are learned with a KL
//! divergence, times γ, to what the previous one left.
//!
//! ```
//! use remanent_theory::parameters::Choice;
//! use remanent_theory::single::SingleTask;
//!
//! # fn main() -> Result<(), remanent_theory::parameters::ParameterError> {
//! let task = SingleTask::new(20.0)?;
//! let stable = task.solve(1.7, Choice::Stable)?;
//! assert_eq!(stable.branch.to_string(), "good");
//! // Three solutions coexist here; the poor one has broken replica symmetry.
//! let all = task.all(1.7)?;
//! assert_eq!(all.len(), 3);
//! assert!(all[0].replicon < 0.0 && all[0].eps > 0.2);
//! # Ok(())
//! # }
//! ```
//!
//! From the inside out:
//!
//! - [`energy`] and [`site`] are the two building blocks: what the patterns do to
//!   the order parameters, and one weight's magnetisation in a field;
//! - [`fields`] averages the site measure over the law of the field, which
//!   [`anchor`] hands from task to task as a [`law`] on panels;
//! - [`task`] closes the equations, [`curve`] traces all their solutions,
//!   [`solution`] is what is reported of one, once more nodes change nothing;
//! - [`rsb`] solves the same task with broken replica symmetry;
//! - [`single`], [`chain`], [`scan`], [`branches`], [`phase`] and [`tune`] answer
//!   users' questions, whose ranges [`parameters`] checks.

pub mod anchor;
pub mod branches;
pub mod chain;
pub mod curve;
mod ends;
pub mod energy;
pub mod fields;
pub mod law;
pub mod overlaps;
pub mod parameters;
pub mod phase;
pub mod rsb;
pub mod scan;
pub mod single;
pub mod site;
pub mod solution;
mod stage;
mod strand;
pub mod task;
pub mod tune;
