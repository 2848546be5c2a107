//! A parameter that the theory recommends, beside the values that were simulated.

use super::words::{capital, error};
use crate::thresholds::CLOSE;
use crate::verdict::{Answer, Estimate, Outcome, Test, Threshold};

/// What the theory recommends.
pub struct Recommendation {
    /// The parameter, e.g. γ.
    pub symbol: &'static str,
    /// What is to be low, e.g. "worst error".
    pub aim: &'static str,
    /// The value; none if the theory has no solution.
    pub value: Option<f64>,
    /// The error there.
    pub error: Option<f64>,
    /// Whether it is at the edge of the range that was searched, so that a better one may be outside.
    pub at_edge: bool,
}

/// A simulated value of the parameter.
pub struct Tried {
    pub value: f64,
    /// The error, trial by trial; the trials of all values share their seeds.
    pub errors: Vec<f64>,
}

impl Recommendation {
    /// The recommended value beside the one that simulations find best. `apart` is the distance of two values.
    pub fn answer(&self, tried: &[Tried], apart: fn(f64, f64) -> f64) -> Answer {
        let Self { symbol, aim, .. } = self;
        let question = format!(
            "Is the {symbol} that the theory recommends for a low {aim} the one that simulations find best?"
        );
        let open = |why: &str| Answer::new(question.clone(), capital(why));
        let none = format!("for the {aim} the theory recommends no {symbol}");
        let Some(value) = self.value else {
            return open(&format!("{none}: it has no solution."));
        };
        if self.at_edge {
            return open(&format!(
                "{none}: its lowest value is at the edge of the range, {symbol} = {value:.3}."
            ));
        }
        let found: Option<Vec<(&Tried, Estimate)>> = tried
            .iter()
            .map(|tried| Some((tried, Estimate::of(tried.errors.iter().copied())?)))
            .collect();
        let found = found.unwrap_or_default();
        let best = found.iter().min_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let nearest =
            found.iter().min_by(|a, b| apart(a.0.value, value).total_cmp(&apart(b.0.value, value)));
        let (Some(best), Some(nearest)) = (best, nearest) else {
            return open(&format!("the {aim} was not simulated."));
        };
        let (at_best, at_nearest) = (best.0.value, nearest.0.value);
        let difference = Estimate::paired(&nearest.0.errors, &best.0.errors);
        let quantity =
            format!("{aim} at {symbol} = {at_nearest} less the lowest, at {symbol} = {at_best}");
        let mut tests = vec![Test::below(quantity.as_str(), difference, CLOSE)];
        if at_best != at_nearest {
            tests.push(Test::above(quantity, difference, Threshold::ZERO));
        }
        let compared = if at_best == at_nearest {
            "that is the best of the simulated ones".into()
        } else {
            let lower = lower(difference, &tests);
            format!("the best is {symbol} = {at_best} with {}, {lower}", best.1.text())
        };
        let said = format!(
            "for the {aim} the theory recommends {symbol} = {value:.3} (error {}). At the nearest simulated {symbol} = \
             {at_nearest} the error is {}; {compared}.",
            self.error.map_or("unknown".into(), error),
            nearest.1.text(),
        );
        open(&said).tested(tests)
    }
}

/// By how much the best is lower than the recommended one, in words.
fn lower(difference: Option<Estimate>, tests: &[Test]) -> String {
    let matters = match tests[0].outcome {
        Outcome::Supported => "too little to matter",
        Outcome::Contradicted => "enough to matter",
        Outcome::Undecided => "whether that matters is open",
    };
    let certain = match tests.get(1).map(|test| test.outcome) {
        Some(Outcome::Supported) => "more than chance",
        _ => "it can be chance",
    };
    let difference = difference.map_or("an unknown difference".into(), |d| d.text());
    format!("lower by {difference} ({matters}; {certain})")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The theory recommends 0.9; the error at 0.5 is 0.3, and at 1 differs by this.
    fn answer(differences: &[f64], at_edge: bool) -> Answer {
        let recommended = Recommendation {
            symbol: "γ",
            aim: "mean error",
            value: Some(0.9),
            error: Some(0.3),
            at_edge,
        };
        let noise = |trial: usize| 0.02 * (trial % 3) as f64;
        let low: Vec<f64> = (0..differences.len()).map(|trial| 0.3 + noise(trial)).collect();
        let high: Vec<f64> = low.iter().zip(differences).map(|(low, d)| low + d).collect();
        let tried = [Tried { value: 0.5, errors: low }, Tried { value: 1.0, errors: high }];
        recommended.answer(&tried, |a, b| (a - b).abs())
    }

    #[test]
    fn a_recommendation_is_best_as_good_worse_or_open() {
        use Outcome::{Contradicted, Supported, Undecided};
        let check = |differences: &[f64], outcomes: &[Outcome], text: &str| {
            let answer = answer(differences, false);
            let found: Vec<Outcome> = answer.tests.iter().map(|test| test.outcome).collect();
            assert_eq!(found, outcomes, "{differences:?}");
            assert!(answer.answer.contains(text), "{}", answer.answer);
        };
        check(&[-0.01, -0.02, -0.01, -0.02], &[Supported], "that is the best of the simulated");
        check(
            &[0.004, 0.005, 0.006, 0.005],
            &[Supported, Supported],
            "too little to matter; more than",
        );
        check(
            &[0.05, 0.06, 0.05, 0.06],
            &[Contradicted, Supported],
            "(enough to matter; more than",
        );
        check(&[0.05, -0.04, 0.06, -0.01], &[Undecided, Undecided], "open; it can be chance");
        check(&[0.05, 0.06], &[Undecided, Undecided], "whether that matters is open");
    }

    #[test]
    fn the_edge_of_a_range_recommends_nothing() {
        let answer = answer(&[0.1; 4], true);
        assert!(answer.tests.is_empty() && answer.answer.contains("edge"));
    }
}
