//! Figure B10: gradient descent and the ensemble where replica symmetry is broken, beside the theory in
//! replica symmetry (RS) and with one step of breaking (1RSB). The ensemble is sampled by parallel
//! tempering at several N; what is left of a difference in the limit of large N decides.

mod picture;

use remanent_lab::simulation::Learner;
use remanent_lab::tempering::{
    self, Comparison, Decision, EXCLUDED, FEWEST_SIZES, Limit, SizePoint, Steps, is_provisional,
};
use remanent_theory::parameters::Choice;
use remanent_theory::rsb::{BrokenTask, TOLERANCE};
use remanent_theory::single::SingleTask;
use serde::{Deserialize, Serialize};

use super::one_step;
use super::words::list;
use crate::results::{Drawing, Judgement, Results, Simulated, Tempered};
use crate::study::Study;
use crate::thresholds::CLOSE;
use crate::verdict::{Agreement, Answer, Estimate, Findings, Outcome, Pair, Test, Threshold};

/// Figure B10.
pub struct BrokenEnsemble;

/// Of z in the limit of large N.
const THRESHOLD: Threshold = Threshold {
    value: EXCLUDED,
    reason: "a theory is excluded above 3 with both powers of 1/N, and consistent below 2 with both",
};

/// Simulations beside both theories.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    beta: f64,
    /// α from which on replica symmetry is broken.
    onset: Option<f64>,
    /// Gradient descent by rising α.
    gradient: Vec<Row>,
    /// Parallel tempering by rising α, then rising N.
    ensemble: Vec<Row>,
}

/// One α and N.
#[derive(Serialize, Deserialize)]
struct Row {
    /// As it was asked for.
    alpha: f64,
    /// Patterns over N.
    exact_alpha: f64,
    n: usize,
    /// Trials, or draws of the data.
    trials: usize,
    /// Draws that do not meet the criteria of equilibration.
    failed: usize,
    numbers: Vec<Number>,
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
    /// The self-overlap.
    QD,
    /// The overlap of two states of the whole measure, ⟨q⟩.
    Q,
    /// The overlap with the teacher.
    R,
    /// ε.
    Eps,
    /// ⟨L⟩ per weight.
    Energy,
    /// φ(β) − φ(β_low).
    PhiDifference,
}

impl Quantity {
    const ALL: [Self; 6] =
        [Self::QD, Self::Q, Self::R, Self::Eps, Self::Energy, Self::PhiDifference];

    fn name(self) -> &'static str {
        match self {
            Self::QD => "q_d",
            Self::Q => "⟨q⟩",
            Self::R => "r",
            Self::Eps => "ε",
            Self::Energy => "⟨L⟩/N",
            Self::PhiDifference => "Δφ",
        }
    }

    /// What a comparison calls it.
    fn key(self) -> &'static str {
        match self {
            Self::QD => "q_d",
            Self::Q => "q",
            Self::R => "r",
            Self::Eps => "eps",
            Self::Energy => "energy",
            Self::PhiDifference => "phi_difference",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Theory {
    Symmetric,
    OneStep,
}

impl Theory {
    const BOTH: [Self; 2] = [Self::Symmetric, Self::OneStep];

    fn name(self) -> &'static str {
        match self {
            Self::Symmetric => "RS",
            Self::OneStep => "one step",
        }
    }
}

impl Number {
    fn theory(&self, theory: Theory) -> Option<f64> {
        match theory {
            Theory::Symmetric => self.symmetric,
            Theory::OneStep => self.one_step,
        }
    }

    fn difference(&self, theory: Theory) -> Option<f64> {
        Some(self.found.value - self.theory(theory)?)
    }

    /// The distance from a theory in standard errors.
    fn z(&self, theory: Theory) -> Option<f64> {
        let error = self.found.standard_error.filter(|error| *error > 0.0)?;
        Some(self.difference(theory)? / error)
    }
}

impl Row {
    fn is_provisional(&self) -> bool {
        is_provisional(self.failed, self.trials)
    }

    fn number(&self, quantity: Quantity) -> Option<&Number> {
        self.numbers.iter().find(|number| number.quantity == quantity)
    }

