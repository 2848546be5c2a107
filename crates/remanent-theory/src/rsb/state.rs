//! The order parameters of a task with K steps of replica-symmetry breaking.
//!
//! Overlaps q_d > q_K > … > q_0 > r², conjugates q_K_hat > … > q_0_hat, Parisi's
//! parameters x_1 < … < x_K. Both sides carry the differences of neighbouring
//! levels, which are variances, and never form them by subtraction.

use super::narrow::Width;

/// Order parameters, as small positive differences.
#[derive(Clone, Debug, PartialEq)]
pub struct StepOverlaps {
    /// 1 − q_d.
    pub one_minus_q_d: f64,
    /// q_d − q_K.
    pub q_d_minus_q_k: f64,
    /// q_l − q_{l−1} for l = 1 … K.
    pub gaps: Vec<f64>,
    /// q_0 − r².
    pub q_0_minus_r2: f64,
    /// r.
    pub r: f64,
}

impl StepOverlaps {
    /// q_0, q_1, …, q_K.
    pub fn q(&self) -> Vec<f64> {
        cumulated(self.q_0_minus_r2 + self.r * self.r, &self.gaps)
    }

    /// Whether these can be overlaps of states in the cube.
    pub fn are_possible(&self) -> bool {
        let positive = |v: &f64| *v > 0.0 && v.is_finite();
        positive(&self.one_minus_q_d)
            && positive(&self.q_d_minus_q_k)
            && self.gaps.iter().all(positive)
            && positive(&self.q_0_minus_r2)
            && self.r.abs() < 1.0
    }
}

/// Conjugate order parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct StepConjugates {
    /// A = q_K_hat − q_d_hat.
    pub stiffness: f64,
    /// q_0_hat.
    pub q_0_hat: f64,
    /// q_l_hat − q_{l−1}_hat for l = 1 … K.
    pub gaps: Vec<f64>,
    /// r_hat.
    pub r_hat: f64,
}

impl StepConjugates {
    /// q_0_hat, q_1_hat, …, q_K_hat.
    pub fn q_hat(&self) -> Vec<f64> {
        cumulated(self.q_0_hat, &self.gaps)
    }

    /// q_d_hat = q_K_hat − A.
    pub fn q_d_hat(&self) -> f64 {
        self.q_0_hat + self.gaps.iter().sum::<f64>() - self.stiffness
    }
}

fn cumulated(first: f64, gaps: &[f64]) -> Vec<f64> {
    let mut values = vec![first];
    for gap in gaps {
        values.push(values[values.len() - 1] + gap);
    }
    values
}

/// A point in the space of the solver.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The conjugates.
    pub conjugates: StepConjugates,
    /// Parisi's parameters x_1 … x_K.
    pub x: Vec<f64>,
    /// α.
    pub alpha: f64,
}

/// Gaps smaller than this part of q_0_hat are not resolved: the number of nodes grows
/// with the square root of its inverse.
const SMALLEST_GAP: f64 = 1e-5;
/// And these not even where the number of nodes does not grow: their digits are lost in rounding.
pub(super) const SMALLEST_NARROW_GAP: f64 = 1e-9;

/// Index of ln(q_l_hat − q_{l−1}_hat) among the coordinates, l = 1 … K.
pub const fn gap_index(l: usize) -> usize {
    2 + l
}

/// Index of ln x_l among the coordinates, l = 1 … K.
pub const fn x_index(steps: usize, l: usize) -> usize {
    2 + steps + l
}

/// Index of ln α.
pub const fn alpha_index(steps: usize) -> usize {
    2 * steps + 3
}

impl State {
    /// The state with the coordinates
    /// (asinh(A/√(1 + q_0_hat)), ln q_0_hat, ln r_hat, ln gaps, ln x, ln α).
    pub fn from_coordinates(y: &[f64]) -> Self {
        let steps = (y.len() - 4) / 2;
        let q_0_hat = y[1].exp();
        Self {
            conjugates: StepConjugates {
                stiffness: y[0].sinh() * (1.0 + q_0_hat).sqrt(),
                q_0_hat,
                gaps: y[3..3 + steps].iter().map(|v| v.exp()).collect(),
                r_hat: y[2].exp(),
            },
            x: y[3 + steps..3 + 2 * steps].iter().map(|v| v.exp()).collect(),
            alpha: y[3 + 2 * steps].exp(),
        }
    }

    /// The coordinates of the state.
    pub fn to_coordinates<const M: usize>(&self) -> [f64; M] {
        let steps = self.x.len();
        let c = &self.conjugates;
        let mut y = [0.0; M];
        y[0] = (c.stiffness / (1.0 + c.q_0_hat).sqrt()).asinh();
        y[1] = c.q_0_hat.ln();
        y[2] = c.r_hat.ln();
        for l in 1..=steps {
            y[gap_index(l)] = c.gaps[l - 1].ln();
            y[x_index(steps, l)] = self.x[l - 1].ln();
        }
        y[alpha_index(steps)] = self.alpha.ln();
        y
    }

    /// Whether the numbers are in the range where the equations can be evaluated.
    pub fn is_possible(&self, width: Width) -> bool {
        let smallest = match width {
            Width::Any => SMALLEST_GAP,
            Width::Narrow | Width::Narrowest => SMALLEST_NARROW_GAP,
        };
        let sensible = |v: &f64| *v > 1e-14 && *v < 1e14;
        let c = &self.conjugates;
        sensible(&c.q_0_hat)
            && sensible(&c.r_hat)
            && c.gaps.iter().all(|g| sensible(g) && *g > smallest * c.q_0_hat)
            && c.stiffness.abs() < 1e14
            && self.x.iter().all(|x| *x > 1e-9 && *x < 50.0)
    }
}
