//! Figure 3c: how long gradient descent takes.

use serde::{Deserialize, Serialize};

use crate::results::{Converged, Drawing, Judgement, Results};
use crate::study::Study;
use crate::thresholds::NEAR_ALPHA;
use crate::verdict::{Claim, Estimate, Findings, Test, Threshold};
use remanent_lab::convergence::{self, ConvergenceSummary};

/// Where the paper sees the peak.
const PEAK: f64 = 1.7;
/// Below this error a task is learned perfectly, in the paper's words.
const LOW: f64 = 0.01;
/// Neighbours on either side over which times are averaged before their peak is looked for.
const NEIGHBOURS: usize = 1;

/// Figure 3c.
pub struct ConvergenceTime;

/// Convergence times.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// By rising α.
    rows: Vec<AtAlpha>,
}

#[derive(Serialize, Deserialize)]
struct AtAlpha {
    alpha: f64,
    /// min(T_c, limit) of every trial.
    times: Vec<f64>,
    /// Trials that did not converge within the limit.
    not_converged: usize,
    /// The mean ε at T_c.
    eps: f64,
}

impl Measured {
    /// The trials of every α; none if their number differs.
    fn trials(&self) -> Option<usize> {
        let trials = self.rows.first()?.times.len();
        self.rows.iter().all(|row| row.times.len() == trials).then_some(trials)
    }

    /// The times of trials around the α of an index, the mean over its neighbours.
    fn around(&self, index: usize, trials: &[usize]) -> Vec<f64> {
        let end = (index + NEIGHBOURS + 1).min(self.rows.len());
        let near = &self.rows[index.saturating_sub(NEIGHBOURS)..end];
        let time = |&trial: &usize| near.iter().map(|row| row.times[trial]).sum::<f64>();
        trials.iter().map(|trial| time(trial) / near.len() as f64).collect()
    }

    /// Where the mean time of these trials is highest.
    fn peak(&self, trials: &[usize]) -> Option<usize> {
        let total: Vec<f64> =
            (0..self.rows.len()).map(|i| self.around(i, trials).iter().sum()).collect();
        (0..total.len()).max_by(|&i, &j| total[i].total_cmp(&total[j]))
    }

    /// The place of the peak, the time there, and what it exceeds that at either end by.
    fn found(&self) -> Option<Peak> {
        let trials = self.trials()?;
        let all: Vec<usize> = (0..trials).collect();
        let index = self.peak(&all)?;
        let times = self.around(index, &all);
        let excess = |end: usize| Estimate::paired(&times, &self.around(end, &all));
        Some(Peak {
            alpha: Estimate::bootstrap(trials, |of| Some(self.rows[self.peak(of)?].alpha)),
            excess: [excess(0), excess(self.rows.len() - 1)],
            time: Estimate::of(times)?,
        })
    }

    fn notes(&self) -> Vec<String> {
        let trials: usize = self.rows.iter().map(|row| row.times.len()).sum();
        let unconverged: usize = self.rows.iter().map(|row| row.not_converged).sum();
        let poor = self.rows.iter().rposition(|row| row.eps >= LOW);
        let learned = match self.rows.get(poor.map_or(0, |last| last + 1)) {
            Some(row) => format!("is below {LOW} from α = {:.2} on", row.alpha),
            None => format!("is not below {LOW} at the largest α"),
        };
        vec![
            format!("Times are means over {} neighbouring α.", 2 * NEIGHBOURS + 1),
            format!(
                "{unconverged} of {trials} trials do not converge within the limit of steps; they count with the limit."
            ),
            format!("The mean error at T_c {learned}."),
        ]
    }
}

struct Peak {
    alpha: Option<Estimate>,
    time: Estimate,
    /// The time at the peak less that at the smallest and at the largest α.
    excess: [Option<Estimate>; 2],
}

