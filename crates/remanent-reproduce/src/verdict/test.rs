//! One quantity, one threshold, and what the numbers decide.

use std::fmt;

use serde::{Deserialize, Serialize};

use remanent_lab::estimate::{Estimate, MIN_TRIALS, confidence, number};

/// What numbers say of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It holds, beyond the uncertainty.
    Supported,
    /// The uncertainty, the number of trials or the size leaves it open.
    Undecided,
    /// It fails, beyond the uncertainty.
    Contradicted,
}

impl Outcome {
    /// A sign that tells it from the others without colour.
    pub fn symbol(self) -> char {
        match self {
            Self::Supported => '✓',
            Self::Undecided => '?',
            Self::Contradicted => '✗',
        }
    }

    /// The name in data, the one that serde writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Undecided => "undecided",
            Self::Contradicted => "contradicted",
        }
    }

    /// The outcome of a statement that rests on all of these: contradicted if one is, else undecided if
    /// one is or there is none, else supported.
    pub fn of_all(outcomes: impl IntoIterator<Item = Self>) -> Self {
        let mut all = None;
        for outcome in outcomes {
            all = Some(match (all, outcome) {
                (Some(Self::Contradicted), _) | (_, Self::Contradicted) => Self::Contradicted,
                (Some(Self::Undecided), _) | (_, Self::Undecided) => Self::Undecided,
                _ => Self::Supported,
            });
        }
        all.unwrap_or(Self::Undecided)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A threshold and why it is where it is. The same quantity has the same threshold in every figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Where it is.
    pub value: f64,
    /// Why.
    pub reason: &'static str,
}

impl Threshold {
    /// For the sign of a difference.
    pub const ZERO: Self = Self { value: 0.0, reason: "a difference has a sign" };
}

/// Which side of its threshold an estimate must be on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Above.
    Above,
    /// Below.
    Below,
}

/// A quantity that tests a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// What is measured.
    pub quantity: String,
    /// Its value and uncertainty; none if it could not be measured.
    pub estimate: Option<Estimate>,
    /// Which side of the threshold supports the claim.
    pub side: Side,
    /// The threshold.
    pub threshold: f64,
    /// Why the threshold is there.
    pub reason: String,
    /// What the numbers decide.
    pub outcome: Outcome,
    /// By how much, or why not.
    pub margin: String,
}

impl Test {
    /// The quantity must be above the threshold.
    pub fn above(
        quantity: impl Into<String>,
        estimate: Option<Estimate>,
        threshold: Threshold,
    ) -> Self {
        Self::new(quantity.into(), estimate, Side::Above, threshold)
    }

    /// The quantity must be below the threshold.
    pub fn below(
        quantity: impl Into<String>,
        estimate: Option<Estimate>,
        threshold: Threshold,
    ) -> Self {
        Self::new(quantity.into(), estimate, Side::Below, threshold)
    }

    /// The quantity must not be further than the threshold from a known value.
    pub fn near(
        quantity: impl fmt::Display,
        estimate: Option<Estimate>,
        known: f64,
        threshold: Threshold,
    ) -> Self {
        let distance = estimate.map(|e| Estimate { value: (e.value - known).abs(), ..e });
        let found = estimate.map_or(String::new(), |e| format!(", which is {},", e.text()));
        let what = format!("distance of {quantity}{found} from {}", number(known));
        Self::new(what, distance, Side::Below, threshold)
    }

    fn new(quantity: String, estimate: Option<Estimate>, side: Side, threshold: Threshold) -> Self {
        let (outcome, margin) = decide(estimate, side, threshold.value);
        Self {
            quantity,
            estimate,
            side,
            threshold: threshold.value,
            reason: threshold.reason.into(),
            outcome,
            margin,
        }
    }

    /// The same where the experiment was smaller than the paper's: what was simulated contradicts
    /// nothing then, nor does the theory if it was solved at fewer points. An exact number has no size
    /// otherwise.
    pub fn at_reduced_size(mut self, fewer_points: bool) -> Self {
        let simulated = self.estimate.is_some_and(|estimate| !estimate.is_exact());
        if (simulated || fewer_points) && self.outcome == Outcome::Contradicted {
            self.outcome = Outcome::Undecided;
            self.margin = format!("fails ({}), at a size too small to contradict", self.margin);
        }
        self
    }

    /// `name: 0.191 ± 0.004, above 0`.
    pub fn statement(&self) -> String {
        let value = self.estimate.map_or("not measured".into(), |estimate| estimate.text());
        let side = match self.side {
            Side::Above => "above",
            Side::Below => "below",
        };
        format!("{}: {value}, to be {side} {}", self.quantity, number(self.threshold))
    }
}

