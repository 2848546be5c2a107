//! Checks of parameters.

pub use remanent_math::range::{OutOfRange, ParameterError, list_of, nth, within};