    fn gradient(case: &Simulated, task: &BrokenTask<'_>) -> Option<Self> {
        let Learner::Gradient(_) = &case.simulation.learner else { return None };
        let setting = &case.simulation.setting;
        let (alpha, n) = (setting.alpha[0], setting.n);
        let exact_alpha = (alpha * n as f64).round() / n as f64;
        let solved = |steps| {
            let found = task.as_needed(exact_alpha, Choice::Stable, TOLERANCE, steps).ok()?;
            let solution = found.solution;
            Some(Some(solution.eps).filter(|eps| solution.is_found() && eps.is_finite()))
        };
        let eps = Number {
            quantity: Quantity::Eps,
            found: Estimate::of(case.final_errors(0)?)?,
            symmetric: solved(0)?,
            one_step: solved(1)?,
        };
        let trials = case.trials.len();
        Some(Self { alpha, exact_alpha, n, trials, failed: 0, numbers: vec![eps] })
    }

    fn sampled(Tempered { study, summary }: &Tempered) -> Option<Self> {
        let (points, rows) = tempering::compare(summary, Steps::One).ok()?;
        // Where nothing is broken one step has no rows of its own: it is replica symmetry.
        let broken = points.len() - 1;
        let number = |quantity: Quantity| {
            let find = |steps: usize| -> Option<&Comparison> {
                rows.iter().find(|row| row.steps == steps && row.quantity == quantity.key())
            };
            let row = find(0)?;
            Some(Number {
                quantity,
                found: Estimate {
                    value: row.simulation,
                    standard_error: row.standard_error,
                    trials: Some(summary.draws),
                },
                symmetric: Some(row.theory),
                one_step: find(broken).map(|row| row.theory),
            })
        };
        Some(Self {
            alpha: study.setting.alpha[0],
            exact_alpha: summary.alpha,
            n: summary.n,
            trials: summary.draws,
            failed: summary.not_equilibrated,
            numbers: Quantity::ALL.into_iter().filter_map(number).collect(),
        })
    }
}

/// What is left between samples and a theory at one α in the limit of large N.
struct Trend<'a> {
    alpha: f64,
    theory: Theory,
    sizes: Vec<&'a Row>,
    limits: Vec<(Quantity, Option<[Limit; 2]>)>,
}

impl<'a> Trend<'a> {
    /// Fits the sizes of one α.
    fn new(sizes: Vec<&'a Row>, theory: Theory) -> Self {
        let limits = Quantity::ALL.map(|quantity| {
            let point = |row: &&Row| {
                let number = row.number(quantity)?;
                Some(SizePoint {
                    n: row.n,
                    difference: number.difference(theory)?,
                    standard_error: number.found.standard_error?,
                })
            };
            let points: Option<Vec<SizePoint>> = sizes.iter().map(point).collect();
            (quantity, points.and_then(|points| Limit::fit_all(&points)))
        });
        Self { alpha: sizes[0].alpha, theory, limits: limits.into(), sizes }
    }

    fn decision(&self) -> Decision {
        Decision::of_all(self.limits.iter().map(|(_, limits)| Decision::of(limits.as_ref())))
    }

    fn is_provisional(&self) -> bool {
        self.sizes.iter().any(|row| row.is_provisional())
    }

    /// The quantities on which the limits decide this way, with their z.
    fn quantities(&self, decision: Decision) -> Vec<String> {
        let these = self.limits.iter().filter(|(_, l)| Decision::of(l.as_ref()) == decision);
        let said = these.map(|(quantity, limits)| match limits {
            Some([smooth, glassy]) => {
                format!("{} {:+.1} and {:+.1}", quantity.name(), smooth.z(), glassy.z())
            }
            None => format!("{} unknown", quantity.name()),
        });
        said.collect()
    }

    /// What decides, in words.
    fn reason(&self) -> String {
        if self.sizes.len() < FEWEST_SIZES {
            return format!("{} sizes are too few", self.sizes.len());
        }
        match self.decision() {
            Decision::Consistent => "all quantities are consistent".into(),
            decision => {
                let which = self.quantities(decision);
                format!("{} by {}", decision.name(), which.join(", "))
            }
        }
    }

    /// The decision as a test. That a statement is provisional leaves it undecided.
    fn test(&self) -> Test {
        // The smaller |z| of both powers has to reach the threshold.
        let least = |limits: &[Limit; 2]| limits[0].z().abs().min(limits[1].z().abs());
        let all: Option<Vec<f64>> =
            self.limits.iter().map(|(_, limits)| limits.as_ref().map(least)).collect();
        let largest = all.and_then(|all| all.into_iter().reduce(f64::max));
        let draws = self.sizes.iter().map(|row| row.trials).min();
        let estimate =
            largest.map(|value| Estimate { value, standard_error: Some(1.0), trials: draws });
        let (outcome, margin) = match self.decision() {
            _ if self.is_provisional() => {
                (Outcome::Undecided, format!("provisional: {}", self.reason()))
            }
            Decision::Excluded => (Outcome::Contradicted, self.reason()),
            Decision::Consistent => (Outcome::Supported, self.reason()),
            Decision::Undecided => (Outcome::Undecided, self.reason()),
        };
        let quantity = format!(
            "α = {}, samples and {}: largest |z| of any quantity in the limit of large N",
            self.alpha,
            self.theory.name()
        );
        Test { outcome, margin, ..Test::below(quantity, estimate, THRESHOLD) }
    }
}

