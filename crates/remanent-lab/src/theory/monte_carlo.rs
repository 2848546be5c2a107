//! Why published theory curves differ from the equations that they are said to solve: the
//! estimator behind them, run at the exact solution.
//!
//! Eqs. (sd-task1-ge) and (sd-task1-ge-where) of arXiv:2212.02846 give the conjugate parameters
//! as integrals over z of ratios of integrals over σ, and of the logarithm of one:
//!
//! ```text
//! Z(z) = ∫Dσ H^β(γ),        ⟨f⟩ = ∫Dσ H^β f / Z,
//! q̂_d = 4α ∫Dz H(λ) ⟨β (H'/H)(γ) u⟩
//! q̂_0 = −4α ∫Dz H'(λ) v_1 ln Z − 4α ∫Dz H(λ) ⟨β (H'/H)(γ) w⟩
//! r̂   = 2α ∫Dz H'(λ) h ln Z
//! g_E = 2 ∫Dz H(λ) ln Z
//! ```
//!
//! with λ, γ, u, v_1, w, h as printed. The published curves come from replacing both integrals by
//! means over normal draws: `outer` draws of z, and K draws of σ under the logarithm and in
//! numerator and denominator of the ratio. The mean of ln Ẑ is not ln of the mean of Ẑ: by
//! Jensen's inequality it lies below it, by an amount that no number of outer draws or of
//! repetitions makes smaller. At β = 20 the integrand lives many standard deviations away from
//! where σ is drawn, and K = 20,000 is far too few. (The solver of this workspace integrates by
//! parts and by quadrature; see [`remanent_theory::energy`].)
//!
//! The logarithms are taken relative to the largest term, so that what is seen is the bias of
//! the estimator and not that of underflow.
//!
//! The published form has plain draws outside, and draws σ once for all z (`inner = "shared"`,
//! the default); so does this one. To draw σ anew for each z (`inner = "fresh"`) has the same
//! expectation, since every term depends on its own z only, and thus the same bias. But shared
//! draws move all z together, so that more outer draws do not average their noise away: one
//! estimate of q̂_0 at K = 20,000 scatters by 8, however many z it has.
//!
//! Measured at α = 1, β = 20, over 20 repetitions of K = 20,000 and 2000 outer draws:
//! (q̂_0, r̂, q̂_d) = (113 ± 2, 13.8 ± 0.3, 105 ± 1), where the solver has (66.4, 7.37, 82.4), and
//! g_E = −3.99 ± 0.05, where it has −3.149. K = 200,000 is still wrong by 40 % in q̂_0.
//!
//! With `settle`, the estimator replaces the energetic half of the saddle-point equations in a
//! damped iteration, the entropic half staying exact, and where it settles is reported: with
//! K = 2000 at (q_0, r, q_d) = (0.78, 0.77, 0.81), where the solution is (0.849, 0.605, 0.912). The
//! error there is 0.185 instead of 0.283. (An iteration costs as much as 80 repetitions.)

use rayon::prelude::*;
use remanent_math::elementary;
use remanent_math::multiversioned;
use remanent_math::normal;
use remanent_math::philox::Stream;
use remanent_math::statistics::Summary;
use remanent_store::{Context, Stopped};
use remanent_theory::agreement::generalisation_error;
use remanent_theory::energy::energy;
use remanent_theory::fields::{Fields, site_averages};
use remanent_theory::overlaps::{Conjugates, Overlaps};
use remanent_theory::parameters::{Choice, DomainError};
use remanent_theory::posterior::signs;
use remanent_theory::ranges::{self, Range};
use remanent_theory::resolution::Resolution;
use remanent_theory::single::SingleTask;
use remanent_theory::site::Site;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toml::Table;

use super::QueryError;
use crate::options::Options;
use crate::{options, words};

/// Where the draws of σ come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// All z share them.
    Shared,
    /// They are drawn anew for each z.
    Fresh,
}

words! {
    Inner {
        "shared" => Shared, "all z share the draws of sigma, as published";
        "fresh" => Fresh, "sigma is drawn anew for each z";
    }
}

