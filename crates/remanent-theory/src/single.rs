//! One task: the perceptron of Eq. (task1obj) of arXiv:2212.02846, with or
//! without its self-overlap held fixed.

use rayon::prelude::*;
use remanent_math::newton::Outcome;

use crate::curve::{Branch, Curve, StrandEnd};
use crate::parameters::{Choice, DomainError, Prior};
use crate::ranges::{ALPHA, BETA, Q_STAR};
use crate::resolution::Resolution;
use crate::roots::{Found, roots, roots_on};
use crate::solution::{Solution, Termination};
use crate::stage::finish;
use crate::task::Task;

/// A first task at one inverse temperature, for any α.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SingleTask {
    /// Inverse temperature β.
    beta: f64,
    /// The prior.
    prior: Prior,
    /// 1 − q_⋆, if the self-overlap is held fixed (the constrained system).
    one_minus_q_star: Option<f64>,
    /// Node counts.
    resolution: Resolution,
}

impl SingleTask {
    /// A task without prior, at standard resolution.
    pub fn new(beta: f64) -> Result<Self, DomainError> {
        Ok(Self {
            beta: BETA.check("beta", beta)?,
            prior: Prior::None,
            one_minus_q_star: None,
            resolution: Resolution::STANDARD,
        })
    }

    /// The same with another prior.
    pub fn with_prior(self, prior: Prior) -> Self {
        Self { prior, ..self }
    }

    /// The same with the self-overlap held at q_⋆.
    pub fn with_q_star(self, q_star: f64) -> Result<Self, DomainError> {
        Ok(Self { one_minus_q_star: Some(1.0 - Q_STAR.check("q_star", q_star)?), ..self })
    }

    /// The same with other node counts.
    pub fn with_resolution(self, resolution: Resolution) -> Self {
        Self { resolution, ..self }
    }

    /// Inverse temperature β.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// The prior.
    pub fn prior(&self) -> Prior {
        self.prior
    }

    /// Node counts.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// The saddle point it defines.
    pub fn task(&self) -> Task<'static> {
        Task {
            beta: self.beta,
            coupling: if self.prior == Prior::Uniform { self.beta } else { 0.0 },
            inherited: None,
            one_minus_q_star: self.one_minus_q_star,
        }
    }

    /// Traces all its solutions, up to `alpha` and beyond.
    pub fn curve(&self, alpha: f64) -> Option<Curve<'static>> {
        Curve::trace(self.task(), alpha, self.resolution)
    }

    /// All solutions at `alpha`, in the order poor, middle, good.
    pub fn all(&self, alpha: f64) -> Result<Vec<Solution>, DomainError> {
        let alpha = ALPHA.check("alpha", alpha)?;
        let curve = self.curve(alpha);
        Ok(curve.map_or(vec![], |c| self.all_on(&c, alpha)))
    }

    /// The solution of choice at `alpha`; a row that says so if there is none.
    pub fn solve(&self, alpha: f64, choice: Choice) -> Result<Solution, DomainError> {
        Ok(self.scan(&[ALPHA.check("alpha", alpha)?], choice)?.remove(0))
    }

    /// The solution of choice for each α. One trace of the curve serves them
    /// all, and the results do not depend on the number of threads.
    pub fn scan(&self, alphas: &[f64], choice: Choice) -> Result<Vec<Solution>, DomainError> {
        ALPHA.check_all("alpha", alphas.iter().copied())?;
        let traced = |alphas: &[f64]| match choice {
            Choice::Middle => self.curve(largest(alphas)),
            _ => {
                let smallest = alphas.iter().copied().fold(f64::INFINITY, f64::min);
                Curve::trace_ends(self.task(), smallest, largest(alphas), self.resolution)
            }
        };
        let curve = traced(alphas);
        let on = |curve: Option<&Curve>, alpha: f64| match curve {
            Some(curve) => self.choose_on(curve, alpha, choice),
            None => Solution::none(alpha, self.beta, asked(choice), Termination::LeftDomain),
        };
        let at = |alpha: &f64| match &curve {
            Some(curve) if curve.begins_above(*alpha) => on(traced(&[*alpha]).as_ref(), *alpha),
            curve => on(curve.as_ref(), *alpha),
        };
        Ok(alphas.par_iter().map(at).collect())
    }

    /// All solutions for each α.
    pub fn scan_all(&self, alphas: &[f64]) -> Result<Vec<Vec<Solution>>, DomainError> {
        ALPHA.check_all("alpha", alphas.iter().copied())?;
        let Some(curve) = self.curve(largest(alphas)) else {
            return Ok(vec![vec![]; alphas.len()]);
        };
        let at = |alpha: &f64| match curve.begins_above(*alpha) {
            true => self.curve(*alpha).map_or(vec![], |own| self.all_on(&own, *alpha)),
            false => self.all_on(&curve, *alpha),
        };
        Ok(alphas.par_iter().map(at).collect())
    }

    fn all_on(&self, curve: &Curve, alpha: f64) -> Vec<Solution> {
        roots(curve, alpha, self.resolution)
            .iter()
            .map(|found| finish(curve.task(), alpha, found, self.resolution))
            .collect()
    }

    fn choose_on(&self, curve: &Curve, alpha: f64, choice: Choice) -> Solution {
        let found = roots_on(curve, alpha, self.resolution, |b| may_be_chosen(b, choice));
        match choose(curve, &found, alpha, choice, self.resolution) {
            Some(found) => finish(curve.task(), alpha, found, self.resolution),
            None => Solution::none(alpha, self.beta, asked(choice), why_none(curve, alpha, choice)),
        }
    }
}

