//! Numerical methods used by Remanent: special functions, quadrature, solvers, random numbers.
//!
//! Nothing here knows any physics.
//!
//! | module | contents |
//! |---|---|
//! | [`normal`] | Φ, ln Φ, φ/Φ and Φ⁻¹, accurate far into the tails |
//! | [`elementary`], [`elementary32`] | exp, ln, erfcx, tanh as straight-line code that vectorises |
//! | [`grid`], [`legendre`] | quadrature: clustered trapezoid grids, Gauss–Legendre rules |
//! | [`linear`], [`newton`], [`scalar`] | small dense systems, Newton's method, bracketed roots and minima |
//! | [`continuation`] | pseudo-arclength continuation of solution curves around folds |
//! | [`philox`] | counter-based random numbers |
//! | [`statistics`] | means with standard errors, R̂ and effective sample size of Markov chains |
//! | [`adam`] | the Adam update |
//! | [`range`] | parameter checks and their errors |
//!
//! ```
//! use remanent_math::newton::{Newton, Outcome};
//! use remanent_math::normal;
//! use remanent_math::philox::Stream;
//!
//! // ln Φ keeps its relative accuracy where Φ itself underflows.
//! assert!((normal::ln_cdf(-40.0) + 804.608_442_013_754).abs() < 1e-9);
//!
//! // A random number is a function of (seed, purpose, trial, step, index).
//! let stream = Stream::new(7, 0, 0, 0);
//! assert_eq!(stream.normal(3), Stream::new(7, 0, 0, 0).normal(3));
//!
//! let mut equations = |x: &[f64; 2]| Some([x[0] * x[0] - x[1], x[0] + x[1] - 2.0]);
//! let root = Newton::default().solve(&mut equations, [2.0, 2.0], None);
//! assert_eq!(root.outcome, Outcome::Converged);
//! assert!((root.x[0] - 1.0).abs() < 1e-12);
//! ```
//!
//! # Reproducibility
//!
//! [`elementary`], [`elementary32`], [`philox`], [`adam`] and [`normal::quantile`] use only IEEE 754
//! operations in a fixed order, without fused multiply-add: they return the same bits on every
//! platform and instruction set. The rest also calls functions of the platform's math library, whose
//! last bit may differ between platforms: `exp` in [`normal::pdf`] and [`normal::cdf`], `asinh` in
//! [`grid`], `cos` in [`legendre`], `acos` in [`continuation`], `log10` in
//! [`statistics::Mixing`].

pub mod adam;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod continuation;
pub mod elementary;
pub mod elementary32;
pub mod grid;
pub mod hermite;
pub mod legendre;
pub mod linear;
pub mod newton;
pub mod normal;
pub mod philox;
pub mod range;
pub mod scalar;
pub mod statistics;

#[doc(hidden)]
pub use multiversion;

/// Compiles functions for AVX-512, AVX2 and NEON in addition to the baseline of the target. A call
/// selects the best version that the processor supports. On processors before Ice Lake that is the version
/// with AVX-512 only if the program is built with `--cfg multiversion_allow_slow_avx512`, as `.cargo/config.toml` of this repository does.
///
/// ```
/// remanent_math::multiversioned! {
///     /// x ← c x.
///     fn scale(c: f32, x: &mut [f32]) {
///         x.iter_mut().for_each(|x| *x *= c);
///     }
/// }
/// let mut x = [1.0, 2.0];
/// scale(3.0, &mut x);
/// assert_eq!(x, [3.0, 6.0]);
/// ```
#[macro_export]
macro_rules! multiversioned {
    ($($function:item)*) => { $(
        #[$crate::multiversion::multiversion(targets(
            "x86_64+avx512f+avx512dq+avx512vl",
            "x86_64+avx2",
            "aarch64+neon"
        ))]
        $function
    )* };
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use multiversion::target::match_target;

    multiversioned! {
        fn uses_avx512() -> bool {
            match_target! {
                "x86_64+avx512f+avx512dq+avx512vl" => true,
                _ => false,
            }
        }
    }

    #[test]
    fn avx512_is_used_where_the_processor_has_it() {
        let has_it = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        let hint = "RUSTFLAGS and --target replace the flags of .cargo/config.toml";
        assert_eq!(uses_avx512(), has_it, "{hint}");
    }
}
