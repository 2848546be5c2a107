//! What is left of a difference between samples and theory in the limit of large N, and what it decides.
//!
//! The rule is that of `figures/tempering/trend.py`, which was written before the first runs of several sizes:
//! the difference is fitted by a + b N^-p over all sizes, with p = 1 (a smooth correction) and p = 2/3 (the
//! usual one of glassy mean-field systems), because it is not known which applies.

use serde::{Deserialize, Serialize};

/// The powers of 1/N that are fitted.
pub const POWERS: [f64; 2] = [1.0, 2.0 / 3.0];

/// The fewest sizes of a fit: with two, nothing tests the form of the correction.
pub const FEWEST_SIZES: usize = 3;

/// |z| above which, with both powers, a theory is excluded.
pub const EXCLUDED: f64 = 3.0;

/// |z| below which, with both powers, a theory is consistent with the samples.
pub const CONSISTENT: f64 = 2.0;

/// The part of the draws of a size that may fail the criteria of equilibration before statements that rest
/// on it are provisional.
pub const MOST_FAILED: f64 = 0.25;

/// A difference between samples and theory at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePoint {
    /// N.
    pub n: usize,
    /// Samples minus theory.
    pub difference: f64,
    /// Its standard error, above 0.
    pub standard_error: f64,
}

/// The difference that is left in the limit of large N, if it approaches it as N^-p.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// p.
    pub power: f64,
    /// The difference in the limit.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The sum of squared residuals in standard errors.
    pub chi_squared: f64,
}

/// What the limits with all powers decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// |z| is above 3 with both powers.
    Excluded,
    /// |z| is below 2 with both powers.
    Consistent,
    /// Neither, or no limit is known.
    Undecided,
}

impl Limit {
    /// Weighted least squares of difference = a + b N^-p. None for fewer than three sizes, for equal ones,
    /// or if a standard error is missing.
    pub fn fit(points: &[SizePoint], power: f64) -> Option<Self> {
        let sound = |p: &SizePoint| p.difference.is_finite() && p.standard_error > 0.0;
        if points.len() < FEWEST_SIZES || !points.iter().all(sound) {
            return None;
        }
        let x = |point: &SizePoint| (point.n as f64).powf(-power);
        let sum = |term: &dyn Fn(&SizePoint) -> f64| -> f64 {
            points.iter().map(|point| term(point) / point.standard_error.powi(2)).sum()
        };
        let (one, first, second) = (sum(&|_| 1.0), sum(&x), sum(&|point| x(point).powi(2)));
        let (y, x_y) = (sum(&|point| point.difference), sum(&|p| x(p) * p.difference));
        let determinant = one * second - first * first;
        if determinant <= 1e-12 * one * second {
            return None;
        }
        let a = (second * y - first * x_y) / determinant;
        let b = (one * x_y - first * y) / determinant;
        Some(Self {
            power,
            difference: a,
            standard_error: (second / determinant).sqrt(),
            chi_squared: sum(&|point| (point.difference - a - b * x(point)).powi(2)),
        })
    }

    /// The limits with all powers; none if one is not known.
    pub fn fit_all(points: &[SizePoint]) -> Option<[Self; 2]> {
        let [smooth, glassy] = POWERS.map(|power| Self::fit(points, power));
        Some([smooth?, glassy?])
    }

    /// The difference in standard errors.
    pub fn z(&self) -> f64 {
        self.difference / self.standard_error
    }
}

impl Decision {
    /// What the limits of one quantity decide.
    pub fn of(limits: Option<&[Limit; 2]>) -> Self {
        let all = |holds: fn(f64) -> bool| {
            limits.is_some_and(|limits| limits.iter().all(|limit| holds(limit.z().abs())))
        };
        if all(|z| z > EXCLUDED) {
            Self::Excluded
        } else if all(|z| z < CONSISTENT) {
            Self::Consistent
        } else {
            Self::Undecided
        }
    }

    /// What several quantities decide together: a theory is excluded if one of them excludes it, and
    /// consistent if all are. Nothing decides nothing.
    pub fn of_all(decisions: impl IntoIterator<Item = Self>) -> Self {
        let mut all = None;
        for decision in decisions {
            all = Some(match (all, decision) {
                (Some(Self::Excluded), _) | (_, Self::Excluded) => Self::Excluded,
                (Some(Self::Undecided), _) | (_, Self::Undecided) => Self::Undecided,
                _ => Self::Consistent,
            });
        }
        all.unwrap_or(Self::Undecided)
    }

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Excluded => "excluded",
            Self::Consistent => "consistent",
            Self::Undecided => "undecided",
        }
    }
}

