//! What random numbers are drawn for. With seed, trial and step a purpose
//! addresses a stream; no two uses may share one.

/// θ before learning; the step is the layer.
pub const INITIAL: u32 = 201;
/// Order of the images; the step is the epoch of the stream.
pub const ORDER: u32 = 202;
/// Noise of preactivations in training; the step is the step.
pub const NOISE: u32 = 203;
/// Noise of preactivations for the empirical Fisher information.
pub const FISHER: u32 = 204;
/// Noise of preactivations and sampled weights in tests.
pub const TEST: u32 = 205;
