//! The ranges of the parameters. The options of the program are declared with them.

pub use remanent_math::range::Range;

const POSITIVE: Range = Range::above(0.0);
/// Of factors, where 0 turns a term off.
const FACTOR: Range = Range::at_least(0.0);

/// Epochs of a task.
pub const EPOCHS: Range = Range::between(1.0, 1e6);
/// Images per step.
pub const BATCH: Range = Range::between(1.0, 65536.0);
/// Learning rate.
pub const LR: Range = POSITIVE;
/// b1 and b2 of Adam.
pub const ADAM_DECAY: Range = Range::at_least(0.0).below(1.0);
/// epsilon of Adam.
pub const ADAM_EPSILON: Range = POSITIVE;

/// Width of a layer.
pub const WIDTH: Range = Range::between(1.0, WIDEST as f64);
/// The largest width: a layer of 2^16 × 2^16 weights needs 16 GiB for each number per weight.
pub const WIDEST: usize = 1 << 16;
/// Factor of the logits.
pub const OUTPUT_SCALE: Range = POSITIVE;
/// Smallest factor of the logits while it is learned.
pub const LEAST_SCALE: Range = FACTOR;
/// Deviation of the fields before learning.
pub const SPREAD: Range = POSITIVE;
/// Deviation of the pixels.
pub const PIXEL_DEVIATION: Range = POSITIVE;

/// β in any epoch.
pub const BETA: Range = Range::above(0.0).at_most(1e4);
/// Factors of the pull towards an anchor.
pub const GAMMA: Range = FACTOR;
/// λ, factor of the magnetisations of the anchor.
pub const LAMBDA: Range = Range::between(-1.0, 1.0);
/// ρ, factor of the fields of the anchor.
pub const RHO: Range = Range::between(0.0, 1.0);
/// Smallest mean variance of the weights under the anchor.
pub const RESERVE: Range = Range::between(0.0, 1.0);
/// Tasks that an anchor remembers.
pub const HORIZON: Range = Range::between(1.0, 1e9);
/// Window of an anchor that follows, in examples.
pub const WINDOW: Range = Range::between(1.0, 1e12);
/// m of metaplasticity.
pub const META: Range = FACTOR;

/// Networks of sampled weights per step.
pub const SAMPLES: Range = Range::between(1.0, 1000.0);
/// τ of relaxed weights.
pub const TEMPERATURE: Range = POSITIVE;
/// Factor of the gradient.
pub const LIKELIHOOD: Range = POSITIVE;
/// Factor of the divergence.
pub const KL: Range = FACTOR;
/// Largest learning rate of a weight.
pub const MAX_RATE: Range = POSITIVE;
/// Factor of the pull to the prior.
pub const PRIOR_STRENGTH: Range = FACTOR;
/// ξ of `si`.
pub const DAMPING: Range = POSITIVE;
/// Deviation of the weights before learning.
pub const SIGMA: Range = POSITIVE;
/// Learning rate of the deviations.
pub const LR_SIGMA: Range = FACTOR;
/// Deviation of the prior.
pub const PRIOR_SIGMA: Range = POSITIVE;
/// Bound of the gradient in units of 1/σ; 0 for none.
pub const CLIP: Range = FACTOR;

/// Passes or sampled networks of a prediction.
pub const DRAWS: Range = Range::between(1.0, 10_000.0);