options! {
    /// Options of the study.
    pub struct MonteCarloOptions {
        "Question" {
            /// Patterns per weight
            alpha: f64 = 1.0, in ranges::ALPHA,
            /// Inverse temperature
            beta: f64 = 20.0, in ranges::BETA,
            /// Inner draws, of sigma
            draws: Vec<usize> = vec![200, 2000, 20_000], in Range::between(1.0, 1e7),
            /// Outer draws, of z
            outer: usize = 500, in Range::between(1.0, 1e6),
            /// Repetitions
            repeats: usize = 20, in Range::between(1.0, 1e5),
            /// Seed
            seed: usize = 1, in Range::ANY,
            /// Where the inner draws come from
            inner: Inner = Inner::Shared,
            /// Also iterate the equations with the estimator
            settle: bool = false,
        }
    }
}

/// The draws of z; the trial is the repetition.
const OUTER: u32 = 301;
/// The draws of σ; the step is the number of z, or 0 if all z share them.
const INNER: u32 = 302;
/// The same two for the iteration, whose steps are the trials.
const OUTER_OF_ITERATION: u32 = 303;
const INNER_OF_ITERATION: u32 = 304;

/// Steps of the iteration; the first half is forgotten.
const ITERATIONS: usize = 80;
/// The part of the way to the new estimate that an iteration goes. Small, so that the iteration
/// averages over many estimates.
const DAMPING: f64 = 0.2;

/// A study of the estimator.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Study {
    alpha: f64,
    beta: f64,
    draws: Vec<usize>,
    outer: usize,
    repeats: usize,
    seed: u64,
    fresh: bool,
    settle: bool,
}

/// The estimator against the exact values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MonteCarlo {
    /// The solution at which everything is evaluated.
    pub exact: Exact,
    /// One row per number of inner draws.
    pub rows: Vec<Row>,
}

/// The stable solution, to the accuracy of the solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exact {
    /// Patterns per weight α.
    pub alpha: f64,
    /// Inverse temperature β.
    pub beta: f64,
    /// Its branch.
    pub branch: String,
    /// Overlap of two states.
    pub q_0: f64,
    /// Overlap with the teacher.
    pub r: f64,
    /// Self-overlap.
    pub q_d: f64,
    /// Generalisation error.
    pub eps: f64,
    /// The conjugate parameters and g_E.
    pub values: Estimate,
}

/// The conjugate parameters, and the energetic term of −βf per pattern.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Conjugate of q_0.
    pub q_0_hat: f64,
    /// Conjugate of r.
    pub r_hat: f64,
    /// Conjugate of q_d.
    pub q_d_hat: f64,
    /// g_E.
    pub g_e: f64,
}

/// The estimates with one number of inner draws, over the repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Inner draws K.
    pub draws: usize,
    /// Conjugate of q_0.
    pub q_0_hat: Summary,
    /// Conjugate of r.
    pub r_hat: Summary,
    /// Conjugate of q_d.
    pub q_d_hat: Summary,
    /// g_E.
    pub g_e: Summary,
    /// Where the iteration settles; none if that was not asked, or if it left the domain.
    pub settled: Option<Settled>,
}

/// Where the iteration settles: means over its second half.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Overlap of two states.
    pub q_0: f64,
    /// Overlap with the teacher.
    pub r: f64,
    /// Self-overlap.
    pub q_d: f64,
    /// Generalisation error at the mean conjugate parameters.
    pub eps: f64,
}

impl Study {
    pub(super) fn from_table(table: &Table) -> Result<Self, QueryError> {
        let options = MonteCarloOptions::read(table)?;
        Ok(Self {
            alpha: options.alpha,
            beta: options.beta,
            draws: options.draws,
            outer: options.outer,
            repeats: options.repeats,
            seed: options.seed as u64,
            fresh: options.inner == Inner::Fresh,
            settle: options.settle,
        })
    }

