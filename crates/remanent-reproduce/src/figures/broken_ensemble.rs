//! Figure B10: gradient descent and samples of the ensemble where replica symmetry is broken, beside the
//! theory in replica symmetry (RS) and with one step of breaking (1RSB).

mod picture;

use remanent_lab::simulation::Learner;
use remanent_theory::parameters::Choice;
use remanent_theory::rsb::{BrokenTask, RsbSolution, TOLERANCE};
use remanent_theory::single::SingleTask;
use serde::{Deserialize, Serialize};

use super::one_step;
use super::words::list;
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::CLOSE;
use crate::verdict::{Agreement, Answer, Estimate, Findings, Outcome, Pair};

/// Figure B10.
pub struct BrokenEnsemble;

/// The part of its trials that may be unmixed in a case of samples that counts.
const UNMIXED: f64 = 0.1;

/// Simulations beside both theories.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    beta: f64,
    /// α from which on replica symmetry is broken.
    onset: Option<f64>,
    /// Gradient descent by rising α, then samples by rising α.
    rows: Vec<Row>,
}

/// One α of one learner.
#[derive(Serialize, Deserialize)]
struct Row {
    learner: By,
    alpha: f64,
    trials: usize,
    /// Trials whose chains have not mixed.
    unmixed: usize,
    numbers: Vec<Number>,
}

/// How states were found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
    Gradient,
    Sampling,
}

/// A quantity, and the stable solution's value of it in both theories.
#[derive(Serialize, Deserialize)]
struct Number {
    quantity: Quantity,
    found: Estimate,
    symmetric: Option<f64>,
    one_step: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Quantity {
    /// ε.
    Eps,
    /// The self-overlap.
    QD,
    /// The overlap of two states of the whole measure, ⟨q⟩.
    Q,
    /// The overlap with the teacher.
    R,
}

impl Quantity {
    fn name(self) -> &'static str {
        match self {
            Self::Eps => "ε",
            Self::QD => "q_d",
            Self::Q => "⟨q⟩",
            Self::R => "r",
        }
    }

    fn of(self, solution: &RsbSolution) -> Option<f64> {
        let value = match self {
            Self::Eps => solution.eps,
            Self::QD => solution.q_d,
            Self::Q => solution.mean_q(),
            Self::R => solution.r,
        };
        Some(value).filter(|value| solution.is_found() && value.is_finite())
    }
}

impl Number {
    /// Distances from both theories in standard errors.
    fn z(&self) -> [Option<f64>; 2] {
        let error = self.found.standard_error.filter(|error| *error > 0.0);
        let z = |theory: Option<f64>| Some((self.found.value - theory?) / error?);
        [z(self.symmetric), z(self.one_step)]
    }
}

impl Row {
    /// Samples that have not mixed are not of the ensemble.
    fn counts(&self) -> bool {
        self.unmixed as f64 <= UNMIXED * self.trials as f64
    }

    fn number(&self, quantity: Quantity) -> Option<&Number> {
        self.numbers.iter().find(|number| number.quantity == quantity)
    }

    /// The exact α of a case: N is finite.
    fn exact_alpha(case: &Simulated) -> f64 {
        let setting = &case.simulation.setting;
        (setting.alpha[0] * setting.n as f64).round() / setting.n as f64
    }

    fn of(case: &Simulated, task: &BrokenTask<'_>) -> Option<Self> {
        let alpha = Self::exact_alpha(case);
        let solved = |steps| task.as_needed(alpha, Choice::Stable, TOLERANCE, steps).ok();
        let (symmetric, one_step) = (solved(0)?.solution, solved(1)?.solution);
        let number = |quantity: Quantity, found: Estimate| Number {
            quantity,
            found,
            symmetric: quantity.of(&symmetric),
            one_step: quantity.of(&one_step),
        };
        let eps = Estimate::of(case.final_errors(0)?)?;
        let mut numbers = vec![number(Quantity::Eps, eps)];
        let end = case.summary.ends.last()?;
        let learner = match &case.simulation.learner {
            Learner::Gradient(_) => By::Gradient,
            Learner::Boltzmann(_) => {
                let q = end.sampled?.q_0;
                let (q_d, r) = (end.q_star.into(), end.r.into());
                numbers.extend([number(Quantity::QD, q_d), number(Quantity::R, r)]);
                numbers.push(number(Quantity::Q, q.into()));
                By::Sampling
            }
        };
        Some(Self {
            learner,
            alpha: case.simulation.setting.alpha[0],
            trials: case.trials.len(),
            unmixed: case.summary.unmixed(),
            numbers,
        })
    }
}