/// Whether so many draws of a size fail that statements which rest on it are provisional.
pub fn is_provisional(failed: usize, draws: usize) -> bool {
    failed as f64 > MOST_FAILED * draws as f64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn points(differences: [f64; 3], error: f64) -> Vec<SizePoint> {
        let point = |(n, difference)| SizePoint { n, difference, standard_error: error };
        [51, 101, 201].into_iter().zip(differences).map(point).collect()
    }

    fn decision(differences: [f64; 3], error: f64) -> Decision {
        Decision::of(Limit::fit_all(&points(differences, error)).as_ref())
    }

    #[test]
    fn an_exact_correction_is_taken_away() {
        for power in POWERS {
            let of = |n: f64| 0.01 + 0.7 * n.powf(-power);
            let limit = Limit::fit(&points([of(51.0), of(101.0), of(201.0)], 1e-3), power).unwrap();
            assert!((limit.difference - 0.01).abs() < 1e-12, "{limit:?}");
            assert!(limit.chi_squared < 1e-15, "{limit:?}");
        }
    }

    #[test]
    fn both_powers_have_to_agree() {
        assert_eq!(decision([0.1, 0.1, 0.1], 0.005), Decision::Excluded);
        assert_eq!(decision([0.001, -0.001, 0.001], 0.005), Decision::Consistent);
        // z is 3.6 with p = 1 and 2.6 with p = 2/3, and then -1.7 and -2.8.
        assert_eq!(decision([0.02, 0.02, 0.02], 0.0045), Decision::Undecided);
        let limits = Limit::fit_all(&points([0.051, 0.02, 0.001], 0.007)).unwrap();
        let z = limits.map(|limit| limit.z());
        assert!(z[0] > -2.0 && z[1] < -2.0 && z[1] > -3.0, "{z:?}");
        assert_eq!(Decision::of(Some(&limits)), Decision::Undecided);
    }

    #[test]
    fn two_sizes_or_an_unknown_error_decide_nothing() {
        let mut three = points([0.1, 0.1, 0.1], 0.001);
        assert_eq!(Limit::fit_all(&three[1..]), None);
        assert_eq!(Limit::fit_all(&[three[0]; 3]), None);
        three[1].standard_error = 0.0;
        assert_eq!(Limit::fit_all(&three), None);
        assert_eq!(Decision::of(None), Decision::Undecided);
    }

    #[test]
    fn one_quantity_excludes_and_all_agree() {
        use Decision::{Consistent, Excluded, Undecided};
        assert_eq!(Decision::of_all([Consistent, Undecided, Excluded]), Excluded);
        assert_eq!(Decision::of_all([Excluded, Consistent]), Excluded);
        assert_eq!(Decision::of_all([Consistent, Undecided]), Undecided);
        assert_eq!(Decision::of_all([Consistent, Consistent]), Consistent);
        assert_eq!(Decision::of_all([]), Undecided);
    }

    #[test]
    fn a_quarter_may_fail() {
        assert!(!is_provisional(8, 32) && is_provisional(9, 32));
        assert!(!is_provisional(0, 0) && is_provisional(1, 1));
    }

    /// The fits of `trend.py` that are kept in `figures/tempering`.
    #[test]
    fn the_rule_is_that_of_the_script() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../figures/tempering");
        let rows = |name: &str| -> Vec<BTreeMap<String, String>> {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            let mut lines = text.lines().map(|line| line.split(','));
            let names: Vec<&str> = lines.next().unwrap().collect();
            let row = |line: std::str::Split<char>| {
                names.iter().zip(line).map(|(a, b)| ((*a).to_owned(), b.to_owned())).collect()
            };
            lines.map(row).collect()
        };
        let number = |row: &BTreeMap<String, String>, key: &str| row[key].parse::<f64>().unwrap();
        let tenths = |row: &BTreeMap<String, String>| (10.0 * number(row, "alpha")).round();
        let mut compared = 0;
        for name in ["sizes", "long"] {
            let samples = rows(&format!("{name}-comparison.csv"));
            for kept in rows(&format!("{name}-trend.csv")) {
                let same = |row: &&BTreeMap<String, String>| {
                    tenths(row) == tenths(&kept)
                        && ["rsb", "quantity"].iter().all(|key| row[*key] == kept[*key])
                };
                let points: Vec<SizePoint> = samples
                    .iter()
                    .filter(same)
                    .map(|row| SizePoint {
                        n: number(row, "n") as usize,
                        difference: number(row, "simulation") - number(row, "theory"),
                        standard_error: number(row, "standard_error"),
                    })
                    .collect();
                let power = if kept["power"] == "1" { 1.0 } else { 2.0 / 3.0 };
                let limit = Limit::fit(&points, power).unwrap();
                for (found, key) in [
                    (limit.difference, "a"),
                    (limit.standard_error, "standard_error"),
                    (limit.z(), "z"),
                    (limit.chi_squared, "chi2"),
                ] {
                    let expected = number(&kept, key);
                    // Six digits are kept.
                    assert!((found - expected).abs() <= 1e-5 * expected.abs(), "{key}: {kept:?}");
                }
                compared += 1;
            }
        }
        assert_eq!(compared, 72);
    }
}
