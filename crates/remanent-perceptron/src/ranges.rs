//! The ranges of the parameters. The options of the program are declared with them.

pub use remanent_math::range::Range;

use crate::tempering::MOST_TEMPERATURES;

/// N, number of weights.
pub const N: Range = Range::between(2.0, 1e6);
/// N if all 2^N weights are enumerated.
pub const ENUMERATED_N: Range = N.at_most(20.0);
/// α, patterns per weight.
pub const ALPHA: Range = Range::above(0.0).at_most(1000.0);
/// r_0, overlap of neighbouring teachers.
pub const R_0: Range = Range::between(-1.0, 1.0);
/// Number of fresh patterns of a task.
pub const FRESH_PATTERNS: Range = Range::between(0.0, 1e7);
/// Number of tasks.
pub const TASKS: Range = Range::between(1.0, 10_000.0);
/// Number of patterns of a task.
pub const PATTERNS: Range = Range::ANY.at_most(5e7);

/// β, inverse temperature.
pub const BETA: Range = Range::above(0.0).at_most(1e4);
/// γ, factor of the KL term.
pub const GAMMA: Range = Range::between(0.0, 1e6);
/// λ, factor of the magnetisations of the anchor.
pub const LAMBDA: Range = Range::between(-1.0, 1.0);
/// ρ, factor of the fields of the anchor.
pub const RHO: Range = Range::between(0.0, 1.0);
/// Interval between rows, in epochs or sweeps.
pub const RECORD_EVERY: Range = Range::at_least(1.0);

/// Epochs of a task.
pub const EPOCHS: Range = Range::between(1.0, 1e8);
/// Learning rate.
pub const LR: Range = Range::above(0.0).below(1e6);
/// Scale of the fields.
pub const FIELD_SCALE: Range = Range::above(0.0).below(1e6);
/// μ of the momentum rule.
pub const MOMENTUM: Range = Range::at_least(0.0).below(1.0);
/// Decoupled weight decay.
pub const WEIGHT_DECAY: Range = Range::at_least(0.0).below(1e6);
/// Patterns in a step, or steps in an epoch.
pub const BATCH: Range = Range::at_least(1.0);
/// q_⋆, prescribed norm.
pub const Q_STAR: Range = Range::above(0.0).below(1.0);

/// Markov chains on the same data.
pub const CHAINS: Range = Range::between(2.0, 64.0);
/// Sweeps before measuring.
pub const WARMUP: Range = Range::between(1.0, 1e7);
/// Sweeps that are measured.
pub const SWEEPS: Range = Range::between(8.0, 1e7);
/// Magnetisation towards the teacher at the start of a chain.
pub const START: Range = Range::above(-1.0).below(1.0);
/// Temperatures of a ladder.
pub const TEMPERATURES: Range = Range::between(2.0, MOST_TEMPERATURES as f64);
/// Replicas on the same data; their number is even.
pub const REPLICAS: Range = Range::between(2.0, 32.0);
/// Sweeps of parallel tempering before measuring.
pub const TEMPERING_WARMUP: Range = Range::between(8.0, 1e7);
