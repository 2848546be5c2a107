//! Figure 1: expected log-likelihood and its upper bound.

use serde::{Deserialize, Serialize};

use crate::results::{Drawing, Judgement, Results};
use crate::study::Study;
use crate::thresholds::TIGHT;
use crate::verdict::{Claim, Estimate, Findings, Test, Threshold};
use remanent_lab::bound;

/// Figure 1.
pub struct Bound;

/// What is bounded, and the bound.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    trials: Vec<Trial>,
}

#[derive(Serialize, Deserialize)]
struct Trial {
    /// E_q ln P(D|ξ) in the first and the last recorded epoch.
    expected: [f64; 2],
    /// ln E_q P(D|ξ) then.
    upper: [f64; 2],
    /// The smallest gap of all recorded epochs.
    least_gap: f64,
}

impl Measured {
    fn mean(&self, of: impl Fn(&Trial) -> f64) -> Option<Estimate> {
        Estimate::of(self.trials.iter().map(of))
    }

    /// The expected log-likelihood, the bound and the gap goes from here to there.
    fn found(&self) -> Option<String> {
        let from_to = |of: &dyn Fn(&Trial, usize) -> f64| {
            let at = |end: usize| self.mean(|trial| of(trial, end)).map(|mean| mean.text());
            Some(format!("from {} to {}", at(0)?, at(1)?))
        };
        Some(format!(
            "During training the expected log-likelihood goes {}, the bound {}, and the gap {}.",
            from_to(&|trial, end| trial.expected[end])?,
            from_to(&|trial, end| trial.upper[end])?,
            from_to(&|trial, end| trial.upper[end] - trial.expected[end])?
        ))
    }
}

impl Study for Bound {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let trials = results.bound_trials.iter().map(|rows| {
            let ends = [rows.first()?.likelihoods, rows.last()?.likelihoods];
            let gaps = rows
                .iter()
                .map(|row| row.likelihoods.upper_bound - row.likelihoods.expected_log_likelihood);
            Some(Trial {
                expected: ends.map(|at| at.expected_log_likelihood),
                upper: ends.map(|at| at.upper_bound),
                least_gap: gaps.reduce(f64::min)?,
            })
        });
        Some(Measured { trials: trials.collect::<Option<_>>()? })
    }

    fn judge(measured: &Measured) -> Judgement {
        let excess = |trial: &Trial| {
            trial.upper[1] - trial.expected[1] - TIGHT.value * trial.expected[1].abs()
        };
        let tight = Test::below(
            "gap at the end, less a tenth of the modulus of the expected log-likelihood",
            measured.mean(excess),
            Threshold { value: 0.0, reason: TIGHT.reason },
        );
        let rises = [
            ("expected log-likelihood", measured.mean(|t| t.expected[1] - t.expected[0])),
            ("bound", measured.mean(|t| t.upper[1] - t.upper[0])),
        ]
        .map(|(name, change)| {
            Test::above(format!("change of the {name} by training"), change, Threshold::ZERO)
        });
        let least = measured.trials.iter().map(|trial| trial.least_gap).reduce(f64::min);
        let bounded = Test::above(
            "smallest gap of any trial and epoch",
            least.map(Estimate::exact),
            Threshold { value: -1e-9, reason: "a bound is never exceeded, but by rounding" },
        );
        let claim = Claim::new("The bound can be tight.", "Sec. II B, Fig. 1", vec![tight]);
        Judgement {
            found: measured.found().unwrap_or_default(),
            findings: Findings::Claims(vec![claim.remark(rises).remark([bounded])]),
            notes: vec![
                "Ours: the optimiser (full-batch gradient descent) and its rate, which no source states, and what is \
                 called tight."
                    .into(),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let rows = &results.bound;
        rows.first()?;
        Some(Drawing { figure: bound::figure(rows, None), table: bound::table(rows, None) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome;

    /// The claim if the expected log-likelihood goes from −100 to −10, and the gap of trials is this.
    fn claim(gaps: &[f64]) -> Claim {
        let trial = |gap: &f64| Trial {
            expected: [-100.0, -10.0],
            upper: [-50.0, -10.0 + gap],
            least_gap: *gap,
        };
        let measured = Measured { trials: gaps.iter().map(trial).collect() };
        match Bound::judge(&measured).findings {
            Findings::Claims(mut claims) => claims.remove(0),
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    #[test]
    fn a_gap_below_a_tenth_is_tight_one_above_is_not_and_one_about_it_is_open() {
        assert_eq!(claim(&[0.1, 0.2, 0.1, 0.2]).outcome, Outcome::Supported);
        assert_eq!(claim(&[2.1, 2.2, 2.1, 2.2]).outcome, Outcome::Contradicted);
        assert_eq!(claim(&[0.7, 1.2, 0.8, 1.2]).outcome, Outcome::Undecided);
        assert_eq!(claim(&[0.1, 0.1]).outcome, Outcome::Undecided);
        assert_eq!(claim(&[]).outcome, Outcome::Undecided);
    }

    #[test]
    fn a_bound_that_is_exceeded_is_remarked() {
        let outcomes = |gaps: &[f64]| -> Vec<Outcome> {
            claim(gaps).remarks.iter().map(|test| test.outcome).collect()
        };
        assert_eq!(outcomes(&[0.1, 0.2, 0.1]), [Outcome::Supported; 3]);
        assert_eq!(outcomes(&[0.1, 0.2, -0.1])[2], Outcome::Contradicted);
    }
}
