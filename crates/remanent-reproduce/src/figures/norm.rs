//! Figure 3d: the error at a prescribed norm.

use remanent_perceptron::observables::generalisation_error;
use remanent_plot::{Axis, Cell, Color, Curve, Figure, Panel, Points, Table};
use serde::{Deserialize, Serialize};

use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::ROUGHLY;
use crate::verdict::{Agreement, Claim, Estimate, Findings, Test, Threshold};
use remanent_lab::simulation::SummaryRow;
use remanent_lab::theory::{Constrained, known};

/// β of the published theory curve.
const PUBLISHED_BETA: f64 = 5.0;
/// By how much a measured q_⋆ may lie outside the theory's grid: what single precision makes of it.
const ROUNDING: f64 = 1e-4;

/// Figure 3d.
pub struct Norm;

/// Slow SGD and the theory.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// Every recorded moment after the start.
    rows: Vec<Moment>,
    /// The theory, by rising β.
    theory: Vec<Theory>,
}

#[derive(Serialize, Deserialize)]
struct Moment {
    q_star: f64,
    /// ε of every trial.
    eps: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Theory {
    beta: f64,
    /// q_⋆ and ε, by rising q_⋆.
    curve: Vec<(f64, Option<f64>)>,
}

impl Theory {
    /// ε between the points; none outside, or beside a point without solution.
    fn at(&self, q_star: f64) -> Option<f64> {
        let (first, last) = (self.curve.first()?.0, self.curve.last()?.0);
        let inside = q_star.clamp(first, last);
        if (inside - q_star).abs() > ROUNDING {
            return None;
        }
        let pair = self.curve.windows(2).find(|pair| inside <= pair[1].0)?;
        let ((from, low), (to, high)) = (pair[0], pair[1]);
        let part = (inside - from) / (to - from);
        Some((1.0 - part) * low? + part * high?)
    }

    /// The largest change of ε from a q_⋆ to the next.
    fn largest_step(&self) -> Option<f64> {
        let steps: Option<Vec<f64>> =
            self.curve.windows(2).map(|pair| Some(pair[1].1? - pair[0].1?)).collect();
        steps?.into_iter().reduce(f64::max)
    }
}

/// The theory's curves, by β.
fn curves(points: &[Constrained]) -> Vec<Theory> {
    let mut curves: Vec<Theory> = Vec::new();
    for point in points {
        let (beta, at) = (point.solution.beta, (point.q_star, known(point.solution.eps)));
        match curves.last_mut() {
            Some(curve) if curve.beta == beta => curve.curve.push(at),
            _ => curves.push(Theory { beta, curve: vec![at] }),
        }
    }
    curves
}

/// What was recorded after the start. The row before learning has no equilibrium to be compared with.
fn learned(case: &Simulated) -> Vec<&SummaryRow> {
    case.summary.rows.iter().filter(|row| row.epoch > 0).collect()
}

/// ε of every trial in an epoch.
fn errors(case: &Simulated, epoch: usize) -> Option<Vec<f64>> {
    let of = |trial: &remanent_lab::simulation::TrialRecord| {
        let row = trial.rows.iter().find(|row| row.time == epoch)?;
        row.overlaps.p.first().map(|&p| generalisation_error(p))
    };
    case.trials.iter().map(of).collect()
}

impl Measured {
    /// Slow SGD beside the theory of one β. All moments belong to the same trials: one experiment.
    fn agreement(&self, theory: &Theory) -> Agreement {
        let number = |row: &Moment| (row.eps.clone(), theory.at(row.q_star));
        let what = format!("slow SGD and theory at β = {}", theory.beta);
        Agreement::of_trials(what, self.rows.iter().map(number).collect(), 1)
    }

    /// ε of every trial at the first and at the last recorded q_⋆.
    fn ends(&self) -> Option<[&[f64]; 2]> {
        Some([&self.rows.first()?.eps, &self.rows.last()?.eps])
    }

    fn comparable(&self) -> Claim {
        let (mut tests, mut remarks) = (Vec::new(), Vec::new());
        for theory in &self.theory {
            let agreement = self.agreement(theory);
            let published = theory.beta == PUBLISHED_BETA;
            if published { &mut tests } else { &mut remarks }.push(agreement.close(ROUGHLY));
            remarks.push(agreement.consistent());
        }
        let says = "Slow SGD is comparable with the equilibrium, at least qualitatively.";
        Claim::new(says, "Sec. II C, Fig. 3d", tests).remark(remarks)
    }

