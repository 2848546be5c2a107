//! Purposes of random numbers. Seed, purpose, trial and step address a stream; every use has its own
//! purpose.

/// Initial θ; the step is the layer.
pub const INITIAL: u32 = 201;
/// Order of the images; the step is the epoch of the stream.
pub const ORDER: u32 = 202;
/// Noise of preactivations in training; the step is the training step.
pub const NOISE: u32 = 203;
/// Noise of preactivations for the empirical Fisher information.
pub const FISHER: u32 = 204;
/// Noise of preactivations and sampled weights in prediction.
pub const TEST: u32 = 205;