    /// Everything the numbers depend on, but the revision.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "ask": "monte-carlo",
            "alpha": self.alpha,
            "beta": self.beta,
            "draws": self.draws,
            "outer": self.outer,
            "repeats": self.repeats,
            "seed": self.seed,
            "inner": if self.fresh { "fresh" } else { "shared" },
            "settle": self.settle,
        })
    }

    /// Estimates, and iterations for as much as their steps cost.
    pub(super) fn work(&self) -> u64 {
        let steps = if self.settle { ITERATIONS } else { 0 };
        (self.draws.len() * (self.repeats + steps)) as u64
    }

    pub(super) fn run(&self, context: &mut Context<'_>) -> Result<MonteCarlo, Stopped> {
        let (exact, overlaps) = self.exact()?;
        let mut rows: Vec<Row> = context.load().unwrap_or_default();
        context.advance(rows.len() as u64 * self.work() / self.draws.len() as u64);
        while rows.len() < self.draws.len() {
            if context.due() {
                context.save(&rows)?;
            }
            match self.row(self.draws[rows.len()], &exact, &overlaps, context) {
                // This keeps the rows that are complete, and passes the interrupt on.
                Err(Stopped::Interrupted) => context.save(&rows)?,
                row => rows.push(row?),
            }
        }
        Ok(MonteCarlo { exact, rows })
    }

    fn exact(&self) -> Result<(Exact, Overlaps), Stopped> {
        let failed = |error: DomainError| Stopped::Failed(error.to_string());
        let task = SingleTask::new(self.beta).map_err(failed)?;
        let s = task.solve(self.alpha, Choice::Stable).map_err(failed)?;
        if !s.is_converged() {
            return Err(Stopped::Failed(format!("there is no solution: {}", s.termination)));
        }
        let overlaps = Overlaps {
            one_minus_q_d: s.one_minus_q_d,
            q_d_minus_q_0: s.q_d_minus_q_0,
            q_0_minus_r2: s.q_0_minus_r2,
            r: s.r,
        };
        let g_e = energy(&overlaps, self.beta, Resolution::STANDARD).g_e;
        let exact = Exact {
            alpha: s.alpha,
            beta: s.beta,
            branch: s.branch.to_string(),
            q_0: s.q_0,
            r: s.r,
            q_d: s.q_d,
            eps: s.eps,
            values: Estimate { q_0_hat: s.q_0_hat, r_hat: s.r_hat, q_d_hat: s.q_d_hat, g_e },
        };
        Ok((exact, overlaps))
    }

    fn row(
        &self,
        draws: usize,
        exact: &Exact,
        overlaps: &Overlaps,
        context: &Context<'_>,
    ) -> Result<Row, Stopped> {
        let one = |repeat: usize| {
            // Another repetition need not begin if the cell is asked to stop.
            let wanted = !context.interrupted();
            let estimate =
                wanted.then(|| self.estimate(overlaps, draws, [OUTER, INNER], repeat as u32));
            context.advance(1);
            estimate
        };
        let estimates: Option<Vec<Estimate>> = (0..self.repeats).into_par_iter().map(one).collect();
        let estimates = estimates.ok_or(Stopped::Interrupted)?;
        let summary = |of: fn(&Estimate) -> f64| {
            Summary::of(estimates.iter().map(of))
                .ok_or_else(|| Stopped::Failed("nothing was repeated".into()))
        };
        Ok(Row {
            draws,
            q_0_hat: summary(|e| e.q_0_hat)?,
            r_hat: summary(|e| e.r_hat)?,
            q_d_hat: summary(|e| e.q_d_hat)?,
            g_e: summary(|e| e.g_e)?,
            settled: if self.settle { self.settled(draws, exact, context)? } else { None },
        })
    }

    /// One estimate, from the streams of two purposes.
    fn estimate(
        &self,
        overlaps: &Overlaps,
        draws: usize,
        [outer, inner]: [u32; 2],
        trial: u32,
    ) -> Estimate {
        let outer = Stream::new(self.seed, outer, trial, 0);
        let inner = |step: usize| {
            let stream = Stream::new(self.seed, inner, trial, step as u32);
            Draws::new((0..draws).map(|k| stream.normal(k as u32)).collect())
        };
        let shared = (!self.fresh).then(|| inner(0));
        let mut sums = [0.0; 4];
        for i in 0..self.outer {
            let z = outer.normal(i as u32);
            let means = match &shared {
                Some(sigma) => means(overlaps, self.beta, z, sigma),
                None => means(overlaps, self.beta, z, &inner(i)),
            };
            let local = integrands(overlaps, self.beta, z, means);
            sums.iter_mut().zip(local).for_each(|(sum, x)| *sum += x);
        }
        let [q_0_hat, r_hat, q_d_hat, g_e] = sums.map(|sum| sum / self.outer as f64);
        let alpha = self.alpha;
        Estimate { q_0_hat: alpha * q_0_hat, r_hat: alpha * r_hat, q_d_hat: alpha * q_d_hat, g_e }
    }

    /// Where the damped iteration settles that starts at the exact solution.
    fn settled(
        &self,
        draws: usize,
        exact: &Exact,
        context: &Context<'_>,
    ) -> Result<Option<Settled>, Stopped> {
        let mut now = exact.values;
        let (mut overlap_sums, mut conjugate_sums) = ([0.0; 3], [0.0; 3]);
        for iteration in 0..ITERATIONS {
            if context.interrupted() {
                return Err(Stopped::Interrupted);
            }
            context.advance(1);
            if !(now.q_0_hat > 0.0 && now.r_hat.is_finite()) {
                return Ok(None);
            }
            let (site, fields) = site_of(&now);
            let overlaps = site_averages(&site, &fields, Resolution::STANDARD).overlaps;
            if !overlaps.are_possible() {
                return Ok(None);
            }
            if iteration >= ITERATIONS / 2 {
                let found = [overlaps.q_0(), overlaps.r, overlaps.q_d()];
                overlap_sums.iter_mut().zip(found).for_each(|(sum, x)| *sum += x);
                let found = [now.q_0_hat, now.r_hat, now.q_d_hat];
                conjugate_sums.iter_mut().zip(found).for_each(|(sum, x)| *sum += x);
            }
            let next = self.estimate(
                &overlaps,
                draws,
                [OUTER_OF_ITERATION, INNER_OF_ITERATION],
                iteration as u32,
            );
            now.q_0_hat += DAMPING * (next.q_0_hat - now.q_0_hat);
            now.r_hat += DAMPING * (next.r_hat - now.r_hat);
            now.q_d_hat += DAMPING * (next.q_d_hat - now.q_d_hat);
        }
        let kept = (ITERATIONS - ITERATIONS / 2) as f64;
        let [q_0, r, q_d] = overlap_sums.map(|sum| sum / kept);
        let [q_0_hat, r_hat, q_d_hat] = conjugate_sums.map(|sum| sum / kept);
        let (site, fields) = site_of(&Estimate { q_0_hat, r_hat, q_d_hat, g_e: 0.0 });
        let signs = signs(&site, &fields, Resolution::STANDARD);
        let (eps, _) = generalisation_error(signs.ln_one_minus_p, signs.ln_one_plus_p);
        Ok(Some(Settled { q_0, r, q_d, eps }))
    }
}

