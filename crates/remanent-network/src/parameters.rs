//! The checks that what a user asks for must pass.

pub use remanent_math::range::{OutOfRange, within};
use thiserror::Error;

/// A parameter that makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ParameterError {
    /// A number outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Something else.
    #[error("{0}")]
    Other(String),
}
