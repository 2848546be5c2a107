//! Where an axis has ticks, and what stands beside them.

use crate::number::{decimal, power_of_ten};
use crate::scale::{Kind, Scale};

/// Largest number of decades in which the eight minor ticks of each are drawn.
const MINOR_DECADES: f64 = 10.0;
/// Under this many decades a logarithmic axis has labels at 2 and 5 as well.
const SHORT_DECADES: f64 = 1.5;

/// The ticks of one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ticks {
    /// Place of each tick between 0 and 1, and its label in markup.
    pub(crate) major: Vec<(f64, String)>,
    /// Places of the ticks without label.
    pub(crate) minor: Vec<f64>,
    /// A factor common to all labels, in markup, if they need one.
    pub(crate) factor: Option<String>,
}

/// Ticks of a scale, about `target` of them.
pub(crate) fn ticks(scale: &Scale, target: usize) -> Ticks {
    let target = target.max(1);
    match scale.kind {
        Kind::Linear => linear(scale, target),
        Kind::Log => logarithmic(scale, target),
    }
}

/// The finest of 1, 2, 5 times a power of ten that makes at most `target` steps
/// of a span, as mantissa and exponent.
fn step(span: f64, target: usize) -> (f64, i32) {
    let rough = span / target as f64;
    let exponent = rough.log10().floor() as i32;
    let mantissa = rough / 10f64.powi(exponent);
    // The slack takes a span that is a multiple of a step but for rounding.
    match [1.0, 2.0, 5.0].into_iter().find(|nice| mantissa <= nice * (1.0 + 1e-9)) {
        Some(nice) => (nice, exponent),
        None => (1.0, exponent + 1),
    }
}

/// `mantissa · 10^exponent`, dividing for negative exponents: 3 · 0.1 is not 0.3.
fn scaled(mantissa: f64, exponent: i32) -> f64 {
    if exponent < 0 { mantissa / 10f64.powi(-exponent) } else { mantissa * 10f64.powi(exponent) }
}

fn linear(scale: &Scale, target: usize) -> Ticks {
    let (lo, hi) = scale.ends();
    let (mantissa, exponent) = step(hi - lo, target);
    let width = scaled(mantissa, exponent);
    let (first, last) = ((lo / width - 1e-9).ceil(), (hi / width + 1e-9).floor());
    if !(first.is_finite() && last.is_finite() && last - first <= 100.0) {
        return Ticks::default();
    }
    let count = (last - first) as i32;
    let values: Vec<f64> =
        (0..=count).map(|k| scaled((first + f64::from(k)) * mantissa, exponent)).collect();
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let power = if largest > 0.0 && !(1e-3..1e5).contains(&largest) {
        (largest.log10() + 1e-9).floor() as i32
    } else {
        0
    };
    let decimals = (power - exponent).max(0) as usize;
    Ticks {
        major: values
            .iter()
            .map(|&v| (scale.place(v), decimal(scaled(v, -power), decimals)))
            .collect(),
        minor: Vec::new(),
        factor: (power != 0).then(|| format!("×{}", power_of_ten(power))),
    }
}

