//! Theory against simulation: close, and consistent.
//!
//! The two are different. Numbers are *close* if their distance does not matter to a user, and
//! *consistent* if it can be chance. Many trials make a small distance significant, few trials hide a
//! large one; so both are always said.

use remanent_lab::estimate::Estimate;

use super::test::{Test, Threshold};

/// A simulated number beside the theory's.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The mean over trials.
    pub simulation: Estimate,
    /// The theory's value; none if it has no solution there.
    pub theory: Option<f64>,
}

/// Numbers of a simulation beside those of the theory.
#[derive(Clone, Debug)]
pub struct Agreement {
    what: String,
    pairs: Vec<Pair>,
    experiments: usize,
    /// What every trial gave, number by number, if the same trials gave all numbers.
    shared: Vec<Vec<f64>>,
}

impl Agreement {
    /// Compares numbers of `experiments` independent experiments; several numbers of the same trials are
    /// correlated and belong to one experiment.
    pub fn new(what: impl Into<String>, pairs: Vec<Pair>, experiments: usize) -> Self {
        Self { what: what.into(), pairs, experiments, shared: Vec::new() }
    }

    /// The same for numbers of the same trials, or of trials with the same seeds: each is the list of its
    /// trials, and the theory's value. What the numbers of a trial have in common does not average out
    /// over the numbers, and the error of their distance says so.
    pub fn of_trials(
        what: impl Into<String>,
        numbers: Vec<(Vec<f64>, Option<f64>)>,
        experiments: usize,
    ) -> Self {
        let unknown = Estimate { value: 0.0, standard_error: None, trials: Some(0) };
        let pair = |(trials, theory): &(Vec<f64>, Option<f64>)| Pair {
            simulation: Estimate::of(trials.iter().copied()).unwrap_or(unknown),
            theory: *theory,
        };
        let pairs: Vec<Pair> = numbers.iter().map(pair).collect();
        let shared = numbers.into_iter().map(|(trials, _)| trials).collect();
        Self { shared, ..Self::new(what, pairs, experiments) }
    }

    /// Differences with their standard errors; none if one is missing.
    fn differences(&self) -> Option<Vec<Estimate>> {
        let difference = |pair: &Pair| {
            let theory = pair.theory.filter(|value| value.is_finite())?;
            Some(Estimate { value: pair.simulation.value - theory, ..pair.simulation })
        };
        self.pairs.iter().map(difference).collect()
    }

    /// How many numbers lack a theory or a standard error. They count as missing, not as agreeing.
    fn missing(&self) -> usize {
        let lacks = |pair: &&Pair| {
            pair.theory.is_none_or(|value| !value.is_finite())
                || pair.simulation.standard_error.is_none()
        };
        self.pairs.iter().filter(lacks).count()
    }

    fn fewest_trials(&self) -> Option<usize> {
        self.pairs.iter().filter_map(|pair| pair.simulation.trials).min()
    }

    /// The largest distance of any pair.
    pub fn largest(&self) -> Option<f64> {
        let differences = self.differences()?;
        differences.iter().map(|d| d.value.abs()).reduce(f64::max)
    }

    /// The root mean square distance; none if a number is missing.
    pub fn distance(&self) -> Option<Estimate> {
        let differences = self.differences().filter(|list| !list.is_empty())?;
        let n = differences.len() as f64;
        let distance = (differences.iter().map(|d| d.value * d.value).sum::<f64>() / n).sqrt();
        // To first order in the errors: each difference counts with its part of the distance.
        let part = |d: &Estimate| if distance > 0.0 { d.value / (n * distance) } else { 0.0 };
        let parts: Vec<f64> = differences.iter().map(part).collect();
        let independent = || -> Option<f64> {
            let errors = differences.iter().zip(&parts);
            errors.map(|(d, part)| d.standard_error.map(|error| (part * error).powi(2))).sum()
        };
        let error = self.shared_error(&parts).or_else(|| independent().map(f64::sqrt));
        Some(Estimate { value: distance, standard_error: error, trials: self.fewest_trials() })
    }

    /// The standard error of a weighted sum of numbers that the same trials gave; none if they did not.
    fn shared_error(&self, weights: &[f64]) -> Option<f64> {
        let trials = self.shared.first()?.len();
        if self.shared.iter().any(|number| number.len() != trials) {
            return None;
        }
        let sum = |trial: usize| -> f64 {
            self.shared.iter().zip(weights).map(|(number, weight)| weight * number[trial]).sum()
        };
        Estimate::of((0..trials).map(sum))?.standard_error
    }

    /// Whether the numbers are close.
    pub fn close(&self, threshold: Threshold) -> Test {
        let largest = self.largest().map_or(String::new(), |d| format!(", {d:.3} at most"));
        let quantity = format!(
            "{}: root mean square distance of {} numbers{largest}{}",
            self.what,
            self.pairs.len(),
            self.lacking()
        );
        Test::below(quantity, self.distance(), threshold)
    }

    /// The mean square z-score over what few trials make of it by chance; none if one is missing.
    pub fn mean_square_z(&self) -> Option<f64> {
        let differences = self.differences().filter(|list| !list.is_empty())?;
        let squares: Option<Vec<f64>> = differences
            .iter()
            .map(|d| d.standard_error.filter(|e| *e > 0.0).map(|e| (d.value / e).powi(2)))
            .collect();
        let squares = squares?;
        let freedom = self.fewest_trials()?.checked_sub(1)? as f64;
        // The variance of Student's distribution: the standard error itself is an estimate.
        let expected = (freedom > 2.0).then(|| freedom / (freedom - 2.0))?;
        Some(squares.iter().sum::<f64>() / squares.len() as f64 / expected)
    }