impl Measured {
    fn rows(&self, learner: By) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.learner == learner)
    }

    /// A learner beside RS and beside one step.
    fn agreements(&self, learner: By) -> [Agreement; 2] {
        let what = match learner {
            By::Gradient => "ε of SGD",
            By::Sampling => "order parameters and ε of mixed samples",
        };
        let rows: Vec<&Row> = self.rows(learner).filter(|row| row.counts()).collect();
        let compared = |theory: &str, of: fn(&Number) -> Option<f64>| {
            let numbers = rows.iter().flat_map(|row| &row.numbers);
            let pairs = numbers.map(|n| Pair { simulation: n.found, theory: of(n) });
            Agreement::new(format!("{what} and {theory}"), pairs.collect(), rows.len())
        };
        [compared("RS", |n| n.symmetric), compared("one step", |n| n.one_step)]
    }

    /// z-scores of ε by α.
    fn scores(&self, learner: By) -> String {
        let said: Vec<String> = self
            .rows(learner)
            .filter(|row| row.counts())
            .filter_map(|row| {
                let number = row.number(Quantity::Eps)?;
                let [symmetric, one_step] = number.z();
                let (found, at) = (number.found.text(), row.alpha);
                Some(format!("α = {at}: {found}, z = {:+.1} and {:+.1}", symmetric?, one_step?))
            })
            .collect();
        said.join("; ")
    }

    /// The samples that do not count.
    fn unmixed(&self) -> Option<String> {
        let said: Vec<String> = self
            .rows(By::Sampling)
            .filter(|row| !row.counts())
            .map(|row| {
                let q_d = row.number(Quantity::QD).map_or(String::new(), |n| {
                    let value =
                        |v: Option<f64>| v.map_or("unknown".into(), |value| format!("{value:.3}"));
                    let (symmetric, one_step) = (value(n.symmetric), value(n.one_step));
                    format!(": q_d = {}, RS {symmetric}, one step {one_step}", n.found.text())
                });
                format!("α = {} ({} of {}{q_d})", row.alpha, row.unmixed, row.trials)
            })
            .collect();
        (!said.is_empty()).then(|| format!("Samples have not mixed at {}.", list(&said)))
    }
}

fn answer(measured: &Measured, learner: By, question: String, subject: &str) -> Answer {
    let [symmetric, one_step] = measured.agreements(learner);
    let distance = |agreement: &Agreement| {
        agreement.distance().map_or("an unknown distance".into(), |distance| distance.text())
    };
    let tests = [
        symmetric.close(CLOSE),
        symmetric.consistent(),
        one_step.close(CLOSE),
        one_step.consistent(),
    ];
    let chance = |outcome: Outcome| match outcome {
        Outcome::Supported => "can be chance",
        Outcome::Contradicted => "is more than chance",
        Outcome::Undecided => "cannot be told from chance or not",
    };
    if measured.rows(learner).all(|row| !row.counts()) {
        let text = "Not decided: samples have mixed at none of these α.";
        return Answer::new(question, text).tested(tests);
    }
    let text = format!(
        "{subject} {} (root mean square) from RS, which {}, and {} from the theory with one step, which {}.",
        distance(&symmetric),
        chance(tests[1].outcome),
        distance(&one_step),
        chance(tests[3].outcome)
    );
    Answer::new(question, text).tested(tests)
}