fn logarithmic(scale: &Scale, target: usize) -> Ticks {
    let (lo, hi) = scale.uniform_ends();
    let decades = hi - lo;
    let (first, last) = (lo.floor() as i32, hi.ceil() as i32);
    let inside = |place: &f64| (-1e-9..=1.0 + 1e-9).contains(place);
    let at = |digit: u32, exponent: i32| {
        scale.place_uniform(f64::from(exponent) + f64::from(digit).log10())
    };
    let digits = |digits: &'static [u32]| {
        (first..=last).flat_map(move |exponent| digits.iter().map(move |&digit| (digit, exponent)))
    };
    if decades < SHORT_DECADES {
        let plain = lo >= -3.0 && hi <= 4.0;
        let label = |digit: u32, exponent: i32| match digit {
            _ if plain => decimal(scaled(f64::from(digit), exponent), (-exponent).max(0) as usize),
            1 => power_of_ten(exponent),
            _ => format!("{digit}·{}", power_of_ten(exponent)),
        };
        let labelled = |these: &'static [u32]| -> Vec<(f64, String)> {
            let all = digits(these)
                .map(|(digit, exponent)| (at(digit, exponent), label(digit, exponent)));
            all.filter(|(place, _)| inside(place)).collect()
        };
        let unlabelled =
            |these: &'static [u32]| digits(these).map(|(d, e)| at(d, e)).filter(inside).collect();
        let major = labelled(&[1, 2, 5]);
        if major.len() >= 3 {
            return Ticks { major, minor: unlabelled(&[3, 4, 6, 7, 8, 9]), factor: None };
        }
        let major = labelled(&[1, 2, 3, 4, 6, 8]);
        if major.len() >= 3 {
            return Ticks { major, minor: unlabelled(&[5, 7, 9]), factor: None };
        }
        return linear(scale, target);
    }
    let stride = (decades / target as f64).ceil().max(1.0) as i32;
    let major = (first..=last)
        .filter(|exponent| exponent.rem_euclid(stride) == 0)
        .map(|exponent| (at(1, exponent), power_of_ten(exponent)))
        .filter(|(place, _)| inside(place))
        .collect();
    let minor = if stride > 1 {
        (first..=last)
            .filter(|exponent| exponent.rem_euclid(stride) != 0)
            .map(|e| at(1, e))
            .filter(inside)
            .collect()
    } else if decades <= MINOR_DECADES {
        digits(&[2, 3, 4, 5, 6, 7, 8, 9]).map(|(d, e)| at(d, e)).filter(inside).collect()
    } else {
        Vec::new()
    };
    Ticks { major, minor, factor: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(kind: Kind, lo: f64, hi: f64, target: usize) -> Vec<String> {
        ticks(&Scale::new(kind, lo, hi), target).major.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn linear_steps_are_one_two_five() {
        assert_eq!(labels(Kind::Linear, 0.0, 1.0, 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Kind::Linear, 0.0, 1.0, 4), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(Kind::Linear, -4.0, 104.0, 6), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(Kind::Linear, -0.12, 0.11, 3), ["\u{2212}0.1", "0.0", "0.1"]);
    }

    #[test]
    fn large_and_small_values_share_a_factor() {
        let found = ticks(&Scale::new(Kind::Linear, 0.0, 2.1e-6), 5);
        assert_eq!(found.factor.as_deref(), Some("×10^{\u{2212}6}"));
        assert_eq!(found.major[1].1, "0.5");
        assert_eq!(
            ticks(&Scale::new(Kind::Linear, 0.0, 3e5), 3).factor.as_deref(),
            Some("×10^{5}")
        );
        assert_eq!(ticks(&Scale::new(Kind::Linear, 0.0, 5.0), 3).factor, None);
    }

    #[test]
    fn a_narrow_window_far_from_zero_keeps_its_digits() {
        assert_eq!(labels(Kind::Linear, 1.00001, 1.00003, 2), ["1.00001", "1.00002", "1.00003"]);
    }

    #[test]
    fn decades_have_powers_of_ten() {
        assert_eq!(
            labels(Kind::Log, -3.1, 0.1, 6),
            ["10^{\u{2212}3}", "10^{\u{2212}2}", "10^{\u{2212}1}", "10^{0}"]
        );
        let many = ticks(&Scale::new(Kind::Log, -40.0, 0.0), 6);
        assert!((4..=7).contains(&many.major.len()), "{many:?}");
    }

    #[test]
    fn a_short_log_axis_has_twos_and_fives() {
        assert_eq!(labels(Kind::Log, -1.0, 0.0, 5), ["0.1", "0.2", "0.5", "1"]);
        assert_eq!(
            labels(Kind::Log, -6.0, -5.2, 5),
            ["10^{\u{2212}6}", "2·10^{\u{2212}6}", "5·10^{\u{2212}6}"]
        );
        assert_eq!(labels(Kind::Log, 0.25, 0.8, 5), ["2", "3", "4", "6"]);
        // From 1.02 to 1.58 there is neither 1 nor 2: the ticks are those of a linear axis.
        assert_eq!(labels(Kind::Log, 0.01, 0.2, 5), ["1.2", "1.4"]);
    }

    #[test]
    fn ticks_lie_inside_the_axis() {
        for kind in [Kind::Linear, Kind::Log] {
            for (lo, hi) in [(-3.3, 7.7), (0.0, 1e-7), (-300.0, 300.0), (5.0, 5.2)] {
                let found = ticks(&Scale::new(kind, lo, hi), 5);
                let places = found.major.iter().map(|(place, _)| place).chain(&found.minor);
                for place in places {
                    assert!((-1e-6..=1.0 + 1e-6).contains(place), "{kind:?} {lo} {hi}: {place}");
                }
            }
        }
    }
}