    fn falls(&self) -> Claim {
        let published = self.theory.iter().find(|theory| theory.beta == PUBLISHED_BETA);
        let step = published.and_then(Theory::largest_step).map(Estimate::exact);
        let tests = vec![
            Test::below(
                "ε of slow SGD at the last less the first recorded q_⋆",
                self.ends().and_then(|[first, last]| Estimate::paired(last, first)),
                Threshold::ZERO,
            ),
            Test::below(
                format!(
                    "largest change of the theory between neighbouring q_⋆ at β = {PUBLISHED_BETA}"
                ),
                step,
                Threshold::ZERO,
            ),
        ];
        Claim::new("Both errors fall with q_⋆.", "Sec. II C, Fig. 3d", tests)
    }

    fn found(&self) -> String {
        let [first, last] = self.ends().unwrap_or_default().map(|eps| {
            Estimate::of(eps.iter().copied()).map_or("nothing".into(), |mean| mean.text())
        });
        let distances = self.theory.iter().filter_map(|theory| {
            let distance = self.agreement(theory).distance()?;
            Some(format!("{} at β = {}", distance.text(), theory.beta))
        });
        format!(
            "The error goes from {first} to {last} as q_⋆ rises; its distance from the theory (root mean square) is {}.",
            super::words::list(&distances.collect::<Vec<_>>())
        )
    }

    /// The β whose curve is nearest to slow SGD.
    fn nearest(&self) -> Option<f64> {
        let distance =
            |theory: &Theory| Some((self.agreement(theory).distance()?.value, theory.beta));
        let distances = self.theory.iter().filter_map(distance);
        distances.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, beta)| beta)
    }
}

impl Study for Norm {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let case = results.simulated.first()?;
        let moment =
            |row: &SummaryRow| Some(Moment { q_star: row.q_star, eps: errors(case, row.epoch)? });
        Some(Measured {
            rows: learned(case).into_iter().map(moment).collect::<Option<_>>()?,
            theory: curves(results.theory.first()?.as_constrained()?),
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let mut notes = vec![
            "Ours: learning rate, batch, range of q_⋆ and epochs, which no source states.".into(),
        ];
        if let Some(beta) = measured.nearest() {
            notes.push(format!(
                "Gradient descent has no temperature; of the curves shown it is nearest to that of β = {beta}."
            ));
        }
        Judgement {
            found: measured.found(),
            findings: Findings::Claims(vec![measured.comparable(), measured.falls()]),
            notes,
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let rows = learned(results.simulated.first()?);
        let points = results.theory.first()?.as_constrained()?;
        let curves = curves(points);
        let mut panel =
            Panel::new("slow SGD, α = 2", Axis::linear("q_⋆"), Axis::linear("ε").lower(0.0));
        for (color, Theory { beta, curve }) in curves.iter().enumerate() {
            let known = curve.iter().filter_map(|&(q_star, eps)| Some((q_star, eps?)));
            let (x, y) = known.unzip();
            panel.push(
                Curve::new(x, y).label(format!("theory, β = {beta}")).color(Color::Palette(color)),
            );
        }
        let stride = rows.len().div_ceil(40).max(1);
        let drawn: Vec<&&SummaryRow> = rows.iter().step_by(stride).collect();
        panel.push(
            Points::new(
                drawn.iter().map(|row| row.q_star).collect(),
                drawn.iter().map(|row| row.eps[0]).collect(),
            )
            .error(drawn.iter().map(|row| row.eps_se[0].unwrap_or(0.0)).collect())
            .label("slow SGD")
            .color(Color::Palette(curves.len())),
        );
        Some(Drawing { figure: Figure::single(panel), table: table(points, &rows) })
    }
}

fn table(points: &[Constrained], rows: &[&SummaryRow]) -> Table {
    let mut table = Table::new(["source", "beta", "q_star", "eps", "eps_se"]);
    for point in points {
        table.push(vec![
            "theory".into(),
            point.solution.beta.into(),
            point.q_star.into(),
            point.solution.eps.into(),
            Cell::Missing,
        ]);
    }
    for row in rows {
        table.push(vec![
            "slow-sgd".into(),
            Cell::Missing,
            row.q_star.into(),
            row.eps[0].into(),
            row.eps_se[0].into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests;
