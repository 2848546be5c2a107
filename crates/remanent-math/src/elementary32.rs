//! Elementary functions in single precision, for training.
//!
//! As in [`crate::elementary`]: no branches, no tables, no fused multiply-add; a loop over them
//! vectorises, and every platform and instruction set gives the same bits.

/// Adding this to a small number rounds it to an integer held in the low bits.
const ROUNDING_MAGIC: f32 = 12_582_912.0;
/// ln 2 with its low bits cleared, so that products with small integers are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
/// The rest of ln 2.
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// e^x for x ≤ 0; below −87, the value at −87.
#[inline(always)]
pub fn exp_of_negative(x: f32) -> f32 {
    let (shifted, r) = reduce(x);
    series(r) * power_of_two(shifted)
}

/// x ≤ 0 as k ln 2 + r: k in the low bits of the first number, and r.
#[inline(always)]
fn reduce(x: f32) -> (f32, f32) {
    let clamped = if x > -87.0 { x } else { -87.0 };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUNDING_MAGIC;
    let k = shifted - ROUNDING_MAGIC;
    (shifted, (clamped - k * LN_2_HIGH) - k * LN_2_LOW)
}

/// e^r for |r| < 0.347.
#[inline(always)]
fn series(r: f32) -> f32 {
    // Taylor's series to r^7: the remainder is below 6e-9 for |r| < 0.347. In powers of r²,
    // so that fewer steps wait for one another.
    let r2 = r * r;
    let tail = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5_040.0));
    1.0 + (r + r2 * ((1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * tail))
}

/// 2^k, with k in the low bits.
#[inline(always)]
fn power_of_two(shifted: f32) -> f32 {
    f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// tanh a and 1 − tanh² a, the second to full relative accuracy (it stops at 1e-37).
#[inline(always)]
pub fn tanh_and_variance(a: f32) -> (f32, f32) {
    let e = exp_of_negative(-2.0 * a.abs());
    from_exponential(a, e, 1.0 / (1.0 + e))
}

/// tanh a and 1 − tanh² a from e = e^{−2|a|} and 1/(1 + e).
#[inline(always)]
fn from_exponential(a: f32, e: f32, inverse: f32) -> (f32, f32) {
    let m = ((1.0 - e) * inverse).copysign(a);
    // Near 0 the difference 1 − e loses digits that the odd series keeps.
    let a2 = a * a;
    let series = a * (1.0 - a2 * (1.0 / 3.0 - a2 * (2.0 / 15.0 - a2 * (17.0 / 315.0))));
    let m = if a2 < 0.01 { series } else { m };
    (m, 4.0 * e * inverse * inverse)
}

/// [`tanh_and_variance`] of several numbers: the same bits, in stages. The steps of one number wait for
/// one another; in a stage those of different numbers do not, and the processor computes them meanwhile.
#[allow(clippy::needless_range_loop, reason = "several arrays are indexed")]
#[inline(always)]
pub fn tanh_and_variance_of<const N: usize>(a: &[f32; N]) -> ([f32; N], [f32; N]) {
    let [mut shifted, mut e, mut inverse] = [[0.0; N]; 3];
    for i in 0..N {
        (shifted[i], e[i]) = reduce(-2.0 * a[i].abs());
    }
    for i in 0..N {
        e[i] = series(e[i]) * power_of_two(shifted[i]);
    }
    for i in 0..N {
        inverse[i] = 1.0 / (1.0 + e[i]);
    }
    let [mut mean, mut variance] = [[0.0; N]; 2];
    for i in 0..N {
        (mean[i], variance[i]) = from_exponential(a[i], e[i], inverse[i]);
    }
    (mean, variance)
}

/// ln x for a normal positive x, to 2e-7 relative (absolute near 1).
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    // x = m 2^k with m in [1/√2, √2).
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits().wrapping_sub(ROOT_HALF);
    let k = (bits as i32 >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(ROOT_HALF));
    // ln m = 2 artanh s, s = (m − 1)/(m + 1), |s| < 0.172.
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let series = 2.0 * s * (1.0 + s2 * (1.0 / 3.0 + s2 * (1.0 / 5.0 + s2 * (1.0 / 7.0))));
    k * LN_2_HIGH + (series + k * LN_2_LOW)
}