impl Measured {
    /// The rows of each α of the ensemble.
    fn groups(&self) -> Vec<Vec<&Row>> {
        let mut groups: Vec<Vec<&Row>> = Vec::new();
        for row in &self.ensemble {
            match groups.last_mut().filter(|group| group[0].alpha == row.alpha) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
        groups
    }

    /// The trends beside a theory, by rising α.
    fn trends(&self, theory: Theory) -> Vec<Trend<'_>> {
        self.groups().into_iter().map(|sizes| Trend::new(sizes, theory)).collect()
    }

    /// Gradient descent beside RS and beside one step.
    fn agreements(&self) -> [Agreement; 2] {
        Theory::BOTH.map(|theory| {
            let numbers = self.gradient.iter().flat_map(|row| &row.numbers);
            let pair = |n: &Number| Pair { simulation: n.found, theory: n.theory(theory) };
            let what = format!("ε of SGD and {}", theory.name());
            Agreement::new(what, numbers.map(pair).collect(), self.gradient.len())
        })
    }

    /// z-scores of gradient descent by α.
    fn scores(&self) -> String {
        let said = self.gradient.iter().filter_map(|row| {
            let number = row.number(Quantity::Eps)?;
            let [symmetric, one_step] = Theory::BOTH.map(|theory| number.z(theory));
            let (found, at) = (number.found.text(), row.alpha);
            Some(format!("α = {at}: {found}, z = {:+.1} and {:+.1}", symmetric?, one_step?))
        });
        said.collect::<Vec<_>>().join("; ")
    }

    /// How many draws fail.
    fn failures(&self) -> String {
        let of = |group: &Vec<&Row>| {
            let sizes = group.iter().map(|row| format!("{} (N = {})", row.failed, row.n));
            format!("α = {}: {}", group[0].alpha, sizes.collect::<Vec<_>>().join(", "))
        };
        let draws = self.ensemble.iter().map(|row| row.trials).min().unwrap_or(0);
        let said: Vec<String> = self.groups().iter().map(of).collect();
        format!(
            "Of {draws} draws of the ensemble these do not meet the criteria of equilibration: {}.",
            said.join("; ")
        )
    }
}