/// One weight at given conjugate parameters, without a prior.
fn site_of(now: &Estimate) -> (Site, Fields<'static>) {
    let stiffness = now.q_0_hat - now.q_d_hat;
    let conjugates = Conjugates { stiffness, q_0_hat: now.q_0_hat, r_hat: now.r_hat };
    (Site { stiffness, entropy: 0.0 }, Fields::new(&conjugates, 0.0, None))
}

/// Draws of σ, and the largest of them.
struct Draws {
    sigma: Vec<f64>,
    largest: f64,
}

impl Draws {
    fn new(sigma: Vec<f64>) -> Self {
        let largest = sigma.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { sigma, largest }
    }
}

/// Means over the draws of σ for the integrals over σ: ln Z, and ⟨φ/Φ⟩ and ⟨σ φ/Φ⟩ at −γ.
fn means(overlaps: &Overlaps, beta: f64, z: f64, draws: &Draws) -> (f64, [f64; 2]) {
    let kappa = overlaps.one_minus_q_d;
    let offset = (overlaps.q_0() / kappa).sqrt() * z;
    let scale = (overlaps.q_d_minus_q_0 / kappa).sqrt();
    // H(γ) = Φ(−γ) rises with σ, so the largest term is that of the largest draw.
    let top = normal::ln_cdf(offset + scale * draws.largest);
    let [total, hazard, product] = sums(&draws.sigma, offset, scale, beta, top);
    let ln_z = beta * top + (total / draws.sigma.len() as f64).ln();
    (ln_z, [hazard / total, product / total])
}