/// The rule of all tests.
fn decide(estimate: Option<Estimate>, side: Side, threshold: f64) -> (Outcome, String) {
    let undecided = |why: String| (Outcome::Undecided, why);
    let Some(estimate) = estimate.filter(|e| e.value.is_finite()) else {
        return undecided("not measured".into());
    };
    let distance = match side {
        Side::Above => estimate.value - threshold,
        Side::Below => threshold - estimate.value,
    };
    let holds = if distance > 0.0 { Outcome::Supported } else { Outcome::Contradicted };
    if estimate.is_exact() {
        return (holds, format!("by {}", number(distance.abs())));
    }
    let trials = estimate.trials.unwrap_or(0);
    let Some((enough, error)) = confidence(estimate.trials).zip(estimate.standard_error) else {
        return undecided(format!("{trials} trials are too few; {MIN_TRIALS} are needed"));
    };
    if error == 0.0 {
        return (holds, format!("by {} in every one of {trials} trials", number(distance.abs())));
    }
    let errors = distance.abs() / error;
    if errors <= enough {
        return undecided(format!(
            "the margin of {errors:.1} standard errors is within the {enough:.1} that {trials} trials need"
        ));
    }
    // Where the threshold would have to be for the outcome to change.
    let flips = match side {
        Side::Above => estimate.value - distance.signum() * enough * error,
        Side::Below => estimate.value + distance.signum() * enough * error,
    };
    let flips = if threshold == 0.0 {
        String::new()
    } else {
        format!("; undecided with a threshold of {}", number(flips))
    };
    (holds, format!("by {errors:.1} standard errors{flips}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, error: f64, trials: usize) -> Option<Estimate> {
        Some(Estimate { value, standard_error: Some(error), trials: Some(trials) })
    }

    const TENTH: Threshold = Threshold { value: 0.1, reason: "a tenth" };

    #[test]
    fn a_margin_beyond_the_uncertainty_decides_and_one_within_does_not() {
        let above =
            |value, error, trials| Test::above("x", estimate(value, error, trials), TENTH).outcome;
        assert_eq!(above(0.2, 0.01, 20), Outcome::Supported);
        assert_eq!(above(0.0, 0.01, 20), Outcome::Contradicted);
        assert_eq!(above(0.12, 0.01, 20), Outcome::Undecided);
        assert_eq!(above(0.08, 0.01, 20), Outcome::Undecided);
        // 2.5 standard errors decide with twenty trials, not with five; two trials decide nothing.
        assert_eq!(above(0.125, 0.01, 20), Outcome::Supported);
        assert_eq!(above(0.125, 0.01, 5), Outcome::Undecided);
        assert_eq!(above(9.0, 0.01, 2), Outcome::Undecided);
        let below = |value| Test::below("x", estimate(value, 0.01, 20), TENTH).outcome;
        assert_eq!(below(0.0), Outcome::Supported);
        assert_eq!(below(0.2), Outcome::Contradicted);
        assert_eq!(below(0.1), Outcome::Undecided);
    }

    #[test]
    fn exact_numbers_have_no_uncertainty_and_missing_ones_decide_nothing() {
        assert_eq!(
            Test::above("x", Some(Estimate::exact(0.100_001)), TENTH).outcome,
            Outcome::Supported
        );
        assert_eq!(
            Test::above("x", Some(Estimate::exact(0.1)), TENTH).outcome,
            Outcome::Contradicted
        );
        assert_eq!(Test::above("x", None, TENTH).outcome, Outcome::Undecided);
        assert_eq!(Test::above("x", estimate(f64::NAN, 0.1, 9), TENTH).outcome, Outcome::Undecided);
        let single = Some(Estimate { value: 1.0, standard_error: None, trials: Some(1) });
        assert_eq!(Test::above("x", single, TENTH).outcome, Outcome::Undecided);
        // Twenty trials that all give the same value.
        assert_eq!(Test::below("x", estimate(0.0, 0.0, 20), TENTH).outcome, Outcome::Supported);
    }

    #[test]
    fn margins_are_printed() {
        let test = Test::below("x", estimate(0.05, 0.01, 20), TENTH);
        assert_eq!(test.margin, "by 5.0 standard errors; undecided with a threshold of 0.0714");
        let test = Test::above("x", estimate(0.05, 0.01, 20), Threshold::ZERO);
        assert_eq!(test.margin, "by 5.0 standard errors");
        assert_eq!(test.statement(), "x: 0.050 ± 0.010, to be above 0");
    }

    #[test]
    fn nothing_that_was_simulated_small_is_contradicted() {
        let fails = Test::above("x", estimate(0.0, 0.01, 20), TENTH);
        assert_eq!(fails.at_reduced_size(false).outcome, Outcome::Undecided);
        let holds = Test::above("x", estimate(1.0, 0.01, 20), TENTH);
        assert_eq!(holds.clone().at_reduced_size(true), holds);
        let exact = Test::above("x", Some(Estimate::exact(0.0)), TENTH);
        assert_eq!(exact.clone().at_reduced_size(false).outcome, Outcome::Contradicted);
        assert_eq!(exact.at_reduced_size(true).outcome, Outcome::Undecided);
    }

    #[test]
    fn a_place_must_be_near_a_known_one() {
        let near = |value| Test::near("x", estimate(value, 0.01, 20), 1.7, TENTH).outcome;
        assert_eq!(near(1.71), Outcome::Supported);
        assert_eq!(near(1.69), Outcome::Supported);
        assert_eq!(near(1.9), Outcome::Contradicted);
        assert_eq!(near(1.79), Outcome::Undecided);
    }

    #[test]
    fn a_statement_rests_on_all_its_tests() {
        use Outcome::{Contradicted, Supported, Undecided};
        assert_eq!(Outcome::of_all([]), Undecided);
        assert_eq!(Outcome::of_all([Supported, Supported]), Supported);
        assert_eq!(Outcome::of_all([Supported, Undecided]), Undecided);
        assert_eq!(Outcome::of_all([Contradicted, Undecided, Supported]), Contradicted);
        for outcome in [Supported, Undecided, Contradicted] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
        }
    }
}
