//! Figure 2d: the overlap with what both teachers share.

use remanent_plot::{Axis, Color, Figure, Panel, Table, VerticalLine};
use serde::{Deserialize, Serialize};

use super::ways::{Way, cases, switch};
use super::words::error;
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::MOST;
use crate::verdict::{Claim, Estimate, Findings, Test, Threshold};
use remanent_lab::lines;
use remanent_lab::simulation::SummaryRow;

/// Figure 2d.
pub struct Overlap;

/// q_com from the change of task to the end: for every trial, at these epochs.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    epochs: Vec<usize>,
    /// In field space, with the KL term.
    with_kl: Vec<Vec<f64>>,
    /// In field space, without it.
    without_kl: Vec<Vec<f64>>,
    /// In magnetisation space, without it.
    traditional: Vec<Vec<f64>>,
}

/// How a curve goes after the change of task.
struct Dip {
    at_switch: f64,
    lowest: f64,
    /// The largest fall within one recorded interval; 0 if it never falls.
    fall: f64,
    /// The largest rise within one recorded interval after the lowest point; 0 if there is none.
    rise: f64,
}

impl Dip {
    /// That of the mean over these trials.
    fn of(trials: &[Vec<f64>], of: &[usize]) -> Option<Self> {
        let moments = trials.first()?.len();
        let mean = |i: usize| {
            let sum: Option<f64> = of.iter().map(|&trial| trials.get(trial)?.get(i)).sum();
            Some(sum? / of.len() as f64)
        };
        let curve: Vec<f64> = (0..moments).map(mean).collect::<Option<_>>()?;
        let lowest = (0..moments).min_by(|&i, &j| curve[i].total_cmp(&curve[j]))?;
        let fall = curve.windows(2).map(|pair| pair[0] - pair[1]).fold(0.0, f64::max);
        let rise = curve[lowest..].windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        Some(Self { at_switch: *curve.first()?, lowest: curve[lowest], fall, rise })
    }

    fn of_all(trials: &[Vec<f64>]) -> Option<Self> {
        Self::of(trials, &(0..trials.len()).collect::<Vec<_>>())
    }
}

/// A property of the mean curve, one learner's less the other's, with its bootstrap error. Both are
/// resampled together: trials share their seeds.
fn difference(one: &[Vec<f64>], other: &[Vec<f64>], of: fn(&Dip) -> f64) -> Option<Estimate> {
    let statistic = |drawn: &[usize]| Some(of(&Dip::of(one, drawn)?) - of(&Dip::of(other, drawn)?));
    (one.len() == other.len()).then(|| Estimate::bootstrap(one.len(), statistic))?
}

fn ends(trials: &[Vec<f64>]) -> Option<Vec<f64>> {
    trials.iter().map(|curve| curve.last().copied()).collect()
}