/// The integrands over z of (q̂_0/α, r̂/α, q̂_d/α, g_E), given what [`means`] gives: Eqs.
/// (sd-task1-ge) and (sd-task1-ge-where), nothing integrated by parts.
fn integrands(
    overlaps: &Overlaps,
    beta: f64,
    z: f64,
    (ln_z, [hazard, product]): (f64, [f64; 2]),
) -> [f64; 4] {
    let (kappa, d, v) = (overlaps.one_minus_q_d, overlaps.q_d_minus_q_0, overlaps.q_0_minus_r2);
    let (q_0, r) = (overlaps.q_0(), overlaps.r);
    let lambda = -r / v.sqrt() * z;
    let (h_lambda, h_prime) = (normal::upper_tail(lambda), -normal::pdf(lambda));
    // H'/H = −φ/Φ. u and w are linear in σ, and q_0 − 1 = −(κ + D).
    let u = ((kappa + d) * product + (q_0 * d).sqrt() * z * hazard)
        / (2.0 * kappa * (kappa * d).sqrt());
    let w = (d.sqrt() * z * hazard - q_0.sqrt() * product) / (2.0 * (kappa * d * q_0).sqrt());
    let v_1 = r * z / (2.0 * v * v.sqrt());
    let h = -q_0 * z / (v * v.sqrt());
    [
        -4.0 * (h_prime * v_1 * ln_z + h_lambda * beta * w),
        2.0 * h_prime * h * ln_z,
        4.0 * h_lambda * beta * u,
        2.0 * h_lambda * ln_z,
    ]
}

const LANES: usize = 16;

