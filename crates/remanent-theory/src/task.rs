//! The saddle point of one task.

use remanent_math::newton::{Newton, Root};

use crate::cancel;
use crate::energy::{Energy, energy};
use crate::fields::{Fields, SiteAverages, site_averages};
use crate::inherited::InheritedLaw;
use crate::overlaps::{Conjugates, Overlaps};
use crate::parameters::DomainError;
use crate::ranges::{BETA, COUPLING};
use crate::resolution::Resolution;
use crate::site::Site;

/// Newton's method goes on while it would move a coordinate by more than this, and takes the step that is left. A later
/// task may depend on what is left: a strong anchor that holds q_d at q_⋆ leaves little to the stiffness, and makes
/// of 1e-13 in the law that it inherits 1e-7 in A, with any number of nodes.
const REMAINING: f64 = 1e-11;

/// Everything that defines the saddle point of one task but its α.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Inverse temperature β of the replica measure.
    pub(crate) beta: f64,
    /// c = γβ for a task with a prior, 0 without.
    pub(crate) coupling: f64,
    /// What the previous task left; `None` for a first task.
    pub(crate) inherited: Option<&'a InheritedLaw>,
    /// 1 − q_⋆, if the self-overlap is held fixed.
    pub(crate) one_minus_q_star: Option<f64>,
}

/// Coordinates of the conjugate parameters in which the solvers work: (asinh(A/A_0), ln q̂_0, ln r̂).
/// Each changes by order 1 where the physics does. If q_d is free, A_0 = √(1 + q̂_0): a stiffness small
/// against the spread of the fields counts as small. If q_d is prescribed, the stiffness is what holds it, on
/// the scale 1 + c, however far the fields spread: near q_d = 1 over 1/(1 − q_d). Then A_0 is about the
/// smaller of the two, 1/A_0 = 1/(1 + c) + 1/√(1 + q̂_0).
pub type Coordinates = [f64; 3];

/// How far the self-overlap is from the one that is prescribed, relative to the smaller of
/// q_⋆ and 1 − q_⋆; it falls with q_d.
pub(crate) fn constraint(overlaps: &Overlaps, one_minus_q_star: f64) -> f64 {
    if one_minus_q_star > 0.5 {
        // q_d as the sum of its positive parts.
        ((1.0 - one_minus_q_star) / (overlaps.q_d_minus_q_0 + overlaps.q_0())).ln()
    } else {
        (overlaps.one_minus_q_d / one_minus_q_star).ln()
    }
}

/// One iteration of the saddle-point equations.
#[derive(Clone, Copy, Debug)]
pub struct Iteration {
    /// The entropic side, at the given conjugates.
    pub site: SiteAverages,
    /// The energetic side, at the order parameters that follow, for α = 1.
    pub energy: Energy,
}

impl<'a> Task<'a> {
    /// A first task without prior.
    pub fn new(beta: f64) -> Result<Self, DomainError> {
        let beta = BETA.check("beta", beta)?;
        Ok(Self { beta, coupling: 0.0, inherited: None, one_minus_q_star: None })
    }

    /// The same with a KL term of weight c = γβ: to the uniform distribution, or to what the
    /// previous task left.
    pub fn with_coupling(
        self,
        coupling: f64,
        inherited: Option<&'a InheritedLaw>,
    ) -> Result<Self, DomainError> {
        let coupling = COUPLING.check("coupling", coupling)?;
        Ok(Self { coupling, inherited, ..self })
    }

    /// Inverse temperature β.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// The unit of the stiffness in its coordinate.
    fn unit_of_stiffness(&self, q_0_hat: f64) -> f64 {
        let spread = (1.0 + q_0_hat).sqrt();
        match self.one_minus_q_star {
            None => spread,
            Some(_) => 1.0 / (1.0 / (1.0 + self.coupling) + 1.0 / spread),
        }
    }

    /// Conjugates from coordinates.
    pub fn conjugates(&self, y: &Coordinates) -> Conjugates {
        let q_0_hat = y[1].exp();
        let stiffness = y[0].sinh() * self.unit_of_stiffness(q_0_hat);
        Conjugates { stiffness, q_0_hat, r_hat: y[2].exp() }
    }

    /// Coordinates of conjugates.
    pub fn coordinates(&self, c: &Conjugates) -> Coordinates {
        let stiffness = c.stiffness / self.unit_of_stiffness(c.q_0_hat);
        [stiffness.asinh(), c.q_0_hat.ln(), c.r_hat.ln()]
    }

    /// The entropic measure at given conjugates.
    pub fn site(&self, conjugates: &Conjugates) -> Site {
        Site { stiffness: conjugates.stiffness, entropy: self.coupling }
    }

    /// The law of the field at given conjugates.
    pub fn fields(&self, conjugates: &Conjugates) -> Fields<'_> {
        Fields::new(conjugates, self.coupling, self.inherited)
    }

    /// From conjugates to order parameters to conjugates; `None` outside the domain.
    pub fn iterate(&self, conjugates: &Conjugates, resolution: Resolution) -> Option<Iteration> {
        cancel::check();
        // Near q_d = 1 the fields are of the order of 1/(1 − q_d)².
        let largest = 1e22;
        let possible = conjugates.q_0_hat < largest
            && conjugates.q_0_hat > 1e-22
            && conjugates.r_hat < largest
            && conjugates.stiffness.abs() < largest;
        if !possible {
            return None;
        }
        let site = site_averages(&self.site(conjugates), &self.fields(conjugates), resolution);
        let mut overlaps = site.overlaps;
        if let Some(kappa) = self.one_minus_q_star {
            overlaps.one_minus_q_d = kappa;
        }
        if !overlaps.are_possible() {
            return None;
        }
        let energy = energy(&overlaps, self.beta, resolution);
        Some(Iteration { site, energy })
    }

    /// Residuals of the saddle-point equations in coordinates: how far one iteration moves.
    pub fn residual(
        &self,
        y: &Coordinates,
        ln_alpha: f64,
        resolution: Resolution,
    ) -> Option<Coordinates> {
        let iteration = self.iterate(&self.conjugates(y), resolution)?;
        self.residual_of(y, ln_alpha, &iteration)
    }

    /// The same, if the iteration from `y` is known.
    pub fn residual_of(
        &self,
        y: &Coordinates,
        ln_alpha: f64,
        iteration: &Iteration,
    ) -> Option<Coordinates> {
        let alpha = ln_alpha.exp();
        let returned = self.coordinates(&Conjugates {
            stiffness: alpha * iteration.energy.stiffness,
            q_0_hat: alpha * iteration.energy.q_0_hat,
            r_hat: alpha * iteration.energy.r_hat,
        });
        let first = match self.one_minus_q_star {
            Some(kappa) => constraint(&iteration.site.overlaps, kappa),
            None => y[0] - returned[0],
        };
        let r = [first, y[1] - returned[1], y[2] - returned[2]];
        r.iter().all(|v| v.is_finite()).then_some(r)
    }

    /// Newton's method from `start`.
    pub fn solve(
        &self,
        alpha: f64,
        start: Coordinates,
        jacobian: Option<[[f64; 3]; 3]>,
        resolution: Resolution,
    ) -> Root<3> {
        let ln_alpha = alpha.ln();
        let mut f = |y: &Coordinates| self.residual(y, ln_alpha, resolution);
        Newton { remaining: REMAINING, takes_last: true, ..Newton::default() }
            .solve(&mut f, start, jacobian)
    }
}
