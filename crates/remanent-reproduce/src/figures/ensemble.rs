//! Figure B4: samples of the theory's own ensemble.

use serde::{Deserialize, Serialize};

use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::CLOSE;
use crate::verdict::{Agreement, Answer, Estimate, Findings, Pair};
use remanent_lab::simulation::{self, Comparison, Drawn, comparison_table};

/// Figure B4.
pub struct Ensemble;

/// Order parameters of samples beside those of the theory.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    cases: Vec<Case>,
}

#[derive(Serialize, Deserialize)]
struct Case {
    label: String,
    /// Trials whose chains have not mixed.
    unmixed: usize,
    /// q_d, q_0, r and p of every task: the sampled value and the theory's. ε is a function of p.
    numbers: Vec<(Estimate, Option<f64>)>,
}

fn comparisons(results: &Results) -> Option<Vec<Vec<Comparison>>> {
    results.simulated.iter().map(Simulated::compared).collect()
}

impl Study for Ensemble {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let case = |(case, comparison): (&Simulated, Vec<Comparison>)| Case {
            label: case.case.label(),
            unmixed: case.summary.unmixed(),
            numbers: comparison
                .iter()
                .filter(|c| !c.quantity.starts_with("eps"))
                .map(|c| (c.estimate(case.trials.len()), c.theory))
                .collect(),
        };
        let cases = results.simulated.iter().zip(comparisons(results)?).map(case).collect();
        Some(Measured { cases })
    }

    fn judge(measured: &Measured) -> Judgement {
        let cases = &measured.cases;
        let numbers = cases.iter().flat_map(|case| &case.numbers);
        let pairs = numbers.map(|&(simulation, theory)| Pair { simulation, theory });
        let agreement = Agreement::new("samples and theory", pairs.collect(), cases.len());
        let unmixed: usize = cases.iter().map(|case| case.unmixed).sum();
        let (close, consistent) = (agreement.close(CLOSE), agreement.consistent());
        let mixed = match unmixed {
            0 => "The chains of all trials have mixed".to_owned(),
            count => format!("The chains of {count} trials have not mixed"),
        };
        let found = format!(
            "{mixed}; samples and theory differ by {} (root mean square), with a {}.",
            agreement.distance().map_or("an unknown distance".into(), |d| d.text()),
            consistent.margin
        );
        let answer = Answer::new(
            "Are the equations right: do samples of the ensemble they describe agree with them?",
            found.clone(),
        );
        let labels: Vec<&str> = cases.iter().map(|case| case.label.as_str()).collect();
        Judgement {
            found,
            findings: Findings::Answers(vec![answer.tested([close, consistent])]),
            notes: vec![
                format!("Cases, from left to right: {}.", labels.join("; ")),
                "Corrections of order 1/N are part of the difference.".into(),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let comparisons = comparisons(results)?;
        let drawn: Vec<Drawn> = results
            .simulated
            .iter()
            .zip(&comparisons)
            .map(|(case, comparison)| Drawn {
                case: &case.case,
                simulation: &case.simulation,
                summary: &case.summary,
                comparison,
            })
            .collect();
        let labels: Vec<String> = results.simulated.iter().map(|case| case.case.label()).collect();
        let named: Vec<(&str, &[Comparison])> =
            labels.iter().map(String::as_str).zip(comparisons.iter().map(Vec::as_slice)).collect();
        Some(Drawing {
            figure: simulation::figure(&drawn, false, None),
            table: comparison_table(&named),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome;

    /// Whether samples are close to the theory, and consistent with it, if each number differs by this.
    fn outcomes(difference: f64, theory: Option<f64>) -> Vec<Outcome> {
        let simulation =
            Estimate { value: 0.5 + difference, standard_error: Some(0.002), trials: Some(48) };
        let case =
            |_| Case { label: String::new(), unmixed: 0, numbers: vec![(simulation, theory); 4] };
        let measured = Measured { cases: (0..5).map(case).collect() };
        match Ensemble::judge(&measured).findings {
            Findings::Answers(answers) => answers[0].tests.iter().map(|t| t.outcome).collect(),
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    #[test]
    fn agreement_can_fail_in_either_way_and_be_open() {
        use Outcome::{Contradicted, Supported, Undecided};
        assert_eq!(outcomes(0.002, Some(0.5)), [Supported, Supported]);
        assert_eq!(outcomes(0.01, Some(0.5)), [Supported, Contradicted]);
        assert_eq!(outcomes(0.1, Some(0.5)), [Contradicted, Contradicted]);
        assert_eq!(outcomes(0.002, None), [Undecided, Undecided]);
    }
}
