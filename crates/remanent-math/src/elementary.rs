//! Elementary functions as straight-line arithmetic.
//!
//! Integrals over many nodes call exp, ln and erfc millions of times. The versions of the standard
//! library are opaque calls that a compiler cannot vectorise. These have no branches, no tables and
//! no fused multiply-add: a loop over them vectorises, and every platform and instruction set gives
//! the same bits. The relative error is a few units in the last place (see the tests).
//!
//! Call them in a loop over an array, from a function in [`multiversioned!`](crate::multiversioned).

/// Adding this to a small number rounds it to an integer held in the low bits.
const ROUNDING_MAGIC: f64 = 6_755_399_441_055_744.0;
/// ln 2 with its low bits cleared, so that products with small integers are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
/// The rest of ln 2.
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// e^x; zero below −708, and the value at 709 above it.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let clamped = x.clamp(-708.0, 709.0);
    let shifted = clamped * std::f64::consts::LOG2_E + ROUNDING_MAGIC;
    let k = shifted - ROUNDING_MAGIC;
    let r = (clamped - k * LN_2_HIGH) - k * LN_2_LOW;
    let r2 = r * r;
    // Taylor's series to r^13: the remainder is below 4e-18 for |r| < 0.347.
    let even = 1.0
        + r2 * (1.0 / 2.0
            + r2 * (1.0 / 24.0
                + r2 * (1.0 / 720.0
                    + r2 * (1.0 / 40_320.0
                        + r2 * (1.0 / 3_628_800.0 + r2 * (1.0 / 479_001_600.0))))));
    let odd = 1.0
        + r2 * (1.0 / 6.0
            + r2 * (1.0 / 120.0
                + r2 * (1.0 / 5_040.0
                    + r2 * (1.0 / 362_880.0
                        + r2 * (1.0 / 39_916_800.0 + r2 * (1.0 / 6_227_020_800.0))))));
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(0x3ff0_0000_0000_0000));
    let value = (even + r * odd) * power;
    if x < -708.0 { 0.0 } else { value }
}

/// e^x − 1, accurate where x is tiny; −1 below −708, and the value at 709 above it.
#[inline(always)]
pub fn exp_m1(x: f64) -> f64 {
    let clamped = x.clamp(-708.0, 709.0);
    let shifted = clamped * std::f64::consts::LOG2_E + ROUNDING_MAGIC;
    let k = shifted - ROUNDING_MAGIC;
    let r = (clamped - k * LN_2_HIGH) - k * LN_2_LOW;
    let r2 = r * r;
    // e^r − 1 by the series of `exp`, without its first term.
    let even = r2
        * (1.0 / 2.0
            + r2 * (1.0 / 24.0
                + r2 * (1.0 / 720.0
                    + r2 * (1.0 / 40_320.0
                        + r2 * (1.0 / 3_628_800.0 + r2 * (1.0 / 479_001_600.0))))));
    let odd = r2
        * (1.0 / 6.0
            + r2 * (1.0 / 120.0
                + r2 * (1.0 / 5_040.0
                    + r2 * (1.0 / 362_880.0
                        + r2 * (1.0 / 39_916_800.0 + r2 * (1.0 / 6_227_020_800.0))))));
    let small = r + (even + r * odd);
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(0x3ff0_0000_0000_0000));
    small * power + (power - 1.0)
}

/// ln x for positive, normal x.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
    // 1024 is added to the exponent, so that it is not negative: many processors have no signed shift of 64 bits for
    // vectors.
    const BIAS: u64 = 1024;
    let offset = x.to_bits().wrapping_add((BIAS << 52) - SQRT_HALF_BITS);
    let mantissa = f64::from_bits((offset & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF_BITS));
    let k = f64::from_bits((offset >> 52).wrapping_add(0x4338_0000_0000_0000))
        - (ROUNDING_MAGIC + BIAS as f64);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let series = z
        * (2.0 / 3.0
            + z * (2.0 / 5.0
                + z * (2.0 / 7.0
                    + z * (2.0 / 9.0
                        + z * (2.0 / 11.0
                            + z * (2.0 / 13.0
                                + z * (2.0 / 15.0 + z * (2.0 / 17.0 + z * (2.0 / 19.0)))))))));
    k * LN_2_HIGH + (2.0 * s + (s * series + k * LN_2_LOW))
}