impl Measured {
    /// Both learners without the KL term: the one that is judged, and the other.
    fn without(&self) -> [(&'static str, &[Vec<f64>]); 2] {
        [("without", &self.without_kl), ("traditional", &self.traditional)]
    }

    /// A property of the mean curve, without less with KL, to be above 0.
    fn steeper(&self, what: &str, of: fn(&Dip) -> f64) -> [Test; 2] {
        self.without().map(|(name, trials)| {
            let quantity = format!("largest {what} of the mean q_com, {name} less with KL");
            Test::above(quantity, difference(trials, &self.with_kl, of), Threshold::ZERO)
        })
    }

    fn found(&self) -> Option<String> {
        let (kl, free) = (Dip::of_all(&self.with_kl)?, Dip::of_all(&self.without_kl)?);
        let end = |trials: &[Vec<f64>]| Some(Estimate::of(ends(trials)?)?.text());
        Some(format!(
            "From {} at the change of task the overlap falls to {} without the KL term and ends at {}; with it, it falls from {} to \
             {} and ends at {}.",
            error(free.at_switch),
            error(free.lowest),
            end(&self.without_kl)?,
            error(kl.at_switch),
            error(kl.lowest),
            end(&self.with_kl)?
        ))
    }
}

/// q_com of every trial after the change of task.
fn curves(case: &Simulated) -> Option<Vec<Vec<f64>>> {
    let from = switch(case);
    let curve = |trial: &remanent_lab::simulation::TrialRecord| {
        let rows = trial.rows.iter().filter(|row| row.time >= from);
        rows.map(|row| row.overlaps.q_com).collect()
    };
    case.trials.iter().map(curve).collect()
}

/// The three learners: with the KL term, without it, traditional.
fn learners(results: &Results) -> Option<[&Simulated; 3]> {
    let of = |way| cases(results, way).first().copied();
    Some([of(Way::Variational)?, of(Way::WithoutKl)?, of(Way::Traditional)?])
}

impl Study for Overlap {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let [with_kl, without_kl, traditional] = learners(results)?;
        let rows = with_kl.summary.rows.iter().filter(|row| row.epoch >= switch(with_kl));
        Some(Measured {
            epochs: rows.map(|row| row.epoch).collect(),
            with_kl: curves(with_kl)?,
            without_kl: curves(without_kl)?,
            traditional: curves(traditional)?,
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let [fall, old_fall] = measured.steeper("fall", |dip| dip.fall);
        let [rise, old_rise] = measured.steeper("rise after the lowest point", |dip| dip.rise);
        let with_kl = ends(&measured.with_kl);
        let [end, old_end] = measured.without().map(|(name, trials)| {
            let both = ends(trials).zip(with_kl.as_ref());
            let estimate = both.and_then(|(ends, with)| Estimate::paired(&ends, with));
            let quantity = format!("q_com at the end, {name} less with KL");
            Test::above(quantity, estimate, Threshold::ZERO)
        });
        let closer = Test::above(
            "q_com at the end, with KL",
            with_kl.and_then(Estimate::of),
            Threshold { reason: "closer to one than to zero", ..MOST },
        );
        let place = "Sec. II B, Fig. 2d";
        let claim = |says: &str, tests| Claim::new(says, place, tests);
        let interval = measured.epochs.windows(2).map(|pair| pair[1] - pair[0]).max();
        Judgement {
            found: measured.found().unwrap_or_default(),
            findings: Findings::Claims(vec![
                claim("Without the KL term the overlap falls more sharply.", vec![fall])
                    .remark([old_fall]),
                claim("It then rises more rapidly.", vec![rise]).remark([old_rise]),
                claim(
                    "With the KL term the overlap is lower, but still closer to one.",
                    vec![end, closer],
                )
                .remark([old_end]),
            ]),
            notes: vec![
                "Ours: the learning rates, which no source states.".into(),
                format!(
                    "Falls and rises are those within one recorded interval of {} epochs.",
                    interval.unwrap_or_default()
                ),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let learners = learners(results)?;
        let mut panel = Panel::new(
            "overlap with the common part",
            Axis::linear("epoch"),
            Axis::linear("q_{com}"),
        );
        panel.push(VerticalLine::new(switch(learners[0]) as f64));
        let mut table = Table::new(["algorithm", "epoch", "q_com", "q_com_se"]);
        for (color, case) in learners.into_iter().enumerate() {
            let rows: Vec<&SummaryRow> =
                case.summary.rows.iter().filter(|row| row.q_com.is_some()).collect();
            let means = rows.iter().filter_map(|row| {
                let (x, error) = (row.epoch as f64, row.q_com_se);
                Some(lines::Measured { x, mean: row.q_com?, error })
            });
            let means: Vec<lines::Measured> = means.collect();
            let name = match Way::of(case)? {
                Way::Variational => "field space, with KL",
                Way::Traditional => "magnetisation space, no KL",
                way => way.name(),
            };
            lines::draw(&mut panel, &means, |line| line.label(name).color(Color::Palette(color)));
            for row in rows {
                table.push(vec![
                    name.into(),
                    (row.epoch as i64).into(),
                    row.q_com.into(),
                    row.q_com_se.into(),
                ]);
            }
        }
        Some(Drawing { figure: Figure::single(panel), table })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

    /// Six trials of a curve, each shifted by its own noise at every moment.
    fn trials(curve: &[f64], noise: f64) -> Vec<Vec<f64>> {
        let shift =
            |trial: usize, moment: usize| ((trial * 7 + moment * 5) % 11) as f64 / 11.0 - 0.5;
        (0..6)
            .map(|t| curve.iter().enumerate().map(|(i, q)| q + noise * shift(t, i)).collect())
            .collect()
    }

    fn outcomes(with_kl: Vec<Vec<f64>>, without_kl: Vec<Vec<f64>>) -> Vec<Outcome> {
        let (epochs, traditional) = (vec![0, 30, 60, 90], without_kl.clone());
        let measured = Measured { epochs, with_kl, without_kl, traditional };
        match Overlap::judge(&measured).findings {
            Findings::Claims(claims) => {
                for claim in &claims {
                    assert_eq!(claim.remarks[0].outcome, claim.tests[0].outcome);
                }
                claims.iter().map(|claim| claim.outcome).collect()
            }
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    #[test]
    fn a_dip_is_that_of_the_mean() {
        let trials = [vec![0.9, 0.5, 0.6, 0.9], vec![0.9, 0.7, 0.4, 0.5]];
        let dip = Dip::of(&trials, &[0, 1]).unwrap();
        for (found, known) in
            [(dip.at_switch, 0.9), (dip.lowest, 0.5), (dip.fall, 0.3), (dip.rise, 0.2)]
        {
            assert!((found - known).abs() < 1e-12, "{found} {known}");
        }
        assert!((Dip::of(&trials, &[0, 0]).unwrap().rise - 0.3).abs() < 1e-12);
        assert!(Dip::of(&[], &[]).is_none());
    }

    #[test]
    fn every_claim_can_hold_fail_and_be_open() {
        let (deep, shallow) = ([0.9, 0.3, 0.6, 0.8], [0.9, 0.8, 0.7, 0.75]);
        let (slight, noisy) = (0.01, 1.0);
        assert_eq!(outcomes(trials(&shallow, slight), trials(&deep, slight)), [Supported; 3]);
        assert_eq!(outcomes(trials(&deep, slight), trials(&shallow, slight)), [Contradicted; 3]);
        assert_eq!(outcomes(trials(&shallow, noisy), trials(&deep, slight))[2], Undecided);
        // The same curves up to noise.
        let other: Vec<Vec<f64>> = trials(&deep, 0.1).into_iter().rev().collect();
        assert_eq!(outcomes(trials(&deep, 0.1), other)[..2], [Undecided; 2]);
        // Too few trials.
        let two = |curve| trials(curve, slight)[..2].to_vec();
        assert_eq!(outcomes(two(&shallow), two(&deep)), [Undecided; 3]);
    }

    #[test]
    fn an_overlap_that_is_lost_is_not_close_to_one() {
        let lost = trials(&[0.9, 0.8, 0.7, 0.2], 0.01);
        let kept = trials(&[0.9, 0.3, 0.6, 0.8], 0.01);
        assert_eq!(outcomes(lost, kept)[2], Contradicted);
    }
}