/// `RS is excluded at α = 1 and 1.2; consistent at α = 0.7`.
fn decisions(trends: &[Trend<'_>], theory: Theory) -> Option<String> {
    let at = |decision: Decision| {
        let these = trends.iter().filter(|trend| trend.decision() == decision);
        let alphas: Vec<String> = these.map(|trend| trend.alpha.to_string()).collect();
        (!alphas.is_empty()).then(|| format!("{} at α = {}", decision.name(), list(&alphas)))
    };
    let all = [Decision::Excluded, Decision::Undecided, Decision::Consistent].map(at);
    let said: Vec<String> = all.into_iter().flatten().collect();
    (!said.is_empty()).then(|| format!("{} is {}", theory.name(), said.join(", ")))
}

fn gradient_answer(measured: &Measured) -> Answer {
    let [symmetric, one_step] = measured.agreements();
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
    let text = format!(
        "The error of SGD is {} (root mean square) from RS, which {}, and {} from the theory with one step, which {}.",
        distance(&symmetric),
        chance(tests[1].outcome),
        distance(&one_step),
        chance(tests[3].outcome)
    );
    let question = format!("Which theory does gradient descent follow at β = {}?", measured.beta);
    Answer::new(question, text).tested(tests)
}

fn ensemble_answer(measured: &Measured) -> Answer {
    let mut sentences = Vec::new();
    let mut tests = Vec::new();
    let mut provisional = Vec::new();
    for theory in Theory::BOTH {
        let trends = measured.trends(theory);
        tests.extend(trends.iter().map(Trend::test));
        let (open, sound): (Vec<_>, Vec<_>) = trends.into_iter().partition(Trend::is_provisional);
        sentences.extend(decisions(&sound, theory));
        provisional.extend(decisions(&open, theory));
    }
    let mut text = match sentences.is_empty() {
        true => "Not decided: more than a quarter of the draws fail at every α.".into(),
        false => format!("In the limit of large N {}.", sentences.join("; ")),
    };
    if !provisional.is_empty() {
        let many = "where more than a quarter of the draws of a size are not equilibrated";
        text += &format!(" Provisional, {many}: {}.", provisional.join("; "));
    }
    let beta = measured.beta;
    let question = format!("Which theory do samples of the ensemble follow at β = {beta}?");
    Answer::new(question, text).tested(tests)
}

impl Study for BrokenEnsemble {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let curves = one_step::curves(results, 0)?;
        let beta = curves.symmetric.rows.first()?.beta;
        let task = BrokenTask::new(SingleTask::new(beta).ok()?);
        let gradient = results.simulated.iter().map(|case| Row::gradient(case, &task));
        let ensemble = results.tempered.iter().map(Row::sampled);
        let mut gradient = gradient.collect::<Option<Vec<_>>>()?;
        let mut ensemble = ensemble.collect::<Option<Vec<_>>>()?;
        for rows in [&mut gradient, &mut ensemble] {
            rows.sort_by(|a, b| (a.alpha, a.n).partial_cmp(&(b.alpha, b.n)).unwrap());
        }
        let onset = curves.broken.landmarks("onset").next().map(|row| row.solution.alpha);
        Some(Measured { beta, onset, gradient, ensemble })
    }

    fn judge(measured: &Measured) -> Judgement {
        let answers = vec![gradient_answer(measured), ensemble_answer(measured)];
        let mut found: Vec<String> = answers.iter().map(|answer| answer.answer.clone()).collect();
        found.push(measured.failures());
        let onset =
            measured.onset.map_or("nowhere".into(), |onset| format!("from α = {onset:.3} on"));
        Judgement {
            found: found.join(" "),
            findings: Findings::Answers(answers),
            notes: vec![
                format!(
                    "Replica symmetry is broken {onset}. z-scores of ε, RS and one step. SGD: {}.",
                    measured.scores()
                ),
                "Samples: differences to the theory at each N are fitted by a + b N^-p with p = 1 and p = 2/3; z is a over its \
                 standard error, for both powers. Draws that are not equilibrated count. Open points: more than a quarter of the \
                 draws."
                    .into(),
                "Gradient descent samples no ensemble: its agreement with a theory is a fact, not a proof of either.".into(),
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

    const RS: f64 = 0.3;
    const BROKEN: f64 = 0.2;
    /// The standard error of a trial mean: so small that the distance of the theories decides.
    const ERROR: f64 = 0.002;

    fn number(quantity: Quantity, found: f64) -> Number {
        let found = Estimate { value: found, standard_error: Some(ERROR), trials: Some(32) };
        Number { quantity, found, symmetric: Some(RS), one_step: Some(BROKEN) }
    }

    fn row(alpha: f64, n: usize, failed: usize, numbers: Vec<Number>) -> Row {
        Row { alpha, exact_alpha: alpha, n, trials: 32, failed, numbers }
    }

    /// An α of the ensemble at three sizes: all quantities are at `found` in the limit, q_d at `q_d`, and
    /// all have the same correction of order 1/N.
    fn sizes(alpha: f64, failed: [usize; 3], found: f64, q_d: f64) -> Vec<Row> {
        let at = |(n, failed): (usize, usize)| {
            let numbers = Quantity::ALL.map(|quantity| {
                let limit = if quantity == Quantity::QD { q_d } else { found };
                number(quantity, limit + 0.5 / n as f64)
            });
            row(alpha, n, failed, numbers.into())
        };
        [51, 101, 201].into_iter().zip(failed).map(at).collect()
    }

    fn judge(gradient: f64, ensemble: Vec<Row>) -> (Vec<Answer>, String) {
        let gradient = [1.0, 1.2].map(|alpha| {
            let trials =
                Estimate { value: gradient, standard_error: Some(ERROR), trials: Some(20) };
            let eps = Number { found: trials, ..number(Quantity::Eps, gradient) };
            row(alpha, 1000, 0, vec![eps])
        });
        let measured =
            Measured { beta: 20.0, onset: Some(0.7), gradient: gradient.into(), ensemble };
        // As it is after a journey through JSON.
        let json = serde_json::to_string(&measured).unwrap();
        let judgement = BrokenEnsemble::judge(&serde_json::from_str(&json).unwrap());
        match judgement.findings {
            Findings::Answers(answers) => (answers, judgement.found),
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    fn outcomes(answer: &Answer) -> Vec<Outcome> {
        answer.tests.iter().map(|test| test.outcome).collect()
    }

    use Outcome::{Contradicted, Supported, Undecided};

    #[test]
    fn either_theory_can_be_the_right_one() {
        let (answers, found) = judge(BROKEN, sizes(1.0, [0, 8, 8], RS, RS));
        assert_eq!(outcomes(&answers[0]), [Contradicted, Contradicted, Supported, Supported]);
        assert_eq!(outcomes(&answers[1]), [Supported, Contradicted]);
        let told =
            "In the limit of large N RS is consistent at α = 1; one step is excluded at α = 1.";
        assert!(found.contains(told), "{found}");
        assert!(found.contains("α = 1: 0 (N = 51), 8 (N = 101), 8 (N = 201)"), "{found}");
        let (answers, _) = judge(0.25, sizes(1.0, [0; 3], BROKEN, BROKEN));
        assert_eq!(outcomes(&answers[0]), [Contradicted; 4]);
        assert_eq!(outcomes(&answers[1]), [Contradicted, Supported]);
    }

    #[test]
    fn one_quantity_excludes_a_theory_and_keeps_another_from_being_consistent() {
        // q_d is in the middle, all other quantities at one step.
        let (answers, _) = judge(BROKEN, sizes(1.0, [0; 3], BROKEN, 0.25));
        assert_eq!(outcomes(&answers[1]), [Contradicted, Contradicted]);
        let margin = &answers[1].tests[1].margin;
        assert!(margin.starts_with("excluded by q_d +") && !margin.contains(','), "{margin}");
        // Between two and three standard errors of the limit.
        let (answers, found) = judge(BROKEN, sizes(1.0, [0; 3], BROKEN, BROKEN + 0.0095));
        assert_eq!(outcomes(&answers[1]), [Contradicted, Undecided]);
        assert!(found.contains("one step is undecided at α = 1"), "{found}");
    }

    #[test]
    fn the_limit_decides_and_not_the_largest_size() {
        let rows = sizes(1.0, [0; 3], BROKEN, BROKEN);
        let z = rows[0].number(Quantity::R).unwrap().z(Theory::OneStep).unwrap();
        assert!(z > 4.0, "{z}");
        let (answers, _) = judge(BROKEN, rows);
        assert_eq!(answers[1].tests[1].outcome, Supported);
        // Two sizes have no limit.
        let (answers, _) = judge(BROKEN, sizes(1.0, [0; 3], BROKEN, BROKEN).split_off(1));
        assert_eq!(outcomes(&answers[1]), [Undecided; 2]);
        assert_eq!(answers[1].tests[0].margin, "2 sizes are too few");
    }

    #[test]
    fn too_many_draws_that_fail_leave_a_statement_provisional() {
        let mut rows = sizes(1.0, [0, 0, 9], BROKEN, BROKEN);
        let (answers, found) = judge(BROKEN, sizes(1.0, [0, 0, 9], BROKEN, BROKEN));
        assert_eq!(outcomes(&answers[1]), [Undecided; 2]);
        assert!(answers[1].tests[0].margin.starts_with("provisional: excluded by q_d"));
        assert!(found.contains(
            "Not decided: more than a quarter of the draws fail at every α. Provisional"
        ));
        // Another α is decided all the same.
        rows.extend(sizes(1.2, [8; 3], BROKEN, BROKEN));
        let (answers, found) = judge(BROKEN, rows);
        assert_eq!(outcomes(&answers[1]), [Undecided, Contradicted, Undecided, Supported]);
        assert!(found.contains("RS is excluded at α = 1.2; one step is consistent at α = 1.2."));
        assert!(
            found.contains("RS is excluded at α = 1; one step is consistent at α = 1."),
            "{found}"
        );
    }

    #[test]
    fn a_missing_theory_agrees_with_nothing() {
        let mut rows = sizes(1.0, [0; 3], BROKEN, BROKEN);
        rows[1].numbers[2].one_step = None;
        let (answers, _) = judge(BROKEN, rows);
        assert_eq!(outcomes(&answers[1]), [Contradicted, Undecided]);
        assert_eq!(answers[1].tests[1].margin, "undecided by r unknown");
    }

    #[test]
    fn a_score_counts_standard_errors() {
        let number = number(Quantity::Eps, 0.21);
        let [symmetric, one_step] = Theory::BOTH.map(|theory| number.z(theory).unwrap());
        assert!((symmetric + 45.0).abs() < 1e-9 && (one_step - 5.0).abs() < 1e-9);
    }
}