/// ln(1 + x) for x > −1, accurate where x is tiny.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let u = 1.0 + x;
    // The last term restores, to first order, what the rounding of 1 + x lost.
    ln(u) + (x - (u - 1.0)) / u
}

/// artanh(λ tanh x) for |λ| ≤ 1, accurate where x is tiny and where tanh x rounds to 1.
#[inline(always)]
pub fn artanh_of_scaled_tanh(lambda: f64, x: f64) -> f64 {
    let size = lambda.abs();
    if size == 1.0 {
        return lambda * x;
    }
    // With e = exp(2|x|) − 1: (1 + |λ| tanh|x|)/(1 − |λ| tanh|x|) = 1 + 2|λ|/((1 − |λ|) + 2/e).
    let excess = 2.0 * size / ((1.0 - size) + 2.0 / exp_m1(2.0 * x.abs()));
    (0.5 * ln_1p(excess)).copysign(lambda * x)
}

/// Power-series coefficients in t = (a − 3.75)/(a + 3.75) of (1 + 2a) erfcx(a),
/// from its Chebyshev series to degree 25 (after Shepherd and Laframboise,
/// Math. Comp. 36, 249 (1981)); truncation error below 1e-16.
const ERFCX: [f64; 26] = [
    1.237_512_630_837_827_6,
    -0.140_240_598_585_547_02,
    0.003_585_415_485_464_429_4,
    0.082_276_738_490_151_02,
    -0.108_803_930_141_748_86,
    0.092_304_321_160_198_34,
    -0.058_693_398_589_636_77,
    0.028_362_277_421_515_6,
    -0.009_746_579_558_029_276,
    0.001_755_625_832_421_752_8,
    0.000_293_713_665_591_344_8,
    -0.000_290_153_979_289_867_66,
    5.164_909_889_268_24e-5,
    2.238_391_203_655_067_9e-5,
    -1.144_414_623_770_052_3e-5,
    -9.728_495_822_111_22e-7,
    1.751_637_648_849_062e-6,
    -5.826_281_078_800_777e-8,
    -2.586_685_071_615_588_5e-7,
    2.428_976_292_548_870_7e-8,
    3.867_533_424_222_236e-8,
    -4.389_284_159_986_328e-9,
    -5.173_990_214_011_309_6e-9,
    5.457_157_304_704_688e-10,
    4.251_471_444_796_39e-10,
    -3.753_158_277_959_62e-11,
];

/// erfcx(a) = e^{a²} erfc(a) for a ≥ 0.
#[inline(always)]
pub fn erfcx(a: f64) -> f64 {
    // One division serves both t and the factor 1/(1 + 2a).
    let (shifted, factor) = (a + 3.75, 1.0 + 2.0 * a);
    let inverse = 1.0 / (shifted * factor);
    let t = (a - 3.75) * (factor * inverse);
    let t2 = t * t;
    let (mut even, mut odd) = (ERFCX[24], ERFCX[25]);
    let mut k = 24;
    while k > 0 {
        k -= 2;
        even = even * t2 + ERFCX[k];
        odd = odd * t2 + ERFCX[k + 1];
    }
    (even + t * odd) * (shifted * inverse)
}

/// ln Φ(y) in two parts, and the hazard φ(y)/Φ(y), where Φ is the normal
/// distribution function.
#[derive(Clone, Copy, Debug)]
pub struct LnCdf {
    /// −y²/2 where y < 0, and almost zero elsewhere. Differences of ln Φ at large −y keep their
    /// accuracy when these parts are combined first.
    pub quadratic: f64,
    /// The slowly varying rest of ln Φ.
    pub rest: f64,
    /// φ/Φ.
    pub hazard: f64,
}

