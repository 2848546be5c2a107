//! The standard normal distribution, accurate far into its tails.
//!
//! The form φ/(H + 1e-10) of published scripts gives 618 instead of 5.8 at argument 5.6 in single
//! precision, and 0 beyond 7. The functions here are based on erfcx and keep their relative accuracy
//! at arguments of ±40 and beyond. Notation: H(x) = erfc(x/√2)/2 = Φ(−x).

use crate::elementary;

/// The standard normal density φ(x).
pub fn pdf(x: f64) -> f64 {
    (-0.5 * x * x).exp() * 0.398_942_280_401_432_7
}

/// The normal distribution function Φ(x), to full relative accuracy in its lower tail.
pub fn cdf(x: f64) -> f64 {
    let tail =
        0.5 * elementary::erfcx(x.abs() * std::f64::consts::FRAC_1_SQRT_2) * (-0.5 * x * x).exp();
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// H(x) = Φ(−x), the upper tail.
pub fn upper_tail(x: f64) -> f64 {
    cdf(-x)
}

/// ln Φ(x).
pub fn ln_cdf(x: f64) -> f64 {
    let parts = elementary::ln_cdf(x);
    parts.quadratic + parts.rest
}

/// ln H(x).
pub fn ln_upper_tail(x: f64) -> f64 {
    ln_cdf(-x)
}

/// The hazard (ln Φ)'(x) = φ(x)/Φ(x).
pub fn hazard(x: f64) -> f64 {
    elementary::ln_cdf(x).hazard
}

/// (ln H)'(x) = H'(x)/H(x) = −φ(x)/H(x).
pub fn ln_upper_tail_slope(x: f64) -> f64 {
    -hazard(-x)
}

/// The quantile Φ⁻¹(p) for 0 < p < 1, to about 1e-16 relative.
///
/// Algorithm AS 241 (Wichura, Applied Statistics 37, 477 (1988)), routine PPND16.
pub fn quantile(p: f64) -> f64 {
    let centred = p - 0.5;
    if centred.abs() <= 0.425 {
        let x = 0.180625 - centred * centred;
        return centred * ratio(&CENTRE, x);
    }
    let tail = if centred < 0.0 { p } else { 1.0 - p };
    let x = (-elementary::ln(tail)).sqrt();
    let value = if x <= 5.0 { ratio(&FLANK, x - 1.6) } else { ratio(&FAR, x - 5.0) };
    value.copysign(centred)
}

/// Coefficients of numerator and denominator, lowest power first.
type Rational = [[f64; 8]; 2];

fn ratio(rational: &Rational, x: f64) -> f64 {
    let [numerator, denominator] =
        rational.map(|coefficients| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c));
    numerator / denominator
}

const CENTRE: Rational = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_545e3,
    ],
];
const FLANK: Rational = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const FAR: Rational = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// mpmath, 30 digits: ln erfc(x/√2)/2 and φ/H.
    #[test]
    fn tails_match_mpmath() {
        for (x, ln_h, ratio) in [
            (5.6, -18.351_379_495_909_33, 5.768_666_604_297_135),
            (40.0, -804.608_442_013_753_8, 40.024_968_847_207_26),
            (-40.0, 0.0, 0.0),
            (0.0, -std::f64::consts::LN_2, 0.797_884_560_802_865_4),
        ] {
            assert!((ln_upper_tail(x) - ln_h).abs() <= 2e-15 * f64::abs(ln_h).max(1e-300));
            assert!((-ln_upper_tail_slope(x) - ratio).abs() <= 4e-15 * ratio.abs().max(1e-300));
        }
    }

    #[test]
    fn the_hazard_is_the_slope_of_ln_cdf() {
        for i in -60..60 {
            let x = f64::from(i) * 0.5;
            let h = 1e-5 * (1.0 + x.abs());
            let slope = (ln_cdf(x + h) - ln_cdf(x - h)) / (2.0 * h);
            assert!((slope - hazard(x)).abs() < 1e-8 * (1.0 + hazard(x)), "{x}");
        }
    }

    #[test]
    fn the_quantile_inverts_the_distribution_function() {
        for i in 1..4000 {
            for p in [f64::from(i) / 4000.0, 10f64.powf(-f64::from(i) / 20.0)] {
                if p > 1e-300 {
                    let x = quantile(p);
                    // The condition number of Φ is x φ/Φ.
                    let tolerance = 4e-15 * (1.0 + x.abs() * hazard(x).max(hazard(-x)));
                    assert!((cdf(x) / p - 1.0).abs() < tolerance, "{p} {x}");
                }
            }
        }
        assert_eq!(quantile(0.5), 0.0);
        assert_eq!(quantile(0.25), -quantile(0.75));
    }
}
