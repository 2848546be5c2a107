//! Figure 2a: one task over time.

use remanent_plot::{Axis, Band, Color, Curve, Figure, Panel, Table};
use serde::{Deserialize, Serialize};

use super::words::list;
use crate::results::{Drawing, Judgement, Results};
use crate::study::Study;
use crate::verdict::{Claim, Estimate, Findings, Test, Threshold};

/// Figure 2a.
pub struct OneTask;

/// The errors at the end.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// By rising α.
    ends: Vec<End>,
}

#[derive(Serialize, Deserialize)]
struct End {
    alpha: f64,
    /// ε of every trial.
    eps: Vec<f64>,
}

impl Study for OneTask {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let end = |case: &crate::Simulated| {
            Some(End { alpha: case.simulation.setting.alpha[0], eps: case.final_errors(0)? })
        };
        Some(Measured { ends: results.simulated.iter().map(end).collect::<Option<_>>()? })
    }

    fn judge(measured: &Measured) -> Judgement {
        let tests = measured.ends.windows(2).map(|pair| {
            let (few, many) = (&pair[0], &pair[1]);
            let quantity = format!("change of ε from α = {} to α = {}", few.alpha, many.alpha);
            Test::below(quantity, Estimate::paired(&many.eps, &few.eps), Threshold::ZERO)
        });
        let claim = Claim::new(
            "With more examples the single task is learned better.",
            "Sec. II B, Fig. 2a",
            tests.collect(),
        );
        let said = measured.ends.iter().filter_map(|end| {
            Some(format!("{} at α = {}", Estimate::of(end.eps.iter().copied())?.text(), end.alpha))
        });
        Judgement {
            found: format!("The mean error at the end is {}.", list(&said.collect::<Vec<_>>())),
            findings: Findings::Claims(vec![claim]),
            notes: vec!["Bands: from the smallest to the largest trial.".into()],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let mut panel = Panel::new("one task", Axis::linear("epoch"), Axis::linear("ε").lower(0.0));
        let mut table = Table::new(["alpha", "epoch", "eps", "eps_se", "eps_min", "eps_max"]);
        for (color, case) in results.simulated.iter().enumerate() {
            let (alpha, color) = (case.simulation.setting.alpha[0], Color::Palette(color));
            let rows = &case.summary.rows;
            let x: Vec<f64> = rows.iter().map(|row| row.epoch as f64).collect();
            let low = rows.iter().map(|row| row.eps_min[0]).collect();
            let high = rows.iter().map(|row| row.eps_max[0]).collect();
            panel.push(Band::new(x.clone(), low, high).color(color));
            let mean = rows.iter().map(|row| row.eps[0]).collect();
            panel.push(Curve::new(x, mean).label(format!("α = {alpha}")).color(color));
            for row in rows {
                table.push(vec![
                    alpha.into(),
                    (row.epoch as i64).into(),
                    row.eps[0].into(),
                    row.eps_se[0].into(),
                    row.eps_min[0].into(),
                    row.eps_max[0].into(),
                ]);
            }
        }
        Some(Drawing { figure: Figure::single(panel), table })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome;

    /// What the judge says of the claim if ε of the trials are these.
    fn outcome(ends: &[&[f64]]) -> Outcome {
        let end = |(i, eps): (usize, &&[f64])| End { alpha: i as f64, eps: eps.to_vec() };
        let measured = Measured { ends: ends.iter().enumerate().map(end).collect() };
        match OneTask::judge(&measured).findings {
            Findings::Claims(claims) => claims[0].outcome,
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    #[test]
    fn errors_that_fall_support_that_rise_contradict_and_that_fluctuate_decide_nothing() {
        let (high, low): (&[f64], &[f64]) = (&[0.30, 0.31, 0.32, 0.31], &[0.20, 0.22, 0.21, 0.21]);
        assert_eq!(outcome(&[high, low]), Outcome::Supported);
        assert_eq!(outcome(&[high, low, &[0.0; 4]]), Outcome::Supported);
        assert_eq!(outcome(&[low, high]), Outcome::Contradicted);
        assert_eq!(outcome(&[high, low, high]), Outcome::Contradicted);
        assert_eq!(outcome(&[high, &[0.31, 0.30, 0.32, 0.30]]), Outcome::Undecided);
        assert_eq!(outcome(&[&high[..2], &low[..2]]), Outcome::Undecided);
    }
}
