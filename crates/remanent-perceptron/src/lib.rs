//! Teacher–student perceptrons with binary weights, trained on one task after another.
//!
//! 1. [`world::World::draw`] draws teachers of prescribed overlap and bit-packed
//!    [`patterns::Patterns`] labelled by them.
//! 2. [`gradient::Trainer`] trains a [`student::Student`] on the tasks with the algorithms of
//!    arXiv:2212.02846, or [`boltzmann::Sampling`] samples the ensemble that the theory of that paper
//!    describes. Both can stop after any epoch or sweep and resume bit for bit.
//! 3. Every recorded [`gradient::Row`] holds the [`observables`]: overlaps with the teachers, errors,
//!    loss.
//!
//! [`bound`] and [`convergence`] are two smaller studies of the paper.
//!
//! ```
//! use remanent_perceptron::gradient::{Batch, GradientLearner, Trainer};
//! use remanent_perceptron::optimizer::Rule;
//! use remanent_perceptron::parameters::Setting;
//! use remanent_perceptron::randomness::Trial;
//! use remanent_perceptron::student::Space;
//! use remanent_perceptron::world::World;
//!
//! let setting = Setting { n: 200, alpha: vec![3.0, 3.0], r_0: vec![0.5], fresh_patterns: 0 };
//! let learner = GradientLearner {
//!     space: Space::Field,
//!     field_scale: 1.0,
//!     rule: Rule::Momentum,
//!     learning_rate: vec![0.01],
//!     momentum: 0.9,
//!     weight_decay: 0.0,
//!     batch: Batch::Size(32),
//!     gamma: vec![1.0],
//!     fading: Default::default(),
//!     uniform_prior: false,
//!     rise: None,
//!     epochs: vec![300],
//!     record_every: 100,
//! };
//! let trial = Trial { seed: 1, trial: 0 };
//! let world = World::draw(&setting, trial)?;
//! let mut trainer = Trainer::new(&learner, &world, trial)?;
//! while !trainer.is_finished() {
//!     trainer.epoch();
//! }
//! let rows = trainer.into_rows();
//! let last = rows.last().expect("the end of a task is always recorded");
//! println!("errors on both tasks: {:?}", last.overlaps.errors());
//! # assert!(last.overlaps.errors()[1] < 0.3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Reproducibility
//!
//! A run depends only on its parameters, seed and trial number, not on threads or interruptions. The
//! kernels (fields, sums, hazards, gradients, optimisers, random numbers) add in a fixed order
//! without fused multiply-add: every instruction set gives the same bits, and the tests compare the
//! paths. Gradient learning in field space uses nothing else. The following also call the platform's
//! math library, and agree to rounding across platforms:
//!
//! - magnetisation space: `atanh`, in the KL term and in the anchor of the next task;
//! - the Boltzmann sampler: `exp` and `powf` in acceptance and step adaptation, `tanh` in
//!   measurements, `atanh` in a start at the teacher;
//! - recorded values: `exp`, `ln_1p` and `tanh` in the KL divergence, `asin` in ε, `exp`, `ln` and
//!   `ln_1p` in [`bound`]. ε also decides when [`convergence`] ends.

mod bits;
pub mod boltzmann;
pub mod bound;
pub mod convergence;
mod ensemble;
pub mod fading;
pub mod gradient;
mod loss;
pub mod observables;
pub mod optimizer;
pub mod parameters;
pub mod patterns;
pub mod randomness;
pub mod ranges;
mod sampler;
pub mod student;
pub mod tempering;
pub mod world;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
