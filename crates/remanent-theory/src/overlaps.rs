//! The order parameters of one task, and their conjugates.

/// Order parameters of one task, as the small positive differences that the
/// equations need, so that none of them is ever obtained by subtracting two
/// rounded numbers.
///
/// | field | symbol |
/// |---|---|
/// | `one_minus_q_d` | κ = 1 − q_d, where q_d is the self-overlap of a state |
/// | `q_d_minus_q_0` | D = q_d − q_0, where q_0 is the overlap of two states |
/// | `q_0_minus_r2`  | V = q_0 − r² |
/// | `r`             | r, the overlap of a state with the task's teacher |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlaps {
    /// κ = 1 − q_d.
    pub one_minus_q_d: f64,
    /// D = q_d − q_0.
    pub q_d_minus_q_0: f64,
    /// V = q_0 − r².
    pub q_0_minus_r2: f64,
    /// r.
    pub r: f64,
}

impl Overlaps {
    /// The self-overlap q_d.
    pub fn q_d(&self) -> f64 {
        1.0 - self.one_minus_q_d
    }

    /// The overlap q_0 of two states.
    pub fn q_0(&self) -> f64 {
        self.q_0_minus_r2 + self.r * self.r
    }

    /// Whether these can be overlaps of states in the cube: κ, D, V > 0.
    pub fn are_possible(&self) -> bool {
        let positive = |v: f64| v > 0.0 && v.is_finite();
        positive(self.one_minus_q_d)
            && positive(self.q_d_minus_q_0)
            && positive(self.q_0_minus_r2)
            && self.r.abs() < 1.0
    }
}

/// Conjugate order parameters of one task. `stiffness` is A = q̂_0 − q̂_d, the
/// quadratic cost of a magnetisation; the pair (A, q̂_0) is carried instead of
/// (q̂_d, q̂_0) because A is the small difference of the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conjugates {
    /// A = q̂_0 − q̂_d; of either sign.
    pub stiffness: f64,
    /// q̂_0 > 0, the variance of the field on a weight.
    pub q_0_hat: f64,
    /// r̂ > 0, the mean of the field towards the teacher.
    pub r_hat: f64,
}

impl Conjugates {
    /// q̂_d = q̂_0 − A.
    pub fn q_d_hat(&self) -> f64 {
        self.q_0_hat - self.stiffness
    }
}
