//! Broken replica symmetry: K steps of Parisi's scheme.
//!
//! Where the replicon of [`crate::single`]'s solution is negative, states of the
//! measure e^{−βL} lie in clusters. With K steps two states overlap by one of
//! q_K > … > q_0, and Parisi's parameters 0 < x_1 < … < x_K < 1 weigh the levels.
//! With x_0 = 0 and x_{K+1} = 1,
//!
//! ```text
//! φ = −βf = −½ q_d_hat q_d + ½ Σ_l (x_{l+1} − x_l) q_l_hat q_l − r_hat r + g_S + α g_E
//! g_E = ∫ Dz 2Φ(r z/√(q_0 − r²)) ψ_0(√q_0 z),      g_S = ∫ Dz ψ_0(r_hat + √q_0_hat z)
//! ψ_{l−1}(ω) = (1/x_l) ln ∫ Dy e^{x_l ψ_l(ω + √(q_l − q_{l−1}) y)}
//! ```
//!
//! with ψ_K = L of [`crate::energy`] on the energetic side, and the logarithm of the
//! integral of [`crate::site`] on the entropic one. φ is stationary in everything; it
//! is a minimum over x. Away from ∂φ/∂x = 0 the same equations count clusters: of
//! those with −βf = ∂(xφ)/∂x there are e^{NΣ}, Σ = −x² ∂φ/∂x.
//!
//! Every level is stable if λ_l = 1 − α E_T⟨ψ_l''²⟩ ∫Dz⟨ψ_l''²⟩ ≥ 0 (for K = 0 the
//! replicon). The reverse is not true: above β ≈ 25 clusters appear with x = 1 at a
//! distance q_1 > q_0 while the replicon is still positive.
//!
//! ```
//! use remanent_theory::rsb::BrokenTask;
//! use remanent_theory::single::SingleTask;
//!
//! # fn main() -> Result<(), remanent_theory::parameters::DomainError> {
//! let task = BrokenTask::new(SingleTask::new(20.0)?);
//! let symmetric = task.poor(1.4, 0)?;
//! let broken = task.poor(1.4, 1)?;
//! assert!(symmetric.stability[0] < -6.0 && symmetric.eps > 0.24);
//! assert!((broken.eps - 0.192).abs() < 1e-4 && broken.x[0] < 0.17);
//! // Beyond its fold the broken poor branch is gone.
//! assert!(!task.poor(1.54, 1)?.is_converged());
//! # Ok(())
//! # }
//! ```
//!
//! Nothing is started by hand. The replica-symmetric curve is followed from α → 0 to
//! the zero of its replicon; the one-step curve leaves there with a small gap and is
//! followed round its fold to where the gap closes again; the two-step curve leaves
//! the one-step curve where λ_1 vanishes, or is found from its most unstable point, and
//! so on. Next to the place where the gap of one step opens or closes the solution is led by the gap; one smaller than
//! 1e-9 of the fields' variance (within about 1e-9 of an onset) is out of reach and the row says so.
//!
//! - `level` goes from one level to the next, `narrow` does so for a small gap, `energy` and `site` are the two sides,
//!   `equations` closes them, `solve` is Newton's method in the coordinates of `state`;
//! - `onset` and `trace` follow the curves, `fold`, `small_gap` and `roots` find solutions on them,
//!   `task` is what a user holds, `report` what is said of a solution, `auto` how
//!   many steps it needs;
//! - `landmarks`, `clusters` and `phase` are the lines of the phase diagram and the
//!   complexity; `law` and `chain` carry the breaking from task to task.

mod auto;
mod chain;
mod clusters;
mod energy;
mod equations;
mod fold;
mod landmarks;
mod law;
mod level;
mod narrow;
mod onset;
mod opening;
mod phase;
mod report;
mod roots;
mod site;
mod small_gap;
mod solve;
mod state;
mod task;
mod trace;

pub use self::auto::{AutoSolution, MOST_STEPS, TOLERANCE};
pub use self::chain::BrokenTaskResult;
pub use self::landmarks::BrokenCrossing;
pub use self::phase::{BrokenPhaseDiagram, BrokenPhaseRow, PhasePoint, broken_phase_diagram};
pub use self::report::RsbSolution;
pub use self::task::{BrokenTask, MAX_STEPS};

#[cfg(test)]
mod tests;
