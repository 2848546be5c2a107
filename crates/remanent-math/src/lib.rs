//! The numerical ground of Remanent.
//!
//! Everything here is ordinary mathematics, free of physics: the Gaussian
//! special functions that the theory needs at full relative accuracy
//! ([`normal`]), elementary functions that vectorise ([`elementary`],
//! in single precision [`elementary32`]), trapezoid grids that cluster where an integrand changes
//! quickly ([`grid`]), Gauss–Legendre rules ([`legendre`]), small dense systems ([`linear`]), Newton's method with
//! a kept Jacobian ([`newton`]), pseudo-arclength continuation
//! ([`continuation`]), bracketed roots and minima ([`scalar`]), means over trials and
//! the worth of Markov chains ([`statistics`]), random
//! numbers addressed by a counter ([`philox`]), and numbers that must lie in a
//! [`range`].

#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod continuation;
pub mod elementary;
pub mod elementary32;
pub mod grid;
pub mod legendre;
pub mod linear;
pub mod newton;
pub mod normal;
pub mod philox;
pub mod range;
pub mod scalar;
pub mod statistics;
