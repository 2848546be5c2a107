//! Deep networks of binary weights that learn task after task.
//!
//! Every weight has a latent field θ. A [`network::Network`] takes it as the measure
//! q(w) ∝ e^{βθw} of a binary weight, or as the weight sign θ; a [`pass::Pass`]
//! takes a batch through it and back; a [`trainer::Trainer`] makes the steps of a
//! learner ([`learner`]: variational continual learning and its rivals), and a
//! [`course::Course`] leads it through the tasks of a stream. What was learned is
//! asked by one of four [`predictor`]s, scored by [`metrics`], kept by [`model`], and
//! packed into one bit a weight by [`binary`].
//!
//! ```
//! use remanent_data::sources::Cache;
//! use remanent_data::stream::StreamSpec;
//! use remanent_network::course::{Course, CourseSpec, Event};
//! use remanent_network::learner::{Learner, Parameters};
//! use remanent_network::metrics::scores;
//! use remanent_network::predictor::{Predictor, predict, test_stream};
//!
//! let stream = StreamSpec::read("permuted:digits:2")?.load(&Cache::at("unused"))?;
//! let tasks = stream.tasks(1, 0);
//! let train: Vec<_> = tasks.iter().map(|task| task.train()).collect();
//! let test: Vec<_> = tasks.iter().map(|task| task.test()).collect();
//!
//! let parameters = Parameters { hidden: vec![64], ..Parameters::of(Learner::Vcl) };
//! let mut course = Course::new(CourseSpec {
//!     parameters: &parameters,
//!     tasks: &train,
//!     epochs: &[3],
//!     classes: stream.classes(),
//!     seed: 1,
//!     trial: 0,
//! })?;
//! while course.advance()? != Event::End {}
//!
//! let answers =
//!     predict(course.network(), &test, Predictor::Hard, 1, test_stream(1, 0, 6));
//! assert!(scores(&answers[1], &test[1]).accuracy > 0.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checkpoint;
mod fisher;
mod kernels;
mod normalisation;
mod purposes;
mod softmax;

pub mod architecture;
pub mod binary;
pub mod course;
pub mod learner;
pub mod metrics;
pub mod model;
pub mod network;
pub mod parameters;
pub mod pass;
pub mod predictor;
pub mod product;
pub mod schedule;
pub mod tensors;
pub mod trainer;