impl Study for BrokenEnsemble {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let curves = one_step::curves(results, 0)?;
        let beta = curves.symmetric.rows.first()?.beta;
        let task = BrokenTask::new(SingleTask::new(beta).ok()?);
        let rows = results.simulated.iter().map(|case| Row::of(case, &task));
        let mut rows = rows.collect::<Option<Vec<_>>>()?;
        let sampled = |row: &Row| row.learner == By::Sampling;
        rows.sort_by(|a, b| (sampled(a), a.alpha).partial_cmp(&(sampled(b), b.alpha)).unwrap());
        let onset = curves.broken.landmarks("onset").next().map(|row| row.solution.alpha);
        Some(Measured { beta, onset, rows })
    }

    fn judge(measured: &Measured) -> Judgement {
        let beta = measured.beta;
        let samples = measured.rows(By::Sampling).filter(|row| row.counts()).count();
        let answers = vec![
            answer(
                measured,
                By::Gradient,
                format!("Which theory does gradient descent follow at β = {beta}?"),
                "The error of SGD is",
            ),
            answer(
                measured,
                By::Sampling,
                format!("Which theory do samples of the ensemble follow at β = {beta}?"),
                &format!("At the {samples} α at which samples have mixed they are"),
            ),
        ];
        let mut found: Vec<String> = answers.iter().map(|answer| answer.answer.clone()).collect();
        found.extend(measured.unmixed());
        let onset =
            measured.onset.map_or("nowhere".into(), |onset| format!("from α = {onset:.3} on"));
        Judgement {
            found: found.join(" "),
            findings: Findings::Answers(answers),
            notes: vec![
                format!(
                    "Replica symmetry is broken {onset}. z-scores of ε, RS and one step. SGD: {}.",
                    measured.scores(By::Gradient)
                ),
                format!("Mixed samples: {}.", measured.scores(By::Sampling)),
                "Gradient descent samples no ensemble: its agreement with a theory is a fact, not a proof of either. Samples have \
                 N = 200, and corrections of order 1/N are part of the difference."
                    .into(),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        picture::draw(&Self::measure(results)?, one_step::curves(results, 0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(learner: By, alpha: f64, unmixed: usize, found: f64) -> Row {
        let number = |quantity: Quantity| Number {
            quantity,
            found: Estimate { value: found, standard_error: Some(0.002), trials: Some(20) },
            symmetric: Some(0.3),
            one_step: Some(0.2),
        };
        let numbers = vec![number(Quantity::Eps), number(Quantity::QD)];
        Row { learner, alpha, trials: 20, unmixed, numbers }
    }

    fn judge(gradient: f64, sampled: f64, unmixed: usize) -> (Vec<Answer>, String) {
        let rows = vec![
            row(By::Gradient, 1.0, 0, gradient),
            row(By::Gradient, 1.2, 0, gradient),
            row(By::Sampling, 0.7, unmixed, sampled),
        ];
        let judgement = BrokenEnsemble::judge(&Measured { beta: 20.0, onset: Some(0.7), rows });
        match judgement.findings {
            Findings::Answers(answers) => (answers, judgement.found),
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    fn outcomes(answer: &Answer) -> Vec<Outcome> {
        answer.tests.iter().map(|test| test.outcome).collect()
    }

    #[test]
    fn either_theory_can_be_the_right_one() {
        use Outcome::{Contradicted, Supported, Undecided};
        let (answers, found) = judge(0.2, 0.3, 2);
        assert_eq!(outcomes(&answers[0]), [Contradicted, Contradicted, Supported, Supported]);
        assert_eq!(outcomes(&answers[1]), [Supported, Supported, Contradicted, Contradicted]);
        assert!(!found.contains("not mixed"), "{found}");
        // Samples that have not mixed decide nothing, and are told.
        let (answers, found) = judge(0.25, 0.3, 3);
        assert_eq!(outcomes(&answers[0]), [Contradicted; 4]);
        assert_eq!(outcomes(&answers[1]), [Undecided; 4]);
        assert!(found.contains("not mixed at α = 0.7 (3 of 20: q_d = 0.300"), "{found}");
    }

    #[test]
    fn a_score_counts_standard_errors() {
        let row = row(By::Gradient, 1.0, 0, 0.21);
        let [symmetric, one_step] = row.number(Quantity::Eps).unwrap().z().map(Option::unwrap);
        assert!((symmetric + 45.0).abs() < 1e-9 && (one_step - 5.0).abs() < 1e-9);
    }
}
