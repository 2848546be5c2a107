//! How far the signs of the weights agree with teachers, and the errors that follow.

/// The overlap p of decoded weights with a teacher, as 1 − p and 1 + p: whichever of the two is tiny
/// keeps its relative accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// 1 − p, twice the probability of the wrong sign.
    pub one_minus_p: f64,
    /// 1 + p, twice the probability of the right sign.
    pub one_plus_p: f64,
}

impl Agreement {
    /// No overlap is known.
    pub const UNKNOWN: Self = Self { one_minus_p: f64::NAN, one_plus_p: f64::NAN };

    /// The overlap of which ln(1 − p) and ln(1 + p) are known. Rounding may put a probability of 1
    /// above it.
    pub(crate) fn from_logarithms(ln_one_minus_p: f64, ln_one_plus_p: f64) -> Self {
        let number = |ln: f64| ln.exp().clamp(0.0, 2.0);
        Self { one_minus_p: number(ln_one_minus_p), one_plus_p: number(ln_one_plus_p) }
    }

    /// The overlap with which a fraction ε of decisions is wrong: p = cos πε.
    pub fn of_error(eps: f64) -> Self {
        let (sin, cos) = (std::f64::consts::FRAC_PI_2 * eps).sin_cos();
        Self { one_minus_p: 2.0 * sin * sin, one_plus_p: 2.0 * cos * cos }
    }

    /// p.
    pub fn p(self) -> f64 {
        if self.one_plus_p < 1.0 { self.one_plus_p - 1.0 } else { 1.0 - self.one_minus_p }
    }

    /// ε = arccos(p)/π.
    pub fn error(self) -> f64 {
        generalisation_error(self.one_minus_p.ln(), self.one_plus_p.ln()).0
    }
}

/// The errors on tasks with these overlaps, of which the last is the task just ended, and on the
/// tasks to come, whose teachers have overlaps `r_0`, each with the one before: p_{t+k} = r_0 ⋯ r_0 p_t.
pub(crate) fn errors<'a>(agreements: &[Agreement], r_0: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let mut errors: Vec<f64> = agreements.iter().map(|a| a.error()).collect();
    let own = agreements.last().copied().unwrap_or(Agreement::UNKNOWN);
    // 1 − |r_0 ⋯ r_0|, and its sign.
    let (mut lost, mut is_same) = (0.0, true);
    for r_0 in r_0 {
        lost += (1.0 - lost) * (1.0 - r_0.abs());
        is_same ^= *r_0 < 0.0;
        let kept = |of_own: f64| lost + (1.0 - lost) * of_own;
        let (near, far) = (kept(own.one_minus_p), kept(own.one_plus_p));
        let (one_minus_p, one_plus_p) = if is_same { (near, far) } else { (far, near) };
        errors.push(Agreement { one_minus_p, one_plus_p }.error());
    }
    errors
}

/// ε and ln ε from ln(1 − p) and ln(1 + p).
pub fn generalisation_error(ln_one_minus_p: f64, ln_one_plus_p: f64) -> (f64, f64) {
    if ln_one_minus_p.is_nan() || ln_one_plus_p.is_nan() {
        return (f64::NAN, f64::NAN);
    }
    // ε(−p) = 1 − ε(p). Near p = −1 rounding of 1 − p would cost half the digits.
    if ln_one_plus_p < ln_one_minus_p {
        let below_one = generalisation_error(ln_one_plus_p, ln_one_minus_p).0;
        return (1.0 - below_one, (-below_one).ln_1p());
    }
    // ε = (2/π) asin √((1 − p)/2).
    let half = 0.5 * (ln_one_minus_p - std::f64::consts::LN_2);
    if half < -12.0 {
        let ln_eps = half + std::f64::consts::FRAC_2_PI.ln();
        return (ln_eps.exp(), ln_eps);
    }
    let eps = std::f64::consts::FRAC_2_PI * half.exp().min(1.0).asin();
    (eps, eps.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_the_opposite_overlap_is_the_rest() {
        for tiny in [0.0, 1e-30, 1e-14, 1e-6, 0.3, 1.0] {
            let agreement = Agreement { one_minus_p: tiny, one_plus_p: 2.0 - tiny };
            let opposite = Agreement { one_minus_p: 2.0 - tiny, one_plus_p: tiny };
            assert!((agreement.error() + opposite.error() - 1.0).abs() < 1e-15, "{tiny}");
            let exact = (agreement.p().acos() / std::f64::consts::PI, agreement.error());
            assert!((exact.0 - exact.1).abs() < 2e-8, "{exact:?}");
        }
    }

    /// Teachers that differ in one weight of 1e12, one after the other or opposed.
    #[test]
    fn errors_on_later_tasks_do_not_lose_what_r_0_leaves() {
        let own = Agreement { one_minus_p: 0.0, one_plus_p: 2.0 };
        let r_0 = [1.0 - 1e-12, 1.0 - 1e-12, -1.0];
        let errors = errors(&[own], r_0.iter());
        let missing = 1.0 - r_0[0];
        for (k, error) in [(1, errors[1]), (2, errors[2]), (2, 1.0 - errors[3])] {
            let one_minus_p = f64::from(k) * missing;
            let exact = (0.5 * one_minus_p).sqrt().asin() * std::f64::consts::FRAC_2_PI;
            assert!((error / exact - 1.0).abs() < 1e-9, "{k} {error} {exact}");
        }
    }
}
