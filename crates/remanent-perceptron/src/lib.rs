//! Teacher–student perceptrons of binary weights, trained on task after task.

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