multiversioned! {
    /// Sums over σ of Φ^β(y) e^{−β top}, and of the same times φ/Φ and times σ φ/Φ, at
    /// y = offset + scale σ.
    fn sums(sigma: &[f64], offset: f64, scale: f64, beta: f64, top: f64) -> [f64; 3] {
        let mut lanes = [[0.0; LANES]; 3];
        for chunk in sigma.chunks(LANES) {
            // The last chunk is filled up with draws of weight 0.
            let (mut draws, mut present) = ([0.0; LANES], [0.0; LANES]);
            draws[..chunk.len()].copy_from_slice(chunk);
            present[..chunk.len()].fill(1.0);
            for i in 0..LANES {
                let at = elementary::ln_cdf(offset + scale * draws[i]);
                let exponent = beta * ((at.quadratic - top) + at.rest);
                let weight = present[i] * elementary::exp(exponent);
                lanes[0][i] += weight;
                lanes[1][i] += weight * at.hazard;
                lanes[2][i] += weight * at.hazard * draws[i];
            }
        }
        lanes.map(|lane| lane.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(text: &str) -> MonteCarlo {
        let study = Study::from_table(&text.parse().unwrap()).unwrap();
        study.run(&mut Context::detached()).unwrap()
    }

    /// With quadrature for both integrals the printed equations give the solver's values, which
    /// are computed from other formulas.
    #[test]
    fn the_printed_equations_are_those_that_the_solver_solves() {
        let study = Study::from_table(&Table::new()).unwrap();
        let (exact, overlaps) = study.exact().unwrap();
        let (kappa, d) = (overlaps.one_minus_q_d, overlaps.q_d_minus_q_0);
        let step = 0.02;
        let mut found = [0.0; 4];
        for i in -300..=300 {
            let z = step * f64::from(i);
            let (offset, scale) = ((overlaps.q_0() / kappa).sqrt() * z, (d / kappa).sqrt());
            let mut sums = [0.0; 3];
            // Far to the left in z the integrand lives at σ = 20.
            for k in -500..=1500 {
                let sigma = step * f64::from(k);
                let y = offset + scale * sigma;
                let exponent = 20.0 * normal::ln_cdf(y) - 0.5 * sigma * sigma;
                let weight = step * normal::pdf(0.0) * exponent.exp();
                sums[0] += weight;
                sums[1] += weight * normal::hazard(y);
                sums[2] += weight * normal::hazard(y) * sigma;
            }
            let means = (sums[0].ln(), [sums[1] / sums[0], sums[2] / sums[0]]);
            let local = integrands(&overlaps, 20.0, z, means);
            found.iter_mut().zip(local).for_each(|(sum, x)| *sum += step * normal::pdf(z) * x);
        }
        let values = exact.values;
        let expected = [values.q_0_hat, values.r_hat, values.q_d_hat, values.g_e];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn the_estimator_comes_down_to_the_exact_values_from_above() {
        let found = study("draws = [30, 300, 3000]\nouter = 400\nrepeats = 30");
        let exact = found.exact.values;
        assert!((exact.q_0_hat - 66.42).abs() < 0.01 && (exact.q_d_hat - 82.35).abs() < 0.01);
        let rows = &found.rows;
        for pair in rows.windows(2) {
            assert!(pair[1].q_0_hat.mean < pair[0].q_0_hat.mean);
            assert!(pair[1].r_hat.mean < pair[0].r_hat.mean);
            assert!(pair[1].g_e.mean > pair[0].g_e.mean);
        }
        for row in rows {
            let far = |s: Summary, exact: f64| (s.mean - exact) / s.standard_error.unwrap();
            assert!(far(row.q_0_hat, exact.q_0_hat) > 5.0, "{row:?}");
            assert!(far(row.r_hat, exact.r_hat) > 5.0, "{row:?}");
            assert!(far(row.g_e, exact.g_e) < -5.0, "{row:?}");
        }
    }

    /// At small β the integrand lives where σ is drawn, and the estimator is right.
    #[test]
    fn at_high_temperature_the_estimator_is_unbiased() {
        let found = study("beta = 0.5\ndraws = 2000\nouter = 2000\nrepeats = 30");
        let (exact, row) = (found.exact.values, &found.rows[0]);
        for (s, exact) in [
            (row.q_0_hat, exact.q_0_hat),
            (row.r_hat, exact.r_hat),
            (row.q_d_hat, exact.q_d_hat),
            (row.g_e, exact.g_e),
        ] {
            assert!((s.mean - exact).abs() < 4.0 * s.standard_error.unwrap(), "{s:?} {exact}");
        }
    }

    #[test]
    fn fresh_draws_have_the_same_bias_and_less_scatter() {
        let text = "draws = 300\nouter = 400\nrepeats = 30\n";
        let shared = study(text).rows.remove(0);
        let fresh = study(&format!("{text}inner = 'fresh'")).rows.remove(0);
        let error = |s: Summary| s.standard_error.unwrap();
        let both = error(shared.g_e).hypot(error(fresh.g_e));
        assert!((shared.g_e.mean - fresh.g_e.mean).abs() < 4.0 * both, "{shared:?} {fresh:?}");
        assert!(error(fresh.g_e) < error(shared.g_e));
    }

    #[test]
    fn the_seed_decides_and_the_threads_do_not() {
        let text = "draws = [50, 100]\nouter = 20\nrepeats = 5\nsettle = true\n";
        let found = study(text);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| study(text)), found);
        assert_ne!(study(&format!("{text}seed = 2")), found);
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<MonteCarlo>(&json).unwrap(), found);
    }

    /// The biased equations settle elsewhere: nearer to the teacher than the solution is, and
    /// with weights that are less sure of themselves.
    #[test]
    fn the_iteration_settles_away_from_the_solution() {
        let found = study("draws = 1000\nouter = 200\nrepeats = 1\nsettle = true");
        let settled = found.rows[0].settled.unwrap();
        assert!(settled.r > found.exact.r + 0.05, "{settled:?}");
        assert!(settled.q_d < found.exact.q_d, "{settled:?}");
    }
}