/// ln Φ(y) and its slope.
#[inline(always)]
pub fn ln_cdf(y: f64) -> LnCdf {
    const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
    let scaled = erfcx(y.abs() * std::f64::consts::FRAC_1_SQRT_2);
    let exponent = -0.5 * y * y;
    let gauss = exp(exponent);
    let half = 0.5 * scaled;
    let tail = half * gauss;
    let upper = 1.0 - tail;
    let negative = y < 0.0;
    // To the right of 0: what the rounding of 1 − tail lost, over 1 − tail.
    let lost = ((1.0 - upper) - tail) * (1.0 + tail);
    let density = if negative { SQRT_2_OVER_PI } else { 0.5 * SQRT_2_OVER_PI * gauss };
    LnCdf {
        quadratic: if negative { exponent } else { lost },
        rest: ln(if negative { half } else { upper }),
        hazard: density / if negative { scaled } else { upper },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative(a: f64, b: f64) -> f64 {
        (a - b).abs() / b.abs()
    }

    #[test]
    fn exp_matches_the_standard_library() {
        for i in -7000..7000 {
            let x = f64::from(i) * 0.1 + 0.037;
            assert!(relative(exp(x), x.exp()) < 5e-16 * (1.0 + x.abs() / 100.0), "{x}");
        }
        assert_eq!((exp(-1e5), exp(0.0)), (0.0, 1.0));
    }

    #[test]
    fn exp_m1_matches_the_standard_library() {
        for i in -4000_i32..4000 {
            let x = f64::from(i) * 0.1 + 0.037;
            assert!(relative(exp_m1(x), x.exp_m1()) < 5e-16 * (1.0 + x.abs() / 100.0), "{x}");
            let tiny = 1.01_f64.powi(-(i.abs())) * f64::from(i.signum());
            if tiny != 0.0 {
                assert!(relative(exp_m1(tiny), tiny.exp_m1()) < 5e-16, "{tiny}");
            }
        }
        assert_eq!((exp_m1(-1e5), exp_m1(0.0)), (-1.0, 0.0));
    }

    #[test]
    fn ln_and_ln_1p_match_the_standard_library() {
        for i in 1..20_000 {
            let x = 1.003_f64.powi(i - 10_000);
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1e-300), "{x}");
            assert!(relative(ln_1p(x), x.ln_1p()) < 6e-16, "{x}");
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn artanh_of_scaled_tanh_matches_the_standard_library() {
        for lambda in [0.0, 0.3, -0.5, 0.9, 0.999_f64] {
            for i in -60..=60 {
                let x = f64::from(i) * 0.05;
                let exact = (lambda * x.tanh()).atanh();
                let found = artanh_of_scaled_tanh(lambda, x);
                assert!((found - exact).abs() < 1e-14 * (1.0 + exact.abs() / (1.0 - lambda.abs())));
            }
            // Scaled by λ near 0, bounded by artanh λ far from it.
            let tiny = artanh_of_scaled_tanh(lambda, 1e-12);
            assert!((tiny - lambda * 1e-12).abs() < 1e-26, "{lambda} {tiny}");
            assert!((artanh_of_scaled_tanh(lambda, 800.0) - lambda.atanh()).abs() < 1e-12);
        }
        for x in [-800.0, -0.3, 0.0, 1e-9, 40.0] {
            assert_eq!((artanh_of_scaled_tanh(1.0, x), artanh_of_scaled_tanh(-1.0, x)), (x, -x));
        }
    }

    #[test]
    fn erfcx_matches_libm_and_puruspe() {
        for i in 0..2000 {
            let a = f64::from(i) * 0.004;
            let reference = (a * a).exp() * libm::erfc(a);
            if a < 5.0 {
                assert!(relative(erfcx(a), reference) < 2e-14, "{a}");
            }
            assert!(relative(erfcx(a), puruspe::erfcx(a)) < 2e-15, "{a}");
        }
        for exponent in 1..12 {
            let a = 10f64.powi(exponent);
            assert!(relative(erfcx(a), puruspe::erfcx(a)) < 2e-15, "{a}");
        }
    }

    #[test]
    fn ln_cdf_keeps_its_relative_accuracy_in_both_tails() {
        for i in -400..=370 {
            let y = f64::from(i) * 0.1;
            let LnCdf { quadratic, rest, hazard } = ln_cdf(y);
            let value = quadratic + rest;
            let upper = 0.5 * libm::erfc(y / 2f64.sqrt());
            if y > 0.0 {
                // The condition number of e^{-y²/2} is y².
                assert!(relative(value, (-upper).ln_1p()) < 5e-16 * (2.0 + y * y), "{y}");
            } else {
                let a = -y / 2f64.sqrt();
                let expected = -0.5 * y * y + (0.5 * puruspe::erfcx(a)).ln();
                assert!(relative(value, expected) < 1e-15, "{y}");
                let expected = (2.0 / std::f64::consts::PI).sqrt() / puruspe::erfcx(a);
                assert!(relative(hazard, expected) < 3e-15, "{y}");
            }
        }
    }
}