/// Sine and cosine of 2π `turns`, for |turns| ≤ 1/2, to 2e-7 absolute.
#[inline(always)]
pub fn sin_cos_of_turns(turns: f32) -> (f32, f32) {
    // The nearest quarter turn, and the angle from there: at most π/4.
    let shifted = 4.0 * turns + ROUNDING_MAGIC;
    let quarter = shifted - ROUNDING_MAGIC;
    let x = (turns - 0.25 * quarter) * std::f32::consts::TAU;
    let x2 = x * x;
    let sin = x * (1.0 - x2 * (1.0 / 6.0 - x2 * (1.0 / 120.0 - x2 * (1.0 / 5_040.0))));
    let tail = 1.0 / 720.0 - x2 * (1.0 / 40_320.0);
    let cos = 1.0 - x2 * (0.5 - x2 * (1.0 / 24.0 - x2 * tail));
    let quadrant = shifted.to_bits();
    let odd = quadrant & 1 == 1;
    let (s, c) = if odd { (cos, sin) } else { (sin, cos) };
    // The sine is negative in quadrants 2 and 3, the cosine in quadrants 1 and 2.
    let s = f32::from_bits(s.to_bits() ^ ((quadrant & 2) << 30));
    let c = f32::from_bits(c.to_bits() ^ (((quadrant.wrapping_add(1)) & 2) << 30));
    (s, c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_double_precision() {
        for i in -40_000..40_000 {
            let a = i as f32 * 1e-3 + 3e-4;
            let (m, variance) = tanh_and_variance(a);
            let exact = f64::from(a).tanh();
            assert!((f64::from(m) - exact).abs() < 4e-7 * exact.abs(), "{a} {m} {exact}");
            let exact = f64::from(a).cosh().powi(-2);
            assert!((f64::from(variance) - exact).abs() < 1e-6 * exact, "{a} {variance} {exact}");
        }
        for first in -2_000..2_000 {
            let a: [f32; 64] = std::array::from_fn(|i| (first as f32 + i as f32 / 64.0) * 1e-2);
            let (means, variances) = tanh_and_variance_of(&a);
            for i in 0..64 {
                assert_eq!((means[i], variances[i]), tanh_and_variance(a[i]));
            }
        }
        assert_eq!(tanh_and_variance(0.0), (0.0, 1.0));
        assert_eq!(tanh_and_variance(-1e9).0, -1.0);
        assert!(tanh_and_variance(1e9).1 > 0.0);
    }

    #[test]
    fn logarithm_and_angles_match_double_precision() {
        for i in 1..200_000 {
            let x = i as f32 * 1.7e-5;
            let exact = f64::from(x).ln();
            assert!((f64::from(ln(x)) - exact).abs() < 2.5e-7 * exact.abs().max(1.0), "{x}");
            let x = f32::from_bits(0x2f00_0000 + 1_000 * i);
            let exact = f64::from(x).ln();
            assert!((f64::from(ln(x)) - exact).abs() < 2.5e-7 * exact.abs().max(1.0), "{x}");
        }
        for i in -50_000..=50_000 {
            let turns = i as f32 * 1e-5;
            let (sin, cos) = sin_cos_of_turns(turns);
            let (s, c) = (f64::from(turns) * std::f64::consts::TAU).sin_cos();
            assert!((f64::from(sin) - s).abs() < 5e-7, "{turns} {sin} {s}");
            assert!((f64::from(cos) - c).abs() < 5e-7, "{turns} {cos} {c}");
        }
    }
}
