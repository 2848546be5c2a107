//! Roots and minima of functions of one variable, inside a bracket.

/// A root of `f` between `a` and `b`, where it changes sign, to `tolerance`
/// in x (Brent's method). `None` if there is no change of sign or a value is
/// not finite.
pub fn root(mut f: impl FnMut(f64) -> f64, a: f64, b: f64, tolerance: f64) -> Option<f64> {
    let (mut a, mut b) = (a, b);
    let (mut fa, mut fb) = (f(a), f(b));
    if fa == 0.0 {
        return Some(a);
    }
    if fa * fb > 0.0 || (fa * fb).is_nan() {
        return None;
    }
    let (mut c, mut fc) = (a, fa);
    let mut step = b - a;
    let mut previous = step;
    for _ in 0..200 {
        if fb * fc > 0.0 {
            (c, fc) = (a, fa);
            step = b - a;
            previous = step;
        }
        if fc.abs() < fb.abs() {
            (a, b, c) = (b, c, b);
            (fa, fb, fc) = (fb, fc, fb);
        }
        let tol = 2.0 * f64::EPSILON * b.abs() + 0.5 * tolerance;
        let middle = 0.5 * (c - b);
        if middle.abs() <= tol || fb == 0.0 {
            return Some(b);
        }
        if previous.abs() >= tol && fa.abs() > fb.abs() {
            let s = fb / fa;
            let (mut p, mut q) = if a == c {
                (2.0 * middle * s, 1.0 - s)
            } else {
                let (q, r) = (fa / fc, fb / fc);
                (
                    s * (2.0 * middle * q * (q - r) - (b - a) * (r - 1.0)),
                    (q - 1.0) * (r - 1.0) * (s - 1.0),
                )
            };
            if p > 0.0 {
                q = -q;
            }
            p = p.abs();
            if 2.0 * p < (3.0 * middle * q - (tol * q).abs()).min((previous * q).abs()) {
                previous = step;
                step = p / q;
            } else {
                step = middle;
                previous = step;
            }
        } else {
            step = middle;
            previous = step;
        }
        (a, fa) = (b, fb);
        b += if step.abs() > tol { step } else { tol.copysign(middle) };
        fb = f(b);
        if !fb.is_finite() {
            return None;
        }
    }
    Some(b)
}

/// The minimum of `f` between `a` and `b` and its value, by golden section, to
/// `tolerance` in x.
pub fn minimum(
    mut f: impl FnMut(f64) -> f64,
    mut a: f64,
    mut b: f64,
    tolerance: f64,
) -> (f64, f64) {
    const RATIO: f64 = 0.618_033_988_749_894_8;
    let (mut x1, mut x2) = (b - RATIO * (b - a), a + RATIO * (b - a));
    let (mut f1, mut f2) = (f(x1), f(x2));
    while (b - a).abs() > tolerance {
        if f1 <= f2 {
            (b, x2, f2) = (x2, x1, f1);
            x1 = b - RATIO * (b - a);
            f1 = f(x1);
        } else {
            (a, x1, f1) = (x1, x2, f2);
            x2 = a + RATIO * (b - a);
            f2 = f(x2);
        }
    }
    if f1 <= f2 { (x1, f1) } else { (x2, f2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_roots_and_refuses_brackets_without_one() {
        let x = root(|x| x.cos() - x, 0.0, 1.0, 1e-14).unwrap();
        assert!((x.cos() - x).abs() < 1e-14);
        assert_eq!(root(|x| x * x + 1.0, -1.0, 1.0, 1e-12), None);
        assert_eq!(root(|_| f64::NAN, -1.0, 1.0, 1e-12), None);
    }

    #[test]
    fn finds_a_minimum() {
        let (x, value) = minimum(|x| (x - 0.3).powi(2) + 2.0, -1.0, 2.0, 1e-7);
        assert!((x - 0.3).abs() < 1e-6 && (value - 2.0).abs() < 1e-12);
    }
}
