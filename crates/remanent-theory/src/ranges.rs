//! The ranges in which the theory, or the solver, is valid. The options of the program are declared with them.

pub use remanent_math::range::Range;

/// The memory curve of a stationary stream ends here if the error stays away from that of guessing.
pub const LONGEST: usize = 500;

/// α, patterns per weight.
pub const ALPHA: Range = Range::between(1e-4, 1000.0);
/// β, inverse temperature.
pub const BETA: Range = Range::between(0.01, 1000.0);
/// c = γβ.
pub const COUPLING: Range = Range::between(0.0, 1e7);
/// γ, factor of the KL term.
pub const GAMMA: Range = Range::between(0.0, 1e4);
/// r_0, overlap of neighbouring teachers.
pub const R_0: Range = Range::between(-1.0, 1.0);
/// λ, factor of the magnetisations of the anchor.
pub const LAMBDA: Range = Range::between(-1.0, 1.0);
/// ρ, factor of the fields of the anchor.
pub const RHO: Range = Range::between(0.0, 1.0);
/// q_⋆, prescribed self-overlap. Up to 1 − 10⁻⁹, however that was rounded.
pub const Q_STAR: Range = Range::between(1e-6, 1.0 - 0.999e-9);
/// Factor of the node counts.
pub const RESOLUTION: Range = Range::between(0.1, 20.0);
/// Length of a memory curve, in tasks.
pub const MEMORY: Range = Range::between(0.0, LONGEST as f64);
/// Number of latest tasks whose errors count.
pub const LAST: Range = Range::between(1.0, LONGEST as f64);
/// Error below which a task counts as remembered.
pub const REMEMBERED: Range = Range::between(0.0, 0.5);
