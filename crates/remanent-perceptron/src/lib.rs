//! Teacher–student perceptrons of binary weights, trained on task after task.
//!
//! A [`world::World`] is one draw of teachers and data: bit-packed
//! [`patterns::Patterns`] that are labelled by teachers of prescribed overlap. A
//! [`gradient::Trainer`] takes a [`student::Student`] through the tasks by the
//! algorithms of arXiv:2212.02846; a [`boltzmann::Sampling`] samples the ensemble
//! that the theory of that paper describes. Both can be stopped after any epoch or
//! sweep and resumed bit for bit. [`bound`] and [`convergence`] are the two smaller
//! studies of the paper. What is measured is in [`observables`].
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
//!     uniform_prior: false,
//!     rise: None,
//!     epochs: vec![300],
//!     record_every: 100,
//! };
//! learner.check(setting.alpha.len())?;
//! let trial = Trial { seed: 1, trial: 0 };
//! let world = World::draw(&setting, trial)?;
//! let mut trainer = Trainer::new(&learner, &world, trial);
//! while !trainer.is_finished() {
//!     trainer.epoch();
//! }
//! let rows = trainer.into_rows();
//! let last = rows.last().expect("the end is always recorded");
//! println!("errors on both tasks: {:?}", last.overlaps.errors());
//! # assert!(last.overlaps.errors()[1] < 0.3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bits;
pub mod boltzmann;
pub mod bound;
pub mod convergence;
pub mod ensemble;
pub mod gradient;
pub mod loss;
pub mod observables;
pub mod optimizer;
pub mod parameters;
pub mod patterns;
pub mod randomness;
pub mod sampler;
pub mod student;
pub mod world;