impl Study for ConvergenceTime {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let row = |found: &Converged| AtAlpha {
            alpha: found.summary.alpha,
            times: convergence::restricted_times(&found.trials, found.latest),
            not_converged: found.summary.not_converged,
            eps: found.summary.eps.mean,
        };
        let mut rows: Vec<AtAlpha> = results.convergence.iter().map(row).collect();
        rows.sort_by(|a, b| a.alpha.total_cmp(&b.alpha));
        (!rows.is_empty()).then_some(Measured { rows })
    }

    fn judge(measured: &Measured) -> Judgement {
        let peak = measured.found();
        let place = peak.as_ref().and_then(|peak| peak.alpha);
        let mut tests =
            vec![Test::near("the α of the longest restricted mean time", place, PEAK, NEAR_ALPHA)];
        for (i, end) in ["smallest", "largest"].into_iter().enumerate() {
            let quantity = format!("restricted mean time there less that at the {end} α");
            let excess = peak.as_ref().and_then(|peak| peak.excess[i]);
            tests.push(Test::above(quantity, excess, Threshold::ZERO));
        }
        let says = "The convergence time peaks at α_c ≈ 1.7.";
        let found = peak.as_ref().zip(place).map(|(peak, place)| {
            format!(
                "The restricted mean of the convergence time peaks at α = {}, with {} steps.",
                place.text(),
                peak.time.text()
            )
        });
        Judgement {
            found: found.unwrap_or_default(),
            findings: Findings::Claims(vec![Claim::new(says, "Sec. II C, Fig. 3c", tests)]),
            notes: measured.notes(),
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let rows: Vec<ConvergenceSummary> =
            results.convergence.iter().map(|found| found.summary.clone()).collect();
        rows.first()?;
        Some(Drawing { figure: convergence::figure(&rows, None), table: convergence::table(&rows) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

    /// Ten trials at α from 1 to 2 with a triangular peak, and noise.
    fn peaked(at: f64, height: f64, noise: f64) -> Measured {
        let row = |i: usize| {
            let alpha = 1.0 + 0.02 * i as f64;
            let time = 1000.0 + height * (1.0 - 2.0 * (alpha - at).abs()).max(0.0);
            let shift = |trial: usize| ((trial * 31 + i * 17) * (trial + 3) % 97) as f64 / 97.0;
            let times = (0..10).map(|trial| time + noise * shift(trial)).collect();
            AtAlpha { alpha, times, not_converged: 0, eps: 0.0 }
        };
        Measured { rows: (0..=50).map(row).collect() }
    }

    fn tests(measured: &Measured) -> (Outcome, Vec<Outcome>) {
        match ConvergenceTime::judge(measured).findings {
            Findings::Claims(claims) => {
                (claims[0].outcome, claims[0].tests.iter().map(|test| test.outcome).collect())
            }
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    #[test]
    fn a_peak_at_the_right_place_supports() {
        assert_eq!(tests(&peaked(1.7, 2000.0, 50.0)), (Supported, vec![Supported; 3]));
    }

    #[test]
    fn a_peak_elsewhere_or_at_an_end_contradicts() {
        let outcomes = vec![Contradicted, Supported, Supported];
        assert_eq!(tests(&peaked(1.4, 2000.0, 50.0)), (Contradicted, outcomes));
        let outcomes = vec![Contradicted, Supported, Contradicted];
        assert_eq!(tests(&peaked(2.2, 2000.0, 50.0)), (Contradicted, outcomes));
    }

    #[test]
    fn trials_that_disagree_on_the_place_leave_it_open() {
        let (mut measured, other) = (peaked(1.7, 2000.0, 50.0), peaked(1.5, 2000.0, 50.0));
        for (row, other) in measured.rows.iter_mut().zip(&other.rows) {
            row.times.iter_mut().zip(&other.times).step_by(2).for_each(|(time, t)| *time = *t);
        }
        assert_eq!(tests(&measured).1[0], Undecided);
    }

    #[test]
    fn times_at_an_end_that_are_hardly_known_leave_it_open() {
        let mut measured = peaked(1.7, 2000.0, 50.0);
        for row in &mut measured.rows[49..] {
            row.times = (0..10).map(|trial| f64::from(trial % 2) * 4400.0).collect();
        }
        let (outcome, tests) = tests(&measured);
        assert_eq!((outcome, &tests[1..]), (Undecided, &[Supported, Undecided][..]));
    }

    #[test]
    fn few_trials_decide_nothing() {
        let mut few = peaked(1.7, 2000.0, 50.0);
        few.rows.iter_mut().for_each(|row| row.times.truncate(2));
        assert_eq!(tests(&few), (Undecided, vec![Undecided; 3]));
        few.rows[0].times.truncate(1);
        assert_eq!(tests(&few).0, Undecided);
    }
}