fn largest(alphas: &[f64]) -> f64 {
    alphas.iter().fold(0.0, |m, a| f64::max(m, *a))
}

/// The branch that a row without solution names.
pub(crate) fn asked(choice: Choice) -> Branch {
    match choice {
        Choice::Poor => Branch::Poor,
        Choice::Middle => Branch::Middle,
        Choice::Good => Branch::Good,
        Choice::Stable => Branch::Only,
    }
}

/// Why there is no solution of choice: the branch ends before, or runs where
/// the equations cannot be followed.
pub(crate) fn why_none(curve: &Curve, alpha: f64, choice: Choice) -> Termination {
    let cut_short = curve.strands().iter().any(|s| {
        let last = s.points[s.points.len() - 1].y[3];
        let own = match choice {
            Choice::Good => s.from_above,
            Choice::Poor => !s.from_above && s.fold_count() == 0,
            Choice::Middle | Choice::Stable => true,
        };
        let corner = s.end == StrandEnd::Corner
            && alpha.ln() > last
            && curve.corner_alpha().is_some_and(|limit| alpha < limit);
        own && (s.end == StrandEnd::Lost || corner)
    });
    if cut_short { Termination::LeftDomain } else { Termination::NoSolution }
}

/// Whether a solution on `branch` can be the one of choice.
fn may_be_chosen(branch: Branch, choice: Choice) -> bool {
    match choice {
        Choice::Stable => true,
        Choice::Poor => matches!(branch, Branch::Poor | Branch::Only),
        Choice::Good => matches!(branch, Branch::Good | Branch::Only),
        Choice::Middle => branch == Branch::Middle,
    }
}

/// The solution of choice among those found.
pub(crate) fn choose<'f>(
    curve: &Curve,
    found: &'f [Found],
    alpha: f64,
    choice: Choice,
    resolution: Resolution,
) -> Option<&'f Found> {
    match choice {
        Choice::Poor | Choice::Good | Choice::Middle => {
            found.iter().find(|f| may_be_chosen(f.branch, choice))
        }
        Choice::Stable => {
            let rivals: Vec<&Found> = found.iter().filter(|f| !f.is_saddle).collect();
            if let [only] = rivals.as_slice() {
                return Some(only);
            }
            let value = |f: &Found| {
                let value = f.minus_beta_f(curve.task(), alpha, resolution);
                if value.is_nan() || f.root.outcome != Outcome::Converged {
                    f64::NEG_INFINITY
                } else {
                    value
                }
            };
            rivals.into_iter().max_by(|a, b| value(a).total_cmp(&value(b)))
        }
    }
}