    /// Whether the distance can be chance: the mean square z-score, 1 by chance, is at most two of its own
    /// standard deviations above that.
    pub fn consistent(&self) -> Test {
        let limit = 1.0 + 2.0 * (2.0 / self.experiments.max(1) as f64).sqrt();
        let reason =
            "a mean square z-score is 1 by chance, with a standard deviation of √(2/experiments)";
        let quantity = format!(
            "{}: mean square z-score of {} numbers from {}{}",
            self.what,
            self.pairs.len(),
            match self.experiments {
                1 => "one experiment".into(),
                several => format!("{several} experiments"),
            },
            self.lacking()
        );
        let estimate = self.mean_square_z().map(|value| Estimate {
            value,
            standard_error: Some(0.0),
            trials: self.fewest_trials(),
        });
        let mut test = Test::below(quantity, estimate, Threshold { value: limit, reason });
        if let Some(value) = self.mean_square_z() {
            test.margin = format!("root mean square z-score {:.1}", value.sqrt());
        }
        test
    }

    fn lacking(&self) -> String {
        match self.missing() {
            0 => String::new(),
            missing => format!(" ({missing} missing)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test::Outcome;
    use super::*;

    const NEAR: Threshold = Threshold { value: 0.02, reason: "near" };

    fn agreement(differences: &[f64], error: f64, trials: usize) -> Agreement {
        let pair = |d: &f64| Pair {
            simulation: Estimate {
                value: 0.3 + d,
                standard_error: Some(error),
                trials: Some(trials),
            },
            theory: Some(0.3),
        };
        Agreement::new("ε", differences.iter().map(pair).collect(), differences.len())
    }

    #[test]
    fn close_and_consistent_are_different() {
        // Close, and not by chance.
        let precise = agreement(&[0.005, -0.006, 0.004, 0.005], 1e-4, 20);
        assert_eq!(precise.close(NEAR).outcome, Outcome::Supported);
        assert_eq!(precise.consistent().outcome, Outcome::Contradicted);
        // By chance, and whether close is open.
        let noisy = agreement(&[0.02, -0.03, 0.01, 0.02], 0.03, 20);
        assert_eq!(noisy.close(NEAR).outcome, Outcome::Undecided);
        assert_eq!(noisy.consistent().outcome, Outcome::Supported);
        // Neither.
        let far = agreement(&[0.1, 0.09, 0.11, 0.1], 0.003, 20);
        assert_eq!(far.close(NEAR).outcome, Outcome::Contradicted);
        assert_eq!(far.consistent().outcome, Outcome::Contradicted);
    }

    #[test]
    fn what_is_missing_does_not_agree() {
        let mut some = agreement(&[0.001; 4], 0.001, 20);
        some.pairs[2].theory = None;
        assert_eq!(some.close(NEAR).outcome, Outcome::Undecided);
        assert_eq!(some.consistent().outcome, Outcome::Undecided);
        assert!(some.consistent().quantity.ends_with("(1 missing)"));
        let mut some = agreement(&[0.001; 4], 0.001, 20);
        some.pairs[0].simulation.standard_error = None;
        assert_eq!(some.close(NEAR).outcome, Outcome::Undecided);
        assert_eq!(some.consistent().outcome, Outcome::Undecided);
        assert_eq!(agreement(&[], 0.1, 20).close(NEAR).outcome, Outcome::Undecided);
        assert_eq!(agreement(&[], 0.1, 20).consistent().outcome, Outcome::Undecided);
    }

    #[test]
    fn numbers_of_the_same_trials_are_not_independent() {
        let noise = [0.01, -0.01, 0.02, -0.02];
        let number = |sign: f64| -> (Vec<f64>, Option<f64>) {
            (noise.iter().map(|noise| 0.5 + sign * noise).collect(), Some(0.4))
        };
        let distance = |numbers| Agreement::of_trials("ε", numbers, 1).distance().unwrap();
        let single = distance(vec![number(1.0)]);
        let error = single.standard_error.unwrap();
        assert!((single.value - 0.1).abs() < 1e-12 && error > 0.005);
        // Four times the same number is known no better than one; noise that cancels leaves no error.
        let same = distance(vec![number(1.0); 4]);
        assert!((same.standard_error.unwrap() - error).abs() < 1e-12);
        let opposite = distance(vec![number(1.0), number(-1.0)]);
        assert!(opposite.standard_error.unwrap() < 1e-12);
        // Different numbers of trials: taken as independent.
        let mut other = number(1.0);
        other.0.extend([0.51, 0.49]);
        let apart = distance(vec![number(1.0), other]);
        assert!(apart.standard_error.unwrap() < 0.9 * error && apart.trials == Some(4));
        let none = Agreement::of_trials("ε", vec![number(1.0), (Vec::new(), Some(0.4))], 2);
        assert_eq!(none.close(NEAR).outcome, Outcome::Undecided);
    }

    #[test]
    fn few_trials_make_large_z_scores_by_chance() {
        let z = |trials| agreement(&[0.02; 8], 0.01, trials).mean_square_z();
        assert_eq!(z(3), None);
        assert!((z(5).unwrap() - 2.0).abs() < 1e-9);
        assert!((z(1001).unwrap() - 4.0).abs() < 0.02);
    }
}
