//! Deep networks with binary weights that learn one task after another.
//!
//! Every weight has a latent number θ: a [`network::Network`] uses it as the field of a distribution
//! q(w) ∝ e^{βθw} over a binary weight, or as the weight sign θ.
//!
//! 1. Choose a learner and its parameters: [`learner::Parameters`] (variational continual learning,
//!    elastic weight consolidation, metaplasticity, straight-through, joint training; for comparison
//!    the learners of other authors in [`rivals`]).
//! 2. Train on a stream of tasks with a [`course::Course`], step by step; save and restore it at any
//!    step. If the tasks come one at a time, use [`lifelong::Lifelong`].
//! 3. Predict with one of four [`predictor`]s and score with [`metrics`].
//! 4. Save with [`model`], or pack into one bit for each weight with [`binary`], which also exports to
//!    ONNX and NumPy.
//!
//! [`trainer`] and [`pass`] are the single steps below a course.
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
//!     tasks: Box::new(train),
//!     inputs: stream.inputs(),
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
//!
//! # Reproducibility
//!
//! A course depends only on its parameters, data, seed and trial number: not on threads, and not on
//! interruptions. Across machines:
//!
//! - **Same bits on every instruction set**: the element-wise kernels of training, the random numbers,
//!   and the sums of packed networks ([`binary`]). They use a fixed order of additions and no fused
//!   multiply-add; the tests compare the paths.
//! - **Equal to rounding**: matrix products ([`product`]) and sums over active inputs. They use fused multiply-add
//!   where available, and the order of additions depends on the instruction set. With AVX-512 the step of Adam in batches
//!   of two or more images uses estimates of roots and quotients, accurate to two units of the last place. Trained
//!   networks therefore differ between instruction sets, and [`product::instructions`] names the one in use.
//!   With [`product::Precision::Bf16`] inputs are rounded to the same bits everywhere, and sums depend on
//!   the processor.
//! - **Depends on the platform's math library**: `exp` and `ln` in softmax, loss and output scale,
//!   `powf` in the bias correction of Adam and in the empirical Fisher information, `tanh` in the
//!   schedule of β, `ln` in the log-likelihood.

mod active;
mod bf16;
mod checkpoint;
mod fisher;
mod fused;
mod kernels;
mod normalisation;
mod pages;
mod purposes;
mod recall;
mod reduced;
mod sampling;
mod single;
mod softmax;
mod tiles;

pub mod architecture;
pub mod binary;
pub mod course;
pub mod fading;
pub mod learner;
pub mod lifelong;
pub mod metrics;
pub mod model;
pub mod network;
pub mod parameters;
pub mod pass;
pub mod predictor;
pub mod product;
pub mod ranges;
pub mod rivals;
pub mod schedule;
pub mod tensors;
pub mod trainer;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
